//! Writes a core as a page for a browser. The page is one file, which works without a network.
//!
//! The page has the document of the core as JSON. A script element for each wave has the data that only its panel shows (`detail`). It is parsed when
//! the panel is opened, so that ten thousand waves open as quickly as ten. All text of input files is treated as data: the script puts it into text
//! nodes only. The JSON contains no `<`, so that no text can end an element.

mod detail;
pub(super) mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde::Serialize;

use super::core::CoreDocument;
use super::lane_pc_svg::STYLE;
use super::source_text::ReadSource;
use super::to_json;
use crate::gpu_core::{GpuCore, StopReason};
use crate::inspect::{Programs, Stop};
use crate::location::Arena;
use crate::meter::Meter;
use crate::untrusted::Untrusted;
use detail::WaveDetail;
use source::Sources;

/// The elements, the style and the script of the page.
const BODY: &str = include_str!("page.html");
const PAGE_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page neither fetches nor sends anything. Even if text of a file were executed as a script, it could not send data anywhere.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Writes the start of a page, including its fixed text.
///
/// * `style`: the style that is added to the style of pictures.
/// * `body`: the fixed text of the page.
pub(super) fn write_head(
    out: &mut dyn Write,
    title: &str,
    style: &str,
    body: &str,
) -> io::Result<()> {
    let title = super::lane_pc_picture::escape(title);
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n{body}"
    )
}

/// The maximum size of the details on a page in bytes, unless the details of all waves are requested. It fits a thousand waves or more, is small
/// enough to send, and opens at once in a browser.
const MOST_BYTES: u64 = 8 << 20;

/// Calls a function with the stop of a wave, given the wave's number from 1. The stop is `None` if the wave's code object was not found.
pub type WithStop<'p> = &'p dyn Fn(usize, &mut dyn FnMut(Option<&Stop<'_, '_>>));

/// The waves of a page.
enum Waves<'p, 'r, 'data> {
    Core(&'p GpuCore<'data>, &'p Programs<'r>),
    /// The waves of a log.
    Stops(WithStop<'p>, &'p Meter),
}

/// A page about a core or a log.
pub struct CorePage<'p, 'r, 'data> {
    document: &'p CoreDocument,
    waves: Waves<'p, 'r, 'data>,
    read: ReadSource<'p>,
    title: Untrusted<'p>,
    most_bytes: u64,
    /// The meter to which the whole page is charged. If None, the page has its own meter, with the limits of one query about the core.
    meter: Option<&'p Meter>,
}

impl core::fmt::Debug for CorePage<'_, '_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CorePage")
            .field("title", &self.title)
            .field("most_bytes", &self.most_bytes)
            .finish_non_exhaustive()
    }
}

/// The data of a page except the document and the details.
#[derive(Serialize)]
struct Frame<'p> {
    title: &'p Untrusted<'p>,
    /// The meanings of stop reasons, by name.
    reasons: BTreeMap<&'static str, Reason>,
    document: &'p CoreDocument,
}

#[derive(Serialize)]
struct Reason {
    text: &'static str,
    fault: bool,
    late: bool,
}

/// The data that is complete only after all waves were visited.
#[derive(Serialize)]
struct End<'s> {
    sources: &'s Sources<'s>,
    /// The reason why some waves have no details: `bytes` or `work`.
    cut: Option<&'static str>,
}

impl<'p, 'r, 'data> CorePage<'p, 'r, 'data> {
    /// Creates a page about a core that `document` describes.
    ///
    /// * `title`: the name of the core, for people.
    /// * `read`: returns the bytes of a source file, given its path and the compilation directory. It is called if the debugging information does not
    ///   contain the text.
    #[must_use]
    pub fn new(
        title: Untrusted<'p>,
        document: &'p CoreDocument,
        core: &'p GpuCore<'data>,
        programs: &'p Programs<'r>,
        read: ReadSource<'p>,
    ) -> CorePage<'p, 'r, 'data> {
        CorePage {
            document,
            waves: Waves::Core(core, programs),
            read,
            title,
            most_bytes: MOST_BYTES,
            meter: None,
        }
    }

    /// Creates a page about a log that `document` describes.
    ///
    /// * `stops`: provides the stops of the waves.
    /// * `meter`: the meter to which the whole page is charged.
    #[must_use]
    pub fn of_log(
        title: Untrusted<'p>,
        document: &'p CoreDocument,
        stops: WithStop<'p>,
        read: ReadSource<'p>,
        meter: &'p Meter,
    ) -> CorePage<'p, 'r, 'data> {
        CorePage {
            document,
            waves: Waves::Stops(stops, meter),
            read,
            title,
            most_bytes: MOST_BYTES,
            meter: Some(meter),
        }
    }

    /// Charges the page to the meter of a command.
    #[must_use]
    pub fn within(self, meter: &'p Meter) -> CorePage<'p, 'r, 'data> {
        CorePage {
            meter: Some(meter),
            ..self
        }
    }

    /// Returns a page with the stacks, lanes and variables of all waves, however many there are. Without this, the size of the details is limited.
    /// The first wave of every group then comes first, followed by the second of every group, and so on.
    #[must_use]
    pub fn with_all_waves(self) -> CorePage<'p, 'r, 'data> {
        CorePage {
            most_bytes: u64::MAX,
            ..self
        }
    }

    /// Writes the page. Calls `progress` with the number of waves written so far. Returns the names of the source files whose text was not found.
    ///
    /// # Errors
    /// If `out` cannot be written to.
    pub fn write(
        &self,
        out: &mut dyn Write,
        progress: &mut dyn FnMut(usize),
    ) -> io::Result<BTreeSet<Untrusted<'static>>> {
        write_head(out, &self.title.to_string(), PAGE_STYLE, BODY)?;
        let reasons = StopReason::ALL.iter().map(|reason| {
            let meaning = Reason {
                text: reason.text(),
                fault: reason.is_fault(),
                late: reason.is_late(),
            };
            (reason.name(), meaning)
        });
        let frame = Frame {
            title: &self.title,
            reasons: reasons.collect(),
            document: self.document,
        };
        data(out, "core", &frame)?;
        let own = match &self.waves {
            Waves::Core(core, _) => core.meter().for_query(),
            Waves::Stops(_, meter) => meter.for_query(),
        };
        let meter = self.meter.unwrap_or(&own);
        let mut sources = Sources::new(self.read, meter);
        let cut = self.details(&mut sources, meter, out, progress)?;
        let end = End {
            sources: &sources,
            cut,
        };
        data(out, "end", &end)?;
        writeln!(out, "<script>\n{SCRIPT}</script>\n</body>\n</html>")?;
        Ok(sources.into_missing())
    }

    /// Writes the details of waves until a limit is reached. Returns the limit that left waves without details.
    fn details(
        &self,
        sources: &mut Sources<'_>,
        meter: &Meter,
        out: &mut dyn Write,
        progress: &mut dyn FnMut(usize),
    ) -> io::Result<Option<&'static str>> {
        let mut written = 0_u64;
        for (done, index) in (1..).zip(in_turn(self.document)) {
            let Some(detail) = self.detail(index, sources, meter) else {
                return Ok(Some("work"));
            };
            let length = data(out, &format!("wave-{index}"), &detail)?;
            written += length;
            // The page stays in memory until it is complete.
            if meter.hold(length).is_err() {
                return Ok(Some("work"));
            }
            if written > self.most_bytes {
                let is_last = done == self.document.waves.len();
                return Ok((!is_last).then_some("bytes"));
            }
            progress(done);
        }
        Ok(None)
    }
}

impl CorePage<'_, '_, '_> {
    /// Collects the details of a wave. Returns `None` if they cost more than `meter` allows.
    fn detail(&self, index: usize, sources: &mut Sources<'_>, meter: &Meter) -> Option<WaveDetail> {
        match &self.waves {
            Waves::Core(core, programs) => {
                let wave = core.wave(index.saturating_sub(1))?;
                let arena = Arena::new();
                let stop = programs.stop(&wave, &arena);
                WaveDetail::new(stop.as_ref(), sources, meter)
            }
            Waves::Stops(with, _) => {
                let mut detail = None;
                with(index, &mut |stop| {
                    detail = WaveDetail::new(stop, sources, meter)
                });
                detail
            }
        }
    }
}

/// Returns the numbers of all waves: the first of each group, then the second of each group, and so on.
fn in_turn(document: &CoreDocument) -> impl Iterator<Item = usize> {
    let mut turns: Vec<(usize, usize)> = Vec::with_capacity(document.waves.len());
    for group in &document.groups {
        turns.extend(group.waves.iter().copied().enumerate());
    }
    // The sort is stable, so the groups stay in order.
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, wave)| wave)
}

/// Writes an element with data for the script. Returns the length of the data in bytes.
pub(super) fn data(out: &mut dyn Write, id: &str, document: &impl Serialize) -> io::Result<u64> {
    // In JSON, `<` occurs only in strings, where `\u003c` means the same. A `</script` or `<!--` would have a meaning in HTML.
    let json = to_json(document)?.replace('<', "\\u003c");
    writeln!(
        out,
        "<script type=\"application/json\" id=\"{id}\">{json}</script>"
    )?;
    Ok(json.len() as u64)
}
