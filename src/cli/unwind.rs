//! `hetdwarf unwind`.

use std::io::Write;

use crate::arch::Lane;
use crate::inspect::{Program, Stop, StopOptions};
use crate::location::Arena;
use crate::report::{FrameDocument, RegisterValue, UnwindDocument};
use crate::wave::Wave;

use super::arguments::{Format, UnwindArguments};
use super::failure::{Exit, Failure};
use super::input::{one_lane, read_wave_of, with_program};

pub(crate) fn run(
    arguments: &UnwindArguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    with_program(&arguments.object, &arguments.which, |program| {
        show(arguments, program, out, err)
    })
}

fn show(
    arguments: &UnwindArguments,
    program: &Program<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let place = |error: crate::Error| Failure::in_file(&arguments.object, error);
    let wave = read_wave_of(program, &arguments.wave, err)?;
    let lane = one_lane(arguments.lane.as_deref(), wave.wave_size())?;
    let arena = Arena::new();
    let options = StopOptions::loaded_at(wave.load_address).reading(arguments.reading.reading());
    let stop = Stop::new(program, &wave, wave.pc(), options, &arena);
    let lane = lane.unwrap_or(Lane(0));
    let document = UnwindDocument::for_lane(&stop, lane).map_err(place)?;
    match arguments.format {
        Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(&document)?)?,
        Format::Text => print(&document, arguments.registers, out)?,
    }
    Ok(Exit::Done)
}

pub(crate) fn print(
    document: &UnwindDocument,
    registers: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    for frame in &document.frames {
        print_frame(frame, registers, out)?;
    }
    writeln!(out, "{}", document.message)?;
    Ok(())
}

fn print_frame(frame: &FrameDocument, registers: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let bold = anstyle::Style::new().bold();
    let function = frame.function.as_deref().unwrap_or("?");
    let place = match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!(" at {file}:{line}"),
        (Some(file), None) => format!(" in {file}"),
        (None, _) => String::new(),
    };
    // Inlined calls look like frames, but share the one they are in.
    let mut place = Some(place);
    for name in &frame.inlined {
        writeln!(
            out,
            "#{:<3}{:#018x} in {bold}{name}{bold:#} (inlined){}",
            frame.index,
            frame.pc.0,
            place.take().unwrap_or_default()
        )?;
    }
    let cfa = match &frame.cfa {
        Some(cfa) => format!(", frame at {}#{:#x}", cfa.address_space, cfa.address.0),
        None => String::new(),
    };
    writeln!(
        out,
        "#{:<3}{:#018x} in {bold}{function}{bold:#}{}{cfa}",
        frame.index,
        frame.pc.0,
        place.take().unwrap_or_default()
    )?;
    if !registers {
        return Ok(());
    }
    for (name, register) in &frame.registers {
        let value = match (&register.value, &register.message) {
            (Some(RegisterValue::Scalar(value)), _) => format!("{:#x}", value.0),
            (Some(RegisterValue::Lanes(lanes)), _) => {
                let lanes: Vec<String> = lanes
                    .iter()
                    .map(|lane| lane.map_or("?".to_owned(), |value| format!("{:#x}", value.0)))
                    .collect();
                lanes.join(" ")
            }
            (None, Some(message)) => format!("<{message}>"),
            (None, None) => "<unavailable>".to_owned(),
        };
        let doubt = if register.assumes_exec == Some(true) {
            " (by a mask without a rule)"
        } else {
            ""
        };
        writeln!(out, "      {name} = {value} [{}{doubt}]", register.rule)?;
    }
    Ok(())
}
