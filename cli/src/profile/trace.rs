//! Reads the statistics of a thread trace: `code.json` and the CSV file next to it. Columns are identified by name.

use std::fmt;

use hetdwarf::error::Error;
use hetdwarf::meter::Meter;
use hetdwarf::profile::{Activity, Sample, Site};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::reader::Reader;
use super::recording::{Recording, Scope};
use super::stream::parse_number;

/// The columns of `code.json` if the file does not name them.
const HEADER: [&str; 10] = [
    "ISA",
    "_",
    "LineNumber",
    "Source",
    "Codeobj",
    "Vaddr",
    "Hit",
    "Latency",
    "Stall",
    "Idle",
];

/// An instruction with its counts.
#[derive(Debug, Default)]
pub(super) struct TraceRow<'t> {
    instruction: &'t str,
    source: &'t str,
    object: Option<u64>,
    address: Option<u64>,
    hits: u64,
    /// The cycles of latency, of stalls, and of idling.
    cycles: [u64; 3],
    issued: u64,
    stalled: u64,
    /// True if a count is not a number.
    is_unreadable: bool,
}

impl<'t> TraceRow<'t> {
    /// Sets the value of a column. Returns false if the column is unknown.
    pub(super) fn set(&mut self, column: &str, text: &'t str) -> bool {
        let number = || parse_number(text);
        let [latency, stall, idle] = &mut self.cycles;
        let count = match column.to_ascii_lowercase().as_str() {
            "isa" | "instruction" => {
                self.instruction = text;
                return true;
            }
            "source" => {
                self.source = text;
                return true;
            }
            "codeobj" => {
                self.object = number();
                return true;
            }
            "vaddr" => {
                self.address = number();
                return true;
            }
            "hit" | "hitcount" => &mut self.hits,
            "latency" => latency,
            "stall" => stall,
            "idle" => idle,
            "issued" => &mut self.issued,
            "stalled" => &mut self.stalled,
            "_" | "linenumber" | "servicetype" | "notissuedreasons" => return true,
            _ => return false,
        };
        match number() {
            Some(number) => *count = number,
            None => self.is_unreadable |= !text.trim().is_empty(),
        }
        true
    }
}

impl Recording {
    /// Adds the counts of an instruction in a thread trace.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn add_trace(
        &mut self,
        scope: Scope,
        row: &TraceRow<'_>,
        meter: &Meter,
    ) -> Result<(), Error> {
        // A comment precedes the first instruction of a kernel.
        let has_none = row.hits == 0 && row.cycles == [0; 3] && row.issued == 0 && row.stalled == 0;
        if has_none || row.instruction.starts_with(';') {
            return Ok(());
        }
        if row.is_unreadable {
            self.discard("a count is not a number");
            return Ok(());
        }
        let (Some(id), Some(address)) = (row.object, row.address) else {
            self.discard("its code object or address is not a number");
            return Ok(());
        };
        let object = self.object(scope, id, meter)?;
        if let Some(listed) = usize::try_from(object)
            .ok()
            .and_then(|one| self.objects.get_mut(one))
        {
            listed.is_linked = true;
        }
        let mut sample = Sample::new(Site::Code {
            object,
            kernel: None,
            address,
        });
        let text = row.instruction.len() + row.source.len();
        meter.hold(2 * (text + 2 * size_of::<String>()) as u64)?;
        if let Some(process) = self.process(scope) {
            sample.text = u32::try_from(process.instructions.len()).ok();
            process.instructions.push(row.instruction.to_owned());
            process.comments.push(row.source.to_owned());
        }
        self.is_trace = true;
        sample.cycles = row.cycles;
        // Newer files have samples, either in addition to executions or in place of them.
        let (issued, stalled) = (Activity::Issued(None), Activity::Stalled(None));
        let parts = match row.issued.saturating_add(row.stalled) {
            0 => [(row.hits, Activity::Unknown), (0, stalled)],
            _ => [(row.issued, issued), (row.stalled, stalled)],
        };
        for (number, (count, activity)) in parts.into_iter().enumerate() {
            if number > 0 && count == 0 {
                continue;
            }
            (sample.count, sample.activity) = (count, activity);
            self.samples.add(&sample, meter)?;
            sample.cycles = [0; 3];
        }
        Ok(())
    }
}

/// Deserializes a row of `code.json` into the text of each value.
#[derive(Clone, Copy)]
pub(super) struct RowSeed;

impl<'de> DeserializeSeed<'de> for RowSeed {
    type Value = Vec<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for RowSeed {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row in the form of a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        /// The most columns that are read.
        const MOST: usize = 64;
        let mut row = Vec::new();
        while let Some(cell) = seq.next_element_seed(Cell)? {
            if row.len() < MOST {
                row.push(cell);
            }
        }
        Ok(row)
    }
}

/// Deserializes a value as text. Lists and objects are empty.
struct Cell;

impl<'de> DeserializeSeed<'de> for Cell {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Cell {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_u64<E>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_i64<E>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_f64<E>(self, _: f64) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_bool<E>(self, flag: bool) -> Result<String, E> {
        Ok(u8::from(flag).to_string())
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_unit<E>(self) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<String, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(String::new())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<String, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(String::new())
    }
}

/// Adds a row of `code.json`.
pub(super) fn add_row(reader: &mut Reader<'_>, cells: &[String]) -> Result<(), String> {
    let mut row = TraceRow::default();
    let mut unknown = Vec::new();
    let mut take = |column: &str, cell| {
        if !row.set(column, cell) {
            unknown.push(column.to_owned());
        }
    };
    match &reader.header {
        Some(header) => {
            let columns = header.iter().zip(cells);
            columns.for_each(|(column, cell)| take(column, cell));
        }
        None => {
            let columns = HEADER.iter().zip(cells);
            columns.for_each(|(column, cell)| take(column, cell));
        }
    }
    for column in unknown {
        reader.recording.note_unknown(column.as_bytes());
    }
    let added = reader.recording.add_trace(reader.scope, &row, reader.meter);
    reader.check(added)
}
