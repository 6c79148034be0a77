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

/// The header of an index, and its tables.
pub(crate) struct PackageIndex<'a> {
    pub(crate) version: u32,
    pub(crate) units: u32,
    pub(crate) slots: u32,
    /// The section offset of the signatures.
    start: u64,
    signatures: &'a [[u8; 8]],
    /// The row of each slot, from 1; 0 for an empty slot.
    rows: &'a [[u8; 4]],
    /// The section of each column.
    sections: &'a [[u8; 4]],
    /// The parts of the units, row by row.
    offsets: &'a [[u8; 4]],
    sizes: &'a [[u8; 4]],
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
        let (columns, units, slots) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
        if !matches!(version, 2 | 5) {
            let reason = format!("unknown version {version}");
            return Err(Error::malformed("unit index", reason));
        }
        let start = cursor.position() as u64;
        let cells = u64::from(columns).saturating_mul(units.into());
        let mut tables = || {
            Some(PackageIndex {
                version,
                units,
                slots,
                start,
                signatures: table(&mut cursor, slots.into())?,
                rows: table(&mut cursor, slots.into())?,
                sections: table(&mut cursor, columns.into())?,
                offsets: table(&mut cursor, cells)?,
                sizes: table(&mut cursor, cells)?,
            })
        };
        tables().ok_or_else(|| {
            // The largest number is only for the message.
            let needed = u64::from(slots)
                .saturating_mul(12)
                .saturating_add(u64::from(columns).saturating_mul(4))
                .saturating_add(cells.saturating_mul(8));
            let reason = format!("its tables take {needed:#x} bytes, more than it has");
            Error::malformed("unit index", reason)
        })
    }

    /// Returns the name of a column, empty for an unknown one, and its number.
    pub(crate) fn column(&self, column: usize) -> (&'static str, u32) {
        let [old, new] = &COLUMNS;
        let names = if self.version == 5 { new } else { old };
        debug_assert!(column < self.column_count(), "{column}");
        let id = self.sections.get(column);
        let id = id.map_or(0, |id| u32::from_le_bytes(*id));
        let name = usize::try_from(id).ok().and_then(|id| names.get(id));
        (name.copied().unwrap_or_default(), id)
    }

    /// Returns how many slots the table of signatures has.
    pub(crate) fn slot_count(&self) -> usize {
        self.signatures.len()
    }

    /// Returns the number of sections of which the units have parts.
    pub(crate) fn column_count(&self) -> usize {
        self.sections.len()
    }

    /// Returns the signature in a slot, and its row, counted from 0, or `None` for an empty slot.
    pub(crate) fn slot(&self, slot: usize) -> Option<(u64, u32)> {
        let row = u32::from_le_bytes(*self.rows.get(slot)?).checked_sub(1)?;
        Some((u64::from_le_bytes(*self.signatures.get(slot)?), row))
    }

    /// Returns the section offset of the signature in a slot.
    pub(crate) fn signature_offset(&self, slot: usize) -> u64 {
        let before = self.signatures.get(..slot).unwrap_or(self.signatures);
        self.start
            .saturating_add(before.as_flattened().len() as u64)
    }

    /// Returns the offset and size of the part for a row and a column, both counted from 0, or `None` if there is no such row or column.
    pub(crate) fn part(&self, row: usize, column: usize) -> Option<(u32, u32)> {
        if column >= self.column_count() {
            return None;
        }
        let cell = |table: &[[u8; 4]]| {
            let cells = table.chunks(self.column_count()).nth(row)?;
            Some(u32::from_le_bytes(*cells.get(column)?))
        };
        Some((cell(self.offsets)?, cell(self.sizes)?))
    }
}

/// Reads a table with this many entries. Returns `None` if there are fewer.
fn table<'a, const N: usize>(cursor: &mut Cursor<'a>, count: u64) -> Option<&'a [[u8; N]]> {
    let (all, _) = cursor.rest().as_chunks();
    let table = all.get(..usize::try_from(count).ok()?)?;
    cursor.bytes(table.as_flattened().len() as u64).ok()?;
    Some(table)
}
