//! Lists the source files in the line tables of units.

use std::io::{self, Write};
use std::sync::Arc;

use super::{Sources, line};
use crate::error::Result;
use crate::expr::Dialect;
use crate::untrusted::Untrusted;

/// Returns the source files of all units, sorted, each once. For a file without units, it lists the files in all line tables. The second result is
/// the error if the list may be incomplete: the units or a line table cannot be read, or a limit is reached.
pub(super) fn list(sources: &Sources<'_>, dialect: Dialect) -> (Vec<Arc<str>>, Result<()>) {
    let mut files = Vec::new();
    let read = collect(sources, dialect, &mut files);
    files.sort_unstable();
    files.dedup();
    (files, read)
}

fn collect(sources: &Sources<'_>, dialect: Dialect, files: &mut Vec<Arc<str>>) -> Result<()> {
    let info = sources.info(dialect)?;
    let meter = sources.for_query();
    if info.unit_ids().next().is_none() {
        return line::paths(sources, &meter, files);
    }
    for id in info.unit_ids() {
        let unit = info.unit_info(id)?;
        if unit.is_type_unit() {
            continue;
        }
        let Some(table) = info.line_table(id)? else {
            // Without a line table, only the unit's own name is known.
            if let (Some(name), None) = (&unit.name, unit.partner) {
                let name = info.path_of_unit(id, name)?;
                meter.hold((name.len() as u64).saturating_add(32))?;
                files.push(name);
            }
            continue;
        };
        let count = table.file_count() as u64;
        let first = table.first_file();
        for number in first..first.saturating_add(count) {
            meter.work(1)?;
            if let Some(file) = info.source_file(id, number)? {
                meter.hold((file.path.len() as u64).saturating_add(32))?;
                files.push(file.path);
            }
        }
    }
    Ok(())
}

/// Prints source files, one on each line.
pub(super) fn write(files: &[Arc<str>], out: &mut dyn Write) -> io::Result<()> {
    for file in files {
        writeln!(out, "{}", Untrusted::from(&**file))?;
    }
    Ok(())
}
