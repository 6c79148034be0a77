//! Annotations of GitHub's workflows: lines on standard output that a runner shows beside the source.
//!
//! Source: GitHub, "Workflow commands for GitHub Actions", "Setting an error message"; which characters are
//! escaped is what GitHub's own toolkit does.

use core::fmt::Write;

use super::{FindingDocument, VerifiedFile, VerifyDocument};
use crate::verify::Severity;

/// A line for each finding and each file that could not be read.
///
/// A finding is shown at its source line or, if that is not known, at the code object.
#[must_use]
pub fn github_annotations(document: &VerifyDocument) -> String {
    let mut text = String::new();
    for file in &document.unreadable {
        line(
            &mut text,
            "error",
            &[("file", &file.path), ("title", "cannot be checked")],
            &file.message,
        );
    }
    for (file, finding) in document.findings() {
        let number;
        let mut properties = Vec::new();
        match finding.line() {
            Some((source, line)) => {
                number = line.to_string();
                properties.extend([("file", source), ("line", &number)]);
            }
            None => properties.push(("file", file.file())),
        }
        properties.push(("title", finding.rule));
        line(
            &mut text,
            command(finding.severity),
            &properties,
            &message(file, finding),
        );
    }
    text
}

fn command(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    }
}

/// What is wrong and where in the code object, since the annotation shows only the source.
fn message(file: &VerifiedFile, finding: &FindingDocument) -> String {
    let mut text = finding.message.clone();
    let _ = write!(text, "\n{}: {}", file.path, finding.section);
    if let Some(offset) = finding.offset {
        let _ = write!(text, "+{:#x}", offset.0);
    }
    if let Some(function) = &finding.function {
        let _ = write!(text, " in {function}");
    }
    if let Some(help) = &finding.help {
        let _ = write!(text, "\n{help}");
    }
    text
}

/// `::COMMAND NAME=VALUE,…::MESSAGE`.
fn line(text: &mut String, command: &str, properties: &[(&str, &str)], message: &str) {
    let properties: Vec<_> = properties
        .iter()
        .map(|(name, value)| format!("{name}={}", escape(value, PROPERTY)))
        .collect();
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "::{command} {}::{}",
        properties.join(","),
        escape(message, MESSAGE)
    );
}

/// What would end a message, or look as if it were escaped.
const MESSAGE: &[char] = &['%', '\r', '\n'];
/// The same of a property's value.
const PROPERTY: &[char] = &['%', '\r', '\n', ':', ','];

fn escape(text: &str, special: &[char]) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if special.contains(&c) {
            let _ = write!(escaped, "%{:02X}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}
