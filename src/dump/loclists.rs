//! The sections of location lists, table by table and list by list: `.debug_loclists` and `.debug_loc`.
//!
//! Sources: DWARF 5 §7.29; DWARF 4 §2.6.2.

use std::io::{self, Write};

use serde::Serialize;

use super::Failure;
use super::list::{List, ListEntry, address};
use super::output::Output;
use super::{Sources, Style, said_version};
use crate::debug_info::UnitLength;
use crate::debug_info::raw_list::LocationFormat;
use crate::error::{Error, Result};
use crate::expr::{Cursor, Encoding, Printer};
use crate::report::{Hex, hex_bytes};

/// What the header of a table says.
struct Table<'a> {
    length: u64,
    encoding: Encoding,
    version: u16,
    segment_size: u8,
    offsets: u32,
    /// The section up to the end of the table.
    whole: &'a [u8],
    /// Where the offsets start.
    start: u64,
    end: u64,
}

#[derive(Serialize)]
struct EntryFields {
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'static str,
    operands: Vec<Hex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<[Hex; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
}

#[derive(Serialize)]
struct ListFields {
    section: &'static str,
    offset: Hex,
}

/// Where lists go, and how their expressions are printed.
struct Lists<'s, 'o> {
    output: &'s mut Output<'o>,
    style: Style,
    section: &'static str,
    /// The offsets of tables of version 6, though their bytes say 5.
    of_6: &'s [u64],
}

/// Prints the sections of location lists.
pub(super) fn dump(
    sources: &Sources<'_>,
    style: Style,
    output: &mut Output<'_>,
) -> core::result::Result<(), Failure> {
    if output.json() {
        output.begin_array("location_lists")?;
    }
    for (split, version, name, section) in [
        (false, 4, ".debug_loc", ".debug_loc"),
        (true, 4, ".debug_loc", ".debug_loc.dwo"),
        (false, 5, ".debug_loclists", ".debug_loclists"),
        (true, 5, ".debug_loclists", ".debug_loclists.dwo"),
    ] {
        let bytes = sources.section(split, name)?;
        let has_tables = version == 5;
        let expected = has_tables && sources.has(split);
        if bytes.is_empty() && !expected {
            continue;
        }
        if !output.json() {
            writeln!(output, "\n{section} contents:")?;
        }
        let mut lists = Lists {
            output,
            style,
            section,
            of_6: sources.of_6(split, name)?,
        };
        if has_tables {
            lists.tables(bytes)?;
        } else {
            let format = LocationFormat::of(version, split);
            let address_size = match format {
                // There are indices alone, which llvm-dwarfdump prints in so many bytes.
                LocationFormat::GnuSplit => 4,
                LocationFormat::Pairs | LocationFormat::Kinds => Encoding::AMDGPU.address_size,
            };
            let encoding = Encoding {
                address_size,
                dialect: style.dialect,
                ..Encoding::AMDGPU
            };
            lists.run(bytes, 0, bytes.len() as u64, encoding, format)?;
        }
    }
    if output.json() {
        output.end_array()?;
    }
    Ok(())
}

impl Lists<'_, '_> {
    /// The tables of `.debug_loclists`, until one whose length cannot be relied upon.
    fn tables(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut next = 0;
        while next < bytes.len() as u64 {
            let table = match self.header(bytes, next) {
                Ok(table) => table,
                Err(error) => return self.output.problem(&error.within(self.section, next)),
            };
            next = table.end;
            let mut start = table.start;
            if !self.output.json() {
                start = self.header_text(&table)?;
            } else {
                let size = u64::from(table.encoding.offset_size);
                start = start.saturating_add(size.saturating_mul(table.offsets.into()));
            }
            let format = LocationFormat::Kinds;
            self.run(table.whole, start, table.end, table.encoding, format)?;
        }
        Ok(())
    }

    fn header<'a>(&self, bytes: &'a [u8], offset: u64) -> Result<Table<'a>> {
        let UnitLength {
            length,
            offset_size,
            body,
        } = UnitLength::read(bytes, offset, "location list table")?;
        let mut cursor = Cursor::new(bytes);
        cursor.go_to(body.start)?;
        let version = cursor.u16()?;
        let address_size = cursor.u8()?;
        let segment_size = cursor.u8()?;
        let offsets = cursor.u32()?;
        if version != 5 || !matches!(address_size, 4 | 8) {
            let reason =
                format!("version {version} with addresses of {address_size} bytes is not known");
            return Err(Error::malformed("location list table", reason));
        }
        Ok(Table {
            length,
            encoding: Encoding {
                address_size,
                offset_size,
                dialect: self.style.dialect,
            },
            version: said_version(version, offset, self.of_6),
            segment_size,
            offsets,
            whole: bytes.get(..body.end).unwrap_or_default(),
            start: cursor.position() as u64,
            end: body.end as u64,
        })
    }

    /// Prints the header and the offsets; gives where the offsets end.
    fn header_text(&mut self, table: &Table<'_>) -> io::Result<u64> {
        let size = table.encoding.offset_size;
        writeln!(
            self.output,
            "locations list header: length = {}, format = DWARF{}, version = {:#06x}, addr_size = {:#04x}, \
             seg_size = {:#04x}, offset_entry_count = {:#010x}",
            address(table.length, size),
            u32::from(size).saturating_mul(8),
            table.version,
            table.encoding.address_size,
            table.segment_size,
            table.offsets
        )?;
        let start = usize::try_from(table.start).unwrap_or(usize::MAX);
        let mut cursor = Cursor::new(table.whole.get(start..).unwrap_or_default());
        if table.offsets > 0 {
            writeln!(self.output, "offsets: [")?;
            for _ in 0..table.offsets {
                match cursor.sized(size) {
                    Ok(offset) => writeln!(self.output, "{}", address(offset, size))?,
                    Err(error) => {
                        self.output
                            .problem(&error.within(self.section, table.start))?;
                        break;
                    }
                }
            }
            writeln!(self.output, "]")?;
        }
        Ok(table.start.saturating_add(cursor.position() as u64))
    }

    /// The lists from `start` to `end`.
    fn run(
        &mut self,
        bytes: &[u8],
        start: u64,
        end: u64,
        encoding: Encoding,
        format: LocationFormat,
    ) -> io::Result<()> {
        let mut next = start;
        while next < end {
            let list = List::new(self.section, bytes, next, format, encoding.address_size);
            let mut list = match list {
                Ok(list) => list,
                Err(error) => return self.output.problem(&error),
            };
            let ended = self.list(next, &mut list, encoding)?;
            if !ended || list.offset() <= next {
                break;
            }
            next = list.offset();
        }
        Ok(())
    }

    /// One list; whether it was read to its end.
    fn list(&mut self, offset: u64, list: &mut List<'_>, encoding: Encoding) -> io::Result<bool> {
        let json = self.output.json();
        if json {
            self.output.begin_element(&ListFields {
                section: self.section,
                offset: offset.into(),
            })?;
            self.output.begin_array("entries")?;
        } else {
            write!(self.output, "{offset:#010x}: ")?;
        }
        let printer = Printer::new(encoding).style(self.style.registers());
        let ended = loop {
            let entry = match list.next() {
                Ok(Some(entry)) => entry,
                Ok(None) => break true,
                Err(error) => {
                    if !json {
                        writeln!(self.output)?;
                    }
                    self.output.problem(&error)?;
                    break false;
                }
            };
            let expression = entry.expression();
            let expression = expression.map(|bytes| printer.expression(bytes));
            self.entry(&entry, expression, encoding)?;
        };
        if json {
            self.output.end_array()?;
            self.output.end_element()?;
        } else {
            writeln!(self.output, "\n")?;
        }
        Ok(ended)
    }

    fn entry(
        &mut self,
        entry: &ListEntry<'_>,
        expression: Option<String>,
        encoding: Encoding,
    ) -> io::Result<()> {
        if self.output.json() {
            let range = entry.range.as_ref();
            return self.output.element(&EntryFields {
                kind: entry.kind(),
                operands: entry
                    .operands(encoding.address_size)
                    .map(Hex::from)
                    .collect(),
                range: range.map(|range| [range.start.into(), range.end.into()]),
                value: expression,
                bytes: entry.expression().map(hex_bytes),
            });
        }
        if entry.is_base() {
            return Ok(());
        }
        write!(
            self.output,
            "\n            {}",
            entry.text(encoding.address_size)
        )?;
        if let Some(expression) = expression {
            write!(self.output, ": {expression}")?;
        }
        Ok(())
    }
}
