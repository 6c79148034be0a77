//! Prints vector instructions.
//!
//! Source: AMD's instruction set architecture documents, "Vector ALU", "DPP" and "Dual Issue VALU".

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "few of the encodings have a field elsewhere than most, and the caller decides which come here"
)]

use core::fmt::Write as _;

use super::operand::vector_text;
use super::{Printer, Token};
use crate::isa::length::{has_controls, is_sdwa};
use crate::isa::table::{Bits, Encoding, Op, flag};

impl Printer<'_, '_> {
    pub(super) fn vector(&mut self, name: &str, operands: &str) -> Option<()> {
        if is_sdwa(self.raw) {
            return None;
        }
        let is_vop3 = matches!(self.raw.encoding, Encoding::Vop3 | Encoding::Vop3p);
        let has_dpp = has_controls(self.raw);
        if has_dpp {
            if is_vop3 || self.raw.bits(0, 0, 9) != 250 {
                return None;
            }
            let stem = name.strip_suffix("_e32").unwrap_or(name).len();
            let cut = self.text.len().checked_sub(name.len().checked_sub(stem)?)?;
            self.text.truncate(cut);
            self.text.push_str("_dpp");
        }
        let is_packed = operands.ends_with(" packed");
        let operands = operands.strip_suffix(" packed").unwrap_or(operands);
        let mut sources = 0u8;
        for word in operands.split_whitespace() {
            match word {
                "vcc" => {
                    let vcc = self.raw.vcc().registers()?;
                    self.operand(&vcc.to_string());
                }
                "?" if self.raw.row.has(flag::LITERAL) => {
                    let value = self.take(Bits(self.raw.base_dwords, 0, 32));
                    self.operand(&format!("{value:#x}"));
                }
                _ => {
                    let token = self.token(word)?;
                    if matches!(token.field, 'a' | 'b' | 'c') {
                        self.vector_source(token, is_packed)?;
                        sources = sources.saturating_add(1);
                    } else {
                        self.vector_destination(token, word)?;
                    }
                }
            }
        }
        if has_dpp {
            self.dpp()?;
        }
        if is_packed {
            self.packed(sources, operands)?;
        } else if self.is_vop3() {
            self.halves(sources, operands);
            self.output();
        }
        if matches!(self.raw.encoding, Encoding::Vop3 | Encoding::Vop3p) {
            self.unused(sources)?;
        }
        Some(())
    }

    /// Prints the used halves of the sources and the destination. LLVM's output has them in the names, and again here.
    fn halves(&mut self, sources: u8, operands: &str) {
        let (low, destination) = (self.raw.bits(0, 11, 3), self.raw.bits(0, 14, 1));
        let first = self.token(operands.split_whitespace().next().unwrap_or_default());
        // Instructions that select by a mask have them in the names only.
        let has_mask = operands.split_whitespace().any(|word| word == "cw");
        if has_mask || !first.is_some_and(|token| token.is_half) {
            return;
        }
        let parts = (0..sources).map(|n| low.wrapping_shr(n.into()) & 1);
        let parts: Vec<_> = parts
            .chain([destination])
            .map(|bit| bit.to_string())
            .collect();
        if parts.iter().any(|part| part != "0") {
            self.modifier(&format!("op_sel:[{}]", parts.join(",")));
        }
    }

    /// Returns true for VOP3, and false for VOP3P. On gfx9 these are one encoding with many opcodes.
    fn is_vop3(&self) -> bool {
        self.raw.encoding == Encoding::Vop3 && self.raw.bits(0, 23, 9) != 0b1_1010_0111
    }

    /// Marks fields that an instruction does not have, if they have the values that compilers write: the constant 0 for sources, and no
    /// selected halves for moves from and to accumulation registers.
    fn unused(&mut self, sources: u8) -> Option<()> {
        const ZERO: u32 = 128;
        const EXEC: u32 = 126;
        for index in sources..3 {
            let field = Bits(1, index.checked_mul(9)?, 9);
            if self.raw.field(field) == ZERO {
                self.take(field);
            }
        }
        // Comparisons that write only `exec` have it as their destination.
        let destination = Bits(0, 0, 8);
        if self.raw.row.has(flag::EXEC) && self.raw.field(destination) == EXEC {
            self.take(destination);
        }
        let halves = [Bits(1, 27, 2), Bits(0, 14, 1)];
        if matches!(self.raw.row.op, Op::AccRead | Op::AccWrite)
            && halves.map(|field| self.raw.field(field)) == [3, 1]
        {
            for field in halves {
                self.take(field);
            }
        }
        Some(())
    }

    fn vector_destination(&mut self, token: Token, word: &str) -> Option<()> {
        let text = match (token.field, self.raw.encoding) {
            ('m', Encoding::Vop3) => {
                let code = self.take(Bits(0, 8, 7));
                self.scalar_text(code, token)?
            }
            ('d', encoding) => {
                let code = self.take(match encoding {
                    Encoding::Vop1 | Encoding::Vop2 => Bits(0, 17, 8),
                    _ => Bits(0, 0, 8),
                });
                match word.chars().nth(1)? {
                    's' => self.scalar_text(code, token)?,
                    // A bit selects accumulation registers.
                    _ if self.raw.features().matrix_accumulates.is_some()
                        && name_is_matrix(self.raw.row.shape) =>
                    {
                        return None;
                    }
                    _ if token.is_half && encoding == Encoding::Vop3 => {
                        let is_high = self.take(Bits(0, 14, 1));
                        vector_text(code & 0x7f | is_high << 7, token)
                    }
                    _ => vector_text(code, token),
                }
            }
            _ => return None,
        };
        self.operand(&text);
        Some(())
    }

    fn vector_source(&mut self, token: Token, is_packed: bool) -> Option<()> {
        let index = match token.field {
            'a' => 0u8,
            'b' => 1,
            _ => 2,
        };
        let is_vop3 = matches!(self.raw.encoding, Encoding::Vop3 | Encoding::Vop3p);
        let (text, modified) = if is_vop3 {
            let code = self.take(Bits(1, index.checked_mul(9)?, 9));
            let mut code_read = code;
            if token.is_half && code >= 256 {
                let is_high = self.take(Bits(0, index.checked_add(11)?, 1));
                if code & 0x80 != 0 {
                    return None;
                }
                code_read |= is_high << 7;
            }
            let text = self.source_text(code_read, token)?;
            self.take_literal(code);
            let takes_modifiers = !is_packed && token.count <= 2 && self.is_vop3();
            (text, takes_modifiers)
        } else {
            let code = match (index, has_controls(self.raw)) {
                (0, false) => self.take(Bits(0, 0, 9)),
                (0, true) => {
                    self.take(Bits(0, 0, 9));
                    self.take(Bits(1, 0, 8)) | 256
                }
                _ => self.take(Bits(0, 9, 8)) | 256,
            };
            let text = self.source_text(code, token)?;
            self.take_literal(code);
            (text, false)
        };
        let text = if modified {
            // There is no room for absolute values, since the mask is in the same place.
            let has_mask = matches!(
                self.raw.row.shape,
                crate::isa::table::Shape::VectorAndMask(_)
            );
            let negative = self.take(Bits(1, index.checked_add(29)?, 1)) != 0;
            let absolute = !has_mask && self.take(Bits(0, index.checked_add(8)?, 1)) != 0;
            let is_register = text.starts_with(['v', 's', 't', 'e']);
            match (negative, absolute) {
                (false, false) => text,
                _ if !is_register => return None,
                (true, false) => format!("-{text}"),
                (false, true) => format!("|{text}|"),
                (true, true) => format!("-|{text}|"),
            }
        } else {
            text
        };
        self.operand(&text);
        Some(())
    }

    /// Prints the output modifiers of VOP3.
    fn output(&mut self) {
        if self.take(Bits(0, 15, 1)) != 0 {
            self.modifier("clamp");
        }
        match self.take(Bits(1, 27, 2)) {
            1 => self.modifier("mul:2"),
            2 => self.modifier("mul:4"),
            3 => self.modifier("div:2"),
            _ => {}
        }
    }

    /// Prints the used halves of the sources of VOP3P, and their signs.
    fn packed(&mut self, sources: u8, operands: &str) -> Option<()> {
        let high = self.take(Bits(1, 27, 2)) | self.take(Bits(0, 14, 1)) << 2;
        let low = self.take(Bits(0, 11, 3));
        let (negative_low, negative_high) = (self.take(Bits(1, 29, 3)), self.take(Bits(0, 8, 3)));
        // Integers have no sign modifier. The row does not state if they are halves of floating-point numbers, or pairs.
        let first = operands
            .split_whitespace()
            .find(|word| word.starts_with('a'))?;
        let token = self.token(first)?;
        let has_sign = token.kind == Some('x') || token.count == 2;
        if !has_sign && (negative_low, negative_high) != (0, 0) {
            return None;
        }
        for (name, bits, usual) in [
            ("op_sel", low, 0),
            ("op_sel_hi", high, 1),
            ("neg_lo", negative_low, 0),
            ("neg_hi", negative_high, 0),
        ] {
            let parts: Vec<_> = (0..sources)
                .map(|n| bits.wrapping_shr(n.into()) & 1)
                .collect();
            if parts.iter().any(|bit| *bit != usual) {
                let parts: Vec<_> = parts.iter().map(u32::to_string).collect();
                self.modifier(&format!("{name}:[{}]", parts.join(",")));
            }
        }
        if self.take(Bits(0, 15, 1)) != 0 {
            self.modifier("clamp");
        }
        Some(())
    }

    /// Prints the controls of DPP with 16 lanes per row.
    fn dpp(&mut self) -> Option<()> {
        let control = self.take(Bits(1, 8, 9));
        let low = control & 0xf;
        let mut text = String::new();
        let _ = match control {
            0..=0xff => {
                let lane = |n: u32| control.wrapping_shr(n.wrapping_mul(2)) & 3;
                write!(
                    text,
                    "quad_perm:[{},{},{},{}]",
                    lane(0),
                    lane(1),
                    lane(2),
                    lane(3)
                )
            }
            0x101..=0x10f => write!(text, "row_shl:{low}"),
            0x111..=0x11f => write!(text, "row_shr:{low}"),
            0x121..=0x12f => write!(text, "row_ror:{low}"),
            0x140 => write!(text, "row_mirror"),
            0x141 => write!(text, "row_half_mirror"),
            0x142 => write!(text, "row_bcast:15"),
            0x143 => write!(text, "row_bcast:31"),
            _ => return None,
        };
        self.modifier(&text);
        let bank = self.take(Bits(1, 24, 4));
        let row = self.take(Bits(1, 28, 4));
        self.modifier(&format!("row_mask:{row:#x} bank_mask:{bank:#x}"));
        if self.take(Bits(1, 19, 1)) != 0 {
            self.modifier("bound_ctrl:1");
        }
        Some(())
    }

    /// Prints a dual instruction, for the operations that are the same on all processors.
    pub(super) fn dual(&mut self) -> Option<()> {
        // The opcode, the name, and true if there is a second source.
        const OPERATIONS: [(u32, &str, bool); 10] = [
            (0, "fmac_f32", true),
            (3, "mul_f32", true),
            (4, "add_f32", true),
            (5, "sub_f32", true),
            (6, "subrev_f32", true),
            (8, "mov_b32", false),
            (7, "mul_dx9_zero_f32", true),
            (16, "add_nc_u32", true),
            (17, "lshlrev_b32", true),
            (18, "and_b32", true),
        ];
        let token = Token {
            field: 'a',
            file: None,
            count: 1,
            is_half: false,
            kind: None,
        };
        let first = self.take(Bits(1, 24, 8));
        let second = self.take(Bits(1, 17, 7)) << 1 | (!first & 1);
        for (opcode, dst, word) in [(Bits(0, 22, 4), first, 0), (Bits(0, 17, 5), second, 1)] {
            let opcode = self.take(opcode);
            let mut all = OPERATIONS.iter();
            let (_, name, has_second) = all.find(|(code, ..)| *code == opcode)?;
            let separator = if word == 0 { "" } else { " :: " };
            let _ = write!(self.text, "{separator}v_dual_{name}");
            self.count = 0;
            self.operand(&vector_text(dst, token));
            let code = self.take(Bits(word, 0, 9));
            let text = self.source_text(code, token)?;
            self.take_literal(code);
            self.operand(&text);
            if *has_second {
                let code = self.take(Bits(word, 9, 8));
                self.operand(&vector_text(code, token));
            }
        }
        Some(())
    }
}

fn name_is_matrix(shape: crate::isa::table::Shape) -> bool {
    matches!(shape, crate::isa::table::Shape::Matrix(_))
}
