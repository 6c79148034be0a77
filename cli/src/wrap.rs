//! Breaks values and sentences that are wider than a line.
//!
//! Wrapping adds only line ends and spaces. A value is broken after `{` and `,` and before `}`, a sentence at spaces.

use hetdwarf::display::{Break, Mark};

/// The deepest level of braces that is broken. Deeper nested values stay in one line.
const DEEPEST: usize = 64;

/// The indentation of each level of braces, in columns.
const STEP: usize = 2;

/// The space in which a value is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// The number of characters in a line.
    pub(crate) width: usize,
    /// The indentation of the following lines and of the last brace.
    pub(crate) indent: usize,
    /// The number of characters before the value in its first line.
    pub(crate) before: usize,
    /// The number of characters after the value in its last line.
    pub(crate) after: usize,
}

/// Breaks a sentence at spaces so that lines fit the width.
///
/// * `before`: the number of characters before it in its first line.
pub(crate) fn filled(text: &str, before: usize, width: usize) -> String {
    const INDENT: &str = "  ";
    let mut filled = String::new();
    let mut column = before;
    for word in text.split(' ') {
        let length = word.chars().count();
        if !filled.is_empty() && column + length + 1 > width {
            filled.push('\n');
            filled.push_str(INDENT);
            column = INDENT.len();
        } else if !filled.is_empty() {
            filled.push(' ');
            column += 1;
        }
        filled.push_str(word);
        column += length;
    }
    filled
}

/// Returns the text of a value: in one line if it fits. Otherwise each member of a structure gets its own line, and the elements of an
/// array fill lines.
///
/// * `marks`: the positions where the value can be broken.
pub(crate) fn wrap(value: &str, marks: &[Mark], room: &Room) -> String {
    let length = value.chars().count();
    let used = room.before + length + room.after;
    if used <= room.width {
        return value.to_owned();
    }
    let Some(pieces) = pieces(value, marks) else {
        return value.to_owned();
    };
    let mut writer = Writer {
        width: room.width,
        column: room.before,
        out: String::new(),
    };
    writer.pieces(&pieces, room.indent, room.after);
    writer.out
}

/// A part of a value.
enum Piece<'v> {
    /// Text without braces.
    Text(&'v str),
    /// The comma-separated items inside braces, each with its width in one line.
    Group(Vec<(Vec<Piece<'v>>, usize)>),
}

/// Returns the width of pieces in one line.
fn width(pieces: &[Piece<'_>]) -> usize {
    let width = |piece: &Piece<'_>| match piece {
        Piece::Text(text) => text.chars().count(),
        Piece::Group(items) => {
            let separators = items.len().saturating_sub(1) * ", ".len();
            let items: usize = items.iter().map(|(_, width)| *width).sum();
            items + separators + "{}".len()
        }
    };
    pieces.iter().map(width).sum()
}

/// Parses a text into pieces. Returns None if a brace is unmatched, as in a text that was cut.
fn pieces<'v>(value: &'v str, marks: &[Mark]) -> Option<Vec<Piece<'v>>> {
    // The open groups: for each, its finished items and the pieces of its current item.
    let mut open = vec![(Vec::new(), Vec::new())];
    let mut start = 0;
    for mark in marks {
        let depth = open.len();
        let (items, pieces) = open.last_mut()?;
        add_text(value.get(start..mark.at)?, pieces);
        let length = match mark.what {
            Break::Open if depth > DEEPEST => return None,
            Break::Open => {
                open.push((Vec::new(), Vec::new()));
                "{".len()
            }
            Break::Next => {
                add_item(core::mem::take(pieces), items);
                ", ".len()
            }
            Break::Close => {
                let (mut items, pieces) = open.pop()?;
                add_item(pieces, &mut items);
                open.last_mut()?.1.push(Piece::Group(items));
                "}".len()
            }
        };
        start = mark.at + length;
    }
    let (_, mut pieces) = open.pop().filter(|_| open.is_empty())?;
    add_text(value.get(start..)?, &mut pieces);
    Some(pieces)
}

fn add_text<'v>(text: &'v str, pieces: &mut Vec<Piece<'v>>) {
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
}

fn add_item<'v>(pieces: Vec<Piece<'v>>, items: &mut Vec<(Vec<Piece<'v>>, usize)>) {
    let width = width(&pieces);
    items.push((pieces, width));
}

/// Lays out a text.
struct Writer {
    width: usize,
    /// The number of characters in the last line.
    column: usize,
    out: String,
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.push_str(&" ".repeat(indent));
        self.column = indent;
    }

    /// Returns true if `count` characters fit into the line.
    fn fits(&self, count: usize) -> bool {
        self.column + count <= self.width
    }

    /// * `indent`: the indentation of the lines of these pieces.
    /// * `after`: the number of characters after the last piece in its line.
    fn pieces(&mut self, pieces: &[Piece<'_>], indent: usize, after: usize) {
        let mut rest = pieces;
        while let Some((piece, others)) = rest.split_first() {
            let follow = width(others) + after;
            match piece {
                Piece::Text(text) => self.put(text),
                Piece::Group(items) => self.group(items, indent, follow),
            }
            rest = others;
        }
    }

    fn group(&mut self, items: &[(Vec<Piece<'_>>, usize)], indent: usize, after: usize) {
        let separators = items.len().saturating_sub(1) * ", ".len();
        let widths: usize = items.iter().map(|(_, width)| *width).sum();
        let braces = "{}".len();
        let flat = widths + separators + braces;
        let in_line = self.fits(flat + after);
        let inner = indent + STEP;
        let is_plain = |pieces: &[Piece<'_>]| match pieces {
            [] => true,
            [Piece::Text(text)] => !text.contains(" = "),
            _ => false,
        };
        let all_plain = items.iter().all(|(pieces, _)| is_plain(pieces));
        self.put("{");
        for (index, (pieces, width)) in items.iter().enumerate() {
            let is_last = index + 1 == items.len();
            let comma = usize::from(!is_last);
            let space = usize::from(index > 0);
            // Elements without names share lines.
            let needed = width + comma + space;
            if !in_line && (index == 0 || !all_plain || !self.fits(needed)) {
                self.line(inner);
            } else if index > 0 {
                self.put(" ");
            }
            self.pieces(pieces, inner, comma);
            if !is_last {
                self.put(",");
            }
        }
        if !in_line {
            self.line(indent);
        }
        self.put("}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the wrapped lines of a value. Marks are set at its braces and at commas outside of quotes.
    fn lines(value: &str, width: usize) -> Vec<String> {
        let mut quote = None;
        let mut marks = Vec::new();
        for (at, letter) in value.char_indices() {
            let what = match (quote, letter) {
                (Some(open), _) => {
                    let before = value.get(..at).unwrap();
                    let is_escaped = before.ends_with('\\');
                    quote = Some(open).filter(|_| letter != open || is_escaped);
                    continue;
                }
                (None, '"' | '\'') => {
                    quote = Some(letter);
                    continue;
                }
                (None, '{') => Break::Open,
                (None, ',') => Break::Next,
                (None, '}') => Break::Close,
                (None, _) => continue,
            };
            marks.push(Mark { at, what });
        }
        lines_of(value, &marks, width)
    }

    fn lines_of(value: &str, marks: &[Mark], width: usize) -> Vec<String> {
        let room = Room {
            width,
            indent: 0,
            before: 4,
            after: 0,
        };
        let text = format!("s = {}", wrap(value, marks, &room));
        // Wrapping neither removes nor adds characters other than white space.
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(bare(&text), bare(&format!("s = {value}")));
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn what_fits_stays_in_its_line() {
        assert_eq!(
            lines("{x = 1, y = {2, 3}}", 23),
            ["s = {x = 1, y = {2, 3}}"]
        );
        assert_eq!(
            lines("12345678901234567890", 10),
            ["s = 12345678901234567890"]
        );
    }

    #[test]
    fn members_have_a_line_each_and_elements_fill_lines() {
        assert_eq!(
            lines("{x = 1, y = {2, 3}}", 22),
            ["s = {", "  x = 1,", "  y = {2, 3}", "}"]
        );
        assert_eq!(
            lines(
                "{name = \"a, {b}\\\"}\", values = {1, 2, 3, 4, 5, 6, 7, 8 <repeats 9 times>, 2...}, c = '}'}",
                24
            ),
            [
                "s = {",
                "  name = \"a, {b}\\\"}\",",
                "  values = {",
                "    1, 2, 3, 4, 5, 6, 7,",
                "    8 <repeats 9 times>,",
                "    2...",
                "  },",
                "  c = '}'",
                "}"
            ]
        );
        assert_eq!(
            lines("{{x = 1, y = 2} <repeats 11 times>, {x = 3, y = 4}}", 40),
            [
                "s = {",
                "  {x = 1, y = 2} <repeats 11 times>,",
                "  {x = 3, y = 4}",
                "}"
            ]
        );
    }

    #[test]
    fn marks_that_do_not_fit_break_nothing() {
        let mark = |at, what| Mark { at, what };
        for marks in [
            vec![mark(0, Break::Open)],
            vec![mark(0, Break::Open), mark(3, Break::Next)],
            vec![mark(5, Break::Close)],
            vec![mark(2, Break::Close), mark(0, Break::Open)],
            vec![mark(0, Break::Open), mark(90, Break::Close)],
            vec![mark(0, Break::Open); 100],
        ] {
            assert_eq!(lines_of("{a, b}", &marks, 5), ["s = {a, b}"]);
        }
        let deep = format!("{}{}", "{".repeat(100_000), "}".repeat(100_000));
        assert_eq!(lines(&deep, 5), [format!("s = {deep}")]);
    }
}
