//! Checks one file, for programs that distribute files themselves.

use std::num::NonZeroUsize;
use std::path::Path;

use super::check::{Check, Checked};
use super::files::Target;
use hetdwarf::limits::Limits;
use hetdwarf::report::FileRecords;
use hetdwarf::verify::Selection;

/// Returns the records that `hetdwarf verify --format jsonl PATH` prints. A file that cannot be read has a record too.
///
/// * `name`: what to call the file, the name of the original of a copy for example;
/// * `path`: the path of the file. Packages that the file names are looked for in the same folder.
#[must_use]
pub fn file_records(
    name: &str,
    path: &Path,
    selection: &Selection,
    limits: &Limits,
) -> FileRecords {
    let check = Check {
        jobs: None,
        selection,
        limits,
        wants_sha256: true,
    };
    let target = Target::named(path);
    let Checked {
        name,
        sha256,
        found,
    } = check.one(name, &target, NonZeroUsize::MIN, |_| false);
    FileRecords::with_sha256(&name, sha256, found)
}
