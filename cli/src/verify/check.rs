//! Checks files with several threads, and returns the findings in the order of the file names.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::super::contents::{Contents, Input};
use super::super::packages::ObjectFile;
use super::super::progress::Progress;
use super::files::{Files, Target};
use hetdwarf::limits::Limits;
use hetdwarf::report::{
    CheckedFile, UnreadableFile, check_named_file, check_packaged_file, sha256,
};
use hetdwarf::untrusted::Untrusted;
use hetdwarf::verify::{Selection, queue};

/// The result of checking a file.
pub(super) struct Checked {
    /// The name of the file in reports.
    pub(super) name: String,
    /// The SHA-256, if it was requested and the file could be read.
    pub(super) sha256: Option<String>,
    pub(super) found: CheckedFile,
}

/// The settings of the check.
pub(super) struct Check<'c> {
    pub(super) jobs: Option<NonZeroUsize>,
    pub(super) selection: &'c Selection,
    pub(super) limits: &'c Limits,
    /// True if the SHA-256 of files is requested.
    pub(super) wants_sha256: bool,
}

impl Check<'_> {
    /// Checks the files of a shard. Calls `take` with the result of each file, in the order of the names.
    ///
    /// Returns an item per file: true if the file had anything to check, false if not, and None for files of other shards.
    pub(super) fn all(&self, files: &Files, mut take: impl FnMut(Checked)) -> Vec<Option<bool>> {
        let jobs = self
            .jobs
            .or_else(|| std::thread::available_parallelism().ok())
            .map_or(1, NonZeroUsize::get);
        let targets: Vec<(&String, &Target)> = files.targets.iter().collect();
        // The paths are computed only if a library has packages.
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
        let numbered = targets.iter().enumerate();
        let here: Vec<(usize, (&String, &Target))> = numbered
            .filter(|(number, _)| files.shard.has(*number))
            .map(|(number, target)| (number, *target))
            .collect();
        let mut progress = Progress::new(here.len(), "files");
        // If there are fewer files than threads, several threads check the same file.
        let files_at_once = jobs.min(here.len()).max(1);
        let threads = jobs
            .checked_div(files_at_once)
            .and_then(NonZeroUsize::new)
            .unwrap_or(NonZeroUsize::MIN);
        let mut is_checked = vec![None; targets.len()];
        let mut numbers = here.iter().map(|(number, _)| *number);
        queue::in_order(
            &here,
            files_at_once,
            |(_, (name, target))| self.one(name, target, threads, is_target),
            |checked| {
                let slot = numbers.next().and_then(|number| is_checked.get_mut(number));
                if let Some(slot) = slot {
                    *slot = Some(!checked.found.is_empty());
                }
                take(checked);
            },
            |done| progress.show(done),
        );
        is_checked
    }

    /// Checks a file.
    ///
    /// * `is_target`: returns true if the packages of a file are checked as files of their own.
    pub(super) fn one(
        &self,
        name: &str,
        target: &Target,
        threads: NonZeroUsize,
        is_target: impl Fn(&ObjectFile) -> bool,
    ) -> Checked {
        let (selection, limits) = (self.selection, self.limits);
        let unreadable = |error: &dyn core::fmt::Display| Checked {
            name: name.to_owned(),
            sha256: None,
            found: CheckedFile::unreadable(name, error),
        };
        let opened = Contents::of_argument(&target.path, Input::Whole);
        let opened = opened.map_err(|error| error.to_string()).and_then(|data| {
            ObjectFile::with_packages(&target.path, data, Input::Whole, limits)
                .map_err(|(package, error)| format!("{}: {error}", Untrusted::from(&*package)))
        });
        let data = match opened {
            Ok(data) => data,
            Err(error) => return unreadable(&error),
        };
        // The code of a package is checked once, for all libraries.
        let is_checked_there = is_target(&data);
        let packages = match is_checked_there {
            true => Vec::new(),
            false => data.packages(),
        };
        // A named file must have something to check. In folders, files for other machines are skipped.
        let found = if target.named && !is_checked_there {
            check_named_file(name, &data, &packages, selection, limits, threads)
        } else {
            let mut found = check_packaged_file(name, &data, &packages, selection, limits, threads);
            if let Some(reference) = data.missing() {
                let missing = UnreadableFile::without_package(name, reference);
                found.unreadable.push(missing);
            }
            found
        };
        let sha256 = self.wants_sha256.then(|| sha256(&data));
        // If the file has changed meanwhile, the findings may be about the old contents.
        if let Err(error) = data.check_length() {
            return unreadable(&error);
        }
        Checked {
            name: name.to_owned(),
            sha256,
            found,
        }
    }
}
