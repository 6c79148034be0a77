//! Removes colours from output.

use std::io::{self, Write};

/// The first byte of a colour code: an escape, `[`, numbers separated by `;`, and `m`.
const ESCAPE: u8 = 0x1b;

/// Removes the command's colour codes, and passes everything else on.
#[derive(Debug)]
pub struct Plain<W> {
    inner: W,
    /// True if the last byte was part of a code.
    in_code: bool,
    /// The remaining bytes of one write.
    kept: Vec<u8>,
}

impl<W: Write> Plain<W> {
    /// Returns a writer that passes plain text to `inner`.
    pub fn new(inner: W) -> Plain<W> {
        Plain {
            inner,
            in_code: false,
            kept: Vec::new(),
        }
    }

    fn keep(&mut self, mut bytes: &[u8]) {
        self.kept.clear();
        while !bytes.is_empty() {
            if self.in_code {
                let is_inside = |byte: &u8| matches!(byte, b'[' | b';' | b'0'..=b'9');
                let Some(end) = bytes.iter().position(|byte| !is_inside(byte)) else {
                    return;
                };
                bytes = bytes.get(end..).unwrap_or_default();
                bytes = bytes.strip_prefix(b"m").unwrap_or(bytes);
                self.in_code = false;
            }
            let end = bytes.iter().position(|byte| *byte == ESCAPE);
            self.in_code = end.is_some();
            let end = end.unwrap_or(bytes.len());
            self.kept
                .extend_from_slice(bytes.get(..end).unwrap_or_default());
            bytes = bytes.get(end + 1..).unwrap_or_default();
        }
    }
}

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.keep(bytes);
        self.inner.write_all(&self.kept)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_taken_out_wherever_writes_end() {
        let coloured = "\x1b[1m\x1b[31merror\x1b[0m[cfi]: m;1 \x1b[38;5;4mä\x1b[0m\n";
        for size in 1..=coloured.len() {
            let mut plain = Plain::new(Vec::new());
            for chunk in coloured.as_bytes().chunks(size) {
                plain.write_all(chunk).unwrap();
            }
            assert_eq!(plain.inner, "error[cfi]: m;1 ä\n".as_bytes(), "{size}");
        }
    }

    #[test]
    fn what_only_begins_like_a_code_is_kept() {
        let mut plain = Plain::new(Vec::new());
        plain.write_all(b"a\x1b[2Kb\x1b\nc").unwrap();
        assert_eq!(plain.inner, b"aKb\nc");
    }
}
