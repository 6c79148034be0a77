//! Provides the command's lines of JSON about files.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

use hetdwarf::Limits;
use hetdwarf_cli::{Plain, file_records};

use crate::error::{Error, detached};
use crate::object::selection;

/// Returns the lines that `hetdwarf verify --format jsonl PATH` prints.
///
/// * name: the name of the file in the lines.
/// * rules, profile: see `Object.verify`.
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

/// Returns the lines that `hetdwarf core --format jsonl` prints, and its messages on standard error.
///
/// * arguments: the arguments after `--format jsonl`.
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
