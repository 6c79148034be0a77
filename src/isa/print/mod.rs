//! Prints an instruction as LLVM 22's disassembler does.
//!
//! A row's text names the operands in the order of the assembler; they are read and printed here. All other fields that are set must be
//! known modifiers. Each field that is read is marked, and if any bit remains, the instruction is not printed. `verify` does not use this
//! module.

mod memory;
mod operand;
mod scalar;
mod vector;

use core::fmt::Write as _;

use super::field::{MAX_DWORDS, Raw, bits};
use super::table::{Bits, Encoding, flag};
use super::{Decoder, memory as access};
use crate::error::Result;

/// Creates the text of an instruction.
struct Printer<'a, 'r> {
    raw: &'a Raw<'r>,
    /// The bits that have not been read.
    left: [u32; MAX_DWORDS],
    text: String,
    /// The number of operands so far.
    count: usize,
    /// The text after the operands.
    modifiers: String,
}

impl Decoder {
    /// Returns the text of the instruction at the start of `bytes`, whose address is `address`, as LLVM 22's disassembler prints it:
    /// `s_add_u32 s0, s1, 4`. The operand of a branch is its distance in dwords, unsigned.
    ///
    /// An instruction with an unknown operand or modifier is printed as its dwords, `.long 0x…`. So are image instructions, and dual
    /// instructions except for moves and additions.
    ///
    /// # Errors
    /// Those of [`decode`](Decoder::decode).
    pub fn print(&self, bytes: &[u8], address: u64) -> Result<String> {
        let instruction = self.decode(bytes, address)?;
        let (raw, fields) = self.raw(bytes, address)?;
        let total = usize::from(instruction.length / 4);
        let is_single = raw.dwords.len() >= total
            && usize::from(raw.base_dwords.saturating_add(raw.extra_dwords)) == total;
        let known = if is_single { text(&raw, fields) } else { None };
        Ok(known.unwrap_or_else(|| {
            let mut text = String::from(".long");
            let (chunks, _) = bytes.as_chunks();
            for (n, dword) in chunks.iter().take(total).enumerate() {
                let separator = if n == 0 { "" } else { "," };
                let _ = write!(text, "{separator} {:#x}", u32::from_le_bytes(*dword));
            }
            text
        }))
    }
}

/// Returns the text. `None` if a part of the instruction is unknown here.
fn text(raw: &Raw<'_>, fields: &super::Layout) -> Option<String> {
    let mut printer = Printer {
        raw,
        left: raw.dwords,
        text: String::new(),
        count: 0,
        modifiers: String::new(),
    };
    let used = raw.base_dwords.saturating_add(raw.extra_dwords);
    for dword in printer.left.iter_mut().skip(usize::from(used)) {
        *dword = 0;
    }
    let width = 32u8.saturating_sub(fields.shift);
    printer.take(Bits(0, fields.shift, width));
    for field in fields.opcode {
        printer.take(*field);
    }
    if raw.row.has(flag::UNNAMED) {
        return None;
    }
    if raw.encoding == Encoding::Vopd {
        printer.dual()?;
    } else {
        let (name, operands) = raw.row.text.parts();
        if name.is_empty() {
            return None;
        }
        printer.text.push_str(access::prefix(raw)?);
        printer.text.push_str(name);
        match raw.encoding {
            Encoding::Flat
            | Encoding::Mubuf
            | Encoding::Vbuffer
            | Encoding::Ds
            | Encoding::Smem => {
                printer.memory(name, operands)?;
            }
            Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc | Encoding::Vop3 | Encoding::Vop3p => {
                printer.vector(name, operands)?
            }
            Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc | Encoding::Sopk | Encoding::Sopp => {
                printer.scalar(name, operands)?;
            }
            Encoding::Vopd
            | Encoding::Vopd3
            | Encoding::Vintrp
            | Encoding::Vinterp
            | Encoding::Ldsdir
            | Encoding::Mtbuf
            | Encoding::Mimg
            | Encoding::Vimage
            | Encoding::Vsample
            | Encoding::Exp => return None,
        }
    }
    let Printer {
        mut text,
        modifiers,
        left,
        ..
    } = printer;
    text.push_str(&modifiers);
    left.iter().all(|dword| *dword == 0).then_some(text)
}

/// An operand of a row's text.
#[derive(Clone, Copy, Debug)]
struct Token {
    field: char,
    /// The register file, unless it is the default of the encoding.
    file: Option<char>,
    /// The number of registers.
    count: u8,
    is_half: bool,
    /// The type of its constants, see the macro `instructions`.
    kind: Option<char>,
}

impl<'a, 'r> Printer<'a, 'r> {
    /// Returns the value of a field, and marks it as read.
    fn take(&mut self, field: Bits) -> u32 {
        let Bits(word, low, width) = field;
        if let Some(dword) = self.left.get_mut(usize::from(word)) {
            let mask = 1u32
                .checked_shl(width.into())
                .map_or(u32::MAX, |bit| bit.wrapping_sub(1));
            *dword &= !mask.checked_shl(low.into()).unwrap_or(0);
        }
        bits(&self.raw.dwords, field)
    }

    fn token(&self, text: &str) -> Option<Token> {
        let mut chars = text.chars().peekable();
        let field = chars.next()?;
        let file = chars.next_if(|c| matches!(c, 's' | 'v' | 'a'));
        let mut count = 0u8;
        if chars.next_if_eq(&'w').is_some() {
            count = self.raw.mask_dwords();
        }
        while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
            count = count
                .checked_mul(10)?
                .checked_add(u8::try_from(digit).ok()?)?;
            chars.next();
        }
        let is_half = chars.next_if_eq(&'h').is_some();
        let kind = chars.next();
        (count > 0 && chars.next().is_none()).then_some(Token {
            field,
            file,
            count,
            is_half,
            kind,
        })
    }

    /// Appends an operand.
    fn operand(&mut self, text: &str) {
        self.text.push_str(if self.count == 0 { " " } else { ", " });
        self.text.push_str(text);
        self.count = self.count.saturating_add(1);
    }

    /// Appends a modifier.
    fn modifier(&mut self, text: &str) {
        self.modifiers.push(' ');
        self.modifiers.push_str(text);
    }
}
