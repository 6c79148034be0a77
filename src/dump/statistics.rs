//! Measures how much of a program its debugging information describes, in the style of `llvm-dwarfdump --statistics`.
//!
//! The counting is in `coverage`.

mod report;

use std::io::{self, Write};

use super::sources::Sources;
use crate::coverage::statistics;
use crate::error::Result;
use crate::expr::Dialect;
use report::Report;

/// Writes the statistics as a document of JSON.
///
/// * `name`: the name of the file;
/// * `format`: the format of the file.
pub(super) fn write(
    sources: &Sources<'_>,
    dialect: Dialect,
    (name, format): (&str, &str),
    out: &mut dyn Write,
) -> io::Result<Result<()>> {
    let collected = || {
        let info = sources.info(dialect)?;
        statistics::collect(&info, &sources.for_query())
    };
    match collected() {
        Ok(found) => Report::new(&found, sources)
            .write(name, format, out)
            .map(Ok),
        Err(error) => Ok(Err(error)),
    }
}
