//! Implements `hetdwarf annotate`.

use std::io::Write;

use super::arguments::{AnnotateArguments, Format};
use super::failure::{Exit, Failure};
use super::input::{check_lengths, dialect, read_file};
use super::or_unknown;
use super::outputs::{Kind, Outputs};
use super::pattern::pattern;
use hetdwarf::annotate::{Request, annotate_file};
use hetdwarf::lane_flow::Reason;
use hetdwarf::object::{code_objects_with, may_hold_code_objects};
use hetdwarf::plural::counted;
use hetdwarf::report::{AnnotateDocument, AnnotateFunction, write_json_pretty};

pub(crate) fn run(arguments: &AnnotateArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let input = &arguments.input;
    let mut outputs = Outputs::new(arguments.force, [input.as_path()]);
    let output = outputs.plan(&arguments.output, Kind::Object)?;
    let place = |error: hetdwarf::Error| Failure::in_file(input, error);
    let glob = match &arguments.only {
        Some(glob) => {
            Some(pattern(glob).map_err(|error| Failure::new(format!("--only: {error}")))?)
        }
        None => None,
    };
    let wanted = |name: &str| glob.as_ref().is_none_or(|glob| glob.is_match(name));
    let data = read_file(input)?;
    let limits = arguments.limits.limits();
    if !may_hold_code_objects(&data) {
        // The error names the format of the file.
        code_objects_with(&data, &limits).map_err(place)?;
    }
    let mut request = Request::new(&wanted);
    request.active_lane = arguments.active_lane;
    request.locations = arguments.locations;
    request.dialect = dialect(arguments.dialect);
    let found = annotate_file(&data, &limits, &request).map_err(place)?;
    check_lengths([(input.as_path(), &data)])?;
    output.write(&found.file)?;
    let document = AnnotateDocument::new(&data, &found);
    match arguments.format {
        Format::Json => write_json_pretty(&document, &mut *out)?,
        Format::Text => print(&document, arguments.report, out)?,
    }
    // The analysis gives up on some code of ordinary compilers, without reaching a limit. OUT is then still as complete as it can be.
    Ok(match document.completeness.limit {
        Some(_) => Exit::Incomplete,
        None => Exit::Done,
    })
}

fn print(
    document: &AnnotateDocument,
    with_functions: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if with_functions {
        for function in &document.functions {
            writeln!(out, "{}", line(function))?;
        }
    }
    for variable in document.locations.iter().filter(|_| with_functions) {
        let (name, function) = (&variable.name, &variable.function);
        writeln!(
            out,
            "{} of {}: its location list covers {} more bytes of code",
            or_unknown(name.as_ref()),
            or_unknown(function.as_ref()),
            variable.bytes
        )?;
    }
    for note in &document.notes {
        writeln!(out, "{note}")?;
    }
    let completeness = &document.completeness;
    if completeness.limit.is_some() {
        writeln!(out, "{completeness}")?;
    } else if !completeness.complete {
        let reason = Reason::Budget.name();
        let at_limit = |function: &AnnotateFunction| function.missing.get(reason).copied();
        let bytes: u64 = document.functions.iter().filter_map(at_limit).sum();
        match bytes {
            // The notes give the reason.
            0 => writeln!(out, "not complete")?,
            _ => writeln!(
                out,
                "not complete: the analysis of {bytes} bytes of code would take too long"
            )?,
        }
    }
    let done = document
        .functions
        .iter()
        .filter(|function| function.left_alone.is_none());
    let (count, functions) = (done.clone().count(), document.functions.len());
    let [covered, size] = [
        done.clone().map(|function| function.covered).sum::<u64>(),
        done.map(|function| function.size).sum::<u64>(),
    ];
    if document.changed {
        let (before, after) = (document.size_before, document.size_after);
        writeln!(
            out,
            "lane positions were added to {count} of {functions} functions, for {} of their code; the file grew from \
             {before} to {after} bytes",
            percent(covered, size)
        )?;
        if !document.locations.is_empty() {
            let variables = counted(document.locations.len() as u64, "variable");
            writeln!(out, "{variables} got longer location lists")?;
        }
    } else {
        writeln!(out, "nothing was added to any of {functions} functions")?;
    }
    Ok(())
}

/// Returns the line of the report for a function.
fn line(function: &AnnotateFunction) -> String {
    let name = or_unknown(function.name.as_ref());
    let address = function.address.0;
    let start = format!("{name} ({address:#x}, {} bytes): ", function.size);
    if let Some(reason) = &function.left_alone {
        return format!("{start}not changed: {reason}");
    }
    let covered = percent(function.covered, function.size);
    let missing = function.missing.iter();
    let missing: String = missing
        .map(|(reason, bytes)| format!(", {bytes} bytes not covered ({reason})"))
        .collect();
    format!("{start}{covered}, {} bytes added{missing}", function.added)
}

/// Returns a share of a whole, in tenths of a percent.
fn percent(part: u64, whole: u64) -> String {
    let tenths = (u128::from(part) * 1000).checked_div(whole.into());
    let tenths = tenths.unwrap_or(1000);
    format!("{}.{} %", tenths / 10, tenths % 10)
}
