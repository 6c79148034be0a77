//! Builds composites part by part. Source: HET A.2.5.4.4.6, `DW_OP_piece` and `DW_OP_bit_piece`.

use super::arena::Pool;
use super::composite::{Bounds, Composite, Kind, check_part, check_size, depth_around};
use super::part::{Part, RegisterPart};
use super::{Arena, Location};
use crate::arch::Register;
use crate::error::{Limit, Result};
use crate::limits::reached;

/// A composite to which parts are added, one after the other.
#[derive(Debug)]
pub(crate) struct Incomplete<'a> {
    /// The composite, which gets its parts at the end.
    composite: Composite<'a>,
    room: Room<'a>,
    /// The number of parts.
    count: u32,
    /// The previous incomplete composite, if there is one.
    below: Option<&'a mut Incomplete<'a>>,
}

/// The parts, and room for more.
#[derive(Debug)]
enum Room<'a> {
    /// Used as long as all parts are in registers.
    Registers(&'a mut [RegisterPart]),
    Any(&'a mut [Part<'a>]),
}

/// The initial capacity in parts: an object too large for one register is usually in two.
const FIRST_ROOM: usize = 2;

impl<'a> Incomplete<'a> {
    /// Creates a composite without parts, above another one.
    pub(crate) fn above(
        below: Option<&'a mut Incomplete<'a>>,
        arena: &'a Arena<'a>,
    ) -> &'a mut Incomplete<'a> {
        let room = arena
            .register_parts
            .alloc_extend([RegisterPart::NONE; FIRST_ROOM]);
        arena.incomplete.alloc(Incomplete {
            composite: Composite {
                kind: Kind::Registers(&[]),
                bit_size: 0,
                depth: 1,
                all_lanes: false,
            },
            room: Room::Registers(room),
            count: 0,
            below,
        })
    }

    /// Appends a part, like `DW_OP_bit_piece`.
    ///
    /// # Errors
    /// If a rule of HET A.2.5.4.4.6 is broken, or a limit is reached.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "`end_after` finds that there may be one more part"
    )]
    pub(crate) fn append(
        &mut self,
        location: &Location<'a>,
        bit_size: u128,
        bounds: Bounds,
        arena: &'a Arena<'a>,
    ) -> Result<()> {
        check_part(location, bit_size)?;
        let end = self.end_after(bit_size, bounds)?;
        let depth = depth_around(location, bounds)?;
        let start = self.composite.bit_size;
        let part = || Part {
            location: *location,
            start,
            bit_size,
        };
        match &mut self.room {
            Room::Registers(room) => match RegisterPart::new(location, bit_size, start) {
                Some(part) => put(room, self.count, part, &arena.register_parts),
                None => {
                    let parts = first(room, self.count);
                    self.room = Room::Any(with_any(parts, part(), arena));
                }
            },
            Room::Any(room) => put(room, self.count, part(), &arena.parts),
        }
        self.count += 1;
        self.composite.bit_size = end;
        self.composite.depth = self.composite.depth.max(depth);
        self.composite.all_lanes |= location.stands_for_all_lanes();
        Ok(())
    }

    /// Appends the first bits of a register, the most frequent kind of part, if there is capacity for it. Returns false if not:
    /// [`append`](Incomplete::append) then appends it or returns the error.
    #[inline(always)]
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "the number of parts is below a bound, and the size so far a number of 64 bits"
    )]
    pub(crate) fn append_register(
        &mut self,
        register: Register,
        bit_size: u128,
        bounds: Bounds,
    ) -> bool {
        // The capacity is so small that the sum stays below `bounds.bits`, the size of the largest address space.
        if let Room::Registers(room) = &mut self.room
            && let Some(slot) = room.get_mut(self.count as usize)
            && let (Ok(bits), Ok(start)) = (
                u16::try_from(bit_size),
                u64::try_from(self.composite.bit_size),
            )
            && let Some(size) = register.size_in_bits()
            && u32::from(bits) <= size
            && self.count < bounds.parts
            && bounds.depth > 0
        {
            *slot = RegisterPart::whole(register, bits, start);
            self.count += 1;
            self.composite.bit_size += bit_size;
            return true;
        }
        false
    }

    /// Returns the end of a part of this size.
    #[inline]
    fn end_after(&self, bit_size: u128, bounds: Bounds) -> Result<u128> {
        // A part of undefined storage can have any size. The largest number exceeds the limits.
        let end = self.composite.bit_size.saturating_add(bit_size);
        check_size(end, bounds)?;
        if self.count >= bounds.parts {
            return Err(reached(Limit::Parts, bounds.parts.into()));
        }
        Ok(end)
    }

    /// Completes the composite, and returns the one below it.
    pub(crate) fn complete(&'a mut self) -> (&'a Composite<'a>, Option<&'a mut Incomplete<'a>>) {
        self.composite.kind = match &self.room {
            Room::Registers(room) => Kind::Registers(first(room, self.count)),
            Room::Any(room) => Kind::Parts(first(room, self.count)),
        };
        (&self.composite, self.below.take())
    }
}

/// Returns the first `count` items.
fn first<T>(room: &[T], count: u32) -> &[T] {
    debug_assert!(count as usize <= room.len(), "{count} of {}", room.len());
    room.get(..count as usize).unwrap_or(room)
}

/// Stores item number `at`, and allocates a larger buffer if needed.
#[inline]
fn put<'a, T: Copy>(room: &mut &'a mut [T], at: u32, item: T, pool: &'a Pool<T>) {
    let at = at as usize;
    if at >= room.len() {
        *room = pool.alloc_larger(room, item, FIRST_ROOM);
    }
    if let Some(slot) = room.get_mut(at) {
        *slot = item;
    }
}

/// Parts in registers and one that is not, with capacity for more.
fn with_any<'a>(
    registers: &[RegisterPart],
    part: Part<'a>,
    arena: &'a Arena<'a>,
) -> &'a mut [Part<'a>] {
    let room = core::iter::repeat_n(part, FIRST_ROOM);
    let parts = registers.iter().map(|part| part.widen()).chain(room);
    arena.parts.alloc_extend(parts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::location::{Place, Storage};

    const BOUNDS: Bounds = Bounds {
        parts: 12,
        depth: 1,
        bits: 1 << 67,
    };

    /// Whole registers and parts of them, including reserved ones and ones whose offset grows from lane to lane.
    fn in_register() -> impl Strategy<Value = Location<'static>> {
        let register = (0u16..4096).prop_map(Register);
        let bit_offset = prop_oneof![0u128..2048, Just(0x1_0000)];
        let lane_step = prop_oneof![-64i64..64, Just(0x8000)];
        let part = (register.clone(), bit_offset, lane_step);
        prop_oneof![
            register.prop_map(Location::register),
            part.prop_map(|(register, bit_offset, lane_step)| {
                Location::One(Place {
                    storage: Storage::Register(register),
                    bit_offset,
                    lane_step,
                })
            }),
        ]
    }

    /// Locations in registers, in memory, and undefined ones.
    fn anywhere() -> impl Strategy<Value = Location<'static>> {
        prop_oneof![
            4 => in_register(),
            1 => any::<u64>().prop_map(Location::byte),
            1 => Just(Location::UNDEFINED),
        ]
    }

    /// Parts with their sizes, some of which do not fit.
    fn parts() -> impl Strategy<Value = Vec<(Location<'static>, u128)>> {
        let bit_size = || prop_oneof![0u128..33, 0u128..2200];
        prop_oneof![
            prop::collection::vec((in_register(), bit_size()), 0..50),
            prop::collection::vec((anywhere(), bit_size()), 0..50),
        ]
    }

    /// The largest number of levels is a limit too: one level deeper is rejected, not clamped.
    #[test]
    fn the_deepest_composite_is_no_part() {
        let arena = Arena::new();
        let bounds = Bounds {
            depth: u16::MAX,
            ..BOUNDS
        };
        let at_depth = |depth| {
            let composite = Composite {
                kind: Kind::Registers(&[]),
                bit_size: 8,
                depth,
                all_lanes: false,
            };
            let storage = Storage::Composite(arena.composites.alloc(composite));
            Location::One(Place::new(storage, 0))
        };
        let incomplete = Incomplete::above(None, &arena);
        let fits = incomplete.append(&at_depth(u16::MAX - 1), 0, bounds, &arena);
        fits.unwrap();
        let error = incomplete.append(&at_depth(u16::MAX), 0, bounds, &arena);
        assert_eq!(error.unwrap_err().kind().name(), "limit");
        let repeated = Composite::repeat(at_depth(u16::MAX), 1, 1, bounds, &arena);
        assert_eq!(repeated.unwrap_err().kind().name(), "limit");
    }

    proptest! {
        /// If no nesting is allowed, not even a composite of registers can be created.
        #[test]
        fn depth_is_bounded(location in anywhere()) {
            let arena = Arena::new();
            let bounds = Bounds { depth: 0, ..BOUNDS };
            let incomplete = Incomplete::above(None, &arena);
            if let Some(register) = location.whole_register() {
                prop_assert!(!incomplete.append_register(register, 0, bounds));
            }
            prop_assert!(incomplete.append(&location, 0, bounds, &arena).is_err());
        }

        /// For any internal representation, the appended parts are returned, or a part that does not fit is rejected.
        #[test]
        fn parts_are_those_that_were_appended(appended in parts()) {
            let arena = Arena::new();
            let incomplete = Incomplete::above(None, &arena);
            let mut expected: Vec<Part<'_>> = Vec::new();
            let mut end = 0;
            for (location, bit_size) in &appended {
                let register = location.whole_register();
                let done = register.is_some_and(|register| incomplete.append_register(register, *bit_size, BOUNDS));
                let result = if done { Ok(()) } else { incomplete.append(location, *bit_size, BOUNDS, &arena) };
                let fits = *bit_size <= location.bits_left() && expected.len() < BOUNDS.parts as usize;
                prop_assert_eq!(result.is_ok(), fits);
                if fits {
                    expected.push(Part { location: *location, start: end, bit_size: *bit_size });
                    end += bit_size;
                }
            }
            let all_lanes = expected.iter().any(|part| part.location.stands_for_all_lanes());
            let (composite, _) = incomplete.complete();
            prop_assert_eq!(composite.bit_size(), end);
            prop_assert_eq!(composite.depth(), 1);
            prop_assert_eq!(composite.stands_for_all_lanes(), all_lanes);
            prop_assert_eq!(composite.part_count(), expected.len() as u128);
            prop_assert_eq!(composite.parts().collect::<Vec<_>>(), expected.clone());
            for bit in expected.iter().flat_map(|part| [part.start, part.start + part.bit_size]) {
                let at = |part: &&Part<'_>| (part.start..part.start + part.bit_size).contains(&bit);
                prop_assert_eq!(composite.part_at(bit), expected.iter().find(at).copied());
            }
        }
    }
}
