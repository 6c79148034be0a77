//! How a family's table of rules is written. The tables are next to the code that checks them; `families` has them all.

/// A family's table: a constant for each rule, and `RULES` with all of them.
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
