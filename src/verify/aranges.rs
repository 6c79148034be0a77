//! Checks `.debug_aranges`: its sets must be readable and must agree with the units. Source: DWARF 5 §6.1.2, §7.21.
//!
//! Debuggers that use the section find the unit of an address only with it. Code that the section omits has no debugging information for them.
//! Addresses outside code may belong to variables, which DWARF allows.

use core::ops::Range;
use std::collections::BTreeMap;

use super::finding::{Finding, Findings};
use super::location::{contains, merged};
use super::rule::rules;
use super::subject::Subject;
use crate::debug_info::address_ranges::{AddressRangeSet, SECTION, Tuple};
use crate::debug_info::{DebugInfo, UnitId};
use crate::inspect::Program;
use crate::meter::Meter;
use crate::object::Section;
use crate::rule::Rule;

rules! {
    LENGTH "aranges-length" Error "DWARF 5 §6.1.2"
        "the length of a set of address ranges is invalid"
        "A set starts with the number of bytes that follow. If it goes past the end of the section, or is too small for the header, neither the \
         set nor any set after it can be read.";
    HEADER "aranges-header" Error "DWARF 5 §6.1.2"
        "the header of a set of address ranges is invalid"
        "The version is 2 in all versions of DWARF. Addresses have 8 bytes on this target, and there are no segment selectors. With other sizes, \
         addresses are read from the wrong bytes.";
    ALIGNMENT "aranges-alignment" Warning "DWARF 5 §6.1.2"
        "a set of address ranges ends within a tuple"
        "The first tuple starts at a multiple of the tuple size, counted from the start of the set, and the set ends after a whole tuple. Otherwise \
         the producer did not align the tuples, and readers that do align them read wrong addresses.";
    TERMINATOR "aranges-terminator" Warning "DWARF 5 §6.1.2"
        "a set of address ranges does not end with a tuple of zeros"
        "Only the last tuple has an address and a length of zero. Some readers go on until they find such a tuple. Others stop at the first one and \
         miss the rest.";
    UNIT "aranges-unit" Error "DWARF 5 §6.1.2"
        "a set of address ranges belongs to no unit"
        "No unit of .debug_info starts at the offset in the header, so the addresses belong to no unit.";
    OUTSIDE "aranges-outside" Error "DWARF 5 §6.1.2"
        "an address range is outside of the program"
        "The range is not inside the loaded sections. Its start or its length is wrong, or was not relocated.";
    FOREIGN "aranges-foreign-code" Error "DWARF 5 §6.1.2"
        "an address range is not code of its unit"
        "The range contains no code of the unit, or code of another unit. The code of a unit is given by DW_AT_low_pc, DW_AT_high_pc and \
         DW_AT_ranges of its first entry; padding between functions belongs to no unit. A debugger looks for the function in the wrong unit and does \
         not find it.";
    LEFT_OUT "aranges-left-out" Error "DWARF 5 §6.1.2"
        "a set of address ranges omits code of its unit"
        "A debugger that relies on the section finds no unit for these addresses, and shows no function, line or variables there.";
    OVERLAP "aranges-overlap" Warning "DWARF 5 §6.1.2"
        "two units claim the same addresses"
        "Debuggers use either of them, and may disagree.";
    NO_SET "aranges-no-set" Note "DWARF 5 §6.1.2"
        "units with code have no set of address ranges"
        "The section has sets for other units. Some debuggers read the other units when they find nothing in the section. Others rely on \
         the section and miss them.";
}

/// The sets of one unit: the offset of the first set, and the ranges with the offsets of their tuples.
#[derive(Debug, Default)]
struct Claimed {
    set: u64,
    ranges: Vec<(Range<u64>, u64)>,
}

/// Checks the section, if there is one.
pub(super) fn check(subject: &Subject<'_, '_>, findings: &mut Findings) {
    let Ok(Some(bytes)) = subject.program.object().section(SECTION) else {
        return;
    };
    if bytes.is_empty() {
        return;
    }
    // The data that is read from the units is dropped with this copy.
    let Ok(program) = subject.program.source().load(subject.meter()) else {
        return;
    };
    let mut check = Check::new(&program, subject.meter(), findings);
    let mut next = 0;
    while next < bytes.len() as u64 {
        let set = match AddressRangeSet::read(bytes, next) {
            Ok(set) => set,
            Err(error) => {
                let message = error.kind().to_string();
                check.add(&LENGTH, message, next);
                break;
            }
        };
        next = set.end;
        check.set(&set);
    }
    check.finish();
}

struct Check<'c, 'p, 'a> {
    info: &'p DebugInfo<'a>,
    meter: &'c Meter,
    findings: &'c mut Findings,
    /// The loaded sections, and the loaded sections with code. Both are sorted by address, and adjacent ranges are merged.
    loaded: Vec<Range<u64>>,
    executable: Vec<Range<u64>>,
    /// The units of `.debug_info`, by offset.
    units: BTreeMap<u64, UnitId>,
    /// The sets, by the offset of their unit.
    claimed: BTreeMap<u64, Claimed>,
}

impl<'c, 'p, 'a> Check<'c, 'p, 'a> {
    fn new(
        program: &'p Program<'a>,
        meter: &'c Meter,
        findings: &'c mut Findings,
    ) -> Check<'c, 'p, 'a> {
        let info = program.info();
        let sections = |is_wanted: fn(&Section<'_>) -> bool| {
            let sections = program.object().sections().iter();
            let wanted = sections.filter(|section| is_wanted(section));
            let ranges = wanted.filter_map(|section| Some(section.address..section.end()?));
            merged(ranges.collect())
        };
        Check {
            info,
            meter,
            findings,
            loaded: sections(|section| section.allocated),
            executable: sections(|section| section.executable),
            units: units_by_offset(info),
            claimed: BTreeMap::new(),
        }
    }

    fn add(&mut self, rule: &'static Rule, message: String, offset: u64) {
        self.findings
            .add(Finding::new(rule, SECTION, message).at(offset));
    }

    /// Checks a set by itself, and records its ranges for its unit.
    fn set(&mut self, set: &AddressRangeSet<'_>) {
        let at = set.offset;
        if set.version != 2 {
            let message = format!("unknown version {}", set.version);
            return self.add(&HEADER, message, at);
        }
        if set.address_size != 8 || set.segment_size != 0 {
            let message = format!(
                "addresses have {} bytes and segment selectors {}; a process has 8 and 0",
                set.address_size, set.segment_size
            );
            return self.add(&HEADER, message, at);
        }
        self.layout(set);
        if !self.units.contains_key(&set.unit) {
            let message = format!("no unit starts at {:#x} of .debug_info", set.unit);
            return self.add(&UNIT, message, at);
        }
        let ranges: Vec<_> = set
            .tuples()
            .take_while(|tuple| !tuple.is_end())
            .filter_map(|tuple| self.tuple(&tuple))
            .collect();
        let empty = || Claimed {
            set: at,
            ranges: Vec::new(),
        };
        let claimed = self.claimed.entry(set.unit).or_insert_with(empty);
        claimed.ranges.extend(ranges);
    }

    /// Checks the alignment and the terminator of a set.
    fn layout(&mut self, set: &AddressRangeSet<'_>) {
        let at = set.offset;
        let size = set.end - at;
        if !size.is_multiple_of(16) {
            let message =
                format!("its size, {size:#x} bytes, is not a multiple of the tuple size, 16");
            self.add(&ALIGNMENT, message, at);
        }
        match set.bytes_after_end() {
            None => self.add(
                &TERMINATOR,
                "it has no terminating tuple of zeros".to_owned(),
                at,
            ),
            Some(0) => {}
            Some(more) => {
                let message = format!("{more:#x} bytes follow the tuple of zeros");
                self.add(&TERMINATOR, message, at);
            }
        }
    }

    /// Checks a range by itself. Returns it with the offset of its tuple if it covers loaded memory.
    fn tuple(&mut self, tuple: &Tuple) -> Option<(Range<u64>, u64)> {
        let range = tuple.address..tuple.address.saturating_add(tuple.length);
        let is_loaded = contains(&self.loaded, &range);
        // Linkers set addresses in dropped code to one of these values.
        let is_dropped = matches!(range.start, 0 | 0xffff_ffff_ffff_fffe..);
        if range.is_empty() || is_dropped && !is_loaded {
            return None;
        }
        if !is_loaded {
            let message = format!(
                "{:#x}..{:#x} is not in a loaded section",
                range.start, range.end
            );
            let finding = Finding::new(&OUTSIDE, SECTION, message);
            self.findings.add(finding.at(tuple.offset).pc(range.start));
            return None;
        }
        Some((range, tuple.offset))
    }

    /// Returns true if a range contains code.
    fn is_code(&self, range: &Range<u64>) -> bool {
        first_from(&self.executable, range.start).is_some_and(|code| code.start < range.end)
    }

    /// Returns the code of a unit according to its root entry, without the ranges that the linker dropped. It is empty if the entry has no ranges.
    fn code_of(&self, unit: UnitId) -> Vec<Range<u64>> {
        let root = self.info.root(unit).ok();
        let ranges = root.and_then(|root| self.info.ranges(&root, self.meter).ok());
        let mut ranges = ranges.unwrap_or_default();
        ranges.retain(|range| contains(&self.executable, range));
        merged(ranges)
    }

    /// Compares the sets with the units and with each other.
    fn finish(mut self) {
        let claimed = core::mem::take(&mut self.claimed);
        let units = core::mem::take(&mut self.units);
        let code: BTreeMap<u64, Vec<Range<u64>>> = units
            .iter()
            .map(|(offset, unit)| (*offset, self.code_of(*unit)))
            .collect();
        let owners: Vec<(Range<u64>, u64)> = code
            .iter()
            .flat_map(|(unit, code)| code.iter().map(|range| (range.clone(), *unit)))
            .collect();
        let owners = Owners::new(owners, self.meter);
        let mut without = (None, 0_u64);
        for (offset, own) in &code {
            match claimed.get(offset) {
                Some(claimed) => {
                    self.compare(*offset, own, claimed, &owners);
                    if let Some(id) = units.get(offset) {
                        self.left_out(*offset, *id, own, claimed);
                    }
                }
                None if own.is_empty() => {}
                None => without = (without.0.or(Some(*offset)), without.1 + 1),
            }
        }
        if let (Some(first), count) = without {
            let mut message = format!("the unit at {first:#x} has code and no set");
            if count > 1 {
                message = format!("{message}; {} more of this rule", count - 1);
            }
            self.findings
                .add(Finding::new(&NO_SET, SECTION, message).example());
        }
        self.overlaps(&claimed);
    }

    fn compare(&mut self, unit: u64, own: &[Range<u64>], claimed: &Claimed, owners: &Owners<'_>) {
        // A unit without ranges cannot be compared.
        if own.is_empty() {
            return;
        }
        for (range, at) in &claimed.ranges {
            if !self.is_code(range) {
                continue;
            }
            let text = format!("{:#x}..{:#x}", range.start, range.end);
            let problem = if let Some((code, other)) = owners.other(range, unit, own) {
                let (start, end) = (code.start, code.end);
                format!(
                    "{text} contains {start:#x}..{end:#x}, which belongs to the unit at {other:#x}"
                )
            } else if first_from(own, range.start).is_none_or(|code| code.start >= range.end) {
                format!("{text} contains no code of the unit at {unit:#x}")
            } else {
                continue;
            };
            let finding = Finding::new(&FOREIGN, SECTION, problem);
            self.findings.add(finding.at(*at).pc(range.start));
        }
    }

    /// Checks that the set of a unit covers all of its functions or, without functions, all of its code. Padding between functions need not be
    /// covered.
    fn left_out(&mut self, unit: u64, id: UnitId, own: &[Range<u64>], claimed: &Claimed) {
        let all = claimed.ranges.iter().map(|(range, _)| range.clone());
        let all = merged(all.collect());
        if own.iter().all(|range| contains(&all, range)) {
            return;
        }
        let functions = self.info.functions(id).unwrap_or_default();
        let functions = functions.into_iter().flat_map(|function| function.ranges);
        let functions: Vec<_> = functions.filter(|range| contains(own, range)).collect();
        let code = if functions.is_empty() {
            own
        } else {
            functions.as_slice()
        };
        for range in code.iter().filter(|range| !contains(&all, range)) {
            let message = format!(
                "{:#x}..{:#x} of the unit at {unit:#x} is not completely covered",
                range.start, range.end
            );
            let finding = Finding::new(&LEFT_OUT, SECTION, message);
            self.findings.add(finding.at(claimed.set).pc(range.start));
        }
    }

    fn overlaps(&mut self, claimed: &BTreeMap<u64, Claimed>) {
        let mut all: Vec<(&Range<u64>, u64, u64)> = claimed
            .iter()
            .flat_map(|(unit, claimed)| {
                claimed.ranges.iter().map(|(range, at)| (range, *at, *unit))
            })
            .filter(|(range, ..)| self.is_code(range))
            .collect();
        all.sort_by_key(|(range, at, _)| (range.start, range.end, *at));
        let mut furthest: Option<(u64, u64)> = None;
        for (range, at, unit) in all {
            if let Some((end, other)) = furthest
                && range.start < end
                && other != unit
            {
                let message = format!(
                    "{:#x}..{:#x} is claimed for the units at {other:#x} and at {unit:#x}",
                    range.start,
                    range.end.min(end)
                );
                let finding = Finding::new(&OVERLAP, SECTION, message);
                self.findings.add(finding.at(at).pc(range.start));
            }
            if furthest.is_none_or(|(end, _)| end < range.end) {
                furthest = Some((range.end, unit));
            }
        }
    }
}

/// Returns the first of the merged ranges that ends after an address.
fn first_from(ranges: &[Range<u64>], address: u64) -> Option<&Range<u64>> {
    ranges.get(ranges.partition_point(|range| range.end <= address))
}

/// The code of each unit.
struct Owners<'m> {
    /// The ranges with the offset of their unit, sorted by start.
    code: Vec<(Range<u64>, u64)>,
    /// The maximum end of each range and all ranges before it.
    ends: Vec<u64>,
    /// The meter for the search, because heavily overlapping ranges can make it long.
    meter: &'m Meter,
}

impl<'m> Owners<'m> {
    fn new(mut code: Vec<(Range<u64>, u64)>, meter: &'m Meter) -> Owners<'m> {
        code.sort_by_key(|(range, unit)| (range.start, range.end, *unit));
        let mut end = 0;
        let ends = code.iter().map(|(range, _)| {
            end = range.end.max(end);
            end
        });
        let ends = ends.collect();
        Owners { code, ends, meter }
    }

    /// Finds code in a range that belongs to another unit and not also to the unit itself.
    fn other(
        &self,
        range: &Range<u64>,
        unit: u64,
        own: &[Range<u64>],
    ) -> Option<(&Range<u64>, u64)> {
        let first = self.ends.partition_point(|end| *end <= range.start);
        let code = self.code.get(first..).unwrap_or_default().iter();
        let code =
            code.take_while(|(code, _)| self.meter.work(1).is_ok() && code.start < range.end);
        code.filter(|(code, _)| code.end > range.start)
            .find(|(code, other)| {
                let both = code.start.max(range.start)..code.end.min(range.end);
                *other != unit && !contains(own, &both)
            })
            .map(|(code, other)| (code, *other))
    }
}

/// Returns the units of the object's `.debug_info` by offset.
pub(super) fn units_by_offset(info: &DebugInfo<'_>) -> BTreeMap<u64, UnitId> {
    let units = info.unit_ids().filter_map(|id| info.unit_info(id).ok());
    units
        .filter(|unit| unit.section == ".debug_info")
        .map(|unit| (unit.offset, unit.id))
        .collect()
}
