//! Adds attributes to entries of a unit in `.debug_info`.
//!
//! Entries after an addition move. References to them are therefore updated: references within the unit, and operations of expressions in the unit
//! and in its location lists. Each reference keeps its size, so that nothing else moves. Sources: DWARF 5 §7.5, §7.7.1.

mod entry;

use core::fmt::Display;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gimli::constants as dw;
use gimli::{AttributeValue, Reader as _, UnitOffset};

use super::lists::ListKind;
use super::references::{NotRewritten, fixed, leb128_of, rewrite};
use super::shift::{Edit, Shift};
use crate::arch::WaveSize;
use crate::debug_info::Bytes;
use crate::debug_info::attribute::extension;
use crate::debug_info::raw_list::{LocationFormat, RawLocations};
use crate::error::Error;
use crate::expr::{Dialect, Encoding};
use crate::meter::{BYTES_PER_STEP, Held, Meter};
use entry::AbbreviationChange;

/// The addition for an entry, with the offsets of its lists.
#[derive(Clone, Copy, Debug)]
pub(super) enum Addition {
    /// New attributes of a function.
    Lanes {
        lane_pc: usize,
        active_lane: Option<usize>,
    },
    /// A new location list that replaces the old one.
    Location(usize),
}

/// Bytes that replace the same number of old bytes.
#[derive(Clone, Debug)]
pub(super) struct Patch {
    pub(super) section: PatchedSection,
    pub(super) at: usize,
    pub(super) bytes: Vec<u8>,
}

/// The section of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PatchedSection {
    Info,
    Lists(ListKind),
}

/// An offset into `.debug_info` that refers to an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct SectionReference {
    pub(super) section: PatchedSection,
    pub(super) at: usize,
    pub(super) size: usize,
    pub(super) target: usize,
}

/// The changes of a unit.
#[derive(Debug, Default)]
pub(super) struct UnitChange {
    /// The insertions. Empty if the unit has no additions.
    pub(super) edits: Vec<Edit>,
    pub(super) patches: Vec<Patch>,
    pub(super) references: Vec<SectionReference>,
    /// The unit's abbreviations, including added ones.
    pub(super) abbreviations: Option<Vec<u8>>,
    /// The entries with additions in which an expression or a list is unreadable, with the reason.
    unreadable: BTreeMap<usize, Refused>,
}

/// The sources of a unit.
pub(super) struct Source<'s, 'a> {
    pub(super) dwarf: &'s gimli::Dwarf<Bytes<'a>>,
    pub(super) header: gimli::UnitHeader<Bytes<'a>>,
    /// The unit as gimli reads it, but without the line table, which could be large.
    pub(super) unit: &'s gimli::Unit<Bytes<'a>>,
    pub(super) wave_size: WaveSize,
    pub(super) abbrev: &'a [u8],
    /// The section of the unit's lists: `.debug_loc` or `.debug_loclists`.
    pub(super) kind: ListKind,
    pub(super) lists: &'a [u8],
    /// The encoding of operations.
    pub(super) dialect: Dialect,
    /// The meter with the budget for the file.
    pub(super) meter: &'s Arc<Meter>,
}

/// The maximum ratio of the capacity of a grown vector to its length.
const GROWN: usize = 2;

/// Charges for patches of a few bytes each.
fn pay_for_patches(meter: &Meter, count: usize) -> Result<(), Refused> {
    /// The minimum size of an allocation.
    const BYTES: u64 = 32;
    meter
        .hold_all::<Patch>(count.saturating_mul(GROWN))
        .and_then(|()| meter.hold(BYTES.saturating_mul(count as u64)))
        .map_err(refused)
}

/// The reason why a unit is left unchanged.
pub(super) type Refused = String;

pub(super) fn refused(error: impl Display) -> Refused {
    error.to_string()
}

/// An expression with its position.
pub(super) struct Found<'a> {
    /// The entry with an addition that contains the expression.
    pub(super) within: Option<usize>,
    pub(super) bytes: &'a [u8],
    pub(super) section: PatchedSection,
    pub(super) at: usize,
}

impl<'a> Source<'_, 'a> {
    fn start(&self) -> usize {
        let offset = self.header.debug_info_offset();
        offset.map_or(0, |offset| offset.0)
    }

    /// Returns the changes of the unit for these additions, except for entries with an unreadable expression or location list. These entries are
    /// removed from the additions, and returned with the reason. The rest of an expression after an unreadable part stays unchanged, because no
    /// reader gets there.
    ///
    /// # Errors
    /// The reason why the unit must stay unchanged.
    pub(super) fn change_without_unreadable(
        &self,
        additions: &mut BTreeMap<usize, Addition>,
    ) -> Result<(UnitChange, BTreeMap<usize, Refused>), Refused> {
        let change = self.change(additions)?;
        let unreadable = change.unreadable.clone();
        if unreadable.is_empty() {
            return Ok((change, unreadable));
        }
        additions.retain(|entry, _| !unreadable.contains_key(entry));
        Ok((self.change(additions)?, unreadable))
    }

    /// Returns the changes of the unit for these additions, by the offsets of entries in the unit.
    pub(super) fn change(
        &self,
        additions: &BTreeMap<usize, Addition>,
    ) -> Result<UnitChange, Refused> {
        let (abbreviations, last_code) = self.abbreviation_table()?;
        let offset_size = usize::from(self.header.format().word_size());
        let mut walk = Walk {
            source: self,
            unit: self.unit,
            additions,
            start: self.start(),
            offset_size,
            change: UnitChange::default(),
            unit_references: Vec::new(),
            expressions: Vec::new(),
            codes: BTreeMap::new(),
            abbreviations,
            next_code: last_code.saturating_add(1),
            new_abbreviations: Vec::new(),
            lists_seen: BTreeSet::new(),
            held: Held::new(Arc::clone(self.meter)),
            within: None,
        };
        walk.entries()?;
        walk.finish()
    }

    /// Returns the bytes of the unit's abbreviations without the 0 at their end, and the highest code. They are charged while they are read, because
    /// their number is not known before.
    fn abbreviation_table(&self) -> Result<(&'a [u8], u64), Refused> {
        /// The minimum size of an attribute: a name and a form.
        const ATTRIBUTE: usize = 2;
        let offset = self.header.debug_abbrev_offset().0;
        let table = self.abbrev.get(offset..).unwrap_or_default();
        let mut input = Bytes::new(table, gimli::LittleEndian);
        let position = |input: &Bytes<'a>| table.len().saturating_sub(input.len());
        let mut paid = 0_u64;
        let mut pay_to = |end: usize| {
            let steps = (end as u64).div_ceil(BYTES_PER_STEP);
            let due = steps.saturating_sub(paid);
            paid = steps.max(paid);
            self.meter.work(due).map_err(refused)
        };
        let mut highest = 0;
        loop {
            let at = position(&input);
            let code = input.read_uleb128().map_err(refused)?;
            if code == 0 {
                pay_to(at)?;
                return Ok((table.get(..at).unwrap_or_default(), highest));
            }
            highest = highest.max(code);
            input.read_uleb128().map_err(refused)?;
            input.read_u8().map_err(refused)?;
            loop {
                pay_to(position(&input).saturating_add(ATTRIBUTE))?;
                let name = input.read_uleb128().map_err(refused)?;
                let form = input.read_uleb128().map_err(refused)?;
                if form == u64::from(dw::DW_FORM_implicit_const.0) {
                    input.read_sleb128().map_err(refused)?;
                }
                if name == 0 && form == 0 {
                    break;
                }
            }
        }
    }
}

/// A reference to an entry of the unit.
struct UnitReference {
    at: usize,
    /// The number of bytes, which an update preserves even for LEB128.
    size: usize,
    is_leb128: bool,
    target: usize,
}

struct Walk<'w, 's, 'a> {
    source: &'w Source<'s, 'a>,
    unit: &'w gimli::Unit<Bytes<'a>>,
    additions: &'w BTreeMap<usize, Addition>,
    /// The offset of the unit in the section.
    start: usize,
    offset_size: usize,
    change: UnitChange,
    unit_references: Vec<UnitReference>,
    expressions: Vec<Found<'a>>,
    /// The new codes, by the old code and the change.
    codes: BTreeMap<(u64, AbbreviationChange), u64>,
    /// The bytes of the unit's abbreviations without the 0 at their end.
    abbreviations: &'a [u8],
    next_code: u64,
    new_abbreviations: Vec<u8>,
    /// The location lists whose expressions are in `expressions`.
    lists_seen: BTreeSet<usize>,
    /// The charge for `expressions`.
    held: Held,
    /// The current entry with an addition, and its depth.
    within: Option<(usize, isize)>,
}

impl<'a> Walk<'_, '_, 'a> {
    fn entries(&mut self) -> Result<(), Refused> {
        let abbreviations = self.unit.abbreviations.clone();
        let mut entries = self
            .source
            .header
            .entries_raw(&abbreviations, None)
            .map_err(refused)?;
        while !entries.is_empty() {
            self.held.meter().work(1).map_err(refused)?;
            let at = entries.next_offset().0;
            let depth = entries.next_depth();
            if self.within.is_some_and(|(_, of)| depth <= of) {
                self.within = None;
            }
            let addition = self.additions.get(&at);
            if let Some(Addition::Lanes { .. }) = addition {
                self.within = Some((at, depth));
            }
            let mut location = None;
            let Some(abbreviation) = entries.read_abbreviation().map_err(refused)? else {
                continue;
            };
            let after_code = entries.next_offset().0;
            for specification in abbreviation.attributes() {
                let before = entries.next_offset().0;
                let attribute = entries.read_attribute(*specification).map_err(refused)?;
                let size = entries.next_offset().0.saturating_sub(before);
                if specification.form() == dw::DW_FORM_indirect {
                    return Err("an attribute has DW_FORM_indirect".to_owned());
                }
                self.attribute(before, size, abbreviation.tag(), &attribute)?;
                if attribute.name() == dw::DW_AT_location {
                    location = Some((before, size, specification.form()));
                }
            }
            match (addition, location) {
                (Some(Addition::Lanes { .. }), _) => {
                    let end = entries.next_offset().0;
                    self.add(abbreviation, [at, after_code, end]);
                }
                (Some(Addition::Location(list)), Some(location)) => {
                    self.replace_location(abbreviation, *list, [at, after_code], location)?;
                }
                (Some(Addition::Location(_)) | None, _) => {}
            }
        }
        Ok(())
    }

    fn attribute(
        &mut self,
        at: usize,
        size: usize,
        tag: gimli::DwTag,
        attribute: &gimli::Attribute<Bytes<'a>>,
    ) -> Result<(), Refused> {
        let at = self.start.saturating_add(at);
        let is_extension = extension(tag, attribute).is_some();
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "other values refer to no entry"
        )]
        match attribute.raw_value() {
            AttributeValue::UnitRef(target) => {
                let held = &self.held;
                held.hold_all::<UnitReference>(GROWN).map_err(refused)?;
                self.unit_references.push(UnitReference {
                    at,
                    size,
                    is_leb128: attribute.form() == dw::DW_FORM_ref_udata,
                    target: target.0,
                });
            }
            AttributeValue::DebugInfoRef(target) => {
                let meter = self.source.meter;
                (meter.hold_all::<SectionReference>(GROWN)).map_err(refused)?;
                self.change.references.push(SectionReference {
                    section: PatchedSection::Info,
                    at,
                    size,
                    target: target.0,
                });
            }
            AttributeValue::Exprloc(expression) => self.expression_at(expression.0, at, size)?,
            AttributeValue::Block(bytes) if is_extension || self.is_expression(attribute) => {
                self.expression_at(bytes, at, size)?;
            }
            _ => {}
        }
        let value = attribute.value();
        self.list(match (is_extension, &value) {
            (true, AttributeValue::SecOffset(offset)) => {
                AttributeValue::LocationListsRef(gimli::LocationListsOffset(*offset))
            }
            (_, _) => value,
        })
    }

    /// Returns true if an attribute with a block form holds an expression. Before DWARF 4, all expressions had these forms. Since then, readers
    /// accept them only for attributes whose block can only be an expression.
    fn is_expression(&self, attribute: &gimli::Attribute<Bytes<'a>>) -> bool {
        let is_data = matches!(
            attribute.name(),
            dw::DW_AT_const_value | dw::DW_AT_discr_list
        );
        let is_new = self.unit.encoding().version >= 4;
        !is_data && (!is_new || matches!(attribute.value(), AttributeValue::Exprloc(_)))
    }

    fn expression_at(&mut self, bytes: Bytes<'a>, at: usize, size: usize) -> Result<(), Refused> {
        let length = size.saturating_sub(bytes.len());
        self.found(Found {
            within: self.within.map(|(at, _)| at),
            bytes: bytes.slice(),
            section: PatchedSection::Info,
            at: at.saturating_add(length),
        })
    }

    fn found(&mut self, expression: Found<'a>) -> Result<(), Refused> {
        (self.held.hold_all::<Found<'_>>(GROWN)).map_err(refused)?;
        let meter = self.held.meter();
        meter
            .charge_bytes(expression.bytes.len())
            .map_err(refused)?;
        self.expressions.push(expression);
        Ok(())
    }

    /// Adds the expressions of a location list, if the value of an attribute is one.
    fn list(&mut self, value: AttributeValue<Bytes<'a>>) -> Result<(), Refused> {
        let found = self.source.dwarf.attr_locations_offset(self.unit, value);
        let Some(offset) = found.map_err(refused)? else {
            return Ok(());
        };
        if !self.lists_seen.insert(offset.0) {
            return Ok(());
        }
        let encoding = self.unit.encoding();
        let format = LocationFormat::of(encoding.version, false);
        let (section, bytes) = (self.source.kind.section(), self.source.lists);
        let (start, size) = (offset.0 as u64, encoding.address_size);
        let within = self.within.map(|(at, _)| at);
        let entries = RawLocations::new(section, bytes, start, format, size);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => {
                self.is_unreadable(within, &error);
                return Ok(());
            }
        };
        loop {
            let entry = match entries.next() {
                Ok(Some(entry)) => entry,
                Ok(None) => return Ok(()),
                Err(error) => {
                    self.is_unreadable(within, &error);
                    return Ok(());
                }
            };
            self.held.meter().work(1).map_err(refused)?;
            if let Some((at, bytes)) = entry.expression {
                self.found(Found {
                    within,
                    bytes,
                    section: PatchedSection::Lists(self.source.kind),
                    at: usize::try_from(at).unwrap_or(usize::MAX),
                })?;
            }
        }
    }

    /// Records that a part of an entry with an addition is unreadable.
    fn is_unreadable(&mut self, within: Option<usize>, error: &Error) {
        if let Some(entry) = within {
            let unreadable = &mut self.change.unreadable;
            unreadable.entry(entry).or_insert_with(|| error.to_string());
        }
    }

    /// Updates references to moved entries.
    fn finish(mut self) -> Result<UnitChange, Refused> {
        let shift = Shift::new(&self.change.edits);
        let start = self.start;
        // Returns the new offset in the unit for an old one.
        let moved = |target: usize| {
            let old = start.saturating_add(target);
            shift.entry(old).saturating_sub(start)
        };
        for reference in &self.unit_references {
            let target = moved(reference.target);
            if target == reference.target {
                continue;
            }
            let bytes = if reference.is_leb128 {
                leb128_of(target, reference.size)
            } else {
                fixed(target, reference.size)
            };
            let bytes = bytes.ok_or("a reference would need more bytes than it has")?;
            pay_for_patches(self.source.meter, 1)?;
            self.change.patches.push(Patch {
                section: PatchedSection::Info,
                at: reference.at,
                bytes,
            });
        }
        let (header, address_size) = (&self.source.header, self.unit.encoding().address_size);
        let encoding = Encoding {
            address_size,
            offset_size: Encoding::reference_size(
                header.version(),
                address_size,
                header.format().word_size(),
            ),
            dialect: self.source.dialect,
        };
        for expression in &self.expressions {
            let before = self.change.patches.len();
            let references = self.change.references.len();
            let rewritten = rewrite(expression, encoding, &moved, &mut self.change);
            // The number of references is at most the number of bytes of the expression.
            let meter = self.source.meter;
            let patches = self.change.patches.len().saturating_sub(before);
            pay_for_patches(meter, patches)?;
            let references = self.change.references.len().saturating_sub(references);
            let references = references.saturating_mul(GROWN);
            (meter.hold_all::<SectionReference>(references)).map_err(refused)?;
            match rewritten {
                Ok(()) => {}
                Err(NotRewritten::Unreadable(error)) => {
                    if let Some(entry) = expression.within {
                        self.change.unreadable.entry(entry).or_insert(error);
                    }
                }
                Err(NotRewritten::Refused(reason)) => return Err(reason),
            }
        }
        if !self.change.edits.is_empty() {
            let mut table = self.abbreviations.to_vec();
            table.extend(&self.new_abbreviations);
            table.push(0);
            self.change.abbreviations = Some(table);
        }
        Ok(self.change)
    }
}

/// Returns the offset of an entry in its unit.
pub(super) fn unit_offset(header: &gimli::UnitHeader<Bytes<'_>>, in_section: u64) -> Option<usize> {
    let in_section = gimli::DebugInfoOffset(usize::try_from(in_section).ok()?);
    let UnitOffset(offset) = in_section.to_unit_offset(header)?;
    Some(offset)
}
