//! Prints units, section by section, and selects their entries.

use core::cell::Cell;
use std::io::{self, Write};

use fallible_iterator::FallibleIterator;
use gimli::SectionId;

use super::abbreviations::pass_table;
use super::attribute::Attributes;
use super::context::Context;
use super::entries::{self, Sink};
use super::fields::Placed;
use super::header::{Header, Headers};
use super::json::JsonEntries;
use super::lookup;
use super::names::short_name;
use super::output::Output;
use super::part::Part;
use super::text::TextEntries;
use super::type_name::TypeNames;
use super::{Failure, Naming, Selection, Sources};
use crate::arch::Machine;
use crate::debug_info::{DebugInfo, DieId, UnitId, type_signature};
use crate::error::{Error, Result};
use crate::expr::{Cursor, Dialect};

/// Prints the units of `.debug_info` or `.debug_types` and its `.dwo` form. Selected entries are searched in all of them.
pub(super) fn dump(
    context: Context<'_, '_>,
    output: &mut Output<'_>,
) -> core::result::Result<(), Failure> {
    let Context {
        sources, selection, ..
    } = context;
    let mut style = context.style;
    if matches!(selection, Selection::Address(..)) && style.naming == Naming::Llvm {
        // llvm-dwarfdump prints no register names here.
        style.machine = Machine(0);
    }
    let info = sources.info(style.dialect)?;
    let attributes = Attributes {
        info: &info,
        sources,
        types: TypeNames::new(&info, style.naming),
        placed: Placed::new(sources, style.verbose),
        style,
        show_form: style.verbose || context.view.show_form,
        meter: output.meter(),
        whole_table: Cell::new(None),
    };
    let is_selected = !matches!(selection, Selection::All);
    let is_titled = matches!(selection, Selection::All | Selection::At(_));
    let is_package = !sources.of_package(".debug_cu_index")?.is_empty()
        || !sources.of_package(".debug_tu_index")?.is_empty();
    let mut next = 0;
    for split in [false, true] {
        for id in [SectionId::DebugInfo, SectionId::DebugTypes] {
            let in_part = (id == SectionId::DebugTypes) == (context.part == Part::Types);
            let name = id.name();
            let bytes = sources.bytes(split, name)?;
            let shown = if split {
                id.dwo_name().unwrap_or(name)
            } else {
                name
            };
            // llvm-dwarfdump prints no title if it can read none of the units.
            let mut is_late = attributes.is_quiet() && !bytes.is_empty() && !output.json();
            if in_part && is_titled && !(is_late && (split || !context.explicit)) {
                is_late = false;
                context.begin_section(shown, bytes.len(), output)?;
            }
            let of_6 = sources.of_6(split, name)?;
            let mut headers = Headers::new(bytes, of_6, id == SectionId::DebugTypes, split);
            while let Some(header) = headers.next(&mut next) {
                let mut unit = match header {
                    Ok(unit) => unit,
                    Err((offset, error)) if in_part => {
                        let error = Error::malformed("unit header", error.to_string());
                        output.problem(&error.within(shown, offset))?;
                        break;
                    }
                    Err(_) => break,
                };
                if !in_part && !is_selected {
                    continue;
                }
                if attributes.is_quiet()
                    && let Err(error) = readable(&attributes, &unit, is_package)
                {
                    output.note(&error.within(shown, unit.facts.offset));
                    break;
                }
                if core::mem::take(&mut is_late) && in_part && is_titled {
                    context.begin_section(shown, bytes.len(), output)?;
                }
                if let Ok((_, offset)) = info.abbreviations_of(unit.facts.id) {
                    unit.abbreviations = offset;
                }
                unit.type_name = type_name(&info, &unit);
                unit.facts.alone = split && !has_partner(&info, unit.facts.id);
                unit.facts.shift = sources.section_start(split, name, unit.facts.offset);
                unit.facts.base_section = attributes.base_section(&unit);
                one(&attributes, &unit, shown, context, output)?;
                if output.is_cut() {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Checks a header like llvm-dwarfdump, which stops at the first invalid one.
///
/// # Errors
/// If the type of a type unit is not in the unit, or the index of a package does not locate its abbreviations.
fn readable(attributes: &Attributes<'_, '_>, unit: &Header<'_>, is_package: bool) -> Result<()> {
    let malformed = |reason: &str| Error::malformed("unit header", reason);
    if let Some((_, at)) = type_signature(&unit.header) {
        let (start, end) = (
            unit.header.header_size(),
            unit.header.length_including_self(),
        );
        if !(start..end).contains(&at) {
            return Err(malformed("its type is not in the unit"));
        }
    }
    if !is_package || !unit.facts.split {
        return Ok(());
    }
    if unit.header.debug_abbrev_offset().0 > 0 {
        return Err(malformed("the offset of its abbreviations is not 0"));
    }
    attributes.info.abbreviations_of(unit.facts.id).map(drop)
}

/// Returns true if an entry starts at an offset of any section of units.
pub(super) fn has_entry(sources: &Sources<'_>, dialect: Dialect, offset: u64) -> Result<bool> {
    let info = sources.info(dialect)?;
    for id in info.unit_ids() {
        // An unreadable unit has no entries. The error is reported when the unit is printed.
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

/// Returns the name of the type in a type unit, from its entry.
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

/// Prints the selected entries of a unit.
fn one<'a>(
    attributes: &Attributes<'_, 'a>,
    unit: &Header<'a>,
    section: &'static str,
    context: Context<'_, 'a>,
    output: &mut Output<'_>,
) -> io::Result<()> {
    let inside = unit.facts.offset..unit.end();
    let is_outside = match context.selection {
        Selection::At(offset) => !inside.contains(offset),
        Selection::Address(_, ids) | Selection::Listed(ids) => {
            !ids.iter().any(|id| id.unit == unit.facts.id)
        }
        Selection::All | Selection::Named(_) => context
            .offset
            .is_some_and(|offset| !inside.contains(&offset.saturating_add(unit.facts.shift))),
    };
    if is_outside {
        return Ok(());
    }
    if output.json() {
        return walk(
            attributes,
            unit,
            section,
            context,
            &mut JsonEntries::new(output),
        );
    }
    let is_whole = matches!(context.selection, Selection::All) && context.offset.is_none();
    if attributes.is_quiet() && is_whole {
        let whole = whole_abbreviations(attributes, unit, context);
        let root = attributes.info.root(unit.facts.id).map(drop);
        if let Some(offset) = only_null(unit) {
            return null_entry(unit, offset, &whole, output);
        }
        if let Err(error) = whole.and(root) {
            return unreadable(unit, &error, output);
        }
    }
    let mut text = TextEntries::new(output, attributes);
    walk(attributes, unit, section, context, &mut text)?;
    if let Selection::Address(pc, [root, rest @ ..]) = context.selection {
        let function = rest.first().copied();
        lookup::write_line(attributes, *pc, *root, function, output)?;
    }
    Ok(())
}

/// Reads the abbreviations of a unit to their end.
///
/// # Errors
/// If they are malformed or missing.
fn whole_abbreviations(
    attributes: &Attributes<'_, '_>,
    unit: &Header<'_>,
    context: Context<'_, '_>,
) -> Result<()> {
    let split = unit.facts.split;
    let table = Some((split, unit.abbreviations));
    // Units share their tables.
    if attributes.whole_table.get() == table {
        return Ok(());
    }
    let bytes = context.sources.section(split, ".debug_abbrev")?;
    let mut cursor = Cursor::new(bytes);
    let read = cursor
        .go_to(unit.abbreviations)
        .and_then(|()| pass_table(&mut cursor, attributes.meter));
    let section = if split {
        ".debug_abbrev.dwo"
    } else {
        ".debug_abbrev"
    };
    read.map_err(|error| error.within(section, cursor.position() as u64))?;
    attributes.whole_table.set(table);
    Ok(())
}

/// Returns the offset of the first entry of a unit, if it is a null entry.
fn only_null(unit: &Header<'_>) -> Option<u64> {
    let start = unit.header.header_size() as u64;
    let offset = unit.facts.offset.saturating_add(start);
    let at = usize::try_from(offset).ok()?;
    let is_null = unit.section.slice().get(at) == Some(&0) && offset < unit.end();
    is_null.then_some(offset)
}

/// Returns llvm-dwarfdump's note about an invalid offset of abbreviations.
fn invalid(error: &Error) -> &'static str {
    let section = error.origin().map_or("", |origin| origin.section);
    match section.starts_with(".debug_abbrev") {
        true => " (invalid)",
        false => "",
    }
}

/// Prints a unit whose only entry is a null entry, as llvm-dwarfdump does.
fn null_entry(
    unit: &Header<'_>,
    offset: u64,
    abbreviations: &Result<()>,
    output: &mut Output<'_>,
) -> io::Result<()> {
    let invalid = abbreviations.as_ref().err().map_or("", invalid);
    writeln!(output, "{}", unit.text(invalid))?;
    let offset = offset.saturating_sub(unit.facts.shift);
    writeln!(output, "\n{offset:#010x}: NULL")
}

/// Prints a unit without entries, as llvm-dwarfdump does.
fn unreadable(unit: &Header<'_>, error: &Error, output: &mut Output<'_>) -> io::Result<()> {
    writeln!(output, "{}", unit.text(invalid(error)))?;
    output.note(error);
    let what = match type_signature(&unit.header) {
        Some(_) => "type",
        None => "compile",
    };
    writeln!(output, "<{what} unit can't be parsed!>\n")
}

fn walk<'a>(
    attributes: &Attributes<'_, 'a>,
    unit: &Header<'a>,
    section: &'static str,
    context: Context<'_, 'a>,
    sink: &mut dyn Sink<'a>,
) -> io::Result<()> {
    if let Selection::Address(_, ids) = context.selection {
        sink.begin_unit(unit, section, true)?;
        entries::chain(attributes, unit, ids, sink)?;
        return sink.end_unit();
    }
    let is_whole = matches!(context.selection, Selection::All) && context.offset.is_none();
    let is_summary = context.view.summarize_types && is_whole;
    sink.begin_unit(unit, section, is_whole && !is_summary)?;
    match (is_summary, type_signature(&unit.header)) {
        (true, Some((signature, _))) => sink.summary(unit, signature)?,
        // Nothing is printed for the other units then.
        (true, None) => {}
        (false, _) => entries::walk(attributes, unit, context, sink)?,
    }
    sink.end_unit()
}
