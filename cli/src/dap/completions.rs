//! Completes input in the console: commands, variables, registers and members.

use std::collections::BTreeSet;

use hetdwarf::debug_info::types::{TypeId, TypeKind, TypeTable};
use hetdwarf::inspect::StopFrame;
use hetdwarf::query::Query;
use hetdwarf::untrusted::Untrusted;

use super::console::COMMANDS;
use super::handle::FrameId;
use super::message::Request;
use super::protocol::{Body, CompletionItem};
use super::registers::Registers;
use super::session::{Answer, Session};
use super::stack::frame_of;

/// The maximum nesting of bases and unnamed structures in which members are looked for.
const DEEPEST: usize = 8;

/// Names, with the kind by which the editor marks them.
type Names = (Vec<String>, &'static str);

impl<'s> Session<'s> {
    /// Lists the possible completions of a text in the console.
    pub(super) fn completions(&mut self, request: &Request) -> Answer<'s> {
        let text = request.text("text")?.ok_or("text: it is missing")?;
        let column = request.needed("column")?;
        let id = match request.integer("frameId")? {
            Some(number) => self.handles.frame(number)?,
            None => self.current,
        };
        // The protocol counts columns in UTF-16 units.
        let units = self.numbering.columns_before(column);
        let numbering = self.numbering;
        let before = first_units(text, units);
        let is_part = |one: char| one.is_alphanumeric() || one == '_';
        let start = before.trim_end_matches(is_part).len();
        let (before, word) = before.split_at(start);
        let (before, word) = match before.strip_suffix('$') {
            Some(before) => (before, format!("${word}")),
            None => (before, word.to_owned()),
        };
        let mut targets = Vec::new();
        let mut add = |(names, kind): Names| {
            let mut seen = BTreeSet::new();
            for name in names {
                if name.starts_with(&word) && seen.insert(name.clone()) {
                    targets.push(CompletionItem {
                        label: Untrusted::from(name).to_string(),
                        kind,
                        start: numbering.column(units_of(before) + 1),
                        length: units_of(&word),
                    });
                }
            }
        };
        if before.is_empty() {
            let names = COMMANDS.iter();
            let names = names.filter_map(|(command, _)| command.split(' ').next());
            add((names.map(str::to_owned).collect(), "keyword"));
        }
        if !matches!(before.trim_start(), "wave " | "lane ") {
            // If the frame is unknown, only commands are offered.
            if let Ok(names) = self.names(id, before, &word) {
                add(names);
            }
        }
        Ok(Body::Completions { targets })
    }

    /// Returns the names that can follow a text.
    fn names(&mut self, id: FrameId, before: &str, word: &str) -> Result<Names, String> {
        let parent = before.strip_suffix("->").or(before.strip_suffix('.'));
        self.with_stop(id.wave, |session, stop| {
            let frame = frame_of(stop, id)?;
            if let Some(parent) = parent {
                return Ok((members_of(&frame, operand(parent))?, "property"));
            }
            if word.starts_with('$') {
                let names = Registers::Frame(&frame).names().into_iter();
                return Ok((names.map(|name| format!("${name}")).collect(), "variable"));
            }
            let variables = session.kept_variables(&frame, id)?;
            let names = variables.iter().map(|one| one.name.raw().to_owned());
            Ok((names.filter(|name| !name.is_empty()).collect(), "variable"))
        })
    }
}

/// Returns the first `units` UTF-16 units of a text.
fn first_units(text: &str, units: usize) -> &str {
    let mut left = units;
    let fits = |(_, one): &(usize, char)| match left.checked_sub(one.len_utf16()) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let last = text.char_indices().take_while(fits).last();
    let end = last.map_or(0, |(at, one)| at + one.len_utf8());
    text.get(..end).unwrap_or_default()
}

fn units_of(text: &str) -> u64 {
    text.encode_utf16().count() as u64
}

/// Returns the operand of a member access at the end of a text, such as `a.b[1]`.
fn operand(text: &str) -> &str {
    let mut start = text.len();
    for (at, one) in text.char_indices().rev() {
        let is_part = one.is_alphanumeric() || "_$.[]->".contains(one);
        if !is_part {
            break;
        }
        start = at;
    }
    text.get(start..).unwrap_or_default()
}

/// Returns the names of the members of an expression, or of the structure that it points to.
fn members_of(frame: &StopFrame<'_, '_, '_>, expression: &str) -> Result<Vec<String>, String> {
    let lanes = frame.wave_size().all_lanes();
    let active = lanes.filter(|lane| frame.is_active(*lane)).take(1);
    let active: Vec<_> = active.collect();
    let mut query = Query::new(*frame).map_err(|error| error.to_string())?;
    let answer = query.evaluate(expression, &active);
    let answer = answer.map_err(|error| error.to_string())?;
    let types = query.types();
    let mut ty = answer.ty;
    if let TypeKind::Pointer { target, .. } = &types.resolved(ty).kind {
        ty = *target;
    }
    let mut names = Vec::new();
    add_members(types, ty, 0, &mut names);
    Ok(names)
}

fn add_members(types: &TypeTable, ty: TypeId, depth: usize, names: &mut Vec<String>) {
    let TypeKind::Record { members, .. } = &types.resolved(ty).kind else {
        return;
    };
    for member in members {
        match &member.name {
            Some(name) if !member.is_base => names.push(name.clone()),
            // Members of a base or of an unnamed structure are named like direct members.
            _ if depth < DEEPEST => add_members(types, member.ty, depth + 1, names),
            _ => {}
        }
    }
}
