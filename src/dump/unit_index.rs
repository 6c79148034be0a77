//! The indices of a package, `.debug_cu_index` and `.debug_tu_index`, slot by slot.
//!
//! Sources: DWARF 5 §7.3.5; for version 2 the description of GNU's extension, "DWARF Package File Format".

use std::io::Write;

use serde::Serialize;

use super::Failure;
use super::context::Context;
use super::output::Output;
use super::part::Part;
use crate::error::{Error, Result};
use crate::expr::Cursor;
use crate::report::Hex;

/// The columns of version 2 and of version 5, by their numbers.
const COLUMNS: [[&str; 9]; 2] = [
    [
        "",
        "INFO",
        "TYPES",
        "ABBREV",
        "LINE",
        "LOC",
        "STR_OFFSETS",
        "MACINFO",
        "MACRO",
    ],
    [
        "",
        "INFO",
        "",
        "ABBREV",
        "LINE",
        "LOCLISTS",
        "STR_OFFSETS",
        "MACRO",
        "RNGLISTS",
    ],
];

#[derive(Serialize)]
struct IndexFields {
    version: u32,
    columns: Vec<String>,
    units: u32,
    slots: u32,
}

#[derive(Serialize)]
struct RowFields {
    slot: u32,
    signature: Hex,
    parts: Vec<[Hex; 2]>,
}

/// Returns true if the parts of a column are printed with 64 bits: those of units.
fn is_wide(column: &str) -> bool {
    matches!(column, "INFO" | "TYPES")
}

/// What the header of an index says, and where its tables are.
struct Index<'a> {
    version: u32,
    columns: u32,
    units: u32,
    slots: u32,
    bytes: &'a [u8],
    /// Where the signatures start.
    start: usize,
}

/// Prints the index of the part.
pub(super) fn dump(
    context: Context<'_, '_>,
    output: &mut Output<'_>,
) -> core::result::Result<(), Failure> {
    let name = match context.part {
        Part::TuIndex => ".debug_tu_index",
        _ => ".debug_cu_index",
    };
    let bytes = context.sources.of_package(name)?;
    if !context.begin_section(name, bytes.len(), output)? || bytes.is_empty() {
        return Ok(());
    }
    match Index::read(bytes) {
        Ok(index) => index.print(output),
        Err(error) => Ok(output.problem(&error.within(name, 0))?),
    }
}

impl<'a> Index<'a> {
    fn read(bytes: &'a [u8]) -> Result<Index<'a>> {
        let mut cursor = Cursor::new(bytes);
        // From version 5 on the version has two bytes, and two that are not used follow.
        let version = match cursor.u32()? {
            2 => 2,
            other => other & 0xffff,
        };
        let index = Index {
            version,
            columns: cursor.u32()?,
            units: cursor.u32()?,
            slots: cursor.u32()?,
            bytes,
            start: cursor.position(),
        };
        if !matches!(version, 2 | 5) {
            let reason = format!("version {version} is not known");
            return Err(Error::malformed("unit index", reason));
        }
        let cells = u64::from(index.columns).saturating_mul(index.units.into());
        let needed = u64::from(index.slots)
            .saturating_mul(12)
            .saturating_add(u64::from(index.columns).saturating_mul(4))
            .saturating_add(cells.saturating_mul(8));
        if needed > bytes.len().saturating_sub(index.start) as u64 {
            let reason = format!("its tables take {needed:#x} bytes, more than it has");
            return Err(Error::malformed("unit index", reason));
        }
        Ok(index)
    }

    /// The number at an index of the table that starts so many bytes after the header.
    fn word(&self, table: usize, index: usize) -> u32 {
        let at = index
            .saturating_mul(4)
            .saturating_add(table)
            .saturating_add(self.start);
        let bytes = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn print(&self, output: &mut Output<'_>) -> core::result::Result<(), Failure> {
        let (columns, slots) = (self.columns as usize, self.slots as usize);
        let rows = slots.saturating_mul(8);
        let ids = slots.saturating_mul(12);
        let offsets = ids.saturating_add(columns.saturating_mul(4));
        let cells = columns.saturating_mul(self.units as usize);
        let sizes = offsets.saturating_add(cells.saturating_mul(4));
        let names = COLUMNS[usize::from(self.version == 5)];
        let kind = |column| {
            let id = self.word(ids, column);
            (names.get(id as usize).copied().unwrap_or_default(), id)
        };
        let title = |column| match kind(column) {
            ("", id) => format!("Unknown: {id:<15}"),
            ("INFO", _) => format!("{:40}", "INFO"),
            (name, _) => format!("{name:24}"),
        };
        let json = output.json();
        if json {
            output.begin_element(&IndexFields {
                version: self.version,
                columns: (0..columns)
                    .map(|at| title(at).trim_end().to_owned())
                    .collect(),
                units: self.units,
                slots: self.slots,
            })?;
            output.begin_array("rows")?;
        } else {
            let (version, units, slots) = (self.version, self.units, self.slots);
            writeln!(
                output,
                "version = {version}, units = {units}, slots = {slots}\n"
            )?;
            write!(output, "Index Signature         ")?;
            for column in 0..columns {
                write!(output, " {}", title(column))?;
            }
            write!(output, "\n----- ------------------")?;
            for column in 0..columns {
                let width = if is_wide(kind(column).0) { 40 } else { 24 };
                write!(output, " {}", "-".repeat(width))?;
            }
            writeln!(output)?;
        }
        for slot in 0..slots {
            let Some(row) = (self.word(rows, slot) as usize).checked_sub(1) else {
                output.meter().work(1)?;
                continue;
            };
            let at = slot.saturating_mul(8).saturating_add(self.start);
            let signature = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
            let signature = signature.map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let parts = (0..columns).map(|column| {
                let cell = row.saturating_mul(columns).saturating_add(column);
                let start = self.word(offsets, cell);
                [start, start.wrapping_add(self.word(sizes, cell))]
            });
            if row >= self.units as usize {
                let reason = format!("slot {slot} names row {}, which is not there", row + 1);
                output.problem(&Error::malformed("unit index", reason))?;
                continue;
            }
            if json {
                output.element(&RowFields {
                    slot: u32::try_from(slot).unwrap_or(u32::MAX),
                    signature: signature.into(),
                    parts: parts
                        .map(|part| part.map(|n| u64::from(n).into()))
                        .collect(),
                })?;
                continue;
            }
            write!(output, "{:5} {signature:#018x} ", slot + 1)?;
            for (column, [start, end]) in parts.enumerate() {
                match is_wide(kind(column).0) {
                    true => write!(output, "[{start:#018x}, {end:#018x}) ")?,
                    false => write!(output, "[{start:#010x}, {end:#010x}) ")?,
                }
            }
            writeln!(output)?;
        }
        if json {
            output.end_array()?;
            output.end_element()?;
        }
        Ok(())
    }
}
