//! Which files are checked: those that are named, and those in named folders that can hold code objects.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::contents::Contents;
use super::super::input::{STANDARD_INPUT, input_name};
use super::config::Config;
use hetdwarf::object::may_hold_code_objects;
use hetdwarf::report::{CheckedFile, UnreadableFile};

/// A file to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    /// Whether somebody named it, and not only a folder above it.
    pub(super) named: bool,
    /// The folders that were named and have it in them, as indices of [`Files::folders`].
    folders: Vec<usize>,
}

/// A folder to check.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// Whether the configuration leaves out something in it.
    is_partial: bool,
    /// Whether there is a code object in it, or something that cannot be read.
    is_seen: bool,
}

/// What the arguments stand for.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// By what they are called, so in a fixed order and each once.
    pub(super) targets: BTreeMap<String, Target>,
    /// What could not be looked into.
    pub(super) unreadable: Vec<UnreadableFile>,
    folders: Vec<Folder>,
    /// What was named and the configuration leaves out.
    left_out: Vec<PathBuf>,
}

impl Files {
    /// Finds the files of paths, without those that the configuration leaves out.
    pub(super) fn find(paths: &[PathBuf], config: &Config) -> Files {
        let mut files = Files::default();
        for path in paths {
            if config.excludes(path) {
                files.left_out.push(path.clone());
                continue;
            }
            if path == Path::new(STANDARD_INPUT) {
                files.add(path, None);
                continue;
            }
            match fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => files.walk(path, config),
                // Reading it will tell what it is.
                Ok(_) => files.add(path, None),
                Err(error) => files.fail(path, error),
            }
        }
        files
    }

    /// Adds a file of a folder, or one that was named.
    fn add(&mut self, path: &Path, folder: Option<usize>) {
        let target = self.targets.entry(name(path)).or_insert_with(|| Target {
            path: path.to_owned(),
            named: false,
            folders: Vec::new(),
        });
        target.named |= folder.is_none();
        target.folders.extend(folder);
    }

    /// Says of which folders and files nothing was checked: a check that quietly looks at nothing is worse than none.
    ///
    /// * `is_checked`: of each of the targets, whether there was something in it to check.
    pub(super) fn note_unchecked(&mut self, is_checked: &[bool]) {
        let mut any = !self.unreadable.is_empty();
        for (target, is_checked) in self.targets.values().zip(is_checked) {
            if !is_checked {
                continue;
            }
            any = true;
            for &folder in &target.folders {
                if let Some(folder) = self.folders.get_mut(folder) {
                    folder.is_seen = true;
                }
            }
        }
        for folder in core::mem::take(&mut self.folders) {
            match (folder.is_seen, folder.is_partial) {
                (true, _) => {}
                (false, false) => self.fail(&folder.path, "there is no code object in it"),
                (false, true) if any => {}
                (false, true) => self.fail(
                    &folder.path,
                    "there is no code object in what hetdwarf.toml leaves of it",
                ),
            }
        }
        if !any && self.unreadable.is_empty() {
            for path in core::mem::take(&mut self.left_out) {
                let message = "hetdwarf.toml leaves it out, and there is nothing else to check";
                self.fail(&path, message);
            }
        }
    }

    fn fail(&mut self, path: &Path, error: impl ToString) {
        let failed = CheckedFile::unreadable(&name(path), error);
        self.unreadable.extend(failed.unreadable);
    }

    /// Every file below a folder. Links to folders are not followed: they can lead back.
    fn walk(&mut self, root: &Path, config: &Config) {
        let index = self.folders.len();
        let problems = self.unreadable.len();
        let mut is_partial = false;
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) => {
                    self.fail(&folder, error);
                    continue;
                }
            };
            for entry in entries {
                let path = match entry {
                    Ok(entry) => entry.path(),
                    Err(error) => {
                        self.fail(&folder, error);
                        continue;
                    }
                };
                if config.excludes(&path) {
                    is_partial = true;
                    continue;
                }
                match look_at(&path) {
                    Ok(Entry::Folder) => folders.push(path),
                    Ok(Entry::Candidate) => self.add(&path, Some(index)),
                    Ok(Entry::Other) => {}
                    Err(error) => self.fail(&path, error),
                }
            }
        }
        self.folders.push(Folder {
            path: root.to_owned(),
            is_partial,
            is_seen: self.unreadable.len() > problems,
        });
    }
}

/// What is in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    /// A file that can hold code objects.
    Candidate,
    /// Another file, or no file. A link that leads nowhere is none.
    Other,
}

fn look_at(path: &Path) -> io::Result<Entry> {
    let entry = fs::symlink_metadata(path)?;
    if entry.is_dir() {
        return Ok(Entry::Folder);
    }
    let is_file = if entry.is_symlink() {
        fs::metadata(path).is_ok_and(|found| found.is_file())
    } else {
        entry.is_file()
    };
    if is_file && may_hold_code_objects(&Contents::start(path)?) {
        return Ok(Entry::Candidate);
    }
    Ok(Entry::Other)
}

/// What a file is called: as it was named, without `./`.
pub(super) fn name(path: &Path) -> String {
    let path = input_name(path);
    let name = path.strip_prefix(".").unwrap_or(path).to_string_lossy();
    if name.is_empty() {
        return ".".to_owned();
    }
    name.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It was there when the folder was read.
    #[test]
    fn an_entry_that_has_vanished_is_an_error() {
        let error = look_at(Path::new("no/such/entry")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
