//! Formats text that several documents and their printed forms share.

use core::fmt::Display;
use std::collections::{BTreeMap, BTreeSet};

use crate::untrusted::Untrusted;

/// Returns the text of a source place that follows a name, such as ` at k.cl:4` or ` in k.cl`. It is empty if the file is unknown.
pub(crate) fn source_place(file: Option<impl Display>, line: Option<u64>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!(" at {file}:{line}"),
        (Some(file), None) => format!(" in {file}"),
        (None, _) => String::new(),
    }
}

/// Returns the name of a file without its directories. Accepts Unix and Windows separators.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The short names of source files. Each name has as many of the last parts of its path as make it unique.
#[derive(Debug, Default)]
pub struct FileNames<'f>(BTreeMap<&'f str, usize>);

impl<'f> FileNames<'f> {
    /// Determines the short names of paths.
    pub fn of(paths: impl IntoIterator<Item = &'f str>) -> FileNames<'f> {
        /// The maximum number of parts. A name with more parts would be no shorter than its path.
        const PARTS: usize = 16;
        let mut waiting: BTreeSet<&str> = paths.into_iter().collect();
        let mut names = BTreeMap::new();
        for parts in 1..=PARTS {
            let mut users: BTreeMap<&str, usize> = BTreeMap::new();
            for path in &waiting {
                *users.entry(last_parts(path, parts)).or_default() += 1;
            }
            waiting.retain(|path| {
                let is_alone = users.get(last_parts(path, parts)) == Some(&1);
                if is_alone {
                    names.insert(*path, parts);
                }
                !is_alone
            });
        }
        FileNames(names)
    }

    /// Returns the short name of a path.
    pub fn short<'p>(&self, path: &'p Untrusted<'_>) -> Untrusted<'p> {
        let path = path.raw();
        match self.0.get(path) {
            Some(parts) => last_parts(path, *parts).into(),
            None => path.into(),
        }
    }
}

/// Returns the last parts of a path.
fn last_parts(path: &str, parts: usize) -> &str {
    let mut separators = path.rmatch_indices(['/', '\\']);
    match separators.nth(parts.saturating_sub(1)) {
        Some((at, _)) => path.get(at + 1..).unwrap_or(path),
        None => path,
    }
}

/// Returns the character reference for a character of text in HTML and XML, in content and in attributes within `"`. Returns `None` if the character
/// needs none.
pub(super) const fn reference(letter: char) -> Option<&'static str> {
    match letter {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_parts_that_tell_files_apart() {
        let paths = [
            "/src/x/k.h",
            "/src/y/k.h",
            "/src/k.cl",
            "C:\\a\\b.cl",
            "b.cl",
        ];
        let names = FileNames::of(paths);
        let short = |path: &str| names.short(&path.into()).raw().to_owned();
        let found = paths.map(short);
        assert_eq!(found, ["x/k.h", "y/k.h", "k.cl", "a\\b.cl", "b.cl"]);
        // One path is a suffix of another.
        let paths = ["k.cl", "/k.cl"];
        let names = FileNames::of(paths);
        let short = |path: &str| names.short(&path.into()).raw().to_owned();
        assert_eq!(paths.map(short), ["k.cl", "/k.cl"]);
        assert_eq!(short("/other/k.cl"), "/other/k.cl");
    }
}
