//! What is found in one file, for programs that check files in their own way.

use std::num::NonZeroUsize;
use std::path::Path;

use super::super::contents::{Contents, Input};
use super::super::packages::ObjectFile;
use hetdwarf::limits::Limits;
use hetdwarf::report::{CheckedFile, FileRecords, check_named_file};
use hetdwarf::untrusted::Untrusted;
use hetdwarf::verify::Selection;

/// Returns the records of a file: those that `hetdwarf verify --format jsonl PATH` prints. A file that cannot be read has a record too.
///
/// * `name`: what to call it, for a copy the name of the original;
/// * `path`: where it is, and packages that it names are beside it.
#[must_use]
pub fn file_records(
    name: &str,
    path: &Path,
    selection: &Selection,
    limits: &Limits,
) -> FileRecords {
    let unreadable =
        |error: String| FileRecords::new(name, None, CheckedFile::unreadable(name, error));
    let opened = Contents::open(path, Input::Whole).map_err(|error| error.to_string());
    let opened = opened.and_then(|data| {
        ObjectFile::with_packages(path, data, Input::Whole, limits)
            .map_err(|(package, error)| format!("{}: {error}", Untrusted::from(&*package)))
    });
    let data = match opened {
        Ok(data) => data,
        Err(error) => return unreadable(error),
    };
    let packages = data.packages();
    let one = NonZeroUsize::MIN;
    let checked = check_named_file(name, &data, &packages, selection, limits, one);
    let records = FileRecords::new(name, Some(&data), checked);
    // What was found may be of another file than the one that is there now.
    match data.check_length() {
        Ok(()) => records,
        Err(error) => unreadable(error.to_string()),
    }
}
