//! Handles output whose reader may stop early.

use std::io::{self, ErrorKind, Write};

/// Passes output on until the pipe is closed, and discards it afterwards. A command whose exit status is its result continues to the end.
pub(crate) struct UntilClosed<'o> {
    out: &'o mut dyn Write,
    is_closed: bool,
}

impl<'o> UntilClosed<'o> {
    pub(crate) fn new(out: &'o mut dyn Write) -> UntilClosed<'o> {
        UntilClosed {
            out,
            is_closed: false,
        }
    }

    fn pass<T>(&mut self, result: io::Result<T>, otherwise: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(otherwise)
            }
            other => other,
        }
    }
}

impl Write for UntilClosed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed {
            return Ok(bytes.len());
        }
        let written = self.out.write(bytes);
        self.pass(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        let flushed = self.out.flush();
        self.pass(flushed, ())
    }
}
