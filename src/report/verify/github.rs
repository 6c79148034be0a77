//! Writes annotations for GitHub workflows: lines on standard output that the runner shows next to the source.
//!
//! Text of a file is first escaped as for a terminal, and then as GitHub's own toolkit escapes it. No text can end a message or start another line.
//! Source: GitHub, "Workflow commands for GitHub Actions", "Setting an error message".

use core::fmt::Write;

use super::place::Place;
use super::{FindingDocument, VerifiedFile, VerifyDocument};
use crate::untrusted::Untrusted;
use crate::verify::Severity;

/// The maximum number of annotations of a level that GitHub shows for a step. Source: GitHub, "Usage limits for annotations".
const MOST: usize = 10;

/// Returns a line for each finding and for each unreadable file, the worst first. GitHub shows at most ten annotations of each level. If there are
/// more, the last one gives their number.
///
/// A finding is shown at its source line. If the line is not known or not in the folder, the finding is shown at the code object. A file outside the
/// folder is named only in the message.
///
/// * `folder`: the absolute path of the checked folder. Paths in the annotations are relative to it.
#[must_use]
pub fn github_annotations(document: &VerifyDocument, folder: &str) -> String {
    let mut levels = Levels::default();
    for file in &document.unreadable {
        levels.add("error", || {
            let mut properties = Vec::new();
            let mut message = file.message.to_string();
            match place(&file.path, folder) {
                Some(path) => properties.push(("file", path)),
                None => message = format!("{}: {message}", file.path),
            }
            properties.push(("title", "cannot be checked".to_owned()));
            (properties, message)
        });
    }
    for (file, finding) in document.worst_first() {
        levels.add(command(finding.severity), || {
            let mut properties = Vec::new();
            let source = finding
                .line()
                .and_then(|(path, line)| Some((place(path, folder)?, line)));
            match source {
                Some((path, line)) => {
                    properties.extend([("file", path), ("line", line.to_string())]);
                }
                None => properties.extend(place(file.file(), folder).map(|path| ("file", path))),
            }
            properties.push(("title", finding.rule.to_owned()));
            (properties, message(file, finding))
        });
    }
    levels.finish()
}

/// The properties and the message of an annotation.
type Annotation = (Vec<(&'static str, String)>, String);

/// The annotations by level, in the order of the first annotation of each level.
#[derive(Default)]
struct Levels {
    /// The command, the first annotations, and the number of all annotations.
    levels: Vec<(&'static str, Vec<Annotation>, usize)>,
}

impl Levels {
    fn add(&mut self, command: &'static str, annotation: impl FnOnce() -> Annotation) {
        let found = self.levels.iter_mut().find(|level| level.0 == command);
        let (_, annotations, count) = match found {
            Some(level) => level,
            None => {
                self.levels.push((command, Vec::new(), 0));
                let Some(level) = self.levels.last_mut() else {
                    return;
                };
                level
            }
        };
        *count += 1;
        if annotations.len() < MOST {
            annotations.push(annotation());
        }
    }

    fn finish(self) -> String {
        let mut text = String::new();
        for (command, mut annotations, count) in self.levels {
            if count > MOST {
                annotations.truncate(MOST - 1);
                let more = count - annotations.len();
                let message = format!("{more} more; the summary of the step counts them by rule");
                annotations.push((vec![("title", "hetdwarf verify".to_owned())], message));
            }
            for (properties, message) in annotations {
                line(&mut text, command, &properties, &message);
            }
        }
        text
    }
}

/// Returns the relative path of a file in the folder.
fn place(path: &Untrusted<'_>, folder: &str) -> Option<String> {
    match Place::of(path.raw(), folder) {
        Place::InFolder(path) => Some(Untrusted::from(path).to_string()),
        Place::Elsewhere(_) => None,
    }
}

fn command(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    }
}

/// Returns the message with the place in the code object, since the annotation itself shows only the source.
fn message(file: &VerifiedFile, finding: &FindingDocument) -> String {
    let mut text = finding.message.to_string();
    let _ = write!(text, "\n{}: {}", file.path, finding.section);
    if let Some(offset) = finding.offset {
        let _ = write!(text, "+{:#x}", offset.0);
    }
    if let Some(function) = &finding.function {
        let _ = write!(text, " in {function}");
    }
    if let Some(numbers) = finding.numbers() {
        let _ = write!(text, "\n{numbers}");
    }
    if let Some(help) = &finding.help {
        let _ = write!(text, "\n{help}");
    }
    text
}

/// Writes a line `::COMMAND NAME=VALUE,…::MESSAGE`.
fn line(text: &mut String, command: &str, properties: &[(&str, String)], message: &str) {
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

/// The characters that are escaped in a message: line ends, and the escape character.
const MESSAGE: &[char] = &['%', '\r', '\n'];
/// The characters that are escaped in a property's value.
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
