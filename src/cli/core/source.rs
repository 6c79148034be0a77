//! Lines of the source, from files in folders that the user names and from no others.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::super::contents::{Contents, Input};

/// The folders.
pub(super) struct Sources<'a> {
    folders: &'a [PathBuf],
    /// The lines of files that were read, by the paths that debugging information has; only looked up, never listed.
    read: HashMap<String, Option<Vec<String>>>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(folders: &'a [PathBuf]) -> Sources<'a> {
        Sources {
            folders,
            read: HashMap::new(),
        }
    }

    /// A line of the file that debugging information names, counted from 1.
    pub(super) fn line(&mut self, path: &str, line: u64) -> Option<&str> {
        if !self.read.contains_key(path) {
            let text = self.folders.iter().find_map(|folder| read(folder, path));
            self.read.insert(path.to_owned(), text);
        }
        let lines = self.read.get(path)?.as_ref()?;
        let index = usize::try_from(line.checked_sub(1)?).ok()?;
        lines.get(index).map(String::as_str)
    }
}

/// The lines of the file in `folder` whose path ends as `path` does, as long an end as there is one for.
fn read(folder: &Path, path: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let below = |skipped: usize| -> Option<Contents> {
        let end = parts.get(skipped..)?;
        // A path cannot lead out of the folder.
        if end.is_empty() || end.contains(&"..") {
            return None;
        }
        Contents::open(&folder.join(end.join("/")), Input::Source).ok()
    };
    let text = (0..parts.len()).find_map(below)?;
    let text = String::from_utf8_lossy(&text);
    Some(text.lines().map(str::to_owned).collect())
}
