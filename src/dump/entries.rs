//! Going through the entries of a unit and giving those that are selected to a sink.
//!
//! One loop over the unit, however deep entries nest. How entries look is left to the sinks.

use std::io;

use fallible_iterator::FallibleIterator;
use gimli::constants::{DW_AT_MIPS_linkage_name, DW_AT_linkage_name, DW_AT_name};

use super::Selection;
use super::attribute::{Attributes, Meaning, Shown, UnitFacts};
use super::header::Header;
use super::names::{linkage_name, short_name};
use crate::debug_info::Die;
use crate::error::Error;

/// What prints entries.
pub(super) trait Sink<'a> {
    /// A unit; `whole` if all its entries are printed.
    fn begin_unit(
        &mut self,
        unit: &Header<'a>,
        section: &'static str,
        whole: bool,
    ) -> io::Result<()>;
    /// An entry, or the null entry that ends a list of children, at a depth below the first that is printed.
    fn begin_entry(&mut self, die: &Die<'a>, depth: usize) -> io::Result<()>;
    /// An attribute of the entry.
    fn attribute(&mut self, shown: &Shown<'a>, meaning: Option<&Meaning>) -> io::Result<()>;
    /// The entry has no more attributes.
    fn end_entry(&mut self) -> io::Result<()>;
    /// Entries that cannot be read.
    fn problem(&mut self, error: &Error) -> io::Result<()>;
    /// The unit has no more entries.
    fn end_unit(&mut self) -> io::Result<()>;
}

/// Gives the entries of a unit that are selected to `sink`.
pub(super) fn walk<'a>(
    attributes: &Attributes<'_, 'a>,
    unit: UnitFacts,
    selection: &Selection<'_>,
    sink: &mut dyn Sink<'a>,
) -> io::Result<()> {
    let mut dies = match attributes.info.dies(unit.id) {
        Ok(dies) => dies,
        Err(error) => {
            sink.problem(&error)?;
            return Ok(());
        }
    };
    // The depth of the selected entry that the walk is in.
    let mut inside: Option<usize> = None;
    loop {
        let die = match dies.next() {
            Ok(Some(die)) => die,
            Ok(None) => break,
            Err(error) => {
                sink.problem(&error)?;
                break;
            }
        };
        if inside.is_some_and(|base| die.depth() <= base) {
            inside = None;
            if matches!(selection, Selection::At(_)) {
                break;
            }
        }
        if inside.is_none() && !die.is_null() && is_selected(attributes, &die, selection) {
            inside = Some(die.depth());
        }
        let Some(base) = inside else {
            // What is printed is paid for by its text.
            if let Err(error) = attributes.meter.work(cost(&die)) {
                sink.problem(&error)?;
                break;
            }
            continue;
        };
        entry(
            attributes,
            unit,
            &die,
            die.depth().saturating_sub(base),
            sink,
        )?;
        if matches!(
            selection,
            Selection::Named {
                children: false,
                ..
            }
        ) {
            inside = None;
        }
    }
    Ok(())
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
    selection: &Selection<'_>,
) -> bool {
    match selection {
        Selection::All => true,
        Selection::At(offset) => die.id().offset == *offset,
        Selection::Named { matches, .. } => {
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
    unit: UnitFacts,
    die: &Die<'a>,
    depth: usize,
    sink: &mut dyn Sink<'a>,
) -> io::Result<()> {
    sink.begin_entry(die, depth)?;
    if !die.is_null() {
        for attribute in die.attributes() {
            let shown = attributes.show(unit, die, attribute);
            let number = shown.value.as_ref().and_then(|value| value.unsigned());
            let meaning = number.and_then(|n| attributes.meaning(unit, die, attribute, n));
            sink.attribute(&shown, meaning.as_ref())?;
        }
    }
    sink.end_entry()
}
