//! `hetdwarf-verify/1`: the findings in a set of code objects, and their other forms.
//!
//! [`check_file`] makes the part of one file, [`VerifyDocument::new`] joins the parts, and [`Gathering`] does so for more than
//! should be in memory at once. [`Baseline`] takes away
//! what was known before; [`SarifLog`] and [`github_annotations`] say the same in the terms of others. Which
//! files there are, and text for people, are left to the command.

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
mod sarif;
mod summary;

pub use baseline::{Baseline, BaselineEntry, BaselineKey, KnownFindings};
pub use check::{
    CheckedFile, check_file, check_file_with, check_file_within, check_host_file,
    check_packaged_file,
};
pub(super) use fingerprint::Fnv;
pub use gathering::Gathering;
pub use github::github_annotations;
pub use group::WIDESPREAD;
pub use junit::junit;
pub use lines::lines;
pub use sarif::SarifLog;
pub use summary::{RuleSummary, SummaryDocument};

use core::cmp::Reverse;

use serde::Serialize;

use super::completeness::{is_false, is_true};
use super::number::Hex;
use crate::inspect::Program;
use crate::plural::counted;
use crate::untrusted::Untrusted;
use crate::verify::{Evidence, Excerpt, Finding, Rule, Severity, Verdict};
use place::normalised;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct VerifyDocument {
    /// `hetdwarf-verify/1`.
    pub format: &'static str,
    /// The code objects, by path.
    pub files: Vec<VerifiedFile>,
    /// What could not be read, by path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableFile>,
    /// What the baseline lists and nobody finds any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<BaselineEntry>,
    /// What was found of each rule, worst first, if the document is [grouped](VerifyDocument::grouped).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleSummary>,
    /// The numbers.
    pub summary: VerifySummary,
}

/// A code object that was checked.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct VerifiedFile {
    /// The file and, of a container, the member or entry: `lib.a(x.o)`, `k.hipfb:hip-amdgcn-amd-amdhsa--gfx90a`.
    pub path: Untrusted<'static>,
    /// The file that it is in; absent if that is `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<Untrusted<'static>>,
    /// The compilers that its units name, sorted.
    pub producers: Vec<Untrusted<'static>>,
    /// The target ID.
    pub target: Untrusted<'static>,
    /// What was found, by section, offset, address and rule.
    pub findings: Vec<FindingDocument>,
    /// How many more findings there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// False if a limit ended the check before everything was looked at; else it is absent.
    #[serde(skip_serializing_if = "is_true")]
    pub complete: bool,
    /// The other code objects of the file that are the same, byte for byte.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub same: Vec<Untrusted<'static>>,
}

/// A place where a rule is broken.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct FindingDocument {
    /// The rule's name.
    pub rule: &'static str,
    /// `error`, `warning` or `note`.
    pub severity: Severity,
    /// The section at fault.
    pub section: &'static str,
    /// The offset in the section, in bytes.
    pub offset: Option<Hex>,
    /// The first address in the code object at which it matters.
    pub pc: Option<Hex>,
    /// The function that this address is in.
    pub function: Option<Untrusted<'static>>,
    /// The source line of this address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceDocument>,
    /// The row or expression at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<Excerpt>,
    /// The problem, as text.
    pub message: Untrusted<'static>,
    /// What should be there instead.
    pub help: Option<Untrusted<'static>>,
    /// The section of the specification that states the rule.
    pub spec: &'static str,
    /// Stays the same when code only moves: 16 digits.
    pub fingerprint: String,
    /// The registers of the caller that a debugger gets wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub registers: Vec<String>,
    /// The instructions around that one, and the directives that would say what is right; of what machine code contradicts,
    /// and of many that are alike those of the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The address of the instruction that caused it.
    #[serde(rename = "cause_pc", skip_serializing_if = "Option::is_none")]
    pub cause: Option<Hex>,
    /// The kind of a contradiction with machine code: the subject of the row and the condition, `scalar` or
    /// `vector,lanes-inactive` for example. No register, address or offset is in it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// True if it is told for all of its unit or section: then its place and function are an example.
    #[serde(skip)]
    pub is_example: bool,
    /// The others of the same cause, if the document is [grouped](VerifyDocument::grouped).
    #[serde(flatten)]
    pub group: Option<FindingGroup>,
}

/// What a finding stands for.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FindingGroup {
    /// How many findings, with the one that is shown.
    pub count: u64,
    /// How many functions they are in; where a function is not known, the file counts as one.
    pub functions: u64,
    /// How many code objects they are in.
    pub files: u64,
    /// Where the others are, by path and then in the order of the file. Some ten thousand are listed in a document, and
    /// those beyond are only counted.
    pub also: Vec<OtherPlace>,
}

/// Where another finding of the same cause is; or several at the same place.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherPlace {
    /// The code object, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Untrusted<'static>>,
    /// As in the finding.
    pub pc: Option<Hex>,
    /// As in the finding.
    pub offset: Option<Hex>,
    /// As in the finding.
    pub section: &'static str,
    /// As in the finding.
    pub function: Option<Untrusted<'static>>,
    /// As in the finding: one for each finding at this place, if the rule is about registers.
    pub registers: Vec<String>,
}

impl OtherPlace {
    /// Returns true if another differs in registers alone, so that both can be told as one.
    fn is_same_place(&self, other: &OtherPlace) -> bool {
        let place = |one: &OtherPlace| (one.pc, one.offset, one.section);
        !other.registers.is_empty()
            && place(self) == place(other)
            && (&self.path, &self.function) == (&other.path, &other.function)
    }
}

/// A line of the source.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceDocument {
    /// The path that the line table gives, without `.`, and without `..` after a name.
    pub file: Untrusted<'static>,
    /// The line, from 1; 0 if the table names none.
    pub line: u64,
    /// What is in that line, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Untrusted<'static>>,
    /// The MD5 of the file as it was compiled, if the line table has it.
    #[serde(skip)]
    pub md5: Option<[u8; 16]>,
    /// Set if the text is that of a file with another MD5: the line may be another one.
    #[serde(skip_serializing_if = "is_false")]
    pub md5_differs: bool,
}

impl SourceDocument {
    /// Creates a line of a file, of which no more is known.
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
        let (file, line) = finding.source.as_ref()?;
        let evidence = finding.evidence.as_deref();
        Some(SourceDocument {
            text: evidence.and_then(|evidence| evidence.source.clone()),
            md5: finding.source_md5,
            ..SourceDocument::new(normalised(file.raw()), *line)
        })
    }
}

/// A file, or a code object in one, that could not be read.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct UnreadableFile {
    /// The file, and what is in it.
    pub path: Untrusted<'static>,
    /// Why.
    pub message: Untrusted<'static>,
    /// True if the file is sound, and its code is in another one that was not found.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub code_is_elsewhere: bool,
}

impl UnreadableFile {
    /// Creates a file, or a code object in one, and why it could not be read.
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

    /// Returns a file whose code is in another one that was not found.
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

/// How much was found.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifySummary {
    /// Code objects that were checked.
    pub files: u64,
    /// Findings of severity error; causes if the document is [grouped](VerifyDocument::grouped), here and in the next two.
    pub errors: u64,
    /// Findings of severity warning.
    pub warnings: u64,
    /// Findings of severity note.
    pub notes: u64,
    /// All findings, if the document is grouped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<u64>,
    /// Findings that a baseline knew and that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub known: u64,
    /// Files, or code objects in them, that could not be read; with those in the next.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreadable: u64,
    /// Files that were not checked because their code is in another file, which was not found.
    #[serde(skip_serializing_if = "is_zero")]
    pub unchecked: u64,
}

impl VerifySummary {
    /// Findings that are listed: causes if the document is grouped.
    #[must_use]
    pub fn causes(&self) -> u64 {
        (self.errors.saturating_add(self.warnings)).saturating_add(self.notes)
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl VerifyDocument {
    /// Joins what was found in files. The order in which they are given does not matter.
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

    /// Returns true if a finding is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.summary.errors > 0
    }

    /// Returns every finding, with the code object it is in.
    pub fn findings(&self) -> impl Iterator<Item = (&VerifiedFile, &FindingDocument)> {
        self.files
            .iter()
            .flat_map(|file| file.findings.iter().map(move |finding| (file, finding)))
    }

    /// Returns the same, worst first: errors before warnings, and what stands for more findings first.
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
    /// Returns a code object with what was found in it.
    ///
    /// * `path`: what to call it; `target`: its target ID.
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
        }
    }

    /// What was found in a program.
    ///
    /// * `path`: what to call it.
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
            ..VerifiedFile::with_findings(path.to_owned(), target, findings.collect())
        }
    }

    /// Returns the file that it is in.
    #[must_use]
    pub fn file(&self) -> &Untrusted<'static> {
        self.container.as_ref().unwrap_or(&self.path)
    }
}

impl FindingGroup {
    /// Returns how much it stands for, if that is more than one finding: `713 findings in 12 functions of 31 code objects`.
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
    /// [`FindingGroup::numbers`], if the document is grouped.
    fn numbers(&self) -> Option<String> {
        self.group.as_ref().and_then(FindingGroup::numbers)
    }

    /// Returns how many findings it stands for.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.group.as_ref().map_or(1, |group| group.count)
    }

    /// Creates a place where a rule is broken, of which no more is known.
    ///
    /// * `rule`, `section` and `spec`: as the fields say.
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

/// `hetdwarf-rules/1`: the rules.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct RulesDocument {
    /// `hetdwarf-rules/1`.
    pub format: &'static str,
    /// The rules, family by family.
    pub rules: Vec<RuleDocument>,
}

/// A rule.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct RuleDocument {
    /// Its name.
    pub rule: &'static str,
    /// The level of a finding, unless a choice changes it.
    pub severity: Severity,
    /// The section of the specification that states it.
    pub spec: &'static str,
    /// What is wrong where it is broken.
    pub summary: &'static str,
    /// What a debugger makes of it, and what to do.
    pub explanation: &'static str,
    /// Who can repair it.
    pub repaired_by: &'static str,
    /// What breaks it, and the same put right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<ExampleDocument>,
}

/// What breaks a rule, and the same put right.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct ExampleDocument {
    /// What both are.
    pub setting: String,
    /// What is wrong: lines.
    pub wrong: &'static str,
    /// What is right: lines.
    pub right: &'static str,
}

impl RulesDocument {
    /// Describes rules.
    #[must_use]
    pub fn new(rules: impl IntoIterator<Item = &'static Rule>) -> RulesDocument {
        RulesDocument {
            format: "hetdwarf-rules/1",
            rules: rules
                .into_iter()
                .map(|rule| RuleDocument {
                    rule: rule.id,
                    severity: rule.severity,
                    spec: rule.spec,
                    summary: rule.summary,
                    explanation: rule.explanation,
                    repaired_by: rule.repaired_by(),
                    example: rule.example().map(|example| ExampleDocument {
                        setting: example.setting.text(),
                        wrong: example.wrong,
                        right: example.right,
                    }),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests;
