//! Finds the sections of the entries of range lists and location lists, for verbose dumps of relocatable objects.

use gimli::constants as dw;

use super::attribute::Attributes;
use super::fields::{Fields, Placed};
use super::header::Header;
use super::raw_range::RawRange;
use super::unit_facts::UnitFacts;
use crate::debug_info::raw_list::{Bounds, LocationFormat, RawLocations};
use crate::expr::Cursor;

/// The sections of entries, one after the other, with `None` for unknown ones.
type Sections = Vec<Option<usize>>;

impl Attributes<'_, '_> {
    /// Returns the sections of the ranges of a list.
    pub(super) fn sections_of_ranges(&self, unit: UnitFacts, offset: u64) -> Sections {
        let Some(placed) = &self.placed else {
            return Vec::new();
        };
        let name = match unit.version {
            5.. => ".debug_rnglists",
            _ => ".debug_ranges",
        };
        let bytes = self.sources.section(unit.split, name).unwrap_or_default();
        let mut cursor = Cursor::new(bytes);
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        let mut sections = Vec::new();
        if cursor.go_to(at).is_err() {
            return sections;
        }
        let mut base = unit.base_section;
        loop {
            let entry = match unit.version {
                5.. => RawRange::read(&mut cursor, unit.address_size),
                _ => RawRange::read_pair(&mut cursor, unit.address_size),
            };
            let Ok(entry) = entry else { break };
            if self.meter.work(1).is_err() {
                break;
            }
            let relocated = placed.section(self.sources, (unit.split, name), entry.operand);
            match entry.kind {
                dw::DW_RLE_end_of_list => break,
                dw::DW_RLE_base_addressx => base = self.section_of_index(unit, entry.first),
                dw::DW_RLE_base_address => base = relocated,
                dw::DW_RLE_startx_endx | dw::DW_RLE_startx_length => {
                    sections.push(self.section_of_index(unit, entry.first));
                }
                _ => sections.push(relocated.or(base)),
            }
        }
        sections
    }

    /// Returns the sections of the entries of a location list that have a range.
    pub(super) fn sections_of_locations(&self, unit: UnitFacts, offset: u64) -> Sections {
        let mut sections = Vec::new();
        let Some(placed) = &self.placed else {
            return sections;
        };
        let format = LocationFormat::of(unit.version, unit.split);
        let name = match format {
            LocationFormat::Kinds => ".debug_loclists",
            LocationFormat::Pairs | LocationFormat::GnuSplit => ".debug_loc",
        };
        let bytes = self.sources.section(unit.split, name).unwrap_or_default();
        let list = RawLocations::new(name, bytes, offset, format, unit.address_size);
        let Ok(mut list) = list else { return sections };
        let mut base = unit.base_section;
        loop {
            // In a pair that selects a base, the second number is the base.
            let at = match format {
                LocationFormat::Pairs => list.offset(),
                LocationFormat::GnuSplit | LocationFormat::Kinds => list.offset().saturating_add(1),
            };
            let Ok(Some(entry)) = list.next() else { break };
            if self.meter.work(1).is_err() {
                break;
            }
            let field = |at| placed.section(self.sources, (unit.split, name), at);
            match entry.bounds {
                Bounds::Base(_) => {
                    base = field(match entry.kind {
                        Some(_) => at,
                        None => at.saturating_add(unit.address_size.into()),
                    });
                }
                Bounds::BaseIndex(index) => base = self.section_of_index(unit, index),
                Bounds::Indices(index, _) | Bounds::IndexAndLength(index, _) => {
                    sections.push(self.section_of_index(unit, index));
                }
                Bounds::Offsets(..) => sections.push(field(at).or(base)),
                Bounds::Addresses(..) | Bounds::AddressAndLength(..) => sections.push(field(at)),
                Bounds::Default => sections.push(None),
                Bounds::ViewPair(..) => {}
            }
        }
        sections
    }

    fn section_of_index(&self, unit: UnitFacts, index: u64) -> Option<usize> {
        let field = self.indexed_field(unit, index)?;
        let placed = self.placed.as_ref()?;
        placed.section(self.sources, (false, ".debug_addr"), field)
    }

    /// Returns the section of the first address of a unit, which is the base of its lists.
    pub(super) fn base_section(&self, unit: &Header<'_>) -> Option<usize> {
        let placed = self.placed.as_ref()?;
        let root = self.info.root(unit.facts.id).ok()?;
        let mut fields = Fields::new(unit.section, root.id().offset, unit.facts);
        for attribute in root.attributes() {
            let field = fields.next(attribute.form())?;
            if attribute.name() != dw::DW_AT_low_pc {
                continue;
            }
            if let gimli::AttributeValue::DebugAddrIndex(index) = attribute.raw_value() {
                return self.section_of_index(unit.facts, index.0 as u64);
            }
            let name = unit.facts.section_name();
            return placed.section(self.sources, (unit.facts.split, name), field);
        }
        None
    }

    /// Returns the notes after the entries of a list.
    pub(super) fn notes(&self, sections: Sections) -> impl Iterator<Item = String> {
        let text = |section| Placed::text(self.sources, section);
        sections
            .into_iter()
            .map(move |section| section.map_or(String::new(), text))
    }
}
