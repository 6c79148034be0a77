//! `hetdwarf core --html`: the page.

use std::path::{Path, PathBuf};

use crate::report::{CoreDocument, CorePage};
use crate::untrusted::Untrusted;

use super::super::arguments::CoreArguments;
use super::super::failure::Failure;
use super::super::progress::Progress;
use super::super::save::save;
use super::super::sources::Sources;
use super::names;
use super::stop::Opened;

/// A page is not written over the core that it is about.
pub(super) fn check(path: &Path, files: &[PathBuf]) -> Result<(), Failure> {
    let Ok(place) = path.canonicalize() else {
        return Ok(());
    };
    let is_same = |file: &PathBuf| file.canonicalize().is_ok_and(|file| file == place);
    match files.iter().any(is_same) {
        true => Err(Failure::in_file(path, "--html would write over the core")),
        false => Ok(()),
    }
}

/// Writes the page about a core.
pub(super) fn write(
    path: &Path,
    document: &CoreDocument,
    opened: &Opened<'_>,
    arguments: &CoreArguments,
) -> Result<(), Failure> {
    let sources = Sources::new(&arguments.sources.source_dirs);
    let read = |path: &str, folder: Option<&str>| Some(sources.text(path, folder)?.to_string());
    // Where a core is says nothing to whoever gets the page.
    let files = arguments.files.iter();
    let names = names(
        &files
            .filter_map(|file| file.file_name())
            .collect::<Vec<_>>(),
    );
    let title = Untrusted::from(names);
    let mut page = CorePage::new(title, document, opened.core, opened.programs, &read);
    if arguments.all {
        page = page.with_all_waves();
    }
    // It is made before anything is written, so that whoever stops the command finds nothing half done.
    let mut bytes = Vec::new();
    let mut progress = Progress::new(document.waves.len(), "waves");
    page.write(&mut bytes, &mut |done| progress.show(done))?;
    drop(progress);
    save(path, &bytes).map_err(|error| Failure::in_file(path, error))
}
