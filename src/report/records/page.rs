//! Writes the crashes of many cores as a page for a browser: one file without scripts.

use std::io::{self, Write};

use super::super::core_page::write_head;
use super::super::lane_pc_picture::escape;
use super::crashes::{CrashDocument, CrashesDocument};
use super::tree::TreeNode;
use crate::plural::counted;
use crate::untrusted::Untrusted;

/// The style of the page.
const STYLE: &str = include_str!("page.css");

/// A page about crashes.
#[derive(Debug)]
pub struct CrashesPage<'d> {
    document: &'d CrashesDocument,
}

impl<'d> CrashesPage<'d> {
    /// Creates a page about crashes, with the tree of stacks if the document has one.
    #[must_use]
    pub fn new(document: &'d CrashesDocument) -> CrashesPage<'d> {
        CrashesPage { document }
    }

    /// Writes the page.
    ///
    /// # Errors
    /// If `out` cannot be written to.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let document = self.document;
        let title = document.title();
        write_head(out, &title, STYLE, "")?;
        writeln!(out, "<header><h1>{}</h1></header>\n<main>", escape(&title))?;
        writeln!(
            out,
            "<table>\n<thead><tr><th>Cores</th><th>Waves</th><th>Reason</th><th>Kernel</th><th>Place</th><th>Fingerprint</th><th>First example</th></tr></thead>\n<tbody>"
        )?;
        for crash in &document.crashes {
            row(out, crash)?;
        }
        writeln!(out, "</tbody>\n</table>")?;
        if let Some(tree) = &document.tree {
            writeln!(out, "<h2>Stacks of all waves</h2>")?;
            write_tree(out, tree)?;
        }
        for (title, files) in [
            ("Read in part", &document.partial),
            ("Not read", &document.unreadable),
        ] {
            if files.is_empty() {
                continue;
            }
            writeln!(out, "<h2>{title}</h2>\n<ul>")?;
            for file in files {
                writeln!(
                    out,
                    "<li>{}: {}</li>",
                    text(&file.path),
                    text(&file.message)
                )?;
            }
            writeln!(out, "</ul>")?;
        }
        writeln!(out, "</main>\n</body>\n</html>")
    }
}

fn row(out: &mut dyn Write, crash: &CrashDocument) -> io::Result<()> {
    let kernel = crash.kernel.as_ref().map(text).unwrap_or_default();
    let place = text(&crash.place());
    writeln!(
        out,
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{kernel}</td><td>{place}</td><td><code>{}</code></td><td title=\"{}\">{}, wave {}</td></tr>",
        crash.count,
        crash.waves,
        text(&crash.reason),
        text(&crash.fingerprint),
        text(&crash.example.text),
        text(&crash.example.file),
        crash.example.wave,
    )
}

/// Writes nested lists, which a browser opens and closes without a script.
fn write_tree(out: &mut dyn Write, tree: &[TreeNode]) -> io::Result<()> {
    writeln!(out, "<div class=\"tree\">")?;
    let mut open: usize = 0;
    let next = tree.iter().skip(1).map(Some).chain([None]);
    for (node, next) in tree.iter().zip(next) {
        let numbers = format!(
            "{}, {}",
            counted(node.cores, "core"),
            counted(node.waves, "wave")
        );
        let faulted = match node.faulted {
            0 => String::new(),
            faulted => format!(" <b>{faulted} stopped</b>"),
        };
        let line = format!("{} <small>{numbers}</small>{faulted}", text(&node.text));
        let after = next.map_or(0, |next| next.depth);
        if after > node.depth {
            writeln!(out, "<details open><summary>{line}</summary>")?;
            open += 1;
        } else {
            writeln!(out, "<p>{line}</p>")?;
            while open > after {
                writeln!(out, "</details>")?;
                open -= 1;
            }
        }
    }
    writeln!(out, "</div>")
}

fn text(text: &Untrusted<'_>) -> String {
    escape(&text.to_string())
}
