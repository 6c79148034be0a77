//! Selects the findings that count, and their severity.
//!
//! A choice names a single rule (`cfi-entry`), all rules with a prefix (`cfi-*`), or the rules that analyse machine code ([`MACHINE_CODE`]). The
//! latter take longer than all others together.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use super::profile::Profile;
use super::{Verdict, lane, location, lost_value};
use crate::cfi_check;
use crate::expr::Dialect;
use crate::frame::write::Assembler;
use crate::nearest::nearest;
use crate::rule::{Rule, Severity};
use crate::untrusted::Untrusted;

/// The name for the rules that compare call frame information and lane attributes with the machine code.
pub const MACHINE_CODE: &str = "machine-code";

/// The choice of a severity for a rule.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Choice {
    /// Drops the findings of the rule.
    Allow,
    /// Reports the findings as warnings.
    Warn,
    /// Reports the findings as errors.
    Deny,
}

/// Determines for every rule whether its findings are kept, and with which severity.
///
/// ```
/// use hetdwarf::verify::{Choice, Rule, Selection, Severity};
///
/// let mut selection = Selection::default();
/// selection.choose([("cfi-*", Choice::Warn), ("cfi-cie-pointer", Choice::Allow)])?;
/// let severity = |id| selection.severity(Rule::by_id(id).unwrap());
/// assert_eq!(severity("cfi-entry"), Some(Severity::Warning));
/// assert_eq!(severity("cfi-cie-pointer"), None);
/// # Ok::<(), hetdwarf::verify::UnknownRule>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The rules with an explicit choice. All others have the severity in their table.
    chosen: BTreeMap<&'static str, Choice>,
    /// The only rules that count, regardless of other choices. `None` if all rules count.
    only: Option<BTreeSet<&'static str>>,
    /// The profile, which determines the severity of rules without an explicit choice.
    profile: Profile,
    /// The encoding of the heterogeneous operations.
    dialect: Dialect,
    /// The assembler for which the evidence has directives.
    assembler: Assembler,
}

impl Selection {
    /// Sets the audience. Explicit choices for a rule override it.
    pub fn set_profile(&mut self, profile: Profile) {
        self.profile = profile;
    }

    /// Returns the audience, which determines the findings that count.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Sets the encoding of the heterogeneous operations in the checked files. A program that is already loaded keeps its own.
    pub fn set_dialect(&mut self, dialect: Dialect) {
        self.dialect = dialect;
    }

    /// Returns the encoding of the heterogeneous operations.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Sets the assembler for which the evidence has directives.
    pub fn set_assembler(&mut self, assembler: Assembler) {
        self.assembler = assembler;
    }

    /// Returns the assembler for which the evidence has directives.
    #[must_use]
    pub fn assembler(&self) -> Assembler {
        self.assembler
    }

    /// Keeps only the findings of these rules, regardless of earlier and later choices.
    ///
    /// # Errors
    /// [`UnknownRule`] for the first unknown name. The selection is then unchanged.
    pub fn only<N: AsRef<str>>(
        &mut self,
        names: impl IntoIterator<Item = N>,
    ) -> Result<(), UnknownRule> {
        let mut kept = BTreeSet::new();
        for name in names {
            kept.extend(Rule::named(name.as_ref())?.iter().map(|rule| rule.id));
        }
        self.only = Some(kept);
        Ok(())
    }

    /// Adds choices, which override earlier ones.
    ///
    /// Within one call, a rule's own name overrides a name for several rules. Of several choices for the same name, the strictest counts. The order
    /// of the choices does not matter.
    ///
    /// # Errors
    /// [`UnknownRule`] for the first unknown name. The selection is then unchanged.
    pub fn choose<N: AsRef<str>>(
        &mut self,
        choices: impl IntoIterator<Item = (N, Choice)>,
    ) -> Result<(), UnknownRule> {
        let mut found = Vec::new();
        for (name, choice) in choices {
            let name = name.as_ref();
            let is_own_name = Rule::by_id(name).is_some();
            found.push((is_own_name, choice, Rule::named(name)?));
        }
        found.sort_by_key(|(is_own_name, choice, _)| (*is_own_name, *choice));
        for (_, choice, rules) in found {
            self.chosen.extend(rules.iter().map(|r| (r.id, choice)));
        }
        Ok(())
    }

    /// Returns the severity of findings of this rule. Returns `None` if they are dropped.
    #[must_use]
    pub fn severity(&self, rule: &Rule) -> Option<Severity> {
        if !self.is_kept(rule) {
            return None;
        }
        match self.chosen.get(rule.id) {
            None if rule.is_on_request() && self.only.is_none() => None,
            None => self.profile.severity(rule.severity),
            Some(Choice::Allow) => None,
            Some(Choice::Warn) => Some(Severity::Warning),
            Some(Choice::Deny) => Some(Severity::Error),
        }
    }

    fn is_kept(&self, rule: &Rule) -> bool {
        let only = self.only.as_ref();
        only.is_none_or(|only| only.contains(rule.id))
    }

    /// Drops the findings that do not count, and sets the severity of the others.
    pub fn apply(&self, verdict: &mut Verdict) {
        verdict
            .findings
            .retain_mut(|finding| match self.chosen.get(finding.rule.id) {
                // The check may have lowered the severity of this finding.
                None => (self.profile.severity(finding.severity))
                    .filter(|_| self.is_kept(finding.rule))
                    .map(|severity| finding.severity = severity)
                    .is_some(),
                Some(_) => self
                    .severity(finding.rule)
                    .map(|severity| finding.severity = severity)
                    .is_some(),
            });
    }
}

/// Returns the rules that [`MACHINE_CODE`] names.
fn machine_code() -> impl Iterator<Item = &'static Rule> {
    let families = [cfi_check::RULES, lane::RULES, location::LANE_MASK_RULES];
    families.into_iter().flatten().copied()
}

impl Rule {
    /// Returns the rules that a name selects: a single rule, a prefix followed by `*`, or [`MACHINE_CODE`].
    ///
    /// # Errors
    /// [`UnknownRule`] with the nearest name, if no rule has the name.
    pub fn named(name: &str) -> Result<Vec<&'static Rule>, UnknownRule> {
        if name == MACHINE_CODE {
            return Ok(machine_code().collect());
        }
        let found: Vec<_> = match name.strip_suffix('*') {
            Some(start) => Rule::all().filter(|r| r.id.starts_with(start)).collect(),
            None => Rule::by_id(name).into_iter().collect(),
        };
        if found.is_empty() {
            return Err(UnknownRule::new(name));
        }
        Ok(found)
    }
}

impl Rule {
    /// Returns true if the rule is slow and counts only if it is chosen explicitly.
    #[must_use]
    pub fn is_on_request(&self) -> bool {
        lost_value::RULES.contains(&self)
    }
}

/// A name that selects no rule.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRule {
    /// The name.
    pub name: Untrusted<'static>,
    /// The name that was probably meant, if there is one. It may be a prefix followed by `*`.
    pub nearest: Option<String>,
}

impl UnknownRule {
    fn new(name: &str) -> UnknownRule {
        UnknownRule {
            name: name.to_owned().into(),
            nearest: meant(name),
        }
    }
}

/// Returns the name that was probably meant by an unknown one: the names that begin with it, or else the most similar name, or else one that contains
/// it.
fn meant(name: &str) -> Option<String> {
    let names = || Rule::all().map(|rule| rule.id).chain([MACHINE_CODE]);
    let part = name.trim_end_matches('*');
    if part.is_empty() {
        return None;
    }
    let started: Vec<&str> = names().filter(|id| id.starts_with(part)).collect();
    let is_word = |id: &&str| id.as_bytes().get(part.len()) == Some(&b'-');
    match started.as_slice() {
        [] => {}
        [only] => return Some((*only).to_owned()),
        all if all.iter().all(is_word) => return Some(format!("{part}-*")),
        [..] => return Some(format!("{part}*")),
    }
    let similar = nearest(name, names());
    // Fewer letters are in many names by chance.
    let is_long = part.len() > 2;
    let found = similar.or_else(|| names().find(|id| is_long && id.contains(part)));
    found.map(str::to_owned)
}

impl core::error::Error for UnknownRule {}

impl fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.nearest {
            Some(nearest) => write!(
                f,
                "there is no rule `{}`; did you mean `{nearest}`?",
                self.name
            ),
            None => write!(
                f,
                "there is no rule `{}`; `hetdwarf verify --list` prints all rules",
                self.name
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Finding;
    use super::*;

    fn severities(selection: &Selection) -> Vec<(&'static str, Option<Severity>)> {
        ["cfi-entry", "cfi-cie-pointer"]
            .map(|id| (id, selection.severity(Rule::by_id(id).unwrap())))
            .to_vec()
    }

    #[test]
    fn a_full_name_goes_before_the_start_of_one_and_the_stricter_choice_counts() {
        let mut selection = Selection::default();
        selection
            .choose([
                ("cfi-entry", Choice::Warn),
                ("cfi-cie-pointer", Choice::Warn),
                ("cfi-cie-pointer", Choice::Allow),
                ("cfi-*", Choice::Deny),
            ])
            .unwrap();
        assert_eq!(
            severities(&selection),
            [
                ("cfi-entry", Some(Severity::Warning)),
                ("cfi-cie-pointer", Some(Severity::Warning))
            ]
        );
        // Later choices override all earlier ones.
        selection.choose([("cfi-*", Choice::Allow)]).unwrap();
        assert!(severities(&selection).iter().all(|(_, s)| s.is_none()));
    }

    #[test]
    fn rules_that_read_machine_code_have_a_name_together() {
        let mut selection = Selection::default();
        selection
            .choose([
                (MACHINE_CODE, Choice::Allow),
                ("cfi-wrong-place", Choice::Warn),
            ])
            .unwrap();
        let severity = |id| selection.severity(Rule::by_id(id).unwrap());
        assert_eq!(severity("cfi-cfa-scale"), None);
        assert_eq!(severity("cfi-wrong-place"), Some(Severity::Warning));
        assert_eq!(severity("cfi-entry"), Some(Severity::Error));
        let asked = Rule::all().filter(|rule| !rule.is_on_request());
        let dropped = asked.filter(|rule| selection.severity(rule).is_none());
        // All but the rule that is kept.
        assert_eq!(dropped.count(), machine_code().count() - 1);
    }

    #[test]
    fn only_drops_the_others() {
        let mut selection = Selection::default();
        selection.only(["cfi-entry"]).unwrap();
        assert_eq!(
            severities(&selection),
            [
                ("cfi-entry", Some(Severity::Error)),
                ("cfi-cie-pointer", None)
            ]
        );
        let rule = |id| Rule::by_id(id).unwrap();
        let mut verdict = Verdict {
            findings: vec![
                Finding::new(rule("cfi-entry"), ".debug_frame", "a"),
                Finding::new(rule("cfi-cie-pointer"), ".debug_frame", "b"),
            ],
            left_out: 0,
            stopped: None,
        };
        selection.apply(&mut verdict);
        let kept: Vec<_> = verdict.findings.iter().map(|f| f.message.raw()).collect();
        assert_eq!(kept, ["a"]);
    }

    #[test]
    fn what_nobody_chose_keeps_the_severity_it_was_found_with() {
        let mut finding = Finding::new(Rule::by_id("cfi-entry").unwrap(), ".debug_frame", "a");
        finding.severity = Severity::Note;
        let mut verdict = Verdict {
            findings: vec![finding],
            left_out: 0,
            stopped: None,
        };
        Selection::default().apply(&mut verdict);
        assert_eq!(verdict.findings[0].severity, Severity::Note);
        let mut deny = Selection::default();
        deny.choose([("cfi-entry", Choice::Deny)]).unwrap();
        deny.apply(&mut verdict);
        assert_eq!(verdict.findings[0].severity, Severity::Error);
    }

    #[test]
    fn a_name_that_no_rule_has_changes_nothing_and_names_the_nearest() {
        let mut selection = Selection::default();
        let wrong = selection
            .choose([("cfi-entry", Choice::Allow), ("cfi-entyr", Choice::Deny)])
            .unwrap_err();
        assert_eq!(wrong.nearest.as_deref(), Some("cfi-entry"));
        assert_eq!(selection, Selection::default());
        assert_eq!(selection.only(["x-*"]).unwrap_err().nearest, None);
        let nearly = Rule::named("machine-cod").unwrap_err();
        assert_eq!(nearly.nearest.as_deref(), Some(MACHINE_CODE));
        assert!(Rule::named(&"cfi-entry".repeat(100_000)).is_err());
    }
}
