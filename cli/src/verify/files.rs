//! Which files are checked: those that are named, and those in named folders that can hold code objects.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::arguments::Shard;
use super::super::contents::{Contents, STANDARD_INPUT, input_name};
use super::config::Config;
use hetdwarf::object::may_hold_code_objects;
use hetdwarf::report::{CheckedFile, FolderRecord, UnreadableFile, unchecked};

/// A file to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    /// Whether somebody named it, and not only a folder above it.
    pub(super) named: bool,
    /// The folders that were named and have it in them, as indices of [`Files::folders`].
    folders: Vec<usize>,
}

impl Target {
    /// A file that somebody named.
    pub(super) fn named(path: &Path) -> Target {
        Target {
            path: path.to_owned(),
            named: true,
            folders: Vec::new(),
        }
    }
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
    /// What was named.
    named: Vec<PathBuf>,
    /// Which of the targets are checked.
    pub(super) shard: Shard,
}

impl Files {
    /// Finds the files of paths, without those that the configuration leaves out.
    pub(super) fn find(paths: &[PathBuf], config: &Config) -> Files {
        let mut files = Files {
            named: paths.to_vec(),
            ..Files::default()
        };
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

    /// What was named; None if only a part of it is checked here.
    pub(super) fn asked(&self) -> Option<&[PathBuf]> {
        (!self.shard.is_part()).then_some(&*self.named)
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

    /// Says of which folders and files nothing was checked.
    ///
    /// * `is_checked`: for each of the targets, whether there was something in it to check; None of a target in another shard,
    ///   which is given the benefit of the doubt.
    pub(super) fn note_unchecked(&mut self, is_checked: &[Option<bool>]) {
        let is_checked: Vec<bool> = is_checked.iter().map(|one| one.unwrap_or(true)).collect();
        let is_any = !self.unreadable.is_empty() || is_checked.contains(&true);
        let folders = self.records(&is_checked);
        self.unreadable.extend(unchecked(&folders, is_any));
    }

    /// The records of what was named, apart from files.
    ///
    /// * `is_checked`: as in [`note_unchecked`](Files::note_unchecked); the records of another shard say what is in its targets.
    pub(super) fn folder_records(&self, is_checked: &[Option<bool>]) -> Vec<FolderRecord> {
        let is_checked: Vec<bool> = is_checked.iter().map(|one| one.unwrap_or(false)).collect();
        self.records(&is_checked)
    }

    fn records(&self, is_checked: &[bool]) -> Vec<FolderRecord> {
        let mut seen: Vec<bool> = self.folders.iter().map(|folder| folder.is_seen).collect();
        for (target, is_checked) in self.targets.values().zip(is_checked) {
            for &folder in &target.folders {
                if let Some(seen) = seen.get_mut(folder) {
                    *seen |= is_checked;
                }
            }
        }
        let folders = self.folders.iter().zip(seen);
        let folders = folders
            .map(|(folder, seen)| FolderRecord::new(name(&folder.path), seen, folder.is_partial));
        let left_out = self.left_out.iter();
        let left_out = left_out.map(|path| FolderRecord::left_out(name(path)));
        let mut records: Vec<FolderRecord> = folders.chain(left_out).collect();
        records.sort_by(|a, b| (a.left_out, a.folder.raw()).cmp(&(b.left_out, b.folder.raw())));
        records
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
