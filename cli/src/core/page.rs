//! Implements `hetdwarf core --html`.

use hetdwarf::inspect::Stop;
use hetdwarf::meter::Meter;
use hetdwarf::report::{CoreDocument, CorePage};
use hetdwarf::untrusted::Untrusted;

use super::super::arguments::CoreArguments;
use super::super::failure::Failure;
use super::super::outputs::Output;
use super::super::progress::Progress;
use super::super::sources::Sources;
use super::log::OpenedLog;
use super::names;
use super::source::WaveSource;
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
    let title = title(arguments);
    let page = CorePage::new(title, document, opened.core, opened.programs, &read);
    write_page(output, document, page.within(meter), arguments)
}

/// Writes the page about a log.
pub(super) fn write_log(
    output: &Output,
    document: &CoreDocument,
    log: &OpenedLog<'_>,
    arguments: &CoreArguments,
) -> Result<(), Failure> {
    let sources = Sources::new(&arguments.sources.source_dirs);
    let read = |path: &str, folder: Option<&str>| Some(sources.bytes(path, folder)?.to_vec());
    let meter = log.meter();
    let stops = |index: usize, then: &mut dyn FnMut(Option<&Stop<'_, '_>>)| {
        // The callback does not fail.
        let _ = log.with(index, &mut |_, stop| {
            then(stop);
            Ok(())
        });
    };
    let page = CorePage::of_log(title(arguments), document, &stops, &read, &meter);
    write_page(output, document, page, arguments)
}

/// Returns the title of a page. It leaves out the folder of the file, which means nothing to readers of the page.
fn title(arguments: &CoreArguments) -> Untrusted<'static> {
    let files = arguments.files.iter();
    let names = names(
        &files
            .filter_map(|file| file.file_name())
            .collect::<Vec<_>>(),
    );
    Untrusted::from(names)
}

fn write_page(
    output: &Output,
    document: &CoreDocument,
    mut page: CorePage<'_, '_, '_>,
    arguments: &CoreArguments,
) -> Result<(), Failure> {
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
