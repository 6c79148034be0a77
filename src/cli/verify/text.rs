//! Findings for people.

use core::fmt::{self, Write as _};
use std::io::Write;

use anstyle::{AnsiColor, Style};

use super::super::failure::Failure;
use crate::report::{
    ExcerptDocument, FindingDocument, RuleDocument, RulesDocument, VerifiedFile, VerifyDocument,
    VerifySummary,
};
use crate::untrusted::Escaper;
use crate::verify::Severity;

const FAINT: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// The colour of a severity; also that of the mark under the part at fault.
fn style(severity: Severity) -> Style {
    let colour = match severity {
        Severity::Error => AnsiColor::Red,
        Severity::Warning => AnsiColor::Yellow,
        Severity::Note => AnsiColor::Cyan,
    };
    colour.on_default().bold()
}

/// How many bytes a finding takes, more or less.
const USUAL: usize = 384;

/// How many code objects that are the same as one are named.
const NAMED: usize = 3;

/// Every finding, and the numbers.
pub(super) fn print(document: &VerifyDocument, out: &mut dyn Write) -> Result<(), Failure> {
    for file in &document.files {
        let mut text = String::with_capacity(file.findings.len().saturating_mul(USUAL));
        for finding in &file.findings {
            // Writing to a string does not fail.
            let _ = write_finding(&mut text, file, finding);
        }
        if !file.same.is_empty() {
            let path = &file.path;
            let count = file.same.len();
            let _ = write!(text, "{path}: {count} more in the file are the same");
            for (number, same) in file.same.iter().take(NAMED).enumerate() {
                let before = if number == 0 { ": " } else { ", " };
                let _ = write!(text, "{before}{same}");
            }
            let more = if count > NAMED { ", …" } else { "" };
            let _ = writeln!(text, "{more}\n");
        }
        if file.left_out > 0 {
            let _ = writeln!(text, "{}: {} more are left out\n", file.path, file.left_out);
        }
        out.write_all(text.as_bytes())?;
    }
    writeln!(out, "{}", summary(&document.summary))?;
    Ok(())
}

/// `2 code objects: 1 error, 3 warnings, 0 notes`.
fn summary(summary: &VerifySummary) -> String {
    let number = |count: u64, what: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {what}{plural}")
    };
    let coloured = |count: u64, severity: Severity| {
        let style = if count == 0 {
            Style::new()
        } else {
            style(severity)
        };
        format!("{style}{}{style:#}", number(count, severity.name()))
    };
    let mut text = format!(
        "{}: {}, {}, {}",
        number(summary.files, "code object"),
        coloured(summary.errors, Severity::Error),
        coloured(summary.warnings, Severity::Warning),
        coloured(summary.notes, Severity::Note),
    );
    if summary.known > 0 {
        text.push_str(&format!("; {} in the baseline", summary.known));
    }
    if summary.unreadable > 0 {
        text.push_str(&format!("; {} could not be read", summary.unreadable));
    }
    text
}

fn write_finding(text: &mut String, file: &VerifiedFile, finding: &FindingDocument) -> fmt::Result {
    let style = style(finding.severity);
    writeln!(
        text,
        "{style}{}{style:#}{BOLD}[{}]: {}{BOLD:#}",
        finding.severity, finding.rule, finding.message
    )?;
    write!(
        text,
        "  {FAINT}-->{FAINT:#} {}: {}",
        file.path, finding.section
    )?;
    if let Some(offset) = finding.offset {
        write!(text, "+{:#x}", offset.0)?;
    }
    if let Some(function) = &finding.function {
        write!(text, " in {function}")?;
    }
    if let Some(source) = &finding.source {
        write!(text, " at {}:{}", source.file, source.line)?;
    }
    if let Some(pc) = finding.pc {
        write!(text, " (pc {:#x})", pc.0)?;
    }
    text.push('\n');
    if let Some(excerpt) = &finding.excerpt {
        write_excerpt(text, excerpt, style)?;
    }
    if let Some(help) = &finding.help {
        writeln!(text, "  {FAINT}={FAINT:#} {BOLD}help{BOLD:#}: {help}")?;
    }
    text.push('\n');
    Ok(())
}

/// The line, and `^^^^` below what is at fault.
fn write_excerpt(text: &mut String, excerpt: &ExcerptDocument, style: Style) -> fmt::Result {
    let [start, end] = excerpt.mark;
    let mut escaper = Escaper::new();
    let mut part = |range| {
        let mut shown = String::new();
        let part = excerpt.text.raw().get(range).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = escaper.write(part, &mut shown);
        shown
    };
    let (before, marked) = (part(0..start), part(start..end));
    writeln!(text, "  {FAINT}|{FAINT:#} {}", excerpt.text)?;
    if !marked.is_empty() {
        let spaces = " ".repeat(before.chars().count());
        let carets = "^".repeat(marked.chars().count());
        writeln!(text, "  {FAINT}|{FAINT:#} {spaces}{style}{carets}{style:#}")?;
    }
    Ok(())
}

/// All that there is to say of a rule.
pub(super) fn explain(
    rule: &RuleDocument,
    width: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let style = style(rule.severity);
    writeln!(
        out,
        "{BOLD}{}{BOLD:#} ({style}{}{style:#}): {}",
        rule.rule, rule.severity, rule.summary
    )?;
    writeln!(out, "Source: {}\n", rule.spec)?;
    writeln!(out, "{}", wrapped(rule.explanation, width))?;
    Ok(())
}

/// A line for each rule.
pub(super) fn list(rules: &RulesDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let width = |text: fn(&RuleDocument) -> &'static str| {
        let rules = rules.rules.iter();
        rules.map(|rule| text(rule).len()).max().unwrap_or(0)
    };
    let (names, levels) = (width(|rule| rule.rule), width(|rule| rule.severity.name()));
    for rule in &rules.rules {
        let style = style(rule.severity);
        writeln!(
            out,
            "{BOLD}{:names$}{BOLD:#}  {style}{:levels$}{style:#}  {}",
            rule.rule,
            rule.severity.name(),
            rule.summary
        )?;
    }
    Ok(())
}

/// Lines of at most `width` characters, unless a word is longer.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        let length = line.chars().count();
        let longer = length.saturating_add(word.chars().count());
        if length == 0 {
            line.push_str(word);
        } else if longer < width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests;
