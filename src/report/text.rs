//! Pieces of text that several documents, and what is printed of them, are made of.

use core::fmt::Display;

/// `1 unit`, `2 units`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Where something is in the source, after its name: ` at k.cl:4`, ` in k.cl`; nothing if the file is not known.
pub(crate) fn source_place(file: Option<impl Display>, line: Option<u64>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!(" at {file}:{line}"),
        (Some(file), None) => format!(" in {file}"),
        (None, _) => String::new(),
    }
}

/// What stands for a character of text in HTML and XML, as content and in an attribute within `"`; nothing if it stands for itself.
pub(super) const fn reference(letter: char) -> Option<&'static str> {
    match letter {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        _ => None,
    }
}
