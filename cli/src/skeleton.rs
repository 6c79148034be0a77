//! Finds the `.dwo` file that the skeleton units of an object name.

use std::path::{Component, Path, PathBuf};

use super::contents::{Contents, Input};
use super::failure::Failure;
use hetdwarf::dump::Dump;

/// Opens the `.dwo` file of an object if all skeleton units name the same one and it exists. It must be below the compilation directory, so
/// that a file cannot choose arbitrary paths to be read.
pub(crate) fn named_dwo(object: &Dump<'_>) -> Result<Option<(PathBuf, Contents)>, Failure> {
    // Unreadable units are reported when their entries are read.
    let named = object.split_file().ok().flatten();
    let path = named.and_then(|(folder, name)| below(Path::new(&folder), Path::new(&name)));
    let Some(path) = path else {
        return Ok(None);
    };
    match Contents::open(&path, Input::Whole) {
        Ok(contents) => Ok(Some((path, contents))),
        Err(error) => Err(Failure::in_file(&path, error)),
    }
}

/// Returns the path of a regular file below a folder, with links resolved. Returns None if there is none.
fn below(folder: &Path, name: &Path) -> Option<PathBuf> {
    let name = name.strip_prefix(folder).unwrap_or(name);
    let mut parts = name.components();
    if !parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return None;
    }
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let root = folder.canonicalize().ok()?;
    let path = folder.join(name);
    let real = path.canonicalize().ok()?;
    (real.starts_with(root) && real.is_file()).then_some(path)
}
