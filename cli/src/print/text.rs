//! Prints the values of expressions in all lanes as text.
//!
//! A value that is equal in all lanes is printed once. Other short values are printed in tables with a column for each lane, long ones in
//! lists with a line for each value.

use std::collections::BTreeSet;
use std::io::Write;

use crate::failure::{Failure, print_limit, print_warnings};
use crate::lane_table::{self, Row, Shown};
use crate::lanes::{numbered, numbered_with};
use crate::style::{ALARM, BOLD, FAINT};
use crate::variables::{frame_text, print_value_notes};
use hetdwarf::inspect::ValueStateKind;
use hetdwarf::report::text::FileNames;
use hetdwarf::report::{ExpressionDocument, FrameDocument, PrintDocument, QueryErrorDocument};
use hetdwarf::untrusted::{Escaper, Untrusted};

/// Prints a document in lines of at most `width` characters, where breaking is possible. Errors in expressions are printed to `err`.
///
/// * `is_whole`: true if the document has all lanes of the wave.
/// * `places`: the text about the positions of inactive lanes; empty if these are unknown.
pub(super) fn print(
    document: &PrintDocument,
    is_whole: bool,
    places: &[u8],
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    if document.waiting {
        print_place(&document.frame, &document.expressions, out)?;
    }
    print_expressions(&document.expressions, is_whole, width, out, err)?;
    for place in &document.waiting_lanes {
        print_place(&place.frame, &place.expressions, out)?;
        print_expressions(&place.expressions, false, width, out, err)?;
    }
    if places.is_empty() {
        print_inactive(document, out)?;
    }
    let expressions = document.places().flatten();
    let name =
        |expression: &ExpressionDocument| Untrusted::from(expression.text.raw().trim()).to_string();
    let notes = expressions.filter_map(|one| Some((one.note?, name(one))));
    print_value_notes(notes, out)?;
    // An expression that is wrong in itself has the same error in all lanes.
    if document.places().flatten().any(|one| one.error.is_none()) {
        out.write_all(places)?;
    }
    print_warnings(&document.warnings, err)?;
    Ok(print_limit(&document.completeness, out)?)
}

/// Prints the position at which lanes wait, before their values.
fn print_place(
    frame: &FrameDocument,
    expressions: &[ExpressionDocument],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let lanes = expressions.iter().find_map(|e| e.lanes.as_ref());
    let lanes: Vec<u8> = lanes.into_iter().flatten().map(|lane| lane.lane).collect();
    if !lanes.is_empty() {
        let lanes = numbered_with(&lanes, ["waits", "wait"]);
        let names = FileNames::of(frame.file.as_ref().map(Untrusted::raw));
        let (place, pc) = (frame_text(frame, &names), frame.pc.0);
        writeln!(out, "{FAINT}{lanes} in {place} (pc {pc:#x}){FAINT:#}")?;
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
            let narrow: Vec<Row<'_>> = narrow.map(row).collect();
            if let Some(after) = rest.get(narrow.len()..).filter(|_| !narrow.is_empty()) {
                lane_table::print_table(&narrow, None, width, out)?;
                rest = after;
                continue;
            }
            print_alone(first, is_whole, out)?;
        }
        rest = others;
    }
    Ok(())
}

/// Prints which lanes are inactive.
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
    lane_table::print_inactive(&inactive, out)
}

/// Prints an error, with a mark under its position in the expression.
fn print_error(
    text: &str,
    error: &QueryErrorDocument,
    width: usize,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    writeln!(err, "{ALARM}error{ALARM:#}: {}", error.message)?;
    let (before, after) = text.split_at_checked(error.offset).unwrap_or((text, ""));
    let (mut shown, mut escaper) = (String::new(), Escaper::new());
    // Writing to a string cannot fail.
    let _ = escaper.write(before, &mut shown);
    let at = shown.chars().count();
    let _ = escaper.write(after, &mut shown);
    // A text that is too long is cut around the position.
    let room = width.saturating_sub(2).max(8);
    let start = at.saturating_sub(room / 2);
    let (cut, skipped) = if start == 0 {
        ("", 0)
    } else {
        ("…", start + 1)
    };
    let line: String = shown.chars().skip(skipped).take(room).collect();
    let column = at - start;
    writeln!(err, "  {cut}{line}\n  {:column$}{ALARM}^{ALARM:#}", "")?;
    Ok(())
}

/// Returns the row of an expression.
fn row(expression: &ExpressionDocument) -> Row<'_> {
    let label = Untrusted::from(expression.text.raw().trim()).to_string();
    let styled = format!("{BOLD}{label}{BOLD:#}");
    let lanes = expression.lanes.as_deref().unwrap_or_default();
    Row::new(label, styled, lanes)
}

/// Groups the lanes by their texts and states. A long value is cut, so values of different states can have the same text.
fn groups<'d>(row: &Row<'d>) -> Vec<(Shown<'d>, Vec<u8>)> {
    let groups = row.groups_by(|lane| (Shown::of(lane), lane.state));
    let groups = groups.into_iter();
    groups.map(|((shown, _), lanes)| (shown, lanes)).collect()
}

/// Returns true if an expression belongs into a table: its values are short and differ.
fn is_narrow(expression: &ExpressionDocument) -> bool {
    let row = row(expression);
    groups(&row).len() > 1 && row.is_narrow()
}

/// Prints an expression outside of the table.
fn print_alone(
    expression: &ExpressionDocument,
    is_whole: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let row = row(expression);
    let label = &row.styled;
    let groups = groups(&row);
    if let [(shown, lanes)] = groups.as_slice() {
        let text = shown.text();
        let all = expression.lanes.as_ref().map_or(0, Vec::len);
        let extent = match (lanes.as_slice(), lanes.len() == all) {
            (lanes @ [_], _) => numbered(lanes),
            (lanes, _) if !is_whole => numbered(lanes),
            (_, true) => "all lanes".to_owned(),
            (_, false) => "all active lanes".to_owned(),
        };
        writeln!(out, "{label} = {text} {FAINT}({extent}){FAINT:#}")?;
        return Ok(());
    }
    if groups.is_empty() {
        return Ok(());
    }
    writeln!(out, "{label}")?;
    for (shown, lanes) in groups {
        writeln!(out, "  {}: {}", numbered(&lanes), shown.text())?;
    }
    Ok(())
}
