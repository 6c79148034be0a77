//! Tests small code objects that violate one rule each, and the most similar valid ones.

mod frame;
mod given;
mod index;
mod indices;
mod made;
mod packages;
mod structure;

use super::{coverage, dependency, frame_expression, instructions, meaning, register, section};
use crate::rule::Rule;

/// The rules about call frame information.
pub(super) fn frame_rules() -> impl Iterator<Item = &'static Rule> {
    [
        section::RULES,
        coverage::RULES,
        instructions::RULES,
        dependency::RULES,
        meaning::RULES,
        frame_expression::RULES,
        register::RULES,
    ]
    .into_iter()
    .flatten()
    .copied()
}

#[test]
fn the_readme_has_the_number_of_rules() {
    let count = Rule::all().count();
    for text in [
        format!("`verify` has {count} rules"),
        format!("**{count} rules**"),
    ] {
        assert!(include_str!("../../../README.md").contains(&text), "{text}");
    }
}

#[test]
fn rules_are_named_once_and_explained() {
    let mut ids: Vec<_> = Rule::all().map(|rule| rule.id).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "a name is used twice");
    for rule in Rule::all() {
        assert!(
            rule.id
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-'),
            "{}",
            rule.id
        );
        assert!(!rule.summary.ends_with('.'), "{}: a phrase", rule.id);
        assert!(rule.explanation.ends_with('.'), "{}: sentences", rule.id);
        assert!(!rule.spec.is_empty());
        assert!(
            !rule.explanation.contains("  ") && !rule.explanation.contains('\n'),
            "{}: spaces of the table are in the text",
            rule.id
        );
        assert!(Rule::by_id(rule.id) == Some(rule));
    }
}
