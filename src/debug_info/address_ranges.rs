//! Decodes the sets of `.debug_aranges`: the addresses that each unit claims to cover.
//!
//! Looking up an address in them is left to `address_index`, which ignores unreadable entries. This module decodes every field, for code that prints
//! or checks the section.
//!
//! gimli 0.34 is not used: it rejects headers with segment selectors or versions other than 2 and 3, which must be reported here. Nor does it give
//! the offset of a tuple, the tuple that ended the set, or the bytes after it. Source: DWARF 5 §6.1.2, §7.21.

use super::unit_length::UnitLength;
use crate::error::{Error, Result};
use crate::expr::Cursor;

/// The section.
pub(crate) const SECTION: &str = ".debug_aranges";

/// A set: a header, followed by tuples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AddressRangeSet<'a> {
    /// The offset of the set in the section.
    pub(crate) offset: u64,
    /// The length in the header: the number of bytes after the length field.
    #[cfg_attr(not(feature = "serde"), expect(dead_code, reason = "only shown"))]
    pub(crate) length: u64,
    /// 4 or 8: the size of offsets in bytes.
    pub(crate) offset_size: u8,
    pub(crate) version: u16,
    /// The offset of the unit in `.debug_info`.
    pub(crate) unit: u64,
    pub(crate) address_size: u8,
    pub(crate) segment_size: u8,
    /// The bytes from the first tuple to the end of the set, and their offset in the section.
    tuples: &'a [u8],
    tuples_at: u64,
    /// The offset of the next set.
    pub(crate) end: u64,
}

/// A tuple. A tuple of two zeros ends a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tuple {
    /// The offset of the tuple in the section.
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) length: u64,
}

impl Tuple {
    /// Returns true if this tuple ends the set.
    pub(crate) fn is_end(&self) -> bool {
        self.address == 0 && self.length == 0
    }
}

impl<'a> AddressRangeSet<'a> {
    /// Reads the header of the set at `offset` of the section. The caller checks versions and sizes.
    ///
    /// # Errors
    /// If the header is not in the section, or its length exceeds the section. The offset of the next set is unknown then.
    pub(crate) fn read(section: &'a [u8], offset: u64) -> Result<AddressRangeSet<'a>> {
        let place = |error: Error| error.within(SECTION, offset);
        let header = UnitLength::read(section, offset, "address range set").map_err(place)?;
        let UnitLength {
            length,
            offset_size,
            body,
        } = header;
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let start = body.start.saturating_sub(from);
        let body = section.get(body).unwrap_or_default();
        let mut cursor = Cursor::new(body);
        let version = cursor.u16().map_err(place)?;
        let unit = cursor.sized(offset_size).map_err(place)?;
        let address_size = cursor.u8().map_err(place)?;
        let segment_size = cursor.u8().map_err(place)?;
        // Tuples are aligned to their size, relative to the start of the set.
        let tuple = usize::from(address_size).saturating_mul(2).max(1);
        let header = start.saturating_add(cursor.position());
        let first = header.next_multiple_of(tuple).saturating_sub(start);
        Ok(AddressRangeSet {
            offset,
            length,
            offset_size,
            version,
            unit,
            address_size,
            segment_size,
            tuples: body.get(first..).unwrap_or_default(),
            tuples_at: offset
                .saturating_add(start as u64)
                .saturating_add(first as u64),
            end: offset.saturating_add(start as u64).saturating_add(length),
        })
    }

    /// Returns true if its tuples can be read: pairs of numbers of a supported size, without segment selectors.
    pub(crate) fn has_tuples(&self) -> bool {
        matches!(self.address_size, 2 | 4 | 8) && self.segment_size == 0
    }

    /// Returns the tuples up to and including the terminating one, or as many as the bytes allow.
    pub(crate) fn tuples(&self) -> impl Iterator<Item = Tuple> + use<'a> {
        let size = if self.has_tuples() {
            self.address_size
        } else {
            0
        };
        let mut cursor = Cursor::new(self.tuples);
        let start = self.tuples_at;
        let mut done = false;
        core::iter::from_fn(move || {
            if done {
                return None;
            }
            let offset = start.saturating_add(cursor.position() as u64);
            let (Ok(address), Ok(length)) = (cursor.sized(size), cursor.sized(size)) else {
                done = true;
                return None;
            };
            let tuple = Tuple {
                offset,
                address,
                length,
            };
            done = tuple.is_end();
            Some(tuple)
        })
    }

    /// Returns the number of bytes after the tuple that ends the set, or `None` if no tuple ends it.
    pub(crate) fn bytes_after_end(&self) -> Option<u64> {
        let end = self.tuples().find(Tuple::is_end)?;
        let size = u64::from(self.address_size).saturating_mul(2);
        Some(self.end.saturating_sub(end.offset.saturating_add(size)))
    }
}
