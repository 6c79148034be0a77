//! Converts paths for code hosts: relative to the checked folder, without `.`, `..` or a host.
//!
//! Source paths come from the debugging information, so they are only treated as text, and no file is accessed. Sources: SARIF 2.1.0, 3.4.3 (`uri`),
//! 3.4.4 (`uriBaseId`) and 3.14.14 (`originalUriBaseIds`); RFC 3986.

use core::fmt::Write;

/// The place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the checked folder. The path is relative to the folder, with `/` as separator.
    InFolder(String),
    /// Outside the checked folder. The path is relative to the root of the file system, with `/` as separator.
    Elsewhere(String),
}

impl Place {
    /// Finds the place of a path.
    ///
    /// * `folder`: the absolute path of the checked folder, to which relative paths refer.
    pub(super) fn of(path: &str, folder: &str) -> Place {
        let folder = names(folder);
        let mut all = match path.starts_with('/') {
            true => Vec::new(),
            false => folder.clone(),
        };
        for name in path.split('/') {
            step(&mut all, name);
        }
        match all.strip_prefix(folder.as_slice()) {
            Some(below) if !below.is_empty() => Place::InFolder(below.join("/")),
            Some(_) | None => Place::Elsewhere(all.join("/")),
        }
    }

    /// Returns the path as a relative reference (RFC 3986, 4.2).
    pub(super) fn uri(&self) -> String {
        let (Place::InFolder(path) | Place::Elsewhere(path)) = self;
        let mut uri = String::new();
        for byte in path.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                    uri.push(char::from(byte));
                }
                _ => {
                    // Writing to a string does not fail.
                    let _ = write!(uri, "%{byte:02X}");
                }
            }
        }
        uri
    }
}

/// Returns an equivalent path without `.` components and without `..` after a name, regardless of symbolic links. For example, `build/../src/k.cl`
/// becomes `src/k.cl`.
pub(super) fn normalised(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match (name, names.last()) {
            ("..", Some(last)) if *last != ".." => {
                names.pop();
            }
            ("..", None) if path.starts_with('/') => {}
            ("" | ".", _) => {}
            (name, _) => names.push(name),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", names.join("/"))
}

/// Returns the components of an absolute path.
fn names(path: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in path.split('/') {
        step(&mut names, name);
    }
    names
}

/// Appends a component to a path. The parent of the root is the root.
fn step<'p>(names: &mut Vec<&'p str>, name: &'p str) {
    match name {
        "" | "." => {}
        ".." => {
            names.pop();
        }
        name => names.push(name),
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, normalised};

    #[test]
    fn paths_are_normalised_by_their_names() {
        for (path, expected) in [
            ("./calls.cl", "calls.cl"),
            ("build/../src/k.cl", "src/k.cl"),
            ("/a/b/./../c//k.cl", "/a/c/k.cl"),
            ("../../src/../k.cl", "../../k.cl"),
            ("/../k.cl", "/k.cl"),
            ("", ""),
        ] {
            assert_eq!(normalised(path), expected, "{path}");
        }
    }

    /// RFC 3986 2.3 lists the characters that are not encoded. Section 4.2 explains why a colon in a relative reference must be encoded.
    #[test]
    fn paths_are_references() {
        for (path, expected) in [
            ("a/b-c_d.~e.cl", "a/b-c_d.~e.cl"),
            ("./a.cl", "a.cl"),
            ("/repo/src/a b.cl", "src/a%20b.cl"),
            ("k:gfx90a#2.cl", "k%3Agfx90a%232.cl"),
            ("100%.cl", "100%25.cl"),
            ("é.cl", "%C3%A9.cl"),
            ("a\u{1b}\n::error::", "a%1B%0A%3A%3Aerror%3A%3A"),
            ("..\\a", "..%5Ca"),
        ] {
            let place = Place::of(path, "/repo/");
            assert_eq!(place.uri(), expected);
            assert!(matches!(place, Place::InFolder(_)), "{path}");
        }
    }

    #[test]
    fn no_path_leaves_the_root_or_names_a_host() {
        for (path, expected) in [
            ("src/../../repo/a.cl", Place::InFolder("a.cl".into())),
            ("../a.cl", Place::Elsewhere("build/a.cl".into())),
            (
                "../../../../etc/passwd",
                Place::Elsewhere("etc/passwd".into()),
            ),
            (
                "//host/share/a.cl",
                Place::Elsewhere("host/share/a.cl".into()),
            ),
            (
                "/build/repository/a.cl",
                Place::Elsewhere("build/repository/a.cl".into()),
            ),
            ("/build/repo/./b/../a.cl", Place::InFolder("a.cl".into())),
            (
                "file://host/a.cl",
                Place::InFolder("file:/host/a.cl".into()),
            ),
            ("", Place::Elsewhere("build/repo".into())),
            ("..", Place::Elsewhere("build".into())),
        ] {
            assert_eq!(Place::of(path, "/build/repo"), expected, "{path}");
        }
    }
}
