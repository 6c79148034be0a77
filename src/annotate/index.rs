//! Updates the offsets into `.debug_info` in indices of names and units.
//!
//! Sources: DWARF 5 §6.1.1 and §7.19 (`.debug_names`), DWARF 4 §6.1.1 and §7.19 (`.debug_pubnames`, `.debug_pubtypes`). The GNU variants have an
//! additional byte for each name. `.gdb_index`: "Index Section Format" of gdb's manual.

use std::collections::BTreeSet;
use std::sync::Arc;

use gimli::DwForm;
use gimli::constants as dw;

use super::elf::set;
use super::references::{fixed, leb128_of};
use super::shift::{Edit, Shift, edited};
use crate::debug_info::name_index::{NameAbbreviation, NameEntry, NameIndex};
use crate::debug_info::unit_length::UnitLength;
use crate::error::{Error, Result};
use crate::expr::{Cursor, write_uleb};
use crate::meter::{Held, Meter};

/// The sections that are updated.
pub(super) const FOLLOWED: [&str; 6] = [
    ".debug_names",
    ".debug_pubnames",
    ".debug_pubtypes",
    ".debug_gnu_pubnames",
    ".debug_gnu_pubtypes",
    ".gdb_index",
];

/// Returns an index with the offsets of the new `.debug_info`.
///
/// * `name`: a name in [`FOLLOWED`].
///
/// # Errors
/// If the index is malformed, or a new offset does not fit into its field.
pub(super) fn followed(
    name: &str,
    section: &[u8],
    shift: &Shift,
    meter: &Arc<Meter>,
) -> Result<Vec<u8>> {
    match name {
        ".debug_names" => names(section, shift, meter),
        ".gdb_index" => gdb_index(section, shift, meter),
        _ => public_names(section, name.contains("gnu"), shift, meter),
    }
}

fn too_small() -> Error {
    Error::malformed("index", "an offset would need more bytes than it has")
}

fn malformed(what: &'static str) -> Error {
    Error::malformed("index", what)
}

/// Returns the new offset of the entry or unit at an offset.
fn moved(shift: &Shift, offset: u64) -> Result<usize> {
    let offset = usize::try_from(offset).map_err(|_| too_small())?;
    Ok(shift.entry(offset))
}

/// Returns the new offset of an entry within its unit.
fn moved_in_unit(shift: &Shift, unit: u64, offset: u64) -> Result<usize> {
    let entry = unit
        .checked_add(offset)
        .ok_or_else(|| malformed("an entry is outside of the section"))?;
    Ok(moved(shift, entry)?.saturating_sub(moved(shift, unit)?))
}

/// Replaces a number by another of the same size.
fn put(section: &mut [u8], at: usize, value: usize, size: u8) -> Result<()> {
    let bytes = fixed(value, size.into()).ok_or_else(too_small)?;
    set(section, at, &bytes);
    Ok(())
}

/// Updates `.debug_pubnames` or a similar section.
fn public_names(
    section: &[u8],
    has_flags: bool,
    shift: &Shift,
    meter: &Arc<Meter>,
) -> Result<Vec<u8>> {
    let mut out = section.to_vec();
    let mut start = 0;
    while start < section.len() {
        let header = UnitLength::read(section, start as u64, "set of names")?;
        let UnitLength {
            offset_size, body, ..
        } = header;
        let mut cursor = Cursor::new(section.get(..body.end).unwrap_or_default());
        cursor.go_to(body.start)?;
        // The version.
        cursor.u16()?;
        let at = cursor.position();
        let unit = cursor.sized(offset_size)?;
        put(&mut out, at, moved(shift, unit)?, offset_size)?;
        let at = cursor.position();
        let length = cursor.sized(offset_size)?;
        let length = moved_in_unit(shift, unit, length)?;
        put(&mut out, at, length, offset_size)?;
        loop {
            meter.work(1)?;
            let at = cursor.position();
            let entry = cursor.sized(offset_size)?;
            if entry == 0 {
                break;
            }
            let entry = moved_in_unit(shift, unit, entry)?;
            put(&mut out, at, entry, offset_size)?;
            if has_flags {
                cursor.u8()?;
            }
            let name = section.get(cursor.position()..body.end).unwrap_or_default();
            meter.charge_bytes(name.len().min(4096))?;
            let length = name.iter().position(|byte| *byte == 0);
            let length = length.ok_or_else(|| malformed("a name does not end"))?;
            cursor.bytes(length.saturating_add(1) as u64)?;
        }
        start = body.end;
    }
    Ok(out)
}

/// Updates `.gdb_index`. Its only offsets of entries are those in the list of types.
fn gdb_index(section: &[u8], shift: &Shift, meter: &Arc<Meter>) -> Result<Vec<u8>> {
    let mut out = section.to_vec();
    let mut cursor = Cursor::new(section);
    let version = cursor.u32()?;
    if !(4..=9).contains(&version) {
        return Err(malformed("its version is unknown"));
    }
    let [units, types, end] = [cursor.u32()?, cursor.u32()?, cursor.u32()?];
    let rows = |from: u32, to: u32, size: u32| {
        (from..to)
            .step_by(usize::try_from(size).unwrap_or(1))
            .filter(move |at| at.checked_add(size).is_some_and(|end| end <= to))
    };
    for row in rows(units, types, 16) {
        meter.work(1)?;
        cursor.go_to(usize::try_from(row).unwrap_or(usize::MAX))?;
        let at = cursor.position();
        let (unit, length) = (cursor.u64()?, cursor.u64()?);
        put(&mut out, at, moved(shift, unit)?, 8)?;
        let length = moved_in_unit(shift, unit, length)?;
        put(&mut out, at.saturating_add(8), length, 8)?;
    }
    for row in rows(types, end, 24) {
        meter.work(1)?;
        cursor.go_to(usize::try_from(row).unwrap_or(usize::MAX))?;
        let at = cursor.position();
        let (unit, entry) = (cursor.u64()?, cursor.u64()?);
        put(&mut out, at, moved(shift, unit)?, 8)?;
        let entry = moved_in_unit(shift, unit, entry)?;
        put(&mut out, at.saturating_add(8), entry, 8)?;
    }
    Ok(out)
}

/// Updates `.debug_names`.
fn names(section: &[u8], shift: &Shift, meter: &Arc<Meter>) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(section.len());
    let mut start = 0_u64;
    while start < section.len() as u64 {
        let index = NameIndex::read(section, start)?;
        let from = usize::try_from(start).unwrap_or(usize::MAX);
        let to = usize::try_from(index.end()).unwrap_or(usize::MAX);
        let bytes = section.get(from..to).unwrap_or_default();
        out.extend(Names::new(&index, shift, meter).rewritten(bytes)?);
        start = index.end();
    }
    Ok(out)
}

/// An index of `.debug_names` that is being rewritten.
struct Names<'n, 'a> {
    index: &'n NameIndex<'a>,
    shift: &'n Shift,
    /// The charge for the memory of the entries.
    held: Held,
    entries: Vec<(NameEntry, Option<usize>)>,
}

impl<'n, 'a> Names<'n, 'a> {
    fn new(index: &'n NameIndex<'a>, shift: &'n Shift, meter: &Arc<Meter>) -> Names<'n, 'a> {
        Names {
            index,
            shift,
            held: Held::new(Arc::clone(meter)),
            entries: Vec::new(),
        }
    }

    /// * `bytes`: the bytes of the index.
    fn rewritten(mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        let index = self.index;
        if index.version != 5 || !index.fits() || index.broken.is_some() {
            return Err(malformed("a table of .debug_names cannot be read"));
        }
        let mut out = bytes.to_vec();
        let base = usize::try_from(index.offset).unwrap_or(usize::MAX);
        let in_index = |at: usize| at.saturating_sub(base);
        for (at, unit) in index.units() {
            self.held.meter().work(1)?;
            let unit = unit.ok_or_else(|| malformed("a table of .debug_names cannot be read"))?;
            let unit = moved(self.shift, unit)?;
            put(&mut out, in_index(at), unit, index.offset_size)?;
        }
        self.read_entries()?;
        // The abbreviations with a form that is too small for some entry.
        let mut widened: BTreeSet<u64> = BTreeSet::new();
        for (entry, new) in &self.entries {
            if let (Some(value), Some(new)) = (entry.value(dw::DW_IDX_die_offset), new)
                && !is_leb128(value.form)
                && fixed(*new, value.size).is_none()
            {
                widened.insert(entry.code);
            }
        }
        for code in &widened {
            let abbreviation = index.abbreviation(*code);
            self.widen(abbreviation, &mut out, in_index)?;
        }
        let mut edits = Vec::new();
        for (entry, new) in &self.entries {
            let (Some(value), Some(new)) = (entry.value(dw::DW_IDX_die_offset), *new) else {
                continue;
            };
            let bytes = if is_leb128(value.form) || widened.contains(&entry.code) {
                leb128_of(new, value.size).unwrap_or_else(|| leb128(new))
            } else {
                fixed(new, value.size).ok_or_else(too_small)?
            };
            edits.push(Edit {
                at: in_index(value.at),
                removed: value.size,
                bytes,
            });
        }
        edits.sort_by_key(|edit| edit.at);
        self.move_entries(&mut out, &edits, in_index)?;
        Ok(edited(&out, &edits))
    }

    /// Reads each entry once, with the new offset of its target in the unit.
    fn read_entries(&mut self) -> Result<()> {
        let index = self.index;
        let mut seen = BTreeSet::new();
        for name in 1..=index.name_count {
            let mut at = index
                .entries_of(name)
                .ok_or_else(|| malformed("a table of .debug_names cannot be read"))?;
            while seen.insert(at) {
                self.held.meter().work(1)?;
                self.held
                    .hold(size_of::<(NameEntry, Option<usize>)>() as u64)?;
                let Some((entry, next)) = index.entry_at(at)? else {
                    break;
                };
                let new = self.new_offset(&entry)?;
                self.entries.push((entry, new));
                at = next;
            }
        }
        Ok(())
    }

    /// Returns the new offset of the entry in its unit, or None if the unit is in another file.
    fn new_offset(&self, entry: &NameEntry) -> Result<Option<usize>> {
        let index = self.index;
        let Some(offset) = entry.number(dw::DW_IDX_die_offset) else {
            return Ok(None);
        };
        let number = |name| entry.number(name).map(|one| u32::try_from(one).ok());
        let unit = match (
            number(dw::DW_IDX_type_unit),
            number(dw::DW_IDX_compile_unit),
        ) {
            (Some(number), _) => {
                let number = number.ok_or_else(|| malformed("there is no such type unit"))?;
                if number >= index.local_type_unit_count {
                    return Ok(None);
                }
                index.local_type_unit(number)
            }
            (None, Some(number)) => number.and_then(|number| index.unit(number)),
            // The index covers only one unit.
            (None, None) => index.unit(0),
        };
        let unit = unit.ok_or_else(|| malformed("an entry refers to a missing unit"))?;
        moved_in_unit(self.shift, unit, offset).map(Some)
    }

    /// Changes the form of the offsets in an abbreviation, so that each takes as many bytes as it needs.
    fn widen(
        &self,
        abbreviation: Option<&NameAbbreviation>,
        out: &mut [u8],
        in_index: impl Fn(usize) -> usize,
    ) -> Result<()> {
        let Some(abbreviation) = abbreviation else {
            return Ok(());
        };
        let at = in_index(usize::try_from(abbreviation.offset).unwrap_or(usize::MAX));
        let mut cursor = Cursor::new(out.get(at..).unwrap_or_default());
        cursor.uleb()?;
        cursor.uleb()?;
        for (name, form) in &abbreviation.attributes {
            cursor.uleb()?;
            let place = at.saturating_add(cursor.position());
            let used = cursor
                .uleb()
                .map(|_| at.saturating_add(cursor.position()))?;
            if *name != dw::DW_IDX_die_offset {
                continue;
            }
            let wide = match *form {
                dw::DW_FORM_ref1 | dw::DW_FORM_ref2 | dw::DW_FORM_ref4 => dw::DW_FORM_ref_udata,
                _ => dw::DW_FORM_udata,
            };
            let size = used.saturating_sub(place);
            let bytes = leb128_of(wide.0.into(), size).ok_or_else(too_small)?;
            set(out, place, &bytes);
            return Ok(());
        }
        Ok(())
    }

    /// Updates references to entries of the index if some entries became longer, and sets the length.
    fn move_entries(
        &self,
        out: &mut [u8],
        edits: &[Edit],
        in_index: impl Fn(usize) -> usize,
    ) -> Result<()> {
        let index = self.index;
        let shift = Shift::new(edits);
        let pool = in_index(usize::try_from(index.pool()).unwrap_or(usize::MAX));
        let old = index.length;
        let grown = |at: usize| shift.entry(at).saturating_sub(at);
        let more = grown(usize::MAX >> 1);
        if more == 0 {
            return Ok(());
        }
        let in_pool = |offset: u64| -> Result<usize> {
            let at = usize::try_from(offset)
                .ok()
                .and_then(|at| at.checked_add(pool));
            let at = at.ok_or_else(|| malformed("an entry is outside of the index"))?;
            Ok(shift.entry(at).saturating_sub(pool))
        };
        let size = index.offset_size;
        for name in 1..=index.name_count {
            let offset = index
                .entries_of(name)
                .and_then(|at| at.checked_sub(index.pool()));
            let offset =
                offset.ok_or_else(|| malformed("a table of .debug_names cannot be read"))?;
            let at = in_index(index.place_of_entries(name));
            put(out, at, in_pool(offset)?, size)?;
        }
        for (entry, _) in &self.entries {
            let parent = entry.value(dw::DW_IDX_parent);
            let Some(parent) = parent.filter(|one| one.form != dw::DW_FORM_flag_present) else {
                continue;
            };
            let new = in_pool(parent.value)?;
            let bytes = match is_leb128(parent.form) {
                true => leb128_of(new, parent.size),
                false => fixed(new, parent.size),
            };
            set(out, in_index(parent.at), &bytes.ok_or_else(too_small)?);
        }
        let length = usize::try_from(old)
            .ok()
            .and_then(|old| old.checked_add(more));
        let length = length.ok_or_else(too_small)?;
        // In 64-bit DWARF, four marker bytes precede the length.
        put(out, usize::from(size).saturating_sub(4), length, size)
    }
}

fn is_leb128(form: DwForm) -> bool {
    matches!(form, dw::DW_FORM_udata | dw::DW_FORM_ref_udata)
}

fn leb128(value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_uleb(value as u64, &mut bytes);
    bytes
}

#[cfg(test)]
mod tests;
