//! The indices of a package, `.debug_cu_index` and `.debug_tu_index`, slot by slot.
//!
//! Sources: DWARF 5 §7.3.5; for version 2 the description of GNU's extension, "DWARF Package File Format".

use std::io::{self, Write};

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
    slot: usize,
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
    let name = match context.part == Part::TuIndex {
        true => ".debug_tu_index",
        false => ".debug_cu_index",
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

    /// The name of a column, empty for one that is not known, and its number.
    fn column(&self, column: usize) -> (&'static str, u32) {
        let [old, new] = &COLUMNS;
        let names = if self.version == 5 { new } else { old };
        let id = self.word(self.slots().saturating_mul(12), column);
        let at = usize::try_from(id).unwrap_or(usize::MAX);
        (names.get(at).copied().unwrap_or_default(), id)
    }

    fn title(&self, column: usize) -> String {
        match self.column(column) {
            ("", id) => format!("Unknown: {id:<15}"),
            ("INFO", _) => format!("{:40}", "INFO"),
            (name, _) => format!("{name:24}"),
        }
    }

    fn slots(&self) -> usize {
        usize::try_from(self.slots).unwrap_or(usize::MAX)
    }

    fn columns(&self) -> usize {
        usize::try_from(self.columns).unwrap_or(usize::MAX)
    }

    /// The parts of a row, counted from 0: where each starts and ends.
    fn parts(&self, row: usize) -> impl Iterator<Item = [u32; 2]> {
        let columns = self.columns();
        let ids = self.slots().saturating_mul(12);
        let offsets = ids.saturating_add(columns.saturating_mul(4));
        let units = usize::try_from(self.units).unwrap_or(usize::MAX);
        let cells = columns.saturating_mul(units);
        let sizes = offsets.saturating_add(cells.saturating_mul(4));
        (0..columns).map(move |column| {
            let cell = row.saturating_mul(columns).saturating_add(column);
            let start = self.word(offsets, cell);
            [start, start.wrapping_add(self.word(sizes, cell))]
        })
    }

    fn begin(&self, output: &mut Output<'_>) -> io::Result<()> {
        let columns = 0..self.columns();
        if output.json() {
            let names = columns.map(|column| self.title(column).trim_end().to_owned());
            output.begin_element(&IndexFields {
                version: self.version,
                columns: names.collect(),
                units: self.units,
                slots: self.slots,
            })?;
            return output.begin_array("rows");
        }
        let (version, units, slots) = (self.version, self.units, self.slots);
        writeln!(
            output,
            "version = {version}, units = {units}, slots = {slots}\n"
        )?;
        write!(output, "Index Signature         ")?;
        for column in columns.clone() {
            write!(output, " {}", self.title(column))?;
        }
        write!(output, "\n----- ------------------")?;
        for column in columns {
            let width = if is_wide(self.column(column).0) {
                40
            } else {
                24
            };
            write!(output, " {}", "-".repeat(width))?;
        }
        writeln!(output)
    }

    fn print(&self, output: &mut Output<'_>) -> core::result::Result<(), Failure> {
        self.begin(output)?;
        let json = output.json();
        for (slot, number) in (0..self.slots()).zip(1u32..) {
            let row = self.word(self.slots().saturating_mul(8), slot);
            let Some(row) = row.checked_sub(1) else {
                output.meter().work(1)?;
                continue;
            };
            let at = slot.saturating_mul(8).saturating_add(self.start);
            let signature = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
            let signature = signature.map_or(0, |bytes| u64::from_le_bytes(*bytes));
            if row >= self.units {
                let reason = format!("slot {slot} names row {row}, which is not there");
                output.problem(&Error::malformed("unit index", reason))?;
                continue;
            }
            let parts = self.parts(usize::try_from(row).unwrap_or(usize::MAX));
            if json {
                output.element(&RowFields {
                    slot,
                    signature: signature.into(),
                    parts: parts
                        .map(|part| part.map(|n| u64::from(n).into()))
                        .collect(),
                })?;
                continue;
            }
            write!(output, "{number:5} {signature:#018x} ")?;
            for (column, [start, end]) in parts.enumerate() {
                match is_wide(self.column(column).0) {
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
