//! Describes a rule for debugging information: the check, the severity of a violation, and the specification behind it.
//!
//! The tables are in the modules with the checks: [`cfi_check`](crate::cfi_check) has one, [`verify`](crate::verify) the others and the list of all.
//! Specifications are cited as everywhere: [HET](crate), [USAGE](crate).
//!
//! ```
//! use hetdwarf::rule::{Rule, Severity};
//!
//! let rule = Rule::all().find(|rule| rule.id == "cfi-row-outside-range").unwrap();
//! println!("{}: {} ({})", rule.severity, rule.summary, rule.spec);
//! assert!(rule.severity > Severity::Note);
//! ```

use core::fmt;

/// The level of a finding.
///
/// Intentionally exhaustive: code that chooses levels has to handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Informative: not a fault by itself.
    Note,
    /// Probably wrong, or wrong where it rarely matters.
    Warning,
    /// A debugger that relies on it shows wrong results, or cannot read it.
    Error,
}

impl Severity {
    /// Returns `error`, `warning` or `note`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A rule.
#[non_exhaustive]
#[derive(Debug)]
pub struct Rule {
    /// The stable name, such as `cfi-row-outside-range`.
    pub id: &'static str,
    /// The level of a finding, unless overridden.
    pub severity: Severity,
    /// The section that states it: `HET A.6.4.1`, `DWARF 5 §6.4.1`, `USAGE "Call Frame Information"`.
    pub spec: &'static str,
    /// The problem when the rule is broken, in one sentence.
    pub summary: &'static str,
    /// The consequence for a debugger, and the remedy: a paragraph.
    pub explanation: &'static str,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.id == other.id
    }
}

impl Eq for Rule {}
