//! Checks that the code of entries is nested. The code of a function must be inside its unit, and the code of a block inside its function. Sibling
//! entries must not overlap. Sources: DWARF 5 §2.17, §3.3.3, §3.5.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "ends of code are numbers, nothing else"
)]

use core::ops::Range;
use std::collections::BTreeMap;

use gimli::DwTag;
use gimli::constants::{
    DW_AT_high_pc, DW_AT_low_pc, DW_AT_ranges, DW_TAG_catch_block, DW_TAG_compile_unit,
    DW_TAG_inlined_subroutine, DW_TAG_lexical_block, DW_TAG_partial_unit, DW_TAG_skeleton_unit,
    DW_TAG_subprogram, DW_TAG_try_block, DW_TAG_with_stmt,
};

use super::function::{contains, merged};
use super::{UnitCheck, clipped};
use crate::debug_info::{Die, DieValue};
use crate::error::Result;
use crate::rule::Rule;
use crate::verify::finding::{Finding, Findings};
use crate::verify::rule::rules;

rules! {
    BACKWARDS "scope-backwards" Error "DWARF 5 §2.17.2"
        "the code of an entry ends before it starts"
        "DW_AT_high_pc is the address after the end, or the length, so the end is never below DW_AT_low_pc. The same holds for the entries of a \
         range list. A debugger finds no address in such a function or block.";
    OUTSIDE "scope-outside" Error "DWARF 5 §2.17"
        "an entry has code outside of the entry around it"
        "The code of a function must be inside its unit, and the code of a block inside its function. A debugger searches from the outside to \
         the inside. At these addresses, it does not find the function, the block or the variables in it.";
    OVERLAP "scope-overlap" Error "DWARF 5 §2.17"
        "two sibling entries cover the same code"
        "An address can belong to only one unit, one function and one of the blocks of a function. Debuggers use either of the two entries and \
         may disagree, and one of them shows the wrong function and variables.";
}

/// The tags of entries whose code can contain the code of other entries.
const SCOPES: [DwTag; 9] = [
    DW_TAG_compile_unit,
    DW_TAG_partial_unit,
    DW_TAG_skeleton_unit,
    DW_TAG_subprogram,
    DW_TAG_inlined_subroutine,
    DW_TAG_lexical_block,
    DW_TAG_try_block,
    DW_TAG_catch_block,
    DW_TAG_with_stmt,
];

/// An entry with code.
#[derive(Debug)]
pub(super) struct Nest {
    /// The depth of the entry; 0 for the root of a unit.
    depth: usize,
    tag: DwTag,
    /// The address ranges, sorted and merged.
    ranges: Vec<Range<u64>>,
    /// True for a unit that does not say where its code is.
    is_silent: bool,
    /// The code of the direct children, by start address.
    inside: BTreeMap<u64, Inside>,
}

#[derive(Clone, Copy, Debug)]
struct Inside {
    end: u64,
    offset: u64,
    tag: DwTag,
}

/// Checks that the code of units does not overlap.
///
/// * `units`: the code ranges of all units, each with the offset of the unit's header.
pub(super) fn check_units(mut units: Vec<(Range<u64>, u64)>, findings: &mut Findings) {
    units.sort_by_key(|(range, unit)| (range.start, range.end, *unit));
    let mut last: Option<(Range<u64>, u64)> = None;
    for (range, unit) in units {
        let other = last
            .clone()
            .filter(|(other, of)| *of != unit && other.end > range.start);
        // Equal ranges are accepted, because a linker folds functions with the same code.
        if let Some((other, of)) = other.filter(|(other, _)| *other != range) {
            let message = format!(
                "the unit at {unit:#x} has code in [{:#x}, {:#x}), as has that at {of:#x} in [{:#x}, {:#x})",
                range.start, range.end, other.start, other.end
            );
            let finding = Finding::new(&OVERLAP, ".debug_info", message);
            findings.add(finding.at(unit).pc(range.start));
        }
        if last.as_ref().is_none_or(|(last, _)| range.end > last.end) {
            last = Some((range, unit));
        }
    }
}

impl<'a> UnitCheck<'_, '_, 'a> {
    /// Compares the code of an entry with its parent and its siblings.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn nest(&mut self, die: &Die<'a>) -> Result<()> {
        while (self.nests.last()).is_some_and(|nest| nest.depth >= die.depth()) {
            self.nests.pop();
        }
        // The addresses of a split unit are in its skeleton.
        if !SCOPES.contains(&die.tag()) || self.has_no_skeleton {
            return Ok(());
        }
        let code = self.code_of(die)?;
        // A unit may lack ranges. The functions in it are then still compared with each other.
        let is_silent = die.depth() == 0 && code.as_ref().is_none_or(Vec::is_empty);
        if code.is_none() && !is_silent {
            return Ok(());
        }
        let ranges = code.unwrap_or_default();
        let is_dropped = |range: &Range<u64>| self.subject.is_dropped(range.start);
        if ranges.iter().any(is_dropped) {
            return Ok(());
        }
        self.keep(ranges.len() as u64 * size_of::<[Inside; 2]>() as u64)?;
        if let Some(at) = self.nests.len().checked_sub(1) {
            self.outside(die, at, &ranges);
            for range in &ranges {
                self.meter.work(1)?;
                self.beside(die, at, range);
            }
        }
        self.nests.push(Nest {
            depth: die.depth(),
            tag: die.tag(),
            ranges: merged(ranges),
            is_silent,
            inside: BTreeMap::new(),
        });
        Ok(())
    }

    /// Returns the code of an entry without empty ranges, and reports ranges that end before they start. `range_list` reports unreadable lists. Returns
    /// `None` if the entry does not say where its code is, or a linker dropped it.
    fn code_of(&mut self, die: &Die<'a>) -> Result<Option<Vec<Range<u64>>>> {
        let mut ranges = Vec::new();
        let value = |name| self.info.value(die, die.attribute(name)?).ok();
        if let Some(list) = value(DW_AT_ranges) {
            let DieValue::RangeList(offset) = list else {
                return Ok(None);
            };
            let meter = self.meter;
            let (mut backwards, mut full, mut is_dropped) = (None, Ok(()), false);
            let read = self
                .info
                .for_each_listed(die.id(), offset, meter, |listed| {
                    let range = listed.range;
                    is_dropped |= listed.is_discarded;
                    if range.start > range.end && !listed.is_discarded {
                        backwards.get_or_insert(range);
                    } else if range.start < range.end && !listed.is_discarded {
                        full = meter.hold_all::<Range<u64>>(1);
                        if full.is_ok() {
                            ranges.push(range);
                        }
                    }
                    full.is_err()
                });
            // `nest` charges for the ranges that it keeps.
            meter.release(size_of_val(ranges.as_slice()) as u64);
            full?;
            if read.is_ok()
                && let Some(range) = &backwards
            {
                self.backwards(die, range);
            }
            let is_known = read.is_ok() && backwards.is_none() && !is_dropped;
            return Ok((is_known || !ranges.is_empty()).then_some(ranges));
        }
        let (Some(DieValue::Address(low)), Some(high)) =
            (value(DW_AT_low_pc), value(DW_AT_high_pc))
        else {
            return Ok(None);
        };
        let range = match high {
            DieValue::Address(high) => low..high,
            DieValue::Unsigned(length) => low..low.wrapping_add(length),
            DieValue::Signed(length) => low..low.wrapping_add_signed(length),
            _ => return Ok(None),
        };
        if self.subject.is_dropped(low) {
            return Ok(None);
        }
        if range.start > range.end {
            self.backwards(die, &range);
            return Ok(None);
        }
        if range.start < range.end {
            ranges.push(range);
        }
        Ok(Some(ranges))
    }

    fn backwards(&mut self, die: &Die<'a>, range: &Range<u64>) {
        if !self.subject.is_dropped(range.start) && self.summary.count(&BACKWARDS) {
            let what = self.what(die);
            let message = format!(
                "{what} starts at {:#x} and ends at {:#x}",
                range.start, range.end
            );
            self.sum_up(&BACKWARDS, die, message, None);
        }
    }

    /// Reports code outside the parent's code. A function within another function may have its code elsewhere.
    fn outside(&mut self, die: &Die<'a>, at: usize, ranges: &[Range<u64>]) {
        let Some(nest) = self.nests.get(at) else {
            return;
        };
        let is_nested = die.tag() == DW_TAG_subprogram && nest.tag == DW_TAG_subprogram;
        let outside = ranges.iter().find(|range| !contains(&nest.ranges, range));
        if let Some(range) = outside.filter(|_| !is_nested && !nest.is_silent)
            && self.summary.count(&OUTSIDE)
        {
            let around = if nest.tag == DW_TAG_subprogram {
                "its function"
            } else if nest.depth == 0 {
                "its unit"
            } else {
                "the entry around it"
            };
            let message = format!(
                "{} has code in [{:#x}, {:#x}), which is not all inside {around}",
                self.what(die),
                range.start,
                range.end
            );
            self.sum_up(&OUTSIDE, die, message, Some(range.start));
        }
    }

    /// Compares a range with the ranges of siblings and of the entry itself. Functions with an equal range are accepted, because a linker folds
    /// functions with the same code.
    fn beside(&mut self, die: &Die<'a>, at: usize, range: &Range<u64>) {
        let Some(nest) = self.nests.get_mut(at) else {
            return;
        };
        let new = Inside {
            end: range.end,
            offset: die.id().offset,
            tag: die.tag(),
        };
        let before = nest.inside.range(..range.end).next_back();
        let other = before.filter(|(_, other)| other.end > range.start);
        let other = other.map(|(start, other)| (*start, *other));
        nest.inside.entry(range.start).or_insert(new);
        let Some((start, other)) = other else {
            return;
        };
        let is_function = [new.tag, other.tag] == [DW_TAG_subprogram; 2];
        let is_folded = is_function && (start, other.end) == (range.start, range.end);
        if !is_folded && self.summary.count(&OVERLAP) {
            let message = match other.offset == new.offset {
                true => format!(
                    "{} covers addresses of [{:#x}, {:#x}) twice",
                    self.what(die),
                    range.start,
                    range.end
                ),
                false => format!(
                    "{} has code in [{:#x}, {:#x}), as has the entry at {:#x} in [{start:#x}, {:#x})",
                    self.what(die),
                    range.start,
                    range.end,
                    other.offset,
                    other.end
                ),
            };
            self.sum_up(&OVERLAP, die, message, Some(range.start));
        }
    }

    /// Returns the entry's name for messages: `` `f` `` or `the entry at 0x40`.
    fn what(&self, die: &Die<'a>) -> String {
        match self.name_of(die) {
            Some(name) => format!("`{}`", clipped(&name)),
            None => format!("the entry at {:#x}", die.id().offset),
        }
    }

    /// Records the finding of a rule that is reported once for the unit.
    pub(super) fn sum_up(
        &mut self,
        rule: &'static Rule,
        die: &Die<'a>,
        message: String,
        pc: Option<u64>,
    ) {
        let mut finding = Finding::new(rule, self.section, message).at(die.id().offset);
        finding.pc = pc;
        finding.function = self.function_name();
        self.summary.set(finding);
    }
}
