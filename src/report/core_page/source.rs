//! Collects the lines of source files that a page shows.

use std::collections::BTreeSet;

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use crate::debug_info::{DebugInfo, SourceFile, UnitId};
use crate::inspect::{FrameDescription, StopFrame};
use crate::meter::Meter;
use crate::report::source_text::{ReadSource, SourceText, SourceTexts};
use crate::untrusted::Untrusted;

/// The number of lines that are shown before and after a line with a lane or a frame.
const AROUND: u64 = 8;
/// The maximum number of characters that are shown of a line.
const WIDTH: usize = 240;

/// The source files of the frames and lanes of waves.
pub(in crate::report) struct Sources<'r> {
    read: ReadSource<'r>,
    /// The meter to which texts are charged. Any number of paths can name the same file, so each is charged.
    meter: &'r Meter,
    texts: SourceTexts,
    /// The lines to show of each file.
    wanted: Vec<BTreeSet<u64>>,
}

/// A place in a source file, as a page names it: the number of the file, and the line.
pub(in crate::report) type SourcePlace = (usize, u64);

impl<'r> Sources<'r> {
    pub(in crate::report) fn new(read: ReadSource<'r>, meter: &'r Meter) -> Sources<'r> {
        Sources {
            read,
            meter,
            texts: SourceTexts::default(),
            wanted: Vec::new(),
        }
    }

    /// Adds a line and the lines around it to the shown lines. Returns None if the code has no source line.
    pub(super) fn want(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        place: &FrameDescription,
    ) -> Option<SourcePlace> {
        let (file, unit, line) = (place.file.as_ref()?, place.unit?, place.line?);
        let info = frame.stop().program().info();
        Some(self.want_line(info, unit, file, line))
    }

    /// Adds a line of a unit's line table, and the lines around it, to the shown lines.
    pub(in crate::report) fn want_line(
        &mut self,
        info: &DebugInfo<'_>,
        unit: UnitId,
        file: &SourceFile,
        line: u64,
    ) -> SourcePlace {
        let index = (self.texts).want(info, unit, file, line, self.read, self.meter);
        self.wanted
            .resize_with(self.texts.files().len(), BTreeSet::new);
        if let Some(wanted) = self.wanted.get_mut(index) {
            wanted.insert(line);
        }
        (index, line)
    }

    /// Returns the names of the files whose text is not known.
    pub(super) fn into_missing(self) -> BTreeSet<Untrusted<'static>> {
        self.texts.missing()
    }
}

/// A file of a page.
#[derive(Serialize)]
struct File<'f> {
    name: Untrusted<'f>,
    /// Warnings about its text.
    warnings: Vec<String>,
    lines: Lines<'f>,
}

impl Serialize for Sources<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = self.texts.names();
        let files = self.texts.files().iter().zip(&self.wanted);
        serializer.collect_seq(files.map(|(text, wanted)| {
            let name = names.short(text.path());
            File {
                warnings: text.warnings(&name),
                name,
                lines: Lines { text, wanted },
            }
        }))
    }
}

/// The shown lines of a file.
struct Lines<'f> {
    text: &'f SourceText,
    wanted: &'f BTreeSet<u64>,
}

impl Serialize for Lines<'_> {
    /// Serializes the number and the text of each line.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for (number, line) in self.text.lines() {
            let around = number.saturating_sub(AROUND)..=number + AROUND;
            if self.wanted.range(around).next().is_some() {
                let text: String = line.replace('\t', "    ").chars().take(WIDTH).collect();
                list.serialize_element(&(number, text))?;
            }
        }
        list.end()
    }
}
