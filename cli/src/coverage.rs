//! Implements `hetdwarf coverage`.

use std::io::Write;
use std::path::Path;

use super::arguments::{CoverageArguments, Format};
use super::contents::input_name;
use super::failure::{Exit, Failure, print_limit, print_warnings};
use super::input::with_program;
use super::or_unknown;
use super::style::BOLD;
use super::table::{bold, cells, table};
use hetdwarf::coverage::coverage;
use hetdwarf::plural::counted;
use hetdwarf::report::{CoverageDocument, CoverageFile, CoveredDocument, write_json_pretty};
use hetdwarf::untrusted::Untrusted;

pub(crate) fn run(
    arguments: &CoverageArguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let mut files = Vec::new();
    let mut failed = false;
    for path in &arguments.objects {
        // An unreadable file does not stop the others from being processed.
        match one(arguments, path) {
            Ok(file) => files.push(file),
            Err(failure) => {
                failure.report(err);
                failed = true;
            }
        }
    }
    let document = CoverageDocument::new(files);
    for file in &document.files {
        print_warnings(&file.problems, err)?;
        if file.functions.is_empty() {
            let message = format!(
                "{}: no function has debugging information, so nothing is counted",
                file.file
            );
            print_warnings(&[message.into()], err)?;
        }
    }
    match arguments.format {
        Format::Json => write_json_pretty(&document, &mut *out)?,
        Format::Text => print(&document, out)?,
    }
    match failed {
        true => Err(Failure::new("not every object could be read")),
        false => Ok(match document.completeness.limit {
            Some(_) => Exit::Incomplete,
            None => Exit::Done,
        }),
    }
}

fn one(arguments: &CoverageArguments, path: &Path) -> Result<CoverageFile, Failure> {
    with_program(path, &arguments.which, |program| {
        let target = program.object().target().to_string();
        let name = input_name(path).to_string_lossy();
        Ok(CoverageFile::new(&name, target, &coverage(program)))
    })
}

fn print(document: &CoverageDocument, out: &mut dyn Write) -> Result<(), Failure> {
    for file in &document.files {
        print_file(file, out)?;
    }
    if document.files.len() > 1 {
        writeln!(out, "{BOLD}all files{BOLD:#}")?;
        let kinds = document.by_kind.iter().map(|(kind, one)| (*kind, one));
        print_kinds(&document.total, kinds, out)?;
    }
    Ok(())
}

fn print_file(file: &CoverageFile, out: &mut dyn Write) -> Result<(), Failure> {
    let functions = counted(file.functions.len() as u64, "function");
    writeln!(
        out,
        "{BOLD}{}{BOLD:#} ({}, {functions})",
        file.file, file.target
    )?;
    let kinds = file.by_kind.iter().map(|(kind, one)| (*kind, one));
    print_kinds(&file.total, kinds, out)?;
    if !file.loses_most.is_empty() {
        let header = cells(["functions that lose most", "neither", "of", ""]);
        let rows = file.loses_most.iter().map(|loss| {
            let of_function =
                |one: &&hetdwarf::report::CoverageFunction| one.address == loss.address;
            let function = file.functions.iter().find(of_function);
            let scope = function.map_or(0, |one| one.total.bytes_in_scope);
            let mut row = vec![bold(or_unknown(loss.function.as_ref()))];
            row.extend(cells([
                loss.neither.to_string(),
                scope.to_string(),
                percent(loss.neither, scope),
            ]));
            row
        });
        writeln!(out, "\n{}", table(Some(header), rows.collect(), 1..4))?;
    }
    let unfinished: Vec<&Untrusted<'_>> = file
        .functions
        .iter()
        .filter(|function| !function.complete)
        .filter_map(|function| function.name.as_ref())
        .collect();
    if let [first, rest @ ..] = unfinished.as_slice() {
        let more = match rest.len() {
            0 => String::new(),
            more => format!(" and {}", counted(more as u64, "other")),
        };
        writeln!(
            out,
            "\nnot complete: the analysis of recovered values would take too long in {first}{more}"
        )?;
    }
    print_limit(&file.completeness, out)?;
    writeln!(out)?;
    Ok(())
}

/// Prints a line for each kind of variable, and their sum.
fn print_kinds<'d>(
    total: &CoveredDocument,
    kinds: impl Iterator<Item = (&'d str, &'d CoveredDocument)>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let row = |name: &str, one: &CoveredDocument| {
        let mut row = vec![bold(name)];
        row.extend(cells([
            one.variables.to_string(),
            one.bytes_in_scope.to_string(),
            percent(one.dwarf, one.bytes_in_scope),
            percent(one.recovered, one.bytes_in_scope),
            percent(one.neither, one.bytes_in_scope),
        ]));
        row
    };
    let header = cells([
        "kind",
        "variables",
        "bytes in scope",
        "dwarf",
        "recovered",
        "neither",
    ]);
    let rows = kinds.map(|(kind, one)| row(kind, one));
    let rows = rows.chain([row("total", total)]).collect();
    writeln!(out, "{}", table(Some(header), rows, 1..6))?;
    Ok(())
}

/// Returns a share of a whole, in tenths of a percent.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let (part, whole) = (u128::from(part), u128::from(whole));
    let rounded = part.saturating_mul(1000).saturating_add(whole / 2);
    // Only complete coverage is shown as 100 %.
    let most = if part < whole { 999 } else { u128::MAX };
    match rounded.checked_div(whole).map(|tenths| tenths.min(most)) {
        Some(tenths) => format!("{}.{} %", tenths / 10, tenths % 10),
        None => "-".to_owned(),
    }
}
