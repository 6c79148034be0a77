//! Defines the rules by which checks judge debugging information. A rule has a name, a severity, and the section of the specification that states it.
//!
//! The tables are next to the checks: [`cfi_check`](crate::cfi_check) has one, and [`verify`](crate::verify) has the others and the list of all. The
//! specifications have the same names as everywhere: [HET](crate), [USAGE](crate).
//!
//! ```
//! use hetdwarf::rule::{Rule, Severity};
//!
//! let rule = Rule::all().find(|rule| rule.id == "cfi-row-outside-range").unwrap();
//! println!("{}: {} ({})", rule.severity, rule.summary, rule.spec);
//! assert!(rule.severity > Severity::Note);
//! ```

use core::fmt;

/// The severity of a finding.
///
/// The enumeration is exhaustive on purpose, because code that chooses severities must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Useful information that is not a mistake by itself.
    Note,
    /// A likely mistake, or a mistake that rarely matters.
    Warning,
    /// A mistake that makes a debugger show wrong data or fail to read it.
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
    /// The severity of a finding, unless the selection changes it.
    pub severity: Severity,
    /// The section that states the rule: `HET A.6.4.1`, `DWARF 5 §6.4.1`, `USAGE "Call Frame Information"`.
    pub spec: &'static str,
    /// The description of a violation, in one sentence.
    pub summary: &'static str,
    /// The effect on a debugger and the remedy, in one paragraph.
    pub explanation: &'static str,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.id == other.id
    }
}

impl Eq for Rule {}
