//! Limits the length of the text, and passes it on. It contains names of members, enumerators and types, so all of it is escaped like
//! [`Untrusted`](crate::untrusted::Untrusted) text.

use core::fmt;

use crate::untrusted::Escaper;

/// The kind of a place at which a text can be broken into lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// The brace before members or elements.
    Open,
    /// The comma and the space between members or elements.
    Next,
    /// The brace after members or elements.
    Close,
}

/// A place at which a text can be broken into lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The offset in the text, in bytes.
    pub at: usize,
    /// The kind of the place.
    pub what: Break,
}

/// Counts the bytes of a text, and records the places where it can be broken, if requested.
struct Marked<'a> {
    out: &'a mut dyn fmt::Write,
    length: usize,
    marks: Option<&'a mut Vec<Mark>>,
}

impl fmt::Write for Marked<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.length += text.len();
        self.out.write_str(text)
    }
}

/// Text of a limited length. Once it is full it accepts no more, and all printers return.
pub(super) struct Output<'a> {
    out: Marked<'a>,
    left: usize,
    full: bool,
    escaper: Escaper,
}

impl fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Output {
            out: _,
            left,
            full,
            escaper: _,
        } = self;
        f.debug_struct("Output")
            .field("left", left)
            .field("full", full)
            .finish_non_exhaustive()
    }
}

impl<'a> Output<'a> {
    /// Creates a text that passes at most `max_chars` characters on to `out`.
    ///
    /// * `marks`: receives the places where the text can be broken into lines.
    pub(super) fn new(
        out: &'a mut dyn fmt::Write,
        max_chars: usize,
        marks: Option<&'a mut Vec<Mark>>,
    ) -> Output<'a> {
        Output {
            out: Marked {
                out,
                length: 0,
                marks,
            },
            left: max_chars,
            full: false,
            escaper: Escaper::for_parts(),
        }
    }

    /// Appends `text`.
    pub(super) fn put(&mut self, text: &str) -> fmt::Result {
        // No text has more characters than bytes.
        let cut = match text.len() > self.left {
            true => text.char_indices().nth(self.left),
            false => None,
        };
        let fits = match cut {
            Some((at, _)) => text.split_at_checked(at).map_or("", |(fits, _)| fits),
            None => text,
        };
        self.escaper.write(fits, &mut self.out)?;
        self.left -= fits.chars().count();
        if fits.len() < text.len() {
            return self.cut();
        }
        Ok(())
    }

    /// Appends a brace, or the comma and the space between two members.
    pub(super) fn put_break(&mut self, what: Break) -> fmt::Result {
        let at = self.out.length;
        if let Some(marks) = &mut self.out.marks {
            marks.push(Mark { at, what });
        }
        self.put(match what {
            Break::Open => "{",
            Break::Next => ", ",
            Break::Close => "}",
        })
    }

    /// Ends the text early here.
    pub(super) fn cut(&mut self) -> fmt::Result {
        self.full = true;
        Err(fmt::Error)
    }

    /// Ends the text. `printed` is the result of the printers. A truncated text ends in `...`.
    pub(super) fn finish(self, printed: fmt::Result) -> fmt::Result {
        if self.full {
            self.out.out.write_str("...")
        } else {
            printed
        }
    }
}

impl fmt::Write for Output<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text)
    }
}
