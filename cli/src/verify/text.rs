//! Prints findings as text for people.

use core::cmp::Reverse;
use core::fmt::{self, Write as _};
use std::io::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::{Cell, Color};

use super::super::failure::Failure;
use super::super::style::{BOLD, FAINT};
use super::super::table::{bold, cells, table};
use hetdwarf::plural::counted;
use hetdwarf::report::{
    FindingDocument, FindingGroup, RuleDocument, RulesDocument, VerifiedFile, VerifyDocument,
    VerifySummary,
};
use hetdwarf::untrusted::{Escaper, Untrusted};
use hetdwarf::verify::{Evidence, Excerpt, PlacedDirective, Severity};

/// Returns the style for a severity, which is also used for the mark below the faulty part.
fn style(severity: Severity) -> Style {
    let colour = match severity {
        Severity::Error => AnsiColor::Red,
        Severity::Warning => AnsiColor::Yellow,
        Severity::Note => AnsiColor::Cyan,
    };
    colour.on_default().bold()
}

/// The usual number of bytes in the text of a finding.
const USUAL: usize = 384;

/// The most equivalent code objects that are listed.
const NAMED: usize = 3;

/// The most functions or registers that are listed for a cause.
const MOST_NAMES: usize = 6;

/// The number of findings that fit on a screen. If there are more, the table is printed first.
const ON_A_SCREEN: usize = 8;

/// Prints every finding, and then the numbers. Causes are sorted by severity; findings that are not grouped are sorted by file.
pub(super) fn print(document: &VerifyDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let is_grouped = document.summary.findings.is_some();
    if is_grouped {
        let mut causes: Vec<_> = document.findings().collect();
        if causes.len() > ON_A_SCREEN {
            print_table(document, out)?;
            writeln!(out)?;
        }
        causes.sort_by_key(|(_, finding)| Reverse((finding.severity, finding.count())));
        for (file, finding) in causes {
            let mut text = String::with_capacity(USUAL);
            // Writing to a string does not fail.
            let _ = write_finding(&mut text, file, finding);
            out.write_all(text.as_bytes())?;
        }
    }
    for file in &document.files {
        let mut text = String::new();
        if !is_grouped {
            text.reserve(file.findings.len() * USUAL);
            for finding in &file.findings {
                let _ = write_finding(&mut text, file, finding);
            }
        }
        if !file.same.is_empty() {
            let path = &file.path;
            let count = file.same.len();
            let _ = write!(
                text,
                "{path}: {count} more with the same cause in this file"
            );
            for (number, same) in file.same.iter().take(NAMED).enumerate() {
                let before = if number == 0 { ": " } else { ", " };
                let _ = write!(text, "{before}{same}");
            }
            let more = if count > NAMED { ", …" } else { "" };
            let _ = writeln!(text, "{more}\n");
        }
        if file.left_out > 0 {
            let _ = writeln!(text, "{}: {} more are omitted\n", file.path, file.left_out);
        }
        out.write_all(text.as_bytes())?;
    }
    print_numbers(document, out)
}

/// Prints the last line.
pub(super) fn print_numbers(document: &VerifyDocument, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "{}", summary(&document.summary))?;
    Ok(())
}

/// Prints the table of rules, with the number of findings of each.
pub(super) fn print_table(document: &VerifyDocument, out: &mut dyn Write) -> Result<(), Failure> {
    if document.rules.is_empty() {
        return Ok(());
    }
    let header = [
        "level",
        "rule",
        "causes",
        "findings",
        "functions",
        "files",
        "producer",
    ];
    let rows = document.rules.iter().map(|row| {
        let numbers = [row.causes, row.findings, row.functions, row.files];
        let level = Cell::new(row.severity).fg(match row.severity {
            Severity::Error => Color::Red,
            Severity::Warning => Color::Yellow,
            Severity::Note => Color::Cyan,
        });
        let mut line = vec![level, bold(row.rule)];
        line.extend(cells(numbers));
        line.push(Cell::new(row.producers_text()));
        line
    });
    writeln!(out, "{}", table(Some(cells(header)), rows.collect(), 2..6))?;
    Ok(())
}

/// Formats the numbers, as in `2 code objects: 1 error, 3 warnings, 0 notes`.
fn summary(summary: &VerifySummary) -> String {
    let coloured = |count: u64, severity: Severity| {
        let style = if count == 0 {
            Style::new()
        } else {
            style(severity)
        };
        format!("{style}{}{style:#}", counted(count, severity.name()))
    };
    let mut text = format!(
        "{}: {}, {}, {}",
        counted(summary.files, "code object"),
        coloured(summary.errors, Severity::Error),
        coloured(summary.warnings, Severity::Warning),
        coloured(summary.notes, Severity::Note),
    );
    if let Some(findings) = summary.findings.filter(|all| *all > summary.causes()) {
        text.push_str(&format!(" ({findings} findings by their causes)"));
    }
    if summary.known > 0 {
        text.push_str(&format!("; {} in the baseline", summary.known));
    }
    let unreadable = summary.unreadable.saturating_sub(summary.unchecked);
    if unreadable > 0 {
        text.push_str(&format!("; {unreadable} could not be read"));
    }
    if summary.unchecked > 0 {
        let files = counted(summary.unchecked, "file");
        text.push_str(&format!(
            "; {files} not checked: their code is in other files"
        ));
    }
    text
}

fn write_finding(text: &mut String, file: &VerifiedFile, finding: &FindingDocument) -> fmt::Result {
    let style = style(finding.severity);
    let consequence = finding.consequence().map(Untrusted::from);
    writeln!(
        text,
        "{style}{}{style:#}{BOLD}[{}]: {}{BOLD:#}",
        finding.severity,
        finding.rule,
        consequence.as_ref().unwrap_or(&finding.message)
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
    if consequence.is_some() {
        writeln!(
            text,
            "  {FAINT}={FAINT:#} {BOLD}cause{BOLD:#}: {}",
            finding.message
        )?;
    }
    if let Some((source, line)) = finding
        .source
        .as_ref()
        .and_then(|source| Some((source, source.text.as_ref()?)))
    {
        writeln!(text, "  {FAINT}{} |{FAINT:#} {line}", source.line)?;
    }
    if let Some(excerpt) = &finding.excerpt {
        write_excerpt(text, excerpt, style)?;
    }
    if let Some(evidence) = &finding.evidence {
        write_evidence(text, evidence, style)?;
    }
    if let Some(group) = finding.group.as_ref().filter(|group| group.count > 1) {
        write!(text, "  {FAINT}={FAINT:#} {BOLD}also{BOLD:#}: ")?;
        write_group(text, finding, group)?;
        text.push('\n');
    }
    if let Some(help) = &finding.help {
        writeln!(text, "  {FAINT}={FAINT:#} {BOLD}help{BOLD:#}: {help}")?;
    }
    text.push('\n');
    Ok(())
}

/// Writes the instructions, with `>` at the cause, the directives of the current row, and the proposed directives.
fn write_evidence(text: &mut String, evidence: &Evidence, style: Style) -> fmt::Result {
    for line in &evidence.code {
        let mark = match line.is_cause {
            true => format!("{style}>{style:#}"),
            false => " ".to_owned(),
        };
        writeln!(
            text,
            "  {FAINT}|{FAINT:#} {mark} {:#x}: {}",
            line.pc, line.text
        )?;
    }
    write_directives(text, &evidence.row, ["now", "at"])?;
    write_directives(text, &evidence.directives, ["write", "before"])
}

/// Writes directives, grouped by address. A register without a rule in the current row has an empty directive.
fn write_directives(
    text: &mut String,
    directives: &[PlacedDirective],
    [what, preposition]: [&str; 2],
) -> fmt::Result {
    let mut last = None;
    for one in directives.iter().take(MOST_NAMES) {
        if last != Some(one.pc) {
            last = Some(one.pc);
            writeln!(
                text,
                "  {FAINT}={FAINT:#} {BOLD}{what}{BOLD:#} {preposition} {:#x}:",
                one.pc
            )?;
        }
        let space = if one.text.is_empty() { "" } else { "  " };
        writeln!(
            text,
            "      {}{space}{FAINT}// {}{FAINT:#}",
            one.text, one.meaning
        )?;
    }
    let more = directives.len().saturating_sub(MOST_NAMES);
    if more > 0 {
        writeln!(
            text,
            "      {FAINT}// and {more} more: --format json{FAINT:#}"
        )?;
    }
    Ok(())
}

/// Writes the other findings of a group: their registers if they are all in one function, otherwise the number of functions and the first
/// names.
fn write_group(text: &mut String, finding: &FindingDocument, group: &FindingGroup) -> fmt::Result {
    let others = group.count.saturating_sub(1);
    if group.functions <= 1 && group.files <= 1 {
        let registers = group.also.iter().flat_map(|place| &place.registers);
        let mut names: Vec<&str> = Vec::new();
        for name in registers {
            if !names.contains(&name.as_str()) && !finding.registers.contains(name) {
                names.push(name);
            }
            if names.len() > MOST_NAMES {
                break;
            }
        }
        write!(text, "{}", counted(others, "more finding"))?;
        return write_names(text, names.iter(), " of the same cause: ");
    }
    let functions = group
        .also
        .iter()
        .filter_map(|place| place.function.as_ref());
    let mut names: Vec<&Untrusted<'_>> = Vec::new();
    for name in functions {
        if Some(name) != finding.function.as_ref() && !names.contains(&name) {
            names.push(name);
        }
        if names.len() > MOST_NAMES {
            break;
        }
    }
    write!(
        text,
        "{} in all, in {} of {}",
        counted(group.count, "finding"),
        counted(group.functions, "function"),
        counted(group.files, "code object"),
    )?;
    write_names(text, names.iter(), ": ")
}

/// Writes names, and `…` if there are more than [`MOST_NAMES`].
fn write_names(
    text: &mut String,
    names: impl ExactSizeIterator<Item = impl fmt::Display>,
    start: &str,
) -> fmt::Result {
    let count = names.len();
    for (number, name) in names.take(MOST_NAMES).enumerate() {
        let before = if number == 0 { start } else { ", " };
        write!(text, "{before}{name}")?;
    }
    let more = if count > MOST_NAMES { ", …" } else { "" };
    text.write_str(more)
}

/// Writes the line, and `^^^^` below the faulty part.
fn write_excerpt(text: &mut String, excerpt: &Excerpt, style: Style) -> fmt::Result {
    let mut escaper = Escaper::new();
    let mut part = |range| {
        let mut shown = String::new();
        let part = excerpt.text.raw().get(range).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = escaper.write(part, &mut shown);
        shown
    };
    let (before, marked) = (part(0..excerpt.mark.start), part(excerpt.mark.clone()));
    writeln!(text, "  {FAINT}|{FAINT:#} {}", excerpt.text)?;
    if !marked.is_empty() {
        let spaces = " ".repeat(before.chars().count());
        let carets = "^".repeat(marked.chars().count());
        writeln!(text, "  {FAINT}|{FAINT:#} {spaces}{style}{carets}{style:#}")?;
    }
    Ok(())
}

/// Prints the full explanation of a rule.
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
    writeln!(out, "{}\n", wrapped(rule.explanation, width))?;
    writeln!(
        out,
        "{}",
        wrapped(&format!("Fixed by: {}.", rule.repaired_by), width)
    )?;
    if let Some(example) = &rule.example {
        writeln!(
            out,
            "\n{}",
            wrapped(&format!("Example: {}", example.setting), width)
        )?;
        for (what, lines) in [("wrong", example.wrong), ("right", example.right)] {
            writeln!(out, "\n  {BOLD}{what}{BOLD:#}")?;
            for line in lines.lines() {
                writeln!(out, "    {line}")?;
            }
        }
    }
    Ok(())
}

/// Prints a line for each rule.
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

/// Breaks a text into lines of at most `width` characters. A longer word has its own line.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        let length = line.chars().count();
        let longer = length + word.chars().count();
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
