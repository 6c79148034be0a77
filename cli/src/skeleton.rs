//! The `.dwo` file that the skeletons of an object name.

use std::path::{Component, Path, PathBuf};

use super::contents::{Contents, Input};
use super::failure::Failure;
use hetdwarf::dump::Dump;

/// Opens the `.dwo` file of an object, if its skeletons name one and the same and it is there: below the folder in which they were compiled,
/// since a file is not to choose what is read elsewhere.
pub(crate) fn named_dwo(object: &Dump<'_>) -> Result<Option<(PathBuf, Contents)>, Failure> {
    // Units that cannot be read are reported by whoever reads their entries.
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

/// Returns the path of a regular file below a folder, links resolved; None if there is none.
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
