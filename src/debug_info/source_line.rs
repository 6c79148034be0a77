//! Finds the source line of an address.

use core::ops::Range;

use super::DebugInfo;
use super::id::UnitId;
use super::line::{FoundRow, LineTable};
use super::source_file::SourceFile;
use crate::error::Result;

/// The row of the line table that an address belongs to.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The unit whose table has the row.
    pub unit: UnitId,
    /// The file. `None` if the table does not have it.
    pub file: Option<SourceFile>,
    /// The line, from 1; 0 for code that belongs to no line.
    pub line: u64,
    /// The column, from 1; 0 for the line as a whole.
    pub column: u64,
    /// True if the first address of the row is a recommended place for a breakpoint.
    pub is_stmt: bool,
    /// The number of the block among the blocks of the same line, or 0 if there is only one.
    pub discriminator: u64,
    /// The addresses of the row: up to the next row with a higher address.
    pub range: Range<u64>,
}

impl DebugInfo<'_> {
    /// Returns the row of the line table that `pc`, an address of the code object, belongs to. For a return
    /// address look up the address before it.
    ///
    /// # Errors
    /// If no row is found, but something that might have led to one could not be read.
    pub fn line_at(&self, pc: u64) -> Result<Option<SourceLine>> {
        let Some(unit) = self.find_unit(pc)? else {
            return Ok(None);
        };
        let Some(table) = self.lines_of(unit)? else {
            return Ok(None);
        };
        let found = self.row_at(table, pc);
        let row = found.and_then(|found| Some((table.row_of(found)?, table.range_of(found)?)));
        let Some((row, range)) = row else {
            return match table.problem() {
                Some(error) => Err(error.clone()),
                None => Ok(None),
            };
        };
        Ok(Some(SourceLine {
            unit,
            file: self.source_file(unit, row.file)?,
            line: row.line,
            column: row.column,
            is_stmt: row.is_stmt,
            discriminator: row.discriminator,
            range,
        }))
    }

    /// Returns the row of a table that `pc` belongs to, in the function at `pc`.
    pub(super) fn row_at(&self, table: &LineTable<'_>, pc: u64) -> Option<FoundRow> {
        table.find_declared(pc, || {
            let entry = self.function_entry(pc).ok()??;
            let declaration = self.function(entry.id).ok()?.declaration;
            Some((declaration.file?.index, declaration.line?))
        })
    }
}
