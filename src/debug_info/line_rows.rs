//! Holds the rows of line tables in little memory.
//!
//! Line tables take most of the memory of address lookups. A [`Row`] has 56 bytes, but most rows fit into 16. Other rows are stored whole in
//! addition.

use core::ops::Range;

use crate::error::{Error, Result};
use crate::meter::Held;

/// One row of a line table. Source: DWARF 5 §6.2.2.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The address, in the code object.
    pub address: u64,
    /// The number of the file in the table.
    pub file: u64,
    /// The line, from 1; 0 for code that belongs to no line.
    pub line: u64,
    /// The column, from 1; 0 for the line as a whole.
    pub column: u64,
    /// The instruction set.
    pub isa: u64,
    /// The number of the block among the blocks of the same line.
    pub discriminator: u64,
    /// True if it is a recommended place for a breakpoint.
    pub is_stmt: bool,
    /// True if a basic block starts here.
    pub basic_block: bool,
    /// True if the prologue of a function ends here.
    pub prologue_end: bool,
    /// True if the epilogue of a function starts here.
    pub epilogue_begin: bool,
    /// True if it is the first address after a sequence of instructions. It has no line of its own.
    pub end_sequence: bool,
}

/// The rows of a line table, in the order of its program.
#[derive(Debug, Default)]
pub(super) struct LineRows {
    /// 2^31 below the address of the first row, because a linker may move functions down.
    base: u64,
    rows: Vec<Packed>,
    /// The rows that do not fit.
    large: Vec<Row>,
}

/// A row, or the number of a large one.
#[derive(Clone, Copy, Debug, Default)]
struct Packed {
    /// The distance of the address from the base, or the index in `large`.
    place: u32,
    line: u32,
    file: u16,
    column: u16,
    discriminator: u16,
    isa: u8,
    flags: u8,
}

const IS_STMT: u8 = 1;
const BASIC_BLOCK: u8 = 1 << 1;
const PROLOGUE_END: u8 = 1 << 2;
const EPILOGUE_BEGIN: u8 = 1 << 3;
const END_SEQUENCE: u8 = 1 << 4;
/// A large row.
const LARGE: u8 = 1 << 7;

impl Packed {
    /// Returns `None` if the row does not fit.
    fn new(row: &Row, base: u64) -> Option<Packed> {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        Some(Packed {
            place: u32::try_from(row.address.checked_sub(base)?).ok()?,
            line: u32::try_from(row.line).ok()?,
            file: u16::try_from(row.file).ok()?,
            column: u16::try_from(row.column).ok()?,
            discriminator: u16::try_from(row.discriminator).ok()?,
            isa: u8::try_from(row.isa).ok()?,
            flags: flag(row.is_stmt, IS_STMT)
                | flag(row.basic_block, BASIC_BLOCK)
                | flag(row.prologue_end, PROLOGUE_END)
                | flag(row.epilogue_begin, EPILOGUE_BEGIN)
                | flag(row.end_sequence, END_SEQUENCE),
        })
    }

    /// Returns the entry for the large row with this index.
    fn large(index: usize) -> Result<Packed> {
        let place = u32::try_from(index).map_err(|_| {
            Error::malformed("line program", "more than 2^32 rows with large numbers")
        })?;
        Ok(Packed {
            place,
            flags: LARGE,
            ..Packed::default()
        })
    }

    fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

impl LineRows {
    /// Adds a row.
    ///
    /// # Errors
    /// If the memory exceeds a limit.
    pub(super) fn push(&mut self, row: &Row, held: &Held) -> Result<()> {
        if self.rows.is_empty() {
            self.base = row.address.saturating_sub(1 << 31);
        }
        held.hold_all::<Packed>(1)?;
        let packed = match Packed::new(row, self.base) {
            Some(packed) => packed,
            None => {
                held.hold_all::<Row>(1)?;
                let packed = Packed::large(self.large.len())?;
                self.large.push(*row);
                packed
            }
        };
        self.rows.push(packed);
        Ok(())
    }

    /// Releases the memory that was allocated for further rows.
    pub(super) fn shrink(&mut self) {
        self.rows.shrink_to_fit();
        self.large.shrink_to_fit();
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline]
    pub(super) fn get(&self, number: usize) -> Option<Row> {
        self.rows.get(number).map(|packed| self.row(*packed))
    }

    /// Returns the rows with these numbers.
    pub(super) fn each(
        &self,
        numbers: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = Row> + ExactSizeIterator + Clone {
        let packed = self.rows.get(numbers).unwrap_or_default().iter();
        packed.map(|packed| self.row(*packed))
    }

    #[inline]
    fn row(&self, packed: Packed) -> Row {
        if let Some(row) = self.large_row(packed) {
            return *row;
        }
        Row {
            address: self.base.wrapping_add(packed.place.into()),
            file: packed.file.into(),
            line: packed.line.into(),
            column: packed.column.into(),
            isa: packed.isa.into(),
            discriminator: packed.discriminator.into(),
            is_stmt: packed.has(IS_STMT),
            basic_block: packed.has(BASIC_BLOCK),
            prologue_end: packed.has(PROLOGUE_END),
            epilogue_begin: packed.has(EPILOGUE_BEGIN),
            end_sequence: packed.has(END_SEQUENCE),
        }
    }

    /// Returns the address of the row with a number.
    pub(super) fn address_of(&self, number: usize) -> Option<u64> {
        self.rows.get(number).map(|packed| self.address(*packed))
    }

    #[inline]
    fn address(&self, packed: Packed) -> u64 {
        match self.large_row(packed) {
            Some(row) => row.address,
            None => self.base.wrapping_add(packed.place.into()),
        }
    }

    #[inline]
    fn large_row(&self, packed: Packed) -> Option<&Row> {
        packed
            .has(LARGE)
            .then(|| self.large.get(packed.place as usize))?
    }

    /// Returns the number of the first of `rows` whose address is above `pc`, or `rows.end`. Their addresses must ascend.
    pub(super) fn first_after(&self, pc: u64, rows: Range<usize>) -> usize {
        let part = self.rows.get(rows.clone()).unwrap_or_default();
        let before = match pc.checked_sub(self.base) {
            // The usual case, which a lookup spends most of its time in.
            Some(distance) if self.large.is_empty() => {
                let distance = u32::try_from(distance).unwrap_or(u32::MAX);
                part.partition_point(|packed| packed.place <= distance)
            }
            Some(_) | None => part.partition_point(|packed| self.address(*packed) <= pc),
        };
        rows.start.saturating_add(before)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::limits::Limits;
    use crate::meter::Meter;

    fn row(address: u64, change: impl FnOnce(&mut Row)) -> Row {
        let mut row = Row {
            address,
            file: 1,
            line: 7,
            column: 3,
            isa: 0,
            discriminator: 0,
            is_stmt: false,
            basic_block: false,
            prologue_end: false,
            epilogue_begin: false,
            end_sequence: false,
        };
        change(&mut row);
        row
    }

    /// Each field has the largest number that fits, then the smallest that does not. DWARF limits none of them: DWARF 5 §6.2.2. Addresses fit from
    /// 2^31 below the first to 2^31 - 1 above it.
    #[test]
    fn rows_of_both_sizes_are_returned_unchanged() {
        let base = 0xffff_0000_0000;
        let (fit, large): (Vec<Row>, Vec<Row>) = (
            vec![
                row(base, |_| {}),
                row(base, |row| row.file = 0xffff),
                row(base, |row| row.line = 0xffff_ffff),
                row(base, |row| row.column = 0xffff),
                row(base, |row| row.isa = 0xff),
                row(base, |row| row.discriminator = 0xffff),
                row(base, |row| row.is_stmt = true),
                row(base, |row| row.basic_block = true),
                row(base, |row| row.prologue_end = true),
                row(base, |row| row.epilogue_begin = true),
                row(base - 0x8000_0000, |_| {}),
                row(base + 0x7fff_ffff, |row| row.end_sequence = true),
            ],
            vec![
                row(base - 0x8000_0001, |_| {}),
                row(base, |row| row.file = 0x1_0000),
                row(base, |row| row.line = 0x1_0000_0000),
                row(base, |row| row.column = 0x1_0000),
                row(base, |row| row.isa = 0x100),
                row(base, |row| row.discriminator = 0x1_0000),
                row(base + 0x8000_0000, |row| row.is_stmt = true),
                row(u64::MAX, |row| row.end_sequence = true),
            ],
        );
        let meter = Arc::new(Meter::new(&Limits::DEFAULT, 0));
        let held = Held::new(Arc::clone(&meter));
        let mut rows = LineRows::default();
        // Both kinds alternate.
        let mut all = Vec::new();
        for number in 0..fit.len() {
            all.extend(fit.get(number).into_iter().chain(large.get(number)));
        }
        for row in &all {
            rows.push(row, &held).unwrap();
        }
        assert_eq!(rows.each(0..all.len()).collect::<Vec<_>>(), all);
        assert_eq!(rows.get(all.len()), None);
        assert_eq!(rows.large, large);
        assert_eq!(size_of::<Packed>(), 16);
        assert_eq!(size_of::<Row>(), 56);
        assert_eq!(
            meter.bytes(),
            (fit.len() * 16 + large.len() * (16 + 56)) as u64
        );
    }

    #[test]
    fn the_row_of_an_address_is_found_among_rows_of_both_sizes() {
        let held = Held::new(Arc::new(Meter::new(&Limits::DEFAULT, 0)));
        let mut rows = LineRows::default();
        for address in [0x50, 0x10, 0x20, 0x20, 0x1_0000_0020, 0x1_0000_0051, 0] {
            rows.push(&row(address, |_| {}), &held).unwrap();
        }
        // Rows 1 to 5 ascend.
        let addresses = [
            0,
            0x10,
            0x1f,
            0x20,
            0x1_0000_001f,
            0x1_0000_0020,
            0x1_0000_0051,
        ];
        let found = addresses.map(|pc| rows.first_after(pc, 1..6));
        assert_eq!(found, [1, 2, 2, 4, 4, 5, 6]);
        // Without large rows, too, an address may be too far away to fit.
        let mut rows = LineRows::default();
        for address in [0x50, 0x60] {
            rows.push(&row(address, |_| {}), &held).unwrap();
        }
        let found = [0, 0x50, 0x60, u64::MAX].map(|pc| rows.first_after(pc, 0..2));
        assert_eq!(found, [0, 1, 2, 2]);
    }
}
