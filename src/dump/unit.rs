//! Units: their headers, section by section, and which of their entries are printed.
//!
//! The headers are read with gimli a second time, for the fields that the library does not keep: the
//! offset of the abbreviations, and of the type in a type unit. Source: DWARF 5 §7.5.1.

use std::io;

use fallible_iterator::FallibleIterator;
use gimli::{SectionId, UnitHeader, UnitType};

use super::Failure;
use super::attribute::{Attributes, UnitFacts};
use super::entries::{self, Sink};
use super::json::JsonEntries;
use super::list::address;
use super::output::Output;
use super::text::TextEntries;
use super::type_name::TypeNames;
use super::{Selection, Sources, Style};
use crate::debug_info::{Bytes, DebugInfo, UnitId};
use crate::error::{Error, Result};
use crate::expr::Dialect;

/// A unit's header, with the number the unit has in the debugging information.
pub(super) struct Header<'a> {
    pub(super) facts: UnitFacts,
    pub(super) header: UnitHeader<Bytes<'a>>,
}

impl Header<'_> {
    /// The offset of the next unit, in bytes.
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
        match self.header.type_() {
            UnitType::Skeleton(id) | UnitType::SplitCompilation(id) => Some(id.0),
            UnitType::Compilation
            | UnitType::Type { .. }
            | UnitType::Partial
            | UnitType::SplitType { .. } => None,
        }
    }

    /// The signature of a type unit, and the offset of the type in the unit.
    pub(super) fn signature(&self) -> Option<(u64, u64)> {
        match self.header.type_() {
            UnitType::Type {
                type_signature,
                type_offset,
            }
            | UnitType::SplitType {
                type_signature,
                type_offset,
            } => Some((type_signature.0, type_offset.0 as u64)),
            UnitType::Compilation
            | UnitType::Partial
            | UnitType::Skeleton(_)
            | UnitType::SplitCompilation(_) => None,
        }
    }

    /// The header as llvm-dwarfdump prints it.
    pub(super) fn text(&self) -> String {
        let UnitFacts {
            offset,
            version,
            offset_size,
            address_size,
            ..
        } = self.facts;
        let signature = self.signature();
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
                format!(", type_signature = {signature:#018x}, type_offset = {at:#06x}")
            }
            (None, Some(id)) => format!(", DWO_id = {id:#018x}"),
            (None, None) => String::new(),
        };
        format!(
            "{offset:#010x}: {what} Unit: length = {length}, format = DWARF{bits}, version = {version:#06x}{kind}, \
             abbr_offset = {:#06x}, addr_size = {address_size:#04x}{more} (next unit at {:#010x})",
            self.header.debug_abbrev_offset().0,
            self.end()
        )
    }
}

/// The headers of a section's units, and the error that ended the reading if one did. `next` is the number
/// of the first.
fn headers<'a>(
    bytes: Bytes<'a>,
    types: bool,
    split: bool,
    next: &mut u32,
) -> (Vec<Header<'a>>, Option<(u64, gimli::Error)>) {
    let mut found = Vec::new();
    let mut end = 0;
    let info = gimli::DebugInfo::from(bytes);
    let type_info = gimli::DebugTypes::from(bytes);
    let (mut units, mut type_units) = (info.units(), type_info.units());
    loop {
        let header = if types {
            type_units.next()
        } else {
            units.next()
        };
        let header = match header {
            Ok(Some(header)) => header,
            Ok(None) => return (found, None),
            Err(error) => return (found, Some((end, error))),
        };
        let offset = header.offset().0 as u64;
        end = offset.saturating_add(header.length_including_self() as u64);
        let facts = UnitFacts {
            id: UnitId(*next),
            offset,
            version: header.version(),
            address_size: header.address_size(),
            offset_size: header.format().word_size(),
            split,
            alone: split,
        };
        *next = next.saturating_add(1);
        found.push(Header { facts, header });
    }
}

/// Prints the units of `.debug_info`, `.debug_types` and their `.dwo` forms.
pub(super) fn dump(
    sources: &Sources<'_>,
    style: Style,
    selection: &Selection<'_>,
    output: &mut Output<'_>,
) -> core::result::Result<(), Failure> {
    let info = sources.info(style.dialect)?;
    let attributes = Attributes {
        info: &info,
        sources,
        types: TypeNames::new(&info),
        style,
        meter: output.meter(),
    };
    let named = matches!(selection, Selection::Named { .. });
    if output.json() {
        output.begin_array("units")?;
    }
    let mut next = 0;
    for split in [false, true] {
        for id in [SectionId::DebugInfo, SectionId::DebugTypes] {
            let name = id.name();
            let bytes = sources.bytes(split, name)?;
            let (mut units, broken) = headers(bytes, id == SectionId::DebugTypes, split, &mut next);
            for unit in &mut units {
                unit.facts.alone = split && !has_partner(&info, unit.facts.id);
            }
            let shown = if split {
                id.dwo_name().unwrap_or(name)
            } else {
                name
            };
            // Asked for and not there is an answer as well, but only for the section everybody knows.
            let expected = id == SectionId::DebugInfo && sources.has(split);
            if !output.json() && !named && (expected || !bytes.is_empty()) {
                use std::io::Write;
                writeln!(output, "\n{shown} contents:")?;
            }
            for unit in &units {
                one(&attributes, unit, shown, selection, output)?;
            }
            if let Some((offset, error)) = broken {
                let error = Error::malformed("unit header", error.to_string());
                output.problem(&error.within(shown, offset))?;
            }
        }
    }
    if output.json() {
        output.end_array()?;
    }
    Ok(())
}

/// Whether an entry starts at an offset of any section of units.
pub(super) fn has_entry(sources: &Sources<'_>, dialect: Dialect, offset: u64) -> Result<bool> {
    let info = sources.info(dialect)?;
    for id in info.unit_ids() {
        // A unit that cannot be read has no entries; what is wrong with it is said where it is printed.
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

/// Prints the entries of a unit that are selected.
fn one<'a>(
    attributes: &Attributes<'_, 'a>,
    unit: &Header<'a>,
    section: &'static str,
    selection: &Selection<'_>,
    output: &mut Output<'_>,
) -> io::Result<()> {
    let inside = unit.facts.offset..unit.end();
    if matches!(selection, Selection::At(offset) if !inside.contains(offset)) {
        return Ok(());
    }
    let json = output.json();
    let mut text = TextEntries { output, indent: 0 };
    if json {
        let mut entries = JsonEntries::new(text.output);
        return walk(attributes, unit, section, selection, &mut entries);
    }
    walk(attributes, unit, section, selection, &mut text)
}

fn walk<'a>(
    attributes: &Attributes<'_, 'a>,
    unit: &Header<'a>,
    section: &'static str,
    selection: &Selection<'_>,
    sink: &mut dyn Sink<'a>,
) -> io::Result<()> {
    sink.begin_unit(unit, section, matches!(selection, Selection::All))?;
    entries::walk(attributes, unit.facts, selection, sink)?;
    sink.end_unit()
}
