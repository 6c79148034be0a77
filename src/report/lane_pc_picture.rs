//! Makes a picture of the places of lanes: source lines with a row of cells, one cell for each lane.
//!
//! This module decides the contents of the picture. `lane_pc_svg` and `lane_pc_html` write it.

use std::collections::{BTreeMap, BTreeSet};

use super::lane_pc::{LanePcDocument, LanePcLane, Lines};
use super::source_text::{ReadSource, SourceText, SourceTexts};
use super::text::{base_name, reference};
use crate::arch::ProcessAddress;
use crate::error::Result;
use crate::inspect::{FrameDescription, LanePlace, StopFrame};
use crate::untrusted::Untrusted;

/// The number of source lines that are shown before and after a line with lanes.
const AROUND: u64 = 3;
/// The maximum number of characters that are shown of a source line.
const WIDTH: usize = 160;

/// A picture of the lanes of a frame.
#[derive(Clone, Debug)]
pub struct LanePicture {
    /// The function and the frame.
    pub(super) title: String,
    /// The number of lanes.
    pub(super) lanes: usize,
    /// The rows from top to bottom.
    pub(super) rows: Vec<Row>,
    /// Further explanation.
    pub(super) message: Option<String>,
    /// The names of the files whose text is not known.
    without_source: BTreeSet<Untrusted<'static>>,
    /// Warnings about the source files that are shown.
    source_warnings: Vec<String>,
}

/// A row of a picture.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// A text like `k.cl:7`, or a program location without a known line. Empty in a row that marks omitted lines.
    pub(super) label: String,
    /// The text of the line, if it is known.
    pub(super) text: String,
    pub(super) cells: Vec<Cell>,
}

/// A lane in a row.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) lane: usize,
    /// The class for style sheets, from [`LEGEND`].
    pub(super) class: &'static str,
    /// The tooltip.
    pub(super) title: String,
}

/// The classes of cells with their names for people. The tooltip of a cell describes the place of a lane that is not in this frame.
pub(super) const LEGEND: [(&str, &str); 3] = [
    ("active", "active"),
    ("waiting", "waiting"),
    ("elsewhere", "not in this frame, or unknown"),
];

impl LanePicture {
    /// Draws the lanes of a frame.
    ///
    /// * `document`: the result of [`LanePcDocument::new`] for the same frame.
    /// * `read`: returns the bytes of a source file, given its path and the compilation directory. It is called if the debugging information does not
    ///   contain the text.
    ///
    /// # Errors
    /// If a line table is malformed.
    pub fn new(
        frame: &StopFrame<'_, '_, '_>,
        document: &LanePcDocument,
        read: ReadSource<'_>,
    ) -> Result<LanePicture> {
        let mut lines = Lines::default();
        let info = frame.stop().program().info();
        let mut texts = SourceTexts::default();
        // The lanes in each line of each file.
        let mut files: BTreeMap<String, (usize, BTreeMap<u64, Vec<Cell>>)> = BTreeMap::new();
        let mut without_line: BTreeMap<u128, Vec<Cell>> = BTreeMap::new();
        let mut without_pc = (Vec::new(), Vec::new());
        for lane in &document.lanes {
            let cell = Cell::new(lane);
            let Some(pc) = lane.pc else {
                let (elsewhere, unknown) = &mut without_pc;
                let row = match lane.place.unknown() {
                    Some(_) => unknown,
                    None => elsewhere,
                };
                row.push(cell);
                continue;
            };
            let address = ProcessAddress(u64::try_from(pc.0).unwrap_or(u64::MAX));
            match lines.of(frame, address)? {
                FrameDescription {
                    unit: Some(unit),
                    file: Some(file),
                    line: Some(line),
                    ..
                } => {
                    let number = texts.want(info, unit, &file, line, read, frame.stop().meter());
                    let known = files.entry(file.path.to_string());
                    let (_, lines) = known.or_insert_with(|| (number, BTreeMap::new()));
                    lines.entry(line).or_default().push(cell);
                }
                _ => without_line.entry(pc.0).or_default().push(cell),
            }
        }
        let mut rows = Vec::new();
        let names = texts.names();
        for (number, lines) in files.into_values() {
            if let Some(text) = texts.files().get(number) {
                let name = clean(names.short(text.path()).raw());
                add_lines(&name, text, lines, &mut rows);
            }
        }
        rows.extend(without_line.into_iter().map(|(pc, cells)| Row {
            label: format!("{pc:#x}"),
            text: String::new(),
            cells,
        }));
        let (elsewhere, unknown) = without_pc;
        for (label, text, cells) in [
            ("elsewhere", "not active on entry", elsewhere),
            ("unknown", "not active; position unknown", unknown),
        ] {
            if !cells.is_empty() {
                rows.push(Row {
                    label: label.to_owned(),
                    text: text.to_owned(),
                    cells,
                });
            }
        }
        let function = document.function.as_ref().map_or("?", Untrusted::raw);
        let mut picture = LanePicture {
            title: clean(&format!("{function}, frame {}", document.frame)),
            lanes: document.lanes.len(),
            rows,
            message: document.message.as_ref().map(ToString::to_string),
            without_source: texts.missing(),
            source_warnings: texts.warnings(),
        };
        for warning in texts.warnings() {
            picture.add_note(&warning);
        }
        Ok(picture)
    }
}

impl LanePicture {
    /// Returns the names of the files that have lanes but no known text. The picture does not show their lines.
    #[must_use]
    pub fn without_source(&self) -> &BTreeSet<Untrusted<'static>> {
        &self.without_source
    }

    /// Returns the warnings about the shown files: a file that differs from the compiled one, or a file with too few lines.
    #[must_use]
    pub fn source_warnings(&self) -> &[String] {
        &self.source_warnings
    }

    /// Adds a note below the picture.
    pub fn add_note(&mut self, text: &str) {
        let message = self.message.get_or_insert_default();
        if !message.is_empty() {
            message.push_str("; ");
        }
        message.push_str(text);
    }
}

/// Adds the lines of a file that have lanes, and a few lines around them, if the text is known.
fn add_lines(
    name: &str,
    text: &SourceText,
    mut lanes: BTreeMap<u64, Vec<Cell>>,
    rows: &mut Vec<Row>,
) {
    let text: Vec<&str> = text.lines().map(|(_, line)| line).collect();
    let mut wanted: Vec<u64> = Vec::new();
    for line in lanes.keys() {
        let around = line.saturating_sub(AROUND).max(1)..=line.saturating_add(AROUND);
        let in_text = around.filter(|number| get(&text, *number).is_some());
        wanted.extend(in_text.chain([*line]));
    }
    wanted.sort_unstable();
    wanted.dedup();
    let mut before = None;
    for number in wanted {
        if before.is_some_and(|before: u64| before.saturating_add(1) != number) {
            rows.push(Row {
                text: "…".to_owned(),
                ..Row::default()
            });
        }
        before = Some(number);
        rows.push(Row {
            label: format!("{name}:{number}"),
            text: get(&text, number).map_or(String::new(), clean),
            cells: lanes.remove(&number).unwrap_or_default(),
        });
    }
}

/// Returns a line by its number, from 1.
fn get<'t>(text: &[&'t str], number: u64) -> Option<&'t str> {
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    text.get(index).copied()
}

impl Cell {
    fn new(lane: &LanePcLane) -> Cell {
        let place = |file: &Option<Untrusted<'_>>, line: Option<u64>| match (file, line) {
            (Some(file), Some(line)) => format!(", {}:{line}", base_name(file.raw())),
            (_, _) => String::new(),
        };
        let number = lane.lane;
        let title = match (lane.pc, &lane.caller) {
            (Some(pc), _) => {
                let at = place(&lane.file, lane.line);
                format!("lane {number}: {}, pc {:#x}{at}", lane.place.name(), pc.0)
            }
            (None, Some(caller)) => {
                let function = caller.function.as_ref().map_or("?", Untrusted::raw);
                let at = place(&caller.file, caller.line);
                let (frame, pc) = (caller.frame, caller.pc.0);
                format!("lane {number}: in frame {frame}, {function}, pc {pc:#x}{at}")
            }
            (None, None) => match lane.place {
                LanePlace::Unknown(why) => {
                    format!("lane {number}: not active; position unknown: {why}")
                }
                LanePlace::NotDispatched => format!("lane {number}: not started by the dispatch"),
                LanePlace::Active | LanePlace::Waiting { .. } | LanePlace::Elsewhere => {
                    format!("lane {number}: not active on entry")
                }
            },
        };
        Cell {
            lane: number,
            class: match lane.place {
                LanePlace::Active | LanePlace::Waiting { .. } => lane.place.name(),
                LanePlace::Elsewhere | LanePlace::NotDispatched | LanePlace::Unknown(_) => {
                    "elsewhere"
                }
            },
            title: clean(&title),
        }
    }
}

/// Cleans text for a document: replaces tabs by spaces, cuts long text, and escapes control characters.
pub(super) fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len().min(WIDTH));
    for (number, letter) in text.chars().enumerate() {
        if number >= WIDTH {
            clean.push('…');
            break;
        }
        match letter {
            '\t' => clean.push_str("    "),
            // XML does not allow these characters.
            '\u{fffe}' | '\u{ffff}' => clean.push('\u{fffd}'),
            letter => clean.push(letter),
        }
    }
    Untrusted::from(clean).to_string()
}

/// Escapes text for the contents of an element or an attribute.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match reference(letter) {
            Some(reference) => escaped.push_str(reference),
            None if letter == '\'' => escaped.push_str("&#39;"),
            None => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{clean, escape};

    #[test]
    fn nothing_breaks_out_of_a_document() {
        assert_eq!(
            clean("a\tb\u{1b}[0m\u{202e}c\u{0}"),
            r"a    b\u{1b}[0m\u{202e}c\u{0}"
        );
        assert_eq!(clean(&"x".repeat(1000)).chars().count(), super::WIDTH + 1);
        assert_eq!(escape("</script>\"'&"), "&lt;/script&gt;&quot;&#39;&amp;");
    }
}
