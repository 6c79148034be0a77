//! Writes `JUnit` XML, which most CI systems show as tests. A code object is a test suite, and a finding is a test case.
//!
//! `JUnit` XML has no standard. The output conforms to `junit-10.xsd` of Jenkins' xUnit plugin, which is in `dwarf-tests/fixtures/junit`. Source for
//! characters and references: XML 1.0 (fifth edition), 2.2 and 2.4.

use core::fmt::Write;

use super::super::text::reference;
use super::{FindingDocument, VerifiedFile, VerifyDocument};
use crate::verify::Severity;

/// Returns the document as `JUnit` XML. Errors are failed test cases. Warnings and notes are passed test cases with the finding as their output. A
/// code object without findings is a passed test case, and an unreadable file is an error.
///
/// In a [grouped](VerifyDocument::grouped) document, a code object may have errors that are listed only with another code object. Its tests then pass,
/// so use a document that lists each finding.
#[must_use]
pub fn junit(document: &VerifyDocument) -> String {
    let summary = &document.summary;
    let tests: usize = document
        .files
        .iter()
        .map(|file| file.findings.len().max(1))
        .sum();
    let tests = tests + document.unreadable.len();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"hetdwarf verify\" tests=\"{tests}\" failures=\"{}\" errors=\"{}\">\n",
        summary.errors, summary.unreadable
    );
    // Writing to a string does not fail.
    for file in &document.unreadable {
        let (path, message) = (xml(&file.path.to_string()), xml(&file.message.to_string()));
        let _ = write!(
            text,
            "  <testsuite name=\"{path}\" tests=\"1\" failures=\"0\" errors=\"1\">\n    \
             <testcase name=\"verify\" classname=\"{path}\">\n      \
             <error type=\"unreadable\" message=\"{message}\"/>\n    \
             </testcase>\n  </testsuite>\n"
        );
    }
    for file in &document.files {
        suite(&mut text, file);
    }
    text.push_str("</testsuites>\n");
    text
}

fn suite(text: &mut String, file: &VerifiedFile) {
    let path = xml(&file.path.to_string());
    let errors = file
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error);
    let _ = writeln!(
        text,
        "  <testsuite name=\"{path}\" tests=\"{}\" failures=\"{}\" errors=\"0\">",
        file.findings.len().max(1),
        errors.count()
    );
    if file.findings.is_empty() {
        let _ = writeln!(text, "    <testcase name=\"verify\" classname=\"{path}\"/>");
    }
    for finding in &file.findings {
        case(text, &path, finding);
    }
    text.push_str("  </testsuite>\n");
}

fn case(text: &mut String, path: &str, finding: &FindingDocument) {
    let mut name = finding.rule.to_owned();
    if let Some(function) = &finding.function {
        let _ = write!(name, " in {function}");
    }
    let message = xml(&finding.message.to_string());
    let mut details = format!("{path}: {}", finding.section);
    if let Some(offset) = finding.offset {
        let _ = write!(details, "+{:#x}", offset.0);
    }
    let more = [
        finding.numbers(),
        finding.help.as_ref().map(ToString::to_string),
    ];
    for more in more.into_iter().flatten() {
        let _ = write!(details, "\n{}", xml(&more));
    }
    let _ = writeln!(
        text,
        "    <testcase name=\"{}\" classname=\"{path}\">",
        xml(&name)
    );
    let _ = match finding.severity {
        Severity::Error => writeln!(
            text,
            "      <failure type=\"{}\" message=\"{message}\">{details}</failure>",
            finding.rule
        ),
        level @ (Severity::Warning | Severity::Note) => {
            writeln!(
                text,
                "      <system-out>{level}: {message}\n{details}</system-out>"
            )
        }
    };
    text.push_str("    </testcase>\n");
}

/// Escapes text for XML content and attribute values. The text has already been escaped for a terminal.
fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // XML does not allow these characters, not even as references.
            '\u{fffe}' | '\u{ffff}' | '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' => {
                let _ = write!(escaped, "\\u{{{:x}}}", u32::from(c));
            }
            c => match reference(c) {
                Some(reference) => escaped.push_str(reference),
                None => escaped.push(c),
            },
        }
    }
    escaped
}
