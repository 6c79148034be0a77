//! Implements `hetdwarf core`.

mod crashes;
mod document;
mod export;
mod log;
mod many;
mod objects;
mod page;
mod source;
mod stop;
mod text;

pub(crate) use crashes::{CrashPrinting, crash_exit};
pub(crate) use document::with_document;
pub(crate) use log::is_log;
pub(crate) use source::WaveSource;
pub(crate) use stop::{
    Chosen, Opened, ask_all_waves, check_which, with_bytes, with_chosen, with_core,
};
pub(crate) use text::{Printer, numbers};

use std::io::Write;
use std::path::{Path, PathBuf};

use hetdwarf::inspect::{Programs, StopOptions};
use hetdwarf::report::{
    CoreReport, CoreRequest, CoreWaveLine, ErrorRecord, GroupBy, ProblemDocument,
    offset_in_function, to_json, write_json_pretty,
};
use hetdwarf::untrusted::Untrusted;

use super::arguments::{CoreArguments, CoreFormat, CoreObjectChoice, GroupByName, MemoryName};
use super::contents::{Contents, Input, input_name};
use super::failure::{Exit, Failure};
use super::outputs::{Kind, Output, Outputs};
use super::packages::ObjectFile;
use super::progress::Progress;
use hetdwarf::limits::Limits;

pub(crate) fn run(
    arguments: &CoreArguments,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    if arguments.how {
        write!(out, "{HOW}")?;
        return Ok(Exit::Done);
    }
    let processes = many::processes(&arguments.files);
    if processes.len() > 1 || arguments.tree {
        return many::run(arguments, &processes, out, err);
    }
    let files = processes.first().unwrap_or(&arguments.files);
    let request = CoreRequest::default()
        .group_by(group_by(arguments.group_by))
        .fault_address(arguments.fault_address)
        .whereabouts(arguments.whereabouts)
        .all_faults(arguments.all);
    let mut is_reading = false;
    let ran = match is_log(files) {
        true => run_log(arguments, files, request, width, &mut is_reading, out),
        false => run_core(arguments, files, request, width, &mut is_reading, out),
    };
    match ran {
        Err(failure @ Failure::Message(_))
            if is_reading && arguments.format == CoreFormat::Jsonl =>
        {
            many::print_unreadable(files, &failure, out, err)
        }
        ran => ran,
    }
}

/// Plans the outputs of the arguments, and the page if one is wanted.
fn planned(arguments: &CoreArguments) -> Result<(Outputs, Option<Output>), Failure> {
    let mut outputs = Outputs::new(arguments.force, arguments.inputs());
    let page = arguments.html.as_deref();
    let page = page
        .map(|path| outputs.plan(path, Kind::Html))
        .transpose()?;
    Ok((outputs, page))
}

/// Prints the answers about a core.
///
/// * `is_reading`: set to true while the core is being opened.
fn run_core(
    arguments: &CoreArguments,
    files: &[PathBuf],
    request: CoreRequest,
    width: usize,
    is_reading: &mut bool,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let (mut outputs, page) = planned(arguments)?;
    *is_reading = true;
    with_core(
        files,
        &arguments.objects,
        arguments.recovery.options(),
        &arguments.limits.limits(),
        |opened| {
            *is_reading = false;
            let (core, programs, found) = (opened.core, opened.programs, opened.found);
            let mut progress = Progress::new(core.waves().len(), "waves");
            let mut show = |done| progress.show(done);
            let objects = &found.objects;
            // The document, the export and the page share the limit of one query.
            let meter = core.meter().for_query();
            let mut report =
                CoreReport::within(core, programs, objects, request, &meter, &mut show);
            drop(progress);
            let document = &mut report.document;
            let process = programs.process();
            document.problems.extend(objects::lost(process, found));
            document.problems.extend(found.problems.iter().cloned());
            if let Some(folder) = &arguments.export {
                let all = arguments.memory == MemoryName::All;
                let most = arguments
                    .export_limit
                    .map(|mib| mib.saturating_mul(1 << 20));
                let problem = export::export(opened, folder, all, most, &meter, &mut outputs)?;
                document.problems.extend(problem);
            }
            if let Some(output) = &page {
                page::write(output, document, opened, &meter, arguments)?;
            }
            match arguments.format {
                CoreFormat::Json => write_json_pretty(&report.document, &mut *out)?,
                CoreFormat::Jsonl => {
                    let file = Untrusted::from(names(files));
                    for line in report.lines(&|index, pc| offset_in(programs, index, pc), &file) {
                        writeln!(out, "{}", to_json(&line)?)?;
                    }
                    print_problems(&report.document.problems, files, out)?;
                }
                CoreFormat::Text => text::print(&report, opened, arguments, width, out)?,
            }
            Ok(exit(&report.document.problems))
        },
    )
}

/// Prints the answers about a log.
///
/// * `is_reading`: set to true while the log is being read.
fn run_log(
    arguments: &CoreArguments,
    files: &[PathBuf],
    request: CoreRequest,
    width: usize,
    is_reading: &mut bool,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let (mut outputs, page) = planned(arguments)?;
    *is_reading = true;
    log::run(arguments, files, request, |report, log| {
        let document = &report.document;
        *is_reading = false;
        if let Some(folder) = &arguments.export {
            log.export(folder, &mut outputs)?;
        }
        if let Some(output) = &page {
            page::write_log(output, document, log, arguments)?;
        }
        match arguments.format {
            CoreFormat::Json => Ok(write_json_pretty(document, &mut *out)?),
            CoreFormat::Jsonl => {
                let file = Untrusted::from(names(files));
                for line in report.lines(&|index, pc| log.offset_in(index, pc), &file) {
                    writeln!(out, "{}", to_json(&line)?)?;
                }
                print_problems(&document.problems, files, out)
            }
            CoreFormat::Text => text::print(report, log, arguments, width, out),
        }
    })
}

/// Prints the last line for a core that could only be read in part.
fn print_problems(
    problems: &[ProblemDocument],
    files: &[PathBuf],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if let Some(record) = ErrorRecord::of_problems(names(files), problems) {
        writeln!(out, "{}", to_json(&record)?)?;
    }
    Ok(())
}

/// Prints a line for each wave of a core or a log, and returns the parts that could not be read.
fn each_line(
    arguments: &CoreArguments,
    files: &[PathBuf],
    request: CoreRequest,
    mut take: impl FnMut(&CoreWaveLine<'_>) -> Result<(), Failure>,
) -> Result<Vec<ProblemDocument>, Failure> {
    let limits = arguments.limits.limits();
    let options = arguments.recovery.options();
    let objects = &arguments.objects;
    let file = Untrusted::from(names(files));
    if is_log(files) {
        return log::with_document(files, objects, options, &limits, request, |report, log| {
            let offset = |index, pc| log.offset_in(index, pc);
            report
                .lines(&offset, &file)
                .try_for_each(|line| take(&line))?;
            Ok(report.document.problems.clone())
        });
    }
    with_core(files, objects, options, &limits, |opened| {
        let report = document::of_core(opened, request);
        let offset = |index, pc| offset_in(opened.programs, index, pc);
        report
            .lines(&offset, &file)
            .try_for_each(|line| take(&line))?;
        Ok(report.document.problems)
    })
}

/// Returns the offset of a process address from the start of its function.
fn offset_in(programs: &Programs<'_>, index: usize, pc: u64) -> Option<u64> {
    let loaded = programs.process().objects().get(index)?;
    let program = programs.get(index)?.ok()?;
    offset_in_function(program, loaded.load_address, pc)
}

/// The text about how to get a core.
const HOW: &str = include_str!("how.txt");

/// Opens the file that arguments choose, or a code object of a core, and returns it with the path that messages name.
pub(crate) fn object_or_core<'c>(
    object: Option<&'c Path>,
    choice: &'c CoreObjectChoice,
    limits: &Limits,
    input: Input,
) -> Result<(&'c Path, ObjectFile), Failure> {
    if let Some(path) = object {
        let file = ObjectFile::open(path, input, limits)?;
        return Ok((input_name(path), file));
    }
    let path = choice.core.first().map_or(Path::new(""), PathBuf::as_path);
    Ok((path, code_object(choice, limits)?.into()))
}

/// Returns the code object of a core that arguments choose.
fn code_object(choice: &CoreObjectChoice, limits: &Limits) -> Result<Contents, Failure> {
    let files = &choice.core;
    let options = StopOptions::default();
    with_core(files, &choice.objects, options, limits, |opened| {
        let images = &opened.found.images;
        let index = match (choice.code_object, &**images) {
            (Some(index), _) => index,
            (None, [_]) => 0,
            (None, _) => {
                let count = images.len();
                let message =
                    format!("it has {count} code objects: choose one with --code-object, from 0");
                return Err(in_files(files, message));
            }
        };
        let wrong = |why: &str| Err(in_files(files, format!("--code-object {index}: {why}")));
        match images.get(index) {
            Some((_, Some(image))) => Ok(Contents::Read(image.to_vec())),
            Some((_, None)) => wrong("its file was not found; give --object-path or --object"),
            None => wrong(&format!("it has {} code objects, from 0", images.len())),
        }
    })
}

/// Returns a failure about a core.
fn in_files(files: &[PathBuf], error: impl core::fmt::Display) -> Failure {
    Failure::new(format!("{}: {error}", names(files)))
}

fn exit(problems: &[ProblemDocument]) -> Exit {
    if problems.is_empty() {
        Exit::Done
    } else {
        Exit::Negative
    }
}

/// Returns the names of files for messages and records.
fn names(paths: &[impl AsRef<Path>]) -> String {
    let names: Vec<String> = paths
        .iter()
        .map(|path| Untrusted::from(input_name(path.as_ref())).to_string())
        .collect();
    names.join(", ")
}

fn group_by(name: GroupByName) -> GroupBy {
    match name {
        GroupByName::Stack => GroupBy::Stack,
        GroupByName::Kernel => GroupBy::Kernel,
        GroupByName::Line => GroupBy::Line,
        GroupByName::None => GroupBy::None,
    }
}
