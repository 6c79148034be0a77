//! Represents the result of an expression: places in storage, as plain data. Reads and writes their bits through a [`Wave`](crate::wave::Wave).
//!
//! A [`Place`] is [HET](crate)'s *single location description*, a [`Location`] its *location description*. Computing them is left to
//! [`eval`](crate::eval). This module never evaluates an expression again.
//!
//! A location may stand for **all lanes at once**: the bit offset of a place then grows by the same step from lane to lane ([`Place::lane_step`]),
//! and a place in per-lane memory means each lane's own ([`LaneSelect::Each`]). A variable in a vector register thus costs one evaluation and one
//! read for 64 lanes.
//!
//! ```
//! use hetdwarf::arch::{Lane, Register, WaveSize};
//! use hetdwarf::location::{Access, Location, read};
//! use hetdwarf::wave::Snapshot;
//!
//! let v0 = Register::v::<0>(WaveSize::Wave32);
//! let mut wave = Snapshot::new("gfx1100", WaveSize::Wave32, 0);
//! wave.set_lanes(v0, &core::array::from_fn::<_, 32, _>(|lane| Some(10 + lane as u32)))?;
//!
//! // Lane 0's dword of v0; moved by 32 bits it is lane 1's.
//! let access = Access { wave: &wave, lane: Some(Lane(0)), max_bits: 64, meter: None };
//! let arena = hetdwarf::location::Arena::new();
//! let of_lane_1 = Location::register(v0).offset_by_bits(32, &arena)?;
//! assert_eq!(read(&of_lane_1, 32, &access)?.bytes, [11, 0, 0, 0]);
//! # Ok::<(), hetdwarf::Error>(())
//! ```
//!
//! Sources: HET A.2.5.3 (location descriptions), A.2.5.4.4 (the kinds of storage).

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod arena;
mod bits;
mod composite;
mod incomplete;
mod lanes;
mod mask;
mod memory;
mod part;
mod read;
mod write;

pub use arena::Arena;
pub use bits::Bits;
pub(crate) use composite::Bounds;
pub use composite::{Composite, Parts};
pub(crate) use incomplete::Incomplete;
pub use lanes::{LaneBits, read_lanes};
pub use mask::Mask;
pub(crate) use memory::access_error;
pub use part::Part;
pub use read::{Access, read};
pub(crate) use read::{read_plain, read_value};
pub use write::Destination;

use crate::arch::{AddressSpace, Lane, Register, WaveSize};
use crate::error::{ErrorKind, Result};

/// The location of an object: one place or several that hold the same value.
///
/// Source: HET A.2.5.3.
///
/// Intentionally exhaustive: readers and writers must handle each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Location<'a> {
    /// One place.
    One(Place<'a>),
    /// Several places. The object is written to all and read from any.
    Many(&'a [Place<'a>]),
}

/// A position in a storage: HET's *single location description*.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place<'a> {
    /// The storage of the bits.
    pub storage: Storage<'a>,
    /// The start of the object, in bits from the start of the storage. If the place stands for all lanes, this is for lane 0.
    pub bit_offset: u128,
    /// The growth of the offset from one lane to the next, in bits. It is 0 unless the place stands for all lanes at once.
    pub lane_step: i64,
}

/// A storage of bits.
///
/// Source: HET A.2.5.3, "five kinds of location storage", of which the implicit one is here a value or constant bytes; and HET
/// A.2.5.4.4.5 for implicit pointers.
///
/// Intentionally exhaustive: readers and writers must handle each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Storage<'a> {
    /// No value is available.
    Undefined,
    /// The memory of an address space.
    Memory {
        /// The address space.
        space: AddressSpace,
        /// The owner of the memory, if the space is specific to a lane: the lane for which the place was created, regardless of the lane that reads
        /// it.
        lane: LaneSelect,
    },
    /// A register of the wave.
    Register(Register),
    /// A read-only value of up to 16 bytes.
    Value {
        /// The bits, lowest first.
        bits: u128,
        /// The size in bits, at most 128.
        bit_size: u16,
    },
    /// A read-only constant of any size.
    Constant(&'a [u8]),
    /// A pointer that was optimized away, although its target is known.
    ImplicitPointer(&'a ImplicitPointer),
    /// Bits from several places.
    Composite(&'a Composite<'a>),
}

/// The owner of memory in a lane-specific address space.
///
/// Intentionally exhaustive: readers and writers must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneSelect {
    /// The space is not specific to a lane, or no lane was known.
    None,
    /// One lane's memory.
    One(Lane),
    /// Each lane's own: the place stands for all lanes at once.
    Each,
}

/// A pointer that was optimized away. Source: HET A.2.5.4.4.5, `DW_OP_implicit_pointer`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImplicitPointer {
    /// The offset, in `.debug_info`, of the entry that describes its target.
    pub entry: u64,
    /// The offset from the start of the target, in bytes.
    pub byte_offset: i64,
    /// The address space of the pointer.
    pub space: AddressSpace,
    /// The size of the pointer, in bits.
    pub bit_size: u16,
    /// The unit of the expression that created it, in the resolver's numbering.
    pub unit: u32,
}

impl<'a> Location<'a> {
    /// The undefined location.
    pub const UNDEFINED: Location<'static> = Location::One(Place::UNDEFINED);

    /// Returns the location of a whole register.
    #[must_use]
    pub const fn register(register: Register) -> Location<'a> {
        Location::One(Place::new(Storage::Register(register), 0))
    }

    /// Returns the register, if the location is one whole register.
    pub(crate) fn whole_register(&self) -> Option<Register> {
        match self {
            Location::One(Place {
                storage: Storage::Register(register),
                bit_offset: 0,
                lane_step: 0,
            }) => Some(*register),
            Location::One(_) | Location::Many(_) => None,
        }
    }

    /// Returns the location of a byte in the default address space.
    pub(crate) const fn byte(address: u64) -> Location<'a> {
        Location::One(Place::byte(address))
    }

    /// Returns the places, at least one.
    #[must_use]
    pub fn places(&self) -> &[Place<'a>] {
        match self {
            Location::One(place) => core::slice::from_ref(place),
            Location::Many(places) => places,
        }
    }

    /// Returns the only place, or `None` if there are several.
    #[must_use]
    pub fn single(&self) -> Option<&Place<'a>> {
        match self.places() {
            [place] => Some(place),
            _ => None,
        }
    }

    /// Returns the byte address and the space, if this is a *memory byte address* location (HET A.2.5.4.4.3).
    #[must_use]
    pub fn byte_address(&self) -> Option<(AddressSpace, u64)> {
        let place = self.single()?;
        let Storage::Memory { space, .. } = place.storage else {
            return None;
        };
        if place.lane_step != 0 || !place.bit_offset.is_multiple_of(8) {
            return None;
        }
        Some((space, u64::try_from(place.bit_offset / 8).ok()?))
    }

    /// Moves every place by `bits`, which may be negative.
    ///
    /// An undefined place is unchanged (HET A.2.5.4.4.2). Storage is not read.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfBounds`] if a place would start before bit 0 or at or after the end of its storage;
    /// see `spec-notes/locations.md`.
    ///
    /// Source: HET A.2.5.4.4.1, `DW_OP_LLVM_bit_offset`.
    pub fn offset_by_bits(&self, bits: i128, arena: &'a Arena<'a>) -> Result<Location<'a>> {
        self.move_by(bits, 0, None, arena)
    }

    /// Moves every place by `bits` plus `step` for every lane.
    pub(crate) fn move_by(
        &self,
        bits: i128,
        step: i64,
        lanes: Option<WaveSize>,
        arena: &'a Arena<'a>,
    ) -> Result<Location<'a>> {
        match self {
            Location::One(place) => {
                let mut moved = *place;
                moved.move_by(bits, step, lanes)?;
                Ok(Location::One(moved))
            }
            Location::Many(places) => {
                let moved = arena.places.alloc_extend(places.iter().copied());
                for place in &mut *moved {
                    place.move_by(bits, step, lanes)?;
                }
                Ok(Location::Many(moved))
            }
        }
    }

    /// Returns a location with the places of all locations.
    pub(crate) fn union(locations: &[Location<'a>], arena: &'a Arena<'a>) -> Location<'a> {
        let places = locations.iter().flat_map(Location::places);
        Location::Many(arena.places.alloc_extend(places.copied()))
    }

    /// Returns true if the location differs from lane to lane.
    #[must_use]
    pub fn stands_for_all_lanes(&self) -> bool {
        self.places().iter().any(Place::stands_for_all_lanes)
    }

    /// Returns the smallest number of bits from the start of a place to the end of its storage: HET's *rbss(L)*.
    #[must_use]
    pub fn bits_left(&self) -> u128 {
        match self {
            Location::One(place) => place.bits_left(),
            Location::Many(places) => {
                let left = places.iter().map(Place::bits_left);
                // An undefined place has no bits.
                left.min().unwrap_or(0)
            }
        }
    }
}

impl<'a> Place<'a> {
    /// The undefined place.
    pub const UNDEFINED: Place<'static> = Place::new(Storage::Undefined, 0);

    /// Creates a place that is the same for all lanes.
    #[must_use]
    pub const fn new(storage: Storage<'a>, bit_offset: u128) -> Place<'a> {
        Place {
            storage,
            bit_offset,
            lane_step: 0,
        }
    }

    /// Returns the place of a byte in the default address space.
    pub(crate) const fn byte(address: u64) -> Place<'a> {
        let storage = Storage::Memory {
            space: AddressSpace::None,
            lane: LaneSelect::None,
        };
        Place::new(storage, (address as u128) << 3)
    }

    /// Returns the offset of the object for a lane, in bits, or `None` if that is before the start of the storage.
    #[must_use]
    pub fn bit_offset_in(&self, lane: Lane) -> Option<u128> {
        if self.lane_step == 0 {
            return Some(self.bit_offset);
        }
        let step = i128::from(self.lane_step).checked_mul(lane.0.into())?;
        self.bit_offset.checked_add_signed(step)
    }

    /// Returns the place of one lane, or `None` if it starts before the start of the storage.
    pub(crate) fn in_lane(&self, lane: Lane) -> Option<Place<'a>> {
        let mut storage = self.storage;
        if let Storage::Memory { lane: owner, .. } = &mut storage
            && *owner == LaneSelect::Each
        {
            *owner = LaneSelect::One(lane);
        }
        Some(Place::new(storage, self.bit_offset_in(lane)?))
    }

    /// Returns true if the place differs from lane to lane.
    #[must_use]
    pub fn stands_for_all_lanes(&self) -> bool {
        self.lane_step != 0
            || match self.storage {
                Storage::Memory { lane, .. } => lane == LaneSelect::Each,
                Storage::Composite(composite) => composite.stands_for_all_lanes(),
                Storage::Undefined
                | Storage::Register(_)
                | Storage::Value { .. }
                | Storage::Constant(_)
                | Storage::ImplicitPointer(_) => false,
            }
    }

    /// Returns the size of the storage, in bits, or the largest number for undefined storage, which has no size.
    #[must_use]
    pub fn storage_bits(&self) -> u128 {
        match self.storage {
            Storage::Undefined => u128::MAX,
            Storage::Memory { space, .. } => space.size_in_bits(8),
            // A reserved register has no bits.
            Storage::Register(register) => register.size_in_bits().unwrap_or(0).into(),
            Storage::Value { bit_size, .. } => bit_size.into(),
            Storage::Constant(bytes) => (bytes.len() as u128) << 3,
            Storage::ImplicitPointer(pointer) => pointer.bit_size.into(),
            Storage::Composite(composite) => composite.bit_size(),
        }
    }

    /// Returns the number of bits from the start of the object to the end of the storage. If the place stands for all lanes, it is the minimum.
    #[must_use]
    pub fn bits_left(&self) -> u128 {
        if let Storage::Undefined = self.storage {
            return u128::MAX;
        }
        // With a growing offset, lane 63 is beyond any existing lane.
        let last = if self.lane_step > 0 {
            self.bit_offset_in(self.last_lane())
        } else {
            Some(self.bit_offset)
        };
        // A place that starts after the end, in at least one lane, has none left.
        self.storage_bits()
            .saturating_sub(last.unwrap_or(u128::MAX))
    }

    /// Returns the last lane for which a place that stands for all of them exists.
    fn last_lane(&self) -> Lane {
        if let Storage::Register(register) = self.storage
            && let Some(size) = register.wave_size()
        {
            size.last_lane()
        } else {
            WaveSize::Wave64.last_lane()
        }
    }

    /// Moves the place by `bits` plus `step` for every lane. An undefined place is unchanged.
    pub(crate) fn move_by(&mut self, bits: i128, step: i64, lanes: Option<WaveSize>) -> Result<()> {
        if let Storage::Undefined = self.storage {
            return Ok(());
        }
        let size_in_bits = self.storage_bits();
        let out_of_bounds = |offset: Option<i128>| ErrorKind::OutOfBounds {
            // An overflowing offset is outside too; the number is only for the message.
            bit_offset: offset.unwrap_or(i128::MAX),
            size_in_bits,
        };
        let lane_step = self
            .lane_step
            .checked_add(step)
            .ok_or_else(|| out_of_bounds(None))?;
        let first = i128::try_from(self.bit_offset)
            .ok()
            .and_then(|offset| offset.checked_add(bits));
        let last_lane = lanes.map_or(0, |size| size.last_lane().0);
        let last = first.and_then(|first| {
            first.checked_add(i128::from(lane_step).checked_mul(last_lane.into())?)
        });
        // The offset changes evenly, so all lanes are inside if the first and the last are.
        for offset in [first, last] {
            let inside = offset
                .and_then(|offset| u128::try_from(offset).ok())
                .is_some_and(|offset| offset < size_in_bits);
            if !inside {
                return Err(out_of_bounds(offset).into());
            }
        }
        self.bit_offset = first
            .and_then(|first| u128::try_from(first).ok())
            .ok_or_else(|| out_of_bounds(first))?;
        self.lane_step = lane_step;
        Ok(())
    }
}
