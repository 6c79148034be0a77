//! Collects the contradictions in a function. Merges them by subject, or by subject and cause, as the table of rules specifies.

use std::collections::BTreeMap;

use super::contradiction::{Condition, Contradiction, RowRule, SavedLanes, Subject};
use super::rule::{CfiRule, Merge};

/// The addresses of one instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// A contradiction at one instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrong {
    pub(super) rule: &'static CfiRule,
    pub(super) subject: Subject,
    pub(super) condition: Condition,
    /// The address of the instruction that made the row wrong.
    pub(super) cause_pc: u64,
    /// The lanes in which a vector register without a rule still has its value.
    pub(super) intact: Option<SavedLanes>,
}

/// The key by which contradictions are merged: the identifier of the rule, the subject, the condition, and the cause for
/// [`Merge::ByCause`].
type Key = (&'static str, Subject, Condition, Option<u64>);

/// The contradictions up to an instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    found: Vec<Contradiction>,
    by_key: BTreeMap<Key, usize>,
    /// The contradictions at the last instruction that was compared.
    current: Vec<usize>,
    /// True if an instruction was compared.
    has_compared: bool,
}

impl Findings {
    /// Begins an instruction. Instructions come by ascending address.
    pub(super) fn begin(&mut self) {
        self.has_compared = true;
        self.current.clear();
    }

    /// Returns true if an instruction was compared. The others cannot be reached.
    pub(super) fn has_compared(&self) -> bool {
        self.has_compared
    }

    /// Ends the contradictions of these subjects at the last instruction, unless they are added again.
    pub(super) fn forget(&mut self, subjects: &[Subject]) {
        let found = &self.found;
        self.current.retain(|n| {
            let one = found.get(*n);
            one.is_some_and(|one| !subjects.contains(&one.subject))
        });
    }

    /// Extends the contradictions at the last instruction to this one.
    pub(super) fn go_on(&mut self, place: Place) {
        for n in &self.current {
            if let Some(one) = self.found.get_mut(*n) {
                extend(one, place);
            }
        }
    }

    /// Adds a contradiction at an instruction.
    ///
    /// * `rules`: returns the row's rule and the expected one; called for the first address only.
    pub(super) fn add(
        &mut self,
        wrong: Wrong,
        place: Place,
        rules: impl FnOnce() -> (RowRule, RowRule),
    ) {
        let Wrong {
            rule,
            subject,
            condition,
            cause_pc,
            intact,
        } = wrong;
        let by_cause = (rule.merge == Merge::ByCause).then_some(cause_pc);
        let next = self.found.len();
        let key = (rule.rule.id, subject, condition, by_cause);
        let n = *self.by_key.entry(key).or_insert(next);
        if n == next {
            let (actual, expected) = rules();
            self.found.push(Contradiction {
                rule: &rule.rule,
                subject,
                ranges: Vec::new(),
                condition,
                cause_pc,
                cause: rule.cause,
                actual,
                expected,
                intact,
            });
        }
        if let Some(one) = self.found.get_mut(n) {
            one.cause_pc = one.cause_pc.min(cause_pc);
            extend(one, place);
            self.current.push(n);
        }
    }

    /// Returns all contradictions, sorted by first address, then by the identifier of the rule.
    pub(super) fn into_sorted(self) -> Vec<Contradiction> {
        let mut all = self.found;
        all.sort_by_key(|one| {
            let first = one.ranges.first().map_or(0, |range| range.start);
            (first, one.rule.id, one.subject, one.condition, one.cause_pc)
        });
        all
    }
}

fn extend(one: &mut Contradiction, place: Place) {
    match one.ranges.last_mut() {
        Some(last) if last.end >= place.start => last.end = last.end.max(place.end),
        _ => one.ranges.push(place.start..place.end),
    }
}
