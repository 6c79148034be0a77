//! Implements `hetdwarf vars`.

use std::io::Write;
use std::path::Path;

use hetdwarf::arch::Lane;
use hetdwarf::display::Options;
use hetdwarf::inspect::Stop;
use hetdwarf::report::{FrameVariables, NameFilter, VarsDocument, VarsRequest, write_json_pretty};

use super::arguments::{Format, FrameChoice, VarsArguments};
use super::core::{Chosen, with_chosen};
use super::failure::{Exit, Failure, print_limit, print_warnings};
use super::input::{chosen_frame, frame_at};
use super::lane_places::{inactive_places, print_places};
use super::lanes::{chosen_lanes, lane_choice};
use super::pattern::pattern;
use super::variables::Printer;
use hetdwarf::untrusted::Untrusted;

pub(crate) fn run(
    arguments: &VarsArguments,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let chosen = Chosen::of(&arguments.stop, arguments.reading.options());
    if arguments.children.is_some() && arguments.format == Format::Text {
        return Err(Failure::new(
            "--children: only --format json lists parts; text shows complete values",
        ));
    }
    let (exit, warnings) = with_chosen(&chosen, err, |stop, file| {
        show(arguments, stop, file, width, out)
    })?;
    if arguments.format == Format::Text {
        print_warnings(&warnings, err)?;
    }
    Ok(exit)
}

fn show(
    arguments: &VarsArguments,
    stop: &Stop<'_, '_>,
    file: &Path,
    width: usize,
    out: &mut dyn Write,
) -> Result<(Exit, Vec<Untrusted<'static>>), Failure> {
    let chosen = chosen_lanes(arguments.lane.as_deref(), stop.wave().wave_size())?;
    let glob = match &arguments.name {
        Some(glob) => {
            Some(pattern(glob).map_err(|error| Failure::new(format!("--name: {error}")))?)
        }
        None => None,
    };
    let matches = |name: &str| glob.as_ref().is_none_or(|glob| glob.is_match(name));
    let names = arguments
        .name
        .as_deref()
        .map(|text| NameFilter::new(text, &matches));
    let request = VarsRequest::default()
        .lanes(lane_choice(arguments.lane.as_deref(), chosen.as_deref()))
        .names(names)
        .display(display_options(arguments))
        .children(arguments.children.unwrap_or(0))
        .hidden(arguments.hidden);
    let document = match arguments.frame {
        None => VarsDocument::new(&chosen_frame(stop, None)?, &request),
        Some(FrameChoice::One(number)) => VarsDocument::new(&frame_at(stop, number)?, &request),
        Some(FrameChoice::All) => VarsDocument::of_all_frames(stop, &request),
    };
    let document = document.map_err(|error| Failure::in_file(file, error))?;
    match arguments.format {
        Format::Json => write_json_pretty(&document, &mut *out)?,
        Format::Text => print(&document, stop, chosen.as_deref(), width, out)?,
    }
    let exit = match document.is_readable() {
        true => Exit::Done,
        false => Exit::Negative,
    };
    Ok((
        exit.unless_limited(&document.completeness),
        document.warnings,
    ))
}

/// * `chosen`: the lanes of `--lane`, if it is given.
fn print(
    document: &VarsDocument,
    stop: &Stop<'_, '_>,
    chosen: Option<&[Lane]>,
    width: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let is_of_all = document.stopped.is_some();
    let all_lanes = stop.wave().wave_size().lanes() as usize;
    let mut printer = Printer::new(width, &document.frames);
    printer.name_lanes(chosen.is_some_and(|chosen| chosen.len() < all_lanes));
    let of_call = |a: &FrameVariables, b: &FrameVariables| a.frame.call_frame == b.frame.call_frame;
    for parts in document.frames.chunk_by(of_call) {
        let outermost = parts.last();
        let frame = outermost.and_then(|content| stop.frame(content.frame.index));
        let places = frame.and_then(|frame| inactive_places(&frame, chosen));
        printer.place_lanes(places.is_some());
        for (n, content) in parts.iter().enumerate() {
            printer.print(content, out)?;
            if let Some(places) = places.as_ref().filter(|_| n + 1 == parts.len()) {
                print_places(places, chosen, width, out)?;
            }
            if is_of_all {
                writeln!(out)?;
            }
        }
    }
    if let (true, Some(message)) = (is_of_all, &document.message) {
        writeln!(out, "{message}")?;
    }
    Ok(print_limit(&document.completeness, out)?)
}

fn display_options(arguments: &VarsArguments) -> Options {
    let mut options = Options::default();
    options.max_depth = arguments.depth.unwrap_or(options.max_depth);
    options
}
