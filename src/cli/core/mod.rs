//! `hetdwarf core`.

mod objects;
mod stop;
mod text;

pub(crate) use stop::{Chosen, with_chosen};

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::gpu_core::{GpuCore, Process};
use crate::inspect::Programs;
use crate::report::{CoreDocument, GroupBy, ProblemDocument, to_json_pretty};
use crate::untrusted::Untrusted;

use super::arguments::{CoreArguments, Format, GroupByName};
use super::contents::Contents;
use super::failure::{Exit, Failure};
use super::input::{check_lengths, read_file};

pub(crate) fn run(
    arguments: &CoreArguments,
    width: usize,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let limits = arguments.limits.limits();
    let contents = arguments
        .files
        .iter()
        .map(|path| read_file(path))
        .collect::<Result<Vec<Contents>, Failure>>()?;
    let files: Vec<&[u8]> = contents.iter().map(|contents| &**contents).collect();
    let core = GpuCore::open(&files, &limits).map_err(|error| match &*arguments.files {
        [path] => Failure::in_file(path, error),
        _ => Failure::new(format!("{}: {error}", names(&arguments.files))),
    })?;
    let found = objects::find(&core, &arguments.objects)?;
    let process = Process::open(&core, &found.images);
    let programs = Programs::new(&process);
    let mut document = CoreDocument::new(
        &core,
        &programs,
        &found.objects,
        group_by(arguments.group_by),
    );
    document.problems.extend(objects::lost(&process, &found));
    document.problems.extend(found.problems.iter().cloned());
    match arguments.format {
        Format::Json => writeln!(out, "{}", to_json_pretty(&document)?)?,
        Format::Text => text::print(&document, &core, &programs, arguments, width, out)?,
    }
    check_lengths(arguments.files.iter().map(PathBuf::as_path).zip(&contents))?;
    Ok(exit(&document.problems))
}

fn exit(problems: &[ProblemDocument]) -> Exit {
    if problems.is_empty() {
        Exit::Done
    } else {
        Exit::BadNews
    }
}

fn names(paths: &[impl AsRef<Path>]) -> String {
    let names: Vec<String> = paths
        .iter()
        .map(|path| Untrusted::from(path.as_ref()).to_string())
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
