//! Going through the entries of a unit and giving those that are selected to a sink.
//!
//! One loop over the unit, however deep entries nest. How entries look is left to the sinks.

use std::io;

use fallible_iterator::FallibleIterator;
use gimli::constants::{DW_AT_MIPS_linkage_name, DW_AT_linkage_name, DW_AT_name};

use super::Selection;
use super::attribute::{Attributes, Meaning, Shown};
use super::header::Header;
use super::names::{linkage_name, short_name};
use super::part::Context;
use crate::debug_info::attribute::tag_name;
use crate::debug_info::{Die, DieId};
use crate::error::Error;
use crate::expr::Cursor;
use crate::meter::HeldStack;

/// How an entry is encoded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Encoded {
    /// The number of its abbreviation.
    pub(super) code: u64,
    /// The offset of the entry that it is in.
    pub(super) parent: Option<u64>,
}

/// What prints entries.
pub(super) trait Sink<'a> {
    /// A unit; `whole` if all its entries are printed.
    fn begin_unit(
        &mut self,
        unit: &Header<'a>,
        section: &'static str,
        whole: bool,
    ) -> io::Result<()>;
    /// A type unit without its entries.
    fn summary(&mut self, unit: &Header<'a>, signature: u64) -> io::Result<()>;
    /// An entry, or the null entry that ends a list of children, at a depth below the first that is printed.
    fn begin_entry(&mut self, die: &Die<'a>, depth: usize, encoded: Encoded) -> io::Result<()>;
    /// An attribute of the entry.
    fn attribute(&mut self, shown: &Shown<'a>, meaning: Option<&Meaning>) -> io::Result<()>;
    /// The entry has no more attributes.
    fn end_entry(&mut self) -> io::Result<()>;
    /// Entries that cannot be read.
    fn problem(&mut self, error: &Error) -> io::Result<()>;
    /// The unit has no more entries.
    fn end_unit(&mut self) -> io::Result<()>;
}

/// The selected entry that the walk is in.
#[derive(Clone, Copy)]
struct Inside {
    /// Its depth in the unit.
    base: usize,
    /// How many entries around it were printed before it.
    indent: usize,
}

/// Gives the entries of a unit that are selected to `sink`.
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
    let view = context.view;
    let deepest = usize::try_from(view.child_depth).unwrap_or(usize::MAX);
    let needs_parents = view.verbose || view.parent_depth > 0;
    let is_single = matches!(context.selection, Selection::At(_)) || context.offset.is_some();
    let is_named = matches!(
        context.selection,
        Selection::Named(_) | Selection::Listed(_)
    );
    // The entries that the current one is in, by their depth and offset.
    let mut parents = HeldStack::new(attributes.meter);
    let mut inside: Option<Inside> = None;
    // The depth of the entry whose children are not printed.
    let mut hidden: Option<usize> = None;
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
        if needs_parents {
            parents.pop_while(|(above, _)| *above >= depth);
        }
        hidden = hidden.filter(|above| depth > *above);
        if inside.is_some_and(|inside| depth <= inside.base) {
            inside = None;
            if is_single {
                break;
            }
        }
        if inside.is_none() && !die.is_null() && is_selected(attributes, &die, context) {
            let around = around(&parents, view.parent_depth);
            print_around(attributes, unit, &around, sink)?;
            inside = Some(Inside {
                base: depth,
                indent: around.len(),
            });
            hidden = None;
        }
        let parent = parents.last().map(|(_, offset)| *offset);
        if needs_parents
            && die.has_children()
            && let Err(error) = parents.push((depth, die.id().offset))
        {
            sink.problem(&error)?;
            break;
        }
        let below = inside.map(|inside| (inside, depth.saturating_sub(inside.base)));
        let printed = below.filter(|(_, below)| {
            if hidden.is_none() && *below > 0 && !has_tag_of(&die, &view.child_tags) {
                hidden = Some(depth);
            }
            *below <= deepest && hidden.is_none()
        });
        let Some((around, below)) = printed else {
            // What is printed is paid for by its text.
            if let Err(error) = attributes.meter.work(cost(&die)) {
                sink.problem(&error)?;
                break;
            }
            continue;
        };
        let depth = around.indent.saturating_add(below);
        entry(attributes, unit, &die, depth, parent, sink)?;
        if is_named && deepest == 0 {
            inside = None;
        }
    }
    Ok(())
}

/// Returns true if an entry has one of these tags, or if there are none.
fn has_tag_of(die: &Die<'_>, tags: &[String]) -> bool {
    let is_its = |tag: &String| **tag == *tag_name(die.tag());
    tags.is_empty() || (!die.is_null() && tags.iter().any(is_its))
}

/// Prints the entries that the selected one is in, outermost first.
fn print_around<'a>(
    attributes: &Attributes<'_, 'a>,
    unit: &Header<'a>,
    around: &[u64],
    sink: &mut dyn Sink<'a>,
) -> io::Result<()> {
    for (indent, offset) in around.iter().enumerate() {
        let id = DieId {
            unit: unit.facts.id,
            offset: *offset,
        };
        match attributes.info.die(id) {
            Ok(parent) => entry(attributes, unit, &parent, indent, None, sink)?,
            Err(error) => sink.problem(&error)?,
        }
    }
    Ok(())
}

/// The offsets of so many entries that the current one is in, outermost first.
fn around(parents: &HeldStack<'_, (usize, u64)>, depth: u32) -> Vec<u64> {
    let count = usize::try_from(depth).unwrap_or(usize::MAX);
    let skipped = parents.len().saturating_sub(count);
    let parents = parents.iter().skip(skipped);
    parents.map(|(_, offset)| *offset).collect()
}

/// As how many steps it counts to look whether an entry is selected: the names of what it completes are read.
fn cost(die: &Die<'_>) -> u64 {
    const REFERENCE: u64 = 8;
    if completes(die) { REFERENCE } else { 1 }
}

/// Whether an entry has the names of another one: instances have those of what they are instances of.
fn completes(die: &Die<'_>) -> bool {
    die.attribute(gimli::DW_AT_abstract_origin).is_some()
        || die.attribute(gimli::DW_AT_specification).is_some()
}

fn is_selected<'a>(
    attributes: &Attributes<'_, 'a>,
    die: &Die<'a>,
    context: Context<'_, 'a>,
) -> bool {
    if let Some(offset) = context.offset {
        return die.id().offset == offset;
    }
    match context.selection {
        Selection::All => true,
        Selection::At(offset) => die.id().offset == *offset,
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

/// The number of an entry's abbreviation, which the entry starts with.
fn code_at(unit: &Header<'_>, die: &Die<'_>) -> u64 {
    let at = usize::try_from(die.id().offset).unwrap_or(usize::MAX);
    let bytes = unit.section.slice().get(at..).unwrap_or_default();
    Cursor::new(bytes).uleb().unwrap_or(0)
}
