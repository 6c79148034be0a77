//! Looks up a code address: its unit, function, innermost block and line.

use std::io;

use fallible_iterator::FallibleIterator;
use gimli::DwAt;
use gimli::constants as dw;

use super::attribute::Attributes;
use super::sources::Sources;
use crate::debug_info::{DebugInfo, Die, DieId};
use crate::error::Result;
use crate::expr::Dialect;
use crate::meter::Meter;
use crate::untrusted::Untrusted;

/// Returns the first entry of the unit with code at an address, its function and the innermost block there, or nothing if no unit has such code.
///
/// # Errors
/// If the units cannot be read, or a limit is reached.
pub(super) fn lookup(sources: &Sources<'_>, dialect: Dialect, pc: u64) -> Result<Vec<DieId>> {
    let info = sources.info(dialect)?;
    let meter = sources.for_query();
    for id in info.unit_ids() {
        let root = info.root(id)?;
        if root.tag() == dw::DW_TAG_type_unit || !contains(&info, &root, pc, &meter) {
            continue;
        }
        return innermost(&info, root.id(), pc, &meter);
    }
    Ok(Vec::new())
}

/// Returns the first entry of a unit, and its function and the innermost block at an address.
fn innermost(info: &DebugInfo<'_>, root: DieId, pc: u64, meter: &Meter) -> Result<Vec<DieId>> {
    let mut found = vec![root];
    let mut dies = info.dies(root.unit)?;
    while let Some(die) = dies.next()? {
        meter.work(2)?;
        if die.is_null() {
            continue;
        }
        // For inlined calls, it is the innermost one.
        let kept = match die.tag() {
            dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine => 1,
            dw::DW_TAG_lexical_block if found.len() > 1 => 2,
            _ => continue,
        };
        if !contains(info, &die, pc, meter) {
            continue;
        }
        found.truncate(kept);
        found.push(die.id());
    }
    Ok(found)
}

/// Returns the function at an address in the split unit of a skeleton.
fn in_partner(attributes: &Attributes<'_, '_>, pc: u64, skeleton: DieId) -> Option<DieId> {
    let info = attributes.info;
    let partner = info.unit_info(skeleton.unit).ok()?.partner?;
    let root = info.root(partner).ok()?.id();
    let found = innermost(info, root, pc, attributes.meter).ok()?;
    found.get(1).copied()
}

fn contains<'a>(info: &DebugInfo<'a>, die: &Die<'a>, pc: u64, meter: &Meter) -> bool {
    let ranges = info.ranges(die, meter);
    ranges.is_ok_and(|ranges| ranges.iter().any(|range| range.contains(&pc)))
}

/// Returns the number in an attribute of an entry or of one that it completes.
fn declared<'a>(info: &DebugInfo<'a>, mut die: Die<'a>, name: DwAt) -> Option<u64> {
    const HOPS: usize = 8;
    for _ in 0..HOPS {
        if let Some(attribute) = die.attribute(name) {
            return info.value(&die, attribute).ok()?.unsigned();
        }
        let origin = [dw::DW_AT_abstract_origin, dw::DW_AT_specification]
            .iter()
            .find_map(|name| die.attribute(*name))?;
        die = info.die(info.target(&die, origin).ok()??).ok()?;
    }
    None
}

/// Prints the line of an address.
///
/// * `function`: the function at the address.
pub(super) fn write_line(
    attributes: &Attributes<'_, '_>,
    pc: u64,
    root: DieId,
    function: Option<DieId>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let info = attributes.info;
    let unit = root.unit;
    // An unreadable table is reported when it is printed.
    let table = info.line_table(unit).ok().flatten();
    // llvm-dwarfdump finds no line in an unlinked object.
    let table = table.filter(|_| !attributes.sources.is_apart());
    let row = table.as_ref().and_then(|table| table.find(pc));
    let function = function.or_else(|| in_partner(attributes, pc, root));
    let owner = function.map_or(unit, |function| function.unit);
    let file_name = |unit, number| {
        let file = info.source_file(unit, number).ok()??;
        Some(Untrusted::from(file.name()).to_string())
    };
    write!(out, "Line info: ")?;
    let (mut line, mut column) = (0, 0);
    if let Some((row, _)) = row {
        (line, column) = (row.line, row.column);
        if let Some(file) = file_name(unit, row.file) {
            write!(out, "file '{file}', ")?;
        }
    }
    write!(out, "line {line}, column {column}, ")?;
    let die = function.and_then(|function| info.die(function).ok());
    let number = |name| declared(info, die.clone()?, name);
    if let Some(file) = number(dw::DW_AT_decl_file).and_then(|number| file_name(owner, number)) {
        write!(out, "start file '{file}', ")?;
    }
    let start = number(dw::DW_AT_decl_line).unwrap_or(0);
    writeln!(out, "start line {start}")
}
