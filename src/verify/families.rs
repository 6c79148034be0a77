//! Lists the families of rules. The table of each family is next to the code that checks it.

use crate::rule::Rule;

impl Rule {
    /// Returns every rule, ordered by family.
    pub fn all() -> impl Iterator<Item = &'static Rule> {
        FAMILIES.iter().copied().flatten().copied()
    }

    /// Returns the rule with a name.
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
    crate::cfi_check::RULES,
    super::expression::RULES,
    super::location::RULES,
    super::location::INDEX_RULES,
    super::location::LANE_MASK_RULES,
    super::location::UNIT_RULES,
    super::location::NEST_RULES,
    super::lost_value::RULES,
    super::abbreviation::RULES,
    super::lines::RULES,
    super::strings::RULES,
    super::packages::RULES,
    super::lane::RULES,
    super::aranges::RULES,
    super::names::RULES,
];
