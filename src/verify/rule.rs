//! Defines the notation of rule tables. The table of each family is next to its checks, and `families` lists all tables.

/// Defines the table of a family: a constant for each rule, and `RULES` with all of them.
///
/// A row is `NAME "identifier" Severity "section" "summary" "explanation";`.
macro_rules! rules {
    ($($name:ident $id:literal $severity:ident $spec:literal $summary:literal $explanation:literal;)*) => {
        $(pub(super) static $name: $crate::rule::Rule = $crate::rule::Rule {
            id: $id,
            severity: $crate::rule::Severity::$severity,
            spec: $spec,
            summary: $summary,
            explanation: $explanation,
        };)*
        /// Every rule of the family.
        pub(in $crate::verify) const RULES: &[&$crate::rule::Rule] = &[$(&$name),*];
    };
}
pub(super) use rules;
