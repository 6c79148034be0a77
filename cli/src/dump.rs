//! `hetdwarf dump`: what the debugging information of a file says.

use std::io::Write;

use super::arguments::{DumpArguments, DumpStyle, Format};
use super::contents::Input;
use super::core::object_or_core;
use super::failure::{Exit, Failure};
use super::input::{check_lengths, choose, dialect, parse_dwo, read_dwo};
use hetdwarf::dump::{Dump, Naming, Part, Selection};
use hetdwarf::object::CodeObject;

pub(crate) fn run(arguments: &DumpArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let limits = arguments.which.limits.limits();
    let glob = match &arguments.name {
        Some(pattern) => Some(
            super::pattern::pattern(pattern)
                .map_err(|error| Failure::new(format!("--name: {error}")))?,
        ),
        None => None,
    };
    let (path, data) = object_or_core(
        arguments.object.as_deref(),
        &arguments.core,
        &limits,
        Input::Whole,
    )?;
    let place = |error: hetdwarf::Error| Failure::in_file(path, error);
    let embedded = choose(path, &data, &arguments.which)?;
    let object = CodeObject::parse_with(&embedded.data, &limits).map_err(place)?;
    let dwo_data = read_dwo(&arguments.which)?;
    let dwo = parse_dwo(&dwo_data, &limits)?;
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
    let dump = Dump::new(&name, &object, dwo.as_ref())
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
    match dump.write(out)? {
        Some(problems) => Err(Failure::in_file(path, problems)),
        None => {
            let dwo = dwo_data.iter().map(|(path, data)| (*path, data));
            check_lengths(dwo)?;
            data.check_lengths(path)?;
            Ok(Exit::Done)
        }
    }
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
