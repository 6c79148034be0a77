//! The dwords of one instruction, and the fields that name registers and operands.
//!
//! Callers know the fields of each instruction. Source: AMD's instruction set architecture documents, "Scalar Data Operands", "Instruction
//! Operands" and "Microcode Formats".

use super::Target;
use super::register::{MachineRegister, Operand, Span};
use super::table::{Bits, Encoding, Features, Row};

/// The most dwords of an instruction: an image instruction of gfx10 with three dwords of addresses.
pub(super) const MAX_DWORDS: usize = 5;

/// An instruction with its row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raw<'a> {
    pub(super) target: &'a Target,
    pub(super) address: u64,
    pub(super) dwords: [u32; MAX_DWORDS],
    pub(super) encoding: Encoding,
    /// The number of dwords of the encoding, without the extra ones.
    pub(super) base_dwords: u8,
    /// The number of extra dwords: literals, controls, further addresses.
    pub(super) extra_dwords: u8,
    pub(super) row: &'static Row,
}

/// Returns the bits of a field; 0 for dwords that do not exist.
pub(super) fn bits(dwords: &[u32], Bits(word, low, width): Bits) -> u32 {
    let word = dwords.get(usize::from(word)).copied().unwrap_or(0);
    let mask = 1u32
        .checked_shl(u32::from(width))
        .map_or(u32::MAX, |bit| bit.wrapping_sub(1));
    word.checked_shr(u32::from(low)).unwrap_or(0) & mask
}

/// Sign-extends a number of `width` bits.
pub(super) fn signed(value: u32, width: u8) -> i32 {
    let spare = 32u32.saturating_sub(u32::from(width));
    value
        .checked_shl(spare)
        .unwrap_or(0)
        .cast_signed()
        .checked_shr(spare)
        .unwrap_or(0)
}

/// Returns the low eight bits.
pub(super) fn low_byte(value: u32) -> u8 {
    let [low, ..] = value.to_le_bytes();
    low
}

/// Returns the low sixteen bits.
pub(super) fn low_half(value: u32) -> u16 {
    let [low, high, ..] = value.to_le_bytes();
    u16::from_le_bytes([low, high])
}

impl Raw<'_> {
    pub(super) fn bits(&self, word: u8, low: u8, width: u8) -> u32 {
        bits(&self.dwords, Bits(word, low, width))
    }

    pub(super) fn bit(&self, word: u8, low: u8) -> bool {
        self.bits(word, low, 1) != 0
    }

    /// Returns the bits of a field.
    pub(super) fn field(&self, field: Bits) -> u32 {
        bits(&self.dwords, field)
    }

    /// Returns true if any bit of a field is set; false if there is no such field.
    pub(super) fn is_set(&self, field: Option<Bits>) -> bool {
        field.is_some_and(|field| self.field(field) != 0)
    }

    pub(super) fn features(&self) -> &'static Features {
        self.target.tables.features
    }

    /// Returns the number of scalar registers that hold one bit for each lane.
    pub(super) fn mask_dwords(&self) -> u8 {
        match self.target.wave_size {
            crate::arch::WaveSize::Wave32 => 1,
            crate::arch::WaveSize::Wave64 => 2,
        }
    }

    /// Returns `exec`, with one bit for each lane.
    pub(super) fn exec(&self) -> Operand {
        Operand::Registers(Span::new(MachineRegister::ExecLo, self.mask_dwords()))
    }

    /// Returns `vcc`, with one bit for each lane.
    pub(super) fn vcc(&self) -> Operand {
        Operand::Registers(Span::new(MachineRegister::VccLo, self.mask_dwords()))
    }

    /// Returns a scalar operand of `count` dwords by its code of up to eight bits.
    pub(super) fn scalar(&self, code: u32, count: u8) -> Operand {
        use MachineRegister as R;
        let code = low_byte(code);
        let features = self.features();
        let register = match code {
            102 if features.has_flat_scratch => R::FlatScratchLo,
            103 if features.has_flat_scratch => R::FlatScratchHi,
            104 if features.has_flat_scratch => R::XnackMaskLo,
            105 if features.has_flat_scratch => R::XnackMaskHi,
            0..=105 => R::Sgpr(code),
            106 => R::VccLo,
            107 => R::VccHi,
            108..=123 => R::Ttmp(code.saturating_sub(108)),
            _ if code == features.m0 => R::M0,
            _ if Some(code) == features.null => return Operand::Null,
            126 => R::ExecLo,
            127 => R::ExecHi,
            128..=192 => return Operand::Integer(i32::from(code).saturating_sub(128)),
            193..=208 => return Operand::Integer(192i32.saturating_sub(i32::from(code))),
            240..=248 => return Operand::Float(code),
            254 if features.has_literal64 && count != 1 => {
                let halves = self.literal(0).zip(self.literal(1));
                return halves.map_or(Operand::Other(code), |(low, high)| {
                    Operand::Literal64(u64::from(low) | u64::from(high) << 32)
                });
            }
            254 if !features.has_literal64 => return Operand::Other(code),
            254 | 255 => {
                return self
                    .literal(0)
                    .map_or(Operand::Other(code), Operand::Literal);
            }
            _ => return Operand::Other(code),
        };
        Operand::Registers(Span::new(register, count))
    }

    /// Returns an extra dword of the instruction. `None` if it has none, for example if a destination has the code of a literal.
    fn literal(&self, n: u8) -> Option<u32> {
        (n < self.extra_dwords).then(|| self.bits(self.base_dwords.saturating_add(n), 0, 32))
    }

    /// Returns a source of a vector instruction by its code of nine bits: a scalar operand, or a vector register.
    pub(super) fn source(&self, code: u32, count: u8) -> Operand {
        match code.checked_sub(256) {
            Some(n) => vgpr(n, count),
            None => self.scalar(code, count),
        }
    }

    /// Returns the immediate of the encodings SOPK and SOPP.
    pub(super) fn immediate(&self) -> i32 {
        signed(self.bits(0, 0, 16), 16)
    }

    /// Returns the address of the next instruction, if nothing follows the first dword.
    pub(super) fn next_address(&self) -> u64 {
        self.address.wrapping_add(4)
    }
}

/// Returns vector registers as an operand.
pub(super) fn vgpr(n: u32, count: u8) -> Operand {
    Operand::Registers(Span::new(MachineRegister::Vgpr(low_half(n)), count))
}

/// Returns accumulation registers as an operand.
pub(super) fn agpr(n: u32, count: u8) -> Operand {
    Operand::Registers(Span::new(MachineRegister::Agpr(low_half(n)), count))
}
