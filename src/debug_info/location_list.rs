//! Location lists: which expressions hold at which addresses.
//!
//! gimli decodes the entries; this module resolves addresses, tells the default entry from the bounded
//! ones, and keeps where in its section an expression stands. Choosing an entry for a program location is
//! left to `resolver`. Sources: HET A.2.5.5; DWARF 5 §2.6.2, §7.29; DWARF 4 §2.6.2; GNU's split DWARF 4.

use core::ops::Range;

use fallible_iterator::FallibleIterator;
use gimli::{LocationListsOffset, RawLocListEntry, SectionId};

use super::ranges::is_discarded;
use super::unit::UnitId;
use super::{Bytes, DebugInfo};
use crate::error::{Error, Result};
use crate::eval::{self, ExpressionBytes};

/// Where an expression of a location list holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocationRange {
    /// In these addresses of the code object. The range may be empty.
    Bounded(Range<u64>),
    /// Wherever no bounded entry of the list holds (`DW_LLE_default_location`).
    Default,
}

/// An entry of a location list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationEntry<'a> {
    /// Where the expression holds.
    pub range: LocationRange,
    /// The expression.
    pub expression: ExpressionBytes<'a>,
}

/// The entries of a location list; see [`DebugInfo::location_list`].
#[derive(Debug)]
pub struct LocationEntries<'d, 'a> {
    info: &'d DebugInfo<'a>,
    unit: UnitId,
    expressions: eval::Unit,
    section: SectionId,
    section_name: &'static str,
    whole: Bytes<'a>,
    offset: usize,
    raw: gimli::RawLocListIter<Bytes<'a>>,
    /// What offsets count from.
    base: u64,
}

impl<'a> DebugInfo<'a> {
    /// The entries of the location list at `offset` of the section that holds those of the unit:
    /// `.debug_loclists`, before DWARF 5 `.debug_loc`. Base addresses are applied, and entries for code
    /// that the linker threw away are left out.
    ///
    /// # Errors
    /// If the offset is outside the section. The iterator ends with its first error.
    pub fn location_list(&self, unit: UnitId, offset: u64) -> Result<LocationEntries<'_, 'a>> {
        let entry = self.entry(unit)?;
        let file = self.file(entry)?;
        let gimli = &self.contents(unit)?.gimli;
        let (section, whole) = if entry.header.version() < 5 {
            (SectionId::DebugLoc, file.loc)
        } else {
            (SectionId::DebugLocLists, file.loclists)
        };
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let raw = file
            .dwarf
            .raw_locations(gimli, LocationListsOffset(offset))
            .map_err(|error| file.error("location list", section, offset, error))?;
        Ok(LocationEntries {
            info: self,
            unit,
            expressions: self.eval_unit(unit)?,
            section,
            section_name: file.section_name(section),
            whole,
            offset,
            raw,
            base: gimli.low_pc,
        })
    }
}

impl<'a> LocationEntries<'_, 'a> {
    fn error(&self, error: gimli::Error) -> Error {
        let file = self.info.entry(self.unit);
        match file.and_then(|entry| self.info.file(entry)) {
            Ok(file) => file.error("location list", self.section, self.offset, error),
            Err(error) => error,
        }
    }

    fn address(&self, index: gimli::DebugAddrIndex<usize>) -> Result<u64> {
        let dwarf = &self.info.file(self.info.entry(self.unit)?)?.dwarf;
        let unit = &self.info.contents(self.unit)?.gimli;
        dwarf
            .address(unit, index)
            .map_err(|error| self.error(error))
    }

    /// Adds within the size of an address.
    fn add(&self, address: u64, offset: u64) -> u64 {
        let sum = address.wrapping_add(offset);
        if self.expressions.encoding.address_size == 4 {
            sum & u64::from(u32::MAX)
        } else {
            sum
        }
    }

    /// The range and expression of an entry; nothing for one that only sets the base address, or is for
    /// code that is not there.
    fn resolve(
        &mut self,
        entry: RawLocListEntry<Bytes<'a>>,
    ) -> Result<Option<(LocationRange, Bytes<'a>)>> {
        use RawLocListEntry as Raw;
        let (start, end, data) = match entry {
            Raw::BaseAddress { addr } => {
                self.base = addr;
                return Ok(None);
            }
            Raw::BaseAddressx { addr } => {
                self.base = self.address(addr)?;
                return Ok(None);
            }
            Raw::DefaultLocation { data } => return Ok(Some((LocationRange::Default, data.0))),
            Raw::AddressOrOffsetPair { begin, end, data }
            | Raw::OffsetPair { begin, end, data } => {
                if self.is_discarded(self.base) {
                    return Ok(None);
                }
                (self.add(self.base, begin), self.add(self.base, end), data)
            }
            Raw::StartxEndx { begin, end, data } => {
                (self.address(begin)?, self.address(end)?, data)
            }
            Raw::StartxLength {
                begin,
                length,
                data,
            } => {
                let start = self.address(begin)?;
                (start, self.add(start, length), data)
            }
            Raw::StartEnd { begin, end, data } => (begin, end, data),
            Raw::StartLength {
                begin,
                length,
                data,
            } => (begin, self.add(begin, length), data),
        };
        if self.is_discarded(start) {
            return Ok(None);
        }
        Ok(Some((LocationRange::Bounded(start..end), data.0)))
    }

    fn is_discarded(&self, address: u64) -> bool {
        is_discarded(address, self.expressions.encoding.address_size)
    }
}

impl<'a> FallibleIterator for LocationEntries<'_, 'a> {
    type Item = LocationEntry<'a>;
    type Error = Error;

    fn next(&mut self) -> Result<Option<LocationEntry<'a>>> {
        while let Some(entry) = self.raw.next().map_err(|error| self.error(error))? {
            if let Some((range, data)) = self.resolve(entry)? {
                let expression = ExpressionBytes {
                    bytes: data.slice(),
                    unit: self.expressions,
                    section: self.section_name,
                    offset: data.offset_from(self.whole) as u64,
                };
                return Ok(Some(LocationEntry { range, expression }));
            }
        }
        Ok(None)
    }
}
