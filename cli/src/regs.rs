//! Implements `hetdwarf regs`.

use std::io::Write;

use comfy_table::Cell;
use hetdwarf::arch::{Processor, Register, TargetId, WaveSize};
use hetdwarf::report::{RegisterRow, RegistersDocument, write_json_pretty};

use super::arguments::{Format, RegsArguments};
use super::failure::{Exit, Failure};
use super::table::{cells, faint, table};

pub(crate) fn run(arguments: &RegsArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let processor = arguments.target.as_deref().map(processor).transpose()?;
    let wave_size = arguments.wave_size;
    let document = match &arguments.registers {
        None => RegistersDocument::new(0, u16::MAX, wave_size, processor, false),
        Some(text) => asked_for(text, wave_size, processor)?,
    };
    match arguments.format {
        Format::Json => write_json_pretty(&document, &mut *out)?,
        Format::Text => print(&document, out)?,
    }
    Ok(Exit::Done)
}

fn processor(target: &str) -> Result<&'static Processor, Failure> {
    target
        .parse::<TargetId>()
        .map(|target| target.processor())
        .map_err(|error| Failure::in_option("--target", target, error))
}

/// Returns the rows for a name, a number, or a range of either.
fn asked_for(
    text: &str,
    wave_size: Option<WaveSize>,
    processor: Option<&'static Processor>,
) -> Result<RegistersDocument, Failure> {
    let sizes = match wave_size {
        Some(size) => vec![size],
        None => vec![WaveSize::Wave32, WaveSize::Wave64],
    };
    let mut spans = Vec::new();
    for size in sizes {
        let register = |name: &str| Register::from_name(name.trim(), Some(size));
        let span = match text.split_once('-') {
            Some((first, last)) => register(first).zip(register(last)),
            None => register(text).map(|only| (only, only)),
        };
        // Most names stand for the same register in both wave sizes.
        if let Some((first, last)) = span
            && !spans.contains(&(first, last))
        {
            spans.push((first, last));
        }
    }
    if spans.is_empty() {
        return Err(Failure::new(format!(
            "{text}: no such register; expected a name (v42, s0, exec, VGPR42), a DWARF number up to {}, \
             or a range (v0-v7, 2560-2815)",
            Register::ranges().last().map_or(0, |range| range.last)
        )));
    }
    if let Some((first, last)) = spans.iter().find(|(first, last)| first > last) {
        return Err(Failure::new(format!(
            "{text}: the range ends ({}) before it starts ({})",
            last.0, first.0
        )));
    }
    spans.sort_unstable();
    // A number selects its register for every wave size.
    let filter = wave_size.filter(|_| !text.starts_with(|c: char| c.is_ascii_digit()));
    let mut document = RegistersDocument::new(1, 0, filter, processor, true);
    for (first, last) in spans {
        let part = RegistersDocument::new(first.0, last.0, filter, processor, true);
        document.registers.extend(part.registers);
    }
    Ok(document)
}

fn print(document: &RegistersDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let mut header = cells(["DWARF", "name", "LLVM", "bits", "waves", "description"]);
    if let Some(target) = document.target {
        header.push(Cell::new(format!("on {target}")));
    }
    let rows = document.registers.iter().map(row).collect();
    writeln!(out, "{}", table(Some(header), rows, 3..4))?;
    Ok(())
}

fn row(row: &RegisterRow) -> Vec<Cell> {
    let numbers = if row.first == row.last {
        row.first.to_string()
    } else {
        format!("{}-{}", row.first, row.last)
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let wave = row.wave_size.map(|lanes| lanes.to_string());
    let bits = row.bit_size.map(|bits| bits.to_string());
    let reserved;
    let what = if row.reserved {
        reserved = format!("reserved: {}", row.description);
        faint(reserved)
    } else {
        Cell::new(row.description)
    };
    let waves = wave.unwrap_or_else(|| if row.reserved { "" } else { "both" }.to_owned());
    let mut cells = cells([
        numbers,
        text(&row.name),
        text(&row.llvm_name),
        bits.unwrap_or_default(),
        waves,
    ]);
    cells.push(what);
    if let Some(available) = &row.available {
        cells.push(match available.as_str() {
            _ if row.reserved => Cell::new(""),
            "all" => Cell::new("yes"),
            "none" => faint("no"),
            some => Cell::new(some),
        });
    }
    cells
}
