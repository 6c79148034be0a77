//! Prints memory instructions.
//!
//! Source: AMD's instruction set architecture documents, "Scalar Memory Operations", "Vector Memory Operations", "Flat Memory
//! Instructions" and "LDS"; the names of cache policies as LLVM spells them.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "few of the encodings have a field elsewhere than most, and the caller decides which come here"
)]

use super::operand::vector_text;
use super::{Printer, Token};
use crate::isa::AccessKind;
use crate::isa::field::signed;
use crate::isa::memory::{flat_kind, has_scratch_address};
use crate::isa::table::{Bits, Encoding, ScalarLoad, Shape};

impl Printer<'_, '_> {
    pub(super) fn memory(&mut self, name: &str, operands: &str) -> Option<()> {
        match self.raw.encoding {
            Encoding::Flat => self.flat(operands),
            Encoding::Ds => self.ds(name, operands),
            Encoding::Smem => self.scalar_memory(operands),
            _ => self.buffer(operands),
        }
    }

    /// Prints the data registers. On some processors, a bit selects accumulation registers.
    fn data(&mut self, n: u32, token: Token) {
        let text = vector_text(n, token);
        let has_bit = self.raw.features().has_accumulation_bit;
        let field = match self.raw.encoding {
            Encoding::Ds => Bits(0, 25, 1),
            _ => Bits(1, 23, 1),
        };
        let text = match text.strip_prefix('v') {
            Some(rest) if has_bit && self.take(field) != 0 => format!("a{rest}"),
            _ => text,
        };
        self.operand(&text);
    }

    fn flat(&mut self, operands: &str) -> Option<()> {
        let fields = &self.raw.features().flat;
        let kind = flat_kind(self.raw)?;
        self.take(fields.segment);
        let base = self.take(fields.base);
        let no_base = fields.no_base.contains(&base);
        let returns = self.raw.features().returns.flat;
        if let Shape::Atomic(count) = self.raw.row.shape
            && self.raw.is_set(Some(returns))
        {
            let n = self.take(fields.loaded);
            self.data(n, unit(count));
        }
        for word in operands.split_whitespace() {
            match word {
                "off" => {}
                _ => {
                    let token = self.token(word)?;
                    match token.field {
                        'd' => {
                            let n = self.take(fields.loaded);
                            self.data(n, token);
                        }
                        's' => {
                            let n = self.take(fields.stored);
                            self.data(n, token);
                        }
                        'p' => self.flat_address(kind, base, no_base)?,
                        _ => return None,
                    }
                }
            }
        }
        match kind {
            // The field has no meaning.
            AccessKind::Flat if !fields.has_flat_base => {}
            AccessKind::Flat if no_base => {}
            _ if no_base => self.operand("off"),
            _ => {
                let count = if kind == AccessKind::Scratch { 1 } else { 2 };
                let text = self.scalar_text(base, unit(count))?;
                self.operand(&text);
            }
        }
        let offset = self.take(fields.offset);
        let offset = if kind == AccessKind::Flat && !fields.has_signed_flat_offset {
            offset.cast_signed()
        } else {
            signed(offset, fields.offset.2)
        };
        if offset != 0 {
            self.modifier(&format!("offset:{offset}"));
        }
        self.policy()
    }

    fn flat_address(&mut self, kind: AccessKind, base: u32, no_base: bool) -> Option<()> {
        let fields = &self.raw.features().flat;
        let has_base = !no_base && (kind != AccessKind::Flat || fields.has_flat_base);
        let count = match kind {
            AccessKind::Scratch if !has_scratch_address(self.raw, base) => 0,
            AccessKind::Scratch => 1,
            _ if has_base => 1,
            _ => 2,
        };
        if let crate::isa::table::ScratchAddress::Bit(bit) = fields.scratch_address
            && kind == AccessKind::Scratch
        {
            self.take(bit);
        }
        if count == 0 {
            self.operand("off");
            return Some(());
        }
        let n = self.take(fields.address);
        self.operand(&vector_text(n, unit(count)));
        Some(())
    }

    /// Prints the cache policy.
    fn policy(&mut self) -> Option<()> {
        let features = self.raw.features();
        let policy = match self.raw.encoding {
            Encoding::Mubuf => features.buffer_policy,
            _ => features.policy,
        };
        if let [(theme, "th"), (scope, "scope")] = policy {
            return self.theme(*theme, *scope);
        }
        for (bit, name) in policy {
            if self.take(*bit) != 0 {
                self.modifier(name);
            }
        }
        Some(())
    }

    fn theme(&mut self, theme: Bits, scope: Bits) -> Option<()> {
        let is_load = matches!(self.raw.row.shape, Shape::Load(_) | Shape::LoadByWave(_));
        let is_store = matches!(self.raw.row.shape, Shape::Store(_));
        let is_atomic = matches!(self.raw.row.shape, Shape::Atomic(_));
        let scope = self.take(scope);
        let name = match self.take(theme) {
            0 => "",
            1 if is_load => "th:TH_LOAD_NT",
            2 if is_load => "th:TH_LOAD_HT",
            3 if is_load && scope != 3 => "th:TH_LOAD_LU",
            1 if is_store => "th:TH_STORE_NT",
            2 if is_store => "th:TH_STORE_HT",
            1 if is_atomic => "th:TH_ATOMIC_RETURN",
            _ => return None,
        };
        if !name.is_empty() {
            self.modifier(name);
        }
        match scope {
            1 => self.modifier("scope:SCOPE_SE"),
            2 => self.modifier("scope:SCOPE_DEV"),
            3 => self.modifier("scope:SCOPE_SYS"),
            _ => {}
        }
        Some(())
    }

    fn buffer(&mut self, operands: &str) -> Option<()> {
        let is_new = self.raw.encoding == Encoding::Vbuffer;
        let fields = &self.raw.features().buffer;
        let enabled = [
            self.take(fields.offset_enabled),
            self.take(fields.index_enabled),
        ];
        for word in operands.split_whitespace() {
            if word == "off" {
                let count = enabled.iter().filter(|bit| **bit != 0).count();
                let field = if is_new { Bits(2, 0, 8) } else { Bits(1, 0, 8) };
                let Some(count) = u8::try_from(count).ok().filter(|count| *count > 0) else {
                    self.operand("off");
                    continue;
                };
                let n = self.take(field);
                self.operand(&vector_text(n, unit(count)));
                continue;
            }
            let token = self.token(word)?;
            match token.field {
                // The register is not used.
                'd' if self.raw.is_set(fields.to_lds) => {}
                'd' => {
                    let n = self.take(if is_new { Bits(1, 0, 8) } else { Bits(1, 8, 8) });
                    self.data(n, token);
                }
                'r' => {
                    let first = if is_new {
                        self.take(Bits(1, 9, 9))
                    } else {
                        self.take(Bits(1, 16, 5)).wrapping_mul(4)
                    };
                    let text = self.scalar_text(first, token)?;
                    self.operand(&text);
                }
                'o' => {
                    let code = self.take(if is_new {
                        Bits(0, 0, 7)
                    } else {
                        Bits(1, 24, 8)
                    });
                    let text = self.scalar_text(code, token)?;
                    self.operand(&text);
                }
                _ => return None,
            }
        }
        let [offset_enabled, index_enabled] = enabled;
        if index_enabled != 0 {
            self.modifier("idxen");
        }
        if offset_enabled != 0 {
            self.modifier("offen");
        }
        let offset = if is_new {
            signed(self.take(Bits(2, 8, 24)), 24)
        } else {
            self.take(Bits(0, 0, 12)).cast_signed()
        };
        if offset != 0 {
            self.modifier(&format!("offset:{offset}"));
        }
        // The format of a typed access has one value without meaning.
        if is_new && self.raw.bits(1, 23, 7) == 1 {
            self.take(Bits(1, 23, 7));
        }
        self.policy()
    }

    fn ds(&mut self, name: &str, operands: &str) -> Option<()> {
        for word in operands.split_whitespace() {
            let token = self.token(word)?;
            let n = match token.field {
                'd' => self.take(Bits(1, 24, 8)),
                'p' => self.take(Bits(1, 0, 8)),
                's' => self.take(Bits(1, 8, 8)),
                't' => self.take(Bits(1, 16, 8)),
                _ => return None,
            };
            if token.field == 'p' {
                self.operand(&vector_text(n, token));
            } else {
                self.data(n, token);
            }
        }
        let has_two = ["read2", "write2", "2addr", "wrxchg2"]
            .iter()
            .any(|part| name.contains(part));
        if has_two {
            let (first, second) = (self.take(Bits(0, 0, 8)), self.take(Bits(0, 8, 8)));
            if first != 0 {
                self.modifier(&format!("offset0:{first}"));
            }
            if second != 0 {
                self.modifier(&format!("offset1:{second}"));
            }
        } else if name != "ds_swizzle_b32" {
            let offset = self.take(Bits(0, 0, 16));
            if offset != 0 {
                self.modifier(&format!("offset:{offset}"));
            }
        }
        Some(())
    }

    fn scalar_memory(&mut self, operands: &str) -> Option<()> {
        for word in operands.split_whitespace() {
            if word == "?" {
                self.scalar_offset()?;
                continue;
            }
            let token = self.token(word)?;
            match token.field {
                'd' => {
                    let code = self.take(Bits(0, 6, 7));
                    let text = self.scalar_text(code, token)?;
                    self.operand(&text);
                }
                'e' => {
                    let code = self.take(Bits(0, 0, 6)).wrapping_mul(2);
                    let text = self.scalar_text(code, token)?;
                    self.operand(&text);
                }
                _ => return None,
            }
        }
        if !matches!(
            self.raw.features().scalar_load,
            ScalarLoad::Both(Bits(_, _, 24))
        ) && self.take(Bits(0, 16, 1)) != 0
        {
            self.modifier("glc");
        }
        Some(())
    }

    fn scalar_offset(&mut self) -> Option<()> {
        let hexadecimal = |offset: i32| {
            let sign = if offset < 0 { "-" } else { "" };
            format!("{sign}{:#x}", offset.unsigned_abs())
        };
        match self.raw.features().scalar_load {
            ScalarLoad::Both(field) => {
                let offset = hexadecimal(signed(self.take(field), field.2));
                let code = self.take(Bits(1, 25, 7));
                let register = self.scalar_text(code, unit(1))?;
                // Since gfx12, there is no form without a constant.
                if register == "null" && (offset != "0x0" || field.2 == 24) {
                    self.operand(&offset);
                } else {
                    self.operand(&register);
                    if offset != "0x0" {
                        self.modifier(&format!("offset:{offset}"));
                    }
                }
            }
            ScalarLoad::Either {
                both,
                constant,
                offset,
            } => {
                let (both, constant) = (self.take(both), self.take(constant));
                if both != 0 {
                    return None;
                }
                if constant != 0 {
                    let value = self.take(offset);
                    self.operand(&hexadecimal(signed(value, offset.2)));
                } else {
                    let n = self.take(Bits(1, 0, 7));
                    let text = self.scalar_text(n, unit(1))?;
                    self.operand(&text);
                }
            }
        }
        Some(())
    }
}

/// Returns a token for this many registers.
fn unit(count: u8) -> Token {
    Token {
        field: 'd',
        file: None,
        count,
        is_half: false,
        kind: None,
    }
}
