//! Formats tables for a terminal: columns separated by two spaces, without lines.

use core::ops::Range;

use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table};

/// Returns plain cells.
pub(crate) fn cells<T: ToString>(texts: impl IntoIterator<Item = T>) -> Vec<Cell> {
    texts
        .into_iter()
        .map(|text| Cell::new(text.to_string()))
        .collect()
}

/// Returns a cell for a name.
pub(crate) fn bold(text: impl ToString) -> Cell {
    Cell::new(text.to_string()).add_attribute(Attribute::Bold)
}

/// Returns a cell for a missing value.
pub(crate) fn faint(text: impl ToString) -> Cell {
    Cell::new(text.to_string()).add_attribute(Attribute::Dim)
}

/// Returns a table without a line end after the last row. The columns in `numbers` are aligned to the right.
pub(crate) fn table(
    header: Option<Vec<Cell>>,
    rows: Vec<Vec<Cell>>,
    numbers: Range<usize>,
) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        // The caller's writer decides about colours, not the type of standard output.
        .enforce_styling()
        .style_text_only();
    if let Some(header) = header {
        table.set_header(header);
    }
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if numbers.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}
