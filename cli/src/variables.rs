//! Prints variables of all lanes as text.
//!
//! A value that is equal in all active lanes is printed once. Other short values are printed in tables with a column for each lane, long
//! ones in lists with a line for each value.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use hetdwarf::debug_info::VariableKind;
use hetdwarf::inspect::{LocationReading, ValueStateKind};
use hetdwarf::object::descriptor::InitialRegisters;
use hetdwarf::report::text::FileNames;
use hetdwarf::report::{FrameDocument, FrameVariables, Hex, ValueNote, VariableDocument};

use crate::failure::Failure;
use crate::lane_table::{Items, Row, Shown, print_inactive, print_table};
use crate::lanes::{item_runs, item_text, numbered, numbered_with};
use crate::or_unknown;
use crate::style::{BOLD, FAINT};
use crate::wrap::{Room, wrap};
use hetdwarf::untrusted::Untrusted;

/// Prints the variables of frames in lines of at most `width` characters, where breaking is possible.
pub(crate) struct Printer<'d> {
    width: usize,
    names: FileNames<'d>,
    /// The entries of the file-scope variables that were already printed. They are the same in every frame.
    globals: BTreeSet<Hex>,
    /// True if the caller prints the positions of inactive lanes, so that they are not listed as inactive.
    places_lanes: bool,
    /// True if the output says by which conventions locations were read.
    says_reading: bool,
    /// True if a value names its lanes, because only some lanes of the wave are shown.
    names_lanes: bool,
}

/// Lists the registers that still hold their initial values from the start of the kernel, if there are any.
pub(crate) fn entry_text(entry: &[InitialRegisters]) -> Option<String> {
    let items: Vec<String> = entry.iter().map(ToString::to_string).collect();
    (!items.is_empty()).then(|| format!("unchanged since the kernel started: {}", items.join("; ")))
}

impl<'d> Printer<'d> {
    /// * `frames`: the frames that will be printed.
    pub(crate) fn new(width: usize, frames: &'d [FrameVariables]) -> Printer<'d> {
        let places = frames
            .iter()
            .flat_map(|frame| core::iter::once(frame).chain(&frame.waiting_lanes));
        let files = places.filter_map(|place| place.frame.file.as_ref());
        Printer {
            width,
            names: FileNames::of(files.map(Untrusted::raw)),
            globals: BTreeSet::new(),
            places_lanes: false,
            says_reading: true,
            names_lanes: false,
        }
    }

    /// Sets whether the caller prints where the inactive lanes of the next frames are.
    pub(crate) fn place_lanes(&mut self, places_lanes: bool) {
        self.places_lanes = places_lanes;
    }

    /// Sets whether a value that is equal in several lanes names them. Otherwise it is marked as the value of all lanes, or of the active ones.
    pub(crate) fn name_lanes(&mut self, names_lanes: bool) {
        self.names_lanes = names_lanes;
    }

    /// Leaves out how the locations of variables were read.
    pub(crate) fn without_reading(self) -> Printer<'d> {
        Printer {
            says_reading: false,
            ..self
        }
    }

    /// Prints a frame, and then the positions in it where other lanes wait. File-scope variables are printed once, with the first frame.
    pub(crate) fn print(
        &mut self,
        content: &FrameVariables,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        self.print_place(content, out)?;
        for argument in &content.hidden {
            writeln!(out, "{argument}")?;
        }
        if let Some(text) = entry_text(&content.entry) {
            writeln!(out, "{text}")?;
        }
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
            "#{} {} (pc {:#x}){}{}",
            content.frame.index,
            styled_frame(&content.frame, &self.names),
            content.frame.pc.0,
            waiting_text(content),
            one_lane(content)
        )?;
        if let Some(note) = content.note {
            writeln!(out, "{FAINT}{note}{FAINT:#}")?;
        }
        if content.variables.is_empty() {
            let nothing = || "no variables".into();
            let message = content.message.clone().unwrap_or_else(nothing);
            writeln!(out, "{message}")?;
            return Ok(());
        }
        let is_new = |variable: &&VariableDocument| {
            variable.kind != VariableKind::Global || self.globals.insert(variable.die)
        };
        let variables: Vec<_> = content.variables.iter().filter(is_new).collect();
        let Some(first) = variables.first() else {
            writeln!(out, "no variables except those of the file")?;
            return Ok(());
        };
        // All variables have the same inactive lanes.
        let inactive: Vec<u8> = first
            .lanes
            .iter()
            .filter(|lane| lane.state == ValueStateKind::Inactive)
            .map(|lane| lane.lane)
            .collect();
        let active = first
            .lanes
            .iter()
            .filter(|lane| lane.state.is_active())
            .count();
        let extent = match (first.lanes.len(), active) {
            (1, _) => Extent::One,
            _ if self.names_lanes => Extent::Named,
            (all, active) if active == all => Extent::All,
            (_, _) => Extent::Active,
        };
        if active > 0 {
            print_scopes(&variables, extent, self.width, out)?;
        }
        if !self.places_lanes {
            print_inactive(&inactive, out)?;
        }
        if active > 0 {
            if self.says_reading {
                print_reading(&variables, out)?;
            }
            print_notes(&variables, out)?;
        }
        Ok(())
    }
}

/// Prints the names of the variables whose locations LLVM wrote without the DWARF extensions.
fn print_reading(variables: &[&VariableDocument], out: &mut dyn Write) -> Result<(), Failure> {
    let legacy = variables
        .iter()
        .filter(|variable| variable.reading == LocationReading::LegacyLlvm);
    let names: Vec<String> = legacy.map(|variable| variable.name.to_string()).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        writeln!(
            out,
            "located by plain DWARF, without the extensions, as LLVM uses it for GPUs: {names}"
        )?;
    }
    Ok(())
}

/// Prints the notes that concern several variables.
fn print_notes(variables: &[&VariableDocument], out: &mut dyn Write) -> Result<(), Failure> {
    let notes = variables
        .iter()
        .filter_map(|variable| Some((variable.note?, variable.name.to_string())));
    print_value_notes(notes, out)
}

/// Prints each note once, with the names of the values it applies to.
pub(crate) fn print_value_notes(
    notes: impl Iterator<Item = (ValueNote, String)>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut names: BTreeMap<ValueNote, Vec<String>> = BTreeMap::new();
    for (note, name) in notes {
        names.entry(note).or_default().push(name);
    }
    for (note, names) in names {
        writeln!(out, "{}: {}", note.text(), names.join(", "))?;
    }
    Ok(())
}

/// Returns the waiting lanes of a position, if the content is about waiting lanes.
fn waiting_text(content: &FrameVariables) -> String {
    let lanes = content.variables.first().map(|variable| &variable.lanes);
    match lanes {
        Some(lanes) if content.waiting => {
            let numbers: Vec<u8> = lanes.iter().map(|lane| lane.lane).collect();
            format!(", where {}", numbered_with(&numbers, ["waits", "wait"]))
        }
        Some(_) | None => String::new(),
    }
}

/// Returns the lane and work-item of a frame, if it is about a single lane that has a work-item.
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

/// Returns a frame as `helper at k.cl:4`, `leaf (inlined) at k.cl:7` or `_Z1fv+0x10`.
pub(crate) fn frame_text(frame: &FrameDocument, names: &FileNames<'_>) -> String {
    frame.text(or_unknown(frame.function.as_ref()), names)
}

/// Returns the text of [`frame_text`] with the function in bold.
pub(crate) fn styled_frame(frame: &FrameDocument, names: &FileNames<'_>) -> String {
    let function = or_unknown(frame.function.as_ref());
    frame.text(format!("{BOLD}{function}{BOLD:#}"), names)
}

/// The lanes that a single printed value stands for.
#[derive(Clone, Copy)]
enum Extent {
    /// One lane was chosen.
    One,
    /// Some lanes were chosen, which are named.
    Named,
    Active,
    All,
}

/// Splits variables into runs of the same scope.
fn scopes<'v, 'd>(variables: &'v [&'d VariableDocument]) -> Vec<&'v [&'d VariableDocument]> {
    let mut scopes = Vec::new();
    let mut rest = variables;
    while let Some(first) = rest.first() {
        let mut seen = BTreeSet::new();
        let is_global = |variable: &VariableDocument| variable.kind == VariableKind::Global;
        let same = rest.iter().copied().take_while(|variable| {
            variable.scope == first.scope
                && is_global(variable) == is_global(first)
                // A function that is inlined into another with the same name starts a new run at its first repeated variable.
                && (variable.name.is_empty() || seen.insert((&variable.name, variable.decl.line)))
        });
        let count = same.count().max(1);
        let (scope, others) = rest.split_at(count.min(rest.len()));
        scopes.push(scope);
        rest = others;
    }
    scopes
}

/// Prints the scope of the following variables.
fn print_heading(first: &VariableDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let name = match (&first.scope, first.kind) {
        (Some(name), _) => name.borrowed(),
        (None, VariableKind::Global) => "the file".into(),
        (None, _) => "a function without a name".into(),
    };
    writeln!(out, "in {BOLD}{name}{BOLD:#}:")?;
    Ok(())
}

fn print_scopes(
    variables: &[&VariableDocument],
    extent: Extent,
    width: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let scopes = scopes(variables);
    for scope in &scopes {
        if let ([first, ..], true) = (*scope, scopes.len() > 1) {
            print_heading(first, out)?;
        }
        let mut names: BTreeMap<&Untrusted<'_>, usize> = BTreeMap::new();
        for variable in *scope {
            let count = names.entry(&variable.name).or_default();
            *count += 1;
        }
        let is_shadowed = |v: &VariableDocument| names.get(&v.name) > Some(&1);
        let mut variables = scope.to_vec();
        variables.sort_by_key(|v| v.kind != VariableKind::Parameter);
        let rows = variables.into_iter().map(|v| row(v, is_shadowed(v)));
        let (same, different): (Vec<_>, Vec<_>) = rows.partition(|row| row.groups().len() <= 1);
        for row in &same {
            print_once(row, extent, width, out)?;
        }
        let (narrow, wide): (Vec<_>, Vec<_>) = different.into_iter().partition(Row::is_narrow);
        let items = narrow.first().and_then(|first| Items::new(&first.lanes));
        print_table(&narrow, items.as_ref(), width, out)?;
        for row in &wide {
            print_groups(row, width, out)?;
        }
    }
    Ok(())
}

fn row(variable: &VariableDocument, with_line: bool) -> Row<'_> {
    let (before, mut after) = variable.ty.around_name();
    if let (true, Some(line)) = (with_line, variable.decl.line) {
        after.push_str(&format!(" (line {line})"));
    }
    let name = match variable.name.is_empty() {
        true => "<unnamed>".into(),
        false => variable.name.borrowed(),
    };
    Row::new(
        format!("{before}{name}{after}"),
        format!("{before}{BOLD}{name}{BOLD:#}{after}"),
        &variable.lanes,
    )
}

/// Prints a variable with a single value in a line.
fn print_once(
    row: &Row<'_>,
    extent: Extent,
    width: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let groups = row.groups();
    let (shown, lanes) = match groups.first() {
        Some((shown, lanes)) => (*shown, lanes.as_slice()),
        None => return Ok(()),
    };
    let extent = match (extent, shown) {
        (Extent::Named, _) => format!(" ({})", numbered(lanes)),
        (Extent::One, _) | (_, Shown::Missing { .. }) => String::new(),
        (Extent::Active, _) => " (all active lanes)".to_owned(),
        (Extent::All, _) => " (all lanes)".to_owned(),
    };
    let room = Room {
        width,
        indent: 0,
        before: row.label.chars().count() + " = ".len(),
        after: extent.len(),
    };
    let (label, text) = (&row.styled, text_in(shown, &room));
    writeln!(out, "{label} = {text}{FAINT}{extent}{FAINT:#}")?;
    Ok(())
}

/// Prints a line for each value, or several if it does not fit.
fn print_groups(row: &Row<'_>, width: usize, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "{}", row.styled)?;
    for (shown, lanes) in row.groups() {
        let lanes = with_items(row, &lanes);
        let room = Room {
            width,
            indent: 2,
            before: lanes.chars().count() + "  : ".len(),
            after: 0,
        };
        writeln!(out, "  {lanes}: {}", text_in(shown, &room))?;
    }
    Ok(())
}

/// Returns the text for a lane's value, broken to fit the room.
fn text_in(shown: Shown<'_>, room: &Room) -> String {
    match shown {
        Shown::Value { value, .. } => {
            let when = shown.when();
            format!("{}{when}", wrap(value, value.marks(), room))
        }
        Shown::Missing { .. } => shown.text(),
    }
}

/// Formats `lanes 0-3`, with their work-items if these are consecutive too.
fn with_items(row: &Row<'_>, lanes: &[u8]) -> String {
    let with_items = row.lanes.iter().filter(|lane| lanes.contains(&lane.lane));
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

#[cfg(test)]
mod tests;
