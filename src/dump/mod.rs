//! Prints the debugging information of a file in the style of llvm-dwarfdump: text or a document `hetdwarf-dump/1`.
//!
//! Malformed data become an error at their place, and the rest is printed. Each part of a dump has its own module. Nothing is kept after printing.
//!
//! ```
//! use hetdwarf::dump::{Dump, Part};
//! use hetdwarf::object::CodeObject;
//!
//! # fn print(data: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
//! let object = CodeObject::parse(data)?;
//! let dump = Dump::new("k.hsaco", &object, None).parts(&[Part::Line]);
//! if dump.write(&mut std::io::stdout())?.is_some() {
//!     eprintln!("some of it is malformed; the dump says what");
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
mod attribute_list;
mod context;
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
mod line_json;
mod line_program;
mod line_repair;
mod line_row;
mod list;
mod list_places;
mod list_table;
mod loclists;
mod lookup;
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
mod sources;
mod statistics;
mod string_offsets;
mod strings;
mod text;
mod type_name;
mod unit;
mod unit_facts;
mod unit_index;
mod value_text;

pub use part::Part;
pub use section_sizes::write_section_sizes;

use std::io::{self, Write};

use crate::arch::Machine;
use crate::debug_info::DieId;
use crate::error::Error;
use crate::expr::{Dialect, RegisterStyle};
use crate::object::CodeObject;
use crate::untrusted::Untrusted;
use context::Context;
use output::Output;
use sources::{Sources, said_version};

/// The style of register and address space names.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// All registers and address spaces have names.
    #[default]
    Names,
    /// Only the names that llvm-dwarfdump 22 prints are used.
    Llvm,
}

/// The selection of entries of [`Part::Info`].
#[non_exhaustive]
#[derive(Clone, Copy)]
pub enum Selection<'m> {
    /// All entries.
    All,
    /// The entries for whose name or linkage name this function returns true.
    Named(&'m dyn Fn(&str) -> bool),
    /// The entry at this offset of its section, in bytes.
    At(u64),
    /// These entries, sorted, without titles.
    Listed(&'m [DieId]),
    /// These entries, each the parent of the next, with their unit and the line of the looked-up address.
    Address(u64, &'m [DieId]),
}

/// The amount of detail for entries and for the surroundings of selected ones.
#[derive(Clone, Debug)]
pub struct View {
    /// True to print encodings: forms, offsets, numbers of abbreviations.
    pub verbose: bool,
    /// True to print the forms of attributes.
    pub show_form: bool,
    /// The number of levels printed below an entry.
    pub child_depth: u32,
    /// The number of levels printed above a selected entry.
    pub parent_depth: u32,
    /// The tags of the entries printed below others, or none for all tags.
    pub child_tags: Vec<String>,
    /// True to print a line for each type unit in place of its entries.
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
            Selection::Address(pc, ids) => f.debug_tuple("Address").field(pc).field(ids).finish(),
            Selection::Listed(offsets) => f.debug_tuple("Listed").field(offsets).finish(),
        }
    }
}

/// A dump of parts of a code object.
#[derive(Clone, Debug)]
pub struct Dump<'d> {
    name: &'d str,
    sources: Sources<'d>,
    parts: &'d [Part],
    /// True if the parts were requested by name.
    explicit: bool,
    offsets: &'d [(Part, u64)],
    selection: Selection<'d>,
    view: View,
    style: Style,
    json: bool,
}

impl<'d> Dump<'d> {
    /// Prints all parts as text, for an object and the `.dwo` file or package with its split units, if any. The text begins with the `name`.
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

    /// Prints only these parts, in the order of [`Part::ALL`], with titles for empty ones.
    #[must_use]
    pub fn parts(self, parts: &'d [Part]) -> Dump<'d> {
        // As in llvm-dwarfdump, a file with only split units need not have all sections.
        let is_split = [".dwo", ".dwp"].iter().any(|end| self.name.ends_with(end));
        Dump {
            parts,
            explicit: !is_split,
            ..self
        }
    }

    /// Limits some parts to the entry at an offset of the section, in bytes.
    #[must_use]
    pub fn offsets(self, offsets: &'d [(Part, u64)]) -> Dump<'d> {
        Dump { offsets, ..self }
    }

    /// Sets the amount of detail for entries.
    #[must_use]
    pub fn view(mut self, view: View) -> Dump<'d> {
        self.style.verbose = view.verbose;
        Dump { view, ..self }
    }

    /// Prints only these entries.
    #[must_use]
    pub fn selection(self, selection: Selection<'d>) -> Dump<'d> {
        Dump { selection, ..self }
    }

    /// Sets the style of names.
    #[must_use]
    pub fn naming(mut self, naming: Naming) -> Dump<'d> {
        self.style.naming = naming;
        self.sources.as_stored = naming == Naming::Llvm;
        self
    }

    /// Sets the encoding of the heterogeneous operations.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Dump<'d> {
        self.style.dialect = dialect;
        self
    }

    /// Prints a JSON document.
    #[must_use]
    pub fn json(self, json: bool) -> Dump<'d> {
        Dump { json, ..self }
    }

    /// Returns true if an entry starts at an offset of any section of units.
    ///
    /// # Errors
    /// If the units cannot be read.
    pub fn has_entry(&self, offset: u64) -> crate::Result<bool> {
        unit::has_entry(&self.sources, self.style.dialect, offset)
    }

    /// Returns the entries for these names in the indices (`.debug_names`), for [`Selection::Listed`].
    ///
    /// # Errors
    /// If the units or an index cannot be read, or a limit is reached.
    pub fn find(&self, names: &[String]) -> crate::Result<Vec<DieId>> {
        find::find(&self.sources, self.style.dialect, names)
    }

    /// Returns the `.dwo` file to which the skeletons of a file refer, if all refer to the same: the compilation directory, and the name.
    ///
    /// # Errors
    /// If the units cannot be read.
    pub fn split_file(&self) -> crate::Result<Option<(String, String)>> {
        /// The maximum length of a name.
        const LONGEST: usize = 4096;
        let info = self.sources.info(self.style.dialect)?;
        let mut found: Option<(String, String)> = None;
        for id in info.unit_ids() {
            let Ok(unit) = info.unit_info(id) else {
                continue;
            };
            let (Some(name), None) = (unit.dwo_name, unit.partner) else {
                continue;
            };
            let folder = unit.comp_dir.unwrap_or_default();
            match &found {
                _ if name.len().max(folder.len()) > LONGEST => return Ok(None),
                Some(first) if (&*first.0, &*first.1) == (&*folder, &*name) => {}
                Some(_) => return Ok(None),
                None => found = Some((folder.into_owned(), name.into_owned())),
            }
        }
        Ok(found)
    }

    /// Returns the unit with code at an address, its function and the innermost block there, for [`Selection::Address`], or nothing if no unit has
    /// such code.
    ///
    /// # Errors
    /// If the units cannot be read, or a limit is reached.
    pub fn lookup(&self, pc: u64) -> crate::Result<Vec<DieId>> {
        lookup::lookup(&self.sources, self.style.dialect, pc)
    }

    /// Writes the metrics of `llvm-dwarfdump --statistics` as a JSON document: the numbers of functions and variables, and the part of their scopes
    /// that the locations of variables cover.
    ///
    /// # Errors
    /// If writing fails. The inner result is an error if the units cannot be read, or a limit is reached.
    pub fn write_statistics(&self, out: &mut dyn Write) -> io::Result<crate::Result<()>> {
        let format = self.style.machine.file_format();
        statistics::write(&self.sources, self.style.dialect, (self.name, format), out)
    }

    /// Writes the paths of the source files in the line tables of all units, sorted, one on each line.
    ///
    /// # Errors
    /// If writing fails. The inner result is an error if the units or a line table cannot be read.
    pub fn write_source_files(&self, out: &mut dyn Write) -> io::Result<crate::Result<()>> {
        let (files, read) = source_list::list(&self.sources, self.style.dialect);
        // llvm-dwarfdump prints none if one table is unreadable.
        if read.is_ok() || self.style.naming == Naming::Names {
            source_list::write(&files, out)?;
        }
        Ok(read)
    }

    /// Writes the dump, with malformed data reported at their place, and returns these problems. The dump ends where
    /// [`Limits::work`](crate::limits::Limits::work) is reached, which is one of the problems. A document then has `"complete": false`.
    ///
    /// A closed pipe ends the dump. Malformed data before that are still the result, which must not depend on the reader.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<Option<Malformed>> {
        let meter = self.sources.for_query();
        let is_quiet = self.style.naming == Naming::Llvm;
        let mut output = Output::new(out, self.json, &meter).quiet(is_quiet);
        let written = self.document(&mut output);
        let malformed = output.malformed();
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe || malformed.is_none() => {
                Err(error)
            }
            Err(_) | Ok(()) => Ok(malformed),
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

    /// A problem with one part, such as a section that cannot be decompressed, does not affect the others.
    fn part(&self, part: Part, output: &mut Output<'_>) -> io::Result<()> {
        output.warns(part.warns());
        let context = Context {
            part,
            sources: &self.sources,
            style: self.style,
            selection: &self.selection,
            view: &self.view,
            offset: None,
            offsets: self.offsets,
            explicit: self.explicit,
            parts: self.parts,
        };
        match print(context.of(part), output) {
            Ok(()) => Ok(()),
            Err(_) if output.is_cut() => output.cut(),
            Err(Failure::Unreadable(error)) => output.failed(&error),
            Err(Failure::Unwritten(error)) => Err(error),
        }
    }
}

/// Prints a part: text, or a field of the document.
fn print(context: Context<'_, '_>, output: &mut Output<'_>) -> Result<(), Failure> {
    if output.json() {
        output.begin_array(context.part.field())?;
    }
    match context.part {
        Part::Abbrev => abbreviations::dump(context, output),
        Part::Info | Part::Types => unit::dump(context, output),
        Part::Loc => loclists::dump_old(context, output),
        Part::Loclists => loclists::dump(context, output),
        Part::Frame => frame::dump(context, output),
        Part::Macro => macros::dump(context, output),
        Part::Aranges => aranges::dump(context, output),
        Part::Line => line::dump(context, output),
        Part::CuIndex | Part::TuIndex => unit_index::dump(context, output),
        Part::Str => strings::dump(context, output),
        Part::LineStr => strings::dump_line(context, output),
        Part::Addr => addresses::dump(context, output),
        Part::Ranges => ranges::dump_old(context, output),
        Part::Rnglists => ranges::dump(context, output),
        Part::Pubnames | Part::Pubtypes | Part::GnuPubnames | Part::GnuPubtypes => {
            public_names::dump(context, output)
        }
        Part::StrOffsets => string_offsets::dump(context, output),
        Part::GdbIndex => gdb_index::dump(context, output),
        Part::Names => name_index::dump(context, output),
    }?;
    if output.json() {
        output.end_array()?;
    }
    Ok(())
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

/// Returns true if a file has split units and no skeletons: a `.dwo` file or a package.
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

/// The malformed parts of a dump.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The first problem, and the number of further ones.
    pub message: String,
    /// True if llvm-dwarfdump would only print warnings. Never true unless names are [`Naming::Llvm`].
    pub is_warning: bool,
}

impl From<&Error> for Malformed {
    fn from(error: &Error) -> Malformed {
        Malformed {
            message: error.to_string(),
            is_warning: false,
        }
    }
}

/// The reason why a part was not printed to its end.
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

/// The style of the whole dump.
#[derive(Clone, Copy, Debug)]
struct Style {
    naming: Naming,
    verbose: bool,
    dialect: Dialect,
    machine: Machine,
}

impl Style {
    /// Returns the style of register names.
    fn registers(self) -> RegisterStyle {
        match self.naming {
            Naming::Llvm if self.machine.is_amdgpu() => RegisterStyle::LlvmDwarfdump,
            Naming::Names | Naming::Llvm => self.all_registers(),
        }
    }

    /// Returns the style with names for all registers that have one.
    fn all_registers(self) -> RegisterStyle {
        match self.machine.is_amdgpu() {
            true => RegisterStyle::Names,
            false => RegisterStyle::Other(self.machine),
        }
    }
}
