//! `hetdwarf vars`.

mod text;

pub(crate) use text::print;

use std::io::Write;

use crate::arch::Lane;
use crate::display::Options;
use crate::eval::LaneFocus;
use crate::inspect::{Program, Stop, StopFrame, StopOptions};
use crate::location::Arena;
use crate::report::{VariableDocument, VarsDocument};
use crate::wave::Wave;
use globset::Glob;

use super::arguments::{Format, VarsArguments};
use super::failure::{Exit, Failure};
use super::input::{frame_at, lane_focus, lanes_of, read_wave_of, with_program};
use super::lanes::ranges;

pub(crate) fn run(
    arguments: &VarsArguments,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    with_program(&arguments.object, &arguments.which, |program| {
        show(arguments, program, width, out, err)
    })
}

fn show(
    arguments: &VarsArguments,
    program: &Program<'_>,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let place = |error: crate::Error| Failure::in_file(&arguments.object, error);
    let wave = read_wave_of(program, &arguments.wave, err)?;
    let focus = lane_focus(arguments.lane.as_deref(), wave.wave_size())?.unwrap_or(LaneFocus::All);
    let glob = match &arguments.name {
        Some(glob) => Some(
            Glob::new(glob)
                .map_err(|e| Failure::new(format!("--name {glob}: {e}")))?
                .compile_matcher(),
        ),
        None => None,
    };
    let wanted = |name: &str| glob.as_ref().is_none_or(|glob| glob.is_match(name));
    let arena = Arena::new();
    let options = StopOptions::loaded_at(wave.load_address).reading(arguments.reading.reading());
    let stop = Stop::new(program, &wave, wave.pc(), options, &arena);
    let frame = frame_at(&stop, arguments.frame)?;
    let lanes = match (arguments.format, &arguments.lane) {
        (Format::Text, None) => readable_lanes(&frame),
        (Format::Text, Some(_)) | (Format::Json, _) => lanes_of(focus, wave.wave_size()),
    };
    let document =
        VarsDocument::new(&frame, &lanes, &wanted, &Options::default()).map_err(place)?;
    match arguments.format {
        Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(&document)?)?,
        Format::Text => {
            print(&document, width, out)?;
            if arguments.lane.is_none() {
                print_unsure(&lanes, &frame, out)?;
            }
        }
    }
    let read = |variable: &VariableDocument| {
        variable
            .lanes
            .iter()
            .any(|lane| matches!(lane.state, "ok" | "partial"))
    };
    Ok(if document.variables.iter().any(read) {
        Exit::Done
    } else {
        Exit::BadNews
    })
}

/// The lanes that a reader is shown who did not choose: all, but only those that were surely active at the call
/// if the frame is a caller's of which nobody knows what EXEC was. The others may hold anything.
pub(crate) fn readable_lanes(frame: &StopFrame<'_, '_, '_>) -> Vec<Lane> {
    let mask = match frame.exec() {
        Some(_) => None,
        None => frame.surely_active(),
    };
    let shown = |lane: &Lane| mask.is_none_or(|mask| mask >> lane.0 & 1 == 1);
    frame.wave_size().all_lanes().filter(shown).collect()
}

/// Says why lanes are missing that [`readable_lanes`] left out.
pub(crate) fn print_unsure(
    shown: &[Lane],
    frame: &StopFrame<'_, '_, '_>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let hidden: Vec<u8> = frame
        .wave_size()
        .all_lanes()
        .filter(|lane| !shown.contains(lane))
        .map(|lane| lane.0)
        .collect();
    if frame.exec().is_none() && !hidden.is_empty() {
        let (lanes, faint) = (ranges(&hidden), anstyle::Style::new().dimmed());
        writeln!(
            out,
            "{faint}lanes {lanes} may be active too: EXEC has no rule here{faint:#}"
        )?;
    }
    Ok(())
}
