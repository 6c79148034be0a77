//! The rules themselves, as a document.

use serde::Serialize;

use crate::verify::{Rule, Severity};

/// `hetdwarf-rules/1`: the rules.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct RulesDocument {
    /// `hetdwarf-rules/1`.
    pub format: &'static str,
    /// The rules, family by family.
    pub rules: Vec<RuleDocument>,
}

/// A rule.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct RuleDocument {
    /// Its name.
    pub rule: &'static str,
    /// How bad a finding is, unless somebody chose otherwise.
    pub severity: Severity,
    /// The section of the specification that states it.
    pub spec: &'static str,
    /// What is wrong where it is broken.
    pub summary: &'static str,
    /// What a debugger makes of it, and what to do.
    pub explanation: &'static str,
    /// Who can repair it.
    pub repaired_by: &'static str,
    /// What breaks it, and the same put right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<ExampleDocument>,
}

/// What breaks a rule, and the same put right.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct ExampleDocument {
    /// What both are.
    pub setting: String,
    /// What is wrong: lines.
    pub wrong: &'static str,
    /// What is right: lines.
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
