//! What was found in a function, merged: one contradiction for each rule, cause and subject.

use std::collections::BTreeMap;

use super::contradiction::{Contradiction, ContradictionKind as Kind, Rule, Subject, When};

/// The addresses of one instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// What makes contradictions one: the culprit counts where a function can have several.
type Key = (Kind, Subject, When, Option<u64>);

/// What was found up to an instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    found: Vec<Contradiction>,
    by_key: BTreeMap<Key, usize>,
    /// Those that hold at the last instruction that was compared.
    current: Vec<usize>,
}

impl Findings {
    /// Begins with an instruction. Instructions come by ascending address.
    pub(super) fn begin(&mut self) {
        self.current.clear();
    }

    /// What was found of these at the last instruction holds no longer, unless it is found again.
    pub(super) fn forget(&mut self, subjects: &[Subject]) {
        let found = &self.found;
        self.current.retain(|n| {
            let one = found.get(*n);
            one.is_some_and(|one| !subjects.contains(&one.subject))
        });
    }

    /// At this instruction everything is as at the last one.
    pub(super) fn go_on(&mut self, place: Place) {
        for n in &self.current {
            if let Some(one) = self.found.get_mut(*n) {
                extend(one, place);
            }
        }
    }

    /// Adds that something is wrong at an instruction.
    ///
    /// * `rules`: what the row says and should have said; asked the first time.
    pub(super) fn add(
        &mut self,
        (kind, subject, when): (Kind, Subject, When),
        culprit: u64,
        place: Place,
        rules: impl FnOnce() -> (Rule, Rule),
    ) {
        let one_for_each = matches!(
            kind,
            Kind::StaleLane | Kind::InactiveLanesOnly | Kind::CfaWrong | Kind::CfaScale
        );
        let culprit_counts = one_for_each || kind == Kind::RowInsideInstruction;
        let key = (kind, subject, when, culprit_counts.then_some(culprit));
        let next = self.found.len();
        let n = *self.by_key.entry(key).or_insert(next);
        if n == next {
            let (says, should) = rules();
            self.found.push(Contradiction {
                kind,
                subject,
                ranges: Vec::new(),
                when,
                culprit,
                says,
                should,
            });
        }
        if let Some(one) = self.found.get_mut(n) {
            one.culprit = one.culprit.min(culprit);
            extend(one, place);
            self.current.push(n);
        }
    }

    /// All of them, by their first address, then by kind.
    pub(super) fn into_sorted(self) -> Vec<Contradiction> {
        let mut all = self.found;
        all.sort_by_key(|one| {
            let first = one.ranges.first().map_or(0, |range| range.start);
            (first, one.kind, one.subject, one.when, one.culprit)
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
