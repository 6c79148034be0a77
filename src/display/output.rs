//! Where the text goes, and how much of it. Names of members, enumerators and types are in it, so that all of it is
//! escaped as [`Untrusted`](crate::untrusted::Untrusted) text is.

use core::fmt;

use crate::untrusted::Escaper;

/// Text of a bounded length: once it is full it takes no more, and every printer above it returns.
pub(super) struct Output<'a> {
    out: &'a mut dyn fmt::Write,
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
    /// Passes at most `max_chars` characters on to `out`.
    pub(super) fn new(out: &'a mut dyn fmt::Write, max_chars: usize) -> Output<'a> {
        Output {
            out,
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
        self.escaper.write(fits, self.out)?;
        self.left = self.left.saturating_sub(fits.chars().count());
        if fits.len() < text.len() {
            return self.cut();
        }
        Ok(())
    }

    /// Cuts the text here.
    pub(super) fn cut(&mut self) -> fmt::Result {
        self.full = true;
        Err(fmt::Error)
    }

    /// Ends the text; `printed` is how the printers came back. A text that was cut ends in `...`.
    pub(super) fn finish(self, printed: fmt::Result) -> fmt::Result {
        if self.full {
            self.out.write_str("...")
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
