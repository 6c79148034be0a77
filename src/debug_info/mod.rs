//! Reads the debugging information of one code object: units, functions, scopes, inlining, variables, types and line rows. It also answers the
//! queries of expressions.
//!
//! gimli parses the standard's encodings. Operation expressions stay bytes: `expr` decodes them, and `eval` evaluates them. Call frame information is
//! left to `frame`. Sources: DWARF 5 §2 to §7 (also versions 2 to 4, and GNU's split DWARF 4); [HET](crate) A.2.2, A.2.5.5, A.3, A.4, A.5, A.6.2,
//! A.7.5.
//!
//! A [`DebugInfo`] borrows the sections and reads them on demand. Malformed input loses as little as possible: a missing part of an answer is `None`,
//! an empty list, or a `problem` beside the answer. A query fails only if it has no answer at all.
//!
//! ```
//! use hetdwarf::{inspect::Program, object::CodeObject};
//!
//! let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco").unwrap();
//! let object = CodeObject::parse(&file)?;
//! let program = Program::load(&object)?;
//! let info = program.info();
//!
//! let leaf = object.symbols()?.into_iter().find(|symbol| symbol.name == "leaf").unwrap();
//! let function = info.find_function(leaf.address)?.unwrap();
//! assert_eq!(function.name.as_deref(), Some("leaf"));
//! let line = info.line_at(leaf.address)?.unwrap();
//! assert_eq!((line.file.is_some(), line.line), (true, 8));
//! # Ok::<(), hetdwarf::Error>(())
//! ```

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod abbreviation;
mod address_index;
pub(crate) mod address_ranges;
mod alias;
mod array_shape;
pub mod attribute;
mod cache;
mod call_site;
mod catalog;
mod constant;
mod convention;
mod die;
mod entry_name;
mod file;
mod function;
mod id;
mod index_table;
mod language;
mod layout;
mod line;
mod line_header;
mod line_rows;
mod location_list;
pub(crate) mod name_index;
mod nameless_line_table;
mod package;
pub(crate) mod package_index;
mod range_map;
mod ranges;
pub(crate) mod raw_list;
mod read_member;
mod read_type;
mod representation;
mod resolver;
mod scope;
mod scope_tree;
mod source_file;
mod source_frame;
mod source_line;
mod split;
pub mod type_attribute;
mod type_entry;
mod type_name;
mod type_parts;
mod type_question;
pub mod types;
mod unit;
mod unit_index;
pub(crate) mod unit_length;
mod value;
mod variable;
mod walk;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

pub use crate::eval::{LocationEntry, LocationRange};
#[cfg(feature = "serde")]
pub(crate) use array_shape::last_index;
use call_site::KnownCallSites;
pub use catalog::LineRow;
pub use convention::{AddressSpaceNumbering, LocationConvention, UnitConvention};
pub use die::Die;
#[cfg(feature = "serde")]
pub(crate) use entry_name::{LONGEST_NAME, cut_name};
pub(crate) use entry_name::{linkage_name, short_name};
pub use function::{Declaration, Function, Iterations, Simt};
pub use id::{DieId, UnitId};
pub(crate) use index_table::{IndexFault, IndexTable, index_of};
pub use language::Language;
pub(crate) use layout::Question;
pub use line::LineTable;
#[cfg(feature = "serde")]
pub(crate) use line_header::skip_form as skip_line_form;
pub(crate) use line_header::{Header as LineHeader, Refusal, next_instruction, parse_program};
pub use line_rows::Row;
pub use location_list::LocationEntries;
pub(crate) use nameless_line_table::complete;
pub use scope::InlinedCall;
pub(crate) use scope::{NameScopes, is_block};
pub(crate) use scope_tree::InFunction;
pub use source_file::SourceFile;
#[cfg(feature = "serde")]
pub(crate) use source_file::path_in;
pub use source_frame::{SourceFrame, SourceFrames};
pub use source_line::SourceLine;
#[cfg(feature = "serde")]
pub(crate) use type_name::brackets_after_name;
pub use type_name::type_name;
#[cfg(feature = "serde")]
pub(crate) use unit::type_signature;
pub use unit::{UnitInfo, UnitKind, Units};
pub(crate) use unit_length::UnitLength;
pub use value::DieValue;
pub(crate) use variable::InScope;
pub use variable::{StartScope, Variable, VariableKind};
pub use walk::Dies;

use crate::error::{Error, Result};
use crate::expr::Dialect;
use crate::limits::Limits;
use crate::meter::{Held, Meter};
use address_index::AddressIndex;
use cache::UnitCache;
use file::File;
use unit::UnitEntry;

/// Bytes of a section, as gimli reads them. AMDGPU is little-endian.
pub type Bytes<'a> = gimli::EndianSlice<'a, gimli::LittleEndian>;

/// The bytes held for every unit once its header is read.
const UNIT_SIZE: u64 = (size_of::<UnitEntry<'_>>() + size_of::<UnitCache<'_>>()) as u64;

/// The line tables that were read.
#[derive(Debug, Default)]
struct LineTables<'a> {
    /// The tables by file and offset.
    tables: BTreeMap<(usize, usize), Result<Arc<LineTable<'a>>>>,
    /// The total size of their headers in bytes.
    bytes: usize,
}

/// The debugging information of a code object, and of the `.dwo` files that belong to it.
#[derive(Debug)]
pub struct DebugInfo<'a> {
    /// The code object, then each `.dwo` file.
    files: Vec<File<'a>>,
    /// Sorted by file, section and offset.
    units: Vec<UnitEntry<'a>>,
    /// The data read for each unit, by the same numbers.
    caches: Vec<OnceLock<Box<UnitCache<'a>>>>,
    /// The reason why the headers could not be read to the end of a section.
    broken: Option<Error>,
    dialect: Dialect,
    /// The offsets of the code object's units of version 6, whose headers have been changed to version 5.
    of_6: &'a [u64],
    /// The memory charged for data that is read once and kept, such as indices.
    held: Held,
    /// Type units by file and signature.
    signatures: BTreeMap<(usize, u64), DieId>,
    addresses: OnceLock<AddressIndex>,
    aranges: OnceLock<AddressIndex>,
    lines: Mutex<LineTables<'a>>,
    call_sites: KnownCallSites<'a>,
}

impl<'a> DebugInfo<'a> {
    /// Loads the debugging information. `section` returns the bytes of a section by name (`.debug_info`, …), empty if there is none. It must apply
    /// relocations and decompress sections.
    ///
    /// Only the headers of units are read. A fault in them is no error here: it is the last item of [`units`](DebugInfo::units).
    ///
    /// # Errors
    /// If `section` fails.
    pub fn load(section: impl FnMut(&'static str) -> Result<&'a [u8]>) -> Result<DebugInfo<'a>> {
        let file = File::load(false, section)?;
        let meter = Arc::new(Meter::new(&Limits::DEFAULT, file.length()));
        Ok(DebugInfo::of(file, meter))
    }

    /// Loads the debugging information, and charges `meter` for everything read.
    pub(crate) fn load_within(
        meter: &Arc<Meter>,
        section: impl FnMut(&'static str) -> Result<&'a [u8]>,
    ) -> Result<DebugInfo<'a>> {
        let file = File::load(false, section)?;
        Ok(DebugInfo::of(file, Arc::clone(meter)))
    }

    /// Sets the sorted offsets of the units in the code object's `.debug_info` that are of version 6, although their headers now have 5.
    pub(crate) fn with_units_of_6(mut self, of_6: &'a [u64]) -> DebugInfo<'a> {
        self.of_6 = of_6;
        self
    }

    fn of(file: File<'a>, meter: Arc<Meter>) -> DebugInfo<'a> {
        let mut info = DebugInfo {
            files: Vec::new(),
            units: Vec::new(),
            caches: Vec::new(),
            broken: None,
            dialect: Dialect::default(),
            of_6: &[],
            held: Held::new(meter),
            signatures: BTreeMap::new(),
            addresses: OnceLock::new(),
            aranges: OnceLock::new(),
            lines: Mutex::default(),
            call_sites: KnownCallSites::default(),
        };
        info.add_file(file);
        info
    }

    /// Reads expressions with the codes of `dialect` instead of the current ones.
    #[must_use]
    pub fn with_dialect(mut self, dialect: Dialect) -> DebugInfo<'a> {
        self.dialect = dialect;
        self.call_sites = KnownCallSites::default();
        self
    }

    /// Sets the limits for reading.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> DebugInfo<'a> {
        let length = self.files.iter().map(File::length).sum();
        self.held = Held::new(Arc::new(Meter::new(&limits, length)));
        self
    }

    /// Returns the meter with the costs of everything read from the file.
    pub(crate) fn meter(&self) -> &Arc<Meter> {
        self.held.meter()
    }

    /// Returns a meter for a separate query.
    #[must_use]
    pub fn for_query(&self) -> Meter {
        self.meter().for_query()
    }

    /// Charges for values of a type that are kept as long as `self`.
    fn hold_all<T>(&self, count: usize) -> Result<()> {
        self.held.hold_all::<T>(count)
    }

    /// Reads and keeps data that makes later queries faster. Returns `None` if it is unreadable, or not worth its cost.
    fn read_ahead<T>(&self, read: impl FnOnce(&Meter) -> Result<T>) -> Option<T> {
        let meter = self.meter().for_prefetch()?;
        let read = read(&meter);
        self.meter().work(meter.steps()).ok()?;
        self.held.hold(meter.bytes()).ok()?;
        read.ok()
    }

    /// Returns the limits for reading.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        self.meter().limits()
    }

    /// Adds the units of a file, and returns the number of the first one.
    fn add_file(&mut self, mut file: File<'a>) -> usize {
        let number = self.files.len();
        let first = self.units.len();
        let (headers, broken) = file.headers(&self.held, UNIT_SIZE);
        self.broken = self.broken.take().or(broken);
        if self.broken.is_none() {
            self.broken = file.package_problem().cloned();
        }
        self.files.push(file);
        self.units.reserve(headers.len());
        self.caches.reserve(headers.len());
        for header in headers {
            let Ok(id) = u32::try_from(self.units.len()).map(UnitId) else {
                break;
            };
            let entry = UnitEntry::new(header, number);
            if let Some((signature, type_offset)) = entry.type_signature() {
                let offset = entry.offset().saturating_add(type_offset) as u64;
                // Linkers keep one of several equal units. If there are more, any of them will do.
                self.signatures
                    .entry((number, signature))
                    .or_insert(DieId { unit: id, offset });
            }
            self.units.push(entry);
            self.caches.push(OnceLock::new());
        }
        first
    }

    /// Returns the type with this signature. It prefers the same file, then the code object, then any other file.
    fn type_with_signature(&self, file: usize, signature: u64) -> Option<DieId> {
        let find = |file| self.signatures.get(&(file, signature)).copied();
        find(file).or_else(|| (0..self.files.len()).find_map(find))
    }
}

/// Decodes text of the input as UTF-8, and replaces invalid bytes. Only invalid text is copied, and a copy is truncated: a small file can refer to
/// one long string many times.
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match core::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let head = bytes.get(..512).unwrap_or(bytes);
            Cow::Owned(String::from_utf8_lossy(head).into_owned())
        }
    }
}

#[cfg(test)]
mod tests;
