//! Expressions of all lanes, as text.
//!
//! A value that all lanes have in common is said once. Other short ones stand in tables with a column for each
//! lane, long ones in lists with a line for each value.

use std::collections::BTreeSet;
use std::io::Write;

use anstyle::{AnsiColor, Style};

use crate::cli::failure::{Failure, print_limit};
use crate::cli::lanes::{numbered, state_text};
use crate::cli::table::{bold, faint, table};
use crate::cli::variables::frame_text;
use crate::inspect::ValueStateKind;
use crate::report::{
    ExpressionDocument, Hex, LaneDocument, PrintDocument, QueryErrorDocument, VarsFrame,
};
use crate::untrusted::{Escaper, Untrusted};

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// The widest value that is shown in a table of lanes.
const WIDEST: usize = 24;

/// Prints a document with lines of at most `width` characters, where a line can be ended at all. What is wrong
/// with an expression goes to `err`.
///
/// * `is_whole`: whether the document has all lanes of the wave.
pub(super) fn print(
    document: &PrintDocument,
    is_whole: bool,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    if document.waiting {
        print_place(&document.frame, document.pc, &document.expressions, out)?;
    }
    print_expressions(&document.expressions, is_whole, width, out, err)?;
    for place in &document.waiting_lanes {
        print_place(&place.frame, place.pc, &place.expressions, out)?;
        print_expressions(&place.expressions, false, width, out, err)?;
    }
    print_inactive(document, out)?;
    Ok(print_limit(&document.completeness, out)?)
}

/// Says where lanes wait whose answers follow.
fn print_place(
    frame: &VarsFrame,
    pc: Hex,
    expressions: &[ExpressionDocument],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let lanes = expressions.iter().find_map(|e| e.lanes.as_ref());
    let lanes: Vec<u8> = lanes.into_iter().flatten().map(|lane| lane.lane).collect();
    if !lanes.is_empty() {
        let verb = if lanes.len() == 1 { "waits" } else { "wait" };
        let (lanes, place) = (numbered(&lanes), frame_text(frame));
        writeln!(
            out,
            "{FAINT}{lanes} {verb} in {place} (pc {:#x}){FAINT:#}",
            pc.0
        )?;
    }
    Ok(())
}

fn print_expressions(
    expressions: &[ExpressionDocument],
    is_whole: bool,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    let mut rest = expressions;
    while let Some((first, others)) = rest.split_first() {
        if let Some(error) = &first.error {
            print_error(first.text.raw(), error, width, err)?;
        } else {
            let narrow = rest.iter().take_while(|expression| is_narrow(expression));
            let narrow: Vec<Row<'_>> = narrow.map(Row::new).collect();
            if let Some(after) = rest.get(narrow.len()..).filter(|_| !narrow.is_empty()) {
                print_table(&narrow, width, out)?;
                rest = after;
                continue;
            }
            Row::new(first).print(is_whole, out)?;
        }
        rest = others;
    }
    Ok(())
}

/// Says which lanes do not execute, whatever the expression.
fn print_inactive(document: &PrintDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let lanes = document.expressions.iter().find_map(|e| e.lanes.as_ref());
    let inactive = lanes
        .into_iter()
        .flatten()
        .filter(|lane| lane.state == ValueStateKind::Inactive);
    let waiting = document
        .waiting_lanes
        .iter()
        .flat_map(|place| &place.expressions);
    let waiting: BTreeSet<u8> = waiting
        .filter_map(|expression| expression.lanes.as_ref())
        .flatten()
        .map(|lane| lane.lane)
        .collect();
    let inactive: Vec<u8> = inactive
        .map(|lane| lane.lane)
        .filter(|lane| !waiting.contains(lane))
        .collect();
    if !inactive.is_empty() {
        let verb = if inactive.len() == 1 { "is" } else { "are" };
        let lanes = numbered(&inactive);
        writeln!(out, "{FAINT}{lanes} {verb} not active here{FAINT:#}")?;
    }
    Ok(())
}

/// Points at what is wrong.
fn print_error(
    text: &str,
    error: &QueryErrorDocument,
    width: usize,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    let red = AnsiColor::Red.on_default().bold();
    writeln!(err, "{red}error{red:#}: {}", error.message)?;
    let (before, after) = text.split_at_checked(error.offset).unwrap_or((text, ""));
    let (mut shown, mut escaper) = (String::new(), Escaper::new());
    // Writing to a string does not fail.
    let _ = escaper.write(before, &mut shown);
    let at = shown.chars().count();
    let _ = escaper.write(after, &mut shown);
    // Of a text that is too long, what stands around the place.
    let room = width.saturating_sub(2).max(8);
    let start = at.saturating_sub(room / 2);
    let (cut, skipped) = if start == 0 {
        ("", 0)
    } else {
        ("…", start.saturating_add(1))
    };
    let line: String = shown.chars().skip(skipped).take(room).collect();
    let column = at.saturating_sub(start);
    writeln!(err, "  {cut}{line}\n  {:column$}{red}^{red:#}", "")?;
    Ok(())
}

/// An expression, ready to be laid out.
struct Row<'d> {
    label: String,
    /// The lanes that execute.
    lanes: Vec<&'d LaneDocument>,
    /// Whether those are all that were asked for.
    is_all: bool,
}

/// What is said of an expression in a lane.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shown<'d> {
    value: Option<&'d str>,
    state: &'d str,
    reason: Option<&'d Untrusted<'static>>,
}

impl<'d> Shown<'d> {
    fn of(lane: &'d LaneDocument) -> Shown<'d> {
        Shown {
            value: lane.value.as_deref(),
            state: state_text(lane.state),
            reason: lane.message.as_ref(),
        }
    }

    fn text(self) -> String {
        match (self.value, self.reason) {
            (Some(value), _) => value.to_owned(),
            (None, Some(reason)) => format!("{FAINT}<{}> ({reason}){FAINT:#}", self.state),
            (None, None) => format!("{FAINT}<{}>{FAINT:#}", self.state),
        }
    }

    /// In a table, where missing values are explained below.
    fn short(self) -> &'d str {
        self.value.unwrap_or("?")
    }
}

/// Whether an expression is one of a table: short values that are not all the same.
fn is_narrow(expression: &ExpressionDocument) -> bool {
    let row = Row::new(expression);
    let is_short = |lane: &&LaneDocument| Shown::of(lane).short().chars().count() <= WIDEST;
    row.groups().len() > 1 && row.lanes.iter().all(is_short)
}

impl<'d> Row<'d> {
    fn new(expression: &'d ExpressionDocument) -> Row<'d> {
        let all = expression.lanes.as_deref().unwrap_or_default();
        let lanes: Vec<_> = all
            .iter()
            .filter(|lane| lane.state != ValueStateKind::Inactive)
            .collect();
        Row {
            label: Untrusted::from(expression.text.raw().trim()).to_string(),
            is_all: lanes.len() == all.len(),
            lanes,
        }
    }

    /// What is said, and of which lanes, in the order of the first lanes.
    fn groups(&self) -> Vec<(Shown<'d>, Vec<u8>)> {
        let mut groups: Vec<(Shown<'d>, Vec<u8>)> = Vec::new();
        for lane in &self.lanes {
            let shown = Shown::of(lane);
            match groups.iter_mut().find(|(known, _)| *known == shown) {
                Some((_, lanes)) => lanes.push(lane.lane),
                None => groups.push((shown, vec![lane.lane])),
            }
        }
        groups
    }

    /// Prints it by itself.
    fn print(&self, is_whole: bool, out: &mut dyn Write) -> Result<(), Failure> {
        let label = &self.label;
        let groups = self.groups();
        if let [(shown, lanes)] = groups.as_slice() {
            let text = shown.text();
            let extent = match (lanes.as_slice(), self.is_all) {
                (lanes @ [_], _) => numbered(lanes),
                (lanes, _) if !is_whole => numbered(lanes),
                (_, true) => "all lanes".to_owned(),
                (_, false) => "all active lanes".to_owned(),
            };
            writeln!(
                out,
                "{BOLD}{label}{BOLD:#} = {text} {FAINT}({extent}){FAINT:#}"
            )?;
            return Ok(());
        }
        if groups.is_empty() {
            return Ok(());
        }
        writeln!(out, "{BOLD}{label}{BOLD:#}")?;
        for (shown, lanes) in groups {
            writeln!(out, "  {}: {}", numbered(&lanes), shown.text())?;
        }
        Ok(())
    }
}

/// Expressions over lanes, in as many tables as it takes.
fn print_table(rows: &[Row<'_>], width: usize, out: &mut dyn Write) -> Result<(), Failure> {
    let labels = rows.iter().map(|row| row.label.chars().count());
    let label_width = labels.max().unwrap_or(0);
    let lanes = rows.first().map_or(&[][..], |row| row.lanes.as_slice());
    // Every column is two spaces after the one before.
    let widths: Vec<usize> = (0..lanes.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.lanes.get(column));
            let widest = cells.map(|lane| Shown::of(lane).short().chars().count());
            widest.max().unwrap_or(0).max(2).saturating_add(2)
        })
        .collect();
    let mut start = 0usize;
    while start < widths.len() {
        let mut used = label_width;
        let fits = widths.iter().skip(start).take_while(|column| {
            used = used.saturating_add(**column);
            used <= width
        });
        let end = start.saturating_add(fits.count().max(1));
        let columns = start..end;
        let mut header = vec![faint("lane")];
        let numbers = lanes.get(columns.clone()).unwrap_or_default();
        header.extend(numbers.iter().map(|lane| faint(lane.lane)));
        let body = rows.iter().map(|row| {
            let mut cells = vec![bold(&row.label)];
            let lanes = row.lanes.get(columns.clone()).unwrap_or_default();
            let shown = lanes.iter().map(|lane| Shown::of(lane));
            cells.extend(shown.map(|shown| match shown.value {
                Some(value) => comfy_table::Cell::new(value),
                None => faint(shown.short()),
            }));
            cells
        });
        writeln!(
            out,
            "{}",
            table(Some(header), body.collect(), 1..usize::MAX)
        )?;
        start = end;
    }
    for row in rows {
        for (shown, lanes) in row.groups() {
            if shown.value.is_none() {
                let (label, text) = (&row.label, shown.text());
                writeln!(
                    out,
                    "{BOLD}{label}{BOLD:#}: ? is {text} in {}",
                    numbered(&lanes)
                )?;
            }
        }
    }
    Ok(())
}
