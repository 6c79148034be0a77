//! Of which findings of a baseline it is known whether they are still there.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use super::files::name;
use crate::report::VerifyDocument;

/// The paths that were to be checked and could be.
pub(super) struct Judged {
    asked: Paths,
    unreadable: Paths,
}

impl Judged {
    pub(super) fn new(asked: &[PathBuf], document: &VerifyDocument) -> Judged {
        let unreadable = document.unreadable.iter();
        Judged {
            asked: asked.iter().map(|path| name(path)).collect(),
            unreadable: unreadable.map(|file| file.path.raw().to_owned()).collect(),
        }
    }

    /// Whether what has this path was.
    pub(super) fn holds(&self, path: &str) -> bool {
        let is_here = self.asked.names.contains(".") && !path.starts_with('/');
        (is_here || self.asked.hold(path)) && !self.unreadable.hold(path)
    }
}

/// Files and folders, and all that is in them. There can be as many as there are paths to look up, so that looking up
/// one does not pass over them.
struct Paths {
    names: HashSet<String>,
    /// How long the names are: only so much of a path can be one of them.
    lengths: BTreeSet<usize>,
}

impl Paths {
    /// Whether one of them is `path`, or has it in it.
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
            // The second byte of `é` is where a name ends.
            ("oué", false),
            ("ä/x", true),
        ] {
            assert_eq!(paths.hold(path), expected, "{path}");
        }
    }
}
