//! Decides which findings of a baseline can be called stale, because the files that contained them were checked.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use super::config::normal;
use hetdwarf::report::VerifyDocument;

/// The paths that were requested, without those that could not be read.
pub(super) struct Judged {
    asked: Paths,
    unreadable: Paths,
}

impl Judged {
    /// * `here`: the folder that relative paths count from, absolute.
    pub(super) fn new(asked: &[PathBuf], here: &Path, document: &VerifyDocument) -> Judged {
        let name = |path: &Path| text(&normal(&here.join(path)));
        let unreadable = document.unreadable.iter();
        Judged {
            asked: asked.iter().map(|path| name(path)).collect(),
            unreadable: unreadable
                .map(|file| name(Path::new(file.path.raw())))
                .collect(),
        }
    }

    /// Returns true if the file with this absolute path was checked.
    pub(super) fn holds(&self, path: &Path) -> bool {
        let path = text(path);
        self.asked.hold(&path) && !self.unreadable.hold(&path)
    }
}

/// Returns the text of a path without a trailing `/`, which only the root has.
fn text(path: &Path) -> String {
    path.to_string_lossy().trim_end_matches('/').to_owned()
}

/// Files and folders, with everything in them. Both the paths and the lookups can be many, so a lookup is not a linear search.
struct Paths {
    names: HashSet<String>,
    /// The lengths of the names: a prefix of a path can be a name only if it has one of these lengths.
    lengths: BTreeSet<usize>,
}

impl Paths {
    /// Returns true if `path` is one of the names, or is contained in one.
    fn hold(&self, path: &str) -> bool {
        self.lengths.range(..=path.len()).any(|&length| {
            let Some((start, rest)) = path.split_at_checked(length) else {
                return false;
            };
            (rest.is_empty() || rest.starts_with(['/', '(', ':', '#']))
                && self.names.contains(start)
        })
    }
}

impl FromIterator<String> for Paths {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Paths {
        let names: HashSet<String> = names.into_iter().collect();
        Paths {
            lengths: names.iter().map(String::len).collect(),
            names,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_path_is_held_and_what_only_begins_like_it_is_not() {
        let paths: Paths = ["a/lib.a", "out", "ä"]
            .map(String::from)
            .into_iter()
            .collect();
        for (path, expected) in [
            ("a/lib.a", true),
            ("a/lib.a(x.o)", true),
            ("a/lib.a:gfx90a", true),
            ("a/lib.a#2", true),
            ("a/lib.ab", false),
            ("a", false),
            ("out/deep/x.o", true),
            ("outside/x.o", false),
            // The length of `out` and `ä/x` is a position in the middle of `é`.
            ("oué", false),
            ("ä/x", true),
        ] {
            assert_eq!(paths.hold(path), expected, "{path}");
        }
    }
}
