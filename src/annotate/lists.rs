//! Adds location lists at the end of a section.

use core::ops::Range;

use gimli::constants as dw;

use crate::expr::write_uleb;

/// The section that contains a unit's location lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ListKind {
    /// `.debug_loc`, of DWARF 4.
    Loc,
    /// `.debug_loclists`, of DWARF 5.
    LocLists,
}

impl ListKind {
    pub(super) const fn section(self) -> &'static str {
        match self {
            ListKind::Loc => ".debug_loc",
            ListKind::LocLists => ".debug_loclists",
        }
    }
}

/// An entry: an expression for a range of addresses.
pub(super) type Entry = (Range<u64>, Vec<u8>);

/// The location lists that are added to a section.
#[derive(Debug)]
pub(super) struct Lists {
    kind: ListKind,
    /// The offset of the added lists in the section, after the old contents and a header.
    start: usize,
    bytes: Vec<u8>,
}

/// The size of the header of a contribution to `.debug_loclists`, in bytes. Source: DWARF 5 §7.29.
const HEADER: usize = 12;

impl Lists {
    /// Creates an empty collection of lists that follow the lists of a section.
    pub(super) fn after(kind: ListKind, section: &[u8]) -> Lists {
        let header = match kind {
            ListKind::Loc => 0,
            ListKind::LocLists => HEADER,
        };
        Lists {
            kind,
            start: section.len().saturating_add(header),
            bytes: Vec::new(),
        }
    }

    /// Adds a list, and returns its offset in the section. Returns None if an expression is too long for the section.
    ///
    /// * `base`: the address of the function.
    pub(super) fn add(&mut self, base: u64, entries: &[Entry]) -> Option<usize> {
        let mut list = Vec::new();
        match self.kind {
            ListKind::Loc => {
                list.extend(u64::MAX.to_le_bytes());
                list.extend(base.to_le_bytes());
                for (range, expression) in entries {
                    for address in [range.start, range.end] {
                        list.extend(address.checked_sub(base)?.to_le_bytes());
                    }
                    list.extend(u16::try_from(expression.len()).ok()?.to_le_bytes());
                    list.extend(expression);
                }
                list.extend([0; 16]);
            }
            ListKind::LocLists => {
                list.push(dw::DW_LLE_base_address.0);
                list.extend(base.to_le_bytes());
                for (range, expression) in entries {
                    list.push(dw::DW_LLE_offset_pair.0);
                    for address in [range.start, range.end] {
                        write_uleb(address.checked_sub(base)?, &mut list);
                    }
                    write_uleb(expression.len() as u64, &mut list);
                    list.extend(expression);
                }
                list.push(dw::DW_LLE_end_of_list.0);
            }
        }
        let at = self.start.checked_add(self.bytes.len())?;
        self.bytes.extend(list);
        Some(at)
    }

    /// Returns the number of added bytes, as a mark for [`reset`](Lists::reset).
    pub(super) fn mark(&self) -> usize {
        self.bytes.len()
    }

    /// Removes the lists that were added after a mark.
    pub(super) fn reset(&mut self, mark: usize) {
        self.bytes.truncate(mark);
    }

    /// Returns true if no list was added.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the section with the added lists, or None if they are too long for 32-bit DWARF.
    pub(super) fn append_to(self, mut section: Vec<u8>) -> Option<Vec<u8>> {
        if self.kind == ListKind::LocLists {
            // The length field does not count itself.
            let length = self.bytes.len().checked_add(HEADER.saturating_sub(4))?;
            section.extend(u32::try_from(length).ok()?.to_le_bytes());
            section.extend(5_u16.to_le_bytes());
            // The size of an address, the size of a segment selector, and the number of offsets.
            section.extend([8, 0, 0, 0, 0, 0]);
        }
        section.extend(self.bytes);
        Some(section)
    }
}
