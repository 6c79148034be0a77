//! What the debugging information of a file says, as llvm-dwarfdump prints it: text or a document `hetdwarf-dump/1`.
//!
//! What is malformed is an error in its place, and the rest goes on. Each part of a dump has its own module.
//! Nothing is kept of what was printed.
//!
//! ```
//! use hetdwarf::dump::{Dump, Part};
//! use hetdwarf::object::CodeObject;
//!
//! # fn print(data: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
//! let object = CodeObject::parse(data)?;
//! let dump = Dump::new("k.hsaco", &object, None).parts(&[Part::Line]);
//! if let Some(problems) = dump.write(&mut std::io::stdout())? {
//!     eprintln!("{problems}");
//! }
//! # Ok(())
//! # }
//! # // Nothing is printed of what is no object.
//! # assert!(print(b"").is_err());
//! ```

mod aranges;
mod attribute;
mod digits;
mod entries;
mod frame;
mod header;
mod json;
mod line;
mod list;
mod loclists;
mod name_index;
mod names;
mod output;
mod scope;
mod text;
mod type_name;
mod unit;

use std::io::{self, Write};
use std::sync::Arc;

use crate::arch::Machine;
use crate::debug_info::{Bytes, DebugInfo};
use crate::error::Error;
use crate::expr::{Dialect, RegisterStyle};
use crate::limits::Limits;
use crate::meter::Meter;
use crate::object::CodeObject;
use crate::untrusted::Untrusted;
use output::Output;

/// A part of a dump.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The entries of `.debug_info` and `.debug_types`.
    Info,
    /// The location lists of `.debug_loc` and `.debug_loclists`.
    Loclists,
    /// The call frame information of `.debug_frame` and `.eh_frame`.
    Frame,
    /// The address ranges of `.debug_aranges`.
    Aranges,
    /// The line tables of `.debug_line`.
    Line,
    /// The index of names, `.debug_names`.
    Names,
}

impl Part {
    /// All parts, in the order in which they are printed, which is llvm-dwarfdump's.
    pub const ALL: [Part; 6] = [
        Part::Info,
        Part::Loclists,
        Part::Frame,
        Part::Aranges,
        Part::Line,
        Part::Names,
    ];
}

/// Which names registers and address spaces have.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// All have theirs.
    #[default]
    Names,
    /// Those that llvm-dwarfdump 22 prints have theirs.
    Llvm,
}

/// Which entries of [`Part::Info`] are printed.
#[non_exhaustive]
#[derive(Clone, Copy)]
pub enum Selection<'m> {
    /// All.
    All,
    /// Those whose name or linkage name is one of these.
    Named {
        /// Whether a name is one.
        matches: &'m dyn Fn(&str) -> bool,
        /// Whether what is below them is printed too.
        children: bool,
    },
    /// The one at this offset of its section, in bytes, and what is below it.
    At(u64),
}

impl core::fmt::Debug for Selection<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Selection::All => f.write_str("All"),
            Selection::Named { children, .. } => f
                .debug_struct("Named")
                .field("children", children)
                .finish_non_exhaustive(),
            Selection::At(offset) => f.debug_tuple("At").field(offset).finish(),
        }
    }
}

/// What is to be printed of a code object.
#[derive(Clone, Debug)]
pub struct Dump<'d> {
    name: &'d str,
    sources: Sources<'d>,
    parts: &'d [Part],
    selection: Selection<'d>,
    style: Style,
    json: bool,
}

impl<'d> Dump<'d> {
    /// All of an object, and of the `.dwo` file or package with its split units if there is one, as text. It begins with the `name`.
    #[must_use]
    pub fn new(
        name: &'d str,
        object: &'d CodeObject<'d>,
        split: Option<&'d CodeObject<'d>>,
    ) -> Dump<'d> {
        let mut files = Vec::new();
        if !is_split_alone(object) {
            files.push((object, false));
        }
        if has_split_sections(object) {
            files.push((object, true));
        }
        files.extend(split.map(|split| (split, true)));
        Dump {
            name,
            sources: Sources { files },
            parts: &Part::ALL,
            selection: Selection::All,
            style: Style {
                naming: Naming::Names,
                dialect: Dialect::User,
                machine: object.target().machine(),
            },
            json: false,
        }
    }

    /// Only these parts, in the order of [`Part::ALL`].
    #[must_use]
    pub fn parts(self, parts: &'d [Part]) -> Dump<'d> {
        Dump { parts, ..self }
    }

    /// Only these entries.
    #[must_use]
    pub fn selection(self, selection: Selection<'d>) -> Dump<'d> {
        Dump { selection, ..self }
    }

    /// With these names.
    #[must_use]
    pub fn naming(mut self, naming: Naming) -> Dump<'d> {
        self.style.naming = naming;
        self
    }

    /// Which codes the heterogeneous operations have.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Dump<'d> {
        self.style.dialect = dialect;
        self
    }

    /// As a JSON document.
    #[must_use]
    pub fn json(self, json: bool) -> Dump<'d> {
        Dump { json, ..self }
    }

    /// Whether an entry starts at an offset of any section of units.
    ///
    /// # Errors
    /// If the units cannot be read.
    pub fn has_entry(&self, offset: u64) -> crate::Result<bool> {
        unit::has_entry(&self.sources, self.style.dialect, offset)
    }

    /// Writes the dump. What is malformed stands in its place; what it was is the result. It ends where
    /// [`Limits::work`](crate::limits::Limits::work) is reached, which is a part of that result; a document then says `"complete": false`.
    ///
    /// A closed pipe ends the dump. If something malformed came before, that is still the result: what a file is does not
    /// hang on who reads the answer.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<Option<String>> {
        let meter = self.sources.question();
        let mut output = Output::new(out, self.json, &meter);
        let written = self.document(&mut output);
        let problems = output.problem_text();
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe || problems.is_none() => {
                Err(error)
            }
            Err(_) | Ok(()) => Ok(problems),
        }
    }

    fn document(&self, output: &mut Output<'_>) -> io::Result<()> {
        if self.json {
            output.begin_document()?;
        } else {
            let name = Untrusted::from(self.name);
            let format = self.style.machine.file_format();
            writeln!(output, "{name}:\tfile format {format}")?;
        }
        for part in Part::ALL {
            if self.parts.contains(&part) && !output.is_cut() {
                self.part(part, output)?;
            }
        }
        if self.json {
            output.end_document()?;
        }
        output.flush()
    }

    /// What is wrong with one part, a section that cannot be decompressed for example, is no reason to leave out the others.
    fn part(&self, part: Part, output: &mut Output<'_>) -> io::Result<()> {
        let (sources, style) = (&self.sources, self.style);
        let written = match part {
            Part::Info => unit::dump(sources, style, &self.selection, output),
            Part::Loclists => loclists::dump(sources, style, output),
            Part::Frame => frame::dump(sources, style, output),
            Part::Aranges => aranges::dump(sources, output),
            Part::Line => line::dump(sources, output),
            Part::Names => name_index::dump(sources, output),
        };
        match written {
            Ok(()) => Ok(()),
            Err(_) if output.is_cut() => output.cut(),
            Err(Failure::Unreadable(error)) => output.failed(&error),
            Err(Failure::Unwritten(error)) => Err(error),
        }
    }
}

/// Returns true if a file has sections of split units.
fn has_split_sections(object: &CodeObject<'_>) -> bool {
    let mut names = object.sections().iter().map(|section| &section.name);
    names.any(|name| name.ends_with(".dwo"))
}

/// Returns true if a file has split units and no skeletons: it is a `.dwo` file or a package.
fn is_split_alone(object: &CodeObject<'_>) -> bool {
    let mut names = object.sections().iter().map(|section| &*section.name);
    has_split_sections(object)
        && !names.any(|name| {
            matches!(
                name,
                ".debug_info" | ".debug_types" | ".zdebug_info" | ".zdebug_types"
            )
        })
}

/// Why a part was not printed to its end.
#[derive(Debug)]
enum Failure {
    Unreadable(Error),
    Unwritten(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Unreadable(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Unwritten(error)
    }
}

/// The sections that a dump reads: those of the code object, then those of a `.dwo` file.
#[derive(Clone, Debug)]
struct Sources<'a> {
    /// The files, and whether each is a `.dwo` file.
    files: Vec<(&'a CodeObject<'a>, bool)>,
}

/// The version of what starts at an offset.
///
/// * `read`: what its bytes say;
/// * `of_6`: the offsets of what is of version 6, though its bytes say 5.
fn said_version(read: u16, offset: u64, of_6: &[u64]) -> u16 {
    match of_6.binary_search(&offset) {
        Ok(_) => 6,
        Err(_) => read,
    }
}

impl<'a> Sources<'a> {
    /// A section of each kind of file by the name it has in a code object, with the name it has there;
    /// empty if there is none.
    fn section(&self, split: bool, name: &'static str) -> crate::Result<&'a [u8]> {
        Ok(self.section_with_6(split, name)?.0)
    }

    /// The offsets of what is of version 6 in the section that [`section`](Sources::section) gives.
    fn of_6(&self, split: bool, name: &'static str) -> crate::Result<&'a [u64]> {
        Ok(self.section_with_6(split, name)?.1)
    }

    fn section_with_6(
        &self,
        split: bool,
        name: &'static str,
    ) -> crate::Result<(&'a [u8], &'a [u64])> {
        let wanted = if split {
            format!("{name}.dwo")
        } else {
            name.to_owned()
        };
        match self.files.iter().find(|(_, found)| *found == split) {
            Some((object, _)) => object.debug_section(&wanted),
            None => Ok((&[], &[])),
        }
    }

    /// The section that [`section`](Sources::section) gives, as gimli reads it.
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

    /// Returns true if skeletons and split units are in one file.
    fn is_single(&self) -> bool {
        match *self.files {
            [(main, false), (split, true)] => core::ptr::eq(main, split),
            _ => false,
        }
    }

    /// Whether there are files of a kind.
    fn has(&self, split: bool) -> bool {
        self.files.iter().any(|(_, found)| *found == split)
    }

    /// A meter for a part of the dump.
    fn question(&self) -> Arc<Meter> {
        let meters = self.files.iter().map(|(object, _)| object.meter().as_ref());
        let meter = Meter::question_about(meters);
        Arc::new(meter.unwrap_or_else(|| Meter::new(&Limits::DEFAULT, 0)))
    }

    fn info(&self, dialect: Dialect) -> crate::Result<DebugInfo<'a>> {
        let load = |split: bool| {
            move |name: &'static str| match self.files.iter().find(|(_, found)| *found == split) {
                Some((object, _)) => Ok(object.debug_section(name)?.0),
                None => Ok(&[] as &[u8]),
            }
        };
        let info = DebugInfo::load_within(&self.question(), load(false))?.with_dialect(dialect);
        if self.has(true) {
            return info.with_split(load(true));
        }
        Ok(info)
    }
}

/// How everything is printed.
#[derive(Clone, Copy, Debug)]
struct Style {
    naming: Naming,
    dialect: Dialect,
    machine: Machine,
}

impl Style {
    /// Which registers have names.
    fn registers(self) -> RegisterStyle {
        match self.naming {
            Naming::Llvm if self.machine.is_amdgpu() => RegisterStyle::LlvmDwarfdump,
            Naming::Names | Naming::Llvm => self.all_registers(),
        }
    }

    /// Names for all registers that have one.
    fn all_registers(self) -> RegisterStyle {
        match self.machine.is_amdgpu() {
            true => RegisterStyle::Names,
            false => RegisterStyle::Other(self.machine),
        }
    }
}
