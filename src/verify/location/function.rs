//! Holds the facts about functions for checks of their entries, and checks the attributes about lanes. Source: HET A.3.3.5.

use core::ops::Range;

use gimli::constants::{DW_AT_high_pc, DW_AT_low_pc, DW_AT_ranges, DW_TAG_subprogram};

use super::sound::FrameBaseNumber;
use super::summary::Summary;
use super::{UnitCheck, clipped, rule};
use crate::debug_info::attribute::Extension;
use crate::debug_info::{Die, DieValue};
use crate::eval::LocationAttribute;
use crate::verify::expression::{Entry, FrameBase, Storage};
use crate::verify::finding::Finding;

/// A function that contains the current entry.
#[derive(Debug)]
pub(super) struct Scope {
    /// The depth of the function's entry.
    pub(super) depth: usize,
    pub(super) name: Option<String>,
    /// The address ranges of its code, sorted; empty if they are not known.
    pub(super) ranges: Vec<Range<u64>>,
    /// True if the linker dropped the whole function.
    pub(super) is_dropped: bool,
    pub(super) frame_base: FrameBase,
    /// The identifying number of the frame base.
    pub(super) frame_base_number: FrameBaseNumber,
    /// Findings that are reported once for the function.
    pub(super) summary: Summary,
}

/// Sorts ranges and merges those that touch.
pub(in crate::verify) fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    ranges.dedup_by(|next, range| {
        let touches = next.start <= range.end;
        if touches {
            range.end = range.end.max(next.end);
        }
        touches
    });
    ranges
}

/// Returns true if a range is inside one of the merged ranges.
pub(in crate::verify) fn contains(ranges: &[Range<u64>], range: &Range<u64>) -> bool {
    let after = ranges.partition_point(|outer| outer.start <= range.start);
    after
        .checked_sub(1)
        .and_then(|index| ranges.get(index))
        .is_some_and(|outer| range.end <= outer.end)
}

impl<'a> UnitCheck<'_, '_, 'a> {
    /// Returns the scope that a function's entry creates for the entries in it.
    pub(super) fn scope(&mut self, die: &Die<'a>) -> Scope {
        let mut scope = Scope {
            depth: die.depth(),
            name: None,
            ranges: Vec::new(),
            is_dropped: false,
            frame_base: FrameBase::Unknown,
            frame_base_number: FrameBaseNumber::UNKNOWN,
            summary: Summary::default(),
        };
        let has_code = [DW_AT_low_pc, DW_AT_high_pc, DW_AT_ranges]
            .into_iter()
            .any(|name| die.attribute(name).is_some());
        if !has_code {
            return scope;
        }
        let Ok(function) = self.info.function_code(die.id(), self.meter) else {
            return scope;
        };
        scope.name = function.name.as_deref().map(clipped);
        scope.ranges = merged(function.ranges);
        // The linker's addresses for dropped code can make ranges disappear, so the start is checked itself.
        let start =
            (die.attribute(DW_AT_low_pc)).and_then(|start| self.info.value(die, start).ok());
        let mut starts = scope.ranges.iter().map(|range| range.start);
        scope.is_dropped = match start {
            Some(DieValue::Address(start)) => self.subject.is_dropped(start),
            _ => !scope.ranges.is_empty() && starts.all(|start| self.subject.is_dropped(start)),
        };
        if scope.is_dropped && self.summary.count(&rule::DROPPED) {
            let name = scope.name.as_deref().unwrap_or("?");
            let text = format!("the linker dropped the code of `{name}`");
            let finding = Finding::new(&rule::DROPPED, self.section, text);
            self.summary.set(finding.at(die.id().offset));
        }
        match function.frame_base {
            // The frame base may exist but be unreadable.
            None if function.problem.is_some() => {}
            None => scope.frame_base = FrameBase::Missing,
            Some(LocationAttribute::List { .. }) => {}
            Some(LocationAttribute::Expression(expression)) => {
                if let Some(place) = self.frame_base(&expression) {
                    scope.frame_base = FrameBase::Place(place);
                    if let Storage::Register(register) = place.storage
                        && let Some(bits) = register.size_in_bits()
                        && bits < u32::from(self.unit.encoding.address_size) * 8
                        && self.summary.count(&rule::FRAME_BASE_REGISTER)
                    {
                        let name = scope.name.as_deref().unwrap_or("?");
                        let text = format!(
                            "the frame base of `{name}` is {}, which has {bits} bits",
                            Entry::Place(place)
                        );
                        self.summary.set(
                            Finding::new(&rule::FRAME_BASE_REGISTER, expression.section, text)
                                .at(expression.offset),
                        );
                    }
                }
            }
        }
        scope.frame_base_number = self.kept.sound.number(scope.frame_base);
        scope
    }

    /// Checks `DW_AT_LLVM_lanes`, `DW_AT_LLVM_lane_pc` and `DW_AT_LLVM_active_lane` of a function together.
    pub(super) fn check_lanes(&mut self, die: &Die<'a>) {
        let lanes = die.extension(Extension::Lanes);
        let lane_pc = die.extension(Extension::LanePc).is_some();
        let active_lane = die.extension(Extension::ActiveLane).is_some();
        if lanes.is_none() && !lane_pc && !active_lane {
            return;
        }
        let name = self.name_of(die).unwrap_or_else(|| "?".to_owned());
        let mut add = |rule, text: String| {
            let mut finding = Finding::new(rule, self.section, text).at(die.id().offset);
            finding.function = (die.tag() == DW_TAG_subprogram).then(|| name.clone().into());
            self.findings.add(finding);
        };
        if let Some(attribute) = lanes {
            let most = self
                .subject
                .wave_size
                .map_or(64, |size| u64::from(size.lanes()));
            match attribute.udata_value() {
                Some(count) if (1..=most).contains(&count) => {}
                Some(count) => {
                    let text = format!("`{name}` has {count} lanes, but a wavefront has {most}");
                    add(&rule::LANES, text);
                }
                None => add(
                    &rule::LANES,
                    format!("`{name}` has a negative number of lanes"),
                ),
            }
        } else if lane_pc {
            let text = format!("`{name}` has DW_AT_LLVM_lane_pc but no DW_AT_LLVM_lanes");
            add(&rule::LANE_PC_LANES, text);
        }
        if active_lane && !lane_pc {
            let text = format!("`{name}` has DW_AT_LLVM_active_lane but no DW_AT_LLVM_lane_pc");
            add(&rule::ACTIVE_LANE, text);
        }
    }
}
