//! Formats call frame information in the style of llvm-dwarfdump.

use core::fmt::Write;
use core::ops::ControlFlow;

use fallible_iterator::FallibleIterator;

use super::entry::{Cie, Entry, Fde, FrameSection, SectionKind};
use super::instruction::{CfaOperand, Instruction, Instructions};
use super::row::{Row, Rows};
use super::rule::{CfaRule, RegisterRule};
use crate::arch::AddressSpace;
use crate::error::Result;
use crate::expr::{Dialect, Encoding, OperandValue, Printer, RegisterStyle};
use crate::untrusted::Untrusted;

/// Prints the entries of a section.
#[derive(Clone, Copy, Debug)]
pub struct FramePrinter<'a> {
    section: FrameSection<'a>,
    style: RegisterStyle,
    dialect: Dialect,
    /// The section before relocation, if that is printed for a section without an address.
    stored: Option<&'a [u8]>,
}

/// Receives the parts of a text, and returns `Break` to stop.
type Put<'p> = dyn FnMut(&str) -> ControlFlow<()> + 'p;

impl<'a> FramePrinter<'a> {
    /// Creates a printer for the entries of `section`.
    #[must_use]
    pub fn new(
        section: FrameSection<'a>,
        style: RegisterStyle,
        dialect: Dialect,
    ) -> FramePrinter<'a> {
        FramePrinter {
            section,
            style,
            dialect,
            stored: None,
        }
    }

    /// Prints augmentation data before relocation, and relative values in encoded form, as llvm-dwarfdump does for a section without an address.
    #[must_use]
    pub fn stored(self, stored: Option<&'a [u8]>) -> FramePrinter<'a> {
        FramePrinter { stored, ..self }
    }

    /// Returns the displayed form of an address.
    ///
    /// * `place`: the address to which it is relative.
    fn placed(&self, address: u64, place: u64) -> u64 {
        match self.stored {
            Some(_) => address.wrapping_sub(place),
            None => address,
        }
    }

    /// Formats an entry: its header, its instructions, and its rows.
    ///
    /// # Errors
    /// If its instructions are malformed. The text before the error is in `out`.
    pub fn entry(&self, entry: &Entry<'a>, out: &mut String) -> Result<()> {
        self.parts(entry, &mut |part| {
            out.push_str(part);
            ControlFlow::Continue(())
        })
    }

    /// Formats an entry in parts: the header, each instruction and each row. It stops when `put` returns `Break`, since a few bytes can produce any
    /// number of rows.
    ///
    /// # Errors
    /// If its instructions are malformed.
    pub fn parts(
        &self,
        entry: &Entry<'a>,
        put: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<()> {
        let ended = match entry {
            Entry::Cie(cie) => self.cie(cie, put),
            Entry::Fde(fde) => self.fde(fde, put),
            Entry::Terminator(offset) => Ok(put(&format!("{offset:08x} ZERO terminator\n"))),
        };
        // The caller that returned `Break` knows it.
        ended.map(|_| ())
    }

    fn cie(&self, cie: &Cie<'a>, put: &mut Put<'_>) -> Result<ControlFlow<()>> {
        // Writing to a string does not fail.
        let out = &mut String::new();
        let wide = cie.offset_size == 8;
        let length = if wide {
            format!("{:016x}", cie.length)
        } else {
            format!("{:08x}", cie.length)
        };
        let id = match (self.section.kind(), wide) {
            (SectionKind::EhFrame, _) => "00000000",
            (SectionKind::DebugFrame, true) => "ffffffffffffffff",
            (SectionKind::DebugFrame, false) => "ffffffff",
        };
        let _ = writeln!(out, "{:08x} {length} {id} CIE", cie.offset);
        let _ = writeln!(
            out,
            "  Format:                {}",
            if wide { "DWARF64" } else { "DWARF32" }
        );
        let _ = writeln!(out, "  Version:               {}", cie.version);
        let _ = writeln!(
            out,
            "  Augmentation:          \"{}\"",
            Untrusted::from(cie.augmentation_text)
        );
        if cie.version >= 4 {
            let _ = writeln!(out, "  Address size:          {}", cie.address_size);
            let _ = writeln!(
                out,
                "  Segment desc size:     {}",
                cie.segment_selector_size
            );
        }
        let _ = writeln!(
            out,
            "  Code alignment factor: {}",
            cie.code_alignment_factor
        );
        let _ = writeln!(
            out,
            "  Data alignment factor: {}",
            cie.data_alignment_factor
        );
        let _ = writeln!(
            out,
            "  Return address column: {}",
            cie.return_address_register
        );
        if let Some(personality) = cie.personality {
            let personality = self.placed(personality, cie.personality_place);
            let _ = writeln!(out, "  Personality Address: {personality:016x}");
        }
        if !cie.augmentation_data.is_empty() {
            out.push_str("  Augmentation data:    ");
            let length = cie.augmentation_data.len();
            let end = usize::try_from(cie.instructions_offset).unwrap_or(usize::MAX);
            let stored = self.stored.and_then(|stored| stored.get(..end));
            let stored = stored.and_then(|stored| stored.get(end.checked_sub(length)?..));
            for byte in stored.unwrap_or(cie.augmentation_data) {
                let _ = write!(out, " {byte:02X}");
            }
            out.push('\n');
        }
        out.push('\n');
        if put(out).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let (bytes, at) = (cie.initial_instructions, cie.instructions_offset);
        if self.instructions(cie, bytes, at, None, put)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let row = Rows::initial(cie, self.section.name())?;
        Ok(match row.is_empty() {
            true => ControlFlow::Continue(()),
            false => put(&format!("  {}\n", self.row(&row, cie))),
        })
    }

    fn fde(&self, fde: &Fde<'a>, put: &mut Put<'_>) -> Result<ControlFlow<()>> {
        let out = &mut String::new();
        let cie = &fde.cie;
        let wide = cie.offset_size == 8;
        let number = |value: u64| {
            if wide {
                format!("{value:016x}")
            } else {
                format!("{value:08x}")
            }
        };
        let pointer = match self.section.kind() {
            SectionKind::DebugFrame => number(cie.offset),
            // It is relative to its own place, backwards.
            SectionKind::EhFrame => {
                let at = fde.offset.saturating_add(if wide { 12 } else { 4 });
                format!("{:08x}", at.wrapping_sub(cie.offset))
            }
        };
        let _ = writeln!(
            out,
            "{:08x} {} {} FDE cie={:08x} pc={:08x}...{:08x}",
            fde.offset,
            number(fde.length),
            pointer,
            cie.offset,
            fde.initial_location,
            fde.end()
        );
        let _ = writeln!(
            out,
            "  Format:       {}",
            if wide { "DWARF64" } else { "DWARF32" }
        );
        if let Some(lsda) = fde.lsda {
            let lsda = self.placed(lsda, fde.lsda_place);
            let _ = writeln!(out, "  LSDA Address: {lsda:016x}");
        }
        if put(out).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let (bytes, at) = (fde.instructions, fde.instructions_offset);
        let start = Some(fde.initial_location);
        if self.instructions(cie, bytes, at, start, put)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let mut rows = Rows::new(fde, self.section.name())?;
        while let Some(row) = rows.next()? {
            // The last row is printed only if it has rules. An earlier row at least gives its end.
            if !row.is_empty() || row.end < fde.end() {
                let text = format!("  {:#x}: {}\n", row.start, self.row(row, cie));
                if put(&text).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Formats the instructions of an entry, and an empty line. `start` is the initial address for advances, or `None` in a CIE.
    fn instructions(
        &self,
        cie: &Cie<'a>,
        bytes: &'a [u8],
        offset: u64,
        start: Option<u64>,
        put: &mut Put<'_>,
    ) -> Result<ControlFlow<()>> {
        let mut address = start;
        let mut items = Instructions::new(bytes, offset, cie.address_size, self.section.name());
        while let Some(item) = items.next()? {
            let text = self.instruction(&item.instruction, cie, &mut address);
            if put(&format!("  {text}\n")).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(put("\n"))
    }

    /// Formats one instruction. `address` is the address of the current row, which advances move.
    #[must_use]
    pub fn instruction(
        &self,
        instruction: &Instruction<'a>,
        cie: &Cie<'a>,
        address: &mut Option<u64>,
    ) -> String {
        let mut out = format!("{}:", instruction.name());
        for (kind, value) in instruction.operands() {
            let _ = match (kind, value) {
                (
                    CfaOperand::SmallDelta
                    | CfaOperand::Delta1
                    | CfaOperand::Delta2
                    | CfaOperand::Delta4
                    | CfaOperand::Delta8,
                    OperandValue::Unsigned(delta),
                ) => {
                    let distance = delta.wrapping_mul(cie.code_alignment_factor);
                    *address = address.map(|address| address.wrapping_add(distance));
                    match address {
                        Some(address) => write!(out, " {distance} to {address:#x}"),
                        None => write!(out, " {distance}"),
                    }
                }
                (CfaOperand::Address, OperandValue::Unsigned(value)) => {
                    *address = Some(value);
                    write!(out, " {value:#x}")
                }
                (
                    CfaOperand::SmallRegister | CfaOperand::Register,
                    OperandValue::Unsigned(register),
                ) => {
                    write!(out, " {}", self.register(register))
                }
                (CfaOperand::Factored, OperandValue::Unsigned(value)) => {
                    write!(
                        out,
                        " {}",
                        value.cast_signed().wrapping_mul(cie.data_alignment_factor)
                    )
                }
                (CfaOperand::SignedFactored, OperandValue::Signed(value)) => {
                    write!(out, " {}", value.wrapping_mul(cie.data_alignment_factor))
                }
                (CfaOperand::Offset, OperandValue::Unsigned(value)) => {
                    write!(out, " {:+}", value.cast_signed())
                }
                (CfaOperand::Space, OperandValue::Unsigned(space)) => {
                    write!(out, " in {}", self.space(space))
                }
                (_, OperandValue::Bytes(bytes)) => write!(out, " {}", self.expression(bytes, cie)),
                (_, OperandValue::Unsigned(value)) => write!(out, " {value}"),
                (_, OperandValue::Signed(value)) => write!(out, " {value}"),
            };
        }
        out
    }

    /// Formats a row, without its address.
    #[must_use]
    pub fn row(&self, row: &Row<'a>, cie: &Cie<'a>) -> String {
        let mut out = String::from("CFA=");
        match row.cfa {
            CfaRule::None => out.push_str("unspecified"),
            CfaRule::Expression(expression) => {
                out.push_str(&self.expression(expression.bytes, cie))
            }
            CfaRule::Register {
                register,
                offset,
                space,
            } => {
                let has_space = space != u64::from(AddressSpace::None.number());
                out.push_str(&self.register(register));
                if offset != 0 || has_space {
                    let _ = write!(out, "{offset:+}");
                }
                if has_space {
                    let _ = write!(out, " in {}", self.space(space));
                }
            }
        }
        let mut separator = ": ";
        for (register, rule) in row.rules() {
            let _ = write!(
                out,
                "{separator}{}={}",
                self.register(*register),
                self.rule(*rule, cie)
            );
            separator = ", ";
        }
        out
    }

    /// Formats a register's rule.
    #[must_use]
    pub fn rule(&self, rule: RegisterRule<'a>, cie: &Cie<'a>) -> String {
        let cfa = |offset: i64| {
            if offset == 0 {
                "CFA".to_owned()
            } else {
                format!("CFA{offset:+}")
            }
        };
        match rule {
            RegisterRule::Undefined => "undefined".to_owned(),
            RegisterRule::SameValue => "same".to_owned(),
            RegisterRule::Offset(offset) => format!("[{}]", cfa(offset)),
            RegisterRule::ValOffset(offset) => cfa(offset),
            RegisterRule::Register(register) => self.register(register),
            RegisterRule::Expression(expression) => {
                format!("[{}]", self.expression(expression.bytes, cie))
            }
            RegisterRule::ValExpression(expression) => self.expression(expression.bytes, cie),
            RegisterRule::Architectural => "architectural".to_owned(),
        }
    }

    fn expression(&self, bytes: &[u8], cie: &Cie<'a>) -> String {
        let encoding = Encoding {
            address_size: cie.address_size,
            offset_size: cie.offset_size,
            dialect: self.dialect,
        };
        Printer::new(encoding).style(self.style).expression(bytes)
    }

    /// Formats the name of a register.
    pub(crate) fn register(&self, number: u64) -> String {
        match self.style.register_name(number) {
            Some(name) => name.to_string(),
            None => format!("reg{number}"),
        }
    }

    fn space(&self, number: u64) -> String {
        match AddressSpace::from_number(number) {
            Some(space) if self.style == RegisterStyle::Names => space.llvm_name().to_owned(),
            Some(_) | None => format!("addrspace{number}"),
        }
    }
}
