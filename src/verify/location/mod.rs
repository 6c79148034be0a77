//! Where the debugging information says that things are: the expressions and location lists of all entries,
//! what they are for, and what entries refer to.
//!
//! What is wrong with an expression by itself is found by `expression`; this module says what each is for, and
//! checks what only the entries around it can tell. Sources: [HET](crate) A.3, A.4, A.5; DWARF 5 §2.2, §2.6.

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
use crate::object::relocation::ELSEWHERE;
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

/// The rules that expressions and location lists are checked by.
pub(super) const FAMILIES: [&[&Rule]; 7] = [
    RULES,
    INDEX_RULES,
    LANE_MASK_RULES,
    NEST_RULES,
    UNIT_RULES,
    expression::RULES,
    register::RULES,
];

/// As how many steps an entry counts: it is read, and noted for those that refer to it.
const PER_ENTRY: u64 = 2;

/// The bytes that are kept of an entry while its unit is checked: the entry and its references.
const KEPT_OF_ENTRY: u64 = 48;

/// How many units are read before what was kept of them is dropped, so that a large object needs no more memory
/// than a small one.
const UNITS_AT_ONCE: usize = 128;

/// Languages whose threads of execution are lanes.
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

/// Returns the tags of the entries at some offsets of a section, as far as there are entries.
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

/// State that one unit leaves to the next: known facts, and memory to reuse.
#[derive(Debug, Default)]
struct UnitCache<'a> {
    sound: Sound<'a>,
    /// The references of the unit. All fields below belong to the unit, too.
    references: References,
    /// The lists that were checked, with their use and the size of the object in bits.
    lists: HashSet<(u64, attribute::Use, Option<u64>)>,
    /// The range lists that were checked.
    range_lists: HashSet<u64>,
    /// The sizes of types, in bytes.
    sizes: HashMap<DieId, Option<u64>>,
}

impl UnitCache<'_> {
    /// Forgets what is of one unit.
    fn begin_unit(&mut self) {
        self.references.clear();
        self.lists.clear();
        self.range_lists.clear();
        self.sizes.clear();
    }
}

/// One unit.
struct UnitCheck<'c, 'p, 'a> {
    subject: &'c Subject<'p, 'a>,
    info: &'p DebugInfo<'a>,
    id: UnitId,
    /// Offset and size of the unit in its section.
    span: Range<u64>,
    section: &'static str,
    unit: Unit,
    /// True if lanes are the threads of the source language.
    is_simt: bool,
    /// The addresses of the unit's code, sorted.
    ranges: Vec<Range<u64>>,
    findings: &'c mut Findings,
    summary: Summary,
    /// The functions that contain the entry, the innermost last.
    scopes: Vec<Scope>,
    /// The entries with code that contain it, the innermost last.
    nests: Vec<Nest>,
    kind: UnitKind,
    /// The sections of the file it is in.
    sections: Option<&'p gimli::Dwarf<Bytes<'a>>>,
    /// The numbers of the files of the unit's line table, once they were asked for.
    files: Range<u64>,
    kept: &'c mut UnitCache<'a>,
    meter: &'c Meter,
    /// The bytes that are kept of the unit.
    held: u64,
    /// True for each table of indices whose absence was reported.
    bad_tables: [bool; 4],
    /// True if it is a split unit without its skeleton, which says where its addresses are.
    has_no_skeleton: bool,
}

/// Returns true if the producer of a unit knows of lanes. Attributes of functions do not show it: tools add them to any object.
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
        // Ranges that cannot be read are found with their entry.
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
            // GNU's extension of DWARF 4 has plain units there.
            has_no_skeleton: unit.partner.is_none() && unit.section.ends_with(".dwo"),
        }
    }

    /// Checks the entries; what is to be said of references is added to `references`.
    fn run(mut self, references: &mut SectionReferences) {
        if let Err(error) = self.entries()
            && !error.is_limit()
        {
            self.findings
                .add(malformed(&rule::ENTRY, self.section, &error));
            // References after the fault would all seem to lead nowhere.
            self.kept.references.give_up();
        }
        while let Some(scope) = self.scopes.pop() {
            scope.summary.finish(Summary::FUNCTION, self.findings);
        }
        self.summary.finish("unit", self.findings);
        references.add(self.section, self.span, &self.kept.references);
        // What is kept of a unit is used again for the next one.
        self.meter.release(self.held);
    }

    /// Pays for bytes that are kept as long as the unit is checked.
    pub(super) fn keep(&mut self, bytes: u64) -> Result<(), Error> {
        self.meter.hold(bytes)?;
        self.held = self.held.saturating_add(bytes);
        Ok(())
    }

    /// The name of the function whose entries are read.
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
        if to == u64::from(ELSEWHERE) && self.subject.program.object().is_relocatable() {
            return self.kept.references.add_elsewhere(die.id().offset);
        }
        self.kept.references.add(Reference {
            from: die.id().offset,
            tag: die.tag(),
            by: By::Attribute(attribute.name()),
            to,
        });
    }

    /// `DW_AT_LLVM_address_space` and `DW_AT_LLVM_memory_space`.
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

    /// Returns how findings name an attribute: `DW_AT_location of "x"`.
    fn label(&self, die: &Die<'a>, attribute: &gimli::Attribute<Bytes<'a>>) -> String {
        let attribute = attribute_name(die.tag(), attribute);
        match self.name_of(die) {
            Some(name) => format!("{attribute} of `{name}`"),
            None => format!("{attribute} of the entry at {:#x}", die.id().offset),
        }
    }

    /// The name of an entry, or of the one that it is an instance of.
    fn name_of(&self, die: &Die<'a>) -> Option<String> {
        let own = |die: &Die<'a>| match self.info.value(die, die.attribute(DW_AT_name)?) {
            Ok(DieValue::String(name)) => Some(clipped(name.raw())),
            Ok(_) | Err(_) => None,
        };
        own(die).or_else(|| own(&self.origin(die)?))
    }

    /// Returns the entry that an entry is an instance or the completion of.
    fn origin(&self, die: &Die<'a>) -> Option<Die<'a>> {
        let attribute = die
            .attribute(DW_AT_abstract_origin)
            .or_else(|| die.attribute(DW_AT_specification))?;
        let id = self.info.target(die, attribute).ok()??;
        self.info.die(id).ok()
    }

    /// Returns the size of the object that an entry describes, in bits.
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

    /// An object of no size that has a location: that of an empty structure is none to complain of, that of a number is.
    fn check_size(&mut self, die: &Die<'a>) {
        let Some(ty) = self.base_type(die) else {
            return;
        };
        if self.summary.count(&rule::NO_SIZE) {
            let name = self.name_of(&ty).unwrap_or_else(|| "?".to_owned());
            let object = self.name_of(die).unwrap_or_else(|| "?".to_owned());
            let text = format!("`{object}` has a location, and its type `{name}` has 0 bits");
            let finding = Finding::new(&rule::NO_SIZE, self.section, text);
            self.summary.set(finding.at(die.id().offset));
        }
    }

    /// Returns the base type of the object that an entry describes, if it has one.
    fn base_type(&self, die: &Die<'a>) -> Option<Die<'a>> {
        /// Qualifiers and names of types on the way; compilers write three or four.
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
            // One without elements has no size, whatever theirs is.
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
        // What is known was looked up before; nearly all types are in the unit, and need not be found again.
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

/// The start of a name: one long name can be that of any number of entries.
pub(super) fn clipped(name: &str) -> String {
    const LENGTH: usize = 200;
    if name.len() <= LENGTH {
        return name.to_owned();
    }
    name.chars().take(LENGTH).collect()
}

/// Returns a finding of something that cannot be read.
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
