//! Decodes the indices of `.debug_names`: names, and their entries.
//!
//! It decodes every field, for code that prints or checks the section. Nothing in an index is trusted: each table is read on demand, within the
//! bounds of the index. References to other sections are left to the callers.
//!
//! gimli 0.34 is not used: it ends the section at a wrong version, and the index at a wrong abbreviation. It does not return the offsets of
//! tables, does not limit attributes, and does not support `DW_FORM_sec_offset` and `DW_FORM_ref_sig8`. Source: DWARF 5 §6.1.1, §7.19.

use std::collections::BTreeMap;

use gimli::constants as dw;
use gimli::{DwForm, DwIdx, DwTag};
use smallvec::SmallVec;

use super::unit_length::UnitLength;
use crate::error::{Error, Result};
use crate::expr::Cursor;

/// The section.
pub(crate) const SECTION: &str = ".debug_names";

/// The maximum number of attributes of an entry: the standard has five, GNU three more. Without a limit, a small index could have endless
/// entries, because attributes can take no bytes.
const ATTRIBUTES: usize = 32;

/// An index.
#[derive(Clone, Debug)]
pub(crate) struct NameIndex<'a> {
    /// The offset of the index in the section.
    pub(crate) offset: u64,
    /// The length in the header: the number of bytes after the length field.
    pub(crate) length: u64,
    /// 4 or 8: the size of offsets in bytes.
    pub(crate) offset_size: u8,
    pub(crate) version: u16,
    pub(crate) unit_count: u32,
    pub(crate) local_type_unit_count: u32,
    pub(crate) foreign_type_unit_count: u32,
    pub(crate) bucket_count: u32,
    pub(crate) name_count: u32,
    pub(crate) abbreviations_size: u32,
    /// The augmentation string, without the padding zeros.
    pub(crate) augmentation: &'a [u8],
    /// The kinds of entries, in the order of their table.
    pub(crate) abbreviations: Vec<NameAbbreviation>,
    /// The position of each code in `abbreviations`. If a code occurs several times, the first counts.
    by_code: BTreeMap<u64, usize>,
    /// The error that ended the table of abbreviations early.
    pub(crate) broken: Option<Error>,
    /// The bytes of the section up to the end of the index.
    bytes: &'a [u8],
    tables: Tables,
}

/// The offsets of the tables in the section.
#[derive(Clone, Copy, Debug)]
struct Tables {
    units: usize,
    local_type_units: usize,
    foreign_type_units: usize,
    buckets: usize,
    hashes: usize,
    strings: usize,
    entries: usize,
    abbreviations: usize,
    pool: usize,
}

/// A kind of entry.
#[derive(Clone, Debug)]
pub(crate) struct NameAbbreviation {
    /// The offset of the abbreviation in the section.
    pub(crate) offset: u64,
    pub(crate) code: u64,
    pub(crate) tag: DwTag,
    pub(crate) attributes: SmallVec<[(DwIdx, DwForm); 4]>,
}

/// An entry of a name.
#[derive(Clone, Debug)]
pub(crate) struct NameEntry {
    /// The offset of the entry in the section.
    pub(crate) offset: u64,
    /// The code of its abbreviation.
    pub(crate) code: u64,
    pub(crate) tag: DwTag,
    pub(crate) values: SmallVec<[NameValue; 4]>,
}

/// An attribute of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NameValue {
    pub(crate) name: DwIdx,
    pub(crate) form: DwForm,
    /// A flag that is present is 1.
    pub(crate) value: u64,
    /// The offset of the value in the section, and its size in bytes.
    pub(crate) at: usize,
    pub(crate) size: usize,
}

impl NameEntry {
    /// Returns the attribute with this code.
    pub(crate) fn value(&self, name: DwIdx) -> Option<NameValue> {
        self.values.iter().find(|value| value.name == name).copied()
    }

    /// Returns the value of a numeric attribute, or `None` for a flag.
    pub(crate) fn number(&self, name: DwIdx) -> Option<u64> {
        let value = self.value(name)?;
        (value.form != dw::DW_FORM_flag_present).then_some(value.value)
    }
}

impl<'a> NameIndex<'a> {
    /// Reads the header of the index at `offset` of the section, and its abbreviations.
    ///
    /// # Errors
    /// If the header is not in the section, or its length exceeds the section. The offset of the next index is unknown then. Otherwise
    /// [`end`](NameIndex::end) has this offset, even if the tables do not fit.
    pub(crate) fn read(section: &'a [u8], offset: u64) -> Result<NameIndex<'a>> {
        let place = |error: Error| error.within(SECTION, offset);
        let header = UnitLength::read(section, offset, "name index").map_err(place)?;
        let UnitLength {
            length,
            offset_size,
            body,
        } = header;
        let end = section.get(..body.end).unwrap_or_default();
        let mut cursor = Cursor::new(end);
        cursor.go_to(body.start).map_err(place)?;
        let version = cursor.u16().map_err(place)?;
        cursor.u16().map_err(place)?;
        let mut counts = [0; 7];
        for count in &mut counts {
            *count = cursor.u32().map_err(place)?;
        }
        let [
            units,
            local,
            foreign,
            buckets,
            names,
            abbreviations,
            augmentation,
        ] = counts;
        let augmentation = cursor.bytes(augmentation.into()).map_err(place)?;
        let mut index = NameIndex {
            offset,
            length,
            offset_size,
            version,
            unit_count: units,
            local_type_unit_count: local,
            foreign_type_unit_count: foreign,
            bucket_count: buckets,
            name_count: names,
            abbreviations_size: abbreviations,
            augmentation: trimmed(augmentation),
            abbreviations: Vec::new(),
            by_code: BTreeMap::new(),
            broken: None,
            bytes: end,
            // The string is padded to a multiple of 4, relative to its own start.
            tables: Tables::at(
                cursor
                    .position()
                    .saturating_sub(augmentation.len())
                    .saturating_add(augmentation.len().next_multiple_of(4)),
            ),
        };
        index.lay_out();
        index.read_abbreviations();
        Ok(index)
    }

    /// Computes the offsets of the tables from the counts in the header.
    fn lay_out(&mut self) {
        let size = usize::from(self.offset_size);
        let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        let hashes = if self.bucket_count == 0 {
            0
        } else {
            count(self.name_count)
        };
        let mut at = self.tables.units;
        let mut next = |count: usize, size: usize| {
            at = at.saturating_add(count.saturating_mul(size));
            at
        };
        let tables = &mut self.tables;
        tables.local_type_units = next(count(self.unit_count), size);
        tables.foreign_type_units = next(count(self.local_type_unit_count), size);
        tables.buckets = next(count(self.foreign_type_unit_count), 8);
        tables.hashes = next(count(self.bucket_count), 4);
        tables.strings = next(hashes, 4);
        tables.entries = next(count(self.name_count), size);
        tables.abbreviations = next(count(self.name_count), size);
        tables.pool = next(count(self.abbreviations_size), 1);
    }

    /// Returns the offset of the next index.
    pub(crate) fn end(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns true if all tables are within the index. Otherwise none of them is reliable.
    pub(crate) fn fits(&self) -> bool {
        self.tables.pool <= self.bytes.len()
    }

    /// Returns the size of the tables in bytes, from the start of the index.
    pub(crate) fn needed(&self) -> u64 {
        (self.tables.pool as u64).saturating_sub(self.offset)
    }

    /// Returns the entry with this number of a table.
    fn number(&self, table: usize, index: u32, size: u8) -> Option<u64> {
        let at = usize::try_from(index)
            .ok()?
            .checked_mul(usize::from(size))?
            .checked_add(table)?;
        Cursor::new(self.bytes.get(at..)?).sized(size).ok()
    }

    /// Returns the offset of a unit in `.debug_info`.
    pub(crate) fn unit(&self, index: u32) -> Option<u64> {
        let found = self.number(self.tables.units, index, self.offset_size)?;
        (index < self.unit_count).then_some(found)
    }

    /// Returns the offset of a type unit in `.debug_info`.
    pub(crate) fn local_type_unit(&self, index: u32) -> Option<u64> {
        let found = self.number(self.tables.local_type_units, index, self.offset_size)?;
        (index < self.local_type_unit_count).then_some(found)
    }

    /// Returns the signature of a type unit in another file.
    pub(crate) fn foreign_type_unit(&self, index: u32) -> Option<u64> {
        let found = self.number(self.tables.foreign_type_units, index, 8)?;
        (index < self.foreign_type_unit_count).then_some(found)
    }

    /// Returns the number, from 1, of the first name in a bucket, or 0 for an empty one.
    pub(crate) fn bucket(&self, bucket: u32) -> Option<u32> {
        let found = self.number(self.tables.buckets, bucket, 4)?;
        let found = u32::try_from(found).ok()?;
        (bucket < self.bucket_count).then_some(found)
    }

    /// Returns the hash of a name, by its number from 1, or `None` if the index has no hash table.
    pub(crate) fn hash(&self, name: u32) -> Option<u32> {
        let has = self.bucket_count > 0 && name <= self.name_count;
        let found = self.number(self.tables.hashes, name.checked_sub(1)?, 4)?;
        u32::try_from(found).ok().filter(|_| has)
    }

    /// Returns the offset of a name in `.debug_str`, by its number from 1.
    pub(crate) fn string(&self, name: u32) -> Option<u64> {
        let found = self.number(self.tables.strings, name.checked_sub(1)?, self.offset_size)?;
        (name <= self.name_count).then_some(found)
    }

    /// Returns the section offset at which the entries of a name start, by its number from 1.
    pub(crate) fn entries_of(&self, name: u32) -> Option<u64> {
        let found = self.number(self.tables.entries, name.checked_sub(1)?, self.offset_size)?;
        let at = found.checked_add(self.tables.pool as u64)?;
        (name <= self.name_count).then_some(at)
    }

    /// Returns the offsets of the units, and of the type units in the same file, with the places in the section that hold these offsets.
    pub(crate) fn units(&self) -> impl Iterator<Item = (usize, Option<u64>)> {
        let count = self.unit_count.saturating_add(self.local_type_unit_count);
        let size = usize::from(self.offset_size);
        (0..count).map(move |n| {
            let index = usize::try_from(n).unwrap_or(usize::MAX);
            let at = self.tables.units.saturating_add(index.saturating_mul(size));
            (at, self.number(self.tables.units, n, self.offset_size))
        })
    }

    /// Returns the place in the section that holds the offset of a name's entries, by its number from 1.
    pub(crate) fn place_of_entries(&self, name: u32) -> usize {
        let index = usize::try_from(name)
            .unwrap_or(usize::MAX)
            .saturating_sub(1);
        let size = usize::from(self.offset_size);
        self.tables
            .entries
            .saturating_add(index.saturating_mul(size))
    }

    /// Returns the section offset at which the entries start. The offsets of entries are relative to it.
    pub(crate) fn pool(&self) -> u64 {
        self.tables.pool as u64
    }

    /// Returns the section offset of the string offset for a name, by its number from 1.
    pub(crate) fn place_of_name(&self, name: u32) -> u64 {
        let index = u64::from(name).saturating_sub(1);
        let size = u64::from(self.offset_size);
        (self.tables.strings as u64).saturating_add(index.saturating_mul(size))
    }

    /// Returns the section offset of a bucket.
    pub(crate) fn place_of_bucket(&self, bucket: u32) -> u64 {
        (self.tables.buckets as u64).saturating_add(u64::from(bucket).saturating_mul(4))
    }

    fn read_abbreviations(&mut self) {
        let Tables {
            abbreviations,
            pool,
            ..
        } = self.tables;
        let Some(table) = self.bytes.get(abbreviations..pool) else {
            return;
        };
        let mut cursor = Cursor::new(table);
        loop {
            let at = abbreviations.saturating_add(cursor.position()) as u64;
            match read_abbreviation(&mut cursor, at) {
                Ok(Some(abbreviation)) => {
                    let number = self.abbreviations.len();
                    self.by_code.entry(abbreviation.code).or_insert(number);
                    self.abbreviations.push(abbreviation);
                }
                Ok(None) => return,
                Err(error) => {
                    self.broken = Some(error.within(SECTION, at));
                    return;
                }
            }
        }
    }

    /// Returns the abbreviation with a code. If a code occurs several times, it is the first.
    pub(crate) fn abbreviation(&self, code: u64) -> Option<&NameAbbreviation> {
        self.abbreviations.get(*self.by_code.get(&code)?)
    }

    /// Returns the entry at an offset of the section, and the offset of the next one. Returns `None` at the end of the entries of a name.
    ///
    /// # Errors
    /// If the offset is outside the index, or if the abbreviation is missing or has forms without a size.
    pub(crate) fn entry_at(&self, offset: u64) -> Result<Option<(NameEntry, u64)>> {
        let place = |error: Error| error.within(SECTION, offset);
        let malformed = |reason: String| place(Error::malformed("name index entry", reason));
        let mut cursor = Cursor::new(self.bytes);
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        if at < self.tables.pool || at >= self.bytes.len() {
            return Err(malformed(format!(
                "{offset:#x} is outside of the entries of the index, which are {:#x}..{:#x}",
                self.tables.pool,
                self.bytes.len()
            )));
        }
        cursor.go_to(at).map_err(place)?;
        let code = cursor.uleb().map_err(place)?;
        if code == 0 {
            return Ok(None);
        }
        let abbreviation = self
            .abbreviation(code)
            .ok_or_else(|| malformed(format!("there is no abbreviation {code:#x}")))?;
        let mut entry = NameEntry {
            offset,
            code,
            tag: abbreviation.tag,
            values: SmallVec::new(),
        };
        for (name, form) in &abbreviation.attributes {
            let at = cursor.position();
            let value = read_value(&mut cursor, *form, self.offset_size).map_err(place)?;
            let value = value.ok_or_else(|| {
                let form = form
                    .static_string()
                    .map_or_else(|| format!("{:#x}", form.0), str::to_owned);
                malformed(format!("the form {form} has no meaning in an index"))
            })?;
            entry.values.push(NameValue {
                name: *name,
                form: *form,
                value,
                at,
                size: cursor.position().saturating_sub(at),
            });
        }
        Ok(Some((entry, cursor.position() as u64)))
    }
}

impl Tables {
    /// Returns all offsets equal to the first one.
    fn at(units: usize) -> Tables {
        Tables {
            units,
            local_type_units: units,
            foreign_type_units: units,
            buckets: units,
            hashes: units,
            strings: units,
            entries: units,
            abbreviations: units,
            pool: units,
        }
    }
}

fn read_abbreviation(cursor: &mut Cursor<'_>, offset: u64) -> Result<Option<NameAbbreviation>> {
    let code = cursor.uleb()?;
    if code == 0 {
        return Ok(None);
    }
    let malformed = |reason: &str| Error::malformed("name index abbreviation", reason);
    let small = |number: u64, what: &str| {
        u16::try_from(number).map_err(|_| malformed(&format!("the {what} is {number:#x}")))
    };
    let tag = DwTag(small(cursor.uleb()?, "tag")?);
    let mut attributes = SmallVec::new();
    loop {
        let name = small(cursor.uleb()?, "attribute")?;
        let form = small(cursor.uleb()?, "form")?;
        if name == 0 && form == 0 {
            break;
        }
        if attributes.len() == ATTRIBUTES {
            return Err(malformed("it has more attributes than there are"));
        }
        attributes.push((DwIdx(name), DwForm(form)));
    }
    Ok(Some(NameAbbreviation {
        offset,
        code,
        tag,
        attributes,
    }))
}

/// Returns the value of a form, or `None` if it is no constant, flag or reference.
fn read_value(cursor: &mut Cursor<'_>, form: DwForm, offset_size: u8) -> Result<Option<u64>> {
    Ok(Some(match form {
        dw::DW_FORM_flag_present => 1,
        dw::DW_FORM_data1 | dw::DW_FORM_ref1 | dw::DW_FORM_flag => cursor.u8()?.into(),
        dw::DW_FORM_data2 | dw::DW_FORM_ref2 => cursor.u16()?.into(),
        dw::DW_FORM_data4 | dw::DW_FORM_ref4 => cursor.u32()?.into(),
        dw::DW_FORM_data8 | dw::DW_FORM_ref8 | dw::DW_FORM_ref_sig8 => cursor.u64()?,
        dw::DW_FORM_udata | dw::DW_FORM_ref_udata => cursor.uleb()?,
        dw::DW_FORM_sec_offset => cursor.sized(offset_size)?,
        _ => return Ok(None),
    }))
}

/// Removes zeros at the end.
fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != 0);
    let end = end.map_or(0, |last| last.saturating_add(1));
    bytes.get(..end).unwrap_or_default()
}

/// Computes the hash of a name from its characters, folded to lower case (DWARF 5 §7.33). Letters beyond ASCII are folded with Unicode's simple case
/// folding, as far as this equals lower case.
pub(crate) fn hash(name: &[u8]) -> u32 {
    let step = |hash: u32, byte: u8| hash.wrapping_mul(33).wrapping_add(byte.into());
    match core::str::from_utf8(name) {
        Ok(text) if !text.is_ascii() => {
            let mut buffer = [0; 4];
            text.chars().fold(5381, |hash, letter| {
                let folded = fold(letter);
                let bytes = folded.encode_utf8(&mut buffer).bytes();
                bytes.fold(hash, step)
            })
        }
        Ok(_) | Err(_) => name
            .iter()
            .fold(5381, |hash, byte| step(hash, byte.to_ascii_lowercase())),
    }
}

/// Returns the folded form of a letter, if that is one letter. The Turkish letters are folded to `i`.
fn fold(letter: char) -> char {
    if matches!(letter, '\u{130}' | '\u{131}') {
        return 'i';
    }
    let mut lower = letter.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(only), None) => only,
        _ => letter,
    }
}
