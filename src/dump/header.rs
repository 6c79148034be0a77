//! Reads the headers of units.
//!
//! They are read with gimli a second time, for fields that the library does not keep: the offset of the abbreviations, and the offset of the type in
//! a type unit. Source: DWARF 5 §7.5.1.

use gimli::{UnitHeader, UnitType};

use super::list::address;
use super::said_version;
use super::unit_facts::UnitFacts;
use crate::debug_info::{Bytes, UnitId, type_signature};

/// A unit's header, with the unit's number in the debugging information.
pub(super) struct Header<'a> {
    pub(super) facts: UnitFacts,
    pub(super) header: UnitHeader<Bytes<'a>>,
    /// The offset of its abbreviations. In a package, it is relative to the start of the section.
    pub(super) abbreviations: usize,
    /// The name of the type of a type unit.
    pub(super) type_name: String,
    /// The section of the unit.
    pub(super) section: Bytes<'a>,
}

impl Header<'_> {
    /// Returns the offset of the next unit, in bytes.
    pub(super) fn end(&self) -> u64 {
        let size = self.header.length_including_self() as u64;
        self.facts.offset.saturating_add(size)
    }

    /// `DW_UT_…`.
    pub(super) fn kind(&self) -> &'static str {
        match self.header.type_() {
            UnitType::Compilation => "DW_UT_compile",
            UnitType::Type { .. } => "DW_UT_type",
            UnitType::Partial => "DW_UT_partial",
            UnitType::Skeleton(_) => "DW_UT_skeleton",
            UnitType::SplitCompilation(_) => "DW_UT_split_compile",
            UnitType::SplitType { .. } => "DW_UT_split_type",
        }
    }

    pub(super) fn dwo_id(&self) -> Option<u64> {
        let (UnitType::Skeleton(id) | UnitType::SplitCompilation(id)) = self.header.type_() else {
            return None;
        };
        Some(id.0)
    }

    /// Returns a short form of the header of a type unit.
    pub(super) fn summary(&self, signature: u64) -> String {
        let name = &self.type_name;
        let length = address(self.header.unit_length() as u64, self.facts.offset_size);
        format!("name = '{name}', type_signature = {signature:#018x}, length = {length}")
    }

    /// Returns the header in the style of llvm-dwarfdump.
    ///
    /// * `invalid`: the note about an invalid offset of abbreviations.
    pub(super) fn text(&self, invalid: &str) -> String {
        let UnitFacts {
            version,
            shift,
            offset_size,
            address_size,
            ..
        } = self.facts;
        let offset = self.facts.offset.saturating_sub(shift);
        let signature = type_signature(&self.header);
        let what = if signature.is_some() {
            "Type"
        } else {
            "Compile"
        };
        let length = address(self.header.unit_length() as u64, offset_size);
        let bits = u32::from(offset_size).saturating_mul(8);
        let kind = if version >= 5 {
            format!(", unit_type = {}", self.kind())
        } else {
            String::new()
        };
        let more = match (signature, self.dwo_id()) {
            (Some((signature, at)), _) => {
                let name = &self.type_name;
                format!(
                    ", name = '{name}', type_signature = {signature:#018x}, type_offset = {at:#06x}"
                )
            }
            (None, Some(id)) => format!(", DWO_id = {id:#018x}"),
            (None, None) => String::new(),
        };
        format!(
            "{offset:#010x}: {what} Unit: length = {length}, format = DWARF{bits}, version = {version:#06x}{kind}, \
             abbr_offset = {:#06x}{invalid}, addr_size = {address_size:#04x}{more} (next unit at {:#010x})",
            self.abbreviations,
            self.end().saturating_sub(shift)
        )
    }
}

/// The headers of a section's units, one after the other.
pub(super) struct Headers<'a> {
    units: gimli::DebugInfoUnitHeadersIter<Bytes<'a>>,
    type_units: gimli::DebugTypesUnitHeadersIter<Bytes<'a>>,
    /// The offsets of the headers of version 6, whose bytes have been changed to 5.
    of_6: &'a [u64],
    bytes: Bytes<'a>,
    types: bool,
    split: bool,
    /// The start of the next header.
    end: u64,
}

impl<'a> Headers<'a> {
    pub(super) fn new(bytes: Bytes<'a>, of_6: &'a [u64], types: bool, split: bool) -> Headers<'a> {
        Headers {
            units: gimli::DebugInfo::from(bytes).units(),
            type_units: gimli::DebugTypes::from(bytes).units(),
            of_6,
            bytes,
            types,
            split,
            end: 0,
        }
    }

    /// Returns the next header, whose unit has the number `next`, or the place of an unreadable one.
    pub(super) fn next(
        &mut self,
        next: &mut u32,
    ) -> Option<Result<Header<'a>, (u64, gimli::Error)>> {
        let header = if self.types {
            self.type_units.next()
        } else {
            self.units.next()
        };
        let header = match header {
            Ok(header) => header?,
            Err(error) => return Some(Err((self.end, error))),
        };
        let offset = header.offset().0 as u64;
        self.end = offset.saturating_add(header.length_including_self() as u64);
        let facts = UnitFacts {
            id: UnitId(*next),
            offset,
            version: said_version(header.version(), offset, self.of_6),
            address_size: header.address_size(),
            offset_size: header.format().word_size(),
            in_types: self.types,
            shift: 0,
            base_section: None,
            split: self.split,
            alone: self.split,
        };
        *next = next.saturating_add(1);
        let abbreviations = header.debug_abbrev_offset().0;
        Some(Ok(Header {
            facts,
            header,
            abbreviations,
            type_name: String::new(),
            section: self.bytes,
        }))
    }
}
