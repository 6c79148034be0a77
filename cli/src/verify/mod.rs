//! `hetdwarf verify`: applies the rules to files and folders, for use in CI.
//!
//! This module finds the files; [`check_packaged_file`] checks the contents of each. Several threads check files, and the results are
//! processed in the order of the file names, so the output does not depend on the number of threads. Records are printed file by file;
//! everything else is printed after the last file.

mod baseline;
mod check;
mod config;
mod files;
mod judged;
mod named;
mod records;
mod report;
mod text;

pub use named::file_records;

use std::io::Write;
use std::path::PathBuf;

use super::arguments::{DocumentFormat, VerifyArguments, VerifyFormat};
use super::failure::{Exit, Failure};
use super::input::dialect;
use super::outputs::{Kind, Outputs};
use super::sources::Sources;
use super::style::WARNING;
use baseline::{Place, Use, Written};
use check::Check;
use config::Config;
use files::Files;
use hetdwarf::report::source_text::{SourceTexts, from_file};
use hetdwarf::report::{
    CheckedFile, FindingDocument, KnownFindings, RulesDocument, parse_hex_bytes, write_json_pretty,
};
use hetdwarf::verify::{Choice, Rule, Selection, UnknownRule, shown_line};
use records::{Lines, count_findings};
pub(crate) use report::{Printing, document_format, gathering, report_unreadable, status};

pub(crate) fn run(
    arguments: &VerifyArguments,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    if let Some(name) = &arguments.explain {
        let rules = Rule::named(name).map_err(|error| in_option("--explain", &error))?;
        return print_rules("--explain", rules, arguments.format, width, out);
    }
    if arguments.list {
        let named = arguments.rules.iter().map(|name| Rule::named(name));
        let named = named.collect::<Result<Vec<_>, UnknownRule>>();
        let named = named.map_err(|error| in_option("--rules", &error))?;
        let is_named =
            |rule: &&Rule| named.is_empty() || named.iter().flatten().any(|one| one == rule);
        let rules = Rule::all().filter(is_named);
        return print_rules("--list", rules, arguments.format, width, out);
    }
    if arguments.shard.is_some_and(|shard| shard.is_part()) && arguments.write_baseline.is_some() {
        return Err(Failure::new(
            "--write-baseline: the baseline of a part would lack the findings of the other parts; write it without --shard",
        ));
    }
    let folder = std::env::current_dir()
        .map_err(|error| Failure::new(format!("the current directory cannot be used: {error}")))?;
    let config = Config::load(arguments.config.as_deref(), &folder)?;
    let selection = selection(arguments, &config)?;
    // An unreadable baseline is reported before the files are checked, not after.
    let known = match &arguments.write_baseline {
        Some(_) => None,
        None => arguments.baseline.as_ref().or(config.baseline.as_ref()),
    };
    let known = known.map(|path| Place::new(path, &folder));
    let known = known
        .map(|place| place.read().map(|baseline| (place, baseline)))
        .transpose()?;
    let inputs = arguments.paths.iter().chain(&arguments.config);
    let mut outputs = Outputs::new(arguments.force, inputs.map(PathBuf::as_path));
    let mut baseline = match (&arguments.write_baseline, &known) {
        (Some(path), _) => {
            let output = outputs.plan(path, Kind::Baseline)?;
            Use::Written(Place::new(path, &folder), output, Written::default())
        }
        (None, Some((place, baseline))) => Use::Known(place, KnownFindings::new(baseline)),
        (None, None) => Use::None,
    };
    let mut files = Files::find(&arguments.paths, &config);
    files.shard = arguments.shard.unwrap_or_default();
    let limits = arguments.limits.limits();
    let check = Check {
        jobs: arguments.jobs,
        selection: &selection,
        limits: &limits,
        wants_sha256: arguments.format == VerifyFormat::Jsonl,
    };
    let sources = Sources::new(&arguments.sources.source_dirs);
    let Some(format) = document_format(arguments.format, arguments.summary)? else {
        return print_records(&check, files, baseline, &sources, out, err);
    };
    let mut gathering = gathering(format, arguments.each);
    let is_checked = check.all(&files, |mut checked| {
        for object in &mut checked.found.objects {
            baseline.take(object);
        }
        gathering.add(checked.found);
    });
    files.note_unchecked(&is_checked);
    gathering.add(CheckedFile {
        objects: Vec::new(),
        unreadable: core::mem::take(&mut files.unreadable),
    });
    let mut document = gathering.finish();
    report_unreadable(&document, err);
    baseline.finish(files.asked(), &selection, &mut document, err)?;
    let mut texts = SourceTexts::default();
    let findings = document.files.iter_mut();
    let findings = findings.flat_map(|file| &mut file.findings);
    show_sources(findings, &sources, &mut texts);
    warn(&texts, err)?;
    let printing = Printing {
        format,
        summary: arguments.summary,
        folder: &folder,
    };
    printing.print(&document, out)
}

/// Checks the files, and prints the findings of each file as soon as it is finished.
fn print_records(
    check: &Check<'_>,
    mut files: Files,
    mut baseline: Use<'_>,
    sources: &Sources,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let mut texts = SourceTexts::default();
    let mut lines = Lines::new(out, &files);
    let is_checked = check.all(&files, |mut checked| {
        let before = count_findings(&checked.found.objects);
        for object in &mut checked.found.objects {
            baseline.take(object);
            show_sources(object.findings.iter_mut(), sources, &mut texts);
        }
        lines.add(checked, before);
    });
    let (mut document, exit) = lines.finish(&mut files, &is_checked, err)?;
    baseline.finish(files.asked(), check.selection, &mut document, err)?;
    warn(&texts, err)?;
    Ok(exit)
}

/// Prints the warnings about source files.
fn warn(texts: &SourceTexts, err: &mut dyn Write) -> Result<(), Failure> {
    for warning in texts.warnings() {
        writeln!(err, "{WARNING}warning{WARNING:#}: {warning}")?;
    }
    Ok(())
}

/// Returns the selection of the configuration, overridden by the arguments.
fn selection(arguments: &VerifyArguments, config: &Config) -> Result<Selection, Failure> {
    let mut selection = config.selection.clone();
    if let Some(profile) = arguments.profile {
        selection.set_profile(profile.into());
    }
    selection.set_dialect(dialect(arguments.dialect));
    selection.set_assembler(arguments.assembler.into());
    if !arguments.rules.is_empty() {
        let only = selection.only(&arguments.rules);
        only.map_err(|error| in_option("--rules", &error))?;
    }
    let lists = [
        ("--allow", &arguments.allow, Choice::Allow),
        ("--warn", &arguments.warn, Choice::Warn),
        ("--deny", &arguments.deny, Choice::Deny),
    ];
    let choices = lists
        .iter()
        .flat_map(|(_, names, choice)| names.iter().map(|name| (name, *choice)));
    selection.choose(choices).map_err(|error| {
        let mut lists = lists.iter();
        let wrong = lists.find(|(_, names, _)| names.iter().any(|name| error.name == **name));
        in_option(wrong.map_or("", |(option, _, _)| option), &error)
    })?;
    if Rule::all().all(|rule| selection.severity(rule).is_none()) {
        let message = "no rule is left to check: --rules, --allow, --profile and hetdwarf.toml together exclude all";
        return Err(Failure::new(message));
    }
    Ok(selection)
}

fn in_option(option: &str, error: &UnknownRule) -> Failure {
    Failure::new(format!("{option}: {error}"))
}

/// Adds source lines to findings. Warnings about the source files are collected in `texts`.
fn show_sources<'f>(
    findings: impl Iterator<Item = &'f mut FindingDocument>,
    sources: &Sources,
    texts: &mut SourceTexts,
) {
    for source in findings.filter_map(|finding| finding.source.as_mut()) {
        if source.text.is_none() {
            let path = source.file.raw();
            let find = || Some(from_file(&sources.bytes(path, None)?));
            let compiled = source.md5.as_deref().and_then(parse_hex_bytes);
            let compiled = compiled.and_then(|bytes| bytes.try_into().ok());
            let index = texts.want_compiled(path, source.line, compiled, find);
            if let Some(text) = texts.files().get(index) {
                source.text = text.line(source.line).and_then(shown_line);
                source.md5_differs = text.differs(compiled);
            }
        }
        if let Some(path) = sources.renamed(source.file.raw()) {
            source.file = path.into();
        }
    }
}

fn print_rules(
    option: &str,
    rules: impl IntoIterator<Item = &'static Rule>,
    format: VerifyFormat,
    width: usize,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let document = RulesDocument::new(rules);
    match format {
        VerifyFormat::Document(DocumentFormat::Json) => {
            write_json_pretty(&document, &mut *out)?;
        }
        VerifyFormat::Document(DocumentFormat::Text) if option == "--explain" => {
            for (number, rule) in document.rules.iter().enumerate() {
                if number > 0 {
                    writeln!(out)?;
                }
                text::explain(rule, width.min(super::DEFAULT_WIDTH), out)?;
            }
        }
        VerifyFormat::Document(DocumentFormat::Text) => text::list(&document, out)?,
        VerifyFormat::Document(
            DocumentFormat::Sarif
            | DocumentFormat::Github
            | DocumentFormat::Lines
            | DocumentFormat::Junit,
        )
        | VerifyFormat::Jsonl => {
            return Err(Failure::new(format!(
                "{option}: rules are printed as text or json"
            )));
        }
    }
    Ok(Exit::Done)
}
