//! Where a dump goes: the stream, how much it may still get, and the problems that were met.

use std::io::{self, Write};

use serde::Serialize;

use crate::error::Error;
use crate::report::to_json;

/// What a dump may have at least, in bytes, and more for each byte of input. Entries can refer to the
/// same long string, list or type again and again, so that a small file could ask for endless output;
/// dumps of real files have twenty times the size of the file.
const AT_LEAST: u64 = 1 << 26;
const PER_BYTE: u64 = 1 << 10;

/// A stream that takes so many bytes and no more.
pub(super) struct Limited<'o> {
    out: &'o mut dyn Write,
    left: u64,
}

impl<'o> Limited<'o> {
    /// For the dump of an input of this size, in bytes.
    pub(super) fn new(out: &'o mut dyn Write, size: u64) -> Limited<'o> {
        let left = PER_BYTE.saturating_mul(size).saturating_add(AT_LEAST);
        Limited { out, left }
    }
}

impl Write for Limited<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self
            .left
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| io::Error::other("the input asks for more text than any real file"))?;
        self.out.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The stream of a dump.
pub(super) struct Output<'o> {
    out: io::BufWriter<&'o mut dyn Write>,
    json: bool,
    /// What is open, by what closes it, and what separates its next element.
    open: Vec<(char, &'static str)>,
    problems: u64,
    first: Option<String>,
}

impl<'o> Output<'o> {
    pub(super) fn new(out: &'o mut dyn Write, json: bool) -> Output<'o> {
        Output {
            out: io::BufWriter::with_capacity(1 << 16, out),
            json,
            open: Vec::new(),
            problems: 0,
            first: None,
        }
    }

    /// Whether the dump is a JSON document.
    pub(super) fn json(&self) -> bool {
        self.json
    }

    /// Remembers a problem, without printing it.
    pub(super) fn note(&mut self, error: &Error) {
        self.problems = self.problems.saturating_add(1);
        if self.first.is_none() {
            self.first = Some(error.to_string());
        }
    }

    /// A part that could not be printed, or not to its end. What it left open is closed.
    pub(super) fn failed(&mut self, error: &Error) -> io::Result<()> {
        self.problems = self.problems.saturating_add(1);
        if self.first.is_none() {
            self.first = Some(error.to_string());
        }
        if !self.json {
            writeln!(self.out, "error: {error}")?;
            return Ok(());
        }
        while self.open.len() > 1 {
            self.close()?;
        }
        Ok(())
    }

    /// Prints a problem in place; in a JSON array it is an object with a field `error`.
    pub(super) fn problem(&mut self, error: &Error) -> io::Result<()> {
        self.note(error);
        if self.json {
            return self.element(&serde_json::json!({ "error": error.to_string() }));
        }
        writeln!(self.out, "error: {error}")?;
        Ok(())
    }

    /// The message about all problems, if there were any.
    pub(super) fn problem_text(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        Some(match self.problems {
            1 => first.clone(),
            count => format!("{first}, and {} more problems", count.saturating_sub(1)),
        })
    }

    pub(super) fn begin_document(&mut self) -> io::Result<()> {
        write!(self.out, "{{\"format\":\"hetdwarf-dump/1\"")?;
        self.open.push(('}', ""));
        Ok(())
    }

    pub(super) fn end_document(&mut self) -> io::Result<()> {
        self.close()?;
        writeln!(self.out)?;
        Ok(())
    }

    /// Opens an array in a field of an object that has fields already.
    pub(super) fn begin_array(&mut self, name: &str) -> io::Result<()> {
        write!(self.out, ",\"{name}\":[")?;
        self.open.push((']', ""));
        Ok(())
    }

    pub(super) fn end_array(&mut self) -> io::Result<()> {
        self.close()
    }

    fn close(&mut self) -> io::Result<()> {
        if let Some((bracket, _)) = self.open.pop() {
            write!(self.out, "{bracket}")?;
        }
        Ok(())
    }

    fn separate(&mut self) -> io::Result<()> {
        if let Some((_, separator)) = self.open.last_mut() {
            self.out.write_all(separator.as_bytes())?;
            *separator = ",\n";
        }
        Ok(())
    }

    /// An element of the open array.
    pub(super) fn element(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.separate()?;
        self.value(value)
    }

    /// An element of the open array, an object that stays open for arrays in it.
    pub(super) fn begin_element(&mut self, fields: &impl Serialize) -> io::Result<()> {
        self.separate()?;
        let text = to_json(fields)?;
        write!(self.out, "{}", text.strip_suffix('}').unwrap_or(&text))?;
        self.open.push(('}', ""));
        Ok(())
    }

    pub(super) fn end_element(&mut self) -> io::Result<()> {
        self.close()
    }

    fn value(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = to_json(value)?;
        self.out.write_all(text.as_bytes())?;
        Ok(())
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
