//! Holds the output of a dump: the stream, its remaining budget, and the problems found.

use std::io::{self, Write};

use serde::Serialize;

use super::Malformed;
use crate::error::Error;
use crate::meter::Meter;
use crate::report::{Completeness, to_json};

/// The number of bytes of text charged as a step of the meter (`meter.rs` lists the other factors). Entries can refer to the same long string, list
/// or type repeatedly, so that a small file could cause endless output. Dumps of real files have some twenty times the size of the file.
const BYTES_PER_STEP: u64 = 16;

/// The stream of a dump.
pub(super) struct Output<'o> {
    out: io::BufWriter<&'o mut dyn Write>,
    json: bool,
    /// True if problems are not printed at their place, as in llvm-dwarfdump, which prints them elsewhere.
    quiet: bool,
    /// The closing characters of the open objects and arrays, with the separator before the next element.
    open: Vec<(char, &'static str)>,
    /// True while llvm-dwarfdump would report problems as warnings.
    warns: bool,
    problems: u64,
    /// The number of problems other than warnings.
    errors: u64,
    /// The first problem. An error takes precedence over a warning.
    first: Option<String>,
    meter: &'o Meter,
    /// The number of bytes since the last charged step.
    unpaid: u64,
    completeness: Completeness,
}

impl<'o> Output<'o> {
    /// Creates the output for a dump charged to this meter.
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

    /// Sets whether to omit problems at their place.
    pub(super) fn quiet(self, quiet: bool) -> Output<'o> {
        Output { quiet, ..self }
    }

    /// Sets whether further problems are warnings, if they are not printed at their place.
    pub(super) fn warns(&mut self, warns: bool) {
        self.warns = warns;
    }

    /// Returns true if problems are not printed at their place.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Reserves the given number of bytes of output.
    ///
    /// # Errors
    /// If the budget is exceeded. The dump [is cut](Output::is_cut) then.
    fn take_room(&mut self, bytes: usize) -> io::Result<()> {
        let unpaid = self.unpaid.saturating_add(bytes as u64);
        self.unpaid = unpaid % BYTES_PER_STEP;
        let paid = self.meter.work(unpaid / BYTES_PER_STEP);
        paid.map_err(|error| {
            self.note(&error);
            io::Error::other(error)
        })
    }

    /// Prints texts one after the other.
    pub(super) fn texts(&mut self, parts: &[&str]) -> io::Result<()> {
        parts
            .iter()
            .try_for_each(|part| self.write_all(part.as_bytes()))
    }

    /// Returns the meter of the dump. Text is charged here, other reading by the callers.
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

    /// Records a problem, without printing it.
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

    /// Reports a part that could not be printed completely, and closes the objects and arrays that it left open.
    pub(super) fn failed(&mut self, error: &Error) -> io::Result<()> {
        self.note(error);
        self.break_off(error)
    }

    /// Ends the dump when the budget is exceeded.
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

    /// Prints a problem in place. In a JSON array it is an object with a field `error`.
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

    /// Returns the malformed parts, if any.
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

    /// Prints an element of the open array.
    pub(super) fn element(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = to_json(value)?;
        self.take_room(text.len())?;
        self.separate()?;
        self.out.write_all(text.as_bytes())
    }

    /// Starts an element of the open array: an object that stays open for arrays in it.
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
