//! Records skipped tests, with reasons.
//!
//! A test that lacks a tool calls [`skipped`]. The documentation test of [`print_summary`] runs last in `cargo test --workspace`, so the
//! list is at the end of its output. Test harnesses capture the output of tests. So both functions write directly to standard error of the
//! process that displays it.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

/// Reports and records that the running test is skipped. With `HETDWARF_REQUIRE_TOOLS=1` the test fails.
///
/// # Panics
/// If `HETDWARF_REQUIRE_TOOLS` is 1.
pub fn skipped(why: &str) {
    let is_required = std::env::var_os("HETDWARF_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(!is_required, "HETDWARF_REQUIRE_TOOLS: {why}");
    let test = std::thread::current();
    let name = test.name().unwrap_or("a test");
    let line = format!("SKIPPED {name}: {why}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    // Cargo is the parent process of a test.
    let cargo = parent(std::process::id());
    if let Some(path) = cargo.map(list) {
        let list = OpenOptions::new().create(true).append(true).open(path);
        let _ = list.and_then(|mut list| list.write_all(line.as_bytes()));
    }
}

/// Prints which tests of this run of cargo were skipped, by reason, and forgets them. Does nothing on systems without `/proc`.
///
/// ```standalone_crate
/// test_skips::print_summary();
/// ```
pub fn print_summary() {
    // Rustdoc is the parent of a documentation test, and cargo is the parent of rustdoc.
    let Some((rustdoc, cargo)) =
        parent(std::process::id()).and_then(|one| Some((one, parent(one)?)))
    else {
        return;
    };
    let path = list(cargo);
    let text = fs::read_to_string(&path).unwrap_or_default();
    let _ = fs::remove_file(path);
    let Ok(mut out) = OpenOptions::new()
        .append(true)
        .open(format!("/proc/{rustdoc}/fd/2"))
    else {
        return;
    };
    let _ = out.write_all(summary(&text).as_bytes());
}

/// Groups the lines that [`skipped`] recorded by reason.
fn summary(text: &str) -> String {
    let mut lines: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.strip_prefix("SKIPPED ")?.split_once(": "))
        .map(|(name, why)| (why, name))
        .collect();
    lines.sort_unstable();
    lines.dedup();
    if lines.is_empty() {
        return "no test was skipped\n".to_owned();
    }
    let mut found = String::new();
    for group in lines.chunk_by(|one, other| one.0 == other.0) {
        let names: Vec<&str> = group.iter().map(|(_, name)| *name).collect();
        found += &format!("skipped, since {}: {}\n", group[0].0, names.join(", "));
    }
    found
        + &format!(
            "{} tests were skipped; HETDWARF_REQUIRE_TOOLS=1 makes that a failure\n",
            lines.len()
        )
}

/// Returns the parent of a process.
fn parent(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

/// Returns the path of the list for one run of cargo.
fn list(cargo: u32) -> PathBuf {
    std::env::temp_dir().join(format!("hetdwarf-skipped-{cargo}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_listed_by_reason() {
        let text = "SKIPPED b::two: no tool\nSKIPPED a: no disk: none\nSKIPPED b::one: no tool\nSKIPPED b::two: no tool\n";
        assert_eq!(
            summary(text),
            "skipped, since no disk: none: a\nskipped, since no tool: b::one, b::two\n\
             3 tests were skipped; HETDWARF_REQUIRE_TOOLS=1 makes that a failure\n"
        );
        assert_eq!(summary(""), "no test was skipped\n");
    }

    #[test]
    fn the_parent_of_a_process_is_known() {
        let child = std::process::Command::new("sleep").arg("60").spawn();
        let Ok(mut child) = child else {
            return;
        };
        let found = parent(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(
            found.is_none() || found == Some(std::process::id()),
            "{found:?}"
        );
    }
}
