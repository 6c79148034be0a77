//! Reads `hetdwarf.toml`, the settings that a repository chose for all its checks.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use globset::GlobSet;
use serde::Deserialize;
use toml::Spanned;

use super::super::arguments::ProfileName;
use super::super::contents::{Contents, Input};
use super::super::failure::Failure;
use super::super::pattern::patterns;
use hetdwarf::untrusted::Untrusted;
use hetdwarf::verify::{Choice, Selection};

const NAME: &str = "hetdwarf.toml";
/// The number of folders that are searched for the file: the current one and those above it.
const MOST_FOLDERS: usize = 128;
/// The most patterns in `exclude`; no repository needs as many.
const MOST_PATTERNS: usize = 1000;

/// The contents of the file.
#[derive(Debug, Default)]
pub(super) struct Config {
    /// The folder of the file, absolute. Paths in the file are relative to it.
    folder: PathBuf,
    pub(super) selection: Selection,
    exclude: GlobSet,
    pub(super) baseline: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    verify: Table,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Table {
    profile: Option<ProfileName>,
    allow: Vec<Spanned<String>>,
    deny: Vec<Spanned<String>>,
    warn: Vec<Spanned<String>>,
    exclude: Vec<Spanned<String>>,
    baseline: Option<Spanned<PathBuf>>,
}

/// The fields of [`Table`].
const SETTINGS: [&str; 6] = ["profile", "allow", "deny", "warn", "exclude", "baseline"];

impl Config {
    /// Loads the file that `--config` names, or else the nearest one in `folder` and the folders above it. Without a file, returns the
    /// defaults.
    pub(super) fn load(named: Option<&Path>, folder: &Path) -> Result<Config, Failure> {
        let found = match named {
            Some(path) => Some(path.to_owned()),
            None => folder
                .ancestors()
                .take(MOST_FOLDERS)
                .map(|folder| folder.join(NAME))
                // An entry that is not a file is reported when it is opened.
                .find(|path| path.symlink_metadata().is_ok()),
        };
        let Some(path) = found else {
            return Ok(Config::default());
        };
        let in_file = |error: std::io::Error| Failure::in_file(&path, error);
        let bytes = Contents::open(&path, Input::Configuration).map_err(in_file)?;
        let text = core::str::from_utf8(&bytes).map_err(|error| Failure::in_file(&path, error))?;
        let absolute = std::path::absolute(&path).map_err(in_file)?;
        let folder = absolute.parent().unwrap_or(Path::new(""));
        Config::parse(text, &path, &normal(folder))
    }

    fn parse(text: &str, path: &Path, folder: &Path) -> Result<Config, Failure> {
        let at = |offset: usize, message: &dyn core::fmt::Display| {
            let before = text.as_bytes().get(..offset).unwrap_or_default();
            let line = before.split(|byte| *byte == b'\n').count();
            let message = Untrusted::from(message.to_string());
            Failure::new(format!("{}:{line}: {message}", Untrusted::from(path)))
        };
        let file: File = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let message = error.message();
            let is_outside = message.ends_with("expected `verify`");
            let is_setting = |name: &&&str| message.starts_with(&format!("unknown field `{name}`"));
            match SETTINGS.iter().find(is_setting) {
                Some(name) if is_outside => at(
                    start,
                    &format!("`{name}` is not in a table; write it below `[verify]`"),
                ),
                _ => at(start, &message),
            }
        })?;
        let table = file.verify;
        let lists = [
            (&table.allow, Choice::Allow),
            (&table.warn, Choice::Warn),
            (&table.deny, Choice::Deny),
        ];
        let choices = lists
            .iter()
            .flat_map(|(names, choice)| names.iter().map(|name| (name, *choice)));
        let mut selection = Selection::default();
        if let Some(profile) = table.profile {
            selection.set_profile(profile.into());
        }
        selection
            .choose(
                choices
                    .clone()
                    .map(|(name, choice)| (name.get_ref(), choice)),
            )
            .map_err(|error| {
                let mut names = choices.map(|(name, _)| name);
                let wrong = names.find(|name| error.name == **name.get_ref());
                at(wrong.map_or(0, |name| name.span().start), &error)
            })?;
        let start = |index: usize| table.exclude.get(index).map_or(0, |text| text.span().start);
        if table.exclude.len() > MOST_PATTERNS {
            let message = format!("there are more than {MOST_PATTERNS} patterns");
            return Err(at(start(MOST_PATTERNS), &message));
        }
        let globs: Vec<_> = table
            .exclude
            .iter()
            .map(|text| glob(text.get_ref()))
            .collect();
        let exclude = patterns(globs.iter().map(|glob| &**glob), true)
            .map_err(|error| at(start(error.index), &error))?;
        let baseline = table.baseline.map(|named| {
            let found = within(folder, named.get_ref());
            found.map_err(|error| at(named.span().start, &error))
        });
        Ok(Config {
            folder: folder.to_owned(),
            selection,
            exclude,
            baseline: baseline.transpose()?,
        })
    }

    /// Returns true if a path, or a folder that contains it, is excluded.
    pub(super) fn excludes(&self, path: &Path) -> bool {
        if self.exclude.is_empty() {
            return false;
        }
        let absolute = std::path::absolute(path).map(|path| normal(&path));
        let path = absolute.as_deref().unwrap_or(path);
        let below = path.strip_prefix(&self.folder).unwrap_or(path);
        below
            .ancestors()
            .filter(|path| !path.as_os_str().is_empty())
            .any(|path| self.exclude.is_match(path))
    }
}

/// Returns the glob for a pattern. Globs are relative to the folder of the file. A pattern without `/` matches names in any folder.
fn glob(pattern: &str) -> Cow<'_, str> {
    let pattern = pattern.trim_end_matches('/');
    match pattern.strip_prefix('/') {
        Some(from_here) => from_here.into(),
        None if pattern.contains('/') => pattern.into(),
        None => format!("**/{pattern}").into(),
    }
}

/// Returns the path of a file that the configuration names. The file must be in the folder of the configuration: a configuration in a
/// folder above may be somebody else's, and must not make this command read arbitrary files.
fn within(folder: &Path, named: &Path) -> Result<PathBuf, String> {
    let error = |how| {
        let named = Untrusted::from(named);
        format!("`{named}` {how}; only files in the directory of this file are read")
    };
    let leads_out = named.components().any(|part| {
        matches!(
            part,
            Component::ParentDir | Component::RootDir | Component::Prefix(_)
        )
    });
    if leads_out {
        return Err(error("leads out of the directory"));
    }
    let path = folder.join(named);
    // A missing file is no link; opening it reports that it is missing.
    match (folder.canonicalize(), path.canonicalize()) {
        (Ok(folder), Ok(found)) if !found.starts_with(&folder) => {
            Err(error("is a link that leads out of the directory"))
        }
        (_, Ok(found)) => Ok(found),
        (_, Err(_)) => Ok(path),
    }
}

/// Removes `..` and `.` from a path, by its text alone.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                normal.push(component);
            }
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;
    use hetdwarf::verify::{Rule, Severity};

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("hetdwarf.toml"), Path::new("/repo"))
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn everything_in_it() {
        let config = parse(
            "[verify]\nallow = ['cfi-entry']\ndeny = []\nwarn = ['cfi-cie-pointer']\n\
             exclude = ['third_party', 'out/*.o', '/top.hsaco']\nbaseline = 'ci/known.json'\n",
        )
        .unwrap();
        let severity = |id| config.selection.severity(Rule::by_id(id).unwrap());
        assert_eq!(severity("cfi-entry"), None);
        assert_eq!(severity("cfi-cie-pointer"), Some(Severity::Warning));
        assert_eq!(
            config.baseline.as_deref(),
            Some(Path::new("/repo/ci/known.json"))
        );
        for (path, excluded) in [
            ("/repo/third_party/a/b.o", true),
            ("/repo/x/third_party/b.o", true),
            ("/repo/out/a.o", true),
            ("/repo/out/deep/a.o", false),
            ("/repo/x/out/a.o", false),
            ("/repo/x/../out/./a.o", true),
            ("/repo/top.hsaco", true),
            ("/repo/x/top.hsaco", false),
            ("/repo/a.o", false),
        ] {
            assert_eq!(config.excludes(Path::new(path)), excluded, "{path}");
        }
        assert!(!parse("").unwrap().excludes(Path::new("/repo/a.o")));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, line, names) in [
            ("[verify]\n\nallowed = []\n", 3, "allowed"),
            ("[verify]\n[verfy]\n", 2, "verfy"),
            (
                "baseline = 'known.json'\n",
                1,
                "`baseline` is not in a table; write it below `[verify]`",
            ),
            ("# a comment\n[verify]\nallow = 3\n", 3, "integer"),
            (
                "[verify]\nallow = [\n 'cfi-entry',\n 'cfi-entyr']",
                4,
                "did you mean `cfi-entry`?",
            ),
            ("[verify]\nexclude = ['a[']\n", 2, "a["),
            ("[verify\n", 1, ""),
        ] {
            let message = parse(text).unwrap_err();
            let start = format!("hetdwarf.toml:{line}: ");
            assert!(
                message.starts_with(&start) && message.contains(names),
                "{text}{message}"
            );
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }

    #[test]
    fn the_next_one_above_is_taken() {
        let root = std::env::temp_dir().join(format!("hetdwarf-config-{}", std::process::id()));
        let deep = root.join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        for (folder, baseline) in [(root.as_path(), "outer"), (&root.join("a"), "inner")] {
            let text = format!("[verify]\nbaseline = '{baseline}'\n");
            std::fs::write(folder.join(NAME), text).unwrap();
        }
        let config = Config::load(None, &deep).unwrap();
        assert_eq!(config.baseline, Some(root.join("a/inner")));
        let named = Config::load(Some(&root.join(NAME)), &deep).unwrap();
        assert_eq!(named.baseline, Some(root.join("outer")));
        assert!(Config::load(Some(&root.join("none.toml")), &deep).is_err());
        std::fs::remove_dir_all(&root).unwrap();
    }
}
