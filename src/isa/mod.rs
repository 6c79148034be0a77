//! The machine code of AMDGPU, as far as unwinding depends on it. Decodes the length of each instruction, the registers that it writes, and
//! the effects of instructions that set up stacks, save registers and direct control.
//!
//! Clients interpret the effects. Printing instructions (`print`) is independent of that. Sources: AMD's instruction set architecture
//! documents ("Vega 7nm", "AMD Instinct MI100", "MI200", "MI300", "CDNA 4", "RDNA 1.0" to "RDNA 4"), [USAGE](crate) "Instructions", and for
//! gfx125x, which has no document, LLVM 22's assembler.
//!
//! ```
//! use hetdwarf::arch::Processor;
//! use hetdwarf::isa::{Decoder, Effect, MachineRegister, Operand, Span};
//!
//! let decoder = Decoder::new(Processor::by_name("gfx90a").unwrap(), None).unwrap();
//! // s_mov_b32 s33, s32
//! let instruction = decoder.decode(&[0x20, 0x00, 0xa1, 0xbe], 0x1000).unwrap();
//! assert_eq!((instruction.length, instruction.mnemonic.unwrap().to_string()), (4, "s_mov_b32".into()));
//! assert!(instruction.writes.contains(MachineRegister::Sgpr(33)));
//! let Effect::Scalar { a, .. } = instruction.effect else { unreachable!() };
//! assert_eq!(a, Operand::Registers(Span::new(MachineRegister::Sgpr(32), 1)));
//! ```

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod effect;
mod field;
mod known;
mod length;
mod memory;
mod print;
mod reach;
mod register;
mod scalar;
mod table;
#[cfg(test)]
mod tests;
mod vector;
mod writes;

pub(crate) use known::KnownInstructions;
pub(crate) use reach::{Counter, Operation, Reach, ReachKind, Waits};

pub use effect::{
    Access, AccessKind, CallTarget, Condition, DualOp, Effect, ExecOp, ScalarOp, VectorOp,
};
pub use register::{MachineRegister, Operand, Span, Writes};

use core::fmt;

use fallible_iterator::FallibleIterator;

use crate::arch::{Family, Processor, WaveSize};
use crate::error::{Error, ErrorKind, Result};
use field::{MAX_DWORDS, Raw, bits, low_half};
use table::{Encoding, Layout, Op, Pair, Row, Tables, Text, flag};

#[derive(Debug)]
struct Target {
    wave_size: WaveSize,
    tables: &'static Tables,
    name: &'static str,
}

/// Decodes the instructions of one processor.
#[derive(Debug)]
pub struct Decoder {
    target: Target,
    family: Family,
}

/// One instruction.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The address.
    pub address: u64,
    /// The length in bytes: a multiple of 4, at most 20.
    pub length: u8,
    /// The name. `None` for exports, for dual instructions, which have two names, and for the few opcodes whose names differ between
    /// processors of one family.
    pub mnemonic: Option<Mnemonic>,
    /// The registers it writes.
    pub writes: Writes,
    /// The effect.
    pub effect: Effect,
}

impl Instruction {
    /// Returns the address after it.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.address.wrapping_add(self.length as u64)
    }
}

/// The name of an instruction, without a suffix for its encoding (`_e32`, `_e64`, `_dpp`, `_sdwa`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mnemonic {
    prefix: &'static str,
    text: Text,
}

impl Mnemonic {
    fn stem(self) -> &'static str {
        let (name, _) = self.text.parts();
        let stem = name.strip_suffix("_e32").or(name.strip_suffix("_e64"));
        stem.unwrap_or(name)
    }

    /// Returns true for instructions of the scalar ALU and of program control, `s_…`.
    pub(crate) fn is_scalar(self) -> bool {
        self.prefix.is_empty() && self.stem().starts_with("s_")
    }

    /// Returns true for matrix operations, `v_mfma_…` and the like, which write all lanes.
    pub(crate) fn is_matrix(self) -> bool {
        const MATRIX: [&str; 4] = ["v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_"];
        let stem = self.stem();
        self.prefix.is_empty() && MATRIX.iter().any(|prefix| stem.starts_with(prefix))
    }
}

impl fmt::Display for Mnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.prefix)?;
        f.write_str(self.stem())
    }
}

impl PartialEq<str> for Mnemonic {
    fn eq(&self, other: &str) -> bool {
        other.strip_prefix(self.prefix) == Some(self.stem())
    }
}

impl PartialEq<&str> for Mnemonic {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

/// The row of dual instructions and exports, whose opcodes need no table.
static NO_ROW: Row = Row::NONE;

impl Decoder {
    /// Creates a decoder for code of this processor.
    ///
    /// * `wave_size`: the wave size of the code. `None` for the processor's default.
    ///
    /// Returns `None` if there is no decoder for the processor (those before gfx9, gfx117x, gfx13), or if it has no waves of this size.
    #[must_use]
    pub fn new(processor: &'static Processor, wave_size: Option<WaveSize>) -> Option<Decoder> {
        let family = processor.family()?;
        let tables = Tables::of_family(family)?;
        let wave_size = wave_size.or(processor.default_wave_size())?;
        processor.supports_wave_size(wave_size).then_some(Decoder {
            target: Target {
                wave_size,
                tables,
                name: processor.name(),
            },
            family,
        })
    }

    /// Returns the family of the processor.
    pub(crate) const fn family(&self) -> Family {
        self.family
    }

    /// Decodes the instruction at the start of `bytes`, whose address is `address`.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if `bytes` ends before the instruction does; [`ErrorKind::Malformed`] if the processor has no instruction
    /// with this encoding.
    pub fn decode(&self, bytes: &[u8], address: u64) -> Result<Instruction> {
        self.decode_told(bytes, address)
            .map(|(instruction, _)| instruction)
    }

    /// Decodes an instruction as [`decode`](Decoder::decode) does. Also returns true if the result does not depend on the bytes after the
    /// instruction.
    fn decode_told(&self, bytes: &[u8], address: u64) -> Result<(Instruction, bool)> {
        let (raw, layout) = self.raw(bytes, address)?;
        let opcode = opcode(layout.opcode, &raw.dwords);
        let total = layout.dwords.saturating_add(raw.extra_dwords);
        let pair = (self.target.tables).pair(raw.encoding, opcode);
        if let Some(pair) = pair {
            if let Some(second) = second_part(pair, &raw, layout.opcode, bytes) {
                // The second part determines the written registers.
                let instruction = self.decode(second, address)?;
                let length = instruction.length.saturating_add(8);
                let whole = Instruction {
                    length,
                    ..instruction
                };
                return Ok((whole, false));
            }
            if !pair.stands_alone() {
                return Err(match bytes.len() {
                    ..12 => truncated(),
                    _ => self.unknown(raw.bits(0, 0, 32), address),
                });
            }
        }
        let mnemonic = Decoder::mnemonic(&raw);
        let instruction = Instruction {
            address,
            length: total.saturating_mul(4),
            mnemonic,
            writes: writes::writes(&raw),
            effect: effect(&raw),
        };
        Ok((instruction, pair.is_none()))
    }

    /// Returns the dwords, encoding and row of the instruction at the start of `bytes`; for an instruction of two parts, those in the first
    /// part.
    #[inline]
    fn raw(&self, bytes: &[u8], address: u64) -> Result<(Raw<'_>, &'static Layout)> {
        let mut dwords = [0; MAX_DWORDS];
        let (chunks, _) = bytes.as_chunks();
        for (dword, chunk) in dwords.iter_mut().zip(chunks) {
            *dword = u32::from_le_bytes(*chunk);
        }
        let present = u8::try_from(chunks.len()).unwrap_or(u8::MAX);
        let [first, ..] = dwords;
        if present == 0 {
            return Err(truncated());
        }
        let layout =
            (self.target.tables.layout(first)).ok_or_else(|| self.unknown(first, address))?;
        if present < layout.dwords {
            return Err(truncated());
        }
        let encoding = layout.encoding;
        let opcode = opcode(layout.opcode, &dwords);
        let row = if matches!(encoding, Encoding::Vopd | Encoding::Vopd3 | Encoding::Exp) {
            &NO_ROW
        } else {
            (self.target.tables.row(encoding, opcode))
                .ok_or_else(|| self.unknown(first, address))?
        };
        let mut raw = Raw {
            target: &self.target,
            address,
            dwords,
            encoding,
            base_dwords: layout.dwords,
            extra_dwords: 0,
            row,
        };
        raw.extra_dwords =
            length::extra_dwords(&raw).ok_or_else(|| self.unknown(first, address))?;
        let total = layout.dwords.saturating_add(raw.extra_dwords);
        if total > present {
            return Err(truncated());
        }
        Ok((raw, layout))
    }

    fn mnemonic(raw: &Raw<'_>) -> Option<Mnemonic> {
        let prefix = memory::prefix(raw)?;
        let text = raw.row.text;
        (text != Row::NONE.text && !raw.row.has(flag::UNNAMED)).then_some(Mnemonic { prefix, text })
    }

    /// Returns the instructions of `code`, whose address is `address`.
    ///
    /// The iterator ends after the last instruction, or with its first error, which has the offset in `code`. It stays ended.
    pub fn instructions<'a>(&'a self, code: &'a [u8], address: u64) -> Instructions<'a> {
        Instructions {
            decoder: self,
            code,
            start: address,
            address,
        }
    }

    /// Returns all instructions of `code`, whose address is `address`.
    ///
    /// # Errors
    /// The first error of [`instructions`](Decoder::instructions).
    pub fn decode_all(&self, code: &[u8], address: u64) -> Result<Vec<Instruction>> {
        Decoder::decode_each(code, address, |rest, next| self.decode(rest, next))
    }

    /// Decodes as [`decode_all`](Decoder::decode_all) does. `known` caches the decoded instructions of this decoder.
    pub(crate) fn decode_all_known(
        &self,
        code: &[u8],
        address: u64,
        known: &mut KnownInstructions,
    ) -> Result<Vec<Instruction>> {
        Decoder::decode_each(code, address, |rest, next| known.decode(self, rest, next))
    }

    fn decode_each(
        code: &[u8],
        address: u64,
        mut decode: impl FnMut(&[u8], u64) -> Result<Instruction>,
    ) -> Result<Vec<Instruction>> {
        // No instruction is shorter than a dword, so the vector is never reallocated.
        let mut all = Vec::with_capacity(code.len() / 4);
        let (mut rest, mut next) = (code, address);
        while !rest.is_empty() {
            let instruction = match decode(rest, next) {
                Ok(instruction) => instruction,
                Err(error) => {
                    let offset = next.wrapping_sub(address);
                    return Err(error.at_operation("machine code", offset));
                }
            };
            let length = usize::from(instruction.length);
            rest = rest.get(length..).unwrap_or_default();
            next = instruction.end();
            all.push(instruction);
        }
        Ok(all)
    }

    #[cold]
    fn unknown(&self, first: u32, address: u64) -> Error {
        Error::malformed(
            "machine instruction",
            format!(
                "{} has no instruction that begins with {first:#010x}, found at {address:#x}",
                self.target.name
            ),
        )
    }
}

/// Returns the bytes of the second part of an instruction of two parts, if it follows.
fn second_part<'b>(
    pair: &Pair,
    raw: &Raw<'_>,
    fields: &[table::Bits],
    bytes: &'b [u8],
) -> Option<&'b [u8]> {
    let [first, _, second @ ..] = &raw.dwords;
    let same_prefix = first >> 26 == second.first()? >> 26;
    let rest = bytes.get(8..)?;
    (same_prefix && pair.is_completed_by(opcode(fields, second))).then_some(rest)
}

fn truncated() -> Error {
    Error::new(ErrorKind::Truncated {
        what: "a machine instruction",
    })
}

fn opcode(fields: &[table::Bits], dwords: &[u32]) -> u16 {
    let mut opcode = 0;
    let mut shift = 0u32;
    for field in fields {
        opcode |= bits(dwords, *field).checked_shl(shift).unwrap_or(0);
        shift = shift.saturating_add(u32::from(field.2));
    }
    low_half(opcode)
}

fn effect(raw: &Raw<'_>) -> Effect {
    match raw.row.op {
        Op::Other if raw.encoding == Encoding::Vopd => vector::dual(raw),
        Op::Other => vector::comparison(raw).unwrap_or(Effect::Other),
        Op::Access(_) => memory::effect(raw),
        Op::ReadLane
        | Op::WriteLane
        | Op::ReadFirstLane
        | Op::VectorMove
        | Op::Vector(_)
        | Op::Reversed(_)
        | Op::AccRead
        | Op::AccWrite
        | Op::AccMove => vector::effect(raw),
        Op::Alu(_)
        | Op::SaveExec(_)
        | Op::WriteExec(_)
        | Op::GetPc
        | Op::SetPc
        | Op::SwapPc
        | Op::Call
        | Op::OtherJump
        | Op::Branch(_)
        | Op::EndProgram
        | Op::Trap
        | Op::CodeEnd
        | Op::Clause
        | Op::Wait
        | Op::Nop
        | Op::GprIndex
        | Op::VgprMsb
        | Op::ScalarLoad
        | Op::ScalarLoadPart(_) => scalar::effect(raw),
    }
}

/// The instructions of a piece of code, see [`Decoder::instructions`].
#[derive(Debug)]
pub struct Instructions<'a> {
    decoder: &'a Decoder,
    code: &'a [u8],
    start: u64,
    address: u64,
}

impl FallibleIterator for Instructions<'_> {
    type Item = Instruction;
    type Error = Error;

    fn next(&mut self) -> Result<Option<Instruction>> {
        if self.code.is_empty() {
            return Ok(None);
        }
        match self.decoder.decode(self.code, self.address) {
            Ok(instruction) => {
                let length = usize::from(instruction.length);
                self.code = self.code.get(length..).unwrap_or_default();
                self.address = instruction.end();
                Ok(Some(instruction))
            }
            Err(error) => {
                self.code = &[];
                let offset = self.address.wrapping_sub(self.start);
                Err(error.at_operation("machine code", offset))
            }
        }
    }
}
