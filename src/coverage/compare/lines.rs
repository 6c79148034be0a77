//! Finds different lines in two versions of a function with equal code.

use core::ops::Range;

use super::super::FunctionCoverage;
use super::{Difference, Version};
use crate::debug_info::SourceFile;
use crate::error::Result;

/// The contents of a row of the line table. Files are compared by their plain names, because versions are built in different folders.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    file: String,
    line: u64,
    column: u64,
    /// The flags of the row: a recommended place for a breakpoint, the end of the prologue, and the start of the epilogue.
    marks: [bool; 3],
}

impl Line {
    fn text(&self) -> String {
        let names = ["is_stmt", "prologue_end", "epilogue_begin"];
        let marks = names.iter().zip(self.marks).filter(|(_, mark)| *mark);
        let mut text = format!("{}:{}:{}", self.file, self.line, self.column);
        for (name, _) in marks {
            text.push(' ');
            text.push_str(name);
        }
        text
    }
}

/// Returns the ranges with different lines.
pub(super) fn differences(
    (old, before): (&Version<'_, '_>, &FunctionCoverage),
    (new, after): (&Version<'_, '_>, &FunctionCoverage),
) -> Result<Vec<Difference>> {
    let (old, new) = (old.lines(before)?, new.lines(after)?);
    Ok(super::differences(&old, &new, |old, new| {
        [old, new].map(|line| line.map(Line::text))
    }))
}

impl Version<'_, '_> {
    /// Returns the rows of a function, by their offsets in the function. If several rows have the same address, the last counts.
    fn lines(&self, function: &FunctionCoverage) -> Result<Vec<(Range<u64>, Line)>> {
        let info = self.program.info();
        let unit = function.die.unit;
        let Some(table) = info.line_table(unit)? else {
            return Ok(Vec::new());
        };
        let end = function.address.saturating_add(function.size);
        let (mut lines, mut at) = (Vec::new(), function.address);
        while at < end {
            self.meter.work(1)?;
            let Some((row, range)) = table.find(at) else {
                // This instruction has no row.
                at = at.saturating_add(4);
                continue;
            };
            let file = info.source_file(unit, row.file)?;
            let line = Line {
                file: file.as_ref().map_or("", SourceFile::name).to_owned(),
                line: row.line,
                column: row.column,
                marks: [row.is_stmt, row.prologue_end, row.epilogue_begin],
            };
            let next = range.end.clamp(at.saturating_add(1), end);
            let offset = |address: u64| address.saturating_sub(function.address);
            self.meter
                .hold((size_of::<Line>().saturating_add(line.file.len())) as u64)?;
            lines.push((offset(at)..offset(next), line));
            at = next;
        }
        Ok(lines)
    }
}
