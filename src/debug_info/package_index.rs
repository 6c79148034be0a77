//! Decodes the indices of a package, `.debug_cu_index` and `.debug_tu_index`, as tables. This module decodes every field, to print them; to read
//! units, [`package`](super::package) uses gimli.
//!
//! Sources: DWARF 5 §7.3.5; for version 2 the description of GNU's extension, "DWARF Package File Format".

use crate::error::{Error, Result};
use crate::expr::Cursor;

/// The names of the columns in version 2 and in version 5, by number.
const COLUMNS: [[&str; 9]; 2] = [
    [
        "",
        "INFO",
        "TYPES",
        "ABBREV",
        "LINE",
        "LOC",
        "STR_OFFSETS",
        "MACINFO",
        "MACRO",
    ],
    [
        "",
        "INFO",
        "",
        "ABBREV",
        "LINE",
        "LOCLISTS",
        "STR_OFFSETS",
        "MACRO",
        "RNGLISTS",
    ],
];

/// The header of an index, and the offsets of its tables.
pub(crate) struct PackageIndex<'a> {
    pub(crate) version: u32,
    columns: u32,
    pub(crate) units: u32,
    pub(crate) slots: u32,
    bytes: &'a [u8],
    /// The offset of the signatures.
    start: usize,
}

impl<'a> PackageIndex<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// If its version is unknown, or its tables are not in the section.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<PackageIndex<'a>> {
        let mut cursor = Cursor::new(bytes);
        // From version 5 on the version has two bytes, and two unused ones follow.
        let version = match cursor.u32()? {
            2 => 2,
            other => other & 0xffff,
        };
        let index = PackageIndex {
            version,
            columns: cursor.u32()?,
            units: cursor.u32()?,
            slots: cursor.u32()?,
            bytes,
            start: cursor.position(),
        };
        if !matches!(version, 2 | 5) {
            let reason = format!("unknown version {version}");
            return Err(Error::malformed("unit index", reason));
        }
        let cells = u64::from(index.columns).saturating_mul(index.units.into());
        let needed = u64::from(index.slots)
            .saturating_mul(12)
            .saturating_add(u64::from(index.columns).saturating_mul(4))
            .saturating_add(cells.saturating_mul(8));
        if needed > bytes.len().saturating_sub(index.start) as u64 {
            let reason = format!("its tables take {needed:#x} bytes, more than it has");
            return Err(Error::malformed("unit index", reason));
        }
        Ok(index)
    }

    /// Returns the number at an index of the table that starts at this offset from the header.
    fn word(&self, table: usize, index: usize) -> u32 {
        let at = index
            .saturating_mul(4)
            .saturating_add(table)
            .saturating_add(self.start);
        let bytes = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// Returns the name of a column, empty for an unknown one, and its number.
    pub(crate) fn column(&self, column: usize) -> (&'static str, u32) {
        let [old, new] = &COLUMNS;
        let names = if self.version == 5 { new } else { old };
        let id = self.word(self.slot_count().saturating_mul(12), column);
        let at = usize::try_from(id).unwrap_or(usize::MAX);
        (names.get(at).copied().unwrap_or_default(), id)
    }

    /// Returns how many slots the table of signatures has.
    pub(crate) fn slot_count(&self) -> usize {
        usize::try_from(self.slots).unwrap_or(usize::MAX)
    }

    /// Returns the number of sections of which the units have parts.
    pub(crate) fn column_count(&self) -> usize {
        usize::try_from(self.columns).unwrap_or(usize::MAX)
    }

    /// Returns the signature in a slot, and its row, counted from 0, or `None` for an empty slot.
    pub(crate) fn slot(&self, slot: usize) -> Option<(u64, u32)> {
        let row = self.word(self.slot_count().saturating_mul(8), slot);
        let row = row.checked_sub(1)?;
        let at = usize::try_from(self.signature_offset(slot)).unwrap_or(usize::MAX);
        let signature = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        let signature = signature.map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Some((signature, row))
    }

    /// Returns the section offset of the signature in a slot.
    pub(crate) fn signature_offset(&self, slot: usize) -> u64 {
        slot.saturating_mul(8).saturating_add(self.start) as u64
    }

    /// Returns the offset and size of the part for a row and a column, both counted from 0, or `None` if there is no such row or column.
    pub(crate) fn part(&self, row: usize, column: usize) -> Option<(u32, u32)> {
        let columns = self.column_count();
        let units = usize::try_from(self.units).unwrap_or(usize::MAX);
        if row >= units || column >= columns {
            return None;
        }
        let ids = self.slot_count().saturating_mul(12);
        let offsets = ids.saturating_add(columns.saturating_mul(4));
        let cells = columns.saturating_mul(units);
        let sizes = offsets.saturating_add(cells.saturating_mul(4));
        let cell = row.saturating_mul(columns).saturating_add(column);
        Some((self.word(offsets, cell), self.word(sizes, cell)))
    }
}
