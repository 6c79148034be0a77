//! Which files are checked: those that are named, and those in named folders that can hold code objects.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::config::Config;
use crate::object::may_hold_code_objects;
use crate::report::{CheckedFile, UnreadableFile};

/// A file to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    /// Whether somebody named it, and not only a folder above it.
    pub(super) named: bool,
}

/// What the arguments stand for.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// By what they are called, so in a fixed order and each once.
    pub(super) targets: BTreeMap<String, Target>,
    /// What could not be looked into.
    pub(super) unreadable: Vec<UnreadableFile>,
}

impl Files {
    /// Finds the files of paths, without those that the configuration leaves out.
    pub(super) fn find(paths: &[PathBuf], config: &Config) -> Files {
        let mut files = Files::default();
        for path in paths {
            if config.excludes(path) {
                continue;
            }
            match fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => files.walk(path, config),
                // Reading it will tell what it is.
                Ok(_) => files.add(path, true),
                Err(error) => files.fail(path, error),
            }
        }
        files
    }

    fn add(&mut self, path: &Path, named: bool) {
        let target = self.targets.entry(name(path)).or_insert_with(|| Target {
            path: path.to_owned(),
            named,
        });
        target.named |= named;
    }

    fn fail(&mut self, path: &Path, error: impl ToString) {
        let failed = CheckedFile::unreadable(&name(path), error);
        self.unreadable.extend(failed.unreadable);
    }

    /// Every file below a folder. Links to folders are not followed: they can lead back.
    fn walk(&mut self, root: &Path, config: &Config) {
        let mut seen = false;
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
                    seen = true;
                    continue;
                }
                let is_folder = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
                // A pipe would keep us waiting; a link that leads nowhere is no file.
                let is_file = fs::metadata(&path).is_ok_and(|found| found.is_file());
                if is_folder {
                    folders.push(path);
                } else if is_file {
                    match start(&path) {
                        Ok(start) if may_hold_code_objects(&start) => {
                            self.add(&path, false);
                            seen = true;
                        }
                        Ok(_) => {}
                        Err(error) => self.fail(&path, error),
                    }
                }
            }
        }
        // A check that quietly looks at nothing is worse than none.
        if !seen {
            self.fail(root, "there is no file in it that can hold code objects");
        }
    }
}

/// The first bytes of a file: as many as tell what it is.
fn start(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    fs::File::open(path)?.take(64).read_to_end(&mut start)?;
    Ok(start)
}

/// What a file is called: as it was named, without `./`.
pub(super) fn name(path: &Path) -> String {
    let name = path.strip_prefix(".").unwrap_or(path).to_string_lossy();
    if name.is_empty() {
        return ".".to_owned();
    }
    name.into_owned()
}
