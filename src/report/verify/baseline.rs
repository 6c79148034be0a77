//! What was found before, so that only what is new counts.

use core::fmt::Write;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::fingerprint::without_addresses;
use super::{FindingDocument, VerifiedFile, VerifyDocument};
use crate::error::{Error, Result};
use crate::untrusted::Untrusted;

const FORMAT: &str = "hetdwarf-baseline/1";

/// Findings that are known.
///
/// The file form has a line for each, sorted, so that a change of it is read easily. Addresses are not in it: it
/// stays true when code only moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    known: BTreeMap<Key, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    path: Untrusted<'static>,
    rule: Untrusted<'static>,
    function: Option<Untrusted<'static>>,
    message: Untrusted<'static>,
}

/// Findings that look alike.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineEntry {
    /// The code object.
    pub path: Untrusted<'static>,
    /// The rule's name.
    pub rule: Untrusted<'static>,
    /// The function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<Untrusted<'static>>,
    /// The message, with `0x…` in place of addresses.
    pub message: Untrusted<'static>,
    /// How many there are.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u64,
}

fn one() -> u64 {
    1
}

fn is_one(count: &u64) -> bool {
    *count == 1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    findings: Vec<BaselineEntry>,
}

impl Key {
    fn of(file: &VerifiedFile, finding: &FindingDocument) -> Key {
        Key {
            path: file.path.clone(),
            rule: finding.rule.into(),
            function: finding.function.clone(),
            message: without_addresses(finding.message.raw()).into(),
        }
    }
}

impl Baseline {
    /// Takes everything in a document as known.
    #[must_use]
    pub fn of(document: &VerifyDocument) -> Baseline {
        let mut known = BTreeMap::new();
        for (file, finding) in document.findings() {
            let count: &mut u64 = known.entry(Key::of(file, finding)).or_default();
            *count = count.saturating_add(1);
        }
        Baseline { known }
    }

    /// Reads the file form.
    ///
    /// # Errors
    /// [`Malformed`](crate::error::ErrorKind::Malformed) if it is no JSON or has another format.
    pub fn from_json(bytes: &[u8]) -> Result<Baseline> {
        let bad = |reason: String| Error::malformed("baseline", reason);
        let file: File = serde_json::from_slice(bytes).map_err(|error| bad(error.to_string()))?;
        if file.format != FORMAT {
            return Err(bad(format!(
                "its format is `{}`; expected `{FORMAT}`",
                Untrusted::from(file.format)
            )));
        }
        let mut known = BTreeMap::new();
        for entry in file.findings {
            let key = Key {
                path: entry.path,
                rule: entry.rule,
                function: entry.function,
                message: entry.message,
            };
            let count: &mut u64 = known.entry(key).or_default();
            *count = count.saturating_add(entry.count);
        }
        Ok(Baseline { known })
    }

    /// The file form: a line for each entry.
    ///
    /// # Errors
    /// None that can happen: texts and numbers always are JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let mut text = format!("{{\"format\": \"{FORMAT}\", \"findings\": [");
        for (number, entry) in self.entries().enumerate() {
            text.push_str(if number == 0 { "\n" } else { ",\n" });
            // Writing to a string does not fail.
            let _ = write!(text, "  {}", serde_json::to_string(&entry)?);
        }
        text.push_str("\n]}\n");
        Ok(text)
    }

    /// The entries, by path, rule, function and message.
    pub fn entries(&self) -> impl Iterator<Item = BaselineEntry> + '_ {
        self.known.iter().map(|(key, count)| BaselineEntry {
            path: key.path.clone(),
            rule: key.rule.clone(),
            function: key.function.clone(),
            message: key.message.clone(),
            count: *count,
        })
    }

    /// Takes known findings out of a document and counts them in its summary. Of findings that look alike the first
    /// ones are taken.
    ///
    /// What is listed and was not found becomes [`stale`](VerifyDocument::stale).
    ///
    /// * `checked`: whether what has this path was to be checked; of other paths nothing can be said.
    pub fn apply(&self, document: &mut VerifyDocument, checked: impl Fn(&Untrusted<'_>) -> bool) {
        let mut left = self.known.clone();
        let mut taken: u64 = 0;
        for file in &mut document.files {
            let findings = core::mem::take(&mut file.findings);
            file.findings = findings
                .into_iter()
                .filter(|finding| match left.get_mut(&Key::of(file, finding)) {
                    Some(count) if *count > 0 => {
                        *count = count.saturating_sub(1);
                        taken = taken.saturating_add(1);
                        false
                    }
                    Some(_) | None => true,
                })
                .collect();
        }
        // What is the same as another code object was not looked at by itself.
        let same: BTreeSet<&str> = (document.files.iter())
            .flat_map(|file| file.same.iter().map(Untrusted::raw))
            .collect();
        left.retain(|key, count| {
            *count > 0 && !same.contains(key.path.raw()) && checked(&key.path)
        });
        document.stale = Baseline { known: left }.entries().collect();
        document.summary.known = document.summary.known.saturating_add(taken);
        document.count();
    }
}
