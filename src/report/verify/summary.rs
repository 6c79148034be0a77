//! Counts findings by rule, in a table that fits on a screen.

use core::cmp::Reverse;
use core::fmt::Write;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{FindingDocument, UnreadableFile, VerifyDocument, VerifySummary, count};
use crate::untrusted::Untrusted;
use crate::verify::Severity;

/// What was found of a rule, at one level.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleSummary {
    /// The rule's name.
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// How many causes there are.
    pub causes: u64,
    /// How many findings.
    pub findings: u64,
    /// In how many functions, by name.
    pub functions: u64,
    /// In how many code objects.
    pub files: u64,
    /// The families of compilers, sorted: `LLVM`, `GCC`.
    pub producers: Vec<Untrusted<'static>>,
}

/// `hetdwarf-verify-summary/1`: the table and the numbers, without the findings.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct SummaryDocument<'d> {
    /// `hetdwarf-verify-summary/1`.
    pub format: &'static str,
    /// What was found of each rule, worst first.
    pub rules: &'d [RuleSummary],
    /// What could not be read, by path.
    pub unreadable: &'d [UnreadableFile],
    /// The numbers.
    pub summary: VerifySummary,
}

impl<'d> SummaryDocument<'d> {
    /// Creates the summary of a document that is [grouped](VerifyDocument::grouped).
    #[must_use]
    pub fn new(document: &'d VerifyDocument) -> SummaryDocument<'d> {
        SummaryDocument {
            format: "hetdwarf-verify-summary/1",
            rules: &document.rules,
            unreadable: &document.unreadable,
            summary: document.summary,
        }
    }

    /// Returns the table as Markdown, for the summary of a GitHub workflow.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let VerifySummary {
            files,
            errors,
            warnings,
            notes,
            known,
            ..
        } = self.summary;
        let mut text = format!(
            "### hetdwarf verify\n\n{files} code objects: **{errors} errors**, {warnings} warnings, {notes} notes"
        );
        // Writing to a string does not fail.
        if known > 0 {
            let _ = write!(text, "; {known} in the baseline");
        }
        text.push('\n');
        if !self.rules.is_empty() {
            text.push_str(
                "\n| level | rule | causes | findings | functions | files | producer |\n|---|---|--:|--:|--:|--:|---|\n",
            );
        }
        for row in self.rules {
            let _ = writeln!(
                text,
                "| {} | `{}` | {} | {} | {} | {} | {} |",
                row.severity,
                row.rule,
                row.causes,
                row.findings,
                row.functions,
                row.files,
                markdown(&row.producers_text())
            );
        }
        for file in self.unreadable.iter().take(MOST_UNREADABLE) {
            let _ = writeln!(
                text,
                "\n- not read: {}: {}",
                markdown(&file.path.to_string()),
                markdown(&file.message.to_string())
            );
        }
        let more = self.unreadable.len().saturating_sub(MOST_UNREADABLE);
        if more > 0 {
            let _ = writeln!(text, "\n- not read: {more} more");
        }
        text
    }
}

/// Nobody reads more of them in a summary.
const MOST_UNREADABLE: usize = 10;

impl RuleSummary {
    /// Returns the families, with `, ` between them.
    #[must_use]
    pub fn producers_text(&self) -> String {
        let names: Vec<String> = self.producers.iter().map(ToString::to_string).collect();
        names.join(", ")
    }
}

/// Text in which nothing is markup: what could be is written as a reference to its number (`CommonMark` 0.31, 2.5).
fn markdown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '|' | '#' | '!' | '~' | '@' => {
                let _ = write!(shown, "&#{};", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    shown
}

/// The table while it is made.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: BTreeMap<(&'static str, Severity), Row>,
}

#[derive(Debug, Default)]
struct Row {
    causes: u64,
    findings: u64,
    /// Numbers of functions; where one is not known, the file has a number of its own.
    owners: BTreeSet<usize>,
    /// Indices of files.
    files: BTreeSet<usize>,
    producers: BTreeSet<Untrusted<'static>>,
}

impl Table {
    /// Counts a finding.
    ///
    /// * `file`, `owner`: the index of its file, and the number of what it is in;
    /// * `family`: what made the file.
    pub(super) fn add(
        &mut self,
        file: usize,
        owner: usize,
        family: &Untrusted<'static>,
        finding: &FindingDocument,
    ) {
        let row = self.row(finding);
        row.findings += 1;
        row.owners.insert(owner);
        if row.files.insert(file) {
            row.producers.insert(family.clone());
        }
    }

    /// Counts a cause.
    pub(super) fn add_cause(&mut self, finding: &FindingDocument) {
        let row = self.row(finding);
        row.causes += 1;
    }

    fn row(&mut self, finding: &FindingDocument) -> &mut Row {
        let key = (finding.rule, finding.severity);
        self.rows.entry(key).or_default()
    }

    /// Returns the rows, worst first.
    pub(super) fn finish(self) -> Vec<RuleSummary> {
        let rows = self.rows.into_iter();
        let mut rows: Vec<RuleSummary> = rows
            .map(|((rule, severity), row)| RuleSummary {
                rule,
                severity,
                causes: row.causes,
                findings: row.findings,
                functions: count(row.owners.len()),
                files: count(row.files.len()),
                producers: row.producers.into_iter().collect(),
            })
            .collect();
        rows.sort_by_key(|row| (Reverse((row.severity, row.findings)), row.rule));
        rows
    }
}
