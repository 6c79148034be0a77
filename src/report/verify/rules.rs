//! Describes the rules in a document.

use serde::Serialize;

use crate::verify::{Rule, Severity};

/// `hetdwarf-rules/1`: the rules.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct RulesDocument {
    /// `hetdwarf-rules/1`.
    pub format: &'static str,
    /// The rules, grouped by family.
    pub rules: Vec<RuleDocument>,
}

/// A rule.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct RuleDocument {
    /// The name of the rule.
    pub rule: &'static str,
    /// The default severity of a finding.
    pub severity: Severity,
    /// The section of the specification that states the rule.
    pub spec: &'static str,
    /// The description of a violation.
    pub summary: &'static str,
    /// The effect on a debugger, and the repair.
    pub explanation: &'static str,
    /// The tool or person that can repair a violation.
    pub repaired_by: &'static str,
    /// An example of a violation with its correction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<ExampleDocument>,
}

/// An example of a violation with its correction.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct ExampleDocument {
    /// The kind of the example's contents.
    pub setting: String,
    /// The wrong lines.
    pub wrong: &'static str,
    /// The correct lines.
    pub right: &'static str,
}

impl RulesDocument {
    /// Describes rules.
    #[must_use]
    pub fn new(rules: impl IntoIterator<Item = &'static Rule>) -> RulesDocument {
        RulesDocument {
            format: "hetdwarf-rules/1",
            rules: rules
                .into_iter()
                .map(|rule| RuleDocument {
                    rule: rule.id,
                    severity: rule.severity,
                    spec: rule.spec,
                    summary: rule.summary,
                    explanation: rule.explanation,
                    repaired_by: rule.repaired_by(),
                    example: rule.example().map(|example| ExampleDocument {
                        setting: example.setting.text(),
                        wrong: example.wrong,
                        right: example.right,
                    }),
                })
                .collect(),
        }
    }
}
