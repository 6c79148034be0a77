//! Documents as JSON text that nothing obeys on its way to its reader.
//!
//! JSON itself asks for escapes of C0 only. What else a terminal or a CI could obey in a string is escaped too, as JSON
//! can say it: a reader gets the same text.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use crate::untrusted::{Bracket, is_obeyed};

/// Returns a document over several lines.
///
/// # Errors
/// If it has maps whose keys are no text.
pub fn to_json_pretty(document: &impl Serialize) -> serde_json::Result<String> {
    write(document, PrettyFormatter::new())
}

/// Returns a document in one line.
///
/// # Errors
/// If it has maps whose keys are no text.
pub fn to_json(document: &impl Serialize) -> serde_json::Result<String> {
    write(document, CompactFormatter)
}

/// A document over several lines and the end of the last, written as it is made, so that its text is never in memory as a whole.
///
/// # Errors
/// Those of `out`; or if the document has maps whose keys are no text.
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
    Ok(String::from_utf8(text).unwrap_or_default())
}

/// Writes a document of one line that somebody else wrote as [`to_json`] would have written it: what could be obeyed is escaped, and
/// all else stays as it is.
///
/// # Errors
/// Those of `out`.
pub fn safe_line(json: &str, mut out: impl Write) -> io::Result<()> {
    // Between strings are only spaces and these; within strings JSON has escapes for them.
    let json = json.replace(['\t', '\r'], " ");
    write_safe(&mut out, &json)?;
    writeln!(out)
}

/// Writes text that is within strings of JSON, with escapes for what could be obeyed.
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

/// The layout of another formatter, with more escapes in strings.
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
        // The layout is that of serde_json.
        let value = serde_json::json!({"a": [1, "x#y", {}], "b": {"c": null}});
        let pretty = to_json_pretty(&value).unwrap();
        assert_eq!(pretty, serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(to_json(&value).unwrap(), value.to_string());
    }
}
