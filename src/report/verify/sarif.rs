//! Writes SARIF 2.1.0, the format in which code hosts accept findings.
//!
//! Source: "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", OASIS Standard. Each structure names its section.

use core::fmt::Write;
use std::collections::BTreeMap;

use serde::Serialize;

use super::place::Place;
use super::{FindingDocument, UnreadableFile, VerifiedFile, VerifyDocument};
use crate::report::Hex;
use crate::untrusted::Untrusted;
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
    original_uri_base_ids: BTreeMap<&'static str, Base>,
    results: Vec<SarifResult>,
}

/// An artifact location to which paths are relative (3.14.14).
#[derive(Clone, Debug, Serialize)]
struct Base {
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'static str>,
    description: Message,
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
    information_uri: &'static str,
    semantic_version: &'static str,
    rules: Vec<Descriptor>,
}

/// 3.49
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    id: &'static str,
    name: String,
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    locations: Vec<Location>,
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
    /// The place where the result was found, if the result is shown elsewhere (3.27.13).
    #[serde(skip_serializing_if = "Option::is_none")]
    analysis_target: Option<ArtifactLocation>,
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
    region: Region,
}

/// 3.4
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactLocation {
    uri: String,
    uri_base_id: &'static str,
}

/// The address of the tool's documentation: the repository of the package or, if it has none, the package's page on docs.rs.
const INFORMATION: &str = if env!("CARGO_PKG_REPOSITORY").is_empty() {
    "https://docs.rs/hetdwarf"
} else {
    env!("CARGO_PKG_REPOSITORY")
};

/// 3.30
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Region {
    /// A line of text.
    #[serde(rename_all = "camelCase")]
    Line {
        start_line: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        snippet: Option<Message>,
    },
    /// The start of a binary file. The properties give the place in the file.
    #[serde(rename_all = "camelCase")]
    Start { byte_offset: u64, byte_length: u64 },
}

/// 3.33
#[derive(Clone, Debug, Serialize)]
struct LogicalLocation {
    name: Untrusted<'static>,
    kind: &'static str,
}

/// A property bag with the place in the code object (3.8).
#[derive(Clone, Debug, Serialize)]
struct ResultProperties {
    object: Untrusted<'static>,
    target: Untrusted<'static>,
    section: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<Hex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pc: Option<Hex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    excerpt: Option<Untrusted<'static>>,
}

impl SarifLog {
    /// Converts the findings of a document to SARIF.
    ///
    /// A result is located at its source line or, if that is not known, at the code object. The worst results come first. At most 5,000 results are
    /// listed, and a notification gives the number of the others.
    ///
    /// * `folder`: the absolute path of the checked folder. Files in it have paths relative to it. The log does not contain the path of the folder.
    #[must_use]
    pub fn new(document: &VerifyDocument, folder: &str) -> SarifLog {
        let rules: Vec<&Rule> = Rule::all().collect();
        let mut seen = BTreeMap::new();
        let worst_first = document.worst_first();
        let left_out = worst_first.len().saturating_sub(MOST_RESULTS);
        let results = (worst_first.into_iter().take(MOST_RESULTS))
            .map(|(file, finding)| result(file, finding, folder, &rules, &mut seen))
            .collect();
        let mut notifications: Vec<Notification> = (document.unreadable.iter())
            .map(|file| notification(file, folder))
            .collect();
        if left_out > 0 {
            notifications.push(Notification {
                level: "note",
                message: message(format!(
                    "{left_out} more results are omitted; these are the most severe"
                )),
                locations: Vec::new(),
            });
        }
        SarifLog {
            schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
            version: "2.1.0",
            runs: [Run {
                tool: Tool {
                    driver: Driver {
                        name: "hetdwarf",
                        information_uri: INFORMATION,
                        semantic_version: env!("CARGO_PKG_VERSION"),
                        rules: rules.iter().map(|rule| descriptor(rule)).collect(),
                    },
                },
                invocations: [Invocation {
                    execution_successful: document.unreadable.is_empty(),
                    tool_execution_notifications: notifications,
                }],
                original_uri_base_ids: bases(),
                results,
            }],
        }
    }
}

/// The maximum number of results that GitHub accepts in a run. Source: GitHub, "SARIF support for code scanning", "Validating your SARIF file".
const MOST_RESULTS: usize = 5000;

/// The base of paths in the checked folder. The name is customary.
const FOLDER: &str = "%SRCROOT%";
/// The base of all other paths.
const ROOT: &str = "ROOT";

fn bases() -> BTreeMap<&'static str, Base> {
    BTreeMap::from([
        (
            FOLDER,
            Base {
                uri: None,
                description: message("the directory in which hetdwarf was run"),
            },
        ),
        (
            ROOT,
            Base {
                uri: Some("file:///"),
                description: message("the root of the file system"),
            },
        ),
    ])
}

fn artifact(path: &Untrusted<'_>, folder: &str) -> ArtifactLocation {
    let place = Place::of(path.raw(), folder);
    ArtifactLocation {
        uri: place.uri(),
        uri_base_id: match place {
            Place::InFolder(_) => FOLDER,
            Place::Elsewhere(_) => ROOT,
        },
    }
}

/// Returns the level. The names of severities are also the names in SARIF (3.27.10).
fn level(severity: Severity) -> &'static str {
    severity.name()
}

fn message(text: impl Into<String>) -> Message {
    Message { text: text.into() }
}

fn descriptor(rule: &Rule) -> Descriptor {
    Descriptor {
        id: rule.id,
        name: friendly(rule.id),
        short_description: message(rule.summary),
        full_description: message(rule.explanation),
        help: message(format!("{} Source: {}.", rule.explanation, rule.spec)),
        default_configuration: Configuration {
            level: level(rule.severity),
        },
        properties: DescriptorProperties { spec: rule.spec },
    }
}

/// Returns a name for people in the style of SARIF's own rules: `CfiStaleLane`.
fn friendly(id: &str) -> String {
    let words = id.split('-').filter_map(|word| {
        let mut letters = word.chars();
        let first = letters.next()?.to_ascii_uppercase();
        Some(format!("{first}{}", letters.as_str()))
    });
    words.collect()
}

fn notification(file: &UnreadableFile, folder: &str) -> Notification {
    Notification {
        level: "error",
        message: message(file.message.to_string()),
        locations: vec![location(artifact(&file.path, folder), None, None)],
    }
}

fn location(
    artifact_location: ArtifactLocation,
    line: Option<(u64, Option<Message>)>,
    function: Option<&Untrusted<'static>>,
) -> Location {
    Location {
        physical_location: PhysicalLocation {
            artifact_location,
            region: match line {
                Some((start_line, snippet)) => Region::Line {
                    start_line,
                    snippet,
                },
                None => Region::Start {
                    byte_offset: 0,
                    byte_length: 0,
                },
            },
        },
        logical_locations: function
            .map(|name| LogicalLocation {
                name: name.clone(),
                kind: "function",
            })
            .into_iter()
            .collect(),
    }
}

/// * `seen`: the number of previous results with each fingerprint.
fn result(
    file: &VerifiedFile,
    finding: &FindingDocument,
    folder: &str,
    rules: &[&Rule],
    seen: &mut BTreeMap<String, u64>,
) -> SarifResult {
    let mut text = finding.message.to_string();
    if let Some(numbers) = finding.numbers() {
        let _ = write!(text, "\n{numbers}");
    }
    if let Some(help) = &finding.help {
        let _ = write!(text, "\n{help}");
    }
    let (path, line) = match finding.line() {
        Some((source, line)) => (source, Some(line)),
        None => (file.file(), None),
    };
    let shown = line.map(|line| {
        let source = finding.source.as_ref();
        let text = source.and_then(|source| source.text.as_ref());
        (line, text.map(|text| message(text.to_string())))
    });
    let again = seen.entry(finding.fingerprint.clone()).or_insert(0);
    *again += 1;
    let fingerprint = format!("{}:{again}", finding.fingerprint);
    SarifResult {
        rule_id: finding.rule,
        rule_index: rules.iter().position(|rule| rule.id == finding.rule),
        level: level(finding.severity),
        message: message(text),
        analysis_target: line.is_some().then(|| artifact(file.file(), folder)),
        locations: [location(
            artifact(path, folder),
            shown,
            finding.function.as_ref(),
        )],
        partial_fingerprints: BTreeMap::from([
            ("hetdwarfFinding/v1", fingerprint.clone()),
            // GitHub reads only this name.
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
