//! Variables of all lanes, as text.
//!
//! What is the same in all lanes that execute is said once. Of the rest, short values stand in tables with a
//! column for each lane, long ones in lists with a line for each value.

use core::iter::Peekable;
use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use crate::debug_info::VariableKind;
use crate::inspect::{LocationReading, ValueStateKind};
use crate::report::{FrameVariables, Hex, LaneDocument, VariableDocument, VarsFrame};
use anstyle::Style;
use comfy_table::Cell;

use crate::cli::failure::Failure;
use crate::cli::lanes::{item_runs, item_text, numbered, state_text};
use crate::cli::or_unknown;
use crate::cli::table::{bold, faint, table};
use crate::cli::wrap::{Room, wrap};
use crate::untrusted::Untrusted;

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// The widest value that is shown in a table of lanes.
const WIDEST: usize = 24;

/// Prints the variables of frames, with lines of at most `width` characters where a line can be ended at all.
pub(crate) struct Printer {
    width: usize,
    /// The entries of variables of file scope that were printed: they are the same in every frame.
    globals: BTreeSet<Hex>,
}

impl Printer {
    pub(crate) fn new(width: usize) -> Printer {
        Printer {
            width,
            globals: BTreeSet::new(),
        }
    }

    /// Prints a frame, and after it the places in it where other lanes wait; what is of file scope only if no frame before had it.
    pub(crate) fn print(
        &mut self,
        content: &FrameVariables,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        self.print_place(content, out)?;
        for place in &content.waiting_lanes {
            self.print_place(place, out)?;
        }
        Ok(())
    }

    fn print_place(
        &mut self,
        content: &FrameVariables,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        writeln!(
            out,
            "#{} {BOLD}{}{BOLD:#} (pc {:#x}){}{}",
            content.frame.index,
            frame_text(&content.frame),
            content.pc.0,
            waiting_text(content),
            one_lane(content)
        )?;
        if content.variables.is_empty() {
            let message = content.message.clone().unwrap_or_default();
            writeln!(out, "{message}")?;
            return Ok(());
        }
        let is_new = |variable: &&VariableDocument| {
            variable.kind != VariableKind::Global || self.globals.insert(variable.die)
        };
        let variables: Vec<_> = content.variables.iter().filter(is_new).collect();
        let Some(first) = variables.first() else {
            writeln!(out, "no variables but those of the file")?;
            return Ok(());
        };
        // A lane executes or it does not, whatever the variable.
        let inactive: Vec<u8> = first
            .lanes
            .iter()
            .filter(|lane| lane.state == ValueStateKind::Inactive)
            .map(|lane| lane.lane)
            .collect();
        let extent = match (first.lanes.len(), inactive.len()) {
            (1, _) => Extent::One,
            (_, 0) => Extent::All,
            (_, _) => Extent::Active,
        };
        let any_active = inactive.len() < first.lanes.len();
        if any_active {
            print_scopes(&content.frame, &variables, extent, self.width, out)?;
        }
        if !inactive.is_empty() {
            let verb = if inactive.len() == 1 { "is" } else { "are" };
            let lanes = numbered(&inactive);
            writeln!(out, "{FAINT}{lanes} {verb} not active here{FAINT:#}")?;
        }
        if any_active {
            print_notes(&variables, out)?;
        }
        Ok(())
    }
}

/// What there is to know of several variables at once.
fn print_notes(variables: &[&VariableDocument], out: &mut dyn Write) -> Result<(), Failure> {
    let names = |wanted: &dyn Fn(&VariableDocument) -> bool| {
        let variables = variables.iter().filter(|variable| wanted(variable));
        let names: Vec<_> = variables
            .map(|variable| variable.name.to_string())
            .collect();
        names.join(", ")
    };
    let legacy = names(&|variable| variable.reading == LocationReading::LegacyLlvm);
    if !legacy.is_empty() {
        writeln!(out, "read as LLVM means them, not by the letter: {legacy}")?;
    }
    let notes: BTreeSet<_> = variables
        .iter()
        .filter_map(|variable| variable.note)
        .collect();
    for note in notes {
        let names = names(&|variable| variable.note == Some(note));
        writeln!(out, "{note}: {names}")?;
    }
    Ok(())
}

/// Which lanes wait, if it is they that a place is about.
fn waiting_text(content: &FrameVariables) -> String {
    let lanes = content.variables.first().map(|variable| &variable.lanes);
    match lanes {
        Some(lanes) if content.waiting => {
            let numbers: Vec<u8> = lanes.iter().map(|lane| lane.lane).collect();
            let verb = if numbers.len() == 1 { "waits" } else { "wait" };
            format!(", where {} {verb}", numbered(&numbers))
        }
        Some(_) | None => String::new(),
    }
}

/// Which lane and work-item a frame is about, if it is only one that has a work-item.
fn one_lane(content: &FrameVariables) -> String {
    let lanes = content
        .variables
        .first()
        .map(|variable| variable.lanes.as_slice());
    match lanes {
        Some([only]) => match only.work_item {
            Some(item) => format!(", lane {} {}", only.lane, item_text(item)),
            None => String::new(),
        },
        Some(_) | None => String::new(),
    }
}

/// Where a frame is, as `helper at k.cl:4`.
pub(in crate::cli) fn frame_text(frame: &VarsFrame) -> String {
    let mut text = String::new();
    for name in &frame.inlined {
        text.push_str(&format!("{name} inlined into "));
    }
    text.push_str(&or_unknown(frame.function.as_ref()).to_string());
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{text} at {file}:{line}"),
        (Some(file), None) => format!("{text} in {file}"),
        (None, _) => text,
    }
}

/// Which lanes a value stands for that is said once.
#[derive(Clone, Copy)]
enum Extent {
    One,
    Active,
    All,
}

/// A variable, ready to be laid out.
struct Entry<'d> {
    variable: &'d VariableDocument,
    /// What stands before and after the name in its declaration.
    declaration: (String, String),
    /// The lanes that execute.
    lanes: Vec<&'d LaneDocument>,
}

/// The variables of each scope, which are next to each other.
fn scopes<'v, 'd>(variables: &'v [&'d VariableDocument]) -> Vec<&'v [&'d VariableDocument]> {
    let mut scopes = Vec::new();
    let mut rest = variables;
    while let Some(first) = rest.first() {
        let mut seen = BTreeSet::new();
        let is_global = |variable: &VariableDocument| variable.kind == VariableKind::Global;
        let same = rest.iter().copied().take_while(|variable| {
            variable.scope == first.scope
                && is_global(variable) == is_global(first)
                // A function that is inlined into one of the same name would declare everything twice.
                && (variable.name.is_empty() || seen.insert((&variable.name, variable.decl.line)))
        });
        let count = same.count().max(1);
        let (scope, others) = rest.split_at(count.min(rest.len()));
        scopes.push(scope);
        rest = others;
    }
    scopes
}

/// Says which scope the next variables are in; `inlined` are the calls that have not been named yet.
fn print_heading<'d>(
    first: &VariableDocument,
    inlined: &mut Peekable<impl Iterator<Item = &'d Untrusted<'static>>>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let name = match (&first.scope, first.kind) {
        (Some(name), _) => name.borrowed(),
        (None, VariableKind::Global) => "the file".into(),
        (None, _) => "a function without a name".into(),
    };
    let is_inlined =
        first.kind != VariableKind::Global && inlined.next_if(|call| **call == name).is_some();
    let note = if is_inlined { " (inlined)" } else { "" };
    writeln!(out, "in {BOLD}{name}{BOLD:#}{note}:")?;
    Ok(())
}

fn print_scopes(
    frame: &VarsFrame,
    variables: &[&VariableDocument],
    extent: Extent,
    width: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let scopes = scopes(variables);
    let mut inlined = frame.inlined.iter().peekable();
    for scope in &scopes {
        if let ([first, ..], true) = (*scope, scopes.len() > 1) {
            print_heading(first, &mut inlined, out)?;
        }
        let mut names: BTreeMap<&Untrusted<'_>, usize> = BTreeMap::new();
        for variable in *scope {
            let count = names.entry(&variable.name).or_default();
            *count = count.saturating_add(1);
        }
        let is_shadowed = |v: &VariableDocument| names.get(&v.name) > Some(&1);
        let mut entries: Vec<_> = scope
            .iter()
            .map(|v| Entry::new(v, is_shadowed(v)))
            .collect();
        entries.sort_by_key(|entry| entry.variable.kind != VariableKind::Parameter);
        let (same, different): (Vec<_>, Vec<_>) = entries
            .into_iter()
            .partition(|entry| entry.groups().len() <= 1);
        for entry in &same {
            entry.print_once(extent, width, out)?;
        }
        let (narrow, wide): (Vec<_>, Vec<_>) = different.into_iter().partition(Entry::is_narrow);
        print_matrix(&narrow, width, out)?;
        for entry in &wide {
            entry.print_groups(width, out)?;
        }
    }
    Ok(())
}

impl<'d> Entry<'d> {
    /// `with_line`: says where it is declared, to tell it from others of its name.
    fn new(variable: &'d VariableDocument, with_line: bool) -> Entry<'d> {
        let ty = variable.ty.to_string();
        let (before, mut after) = match ty.split_once('[') {
            // Lengths stand after the name; types within parentheses are left as they are.
            Some((element, lengths)) if !ty.contains('(') => {
                (format!("{element} "), format!("[{lengths}"))
            }
            Some(_) | None if ty.ends_with('*') => (ty.clone(), String::new()),
            Some(_) | None => (format!("{ty} "), String::new()),
        };
        if let (true, Some(line)) = (with_line, variable.decl.line) {
            after.push_str(&format!(" (line {line})"));
        }
        Entry {
            variable,
            declaration: (before, after),
            lanes: variable
                .lanes
                .iter()
                .filter(|lane| lane.state != ValueStateKind::Inactive)
                .collect(),
        }
    }

    fn name(&self) -> Untrusted<'_> {
        match self.variable.name.is_empty() {
            true => "<unnamed>".into(),
            false => self.variable.name.borrowed(),
        }
    }

    /// `int *g`.
    fn label(&self) -> String {
        let (before, after) = &self.declaration;
        format!("{before}{}{after}", self.name())
    }

    /// The same with the name in bold.
    fn styled_label(&self) -> String {
        let (before, after) = &self.declaration;
        format!("{before}{BOLD}{}{BOLD:#}{after}", self.name())
    }

    /// The lanes of each value, in the order of their first lanes.
    fn groups(&self) -> Vec<(Shown<'d>, Vec<u8>)> {
        let mut groups: Vec<(Shown<'d>, Vec<u8>)> = Vec::new();
        for lane in &self.lanes {
            let shown = Shown::of(lane);
            match groups.iter_mut().find(|(other, _)| *other == shown) {
                Some((_, lanes)) => lanes.push(lane.lane),
                None => groups.push((shown, vec![lane.lane])),
            }
        }
        groups
    }

    fn is_narrow(&self) -> bool {
        self.lanes.iter().all(|lane| match Shown::of(lane) {
            Shown::Value(value) => value.chars().count() <= WIDEST,
            Shown::Missing { .. } => true,
        })
    }

    /// In a line, with the one value that it has.
    fn print_once(&self, extent: Extent, width: usize, out: &mut dyn Write) -> Result<(), Failure> {
        let Some(lane) = self.lanes.first() else {
            return Ok(());
        };
        let shown = Shown::of(lane);
        let extent = match (extent, shown) {
            (Extent::One, _) | (_, Shown::Missing { .. }) => "",
            (Extent::Active, _) => " (all active lanes)",
            (Extent::All, _) => " (all lanes)",
        };
        let room = Room {
            width,
            indent: 0,
            before: self.label().chars().count().saturating_add(" = ".len()),
            after: extent.len(),
        };
        writeln!(
            out,
            "{} = {}{FAINT}{extent}{FAINT:#}",
            self.styled_label(),
            shown.text_in(&room)
        )?;
        Ok(())
    }

    /// In a line for each value, or in several if it does not fit.
    fn print_groups(&self, width: usize, out: &mut dyn Write) -> Result<(), Failure> {
        writeln!(out, "{}", self.styled_label())?;
        for (shown, lanes) in self.groups() {
            let lanes = self.named(&lanes);
            let room = Room {
                width,
                indent: 2,
                before: lanes.chars().count().saturating_add("  : ".len()),
                after: 0,
            };
            writeln!(out, "  {lanes}: {}", shown.text_in(&room))?;
        }
        Ok(())
    }

    /// `lanes 0-3`, with their work-items where these follow each other as the lanes do.
    fn named(&self, lanes: &[u8]) -> String {
        let with_items = self.lanes.iter().filter(|lane| lanes.contains(&lane.lane));
        let with_items: Vec<_> = with_items.map(|lane| (lane.lane, lane.work_item)).collect();
        let numbers = numbered(lanes);
        match item_runs(&with_items).as_slice() {
            [(_, Some((first, last)))] if first == last => {
                format!("{numbers} {}", item_text(*first))
            }
            [(_, Some((first, last)))] => {
                format!("{numbers} {}-{}", item_text(*first), item_text(*last))
            }
            [] | [(_, None)] | [_, _, ..] => numbers,
        }
    }
}

/// What is said of a variable in a lane.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown<'d> {
    Value(&'d str),
    Missing {
        state: &'d str,
        reason: Option<&'d Untrusted<'static>>,
    },
}

impl<'d> Shown<'d> {
    fn of(lane: &'d LaneDocument) -> Shown<'d> {
        match &lane.value {
            Some(value) => Shown::Value(value),
            None => Shown::Missing {
                state: state_text(lane.state),
                reason: lane.message.as_ref(),
            },
        }
    }

    /// The same where there is so much room.
    fn text_in(self, room: &Room) -> String {
        match self {
            Shown::Value(value) => wrap(value, room),
            Shown::Missing { .. } => self.text(),
        }
    }

    fn text(self) -> String {
        match self {
            Shown::Value(value) => value.to_owned(),
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

    /// In a table, where missing values are explained below.
    fn short(self) -> &'d str {
        match self {
            Shown::Value(value) => value,
            Shown::Missing { .. } => "?",
        }
    }

    fn cell(self) -> Cell {
        match self {
            Shown::Value(value) => Cell::new(value),
            Shown::Missing { .. } => faint(self.short()),
        }
    }
}

/// The row of a table that names the work-items of its columns: what it is called, and a name for each.
struct Items {
    label: String,
    names: Vec<String>,
}

impl Items {
    /// The names for some lanes; nothing if none has a work-item. Where all are next to each other in x, that is enough.
    fn new(lanes: &[&LaneDocument]) -> Option<Items> {
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

/// Variables over lanes, in as many tables as it takes.
fn print_matrix(entries: &[Entry<'_>], width: usize, out: &mut dyn Write) -> Result<(), Failure> {
    let Some(first) = entries.first() else {
        return Ok(());
    };
    let items = Items::new(&first.lanes);
    let label_width = entries
        .iter()
        .map(|entry| entry.label().chars().count())
        .chain(items.iter().map(|items| items.label.len()))
        .max()
        .unwrap_or(0);
    // Every column is two spaces after the one before.
    let widths: Vec<usize> = (0..first.lanes.len())
        .map(|column| {
            let cells = entries.iter().filter_map(|entry| entry.lanes.get(column));
            let item = items.as_ref().and_then(|items| items.names.get(column));
            let widest = cells
                .map(|lane| Shown::of(lane).short().chars().count())
                .chain(item.map(String::len))
                .max();
            widest.unwrap_or(0).max(2).saturating_add(2)
        })
        .collect();
    let mut start = 0usize;
    while start < widths.len() {
        let mut used = label_width;
        let fits = widths.iter().skip(start).take_while(|width_of_column| {
            used = used.saturating_add(**width_of_column);
            used <= width
        });
        let end = start.saturating_add(fits.count().max(1));
        writeln!(
            out,
            "{}",
            part_of_matrix(entries, items.as_ref(), start..end)
        )?;
        start = end;
    }
    for entry in entries {
        for (shown, lanes) in entry.groups() {
            if let Shown::Missing { .. } = shown {
                writeln!(
                    out,
                    "{}: ? is {} in {}",
                    entry.styled_label(),
                    shown.text(),
                    numbered(&lanes)
                )?;
            }
        }
    }
    Ok(())
}

/// The table of some columns.
fn part_of_matrix(entries: &[Entry<'_>], items: Option<&Items>, columns: Range<usize>) -> String {
    let of_lanes = |entry: &Entry<'_>, cell: &dyn Fn(&LaneDocument) -> Cell| {
        let lanes = entry.lanes.get(columns.clone()).unwrap_or_default();
        lanes.iter().map(|lane| cell(lane)).collect::<Vec<_>>()
    };
    let mut header = vec![faint("lane")];
    header.extend(
        entries
            .first()
            .map(|first| of_lanes(first, &|lane| faint(lane.lane)))
            .unwrap_or_default(),
    );
    let names = items.map(|items| {
        let mut row = vec![faint(&items.label)];
        let names = items.names.get(columns.clone()).unwrap_or_default();
        row.extend(names.iter().map(faint));
        row
    });
    let rows = entries.iter().map(|entry| {
        let mut row = vec![bold(entry.label())];
        row.extend(of_lanes(entry, &|lane| Shown::of(lane).cell()));
        row
    });
    let rows = names.into_iter().chain(rows).collect();
    table(Some(header), rows, 1..usize::MAX)
}

#[cfg(test)]
mod tests;
