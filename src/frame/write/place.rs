//! Builds the expressions of register rules for the places in which a back end saves registers.
//!
//! They have the shapes that LLVM writes, which consumers already support. Source: HET A.6.4.1.

use super::target::{Target, mismatch, next_scalar};
use crate::arch::{AddressSpace, Lane, Register, RegisterClass, ScratchAddressing};
use crate::error::{ErrorKind, Result};
use crate::expr::{Builder, Encoding, Operation};

/// The size of one lane's part of a vector register, and of a scalar register.
const DWORD_BYTES: u64 = 4;
const DWORD_BITS: u64 = 32;

/// The lanes affected by an instruction, by the place from which unwinding reads their mask.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    /// EXEC on entry to the function.
    ///
    /// It is found by EXEC's own rule. If the function changes EXEC, declare the place of the old value
    /// ([`saved_in_register`](super::FunctionFrame::saved_in_register) or [`saved_in_lane`](super::FunctionFrame::saved_in_lane)).
    ExecOnEntry,
    /// A register that holds the mask: EXEC, VCC, or a scalar register (for wave64 the lower of two).
    Register(Register),
    /// A lane of a vector register that holds the mask; for wave64 this lane and the next.
    Lane {
        /// The vector register.
        register: Register,
        /// The lane.
        lane: Lane,
    },
}

/// The place of the return address.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnAddress {
    /// A pair of scalar registers, by the lower one. The calling convention uses `s30`.
    Pair(Register),
    /// Two lanes of a vector register.
    Lanes {
        /// The vector register.
        register: Register,
        /// The lane of the low half.
        low: Lane,
        /// The lane of the high half.
        high: Lane,
    },
    /// Nowhere: the function is dispatched instead of called, and is the outermost frame.
    Undefined,
}

/// The base of the CFA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// A scalar register, and the bytes added to it, in its own units.
    Register(Register, i64),
    /// A lane of a vector register.
    Lane(Register, Lane),
}

/// Builds the expressions of one function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    pub(super) target: Target,
    pub(super) encoding: Encoding,
}

impl Places {
    /// Starts an expression of a register rule: the CFA is on the stack.
    fn rule(self) -> Builder {
        Builder::with_initial_stack(self.encoding, 1)
    }

    fn check_lane(self, lane: Lane) -> Result<()> {
        let wave_size = self.target.wave_size;
        if lane.is_in(wave_size) {
            return Ok(());
        }
        Err(ErrorKind::OutOfBounds {
            bit_offset: i128::from(lane.0).saturating_mul(32),
            size_in_bits: u128::from(wave_size.lanes()).saturating_mul(32),
        }
        .into())
    }

    /// Returns the byte of a vector register at which a lane starts.
    fn lane_byte(self, lane: Lane) -> Result<u64> {
        self.check_lane(lane)?;
        Ok(u64::from(lane.0).saturating_mul(DWORD_BYTES))
    }

    /// Returns a register of 64 bits in two scalar registers.
    pub(super) fn pair(self, low: Register) -> Result<Vec<u8>> {
        self.target.check_scalar(low)?;
        let mut builder = self.rule();
        for half in [low, next_scalar(low)?] {
            builder.register(half)?.push(Operation::Piece {
                byte_size: DWORD_BYTES,
            })?;
        }
        builder.finish()
    }

    /// Returns a register of 32 bits in a lane of a vector register.
    pub(super) fn lane(self, vector: Register, lane: Lane) -> Result<Vec<u8>> {
        self.target.check_vector(vector)?;
        let byte_offset = self.lane_byte(lane)?;
        let mut builder = self.rule();
        builder
            .register(vector)?
            .push(Operation::OffsetUconst { byte_offset })?;
        builder.finish()
    }

    /// Returns a register of 64 bits in two lanes of a vector register.
    pub(super) fn lanes(self, vector: Register, low: Lane, high: Lane) -> Result<Vec<u8>> {
        self.target.check_vector(vector)?;
        let mut builder = self.rule();
        for lane in [low, high] {
            self.check_lane(lane)?;
            builder.register(vector)?.push(Operation::BitPiece {
                bit_size: DWORD_BITS,
                bit_offset: u64::from(lane.0).saturating_mul(DWORD_BITS),
            })?;
        }
        builder.finish()
    }

    /// Pushes the value of a mask.
    fn mask(self, mask: Mask, builder: &mut Builder) -> Result<()> {
        let wave_size = self.target.wave_size;
        let byte_size = if wave_size.lanes() == 64 { 8 } else { 4 };
        match mask {
            Mask::ExecOnEntry => {
                builder.push(Operation::CallFrameEntryReg {
                    register: Register::exec(wave_size).number().into(),
                })?;
            }
            Mask::Register(register) if register.class() == Some(RegisterClass::Sgpr) => {
                return self.scalar_mask(register, builder);
            }
            Mask::Register(register) => {
                self.target.check(register)?;
                let class = register.class();
                if !matches!(class, Some(RegisterClass::Exec | RegisterClass::Vcc)) {
                    return Err(mismatch(
                        "a register with a bit for each lane",
                        "another one",
                    ));
                }
                builder.register(register)?;
            }
            Mask::Lane { register, lane } => {
                self.target.check_vector(register)?;
                let byte_offset = self.lane_byte(lane)?;
                if byte_size == 8 {
                    self.check_lane(Lane(lane.0.saturating_add(1)))?;
                }
                builder
                    .register(register)?
                    .push(Operation::OffsetUconst { byte_offset })?;
            }
        }
        builder.push(Operation::DerefSize { byte_size })?;
        Ok(())
    }

    /// Pushes a mask in one or two scalar registers. Two are combined by arithmetic, so that consumers need no composite.
    fn scalar_mask(self, low: Register, builder: &mut Builder) -> Result<()> {
        let dword = Operation::DerefSize { byte_size: 4 };
        if self.target.wave_size.lanes() == 64 {
            builder
                .register(next_scalar(low)?)?
                .push(dword)?
                .constant(DWORD_BITS)?
                .push(Operation::Shl)?
                .register(low)?
                .push(dword)?
                .push(Operation::Or)?;
        } else {
            builder.register(low)?.push(dword)?;
        }
        Ok(())
    }

    fn select(self, builder: &mut Builder) -> Result<()> {
        builder.push(Operation::SelectBitPiece {
            bit_size: DWORD_BITS,
            count: self.target.wave_size.lanes().into(),
        })?;
        Ok(())
    }

    /// Returns the offset of a row of dwords in the wave's scratch, from the CFA, in bytes.
    pub(super) fn row_of_dwords(self, lane_offset: u32) -> Result<u64> {
        crate::arch::scratch::dwords_for_all_lanes(lane_offset, self.target.wave_size)
            .ok_or_else(|| crate::Error::malformed("scratch offset", "it is not a multiple of 4"))
    }

    /// Returns a vector register in scratch for the lanes of a mask. It is unchanged in the others.
    pub(super) fn scratch(self, vector: Register, offset: u32, mask: Mask) -> Result<Vec<u8>> {
        self.target.check_vector(vector)?;
        let mut builder = self.rule();
        builder
            .register(vector)?
            .push(Operation::Swap)?
            .push(Operation::OffsetUconst {
                byte_offset: self.row_of_dwords(offset)?,
            })?;
        self.mask(mask, &mut builder)?;
        self.select(&mut builder)?;
        builder.finish()
    }

    /// Returns a vector register in scratch for the lanes outside a mask. It is lost in the lanes of the mask.
    pub(super) fn scratch_inactive(
        self,
        vector: Register,
        offset: u32,
        active: Mask,
    ) -> Result<Vec<u8>> {
        self.target.check_vector(vector)?;
        let mut builder = self.rule();
        builder
            .push(Operation::Undefined)?
            .push(Operation::Swap)?
            .push(Operation::OffsetUconst {
                byte_offset: self.row_of_dwords(offset)?,
            })?;
        self.mask(active, &mut builder)?;
        builder.push(Operation::Not)?;
        self.select(&mut builder)?;
        builder.finish()
    }

    /// Returns a vector register in another for the lanes of a mask. It is unchanged in the others.
    pub(super) fn vector(self, vector: Register, holder: Register, mask: Mask) -> Result<Vec<u8>> {
        self.target.check_vector(vector)?;
        self.target.check_vector(holder)?;
        let mut builder = self.rule();
        builder.register(vector)?.register(holder)?;
        self.mask(mask, &mut builder)?;
        self.select(&mut builder)?;
        builder.finish()
    }

    /// Pushes the base of the CFA, in the units of a stack pointer.
    fn base(self, base: Base, builder: &mut Builder) -> Result<()> {
        match base {
            Base::Register(register, bytes) => {
                builder
                    .register(register)?
                    .push(Operation::DerefSize { byte_size: 4 })?;
                match bytes {
                    0 => {}
                    1.. => {
                        builder
                            .constant(bytes.unsigned_abs())?
                            .push(Operation::Plus)?;
                    }
                    _ => {
                        builder
                            .constant(bytes.unsigned_abs())?
                            .push(Operation::Minus)?;
                    }
                }
            }
            Base::Lane(register, lane) => {
                let byte_offset = self.lane_byte(lane)?;
                builder
                    .register(register)?
                    .push(Operation::OffsetUconst { byte_offset })?
                    .push(Operation::DerefSize { byte_size: 4 })?;
            }
        }
        Ok(())
    }

    /// Returns the CFA as an expression.
    pub(super) fn cfa(self, base: Base) -> Result<Vec<u8>> {
        let mut builder = Builder::new(self.encoding);
        self.base(base, &mut builder)?;
        if self.target.scratch == ScratchAddressing::Flat {
            let lanes = self.target.wave_size.lanes();
            builder
                .constant(lanes.trailing_zeros().into())?
                .push(Operation::Shl)?;
        }
        builder.form_address(AddressSpace::PrivateWave)?;
        builder.finish()
    }

    /// Returns the CFA at a fixed address of the wave's scratch.
    pub(super) fn fixed_cfa(self, address: u32) -> Result<Vec<u8>> {
        let mut builder = Builder::new(self.encoding);
        builder
            .constant(address.into())?
            .form_address(AddressSpace::PrivateWave)?;
        builder.finish()
    }

    /// Returns the base of the CFA as the place of a stack pointer.
    pub(super) fn stack_pointer(self, base: Base) -> Result<Vec<u8>> {
        if let Base::Lane(register, lane) = base {
            return self.lane(register, lane);
        }
        let mut builder = self.rule();
        self.base(base, &mut builder)?;
        builder.push(Operation::StackValue)?;
        builder.finish()
    }
}
