//! Output that nobody may read to its end.

use std::io::{self, ErrorKind, Write};

/// Passes on what is written until the pipe is closed, and then drops it: a command whose findings are its status goes
/// on to find them.
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
