//! Prints the tables of string offsets, `.debug_str_offsets` and its `.dwo` form, as the units use them.
//!
//! Source: DWARF 5 §7.26; before DWARF 5 GNU's extension for split DWARF, which has no headers.

use std::io::Write;

use serde::Serialize;

use super::Failure;
use super::context::Context;
use super::list::address;
use super::output::Output;
use crate::debug_info::{DebugInfo, UnitLength};
use crate::error::Error;
use crate::expr::Cursor;
use crate::report::Hex;
use crate::untrusted::Untrusted;

#[derive(Serialize)]
struct TableFields {
    section: &'static str,
    offset: Hex,
    size: Hex,
    dwarf_format: u8,
    version: u16,
}

#[derive(Serialize)]
struct EntryFields<'a> {
    offset: Hex,
    string: Hex,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// A table.
struct Table {
    /// The start of its header.
    offset: usize,
    /// The start and the end of its entries.
    start: usize,
    end: usize,
    offset_size: u8,
    version: u16,
}

/// The section with its strings.
struct Section<'a> {
    name: &'static str,
    bytes: &'a [u8],
    strings: &'a [u8],
}

/// Prints the sections.
pub(super) fn dump(context: Context<'_, '_>, output: &mut Output<'_>) -> Result<(), Failure> {
    for (split, name) in [
        (false, ".debug_str_offsets"),
        (true, ".debug_str_offsets.dwo"),
    ] {
        let bytes = context.sources.section(split, ".debug_str_offsets")?;
        if !context.begin_section(name, bytes.len(), output)? {
            continue;
        }
        let strings = context.sources.section(split, ".debug_str")?;
        let section = Section {
            name,
            bytes,
            strings,
        };
        let info = context.sources.info(context.style.dialect)?;
        section.tables(&info, split, output)?;
    }
    Ok(())
}

impl Section<'_> {
    /// Returns the tables that units of DWARF 5 refer to, and the gaps between them.
    fn tables(
        &self,
        info: &DebugInfo<'_>,
        split: bool,
        output: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let mut bases = Vec::new();
        for id in info.unit_ids() {
            let Ok(unit) = info.unit_info(id) else {
                continue;
            };
            if unit.section.ends_with(".dwo") != split {
                continue;
            }
            output.meter().hold_all::<(usize, u8, u16)>(2)?;
            // An unreadable unit is reported when its entries are printed.
            let whole = unit.version >= 5 || self.bytes.len().is_multiple_of(4);
            if let (Ok(Some(base)), true) = (info.string_offsets_base(id), whole) {
                bases.push((base, unit.offset_size, unit.version));
            }
        }
        bases.sort_unstable();
        bases.dedup();
        let mut next = 0;
        let ends: Vec<usize> = bases.iter().map(|(base, ..)| *base).collect();
        let ends = ends.into_iter().skip(1).chain([self.bytes.len()]);
        for ((base, offset_size, version), end) in bases.into_iter().zip(ends) {
            let table = match self.table((base, end), offset_size, version) {
                Ok(table) => table,
                Err(error) => {
                    output.problem(&error.within(self.name, base as u64))?;
                    return Ok(());
                }
            };
            if table.offset < next {
                let reason = "it overlaps another one";
                let error = Error::malformed("table of string offsets", reason);
                output.problem(&error.within(self.name, table.offset as u64))?;
            }
            self.gap(next, table.offset, output)?;
            next = self.print(&table, output)?;
        }
        self.gap(next, self.bytes.len(), output)
    }

    /// * `end`: the end of a table without a header.
    fn table(
        &self,
        (base, end): (usize, usize),
        offset_size: u8,
        version: u16,
    ) -> crate::Result<Table> {
        const WHAT: &str = "table of string offsets";
        // Before DWARF 5, tables have no headers, and are GNU's for DWARF 4.
        if version < 5 {
            let version = 4;
            return Ok(Table {
                offset: base,
                start: base,
                end,
                offset_size,
                version,
            });
        }
        let header = if offset_size == 8 { 16 } else { 8 };
        let offset = base
            .checked_sub(header)
            .ok_or_else(|| Error::malformed(WHAT, "the section is too small for its header"))?;
        let length = UnitLength::read(self.bytes, offset as u64, WHAT)?;
        let mut cursor = Cursor::new(self.bytes);
        cursor.go_to(length.body.start)?;
        Ok(Table {
            offset,
            start: length.body.start.saturating_add(4),
            end: length.body.end,
            offset_size: length.offset_size,
            version: cursor.u16()?,
        })
    }

    fn gap(&self, from: usize, to: usize, output: &mut Output<'_>) -> Result<(), Failure> {
        if from < to && !output.json() {
            let length = to.saturating_sub(from);
            writeln!(output, "{from:#010x}: Gap, length = {length}")?;
        }
        Ok(())
    }

    /// Prints a table, and returns its end.
    fn print(&self, table: &Table, output: &mut Output<'_>) -> Result<usize, Failure> {
        let size = table.end.saturating_sub(table.start);
        let size = size.saturating_add(if table.version >= 5 { 4 } else { 0 });
        let format = table.offset_size.saturating_mul(8);
        if output.json() {
            output.begin_element(&TableFields {
                section: self.name,
                offset: (table.offset as u64).into(),
                size: (size as u64).into(),
                dwarf_format: format,
                version: table.version,
            })?;
            output.begin_array("entries")?;
        } else {
            writeln!(
                output,
                "{:#010x}: Contribution size = {size}, Format = DWARF{format}, Version = {}",
                table.offset, table.version
            )?;
        }
        let mut cursor = Cursor::new(self.bytes.get(..table.end).unwrap_or_default());
        cursor.go_to(table.start)?;
        while !cursor.is_empty() {
            let at = cursor.position() as u64;
            match cursor.sized(table.offset_size) {
                Ok(string) => self.entry(at, string, table.offset_size, output)?,
                Err(error) => {
                    output.problem(&error.within(self.name, at))?;
                    break;
                }
            }
        }
        if output.json() {
            output.end_array()?;
            output.end_element()?;
        }
        Ok(table.end)
    }

    fn entry(
        &self,
        at: u64,
        string: u64,
        size: u8,
        output: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let start = usize::try_from(string).unwrap_or(usize::MAX);
        let rest = self.strings.get(start..).filter(|rest| !rest.is_empty());
        let text = rest.and_then(|rest| {
            let end = rest.iter().position(|byte| *byte == 0)?;
            Some(String::from_utf8_lossy(rest.get(..end)?))
        });
        if output.json() {
            output.element(&EntryFields {
                offset: at.into(),
                string: string.into(),
                text: text.as_deref(),
            })?;
            return Ok(());
        }
        let string = address(string, size);
        let digits = string.trim_start_matches("0x");
        write!(output, "{at:#010x}: {digits} ")?;
        if let Some(text) = text {
            write!(output, "\"{}\"", Untrusted::from(&*text))?;
        }
        Ok(writeln!(output)?)
    }
}
