//! Lists the files in folders that a user names.

use std::path::{Path, PathBuf};

use hetdwarf::untrusted::Untrusted;

/// The most files that are listed.
const MOST_FILES: usize = 100_000;
/// The deepest level of nested folders that is searched.
const MOST_DEPTH: usize = 32;

/// The contents of a folder.
#[derive(Default)]
pub(crate) struct Below {
    /// All files, sorted.
    pub(crate) files: Vec<PathBuf>,
    /// The number of unreadable entries, and the reason for the first.
    pub(crate) skipped: u64,
    pub(crate) first: Option<String>,
}

impl Below {
    pub(crate) fn skip(&mut self, path: &Path, why: impl core::fmt::Display) {
        self.skipped += 1;
        self.first
            .get_or_insert_with(|| format!("{}: {why}", Untrusted::from(path)));
    }
}

/// Returns all files in a folder and its subfolders. Links to folders are not followed.
pub(crate) fn files_below(folder: &Path) -> Below {
    let mut below = Below::default();
    let mut folders = vec![(folder.to_owned(), 0_usize)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                below.skip(&folder, error);
                continue;
            }
        };
        for entry in entries {
            let found = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)));
            let (path, kind) = match found {
                Ok(found) => found,
                Err(error) => {
                    below.skip(&folder, error);
                    continue;
                }
            };
            if kind.is_dir() {
                if depth < MOST_DEPTH {
                    folders.push((path, depth + 1));
                } else {
                    below.skip(
                        &path,
                        format!("not searched: it is {MOST_DEPTH} directories deep"),
                    );
                }
            } else if kind.is_file() || kind.is_symlink() && path.is_file() {
                if below.files.len() < MOST_FILES {
                    below.files.push(path);
                } else {
                    below.skip(&path, format!("not read: more than {MOST_FILES} files"));
                }
            }
        }
    }
    below.files.sort();
    below
}
