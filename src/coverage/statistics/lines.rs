//! Counts rows of line tables.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::debug_info::{DebugInfo, Row, UnitId};
use crate::error::Result;
use crate::meter::Meter;

/// The counts of the rows of all units.
#[derive(Debug, Default)]
pub(crate) struct LineCounts {
    pub(crate) bytes: u64,
    /// The bytes that belong to no line.
    pub(crate) bytes_of_line_0: u64,
    pub(crate) rows: u64,
    pub(crate) statements: u64,
    /// The different lines, columns and files of rows.
    unique: HashSet<(u64, u64, u32)>,
    /// The numbers of paths, which are common to all units.
    files: HashMap<Arc<str>, u32>,
}

impl LineCounts {
    /// Counts the rows of a unit.
    pub(super) fn count(
        &mut self,
        info: &DebugInfo<'_>,
        unit: UnitId,
        meter: &Meter,
    ) -> Result<()> {
        // An unreadable table contributes no lines.
        let Ok(Some(table)) = info.line_table(unit) else {
            return Ok(());
        };
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        let mut start: Option<u64> = None;
        let mut before: Option<Row> = None;
        for row in table.rows() {
            meter.work(2)?;
            let first = *start.get_or_insert(row.address);
            if let Some(before) = &before
                && before.line == 0
            {
                let size = row.address.saturating_sub(before.address);
                self.bytes_of_line_0 = self.bytes_of_line_0.saturating_add(size);
            }
            before = Some(row);
            if row.end_sequence {
                let size = row.address.saturating_sub(first);
                self.bytes = self.bytes.saturating_add(size);
                (start, before) = (None, None);
                continue;
            }
            self.rows = self.rows.saturating_add(1);
            self.statements = self.statements.saturating_add(u64::from(row.is_stmt));
            let number = match numbers.get(&row.file) {
                Some(number) => *number,
                None => {
                    meter.hold(128)?;
                    let path = info.source_file(unit, row.file)?.map(|file| file.path);
                    let path = path.unwrap_or_else(|| Arc::from(""));
                    let next = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
                    let number = *self.files.entry(path).or_insert(next);
                    numbers.insert(row.file, number);
                    number
                }
            };
            if !self.unique.contains(&(row.line, row.column, number)) {
                meter.hold(64)?;
                self.unique.insert((row.line, row.column, number));
            }
        }
        Ok(())
    }

    /// Returns the number of different lines.
    pub(crate) fn unique(&self) -> u64 {
        self.unique.len() as u64
    }

    /// Returns the number of different lines other than 0.
    pub(crate) fn unique_non_0(&self) -> u64 {
        self.unique.iter().filter(|(line, ..)| *line != 0).count() as u64
    }
}
