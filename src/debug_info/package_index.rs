//! The indices of a package as tables: `.debug_cu_index` and `.debug_tu_index`. Which part of each section belongs to a row is read here
//! field by field; for reading units gimli does it ([`package`](super::package)).
//!
//! Sources: DWARF 5 §7.3.5; for version 2 the description of GNU's extension, "DWARF Package File Format".

use crate::error::{Error, Result};
use crate::expr::Cursor;

/// The columns of version 2 and of version 5, by their numbers.
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

/// What the header of an index says, and where its tables are.
pub(crate) struct PackageIndex<'a> {
    pub(crate) version: u32,
    columns: u32,
    pub(crate) units: u32,
    pub(crate) slots: u32,
    bytes: &'a [u8],
    /// Where the signatures start.
    start: usize,
}

impl<'a> PackageIndex<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// If its version is not known, or its tables are not in the section.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<PackageIndex<'a>> {
        let mut cursor = Cursor::new(bytes);
        // From version 5 on the version has two bytes, and two that are not used follow.
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
            let reason = format!("version {version} is not known");
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

    /// Returns the number at an index of the table that starts so many bytes after the header.
    fn word(&self, table: usize, index: usize) -> u32 {
        let at = index
            .saturating_mul(4)
            .saturating_add(table)
            .saturating_add(self.start);
        let bytes = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// The name of a column, empty for one that is not known, and its number.
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

    /// Returns how many sections the units have parts of.
    pub(crate) fn column_count(&self) -> usize {
        usize::try_from(self.columns).unwrap_or(usize::MAX)
    }

    /// Returns the signature in a slot, and the row that it leads to, counted from 0; None of a slot that is empty.
    pub(crate) fn slot(&self, slot: usize) -> Option<(u64, u32)> {
        let row = self.word(self.slot_count().saturating_mul(8), slot);
        let row = row.checked_sub(1)?;
        let at = usize::try_from(self.signature_offset(slot)).unwrap_or(usize::MAX);
        let signature = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        let signature = signature.map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Some((signature, row))
    }

    /// Where the signature of a slot is in the section.
    pub(crate) fn signature_offset(&self, slot: usize) -> u64 {
        slot.saturating_mul(8).saturating_add(self.start) as u64
    }

    /// Returns the part of a row and a column, both counted from 0: where it starts, and its size. None if there is no such row or column.
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
