//! Counts findings by rule, in a table that fits on a screen.

use core::cmp::Reverse;
use core::fmt::Write;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{FindingDocument, UnreadableFile, VerifyDocument, VerifySummary, count};
use crate::untrusted::Untrusted;
use crate::verify::Severity;

/// The counts of a rule at one severity.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleSummary {
    /// The name of the rule.
    pub rule: &'static str,
    /// The severity.
    pub severity: Severity,
    /// The number of causes.
    pub causes: u64,
    /// The number of findings.
    pub findings: u64,
    /// The number of affected functions, by name.
    pub functions: u64,
    /// The number of affected code objects.
    pub files: u64,
    /// The families of compilers, sorted: `LLVM`, `GCC`.
    pub producers: Vec<Untrusted<'static>>,
}

/// `hetdwarf-verify-summary/1`: the table and the counts, without the findings.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct SummaryDocument<'d> {
    /// `hetdwarf-verify-summary/1`.
    pub format: &'static str,
    /// The counts of each rule, the worst first.
    pub rules: &'d [RuleSummary],
    /// The unreadable files and code objects, sorted by path.
    pub unreadable: &'d [UnreadableFile],
    /// The total counts.
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

/// The maximum number of unreadable files in the summary.
const MOST_UNREADABLE: usize = 10;

impl RuleSummary {
    /// Returns the families, joined by `, `.
    #[must_use]
    pub fn producers_text(&self) -> String {
        let names: Vec<String> = self.producers.iter().map(ToString::to_string).collect();
        names.join(", ")
    }
}

/// Escapes text for Markdown: writes each markup character as a numeric reference (`CommonMark` 0.31, 2.5).
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

/// The table under construction.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: BTreeMap<(&'static str, Severity), Row>,
}

#[derive(Debug, Default)]
struct Row {
    causes: u64,
    findings: u64,
    /// The numbers of functions. If a function is not known, its file has its own number.
    owners: BTreeSet<usize>,
    /// The indices of files.
    files: BTreeSet<usize>,
    producers: BTreeSet<Untrusted<'static>>,
}

impl Table {
    /// Counts a finding.
    ///
    /// * `file`, `owner`: the index of the file, and the number of the function or file that contains the finding;
    /// * `family`: the compiler family of the file.
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

    /// Returns the rows, the worst first.
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
