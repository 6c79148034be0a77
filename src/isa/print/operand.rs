//! Prints registers and constants.
//!
//! Source: the output of LLVM's `AMDGPUInstPrinter`.

use super::{Printer, Token};
use crate::isa::register::unnumbered;
use crate::isa::register::{MachineRegister, Operand, Span};

/// The floating-point constants with the codes 240 to 247: their bits in 16-bit and 32-bit formats, and the upper half of the 64-bit
/// format.
const FLOATS: [(&str, u32, u32, u32); 8] = [
    ("0.5", 0x3800, 0x3f00_0000, 0x3fe0_0000),
    ("-0.5", 0xb800, 0xbf00_0000, 0xbfe0_0000),
    ("1.0", 0x3c00, 0x3f80_0000, 0x3ff0_0000),
    ("-1.0", 0xbc00, 0xbf80_0000, 0xbff0_0000),
    ("2.0", 0x4000, 0x4000_0000, 0x4000_0000),
    ("-2.0", 0xc000, 0xc000_0000, 0xc000_0000),
    ("4.0", 0x4400, 0x4080_0000, 0x4010_0000),
    ("-4.0", 0xc400, 0xc080_0000, 0xc010_0000),
];
/// 1 ÷ 2π, in 16 and 32 bits.
const HALF_TURN: (u32, u32) = (0x3118, 0x3e22_f983);

impl Printer<'_, '_> {
    /// Returns the text of a scalar operand or vector register by its code of nine bits.
    pub(super) fn source_text(&self, code: u32, token: Token) -> Option<String> {
        if let Some(n) = code.checked_sub(256) {
            return Some(vector_text(n, token));
        }
        self.scalar_text(code, token)
    }

    /// Returns the text of a scalar operand by its code of eight bits.
    pub(super) fn scalar_text(&self, code: u32, token: Token) -> Option<String> {
        let named = match code {
            235 => "src_shared_base",
            236 => "src_shared_limit",
            237 => "src_private_base",
            238 => "src_private_limit",
            251 => "src_vccz",
            252 => "src_execz",
            253 => "src_scc",
            _ => "",
        };
        if !named.is_empty() {
            return Some(named.to_owned());
        }
        match self.raw.scalar(code, token.count) {
            Operand::Registers(span) => is_aligned(span).then(|| span.to_string()),
            Operand::Integer(value) => Some(value.to_string()),
            Operand::Float(code) => float(code, token),
            Operand::Literal(value) => literal(value, token),
            Operand::Null => Some("null".to_owned()),
            Operand::Literal64(_) | Operand::Other(_) => None,
        }
    }
}

/// Returns the text of a vector register, or of the half that bit 7 selects.
pub(super) fn vector_text(n: u32, token: Token) -> String {
    let half = match (token.is_half, n & 0x80) {
        (false, _) => "",
        (true, 0) => ".l",
        (true, _) => ".h",
    };
    let n = if token.is_half { n & 0x7f } else { n };
    let n = u16::try_from(n).unwrap_or(u16::MAX);
    let first = match token.file {
        Some('a') => MachineRegister::Agpr(n),
        _ => MachineRegister::Vgpr(n),
    };
    format!("{}{half}", Span::new(first, token.count))
}

/// Returns true if registers are aligned. Two scalar registers start at an even number, four or more at a multiple of four. LLVM prints
/// unaligned ones as if they were aligned.
fn is_aligned(span: Span) -> bool {
    let alignment = if span.count > 2 { 4 } else { span.count };
    match span.first {
        MachineRegister::Sgpr(n) | MachineRegister::Ttmp(n) => n.is_multiple_of(alignment),
        MachineRegister::Vgpr(_) | MachineRegister::Agpr(_) | unnumbered!() => {
            span.count == 1 || span.first.plus(1).is_some() && span.count == 2
        }
    }
}

fn float(code: u8, token: Token) -> Option<String> {
    let row = FLOATS.get(usize::from(code.checked_sub(240)?));
    Some(match (row, token.kind) {
        (Some((_, bits, ..)), Some('i')) => format!("{bits:#x}"),
        (None, Some('i')) => format!("{:#x}", HALF_TURN.0),
        (Some((text, ..)), _) => (*text).to_owned(),
        (None, _) if token.count == 2 => "0.15915494309189532".to_owned(),
        (None, _) => "0.15915494".to_owned(),
    })
}

/// Returns the text of a literal. A value that has an inline constant is marked, so that an assembler keeps the literal. `None` if the mark
/// is unknown here.
fn literal(value: u32, token: Token) -> Option<String> {
    let small = value <= 64 || value >= 0xffff_fff0;
    let plain = || Some(format!("{value:#x}"));
    match (token.kind, token.count) {
        (None, 1) => {
            let is_float = FLOATS.iter().any(|(_, _, bits, _)| *bits == value);
            if small || is_float || value == HALF_TURN.1 {
                return Some(format!("lit({value:#x})"));
            }
            plain()
        }
        (Some('x'), 1) => {
            let is_float = FLOATS.iter().any(|(_, bits, ..)| *bits == value);
            if value > 0xffff || value >= 0xfff0 || small {
                return None;
            }
            if is_float || value == HALF_TURN.0 {
                return Some(format!("lit({value:#x})"));
            }
            plain()
        }
        (Some('i'), 1) if value < 0xfff0 && !small => plain(),
        (Some('d'), 2) => {
            let is_float = FLOATS.iter().any(|(.., bits)| *bits == value);
            (!is_float && value > 64).then(plain).flatten()
        }
        (None, 2) if value > 64 => plain(),
        _ => None,
    }
}
