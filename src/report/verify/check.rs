//! Checking all code objects of one file.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use super::{UnreadableFile, VerifiedFile};
use crate::error::{Error, Result};
use crate::inspect::Program;
use crate::limits::Limits;
use crate::object::{CodeObject, EmbeddedCodeObject, code_objects_if_any};
use crate::verify::{Selection, verify_with};

/// What was found in one file. Both lists are empty if there is no code object in it.
#[derive(Clone, Debug, Default)]
pub struct CheckedFile {
    /// The code objects, in the order of the file.
    pub objects: Vec<VerifiedFile>,
    /// What could not be read: the file, or a code object in it.
    pub unreadable: Vec<UnreadableFile>,
}

impl CheckedFile {
    /// A file that could not be read at all.
    #[must_use]
    pub fn unreadable(path: &str, message: impl ToString) -> CheckedFile {
        CheckedFile {
            objects: Vec::new(),
            unreadable: vec![UnreadableFile {
                path: path.to_owned().into(),
                message: message.to_string().into(),
            }],
        }
    }
}

/// Checks all code objects of a file by the rules of `selection`.
///
/// * `path`: what to call the file;
/// * `data`: all of it: a code object, a bundle, an archive, or an object or program of the host.
///
/// ```
/// use hetdwarf::report::{VerifyDocument, check_file};
/// use hetdwarf::verify::Selection;
///
/// let path = "dwarf-tests/fixtures/corpus/bundle/ccob3.hipfb";
/// let checked = check_file(path, &std::fs::read(path)?, &Selection::default());
/// let targets: Vec<_> = checked.objects.iter().map(|object| object.target.raw()).collect();
/// assert_eq!(targets, ["gfx90a", "gfx1100"]);
/// assert_eq!(VerifyDocument::new([checked]).summary.files, 2);
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn check_file(path: &str, data: &[u8], selection: &Selection) -> CheckedFile {
    check_file_with(path, data, selection, &Limits::DEFAULT, NonZeroUsize::MIN)
}

/// [`check_file`] within other limits than the default ones, and on several threads; what is found does not depend
/// on how many there are.
#[must_use]
pub fn check_file_with(
    path: &str,
    data: &[u8],
    selection: &Selection,
    limits: &Limits,
    threads: NonZeroUsize,
) -> CheckedFile {
    let objects = match code_objects_if_any(data, limits) {
        Ok(objects) => objects,
        Err(error) => return CheckedFile::unreadable(path, error),
    };
    let mut checked = CheckedFile::default();
    for (object, path_in_file) in objects.iter().zip(paths(path, &objects)) {
        match check_object(&path_in_file, &object.data, selection, limits, threads) {
            Ok(mut found) => {
                found.container = (path_in_file != path).then(|| path.to_owned().into());
                checked.objects.push(found);
            }
            Err(error) => checked.unreadable.push(UnreadableFile {
                path: path_in_file.into(),
                message: Error::to_string(&error).into(),
            }),
        }
    }
    checked
}

fn check_object(
    path: &str,
    data: &[u8],
    selection: &Selection,
    limits: &Limits,
    threads: NonZeroUsize,
) -> Result<VerifiedFile> {
    let object = CodeObject::parse_with(data, limits)?;
    let program = Program::load(&object)?;
    let verdict = verify_with(&program, selection, threads);
    Ok(VerifiedFile::new(path, &program, &verdict))
}

/// What to call each code object of a file, without offsets, so that it stays the same from build to build:
/// `FILE(MEMBER):ID`, and of several with the same name the second `FILE(MEMBER):ID#2`.
fn paths(file: &str, objects: &[EmbeddedCodeObject<'_>]) -> Vec<String> {
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    let path = |object: &EmbeddedCodeObject<'_>| {
        let mut path = file.to_owned();
        if let Some(member) = &object.place.member {
            path.push_str(&format!("({member})"));
        }
        if !object.id.is_empty() {
            path.push(':');
            path.push_str(&object.id);
        }
        let number = seen.entry(path.clone()).or_insert(0);
        *number = number.saturating_add(1);
        match *number {
            1 => path,
            again => format!("{path}#{again}"),
        }
    };
    objects.iter().map(path).collect()
}
