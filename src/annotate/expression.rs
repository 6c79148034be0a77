//! Makes the expressions of `DW_AT_LLVM_lane_pc` and `DW_AT_LLVM_active_lane` for a place in the code.
//!
//! The operations are limited to the ones that LLVM decodes: masks are read as the generic type. Sources: USAGE `DW_AT_LLVM_lane_pc`,
//! `DW_AT_LLVM_active_lane`; HET A.2.5.4.4.

use crate::arch::{AddressSpace, Register, ScratchAddressing, WaveSize};
use crate::error::{Error, Result, SpecRule};
use crate::expr::{Builder, Dialect, Encoding, Operation};
use crate::isa::MachineRegister;
use crate::lane_flow::{ActiveLanes, DwordPlace, LanePlan, PlacePlan, Waiting};

/// The size of a lane's program location in bits, which is the size of the generic type.
const PC_BITS: u64 = 64;
/// The number of lanes in a half of the wave.
const HALF: u64 = 32;
/// The size of the program locations of a half of the wave, in bytes.
const HALF_BYTES: u64 = PC_BITS / 8 * HALF;

/// Makes the expressions of a function.
pub(super) struct Expressions<'e> {
    pub(super) wave_size: WaveSize,
    /// The encoding of the operations.
    pub(super) dialect: Dialect,
    /// A function that returns the address to write for a waiting lane ([`LanePlan::waiting`]). It is one of the correct addresses.
    pub(super) shown: &'e dyn Fn(u8, Waiting) -> Result<u64>,
}

impl Expressions<'_> {
    fn encoding(&self) -> Encoding {
        Encoding {
            dialect: self.dialect,
            ..Encoding::AMDGPU
        }
    }

    /// Returns the expression of `DW_AT_LLVM_lane_pc`.
    pub(super) fn lane_pc(&self, plan: &PlacePlan) -> Result<Vec<u8>> {
        let mut builder = Builder::new(self.encoding());
        let lanes = u64::from(self.wave_size.lanes());
        match plan.halves.as_slice() {
            [only] => self.lanes(0, only, &mut builder)?,
            halves => {
                for (first, half) in [0, 32].into_iter().zip(halves) {
                    self.lanes(first, half, &mut builder)?;
                    builder.push(Operation::Piece {
                        byte_size: HALF_BYTES,
                    })?;
                }
                builder.push(Operation::PieceEnd)?;
            }
        }
        builder.register(Register::PC_64)?.push(Operation::Extend {
            bit_size: PC_BITS,
            count: lanes,
        })?;
        self.push_active(plan.active, &mut builder)?;
        builder.push(Operation::SelectBitPiece {
            bit_size: PC_BITS,
            count: lanes,
        })?;
        builder.finish()
    }

    /// Returns the expression of `DW_AT_LLVM_active_lane`.
    pub(super) fn active_lane(&self, active: ActiveLanes) -> Result<Vec<u8>> {
        let mut builder = Builder::new(self.encoding());
        self.push_active(active, &mut builder)?;
        builder.push(Operation::StackValue)?;
        builder.finish()
    }

    /// Pushes the mask of active lanes.
    fn push_active(&self, active: ActiveLanes, builder: &mut Builder) -> Result<()> {
        let exec = Register::exec(self.wave_size);
        match active {
            ActiveLanes::Exec => {
                builder.register(exec)?.push(Operation::DerefSize {
                    byte_size: self.mask_bytes(),
                })?;
            }
            ActiveLanes::NotExec => {
                builder
                    .register(exec)?
                    .push(Operation::DerefSize {
                        byte_size: self.mask_bytes(),
                    })?
                    .push(Operation::Not)?;
                if self.wave_size == WaveSize::Wave32 {
                    builder.constant(u32::MAX.into())?.push(Operation::And)?;
                }
            }
            ActiveLanes::Saved(low) => {
                self.push_scalar(low, builder)?;
                if self.wave_size == WaveSize::Wave64 {
                    let high = low.plus(1).ok_or(SpecRule::RegisterNumber)?;
                    self.push_scalar(high, builder)?;
                    builder
                        .constant(HALF)?
                        .push(Operation::Shl)?
                        .push(Operation::Or)?;
                }
            }
        }
        Ok(())
    }

    fn mask_bytes(&self) -> u8 {
        match self.wave_size {
            WaveSize::Wave32 => 4,
            WaveSize::Wave64 => 8,
        }
    }

    /// Pushes the locations of the inactive lanes of a half, as one location for all lanes.
    fn lanes(&self, first: u8, plan: &LanePlan, builder: &mut Builder) -> Result<()> {
        /// The remaining steps, the next one last.
        enum Step<'p> {
            Plan(&'p LanePlan),
            Select(DwordPlace),
        }
        let mut steps = vec![Step::Plan(plan)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Plan(LanePlan::Ask { place, then }) => {
                    let [clear, set] = &**then;
                    steps.extend([Step::Select(*place), Step::Plan(set), Step::Plan(clear)]);
                }
                Step::Plan(place) => match place.waiting() {
                    Some(known) => self.everywhere((self.shown)(first, known)?, builder)?,
                    None => {
                        builder.push(Operation::Undefined)?;
                        extend(builder)?;
                    }
                },
                Step::Select(place) => {
                    self.push_place(place, builder)?;
                    builder.push(Operation::SelectBitPiece {
                        bit_size: PC_BITS,
                        count: HALF,
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Pushes one address for all lanes of a half.
    fn everywhere(&self, address: u64, builder: &mut Builder) -> Result<()> {
        builder
            .push(Operation::Addr { address })?
            .push(Operation::StackValue)?;
        extend(builder)
    }

    /// Pushes the dword at a place.
    fn push_place(&self, place: DwordPlace, builder: &mut Builder) -> Result<()> {
        let lane_offset = |lane: u8| u64::from(lane).saturating_mul(4);
        match place {
            DwordPlace::Scalar(register) => return self.push_scalar(register, builder),
            DwordPlace::Lane { register, lane } => {
                let (register, _) = register
                    .dwarf(self.wave_size)
                    .ok_or(SpecRule::RegisterNumber)?;
                builder.register(register)?.push(Operation::OffsetUconst {
                    byte_offset: lane_offset(lane),
                })?;
            }
            DwordPlace::Scratch { slot, lane } => {
                let lanes = i64::from(self.wave_size.lanes());
                // If the base register counts the bytes of a lane, it is scaled together with the offset. If it counts the bytes of the wave, it is
                // not scaled.
                let (scaled, plus) = match slot.addressing {
                    ScratchAddressing::Flat => (Some(lanes), slot.offset),
                    ScratchAddressing::Buffer => {
                        (None, slot.offset.checked_mul(lanes).ok_or_else(too_far)?)
                    }
                };
                match slot.base {
                    Some(base) => self.push_scalar(base, builder)?,
                    None => {
                        builder.constant(0)?;
                    }
                }
                push_sum(plus, builder)?;
                if let Some(lanes) = scaled.and_then(|lanes| u64::try_from(lanes).ok()) {
                    builder.constant(lanes)?.push(Operation::Mul)?;
                }
                push_sum(i64::from(lane).saturating_mul(4), builder)?;
                builder.form_address(AddressSpace::PrivateWave)?;
            }
        }
        builder.push(Operation::DerefSize { byte_size: 4 })?;
        Ok(())
    }

    /// Pushes a scalar register, or half of a register of 64 bits.
    fn push_scalar(&self, register: MachineRegister, builder: &mut Builder) -> Result<()> {
        let (register, is_upper) = register
            .dwarf(self.wave_size)
            .ok_or(SpecRule::RegisterNumber)?;
        builder.register(register)?;
        if is_upper {
            builder.push(Operation::OffsetUconst { byte_offset: 4 })?;
        }
        builder.push(Operation::DerefSize { byte_size: 4 })?;
        Ok(())
    }
}

fn too_far() -> Error {
    Error::malformed("scratch", "an offset does not fit")
}

fn extend(builder: &mut Builder) -> Result<()> {
    builder.push(Operation::Extend {
        bit_size: PC_BITS,
        count: HALF,
    })?;
    Ok(())
}

/// Adds a constant to the value on the stack.
fn push_sum(plus: i64, builder: &mut Builder) -> Result<()> {
    match u64::try_from(plus) {
        Ok(0) => {}
        Ok(value) => {
            builder.push(Operation::PlusUconst { value })?;
        }
        Err(_) => {
            builder
                .constant(plus.unsigned_abs())?
                .push(Operation::Minus)?;
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::lane_flow::Slot;

    /// Returns the expressions of a function in which no lane waits.
    pub(in crate::annotate) fn expressions(wave_size: WaveSize) -> Expressions<'static> {
        Expressions {
            wave_size,
            dialect: Dialect::default(),
            shown: &|_, _| Err(ErrorKind::Unsupported("no lane waits").into()),
        }
    }

    #[test]
    fn an_inverted_mask_has_the_bits_of_the_wave() {
        let mask = expressions(WaveSize::Wave32).active_lane(ActiveLanes::NotExec);
        // In a wave of 32 lanes, the mask has 32 bits: DW_OP_reg1 (EXEC), DW_OP_deref_size 4, DW_OP_not, DW_OP_constu, DW_OP_and,
        // DW_OP_stack_value.
        let expected = [
            0x51, 0x94, 4, 0x20, 0x10, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x1a, 0x9f,
        ];
        assert_eq!(mask.unwrap(), expected);
    }

    /// The dword of lane 5, in the row at 16 bytes of each lane after s33, in a wave of 64 lanes. A row has 256 bytes, so the row is 1024 bytes of the wave
    /// after the base.
    #[test]
    fn the_offset_of_a_row_is_scaled_once() {
        let bytes = |addressing, offset| {
            let expressions = expressions(WaveSize::Wave64);
            let slot = Slot {
                base: Some(MachineRegister::Sgpr(33)),
                addressing,
                offset,
            };
            let mut builder = Builder::new(expressions.encoding());
            let place = DwordPlace::Scratch { slot, lane: 5 };
            expressions.push_place(place, &mut builder).unwrap();
            builder.finish().unwrap()
        };
        // DW_OP_regx 65 (s33 in USAGE "Register Identifier"), DW_OP_deref_size 4.
        let base = [0x90, 65, 0x94, 4];
        // DW_OP_plus_uconst 20, DW_OP_lit6 (DW_ASPACE_AMDGPU_private_wave), DW_OP_LLVM_form_aspace_address, DW_OP_deref_size 4.
        let lane = [0x23, 20, 0x36, 0xe9, 2, 0x94, 4];
        // The base counts the bytes of the wave: DW_OP_plus_uconst 1024.
        let row = [0x23, 0x80, 8];
        let expected = [&base[..], &row, &lane].concat();
        assert_eq!(bytes(ScratchAddressing::Buffer, 16), expected);
        // The base counts the bytes of a lane: DW_OP_plus_uconst 16, DW_OP_const1u 64, DW_OP_mul.
        let row = [0x23, 16, 0x08, 64, 0x1e];
        let expected = [&base[..], &row, &lane].concat();
        assert_eq!(bytes(ScratchAddressing::Flat, 16), expected);
        // Below the base: DW_OP_lit16, DW_OP_minus.
        let row = [0x40, 0x1c, 0x08, 64, 0x1e];
        let expected = [&base[..], &row, &lane].concat();
        assert_eq!(bytes(ScratchAddressing::Flat, -16), expected);
    }
}
