//! Walks over the entries of a unit and passes the selected ones to a sink.
//!
//! It is one loop over the unit, regardless of the nesting depth. Formatting is left to the sinks.

use std::io;

use fallible_iterator::FallibleIterator;
use gimli::constants::{DW_AT_MIPS_linkage_name, DW_AT_linkage_name, DW_AT_name};

use super::attribute::{Attributes, Meaning, Shown};
use super::context::Context;
use super::header::Header;
use super::names::{linkage_name, short_name};
use super::{Selection, View};
use crate::debug_info::attribute::tag_name;
use crate::debug_info::{Die, DieId, Dies};
use crate::error::Error;
use crate::expr::Cursor;
use crate::meter::HeldStack;

/// The encoding of an entry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Encoded {
    /// The number of its abbreviation.
    pub(super) code: u64,
    /// The offset of its parent.
    pub(super) parent: Option<u64>,
}

/// A printer of entries.
pub(super) trait Sink<'a> {
    /// Starts a unit. `whole` is true if all its entries are printed.
    fn begin_unit(
        &mut self,
        unit: &Header<'a>,
        section: &'static str,
        whole: bool,
    ) -> io::Result<()>;
    /// Prints a type unit without its entries.
    fn summary(&mut self, unit: &Header<'a>, signature: u64) -> io::Result<()>;
    /// Starts an entry, or prints the null entry that ends a list of children. The depth is relative to the first printed entry.
    fn begin_entry(&mut self, die: &Die<'a>, depth: usize, encoded: Encoded) -> io::Result<()>;
    /// Prints an attribute of the entry.
    fn attribute(&mut self, shown: &Shown<'a>, meaning: Option<&Meaning>) -> io::Result<()>;
    /// Ends the entry, after its attributes.
    fn end_entry(&mut self) -> io::Result<()>;
    /// Reports entries that cannot be read.
    fn problem(&mut self, error: &Error) -> io::Result<()>;
    /// Ends the unit.
    fn end_unit(&mut self) -> io::Result<()>;
}

/// Passes the selected entries of a unit to `sink`.
pub(super) fn walk<'a>(
    attributes: &Attributes<'_, 'a>,
    unit: &Header<'a>,
    context: Context<'_, 'a>,
    sink: &mut dyn Sink<'a>,
) -> io::Result<()> {
    let mut dies = match attributes.info.dies(unit.facts.id) {
        Ok(dies) => dies,
        Err(error) => {
            sink.problem(&error)?;
            return Ok(());
        }
    };
    if matches!(context.selection, Selection::All) && context.offset.is_none() {
        return tree(attributes, unit, dies, Above::default(), context.view, sink);
    }
    let is_single = matches!(context.selection, Selection::At(_)) || context.offset.is_some();
    // The ancestors of the current entry, by depth and offset.
    let mut parents = HeldStack::new(attributes.meter);
    loop {
        let die = match dies.next() {
            Ok(Some(die)) => die,
            Ok(None) => break,
            Err(error) => {
                sink.problem(&error)?;
                break;
            }
        };
        let depth = die.depth();
        parents.pop_while(|(above, _)| *above >= depth);
        if !die.is_null() && is_selected(attributes, unit, &die, context) {
            let mut above = Above::default();
            for offset in around(&parents, context.view.parent_depth) {
                let id = DieId {
                    unit: unit.facts.id,
                    offset,
                };
                match attributes.info.die(id) {
                    Ok(parent) => entry(attributes, unit, &parent, above.count, None, sink)?,
                    Err(error) => sink.problem(&error)?,
                }
                above.count = above.count.saturating_add(1);
            }
            above.parent = parents.last().map(|(_, offset)| *offset);
            match attributes.info.subtree(die.id()) {
                Ok(dies) => tree(attributes, unit, dies, above, context.view, sink)?,
                Err(error) => sink.problem(&error)?,
            }
            if is_single {
                break;
            }
        }
        // Printed entries are charged by their text.
        let paid = attributes.meter.work(cost(&die));
        let pushed = paid.and_then(|()| match die.has_children() {
            true => parents.push((depth, die.id().offset)),
            false => Ok(()),
        });
        if let Err(error) = pushed {
            sink.problem(&error)?;
            break;
        }
    }
    Ok(())
}

/// Passes entries, each the parent of the next, to `sink`.
pub(super) fn chain<'a>(
    attributes: &Attributes<'_, 'a>,
    unit: &Header<'a>,
    ids: &[DieId],
    sink: &mut dyn Sink<'a>,
) -> io::Result<()> {
    for (depth, id) in ids.iter().enumerate() {
        match attributes.info.die(*id) {
            Ok(die) => entry(attributes, unit, &die, depth, None, sink)?,
            Err(error) => sink.problem(&error)?,
        }
    }
    Ok(())
}

/// The entries above the first entry of a tree.
#[derive(Clone, Copy, Default)]
struct Above {
    /// The number of entries printed above it.
    count: usize,
    /// The offset of its parent.
    parent: Option<u64>,
}

/// Passes an entry and its descendants to `sink`, within the limits of the view.
fn tree<'a>(
    attributes: &Attributes<'_, 'a>,
    unit: &Header<'a>,
    mut dies: Dies<'_, 'a>,
    above: Above,
    view: &View,
    sink: &mut dyn Sink<'a>,
) -> io::Result<()> {
    let deepest = usize::try_from(view.child_depth).unwrap_or(usize::MAX);
    let mut parents = HeldStack::new(attributes.meter);
    // The depth of an entry whose children are not printed.
    let mut hidden: Option<usize> = None;
    loop {
        let die = match dies.next() {
            Ok(Some(die)) => die,
            Ok(None) => return Ok(()),
            Err(error) => return sink.problem(&error),
        };
        let depth = die.depth();
        hidden = hidden.filter(|above| depth > *above);
        let mut parent = above.parent;
        if view.verbose {
            parents.pop_while(|(above, _)| *above >= depth);
            parent = parents.last().map_or(parent, |(_, offset)| Some(*offset));
            if die.has_children()
                && let Err(error) = parents.push((depth, die.id().offset))
            {
                return sink.problem(&error);
            }
        }
        if hidden.is_none() && depth > 0 && !is_shown(&die, view) {
            hidden = Some(depth);
        }
        if hidden.is_none() && depth <= deepest {
            let indent = above.count.saturating_add(depth);
            entry(attributes, unit, &die, indent, parent, sink)?;
            if deepest == 0 {
                return Ok(());
            }
        } else if let Err(error) = attributes.meter.work(1) {
            return sink.problem(&error);
        }
    }
}

/// Returns true if an entry has one of the tags that are printed below others.
fn is_shown(die: &Die<'_>, view: &View) -> bool {
    let mut tags = view.child_tags.iter();
    view.child_tags.is_empty() || (!die.is_null() && tags.any(|tag| **tag == *tag_name(die.tag())))
}

/// Returns the offsets of the given number of ancestors of the current entry, outermost first.
fn around(parents: &HeldStack<'_, (usize, u64)>, depth: u32) -> Vec<u64> {
    let count = usize::try_from(depth).unwrap_or(usize::MAX);
    let skipped = parents.len().saturating_sub(count);
    let parents = parents.iter().skip(skipped);
    parents.map(|(_, offset)| *offset).collect()
}

/// Returns the steps charged for testing whether an entry is selected, which reads the names of entries that it completes.
fn cost(die: &Die<'_>) -> u64 {
    const REFERENCE: u64 = 8;
    if completes(die) { REFERENCE } else { 1 }
}

/// Returns true if an entry gets its names from another one, as an instance from its abstract instance.
fn completes(die: &Die<'_>) -> bool {
    die.attribute(gimli::DW_AT_abstract_origin).is_some()
        || die.attribute(gimli::DW_AT_specification).is_some()
}

fn is_selected<'a>(
    attributes: &Attributes<'_, 'a>,
    unit: &Header<'a>,
    die: &Die<'a>,
    context: Context<'_, 'a>,
) -> bool {
    if let Some(offset) = context.offset {
        return die.id().offset.checked_sub(unit.facts.shift) == Some(offset);
    }
    match context.selection {
        Selection::All => true,
        Selection::At(offset) => die.id().offset == *offset,
        Selection::Address(_, ids) => ids.contains(&die.id()),
        Selection::Listed(ids) => ids.binary_search(&die.id()).is_ok(),
        Selection::Named(matches) => {
            let own = [DW_AT_name, DW_AT_linkage_name, DW_AT_MIPS_linkage_name];
            let named = own.iter().any(|name| die.attribute(*name).is_some());
            (named || completes(die))
                && [
                    short_name(attributes.info, die),
                    linkage_name(attributes.info, die),
                ]
                .iter()
                .flatten()
                .any(|name| matches(name.raw()))
        }
    }
}

fn entry<'a>(
    attributes: &Attributes<'_, 'a>,
    unit: &Header<'a>,
    die: &Die<'a>,
    depth: usize,
    parent: Option<u64>,
    sink: &mut dyn Sink<'a>,
) -> io::Result<()> {
    let encoded = match attributes.style.verbose {
        true => Encoded {
            code: code_at(unit, die),
            parent,
        },
        false => Encoded::default(),
    };
    sink.begin_entry(die, depth, encoded)?;
    if !die.is_null() {
        let mut fields = attributes.fields(unit, die);
        for attribute in die.attributes() {
            let field = fields
                .as_mut()
                .and_then(|fields| fields.next(attribute.form()));
            let shown = attributes.show(unit.facts, die, attribute, field);
            let number = shown.value.as_ref().and_then(|value| value.unsigned());
            let meaning = number.and_then(|n| attributes.meaning(unit.facts, die, attribute, n));
            sink.attribute(&shown, meaning.as_ref())?;
        }
    }
    sink.end_entry()
}

/// Returns the abbreviation number at the start of an entry.
fn code_at(unit: &Header<'_>, die: &Die<'_>) -> u64 {
    let at = usize::try_from(die.id().offset).unwrap_or(usize::MAX);
    let bytes = unit.section.slice().get(at..).unwrap_or_default();
    Cursor::new(bytes).uleb().unwrap_or(0)
}
