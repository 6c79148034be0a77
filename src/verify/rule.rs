//! Rules: what is checked, how bad it is when broken, and which text asks for it.
//!
//! Each family of rules has a table of its own, next to the code that checks it; this is where they meet.

use core::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is wrong by it alone.
    Note,
    /// Likely wrong, or wrong where it rarely matters.
    Warning,
    /// A debugger that relies on it shows something wrong, or cannot read it.
    Error,
}

impl Severity {
    /// `error`, `warning` or `note`.
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

/// A rule of `verify`.
#[non_exhaustive]
#[derive(Debug)]
pub struct Rule {
    /// The stable name, `cfi-row-outside-range` for example.
    pub id: &'static str,
    /// How bad a finding is, unless somebody chose otherwise.
    pub severity: Severity,
    /// The section that states it: `HET A.6.4.1`, `DWARF 5 §6.4.1`, `USAGE "Call Frame Information"`.
    pub spec: &'static str,
    /// What is wrong where it is broken, in one sentence.
    pub summary: &'static str,
    /// What a debugger makes of it, and what to do: a paragraph.
    pub explanation: &'static str,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.id == other.id
    }
}

impl Eq for Rule {}

impl Rule {
    /// Every rule, family by family.
    pub fn all() -> impl Iterator<Item = &'static Rule> {
        FAMILIES.iter().copied().flatten().copied()
    }

    /// The rule of a name.
    #[must_use]
    pub fn by_id(id: &str) -> Option<&'static Rule> {
        Rule::all().find(|rule| rule.id == id)
    }
}

/// The tables of all families, in the order in which `--list` prints them.
const FAMILIES: &[&[&Rule]] = &[
    super::target::RULES,
    super::section::RULES,
    super::coverage::RULES,
    super::instructions::RULES,
    super::dependency::RULES,
    super::meaning::RULES,
    super::frame_expression::RULES,
    super::register::RULES,
    super::machine_code::RULES,
    super::expression::RULES,
    super::location::RULES,
    super::location::INDEX_RULES,
    super::aranges::RULES,
    super::names::RULES,
];

/// A family's table: a constant for each rule, and `RULES` with all of them.
///
/// A row is `NAME "identifier" Severity "section" "summary" "explanation";`.
macro_rules! rules {
    ($($name:ident $id:literal $severity:ident $spec:literal $summary:literal $explanation:literal;)*) => {
        $(pub(super) static $name: $crate::verify::Rule = $crate::verify::Rule {
            id: $id,
            severity: $crate::verify::Severity::$severity,
            spec: $spec,
            summary: $summary,
            explanation: $explanation,
        };)*
        /// Every rule of the family.
        pub(in $crate::verify) const RULES: &[&$crate::verify::Rule] = &[$(&$name),*];
    };
}
pub(super) use rules;
