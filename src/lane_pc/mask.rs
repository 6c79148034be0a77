//! Represents the places of saved masks of lanes.

use crate::arch::{AddressSpace, Register, WaveSize};
use crate::error::{Error, Result, SpecRule};
use crate::expr::{Builder, Operation};

/// The place of the mask of a region's lanes.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MaskPlace {
    /// EXEC itself.
    Exec,
    /// Scalar registers: this one and, for 64 lanes, the next.
    Scalar(u16),
    /// Lanes of a vector register: this one and, for 64 lanes, the next.
    VectorLane {
        /// The vector register's number.
        vgpr: u16,
        /// The lane that holds the low half.
        lane: u8,
    },
    /// Scratch, as memory of the wave: the address in a scalar register plus an offset.
    Scratch {
        /// The scalar register that holds an address of the whole wave.
        base: u16,
        /// The number of bytes to add.
        offset: u64,
    },
    /// A constant set of lanes.
    Constant(u64),
    /// The lanes of one mask that are not in another: those that did not leave.
    Without(Box<MaskPlace>, Box<MaskPlace>),
}

impl MaskPlace {
    /// Returns the lanes of this mask that are not in another.
    #[must_use]
    pub fn without(self, gone: MaskPlace) -> MaskPlace {
        MaskPlace::Without(Box::new(self), Box::new(gone))
    }

    /// Returns true if a write to one place changes the other. Addresses in scratch are compared only if they have the same base.
    pub(super) fn overlaps(&self, other: &MaskPlace, wave_size: WaveSize) -> bool {
        let words: u64 = if wave_size == WaveSize::Wave64 { 2 } else { 1 };
        let meet = |a: u64, b: u64, size: u64| a.abs_diff(b) < size;
        match (self, other) {
            (MaskPlace::Scalar(a), MaskPlace::Scalar(b)) => meet((*a).into(), (*b).into(), words),
            (
                MaskPlace::VectorLane { vgpr, lane },
                MaskPlace::VectorLane {
                    vgpr: other_vgpr,
                    lane: other_lane,
                },
            ) => vgpr == other_vgpr && meet((*lane).into(), (*other_lane).into(), words),
            (
                MaskPlace::Scratch { base, offset },
                MaskPlace::Scratch {
                    base: other_base,
                    offset: other_offset,
                },
            ) => base == other_base && meet(*offset, *other_offset, words * 4),
            (_, _) => self == other,
        }
    }

    /// Appends operations that leave the location of the mask.
    ///
    /// # Errors
    /// [`SpecRule::RegisterNumber`] for a register that does not exist.
    pub(super) fn push_location(&self, wave_size: WaveSize, builder: &mut Builder) -> Result<()> {
        let missing = || Error::from(SpecRule::RegisterNumber);
        let words: u16 = if wave_size == WaveSize::Wave64 { 2 } else { 1 };
        match self {
            MaskPlace::Exec => {
                builder.register(Register::exec(wave_size))?;
            }
            MaskPlace::Scalar(first) if words == 1 => {
                builder.register(Register::sgpr(*first).ok_or_else(missing)?)?;
            }
            MaskPlace::Scalar(first) => {
                for word in 0..words {
                    let number = first.checked_add(word).ok_or_else(missing)?;
                    builder.register(Register::sgpr(number).ok_or_else(missing)?)?;
                    builder.push(Operation::Piece { byte_size: 4 })?;
                }
                // A DWARF procedure that calls this location continues on the same stack, where the composite must be complete.
                builder.push(Operation::PieceEnd)?;
            }
            MaskPlace::VectorLane { vgpr, lane } => {
                let register = Register::vgpr(*vgpr, wave_size).ok_or_else(missing)?;
                builder.register(register)?;
                builder.push(Operation::OffsetUconst {
                    byte_offset: u64::from(*lane) * 4,
                })?;
            }
            MaskPlace::Scratch { base, offset } => {
                builder.register(Register::sgpr(*base).ok_or_else(missing)?)?;
                builder.push(Operation::DerefSize { byte_size: 4 })?;
                builder.push(Operation::PlusUconst { value: *offset })?;
                builder.form_address(AddressSpace::PrivateWave)?;
            }
            MaskPlace::Constant(_) | MaskPlace::Without(_, _) => {
                self.push_value(wave_size, builder)?;
                builder.push(Operation::StackValue)?;
            }
        }
        Ok(())
    }

    /// Appends operations that leave the mask as a value of the generic type.
    fn push_value(&self, wave_size: WaveSize, builder: &mut Builder) -> Result<()> {
        match self {
            MaskPlace::Constant(mask) => {
                builder.constant(*mask)?;
            }
            MaskPlace::Without(mask, gone) => {
                mask.push_value(wave_size, builder)?;
                gone.push_value(wave_size, builder)?;
                builder.push(Operation::Not)?.push(Operation::And)?;
            }
            MaskPlace::Exec
            | MaskPlace::Scalar(_)
            | MaskPlace::VectorLane { .. }
            | MaskPlace::Scratch { .. } => {
                // A composite must not include entries below it on the stack.
                self.push_location(wave_size, builder)?;
                let byte_size = if wave_size == WaveSize::Wave64 { 8 } else { 4 };
                builder.push(Operation::DerefSize { byte_size })?;
            }
        }
        Ok(())
    }
}
