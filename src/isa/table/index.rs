//! Looks up instructions by their opcodes.
//!
//! The head of the folder explains the rows. The compiler computes a list of places for each generation from the opcodes, so that nothing
//! is computed when a program starts.

use super::{____, Column, Encoding, Row, rows};

/// The rows of all encodings and generations.
pub(super) static ROWS: [Row; rows::ENTRIES.len()] = made_rows();

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, which refuses what overflows; the length of all texts is asserted"
)]
const fn made_rows() -> [Row; rows::ENTRIES.len()] {
    let mut made = [Row::NONE; rows::ENTRIES.len()];
    let (mut place, mut start) = (0, 0);
    while place < made.len() {
        let entry = &rows::ENTRIES[place];
        made[place] = Row {
            shape: entry.shape,
            flags: entry.flags,
            op: entry.op,
            text: Text(start as u32),
        };
        start += entry.text_length + 1;
        place += 1;
    }
    assert!(start < u32::MAX as usize, "a text has no place");
    made
}

/// The first place in [`PLACES`] and the number of places, for each encoding.
pub(super) type Spans = [(u16, u16); Encoding::COUNT];

/// The spans of all columns, in succession: an encoding has a place for each opcode up to the largest.
const SPANS: [Spans; Column::COUNT] = made_spans();

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, which refuses what overflows"
)]
const fn made_spans() -> [Spans; Column::COUNT] {
    let mut spans = [[(0, 0); Encoding::COUNT]; Column::COUNT];
    let mut place = 0;
    while place < rows::ENTRIES.len() {
        let entry = &rows::ENTRIES[place];
        let mut column = 0;
        while column < Column::COUNT {
            let opcode = entry.opcodes[column];
            let (_, length) = &mut spans[column][entry.encoding as usize];
            if opcode != ____ && *length <= opcode {
                *length = opcode + 1;
            }
            column += 1;
        }
        place += 1;
    }
    let (mut column, mut next) = (0, 0);
    while column < Column::COUNT {
        let mut encoding = 0;
        while encoding < Encoding::COUNT {
            let (start, length) = &mut spans[column][encoding];
            *start = next;
            next += *length;
            encoding += 1;
        }
        column += 1;
    }
    spans
}

/// A place without a row.
const NOWHERE: u16 = u16::MAX;

/// The index in [`ROWS`] for each opcode, see [`SPANS`]; [`NOWHERE`] for unused opcodes.
static PLACES: [u16; last_place()] = made_places();

#[expect(
    clippy::arithmetic_side_effects,
    reason = "evaluated by the compiler, which refuses what overflows"
)]
const fn last_place() -> usize {
    let [.., [.., (start, length)]] = SPANS;
    start as usize + length as usize
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, which refuses what overflows; the number of rows is asserted"
)]
const fn made_places() -> [u16; last_place()] {
    let mut places = [NOWHERE; last_place()];
    assert!(rows::ENTRIES.len() < NOWHERE as usize, "a row has no place");
    let mut place = 0;
    while place < rows::ENTRIES.len() {
        let entry = &rows::ENTRIES[place];
        let mut column = 0;
        while column < Column::COUNT {
            let opcode = entry.opcodes[column];
            if opcode != ____ {
                let (start, _) = SPANS[column][entry.encoding as usize];
                let slot = &mut places[(start + opcode) as usize];
                assert!(*slot == NOWHERE, "two rows have the same opcode");
                *slot = place as u16;
            }
            column += 1;
        }
        place += 1;
    }
    places
}

/// Returns the spans of a column.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
pub(super) const fn spans(column: Column) -> Spans {
    SPANS[column as usize]
}

/// Returns the row of an opcode of the encoding that has this span.
pub(super) fn row(&(start, length): &(u16, u16), opcode: u16) -> Option<&'static Row> {
    if opcode >= length {
        return None;
    }
    let place = PLACES.get(usize::from(start).wrapping_add(opcode.into()))?;
    ROWS.get(usize::from(*place))
}

/// The offset of a row's text in [`rows::TEXTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::isa) struct Text(pub(super) u32);

impl Text {
    /// Returns the name and the operands.
    pub(in crate::isa) fn parts(self) -> (&'static str, &'static str) {
        let start = usize::try_from(self.0).unwrap_or(usize::MAX);
        let rest = rows::TEXTS.get(start..).unwrap_or_default();
        let line = rest.split_once('\n').map_or("", |(line, _)| line);
        line.split_once(' ').unwrap_or((line, ""))
    }
}
