//! Runs the commands that README and the book show with their output, and compares the output.
//!
//! A `console` block contains commands (`$ …`), each followed by its output. A line `…` stands for any number of lines.
//! Only commands that begin with `hetdwarf` and have an output are run.
//!
//! `HETDWARF_WRITE_DOCS=1` rewrites an outdated output if `…` occurs only at its end. Edit the other outputs by hand.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const HETDWARF: &str = env!("CARGO_BIN_EXE_hetdwarf");

/// The files that the pages name, and the repository files that replace them. Names that end in `.gz` are decompressed.
const FILES: &[(&str, &str)] = &[
    (
        "app",
        "dwarf-tests/fixtures/corpus/llvm22/inlined-gfx942-O2.hsaco",
    ),
    (
        "build/small.hsaco",
        "dwarf-tests/fixtures/corpus/llvm24/small-gfx90a-O0-dwarf4.hsaco",
    ),
    (
        "crash.core",
        "dwarf-tests/fixtures/triage/fault/call-942/merged.core.gz",
    ),
    ("demo.core", "examples/particles/particles.core"),
    (
        "hang.core",
        "dwarf-tests/fixtures/triage/hang/spin-1100/merged.core.gz",
    ),
    (
        "k.hsaco",
        "dwarf-tests/fixtures/waves/recursion/recursion.hsaco",
    ),
    (
        "out/1/4242_results.json",
        "dwarf-tests/fixtures/profiles/stochastic/4242_results.json",
    ),
    (
        "src/call-942.cl",
        "dwarf-tests/fixtures/triage/fault/call-942/call-942.cl",
    ),
    (
        "src/spin-1100.cl",
        "dwarf-tests/fixtures/triage/hang/spin-1100/spin-1100.cl",
    ),
    (
        "structs.hsaco",
        "dwarf-tests/fixtures/waves/structs/structs.rocm.hsaco",
    ),
    ("stop.json", "dwarf-tests/fixtures/waves/structs/w03.json"),
];

/// A temporary folder with the files of `FILES`, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("hetdwarf-documented-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        for (name, from) in FILES {
            let mut bytes = fs::read(Path::new(ROOT).join(from)).expect(from);
            if from.ends_with(".gz") {
                let packed = std::mem::take(&mut bytes);
                let mut reader = flate2::read::GzDecoder::new(&*packed);
                reader.read_to_end(&mut bytes).unwrap();
            }
            let path = path.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        Folder(path)
    }

    /// Runs a command and returns the lines of standard output, then the lines of standard error.
    fn run(&self, command: &str) -> Vec<String> {
        let folder = Path::new(HETDWARF).parent().unwrap().display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let ran = Command::new("sh")
            .args(["-c", command])
            .current_dir(&self.0)
            .env("PATH", format!("{folder}:{path}"))
            .output()
            .unwrap();
        let text = [ran.stdout, ran.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        text.lines()
            .map(|line| line.trim_end().to_owned())
            .collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A command and its output: the lines of the page from `first` up to, but not including, `end`.
struct Shown {
    command: String,
    first: usize,
    end: usize,
}

/// Returns the commands that a page shows with their output.
fn commands(lines: &[String]) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let (mut in_block, mut is_output, mut indent) = (false, false, 0);
    for (number, line) in lines.iter().enumerate() {
        let text = line.get(indent..).unwrap_or(line);
        if line.trim_start() == "```console" {
            (in_block, is_output) = (true, false);
            indent = line.len() - line.trim_start().len();
        } else if text.starts_with("```") {
            in_block = false;
        } else if let Some(command) = text.strip_prefix("$ ").filter(|_| in_block) {
            is_output = !command.ends_with('\\');
            let command = command.trim_end_matches('\\').to_owned();
            found.push(Shown {
                command,
                first: number + 1,
                end: number + 1,
            });
        } else if in_block && !is_output {
            let Some(last) = found.last_mut() else {
                continue;
            };
            last.command.push_str(text.trim_end_matches('\\'));
            is_output = !text.ends_with('\\');
            (last.first, last.end) = (number + 1, number + 1);
        } else if in_block && let Some(last) = found.last_mut() {
            last.end = number + 1;
        }
    }
    found.retain(|one| one.command.starts_with("hetdwarf ") && one.end > one.first);
    found
}

/// Returns true if `lines` match the shown lines, in which `…` matches any number of lines.
fn is_as_shown(shown: &[&str], lines: &[String]) -> bool {
    let parts: Vec<&[&str]> = shown.split(|line| *line == "…").collect();
    let mut at = 0;
    for (number, part) in parts.iter().enumerate() {
        let is_there = |at: &usize| {
            lines[*at..]
                .iter()
                .zip(*part)
                .all(|(line, shown)| line == shown)
        };
        let last = lines.len().saturating_sub(part.len());
        let mut places = match number {
            0 => at..=0,
            _ if number + 1 == parts.len() && !part.is_empty() => last.max(at)..=last,
            _ => at..=last,
        };
        let Some(place) = places.find(|at| at + part.len() <= lines.len() && is_there(at)) else {
            return false;
        };
        at = place + part.len();
    }
    at == lines.len() || shown.last() == Some(&"…")
}

fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(Path::new(ROOT).join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = docs
        .filter(|path| path.extension().is_some_and(|one| one == "md"))
        .collect();
    pages.sort();
    pages.insert(0, Path::new(ROOT).join("README.md"));
    pages
}

#[test]
fn commands_print_what_the_pages_show() {
    let folder = Folder::new();
    let writes = std::env::var_os("HETDWARF_WRITE_DOCS").is_some_and(|value| value == "1");
    let (mut wrong, mut count) = (String::new(), 0);
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        // Runs the commands from last to first, so that line numbers stay valid when an output is replaced.
        for one in commands(&lines).into_iter().rev() {
            count += 1;
            let printed = folder.run(&one.command);
            let output = &lines[one.first..one.end];
            let indent = output[0].len() - output[0].trim_start().len();
            let shown: Vec<_> = output
                .iter()
                .map(|line| line.get(indent..).unwrap_or(""))
                .collect();
            if is_as_shown(&shown, &printed) {
                continue;
            }
            let is_cut = shown.last() == Some(&"…");
            let size = shown.len() - usize::from(is_cut);
            if writes && !shown[..size].contains(&"…") {
                let margin = " ".repeat(indent);
                let head = printed
                    .iter()
                    .take(if is_cut { size } else { printed.len() });
                let cut = is_cut.then(|| "…".to_owned());
                let new: Vec<_> = head
                    .chain(&cut)
                    .map(|line| format!("{margin}{line}"))
                    .collect();
                lines.splice(one.first..one.end, new);
                continue;
            }
            wrong += &format!(
                "{}:{}: {}\n{}\n",
                page.display(),
                one.first,
                one.command,
                printed.join("\n")
            );
        }
        if writes {
            fs::write(&page, lines.join("\n") + "\n").unwrap();
        }
    }
    assert!(
        wrong.is_empty(),
        "these commands print something else:\n{wrong}"
    );
    assert!(
        count > 5,
        "only {count} commands are shown with their output"
    );
}

#[test]
fn what_was_left_out_is_any_number_of_lines() {
    let lines = ["a", "b", "c", "d"].map(str::to_owned);
    let is = |shown: &[&str]| is_as_shown(shown, &lines);
    assert!(is(&["a", "b", "c", "d"]) && is(&["a", "…"]) && is(&["a", "…", "c", "…"]));
    assert!(is(&["…", "d"]) && is(&["a", "…", "d"]) && is(&["a", "b", "…", "c", "d"]));
    assert!(!is(&["a", "b", "c"]) && !is(&["b", "…"]) && !is(&["a", "…", "c"]));
    assert!(!is(&["a", "…", "e", "…"]) && !is(&["a", "b", "c", "d", "e"]));
}
