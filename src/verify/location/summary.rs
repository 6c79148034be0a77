//! Findings of which one says it all: a producer that writes something writes it everywhere.

use std::collections::BTreeMap;

use crate::verify::finding::{Finding, Findings};
use crate::verify::rule::Rule;

/// The first finding of each rule, and how many there were.
#[derive(Debug, Default)]
pub(super) struct Summary {
    found: BTreeMap<&'static str, (Option<Finding>, u64)>,
}

impl Summary {
    /// Counts a finding of a rule. Whether it is the first, which then is to be given to
    /// [`set`](Summary::set): all others need not be made.
    pub(super) fn count(&mut self, rule: &'static Rule) -> bool {
        let (_, count) = self.found.entry(rule.id).or_default();
        *count = count.saturating_add(1);
        *count == 1
    }

    /// The first finding of its rule.
    pub(super) fn set(&mut self, finding: Finding) {
        if let Some((first, _)) = self.found.get_mut(finding.rule.id) {
            *first = Some(finding);
        }
    }

    /// The findings, each with the number of those like it in `scope`.
    pub(super) fn finish(self, scope: &str, findings: &mut Findings) {
        for (finding, count) in self.found.into_values() {
            let Some(mut finding) = finding else { continue };
            let more = count.saturating_sub(1);
            if more > 0 {
                let count = format!("; {more} more of this rule in this {scope}");
                finding.message.push_str(&count);
            }
            findings.add(finding);
        }
    }
}
