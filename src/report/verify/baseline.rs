//! Records known findings, so that later checks report only new ones.
//!
//! The identity of a finding is its rule, the family of compilers, the function and the kind of its cause. Registers, addresses, offsets and
//! versions are not part of it. A baseline therefore stays valid if code moves, and if the optimisation level or the target changes. The path of a
//! code object is part of it only if the finding is in no function and is not an example for a whole unit or section.

use core::fmt::Write;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::producer::family;
use super::{FindingDocument, VerifiedFile, VerifyDocument, count};
use crate::error::{Error, Result};
use crate::untrusted::Untrusted;
use crate::verify::Severity;

const FORMAT: &str = "hetdwarf-baseline/2";

/// A set of known findings.
///
/// The file form has one line for each entry. The lines are sorted, so that a diff is easy to read.
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
    /// The family of compilers, such as `LLVM` or `GCC`.
    pub producer: Untrusted<'static>,
    /// The linkage name of the function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<Untrusted<'static>>,
    /// The kind of cause, if machine code contradicts the debugging information.
    #[serde(default, skip_serializing_if = "Untrusted::is_empty")]
    pub kind: Untrusted<'static>,
    /// The code object of a finding that is in no function and is not an example for the whole unit or section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Untrusted<'static>>,
}

/// The number of known findings with one identity, and their code objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    /// The maximum number in one code object.
    count: u64,
    is_note: bool,
    files: BTreeSet<Untrusted<'static>>,
}

/// Findings with the same identity.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineEntry {
    /// The common identity of the findings.
    #[serde(flatten)]
    pub key: BaselineKey,
    /// The maximum number of affected functions in one code object. Without a function, the maximum number of findings.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u64,
    /// True if all findings were notes, which only some [profiles](crate::verify::Profile) report.
    #[serde(default, rename = "note", skip_serializing_if = "is_false")]
    pub is_note: bool,
    /// The code objects with these findings. A finding in another code object is known too.
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
    /// * `path`: returns the name of the code object in the baseline.
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

    /// Returns the unit in which findings with this key are counted within a code object. A contradiction with machine code is counted by function,
    /// because several functions can have the same name. A finding that is in no function is counted by itself.
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

/// The units of each key that were seen in a code object.
#[derive(Default)]
struct Counter {
    seen: BTreeMap<BaselineKey, BTreeMap<Unit, u64>>,
}

impl Counter {
    /// Returns the number of the unit within its key, from 1.
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
    /// Records all findings of a document that is not grouped.
    ///
    /// * `name`: returns the name in the baseline of the code object at a path.
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

    /// Records all findings of a code object.
    ///
    /// * `path`: the name of the code object in the baseline.
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
    /// [`Malformed`](crate::error::ErrorKind::Malformed) if the bytes are not JSON or have another format.
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

    /// Returns the file form, with one line for each entry.
    ///
    /// # Errors
    /// Never in practice, because texts and numbers can always be written as JSON.
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

    /// Returns the entries, sorted by rule, producer, function, kind and path.
    pub fn entries(&self) -> impl Iterator<Item = BaselineEntry> + '_ {
        self.known.iter().map(|(key, known)| BaselineEntry {
            key: key.clone(),
            count: known.count,
            is_note: known.is_note,
            files: known.files.iter().cloned().collect(),
        })
    }

    /// Returns the entries that `other` lacks or has with a lower count.
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

    /// Removes known findings from a document that is not grouped, and counts them in its summary. If several findings have the same identity, the
    /// first ones are removed.
    ///
    /// Entries without a finding are listed in [`stale`](VerifyDocument::stale).
    ///
    /// * `name`: as in [`of`](Baseline::of);
    /// * `checked`: returns true if the code object with this name in the baseline was to be checked. Entries of other code objects are never stale.
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

/// Removes known findings from files that arrive one by one. It does the work of [`Baseline::apply`] for documents that do not fit in memory.
#[derive(Debug)]
pub struct KnownFindings<'b> {
    baseline: &'b Baseline,
    /// The maximum number of findings of each key in one code object.
    found: BTreeMap<BaselineKey, u64>,
    taken: u64,
}

impl<'b> KnownFindings<'b> {
    /// Starts without any removed findings.
    #[must_use]
    pub fn new(baseline: &'b Baseline) -> KnownFindings<'b> {
        KnownFindings {
            baseline,
            found: BTreeMap::new(),
            taken: 0,
        }
    }

    /// Removes known findings from a code object. If several findings have the same identity, the first ones are removed.
    ///
    /// * `path`: the name of the code object in the baseline.
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

    /// Adds the number of known findings to the document of all files. Entries without a finding are listed in [`stale`](VerifyDocument::stale).
    ///
    /// * `name`: as in [`of`](Baseline::of);
    /// * `checked`: returns true if the code object with this name in the baseline was to be checked. Entries of other code objects are never stale.
    pub fn finish(
        self,
        document: &mut VerifyDocument,
        name: impl Fn(&Untrusted<'static>) -> Untrusted<'static>,
        checked: impl Fn(&Untrusted<'_>) -> bool,
    ) {
        // A code object that is equal to another one was not checked separately.
        let same: BTreeSet<Untrusted<'_>> = (document.files.iter())
            .flat_map(|file| file.same.iter().map(&name))
            .collect();
        let stale = self.baseline.entries().filter_map(|mut entry| {
            let now = self.found.get(&entry.key).copied().unwrap_or(0);
            let is_checked = |path| !same.contains(path) && checked(path);
            if now >= entry.count || !entry.files.iter().all(is_checked) {
                return None;
            }
            entry.count -= now;
            Some(entry)
        });
        document.stale = stale.collect();
        let known = &mut document.summary.known;
        *known = known.saturating_add(self.taken);
    }
}
