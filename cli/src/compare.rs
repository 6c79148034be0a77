//! Implements `hetdwarf compare`.

use std::io::Write;

use super::arguments::{CompareArguments, Format};
use super::contents::input_name;
use super::coverage::{in_other_file, percent_with_digits};
use super::failure::{Exit, Failure, print_limit};
use super::input::{check_dwo, with_split_program};
use super::or_unknown;
use super::style::BOLD;
use hetdwarf::coverage::compare;
use hetdwarf::plural::counted;
use hetdwarf::report::{
    CallPathDocument, ChangeDocument, CompareDocument, CompareFunction, CompareVariable,
    DifferenceDocument, ShareDocument, write_json_pretty,
};
use hetdwarf::untrusted::Untrusted;

pub(crate) fn run(
    arguments: &CompareArguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let (old, new, which) = (&arguments.old, &arguments.new, &arguments.which);
    let document = with_split_program(old, which, |before, used_by_old| {
        with_split_program(new, which, |after, used_by_new| {
            check_dwo(which, [used_by_old, used_by_new], &[old, new])?;
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
    let missing = [
        (&document.old, &document.old_missing_split),
        (&document.new, &document.new_missing_split),
    ];
    let missing: Vec<Failure> = (missing.into_iter())
        .filter_map(|(file, missing)| Some(in_other_file(file, missing.as_ref()?)))
        .map(Failure::new)
        .collect();
    match arguments.format {
        Format::Json => write_json_pretty(&document, &mut *out)?,
        // Every function without its debugging information would look like a loss or a gain.
        Format::Text if !missing.is_empty() => {}
        Format::Text => print(&document, out)?,
    }
    if !missing.is_empty() {
        for failure in missing {
            failure.report(err);
        }
        return Ok(Exit::Incomplete);
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
    if document.old_target != document.new_target {
        writeln!(
            out,
            "{} is for {}, {} is for {}",
            document.old, document.old_target, document.new, document.new_target
        )?;
    }
    if document.fell {
        writeln!(out, "{}", verdict(document))?;
    }
    if document.matched > 0 {
        let total = &document.total;
        let digits = digits(total.new.percent, total.old.percent, false);
        let [new, old] = percents(&total.new, &total.old, digits);
        writeln!(
            out,
            "{}: {new} of the bytes in scope have a location, {old} before",
            counted(document.matched, "function"),
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
        .map(|(fall, one)| {
            let width = usize::from(digits_of(one));
            format!("{} by {fall:.width$}", one.function)
        })
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
    let total = &function.total;
    let [new, old] = percents(&total.new, &total.old, digits_of(function));
    writeln!(
        out,
        "{BOLD}{}{BOLD:#} ({code}): {new}, {old} before",
        function.function
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
    let (old, new) = (variable.old.as_ref(), variable.new.as_ref());
    let digits = old
        .zip(new)
        .map_or(1, |(old, new)| digits(new.percent, old.percent, false));
    let share = |share: Option<&ShareDocument>| match share {
        Some(share) => format!(
            "{} of {} bytes ({})",
            share.dwarf,
            share.bytes_in_scope,
            percent(share, digits)
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
        share(new),
        share(old)
    )
}

/// Returns two shares with this many digits.
fn percents(new: &ShareDocument, old: &ShareDocument, digits: u8) -> [String; 2] {
    [new, old].map(|share| percent(share, digits))
}

fn percent(share: &ShareDocument, digits: u8) -> String {
    percent_with_digits(share.dwarf, share.bytes_in_scope, digits)
}

/// Returns the number of digits after the point that show that two different percentages differ.
///
/// * `has_fall`: true if the fall is shown as well. Then the digits also show that it is the difference.
fn digits(new: Option<f64>, old: Option<f64>, has_fall: bool) -> u8 {
    /// The most digits; more are not exact in a double.
    const MOST: u8 = 9;
    let (Some(after), Some(before)) = (new, old) else {
        return 1;
    };
    let shows = |digits: &u8| {
        let rounded = |number: f64| (number * 10_f64.powi((*digits).into())).round();
        let shown = rounded(before) - rounded(after);
        let is_fall = !has_fall || shown == rounded(before - after);
        is_fall && (shown != 0.0 || after == before)
    };
    (1..=MOST).find(shows).unwrap_or(MOST)
}

/// Returns the digits of the shares of a function, and of its fall.
fn digits_of(function: &CompareFunction) -> u8 {
    let ChangeDocument { old, new, .. } = &function.total;
    digits(new.percent, old.percent, fall(&function.total) > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With one digit, 27.09 % and 27.13 % would both be 27.1 %. 10.98 % and 10.54 % would be 0.5 apart, beside a fall of 0.4.
    #[test]
    fn differences_are_visible() {
        for (new, old, has_fall, expected) in [
            (27.0, 32.0, true, 1),
            (27.09, 27.13, true, 2),
            (27.13, 27.09, false, 2),
            (10.54, 10.98, true, 2),
            (10.54, 10.98, false, 1),
            (33.333_333, 33.333_334, true, 6),
            (50.0, 50.0, true, 1),
        ] {
            let found = digits(Some(new), Some(old), has_fall);
            assert_eq!(found, expected, "{new} {old}");
        }
        assert_eq!(digits(None, Some(1.0), true), 1);
    }
}
