//! Represents parts of composites.

use super::{Location, Place, Storage};
use crate::arch::Register;

/// A part of a composite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part<'a> {
    /// The location of its bits.
    pub location: Location<'a>,
    /// The offset in the composite, in bits.
    pub start: u128,
    /// The size, in bits.
    pub bit_size: u128,
}

/// The bits of a composite that are in one part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    /// The location of the part's bits.
    pub(super) location: Location<'a>,
    /// The first bit, counted from the start of the part.
    pub(super) within: u128,
    /// The size in bits.
    pub(super) count: u64,
}

/// A part in a register, in a sixth of the size. Nearly all parts are in registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RegisterPart {
    /// The offset in the composite, in bits. No composite has so many registers that this overflows.
    pub(super) start: u64,
    register: Register,
    /// The offset in the register, in bits, for lane 0 if lanes differ.
    bit_offset: u16,
    /// The growth of the offset from one lane to the next.
    lane_step: i16,
    /// The size, in bits.
    bit_size: u16,
}

impl RegisterPart {
    /// The filler of unused capacity.
    pub(super) const NONE: RegisterPart = RegisterPart::whole(Register(0), 0, 0);

    /// Returns a part with the first `bit_size` bits of a register.
    #[inline]
    pub(super) const fn whole(register: Register, bit_size: u16, start: u64) -> RegisterPart {
        RegisterPart {
            start,
            register,
            bit_offset: 0,
            lane_step: 0,
            bit_size,
        }
    }

    /// Creates a part if it is in a register and all numbers fit.
    pub(super) fn new(
        location: &Location<'_>,
        bit_size: u128,
        start: u128,
    ) -> Option<RegisterPart> {
        let Location::One(Place {
            storage: Storage::Register(register),
            bit_offset,
            lane_step,
        }) = *location
        else {
            return None;
        };
        Some(RegisterPart {
            start: start.try_into().ok()?,
            register,
            bit_offset: bit_offset.try_into().ok()?,
            lane_step: lane_step.try_into().ok()?,
            bit_size: bit_size.try_into().ok()?,
        })
    }

    /// Converts it to a general part.
    pub(super) fn widen<'a>(self) -> Part<'a> {
        Part {
            location: Location::One(Place {
                storage: Storage::Register(self.register),
                bit_offset: self.bit_offset.into(),
                lane_step: self.lane_step.into(),
            }),
            start: self.start.into(),
            bit_size: self.bit_size.into(),
        }
    }
}
