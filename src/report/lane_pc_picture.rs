//! Where the lanes are, as a picture: source lines with a row of cells, one for each lane.
//!
//! What is in the picture is here; how a browser is told, in `lane_pc_svg` and `lane_pc_html`.

use std::collections::{BTreeMap, BTreeSet};

use super::lane_pc::{LanePcDocument, LanePcLane, LaneStateKind, Lines};
use super::text::{FileNames, base_name, reference};
use crate::arch::ProcessAddress;
use crate::debug_info::SourceFile;
use crate::error::Result;
use crate::inspect::{FrameDescription, StopFrame};
use crate::untrusted::Untrusted;

/// Source lines that are shown before and after those with lanes.
const AROUND: u64 = 3;
/// Characters of a source line that are shown.
const WIDTH: usize = 160;

/// A picture of the lanes of a frame.
#[derive(Clone, Debug)]
pub struct LanePicture {
    /// The function and the frame.
    pub(super) title: String,
    /// How many lanes there are.
    pub(super) lanes: usize,
    /// From top to bottom.
    pub(super) rows: Vec<Row>,
    /// What is to be said besides.
    pub(super) message: Option<String>,
    /// The names of the files whose text is not known.
    without_source: BTreeSet<Untrusted<'static>>,
}

/// A row of a picture.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// `k.cl:7`, or a program location where no line is known; nothing where lines are left out.
    pub(super) label: String,
    /// The text of the line, where it is known.
    pub(super) text: String,
    pub(super) cells: Vec<Cell>,
}

/// A lane in a row.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) lane: usize,
    pub(super) state: LaneStateKind,
    /// What is shown when it is pointed at.
    pub(super) title: String,
}

/// The class of a cell, for style sheets. Where lanes are that are not in this frame is said when they are pointed at.
pub(super) fn class(state: LaneStateKind) -> &'static str {
    match state {
        LaneStateKind::Active => "active",
        LaneStateKind::Waiting => "waiting",
        LaneStateKind::Elsewhere | LaneStateKind::Unknown => "elsewhere",
    }
}

/// What the states are called.
pub(super) const LEGEND: [(LaneStateKind, &str); 3] = [
    (LaneStateKind::Active, "active"),
    (LaneStateKind::Waiting, "waiting"),
    (LaneStateKind::Elsewhere, "not in this frame, or not known"),
];

/// A source file with lanes in it.
#[derive(Default)]
struct File {
    text: Option<String>,
    lines: BTreeMap<u64, Vec<Cell>>,
}

impl LanePicture {
    /// Draws the lanes of a frame.
    ///
    /// * `document`: what [`LanePcDocument::new`] says of the same frame.
    /// * `read`: the text of a source file, by its path and the directory that the compiler ran in; asked where
    ///   the text is not in the debugging information.
    ///
    /// # Errors
    /// If a line table is malformed.
    pub fn new(
        frame: &StopFrame<'_, '_, '_>,
        document: &LanePcDocument,
        read: &dyn Fn(&str, Option<&str>) -> Option<String>,
    ) -> Result<LanePicture> {
        let mut lines = Lines::default();
        let mut files: BTreeMap<String, File> = BTreeMap::new();
        let mut without_line: BTreeMap<u128, Vec<Cell>> = BTreeMap::new();
        let mut without_pc = (Vec::new(), Vec::new());
        for lane in &document.lanes {
            let cell = Cell::new(lane);
            let Some(pc) = lane.pc else {
                let (elsewhere, unknown) = &mut without_pc;
                let row = if lane.why.is_some() {
                    unknown
                } else {
                    elsewhere
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
                    let known = files.entry(file.path.to_string());
                    let found = known.or_insert_with(|| File {
                        text: text(frame, unit, &file, read),
                        ..File::default()
                    });
                    found.lines.entry(line).or_default().push(cell);
                }
                _ => without_line.entry(pc.0).or_default().push(cell),
            }
        }
        let mut rows = Vec::new();
        let mut without_source = BTreeSet::new();
        let paths: Vec<String> = files.keys().cloned().collect();
        let names = FileNames::of(paths.iter().map(String::as_str));
        for (path, file) in files {
            let name = clean(names.short(&path.as_str().into()).raw());
            if file.text.is_none() {
                without_source.insert(name.clone().into());
            }
            file.rows(&name, &mut rows);
        }
        rows.extend(without_line.into_iter().map(|(pc, cells)| Row {
            label: format!("{pc:#x}"),
            text: String::new(),
            cells,
        }));
        let (elsewhere, unknown) = without_pc;
        for (label, text, cells) in [
            ("elsewhere", "not active on entry", elsewhere),
            ("unknown", "not active; where is not known", unknown),
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
        Ok(LanePicture {
            title: clean(&format!("{function}, frame {}", document.frame)),
            lanes: document.lanes.len(),
            rows,
            message: document.message.as_ref().map(ToString::to_string),
            without_source,
        })
    }
}

impl LanePicture {
    /// The names of the files with lanes in them whose text is not known, and not shown therefore.
    #[must_use]
    pub fn without_source(&self) -> &BTreeSet<Untrusted<'static>> {
        &self.without_source
    }

    /// Says something below the picture.
    pub fn add_note(&mut self, text: &str) {
        let message = self.message.get_or_insert_default();
        if !message.is_empty() {
            message.push_str("; ");
        }
        message.push_str(text);
    }
}

/// The text of a source file: that in the debugging information, or that which can be read.
pub(super) fn text(
    frame: &StopFrame<'_, '_, '_>,
    unit: crate::debug_info::UnitId,
    file: &SourceFile,
    read: &dyn Fn(&str, Option<&str>) -> Option<String>,
) -> Option<String> {
    let info = frame.stop().program().info();
    // A picture without source is better than none.
    if let Ok(Some(text)) = info.embedded_source(unit, file.index) {
        return Some(text.into_owned());
    }
    let folder = info.unit_info(unit).ok().and_then(|unit| unit.comp_dir);
    read(&file.path, folder.as_deref())
}

impl File {
    /// The lines with lanes and a few around them, if there is text.
    fn rows(mut self, name: &str, rows: &mut Vec<Row>) {
        let text: Vec<&str> = self
            .text
            .as_deref()
            .map_or(Vec::new(), |text| text.lines().collect());
        let mut wanted: Vec<u64> = Vec::new();
        for line in self.lines.keys() {
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
                cells: self.lines.remove(&number).unwrap_or_default(),
            });
        }
    }
}

/// A line by its number, from 1.
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
                format!("lane {number}: {}, pc {:#x}{at}", lane.state.name(), pc.0)
            }
            (None, Some(caller)) => {
                let function = caller.function.as_ref().map_or("?", Untrusted::raw);
                let at = place(&caller.file, caller.line);
                let (frame, pc) = (caller.frame, caller.pc.0);
                format!("lane {number}: in frame {frame}, {function}, pc {pc:#x}{at}")
            }
            (None, None) => match (lane.why, lane.reason) {
                (Some(why), _) => {
                    format!("lane {number}: not active; where it is is not known: {why}")
                }
                (None, Some(_)) => format!("lane {number}: not started by the dispatch"),
                (None, None) => format!("lane {number}: not active on entry"),
            },
        };
        Cell {
            lane: number,
            state: lane.state,
            title: clean(&title),
        }
    }
}

/// Text that can stand in a document: tabs are spaces, what is too long is cut, and what could be obeyed is escaped.
pub(super) fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len().min(WIDTH));
    for (number, letter) in text.chars().enumerate() {
        if number >= WIDTH {
            clean.push('…');
            break;
        }
        match letter {
            '\t' => clean.push_str("    "),
            // XML has no such characters.
            '\u{fffe}' | '\u{ffff}' => clean.push('\u{fffd}'),
            letter => clean.push(letter),
        }
    }
    Untrusted::from(clean).to_string()
}

/// Text as the contents of an element or attribute.
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
