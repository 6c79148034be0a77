//! Groups findings that a producer repeats everywhere into one.

use smallvec::SmallVec;

use crate::rule::Rule;
use crate::verify::finding::{Finding, Findings};

/// The first finding of each rule, with the number of findings.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// The number of findings of each rule. About a dozen rules are summed up.
    found: SmallVec<[(&'static Rule, u64); 4]>,
    first: Vec<Finding>,
}

impl Summary {
    /// The scope of findings that are counted in each function. In all other scopes, the function of the first finding is an example.
    pub(super) const FUNCTION: &str = "function";

    /// Counts a finding of a rule. Returns true if it is the first, which the caller then passes to [`set`](Summary::set). The caller need not create
    /// any other finding.
    pub(super) fn count(&mut self, rule: &'static Rule) -> bool {
        for (found, count) in &mut self.found {
            if core::ptr::eq(*found, rule) {
                *count += 1;
                return false;
            }
        }
        self.found.push((rule, 1));
        true
    }

    /// Records the first finding of its rule.
    pub(super) fn set(&mut self, finding: Finding) {
        self.first.push(finding);
    }

    /// Reports the findings, each with the number of further findings of its rule in `scope`.
    pub(super) fn finish(mut self, scope: &str, findings: &mut Findings) {
        self.first.sort_by_key(|finding| finding.rule.id);
        for mut finding in self.first {
            let same = |(rule, _): &&(&Rule, u64)| core::ptr::eq(*rule, finding.rule);
            let count = self.found.iter().find(same).map_or(1, |(_, count)| *count);
            let more = count - 1;
            finding.is_example = scope != Summary::FUNCTION;
            if more > 0 {
                let count = format!("; {more} more of this rule in this {scope}");
                finding.add_to_message(&count);
            }
            findings.add(finding);
        }
    }
}
