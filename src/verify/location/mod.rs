//! Checks the expressions and location lists of all entries for their use, and the references between entries.
//!
//! `expression` checks each expression by itself. This module determines the use of each expression, and checks the properties that depend on the
//! surrounding entries. Sources: [HET](crate) A.3, A.4, A.5; DWARF 5 §2.2, §2.6.

mod attribute;
mod entries;
mod expressions;
mod function;
mod index;
mod lane_mask;
mod list;
mod nest;
mod part;
mod reference;
mod rule;
mod sound;
mod summary;
#[cfg(test)]
mod tests;
mod unit;

use core::ops::Range;
use std::collections::BTreeMap;

use foldhash::{HashMap, HashSet};

use gimli::constants::{
    DW_AT_abstract_origin, DW_AT_name, DW_AT_specification, DW_AT_type, DW_TAG_array_type,
    DW_TAG_base_type, DW_TAG_entry_point, DW_TAG_inlined_subroutine, DW_TAG_subprogram,
};
use gimli::{AttributeValue, DwTag};

use super::finding::{Finding, Findings};
use super::subject::Subject;
use super::{expression, register};
use crate::debug_info::attribute::{Extension, attribute_name, extension};
use crate::debug_info::{
    Bytes, DebugInfo, Die, DieId, DieValue, Language, LocationConvention, UnitId, UnitInfo,
    UnitKind,
};
use crate::error::Error;
use crate::eval::Unit;
use crate::meter::Meter;
use crate::object::relocation::EntryTarget;
use crate::rule::Rule;
use crate::untrusted::Untrusted;
use attribute::use_of;
use function::Scope;
use nest::Nest;
use reference::{By, Reference, References, SectionReferences};
use sound::Sound;
use summary::Summary;

pub(super) use function::{contains, merged};
pub(super) use index::RULES as INDEX_RULES;
pub(super) use lane_mask::RULES as LANE_MASK_RULES;
pub(super) use nest::RULES as NEST_RULES;
pub(super) use rule::RULES;
pub(super) use unit::RULES as UNIT_RULES;

/// The rule families by which expressions and location lists are checked.
pub(super) const FAMILIES: [&[&Rule]; 7] = [
    RULES,
    INDEX_RULES,
    LANE_MASK_RULES,
    NEST_RULES,
    UNIT_RULES,
    expression::RULES,
    register::RULES,
];

/// The number of steps that are charged for an entry, which is read and recorded for references to it.
const PER_ENTRY: u64 = 2;

/// The bytes that are kept of an entry while its unit is checked: the entry and its references.
const KEPT_OF_ENTRY: u64 = 48;

/// The number of units that are read before their kept data is dropped. A large object then needs no more memory than a small one.
const UNITS_AT_ONCE: usize = 128;

/// The languages whose threads of execution are lanes.
const SIMT_LANGUAGES: &[Language] = &[
    Language::Code(0x0015), // DW_LANG_OpenCL
    Language::Code(0x0030), // DW_LANG_HIP
    Language::Code(0x8100), // DW_LANG_LLVM_HIP
    Language::Name(0x0014), // DW_LNAME_OpenCL_C
    Language::Name(0x0029), // DW_LNAME_HIP
];

/// Checks every unit.
pub(super) fn check(subject: &Subject<'_, '_>, threads: usize, findings: &mut Findings) {
    let info = subject.program.info();
    let units: Vec<UnitId> = info.unit_ids().collect();
    let part = part::check_all(subject, &units, threads);
    findings.append(part.findings);
    nest::check_units(part.code, findings);
    if let Some(error) = info.broken() {
        findings.add(malformed(&rule::ENTRY, ".debug_info", error));
    }
    for (section, references) in part.references {
        let tags = |offsets: &[u64]| tags_at(info, section, offsets);
        references.finish(section, tags, findings);
    }
}

/// Returns the tags of the entries at the given offsets of a section. Offsets without an entry are left out.
fn tags_at(info: &DebugInfo<'_>, section: &str, offsets: &[u64]) -> BTreeMap<u64, DwTag> {
    let mut units: Vec<UnitId> = offsets
        .iter()
        .filter_map(|offset| Some(info.die_at(section, *offset)?.unit))
        .collect();
    units.dedup();
    let mut tags = BTreeMap::new();
    for unit in units {
        let Ok(mut dies) = info.dies(unit) else {
            continue;
        };
        while let Ok(Some(die)) = dies.next_ref() {
            if info.meter().work(1).is_err() {
                return tags;
            }
            let offset = die.id().offset;
            if offsets.binary_search(&offset).is_ok() {
                let tag = if die.is_null() { DwTag(0) } else { die.tag() };
                tags.insert(offset, tag);
            }
        }
    }
    tags
}

/// The state that is passed from unit to unit: known facts, and memory for reuse.
#[derive(Debug, Default)]
struct UnitCache<'a> {
    sound: Sound<'a>,
    /// The references of the unit. All fields below belong to the current unit, too.
    references: References,
    /// The checked lists, with their use and the size of the object in bits.
    lists: HashSet<(u64, attribute::Use, Option<u64>)>,
    /// The checked range lists.
    range_lists: HashSet<u64>,
    /// The sizes of types, in bytes.
    sizes: HashMap<DieId, Option<u64>>,
}

impl UnitCache<'_> {
    /// Clears the data of the previous unit.
    fn begin_unit(&mut self) {
        self.references.clear();
        self.lists.clear();
        self.range_lists.clear();
        self.sizes.clear();
    }
}

/// The check of one unit.
struct UnitCheck<'c, 'p, 'a> {
    subject: &'c Subject<'p, 'a>,
    info: &'p DebugInfo<'a>,
    id: UnitId,
    /// The offset range of the unit in its section.
    span: Range<u64>,
    section: &'static str,
    unit: Unit,
    /// True if lanes are the threads of the source language.
    is_simt: bool,
    /// The address ranges of the unit's code, sorted.
    ranges: Vec<Range<u64>>,
    findings: &'c mut Findings,
    summary: Summary,
    /// The functions that contain the current entry, the innermost last.
    scopes: Vec<Scope>,
    /// The entries with code that contain the current entry, the innermost last.
    nests: Vec<Nest>,
    kind: UnitKind,
    /// The sections of the unit's file.
    sections: Option<&'p gimli::Dwarf<Bytes<'a>>>,
    /// The range of file numbers in the unit's line table, once it was needed.
    files: Range<u64>,
    kept: &'c mut UnitCache<'a>,
    meter: &'c Meter,
    /// The number of bytes that are kept of the unit.
    held: u64,
    /// True for each index table whose absence was reported.
    bad_tables: [bool; 4],
    /// True for a split unit without its skeleton, which has the bases of the unit's addresses.
    has_no_skeleton: bool,
}

/// Returns true if the producer of a unit uses lane extensions. Attributes of functions do not prove this, because tools add them to any object.
fn knows_lanes(info: &DebugInfo<'_>, unit: UnitId) -> bool {
    let convention = info.convention(unit).map(|found| found.locations);
    matches!(
        convention,
        Ok(LocationConvention::Augmented | LocationConvention::Extended { .. })
    )
}

impl<'c, 'p, 'a> UnitCheck<'c, 'p, 'a> {
    fn new(
        subject: &'c Subject<'p, 'a>,
        unit: &UnitInfo<'a>,
        expressions: Unit,
        findings: &'c mut Findings,
        kept: &'c mut UnitCache<'a>,
    ) -> UnitCheck<'c, 'p, 'a> {
        let info = subject.program.info();
        // Unreadable ranges are reported with their entry.
        let root = info
            .root(unit.id)
            .and_then(|root| info.ranges(&root, subject.meter()));
        kept.begin_unit();
        let is_simt = (unit.language).is_some_and(|language| SIMT_LANGUAGES.contains(&language))
            || knows_lanes(info, unit.id);
        UnitCheck {
            subject,
            info,
            id: unit.id,
            span: unit.offset..unit.offset.saturating_add(unit.size),
            section: unit.section,
            unit: expressions,
            is_simt,
            ranges: merged(root.unwrap_or_default()),
            findings,
            summary: Summary::default(),
            scopes: Vec::new(),
            nests: Vec::new(),
            kind: unit.kind,
            sections: info.raw_sections(unit.id).ok(),
            files: 0..0,
            kept,
            meter: subject.meter(),
            held: 0,
            bad_tables: [false; 4],
            // In GNU's extension of DWARF 4, such sections contain plain units.
            has_no_skeleton: unit.partner.is_none() && unit.section.ends_with(".dwo"),
        }
    }

    /// Checks the entries. Findings about references are added to `references`.
    fn run(mut self, references: &mut SectionReferences) {
        if let Err(error) = self.entries()
            && !error.is_limit()
        {
            self.findings
                .add(malformed(&rule::ENTRY, self.section, &error));
            // After the fault, all references would seem to lead to missing entries.
            self.kept.references.give_up();
        }
        while let Some(scope) = self.scopes.pop() {
            scope.summary.finish(Summary::FUNCTION, self.findings);
        }
        self.summary.finish("unit", self.findings);
        references.add(self.section, self.span, &self.kept.references);
        // The memory of the unit is reused for the next one.
        self.meter.release(self.held);
    }

    /// Charges for bytes that are kept while the unit is checked.
    pub(super) fn keep(&mut self, bytes: u64) -> Result<(), Error> {
        self.meter.hold(bytes)?;
        self.held += bytes;
        Ok(())
    }

    /// Returns the name of the function that contains the current entry.
    fn function_name(&self) -> Option<Untrusted<'static>> {
        let scope = self.scopes.last()?;
        scope.name.clone().map(Into::into)
    }

    fn entries(&mut self) -> Result<(), Error> {
        let mut dies = self.info.dies(self.id)?;
        while let Some(die) = dies.next_ref()? {
            self.meter.work(PER_ENTRY)?;
            self.keep(KEPT_OF_ENTRY)?;
            if die.is_null() {
                self.kept.references.entry(die.id().offset, DwTag(0));
                continue;
            }
            self.kept.references.entry(die.id().offset, die.tag());
            while self
                .scopes
                .last()
                .is_some_and(|scope| scope.depth >= die.depth())
            {
                if let Some(scope) = self.scopes.pop() {
                    scope.summary.finish(Summary::FUNCTION, self.findings);
                }
            }
            if die.depth() == 0 {
                self.root(die);
            }
            self.nest(die)?;
            if die.tag() == DW_TAG_subprogram {
                let scope = self.scope(die);
                self.scopes.push(scope);
            }
            if [
                DW_TAG_subprogram,
                DW_TAG_inlined_subroutine,
                DW_TAG_entry_point,
            ]
            .contains(&die.tag())
            {
                self.check_lanes(die);
            }
            self.meter.work(die.attributes().len() as u64)?;
            for attribute in die.attributes() {
                self.attribute(die, attribute);
            }
        }
        Ok(())
    }

    fn attribute(&mut self, die: &Die<'a>, attribute: &gimli::Attribute<Bytes<'a>>) {
        let raw = attribute.raw_value();
        if !self.index(die, attribute, &raw) {
            return;
        }
        if let AttributeValue::UnitRef(offset) = raw {
            self.refer(
                die,
                attribute,
                self.span.start.saturating_add(offset.0 as u64),
            );
        } else if let AttributeValue::DebugInfoRef(offset) = raw {
            self.refer(die, attribute, offset.0 as u64);
        } else if let AttributeValue::DebugTypesRef(_) = raw {
            if let Err(error) = self.info.target(die, attribute) {
                let finding = malformed(&rule::REFERENCE, self.section, &error);
                self.findings.add(finding.at(die.id().offset));
            }
        } else if let Some(purpose) = use_of(die.tag(), attribute, &raw) {
            self.location(die, attribute, purpose);
        } else {
            self.string(die, attribute, &raw);
            self.file(die, attribute);
            self.range_list(die, attribute);
            self.check_space(die, attribute);
        }
    }

    fn refer(&mut self, die: &Die<'a>, attribute: &gimli::Attribute<Bytes<'a>>, to: u64) {
        let is_relocatable = self.subject.program.object().is_relocatable();
        if is_relocatable && EntryTarget::of_field(to) == EntryTarget::Elsewhere {
            return self.kept.references.add_elsewhere(die.id().offset);
        }
        self.kept.references.add(Reference {
            from: die.id().offset,
            tag: die.tag(),
            by: By::Attribute(attribute.name()),
            to,
        });
    }

    /// Checks `DW_AT_LLVM_address_space` and `DW_AT_LLVM_memory_space`.
    fn check_space(&mut self, die: &Die<'a>, attribute: &gimli::Attribute<Bytes<'a>>) {
        use crate::arch::{AddressSpace, MemorySpace};
        let (rule, is_known) = match extension(die.tag(), attribute) {
            Some(Extension::AddressSpace) => {
                let known = attribute.udata_value().and_then(AddressSpace::from_number);
                (&rule::ADDRESS_SPACE, known.is_some())
            }
            Some(Extension::MemorySpace) => {
                let known = attribute.udata_value().and_then(MemorySpace::from_number);
                (&rule::MEMORY_SPACE, known.is_some())
            }
            Some(
                Extension::Lanes
                | Extension::LanePc
                | Extension::VectorSize
                | Extension::ActiveLane
                | Extension::Augmentation
                | Extension::Iterations,
            )
            | None => return,
        };
        if !is_known {
            let text = match attribute.udata_value() {
                Some(number) => format!("{} is {number}", self.label(die, attribute)),
                None => format!("{} is negative", self.label(die, attribute)),
            };
            let finding = Finding::new(rule, self.section, text).at(die.id().offset);
            self.findings.add(finding);
        }
    }

    /// Returns the name of an attribute in findings: `DW_AT_location of "x"`.
    fn label(&self, die: &Die<'a>, attribute: &gimli::Attribute<Bytes<'a>>) -> String {
        let attribute = attribute_name(die.tag(), attribute);
        match self.name_of(die) {
            Some(name) => format!("{attribute} of `{name}`"),
            None => format!("{attribute} of the entry at {:#x}", die.id().offset),
        }
    }

    /// Returns the name of an entry, or of the entry that it is an instance of.
    fn name_of(&self, die: &Die<'a>) -> Option<String> {
        let own = |die: &Die<'a>| match self.info.value(die, die.attribute(DW_AT_name)?) {
            Ok(DieValue::String(name)) => Some(clipped(name.raw())),
            Ok(_) | Err(_) => None,
        };
        own(die).or_else(|| own(&self.origin(die)?))
    }

    /// Returns the entry that an entry is an instance or a completion of.
    fn origin(&self, die: &Die<'a>) -> Option<Die<'a>> {
        let attribute = die
            .attribute(DW_AT_abstract_origin)
            .or_else(|| die.attribute(DW_AT_specification))?;
        let id = self.info.target(die, attribute).ok()??;
        self.info.die(id).ok()
    }

    /// Returns the size in bits of the object that an entry describes.
    fn object_bits(&mut self, die: &Die<'a>) -> Option<u64> {
        let bytes = match die.attribute(DW_AT_type) {
            Some(attribute) => self.type_bytes(die, attribute),
            None => {
                let origin = self.origin(die)?;
                self.type_bytes(&origin, origin.attribute(DW_AT_type)?)
            }
        };
        bytes?.checked_mul(8)
    }

    /// Reports a base type of size zero for an object with a location. An empty structure is accepted.
    fn check_size(&mut self, die: &Die<'a>) {
        let Some(ty) = self.base_type(die) else {
            return;
        };
        if self.summary.count(&rule::NO_SIZE) {
            let name = self.name_of(&ty).unwrap_or_else(|| "?".to_owned());
            let object = self.name_of(die).unwrap_or_else(|| "?".to_owned());
            let text = format!("`{object}` has a location, but its type `{name}` has 0 bits");
            let finding = Finding::new(&rule::NO_SIZE, self.section, text);
            self.summary.set(finding.at(die.id().offset));
        }
    }

    /// Returns the base type of the object that an entry describes, if it has one.
    fn base_type(&self, die: &Die<'a>) -> Option<Die<'a>> {
        /// The maximum number of qualifiers and typedefs before the base type. Compilers write three or four.
        const HOPS: usize = 16;
        let mut ty = match die.attribute(DW_AT_type) {
            Some(_) => die.clone(),
            None => self.origin(die)?,
        };
        for _ in 0..HOPS {
            self.meter.work(1).ok()?;
            let id = self.info.target(&ty, ty.attribute(DW_AT_type)?).ok()??;
            ty = self.info.die(id).ok()?;
            if ty.tag() == DW_TAG_base_type {
                return Some(ty);
            }
            // An array without elements has no size, regardless of the size of its elements.
            if ty.tag() == DW_TAG_array_type {
                return None;
            }
        }
        None
    }

    /// Returns the size of the type that an attribute refers to.
    fn type_bytes(
        &mut self,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
    ) -> Option<u64> {
        // Most types are in the same unit, so a known size is found without following the reference.
        if let AttributeValue::UnitRef(offset) = attribute.raw_value()
            && die.id().unit == self.id
        {
            let offset = self.span.start.saturating_add(offset.0 as u64);
            let unit = self.id;
            if let Some(known) = self.kept.sizes.get(&DieId { unit, offset }) {
                return *known;
            }
        }
        let id = self.info.target(die, attribute).ok()??;
        let (info, meter) = (self.info, self.meter);
        let size = self.kept.sizes.entry(id);
        *size.or_insert_with(|| info.size(id, meter))
    }
}

/// Returns the start of a name. Any number of entries can share one long name, so names in findings are shortened.
pub(super) fn clipped(name: &str) -> String {
    const LENGTH: usize = 200;
    if name.len() <= LENGTH {
        return name.to_owned();
    }
    name.chars().take(LENGTH).collect()
}

/// Returns the finding about an unreadable part.
fn malformed(rule: &'static Rule, section: &'static str, error: &Error) -> Finding {
    let (section, offset) = match error.origin() {
        Some(origin) => (origin.section, Some(origin.offset)),
        None => (section, None),
    };
    let finding = Finding::new(rule, section, error.kind().to_string());
    match offset {
        Some(offset) => finding.at(offset),
        None => finding,
    }
}
