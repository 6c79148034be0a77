//! Where a dump goes: the stream, how much it may still get, and the problems that were met.

use std::io::{self, Write};

use serde::Serialize;

use super::Malformed;
use crate::error::Error;
use crate::meter::Meter;
use crate::report::{Completeness, to_json};

/// As many bytes of text count as a step. Entries can refer to the same long string, list or type again and again, so
/// that a small file could ask for endless output; dumps of real files have some twenty times the size of the file.
const BYTES_PER_STEP: u64 = 16;

/// The stream of a dump.
pub(super) struct Output<'o> {
    out: io::BufWriter<&'o mut dyn Write>,
    json: bool,
    /// True if problems are not printed in their places, as llvm-dwarfdump prints them elsewhere.
    quiet: bool,
    /// What is open, by what closes it, and what separates its next element.
    open: Vec<(char, &'static str)>,
    /// True while llvm-dwarfdump would call problems warnings.
    warns: bool,
    problems: u64,
    /// How many problems are not warnings.
    errors: u64,
    /// The first problem, which is an error if there is one.
    first: Option<String>,
    meter: &'o Meter,
    /// How many bytes there were since the last step that was paid.
    unpaid: u64,
    completeness: Completeness,
}

impl<'o> Output<'o> {
    /// For a dump that is paid for with this meter.
    pub(super) fn new(out: &'o mut dyn Write, json: bool, meter: &'o Meter) -> Output<'o> {
        Output {
            out: io::BufWriter::with_capacity(1 << 16, out),
            json,
            quiet: false,
            open: Vec::new(),
            warns: false,
            problems: 0,
            errors: 0,
            first: None,
            meter,
            unpaid: 0,
            completeness: Completeness::default(),
        }
    }

    /// Chooses not to print problems in their places.
    pub(super) fn quiet(self, quiet: bool) -> Output<'o> {
        Output { quiet, ..self }
    }

    /// Chooses whether problems from now on are warnings where they are not printed in their places.
    pub(super) fn warns(&mut self, warns: bool) {
        self.warns = warns;
    }

    /// True if problems are not printed in their places.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Takes room for so many bytes.
    ///
    /// # Errors
    /// If there is no more; then the dump [is cut](Output::is_cut).
    fn take_room(&mut self, bytes: usize) -> io::Result<()> {
        let unpaid = self.unpaid.saturating_add(bytes as u64);
        self.unpaid = unpaid % BYTES_PER_STEP;
        let paid = self.meter.work(unpaid / BYTES_PER_STEP);
        paid.map_err(|error| {
            self.note(&error);
            io::Error::other(error)
        })
    }

    /// Texts one after the other.
    pub(super) fn texts(&mut self, parts: &[&str]) -> io::Result<()> {
        parts
            .iter()
            .try_for_each(|part| self.write_all(part.as_bytes()))
    }

    /// What a dump is paid for with: for its text here, for what is read and not printed by whoever reads it.
    pub(super) fn meter(&self) -> &'o Meter {
        self.meter
    }

    /// Returns true if the input asked for more than any real file, so that the dump ends here.
    pub(super) fn is_cut(&self) -> bool {
        self.meter.refused().is_some()
    }

    /// Returns true if the dump is a JSON document.
    pub(super) fn json(&self) -> bool {
        self.json
    }

    /// Remembers a problem, without printing it.
    pub(super) fn note(&mut self, error: &Error) {
        self.problems = self.problems.saturating_add(1);
        self.completeness.note(error);
        let is_warning = self.quiet && self.warns && !self.is_cut();
        if self.first.is_none() || (!is_warning && self.errors == 0) {
            self.first = Some(error.to_string());
        }
        if !is_warning {
            self.errors = self.errors.saturating_add(1);
        }
    }

    /// Returns a part that could not be printed, or not to its end. What it left open is closed.
    pub(super) fn failed(&mut self, error: &Error) -> io::Result<()> {
        self.note(error);
        self.break_off(error)
    }

    /// Ends the dump where there is no room for more.
    pub(super) fn cut(&mut self) -> io::Result<()> {
        match self.meter.refused() {
            Some(error) => self.break_off(&error),
            None => Ok(()),
        }
    }

    fn break_off(&mut self, error: &Error) -> io::Result<()> {
        if !self.json && self.quiet {
            return Ok(());
        }
        if !self.json {
            return writeln!(self.out, "error: {error}");
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
        if self.quiet {
            return Ok(());
        }
        writeln!(self.out, "error: {error}")?;
        Ok(())
    }

    /// What was malformed, if anything was.
    pub(super) fn malformed(&self) -> Option<Malformed> {
        let first = self.first.as_ref()?;
        Some(Malformed {
            message: match self.problems {
                1 => first.clone(),
                count => format!("{first}, and {} more problems", count.saturating_sub(1)),
            },
            is_warning: self.errors == 0,
        })
    }

    pub(super) fn begin_document(&mut self) -> io::Result<()> {
        write!(self.out, "{{\"format\":\"hetdwarf-dump/1\"")?;
        self.open.push(('}', ""));
        Ok(())
    }

    pub(super) fn end_document(&mut self) -> io::Result<()> {
        if !self.completeness.complete {
            let text = to_json(&self.completeness)?;
            let fields = text.trim_start_matches('{').trim_end_matches('}');
            write!(self.out, ",{fields}")?;
        }
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

    /// Returns an element of the open array.
    pub(super) fn element(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = to_json(value)?;
        self.take_room(text.len())?;
        self.separate()?;
        self.out.write_all(text.as_bytes())
    }

    /// Returns an element of the open array, an object that stays open for arrays in it.
    pub(super) fn begin_element(&mut self, fields: &impl Serialize) -> io::Result<()> {
        let text = to_json(fields)?;
        self.take_room(text.len())?;
        self.separate()?;
        write!(self.out, "{}", text.strip_suffix('}').unwrap_or(&text))?;
        self.open.push(('}', ""));
        Ok(())
    }

    pub(super) fn end_element(&mut self) -> io::Result<()> {
        self.close()
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take_room(bytes.len())?;
        self.out.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.take_room(bytes.len())?;
        self.out.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
