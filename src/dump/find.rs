//! Finds entries by name with `.debug_names` alone, without searching the units.
//!
//! Source: DWARF 5 §6.1.1.

use gimli::constants as dw;

use super::Sources;
use crate::debug_info::name_index::{NameEntry, NameIndex, SECTION};
use crate::debug_info::{DebugInfo, DieId};
use crate::error::Result;
use crate::expr::Dialect;

/// Returns the entries that have one of the names in an index, in the order of their units.
///
/// # Errors
/// If the units or an index cannot be read, or a limit is reached.
pub(super) fn find(
    sources: &Sources<'_>,
    dialect: Dialect,
    names: &[impl AsRef<str>],
) -> Result<Vec<DieId>> {
    let info = sources.info(dialect)?;
    let meter = sources.for_query();
    let bytes = sources.section(false, SECTION)?;
    let strings = sources.section(false, ".debug_str")?;
    let mut found = Vec::new();
    let mut next = 0;
    while next < bytes.len() as u64 {
        let index = NameIndex::read(bytes, next)?;
        next = index.end();
        for number in 1..=index.name_count {
            meter.work(1)?;
            let string = index.string(number).unwrap_or_default();
            let start = usize::try_from(string).unwrap_or(usize::MAX);
            let text = strings.get(start..).unwrap_or_default();
            let is_wanted = |name: &str| {
                let rest = text.strip_prefix(name.as_bytes());
                rest.is_some_and(|rest| rest.first() == Some(&0))
            };
            if !names.iter().any(|name| is_wanted(name.as_ref())) {
                continue;
            }
            let mut at = index.entries_of(number).unwrap_or_default();
            while let Some((entry, after)) = index.entry_at(at)? {
                meter.work(1)?;
                meter.hold_all::<DieId>(2)?;
                found.extend(die_of(&info, &index, &entry));
                at = after;
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Returns the entry of a unit to which an entry of an index refers, or `None` if the unit is missing.
fn die_of(info: &DebugInfo<'_>, index: &NameIndex<'_>, entry: &NameEntry) -> Option<DieId> {
    let inside = entry.number(dw::DW_IDX_die_offset)?;
    let number = |name| {
        let number = entry.number(name)?;
        u32::try_from(number).ok()
    };
    let unit = match (
        number(dw::DW_IDX_type_unit),
        number(dw::DW_IDX_compile_unit),
    ) {
        (Some(unit), _) => index.local_type_unit(unit)?,
        (None, unit) => index.unit(unit.unwrap_or(0))?,
    };
    // Any offset after the header, whose length varies.
    let last = info.die_at(".debug_info", unit.checked_add(inside)?);
    let header = info.unit_ids().find_map(|id| {
        let found = info.unit_info(id).ok()?;
        (found.section == ".debug_info" && found.offset == unit).then_some(found)
    })?;
    match header.partner.and_then(|id| info.unit_info(id).ok()) {
        Some(split) if split.section.ends_with(".dwo") => Some(DieId {
            unit: split.id,
            offset: split.offset.checked_add(inside)?,
        }),
        _ => last.filter(|id| id.unit == header.id),
    }
}
