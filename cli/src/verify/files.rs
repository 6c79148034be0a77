//! Finds the files to check: the named files, and those files in named folders that can hold code objects.

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
    /// True if the file itself was named, and not only a folder that contains it.
    pub(super) named: bool,
    /// The named folders that contain the file, as indices of [`Files::folders`].
    folders: Vec<usize>,
}

impl Target {
    /// Makes the target for a named file.
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
    /// True if the configuration excludes something in the folder.
    is_partial: bool,
    /// True if the folder contains a code object or something unreadable.
    is_seen: bool,
}

/// The files and folders that the arguments name.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// The files to check, sorted by name, each only once.
    pub(super) targets: BTreeMap<String, Target>,
    /// The files and folders that cannot be read.
    pub(super) unreadable: Vec<UnreadableFile>,
    folders: Vec<Folder>,
    /// The named paths that the configuration excludes.
    left_out: Vec<PathBuf>,
    /// The paths from the command line.
    named: Vec<PathBuf>,
    /// The part of the targets that is checked.
    pub(super) shard: Shard,
}

impl Files {
    /// Finds the files of paths, except those that the configuration excludes.
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
                // The type of the file is determined when it is read.
                Ok(_) => files.add(path, None),
                Err(error) => files.fail(path, error),
            }
        }
        files
    }

    /// Returns the named paths, or None if only a part of the files is checked here.
    pub(super) fn asked(&self) -> Option<&[PathBuf]> {
        (!self.shard.is_part()).then_some(&*self.named)
    }

    /// Adds a named file, or a file in a folder.
    fn add(&mut self, path: &Path, folder: Option<usize>) {
        let target = self.targets.entry(name(path)).or_insert_with(|| Target {
            path: path.to_owned(),
            named: false,
            folders: Vec::new(),
        });
        target.named |= folder.is_none();
        target.folders.extend(folder);
    }

    /// Reports the folders and files in which nothing was checked.
    ///
    /// * `is_checked`: for each target, true if there was something in it to check. None, for a target in another shard, counts as true.
    pub(super) fn note_unchecked(&mut self, is_checked: &[Option<bool>]) {
        let is_checked: Vec<bool> = is_checked.iter().map(|one| one.unwrap_or(true)).collect();
        let is_any = !self.unreadable.is_empty() || is_checked.contains(&true);
        let folders = self.records(&is_checked);
        self.unreadable.extend(unchecked(&folders, is_any));
    }

    /// Returns the records of the named folders and of the excluded paths.
    ///
    /// * `is_checked`: as in [`note_unchecked`](Files::note_unchecked), except that None counts as false: other shards report their own
    ///   targets.
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

    /// Adds every file below a folder. Links to folders are not followed, because they can form cycles.
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

/// An entry in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    /// A file that can hold code objects.
    Candidate,
    /// Another file, or something that is not a file, such as a broken link.
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

/// Returns the name of a file in reports: the path as it was given, without `./`.
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

    /// The entry existed when the folder was read, and was deleted afterwards.
    #[test]
    fn an_entry_that_has_vanished_is_an_error() {
        let error = look_at(Path::new("no/such/entry")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
