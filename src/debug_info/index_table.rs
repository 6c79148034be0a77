//! Checks indices into tables: a unit's part of `.debug_str_offsets`, `.debug_addr`, `.debug_loclists` and `.debug_rnglists`.
//!
//! A unit gives the offset at which the entries of its table start, after a header with their number. A section consists of such parts for several
//! units, so an index that is too large would find an entry of another unit. Interpreting the entries is left to the callers. Sources: DWARF 5 §7.26
//! to §7.29, §7.5.5 (the forms), §3.1.1 (the attributes). Before DWARF 5 there were no headers, and nothing is checked.

use core::fmt;
use core::ops::Range;

use gimli::{AttributeValue, Section};

use super::file::File;
use super::id::UnitId;
use super::package::{Contributions, Part as Contribution, bounds};
use super::unit_length::UnitLength;
use super::{Bytes, DebugInfo};
use crate::error::{Error, Origin, Result};

/// A kind of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexTable {
    /// Offsets of strings: `DW_FORM_strx`.
    Strings,
    /// Addresses: `DW_FORM_addrx`, and the indices in expressions and lists.
    Addresses,
    /// Offsets of location lists: `DW_FORM_loclistx`.
    LocationLists,
    /// Offsets of range lists: `DW_FORM_rnglistx`.
    RangeLists,
}

/// A unit's share of an indexed section.
#[derive(Clone, Copy, Debug)]
enum OfUnit {
    /// The whole section, which is not divided by the package.
    Whole,
    /// This part of a package's section.
    Part(Contribution),
    Nothing,
}

impl IndexTable {
    /// All tables, in the order of their numbers.
    pub(crate) const ALL: [IndexTable; 4] = [
        IndexTable::Strings,
        IndexTable::Addresses,
        IndexTable::LocationLists,
        IndexTable::RangeLists,
    ];

    /// Returns the attribute with the offset at which a unit's entries start.
    pub(crate) const fn base(self) -> &'static str {
        match self {
            IndexTable::Strings => "DW_AT_str_offsets_base",
            IndexTable::Addresses => "DW_AT_addr_base",
            IndexTable::LocationLists => "DW_AT_loclists_base",
            IndexTable::RangeLists => "DW_AT_rnglists_base",
        }
    }

    /// Returns the name of an index for error messages.
    const fn what(self) -> &'static str {
        match self {
            IndexTable::Strings => "string index",
            IndexTable::Addresses => "address index",
            IndexTable::LocationLists | IndexTable::RangeLists => "list index",
        }
    }

    /// Returns the section, as a code object has it.
    const fn section(self) -> &'static str {
        match self {
            IndexTable::Strings => ".debug_str_offsets",
            IndexTable::Addresses => ".debug_addr",
            IndexTable::LocationLists => ".debug_loclists",
            IndexTable::RangeLists => ".debug_rnglists",
        }
    }

    /// Returns the number of bytes between the length and the first entry: a version, and sizes or padding. Lists also have the count of offsets.
    const fn header_size(self) -> usize {
        match self {
            IndexTable::Strings | IndexTable::Addresses => 4,
            IndexTable::LocationLists | IndexTable::RangeLists => 8,
        }
    }

    /// Returns a unit's share of the section in a package.
    fn contribution(self, parts: &Contributions) -> OfUnit {
        let part = match self {
            IndexTable::Strings => parts.string_offsets,
            IndexTable::Addresses => return OfUnit::Whole,
            IndexTable::LocationLists => parts.locations,
            IndexTable::RangeLists => parts.ranges,
        };
        part.map_or(OfUnit::Nothing, OfUnit::Part)
    }

    fn bytes<'a>(self, file: &File<'a>) -> &'a [u8] {
        match self {
            IndexTable::Strings => file.dwarf.debug_str_offsets.reader().slice(),
            IndexTable::Addresses => file.dwarf.debug_addr.reader().slice(),
            IndexTable::LocationLists => file.loclists.slice(),
            IndexTable::RangeLists => file.rnglists.slice(),
        }
    }
}

/// The fault of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexFault {
    /// The unit has no attribute for the start of its entries.
    NoBase(IndexTable),
    /// No header of a table precedes the offset in the unit.
    NoTable(IndexTable, usize),
    /// The index exceeds the number of entries.
    Outside {
        /// The table.
        table: IndexTable,
        /// The index.
        index: usize,
        /// The number of entries.
        count: usize,
    },
    /// The list would start outside of the unit's part of the section.
    ListOutside {
        /// The table.
        table: IndexTable,
        /// The index.
        index: usize,
        /// The offset in the section, from the entry.
        offset: u64,
    },
}

impl IndexFault {
    /// Returns the table.
    pub(crate) const fn table(self) -> IndexTable {
        match self {
            IndexFault::NoBase(table)
            | IndexFault::NoTable(table, _)
            | IndexFault::Outside { table, .. }
            | IndexFault::ListOutside { table, .. } => table,
        }
    }
}

impl fmt::Display for IndexFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let section = self.table().section();
        match *self {
            IndexFault::NoBase(table) => write!(f, "the unit has no {}", table.base()),
            IndexFault::NoTable(table, base) => write!(
                f,
                "{} is {base:#x}, and no table of {section} has its entries there",
                table.base()
            ),
            IndexFault::Outside { index, count, .. } => write!(
                f,
                "the index {index} is outside of the unit's {count} entries in {section}"
            ),
            IndexFault::ListOutside { index, offset, .. } => write!(
                f,
                "the index {index} leads to {offset:#x}, outside of the unit's part of {section}"
            ),
        }
    }
}

/// A unit's part of the section of a table.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The offset at which the entries start.
    base: usize,
    count: usize,
    /// The end of the part.
    end: usize,
    /// The size of an entry in bytes.
    size: usize,
}

/// A unit's parts of the sections of all tables, or their faults. `None` if there is no such table, as before DWARF 5.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexTables([Option<core::result::Result<Part, IndexFault>>; 4]);

impl IndexTables {
    /// * `parts`: the parts of a unit in a package, which must contain its tables.
    pub(super) fn new(
        unit: &gimli::Unit<Bytes<'_>>,
        file: &File<'_>,
        parts: Option<&Contributions>,
    ) -> IndexTables {
        let encoding = unit.encoding();
        if encoding.version < 5 {
            let strings = parts.map(|parts| {
                let table = IndexTable::Strings;
                let part = parts.string_offsets;
                part.map(|part| Part::without_header(bounds(part), encoding))
                    .ok_or(IndexFault::NoBase(table))
            });
            return IndexTables([strings, None, None, None]);
        }
        IndexTables(IndexTable::ALL.map(|table| {
            let base = match table {
                IndexTable::Strings => unit.str_offsets_base.0,
                IndexTable::Addresses => unit.addr_base.0,
                IndexTable::LocationLists => unit.loclists_base.0,
                IndexTable::RangeLists => unit.rnglists_base.0,
            };
            if base == 0 {
                return Some(Err(IndexFault::NoBase(table)));
            }
            let fault = IndexFault::NoTable(table, base);
            let part = Part::read(table, table.bytes(file), base, encoding);
            let part = part.filter(|part| match parts {
                Some(parts) => part.is_within(table.contribution(parts)),
                None => true,
            });
            Some(part.ok_or(fault))
        }))
    }

    /// Returns the offset of an entry in its section, or `None` if this table does not give it.
    fn place(
        &self,
        table: IndexTable,
        index: usize,
    ) -> core::result::Result<Option<(Part, usize)>, IndexFault> {
        let [strings, addresses, locations, ranges] = &self.0;
        let part = match table {
            IndexTable::Strings => strings,
            IndexTable::Addresses => addresses,
            IndexTable::LocationLists => locations,
            IndexTable::RangeLists => ranges,
        };
        let Some(part) = *part else {
            return Ok(None);
        };
        let part = part?;
        let count = part.count;
        let outside = IndexFault::Outside {
            table,
            index,
            count,
        };
        if index >= count {
            return Err(outside);
        }
        let place = index
            .checked_mul(part.size)
            .and_then(|at| at.checked_add(part.base));
        Ok(Some((part, place.ok_or(outside)?)))
    }

    /// Checks that the table has an entry with this index. A list that it refers to must be in the unit's part.
    pub(super) fn check(
        &self,
        table: IndexTable,
        index: usize,
        file: &File<'_>,
    ) -> core::result::Result<(), IndexFault> {
        let Some((part, place)) = self.place(table, index)? else {
            return Ok(());
        };
        match table {
            IndexTable::Strings | IndexTable::Addresses => Ok(()),
            IndexTable::LocationLists | IndexTable::RangeLists => {
                let bytes = table.bytes(file).get(place..).unwrap_or_default();
                let entry = number(bytes, part.size).unwrap_or(u64::MAX);
                let offset = entry.saturating_add(part.base as u64);
                // The lists are after the offsets.
                let offsets = part.count.saturating_mul(part.size) as u64;
                if entry >= offsets && offset < part.end as u64 {
                    return Ok(());
                }
                Err(IndexFault::ListOutside {
                    table,
                    index,
                    offset,
                })
            }
        }
    }
}

impl Part {
    /// Returns a table from GNU's extension of DWARF 4. It has no header; the index of a package locates it.
    fn without_header(bounds: Range<usize>, encoding: gimli::Encoding) -> Part {
        let size = usize::from(encoding.format.word_size());
        Part {
            base: bounds.start,
            count: bounds.len().checked_div(size).unwrap_or(0),
            end: bounds.end,
            size,
        }
    }

    /// Returns true if the table is within the unit's share of the section.
    fn is_within(&self, of: OfUnit) -> bool {
        match of {
            OfUnit::Whole => true,
            OfUnit::Nothing => false,
            OfUnit::Part(part) => self.base > part.start() && self.end <= part.end(),
        }
    }

    // gimli 0.34 is not used: it finds headers of `.debug_addr` only from the start of the section, and headers of `.debug_str_offsets` not at all.
    // For the other two, its `ListsHeader::parse` rejects a nonzero segment selector size, although entries have no selectors and the lists are
    // readable.
    /// Returns the part whose entries start at `base`, or `None` if no valid header ends there.
    fn read(
        table: IndexTable,
        bytes: &[u8],
        base: usize,
        encoding: gimli::Encoding,
    ) -> Option<Part> {
        let offset_size = usize::from(encoding.format.word_size());
        let body = base.checked_sub(table.header_size())?;
        let start = body.checked_sub(encoding.format.initial_length_size().into())?;
        let length = UnitLength::read(bytes, start as u64, table.section()).ok()?;
        let end = length.body.end;
        let header = bytes.get(body..base)?;
        if length.body.start != body || end < base || number(header, 2)? != 5 {
            return None;
        }
        let room = end.checked_sub(base)?;
        let address_size = usize::from(encoding.address_size);
        let has_size = || header.get(2) == Some(&encoding.address_size);
        let (size, count) = match table {
            IndexTable::Strings => (offset_size, room.checked_div(offset_size)?),
            IndexTable::Addresses => {
                let count = room.checked_div(address_size)?;
                (address_size, has_size().then_some(count)?)
            }
            IndexTable::LocationLists | IndexTable::RangeLists => {
                let count = usize::try_from(number(header.get(4..)?, 4)?).ok()?;
                let fits = has_size() && count.checked_mul(offset_size)? <= room;
                (offset_size, fits.then_some(count)?)
            }
        };
        Some(Part {
            base,
            count,
            end,
            size,
        })
    }
}

/// Reads a number of the given size at the start of `bytes`.
fn number(bytes: &[u8], size: usize) -> Option<u64> {
    let digits = bytes.get(..size)?.iter().rev();
    Some(digits.fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

impl<'a> DebugInfo<'a> {
    /// Checks that a table of a unit has an entry with this index. A list that it refers to must be in the unit's part of its section. Before DWARF 5
    /// nothing is checked.
    ///
    /// # Errors
    /// If the unit cannot be read. The inner result has the fault of the index.
    pub(crate) fn check_index(
        &self,
        unit: UnitId,
        table: IndexTable,
        index: usize,
    ) -> Result<core::result::Result<(), IndexFault>> {
        let file = self.file(self.entry(unit)?)?;
        Ok(self.contents(unit)?.tables.check(table, index, file))
    }

    /// Returns the address with an index in the unit's table. Errors are reported at `place`.
    pub(super) fn indexed_address(&self, unit: UnitId, index: u64, place: &Origin) -> Result<u64> {
        let table = IndexTable::Addresses;
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        self.check_index(unit, table, index)?
            .map_err(|fault| index_error(fault, place))?;
        let dwarf = &self.file(self.entry(unit)?)?.dwarf;
        let unit = &self.contents(unit)?.gimli;
        let found = dwarf.address(unit, gimli::DebugAddrIndex(index));
        found.map_err(|error| {
            Error::malformed(table.what(), error.to_string()).within(place.section, place.offset)
        })
    }
}

/// Returns the table and the index in an attribute's value, or `None` for other values.
pub(crate) fn index_of(value: &AttributeValue<Bytes<'_>>) -> Option<(IndexTable, usize)> {
    use AttributeValue as V;
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "four classes have forms with an index"
    )]
    Some(match value {
        V::DebugStrOffsetsIndex(index) => (IndexTable::Strings, index.0),
        V::DebugAddrIndex(index) => (IndexTable::Addresses, index.0),
        V::DebugLocListsIndex(index) => (IndexTable::LocationLists, index.0),
        V::DebugRngListsIndex(index) => (IndexTable::RangeLists, index.0),
        _ => return None,
    })
}

/// Returns an error about an index of an entry.
pub(super) fn index_error(fault: IndexFault, entry: &Origin) -> Error {
    Error::malformed(fault.table().what(), fault.to_string()).within(entry.section, entry.offset)
}
