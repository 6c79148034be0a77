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

mod abbreviations;
mod addresses;
mod aranges;
mod attribute;
mod digits;
mod encoding;
mod entries;
mod fields;
mod find;
mod frame;
mod gdb_index;
mod header;
mod json;
mod line;
mod line_program;
mod list;
mod list_places;
mod list_table;
mod loclists;
mod macros;
mod name_index;
mod names;
mod output;
mod part;
mod public_names;
mod ranges;
mod raw_range;
mod scope;
mod section_sizes;
mod source_list;
mod string_offsets;
mod strings;
mod text;
mod type_name;
mod unit;
mod unit_index;

pub use part::Part;
pub use section_sizes::write_section_sizes;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use crate::arch::Machine;
use crate::debug_info::{Bytes, DebugInfo, DieId};
use crate::error::Error;
use crate::expr::{Dialect, RegisterStyle};
use crate::limits::Limits;
use crate::meter::Meter;
use crate::object::{CodeObject, Section};
use crate::untrusted::Untrusted;
use fields::Placed;
use output::Output;
use part::Context;

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
    /// Those of whose name or linkage name this function returns true.
    Named(&'m dyn Fn(&str) -> bool),
    /// The one at this offset of its section, in bytes.
    At(u64),
    /// Those at these offsets, without titles.
    Listed(&'m [DieId]),
}

/// How much is printed of entries, and around those that are selected.
#[derive(Clone, Debug)]
pub struct View {
    /// Prints how everything is encoded: forms, offsets, numbers of abbreviations.
    pub verbose: bool,
    /// Prints the forms of attributes.
    pub show_form: bool,
    /// How many levels below an entry are printed.
    pub child_depth: u32,
    /// How many levels above a selected entry are printed.
    pub parent_depth: u32,
    /// The tags of the entries that are printed below others; all if there are none.
    pub child_tags: Vec<String>,
    /// Prints a line for each type unit in place of its entries.
    pub summarize_types: bool,
}

impl Default for View {
    fn default() -> View {
        View {
            verbose: false,
            show_form: false,
            child_depth: u32::MAX,
            parent_depth: 0,
            child_tags: Vec::new(),
            summarize_types: false,
        }
    }
}

impl core::fmt::Debug for Selection<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Selection::All => f.write_str("All"),
            Selection::Named(_) => f.debug_tuple("Named").finish_non_exhaustive(),
            Selection::At(offset) => f.debug_tuple("At").field(offset).finish(),
            Selection::Listed(offsets) => f.debug_tuple("Listed").field(offsets).finish(),
        }
    }
}

/// What is to be printed of a code object.
#[derive(Clone, Debug)]
pub struct Dump<'d> {
    name: &'d str,
    sources: Sources<'d>,
    parts: &'d [Part],
    /// True if the parts were asked for by name.
    explicit: bool,
    offsets: &'d [(Part, u64)],
    selection: Selection<'d>,
    view: View,
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
        if !is_split_alone(object) || has_other_sections(object) {
            files.push((object, false));
        }
        if has_split_sections(object) {
            files.push((object, true));
        }
        files.extend(split.map(|split| (split, true)));
        Dump {
            name,
            sources: Sources {
                files,
                as_stored: false,
            },
            parts: Part::ALL,
            explicit: false,
            offsets: &[],
            selection: Selection::All,
            view: View::default(),
            style: Style {
                naming: Naming::Names,
                verbose: false,
                dialect: Dialect::User,
                machine: object.target().machine(),
            },
            json: false,
        }
    }

    /// Only these parts, in the order of [`Part::ALL`], with titles for those that are empty.
    #[must_use]
    pub fn parts(self, parts: &'d [Part]) -> Dump<'d> {
        // As llvm-dwarfdump has it, nobody expects all sections in a file with split units alone.
        let is_split = [".dwo", ".dwp"].iter().any(|end| self.name.ends_with(end));
        Dump {
            parts,
            explicit: !is_split,
            ..self
        }
    }

    /// Of some parts only what is at an offset of the section, in bytes.
    #[must_use]
    pub fn offsets(self, offsets: &'d [(Part, u64)]) -> Dump<'d> {
        Dump { offsets, ..self }
    }

    /// How much of entries.
    #[must_use]
    pub fn view(mut self, view: View) -> Dump<'d> {
        self.style.verbose = view.verbose;
        Dump { view, ..self }
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
        self.sources.as_stored = naming == Naming::Llvm;
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

    /// The entries that the indices of names (`.debug_names`) have for one of these names, for [`Selection::Listed`].
    ///
    /// # Errors
    /// If the units or an index cannot be read, or a limit is reached.
    pub fn find(&self, names: &[String]) -> crate::Result<Vec<DieId>> {
        find::find(&self.sources, self.style.dialect, names)
    }

    /// Writes the paths of the source files that the line tables of all units name, sorted, one on each line.
    ///
    /// # Errors
    /// If they cannot be written; the inner result is an error if the units or a line table cannot be read.
    pub fn write_source_files(&self, out: &mut dyn Write) -> io::Result<crate::Result<()>> {
        match source_list::list(&self.sources, self.style.dialect) {
            Ok(files) => source_list::write(&files, out).map(Ok),
            Err(error) => Ok(Err(error)),
        }
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
        let is_quiet = self.style.naming == Naming::Llvm;
        let mut output = Output::new(out, self.json, &meter).quiet(is_quiet);
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
            if self.parts.contains(part) && !output.is_cut() {
                self.part(*part, output)?;
            }
        }
        if self.json {
            output.end_document()?;
        }
        output.flush()
    }

    /// What is wrong with one part, a section that cannot be decompressed for example, is no reason to leave out the others.
    fn part(&self, part: Part, output: &mut Output<'_>) -> io::Result<()> {
        let offset = self.offsets.iter().find(|(of, _)| *of == part);
        let context = Context {
            part,
            sources: &self.sources,
            style: self.style,
            selection: &self.selection,
            view: &self.view,
            offset: offset.map(|(_, offset)| *offset),
            explicit: self.explicit,
        };
        match part.print(context, output) {
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

/// Returns true if a file has sections of debugging information that do not belong to split units.
fn has_other_sections(object: &CodeObject<'_>) -> bool {
    let indices = [".debug_cu_index", ".debug_tu_index"];
    let mut names = object
        .sections()
        .iter()
        .map(|section| section.standard_name());
    names.any(|name| {
        name.starts_with(".debug_") && !name.ends_with(".dwo") && !indices.contains(&&*name)
    })
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

/// What sections without headers of their own take from the units.
#[derive(Clone, Copy, Debug)]
struct UnitDefaults {
    /// The highest version of a unit; 5 if there is none.
    version: u16,
    /// The size of an address in the first unit, in bytes.
    address_size: u8,
}

/// The sections that a dump reads: those of the code object, then those of a `.dwo` file.
#[derive(Clone, Debug)]
struct Sources<'a> {
    /// The files, and whether each is a `.dwo` file.
    files: Vec<(&'a CodeObject<'a>, bool)>,
    /// True if sections of one name are shown apart, and expressions before relocation, as llvm-dwarfdump does.
    as_stored: bool,
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

    /// A section of a package, whose name is the same there.
    fn of_package(&self, name: &str) -> crate::Result<&'a [u8]> {
        match self.files.last() {
            Some((object, _)) => Ok(object.debug_section(name)?.0),
            None => Ok(&[]),
        }
    }

    /// What sections without headers of their own take from the units.
    fn unit_facts(&self, dialect: Dialect) -> crate::Result<UnitDefaults> {
        let info = self.info(dialect)?;
        let mut units = info.unit_ids().filter_map(|id| info.unit_info(id).ok());
        let first = units.next();
        let address_size = first.as_ref().map_or(8, |unit| unit.address_size);
        let versions = first.into_iter().chain(units).map(|unit| unit.version);
        Ok(UnitDefaults {
            version: versions.max().unwrap_or(5),
            address_size,
        })
    }

    /// Where a section of the code object is loaded; 0 if there is none.
    fn address(&self, name: &str) -> u64 {
        let code = self.files.iter().filter(|(_, split)| !split);
        let mut sections = code.flat_map(|(object, _)| object.sections());
        sections
            .find(|section| section.name == name)
            .map_or(0, |section| section.address)
    }

    /// Where the section starts that an offset lies in, among those of one name that were joined; 0 if they are shown as one.
    fn section_start(&self, split: bool, name: &str, offset: u64) -> u64 {
        if !self.as_stored {
            return 0;
        }
        let wanted = if split {
            format!("{name}.dwo")
        } else {
            name.to_owned()
        };
        let files = self.files.iter().filter(|(_, found)| *found == split);
        let sections = files.flat_map(|(object, _)| match object.is_relocatable() {
            true => object.sections(),
            false => &[],
        });
        let named = sections.filter(|section| section.standard_name() == wanted);
        let starts = named.map(|section| section.address);
        starts.filter(|start| *start <= offset).max().unwrap_or(0)
    }

    /// The bytes at an offset of a section as they are shown: before relocation in the style of llvm-dwarfdump.
    ///
    /// * `bytes`: the relocated ones.
    fn stored(&self, split: bool, name: &str, at: Option<u64>, bytes: &'a [u8]) -> &'a [u8] {
        if !self.as_stored {
            return bytes;
        }
        let mut files = self.files.iter();
        let file = files.find(|(object, found)| *found == split && object.is_relocatable());
        let found = || {
            let wanted = if split {
                format!("{name}.dwo")
            } else {
                name.to_owned()
            };
            let section = file?.0.stored_section(&wanted).ok()?;
            let start = usize::try_from(at?).ok()?;
            section.get(start..start.checked_add(bytes.len())?)
        };
        found().unwrap_or(bytes)
    }

    /// The sections of the code object.
    fn sections(&self) -> &'a [Section<'a>] {
        let main = self.files.iter().find(|(_, split)| !split);
        main.or(self.files.first())
            .map_or(&[], |(object, _)| object.sections())
    }

    /// Which sections the relocated fields of a section point into, by the offsets of the fields.
    fn targets(&self, split: bool, name: &'static str) -> crate::Result<BTreeMap<u64, usize>> {
        let wanted = if split {
            format!("{name}.dwo")
        } else {
            name.to_owned()
        };
        match self.files.iter().find(|(_, found)| *found == split) {
            Some((object, _)) => object.targets_of(&wanted),
            None => Ok(BTreeMap::new()),
        }
    }

    /// What tells the sections of addresses, if a dump is verbose.
    fn placed(&self, verbose: bool) -> Option<Placed> {
        let mut files = self.files.iter();
        (verbose && files.any(|(object, _)| object.is_relocatable())).then(Placed::default)
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
    verbose: bool,
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
