//! Prints the sections of range lists, table by table and list by list: `.debug_rnglists` and `.debug_ranges`.
//!
//! Sources: DWARF 5 §7.28, §7.25; DWARF 4 §2.17.3.

use std::io::Write;

use gimli::constants as dw;
use serde::Serialize;

use super::context::Context;
use super::list::{address, range_text};
use super::list_table::ListTable;
use super::output::Output;
use super::part::Part;
use super::raw_range::RawRange;
use super::{Failure, Naming, Style};
use crate::debug_info::raw_list::{Base, Bounds, highest};
use crate::debug_info::{DebugInfo, UnitId, UnitLength};
use crate::expr::Cursor;
use crate::report::Hex;

#[derive(Serialize)]
struct ListFields {
    section: &'static str,
    offset: Hex,
}

#[derive(Serialize)]
struct EntryFields {
    offset: Hex,
    kind: &'static str,
    operands: Vec<Hex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<[Hex; 2]>,
}

/// Prints `.debug_ranges`.
pub(super) fn dump_old(context: Context<'_, '_>, output: &mut Output<'_>) -> Result<(), Failure> {
    const NAME: &str = ".debug_ranges";
    let bytes = context.sources.section(false, NAME)?;
    if !context.begin_section(NAME, bytes.len(), output)? {
        return Ok(());
    }
    let size = context
        .sources
        .unit_facts(context.style.dialect)?
        .address_size;
    let digits = if size == 4 { 8 } else { 16 };
    let mut cursor = Cursor::new(bytes);
    while !cursor.is_empty() {
        let start = cursor.position() as u64;
        begin_list(NAME, start, output)?;
        let ended = loop {
            let offset = cursor.position() as u64;
            let entry = match RawRange::read_pair(&mut cursor, size) {
                Ok(entry) => entry,
                Err(error) => break Err(error.within(NAME, offset)),
            };
            if entry.kind == dw::DW_RLE_end_of_list {
                break Ok(());
            }
            let (first, second) = match entry.kind {
                dw::DW_RLE_base_address => (highest(size), entry.first),
                _ => (entry.first, entry.second),
            };
            if output.json() {
                output.element(&EntryFields {
                    offset: entry.offset.into(),
                    kind: "",
                    operands: vec![first.into(), second.into()],
                    range: None,
                })?;
            } else {
                writeln!(output, "{start:08x} {first:0digits$x} {second:0digits$x}")?;
            }
        };
        if let Err(error) = &ended {
            output.problem(error)?;
        } else if !output.json() {
            writeln!(output, "{start:08x} <End of list>")?;
        }
        end_list(output)?;
        if ended.is_err() {
            break;
        }
    }
    Ok(())
}

/// Prints `.debug_rnglists` and its `.dwo` form.
pub(super) fn dump(context: Context<'_, '_>, output: &mut Output<'_>) -> Result<(), Failure> {
    for (split, section) in [(false, ".debug_rnglists"), (true, ".debug_rnglists.dwo")] {
        let bytes = context.sources.section(split, ".debug_rnglists")?;
        if !context.begin_section(section, bytes.len(), output)? {
            continue;
        }
        let of_6 = context.sources.of_6(split, ".debug_rnglists")?;
        let info = context.sources.info(context.style.dialect)?;
        let mut units = info.unit_ids().filter_map(|id| info.unit_info(id).ok());
        let first = units.find(|unit| !unit.is_type_unit());
        let mut tables = Tables {
            unit: first.map(|unit| unit.id),
            info,
            knows_units: context.parts.contains(&Part::Info)
                || context.style.naming == Naming::Names,
            style: context.style,
            section,
            output,
        };
        let mut next = 0;
        while next < bytes.len() as u64 {
            let table = match ListTable::read(bytes, next, of_6, "range list table") {
                Ok(table) => table,
                Err(error) => {
                    tables.output.problem(&error.within(section, next))?;
                    // The length locates the next table.
                    match UnitLength::read(bytes, next, "range list table") {
                        Ok(length) => next = length.body.end as u64,
                        Err(_) => break,
                    }
                    continue;
                }
            };
            next = table.end;
            tables.table(&table)?;
        }
    }
    Ok(())
}

/// The printer for the tables of a section.
struct Tables<'t, 'a, 'o> {
    info: DebugInfo<'a>,
    /// The first unit other than a type unit.
    unit: Option<UnitId>,
    /// True if indices can be looked up in the table of a unit.
    knows_units: bool,
    style: Style,
    section: &'static str,
    output: &'t mut Output<'o>,
}

impl Tables<'_, '_, '_> {
    fn table(&mut self, table: &ListTable<'_>) -> Result<(), Failure> {
        let size = table.address_size;
        let mut width = 0;
        if !self.output.json() {
            table.text("range", self.section, self.style.verbose, self.output)?;
            writeln!(self.output, "ranges:")?;
        }
        if self.style.verbose {
            let mut cursor = lists_of(table);
            while !cursor.is_empty()
                && let Ok(entry) = RawRange::read(&mut cursor, size)
            {
                self.output.meter().work(1)?;
                width = width.max(entry.name().len());
            }
        }
        let mut base = Base::new(Some(0), size);
        let mut cursor = lists_of(table);
        while !cursor.is_empty() {
            begin_list(self.section, cursor.position() as u64, self.output)?;
            let ended = loop {
                let offset = cursor.position() as u64;
                let entry = match RawRange::read(&mut cursor, size) {
                    Ok(entry) => entry,
                    Err(error) => break Err(error.within(self.section, offset)),
                };
                self.entry(&entry, &mut base, size, width)?;
                if entry.kind == dw::DW_RLE_end_of_list {
                    break Ok(());
                }
            };
            if let Err(error) = &ended {
                self.output.problem(error)?;
            }
            end_list(self.output)?;
            if ended.is_err() {
                break;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        entry: &RawRange,
        base: &mut Base,
        size: u8,
        width: usize,
    ) -> Result<(), Failure> {
        let bounds = entry.bounds();
        let is_base = entry.kind == dw::DW_RLE_base_addressx;
        // llvm-dwarfdump knows only the units already printed, and uses the index of a base as the base itself.
        let missing = if is_base { entry.first } else { 0 };
        let indexed = |index| match self.knows_units {
            true => Ok(self.first_address(index, size).unwrap_or(missing)),
            false => Ok(missing),
        };
        // An index is looked up in the table of the first unit.
        let listed = bounds.and_then(|bounds| base.listed(bounds, indexed).ok().flatten());
        if self.output.json() {
            if entry.kind == dw::DW_RLE_end_of_list {
                return Ok(());
            }
            let range = listed.map(|listed| [listed.range.start.into(), listed.range.end.into()]);
            return Ok(self.output.element(&EntryFields {
                offset: entry.offset.into(),
                kind: entry.name(),
                operands: entry.operands().map(Hex::from).collect(),
                range,
            })?);
        }
        let is_base = matches!(bounds, Some(Bounds::Base(_) | Bounds::BaseIndex(_)));
        if is_base && !self.style.verbose {
            return Ok(());
        }
        if self.style.verbose {
            let name = entry.name();
            write!(self.output, "{:#010x}: [{name}", entry.offset)?;
            let gap = width.saturating_sub(name.len());
            write!(self.output, "{:gap$}]", "")?;
            if bounds.is_some() {
                write!(self.output, ": ")?;
            }
        }
        if is_base {
            write!(self.output, " {}", address(entry.first, size))?;
        } else if let Some(listed) = listed {
            if self.style.verbose && entry.kind != dw::DW_RLE_start_end {
                let [first, second] = [entry.first, entry.second].map(|n| address(n, size));
                write!(self.output, " {first}, {second} => ")?;
            }
            match entry.kind {
                dw::DW_RLE_offset_pair if listed.is_discarded => {
                    write!(self.output, "dead code")?;
                }
                _ => write!(self.output, "{}", range_text(&listed.range, size))?,
            }
        } else if !self.style.verbose {
            write!(self.output, "<End of list>")?;
        }
        Ok(writeln!(self.output)?)
    }

    /// Returns an address of the first unit's table, if the unit has one.
    fn first_address(&self, index: u64, size: u8) -> Option<u64> {
        let unit = self.unit?;
        let root = self.info.root(unit).ok()?;
        root.attribute(gimli::DW_AT_addr_base)?;
        let base = gimli::DebugAddrBase(usize::try_from(self.info.address_base(unit).ok()?).ok()?);
        let index = gimli::DebugAddrIndex(usize::try_from(index).ok()?);
        let sections = self.info.raw_sections(unit).ok()?;
        sections.debug_addr.get_address(size, base, index).ok()
    }
}

/// Prints the lists of a table, up to its end.
fn lists_of<'a>(table: &ListTable<'a>) -> Cursor<'a> {
    let mut cursor = Cursor::new(table.whole);
    let start = usize::try_from(table.lists()).unwrap_or(usize::MAX);
    // The end is at least after the offsets.
    let _ = cursor.go_to(start);
    cursor
}

fn begin_list(section: &'static str, offset: u64, output: &mut Output<'_>) -> Result<(), Failure> {
    if output.json() {
        output.begin_element(&ListFields {
            section,
            offset: offset.into(),
        })?;
        output.begin_array("entries")?;
    }
    Ok(())
}

fn end_list(output: &mut Output<'_>) -> Result<(), Failure> {
    if output.json() {
        output.end_array()?;
        output.end_element()?;
    }
    Ok(())
}
