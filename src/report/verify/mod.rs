//! `hetdwarf-verify/1`: the findings in a set of code objects, and their other forms.
//!
//! [`check_file`] checks one file, and [`VerifyDocument::new`] joins the results. [`Gathering`] joins results that do not fit in memory together.
//! [`Baseline`] removes known findings. [`SarifLog`] and [`github_annotations`] convert the document to other formats. The command finds the files
//! and writes text for people.

mod baseline;
mod check;
mod consequence;
mod fingerprint;
mod gathering;
mod github;
mod group;
mod junit;
mod kind;
mod lines;
mod place;
mod producer;
mod read_record;
mod record;
mod rules;
mod sarif;
mod summary;

pub use baseline::{Baseline, BaselineEntry, BaselineKey, KnownFindings};
pub use check::{
    CheckedFile, check_file, check_file_with, check_file_within, check_host_file, check_named_file,
    check_packaged_file,
};
pub(super) use fingerprint::Fnv;
pub use gathering::Gathering;
pub use github::github_annotations;
pub use group::WIDESPREAD;
pub use junit::junit;
pub use lines::lines;
pub use record::{
    CheckedObject, FileRecord, FileRecords, FindingRecord, FolderRecord, sha256, unchecked,
};
pub use rules::{RuleDocument, RulesDocument};
pub use sarif::SarifLog;
pub use summary::{RuleSummary, SummaryDocument};

use core::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::completeness::{is_false, is_true};
use super::number::{Hex, hex_bytes};
use crate::inspect::{MissingSplit, Program};
use crate::plural::counted;
use crate::untrusted::Untrusted;
use crate::verify::{Evidence, Excerpt, Finding, Severity, Verdict};
use place::normalised;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct VerifyDocument {
    /// `hetdwarf-verify/1`.
    pub format: &'static str,
    /// The code objects, sorted by path.
    pub files: Vec<VerifiedFile>,
    /// The unreadable files and code objects, sorted by path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableFile>,
    /// The entries of the baseline for which no finding exists any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<BaselineEntry>,
    /// The counts of each rule, the worst first, if the document is [grouped](VerifyDocument::grouped).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleSummary>,
    /// The total counts.
    pub summary: VerifySummary,
}

/// A code object that was checked.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct VerifiedFile {
    /// The file and, for a container, the member or entry: `lib.a(x.o)`, `k.hipfb:hip-amdgcn-amd-amdhsa--gfx90a`.
    pub path: Untrusted<'static>,
    /// The file that contains the code object; absent if that is `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<Untrusted<'static>>,
    /// The compilers that its units name, sorted.
    pub producers: Vec<Untrusted<'static>>,
    /// The target ID.
    pub target: Untrusted<'static>,
    /// The findings, sorted by section, offset, address and rule.
    pub findings: Vec<FindingDocument>,
    /// The number of findings that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// False if a limit ended the check early; absent otherwise.
    #[serde(skip_serializing_if = "is_true")]
    pub complete: bool,
    /// The other code objects of the file with the same bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub same: Vec<Untrusted<'static>>,
    /// The units that were not checked, because their entries are in `.dwo` files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_split: Option<MissingSplit>,
}

/// A place where a rule is broken.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct FindingDocument {
    /// The name of the rule.
    pub rule: &'static str,
    /// `error`, `warning` or `note`.
    pub severity: Severity,
    /// The section at fault.
    pub section: &'static str,
    /// The offset in the section, in bytes.
    pub offset: Option<Hex>,
    /// The first affected address in the code object.
    pub pc: Option<Hex>,
    /// The function that contains this address.
    pub function: Option<Untrusted<'static>>,
    /// The source line of this address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceDocument>,
    /// The row or expression at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<Excerpt>,
    /// The problem, as text.
    pub message: Untrusted<'static>,
    /// The correct contents, if known.
    pub help: Option<Untrusted<'static>>,
    /// The section of the specification that states the rule.
    pub spec: &'static str,
    /// A hash of 16 digits that stays the same when code only moves.
    pub fingerprint: String,
    /// The registers of the caller whose values a debugger gets wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub registers: Vec<String>,
    /// The surrounding instructions, and the directives of the correct description. Present if machine code contradicts the debugging information.
    /// For a group of findings, this is the evidence of the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The address of the causing instruction.
    #[serde(rename = "cause_pc", skip_serializing_if = "Option::is_none")]
    pub cause: Option<Hex>,
    /// The kind of a contradiction with machine code: the subject of the row and the condition, for example `scalar` or `vector,lanes-inactive`. It
    /// contains no register, address or offset.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Set if the finding stands for its whole unit or section. Its place and function are then only an example.
    #[serde(skip_serializing_if = "is_false")]
    pub is_example: bool,
    /// The other findings of the same cause, if the document is [grouped](VerifyDocument::grouped).
    #[serde(flatten)]
    pub group: Option<FindingGroup>,
}

/// The findings of one cause.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FindingGroup {
    /// The number of findings, including the shown one.
    pub count: u64,
    /// The number of affected functions. A file with findings outside known functions counts as one.
    pub functions: u64,
    /// The number of affected code objects.
    pub files: u64,
    /// The places of the other findings, sorted by path and then in the order of the file. A document lists some ten thousand places. Further places
    /// are only counted.
    pub also: Vec<OtherPlace>,
}

/// The place of one or more other findings of the same cause.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherPlace {
    /// The code object, if it differs from the code object of the shown finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Untrusted<'static>>,
    /// The first affected address in the code object.
    pub pc: Option<Hex>,
    /// The offset in the section, in bytes.
    pub offset: Option<Hex>,
    /// The section at fault.
    pub section: &'static str,
    /// The function that contains the address.
    pub function: Option<Untrusted<'static>>,
    /// The registers of the caller whose values a debugger gets wrong. There is one for each finding at this place, if the rule is about registers.
    pub registers: Vec<String>,
}

impl OtherPlace {
    /// Returns true if the places differ only in registers, so that they can be joined.
    fn is_same_place(&self, other: &OtherPlace) -> bool {
        let place = |one: &OtherPlace| (one.pc, one.offset, one.section);
        !other.registers.is_empty()
            && place(self) == place(other)
            && (&self.path, &self.function) == (&other.path, &other.function)
    }
}

/// A source line.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceDocument {
    /// The path from the line table, without `.` components and without `..` after a name.
    pub file: Untrusted<'static>,
    /// The line, from 1; 0 if the line table names none.
    pub line: u64,
    /// The text of the line, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Untrusted<'static>>,
    /// The MD5 of the file at compilation as 32 hexadecimal digits, if the line table has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub md5: Option<String>,
    /// Set if the file with the text has another MD5, so that the line may be another one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub md5_differs: bool,
}

impl SourceDocument {
    /// Creates a source line without its text.
    #[must_use]
    pub fn new(file: impl Into<Untrusted<'static>>, line: u64) -> SourceDocument {
        SourceDocument {
            file: file.into(),
            line,
            text: None,
            md5: None,
            md5_differs: false,
        }
    }

    fn of(finding: &Finding) -> Option<SourceDocument> {
        let source = finding.source.as_ref()?;
        Some(SourceDocument {
            text: source.text.clone(),
            md5: source.md5.map(|md5| hex_bytes(&md5)),
            ..SourceDocument::new(normalised(source.file.raw()), source.line)
        })
    }
}

/// A file, or a code object in a file, that could not be read.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnreadableFile {
    /// The path of the file, with the name of the code object in it.
    pub path: Untrusted<'static>,
    /// The reason why it could not be read.
    pub message: Untrusted<'static>,
    /// True if the file is valid, but its code is in another file that was not found.
    #[serde(default, skip_serializing_if = "is_false")]
    pub code_is_elsewhere: bool,
}

impl UnreadableFile {
    /// Creates the record of a file or code object that could not be read.
    #[must_use]
    pub fn new(
        path: impl Into<Untrusted<'static>>,
        message: impl Into<Untrusted<'static>>,
    ) -> UnreadableFile {
        UnreadableFile {
            path: path.into(),
            message: message.into(),
            code_is_elsewhere: false,
        }
    }

    /// Creates the record of a file whose code is in another file that was not found.
    #[must_use]
    pub fn elsewhere(
        path: impl Into<Untrusted<'static>>,
        message: impl Into<Untrusted<'static>>,
    ) -> UnreadableFile {
        UnreadableFile {
            code_is_elsewhere: true,
            ..UnreadableFile::new(path, message)
        }
    }
}

/// The counts of a document.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifySummary {
    /// The number of checked code objects.
    pub files: u64,
    /// The number of findings with severity error. If the document is [grouped](VerifyDocument::grouped), this field and the next two count causes.
    pub errors: u64,
    /// The number of findings with severity warning.
    pub warnings: u64,
    /// The number of findings with severity note.
    pub notes: u64,
    /// The number of all findings, if the document is grouped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<u64>,
    /// The number of findings in the baseline, which are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub known: u64,
    /// The number of files or code objects that could not be read, including the files of the next field.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreadable: u64,
    /// The number of files that were not checked because their code is in another file that was not found.
    #[serde(skip_serializing_if = "is_zero")]
    pub unchecked: u64,
}

impl VerifySummary {
    /// Returns the number of listed findings. This is the number of causes if the document is grouped.
    #[must_use]
    pub fn causes(&self) -> u64 {
        (self.errors.saturating_add(self.warnings)).saturating_add(self.notes)
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl VerifyDocument {
    /// Joins the results of files. Their order does not matter.
    #[must_use]
    pub fn new(checked: impl IntoIterator<Item = CheckedFile>) -> VerifyDocument {
        let mut gathering = Gathering::each();
        for file in checked {
            gathering.add(file);
        }
        gathering.finish()
    }

    fn empty() -> VerifyDocument {
        VerifyDocument {
            format: "hetdwarf-verify/1",
            files: Vec::new(),
            unreadable: Vec::new(),
            stale: Vec::new(),
            rules: Vec::new(),
            summary: VerifySummary::default(),
        }
    }

    /// Returns true if at least one finding is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.summary.errors > 0
    }

    /// Returns every finding with its code object.
    pub fn findings(&self) -> impl Iterator<Item = (&VerifiedFile, &FindingDocument)> {
        self.files
            .iter()
            .flat_map(|file| file.findings.iter().map(move |finding| (file, finding)))
    }

    /// Returns every finding with its code object, the worst first: errors before warnings, and causes with more findings first.
    fn worst_first(&self) -> Vec<(&VerifiedFile, &FindingDocument)> {
        let mut findings: Vec<_> = self.findings().collect();
        findings.sort_by_key(|(_, finding)| Reverse((finding.severity, finding.count())));
        findings
    }

    fn count(&mut self) {
        let known = self.summary.known;
        let elsewhere = self.unreadable.iter().filter(|file| file.code_is_elsewhere);
        let mut summary = VerifySummary {
            files: count(self.files.len()),
            unreadable: count(self.unreadable.len()),
            unchecked: count(elsewhere.count()),
            known,
            findings: self.summary.findings,
            ..VerifySummary::default()
        };
        for (_, finding) in self.findings() {
            let number = match finding.severity {
                Severity::Error => &mut summary.errors,
                Severity::Warning => &mut summary.warnings,
                Severity::Note => &mut summary.notes,
            };
            *number += 1;
        }
        self.summary = summary;
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

impl VerifiedFile {
    /// Creates a code object with its findings.
    ///
    /// * `path`: the name of the code object; `target`: its target ID.
    #[must_use]
    pub fn with_findings(
        path: impl Into<Untrusted<'static>>,
        target: impl Into<Untrusted<'static>>,
        findings: Vec<FindingDocument>,
    ) -> VerifiedFile {
        VerifiedFile {
            path: path.into(),
            container: None,
            producers: Vec::new(),
            target: target.into(),
            findings,
            left_out: 0,
            complete: true,
            same: Vec::new(),
            missing_split: None,
        }
    }

    /// Creates the document of a checked program.
    ///
    /// * `path`: the name of the code object.
    #[must_use]
    pub fn new(path: &str, program: &Program<'_>, verdict: &Verdict) -> VerifiedFile {
        let info = program.info();
        let mut producers: Vec<String> = info
            .unit_ids()
            .filter_map(|unit| Some(info.unit_info(unit).ok()?.producer?.into_owned()))
            .collect();
        producers.sort();
        producers.dedup();
        let findings = verdict.findings.iter();
        let findings = findings.map(|finding| FindingDocument::of(path, finding));
        let target = program.object().target().to_string();
        VerifiedFile {
            producers: producers.into_iter().map(Untrusted::from).collect(),
            left_out: verdict.left_out,
            complete: verdict.stopped.is_none(),
            missing_split: program.missing_split(),
            ..VerifiedFile::with_findings(path.to_owned(), target, findings.collect())
        }
    }

    /// Returns the file that contains the code object.
    #[must_use]
    pub fn file(&self) -> &Untrusted<'static> {
        self.container.as_ref().unwrap_or(&self.path)
    }
}

impl FindingGroup {
    /// Returns the counts as text, if there is more than one finding: `713 findings in 12 functions of 31 code objects`.
    #[must_use]
    pub fn numbers(&self) -> Option<String> {
        (self.count > 1).then(|| {
            format!(
                "{} in {} of {}",
                counted(self.count, "finding"),
                counted(self.functions, "function"),
                counted(self.files, "code object")
            )
        })
    }
}

impl FindingDocument {
    /// Returns [`FindingGroup::numbers`], if the document is grouped.
    fn numbers(&self) -> Option<String> {
        self.group.as_ref().and_then(FindingGroup::numbers)
    }

    /// Returns the number of findings that this finding represents.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.group.as_ref().map_or(1, |group| group.count)
    }

    /// Creates a finding with only the mandatory fields.
    ///
    /// * `rule`, `section` and `spec`: see the fields.
    #[must_use]
    pub fn new(
        rule: &'static str,
        severity: Severity,
        section: &'static str,
        message: impl Into<Untrusted<'static>>,
        spec: &'static str,
    ) -> FindingDocument {
        FindingDocument {
            rule,
            severity,
            section,
            offset: None,
            pc: None,
            function: None,
            source: None,
            excerpt: None,
            message: message.into(),
            help: None,
            spec,
            fingerprint: String::new(),
            registers: Vec::new(),
            evidence: None,
            cause: None,
            kind: String::new(),
            is_example: false,
            group: None,
        }
    }

    fn of(path: &str, finding: &Finding) -> FindingDocument {
        let contradiction = finding.contradiction.as_deref();
        FindingDocument {
            offset: finding.offset.map(Hex::from),
            pc: finding.pc.map(Hex::from),
            function: finding.function.clone(),
            source: SourceDocument::of(finding),
            excerpt: finding.excerpt.clone(),
            help: finding.help.clone(),
            fingerprint: fingerprint::of(path, finding),
            registers: contradiction.and_then(kind::register).into_iter().collect(),
            evidence: finding.evidence.as_deref().cloned(),
            cause: contradiction.map(|found| Hex::from(found.cause_pc)),
            kind: contradiction.map(kind::of).unwrap_or_default(),
            is_example: finding.is_example,
            ..FindingDocument::new(
                finding.rule.id,
                finding.severity,
                finding.section,
                finding.message.clone(),
                finding.rule.spec,
            )
        }
    }

    /// Returns the source line, if the line table names one.
    fn line(&self) -> Option<(&Untrusted<'static>, u64)> {
        let source = self.source.as_ref().filter(|source| source.line > 0)?;
        Some((&source.file, source.line))
    }
}

#[cfg(test)]
mod tests;
