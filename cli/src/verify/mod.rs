//! `hetdwarf verify`: the rules over files and folders, as a CI needs them.
//!
//! Which files there are is found here; what is in them is found by [`check_packaged_file`]. Files are checked by several
//! threads, and taken in the order of their names. Nothing is printed before all are: the output is the same for any number of
//! threads.

mod baseline;
mod config;
mod files;
mod judged;
mod named;
mod text;

pub use named::file_records;

use std::collections::BTreeSet;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::arguments::{VerifyArguments, VerifyFormat};
use super::contents::{Contents, Input, standard_input};
use super::failure::{Exit, Failure};
use super::input::{STANDARD_INPUT, dialect, parse_any_machine};
use super::outputs::{Kind, Outputs};
use super::packages::ObjectFile;
use super::progress::Progress;
use super::sources::Sources;
use super::style::WARNING;
use baseline::{Place, Use, Written};
use config::Config;
use files::{Files, Target};
use hetdwarf::limits::Limits;
use hetdwarf::object::{Layout, code_objects_with};
use hetdwarf::report::source_text::{SourceTexts, from_file};
use hetdwarf::report::{
    CheckedFile, Gathering, KnownFindings, RulesDocument, SarifLog, SummaryDocument,
    UnreadableFile, VerifyDocument, check_host_file, check_packaged_file, github_annotations,
    junit, lines, write_json_pretty,
};
use hetdwarf::untrusted::Untrusted;
use hetdwarf::verify::{Choice, Rule, Selection, UnknownRule, queue, shown_line};

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
        return print_rules("--list", Rule::all(), arguments.format, width, out);
    }
    let folder = std::env::current_dir()
        .map_err(|error| Failure::new(format!("the current folder cannot be used: {error}")))?;
    let config = Config::load(arguments.config.as_deref(), &folder)?;
    let selection = selection(arguments, &config)?;
    // What cannot be read is said before the work, not after it.
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
    let mut gathering = match arguments.each {
        true => Gathering::each(),
        false => Gathering::grouped(),
    };

    let mut files = Files::find(&arguments.paths, &config);
    let limits = arguments.limits.limits();
    check(
        &mut files,
        arguments.jobs,
        &selection,
        &limits,
        |mut checked| {
            for object in &mut checked.objects {
                baseline.take(object);
            }
            gathering.add(checked);
        },
    );
    let mut document = gathering.finish();
    for file in &document.unreadable {
        Failure::new(format!("{}: {}", file.path, file.message)).report(err);
    }
    baseline.finish(&arguments.paths, &selection, &mut document, err)?;
    let sources = Sources::new(&arguments.sources.source_dirs);
    for warning in show_sources(&mut document, &sources) {
        writeln!(err, "{WARNING}warning{WARNING:#}: {warning}")?;
    }
    match arguments.summary {
        true => print_summary(arguments.format, &document, out)?,
        false => print(arguments.format, &document, &folder, out)?,
    }
    if arguments.summary || arguments.format == VerifyFormat::Github {
        step_summary(&document)?;
    }
    Ok(if !document.unreadable.is_empty() {
        Exit::Incomplete
    } else if document.has_errors() {
        Exit::BadNews
    } else {
        Exit::Done
    })
}

/// What the configuration chose, and over it what the arguments choose.
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
    Ok(selection)
}

fn in_option(option: &str, error: &UnknownRule) -> Failure {
    Failure::new(format!("{option}: {error}"))
}

/// Checks all files; `take` is given what is found in them in the order of their names, and at last what could not be looked into.
fn check(
    files: &mut Files,
    jobs: Option<NonZeroUsize>,
    selection: &Selection,
    limits: &Limits,
    mut take: impl FnMut(CheckedFile),
) {
    let jobs = jobs
        .or_else(|| std::thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get);
    let targets: Vec<(&String, &Target)> = files.targets.iter().collect();
    // Looked up for libraries with packages only.
    let real_paths = OnceLock::new();
    let is_target = |file: &ObjectFile| {
        let real = |path: &Path| path.canonicalize().ok();
        let all = || {
            let paths = targets.iter().filter_map(|(_, target)| real(&target.path));
            paths.collect::<BTreeSet<PathBuf>>()
        };
        let mut packages = file.package_paths().peekable();
        packages.peek().is_some()
            && packages.all(|path| {
                real(path).is_some_and(|path| real_paths.get_or_init(all).contains(&path))
            })
    };
    let mut progress = Progress::new(targets.len(), "files");
    // Where there are fewer files than threads, several check the same one.
    let files_at_once = jobs.min(targets.len()).max(1);
    let threads = jobs
        .checked_div(files_at_once)
        .and_then(NonZeroUsize::new)
        .unwrap_or(NonZeroUsize::MIN);
    let mut is_checked = Vec::with_capacity(targets.len());
    queue::in_order(
        &targets,
        files_at_once,
        |(name, target)| check_target(name, target, selection, limits, threads, is_target),
        |checked| {
            is_checked.push(!checked.objects.is_empty() || !checked.unreadable.is_empty());
            take(checked);
        },
        |done| progress.show(done),
    );
    drop(progress);
    files.note_unchecked(&is_checked);
    take(CheckedFile {
        objects: Vec::new(),
        unreadable: files.unreadable.clone(),
    });
}

/// Adds lines of the source to findings; returns what has to be said about the files that they are from.
fn show_sources(document: &mut VerifyDocument, sources: &Sources) -> Vec<String> {
    let mut texts = SourceTexts::default();
    let findings = document
        .files
        .iter_mut()
        .flat_map(|file| &mut file.findings);
    for source in findings.filter_map(|finding| finding.source.as_mut()) {
        if source.text.is_none() {
            let path = source.file.raw();
            let find = || Some(from_file(&sources.bytes(path, None)?));
            let index = texts.want_compiled(path, source.line, source.md5, find);
            if let Some(text) = texts.files().get(index) {
                source.text = text.line(source.line).and_then(shown_line);
                source.md5_differs = text.differs(source.md5);
            }
        }
        if let Some(path) = sources.renamed(source.file.raw()) {
            source.file = path.into();
        }
    }
    texts.warnings()
}

fn check_target(
    name: &str,
    target: &Target,
    selection: &Selection,
    limits: &Limits,
    threads: NonZeroUsize,
    is_target: impl Fn(&ObjectFile) -> bool,
) -> CheckedFile {
    let opened = if target.path == Path::new(STANDARD_INPUT) {
        standard_input(Input::Whole).map(Contents::Read)
    } else {
        Contents::open(&target.path, Input::Whole)
    };
    let opened = opened.map_err(|error| error.to_string()).and_then(|data| {
        ObjectFile::with_packages(&target.path, data, Input::Whole, limits)
            .map_err(|(package, error)| format!("{}: {error}", Untrusted::from(&*package)))
    });
    let data = match opened {
        Ok(data) => data,
        Err(error) => return CheckedFile::unreadable(name, error),
    };
    // The code of a package is checked once, for all libraries.
    let is_checked_there = is_target(&data);
    let packages = match is_checked_there {
        true => Vec::new(),
        false => data.packages(),
    };
    let mut checked = check_packaged_file(name, &data, &packages, selection, limits, threads);
    let is_nothing = checked.objects.is_empty() && checked.unreadable.is_empty();
    // Files of other machines are checked if they are named, and passed over in folders.
    if target.named
        && is_nothing
        && data.reference.is_none()
        && let Some(host) = check_host_file(name, &data, selection, limits, threads)
    {
        checked = host;
    }
    // What was found may be of another file than the one that is there now.
    if let Err(error) = data.check_length() {
        return CheckedFile::unreadable(name, error);
    }
    if let Some(reference) = data.missing() {
        let message = format!("not checked: {reference}, and no package with it was found");
        let elsewhere = UnreadableFile::elsewhere(name.to_owned(), message);
        checked.unreadable.push(elsewhere);
    }
    let is_empty = checked.objects.is_empty() && checked.unreadable.is_empty() && !is_checked_there;
    if target.named && is_empty {
        // Who named it expected something in it.
        if let Err(error) = code_objects_with(&data, limits) {
            let is_host = parse_any_machine(&data, Layout::Distinct, limits).is_ok();
            let more = match is_host {
                true => "; nor has it debugging information",
                false => "",
            };
            return CheckedFile::unreadable(name, format!("{error}{more}"));
        }
    }
    checked
}

fn print(
    format: VerifyFormat,
    document: &VerifyDocument,
    folder: &Path,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    match format {
        VerifyFormat::Text => text::print(document, out)?,
        VerifyFormat::Json => write_json_pretty(document, &mut *out)?,
        // Code hosts know files by their paths in the repository.
        VerifyFormat::Sarif => {
            let log = SarifLog::new(document, &folder.to_string_lossy());
            write_json_pretty(&log, &mut *out)?;
        }
        VerifyFormat::Github => {
            let text = github_annotations(document, &folder.to_string_lossy());
            out.write_all(text.as_bytes())?;
        }
        VerifyFormat::Lines => out.write_all(lines(document).as_bytes())?,
        VerifyFormat::Junit => out.write_all(junit(document).as_bytes())?,
    }
    Ok(())
}

/// The table alone.
fn print_summary(
    format: VerifyFormat,
    document: &VerifyDocument,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let summary = SummaryDocument::new(document);
    match format {
        VerifyFormat::Json => write_json_pretty(&summary, &mut *out)?,
        VerifyFormat::Text => {
            text::print_table(document, out)?;
            text::print_numbers(document, out)?;
        }
        VerifyFormat::Sarif | VerifyFormat::Github | VerifyFormat::Lines | VerifyFormat::Junit => {
            return Err(Failure::new(
                "--summary: the table is printed as text or json",
            ));
        }
    }
    Ok(())
}

/// Adds the table to the summary of a step of a GitHub workflow, if it is run in one: the runner names a file for it.
fn step_summary(document: &VerifyDocument) -> Result<(), Failure> {
    let named = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty());
    let (Some(path), Some(_)) = (named, document.summary.findings) else {
        return Ok(());
    };
    let path = Path::new(&path);
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path);
    let text = SummaryDocument::new(document).to_markdown();
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| Failure::in_file(path, error))
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
        VerifyFormat::Json => write_json_pretty(&document, &mut *out)?,
        VerifyFormat::Text if option == "--explain" => {
            for (number, rule) in document.rules.iter().enumerate() {
                if number > 0 {
                    writeln!(out)?;
                }
                text::explain(rule, width.min(super::DEFAULT_WIDTH), out)?;
            }
        }
        VerifyFormat::Text => text::list(&document, out)?,
        VerifyFormat::Sarif | VerifyFormat::Github | VerifyFormat::Lines | VerifyFormat::Junit => {
            return Err(Failure::new(format!(
                "{option}: rules are printed as text or json"
            )));
        }
    }
    Ok(Exit::Done)
}
