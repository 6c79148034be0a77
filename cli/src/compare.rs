//! Implements `hetdwarf compare`.

use std::io::Write;

use super::arguments::{CompareArguments, Format};
use super::contents::input_name;
use super::failure::{Exit, Failure, print_limit};
use super::input::with_program;
use super::or_unknown;
use super::style::BOLD;
use hetdwarf::coverage::compare;
use hetdwarf::plural::counted;
use hetdwarf::report::{
    CallPathDocument, ChangeDocument, CompareDocument, CompareFunction, CompareVariable,
    DifferenceDocument, ShareDocument, write_json_pretty,
};
use hetdwarf::untrusted::Untrusted;

pub(crate) fn run(arguments: &CompareArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let (old, new) = (&arguments.old, &arguments.new);
    let document = with_program(old, &arguments.which, |before| {
        with_program(new, &arguments.which, |after| {
            let [old, new] = [old, new].map(|path| input_name(path).to_string_lossy());
            let found = compare(before, after);
            Ok(CompareDocument::new(
                &old,
                &new,
                arguments.tolerance,
                &found,
            ))
        })
    })?;
    match arguments.format {
        Format::Json => write_json_pretty(&document, &mut *out)?,
        Format::Text => print(&document, out)?,
    }
    if document.matched == 0 && document.completeness.limit.is_none() {
        let message = "the debugging information of OLD and NEW has no function in common: nothing was compared";
        return Err(Failure::new(message));
    }
    Ok(match (&document.completeness.limit, document.fell) {
        (Some(_), _) => Exit::Incomplete,
        (None, true) => Exit::Negative,
        (None, false) => Exit::Done,
    })
}

fn print(document: &CompareDocument, out: &mut dyn Write) -> Result<(), Failure> {
    if document.fell {
        writeln!(out, "{}", verdict(document))?;
    }
    if document.matched > 0 {
        let total = &document.total;
        writeln!(
            out,
            "{}: {} of the bytes in scope have a location, {} before",
            counted(document.matched, "function"),
            percent(&total.new),
            percent(&total.old)
        )?;
    }
    // The functions that lost the most coverage come first.
    let mut functions: Vec<&CompareFunction> = document.functions.iter().collect();
    functions.sort_by(|a, b| fall(&b.total).total_cmp(&fall(&a.total)));
    for function in functions {
        print_function(function, out)?;
    }
    for (names, which) in [(&document.only_old, "old"), (&document.only_new, "new")] {
        if let [first, rest @ ..] = names.as_slice() {
            let more = match rest.len() {
                0 => String::new(),
                more => format!(" and {}", counted(more as u64, "other")),
            };
            writeln!(out, "only the {which} version has {first}{more}")?;
        }
    }
    if !document.completeness.complete && document.completeness.limit.is_none() {
        writeln!(
            out,
            "not complete: the analysis of recovered values in some functions would take too long"
        )?;
    }
    print_limit(&document.completeness, out)?;
    Ok(())
}

/// Returns the sentence that explains why a loss of coverage gives this exit status.
fn verdict(document: &CompareDocument) -> String {
    /// The most functions that the sentence names.
    const MOST: usize = 5;
    let functions = document.functions.iter();
    let mut falls: Vec<(f64, &CompareFunction)> = functions
        .map(|one| (fall(&one.total), one))
        .filter(|(fall, _)| *fall > document.tolerance)
        .collect();
    if falls.is_empty() {
        let points = document.tolerance;
        return format!(
            "coverage of all functions together fell by more than {points} percentage points"
        );
    }
    falls.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let named = falls.iter().take(MOST);
    let mut names: Vec<String> = named
        .map(|(fall, one)| format!("{} by {fall:.1}", one.function))
        .collect();
    if let Some(more) = falls.len().checked_sub(MOST).filter(|more| *more > 0) {
        names.push(counted(more as u64, "other"));
    }
    format!(
        "coverage fell by more than {} percentage points in {} of {}: {}",
        document.tolerance,
        falls.len(),
        counted(document.matched, "function"),
        names.join(", ")
    )
}

/// Returns the number of percentage points by which coverage fell; negative if it rose, 0 if nothing is in scope.
fn fall(change: &ChangeDocument) -> f64 {
    let percent = |share: &ShareDocument| share.percent.unwrap_or_default();
    percent(&change.old) - percent(&change.new)
}

fn print_function(function: &CompareFunction, out: &mut dyn Write) -> Result<(), Failure> {
    let code = match (function.new_address, function.same_code) {
        (None, _) => "the new version has no debugging information for it",
        (Some(_), true) => "the same code",
        (Some(_), false) => "the code differs",
    };
    writeln!(
        out,
        "{BOLD}{}{BOLD:#} ({code}): {}, {} before",
        function.function,
        percent(&function.total.new),
        percent(&function.total.old)
    )?;
    for (variables, [part, entry]) in [
        (&function.lost, ["lost", "gone"]),
        (&function.gained, ["gained", "new"]),
    ] {
        for variable in variables {
            // If a variable had no location in either version, only its entry was lost or gained.
            let shares = [&variable.old, &variable.new].into_iter().flatten();
            let is_covered = shares.map(|share| share.dwarf).any(|covered| covered > 0);
            let what = if is_covered { part } else { entry };
            writeln!(out, "  {what} {}", line(variable))?;
        }
    }
    print_differences(&function.rows, "row", out)?;
    print_differences(&function.lines, "line", out)
}

fn print_differences(
    differences: &[DifferenceDocument],
    what: &str,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    /// The most differences that are printed. JSON has all of them.
    const MOST: usize = 10;
    for one in differences.iter().take(MOST) {
        let text = |text: &Option<Untrusted<'static>>| match text {
            Some(text) => text.to_string(),
            None => "nothing".to_owned(),
        };
        let end = one.offset.saturating_add(one.size);
        writeln!(
            out,
            "  {what} at +{:#x} to +{end:#x}: {}, before {}",
            one.offset,
            text(&one.new),
            text(&one.old)
        )?;
    }
    if let Some(more) = differences.len().checked_sub(MOST).filter(|more| *more > 0) {
        let what = format!("more {what}");
        writeln!(out, "  and {}", counted(more as u64, &what))?;
    }
    Ok(())
}

/// Returns a variable with the covered share of its code.
fn line(variable: &CompareVariable) -> String {
    let share = |share: &Option<ShareDocument>| match share {
        Some(share) => format!(
            "{} of {} bytes ({})",
            share.dwarf,
            share.bytes_in_scope,
            percent(share)
        ),
        None => "no entry".to_owned(),
    };
    let name = |call: &CallPathDocument| or_unknown(call.name.as_ref()).to_string();
    let calls: Vec<String> = variable.calls.iter().rev().map(name).collect();
    let within = match calls.is_empty() {
        true => String::new(),
        false => format!(" in the inlined call of {}", calls.join(" in ")),
    };
    format!(
        "{}{within}: {}, before {}",
        or_unknown(variable.name.as_ref()),
        share(&variable.new),
        share(&variable.old)
    )
}

fn percent(share: &ShareDocument) -> String {
    super::coverage::percent(share.dwarf, share.bytes_in_scope)
}
