//! Checks references between entries. Each must lead to the start of an entry of the right kind, and must not form a cycle. Sources: DWARF 5 §2.2,
//! §2.13, §7.5.5.
//!
//! Nearly all references stay in their unit. These are checked after each unit, so that only the entries of one unit are kept instead of the whole
//! section.

use core::ops::Range;
use std::collections::BTreeMap;

use gimli::constants::*;
use gimli::{DwAt, DwTag};

use super::rule;
use crate::debug_info::attribute::tag_name;
use crate::plural::counted;
use crate::rule::Severity;
use crate::verify::finding::{Finding, Findings};

/// The maximum number of references that are followed in search of a cycle.
const HOPS: usize = 32;

/// The entries of one unit, and their references.
#[derive(Debug, Default)]
pub(super) struct References {
    /// The offset and tag of every entry, in ascending order. Null entries have the tag 0.
    entries: Vec<(u64, DwTag)>,
    references: Vec<Reference>,
    elsewhere: Elsewhere,
    /// True if some entries are not known.
    incomplete: bool,
}

/// The references to entries of other objects, which exist only after linking.
#[derive(Clone, Copy, Debug, Default)]
struct Elsewhere {
    /// The offset of the first entry with such a reference.
    first: u64,
    count: u64,
}

impl Elsewhere {
    fn append(&mut self, next: Elsewhere) {
        if self.count == 0 {
            self.first = next.first;
        }
        self.count += next.count;
    }
}

/// The findings about the references of a section, and the references that can be checked only after all units.
#[derive(Debug, Default)]
pub(super) struct SectionReferences {
    findings: Findings,
    elsewhere: Elsewhere,
    /// The references to other units.
    outward: Vec<Reference>,
    /// The offsets of entries with `DW_AT_abstract_origin` or `DW_AT_specification`, each with the offset of the target.
    completes: Vec<(u64, u64)>,
    /// The offsets of the first entry and the last entry.
    span: Option<(u64, u64)>,
    /// True if some entries are not known, or if offsets occur more than once, as with several `.dwo` files.
    incomplete: bool,
}

/// A reference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    /// The offset of the referring entry.
    pub(super) from: u64,
    pub(super) tag: DwTag,
    pub(super) by: By,
    /// The offset of the target.
    pub(super) to: u64,
}

/// The origin of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Attribute(DwAt),
    /// An operation of an expression, at an offset of the section.
    Operation(&'static str, &'static str, u64),
}

/// The kinds of entries to which attributes refer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Any,
    Type,
    Subprogram,
    /// The kind of the referring entry: a subprogram or an object.
    Same,
    /// A variable, parameter, constant or member.
    Object,
    Parameter,
    Unit,
}

impl References {
    pub(super) fn entry(&mut self, offset: u64, tag: DwTag) {
        if self.entries.last().is_some_and(|(last, _)| *last >= offset) {
            self.incomplete = true;
        }
        self.entries.push((offset, tag));
    }

    pub(super) fn add(&mut self, reference: Reference) {
        self.references.push(reference);
    }

    /// Adds a reference from the entry at an offset to an entry of another object.
    pub(super) fn add_elsewhere(&mut self, from: u64) {
        let one = Elsewhere {
            first: from,
            count: 1,
        };
        self.elsewhere.append(one);
    }

    /// Clears all entries and references.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.references.clear();
        self.elsewhere = Elsewhere::default();
        self.incomplete = false;
    }

    /// Disables the check, because some entries are not known.
    pub(super) fn give_up(&mut self) {
        self.incomplete = true;
    }

    fn tag_at(&self, offset: u64) -> Option<DwTag> {
        let index = self
            .entries
            .binary_search_by_key(&offset, |(offset, _)| *offset)
            .ok()?;
        self.entries.get(index).map(|(_, tag)| *tag)
    }
}

impl SectionReferences {
    /// Adds the unit at `unit` of the section.
    pub(super) fn add(&mut self, section: &'static str, unit: Range<u64>, references: &References) {
        let mut of_unit = SectionReferences {
            span: references
                .entries
                .first()
                .zip(references.entries.last())
                .map(|((first, _), (last, _))| (*first, *last)),
            incomplete: references.incomplete,
            elsewhere: references.elsewhere,
            ..SectionReferences::default()
        };
        if !references.incomplete {
            for reference in &references.references {
                if reference.completes() {
                    of_unit.completes.push((reference.from, reference.to));
                }
                if unit.contains(&reference.to) {
                    let found = references.tag_at(reference.to);
                    if let Some(finding) = reference.check(section, found) {
                        of_unit.findings.add(finding);
                    }
                } else {
                    of_unit.outward.push(*reference);
                }
            }
        }
        self.append(of_unit);
    }

    /// Appends the references of the following units.
    pub(super) fn append(&mut self, next: SectionReferences) {
        self.span = match (self.span, next.span) {
            (Some((first, last)), Some((next_first, next_last))) => {
                self.incomplete |= next_first <= last;
                Some((first, next_last))
            }
            (span, None) | (None, span) => span,
        };
        self.incomplete |= next.incomplete;
        self.elsewhere.append(next.elsewhere);
        self.findings.append(next.findings);
        self.outward.extend(next.outward);
        self.completes.extend(next.completes);
    }

    /// Checks the references to other units, and reports all findings.
    ///
    /// * `tags`: returns the tags of the existing entries among the given offsets, which ascend.
    pub(super) fn finish(
        mut self,
        section: &'static str,
        tags: impl FnOnce(&[u64]) -> BTreeMap<u64, DwTag>,
        findings: &mut Findings,
    ) {
        if self.elsewhere.count > 0 {
            let text = format!(
                "{} to entries of other objects {} not checked",
                counted(self.elsewhere.count, "reference"),
                if self.elsewhere.count == 1 {
                    "is"
                } else {
                    "are"
                }
            );
            let mut finding = Finding::new(&rule::REFERENCE, section, text)
                .at(self.elsewhere.first)
                .help("check the output of the linker instead");
            finding.severity = Severity::Note;
            findings.add(finding);
        }
        if self.incomplete {
            return;
        }
        findings.append(core::mem::take(&mut self.findings));
        if !self.outward.is_empty() {
            let mut targets: Vec<u64> = self.outward.iter().map(|one| one.to).collect();
            targets.sort_unstable();
            targets.dedup();
            let tags = tags(&targets);
            self.outward.sort_by_key(|reference| reference.from);
            for reference in &self.outward {
                let found = tags.get(&reference.to).copied();
                if let Some(finding) = reference.check(section, found) {
                    findings.add(finding);
                }
            }
        }
        self.completes.sort_by_key(|(from, _)| *from);
        check_cycles(&self.completes, section, findings);
    }
}

impl Reference {
    fn completes(&self) -> bool {
        let names = [DW_AT_abstract_origin, DW_AT_specification];
        names.map(By::Attribute).contains(&self.by)
    }

    /// * `found`: the tag of the target. `None` if no entry starts there.
    fn check(&self, section: &'static str, found: Option<DwTag>) -> Option<Finding> {
        let Reference { from, tag, by, to } = *self;
        let (section, from, name_attribute) = match by {
            By::Operation(_, section, offset) => (section, offset, None),
            By::Attribute(name) => (section, from, Some(name)),
        };
        let name = || match by {
            By::Attribute(name) => format!("{} of {}", at_name(name), tag_name(tag)),
            By::Operation(name, ..) => format!("{name} of {}", tag_name(tag)),
        };
        let Some(found) = found else {
            let text = format!("{} refers to {to:#x}, where no entry starts", name());
            return Some(Finding::new(&rule::REFERENCE, section, text).at(from));
        };
        if found == DwTag(0) {
            // The sibling of the last entry may be the null entry that follows.
            if name_attribute == Some(DW_AT_sibling) {
                return None;
            }
            let text = format!("{} refers to the null entry at {to:#x}", name());
            return Some(Finding::new(&rule::REFERENCE, section, text).at(from));
        }
        let wanted = wanted(tag, name_attribute?);
        if wanted.fits(found) {
            return None;
        }
        let text = format!(
            "{} refers to the {} at {to:#x}, but {} is required",
            name(),
            tag_name(found),
            wanted.text()
        );
        Some(Finding::new(&rule::REFERENCE_KIND, section, text).at(from))
    }
}

/// Finds entries that complete themselves in a cycle.
///
/// * `completes`: pairs of referring entry and target, sorted by referring entry.
fn check_cycles(completes: &[(u64, u64)], section: &'static str, findings: &mut Findings) {
    let next = |from: u64| {
        let index = completes.partition_point(|(other, _)| *other < from);
        completes
            .get(index)
            .filter(|(other, _)| *other == from)
            .map(|(_, to)| *to)
    };
    for (start, first) in completes {
        let mut at = *first;
        for _ in 0..HOPS {
            // Each cycle is found from each of its entries, and reported only at the first.
            if at == *start {
                let text = "its DW_AT_abstract_origin and DW_AT_specification lead back to it";
                findings.add(Finding::new(&rule::REFERENCE_CYCLE, section, text).at(*start));
                break;
            }
            match next(at) {
                Some(to) if at > *start => at = to,
                Some(_) | None => break,
            }
        }
    }
}

/// Returns the kind of entry to which an attribute of an entry with this tag refers.
fn wanted(tag: DwTag, name: DwAt) -> Wanted {
    let Some((_, wanted)) = KINDS.iter().find(|(known, _)| *known == name) else {
        return Wanted::Any;
    };
    let is_same = *wanted == Wanted::Same;
    if is_same && SUBPROGRAMS.contains(&tag) {
        Wanted::Subprogram
    } else if is_same && tag == DW_TAG_formal_parameter {
        Wanted::Parameter
    } else if is_same && OBJECTS.contains(&tag) {
        Wanted::Object
    } else if is_same || (*wanted == Wanted::Unit && tag != DW_TAG_imported_unit) {
        Wanted::Any
    } else {
        *wanted
    }
}

/// The kinds of entries to which attributes refer. All other attributes may refer to any kind.
#[rustfmt::skip]
const KINDS: &[(DwAt, Wanted)] = &[
    (DW_AT_type,             Wanted::Type),
    (DW_AT_containing_type,  Wanted::Type),
    (DW_AT_abstract_origin,  Wanted::Same),
    (DW_AT_specification,    Wanted::Same),
    (DW_AT_object_pointer,   Wanted::Object),
    (DW_AT_lower_bound,      Wanted::Object),
    (DW_AT_upper_bound,      Wanted::Object),
    (DW_AT_count,            Wanted::Object),
    (DW_AT_call_parameter,   Wanted::Object),
    (DW_AT_call_origin,      Wanted::Subprogram),
    (DW_AT_import,           Wanted::Unit),
];

const SUBPROGRAMS: &[DwTag] = &[
    DW_TAG_subprogram,
    DW_TAG_inlined_subroutine,
    DW_TAG_entry_point,
];

const OBJECTS: &[DwTag] = &[
    DW_TAG_variable,
    DW_TAG_formal_parameter,
    DW_TAG_constant,
    DW_TAG_member,
    DW_TAG_dwarf_procedure,
    DW_TAG_call_site_parameter,
];

const UNITS: &[DwTag] = &[
    DW_TAG_compile_unit,
    DW_TAG_partial_unit,
    DW_TAG_type_unit,
    DW_TAG_skeleton_unit,
];

impl Wanted {
    fn fits(self, tag: DwTag) -> bool {
        match self {
            Wanted::Any | Wanted::Same => true,
            // Vendor tags may be types.
            Wanted::Type => tag.0 >= DW_TAG_lo_user.0 || TYPES.contains(&tag),
            Wanted::Subprogram => SUBPROGRAMS.contains(&tag),
            Wanted::Object => OBJECTS.contains(&tag),
            Wanted::Parameter => tag == DW_TAG_formal_parameter,
            Wanted::Unit => UNITS.contains(&tag),
        }
    }

    fn text(self) -> &'static str {
        match self {
            Wanted::Any | Wanted::Same => "an entry",
            Wanted::Type => "a type",
            Wanted::Subprogram => "a subprogram",
            Wanted::Object => "a variable, parameter, constant or member",
            Wanted::Parameter => "a parameter",
            Wanted::Unit => "a unit",
        }
    }
}

/// The tags of types. The most frequent targets come first.
const TYPES: &[DwTag] = &[
    DW_TAG_pointer_type,
    DW_TAG_base_type,
    DW_TAG_typedef,
    DW_TAG_structure_type,
    DW_TAG_const_type,
    DW_TAG_array_type,
    DW_TAG_class_type,
    DW_TAG_enumeration_type,
    DW_TAG_reference_type,
    DW_TAG_string_type,
    DW_TAG_subroutine_type,
    DW_TAG_union_type,
    DW_TAG_ptr_to_member_type,
    DW_TAG_set_type,
    DW_TAG_subrange_type,
    DW_TAG_file_type,
    DW_TAG_packed_type,
    DW_TAG_thrown_type,
    DW_TAG_volatile_type,
    DW_TAG_restrict_type,
    DW_TAG_interface_type,
    DW_TAG_unspecified_type,
    DW_TAG_shared_type,
    DW_TAG_rvalue_reference_type,
    DW_TAG_template_alias,
    DW_TAG_coarray_type,
    DW_TAG_generic_subrange,
    DW_TAG_dynamic_type,
    DW_TAG_atomic_type,
    DW_TAG_immutable_type,
];

fn at_name(name: DwAt) -> String {
    match name.static_string() {
        Some(name) => name.to_owned(),
        None => format!("attribute {:#x}", name.0),
    }
}
