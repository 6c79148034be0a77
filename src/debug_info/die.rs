//! Reads debugging information entries.
//!
//! gimli parses them. Walking over many entries is left to `walk`, interpreting attributes to `value`. Sources: DWARF 5 §2.1 to §2.3, §7.5.2.

use gimli::{AttributeValue, DwAt, DwTag, SectionId};

use super::attribute::{self, Extension};
use super::id::{DieId, UnitId};
use super::{Bytes, DebugInfo};
use crate::error::{Error, Result};

/// The maximum number of attributes of an entry. Attributes whose value is in the abbreviation take no space in the entry. Without a bound, a small
/// file could have any number of them. Real entries have about twenty.
const ATTRIBUTES: usize = 512;

/// An entry.
#[derive(Clone, Debug)]
pub struct Die<'a> {
    unit: UnitId,
    unit_offset: usize,
    pub(super) entry: gimli::DebuggingInformationEntry<Bytes<'a>>,
}

impl<'a> Die<'a> {
    /// `unit_offset` is the offset of the unit's header in its section.
    pub(super) fn new(
        unit: UnitId,
        unit_offset: usize,
        entry: gimli::DebuggingInformationEntry<Bytes<'a>>,
    ) -> Die<'a> {
        Die {
            unit,
            unit_offset,
            entry,
        }
    }

    /// Returns its identity.
    #[must_use]
    pub fn id(&self) -> DieId {
        DieId {
            unit: self.unit,
            offset: self.unit_offset.saturating_add(self.entry.offset().0) as u64,
        }
    }

    /// Returns its tag.
    #[must_use]
    pub fn tag(&self) -> DwTag {
        self.entry.tag()
    }

    /// Returns its depth below the entry at which the walk started.
    #[must_use]
    pub fn depth(&self) -> usize {
        usize::try_from(self.entry.depth()).unwrap_or(0)
    }

    /// Returns true if it is the null entry that ends a list of children.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.entry.is_null()
    }

    /// Returns true if its abbreviation has the children flag.
    #[must_use]
    pub fn has_children(&self) -> bool {
        self.entry.has_children()
    }

    /// Returns its attributes, in order, as gimli reads them; [`DebugInfo::value`] interprets one.
    #[must_use]
    pub fn attributes(&self) -> &[gimli::Attribute<Bytes<'a>>] {
        self.entry.attrs()
    }

    /// Returns the attribute with this code.
    #[must_use]
    pub fn attribute(&self, name: DwAt) -> Option<&gimli::Attribute<Bytes<'a>>> {
        self.entry.attr(name)
    }

    /// Returns an attribute of HET, under whichever code it has.
    #[must_use]
    pub fn extension(&self, extension: Extension) -> Option<&gimli::Attribute<Bytes<'a>>> {
        self.attributes()
            .iter()
            .find(|attribute| attribute::extension(self.tag(), attribute) == Some(extension))
    }

    /// Returns true if a flag is set.
    #[must_use]
    pub fn flag(&self, name: DwAt) -> bool {
        self.entry.attr_value(name) == Some(AttributeValue::Flag(true))
    }

    /// Returns a constant that is not negative.
    #[must_use]
    pub fn unsigned(&self, name: DwAt) -> Option<u64> {
        self.attribute(name)?.udata_value()
    }
}

impl<'a> DebugInfo<'a> {
    /// Returns the entry at `id`.
    ///
    /// # Errors
    /// If the unit is malformed, or no entry starts there.
    pub fn die(&self, id: DieId) -> Result<Die<'a>> {
        let entry = self.entry(id.unit)?;
        let unit = &self.contents(id.unit)?.gimli;
        let place = |error| self.unit_error("entry", id, error);
        let offset = usize::try_from(id.offset)
            .ok()
            .and_then(|offset| offset.checked_sub(entry.offset()))
            .ok_or_else(|| place(gimli::Error::OffsetOutOfBounds(id.offset)))?;
        let raw = unit.entries_raw(Some(gimli::UnitOffset(offset)));
        let mut die = gimli::DebuggingInformationEntry::null();
        self.read_entry(id, &mut raw.map_err(place)?, &mut die)?;
        if die.is_null() {
            return Err(place(gimli::Error::NoEntryAtGivenOffset(id.offset)));
        }
        Ok(Die::new(id.unit, entry.offset(), die))
    }

    /// Reads the next entry, which is the one at `id`.
    pub(super) fn read_entry(
        &self,
        id: DieId,
        raw: &mut gimli::EntriesRaw<'_, Bytes<'a>>,
        entry: &mut gimli::DebuggingInformationEntry<Bytes<'a>>,
    ) -> Result<()> {
        self.read_entry_with(id, raw, entry, |_| true)
    }

    /// Reads the next entry, but skips and omits the attributes that `wanted` rejects.
    pub(super) fn read_entry_with(
        &self,
        id: DieId,
        raw: &mut gimli::EntriesRaw<'_, Bytes<'a>>,
        entry: &mut gimli::DebuggingInformationEntry<Bytes<'a>>,
        wanted: impl FnOnce(&gimli::Abbreviation) -> bool,
    ) -> Result<()> {
        let place = |error| self.unit_error("entry", id, error);
        entry.offset = raw.next_offset();
        entry.depth = raw.next_depth();
        let Some(abbreviation) = raw.read_abbreviation().map_err(place)? else {
            entry.set_null();
            return Ok(());
        };
        if abbreviation.attributes().len() > ATTRIBUTES {
            let section = self.section_of(id.unit)?;
            return Err(
                Error::malformed("entry", "it has too many attributes").within(section, id.offset)
            );
        }
        entry.tag = abbreviation.tag();
        entry.has_children = abbreviation.has_children();
        if !wanted(abbreviation) {
            entry.attrs.clear();
            return raw
                .skip_attributes(abbreviation.attributes())
                .map_err(place);
        }
        raw.read_attributes(abbreviation.attributes(), &mut entry.attrs)
            .map_err(place)
    }

    /// Returns the first entry of a unit.
    ///
    /// # Errors
    /// If there is no such unit, or it is malformed.
    pub fn root(&self, unit: UnitId) -> Result<Die<'a>> {
        Ok(self.contents(unit)?.root.clone())
    }

    /// Returns the entry at `offset` of `section`: `.debug_info`, `.debug_types` or their `.dwo` forms. If several `.dwo` files have a unit there,
    /// the first one is used. Returns `None` if no unit contains the offset.
    #[must_use]
    pub fn die_at(&self, section: &str, offset: u64) -> Option<DieId> {
        let offset = usize::try_from(offset).ok()?;
        let ids = [SectionId::DebugInfo, SectionId::DebugTypes];
        let files = self.files.iter().enumerate();
        files
            .flat_map(|(number, file)| ids.map(|id| (number, file.section_name(id), id)))
            .filter(|(_, name, _)| *name == section)
            .find_map(|(number, _, id)| self.find_die(number, id, offset))
    }

    /// Converts a gimli error about the entry at `id`.
    pub(super) fn unit_error(&self, what: &'static str, id: DieId, error: gimli::Error) -> Error {
        let place = self.entry(id.unit).and_then(|entry| {
            let offset = usize::try_from(id.offset).unwrap_or(usize::MAX);
            let section = entry.header.section();
            Ok(self.file(entry)?.error(what, section, offset, error))
        });
        place.unwrap_or_else(|error| error)
    }
}
