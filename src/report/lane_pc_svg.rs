//! Draws a picture of lanes as SVG without scripts and external resources.

use core::fmt::Write;

use super::lane_pc_picture::{LEGEND, LanePicture, Row, escape};

/// The distance between cells and the size of a cell, in pixels.
const STEP: usize = 10;
const CELL: usize = 8;
/// The distance between rows in pixels.
const ROW: usize = 18;
/// The margin in pixels.
const MARGIN: usize = 12;
/// The maximum width of a character in pixels, for a font of 13 pixels.
const LETTER: usize = 8;
/// The number of rows above the rows of the picture: the title and the numbers of lanes.
const HEAD: usize = 2;

/// The colours for light and dark mode.
pub(super) const STYLE: &str = "\
:root { --page: #ffffff; --text: #1f2328; --quiet: #6e7781; --track: #eaeef2; --active: #1a7f37; --waiting: #bf8700; --elsewhere: #8c959f; }
@media (prefers-color-scheme: dark) {
:root { --page: #0d1117; --text: #e6edf3; --quiet: #8d96a0; --track: #21262d; --active: #3fb950; --waiting: #d29922; --elsewhere: #6e7681; }
}
";

const SVG_STYLE: &str = "\
.page { fill: var(--page); } text { fill: var(--text); font: 13px ui-monospace, monospace; white-space: pre; }
.quiet { fill: var(--quiet); } .track { fill: var(--track); }
.active { fill: var(--active); } .waiting { fill: none; stroke: var(--waiting); stroke-width: 2; }
.elsewhere { fill: none; stroke: var(--elsewhere); stroke-dasharray: 2 2; }
";

impl LanePicture {
    /// Returns the picture as an SVG document.
    #[must_use]
    pub fn svg(&self) -> String {
        let longest = |text: fn(&Row) -> &String| {
            let lengths = self.rows.iter().map(|row| text(row).chars().count());
            lengths.max().unwrap_or(0) * LETTER
        };
        let label_at = MARGIN + self.lanes * STEP + MARGIN;
        let text_at = label_at + longest(|row| &row.label) + MARGIN;
        let note = self.message.as_ref().map_or(0, |text| text.chars().count());
        let note = MARGIN + note * LETTER;
        let least = text_at.max(MARGIN + 60 * LETTER);
        let width = least.max(text_at + longest(|row| &row.text)).max(note) + MARGIN;
        let notes = 1 + usize::from(self.message.is_some());
        let count = self.rows.len() + HEAD + notes;
        let height = count * ROW + MARGIN * 2;
        let title = escape(&self.title);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
             <title>{title}</title>\n<style>\n{STYLE}{SVG_STYLE}</style>\n\
             <rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n"
        );
        line(&mut out, MARGIN, 0, "", &self.title);
        for lane in (0..self.lanes).step_by(8) {
            let x = MARGIN + lane * STEP;
            line(&mut out, x, 1, "quiet", &lane.to_string());
        }
        for (number, row) in (HEAD..).zip(&self.rows) {
            self.row(&mut out, row, number, label_at, text_at);
        }
        let mut number = self.rows.len() + HEAD;
        let mut x = MARGIN;
        for (class, name) in LEGEND {
            cell(&mut out, x, number, class, "");
            line(&mut out, x + 2 * CELL, number, "quiet", name);
            x += name.len() * LETTER + 4 * CELL;
        }
        if let Some(message) = &self.message {
            number += 1;
            line(&mut out, MARGIN, number, "quiet", message);
        }
        out.push_str("</svg>\n");
        out
    }

    fn row(&self, out: &mut String, row: &Row, number: usize, label_at: usize, text_at: usize) {
        if !row.cells.is_empty() {
            let width = self.lanes * STEP;
            let _ = writeln!(
                out,
                "<rect class=\"track\" x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{}\" rx=\"2\"/>",
                MARGIN - 1,
                top(number) - 1,
                CELL + 2
            );
        }
        for one in &row.cells {
            let x = MARGIN + one.lane * STEP;
            cell(out, x, number, one.class, &one.title);
        }
        line(out, label_at, number, "quiet", &row.label);
        line(out, text_at, number, "", &row.text);
    }
}

/// Returns the vertical position of the cells of a row.
fn top(row: usize) -> usize {
    MARGIN + row * ROW + 5
}

fn cell(out: &mut String, x: usize, row: usize, class: &str, title: &str) {
    let y = top(row);
    let shape = format!(
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{CELL}\" rx=\"2\""
    );
    // Writing to a string does not fail.
    let _ = match title {
        "" => writeln!(out, "{shape}/>"),
        title => writeln!(out, "{shape}><title>{}</title></rect>", escape(title)),
    };
}

fn line(out: &mut String, x: usize, row: usize, class: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    let y = top(row) + CELL;
    let class = match class {
        "" => String::new(),
        class => format!(" class=\"{class}\""),
    };
    let _ = writeln!(
        out,
        "<text{class} x=\"{x}\" y=\"{y}\" xml:space=\"preserve\">{}</text>",
        escape(text)
    );
}
