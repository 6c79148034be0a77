//! Reads profiles in CSV: PC samples, which lack code objects and addresses, and the statistics of a thread trace, which have both.

use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};
use hetdwarf::error::Error;
use hetdwarf::meter::Meter;
use hetdwarf::profile::{Activity, Sample, Site};

use super::recording::{INSTRUCTION_TYPE, Recording, STALL_REASON, Scope};
use super::stream::parse_number;
use super::trace::TraceRow;

/// The format of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Samples,
    Trace,
}

/// The known columns of PC samples.
const COLUMNS: [&str; 10] = [
    "sample_timestamp",
    "exec_mask",
    "dispatch_id",
    "instruction",
    "instruction_comment",
    "correlation_id",
    "wave_issued_instruction",
    "instruction_type",
    "stall_reason",
    "wave_count",
];

/// Reads a file. Returns false if it has another format.
///
/// # Errors
/// Returns the problem with the file. Everything read before it is counted.
pub(super) fn read(
    recording: &mut Recording,
    path: &Path,
    bytes: &[u8],
    meter: &Meter,
) -> Result<bool, String> {
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(bytes);
    let header = reader.headers().map_err(|error| error.to_string())?;
    let header: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
    let has = |name: &str| {
        header
            .iter()
            .any(|column| column.eq_ignore_ascii_case(name))
    };
    let form = if has("CodeObj") && has("Vaddr") {
        Form::Trace
    } else if has("Exec_Mask") && has("Instruction_Comment") {
        Form::Samples
    } else {
        return Ok(false);
    };
    let scope = recording.begin(path.to_owned());
    if form == Form::Samples {
        recording.notes.insert(
            "CSV contains no addresses: lines come from comments; functions and divergence need \
             JSON"
                .to_owned(),
        );
    }
    for column in &header {
        let is_known = match form {
            Form::Samples => COLUMNS.contains(&column.to_ascii_lowercase().as_str()),
            Form::Trace => TraceRow::default().set(column, ""),
        };
        if !is_known {
            recording.note_unknown(column.as_bytes());
        }
    }
    let mut record = ByteRecord::new();
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return Ok(true),
            Err(error) => return Err(error.to_string()),
        }
        // The last row of a truncated file has too few values.
        if record.len() != header.len() {
            recording.discard("the number of values in its row differs from the header");
            continue;
        }
        let added = match form {
            Form::Samples => add_sample(recording, &header, &record, meter),
            Form::Trace => add_trace(recording, scope, &header, &record, meter),
        };
        added.map_err(|error| {
            let text = error.to_string();
            recording.limit.get_or_insert(error);
            text
        })?;
    }
}

fn add_trace(
    recording: &mut Recording,
    scope: Scope,
    header: &[String],
    record: &ByteRecord,
    meter: &Meter,
) -> Result<(), Error> {
    let cells: Vec<_> = record.iter().map(String::from_utf8_lossy).collect();
    let mut row = TraceRow::default();
    for (column, cell) in header.iter().zip(&cells) {
        row.set(column, cell);
    }
    recording.add_trace(scope, &row, meter)
}

fn add_sample(
    recording: &mut Recording,
    header: &[String],
    record: &ByteRecord,
    meter: &Meter,
) -> Result<(), Error> {
    let mut text = [String::new(), String::new()];
    let (mut exec, mut issued, mut kind, mut stall) = (None, None, None, None);
    for (column, cell) in header.iter().zip(record) {
        let cell = String::from_utf8_lossy(cell);
        let [instruction, comment] = &mut text;
        match column.to_ascii_lowercase().as_str() {
            "exec_mask" => exec = parse_number(&cell),
            "instruction" => *instruction = cell.into_owned(),
            "instruction_comment" => *comment = cell.into_owned(),
            "wave_issued_instruction" => issued = parse_number(&cell),
            "instruction_type" => kind = named(recording, &cell, INSTRUCTION_TYPE),
            "stall_reason" => stall = named(recording, &cell, STALL_REASON),
            _ => {}
        }
    }
    if exec.is_none() {
        recording.discard("its EXEC mask is not a number");
        return Ok(());
    }
    let mut sample = Sample::new(Site::Text(recording.text(text, meter)?));
    sample.exec = exec;
    sample.activity = match issued {
        None => Activity::Unknown,
        Some(0) => Activity::Stalled(stall),
        Some(_) => Activity::Issued(kind),
    };
    recording.is_sampled = true;
    recording.samples.add(&sample, meter)
}

fn named(recording: &mut Recording, text: &str, prefix: &str) -> Option<hetdwarf::profile::NameId> {
    let name = text.strip_prefix(prefix).unwrap_or(text);
    (!name.is_empty()).then(|| recording.samples.names.id(name))
}
