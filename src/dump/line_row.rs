//! Formats rows of line tables as text.

use std::io::{self, Write};

use gimli::LineRow;

use super::digits::push_right;
use super::output::Output;
use crate::display::push_hex;

/// The names and shapes of the columns.
pub(super) const COLUMNS: &str =
    "Address            Line   Column File   ISA Discriminator OpIndex Flags
------------------ ------ ------ ------ --- ------------- ------- -------------";

pub(super) fn line(row: &LineRow) -> u64 {
    row.line().map_or(0, core::num::NonZeroU64::get)
}

pub(super) fn column(row: &LineRow) -> u64 {
    match row.column() {
        gimli::ColumnType::LeftEdge => 0,
        gimli::ColumnType::Column(column) => column.get(),
    }
}

pub(super) fn flags(row: &LineRow) -> impl Iterator<Item = &'static str> {
    [
        (row.is_stmt(), "is_stmt"),
        (row.basic_block(), "basic_block"),
        (row.prologue_end(), "prologue_end"),
        (row.epilogue_begin(), "epilogue_begin"),
        (row.end_sequence(), "end_sequence"),
    ]
    .into_iter()
    .filter_map(|(set, name)| set.then_some(name))
}

/// Prints a row. `text` is a buffer that is reused for all rows.
pub(super) fn print_row(
    row: &LineRow,
    text: &mut String,
    output: &mut Output<'_>,
) -> io::Result<()> {
    text.clear();
    push_hex(text, row.address(), 16);
    for (number, width) in [
        (line(row), 6),
        (column(row), 6),
        (row.file_index(), 6),
        (row.isa(), 3),
        (row.discriminator(), 13),
        (row.op_index(), 7),
    ] {
        text.push(' ');
        push_right(text, number, width);
    }
    text.push(' ');
    for flag in flags(row) {
        text.push(' ');
        text.push_str(flag);
    }
    text.push('\n');
    output.write_all(text.as_bytes())
}
