//! Lines of JSON about files, as the command prints them.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

use hetdwarf::Limits;
use hetdwarf_cli::{Plain, file_records};

use crate::error::{Error, detached};
use crate::object::selection;

/// The lines that `hetdwarf verify --format jsonl PATH` prints.
///
/// * name: what to call the file.
/// * rules, profile: as in `Object.verify`.
#[pyfunction]
#[pyo3(signature = (name, path, rules = None, profile = None))]
pub fn verify_lines(
    py: Python<'_>,
    name: &str,
    path: PathBuf,
    rules: Option<Vec<String>>,
    profile: Option<&str>,
) -> PyResult<Vec<String>> {
    let selection = selection(rules.as_deref(), profile)?;
    detached(py, || {
        let records = file_records(name, &path, &selection, &Limits::DEFAULT);
        let lines = records.lines();
        lines.map_err(|error| Error::new_err(error.to_string()))
    })
}

/// The lines that `hetdwarf core --format jsonl` prints, and what it says on standard error.
///
/// * arguments: those after `--format jsonl`.
#[pyfunction]
pub fn core_lines(py: Python<'_>, arguments: Vec<PathBuf>) -> PyResult<(String, String)> {
    let command = ["hetdwarf", "core", "--format", "jsonl"].map(OsString::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let arguments = arguments.into_iter().map(PathBuf::into_os_string);
    let arguments = command.into_iter().chain(arguments);
    detached(py, || {
        hetdwarf_cli::run(
            arguments,
            &mut Plain::new(&mut out),
            &mut Plain::new(&mut err),
        );
        let text = |bytes| String::from_utf8(bytes).map_err(|e| Error::new_err(e.to_string()));
        Ok((text(out)?, text(err)?))
    })
}
