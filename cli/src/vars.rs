//! Implements `hetdwarf vars`.

use std::io::Write;
use std::path::Path;

use hetdwarf::display::Options;
use hetdwarf::inspect::Stop;
use hetdwarf::report::{NameFilter, VarsDocument, VarsRequest, write_json_pretty};

use super::arguments::{Format, FrameChoice, VarsArguments};
use super::core::{Chosen, with_chosen};
use super::failure::{Exit, Failure, print_limit, print_warnings};
use super::input::{chosen_frame, frame_at};
use super::lane_places::print_where;
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
        Format::Text => print(&document, stop, chosen.is_none(), width, out)?,
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

/// * `says_where`: true if the positions of inactive lanes are printed, when no lanes were chosen.
fn print(
    document: &VarsDocument,
    stop: &Stop<'_, '_>,
    says_where: bool,
    width: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let is_of_all = document.stopped.is_some();
    let mut printer = Printer::new(width, &document.frames);
    let mut frames = document.frames.iter().peekable();
    while let Some(content) = frames.next() {
        printer.print(content, out)?;
        let next = frames.peek().map(|next| next.frame.call_frame);
        if next != Some(content.frame.call_frame) {
            let frame = stop.frame(content.frame.index);
            if let Some(frame) = frame.filter(|_| says_where) {
                print_where(&frame, width, out)?;
            }
        }
        if is_of_all {
            writeln!(out)?;
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
