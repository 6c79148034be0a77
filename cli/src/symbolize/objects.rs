//! Opens the code objects in which addresses are looked up: from files, or from a core.

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::super::arguments::{
    CoreObjects, ObjectArguments, SymbolizeArguments, SymbolizeFormat, object_and_load,
};
use super::super::contents::Input;
use super::super::core::{check_which, is_log, with_core};
use super::super::coverage::in_other_file;
use super::super::failure::Failure;
use super::super::input::{
    check_lengths, dialect, parse_any_machine, parse_dwo, read_dwo, selector,
};
use super::super::packages::ObjectFile;
use super::super::style::WARNING;
use hetdwarf::arch::LoadAddress;
use hetdwarf::inspect::{Program, StopOptions, Symbolizer};
use hetdwarf::limits::Limits;
use hetdwarf::object::{
    CodeObject, EmbeddedCodeObject, Layout, Selector, code_objects_and_packages,
    code_objects_or_host, select,
};

/// The sections to release: those that are read once per unit or function. Answers read names from `.debug_info` and from strings.
const RELEASED: [&str; 6] = [
    ".debug_line",
    ".debug_loclists",
    ".debug_loc",
    ".debug_rnglists",
    ".debug_ranges",
    ".symtab",
];

/// The advice if none of the addresses is in a code object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advice {
    /// A load address is missing.
    Load,
    /// The host's half of a core is missing.
    HostHalf,
    /// Everything was given.
    None,
}

/// Opens the code objects and calls `then` with a symbolizer for them. The symbolizer borrows from the files, so it cannot be returned. The
/// third argument of `then` releases some sections of the mapped code objects; for a core it does nothing.
pub(super) fn with_symbolizer<T>(
    arguments: &SymbolizeArguments,
    objects: &[&Path],
    err: &mut dyn Write,
    then: impl FnOnce(&Symbolizer<'_, '_>, Advice, &dyn Fn(), &mut dyn Write) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let limits = arguments.which.limits.limits();
    if !arguments.core.is_empty() {
        return with_core_symbolizer(arguments, objects, err, then);
    }
    let files = objects
        .iter()
        .map(|given| File::open(given, &limits))
        .collect::<Result<Vec<File<'_>>, Failure>>()?;
    let dwo_data = read_dwo(&arguments.which)?;
    // llvm-symbolizer reads objects of all machines, and does not lay out sections.
    let open = |data, limits: &Limits| match arguments.format {
        SymbolizeFormat::Llvm => parse_any_machine(data, Layout::AsInFile, limits),
        SymbolizeFormat::Text | SymbolizeFormat::Json => CodeObject::parse_with(data, limits),
    };
    let mut embedded = Vec::new();
    for file in &files {
        let found = file.code_objects(&arguments.which, arguments.format, &limits);
        let found = found.map_err(|error| Failure::in_file(file.path, error))?;
        embedded.extend(found.into_iter().map(|embedded| (file, embedded)));
    }
    let parsed = embedded
        .iter()
        .map(|(file, embedded)| {
            let object = open(embedded, &limits);
            let object = object.map_err(|error| Failure::in_file(file.path, error))?;
            if arguments.format == SymbolizeFormat::Llvm {
                check_addresses(&object, embedded, &limits)
                    .map_err(|reason| Failure::in_file(file.path, reason))?;
            }
            Ok(object)
        })
        .collect::<Result<Vec<CodeObject<'_>>, Failure>>()?;
    let dwo = parse_dwo(&dwo_data, &limits, open)?;
    let programs = parsed
        .iter()
        .zip(&embedded)
        .map(|(object, (file, _))| {
            let load = || {
                let program = Program::load(object)?.with_dialect(dialect(arguments.which.dialect));
                match &dwo {
                    Some(dwo) => program.with_split(dwo),
                    None => Ok(program),
                }
            };
            load().map_err(|error| Failure::in_file(file.path, error))
        })
        .collect::<Result<Vec<Program<'_>>, Failure>>()?;
    let loads = embedded.iter().map(|(file, _)| file.load_address);
    let symbolizer = Symbolizer::new(programs.iter().zip(loads));
    let is_loaded = files.iter().all(|file| file.load_address.0 != 0);
    let advice = if is_loaded {
        Advice::None
    } else {
        Advice::Load
    };
    let released: Vec<(&File<'_>, &[u8])> = parsed
        .iter()
        .zip(&embedded)
        .flat_map(|(object, (file, _))| {
            let section = |name: &&str| object.section(name).ok().flatten();
            let sections = RELEASED.iter().filter_map(section);
            sections.map(move |section| (*file, section))
        })
        .collect();
    let release = || {
        for (file, section) in &released {
            file.contents.release_part(section);
        }
    };
    let answer = then(&symbolizer, advice, &release, err)?;
    for (program, (file, _)) in programs.iter().zip(&embedded) {
        if let Some(missing) = program.missing_split() {
            let message = in_other_file(&file.path.into(), &missing);
            let _ = writeln!(err, "{WARNING}warning{WARNING:#}: {message}");
        }
    }
    check_lengths(dwo_data.iter().map(|(path, data)| (&**path, data)))?;
    files
        .iter()
        .try_for_each(|file| file.contents.check_lengths(file.path))?;
    Ok(answer)
}

/// Opens a core and calls `then` with a symbolizer for its code objects.
fn with_core_symbolizer<T>(
    arguments: &SymbolizeArguments,
    objects: &[&Path],
    err: &mut dyn Write,
    then: impl FnOnce(&Symbolizer<'_, '_>, Advice, &dyn Fn(), &mut dyn Write) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let limits = arguments.which.limits.limits();
    check_which(&arguments.which)?;
    if is_log(&arguments.core) {
        let message = "this is a log; give its code objects as OBJECT@LOAD, and use --filter < LOG";
        let path = arguments
            .core
            .first()
            .map_or(Path::new(""), PathBuf::as_path);
        return Err(Failure::in_file(path, message));
    }
    let wanted = CoreObjects {
        given: objects.iter().map(|path| PathBuf::from(*path)).collect(),
        folders: arguments.folders.clone(),
    };
    let options = StopOptions::default();
    with_core(&arguments.core, &wanted, options, &limits, |opened| {
        for problem in opened.problems() {
            let (place, message) = (&problem.place, &problem.message);
            let _ = writeln!(err, "{WARNING}warning{WARNING:#}: {place}: {message}");
        }
        let advice = match opened.core.is_gpu_half() {
            true => Advice::HostHalf,
            false => Advice::None,
        };
        then(
            &Symbolizer::of_process(opened.programs),
            advice,
            &|| (),
            err,
        )
    })
}

/// A file with code objects.
struct File<'p> {
    path: &'p Path,
    load_address: LoadAddress,
    contents: ObjectFile,
}

impl<'p> File<'p> {
    fn open(given: &'p Path, limits: &Limits) -> Result<File<'p>, Failure> {
        let (path, load_address) = object_and_load(given);
        Ok(File {
            path,
            load_address: LoadAddress(load_address.unwrap_or(0)),
            contents: ObjectFile::open(path, Input::Lookup, limits)?,
        })
    }

    /// Returns the code objects in the file, or the one that the arguments choose.
    fn code_objects(
        &self,
        which: &ObjectArguments,
        format: SymbolizeFormat,
        limits: &Limits,
    ) -> hetdwarf::Result<Vec<Cow<'_, [u8]>>> {
        let selector = selector(which.target.as_deref(), which.index);
        let packages = self.contents.packages();
        let is_elf = self.contents.starts_with(b"\x7fELF");
        if format == SymbolizeFormat::Llvm && is_elf && matches!(selector, Selector::Only) {
            // As in llvm-symbolizer, a host program is an object itself.
            return Ok(vec![Cow::Borrowed(&self.contents)]);
        }
        let found = match format {
            SymbolizeFormat::Llvm => {
                code_objects_or_host(&self.contents, &packages, &selector, limits)?
            }
            SymbolizeFormat::Text | SymbolizeFormat::Json => {
                code_objects_and_packages(&self.contents, &packages, limits)?
            }
        };
        let chosen = match selector {
            Selector::Only => None,
            Selector::Index(_) | Selector::Target(_) | _ => Some(select(&found, &selector)?.index),
        };
        let found = found.into_iter();
        let is_chosen =
            |embedded: &EmbeddedCodeObject<'_>| chosen.is_none_or(|index| embedded.index == index);
        Ok(found
            .filter(is_chosen)
            .map(|embedded| embedded.data)
            .collect())
    }
}

/// Checks that addresses have the same meaning as in llvm-symbolizer. In a relocatable object, every section is at 0 there.
fn check_addresses(
    object: &CodeObject<'_>,
    data: &[u8],
    limits: &Limits,
) -> Result<(), &'static str> {
    if !object.is_relocatable() {
        return Ok(());
    }
    if CodeObject::parse_with(data, limits).is_err() {
        return Err("not linked, and relocations of its machine are not supported");
    }
    let code = (object.sections().iter()).filter(|section| section.executable && section.size > 0);
    match code.count() {
        0 | 1 => Ok(()),
        _ => Err(
            "not linked, with several code sections whose addresses --format llvm cannot distinguish",
        ),
    }
}
