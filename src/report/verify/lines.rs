//! Writes a line for each finding, for `FileCheck`, `grep` and `diff`. The line stays the same when code only moves.

use core::fmt::Write;

use super::VerifyDocument;
use super::fingerprint::without_addresses;
use crate::untrusted::Untrusted;

/// Returns lines of the form `PATH: LEVEL: RULE: FUNCTION: MESSAGE`, in the order of the document. The function is `-` if it is not known. The number
/// of findings of the cause follows in brackets. Addresses in messages are `0x…`.
#[must_use]
pub fn lines(document: &VerifyDocument) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    for file in &document.unreadable {
        let _ = writeln!(
            text,
            "{}: error: unreadable: -: {}",
            file.path, file.message
        );
    }
    for (file, finding) in document.findings() {
        let _ = write!(
            text,
            "{}: {}: {}: ",
            file.path, finding.severity, finding.rule
        );
        let _ = match &finding.function {
            Some(function) => write!(text, "{function}"),
            None => write!(text, "-"),
        };
        let message = Untrusted::from(without_addresses(finding.message.raw()));
        let _ = write!(text, ": {message}");
        if let Some(numbers) = finding.numbers() {
            let _ = write!(text, " [{numbers}]");
        }
        text.push('\n');
    }
    text
}
