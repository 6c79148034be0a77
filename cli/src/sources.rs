//! Reads source lines from files in folders that the user names, and from no others.
//!
//! Paths in debugging information are untrusted. They only select files within those folders. The selected path has to be a regular file
//! inside the folder after links are resolved.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::contents::{Contents, Input};
use hetdwarf::untrusted::Untrusted;

/// The folders with source files, and the files read from them.
pub(crate) struct Sources {
    places: Vec<Place>,
    /// The files read so far, by their paths in the debugging information. The map is only looked up, never iterated.
    read: RefCell<HashMap<String, Option<Rc<[u8]>>>>,
}

/// The value of one `--source` argument.
struct Place {
    /// The prefix that paths must have. None if a path may end anywhere in the folder.
    old: Option<String>,
    folder: PathBuf,
}

impl Sources {
    /// * `given`: folders, or `OLD=NEW` to map paths below OLD in the debugging information to paths below NEW here.
    pub(crate) fn new(given: &[String]) -> Sources {
        let place = |text: &String| match text.split_once('=') {
            Some((old, new)) => Place {
                old: Some(old.to_owned()),
                folder: new.into(),
            },
            None => Place {
                old: None,
                folder: text.into(),
            },
        };
        Sources {
            places: given.iter().map(place).collect(),
            read: RefCell::default(),
        }
    }

    /// Returns the bytes of a file that the debugging information names.
    ///
    /// * `directory`: the compilation directory, if known, for relative paths.
    pub(crate) fn bytes(&self, path: &str, directory: Option<&str>) -> Option<Rc<[u8]>> {
        let path = full(path, directory);
        if let Some(known) = self.read.borrow().get(&path) {
            return known.clone();
        }
        let mut places = self.places.iter();
        let bytes = places.find_map(|place| read(&place.find(&path)?));
        self.read.borrow_mut().insert(path, bytes.clone());
        bytes
    }

    /// Returns the real path of a file that the debugging information names, with links resolved.
    ///
    /// * `directory`: see [`bytes`](Sources::bytes).
    pub(crate) fn path(&self, path: &str, directory: Option<&str>) -> Option<String> {
        let path = full(path, directory);
        let found = self.places.iter().find_map(|place| place.find(&path))?;
        found.into_os_string().into_string().ok()
    }

    /// Returns the local path: below NEW if `path` is below OLD.
    pub(crate) fn renamed(&self, path: &str) -> Option<String> {
        let all = names(path);
        self.places.iter().find_map(|place| {
            let old = place.old.as_deref()?;
            if path.starts_with('/') != old.starts_with('/') {
                return None;
            }
            let below = all.strip_prefix(names(old).as_slice())?;
            let new = place.folder.to_string_lossy();
            let mut named = if new.starts_with('/') {
                vec![""]
            } else {
                Vec::new()
            };
            named.extend(names(&new));
            named.extend(below);
            Some(named.join("/"))
        })
    }
}

/// Returns the message about missing source files.
///
/// * `files`: the names of the files.
pub(crate) fn missing(files: &BTreeSet<Untrusted<'_>>) -> Option<String> {
    /// The most files that the message names.
    const MOST: usize = 4;
    let mut names: Vec<String> = files.iter().take(MOST).map(ToString::to_string).collect();
    if files.len() > MOST {
        names.push("others".to_owned());
    }
    (!names.is_empty()).then(|| {
        format!(
            "the source of {} is not shown: give its directory with --source-dir DIR",
            names.join(", ")
        )
    })
}

/// Returns the components of a path, without `.` and `..`.
fn names(path: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names
}

/// Returns a path that starts at the compilation directory, if that is known.
fn full(path: &str, directory: Option<&str>) -> String {
    match directory {
        Some(directory) if !path.starts_with('/') => format!("{directory}/{path}"),
        _ => path.to_owned(),
    }
}

impl Place {
    /// Finds the local file for a path.
    fn find(&self, path: &str) -> Option<PathBuf> {
        let names = names(path);
        let folder = self.folder.canonicalize().ok()?;
        match &self.old {
            Some(old) => {
                if path.starts_with('/') != old.starts_with('/') {
                    return None;
                }
                let below = names.strip_prefix(self::names(old).as_slice())?;
                find(&folder, below)
            }
            // Takes the longest suffix of the path that exists.
            None => (0..names.len()).find_map(|skipped| find(&folder, names.get(skipped..)?)),
        }
    }
}

/// Finds a file in a folder.
///
/// * `folder`: the folder, with links resolved;
/// * `names`: the components of the path below it.
fn find(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    let mut path = folder.to_owned();
    path.extend(names);
    // Links are followed only if they stay inside the folder.
    let path = path.canonicalize().ok()?;
    (path.starts_with(folder) && path.is_file()).then_some(path)
}

fn read(path: &Path) -> Option<Rc<[u8]>> {
    let bytes = Contents::open(path, Input::Source).ok()?;
    Some(Rc::from(&*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_old_is_below_new() {
        let renamed = |given: &str, path| Sources::new(&[given.to_owned()]).renamed(path);
        let is = |path: &str| Some(path.to_owned());
        assert_eq!(renamed("/build/1=.", "/build/1/src/k.cl"), is("src/k.cl"));
        assert_eq!(renamed("/build/1=/repo", "/build/1/k.cl"), is("/repo/k.cl"));
        assert_eq!(renamed("/build/1=src", "/build/12/k.cl"), None);
        assert_eq!(renamed("build=src", "/build/k.cl"), None);
        assert_eq!(renamed("src", "src/k.cl"), None);
    }

    /// A folder with sources, next to a folder with a secret.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("hetdwarf-sources-{name}-{}", std::process::id());
            let root = std::env::temp_dir().join(name);
            for (path, text) in [
                ("src/a/k.cl", "inner"),
                ("src/k.cl", "outer"),
                ("secret/key", "secret"),
            ] {
                let path = root.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            Folder(root)
        }

        fn text(&self, given: &str, path: &str, directory: Option<&str>) -> Option<String> {
            let given = given.replace('@', self.0.to_str().unwrap());
            let path = path.replace('@', self.0.to_str().unwrap());
            let bytes = Sources::new(&[given]).bytes(&path, directory);
            bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_longest_end_of_a_path_is_taken() {
        let folder = Folder::new("ends");
        for (given, path, directory, expected) in [
            ("@/src", "/build/a/k.cl", None, Some("inner")),
            ("@/src", "/build/b/k.cl", None, Some("outer")),
            ("@/src", "./k.cl", Some("/build/a"), Some("inner")),
            ("@/src", "/build/b/../a/k.cl", None, Some("inner")),
            ("@/src", "/k.cl", Some("/build/a"), Some("outer")),
            ("@/src", "/build/none.cl", None, None),
            ("@/src", "", None, None),
            ("@/none", "/build/a/k.cl", None, None),
            ("/build=@/src", "/build/a/k.cl", None, Some("inner")),
            ("/build/a/=@/src", "/build/a/k.cl", None, Some("outer")),
            ("/build=@/src", "k.cl", Some("/build"), Some("outer")),
            ("/bui=@/src", "/build/a/k.cl", None, None),
            ("/build=@/src", "build/k.cl", None, None),
            ("build=@/src", "build/k.cl", None, Some("outer")),
            ("=@/src", "build/k.cl", None, None),
            ("=@/src", "a/k.cl", None, Some("inner")),
        ] {
            let found = folder.text(given, path, directory);
            assert_eq!(found.as_deref(), expected, "{given} {path} {directory:?}");
        }
        assert_eq!(Sources::new(&[]).bytes("/etc/hostname", None), None);
    }

    #[cfg(unix)]
    #[test]
    fn nothing_outside_of_the_folder_is_read() {
        let folder = Folder::new("outside");
        let src = folder.0.join("src");
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(to, src.join(name)).unwrap();
        };
        link("../secret", "out");
        link("../secret/key", "key.cl");
        link("a/k.cl", "inside.cl");
        link("loop.cl", "loop.cl");
        link("/dev/zero", "zero.cl");
        std::fs::write(src.join("large.cl"), "").unwrap();
        let large = std::fs::File::options()
            .write(true)
            .open(src.join("large.cl"))
            .unwrap();
        large.set_len((16 << 20) + 1).unwrap();
        let pipe = std::process::Command::new("mkfifo")
            .arg(src.join("pipe.cl"))
            .status();
        assert!(pipe.unwrap().success());
        for path in [
            "../secret/key",
            "a/../../secret/key",
            "@/secret/key",
            "/out/key",
            "key.cl",
            "loop.cl",
            "zero.cl",
            "large.cl",
            "pipe.cl",
            "a",
            "..",
            "/proc/self/environ",
            "/etc/passwd",
        ] {
            for given in ["@/src", "=@/src", "/=@/src"] {
                assert_eq!(folder.text(given, path, None), None, "{given} {path}");
            }
        }
        assert_eq!(
            folder.text("@/src", "inside.cl", None).as_deref(),
            Some("inner")
        );
    }

    #[test]
    fn missing_files_are_named() {
        let names = |names: &[&'static str]| names.iter().map(|n| Untrusted::from(*n)).collect();
        assert_eq!(missing(&names(&[])), None);
        let text = missing(&names(&["a\u{1b}.cl", "b", "c", "d", "e"])).unwrap();
        assert!(text.starts_with(r"the source of a\u{1b}.cl, b, c, d, others is not shown"));
        assert!(text.contains("--source-dir"));
    }
}
