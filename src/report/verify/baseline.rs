//! Known findings, so that only new ones count.
//!
//! A finding is known by its rule, the family of compilers, the function and the kind of its cause. Registers, addresses,
//! offsets, versions and paths are not in it: a baseline stays true when code moves, when it is built with another level of
//! optimisation or for another target, and when the folder has another name.

use core::fmt::Write;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::producer::family;
use super::{FindingDocument, VerifiedFile, VerifyDocument, count};
use crate::error::{Error, Result};
use crate::untrusted::Untrusted;
use crate::verify::Severity;

const FORMAT: &str = "hetdwarf-baseline/2";

/// Findings that are known.
///
/// The file form has a line for each, sorted, so that a change of it is read easily.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    known: BTreeMap<BaselineKey, Known>,
}

/// The identity of a finding across builds.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BaselineKey {
    /// The rule's name.
    pub rule: Untrusted<'static>,
    /// The family of compilers: `LLVM`, `GCC`.
    pub producer: Untrusted<'static>,
    /// The linkage name of the function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<Untrusted<'static>>,
    /// The kind of cause, of what machine code contradicts.
    #[serde(default, skip_serializing_if = "Untrusted::is_empty")]
    pub kind: Untrusted<'static>,
    /// The code object, for what is in no function and is not a habit of the compiler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Untrusted<'static>>,
}

/// The number and places of known findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    /// The most in one code object.
    count: u64,
    is_note: bool,
    files: BTreeSet<Untrusted<'static>>,
}

/// Findings with the same identity.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineEntry {
    /// Their identity.
    #[serde(flatten)]
    pub key: BaselineKey,
    /// In how many functions of one code object they are, at most; without a function, how many there are.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u64,
    /// True if all were notes, which not every [profile](crate::verify::Profile) asks for.
    #[serde(default, rename = "note", skip_serializing_if = "is_false")]
    pub is_note: bool,
    /// The code objects in which they were seen. What is in another one is known all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Untrusted<'static>>,
}

fn one() -> u64 {
    1
}

fn is_false(flag: &bool) -> bool {
    !*flag
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

impl BaselineKey {
    /// * `path`: what the code object is called in the baseline.
    fn of(
        file: &VerifiedFile,
        finding: &FindingDocument,
        path: impl FnOnce() -> Untrusted<'static>,
    ) -> BaselineKey {
        let function = finding.function.clone().filter(|_| !finding.is_example);
        let is_anonymous = function.is_none() && !finding.is_example;
        BaselineKey {
            rule: finding.rule.into(),
            producer: family(file),
            function,
            kind: finding.kind.clone().into(),
            path: is_anonymous.then(path),
        }
    }

    /// What is counted of a key in a code object: of what machine code contradicts the functions, since there can be several
    /// of one name, of what is in no function each finding.
    fn unit(&self, finding: &FindingDocument) -> Unit {
        match (&self.path, self.kind.is_empty()) {
            (Some(_), _) => Unit::Each,
            (None, false) => Unit::Function(finding.offset.map(|offset| offset.0)),
            (None, true) => Unit::All,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    Each,
    Function(Option<u128>),
    All,
}

/// The units of each key in a code object.
#[derive(Default)]
struct Counter {
    seen: BTreeMap<BaselineKey, BTreeMap<Unit, u64>>,
}

impl Counter {
    /// Which unit of its key this is, from 1.
    fn number(&mut self, key: &BaselineKey, unit: Unit) -> u64 {
        let units = self.seen.entry(key.clone()).or_default();
        let next = count(units.len()) + 1;
        let number = units.entry(unit).or_insert(next);
        let found = *number;
        if unit == Unit::Each {
            *number += 1;
        }
        found
    }
}

impl Baseline {
    /// Takes everything in a document that is not grouped as known.
    ///
    /// * `name`: what the baseline calls the code object at a path.
    #[must_use]
    pub fn of(
        document: &VerifyDocument,
        name: impl Fn(&Untrusted<'static>) -> Untrusted<'static>,
    ) -> Baseline {
        let mut baseline = Baseline::default();
        for file in &document.files {
            baseline.add(file, &name(&file.path));
        }
        baseline
    }

    /// Takes everything in a code object as known.
    ///
    /// * `path`: what the baseline calls it.
    pub fn add(&mut self, file: &VerifiedFile, path: &Untrusted<'static>) {
        let mut counter = Counter::default();
        for finding in &file.findings {
            let key = BaselineKey::of(file, finding, || path.clone());
            let number = counter.number(&key, key.unit(finding));
            let is_note = finding.severity == Severity::Note;
            let known = self.known.entry(key).or_insert_with(|| Known {
                is_note,
                ..Known::default()
            });
            known.is_note &= is_note;
            known.count = known.count.max(number);
            if !known.files.contains(path) {
                known.files.insert(path.clone());
            }
        }
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
                "its format is `{}`; expected `{FORMAT}`, which --write-baseline writes",
                Untrusted::from(file.format)
            )));
        }
        let mut known: BTreeMap<BaselineKey, Known> = BTreeMap::new();
        for entry in file.findings {
            let known = known.entry(entry.key).or_insert_with(|| Known {
                is_note: entry.is_note,
                ..Known::default()
            });
            known.is_note &= entry.is_note;
            known.count = known.count.max(entry.count);
            known.files.extend(entry.files);
        }
        Ok(Baseline { known })
    }

    /// Returns the file form: a line for each entry.
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

    /// Returns the entries, by rule, producer, function, kind and path.
    pub fn entries(&self) -> impl Iterator<Item = BaselineEntry> + '_ {
        self.known.iter().map(|(key, known)| BaselineEntry {
            key: key.clone(),
            count: known.count,
            is_note: known.is_note,
            files: known.files.iter().cloned().collect(),
        })
    }

    /// Returns the entries that `other` does not have, or has less often.
    #[must_use]
    pub fn beyond(&self, other: &Baseline) -> Baseline {
        let more = |(key, known): &(&BaselineKey, &Known)| {
            let before = other.known.get(*key).map_or(0, |known| known.count);
            known.count > before
        };
        let known = self.known.iter().filter(more);
        Baseline {
            known: known
                .map(|(key, known)| (key.clone(), known.clone()))
                .collect(),
        }
    }

    /// Takes known findings out of a document that is not grouped and counts them in its summary. Of findings that look
    /// alike the first ones are taken.
    ///
    /// What is listed and was not found becomes [`stale`](VerifyDocument::stale).
    ///
    /// * `name`: as in [`of`](Baseline::of);
    /// * `checked`: whether what the baseline calls so was to be checked; of other paths nothing can be said.
    pub fn apply(
        &self,
        document: &mut VerifyDocument,
        name: impl Fn(&Untrusted<'static>) -> Untrusted<'static>,
        checked: impl Fn(&Untrusted<'_>) -> bool,
    ) {
        let mut known = KnownFindings::new(self);
        for file in &mut document.files {
            let path = name(&file.path);
            known.take(file, &path);
        }
        known.finish(document, name, checked);
        document.count();
    }
}

/// Takes what a baseline knows out of files that come one by one: [`Baseline::apply`] for what is not in memory at once.
#[derive(Debug)]
pub struct KnownFindings<'b> {
    baseline: &'b Baseline,
    /// The most of each that one code object has.
    found: BTreeMap<BaselineKey, u64>,
    taken: u64,
}

impl<'b> KnownFindings<'b> {
    /// Nothing is taken yet.
    #[must_use]
    pub fn new(baseline: &'b Baseline) -> KnownFindings<'b> {
        KnownFindings {
            baseline,
            found: BTreeMap::new(),
            taken: 0,
        }
    }

    /// Takes known findings out of a code object. Of findings that look alike the first ones are taken.
    ///
    /// * `path`: what the baseline calls it.
    pub fn take(&mut self, file: &mut VerifiedFile, path: &Untrusted<'static>) {
        let mut counter = Counter::default();
        let findings = core::mem::take(&mut file.findings);
        let is_new = |finding: &FindingDocument| {
            let key = BaselineKey::of(file, finding, || path.clone());
            let Some(known) = self.baseline.known.get(&key) else {
                return true;
            };
            let number = counter.number(&key, key.unit(finding));
            let most = self.found.entry(key).or_default();
            *most = (*most).max(number);
            if number > known.count {
                return true;
            }
            self.taken += 1;
            false
        };
        file.findings = findings.into_iter().filter(is_new).collect();
    }

    /// Says in the document of all files how much was known, and what is [`stale`](VerifyDocument::stale): listed, and
    /// not found.
    ///
    /// * `name`: as in [`of`](Baseline::of);
    /// * `checked`: whether what the baseline calls so was to be checked; of other paths nothing can be said.
    pub fn finish(
        self,
        document: &mut VerifyDocument,
        name: impl Fn(&Untrusted<'static>) -> Untrusted<'static>,
        checked: impl Fn(&Untrusted<'_>) -> bool,
    ) {
        // What is the same as another code object was not looked at by itself.
        let same: BTreeSet<Untrusted<'_>> = (document.files.iter())
            .flat_map(|file| file.same.iter().map(&name))
            .collect();
        let stale = self.baseline.entries().filter_map(|mut entry| {
            let now = self.found.get(&entry.key).copied().unwrap_or(0);
            let is_checked = |path| !same.contains(path) && checked(path);
            if now >= entry.count || !entry.files.iter().all(is_checked) {
                return None;
            }
            entry.count = entry.count.saturating_sub(now);
            Some(entry)
        });
        document.stale = stale.collect();
        let known = &mut document.summary.known;
        *known = known.saturating_add(self.taken);
    }
}
