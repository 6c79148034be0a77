//! Prints the indices of a package, `.debug_cu_index` and `.debug_tu_index`, slot by slot.
//!
//! Sources: DWARF 5 §7.3.5; for version 2 the description of GNU's extension, "DWARF Package File Format".

use std::io::{self, Write};

use serde::Serialize;

use super::Failure;
use super::context::Context;
use super::output::Output;
use super::part::Part;
use crate::debug_info::package_index::PackageIndex;
use crate::error::Error;
use crate::report::Hex;

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

/// Returns true if the entries of a column are printed with 64 bits: the columns for units.
fn is_wide(column: &str) -> bool {
    matches!(column, "INFO" | "TYPES")
}

/// Prints the index of the part.
pub(super) fn dump(context: Context<'_, '_>, output: &mut Output<'_>) -> Result<(), Failure> {
    let name = match context.part == Part::TuIndex {
        true => ".debug_tu_index",
        false => ".debug_cu_index",
    };
    let bytes = context.sources.of_package(name)?;
    if !context.begin_section(name, bytes.len(), output)? || bytes.is_empty() {
        return Ok(());
    }
    match PackageIndex::read(bytes) {
        Ok(index) => Printed(index).print(output),
        Err(error) => Ok(output.problem(&error.within(name, 0))?),
    }
}

/// The index, with its style.
struct Printed<'a>(PackageIndex<'a>);

impl Printed<'_> {
    fn title(&self, column: usize) -> String {
        match self.0.column(column) {
            ("", id) => format!("Unknown: {id:<15}"),
            ("INFO", _) => format!("{:40}", "INFO"),
            (name, _) => format!("{name:24}"),
        }
    }

    fn begin(&self, output: &mut Output<'_>) -> io::Result<()> {
        let columns = 0..self.0.column_count();
        if output.json() {
            let names = columns.map(|column| self.title(column).trim_end().to_owned());
            output.begin_element(&IndexFields {
                version: self.0.version,
                columns: names.collect(),
                units: self.0.units,
                slots: self.0.slots,
            })?;
            return output.begin_array("rows");
        }
        let (version, units, slots) = (self.0.version, self.0.units, self.0.slots);
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
            let width = if is_wide(self.0.column(column).0) {
                40
            } else {
                24
            };
            write!(output, " {}", "-".repeat(width))?;
        }
        writeln!(output)
    }

    fn print(&self, output: &mut Output<'_>) -> Result<(), Failure> {
        self.begin(output)?;
        let json = output.json();
        for (slot, number) in (0..self.0.slot_count()).zip(1u32..) {
            let Some((signature, row)) = self.0.slot(slot) else {
                output.meter().work(1)?;
                continue;
            };
            if row >= self.0.units {
                let reason = format!("slot {slot} names row {row}, which is not there");
                output.problem(&Error::malformed("unit index", reason))?;
                continue;
            }
            let row = usize::try_from(row).unwrap_or(usize::MAX);
            let columns = 0..self.0.column_count();
            let parts = columns.filter_map(|column| self.0.part(row, column));
            let parts = parts.map(|(start, size)| [start, start.wrapping_add(size)]);
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
                match is_wide(self.0.column(column).0) {
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
