//! Implements `hetdwarf lane-pc`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::arguments::{Format, LanePcArguments};
use super::core::{Chosen, with_chosen};
use super::failure::{Exit, Failure, print_limit, print_warnings};
use super::input::frame_at;
use super::lane_places::{file_names, print_others};
use super::lanes::work_items;
use super::or_unknown;
use super::outputs::{Kind, Output, Outputs};
use super::sources::{self, Sources};
use super::style::BOLD;
use hetdwarf::inspect::LanePlace;
use hetdwarf::inspect::{Recovery, Stop, StopOptions};
use hetdwarf::report::{LanePcDocument, LanePcLane, LanePicture, write_json_pretty};
use hetdwarf::untrusted::Untrusted;

pub(crate) fn run(
    arguments: &LanePcArguments,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let chosen = Chosen::of(&arguments.stop, StopOptions::default());
    let mut outputs = Outputs::new(arguments.force, chosen.files());
    let mut plan = |path: &Option<PathBuf>, kind| {
        let planned = path.as_deref().map(|path| outputs.plan(path, kind));
        planned.transpose()
    };
    let pictures = Pictures {
        svg: plan(&arguments.svg, Kind::Svg)?,
        html: plan(&arguments.html, Kind::Html)?,
    };
    // Warnings about the wave come before notes about the picture.
    let shown = with_chosen(&chosen, err, |stop, file| {
        show(arguments, &pictures, stop, file, width, out)
    })?;
    print_warnings(&shown.warnings, err)?;
    let to: &mut dyn Write = match arguments.format {
        Format::Json => err,
        Format::Text => out,
    };
    for note in shown.notes {
        writeln!(to, "{note}")?;
    }
    Ok(shown.exit)
}

/// The result of printing the lanes.
struct Shown {
    exit: Exit,
    warnings: Vec<Untrusted<'static>>,
    /// Notes about the pictures.
    notes: Vec<String>,
}

/// The output files of the pictures.
struct Pictures {
    svg: Option<Output>,
    html: Option<Output>,
}

/// Prints the lanes and writes the pictures.
fn show(
    arguments: &LanePcArguments,
    pictures: &Pictures,
    stop: &Stop<'_, '_>,
    file: &Path,
    width: usize,
    out: &mut dyn Write,
) -> Result<Shown, Failure> {
    let place = |error: hetdwarf::Error| Failure::in_file(file, error);
    let recovery = match (arguments.recover, arguments.no_recover) {
        (true, _) => Recovery::Always,
        (false, true) => Recovery::Never,
        (false, false) => Recovery::WhereMissing,
    };
    let frame = frame_at(stop, arguments.frame)?;
    let document = LanePcDocument::by(&frame, recovery).map_err(place)?;
    let mut notes = Vec::new();
    if pictures.svg.is_some() || pictures.html.is_some() {
        let sources = Sources::new(&arguments.sources.source_dirs);
        let read = |path: &str, folder: Option<&str>| Some(sources.bytes(path, folder)?.to_vec());
        let mut picture = LanePicture::new(&frame, &document, &read).map_err(place)?;
        notes.extend_from_slice(picture.source_warnings());
        if let Some(text) = sources::missing(picture.without_source()) {
            picture.add_note(&text);
            notes.push(text);
        }
        if let Some(output) = &pictures.svg {
            output.write(picture.svg().as_bytes())?;
        }
        if let Some(output) = &pictures.html {
            output.write(picture.html().as_bytes())?;
        }
    }
    match arguments.format {
        Format::Json => write_json_pretty(&document, &mut *out)?,
        Format::Text => print(&document, width, out)?,
    }
    Ok(Shown {
        exit: Exit::Done.unless_limited(&document.completeness),
        warnings: document.warnings,
        notes,
    })
}

/// Prints a chart: a row for each source line that has lanes, and a cell for each lane.
fn print(document: &LanePcDocument, width: usize, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(
        out,
        "{BOLD}{}{BOLD:#}",
        or_unknown(document.function.as_ref())
    )?;
    let names = file_names(document);
    let mut rows: BTreeMap<(Untrusted<'_>, u64, u128), Vec<&LanePcLane>> = BTreeMap::new();
    for lane in &document.lanes {
        if let Some(pc) = lane.pc {
            let file = lane.file.as_ref().map(|file| names.short(file));
            let file = file.unwrap_or_default();
            let key = (file, lane.line.unwrap_or(0), pc.0);
            rows.entry(key).or_default().push(lane);
        }
    }
    let label = |(file, line, pc): &(Untrusted<'_>, u64, u128)| match *line {
        0 => format!("{pc:#x}"),
        line => format!("{file}:{line} ({pc:#x})"),
    };
    let label_width = rows
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
    writeln!(out, "{:label_width$}  {}", "lane", tens.trim_end())?;
    for (key, lanes) in &rows {
        let cells: String = document
            .lanes
            .iter()
            .map(
                |lane| match lanes.iter().find(|here| here.lane == lane.lane) {
                    Some(here) if here.place == LanePlace::Active => '●',
                    Some(_) => '○',
                    None => '·',
                },
            )
            .collect();
        writeln!(out, "{:label_width$}  {cells}", label(key))?;
    }
    writeln!(
        out,
        "● active  ○ waiting  · elsewhere, or not active on entry"
    )?;
    print_others(document, width, out)?;
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
