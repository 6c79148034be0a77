//! `hetdwarf merge`: makes one report from the records of many files. The report equals the one that a single run over all files gives.
//!
//! Records are converted back into the documents of `verify` and `core`, and printed by the same code.

mod store;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::arguments::{DocumentFormat, MergeArguments, VerifyFormat};
use super::contents::{self, STANDARD_INPUT, input_name};
use super::core::{CrashPrinting, crash_exit};
use super::failure::{Exit, Failure};
use super::outputs::Outputs;
use super::verify::{Printing, document_format, gathering, report_unreadable, status};
use hetdwarf::report::{
    CheckedFile, Crashes, FileRecord, FileRecords, FindingRecord, FolderRecord, Gathering, Record,
    UnreadableFile, VerifyDocument, safe_line, to_json, unchecked,
};
use hetdwarf::untrusted::Untrusted;
use hetdwarf::verify::Severity;
use store::{Conflict, Lines, Place, Store};

pub(crate) fn run(
    arguments: &MergeArguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let inputs = arguments.files.iter().map(PathBuf::as_path);
    let mut outputs = Outputs::new(arguments.force, inputs);
    let mut merge = Merge::new(&arguments.files, err)?;
    merge.read_all()?;
    let exit = match (merge.of_files, merge.of_cores) {
        (0, 0) if merge.of_errors == 0 => return Err(Failure::new("there are no records")),
        (0, 1..) => {
            for (option, is_given) in [("--each", arguments.each), ("--summary", arguments.summary)]
            {
                if is_given {
                    let message = format!("{option} works with records of verify, not of core");
                    return Err(Failure::new(message));
                }
            }
            let printing = CrashPrinting::plan(arguments.html.as_deref(), &mut outputs)?;
            merge.crashes(arguments, &printing, out)?
        }
        (_, 0) => {
            for (option, is_given) in [
                ("--tree", arguments.tree),
                ("--html", arguments.html.is_some()),
            ] {
                if is_given {
                    let message = format!("{option} works with records of core, not of verify");
                    return Err(Failure::new(message));
                }
            }
            merge.findings(arguments, out)?
        }
        _ => {
            let message = "records of verify and of core cannot be merged into one report";
            return Err(Failure::new(message));
        }
    };
    Ok(match merge.is_wrong {
        true => Exit::Incomplete,
        false => exit,
    })
}

/// The number of consecutive lines without a record after which a file is not read further: it is another kind of file.
const MOST_WRONG: u32 = 10;

/// The state of reading records.
struct Merge<'m> {
    inputs: &'m [PathBuf],
    err: &'m mut dyn Write,
    store: Store,
    folders: BTreeMap<(bool, Untrusted<'static>), FolderRecord>,
    of_files: u64,
    of_cores: u64,
    of_errors: u64,
    has_errors: bool,
    /// True if a file or a core could not be read.
    is_incomplete: bool,
    /// True if a file with a code object was checked, or could not be read.
    is_any: bool,
    /// True if a part of a core could not be read.
    is_partial: bool,
    /// True if a line was rejected.
    is_wrong: bool,
}

impl<'m> Merge<'m> {
    fn new(inputs: &'m [PathBuf], err: &'m mut dyn Write) -> Result<Merge<'m>, Failure> {
        Ok(Merge {
            inputs,
            err,
            store: Store::new().map_err(store_error)?,
            folders: BTreeMap::new(),
            of_files: 0,
            of_cores: 0,
            of_errors: 0,
            has_errors: false,
            is_incomplete: false,
            is_any: false,
            is_partial: false,
            is_wrong: false,
        })
    }

    /// Reports an error in a line, which is then left out.
    fn reject(&mut self, place: Place, error: impl core::fmt::Display) {
        self.is_wrong = true;
        let error = format!("{}: {error}", self.place(place));
        Failure::new(error).report(self.err);
    }

    fn place(&self, (input, line): Place) -> String {
        let path = self
            .inputs
            .get(input)
            .map_or(Path::new(""), PathBuf::as_path);
        format!("{}:{line}", Untrusted::from(input_name(path)))
    }

    fn read_all(&mut self) -> Result<(), Failure> {
        for (input, path) in self.inputs.iter().enumerate() {
            let named = (path != Path::new(STANDARD_INPUT)).then_some(path.as_path());
            let lines = contents::Lines::open(named);
            let lines = match lines {
                Ok(lines) => lines,
                Err(error) => {
                    self.is_wrong = true;
                    Failure::in_file(input_name(path), error).report(self.err);
                    continue;
                }
            };
            let mut wrong: u32 = 0;
            for (number, line) in (1..).zip(lines) {
                let place = (input, number);
                let is_record = match line {
                    Ok(line) => self.read(&line, place)?,
                    Err(error) => {
                        self.reject(place, error);
                        false
                    }
                };
                if is_record {
                    wrong = 0;
                    continue;
                }
                wrong += 1;
                if wrong == MOST_WRONG {
                    let message = "the rest of the file is not read; records are from verify --format jsonl or core --format jsonl";
                    Failure::in_file(input_name(path), message).report(self.err);
                    break;
                }
            }
        }
        let conflicts = self.store.sort();
        for Conflict {
            file,
            first,
            second,
        } in conflicts
        {
            let first = self.place(first);
            let error = format!("{file}: {first} contradicts it about the same file");
            self.reject(second, error);
        }
        Ok(())
    }

    /// Reads a line. Returns false if it is not a record.
    fn read(&mut self, line: &[u8], place: Place) -> Result<bool, Failure> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(true);
        }
        let Ok(text) = core::str::from_utf8(line) else {
            self.reject(place, "it is not UTF-8");
            return Ok(false);
        };
        let record = match Record::parse(line) {
            Ok(record) => record,
            Err(error) => {
                self.reject(place, error);
                return Ok(false);
            }
        };
        match &record {
            Record::Folder(folder) => {
                self.of_files += 1;
                let key = (folder.left_out, folder.folder.clone());
                let known = self.folders.entry(key).or_insert_with(|| folder.clone());
                known.add(folder);
                return Ok(true);
            }
            Record::Finding(finding) => {
                self.of_files += 1;
                self.has_errors |= finding.finding.severity == Severity::Error;
            }
            Record::File(file) => {
                self.of_files += 1;
                self.is_incomplete |= !file.unreadable.is_empty();
                self.is_any |= file.objects > 0 || !file.unreadable.is_empty();
            }
            Record::Wave(_) => self.of_cores += 1,
            Record::Error(error) => {
                self.of_errors += 1;
                self.is_any = true;
                match error.error {
                    Some(_) => self.is_incomplete = true,
                    None => self.is_partial = true,
                }
            }
        }
        let added = self.store.add(record.key(), text, place);
        added.map_err(store_error)?;
        Ok(true)
    }

    /// Prints the lines in the same order as a single run.
    fn lines(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        self.store.each(store_error, |Lines { lines, .. }| {
            for (_, line) in lines {
                safe_line(&line, &mut *out)?;
            }
            Ok(())
        })?;
        for folder in self.folders.values() {
            writeln!(out, "{}", to_json(folder)?)?;
        }
        Ok(())
    }

    fn findings(
        &mut self,
        arguments: &MergeArguments,
        out: &mut dyn Write,
    ) -> Result<Exit, Failure> {
        let folder = std::env::current_dir().map_err(|error| {
            Failure::new(format!("the current directory cannot be used: {error}"))
        })?;
        let Some(format) = document_format(arguments.format, arguments.summary)? else {
            self.lines(out)?;
            let is_incomplete = self.is_incomplete || self.is_partial;
            let is_unchecked = !self.unchecked().is_empty();
            return Ok(status(is_incomplete || is_unchecked, self.has_errors));
        };
        let document = self.document(gathering(format, arguments.each))?;
        report_unreadable(&document, self.err);
        let printing = Printing {
            format,
            summary: arguments.summary,
            folder: &folder,
        };
        printing.print(&document, out)
    }

    /// Makes the document about all files.
    fn document(&mut self, mut gathering: Gathering) -> Result<VerifyDocument, Failure> {
        let mut known: u64 = 0;
        let mut wrong = Vec::new();
        self.store.each(store_error, |lines| {
            let place = lines.lines.last().map_or((0, 0), |(place, _)| *place);
            let file = lines.file.clone();
            match checked(lines) {
                Ok((checked, more)) => {
                    known = known.saturating_add(more);
                    gathering.add(checked);
                }
                Err(error) => wrong.push((place, format!("{file}: {error}"))),
            }
            Ok(())
        })?;
        for (place, error) in wrong {
            self.reject(place, error);
        }
        gathering.add(CheckedFile {
            objects: Vec::new(),
            unreadable: self.unchecked(),
        });
        let mut document = gathering.finish();
        document.summary.known = known;
        Ok(document)
    }

    /// Returns the folders in which nothing was checked.
    fn unchecked(&self) -> Vec<UnreadableFile> {
        let folders: Vec<FolderRecord> = self.folders.values().cloned().collect();
        unchecked(&folders, self.is_any)
    }

    fn crashes(
        &mut self,
        arguments: &MergeArguments,
        printing: &CrashPrinting,
        out: &mut dyn Write,
    ) -> Result<Exit, Failure> {
        let is_json = match arguments.format {
            VerifyFormat::Document(DocumentFormat::Text) => false,
            VerifyFormat::Document(DocumentFormat::Json) => true,
            VerifyFormat::Jsonl => {
                self.lines(out)?;
                return Ok(crash_exit(self.is_incomplete, self.is_partial));
            }
            VerifyFormat::Document(_) => {
                let message = "records of core are printed as text, json or jsonl";
                return Err(Failure::new(message));
            }
        };
        let mut crashes = Crashes::new(arguments.tree);
        self.store.each(store_error, |Lines { lines, .. }| {
            for (_, line) in lines {
                match Record::parse(line.as_bytes())? {
                    Record::Wave(wave) => crashes.add(&wave),
                    Record::Error(error) => crashes.add_error(&error),
                    Record::Finding(_) | Record::File(_) | Record::Folder(_) => {}
                }
            }
            Ok(())
        })?;
        printing.print(&crashes.finish(), is_json, out, self.err)
    }
}

fn store_error(error: std::io::Error) -> Failure {
    Failure::new(format!(
        "the temporary file of the records cannot be used: {error}"
    ))
}

/// Converts the records of a file into its results, and returns them with the number of findings that a baseline knew.
fn checked(lines: Lines) -> Result<(CheckedFile, u64), Failure> {
    let mut findings: Vec<FindingRecord> = Vec::new();
    let mut file: Option<FileRecord> = None;
    for (_, line) in lines.lines {
        match Record::parse(line.as_bytes())? {
            Record::Finding(finding) => findings.push(*finding),
            Record::File(found) => file = Some(*found),
            Record::Error(error) => return Ok((error.to_checked(), 0)),
            Record::Folder(_) | Record::Wave(_) => {}
        }
    }
    let Some(file) = file else {
        let message = "it has findings, but no record of the file itself";
        return Err(Failure::new(message));
    };
    let known = file.known;
    let records = FileRecords::of(file, findings);
    Ok((records.into_checked()?, known))
}
