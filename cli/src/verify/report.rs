//! Prints the findings of a document, from this run or from earlier ones.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use super::super::arguments::{DocumentFormat, VerifyFormat};
use super::super::failure::{Exit, Failure};
use super::text;
use hetdwarf::report::{
    Gathering, SarifLog, SummaryDocument, VerifyDocument, github_annotations, junit, lines,
    write_json_pretty,
};
use hetdwarf::untrusted::Untrusted;

/// The settings for printing a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printing<'p> {
    pub(crate) format: DocumentFormat,
    /// True if only the table of rules is printed.
    pub(crate) summary: bool,
    /// The folder that paths are relative to, absolute.
    pub(crate) folder: &'p Path,
}

impl Printing<'_> {
    /// Prints a finished document, appends to the summary of a GitHub workflow step, and returns the exit status.
    pub(crate) fn print(
        self,
        document: &VerifyDocument,
        out: &mut dyn Write,
    ) -> Result<Exit, Failure> {
        match self.summary {
            true => print_summary(self.format, document, out)?,
            false => print(self.format, document, self.folder, out)?,
        }
        if self.summary || self.format == DocumentFormat::Github {
            step_summary(document)?;
        }
        Ok(status(
            !document.unreadable.is_empty(),
            document.has_errors(),
        ))
    }
}

/// Returns the format of a document, or None for records, which have no table.
pub(crate) fn document_format(
    format: VerifyFormat,
    summary: bool,
) -> Result<Option<DocumentFormat>, Failure> {
    match format {
        VerifyFormat::Document(format) => Ok(Some(format)),
        VerifyFormat::Jsonl if summary => Err(no_table()),
        VerifyFormat::Jsonl => Ok(None),
    }
}

/// Creates an empty document. In a `JUnit` report each code object is a test suite, which passes unless it has its own findings. So its findings are
/// not grouped by cause.
pub(crate) fn gathering(format: DocumentFormat, each: bool) -> Gathering {
    match each || format == DocumentFormat::Junit {
        true => Gathering::each(),
        false => Gathering::grouped(),
    }
}

fn no_table() -> Failure {
    Failure::new("--summary: the table is printed as text or json")
}

/// Names the files that could not be read, and the `.dwo` files that were not checked.
pub(crate) fn report_unreadable(document: &VerifyDocument, err: &mut dyn Write) {
    for file in &document.unreadable {
        Failure::new(format!("{}: {}", file.path, file.message)).report(err);
    }
    let name = |path: &Untrusted<'_>| Path::new(path.raw()).file_name().map(OsString::from);
    let checked: BTreeSet<OsString> = (document.files.iter())
        .filter_map(|file| name(&file.path))
        .collect();
    for file in &document.files {
        let Some(missing) = &file.missing_split else {
            continue;
        };
        let is_checked = missing.name.as_ref().and_then(name);
        let is_checked = is_checked.is_some_and(|name| checked.contains(&name));
        if !is_checked || missing.has_others {
            let message = format!(
                "the debugging information is in {missing}, which was not checked; check it by itself"
            );
            Failure::warn(err, Path::new(file.path.raw()), &message);
        }
    }
}

/// Returns the exit status for checked files.
///
/// * `is_incomplete`: true if something could not be read, or there was nothing to check;
/// * `has_errors`: true if an error was found.
pub(crate) fn status(is_incomplete: bool, has_errors: bool) -> Exit {
    match (is_incomplete, has_errors) {
        (true, _) => Exit::Incomplete,
        (false, true) => Exit::Negative,
        (false, false) => Exit::Done,
    }
}

/// Prints a document.
fn print(
    format: DocumentFormat,
    document: &VerifyDocument,
    folder: &Path,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    match format {
        DocumentFormat::Text => text::print(document, out)?,
        DocumentFormat::Json => write_json_pretty(document, &mut *out)?,
        // Code hosts know files by their paths in the repository.
        DocumentFormat::Sarif => {
            let log = SarifLog::new(document, &folder.to_string_lossy());
            write_json_pretty(&log, &mut *out)?;
        }
        DocumentFormat::Github => {
            let text = github_annotations(document, &folder.to_string_lossy());
            out.write_all(text.as_bytes())?;
        }
        DocumentFormat::Lines => out.write_all(lines(document).as_bytes())?,
        DocumentFormat::Junit => out.write_all(junit(document).as_bytes())?,
    }
    Ok(())
}

/// Prints only the table.
fn print_summary(
    format: DocumentFormat,
    document: &VerifyDocument,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let summary = SummaryDocument::new(document);
    match format {
        DocumentFormat::Json => write_json_pretty(&summary, &mut *out)?,
        DocumentFormat::Text => {
            text::print_table(document, out)?;
            text::print_numbers(document, out)?;
        }
        DocumentFormat::Sarif
        | DocumentFormat::Github
        | DocumentFormat::Lines
        | DocumentFormat::Junit => return Err(no_table()),
    }
    Ok(())
}

/// Appends the table to the summary of a GitHub workflow step. The runner names the summary file in an environment variable.
fn step_summary(document: &VerifyDocument) -> Result<(), Failure> {
    let named = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty());
    let (Some(path), Some(_)) = (named, document.summary.findings) else {
        return Ok(());
    };
    let path = Path::new(&path);
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path);
    let text = SummaryDocument::new(document).to_markdown();
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| Failure::in_file(path, error))
}
