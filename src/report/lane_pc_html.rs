//! Draws a picture of lanes as an HTML document without scripts and external resources. The document is also well-formed XML.

use core::fmt::Write;

use super::lane_pc_picture::{LEGEND, LanePicture, Row, escape};
use super::lane_pc_svg::STYLE;

const HTML_STYLE: &str = "\
:root { color-scheme: light dark; }
body { background: var(--page); color: var(--text); font: 13px ui-monospace, monospace; margin: 12px; }
h1 { font-size: 15px; } table { border-collapse: collapse; } td, th { padding: 1px 8px 1px 0; white-space: pre; text-align: left; font-weight: normal; }
.lanes { display: flex; gap: 2px; } .lanes i { width: 8px; height: 8px; border-radius: 2px; background: var(--track); box-sizing: border-box; }
.none .lanes i { background: none; } .quiet, .label { color: var(--quiet); } .lanes b { width: 78px; font-weight: normal; } i { display: inline-block; width: 8px; height: 8px; }
.lanes i.active, i.active { background: var(--active); } .lanes i.waiting, i.waiting { background: none; border: 2px solid var(--waiting); }
.lanes i.elsewhere, i.elsewhere { background: none; border: 1px dashed var(--elsewhere); }
";

impl LanePicture {
    /// Returns the picture as an HTML document.
    #[must_use]
    pub fn html(&self) -> String {
        let title = escape(&self.title);
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <title>{title}</title>\n<style>\n{STYLE}{HTML_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<table>\n<tr><th><span class=\"lanes quiet\">"
        );
        for lane in (0..self.lanes).step_by(8) {
            // Writing to a string does not fail.
            let _ = write!(out, "<b>{lane}</b>");
        }
        out.push_str("</span></th><th></th><th></th></tr>\n");
        for row in &self.rows {
            self.html_row(&mut out, row);
        }
        out.push_str("</table>\n<p class=\"quiet\">");
        for (class, name) in LEGEND {
            let _ = write!(out, "<i class=\"{}\"></i> {} ", class, escape(name));
        }
        out.push_str("</p>\n");
        if let Some(message) = &self.message {
            let _ = writeln!(out, "<p>{}</p>", escape(message));
        }
        out.push_str("</body>\n</html>\n");
        out
    }

    fn html_row(&self, out: &mut String, row: &Row) {
        out.push_str(if row.cells.is_empty() {
            "<tr class=\"none\"><td>"
        } else {
            "<tr><td>"
        });
        if !row.cells.is_empty() {
            out.push_str("<span class=\"lanes\">");
            let mut cells = row.cells.iter().peekable();
            for lane in 0..self.lanes {
                let _ = match cells.next_if(|cell| cell.lane == lane) {
                    Some(cell) => {
                        let title = escape(&cell.title);
                        write!(out, "<i class=\"{}\" title=\"{title}\"></i>", cell.class)
                    }
                    None => write!(out, "<i></i>"),
                };
            }
            out.push_str("</span>");
        }
        let (label, text) = (escape(&row.label), escape(&row.text));
        let _ = writeln!(
            out,
            "</td><td class=\"label\">{label}</td><td>{text}</td></tr>"
        );
    }
}
