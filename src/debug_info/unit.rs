//! Reads units: the contributions of the source files to the debugging information.
//!
//! gimli reads headers and abbreviations. Reading the functions and types of a unit is left to other modules. Sources: DWARF 5 §3.1, §7.5.1; HET
//! A.3.1.1, A.7.12.

use core::ops::Range;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use fallible_iterator::FallibleIterator;
use gimli::{
    AttributeValue, DebugLocListsBase, DebugRngListsBase, DebugStrOffsetsBase, DwAt, DwarfFileType,
    SectionId, UnitType, constants,
};

use super::attribute::Extension;
use super::die::Die;
use super::file::File;
use super::id::{DieId, UnitId};
use super::index_table::{IndexTables, index_of};
use super::language::Language;
use super::package::{Contributions, Part};
use super::{Bytes, DebugInfo};
use crate::error::{Error, Result};
use crate::{eval, expr};

/// The kind of a unit. Source: DWARF 5 §7.5.1, `DW_UT_*`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// A full compilation unit.
    Compile,
    /// A partial unit, imported by others.
    Partial,
    /// The part of a unit that stays in the code object when its entries are in a `.dwo` file.
    Skeleton,
    /// The entries that belong to a skeleton.
    SplitCompile,
    /// A type, found by its signature.
    Type,
    /// A type in a `.dwo` file.
    SplitType,
}

/// The facts of a unit's header and first entry.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct UnitInfo<'a> {
    /// The number.
    pub id: UnitId,
    /// The section it is in: `.debug_info`, `.debug_types`, `.debug_info.dwo` or `.debug_types.dwo`.
    pub section: &'static str,
    /// The offset of its header in that section, in bytes.
    pub offset: u64,
    /// The size with the header, in bytes.
    pub size: u64,
    /// The version of DWARF: 2 to 5, and 6, which is read as 5.
    pub version: u16,
    /// The size of an offset into a section, in bytes: 4 in the 32-bit format, 8 in the 64-bit format.
    pub offset_size: u8,
    /// The size of an address of the default address space, in bytes.
    pub address_size: u8,
    /// The kind of the unit.
    pub kind: UnitKind,
    /// The signature of a type unit.
    pub signature: Option<u64>,
    /// The number that a skeleton and its split unit share.
    pub dwo_id: Option<u64>,
    /// The compiler (`DW_AT_producer`).
    pub producer: Option<Cow<'a, str>>,
    /// The language (`DW_AT_language`, or `DW_AT_language_name` of DWARF 6).
    pub language: Option<Language>,
    /// The source file (`DW_AT_name`).
    pub name: Option<Cow<'a, str>>,
    /// The directory the compiler ran in (`DW_AT_comp_dir`).
    pub comp_dir: Option<Cow<'a, str>>,
    /// The augmentation string (`DW_AT_LLVM_augmentation`, HET A.3.1.1).
    pub augmentation: Option<Cow<'a, str>>,
    /// The file with the entries of a skeleton (`DW_AT_dwo_name`).
    pub dwo_name: Option<Cow<'a, str>>,
    /// The split unit of a skeleton, or the skeleton of a split unit, if both are loaded.
    pub partner: Option<UnitId>,
}

impl UnitInfo<'_> {
    /// Returns true if it holds a type for other units to refer to.
    #[must_use]
    pub fn is_type_unit(&self) -> bool {
        matches!(self.kind, UnitKind::Type | UnitKind::SplitType)
    }

    /// Returns true if its entries are in a `.dwo` file that is not loaded.
    #[must_use]
    pub fn is_without_split_unit(&self) -> bool {
        let is_skeleton = match self.kind {
            UnitKind::Skeleton => true,
            // GNU's extension of DWARF 4 uses plain units.
            UnitKind::Compile => {
                self.version == 4 && self.section == ".debug_info" && self.dwo_name.is_some()
            }
            UnitKind::Partial | UnitKind::Type | UnitKind::SplitCompile | UnitKind::SplitType => {
                false
            }
        };
        is_skeleton && self.partner.is_none()
    }
}

/// A unit: its header, and its first entry once that was requested.
#[derive(Debug)]
pub(super) struct UnitEntry<'a> {
    pub(super) header: gimli::UnitHeader<Bytes<'a>>,
    /// The number of its file: 0 is the code object.
    pub(super) file: usize,
    pub(super) partner: Option<UnitId>,
    pub(super) contents: OnceLock<Result<Unit<'a>>>,
}

/// A unit with its abbreviations and first entry.
#[derive(Debug)]
pub(super) struct Unit<'a> {
    /// The unit for gimli, without the line table, since faults of that table must not affect entries.
    pub(super) gimli: gimli::Unit<Bytes<'a>>,
    /// The first entry.
    pub(super) root: Die<'a>,
    /// `DW_AT_stmt_list`.
    pub(super) line_offset: Option<usize>,
    /// The tables for indices.
    pub(super) tables: IndexTables,
    /// The unit's parts of the sections of a package, if it is in a package.
    pub(super) parts: Option<Contributions>,
}

impl<'a> UnitEntry<'a> {
    pub(super) fn new(header: gimli::UnitHeader<Bytes<'a>>, file: usize) -> UnitEntry<'a> {
        UnitEntry {
            header,
            file,
            partner: None,
            contents: OnceLock::new(),
        }
    }

    /// Returns the offset of the header in its section.
    pub(super) fn offset(&self) -> usize {
        self.header.offset().0
    }

    pub(super) fn kind(&self) -> UnitKind {
        match self.header.type_() {
            UnitType::Compilation => UnitKind::Compile,
            UnitType::Type { .. } => UnitKind::Type,
            UnitType::Partial => UnitKind::Partial,
            UnitType::Skeleton(_) => UnitKind::Skeleton,
            UnitType::SplitCompilation(_) => UnitKind::SplitCompile,
            UnitType::SplitType { .. } => UnitKind::SplitType,
        }
    }

    /// Returns the signature of a type unit, and the offset of the type in the unit.
    pub(super) fn type_signature(&self) -> Option<(u64, usize)> {
        type_signature(&self.header)
    }
}

/// Returns the signature that a type unit's header has, and the offset of the type in the unit.
pub(crate) fn type_signature(header: &gimli::UnitHeader<Bytes<'_>>) -> Option<(u64, usize)> {
    let (UnitType::Type {
        type_signature,
        type_offset,
    }
    | UnitType::SplitType {
        type_signature,
        type_offset,
    }) = header.type_()
    else {
        return None;
    };
    Some((type_signature.0, type_offset.0))
}

/// The units of a file, see [`DebugInfo::units`].
#[derive(Clone, Debug)]
pub struct Units<'i, 'a> {
    info: &'i DebugInfo<'a>,
    /// The numbers of the remaining units.
    ids: Range<u32>,
    /// The error after the last unit, if any.
    broken: Option<&'i Error>,
}

impl<'a> FallibleIterator for Units<'_, 'a> {
    type Item = UnitInfo<'a>;
    type Error = Error;

    fn next(&mut self) -> Result<Option<UnitInfo<'a>>> {
        if let Some(id) = self.ids.next() {
            return self.info.unit_info(UnitId(id)).map(Some);
        }
        self.broken
            .take()
            .map_or(Ok(None), |error| Err(error.clone()))
    }
}

impl<'a> DebugInfo<'a> {
    /// Returns true if a unit is a type unit.
    pub(crate) fn is_type_unit(&self, unit: UnitId) -> bool {
        let contents = self.contents(unit);
        contents.is_ok_and(|contents| contents.root.tag() == constants::DW_TAG_type_unit)
    }

    /// Returns every unit, in the order of their numbers. An unreadable unit is an error, followed by the next unit. If the headers could not be read
    /// to the end of a section, there is an error at the end.
    #[must_use]
    pub fn units(&self) -> Units<'_, 'a> {
        Units {
            info: self,
            ids: 0..self.unit_count(),
            broken: self.broken(),
        }
    }

    fn unit_count(&self) -> u32 {
        u32::try_from(self.units.len()).unwrap_or(u32::MAX)
    }

    /// Returns the reason why the headers of units could not be read to the end of a section.
    pub(crate) fn broken(&self) -> Option<&Error> {
        self.broken.as_ref()
    }

    /// Returns the number of every unit, in order.
    pub fn unit_ids(&self) -> impl Iterator<Item = UnitId> + use<'a> {
        (0..self.unit_count()).map(UnitId)
    }

    /// Returns the facts from a unit's header and first entry.
    ///
    /// # Errors
    /// If there is no such unit, or it is malformed. Unreadable strings are left out.
    pub fn unit_info(&self, id: UnitId) -> Result<UnitInfo<'a>> {
        let entry = self.entry(id)?;
        let unit = self.contents(id)?;
        let root = &unit.root;
        let text = |name: DwAt| self.string_of(root, root.attribute(name)?);
        let code = |name: DwAt| root.attribute(name)?.udata_value();
        let language = code(constants::DW_AT_language)
            .map(Language::Code)
            .or_else(|| code(super::attribute::LANGUAGE_NAME).map(Language::Name));
        Ok(UnitInfo {
            id,
            section: self.section_of(id)?,
            offset: entry.offset() as u64,
            size: entry.header.length_including_self() as u64,
            version: self.version(id)?,
            offset_size: entry.header.format().word_size(),
            address_size: entry.header.address_size(),
            kind: entry.kind(),
            signature: entry.type_signature().map(|(signature, _)| signature),
            dwo_id: unit.gimli.dwo_id.map(|id| id.0),
            producer: text(constants::DW_AT_producer),
            language,
            name: text(constants::DW_AT_name),
            comp_dir: text(constants::DW_AT_comp_dir),
            augmentation: root
                .extension(Extension::Augmentation)
                .and_then(|attribute| self.string_of(root, attribute)),
            dwo_name: text(constants::DW_AT_dwo_name)
                .or_else(|| text(constants::DW_AT_GNU_dwo_name)),
            partner: entry.partner,
        })
    }

    /// Returns the unit for expressions: its number, and the sizes and codes of operands.
    ///
    /// # Errors
    /// If there is no such unit.
    pub fn eval_unit(&self, id: UnitId) -> Result<eval::Unit> {
        let header = &self.entry(id)?.header;
        Ok(eval::Unit {
            id: id.0,
            encoding: expr::Encoding {
                address_size: header.address_size(),
                offset_size: expr::Encoding::reference_size(
                    header.version(),
                    header.address_size(),
                    header.format().word_size(),
                ),
                dialect: self.dialect,
            },
        })
    }

    /// Returns the unit that holds `offset` of a section, if the offset is after the unit's header.
    pub(super) fn find_die(&self, file: usize, section: SectionId, offset: usize) -> Option<DieId> {
        let types = section == SectionId::DebugTypes;
        let key = |entry: &UnitEntry<'a>| {
            let types = entry.header.section() == SectionId::DebugTypes;
            (entry.file, types, entry.offset())
        };
        let after = self
            .units
            .partition_point(|entry| key(entry) <= (file, types, offset));
        let index = after.checked_sub(1)?;
        let entry = self.units.get(index)?;
        let inside = gimli::UnitOffset(offset.checked_sub(entry.offset())?);
        (entry.file == file
            && entry.header.section() == section
            && inside.is_in_bounds(&entry.header))
        .then_some(DieId {
            unit: UnitId(u32::try_from(index).ok()?),
            offset: offset as u64,
        })
    }

    /// Returns the version of DWARF of a unit.
    ///
    /// # Errors
    /// If there is no such unit.
    pub(crate) fn version(&self, id: UnitId) -> Result<u16> {
        let entry = self.entry(id)?;
        let is_of_info = entry.file == 0 && entry.header.section() == SectionId::DebugInfo;
        let is_of_6 = is_of_info && self.of_6.binary_search(&(entry.offset() as u64)).is_ok();
        Ok(if is_of_6 { 6 } else { entry.header.version() })
    }

    pub(super) fn entry(&self, id: UnitId) -> Result<&UnitEntry<'a>> {
        usize::try_from(id.0)
            .ok()
            .and_then(|index| self.units.get(index))
            .ok_or_else(|| Error::malformed("unit number", format!("there is no unit {}", id.0)))
    }

    /// Returns the file of a unit.
    pub(super) fn file(&self, entry: &UnitEntry<'a>) -> Result<&File<'a>> {
        self.files
            .get(entry.file)
            .ok_or_else(|| Error::malformed("unit number", "its file is not loaded"))
    }

    /// Returns the unmodified sections of the file that contains a unit.
    ///
    /// # Errors
    /// If there is no such unit.
    pub(crate) fn raw_sections(&self, id: UnitId) -> Result<&gimli::Dwarf<Bytes<'a>>> {
        Ok(&self.file(self.entry(id)?)?.dwarf)
    }

    /// Returns the offset at which the entries of a unit's table in `.debug_addr` start.
    ///
    /// # Errors
    /// If there is no such unit, or it cannot be read.
    #[cfg(feature = "serde")]
    pub(crate) fn address_base(&self, id: UnitId) -> Result<u64> {
        Ok(self.contents(id)?.gimli.addr_base.0 as u64)
    }

    /// Returns the offset at which the entries of a unit's table in `.debug_str_offsets` start, or `None` if the unit is not split and has no such
    /// attribute.
    ///
    /// # Errors
    /// If there is no such unit, or it cannot be read.
    #[cfg(feature = "serde")]
    pub(crate) fn string_offsets_base(&self, id: UnitId) -> Result<Option<usize>> {
        let unit = self.contents(id)?;
        let has_base = self.file(self.entry(id)?)?.split
            || unit.root.attribute(gimli::DW_AT_str_offsets_base).is_some();
        Ok(has_base.then_some(unit.gimli.str_offsets_base.0))
    }

    /// Returns the section of a unit's abbreviations, and their offset there, in bytes.
    ///
    /// # Errors
    /// If there is no such unit, or its package does not locate the abbreviations.
    pub(crate) fn abbreviations_of(&self, id: UnitId) -> Result<(&'static str, usize)> {
        let entry = self.entry(id)?;
        let file = self.file(entry)?;
        let section = file.section_name(SectionId::DebugAbbrev);
        Ok((section, file.abbreviations_offset(&entry.header)?))
    }

    /// Returns the name of the section that contains a unit.
    pub(super) fn section_of(&self, id: UnitId) -> Result<&'static str> {
        let entry = self.entry(id)?;
        Ok(self.file(entry)?.section_name(entry.header.section()))
    }

    /// Returns the unit with its abbreviations and first entry, which are read on demand.
    pub(super) fn contents(&self, id: UnitId) -> Result<&Unit<'a>> {
        let entry = self.entry(id)?;
        entry
            .contents
            .get_or_init(|| self.read_unit(id, entry))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// Returns the unit as gimli reads its entries, without its line table.
    pub(crate) fn gimli_unit(&self, id: UnitId) -> Result<&gimli::Unit<Bytes<'a>>> {
        Ok(&self.contents(id)?.gimli)
    }

    fn read_unit(&self, id: UnitId, entry: &UnitEntry<'a>) -> Result<Unit<'a>> {
        let file = self.file(entry)?;
        let header = entry.header;
        self.meter().work(1)?;
        let kind = if file.split {
            DwarfFileType::Dwo
        } else {
            DwarfFileType::Main
        };
        let encoding = header.encoding();
        let mut unit = gimli::Unit {
            abbreviations: file.abbreviations(&header, &self.held)?,
            name: None,
            comp_dir: None,
            low_pc: 0,
            str_offsets_base: DebugStrOffsetsBase::default_for_encoding_and_file(encoding, kind),
            addr_base: gimli::DebugAddrBase(0),
            loclists_base: DebugLocListsBase::default_for_encoding_and_file(encoding, kind),
            rnglists_base: DebugRngListsBase::default_for_encoding_and_file(encoding, kind),
            line_program: None,
            dwo_id: match header.type_() {
                UnitType::Skeleton(id) | UnitType::SplitCompilation(id) => Some(id),
                UnitType::Compilation
                | UnitType::Partial
                | UnitType::Type { .. }
                | UnitType::SplitType { .. } => None,
            },
            header,
        };
        let start = entry.offset().saturating_add(header.root_offset().0);
        let place = |error| file.error("unit", header.section(), start, error);
        let mut root = gimli::DebuggingInformationEntry::null();
        let first = DieId {
            unit: id,
            offset: start as u64,
        };
        let abbreviations = Arc::clone(&unit.abbreviations);
        let mut raw = header.entries_raw(&abbreviations, None).map_err(place)?;
        self.read_entry(first, &mut raw, &mut root)?;
        if root.is_null() {
            return Err(place(gimli::Error::MissingUnitDie));
        }
        self.hold_all::<gimli::Attribute<Bytes<'a>>>(root.attrs().len())?;
        let mut line_offset = set_bases(&mut unit, &root);
        let parts = file.contributions(&header)?;
        if let Some(parts) = &parts {
            count_from_parts(&mut unit, parts);
            // An offset outside the section is an error when the table is read.
            line_offset = line_offset
                .map(|offset| Contributions::resolve(parts.lines, offset).unwrap_or(usize::MAX));
        }
        if let Some(partner) = entry.partner
            && file.split
        {
            // Attributes that depend on relocation are in the skeleton (DWARF 5 §3.1.2).
            unit.copy_relocated_attributes(&self.contents(partner)?.gimli);
        }
        let tables = IndexTables::new(&unit, file, parts.as_ref());
        let low_pc = root.attr_value(constants::DW_AT_low_pc).filter(|value| {
            let index = index_of(value);
            index.is_none_or(|(table, index)| tables.check(table, index, file).is_ok())
        });
        if let Some(Ok(Some(address))) = low_pc.map(|value| file.dwarf.attr_address(&unit, value)) {
            unit.low_pc = address;
        }
        Ok(Unit {
            root: Die::new(id, entry.offset(), root),
            gimli: unit,
            line_offset,
            tables,
            parts,
        })
    }
}

/// Makes the offsets of a unit's tables relative to their sections, instead of to the unit's parts of a package.
fn count_from_parts(unit: &mut gimli::Unit<Bytes<'_>>, parts: &Contributions) {
    let moved = |base: usize, part: Option<Part>| base.saturating_add(part.map_or(0, Part::start));
    unit.str_offsets_base.0 = moved(unit.str_offsets_base.0, parts.string_offsets);
    unit.loclists_base.0 = moved(unit.loclists_base.0, parts.locations);
    unit.rnglists_base.0 = moved(unit.rnglists_base.0, parts.ranges);
}

/// Copies the bases of the unit's tables in other sections from the first entry. Returns the offset of its line table.
fn set_bases<'a>(
    unit: &mut gimli::Unit<Bytes<'a>>,
    root: &gimli::DebuggingInformationEntry<Bytes<'a>>,
) -> Option<usize> {
    let mut line_offset = None;
    for attribute in root.attrs() {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "all other attributes are read where they are needed"
        )]
        match attribute.value() {
            AttributeValue::DebugLineRef(offset) => line_offset = Some(offset.0),
            AttributeValue::DebugStrOffsetsBase(base) => unit.str_offsets_base = base,
            AttributeValue::DebugAddrBase(base) => unit.addr_base = base,
            AttributeValue::DebugLocListsBase(base) => unit.loclists_base = base,
            AttributeValue::DebugRngListsBase(base) => unit.rnglists_base = base,
            AttributeValue::DwoId(id) => unit.dwo_id = unit.dwo_id.or(Some(id)),
            _ => {}
        }
    }
    line_offset
}
