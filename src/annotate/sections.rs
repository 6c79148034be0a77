//! Assembles the sections of a code object after its units were changed, and updates all references to moved entries.

use std::collections::BTreeMap;

use super::Annotator;
use super::elf::{NewSection, set};
use super::index;
use super::lists::ListKind;
use super::references::fixed;
use super::shift::{Edit, Shift, edited};
use super::stored::stored;
use super::unit::{Patch, PatchedSection, SectionReference, UnitChange};
use crate::debug_info::Bytes;
use crate::debug_info::address_ranges::AddressRangeSet;
use crate::error::{Error, Result};

impl Annotator<'_, '_> {
    /// Returns the changed sections. Returns `None` if there are none.
    pub(super) fn finish(mut self) -> Result<Option<Vec<NewSection>>> {
        let is_unchanged =
            |(_, change): &(_, UnitChange)| change.edits.is_empty() && change.patches.is_empty();
        if self.changes.iter().all(is_unchanged) {
            return Ok(None);
        }
        // Units are read in the order of their headers.
        self.changes
            .sort_by_key(|(header, _)| header.debug_info_offset().map(|at| at.0));
        let read = |name: &str| {
            // One copy is read, one is changed and one is stored.
            const COPIES: u64 = 3;
            let section = self.object.section(name)?.unwrap_or_default();
            let meter = self.object.meter();
            meter.hold((section.len() as u64).saturating_mul(COPIES))?;
            Ok::<_, Error>(section.to_vec())
        };
        let mut info = read(".debug_info")?;
        let mut abbrev = read(".debug_abbrev")?;
        let mut lists = BTreeMap::new();
        for kind in [ListKind::Loc, ListKind::LocLists] {
            lists.insert(PatchedSection::Lists(kind), read(kind.section())?);
        }
        let mut edits: Vec<Edit> = Vec::new();
        for (_, change) in &self.changes {
            edits.extend(change.edits.iter().cloned());
        }
        let shift = Shift::new(&edits);
        for (header, change) in &mut self.changes {
            let Some(table) = change.abbreviations.take() else {
                continue;
            };
            set_header(&mut info, header, change, abbrev.len()).ok_or_else(too_long)?;
            abbrev.extend(table);
        }
        for (_, change) in &self.changes {
            for reference in &change.references {
                let SectionReference {
                    section,
                    at,
                    size,
                    target,
                } = *reference;
                let bytes = fixed(shift.entry(target), size).ok_or_else(too_long)?;
                let patch = Patch { section, at, bytes };
                apply(&patch, &mut info, &mut lists);
            }
            for patch in &change.patches {
                apply(patch, &mut info, &mut lists);
            }
        }
        let mut sections = vec![
            (".debug_info", edited(&info, &edits)),
            (".debug_abbrev", abbrev),
        ];
        for (kind, added) in self.lists {
            let section = lists
                .remove(&PatchedSection::Lists(kind))
                .unwrap_or_default();
            if !added.is_empty() {
                let section = added.append_to(section).ok_or_else(too_long)?;
                sections.push((kind.section(), section));
            }
        }
        let mut ranges = read(".debug_aranges")?;
        if !ranges.is_empty() {
            move_units(&mut ranges, &shift)?;
            sections.push((".debug_aranges", ranges));
        }
        for name in index::FOLLOWED {
            let section = self.object.section(name)?.unwrap_or_default();
            if !section.is_empty() {
                let meter = self.object.meter();
                let place = |error: Error| error.within(name, 0);
                let new = index::followed(name, section, &shift, meter).map_err(place)?;
                sections.push((name, new));
            }
        }
        let stored = sections.into_iter().map(|(name, bytes)| {
            let stored = stored(self.object, name, bytes);
            Ok(NewSection { name, stored })
        });
        stored.collect::<Result<Vec<NewSection>>>().map(Some)
    }
}

fn apply(patch: &Patch, info: &mut [u8], lists: &mut BTreeMap<PatchedSection, Vec<u8>>) {
    let section = match patch.section {
        PatchedSection::Info => info,
        PatchedSection::Lists(_) => match lists.get_mut(&patch.section) {
            Some(section) => section.as_mut_slice(),
            None => return,
        },
    };
    set(section, patch.at, &patch.bytes);
}

fn too_long() -> Error {
    Error::malformed("debugging information", "it is too long for its offsets")
}

/// Sets the length of a unit and the offset of its abbreviations.
fn set_header(
    info: &mut [u8],
    header: &gimli::UnitHeader<Bytes<'_>>,
    change: &UnitChange,
    abbreviations: usize,
) -> Option<()> {
    let start = header.debug_info_offset()?.0;
    let offset_size = usize::from(header.format().word_size());
    let more = change
        .edits
        .iter()
        .map(|edit| edit.bytes.len().saturating_sub(edit.removed));
    let length = header.unit_length().checked_add(more.sum())?;
    // In 64-bit DWARF, four marker bytes precede the length.
    let at = start.checked_add(offset_size.saturating_sub(4))?;
    set(info, at, &fixed(length, offset_size)?);
    // The version follows the length. In DWARF 5, a type and a size follow the version.
    let before: usize = if header.version() >= 5 { 4 } else { 2 };
    let at = at.checked_add(offset_size)?.checked_add(before)?;
    set(info, at, &fixed(abbreviations, offset_size)?);
    Some(())
}

/// Updates the offsets of units in the headers of `.debug_aranges`.
fn move_units(ranges: &mut [u8], shift: &Shift) -> Result<()> {
    let mut next = 0;
    while next < ranges.len() as u64 {
        let old = AddressRangeSet::read(ranges, next)?;
        let (unit, end) = (usize::try_from(old.unit), old.end);
        // No producer for this target writes these sets in 64-bit DWARF.
        let unit = unit.ok().filter(|_| old.offset_size == 4);
        let moved = unit.and_then(|unit| fixed(shift.entry(unit), 4));
        // The offset follows the length and the version.
        let at = usize::try_from(next).ok().and_then(|at| at.checked_add(6));
        set(
            ranges,
            at.ok_or_else(too_long)?,
            &moved.ok_or_else(too_long)?,
        );
        next = end;
    }
    Ok(())
}
