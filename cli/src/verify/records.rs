//! Prints the records of `--format jsonl`, one file at a time.

use std::collections::BTreeMap;
use std::io::Write;

use super::super::failure::{Exit, Failure};
use super::check::Checked;
use super::files::Files;
use super::report::{report_unreadable, status};
use hetdwarf::report::{
    CheckedFile, FileRecords, Gathering, UnreadableFile, VerifiedFile, VerifyDocument, to_json,
};
use hetdwarf::verify::Severity;

/// The writer of the records.
pub(super) struct Lines<'o> {
    out: &'o mut dyn Write,
    /// The unreadable files and folders by name. Their records are printed in order among the other files.
    failed: BTreeMap<String, Vec<UnreadableFile>>,
    /// The files without their findings, for messages and the status.
    gathering: Gathering,
    has_errors: bool,
    written: Result<(), Failure>,
}

impl<'o> Lines<'o> {
    /// * `files`: the files to be checked.
    pub(super) fn new(out: &'o mut dyn Write, files: &Files) -> Lines<'o> {
        let mut failed: BTreeMap<String, Vec<UnreadableFile>> = BTreeMap::new();
        for file in &files.unreadable {
            let name = file.path.raw().to_owned();
            failed.entry(name).or_default().push(file.clone());
        }
        Lines {
            out,
            failed,
            gathering: Gathering::each(),
            has_errors: false,
            written: Ok(()),
        }
    }

    /// Adds the findings of a file.
    ///
    /// * `before`: the number of findings before the known ones of a baseline were removed.
    pub(super) fn add(&mut self, checked: Checked, before: u64) {
        while let Some(first) = self.failed.first_entry()
            && *first.key() <= checked.name
        {
            let (name, unreadable) = first.remove_entry();
            self.add_failed(&name, unreadable);
        }
        let Checked {
            name,
            sha256,
            found,
        } = checked;
        let findings = found.objects.iter().flat_map(|object| &object.findings);
        self.has_errors |= findings
            .map(|finding| finding.severity)
            .any(|severity| severity == Severity::Error);
        let known = before.saturating_sub(count_findings(&found.objects));
        let bare = found.objects.iter().map(|object| {
            let (path, target) = (object.path.clone(), object.target.clone());
            let mut bare = VerifiedFile::with_findings(path, target, Vec::new());
            bare.same.clone_from(&object.same);
            bare.missing_split.clone_from(&object.missing_split);
            bare
        });
        self.gathering.add(CheckedFile {
            objects: bare.collect(),
            unreadable: found.unreadable.clone(),
        });
        let mut records = FileRecords::with_sha256(&name, sha256, found);
        records.file.known = known;
        self.write(&records);
    }

    fn add_failed(&mut self, name: &str, unreadable: Vec<UnreadableFile>) {
        let found = CheckedFile {
            objects: Vec::new(),
            unreadable,
        };
        let records = FileRecords::with_sha256(name, None, found.clone());
        self.gathering.add(found);
        self.write(&records);
    }

    fn write(&mut self, records: &FileRecords) {
        if self.written.is_ok() {
            self.written = write(records, self.out);
        }
    }

    /// Prints the remaining records. Returns the document without findings, and the exit status.
    pub(super) fn finish(
        mut self,
        files: &mut Files,
        is_checked: &[Option<bool>],
        err: &mut dyn Write,
    ) -> Result<(VerifyDocument, Exit), Failure> {
        for (name, unreadable) in core::mem::take(&mut self.failed) {
            self.add_failed(&name, unreadable);
        }
        self.written?;
        for folder in files.folder_records(is_checked) {
            writeln!(self.out, "{}", to_json(&folder)?)?;
        }
        let before = files.unreadable.len();
        files.note_unchecked(is_checked);
        let noted = files.unreadable.split_off(before);
        self.gathering.add(CheckedFile {
            objects: Vec::new(),
            unreadable: noted,
        });
        let document = self.gathering.finish();
        report_unreadable(&document, err);
        let exit = status(!document.unreadable.is_empty(), self.has_errors);
        Ok((document, exit))
    }
}

fn write(records: &FileRecords, out: &mut dyn Write) -> Result<(), Failure> {
    let mut text = records.lines()?.join("\n");
    text.push('\n');
    out.write_all(text.as_bytes())?;
    // A reader of the output sees each file as soon as it is finished.
    Ok(out.flush()?)
}

/// Counts the findings.
pub(super) fn count_findings(objects: &[VerifiedFile]) -> u64 {
    objects
        .iter()
        .map(|object| object.findings.len() as u64)
        .sum()
}
