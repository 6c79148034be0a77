//! Location lists: which expressions hold at which addresses.
//!
//! This module resolves addresses, tells the default entry from the bounded ones, and keeps where in its
//! section an expression stands. gimli decodes the entries of lists from before DWARF 5; those of DWARF 5 are
//! decoded here, because GCC has a kind of its own among them. Choosing an entry for a program location is
//! left to `resolver`. Sources: HET A.2.5.5; DWARF 5 §2.6.2, §7.29; DWARF 4 §2.6.2; GNU's split DWARF 4.

use core::ops::Range;

use fallible_iterator::FallibleIterator;
use gimli::constants as dw;
use gimli::{DebugAddrIndex, Expression, LocationListsOffset, RawLocListEntry, Reader, SectionId};

use super::id::UnitId;
use super::ranges::is_discarded;
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
#[non_exhaustive]
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
    raw: Encoded<'a>,
    /// What offsets count from.
    base: u64,
}

/// The entries of a list as they are encoded.
#[derive(Debug)]
enum Encoded<'a> {
    /// From before DWARF 5, also as GNU's split DWARF 4 has them.
    Old(gimli::RawLocListIter<Bytes<'a>>),
    /// Of DWARF 5: what is left of the section, nothing after the end of the list, and the size of an address in
    /// bytes.
    Kinds(Option<Bytes<'a>>, u8),
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
        let raw = match entry.header.version() {
            ..5 => file
                .dwarf
                .raw_locations(gimli, LocationListsOffset(offset))
                .map(Encoded::Old),
            5.. => {
                let mut input = file.loclists;
                let skipped = input.skip(offset);
                skipped.map(|()| Encoded::Kinds(Some(input), entry.header.address_size()))
            }
        }
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

impl<'a> Encoded<'a> {
    /// The next entry but the one that ends the list; after an error there is nothing more.
    fn next(&mut self) -> gimli::Result<Option<RawLocListEntry<Bytes<'a>>>> {
        match self {
            Encoded::Old(entries) => entries.next(),
            Encoded::Kinds(left, address_size) => {
                let Some(input) = left else { return Ok(None) };
                let entry = next_of_kind(input, *address_size);
                if !matches!(entry, Ok(Some(_))) {
                    *left = None;
                }
                entry
            }
        }
    }
}

/// The next entry of a list of DWARF 5 (§7.7.3), without GNU's view pairs: `DW_LLE_GNU_view_pair` says which of the
/// rows of the line table at the two addresses of the next entry are meant, and changes nothing of the addresses.
fn next_of_kind<'a>(
    input: &mut Bytes<'a>,
    address_size: u8,
) -> gimli::Result<Option<RawLocListEntry<Bytes<'a>>>> {
    use RawLocListEntry as Raw;
    let index = |input: &mut Bytes<'a>| -> gimli::Result<DebugAddrIndex<usize>> {
        let index = input.read_uleb128()?;
        let index = usize::try_from(index).map_err(|_| gimli::Error::UnsupportedOffset)?;
        Ok(DebugAddrIndex(index))
    };
    let expression = |input: &mut Bytes<'a>| -> gimli::Result<Expression<Bytes<'a>>> {
        let size = input.read_uleb128()?;
        let size = usize::try_from(size).map_err(|_| gimli::Error::UnsupportedOffset)?;
        Ok(Expression(input.split(size)?))
    };
    loop {
        return Ok(Some(match dw::DwLle(input.read_u8()?) {
            dw::DW_LLE_GNU_view_pair => {
                input.skip_leb128()?;
                input.skip_leb128()?;
                continue;
            }
            dw::DW_LLE_end_of_list => return Ok(None),
            dw::DW_LLE_base_addressx => Raw::BaseAddressx {
                addr: index(input)?,
            },
            dw::DW_LLE_startx_endx => Raw::StartxEndx {
                begin: index(input)?,
                end: index(input)?,
                data: expression(input)?,
            },
            dw::DW_LLE_startx_length => Raw::StartxLength {
                begin: index(input)?,
                length: input.read_uleb128()?,
                data: expression(input)?,
            },
            dw::DW_LLE_offset_pair => Raw::OffsetPair {
                begin: input.read_uleb128()?,
                end: input.read_uleb128()?,
                data: expression(input)?,
            },
            dw::DW_LLE_default_location => Raw::DefaultLocation {
                data: expression(input)?,
            },
            dw::DW_LLE_base_address => Raw::BaseAddress {
                addr: input.read_address(address_size)?,
            },
            dw::DW_LLE_start_end => Raw::StartEnd {
                begin: input.read_address(address_size)?,
                end: input.read_address(address_size)?,
                data: expression(input)?,
            },
            dw::DW_LLE_start_length => Raw::StartLength {
                begin: input.read_address(address_size)?,
                length: input.read_uleb128()?,
                data: expression(input)?,
            },
            unknown => return Err(gimli::Error::UnknownLocListsEntry(unknown)),
        }));
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

    fn address(&self, index: DebugAddrIndex<usize>) -> Result<u64> {
        let place = (self.section_name, self.offset as u64);
        self.info.indexed_address(self.unit, index, place)
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
