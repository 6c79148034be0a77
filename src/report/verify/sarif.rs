//! SARIF 2.1.0, the form in which code hosts take what checkers find.
//!
//! Source: "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", OASIS Standard; the sections are
//! named at each structure.

use core::fmt::Write;
use std::collections::BTreeMap;

use serde::Serialize;

use super::{FindingDocument, UnreadableFile, VerifiedFile, VerifyDocument};
use crate::report::Hex;
use crate::verify::{Rule, Severity};

/// A log file (3.13).
#[derive(Clone, Debug, Serialize)]
pub struct SarifLog {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

/// 3.14
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    invocations: [Invocation; 1],
    results: Vec<SarifResult>,
}

/// 3.18
#[derive(Clone, Debug, Serialize)]
struct Tool {
    driver: Driver,
}

/// 3.19
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<Descriptor>,
}

/// 3.49
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    id: &'static str,
    short_description: Message,
    full_description: Message,
    help: Message,
    default_configuration: Configuration,
    properties: DescriptorProperties,
}

/// 3.50
#[derive(Clone, Debug, Serialize)]
struct Configuration {
    level: &'static str,
}

/// A property bag (3.8).
#[derive(Clone, Debug, Serialize)]
struct DescriptorProperties {
    spec: &'static str,
}

/// 3.11
#[derive(Clone, Debug, Serialize)]
struct Message {
    text: String,
}

/// 3.20
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_execution_notifications: Vec<Notification>,
}

/// 3.58
#[derive(Clone, Debug, Serialize)]
struct Notification {
    level: &'static str,
    message: Message,
    locations: [Location; 1],
}

/// 3.27
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    rule_id: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    level: &'static str,
    message: Message,
    analysis_target: ArtifactLocation,
    locations: [Location; 1],
    partial_fingerprints: BTreeMap<&'static str, String>,
    properties: ResultProperties,
}

/// 3.28
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<LogicalLocation>,
}

/// 3.29
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

/// 3.4
#[derive(Clone, Debug, Serialize)]
struct ArtifactLocation {
    uri: String,
}

/// 3.30
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u64,
}

/// 3.33
#[derive(Clone, Debug, Serialize)]
struct LogicalLocation {
    name: String,
    kind: &'static str,
}

/// A property bag: where in the code object it is.
#[derive(Clone, Debug, Serialize)]
struct ResultProperties {
    object: String,
    target: String,
    section: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<Hex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pc: Option<Hex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    excerpt: Option<String>,
}

impl SarifLog {
    /// The same findings.
    ///
    /// A result is located at its source line or, if that is not known, at the code object.
    #[must_use]
    pub fn new(document: &VerifyDocument) -> SarifLog {
        let rules: Vec<&Rule> = Rule::all().collect();
        let mut seen = BTreeMap::new();
        let results = document
            .findings()
            .map(|(file, finding)| result(file, finding, &rules, &mut seen))
            .collect();
        SarifLog {
            schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
            version: "2.1.0",
            runs: [Run {
                tool: Tool {
                    driver: Driver {
                        name: "hetdwarf",
                        semantic_version: env!("CARGO_PKG_VERSION"),
                        rules: rules.iter().map(|rule| descriptor(rule)).collect(),
                    },
                },
                invocations: [Invocation {
                    execution_successful: document.unreadable.is_empty(),
                    tool_execution_notifications: document
                        .unreadable
                        .iter()
                        .map(notification)
                        .collect(),
                }],
                results,
            }],
        }
    }
}

/// The words are those of SARIF too (3.27.10).
fn level(severity: Severity) -> &'static str {
    severity.name()
}

fn message(text: impl Into<String>) -> Message {
    Message { text: text.into() }
}

fn descriptor(rule: &Rule) -> Descriptor {
    Descriptor {
        id: rule.id,
        short_description: message(rule.summary),
        full_description: message(rule.explanation),
        help: message(format!("{} Source: {}.", rule.explanation, rule.spec)),
        default_configuration: Configuration {
            level: level(rule.severity),
        },
        properties: DescriptorProperties { spec: rule.spec },
    }
}

fn notification(file: &UnreadableFile) -> Notification {
    Notification {
        level: "error",
        message: message(file.message.as_str()),
        locations: [location(&file.path, None, None)],
    }
}

fn location(path: &str, line: Option<u64>, function: Option<&str>) -> Location {
    Location {
        physical_location: PhysicalLocation {
            artifact_location: ArtifactLocation { uri: uri(path) },
            region: line.map(|start_line| Region { start_line }),
        },
        logical_locations: function
            .map(|name| LogicalLocation {
                name: name.to_owned(),
                kind: "function",
            })
            .into_iter()
            .collect(),
    }
}

/// * `seen`: how often each fingerprint has been there.
fn result(
    file: &VerifiedFile,
    finding: &FindingDocument,
    rules: &[&Rule],
    seen: &mut BTreeMap<String, u64>,
) -> SarifResult {
    let mut text = finding.message.clone();
    if let Some(help) = &finding.help {
        let _ = write!(text, "\n{help}");
    }
    let (path, line) = match finding.line() {
        Some((source, line)) => (source, Some(line)),
        None => (file.file(), None),
    };
    let again = seen.entry(finding.fingerprint.clone()).or_insert(0);
    *again = again.saturating_add(1);
    let fingerprint = format!("{}:{again}", finding.fingerprint);
    SarifResult {
        rule_id: finding.rule,
        rule_index: rules.iter().position(|rule| rule.id == finding.rule),
        level: level(finding.severity),
        message: message(text),
        analysis_target: ArtifactLocation {
            uri: uri(file.file()),
        },
        locations: [location(path, line, finding.function.as_deref())],
        partial_fingerprints: BTreeMap::from([
            ("hetdwarfFinding/v1", fingerprint.clone()),
            // The only name that GitHub looks at.
            ("primaryLocationLineHash", fingerprint),
        ]),
        properties: ResultProperties {
            object: file.path.clone(),
            target: file.target.clone(),
            section: finding.section,
            offset: finding.offset,
            pc: finding.pc,
            excerpt: finding.excerpt.as_ref().map(|e| e.text.clone()),
        },
    }
}

/// A path as a URI (RFC 3986): relative stays relative.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    if path.starts_with('/') {
        uri.push_str("file://");
    }
    let path = path.trim_start_matches("./");
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::uri;

    /// RFC 3986 2.3 lists what is not encoded; 4.2 says why a colon in a relative reference has to be.
    #[test]
    fn paths_are_references() {
        for (path, expected) in [
            ("a/b-c_d.~e.cl", "a/b-c_d.~e.cl"),
            ("./a.cl", "a.cl"),
            ("/src/a b.cl", "file:///src/a%20b.cl"),
            ("k:gfx90a#2.cl", "k%3Agfx90a%232.cl"),
            ("100%.cl", "100%25.cl"),
            ("é.cl", "%C3%A9.cl"),
        ] {
            assert_eq!(uri(path), expected);
        }
    }
}
