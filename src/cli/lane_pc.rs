//! `hetdwarf lane-pc`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use super::arguments::{Format, LanePcArguments};
use super::core::{Chosen, with_chosen};
use super::failure::{Exit, Failure, print_limit};
use super::input::frame_at;
use super::lanes::{ranges, work_items};
use super::or_unknown;
use super::sources::{self, Sources};
use crate::inspect::{Recovery, Stop, StopOptions};
use crate::report::{LanePcDocument, LanePcLane, LanePicture, write_json_pretty};
use crate::untrusted::Untrusted;

pub(crate) fn run(
    arguments: &LanePcArguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let chosen = Chosen::of(&arguments.stop, StopOptions::default().reading);
    // Both write warnings: those of the wave come before what is said of the picture.
    let (exit, note) = with_chosen(&chosen, err, |stop, file| show(arguments, stop, file, out))?;
    if let Some(note) = note {
        let to: &mut dyn Write = match arguments.format {
            Format::Json => err,
            Format::Text => out,
        };
        writeln!(to, "{note}")?;
    }
    Ok(exit)
}

/// Also gives what is missing in the picture.
fn show(
    arguments: &LanePcArguments,
    stop: &Stop<'_, '_>,
    file: &Path,
    out: &mut dyn Write,
) -> Result<(Exit, Option<String>), Failure> {
    let place = |error: crate::Error| Failure::in_file(file, error);
    let recovery = match (arguments.recover, arguments.no_recover) {
        (true, _) => Recovery::Always,
        (false, true) => Recovery::Never,
        (false, false) => Recovery::WhereMissing,
    };
    let frame = frame_at(stop, arguments.frame)?;
    let document = LanePcDocument::by(&frame, recovery).map_err(place)?;
    let mut note = None;
    if arguments.svg.is_some() || arguments.html.is_some() {
        let sources = Sources::new(&arguments.sources.source_dirs);
        let read = |path: &str, folder: Option<&str>| Some(sources.text(path, folder)?.to_string());
        let mut picture = LanePicture::new(&frame, &document, &read).map_err(place)?;
        if let Some(text) = sources::missing(picture.without_source()) {
            picture.add_note(&text);
            note = Some(text);
        }
        write_file(arguments.svg.as_deref(), || picture.svg())?;
        write_file(arguments.html.as_deref(), || picture.html())?;
    }
    match arguments.format {
        Format::Json => write_json_pretty(&document, &mut *out)?,
        Format::Text => print(&document, out)?,
    }
    Ok((Exit::Done.unless_limited(&document.completeness), note))
}

/// Writes a file that was asked for.
fn write_file(path: Option<&Path>, text: impl FnOnce() -> String) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    std::fs::write(path, text()).map_err(|error| Failure::in_file(path, error))
}

/// A picture: a row for each source line that has lanes, a cell for each lane.
pub(crate) fn print(document: &LanePcDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let bold = anstyle::Style::new().bold();
    writeln!(
        out,
        "{bold}{}{bold:#}",
        or_unknown(document.function.as_ref())
    )?;
    let mut rows: BTreeMap<(Untrusted<'static>, u64, u128), Vec<&LanePcLane>> = BTreeMap::new();
    for lane in &document.lanes {
        if let Some(pc) = lane.pc {
            let key = (
                lane.file.clone().unwrap_or_default(),
                lane.line.unwrap_or(0),
                pc.0,
            );
            rows.entry(key).or_default().push(lane);
        }
    }
    let label = |(file, line, pc): &(Untrusted<'static>, u64, u128)| match *line {
        0 => format!("{pc:#x}"),
        line => format!("{file}:{line} ({pc:#x})"),
    };
    let width = rows
        .keys()
        .map(|key| label(key).chars().count())
        .max()
        .unwrap_or(0)
        .max(4);
    let tens: String = document
        .lanes
        .iter()
        .map(|lane| {
            if lane.lane % 8 == 0 {
                format!("{:<8}", lane.lane)
            } else {
                String::new()
            }
        })
        .collect();
    writeln!(out, "{:width$}  {}", "lane", tens.trim_end())?;
    for (key, lanes) in &rows {
        let cells: String = document
            .lanes
            .iter()
            .map(
                |lane| match lanes.iter().find(|here| here.lane == lane.lane) {
                    Some(here) if here.active => '●',
                    Some(_) => '○',
                    None => '·',
                },
            )
            .collect();
        writeln!(out, "{:width$}  {cells}", label(key))?;
    }
    writeln!(
        out,
        "● active  ○ waiting  · elsewhere, or not active on entry"
    )?;
    print_others(document, out)?;
    let items = document.lanes.iter();
    let items = items.filter_map(|lane| Some((u8::try_from(lane.lane).ok()?, lane.work_item)));
    if let Some(items) = work_items(&items.collect::<Vec<_>>()) {
        writeln!(out, "lanes and work-items: {items}")?;
    }
    if let Some(message) = &document.message {
        writeln!(out, "{message}")?;
    }
    print_limit(&document.completeness, out)?;
    Ok(())
}

/// Where lanes are that are not active, a line for each place.
pub(crate) fn print_inactive(
    document: &LanePcDocument,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut places: BTreeMap<(u128, String), Vec<u8>> = BTreeMap::new();
    for lane in document.lanes.iter().filter(|lane| !lane.active) {
        let (Some(pc), Ok(number)) = (lane.pc, u8::try_from(lane.lane)) else {
            continue;
        };
        let text = match (&lane.file, lane.line) {
            (Some(file), Some(line)) if line != 0 => format!("waiting at {file}:{line}"),
            (_, _) => format!("waiting at {:#x}", pc.0),
        };
        places.entry((pc.0, text)).or_default().push(number);
    }
    for ((_, text), lanes) in places {
        writeln!(out, "lanes {}: {text}", ranges(&lanes))?;
    }
    print_others(document, out)
}

/// Lanes that are in no row, by what is known of them.
fn print_others(document: &LanePcDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let mut callers: BTreeMap<(usize, String), Vec<u8>> = BTreeMap::new();
    let mut nowhere: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for lane in &document.lanes {
        let Ok(number) = u8::try_from(lane.lane) else {
            continue;
        };
        if let Some(caller) = &lane.caller {
            let function = or_unknown(caller.function.as_ref());
            let frame = caller.frame;
            let text = match (&caller.file, caller.line) {
                (Some(file), Some(line)) if line != 0 => {
                    format!("in frame {frame}, {function} at {file}:{line}")
                }
                (_, _) => format!("in frame {frame}, {function} ({:#x})", caller.pc.0),
            };
            callers.entry((frame, text)).or_default().push(number);
        } else if let Some(why) = lane.why {
            let text = format!("not known where: {why}");
            nowhere.entry(text).or_default().push(number);
        } else if lane.reason.is_some() {
            let text = "not started by the dispatch".to_owned();
            nowhere.entry(text).or_default().push(number);
        }
    }
    let callers = callers.into_iter().map(|((_, text), lanes)| (text, lanes));
    for (text, lanes) in callers.chain(nowhere) {
        writeln!(out, "lanes {}: {text}", ranges(&lanes))?;
    }
    Ok(())
}
