//! Checks `.debug_names`: its tables must be consistent, and names must lead to their entries. Source: DWARF 5 §6.1.1.
//!
//! `table` checks an index by itself, and `unit` compares it with the entries of a unit. The entries of an index are grouped by unit and looked up in
//! one walk over each unit. The work is therefore proportional to both.

mod rule;
mod table;
mod unit;

use std::collections::{BTreeMap, BTreeSet};

use super::aranges::units_by_offset;
use super::finding::{Finding, Findings};
use super::subject::Subject;
use crate::debug_info::name_index::{NameIndex, SECTION};
use crate::debug_info::{DebugInfo, UnitId, UnitKind};
use crate::meter::{BYTES_PER_STEP, Meter};
use crate::rule::Rule;

pub(super) use rule::RULES;

/// An index entry for an entry of a unit.
#[derive(Clone, Copy, Debug)]
struct Indexed {
    /// The offset of the entry from the start of its unit.
    die: u64,
    /// The number of the name in the index, from 1.
    name: u32,
    /// The offset of the index entry.
    at: u64,
    tag: gimli::DwTag,
    parent: Parent,
}

/// The parent of an index entry.
#[derive(Clone, Copy, Debug)]
enum Parent {
    /// The parent is missing, or outside the index.
    Unsaid,
    /// The parent is the index entry at this offset of the section.
    At(u64),
}

/// The state of checking the section.
struct Check<'c, 'a> {
    info: &'c DebugInfo<'a>,
    /// The contents of `.debug_str`.
    strings: &'c [u8],
    units: BTreeMap<u64, UnitId>,
    /// The offsets of the units that an index covers.
    indexed: BTreeSet<u64>,
    findings: &'c mut Findings,
    meter: &'c Meter,
}

/// Checks the section, if there is one.
pub(super) fn check(subject: &Subject<'_, '_>, findings: &mut Findings) {
    let object = subject.program.object();
    let Ok(Some(bytes)) = object.section(SECTION) else {
        return;
    };
    if bytes.is_empty() {
        return;
    }
    let strings = object.section(".debug_str").ok().flatten();
    // The data that is read from the units is dropped with this copy.
    let Ok(program) = subject.program.source().load(subject.meter()) else {
        return;
    };
    let info = program.info();
    let strings = strings.unwrap_or_default();
    let mut check = Check {
        info,
        strings,
        meter: subject.meter(),
        units: units_by_offset(info),
        indexed: BTreeSet::new(),
        findings,
    };
    let mut next = 0;
    while next < bytes.len() as u64 {
        match NameIndex::read(bytes, next) {
            Ok(index) => {
                next = index.end();
                check.index(&index);
            }
            Err(error) => {
                let at = error.origin().map_or(next, |origin| origin.offset);
                check.add(&rule::HEADER, error.kind().to_string(), at);
                break;
            }
        }
    }
    if check.is_exhausted() {
        let message =
            "the strings of names are longer than in any real index: the rest was not checked";
        check.add(&rule::TOO_LARGE, message.to_owned(), 0);
    } else {
        check.units_without();
    }
}

impl<'c> Check<'c, '_> {
    /// Charges for strings. If the meter refuses, the check ends.
    fn charge(&self, bytes: u64) {
        let _ = self.meter.work(bytes.div_ceil(BYTES_PER_STEP));
    }

    fn is_exhausted(&self) -> bool {
        self.meter.refused().is_some()
    }

    /// Returns the string of a name by number, without its terminating zero. Returns `None` if it is not in the section.
    fn string(&mut self, index: &NameIndex<'_>, name: u32) -> Option<&'c [u8]> {
        if self.is_exhausted() {
            return None;
        }
        let at = usize::try_from(index.string(name)?).ok()?;
        let rest = self.strings.get(at..)?;
        let end = rest.iter().position(|byte| *byte == 0);
        self.charge(end.unwrap_or(rest.len()) as u64);
        rest.get(..end?)
    }

    fn add(&mut self, rule: &'static Rule, message: String, offset: u64) {
        self.findings
            .add(Finding::new(rule, SECTION, message).at(offset));
    }

    fn index(&mut self, index: &NameIndex<'_>) {
        if !self.header(index) {
            return;
        }
        self.abbreviations(index);
        self.unit_lists(index);
        self.buckets(index);
        let known = self.findings.len();
        let mut all = self.entries(index);
        // A unit without entries in the index may have names. If the index has faults, an unreadable entry may belong to that unit, so it is not
        // reported.
        let units = (0..index.unit_count).filter_map(|number| index.unit(number));
        for unit in units.filter(|_| self.findings.len() == known) {
            all.entry(unit).or_default();
        }
        for (offset, mut entries) in all {
            let Some(unit) = self.unit_of(offset) else {
                continue;
            };
            entries.sort_by_key(|entry| (entry.die, entry.name, entry.at));
            self.unit(index, offset, unit, &entries);
        }
    }

    /// Returns the unit at an offset or, for a skeleton, its split unit. Returns None if it is not available.
    fn unit_of(&self, offset: u64) -> Option<UnitId> {
        let id = *self.units.get(&offset)?;
        let unit = self.info.unit_info(id).ok()?;
        if unit.kind == UnitKind::Skeleton {
            unit.partner
        } else {
            Some(id)
        }
    }

    /// Reports units that no index covers. A debugger must read them to find a name.
    fn units_without(&mut self) {
        let mut without = self.units.iter().filter(|(offset, id)| {
            let unit = self.info.unit_info(**id);
            let has_names =
                unit.is_ok_and(|unit| matches!(unit.kind, UnitKind::Compile | UnitKind::Skeleton));
            has_names && !self.indexed.contains(*offset)
        });
        let Some((first, _)) = without.next() else {
            return;
        };
        let mut message = format!("the unit at {first:#x} is in no index");
        let more = without.count();
        if more > 0 {
            message = format!("{message}; {more} more of this rule");
        }
        self.findings
            .add(Finding::new(&rule::UNIT_WITHOUT, SECTION, message).example());
    }
}
