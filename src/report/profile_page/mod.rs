//! Writes a profile as a page for a browser. The page is one file, which works without a network.
//!
//! The size grows with the number of lines and instructions that have samples, up to a limit. It does not depend on the number of samples. All text
//! of input files is treated as data, as in the page of a core.

use std::io::{self, Write};

use serde::Serialize;

use super::core_page::source::{SourcePlace, Sources};
use super::core_page::{data, write_head};
use super::number::Hex;
use super::profile::{ProfileDocument, ProfileRow, rounded};
use super::source_text::ReadSource;
use crate::meter::Meter;
use crate::profile::{By, Profile, ProfilePlace, Row, rows, share};
use crate::untrusted::Untrusted;

/// The elements, the style and the script of the page.
const BODY: &str = include_str!("page.html");
const PAGE_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The maximum number of lines on a page.
const MOST_LINES: usize = 4000;
/// The maximum number of instructions on a page.
const MOST_INSTRUCTIONS: usize = 20_000;

/// A page about a profile.
pub struct ProfilePage<'d, 'p, 'a> {
    title: Untrusted<'d>,
    document: &'d ProfileDocument,
    profile: &'d Profile<'p, 'a>,
    read: ReadSource<'d>,
    meter: &'d Meter,
}

impl core::fmt::Debug for ProfilePage<'_, '_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ProfilePage")
            .field("title", &self.title)
            .finish_non_exhaustive()
    }
}

/// A line with samples.
#[derive(Serialize)]
struct Line<'r> {
    row: &'r ProfileRow,
    /// The place of the line in the shown source files.
    at: Option<SourcePlace>,
    code: Vec<Instruction>,
}

/// An instruction with samples.
#[derive(Serialize)]
struct Instruction {
    pc: Option<Hex>,
    text: Option<Untrusted<'static>>,
    samples: u64,
    lanes: Option<f64>,
    stalls: Vec<(Untrusted<'static>, u64)>,
    latency: u64,
}

/// The data that the script reads.
#[derive(Serialize)]
struct Data<'d> {
    title: &'d Untrusted<'d>,
    document: &'d ProfileDocument,
    lines: Vec<Line<'d>>,
    functions: Vec<ProfileRow>,
    /// The number of lines that are not on the page.
    left_out: usize,
}

impl<'d, 'p, 'a> ProfilePage<'d, 'p, 'a> {
    /// Creates a page about a profile.
    ///
    /// * `document`: the document of the profile, grouped by lines and with all rows.
    /// * `title`: the name of the profile, for people.
    /// * `read`: returns the bytes of a source file, given its path and the compilation directory.
    /// * `meter`: the meter to which the texts are charged.
    #[must_use]
    pub fn new(
        title: Untrusted<'d>,
        document: &'d ProfileDocument,
        profile: &'d Profile<'p, 'a>,
        read: ReadSource<'d>,
        meter: &'d Meter,
    ) -> ProfilePage<'d, 'p, 'a> {
        ProfilePage {
            title,
            document,
            profile,
            read,
            meter,
        }
    }

    /// Writes the page.
    ///
    /// # Errors
    /// If `out` cannot be written to.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_head(out, &self.title.to_string(), PAGE_STYLE, BODY)?;
        let mut sources = Sources::new(self.read, self.meter);
        let by_line = rows(self.profile, By::Line);
        let left_out = by_line.len().saturating_sub(MOST_LINES);
        let mut room = MOST_INSTRUCTIONS;
        let lines = by_line.iter().zip(&self.document.rows).take(MOST_LINES);
        let lines = lines.map(|(row, document)| self.line(row, document, &mut sources, &mut room));
        let lines = lines.collect();
        let functions = ProfileDocument::new(self.profile, By::Function, Some(1000), &[]).rows;
        let page = Data {
            title: &self.title,
            document: &ProfileDocument {
                rows: Vec::new(),
                ..self.document.clone()
            },
            lines,
            functions,
            left_out,
        };
        data(out, "profile", &page)?;
        data(out, "sources", &sources)?;
        writeln!(out, "<script>\n{SCRIPT}</script>\n</body>\n</html>")
    }

    fn line<'r>(
        &self,
        row: &Row,
        document: &'r ProfileRow,
        sources: &mut Sources<'_>,
        room: &mut usize,
    ) -> Line<'r> {
        let places = row.places.iter();
        let places: Vec<&ProfilePlace<'_, '_>> = places
            .filter_map(|place| self.profile.places.get(*place))
            .collect();
        let at = places.iter().find_map(|place| {
            let position = place.located.frames.first()?;
            let (unit, file) = position.source.as_ref()?;
            let info = place.code?.program.info();
            Some(sources.want_line(info, *unit, file, position.line?))
        });
        let mut code: Vec<Instruction> = places
            .iter()
            .take(*room)
            .map(|place| self.instruction(place))
            .collect();
        *room -= code.len();
        code.sort_by_key(|one| (one.pc, core::cmp::Reverse(one.samples)));
        Line {
            row: document,
            at,
            code,
        }
    }

    fn instruction(&self, place: &ProfilePlace<'_, '_>) -> Instruction {
        let located = &place.located;
        let counts = &place.counts;
        let (active, lanes) = place.lanes();
        let mut stalls: Vec<_> = (counts.stalls.iter())
            .map(|(name, count)| {
                let name = self.profile.names.name(*name).to_owned();
                (Untrusted::from(name), *count)
            })
            .collect();
        stalls.sort_by_key(|(_, count)| core::cmp::Reverse(*count));
        let [latency, ..] = counts.cycles;
        Instruction {
            pc: located.address.map(Hex::from),
            text: located.instruction.clone().map(Untrusted::from),
            samples: counts.samples,
            lanes: share(active, lanes).map(rounded),
            stalls,
            latency,
        }
    }
}
