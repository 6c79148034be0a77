//! Prints the sections of location lists, table by table and list by list: `.debug_loclists` and `.debug_loc`.
//!
//! Sources: DWARF 5 §7.29; DWARF 4 §2.6.2.

use std::io::{self, Write};

use serde::Serialize;

use super::context::Context;
use super::fields::Placed;
use super::list::{List, ListEntry, operations_text};
use super::list_table::ListTable;
use super::output::Output;
use super::part::Part;
use super::{Failure, Style};
use crate::debug_info::raw_list::LocationFormat;
use crate::expr::{Encoding, Printer};
use crate::report::{Hex, hex_bytes};

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

/// The destination and style for lists.
struct Lists<'s, 'o, 'c, 'a> {
    output: &'s mut Output<'o>,
    style: Style,
    section: &'static str,
    /// The sections of addresses, if they are shown.
    placed: Option<Placed>,
    context: Context<'c, 'a>,
    split: bool,
    /// True if entries have kinds.
    has_kinds: bool,
}

/// The text of an entry's place in memory.
struct Bounds<'l, 'a> {
    entry: &'l ListEntry<'a>,
    /// The notes after the encoded addresses, and after the resolved ones.
    notes: [String; 2],
}

/// Prints `.debug_loc` and its `.dwo` form. In text they follow the lists of DWARF 5.
pub(super) fn dump_old(context: Context<'_, '_>, output: &mut Output<'_>) -> Result<(), Failure> {
    let is_later = !output.json() && context.parts.contains(&Part::Loclists);
    let splits: &[bool] = if is_later { &[false] } else { &[false, true] };
    old(context, splits, output)
}

fn old(context: Context<'_, '_>, splits: &[bool], output: &mut Output<'_>) -> Result<(), Failure> {
    let Context { sources, style, .. } = context;
    for &split in splits {
        let section = if split {
            ".debug_loc.dwo"
        } else {
            ".debug_loc"
        };
        let bytes = sources.section(split, ".debug_loc")?;
        if !context.begin_section(section, bytes.len(), output)? {
            continue;
        }
        let format = LocationFormat::of(4, split);
        let encoding = Encoding {
            address_size: match format {
                // Only indices are known, which llvm-dwarfdump prints with this width.
                LocationFormat::GnuSplit => 4,
                LocationFormat::Pairs | LocationFormat::Kinds => {
                    sources.unit_facts(style.dialect)?.address_size
                }
            },
            dialect: style.dialect,
            ..Encoding::AMDGPU
        };
        let has_kinds = format != LocationFormat::Pairs;
        let mut lists = Lists::new(context, output, (split, section), has_kinds);
        match context.offset {
            Some(offset) => {
                lists.at(bytes, offset, encoding, format)?;
                // llvm-dwarfdump omits the line end after such a list.
                if !output.json() && !output.is_quiet() {
                    writeln!(output)?;
                }
            }
            None => lists.run(bytes, 0, bytes.len() as u64, encoding, format)?,
        }
    }
    Ok(())
}

/// Prints `.debug_loclists` and its `.dwo` form.
pub(super) fn dump(context: Context<'_, '_>, output: &mut Output<'_>) -> Result<(), Failure> {
    let sources = context.sources;
    for (split, section) in [(false, ".debug_loclists"), (true, ".debug_loclists.dwo")] {
        let bytes = sources.section(split, ".debug_loclists")?;
        if !context.begin_section(section, bytes.len(), output)? {
            continue;
        }
        let mut lists = Lists::new(context, output, (split, section), true);
        lists.tables(bytes, sources.of_6(split, ".debug_loclists")?)?;
    }
    if !output.json() && context.parts.contains(&Part::Loc) {
        return old(context.of(Part::Loc), &[true], output);
    }
    Ok(())
}

impl<'s, 'o, 'c, 'a> Lists<'s, 'o, 'c, 'a> {
    /// * `section`: `true` for split units, and the name of the section.
    fn new(
        context: Context<'c, 'a>,
        output: &'s mut Output<'o>,
        (split, section): (bool, &'static str),
        has_kinds: bool,
    ) -> Lists<'s, 'o, 'c, 'a> {
        Lists {
            output,
            style: context.style,
            section,
            placed: Placed::new(context.sources, context.style.verbose),
            context,
            split,
            has_kinds,
        }
    }

    /// Prints the tables of `.debug_loclists`, up to the first one with an unreliable length.
    fn tables(&mut self, bytes: &[u8], of_6: &[u64]) -> io::Result<()> {
        let mut next = 0;
        while next < bytes.len() as u64 {
            let table = match ListTable::read(bytes, next, of_6, "location list table") {
                Ok(table) => table,
                Err(error) => return self.output.problem(&error.within(self.section, next)),
            };
            let inside = next..table.end;
            next = table.end;
            let format = LocationFormat::Kinds;
            let encoding = Encoding {
                address_size: table.address_size,
                offset_size: table.offset_size,
                dialect: self.style.dialect,
            };
            if let Some(offset) = self.context.offset {
                if inside.contains(&offset) {
                    self.at(table.whole, offset, encoding, format)?;
                    return self.end_line();
                }
                continue;
            }
            if !self.output.json() {
                let verbose = self.style.verbose;
                table.text("locations", self.section, verbose, self.output)?;
            }
            self.run(table.whole, table.lists(), table.end, encoding, format)?;
        }
        Ok(())
    }

    /// Prints the list at an offset.
    fn at(
        &mut self,
        bytes: &[u8],
        offset: u64,
        encoding: Encoding,
        format: LocationFormat,
    ) -> io::Result<()> {
        match List::new(self.section, bytes, offset, format, encoding.address_size) {
            Ok(mut list) => self.list(offset, &mut list, encoding).map(drop),
            Err(error) => self.output.problem(&error),
        }
    }

    /// Prints the lists from `start` to `end`.
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
            if next > start && !self.output.json() {
                writeln!(self.output)?;
            }
            let list = List::new(self.section, bytes, next, format, encoding.address_size);
            let mut list = match list {
                Ok(list) => list,
                Err(error) => return self.output.problem(&error),
            };
            let ended = self.list(next, &mut list, encoding)?;
            self.end_line()?;
            if !ended || list.offset() <= next {
                break;
            }
            next = list.offset();
        }
        Ok(())
    }

    /// Prints one list. Returns true if it was read to its end.
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
        let printer = Printer::new(encoding)
            .style(self.style.registers())
            .verbose(self.style.verbose);
        let name = match self.section {
            ".debug_loc" | ".debug_loc.dwo" => ".debug_loc",
            _ => ".debug_loclists",
        };
        let mut base: Option<usize> = None;
        let ended = loop {
            let at = list.offset();
            let entry = match list.next() {
                Ok(Some(entry)) => entry,
                Ok(None) => break true,
                Err(error) => {
                    if !json && !self.output.is_quiet() {
                        writeln!(self.output)?;
                    }
                    self.output.problem(&error)?;
                    break false;
                }
            };
            let expression = entry.expression();
            let expression = expression.map(|bytes| operations_text(&printer, bytes));
            let field = match entry.raw.kind {
                Some(_) => at.saturating_add(1),
                None if entry.is_base() => at.saturating_add(encoding.address_size.into()),
                None => at,
            };
            let section = (self.placed.as_ref())
                .and_then(|placed| placed.section(self.context.sources, (self.split, name), field));
            if entry.is_base() {
                base = section;
            }
            let note = |section: Option<usize>| {
                section.map_or(String::new(), |section| {
                    Placed::text(self.context.sources, section)
                })
            };
            let notes = [note(section), note(section.or(base))];
            self.entry(
                &Bounds {
                    entry: &entry,
                    notes,
                },
                expression,
                encoding,
            )?;
        };
        if json {
            self.output.end_array()?;
            self.output.end_element()?;
        } else {
            if ended && self.style.verbose && self.has_kinds {
                write!(self.output, "\n            {:23}()", "DW_LLE_end_of_list")?;
            }
        }
        Ok(ended)
    }

    /// Ends the line of a list's last entry.
    fn end_line(&mut self) -> io::Result<()> {
        match self.output.json() {
            true => Ok(()),
            false => writeln!(self.output),
        }
    }

    fn entry(
        &mut self,
        bounds: &Bounds<'_, '_>,
        expression: Option<String>,
        encoding: Encoding,
    ) -> io::Result<()> {
        let entry = bounds.entry;
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
        let (size, [raw, meant]) = (encoding.address_size, &bounds.notes);
        if self.style.verbose {
            let encoded = entry.encoded(size);
            write!(self.output, "\n            {encoded}{raw}")?;
            if let Some(text) = entry.meant(size) {
                write!(self.output, "\n                      => {text}{meant}")?;
            }
        } else if entry.is_base() {
            return Ok(());
        } else {
            write!(self.output, "\n            {}", entry.text(size))?;
        }
        if let Some(expression) = expression {
            write!(self.output, ": {expression}")?;
        }
        Ok(())
    }
}
