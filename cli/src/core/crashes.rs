//! Prints the distinct crashes of many cores.

use std::io::Write;
use std::path::Path;

use super::super::failure::{Exit, Failure};
use super::super::outputs::{Kind, Output, Outputs};
use super::super::style::BOLD;
use super::super::table::{cells, table};
use hetdwarf::plural::counted;
use hetdwarf::report::{CrashDocument, CrashesDocument, CrashesPage, TreeNode, write_json_pretty};

/// The output settings for crashes.
pub(crate) struct CrashPrinting {
    page: Option<Output>,
}

impl CrashPrinting {
    /// * `html`: the path of the HTML page.
    pub(crate) fn plan(
        html: Option<&Path>,
        outputs: &mut Outputs,
    ) -> Result<CrashPrinting, Failure> {
        let page = html.map(|path| outputs.plan(path, Kind::Html));
        Ok(CrashPrinting {
            page: page.transpose()?,
        })
    }

    /// Prints a document and the names of unreadable files, and returns the exit status.
    pub(crate) fn print(
        &self,
        document: &CrashesDocument,
        is_json: bool,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> Result<Exit, Failure> {
        for file in &document.unreadable {
            Failure::new(format!("{}: {}", file.path, file.message)).report(err);
        }
        if let Some(output) = &self.page {
            let mut bytes = Vec::new();
            CrashesPage::new(document).write(&mut bytes)?;
            output.write(&bytes)?;
        }
        match is_json {
            true => write_json_pretty(document, &mut *out)?,
            false => print(document, out)?,
        }
        Ok(crash_exit(
            !document.unreadable.is_empty(),
            !document.partial.is_empty(),
        ))
    }
}

/// Returns the exit status for many cores.
///
/// * `is_incomplete`: true if a core could not be read;
/// * `is_partial`: true if a part of a core could not be read.
pub(crate) fn crash_exit(is_incomplete: bool, is_partial: bool) -> Exit {
    match (is_incomplete, is_partial) {
        (true, _) => Exit::Incomplete,
        (false, true) => Exit::Negative,
        (false, false) => Exit::Done,
    }
}

fn print(document: &CrashesDocument, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "{BOLD}{}{BOLD:#}", document.title())?;
    if !document.crashes.is_empty() {
        let header = [
            "cores",
            "waves",
            "reason",
            "kernel",
            "place",
            "fingerprint",
            "first example",
        ];
        let rows = document.crashes.iter().map(row).collect();
        writeln!(out, "\n{}", table(Some(cells(header)), rows, 0..2))?;
    }
    if let Some(tree) = &document.tree {
        print_tree(tree, out)?;
    }
    if !document.partial.is_empty() {
        let count = counted(document.partial.len() as u64, "core");
        writeln!(out, "\n{count} could be read only in part:")?;
        for file in &document.partial {
            writeln!(out, "  {}: {}", file.path, file.message)?;
        }
    }
    if !document.unreadable.is_empty() {
        let count = counted(document.unreadable.len() as u64, "file");
        writeln!(out, "\n{count} could not be read")?;
    }
    Ok(())
}

fn row(crash: &CrashDocument) -> Vec<comfy_table::Cell> {
    cells([
        crash.count.to_string(),
        crash.waves.to_string(),
        crash.reason.to_string(),
        super::super::or_unknown(crash.kernel.as_ref()).to_string(),
        crash.place().to_string(),
        crash.fingerprint.to_string(),
        format!("{}, wave {}", crash.example.file, crash.example.wave),
    ])
}

/// Prints a line for each node, below its caller.
fn print_tree(tree: &[TreeNode], out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(
        out,
        "\nStacks of all waves: how many cores and waves, and how many waves stopped\n"
    )?;
    let width = |numbers: &dyn Fn(&TreeNode) -> u64, title: &str| {
        let longest = tree.iter().map(|node| numbers(node).to_string().len());
        longest.chain([title.len()]).max().unwrap_or(0)
    };
    let cores = width(&|node| node.cores, "cores");
    let waves = width(&|node| node.waves, "waves");
    let stopped = width(&|node| node.faulted, "stopped");
    writeln!(
        out,
        "{:>cores$}  {:>waves$}  {:>stopped$}",
        "cores", "waves", "stopped"
    )?;
    for node in tree {
        let faulted = match node.faulted {
            0 => String::new(),
            faulted => faulted.to_string(),
        };
        let indent = node.depth * 2;
        writeln!(
            out,
            "{:>cores$}  {:>waves$}  {faulted:>stopped$}  {:indent$}{}",
            node.cores, node.waves, "", node.text
        )?;
    }
    Ok(())
}
