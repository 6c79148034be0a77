//! Decodes entries of range lists with their offsets.
//!
//! The library reads range lists with gimli, which does not return offsets. Sources: DWARF 5 §2.17.3, §7.25; DWARF 4 §2.17.3.

use gimli::DwRle;
use gimli::constants as dw;

use crate::debug_info::raw_list::{Bounds, highest};
use crate::error::{Error, Result};
use crate::expr::Cursor;

/// An entry of a range list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawRange {
    /// The offset of the entry.
    pub(super) offset: u64,
    /// The offset of its first operand.
    pub(super) operand: u64,
    /// The kind. Entries before DWARF 5 are [`DW_RLE_offset_pair`](dw::DW_RLE_offset_pair), `DW_RLE_base_address` or the end.
    pub(super) kind: DwRle,
    pub(super) first: u64,
    pub(super) second: u64,
}

impl RawRange {
    /// Reads the entry at the cursor, of DWARF 5.
    ///
    /// # Errors
    /// If the section ends in it, or its kind is unknown.
    pub(super) fn read(cursor: &mut Cursor<'_>, address_size: u8) -> Result<RawRange> {
        let offset = cursor.position() as u64;
        let kind = DwRle(cursor.u8()?);
        let operand = cursor.position() as u64;
        let (first, second) = match kind {
            dw::DW_RLE_end_of_list => (0, 0),
            dw::DW_RLE_base_addressx => (cursor.uleb()?, 0),
            dw::DW_RLE_startx_endx | dw::DW_RLE_startx_length | dw::DW_RLE_offset_pair => {
                (cursor.uleb()?, cursor.uleb()?)
            }
            dw::DW_RLE_base_address => (cursor.sized(address_size)?, 0),
            dw::DW_RLE_start_end => (cursor.sized(address_size)?, cursor.sized(address_size)?),
            dw::DW_RLE_start_length => (cursor.sized(address_size)?, cursor.uleb()?),
            DwRle(code) => {
                let reason = format!("unknown kind {code:#04x}");
                return Err(Error::malformed("range list entry", reason));
            }
        };
        Ok(RawRange {
            offset,
            operand,
            kind,
            first,
            second,
        })
    }

    /// Reads the pair at the cursor, from before DWARF 5.
    ///
    /// # Errors
    /// If the section ends in it.
    pub(super) fn read_pair(cursor: &mut Cursor<'_>, address_size: u8) -> Result<RawRange> {
        let offset = cursor.position() as u64;
        let (first, second) = (cursor.sized(address_size)?, cursor.sized(address_size)?);
        let (kind, first, second) = match (first, second) {
            (0, 0) => (dw::DW_RLE_end_of_list, 0, 0),
            (first, base) if first == highest(address_size) => (dw::DW_RLE_base_address, base, 0),
            pair => (dw::DW_RLE_offset_pair, pair.0, pair.1),
        };
        let operand = match kind {
            dw::DW_RLE_base_address => offset.saturating_add(address_size.into()),
            _ => offset,
        };
        Ok(RawRange {
            offset,
            operand,
            kind,
            first,
            second,
        })
    }

    /// Returns its addresses, or `None` if it ends the list.
    pub(super) fn bounds(&self) -> Option<Bounds> {
        let (first, second) = (self.first, self.second);
        Some(match self.kind {
            dw::DW_RLE_base_addressx => Bounds::BaseIndex(first),
            dw::DW_RLE_startx_endx => Bounds::Indices(first, second),
            dw::DW_RLE_startx_length => Bounds::IndexAndLength(first, second),
            dw::DW_RLE_offset_pair => Bounds::Offsets(first, second),
            dw::DW_RLE_base_address => Bounds::Base(first),
            dw::DW_RLE_start_end => Bounds::Addresses(first, second),
            dw::DW_RLE_start_length => Bounds::AddressAndLength(first, second),
            _ => return None,
        })
    }

    /// Returns its operands.
    pub(super) fn operands(&self) -> impl Iterator<Item = u64> {
        let count = match self.kind {
            dw::DW_RLE_end_of_list => 0,
            dw::DW_RLE_base_addressx | dw::DW_RLE_base_address => 1,
            _ => 2,
        };
        [self.first, self.second].into_iter().take(count)
    }

    /// Returns the name of its kind.
    pub(super) fn name(&self) -> &'static str {
        self.kind.static_string().unwrap_or_default()
    }
}
