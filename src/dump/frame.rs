//! Prints call frame information: every entry of `.debug_frame` and `.eh_frame`, with its rows.
//!
//! The library's [`FramePrinter`] formats the text. This module iterates over the sections, and writes JSON. Sources: HET A.6.4, DWARF 5 §6.4.

use core::ops::ControlFlow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use fallible_iterator::FallibleIterator;
use serde::Serialize;

use super::Failure;
use super::context::Context;
use super::output::Output;
use crate::error::Error;
use crate::expr::RegisterStyle;
use crate::frame::{
    Cie, Entry, Fde, FramePrinter, FrameSection, Instructions, Row, Rows, SectionKind,
};
use crate::report::Hex;

#[derive(Serialize)]
struct EntryFields<'a> {
    section: &'static str,
    offset: Hex,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dwarf_format: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    augmentation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code_alignment_factor: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_alignment_factor: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_address_column: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cie: Option<Hex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<Hex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<Hex>,
}

impl EntryFields<'_> {
    fn new(section: &'static str, offset: u64, kind: &'static str) -> Self {
        EntryFields {
            section,
            offset: offset.into(),
            kind,
            version: None,
            dwarf_format: None,
            augmentation: None,
            code_alignment_factor: None,
            data_alignment_factor: None,
            return_address_column: None,
            cie: None,
            start: None,
            end: None,
        }
    }
}

#[derive(Serialize)]
struct RowFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<Hex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<Hex>,
    /// The row in the text format.
    text: String,
    /// Rules by register.
    rules: BTreeMap<String, String>,
}

/// Prints the sections of call frame information.
pub(super) fn dump(context: Context<'_, '_>, output: &mut Output<'_>) -> Result<(), Failure> {
    let Context { sources, style, .. } = context;
    for kind in [SectionKind::DebugFrame, SectionKind::EhFrame] {
        let name = match kind {
            SectionKind::DebugFrame => ".debug_frame",
            SectionKind::EhFrame => ".eh_frame",
        };
        let bytes = sources.section(false, name)?;
        let section = FrameSection::new(bytes, kind, sources.address(name), 8);
        if !context.begin_section(name, bytes.len(), output)? {
            continue;
        }
        // llvm-dwarfdump prints no entry of a section unless it can read them all.
        if output.is_quiet()
            && let Some(error) = unreadable(section)
        {
            output.note(&error);
            continue;
        }
        if !output.json() {
            writeln!(output)?;
        }
        let frames = Frames {
            section,
            printer: FramePrinter::new(section, style.registers(), style.dialect)
                .stored(sources.stored_frames(name)),
            registers: style.all_registers(),
            offset: context.offset,
        };
        frames.entries(output)?;
    }
    Ok(())
}

/// Returns the error of the first unreadable entry of a section.
fn unreadable(section: FrameSection<'_>) -> Option<Error> {
    let mut entries = section.entries();
    loop {
        match entries.next() {
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(error) => return Some(error),
        }
    }
}

struct Frames<'a> {
    section: FrameSection<'a>,
    printer: FramePrinter<'a>,
    /// The style of register names in a document.
    registers: RegisterStyle,
    /// The only offset to print.
    offset: Option<u64>,
}

impl<'a> Frames<'a> {
    fn entries(&self, output: &mut Output<'_>) -> io::Result<()> {
        let mut entries = self.section.entries();
        loop {
            match entries.next() {
                Ok(None) => return Ok(()),
                Ok(Some(entry)) if self.offset.is_some_and(|at| at != entry.offset()) => {}
                Ok(Some(entry)) if output.json() => self.json(&entry, output)?,
                Ok(Some(entry)) => {
                    let mut written = Ok(());
                    let result = self.printer.parts(&entry, &mut |part| {
                        written = output.write_all(part.as_bytes());
                        match written {
                            Ok(()) => ControlFlow::Continue(()),
                            Err(_) => ControlFlow::Break(()),
                        }
                    });
                    written?;
                    if !matches!(entry, Entry::Terminator(_)) {
                        writeln!(output)?;
                    }
                    if let Err(error) = result {
                        output.problem(&error)?;
                    }
                }
                Err(error) => output.problem(&error)?,
            }
        }
    }

    fn json(&self, entry: &Entry<'a>, output: &mut Output<'_>) -> io::Result<()> {
        let section = self.section.name();
        match entry {
            Entry::Terminator(offset) => {
                output.element(&EntryFields::new(section, *offset, "terminator"))
            }
            Entry::Cie(cie) => {
                output.begin_element(&EntryFields {
                    version: Some(cie.version),
                    dwarf_format: Some(cie.offset_size.saturating_mul(8)),
                    augmentation: Some(cie.augmentation_text),
                    code_alignment_factor: Some(cie.code_alignment_factor),
                    data_alignment_factor: Some(cie.data_alignment_factor),
                    return_address_column: Some(cie.return_address_register),
                    ..EntryFields::new(section, cie.offset, "cie")
                })?;
                let instructions = (cie.initial_instructions, cie.instructions_offset);
                self.instructions(cie, instructions, None, output)?;
                output.begin_array("rows")?;
                match Rows::initial(cie, section) {
                    Ok(row) if !row.is_empty() => output.element(&self.row(&row, cie, false))?,
                    Ok(_) => {}
                    Err(error) => output.problem(&error)?,
                }
                output.end_array()?;
                output.end_element()
            }
            Entry::Fde(fde) => self.fde(fde, output),
        }
    }

    fn fde(&self, fde: &Fde<'a>, output: &mut Output<'_>) -> io::Result<()> {
        let section = self.section.name();
        output.begin_element(&EntryFields {
            dwarf_format: Some(fde.cie.offset_size.saturating_mul(8)),
            cie: Some(fde.cie.offset.into()),
            start: Some(fde.initial_location.into()),
            end: Some(fde.end().into()),
            ..EntryFields::new(section, fde.offset, "fde")
        })?;
        let instructions = (fde.instructions, fde.instructions_offset);
        self.instructions(&fde.cie, instructions, Some(fde.initial_location), output)?;
        output.begin_array("rows")?;
        let mut rows = match Rows::new(fde, section) {
            Ok(rows) => rows,
            Err(error) => {
                output.problem(&error)?;
                output.end_array()?;
                return output.end_element();
            }
        };
        loop {
            match rows.next() {
                Ok(Some(row)) if row.is_empty() && row.end >= fde.end() => {}
                Ok(Some(row)) => output.element(&self.row(row, &fde.cie, true))?,
                Ok(None) => break,
                Err(error) => {
                    output.problem(&error)?;
                    break;
                }
            }
        }
        output.end_array()?;
        output.end_element()
    }

    fn instructions(
        &self,
        cie: &Cie<'a>,
        (bytes, offset): (&'a [u8], u64),
        start: Option<u64>,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        output.begin_array("instructions")?;
        let mut address = start;
        let mut items = Instructions::new(bytes, offset, cie.address_size, self.section.name());
        loop {
            match items.next() {
                Ok(Some(item)) => {
                    let text = self
                        .printer
                        .instruction(&item.instruction, cie, &mut address);
                    output.element(&text)?;
                }
                Ok(None) => break,
                Err(error) => {
                    output.problem(&error)?;
                    break;
                }
            }
        }
        output.end_array()
    }

    fn row(&self, row: &Row<'a>, cie: &Cie<'a>, addressed: bool) -> RowFields {
        let rules = row.rules().iter().map(|(number, rule)| {
            let register = self.registers.register_name(*number);
            let name = register.map_or_else(|| format!("reg{number}"), |name| name.to_string());
            (name, self.printer.rule(*rule, cie))
        });
        RowFields {
            start: addressed.then(|| row.start.into()),
            end: addressed.then(|| row.end.into()),
            text: self.printer.row(row, cie),
            rules: rules.collect(),
        }
    }
}
