//! Prints a profile as text.

use std::collections::BTreeSet;
use std::io::Write;

use hetdwarf::plural::counted;
use hetdwarf::report::{BranchDocument, DivergenceDocument, ProfileDocument, ProfileRow};
use hetdwarf::untrusted::Untrusted;

use super::super::coverage::percent;
use super::super::failure::{Failure, print_limit};
use super::super::style::BOLD;
use super::super::table::{bold, cells, table};

/// The minimum width of the last column.
const LEAST: usize = 24;
/// The most rows about inactive lanes that are printed.
const ROWS: usize = 12;

pub(super) fn print(
    document: &ProfileDocument,
    width: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let noun = match document.counts {
        "executions" => "execution",
        _ => "sample",
    };
    writeln!(
        out,
        "{BOLD}{}{BOLD:#}, {} unresolved",
        counted(document.samples, noun),
        document.unresolved
    )?;
    for (reason, count) in &document.unresolved_reasons {
        writeln!(out, "  {count}: {}", Untrusted::from(reason.as_str()))?;
    }
    if document.by_comment != 0 {
        let count = document.by_comment;
        writeln!(
            out,
            "  {count} located by the profiler's comments only, without functions and divergence"
        )?;
    }
    for (reason, count) in &document.discarded {
        writeln!(out, "  {count} not counted: {reason}")?;
    }
    for note in &document.notes {
        writeln!(out, "  note: {note}")?;
    }
    if !document.unknown_fields.is_empty() {
        let names: Vec<String> = document
            .unknown_fields
            .iter()
            .map(ToString::to_string)
            .collect();
        writeln!(out, "  unknown fields: {}", names.join(", "))?;
    }
    writeln!(out)?;
    print_rows(document, width, out)?;
    print_divergence(document, width, out)?;
    print_limit(&document.completeness, out)?;
    Ok(())
}

/// Cuts a text to fit.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let mut cut: String = text.chars().take(kept).collect();
    cut.push('…');
    cut
}

/// Returns the two most frequent reasons of stalls.
fn stalls(row: &ProfileRow) -> String {
    let mut stalls: Vec<_> = row.stalls.iter().collect();
    stalls.sort_by_key(|(_, count)| core::cmp::Reverse(**count));
    let texts = stalls
        .iter()
        .take(2)
        .map(|(name, count)| format!("{name} {count}"));
    cut(&texts.collect::<Vec<_>>().join(", "), 36)
}

fn lanes(row: &ProfileRow) -> String {
    row.lanes_active
        .map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn print_rows(
    document: &ProfileDocument,
    width: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let rows = &document.rows;
    let has_stalls = rows.iter().any(|row| !row.stalls.is_empty());
    let has_cycles = rows.iter().any(|row| row.cycles.is_some());
    let mut header = vec![document.counts.to_owned(), "share".to_owned()];
    if has_cycles {
        header.extend(["latency", "stall", "idle"].map(str::to_owned));
    } else {
        header.push("lanes active".to_owned());
    }
    if has_stalls {
        header.push("stalls".to_owned());
    }
    let numbers = if has_stalls {
        header.len() - 1
    } else {
        header.len()
    };
    header.push(document.grouped_by.to_owned());
    let mut table_rows: Vec<Vec<String>> = Vec::new();
    for row in rows {
        let mut cells = vec![
            row.samples.to_string(),
            percent(row.samples, document.samples),
        ];
        if has_cycles {
            let cycles = row
                .cycles
                .map_or([0; 3], |one| [one.latency, one.stall, one.idle]);
            cells.extend(cycles.map(|count| count.to_string()));
        } else {
            cells.push(lanes(row));
        }
        if has_stalls {
            cells.push(stalls(row));
        }
        table_rows.push(cells);
    }
    // The width of the columns before the last, with two spaces after each.
    let columns = 0..header.len() - 1;
    let before: usize = columns
        .map(|column| {
            let cells = table_rows.iter().filter_map(|row| row.get(column));
            let cells = cells.chain(header.get(column));
            cells
                .map(|cell| cell.chars().count() + 2)
                .max()
                .unwrap_or(0)
        })
        .sum();
    let room = width.saturating_sub(before).max(LEAST);
    let table_rows = table_rows.into_iter().zip(rows).map(|(texts, row)| {
        let mut texts = cells(texts);
        texts.push(bold(cut(&row.by.to_string(), room)));
        texts
    });
    writeln!(
        out,
        "{}",
        table(Some(cells(header)), table_rows.collect(), 0..numbers)
    )?;
    if document.rows_left_out != 0 {
        let more = counted(document.rows_left_out as u64, "row");
        writeln!(out, "{more} more: --top N")?;
    }
    Ok(())
}

/// Returns the line and the name of its file without folders.
fn line_of(branch: &BranchDocument) -> Option<String> {
    let file = branch.file.as_ref()?.to_string();
    let name = file.rsplit('/').next().unwrap_or(&file);
    Some(format!("{name}:{}", branch.line?))
}

/// Returns the position of the branch that switched lanes off.
fn place(row: &DivergenceDocument) -> String {
    let Some(branch) = &row.branch else {
        let mut text = row.text.unwrap_or_default().to_owned();
        let lines = row.candidates.iter().filter_map(line_of);
        let lines: BTreeSet<String> = lines.collect();
        if !lines.is_empty() {
            let lines: Vec<String> = lines.into_iter().collect();
            text = format!("{text}: {}", lines.join(", "));
        }
        return text;
    };
    let mut place = match branch.pc {
        Some(pc) => format!("{:#x}", pc.0),
        None => format!("one of {} instructions", row.candidates.len()),
    };
    if let Some(function) = &branch.function {
        place.push_str(&format!(" in {function}"));
    }
    if let Some(line) = line_of(branch) {
        place.push_str(&format!(" at {line}"));
    }
    place
}

fn print_divergence(
    document: &ProfileDocument,
    width: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if document.divergence.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{BOLD}Lanes that were off{BOLD:#}, by the instruction that switched them off"
    )?;
    let header = cells(["lane samples", "share", "branch"]);
    let rows = document.divergence.iter().take(ROWS).map(|row| {
        let mut texts = cells([
            row.idle_lane_samples.to_string(),
            percent(row.idle_lane_samples, document.idle_lane_samples),
        ]);
        let place = cut(&place(row), width.saturating_sub(30).max(LEAST));
        texts.extend(match row.branch {
            Some(_) => vec![bold(place)],
            None => cells([place]),
        });
        texts
    });
    writeln!(out, "{}", table(Some(header), rows.collect(), 0..2))?;
    Ok(())
}

/// Prints a line for each stack in the folded format of flame graph tools.
pub(super) fn print_folded(document: &ProfileDocument, out: &mut dyn Write) -> Result<(), Failure> {
    for row in &document.rows {
        writeln!(out, "{} {}", row.by, row.samples)?;
    }
    Ok(())
}
