//! Implements `hetdwarf dump`: prints the debugging information of a file.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::arguments::{DumpArguments, DumpStyle, Format};
use super::contents::{Input, STANDARD_INPUT};
use super::core::object_or_core;
use super::failure::{Exit, Failure, print_warnings};
use super::input::{
    DwoFile, STANDARD_OUTPUT, check_lengths, choose_of_any_machine, dialect, parse_any_machine,
    parse_dwo, read_dwo,
};
use super::outputs::{Kind, Output, Outputs};
use super::skeleton::named_dwo;
use globset::GlobSet;
use hetdwarf::debug_info::DieId;
use hetdwarf::dump::{Dump, Malformed, Naming, Part, Selection, View, write_section_sizes};
use hetdwarf::limits::Limits;
use hetdwarf::object::{CodeObject, Layout};
use hetdwarf::untrusted::Untrusted;
use regex::RegexSet;

pub(crate) fn run(
    arguments: &DumpArguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let names = names(arguments)?;
    let output = output(arguments)?;
    let Some((last, others)) = arguments.objects.split_last() else {
        return one(arguments, None, names.as_ref(), output.as_ref(), out, err);
    };
    if output.is_some() && !others.is_empty() {
        return Err(Failure::new("--output works with one object only"));
    }
    // An unreadable object does not stop the others from being dumped.
    let mut failed = false;
    for object in others {
        match one(arguments, Some(object), names.as_ref(), None, out, err) {
            Ok(_) => {}
            Err(Failure::ClosedPipe) => return Err(Failure::ClosedPipe),
            Err(failure) => {
                out.flush()?;
                failure.report(err);
                failed = true;
            }
        }
    }
    let exit = one(
        arguments,
        Some(last),
        names.as_ref(),
        output.as_ref(),
        out,
        err,
    )?;
    match failed {
        true => Err(Failure::new("not every object could be dumped")),
        false => Ok(exit),
    }
}

/// Dumps one code object of a file or a core.
fn one(
    arguments: &DumpArguments,
    object: Option<&PathBuf>,
    names: Option<&Names>,
    output: Option<&Output>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let limits = arguments.which.limits.limits();
    let (path, data) = object_or_core(
        object.map(PathBuf::as_path),
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
    let is_standard_input = object.is_some_and(|path| path == Path::new(STANDARD_INPUT));
    let object = open(&embedded.data, &limits).map_err(place)?;
    let dwo_data = dwo_data(arguments, &object)?;
    let dwo = parse_dwo(&dwo_data, &limits, open)?;
    let matches = |name: &str| names.is_some_and(|names| names.matches(name));
    let index = Dump::new("", &object, dwo.as_ref());
    let index = index.dialect(dialect(arguments.which.dialect));
    let listed = listed(arguments, &index, path)?;
    let selection = match (arguments.lookup, arguments.die, names) {
        (Some(pc), ..) => Selection::Address(pc, &listed),
        (None, Some(offset), _) => Selection::At(offset),
        (None, None, Some(_)) => Selection::Named(&matches),
        (None, None, None) if !arguments.find.is_empty() => Selection::Listed(&listed),
        (None, None, None) => Selection::All,
    };
    let parts = parts(arguments, &selection);
    let chosen = arguments.parts.chosen.iter();
    let offsets: Vec<_> = chosen
        .filter_map(|(part, offset)| Some((*part, (*offset)?)))
        .collect();
    let name = path.to_string_lossy();
    let is_llvm = matches!(arguments.style, DumpStyle::Llvm);
    let name = match is_llvm && is_standard_input {
        true => "-",
        false => &name,
    };
    let mut dump = Dump::new(name, &object, dwo.as_ref());
    if let Some(parts) = &parts {
        dump = dump.parts(parts);
    }
    let dump = dump
        .offsets(&offsets)
        .view(view(arguments))
        .selection(selection)
        .naming(match arguments.style {
            DumpStyle::Names => Naming::Names,
            DumpStyle::Llvm => Naming::Llvm,
        })
        .dialect(dialect(arguments.which.dialect))
        .json(arguments.format == Format::Json);
    let size = embedded.data.len() as u64;
    let write = |out: &mut dyn Write| match arguments.show_section_sizes {
        true => {
            let is_json = arguments.format == Format::Json;
            write_section_sizes(name, &object, size, is_json, out).map(|()| None)
        }
        false => write(arguments, &dump, out),
    };
    let problems = match output {
        Some(output) => output.write_with(|out| write(out))?,
        None => write(out)?,
    };
    if let Some(malformed) = problems {
        report(malformed, path, err)?;
    }
    if let (Some(pc), true) = (arguments.lookup, listed.is_empty()) {
        return Err(nothing_at(pc));
    }
    let dwo = dwo_data.iter().map(|(path, data)| (&**path, data));
    check_lengths(dwo)?;
    data.check_lengths(path)?;
    Ok(Exit::Done)
}

/// Reads the `.dwo` file that an option names. Without the option, reads the `.dwo` file that the skeleton units name, if split units are
/// selected.
fn dwo_data<'p, 'd>(
    arguments: &'p DumpArguments,
    object: &'d CodeObject<'d>,
) -> Result<Option<DwoFile<'p>>, Failure> {
    let given = read_dwo(&arguments.which)?;
    if given.is_some() || !(arguments.statistics || arguments.lookup.is_some()) {
        return Ok(given);
    }
    let named = named_dwo(&Dump::new("", object, None))?;
    Ok(named.map(|(path, data)| (path.into(), data)))
}

/// Prints an error about malformed DWARF if it is only a warning.
///
/// # Errors
/// The error itself, if it is not a warning.
fn report(malformed: Malformed, path: &Path, err: &mut dyn Write) -> Result<(), Failure> {
    if !malformed.is_warning {
        return Err(Failure::in_file(path, malformed.message));
    }
    let warning = format!("{}: {}", Untrusted::from(path), malformed.message);
    Ok(print_warnings(&[warning.into()], err)?)
}

/// Returns the entries that `--find` selects by name or `--lookup` by address. Returns an empty list without these options.
fn listed(arguments: &DumpArguments, index: &Dump<'_>, path: &Path) -> Result<Vec<DieId>, Failure> {
    let place = |error: hetdwarf::Error| Failure::in_file(path, error);
    if let Some(offset) = arguments.die
        && !index.has_entry(offset).map_err(place)?
    {
        return Err(Failure::new(format!(
            "--die {offset:#x}: no entry starts at this offset"
        )));
    }
    let Some(pc) = arguments.lookup else {
        return match arguments.find.is_empty() {
            true => Ok(Vec::new()),
            false => index.find(&arguments.find).map_err(place),
        };
    };
    let found = index.lookup(pc).map_err(place)?;
    // llvm-dwarfdump prints the name of the file in any case.
    match found.is_empty() && !matches!(arguments.style, DumpStyle::Llvm) {
        true => Err(nothing_at(pc)),
        false => Ok(found),
    }
}

fn nothing_at(pc: u64) -> Failure {
    Failure::new(format!(
        "--lookup {pc:#x}: no unit has code at this address"
    ))
}

/// Writes the selected parts, and returns the errors about malformed DWARF.
fn write(
    arguments: &DumpArguments,
    dump: &Dump<'_>,
    out: &mut dyn Write,
) -> io::Result<Option<Malformed>> {
    let written = if arguments.statistics {
        dump.write_statistics(out)?
    } else if arguments.show_sources {
        dump.write_source_files(out)?
    } else {
        return dump.write(out);
    };
    Ok(written.err().map(|error| Malformed::from(&error)))
}

/// Returns the file that the dump is written to. Returns None for standard output.
fn output(arguments: &DumpArguments) -> Result<Option<Output>, Failure> {
    let to_file = |path: &&PathBuf| path.as_path() != Path::new(STANDARD_OUTPUT);
    let Some(path) = arguments.output.as_ref().filter(to_file) else {
        return Ok(None);
    };
    let inputs = arguments.objects.iter().map(PathBuf::as_path);
    let inputs = inputs.chain(arguments.core.files());
    let inputs = inputs.chain(arguments.which.files());
    let mut outputs = Outputs::new(arguments.force, inputs);
    outputs.plan(path, Kind::Dump).map(Some)
}

/// Returns the parts that the arguments select. Returns None for all parts.
fn parts(arguments: &DumpArguments, selection: &Selection<'_>) -> Option<Vec<Part>> {
    let chosen = arguments.parts.chosen.iter();
    let mut parts: Vec<Part> = chosen.map(|(part, _)| *part).collect();
    let is_selected = !matches!(selection, Selection::All);
    if !is_selected && (arguments.all || (arguments.verbose && parts.is_empty())) {
        return None;
    }
    if is_selected || parts.is_empty() {
        parts.push(Part::Info);
    }
    Some(parts)
}

/// Returns how much of each entry is printed.
fn view(arguments: &DumpArguments) -> View {
    let has_offset = |(_, offset): &(Part, Option<u64>)| offset.is_some();
    let is_named = !arguments.name.is_empty() || !arguments.find.is_empty();
    let is_alone = is_named || arguments.parts.chosen.iter().any(has_offset);
    let deepest = match is_alone && !arguments.show_children {
        true => 0,
        false => u32::MAX,
    };
    let highest = match arguments.show_parents {
        true => u32::MAX,
        false => 0,
    };
    View {
        verbose: arguments.verbose,
        show_form: arguments.show_form,
        child_depth: arguments.recurse_depth.unwrap_or(deepest),
        parent_depth: match (arguments.parent_recurse_depth, arguments.show_parents) {
            // llvm-dwarfdump takes a depth of 0 for no limit.
            (Some(depth @ 1..), true) => depth,
            _ => highest,
        },
        child_tags: arguments.filter_child_tag.clone(),
        summarize_types: arguments.summarize_types,
    }
}

/// The patterns that select entries by name.
enum Names {
    Exactly(Vec<String>, bool),
    Globs(GlobSet),
    Regexes(RegexSet),
}

impl Names {
    fn matches(&self, name: &str) -> bool {
        match self {
            Names::Exactly(names, false) => names.iter().any(|other| other == name),
            Names::Exactly(names, true) => {
                let name = name.to_lowercase();
                names.contains(&name)
            }
            Names::Globs(globs) => globs.is_match(name),
            Names::Regexes(regexes) => regexes.is_match(name),
        }
    }
}

/// Returns the patterns of `--name`, if it is given.
fn names(arguments: &DumpArguments) -> Result<Option<Names>, Failure> {
    let ignore_case = arguments.ignore_case;
    if arguments.name.is_empty() {
        return Ok(None);
    }
    let texts = arguments.name.iter().map(String::as_str);
    Ok(Some(match (arguments.regex, arguments.style) {
        (true, _) => {
            let regexes = super::pattern::regexes(texts, ignore_case);
            Names::Regexes(regexes.map_err(|error| Failure::new(format!("--name: {error}")))?)
        }
        (false, DumpStyle::Llvm) => {
            let texts = texts.map(|text| match ignore_case {
                true => text.to_lowercase(),
                false => text.to_owned(),
            });
            Names::Exactly(texts.collect(), ignore_case)
        }
        (false, DumpStyle::Names) => {
            let globs = super::pattern::names(texts, ignore_case);
            Names::Globs(globs.map_err(|error| Failure::new(format!("--name: {error}")))?)
        }
    }))
}
