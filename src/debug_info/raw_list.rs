//! Decodes location and range lists, and computes the addresses of their entries.
//!
//! All lists are decoded here: for [`location_list`](super::location_list) and [`ranges`](super::ranges), which know a unit, and for dumps of
//! sections that no unit refers to. This module decodes the entries of location lists, because gimli does not know GCC's additional kind of entry.
//! gimli decodes the entries of range lists. Sources: DWARF 5 §2.6.2, §2.17.3, §7.7.3, §7.25; DWARF 4 §2.6.2, §2.17.3; GNU's split DWARF 4.

use core::ops::Range;

use gimli::constants as dw;
use gimli::{DwLle, RawRngListEntry};

use crate::error::{Error, Result};
use crate::expr::Cursor;

/// The addresses in an entry, as encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bounds {
    /// The base of the following offsets.
    Base(u64),
    /// A base address, as an index of `.debug_addr`.
    BaseIndex(u64),
    /// Two offsets from the base.
    Offsets(u64, u64),
    /// Indices of `.debug_addr`.
    Indices(u64, u64),
    /// An index of `.debug_addr`, and a length.
    IndexAndLength(u64, u64),
    /// Addresses.
    Addresses(u64, u64),
    /// An address, and a length.
    AddressAndLength(u64, u64),
    /// Any address that no other entry of the list covers.
    Default,
    /// GNU's entry that selects line table rows for the two ends of the next entry. It does not affect addresses.
    ViewPair(u64, u64),
}

impl From<RawRngListEntry<usize>> for Bounds {
    fn from(entry: RawRngListEntry<usize>) -> Bounds {
        use RawRngListEntry as Raw;
        match entry {
            Raw::BaseAddress { addr } => Bounds::Base(addr),
            Raw::BaseAddressx { addr } => Bounds::BaseIndex(addr.0 as u64),
            Raw::AddressOrOffsetPair { begin, end } | Raw::OffsetPair { begin, end } => {
                Bounds::Offsets(begin, end)
            }
            Raw::StartxEndx { begin, end } => Bounds::Indices(begin.0 as u64, end.0 as u64),
            Raw::StartxLength { begin, length } => Bounds::IndexAndLength(begin.0 as u64, length),
            Raw::StartEnd { begin, end } => Bounds::Addresses(begin, end),
            Raw::StartLength { begin, length } => Bounds::AddressAndLength(begin, length),
        }
    }
}

/// The base address for the offsets of a list, which its entries change as they are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base {
    /// `None` if it is unknown, because there is no unit or no table of addresses.
    address: Option<u64>,
    address_size: u8,
}

/// The addresses of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) range: Range<u64>,
    /// True if it is for code that the linker discarded.
    pub(crate) is_discarded: bool,
}

impl Base {
    /// Returns the base at the start of a list, for addresses of the given size.
    pub(crate) fn new(address: Option<u64>, address_size: u8) -> Base {
        Base {
            address,
            address_size,
        }
    }

    /// Returns the addresses of an entry, or `None` if it has none, or its base is unknown. `indexed` looks up an address in `.debug_addr`.
    ///
    /// # Errors
    /// If `indexed` fails.
    pub(crate) fn listed(
        &mut self,
        bounds: Bounds,
        mut indexed: impl FnMut(u64) -> Result<u64>,
    ) -> Result<Option<Listed>> {
        let size = self.address_size;
        let range = match bounds {
            Bounds::Base(address) => {
                self.address = Some(address);
                return Ok(None);
            }
            Bounds::BaseIndex(index) => {
                self.address = None;
                self.address = Some(indexed(index)?);
                return Ok(None);
            }
            Bounds::Default | Bounds::ViewPair(..) => return Ok(None),
            Bounds::Offsets(start, end) => {
                let Some(base) = self.address else {
                    return Ok(None);
                };
                let range = add(base, start, size)..add(base, end, size);
                return Ok(Some(Listed {
                    is_discarded: is_discarded(base, size) || is_discarded(range.start, size),
                    range,
                }));
            }
            Bounds::Indices(start, end) => indexed(start)?..indexed(end)?,
            Bounds::IndexAndLength(start, length) => {
                let start = indexed(start)?;
                start..add(start, length, size)
            }
            Bounds::Addresses(start, end) => start..end,
            Bounds::AddressAndLength(start, length) => start..add(start, length, size),
        };
        Ok(Some(Listed {
            is_discarded: is_discarded(range.start, size),
            range,
        }))
    }
}

/// Adds modulo the size of an address.
fn add(address: u64, offset: u64, size: u8) -> u64 {
    address.wrapping_add(offset) & highest(size)
}

/// Returns the highest address.
pub(crate) fn highest(size: u8) -> u64 {
    match size {
        1 => u8::MAX.into(),
        2 => u16::MAX.into(),
        4 => u32::MAX.into(),
        _ => u64::MAX,
    }
}

/// Returns true if an address stands for discarded code: one of the two highest addresses (DWARF 6 issue 200609.1). The second is for the lists of
/// DWARF 4, where the first has another meaning.
pub(super) fn is_discarded(address: u64, address_size: u8) -> bool {
    highest(address_size).wrapping_sub(address) <= 1
}

/// The encoding of a location list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocationFormat {
    /// Pairs of addresses: `.debug_loc` (DWARF 4 §2.6.2).
    Pairs,
    /// Kinds, in the numbering of GNU's split DWARF 4: `.debug_loc.dwo`.
    GnuSplit,
    /// Kinds: `.debug_loclists` (DWARF 5 §7.7.3).
    Kinds,
}

impl LocationFormat {
    /// Returns the format for a DWARF version, in a `.dwo` file or not.
    pub(crate) fn of(version: u16, split: bool) -> LocationFormat {
        match (version, split) {
            (5.., _) => LocationFormat::Kinds,
            (_, true) => LocationFormat::GnuSplit,
            (_, false) => LocationFormat::Pairs,
        }
    }
}

/// An entry of a location list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawLocation<'a> {
    /// `DW_LLE_…`, or `None` in pairs of addresses, which have no kinds.
    pub(crate) kind: Option<DwLle>,
    pub(crate) bounds: Bounds,
    /// The expression, and the expression's offset in the section.
    pub(crate) expression: Option<(u64, &'a [u8])>,
}

/// A location list being read.
#[derive(Debug)]
pub(crate) struct RawLocations<'a> {
    cursor: Cursor<'a>,
    section: &'static str,
    format: LocationFormat,
    address_size: u8,
    done: bool,
}

impl<'a> RawLocations<'a> {
    /// Starts reading the list at `offset` of a section. `bytes` is the section, or its beginning up to the limit of the list.
    ///
    /// # Errors
    /// If the offset is outside.
    pub(crate) fn new(
        section: &'static str,
        bytes: &'a [u8],
        offset: u64,
        format: LocationFormat,
        address_size: u8,
    ) -> Result<RawLocations<'a>> {
        let mut cursor = Cursor::new(bytes);
        usize::try_from(offset)
            .ok()
            .and_then(|offset| cursor.go_to(offset).ok())
            .ok_or_else(|| {
                let reason = "it would start after the end of its section";
                Error::malformed("location list", reason).within(section, offset)
            })?;
        Ok(RawLocations {
            cursor,
            section,
            format,
            address_size,
            done: false,
        })
    }

    /// Returns the offset of the next byte to read.
    pub(crate) fn offset(&self) -> u64 {
        self.cursor.position() as u64
    }

    /// Returns the next entry, or `None` at the end of the list and after an error.
    ///
    /// # Errors
    /// If the section ends within the entry, or its kind is unknown.
    pub(crate) fn next(&mut self) -> Result<Option<RawLocation<'a>>> {
        if self.done {
            return Ok(None);
        }
        let offset = self.offset();
        let entry = match self.format {
            LocationFormat::Pairs => self.pair(),
            LocationFormat::GnuSplit | LocationFormat::Kinds => self.of_kind(),
        };
        self.done = !matches!(entry, Ok(Some(_)));
        entry.map_err(|error| error.within(self.section, offset))
    }

    fn pair(&mut self) -> Result<Option<RawLocation<'a>>> {
        let start = self.cursor.sized(self.address_size)?;
        let end = self.cursor.sized(self.address_size)?;
        if start == 0 && end == 0 {
            return Ok(None);
        }
        let (bounds, expression) = if start == highest(self.address_size) {
            (Bounds::Base(end), None)
        } else {
            (Bounds::Offsets(start, end), Some(self.expression()?))
        };
        Ok(Some(RawLocation {
            kind: None,
            bounds,
            expression,
        }))
    }

    fn of_kind(&mut self) -> Result<Option<RawLocation<'a>>> {
        let input = &mut self.cursor;
        let kind = DwLle(input.u8()?);
        let bounds = match kind {
            dw::DW_LLE_end_of_list => return Ok(None),
            dw::DW_LLE_base_addressx => Bounds::BaseIndex(input.uleb()?),
            dw::DW_LLE_startx_endx => Bounds::Indices(input.uleb()?, input.uleb()?),
            dw::DW_LLE_startx_length => Bounds::IndexAndLength(
                input.uleb()?,
                match self.format {
                    LocationFormat::GnuSplit => input.u32()?.into(),
                    LocationFormat::Pairs | LocationFormat::Kinds => input.uleb()?,
                },
            ),
            dw::DW_LLE_offset_pair => Bounds::Offsets(input.uleb()?, input.uleb()?),
            dw::DW_LLE_default_location => Bounds::Default,
            dw::DW_LLE_base_address => Bounds::Base(input.sized(self.address_size)?),
            dw::DW_LLE_start_end => Bounds::Addresses(
                input.sized(self.address_size)?,
                input.sized(self.address_size)?,
            ),
            dw::DW_LLE_start_length => {
                Bounds::AddressAndLength(input.sized(self.address_size)?, input.uleb()?)
            }
            dw::DW_LLE_GNU_view_pair => Bounds::ViewPair(input.uleb()?, input.uleb()?),
            DwLle(code) => {
                let reason = format!("unknown kind {code:#04x}");
                return Err(Error::malformed("location list entry", reason));
            }
        };
        let is_location = !matches!(
            bounds,
            Bounds::Base(_) | Bounds::BaseIndex(_) | Bounds::ViewPair(..)
        );
        let expression = is_location.then(|| self.expression()).transpose()?;
        Ok(Some(RawLocation {
            kind: Some(kind),
            bounds,
            expression,
        }))
    }

    /// Reads an expression after its length. Returns it with its offset.
    fn expression(&mut self) -> Result<(u64, &'a [u8])> {
        let size = match self.format {
            LocationFormat::Kinds => self.cursor.uleb()?,
            LocationFormat::Pairs | LocationFormat::GnuSplit => self.cursor.u16()?.into(),
        };
        Ok((self.offset(), self.cursor.bytes(size)?))
    }
}
