//! Values that are wider than a line, over several lines.
//!
//! Only line ends and spaces are added, after `{` and `,` and before `}`: whatever the text is, it says the same.

/// How deep braces are looked into. Values that are nested deeper stay in one line.
const DEEPEST: usize = 64;

/// How many columns further in each level of braces is.
const STEP: usize = 2;

/// Where a value is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// How many characters a line has.
    pub(crate) width: usize,
    /// How far in the lines after the first start, and the last brace.
    pub(crate) indent: usize,
    /// How many characters are before the value in its first line.
    pub(crate) before: usize,
    /// How many follow in its last.
    pub(crate) after: usize,
}

/// The text of a value: in one line if it fits, else with each member of a structure in its own, and the elements of an
/// array in as many as they take.
pub(crate) fn wrap(value: &str, room: &Room) -> String {
    let length = value.chars().count();
    let used = room.before + length + room.after;
    if used <= room.width {
        return value.to_owned();
    }
    let mut reader = Reader { rest: value };
    let Some(pieces) = reader.pieces(0).filter(|_| reader.rest.is_empty()) else {
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
    /// What is in braces, between commas, each with its width in one line.
    Group(Vec<(Vec<Piece<'v>>, usize)>),
}

/// How wide pieces are in one line.
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

/// Takes a text apart.
struct Reader<'v> {
    rest: &'v str,
}

impl<'v> Reader<'v> {
    /// Reads up to the end of the text, or within braces up to a comma or the closing brace. Nothing if braces do not
    /// belong together.
    fn pieces(&mut self, depth: usize) -> Option<Vec<Piece<'v>>> {
        let mut pieces = Vec::new();
        loop {
            let text = self.text(depth > 0);
            if !text.is_empty() {
                pieces.push(Piece::Text(text));
            }
            if !self.rest.starts_with('{') {
                return Some(pieces);
            }
            pieces.push(self.group(depth.checked_add(1).filter(|depth| *depth <= DEEPEST)?)?);
        }
    }

    /// Reads what is in braces, and these.
    fn group(&mut self, depth: usize) -> Option<Piece<'v>> {
        self.rest = self.rest.strip_prefix('{')?;
        let mut items = Vec::new();
        loop {
            let pieces = self.pieces(depth)?;
            let width = width(&pieces);
            items.push((pieces, width));
            if let Some(rest) = self.rest.strip_prefix(", ") {
                self.rest = rest;
            } else {
                self.rest = self.rest.strip_prefix('}')?;
                return Some(Piece::Group(items));
            }
        }
    }

    /// Reads up to a brace, and within braces up to a comma. In quotes none of these counts.
    fn text(&mut self, in_braces: bool) -> &'v str {
        let mut quote = None;
        let mut escaped = false;
        let end = self.rest.char_indices().find(|&(at, letter)| {
            if escaped {
                escaped = false;
                return false;
            }
            match (quote, letter) {
                (Some(_), '\\') => escaped = true,
                (Some(open), _) if open == letter => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => quote = Some(letter),
                (None, '{') => return true,
                (None, '}') => return in_braces,
                (None, ',') => {
                    let after = self.rest.get(at..).unwrap_or_default();
                    return in_braces && after.starts_with(", ");
                }
                (None, _) => {}
            }
            false
        });
        let at = end.map_or(self.rest.len(), |(at, _)| at);
        let (text, rest) = self.rest.split_at_checked(at).unwrap_or((self.rest, ""));
        self.rest = rest;
        text
    }
}

/// Puts a text together.
struct Writer {
    width: usize,
    /// How many characters the last line has.
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

    /// Whether so many characters fit into the line.
    fn fits(&self, count: usize) -> bool {
        self.column + count <= self.width
    }

    /// * `indent`: where the lines of these pieces start.
    /// * `after`: how many characters follow in the last line.
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
            // Elements without names fill lines.
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

    fn lines(value: &str, width: usize) -> Vec<String> {
        let room = Room {
            width,
            indent: 0,
            before: 4,
            after: 0,
        };
        let text = format!("s = {}", wrap(value, &room));
        // Nothing is lost, and nothing is there that was not.
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
    fn any_text_stays_what_it_is() {
        let deep = format!("{}{}", "{".repeat(100_000), "}".repeat(100_000));
        for text in [
            "{a",
            "a}",
            "{a}}",
            "{\"a}",
            "{'",
            "{a,b}",
            "{, }",
            "{}",
            "{é = \"é\\",
            "",
            deep.as_str(),
        ] {
            lines(text, 5);
        }
    }
}
