//! Formats values of lanes as tables with a column for each lane, wrapped to the width. Missing values are listed below, with reasons.

use core::ops::Range;
use std::io::Write;

use comfy_table::Cell;

use super::failure::Failure;
use super::lanes::{item_text, numbered, numbered_with, state_text};
use super::style::FAINT;
use super::table::{bold, faint, table};
use hetdwarf::report::{LaneDocument, RecoveredDocument, ValueText};
use hetdwarf::untrusted::Untrusted;

/// The widest value that is shown in a table.
const WIDEST: usize = 24;

/// The text for a value in a lane.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown<'d> {
    Value {
        value: &'d ValueText,
        /// The origin of a value that was recovered, because the debugging information gives none here.
        recovered: Option<&'d RecoveredDocument>,
    },
    Missing {
        state: &'d str,
        reason: Option<&'d Untrusted<'static>>,
    },
}

impl<'d> Shown<'d> {
    pub(crate) fn of(lane: &'d LaneDocument) -> Shown<'d> {
        match &lane.value {
            Some(value) => Shown::Value {
                value,
                recovered: lane.recovered.as_deref(),
            },
            None => Shown::Missing {
                state: state_text(lane.state),
                reason: lane.message.as_ref(),
            },
        }
    }

    pub(crate) fn text(self) -> String {
        match self {
            Shown::Value { value, .. } => format!("{value}{}", self.when()),
            Shown::Missing {
                state,
                reason: Some(reason),
            } => format!("{FAINT}<{state}> ({reason}){FAINT:#}"),
            Shown::Missing {
                state,
                reason: None,
            } => format!("{FAINT}<{state}>{FAINT:#}"),
        }
    }

    /// Returns the origin of a recovered value: ` (as of line 12)`. Empty for other values.
    pub(crate) fn when(self) -> String {
        match self {
            Shown::Value {
                recovered: Some(recovered),
                ..
            } => format!(" {FAINT}({recovered}){FAINT:#}"),
            Shown::Value { .. } | Shown::Missing { .. } => String::new(),
        }
    }

    /// Returns the text for a table cell. Missing values are explained below the table.
    fn short(self) -> &'d str {
        match self {
            Shown::Value { value, .. } => value,
            Shown::Missing { .. } => "?",
        }
    }

    fn width(self) -> usize {
        self.short().chars().count()
    }

    fn cell(self) -> Cell {
        match self {
            Shown::Value { value, .. } => Cell::new(&**value),
            Shown::Missing { .. } => faint(self.short()),
        }
    }
}

/// A row: a variable or expression with a value in each lane.
pub(crate) struct Row<'d> {
    /// The name.
    pub(crate) label: String,
    /// The label with its name in bold.
    pub(crate) styled: String,
    /// The active lanes.
    pub(crate) lanes: Vec<&'d LaneDocument>,
}

impl<'d> Row<'d> {
    /// * `lanes`: all lanes, including inactive ones.
    pub(crate) fn new(label: String, styled: String, lanes: &'d [LaneDocument]) -> Row<'d> {
        let lanes = lanes.iter();
        Row {
            label,
            styled,
            lanes: lanes.filter(|lane| lane.state.is_active()).collect(),
        }
    }

    /// Returns the lanes grouped by equal text, ordered by the first lane of each group.
    pub(crate) fn groups(&self) -> Vec<(Shown<'d>, Vec<u8>)> {
        self.groups_by(Shown::of)
    }

    /// Returns the lanes grouped by equal `key`, ordered by the first lane of each group.
    pub(crate) fn groups_by<K: PartialEq>(
        &self,
        key: impl Fn(&'d LaneDocument) -> K,
    ) -> Vec<(K, Vec<u8>)> {
        let mut groups: Vec<(K, Vec<u8>)> = Vec::new();
        for &lane in &self.lanes {
            let key = key(lane);
            match groups.iter_mut().find(|(other, _)| *other == key) {
                Some((_, lanes)) => lanes.push(lane.lane),
                None => groups.push((key, vec![lane.lane])),
            }
        }
        groups
    }

    /// Returns true if the values are short enough for a table.
    pub(crate) fn is_narrow(&self) -> bool {
        let mut lanes = self.lanes.iter();
        lanes.all(|lane| Shown::of(lane).width() <= WIDEST)
    }
}

/// The row of work-items: its label, and a name for each column.
pub(crate) struct Items {
    label: String,
    names: Vec<String>,
}

impl Items {
    /// Returns the names of the work-items of some lanes. Returns None if no lane has a work-item. Consecutive work-items are named by x
    /// alone.
    pub(crate) fn new(lanes: &[&LaneDocument]) -> Option<Items> {
        let items: Vec<_> = lanes.iter().map(|lane| lane.work_item).collect();
        let mut rows = items.iter().flatten().map(|[_, y, z]| (y, z));
        let first = rows.next()?;
        let is_row = rows.all(|row| row == first);
        let name = |item: Option<[u32; 3]>| match item {
            Some([x, ..]) if is_row => x.to_string(),
            Some(item) => item_text(item),
            None => "-".to_owned(),
        };
        Some(Items {
            label: if is_row {
                format!("item (x,{},{})", first.0, first.1)
            } else {
                "item".to_owned()
            },
            names: items.into_iter().map(name).collect(),
        })
    }
}

/// Prints rows about the same lanes, in as many tables as the width requires.
pub(crate) fn print_table(
    rows: &[Row<'_>],
    items: Option<&Items>,
    width: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Some(first) = rows.first() else {
        return Ok(());
    };
    let labels = rows.iter().map(|row| row.label.chars().count());
    let label_width = labels.chain(items.map(|items| items.label.len())).max();
    // Columns are separated by two spaces.
    let widths: Vec<usize> = (0..first.lanes.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.lanes.get(column));
            let item = items.and_then(|items| items.names.get(column));
            let widths = cells.map(|lane| Shown::of(lane).width());
            let widest = widths.chain(item.map(String::len)).max();
            widest.unwrap_or(0).max(2) + 2
        })
        .collect();
    let mut start = 0;
    while start < widths.len() {
        let mut used = label_width.unwrap_or(0);
        let fits = widths.iter().skip(start).take_while(|column| {
            used += **column;
            used <= width
        });
        let end = start + fits.count().max(1);
        writeln!(out, "{}", part(rows, items, start..end))?;
        start = end;
    }
    for row in rows {
        for (shown, lanes) in row.groups() {
            if let Shown::Missing { .. } = shown {
                let (label, text) = (&row.styled, shown.text());
                writeln!(out, "{label}: ? is {text} in {}", numbered(&lanes))?;
            }
        }
        for (recovered, lanes) in row.groups_by(|lane| lane.recovered.as_deref()) {
            if let Some(recovered) = recovered {
                let label = &row.styled;
                writeln!(out, "{label}: {recovered} in {}", numbered(&lanes))?;
            }
        }
    }
    Ok(())
}

/// Returns the table of a range of columns.
fn part(rows: &[Row<'_>], items: Option<&Items>, columns: Range<usize>) -> String {
    let cells = |title: Cell, row: &Row<'_>, cell: fn(&LaneDocument) -> Cell| {
        let lanes = row.lanes.get(columns.clone()).unwrap_or_default();
        let cells = lanes.iter().map(|lane| cell(lane));
        core::iter::once(title).chain(cells).collect::<Vec<_>>()
    };
    let header = rows
        .first()
        .map(|first| cells(faint("lane"), first, |lane| faint(lane.lane)));
    let items = items.map(|items| {
        let names = items.names.get(columns.clone()).unwrap_or_default();
        let titled = core::iter::once(&items.label).chain(names);
        titled.map(faint).collect()
    });
    let rows = rows
        .iter()
        .map(|row| cells(bold(&row.label), row, |lane| Shown::of(lane).cell()));
    table(
        header,
        items.into_iter().chain(rows).collect(),
        1..usize::MAX,
    )
}

/// Prints which lanes are inactive.
pub(crate) fn print_inactive(lanes: &[u8], out: &mut dyn Write) -> Result<(), Failure> {
    if !lanes.is_empty() {
        let lanes = numbered_with(lanes, ["is", "are"]);
        writeln!(out, "{FAINT}{lanes} not active here{FAINT:#}")?;
    }
    Ok(())
}
