//! Writes documents as JSON text without characters that a terminal or a CI system would interpret.
//!
//! JSON requires escapes only for quotation marks, backslashes and the C0 control characters. This module also escapes the other characters in
//! strings that a terminal or a CI system interprets. A JSON parser returns the same text.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use crate::untrusted::{Bracket, is_obeyed};

/// Returns a document as indented JSON.
///
/// # Errors
/// If the document has maps whose keys are not strings.
pub fn to_json_pretty(document: &impl Serialize) -> serde_json::Result<String> {
    write(document, PrettyFormatter::new())
}

/// Returns a document as JSON in one line.
///
/// # Errors
/// If the document has maps whose keys are not strings.
pub fn to_json(document: &impl Serialize) -> serde_json::Result<String> {
    write(document, CompactFormatter)
}

/// Writes a document as indented JSON with a newline at the end. The text is written piece by piece and is never in memory as a whole.
///
/// # Errors
/// If `out` cannot be written to, or if the document has maps whose keys are not strings.
pub fn write_json_pretty(document: &impl Serialize, out: impl Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    let formatter = Safe(PrettyFormatter::new());
    document.serialize(&mut Serializer::with_formatter(&mut out, formatter))?;
    writeln!(out)?;
    out.flush()
}

fn write(document: &impl Serialize, formatter: impl Formatter) -> serde_json::Result<String> {
    let mut text = Vec::with_capacity(128);
    document.serialize(&mut Serializer::with_formatter(&mut text, Safe(formatter)))?;
    // serde_json writes UTF-8, and so do the escapes.
    String::from_utf8(text).map_err(serde::ser::Error::custom)
}

/// Writes a document of one line that another writer produced, with the escapes of [`to_json`]. All other characters stay unchanged.
///
/// # Errors
/// If `out` cannot be written to.
pub fn safe_line(json: &str, mut out: impl Write) -> io::Result<()> {
    // Outside strings, tabs and carriage returns are white space. Inside strings, JSON does not allow them unescaped.
    let json = json.replace(['\t', '\r'], " ");
    write_safe(&mut out, &json)?;
    writeln!(out)
}

/// Writes text inside a JSON string, and escapes characters that a terminal or a CI system would interpret.
fn write_safe<W: ?Sized + Write>(writer: &mut W, text: &str) -> io::Result<()> {
    let mut rest = text;
    let mut bracket = Bracket::default();
    let mut is_special = |letter: char| bracket.is_command(letter) || is_obeyed(letter);
    while let Some((at, letter)) = rest.char_indices().find(|(_, c)| is_special(*c)) {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        writer.write_all(before.as_bytes())?;
        for unit in letter.encode_utf16(&mut [0; 2]) {
            write!(writer, "\\u{unit:04x}")?;
        }
        rest = after.get(letter.len_utf8()..).unwrap_or_default();
    }
    writer.write_all(rest.as_bytes())
}

/// A formatter with the layout of another formatter and more escapes in strings.
struct Safe<F>(F);

impl<F: Formatter> Formatter for Safe<F> {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        write_safe(writer, fragment)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_key(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_and_nothing_in_them_is_obeyed() {
        for text in [
            "a\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{2028}\r\n::error::",
            "##[error]###vso[\"##\"[##\\[",
            "\u{e0041}é\u{1f600}",
        ] {
            for json in [
                to_json(&[text]).unwrap(),
                to_json_pretty(&serde_json::json!({ "k": text })).unwrap(),
            ] {
                assert!(!json.contains(|c| c != '\n' && is_obeyed(c)), "{json}");
                assert!(!json.contains("##[") && !json.contains("##vso["), "{json}");
                let value: serde_json::Value = serde_json::from_str(&json).unwrap();
                let found = value.get(0).or(value.get("k"));
                assert_eq!(found.and_then(|v| v.as_str()), Some(text));
            }
        }
        // The layout is the layout of serde_json.
        let value = serde_json::json!({"a": [1, "x#y", {}], "b": {"c": null}});
        let pretty = to_json_pretty(&value).unwrap();
        assert_eq!(pretty, serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(to_json(&value).unwrap(), value.to_string());
    }
}
