//! What was found in a function, merged: one contradiction for each rule, cause and subject.

use std::collections::BTreeMap;

use super::contradiction::{Contradiction, ContradictionKind as Kind, Rule, Subject, When};

/// The addresses of one instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Contradictions by what makes them one: the culprit counts where a function can have several.
#[derive(Debug, Default)]
pub(super) struct Findings {
    found: BTreeMap<(Kind, Subject, When, Option<u64>), Contradiction>,
}

impl Findings {
    /// Adds that something is wrong at an instruction. Instructions come by ascending address.
    ///
    /// * `rules`: what the row says and should have said; asked the first time.
    pub(super) fn add(
        &mut self,
        (kind, subject, when): (Kind, Subject, When),
        culprit: u64,
        place: Place,
        rules: impl FnOnce() -> (Rule, Rule),
    ) {
        // The execution mask and the stack pointer change again and again; that is one omission.
        let is_one = matches!(
            kind,
            Kind::ExecWithoutRule
                | Kind::StackPointerWithoutRule
                | Kind::CfaRealigned
                | Kind::CfaAfterEpilogue
                | Kind::ClobberedNotUndefined
                | Kind::ScalarWithoutRule
                | Kind::VectorWithoutRule
                | Kind::WrongPlace
        );
        let key = (kind, subject, when, (!is_one).then_some(culprit));
        let found = self.found.entry(key).or_insert_with(|| {
            let (says, should) = rules();
            Contradiction {
                kind,
                subject,
                ranges: Vec::new(),
                when,
                culprit,
                says,
                should,
            }
        });
        found.culprit = found.culprit.min(culprit);
        match found.ranges.last_mut() {
            Some(last) if last.end >= place.start => last.end = last.end.max(place.end),
            _ => found.ranges.push(place.start..place.end),
        }
    }

    /// All of them, by their first address, then by kind.
    pub(super) fn into_sorted(self) -> Vec<Contradiction> {
        let mut all: Vec<Contradiction> = self.found.into_values().collect();
        all.sort_by_key(|one| {
            let first = one.ranges.first().map_or(0, |range| range.start);
            (first, one.kind, one.subject, one.when, one.culprit)
        });
        all
    }
}
