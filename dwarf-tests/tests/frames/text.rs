//! Reads frames from text output.

use std::collections::BTreeSet;

use super::Frame;

/// Returns the last components of a path that distinguish it from all others, but at least the file name.
fn short(path: &str, all: &BTreeSet<&str>) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    (1..=parts.len())
        .map(|count| parts[parts.len() - count..].join("/"))
        .find(|end| {
            let ends = |other: &&&str| **other == end || other.ends_with(&format!("/{end}"));
            all.iter().filter(ends).count() == 1
        })
        .unwrap_or_else(|| path.to_owned())
}

/// Formats a frame as a line: `leaf (inlined) at k.cl:3`.
///
/// * `nameless`: the text for an unknown function.
pub(super) fn line(frame: &Frame, paths: &BTreeSet<&str>, nameless: &str) -> String {
    let function = frame.function.as_deref().unwrap_or(nameless);
    let mark = match (&*frame.kind, frame.symbol_offset) {
        ("inlined", _) => " (inlined)".to_owned(),
        ("symbol", Some(offset)) => format!("+{offset:#x} (symbol)"),
        (_, _) => String::new(),
    };
    let place = match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!(" at {}:{line}", short(file, paths)),
        (Some(file), None) => format!(" in {}", short(file, paths)),
        (None, _) => String::new(),
    };
    let about = match frame.approximate {
        true => " (approximate)",
        false => "",
    };
    format!("{function}{mark}{place}{about}")
}

/// Returns a frame as the stacks of a core show it: without the marks of symbols and approximate lines.
pub(super) fn place(frame: &Frame, paths: &BTreeSet<&str>) -> String {
    let line = line(frame, paths, &format!("{:#x}", frame.pc));
    line.replace(" (symbol)", "").replace(" (approximate)", "")
}

/// Compares the text of `unwind` with frames.
pub(super) fn check(name: &str, text: &str, frames: &[Frame]) {
    let shown = text.lines().take_while(|line| line.starts_with('#'));
    // The canonical frame address is not part of the position.
    let shown: Vec<&str> = shown
        .map(|line| line.split(", frame at ").next().unwrap())
        .collect();
    let paths = frames.iter().filter_map(|frame| frame.file.as_deref());
    let paths: BTreeSet<&str> = paths.collect();
    let expected: Vec<String> = frames
        .iter()
        .map(|frame| {
            let text = line(frame, &paths, "?");
            format!("#{:<3}{:#018x} in {text}", frame.index, frame.pc)
        })
        .collect();
    assert_eq!(shown, expected, "{name}: text");
}
