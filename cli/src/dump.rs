//! `hetdwarf dump`: what the debugging information of a file says.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::arguments::{DumpArguments, DumpStyle, Format};
use super::contents::Input;
use super::core::object_or_core;
use super::failure::{Exit, Failure};
use super::input::{
    STANDARD_INPUT, STANDARD_OUTPUT, check_lengths, choose_of_any_machine, dialect,
    parse_any_machine, parse_dwo, read_dwo,
};
use super::outputs::{Kind, Output, Outputs};
use hetdwarf::dump::{Dump, Naming, Part, Selection};
use hetdwarf::limits::Limits;
use hetdwarf::object::Layout;

pub(crate) fn run(arguments: &DumpArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let limits = arguments.which.limits.limits();
    let glob = match &arguments.name {
        Some(pattern) => Some(
            super::pattern::pattern(pattern)
                .map_err(|error| Failure::new(format!("--name: {error}")))?,
        ),
        None => None,
    };
    let output = output(arguments)?;
    let (path, data) = object_or_core(
        arguments.object.as_deref(),
        &arguments.core,
        &limits,
        Input::Whole,
    )?;
    let place = |error: hetdwarf::Error| Failure::in_file(path, error);
    let embedded = choose_of_any_machine(path, &data, &arguments.which)?;
    let layout = match arguments.style {
        DumpStyle::Names => Layout::Distinct,
        DumpStyle::Llvm => Layout::AsInFile,
    };
    let open = |data, limits: &Limits| parse_any_machine(data, layout, limits);
    let object = open(&embedded.data, &limits).map_err(place)?;
    let dwo_data = read_dwo(&arguments.which)?;
    let dwo = parse_dwo(&dwo_data, &limits, open)?;
    let matches = |name: &str| glob.as_ref().is_some_and(|glob| glob.is_match(name));
    let selection = match (&glob, arguments.die) {
        (_, Some(offset)) => Selection::At(offset),
        (Some(_), None) => Selection::Named {
            matches: &matches,
            children: arguments.show_children,
        },
        (None, None) => Selection::All,
    };
    let parts = parts(arguments, &selection);
    let name = path.to_string_lossy();
    let is_llvm = matches!(arguments.style, DumpStyle::Llvm);
    let name = match &arguments.object {
        Some(object) if is_llvm && object == Path::new(STANDARD_INPUT) => "<stdin>",
        Some(_) | None => &name,
    };
    let dump = Dump::new(name, &object, dwo.as_ref())
        .parts(&parts)
        .selection(selection)
        .naming(match arguments.style {
            DumpStyle::Names => Naming::Names,
            DumpStyle::Llvm => Naming::Llvm,
        })
        .dialect(dialect(arguments.which.dialect))
        .json(arguments.format == Format::Json);
    if let Some(offset) = arguments.die
        && !dump.has_entry(offset).map_err(place)?
    {
        return Err(Failure::new(format!(
            "--die {offset:#x}: no entry starts there"
        )));
    }
    let problems = match &output {
        Some(output) => output.write_with(|out| dump.write(out))?,
        None => dump.write(out)?,
    };
    match problems {
        Some(problems) => Err(Failure::in_file(path, problems)),
        None => {
            let dwo = dwo_data.iter().map(|(path, data)| (*path, data));
            check_lengths(dwo)?;
            data.check_lengths(path)?;
            Ok(Exit::Done)
        }
    }
}

/// The file that the dump is written to, if it is not standard output.
fn output(arguments: &DumpArguments) -> Result<Option<Output>, Failure> {
    let to_file = |path: &&PathBuf| path.as_path() != Path::new(STANDARD_OUTPUT);
    let Some(path) = arguments.output.as_ref().filter(to_file) else {
        return Ok(None);
    };
    let inputs = arguments.object.iter().map(PathBuf::as_path);
    let inputs = inputs.chain(arguments.core.files());
    let inputs = inputs.chain(arguments.which.files());
    let mut outputs = Outputs::new(arguments.force, inputs);
    outputs.plan(path, Kind::Dump).map(Some)
}

/// The parts that the arguments ask for.
fn parts(arguments: &DumpArguments, selection: &Selection<'_>) -> Vec<Part> {
    let others = [
        (arguments.debug_loclists, Part::Loclists),
        (arguments.debug_frame, Part::Frame),
        (arguments.debug_aranges, Part::Aranges),
        (arguments.debug_line, Part::Line),
        (arguments.debug_names, Part::Names),
    ];
    let others = others.into_iter().filter(|(asked, _)| *asked);
    let mut parts: Vec<Part> = others.map(|(_, part)| part).collect();
    let is_selected = !matches!(selection, Selection::All);
    if arguments.debug_info || is_selected || parts.is_empty() {
        parts.push(Part::Info);
    }
    parts
}
