//! `hetdwarf core --html`: the page.

use hetdwarf::meter::Meter;
use hetdwarf::report::{CoreDocument, CorePage};
use hetdwarf::untrusted::Untrusted;

use super::super::arguments::CoreArguments;
use super::super::failure::Failure;
use super::super::outputs::Output;
use super::super::progress::Progress;
use super::super::sources::Sources;
use super::names;
use super::stop::Opened;

/// Writes the page about a core.
pub(super) fn write(
    output: &Output,
    document: &CoreDocument,
    opened: &Opened<'_>,
    meter: &Meter,
    arguments: &CoreArguments,
) -> Result<(), Failure> {
    let sources = Sources::new(&arguments.sources.source_dirs);
    let read = |path: &str, folder: Option<&str>| Some(sources.bytes(path, folder)?.to_vec());
    // Where a core is says nothing to whoever gets the page.
    let files = arguments.files.iter();
    let names = names(
        &files
            .filter_map(|file| file.file_name())
            .collect::<Vec<_>>(),
    );
    let title = Untrusted::from(names);
    let page = CorePage::new(title, document, opened.core, opened.programs, &read);
    let mut page = page.within(meter);
    if arguments.all {
        page = page.with_all_waves();
    }
    // It is made before anything is written, so that whoever stops the command finds nothing half done.
    let mut bytes = Vec::new();
    let mut progress = Progress::new(document.waves.len(), "waves");
    page.write(&mut bytes, &mut |done| progress.show(done))?;
    drop(progress);
    output.write(&bytes)
}
