//! Represents untrusted text from a file: a name, a path, a producer.
//!
//! Terminals execute escape sequences, CI systems execute lines with special beginnings, and bidirectional control characters change the apparent
//! content of a line. Such text therefore has its own type. Its only [`Display`](fmt::Display) escapes every character that could be executed
//! ([`is_obeyed`]), a colon that could start a line, and the bracket of `##name[`. It truncates the text after [`LONGEST`] characters. There is no
//! other way to print it. [`Untrusted::raw`] returns the exact text, for comparisons and for JSON, whose own escapes keep it exact.
//!
//! ```
//! use hetdwarf::Untrusted;
//!
//! // A name that clears the screen, and starts a line that GitHub obeys.
//! let name = Untrusted::from("k\x1b[2J\n::error::all is lost");
//! assert_eq!(name.to_string(), "k\\u{1b}[2J\\u{a}::error::all is lost");
//! assert!(name.raw().contains('\n'));
//! ```
//!
//! A backslash is not escaped. Text that contains `\u{1b}` literally then looks like an escape character, which is harmless. Doubling backslashes
//! would change the names of Windows paths and regular expressions. Text that is escaped twice stays the same.
//!
//! Source: Unicode Standard 16.0, section 23.1 (control codes), 23.2 (layout controls) and 4.5 (general category).

use core::fmt;
use std::borrow::Cow;

/// The maximum number of characters of one text that are printed. Names of template instances have thousands; a name of megabytes is not useful.
pub const LONGEST: usize = 4096;

/// Untrusted text from a file.
///
/// ```
/// use hetdwarf::Untrusted;
///
/// let name = Untrusted::from("k\u{1b}[2J\n::error::\u{202e}");
/// assert_eq!(name.to_string(), r"k\u{1b}[2J\u{a}::error::\u{202e}");
/// assert_eq!(name.raw(), "k\u{1b}[2J\n::error::\u{202e}");
/// ```
///
/// It is not a `str`, and does not convert to one implicitly:
///
/// ```compile_fail
/// let name: &str = &hetdwarf::Untrusted::from("k");
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Untrusted<'a>(Cow<'a, str>);

impl<'a> Untrusted<'a> {
    /// Returns the exact text in the file: for comparisons, for look-ups, and for formats with their own escapes. It must not be printed.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// Returns true if the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an owned copy of the text.
    #[must_use]
    pub fn into_owned(self) -> Untrusted<'static> {
        Untrusted(Cow::Owned(self.0.into_owned()))
    }

    /// Returns the text, borrowed from this one.
    #[must_use]
    pub fn borrowed(&self) -> Untrusted<'_> {
        Untrusted(Cow::Borrowed(&self.0))
    }

    /// Returns the exact text.
    #[must_use]
    pub fn into_raw(self) -> Cow<'a, str> {
        self.0
    }
}

impl<'a> From<&'a str> for Untrusted<'a> {
    fn from(text: &'a str) -> Untrusted<'a> {
        Untrusted(Cow::Borrowed(text))
    }
}

impl From<String> for Untrusted<'_> {
    fn from(text: String) -> Self {
        Untrusted(Cow::Owned(text))
    }
}

impl<'a> From<Cow<'a, str>> for Untrusted<'a> {
    fn from(text: Cow<'a, str>) -> Untrusted<'a> {
        Untrusted(text)
    }
}

impl<'a> From<&'a std::path::Path> for Untrusted<'a> {
    /// Returns a path, with invalid Unicode replaced.
    fn from(path: &'a std::path::Path) -> Untrusted<'a> {
        Untrusted(path.to_string_lossy())
    }
}

impl PartialEq<str> for Untrusted<'_> {
    fn eq(&self, other: &str) -> bool {
        self.raw() == other
    }
}

impl PartialEq<&str> for Untrusted<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.raw() == *other
    }
}

impl fmt::Display for Untrusted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.raw();
        // A fast path for short ASCII text, the most frequent kind, whose bytes can be checked without decoding characters.
        let end = match text.len() {
            ..=LONGEST => text.len(),
            _ => text
                .char_indices()
                .nth(LONGEST)
                .map_or(text.len(), |(at, _)| at),
        };
        let (shown, rest) = text.split_at_checked(end).unwrap_or((text, ""));
        Escaper::new().write(shown, f)?;
        match rest.len() {
            0 => Ok(()),
            more => write!(f, "…({more} more bytes)"),
        }
    }
}

impl fmt::Debug for Untrusted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Untrusted(\"{self}\")")
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Untrusted<'_> {
    /// Serializes the exact text: JSON has its own escapes, so a reader gets the same text back.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.raw())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Untrusted<'static> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Untrusted::from)
    }
}

/// Writes text in pieces, with escapes for characters that could be executed.
///
/// In addition to single characters, commands of CI systems are escaped: `::` at the start of a line (GitHub also accepts blanks before it), and
/// `##[`, `##vso[` and `##teamcity[` anywhere (GitHub, Azure and TeamCity).
#[derive(Clone, Copy, Debug)]
pub struct Escaper {
    /// True if a colon could be the first character of a line: only blanks precede it.
    is_start: bool,
    bracket: Bracket,
    /// True if a line can end after `{` and `,`, as in formatted values.
    has_parts: bool,
}

impl Default for Escaper {
    fn default() -> Escaper {
        Escaper::new()
    }
}

impl Escaper {
    /// Creates a writer for text within a line.
    #[must_use]
    pub fn new() -> Escaper {
        Escaper {
            is_start: true,
            bracket: Bracket::default(),
            has_parts: false,
        }
    }

    /// Creates a writer for values, whose parts may be on separate lines.
    pub(crate) fn for_parts() -> Escaper {
        Escaper {
            has_parts: true,
            ..Escaper::new()
        }
    }

    /// Writes the next piece.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write(&mut self, text: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        let mut rest = text;
        while let Some((at, letter)) = rest.char_indices().find(|(_, c)| self.escapes(*c)) {
            let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
            out.write_str(before)?;
            write!(out, "\\u{{{:x}}}", u32::from(letter))?;
            rest = after.get(letter.len_utf8()..).unwrap_or_default();
        }
        out.write_str(rest)
    }

    /// Returns true if the next character is escaped.
    fn escapes(&mut self, letter: char) -> bool {
        let escapes = match letter {
            ':' if self.is_start => true,
            letter => self.bracket.is_command(letter) || is_obeyed(letter),
        };
        let is_blank = letter.is_whitespace() && !escapes;
        let starts_part = self.has_parts && matches!(letter, '{' | ',');
        self.is_start = starts_part || self.is_start && is_blank;
        escapes
    }
}

/// The progress of matching `##name[`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bracket {
    /// The number of preceding number signs, up to two. A name can follow two of them.
    signs: u8,
}

impl Bracket {
    /// Returns true if the next character is the bracket.
    pub(crate) fn is_command(&mut self, letter: char) -> bool {
        let is_command = self.signs == 2 && letter == '[';
        self.signs = match letter {
            '#' => self.signs.saturating_add(1).min(2),
            letter if self.signs == 2 && letter.is_ascii_alphanumeric() => 2,
            _ => 0,
        };
        is_command
    }
}

/// Returns true if a terminal, a CI system or a reader could interpret a character instead of displaying it: control codes (general category Cc: C0,
/// DEL, C1), separators of lines and paragraphs (Zl, Zp), and format characters (Cf), which include bidirectional controls.
#[must_use]
pub fn is_obeyed(letter: char) -> bool {
    match letter {
        ' '..='~' => false,
        _ => {
            letter.is_control()
                || FORMAT
                    .iter()
                    .any(|(first, last)| (*first..=*last).contains(&letter))
        }
    }
}

/// The characters of the categories Cf, Zl and Zp of Unicode 16.0, and the unassigned U+2065 between them.
const FORMAT: &[(char, char)] = &[
    ('\u{ad}', '\u{ad}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0001}', '\u{e0001}'),
    ('\u{e0020}', '\u{e007f}'),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        Untrusted::from(text).to_string()
    }

    /// From ISO 6429 and the Unicode character database: a code of each group, and its harmless neighbors.
    #[test]
    fn what_could_be_obeyed_is_escaped_and_nothing_else() {
        for (text, expected) in [
            (
                "\0\u{7}\u{8}\t\n\r\u{1b}\u{1f} ",
                r"\u{0}\u{7}\u{8}\u{9}\u{a}\u{d}\u{1b}\u{1f} ",
            ),
            (
                "~\u{7f}\u{80}\u{85}\u{9b}\u{9d}\u{9f}\u{a0}",
                "~\\u{7f}\\u{80}\\u{85}\\u{9b}\\u{9d}\\u{9f}\u{a0}",
            ),
            ("\u{ad}\u{ae}\u{61c}", "\\u{ad}\u{ae}\\u{61c}"),
            (
                "\u{200e}\u{2010}\u{2027}\u{2028}\u{2029}",
                "\\u{200e}\u{2010}\u{2027}\\u{2028}\\u{2029}",
            ),
            (
                "\u{202a}\u{202e}\u{202f}\u{2066}\u{2069}\u{2070}",
                "\\u{202a}\\u{202e}\u{202f}\\u{2066}\\u{2069}\u{2070}",
            ),
            (
                "\u{feff}\u{e0041}é\u{301}日本\u{1f600}",
                "\\u{feff}\\u{e0041}é\u{301}日本\u{1f600}",
            ),
            (r"C:\u{1b}\n", r"C:\u{1b}\n"),
        ] {
            assert_eq!(shown(text), expected);
            assert_eq!(shown(expected), expected, "twice is as once");
            assert_eq!(
                format!("{:?}", Untrusted::from(text)),
                format!("Untrusted(\"{expected}\")")
            );
        }
    }

    /// Source: GitHub, "Workflow commands for GitHub Actions"; Azure, "Logging commands"; TeamCity, "Service messages".
    #[test]
    fn no_command_of_a_ci_is_left() {
        for (text, expected) in [
            ("::error::x", r"\u{3a}:error::x"),
            (" \u{a0}::add-mask::x", " \u{a0}\\u{3a}:add-mask::x"),
            ("a::b<::c, ::d>", "a::b<::c, ::d>"),
            ("##[error]x", r"##\u{5b}error]x"),
            (
                "a ##vso[task.complete]###teamcity[x]",
                r"a ##vso\u{5b}task.complete]###teamcity\u{5b}x]",
            ),
            ("#define A(x) a ## x[0]#x[1]", "#define A(x) a ## x[0]#x[1]"),
        ] {
            assert_eq!(shown(text), expected);
            assert_eq!(shown(expected), expected, "twice is as once");
        }
        let mut value = String::new();
        let mut escaper = Escaper::for_parts();
        for piece in [
            "{a = 1, ",
            "::b = ::c",
            "}, {",
            " ",
            "::d",
            "}",
            "#",
            "#",
            "[",
            "[",
        ] {
            escaper.write(piece, &mut value).unwrap();
        }
        assert_eq!(value, r"{a = 1, \u{3a}:b = ::c}, { \u{3a}:d}##\u{5b}[");
    }

    /// The standard library has a separate table. The characters that it escapes include all of these.
    #[test]
    fn the_table_agrees_with_the_standard_library() {
        let mut count = 0;
        for letter in ('\0'..=char::MAX).filter(|letter| is_obeyed(*letter)) {
            assert!(
                letter.is_control() || letter.escape_debug().count() > 1,
                "{:x}",
                u32::from(letter)
            );
            count += 1;
        }
        // 65 control codes; 170 of Cf, U+2028, U+2029 and U+2065.
        assert_eq!(count, 65 + 170 + 3);
    }

    #[test]
    fn long_text_is_cut_with_a_mark() {
        let text = "é".repeat(LONGEST);
        assert_eq!(shown(&text), text);
        assert_eq!(
            shown(&format!("{text}ab")),
            format!("{text}…(2 more bytes)")
        );
        assert_eq!(
            shown(&"\u{1b}".repeat(LONGEST + 1)).len(),
            LONGEST * 6 + "…(1 more bytes)".len()
        );
    }
}
