//! Tests that the header equals cbindgen's output for the crate.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

use std::fs;
use std::path::Path;

/// Returns the header as cbindgen writes it now.
fn generated() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let builder = cbindgen::Builder::new()
        .with_config(config)
        .with_src(root.join("src/lib.rs"));
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    let text = String::from_utf8(text).unwrap();
    tidy(&text)
}

/// Removes the `# Safety` sections, which concern Rust callers only.
fn tidy(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut rest = text.lines().peekable();
    while let Some(line) = rest.next() {
        if line.trim() == "/// # Safety" {
            while rest
                .peek()
                .is_some_and(|line| line.trim_start().starts_with("///"))
            {
                rest.next();
            }
            while lines.last().is_some_and(|line| line.trim() == "///") {
                lines.pop();
            }
            continue;
        }
        lines.push(line);
    }
    lines.join("\n") + "\n"
}

#[test]
fn the_header_is_the_crate_s() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/hetdwarf.h");
    let generated = generated();
    if std::env::var_os("HETDWARF_WRITE_HEADER").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == generated,
        "include/hetdwarf.h is not that of the crate: run this test with HETDWARF_WRITE_HEADER=1"
    );
}

#[test]
fn the_header_says_that_callbacks_must_return() {
    let generated = generated();
    let (head, _) = generated.split_once("*/").unwrap();
    for words in ["Callbacks must return", "longjmp", "stay locked"] {
        assert!(head.contains(words), "{words}: {head}");
    }
}
