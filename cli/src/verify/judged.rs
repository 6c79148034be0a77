//! Of which findings of a baseline it is known whether they are still there.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use super::config::normal;
use hetdwarf::report::VerifyDocument;

/// The paths that were to be checked and could be.
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

    /// Whether what has this absolute path was.
    pub(super) fn holds(&self, path: &Path) -> bool {
        let path = text(path);
        self.asked.hold(&path) && !self.unreadable.hold(&path)
    }
}

/// A path without the `/` that only the root ends with.
fn text(path: &Path) -> String {
    path.to_string_lossy().trim_end_matches('/').to_owned()
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
