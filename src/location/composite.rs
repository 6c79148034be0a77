//! Represents composite storage: bits from several places.
//!
//! Regular vectors (`DW_OP_LLVM_extend`, `DW_OP_LLVM_select_bit_piece`) are stored as a rule, so that they cost the same for any number of elements.
//! Source: HET A.2.5.4.4.6.

use core::num::NonZero;

use super::part::{Part, Piece, RegisterPart};
use super::{Arena, Location};
use crate::arch::Register;
use crate::error::{ErrorKind, Limit, Result, SpecRule};
use crate::limits::{Limits, reached};

/// A complete composite storage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Composite<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) bit_size: u128,
    pub(super) depth: u16,
    pub(super) all_lanes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind<'a> {
    /// Parts with their own sizes.
    Parts(&'a [Part<'a>]),
    /// Parts with their own sizes, all in registers.
    Registers(&'a [RegisterPart]),
    /// One location for every element.
    Repeat {
        location: &'a Location<'a>,
        element: NonZero<u64>,
    },
    /// Element N is at N times the element's size in one of two locations.
    Select {
        zero: &'a Location<'a>,
        one: &'a Location<'a>,
        mask: &'a u128,
        element: NonZero<u64>,
    },
}

/// The limits of composites.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) parts: u32,
    pub(crate) depth: u16,
    pub(crate) bits: u128,
}

impl Bounds {
    pub(crate) fn of(limits: &Limits) -> Bounds {
        Bounds {
            parts: limits.parts,
            depth: limits.depth,
            // As large as the largest address space.
            bits: 1 << 67,
        }
    }
}

impl<'a> Composite<'a> {
    /// Returns the size, in bits.
    #[must_use]
    pub fn bit_size(&self) -> u128 {
        self.bit_size
    }

    /// Returns the number of parts.
    #[must_use]
    pub fn part_count(&self) -> u128 {
        match self.kind {
            Kind::Parts(parts) => parts.len() as u128,
            Kind::Registers(parts) => parts.len() as u128,
            Kind::Repeat { element, .. } | Kind::Select { element, .. } => {
                self.bit_size / NonZero::<u128>::from(element)
            }
        }
    }

    /// Returns the parts, in order.
    #[must_use]
    pub fn parts(&self) -> Parts<'a> {
        Parts {
            composite: *self,
            next: 0,
        }
    }

    /// Returns the part that contains a bit, or `None` past the end.
    #[must_use]
    pub fn part_at(&self, bit: u128) -> Option<Part<'a>> {
        if bit >= self.bit_size {
            return None;
        }
        match self.kind {
            // A part of size zero shares its start with the next one, so the last part that starts there has the bit.
            Kind::Parts(parts) => {
                let after = parts.partition_point(|part| part.start <= bit);
                parts.get(after.checked_sub(1)?).copied()
            }
            Kind::Registers(parts) => {
                let after = parts.partition_point(|part| u128::from(part.start) <= bit);
                Some(parts.get(after.checked_sub(1)?)?.widen())
            }
            Kind::Repeat { element, .. } | Kind::Select { element, .. } => {
                self.element(bit / NonZero::<u128>::from(element))
            }
        }
    }

    /// Returns the first of `count` bits from bit `start` on, as many as are in one part, or `None` past the end.
    pub(super) fn piece(&self, start: u128, count: u64) -> Option<Piece<'a>> {
        let part = self.part_at(start).filter(|part| part.bit_size > 0)?;
        let within = start.checked_sub(part.start)?;
        let left = part.bit_size.checked_sub(within)?.min(count.into());
        Some(Piece {
            location: part.location,
            within,
            count: u64::try_from(left).ok()?,
        })
    }

    /// Returns part number `index`.
    fn element(&self, index: u128) -> Option<Part<'a>> {
        match self.kind {
            Kind::Parts(parts) => parts.get(usize::try_from(index).ok()?).copied(),
            Kind::Registers(parts) => {
                let part = parts.get(usize::try_from(index).ok()?)?;
                Some(part.widen())
            }
            Kind::Repeat { location, element } => {
                let bit_size = element.get().into();
                let start = index
                    .checked_mul(bit_size)
                    .filter(|start| *start < self.bit_size)?;
                Some(Part {
                    location: *location,
                    start,
                    bit_size,
                })
            }
            Kind::Select {
                zero,
                one,
                mask,
                element,
            } => {
                let bit_size = element.get().into();
                let start = index
                    .checked_mul(bit_size)
                    .filter(|start| *start < self.bit_size)?;
                let chosen = if mask.checked_shr(u32::try_from(index).ok()?)? & 1 == 1 {
                    one
                } else {
                    zero
                };
                // Checked when the composite was created.
                let place = chosen.single().copied();
                let location = match place {
                    Some(place) => Location::One(super::Place {
                        bit_offset: place.bit_offset.checked_add(start)?,
                        ..place
                    }),
                    None => *chosen,
                };
                Some(Part {
                    location,
                    start,
                    bit_size,
                })
            }
        }
    }

    /// Returns true if all parts have the same location and size.
    pub(crate) fn is_repeated(&self) -> bool {
        matches!(self.kind, Kind::Repeat { .. })
    }

    /// Returns the nesting depth of composites, or 1 if no part is a composite.
    pub(crate) fn depth(&self) -> u16 {
        self.depth
    }

    pub(crate) fn stands_for_all_lanes(&self) -> bool {
        self.all_lanes
    }

    /// Returns a composite of the first bits of consecutive registers, each of which must be large enough.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "as many registers as fit into memory have fewer bits than a number of 64 bits counts"
    )]
    pub(crate) fn of_registers(
        pieces: impl Iterator<Item = (Register, u16)>,
        arena: &'a Arena<'a>,
    ) -> Composite<'a> {
        let mut end = 0u64;
        let parts = arena
            .register_parts
            .alloc_extend(pieces.map(|(register, bit_size)| {
                let part = RegisterPart::whole(register, bit_size, end);
                end += u64::from(bit_size);
                part
            }));
        Composite {
            kind: Kind::Registers(parts),
            bit_size: end.into(),
            depth: 1,
            all_lanes: false,
        }
    }

    /// Returns the first `known` bits of a location, padded with undefined bits to `bit_size`.
    pub(crate) fn with_undefined_end(
        location: Location<'a>,
        known: u128,
        bit_size: u128,
        arena: &'a Arena<'a>,
    ) -> Composite<'a> {
        debug_assert!(known <= bit_size, "{known} of {bit_size}");
        // The nesting depth was checked before.
        let depth = depth_of(&location).saturating_add(1);
        let parts = arena.parts.alloc_extend([
            Part {
                location,
                start: 0,
                bit_size: known,
            },
            Part {
                location: Location::UNDEFINED,
                start: known,
                bit_size: bit_size.saturating_sub(known),
            },
        ]);
        Composite {
            kind: Kind::Parts(parts),
            bit_size,
            depth,
            all_lanes: location.stands_for_all_lanes(),
        }
    }

    /// Implements `DW_OP_LLVM_extend`: `count` elements of `element` bits, all at `location`.
    ///
    /// # Errors
    /// If a rule of HET A.2.5.4.4.6 is broken, or a limit is reached.
    pub(crate) fn repeat(
        location: Location<'a>,
        element: u64,
        count: u64,
        bounds: Bounds,
        arena: &'a Arena<'a>,
    ) -> Result<Composite<'a>> {
        let (Some(element), true) = (NonZero::new(element), count > 0) else {
            return Err(SpecRule::ZeroElement.into());
        };
        let bit_size = product(element.get(), count);
        check_part(&location, element.get().into())?;
        let (depth, all_lanes) = nesting([&location], bounds)?;
        check_size(bit_size, bounds)?;
        Ok(Composite {
            kind: Kind::Repeat {
                location: arena.locations.alloc(location),
                element,
            },
            bit_size,
            depth,
            all_lanes,
        })
    }

    /// Implements `DW_OP_LLVM_select_bit_piece`: element N from `one` if bit N of `mask` is set, else from `zero`.
    ///
    /// Bounds are checked only in the location selected for an element; see `spec-notes/locations.md`.
    ///
    /// # Errors
    /// If a rule of HET A.2.5.4.4.6 is broken, or a limit is reached.
    pub(crate) fn select(
        zero: Location<'a>,
        one: Location<'a>,
        mask: (u128, u32),
        element: u64,
        count: u64,
        bounds: Bounds,
        arena: &'a Arena<'a>,
    ) -> Result<Composite<'a>> {
        let (Some(element), true) = (NonZero::new(element), count > 0) else {
            return Err(SpecRule::ZeroElement.into());
        };
        let (mask, mask_bits) = mask;
        if u64::from(mask_bits) < count {
            return Err(SpecRule::MaskSize.into());
        }
        if count > u128::BITS.into() {
            return Err(
                ErrorKind::Unsupported("a value of more than 16 bytes on the stack").into(),
            );
        }
        let bit_size = product(element.get(), count);
        check_size(bit_size, bounds)?;
        let (depth, all_lanes) = nesting([&zero, &one], bounds)?;
        // Offsets grow with the element, so the last one from each location decides.
        let used = if count >= 128 {
            u128::MAX
        } else {
            !(u128::MAX << count)
        };
        for (location, taken) in [(&zero, !mask & used), (&one, mask & used)] {
            if let Some(last) = taken.checked_ilog2() {
                let offset = product(element.get(), last.into());
                check_element(location, offset, element.get().into())?;
            }
        }
        if let (Some(_), Some(_)) = (zero.single(), one.single()) {
            return Ok(Composite {
                kind: Kind::Select {
                    zero: arena.locations.alloc(zero),
                    one: arena.locations.alloc(one),
                    mask: arena.masks.alloc(mask),
                    element,
                },
                bit_size,
                depth,
                all_lanes,
            });
        }
        // If a location has several places, so has each element; there are at most 128 elements.
        let none = Part {
            location: Location::UNDEFINED,
            start: 0,
            bit_size: element.get().into(),
        };
        let parts = core::iter::repeat_n(none, count as usize);
        let parts = arena.parts.alloc_extend(parts);
        for (index, part) in (0u64..).zip(&mut *parts) {
            let chosen = if mask >> index & 1 == 1 { &one } else { &zero };
            part.start = product(element.get(), index);
            // There are fewer than 128 elements of 64 bits, so that the start fits.
            part.location = chosen.offset_by_bits(part.start.cast_signed(), arena)?;
        }
        Ok(Composite {
            kind: Kind::Parts(parts),
            bit_size,
            depth,
            all_lanes,
        })
    }
}

/// Returns the total size of this many elements.
fn product(element: u64, count: u64) -> u128 {
    // The product of two 64-bit numbers.
    u128::from(element).wrapping_mul(count.into())
}

pub(super) fn depth_of(location: &Location<'_>) -> u16 {
    let depth = |place: &super::Place<'_>| {
        if let super::Storage::Composite(composite) = place.storage {
            composite.depth()
        } else {
            0
        }
    };
    match location {
        Location::One(place) => depth(place),
        Location::Many(places) => places.iter().map(depth).max().unwrap_or(0),
    }
}

fn nesting<const N: usize>(parts: [&Location<'_>; N], bounds: Bounds) -> Result<(u16, bool)> {
    let mut depth = 0;
    for part in parts {
        depth = depth.max(depth_around(part, bounds)?);
    }
    Ok((depth, parts.iter().any(|part| part.stands_for_all_lanes())))
}

/// Returns the nesting depth of a composite with a part at this location.
///
/// # Errors
/// [`Limit::Depth`].
pub(super) fn depth_around(part: &Location<'_>, bounds: Bounds) -> Result<u16> {
    let depth = depth_of(part).checked_add(1);
    let depth = depth.filter(|depth| *depth <= bounds.depth);
    depth.ok_or_else(|| reached(Limit::Depth, bounds.depth.into()))
}

pub(super) fn check_size(bit_size: u128, bounds: Bounds) -> Result<()> {
    if bit_size > bounds.bits {
        return Err(SpecRule::CompositeSize.into());
    }
    Ok(())
}

/// Checks that all bits of a part lie within its storage.
pub(super) fn check_part(location: &Location<'_>, bit_size: u128) -> Result<()> {
    if location.bits_left() < bit_size {
        return Err(SpecRule::PartSize.into());
    }
    Ok(())
}

/// Checks that all bits of an element lie within the storage of `location`, `offset` bits after it. The element itself must start within the storage
/// too (HET A.2.5.4.4.1).
fn check_element(location: &Location<'_>, offset: u128, bit_size: u128) -> Result<()> {
    for place in location.places() {
        let left = place.bits_left();
        if left <= offset {
            // It is outside; the number is only for the message.
            let bit_offset = place.bit_offset.saturating_add(offset);
            let bit_offset = i128::try_from(bit_offset).unwrap_or(i128::MAX);
            return Err(ErrorKind::OutOfBounds {
                bit_offset,
                size_in_bits: place.storage_bits(),
            }
            .into());
        }
        if left.checked_sub(offset).is_none_or(|left| left < bit_size) {
            return Err(SpecRule::PartSize.into());
        }
    }
    Ok(())
}

/// The parts of a composite, in order. A plain iterator, since no step can fail.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    composite: Composite<'a>,
    next: u128,
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        let part = self.composite.element(self.next)?;
        self.next = self.next.wrapping_add(1);
        Some(part)
    }
}
