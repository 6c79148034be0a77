//! Makes the document about a core, a log or a snapshot.

use std::path::PathBuf;

use hetdwarf::inspect::StopOptions;
use hetdwarf::limits::Limits;
use hetdwarf::report::{CoreReport, CoreRequest};

use super::super::arguments::CoreObjects;
use super::super::failure::Failure;
use super::log;
use super::source::WaveSource;
use super::stop::{self, Opened};

/// Opens files and calls `then` with the document about them and with their waves.
pub(crate) fn with_document<T>(
    files: &[PathBuf],
    wanted: &CoreObjects,
    options: StopOptions,
    limits: &Limits,
    request: CoreRequest,
    then: impl FnOnce(&CoreReport, &dyn WaveSource) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if log::is_log(files) {
        return log::with_document(files, wanted, options, limits, request, |report, log| {
            then(report, log)
        });
    }
    stop::with_core(files, wanted, options, limits, |opened| {
        then(&of_core(opened, request), opened)
    })
}

/// Makes the document about a core, including problems with its code objects.
pub(super) fn of_core(opened: &Opened<'_>, request: CoreRequest) -> CoreReport {
    let (core, programs, found) = (opened.core, opened.programs, opened.found);
    let meter = core.meter().for_query();
    let objects = &found.objects;
    let mut report = CoreReport::within(core, programs, objects, request, &meter, &mut |_| {});
    report.document.problems.extend(opened.problems());
    report
}
