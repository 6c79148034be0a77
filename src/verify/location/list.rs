//! Checks location lists: they must be readable, and their entries must be in the function's code. Sources: HET A.2.5.5; DWARF 5 §2.6.2, §7.29.

use core::ops::Range;

use fallible_iterator::FallibleIterator;
use smallvec::SmallVec;

use super::attribute::Use;
use super::expressions::Site;
use super::function::contains;
use super::{UnitCheck, malformed, rule};
use crate::debug_info::{Bytes, Die, LocationRange};
use crate::rule::Rule;
use crate::verify::expression::Role;
use crate::verify::finding::Finding;

impl<'a> UnitCheck<'_, '_, 'a> {
    /// Checks a location list, once for each use.
    pub(super) fn list(
        &mut self,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
        purpose: Use,
        offset: u64,
    ) {
        // The base address of the list's entries is in the skeleton.
        if self.has_no_skeleton {
            return;
        }
        let role = self.role(die, purpose);
        let bits = if let Role::Location { bits } = role {
            bits
        } else {
            None
        };
        if !self.kept.lists.insert((offset, purpose, bits)) {
            return;
        }
        let mut ranges: SmallVec<[(Range<u64>, u64); 4]> = SmallVec::new();
        let mut section = self.section;
        let info = self.info;
        let mut entries = match info.location_list(self.id, offset, self.meter) {
            Ok(entries) => entries,
            Err(error) => return self.bad_list(die, attribute, &error),
        };
        let here = self.setting(self.unit.encoding, role);
        loop {
            let entry = match entries.next() {
                Ok(Some(entry)) => entry,
                Ok(None) => break,
                Err(error) if error.is_limit() => return,
                Err(error) => {
                    self.bad_list(die, attribute, &error);
                    break;
                }
            };
            section = entry.expression.section;
            let kept = self.keep(size_of::<(Range<u64>, u64)>() as u64);
            if kept.is_err() {
                return;
            }
            let mut pc = None;
            if let LocationRange::Bounded(range) = &entry.range {
                pc = Some(range.start);
                let at = entry.expression.offset;
                if self.check_range(die, attribute, range, section, at) {
                    ranges.push((range.clone(), at));
                    if bits == Some(8) {
                        self.lane_mask(die, attribute, &entry.expression, range);
                    }
                }
            }
            let site = Site { die, attribute, pc };
            self.expression(&site, &entry.expression, &here);
        }
        ranges.sort_by_key(|(range, offset)| (range.start, range.end, *offset));
        let mut end = 0;
        for (range, at) in &ranges {
            if range.start < end {
                if !self.summary.count(&rule::OVERLAP) {
                    break;
                }
                let text = format!(
                    "{}: the entry for {:#x}..{:#x} overlaps with one before it",
                    self.label(die, attribute),
                    range.start,
                    range.end
                );
                let finding = Finding::new(&rule::OVERLAP, section, text);
                self.summary.set(finding.at(*at).pc(range.start));
                break;
            }
            end = range.end;
        }
    }

    /// Checks the range of an entry. Returns false if the entry applies to no code.
    fn check_range(
        &mut self,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
        range: &Range<u64>,
        section: &'static str,
        at: u64,
    ) -> bool {
        if self.scopes.last().is_some_and(|scope| scope.is_dropped) {
            return false;
        }
        let what = |check: &Self| {
            format!(
                "{}: the entry for {:#x}..{:#x}",
                check.label(die, attribute),
                range.start,
                range.end
            )
        };
        if range.end == range.start {
            if self.summary.count(&rule::EMPTY) {
                let text = format!("{} is empty", what(self));
                let finding = Finding::new(&rule::EMPTY, section, text);
                self.summary.set(finding.at(at).pc(range.start));
            }
            return false;
        }
        if range.end < range.start {
            let text = format!("{} ends before it starts", what(self));
            self.add(&rule::BACKWARDS, section, text, at, range.start);
            return false;
        }
        let scope = self.scopes.last().filter(|scope| !scope.ranges.is_empty());
        let (home, name) = match scope {
            Some(scope) => (&scope.ranges, scope.name.as_deref()),
            None => (&self.ranges, None),
        };
        if !home.is_empty() && !contains(home, range) {
            let name = match name {
                Some(name) => format!("the function `{name}`"),
                None => "the unit".to_owned(),
            };
            let text = format!("{} is not inside {name}{}", what(self), place(home));
            self.add(&rule::OUTSIDE, section, text, at, range.start);
        }
        true
    }

    fn bad_list(
        &mut self,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
        error: &crate::Error,
    ) {
        if error.is_limit() {
            return;
        }
        let mut finding = malformed(&rule::LIST, self.section, error);
        let what = self.label(die, attribute);
        finding.message = format!("{what}: {}", finding.message.raw()).into();
        finding.function = self.function_name();
        self.findings.add(finding);
    }

    fn add(&mut self, rule: &'static Rule, section: &'static str, text: String, at: u64, pc: u64) {
        let mut finding = Finding::new(rule, section, text).at(at).pc(pc);
        finding.function = self.function_name();
        self.findings.add(finding);
    }
}

/// Returns the only range of a function, as text for a message.
fn place(ranges: &[Range<u64>]) -> String {
    match ranges {
        [only] => format!(", which is {:#x}..{:#x}", only.start, only.end),
        _ => String::new(),
    }
}
