//! Implements `hetdwarf coverage`.

use std::io::Write;
use std::path::Path;

use super::arguments::{CoverageArguments, Format};
use super::contents::input_name;
use super::failure::{Exit, Failure, print_limit, print_warnings};
use super::input::{check_dwo, with_split_program};
use super::or_unknown;
use super::style::BOLD;
use super::table::{bold, cells, table};
use hetdwarf::coverage::coverage;
use hetdwarf::inspect::MissingSplit;
use hetdwarf::plural::counted;
use hetdwarf::report::{CoverageDocument, CoverageFile, CoveredDocument, write_json_pretty};
use hetdwarf::untrusted::Untrusted;

pub(crate) fn run(
    arguments: &CoverageArguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let mut files = Vec::new();
    let mut is_used = Vec::new();
    let mut has_failed = false;
    for path in &arguments.objects {
        // An unreadable file does not stop the others from being processed.
        match one(arguments, path) {
            Ok((file, is_used_here)) => {
                files.push(file);
                is_used.push(is_used_here);
            }
            Err(failure) => {
                failure.report(err);
                has_failed = true;
            }
        }
    }
    let document = CoverageDocument::new(files);
    let mut is_partial = false;
    for file in &document.files {
        print_warnings(&file.problems, err)?;
        match (&file.missing_split, file.functions.is_empty()) {
            (Some(missing), is_empty) => {
                let message = in_other_file(&file.file, missing);
                if is_empty {
                    Failure::new(message).report(err);
                } else {
                    print_warnings(&[message.into()], err)?;
                }
                has_failed |= is_empty;
                is_partial = true;
            }
            (None, true) => {
                let message = format!(
                    "{}: no function has debugging information, so nothing is counted",
                    file.file
                );
                print_warnings(&[message.into()], err)?;
            }
            (None, false) => {}
        }
    }
    match arguments.format {
        Format::Json => write_json_pretty(&document, &mut *out)?,
        Format::Text => print(&document, out)?,
    }
    // A .dwo file may belong to an object that could not be read.
    if is_used.len() == arguments.objects.len() {
        let is_used = is_used.iter().map(Vec::as_slice);
        check_dwo(&arguments.which, is_used, &arguments.objects)?;
    }
    Ok(match (has_failed, &document.completeness.limit) {
        (true, _) | (false, Some(_)) => Exit::Incomplete,
        (false, None) if is_partial => Exit::Negative,
        (false, None) => Exit::Done,
    })
}

/// Returns the message for an object whose debugging information is in a `.dwo` file that was not given.
pub(crate) fn in_other_file(object: &Untrusted<'_>, missing: &MissingSplit) -> String {
    format!("{object}: the debugging information is in {missing}: give it with --dwo")
}

/// Returns the coverage of a file, and true for each `.dwo` file that belongs to it.
fn one(arguments: &CoverageArguments, path: &Path) -> Result<(CoverageFile, Vec<bool>), Failure> {
    with_split_program(path, &arguments.which, |program, is_used| {
        let target = program.object().target().to_string();
        let name = input_name(path).to_string_lossy();
        let file = CoverageFile::new(&name, target, &coverage(program));
        Ok((file, is_used.to_vec()))
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
    percent_with_digits(part, whole, 1)
}

/// Returns a share of a whole, in percent with this many digits after the point, from one to nine.
pub(crate) fn percent_with_digits(part: u64, whole: u64, digits: u8) -> String {
    debug_assert!((1..=9).contains(&digits));
    let (part, whole) = (u128::from(part), u128::from(whole));
    let unit = 10_u128.pow(digits.into());
    let all = unit * 100;
    let rounded = part * all + whole / 2;
    // Only complete coverage is shown as 100 %.
    let most = if part < whole { all - 1 } else { u128::MAX };
    let share = rounded.checked_div(whole).map(|share| share.min(most));
    let parts = share.and_then(|share| Some((share.checked_div(unit)?, share.checked_rem(unit)?)));
    match parts {
        Some((percent, rest)) => format!("{percent}.{rest:0width$} %", width = digits.into()),
        None => "-".to_owned(),
    }
}
