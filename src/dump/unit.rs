//! Units, section by section, and which of their entries are printed.

use std::io;

use fallible_iterator::FallibleIterator;
use gimli::SectionId;

use super::Failure;
use super::attribute::Attributes;
use super::entries::{self, Sink};
use super::header::{Header, Headers};
use super::json::JsonEntries;
use super::names::short_name;
use super::output::Output;
use super::text::TextEntries;
use super::type_name::TypeNames;
use super::{Selection, Sources, Style};
use crate::debug_info::{DebugInfo, DieId, UnitId, type_signature};
use crate::error::{Error, Result};
use crate::expr::Dialect;

/// Prints the units of `.debug_info`, `.debug_types` and their `.dwo` forms.
pub(super) fn dump(
    sources: &Sources<'_>,
    style: Style,
    selection: &Selection<'_>,
    output: &mut Output<'_>,
) -> core::result::Result<(), Failure> {
    let info = sources.info(style.dialect)?;
    let attributes = Attributes {
        info: &info,
        sources,
        types: TypeNames::new(&info, style.naming),
        style,
        meter: output.meter(),
    };
    let named = matches!(selection, Selection::Named { .. });
    if output.json() {
        output.begin_array("units")?;
    }
    let mut next = 0;
    for split in [false, true] {
        for id in [SectionId::DebugInfo, SectionId::DebugTypes] {
            let name = id.name();
            let bytes = sources.bytes(split, name)?;
            let shown = if split {
                id.dwo_name().unwrap_or(name)
            } else {
                name
            };
            // Asked for and not there is an answer as well, but only for the section everybody knows.
            let expected = id == SectionId::DebugInfo && sources.has(split);
            if !output.json() && !named && (expected || !bytes.is_empty()) {
                use std::io::Write;
                writeln!(output, "\n{shown} contents:")?;
            }
            let of_6 = sources.of_6(split, name)?;
            let mut headers = Headers::new(bytes, of_6, id == SectionId::DebugTypes, split);
            while let Some(header) = headers.next(&mut next) {
                let mut unit = match header {
                    Ok(unit) => unit,
                    Err((offset, error)) => {
                        let error = Error::malformed("unit header", error.to_string());
                        output.problem(&error.within(shown, offset))?;
                        break;
                    }
                };
                if let Ok((_, offset)) = info.abbreviations_of(unit.facts.id) {
                    unit.abbreviations = offset;
                }
                unit.type_name = type_name(&info, &unit);
                unit.facts.alone = split && !has_partner(&info, unit.facts.id);
                one(&attributes, &unit, shown, selection, output)?;
                if output.is_cut() {
                    break;
                }
            }
        }
    }
    if output.json() {
        output.end_array()?;
    }
    Ok(())
}

/// Whether an entry starts at an offset of any section of units.
pub(super) fn has_entry(sources: &Sources<'_>, dialect: Dialect, offset: u64) -> Result<bool> {
    let info = sources.info(dialect)?;
    for id in info.unit_ids() {
        // A unit that cannot be read has no entries; what is wrong with it is said where it is printed.
        let Ok(unit) = info.unit_info(id) else {
            continue;
        };
        if !(unit.offset..unit.offset.saturating_add(unit.size)).contains(&offset) {
            continue;
        }
        let mut dies = info.dies(id)?;
        while let Some(die) = dies.next()? {
            if die.id().offset == offset && !die.is_null() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn has_partner(info: &DebugInfo<'_>, id: UnitId) -> bool {
    info.unit_info(id).is_ok_and(|unit| unit.partner.is_some())
}

/// The name of the type that a type unit is for, as its entry has it.
fn type_name<'a>(info: &DebugInfo<'a>, unit: &Header<'a>) -> String {
    let Some((_, at)) = type_signature(&unit.header) else {
        return String::new();
    };
    let id = DieId {
        unit: unit.facts.id,
        offset: unit.facts.offset.saturating_add(at as u64),
    };
    let die = info.die(id).ok();
    let name = die.and_then(|die| short_name(info, &die));
    name.map_or(String::new(), |name| name.to_string())
}

/// Prints the entries of a unit that are selected.
fn one<'a>(
    attributes: &Attributes<'_, 'a>,
    unit: &Header<'a>,
    section: &'static str,
    selection: &Selection<'_>,
    output: &mut Output<'_>,
) -> io::Result<()> {
    let inside = unit.facts.offset..unit.end();
    if matches!(selection, Selection::At(offset) if !inside.contains(offset)) {
        return Ok(());
    }
    let json = output.json();
    let mut text = TextEntries { output, indent: 0 };
    if json {
        let mut entries = JsonEntries::new(text.output);
        return walk(attributes, unit, section, selection, &mut entries);
    }
    walk(attributes, unit, section, selection, &mut text)
}

fn walk<'a>(
    attributes: &Attributes<'_, 'a>,
    unit: &Header<'a>,
    section: &'static str,
    selection: &Selection<'_>,
    sink: &mut dyn Sink<'a>,
) -> io::Result<()> {
    sink.begin_unit(unit, section, matches!(selection, Selection::All))?;
    entries::walk(attributes, unit.facts, selection, sink)?;
    sink.end_unit()
}
