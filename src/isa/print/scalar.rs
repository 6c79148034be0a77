//! Prints scalar instructions.
//!
//! Source: AMD's instruction set architecture documents, "Program Flow Control" and the tables of `s_waitcnt`, `s_delay_alu` and
//! `s_wait_alu`; LLVM for their spelling.

use core::fmt::Write as _;

use super::Printer;
use crate::isa::table::{Bits, Op, WaitCounts};

impl Printer<'_, '_> {
    pub(super) fn scalar(&mut self, name: &str, operands: &str) -> Option<()> {
        for word in operands.split_whitespace() {
            match word {
                "k" | "kx" | "?" if self.special(name)? => {}
                "k" => {
                    let value = self.take(Bits(0, 0, 16));
                    let is_jump =
                        matches!(self.raw.row.op, Op::Branch(_) | Op::Call | Op::OtherJump);
                    let is_decimal = is_jump || value <= 64;
                    self.operand(&if is_decimal {
                        value.to_string()
                    } else {
                        format!("{value:#x}")
                    });
                }
                "kx" => {
                    let value = self.take(Bits(0, 0, 16));
                    self.operand(&format!("{value:#x}"));
                }
                "?" => return None,
                _ => self.scalar_operand(word)?,
            }
        }
        Some(())
    }

    fn scalar_operand(&mut self, word: &str) -> Option<()> {
        let token = self.token(word)?;
        let field = match (token.field, self.raw.encoding) {
            ('d', _) => Bits(0, 16, 7),
            ('a', _) => Bits(0, 0, 8),
            ('b', _) => Bits(0, 8, 8),
            _ => return None,
        };
        let code = self.take(field);
        let text = self.scalar_text(code, token)?;
        self.take_literal(code);
        self.operand(&text);
        Some(())
    }

    /// Marks the literal dword as read, if an operand has its code.
    pub(super) fn take_literal(&mut self, code: u32) {
        if code == 255 {
            self.take(Bits(self.raw.base_dwords, 0, 32));
        }
    }

    /// Prints an immediate that consists of bit fields. Returns false for other instructions.
    fn special(&mut self, name: &str) -> Option<bool> {
        let value = self.raw.bits(0, 0, 16);
        let text = match name {
            "s_waitcnt" => wait_counts(value, self.raw.features().wait_counts)?,
            "s_delay_alu" => delay(value)?,
            "s_wait_alu" | "s_waitcnt_depctr" => wait_alu(value)?,
            _ => return Some(false),
        };
        self.take(Bits(0, 0, 16));
        self.operand(&text);
        Some(true)
    }
}

fn field(value: u32, low: u32, width: u32) -> u32 {
    let mask = 1u32
        .checked_shl(width)
        .map_or(u32::MAX, |bit| bit.wrapping_sub(1));
    value.checked_shr(low).unwrap_or(0) & mask
}

fn wait_counts(value: u32, counts: WaitCounts) -> Option<String> {
    let mut all = Vec::new();
    let mut known = 0;
    for (name, parts) in counts {
        let (mut count, mut most, mut shift) = (0, 0, 0u32);
        for (low, width) in *parts {
            let mask = field(u32::MAX, 0, *width);
            count |= field(value, *low, *width).checked_shl(shift)?;
            most |= mask.checked_shl(shift)?;
            known |= mask.checked_shl(*low)?;
            shift = shift.checked_add(*width)?;
        }
        all.push((*name, count, most));
    }
    if value & !known != 0 {
        return None;
    }
    let is_default = all.iter().all(|(_, count, most)| count == most);
    let shown = all
        .iter()
        .filter(|(_, count, most)| is_default || count != most);
    let words: Vec<_> = shown
        .map(|(name, count, _)| format!("{name}({count})"))
        .collect();
    Some(words.join(" "))
}

fn delay(value: u32) -> Option<String> {
    const SKIPS: [&str; 6] = ["SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];
    let dependence = |code: u32| {
        Some(match code {
            1..=4 => format!("VALU_DEP_{code}"),
            5..=7 => format!("TRANS32_DEP_{}", code.saturating_sub(4)),
            8 => "FMA_ACCUM_CYCLE_1".to_owned(),
            9..=11 => format!("SALU_CYCLE_{}", code.saturating_sub(8)),
            _ => return None,
        })
    };
    if value >= 1 << 11 {
        return None;
    }
    let (first, skip, second) = (field(value, 0, 4), field(value, 4, 3), field(value, 7, 4));
    let mut text = String::new();
    if first != 0 {
        let _ = write!(text, "instid0({})", dependence(first)?);
    }
    if skip != 0 {
        let separator = if text.is_empty() { "" } else { " | " };
        let name = SKIPS.get(usize::try_from(skip).ok()?)?;
        let _ = write!(text, "{separator}instskip({name})");
    }
    if second != 0 {
        let separator = if text.is_empty() { "" } else { " | " };
        let _ = write!(text, "{separator}instid1({})", dependence(second)?);
    }
    (!text.is_empty()).then_some(text)
}

fn wait_alu(value: u32) -> Option<String> {
    /// The name, lowest bit and width. A field with its maximum value is not printed.
    const FIELDS: [(&str, u32, u32); 7] = [
        ("depctr_hold_cnt", 7, 1),
        ("depctr_sa_sdst", 0, 1),
        ("depctr_va_vdst", 12, 4),
        ("depctr_va_sdst", 9, 3),
        ("depctr_va_ssrc", 8, 1),
        ("depctr_va_vcc", 1, 1),
        ("depctr_vm_vsrc", 2, 3),
    ];
    let mut words = Vec::new();
    for (name, low, width) in FIELDS {
        let found = field(value, low, width);
        if found != field(u32::MAX, 0, width) {
            words.push(format!("{name}({found})"));
        }
    }
    // LLVM prints other values as a number: all fields at their maximum, or bits outside the fields set.
    (!words.is_empty() && field(value, 5, 2) == 0).then(|| words.join(" "))
}
