//! `hetdwarf vars`.

mod text;

pub(crate) use text::print;

use std::io::Write;

use crate::arch::Lane;
use crate::display::Options;
use crate::eval::LaneFocus;
use crate::inspect::{Program, Stop, StopFrame, StopOptions};
use crate::location::Arena;
use crate::object::CodeObject;
use crate::report::{VariableDocument, VarsDocument};
use crate::wave::Wave;
use globset::Glob;

use super::arguments::{Format, VarsArguments};
use super::failure::{Exit, Failure};
use super::input::{
    choose, dialect, lane_focus, lanes_of, parse_dwo, read_dwo, read_file, read_wave,
};
use super::lanes::ranges;

pub(crate) fn run(
    arguments: &VarsArguments,
    width: usize,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let path = &arguments.object;
    let place = |error: crate::Error| Failure::in_file(path, error);
    let data = read_file(path)?;
    let embedded = choose(path, &data, &arguments.which)?;
    let object = CodeObject::parse(&embedded.data).map_err(place)?;
    let dwo_data = read_dwo(&arguments.which)?;
    let dwo = parse_dwo(&dwo_data)?;
    let mut program = Program::load(&object)
        .map_err(place)?
        .with_dialect(dialect(arguments.which.dialect));
    if let Some(dwo) = &dwo {
        program = program.with_split(dwo).map_err(place)?;
    }
    let wave = read_wave(&arguments.wave)?;
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
    let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
    let level = arguments.frame;
    let frame = stop.frame(level).ok_or_else(|| {
        let reason = stop.stack().error().map_or_else(
            || stop.stack().stopped().text().to_owned(),
            ToString::to_string,
        );
        Failure::new(format!(
            "--frame {level}: there are {} frames ({reason})",
            stop.frames().len()
        ))
    })?;
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
