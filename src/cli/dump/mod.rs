//! `hetdwarf dump`: what the debugging information of a file says, as llvm-dwarfdump prints it.
//!
//! What is malformed is an error in its place, and the rest goes on. This module opens the files and goes
//! through the parts; each part has its own module. Nothing is kept of what was printed.

mod aranges;
mod attribute;
mod entries;
mod frame;
mod json;
mod line;
mod list;
mod loclists;
mod name_index;
mod names;
mod output;
mod range_list;
mod scope;
mod text;
mod type_name;
mod unit;

use std::io::Write;

use globset::GlobSet;

use crate::debug_info::{Bytes, DebugInfo};
use crate::object::CodeObject;
use crate::untrusted::Untrusted;

use super::arguments::{DumpArguments, DumpStyle, Format};
use super::contents::{Contents, Input};
use super::core::object_or_core;
use super::failure::{Exit, Failure};
use super::input::{check_lengths, choose, dialect, parse_dwo, read_dwo};
use crate::expr::{Dialect, RegisterStyle};
use output::{Limited, Output};

/// The sections that a dump reads: those of the code object, then those of a `.dwo` file.
pub(super) struct Sources<'a> {
    /// The files, and whether each is a `.dwo` file.
    files: Vec<(&'a CodeObject<'a>, bool)>,
}

impl<'a> Sources<'a> {
    /// A section of each kind of file by the name it has in a code object, with the name it has there;
    /// empty if there is none.
    fn section(&self, split: bool, name: &'static str) -> crate::Result<&'a [u8]> {
        let wanted = if split {
            format!("{name}.dwo")
        } else {
            name.to_owned()
        };
        match self.files.iter().find(|(_, found)| *found == split) {
            Some((object, _)) => Ok(object.section(&wanted)?.unwrap_or_default()),
            None => Ok(&[]),
        }
    }

    /// The same, as gimli reads it.
    fn bytes(&self, split: bool, name: &'static str) -> crate::Result<Bytes<'a>> {
        Ok(Bytes::new(self.section(split, name)?, gimli::LittleEndian))
    }

    /// Where a section of the code object is loaded; 0 if there is none.
    fn address(&self, name: &str) -> u64 {
        let code = self.files.iter().filter(|(_, split)| !split);
        let mut sections = code.flat_map(|(object, _)| object.sections());
        sections
            .find(|section| section.name == name)
            .map_or(0, |section| section.address)
    }

    /// Whether there are files of a kind.
    fn has(&self, split: bool) -> bool {
        self.files.iter().any(|(_, found)| *found == split)
    }

    fn info(&self, dialect: Dialect) -> crate::Result<DebugInfo<'a>> {
        let load = |split: bool| {
            move |name: &'static str| match self.files.iter().find(|(_, found)| *found == split) {
                Some((object, _)) => Ok(object.section(name)?.unwrap_or_default()),
                None => Ok(&[] as &[u8]),
            }
        };
        let info = DebugInfo::load(load(false))?.with_dialect(dialect);
        if self.has(true) {
            return info.with_split(load(true));
        }
        Ok(info)
    }
}

/// How everything is printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    style: DumpStyle,
    dialect: Dialect,
}

impl Style {
    /// Which registers have names.
    fn registers(self) -> RegisterStyle {
        match self.style {
            DumpStyle::Names => RegisterStyle::Names,
            DumpStyle::Llvm => RegisterStyle::LlvmDwarfdump,
        }
    }
}

/// Which entries are printed.
pub(super) enum Selection {
    /// All.
    All,
    /// Those whose name matches, and perhaps what is below them.
    Named(GlobSet, bool),
    /// The one at this offset, and what is below it.
    At(u64),
}

impl Selection {
    fn new(arguments: &DumpArguments) -> Result<Selection, Failure> {
        if let Some(offset) = arguments.die {
            return Ok(Selection::At(offset));
        }
        let Some(pattern) = &arguments.name else {
            return Ok(Selection::All);
        };
        let glob = super::pattern::pattern(pattern)
            .map_err(|error| Failure::new(format!("--name: {error}")))?;
        Ok(Selection::Named(glob, arguments.show_children))
    }
}

pub(crate) fn run(arguments: &DumpArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let limits = arguments.which.limits.limits();
    let selection = Selection::new(arguments)?;
    let (path, data) = object_or_core(
        arguments.object.as_deref(),
        &arguments.core,
        &limits,
        |path| Contents::open(path, Input::Whole).map_err(|error| Failure::in_file(path, error)),
    )?;
    let place = |error: crate::Error| Failure::in_file(path, error);
    let embedded = choose(path, &data, &arguments.which)?;
    let object = CodeObject::parse_with(&embedded.data, &limits).map_err(place)?;
    let dwo_data = read_dwo(&arguments.which)?;
    let dwo = parse_dwo(&dwo_data, &limits)?;
    let is_dwo = |object: &CodeObject<'_>| {
        let names = object.sections().iter().map(|section| &section.name);
        names.into_iter().any(|name| name.ends_with(".dwo"))
    };
    let mut files = vec![(&object, is_dwo(&object))];
    if let Some(dwo) = &dwo {
        files.push((dwo, true));
    }
    let sources = Sources { files };
    if let Selection::At(offset) = selection {
        let dialect = dialect(arguments.which.dialect);
        unit::check_entry(&sources, dialect, path, offset)?;
    }
    let size = embedded
        .data
        .len()
        .saturating_add(dwo_data.as_ref().map_or(0, |(_, data)| data.len()));
    let mut limited = Limited::new(out, size);
    let json = arguments.format == Format::Json;
    let mut output = Output::new(&mut limited, json);
    if json {
        output.begin_document()?;
    } else {
        writeln!(
            output,
            "{}:\tfile format elf64-amdgpu",
            Untrusted::from(path)
        )?;
    }
    let style = Style {
        style: arguments.style,
        dialect: dialect(arguments.which.dialect),
    };
    let printed = parts(arguments, &selection, &sources, style, &mut output).and_then(|()| {
        if json {
            output.end_document()?;
        }
        Ok(output.flush()?)
    });
    match printed {
        // The status is that of what was printed.
        Ok(()) | Err(Failure::ClosedPipe) => {}
        Err(failure) => return Err(failure),
    }
    match output.problem_text() {
        Some(text) => Err(Failure::in_file(path, text)),
        None => {
            let dwo = dwo_data.iter().map(|(path, data)| (*path, data));
            check_lengths(dwo.chain([(path, &data)]))?;
            Ok(Exit::Done)
        }
    }
}

/// The parts that the arguments ask for, in the order of llvm-dwarfdump.
fn parts(
    arguments: &DumpArguments,
    selection: &Selection,
    sources: &Sources<'_>,
    style: Style,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let selected = !matches!(selection, Selection::All);
    let other = arguments.debug_loclists
        || arguments.debug_line
        || arguments.debug_frame
        || arguments.debug_aranges
        || arguments.debug_names;
    if arguments.debug_info || selected || !other {
        part(unit::dump(sources, style, selection, output), output)?;
    }
    if arguments.debug_loclists {
        part(loclists::dump(sources, style, output), output)?;
    }
    if arguments.debug_frame {
        part(frame::dump(sources, style, output), output)?;
    }
    if arguments.debug_aranges {
        part(aranges::dump(sources, output), output)?;
    }
    if arguments.debug_line {
        part(line::dump(sources, output), output)?;
    }
    if arguments.debug_names {
        part(name_index::dump(sources, output), output)?;
    }
    Ok(())
}

/// What is wrong with one part, a section that cannot be decompressed for example, is no reason to leave
/// out the others.
fn part(result: Result<(), Failure>, output: &mut Output<'_>) -> Result<(), Failure> {
    match result {
        Err(Failure::Message(message)) => output.failed(&message),
        other => other,
    }
}
