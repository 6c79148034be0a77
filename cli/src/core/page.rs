//! Implements `hetdwarf core --html`.

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
    // The folder of a core means nothing to readers of the page.
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
    // The page is built completely before it is written, so that interrupting the command leaves no partial file.
    let mut bytes = Vec::new();
    let mut progress = Progress::new(document.waves.len(), "waves");
    page.write(&mut bytes, &mut |done| progress.show(done))?;
    drop(progress);
    output.write(&bytes)
}
