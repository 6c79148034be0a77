//! `hetdwarf print`.

mod text;

use std::io::Write;

use crate::display::Options;
use crate::inspect::{Program, Stop, StopOptions};
use crate::location::Arena;
use crate::report::{PrintDocument, to_json_pretty};
use crate::wave::Wave;

use super::arguments::{Format, PrintArguments};
use super::failure::{Exit, Failure};
use super::input::{frame_at, read_wave_of, with_program};
use super::lanes::chosen_lanes;
use super::vars;

pub(crate) fn run(
    arguments: &PrintArguments,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    with_program(&arguments.object, &arguments.which, |program| {
        show(arguments, program, width, out, err)
    })
}

fn show(
    arguments: &PrintArguments,
    program: &Program<'_>,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let place = |error: crate::Error| Failure::in_file(&arguments.object, error);
    let wave = read_wave_of(program, &arguments.wave, err)?;
    let all = wave.wave_size().lanes() as usize;
    let chosen = chosen_lanes(arguments.lane.as_deref(), wave.wave_size())?;
    let arena = Arena::new();
    let options = StopOptions::loaded_at(wave.load_address).reading(arguments.reading.reading());
    let stop = Stop::new(program, &wave, wave.pc(), options, &arena);
    let frame = frame_at(&stop, arguments.frame)?;
    let lanes = match (&chosen, arguments.format) {
        (Some(chosen), _) => chosen.clone(),
        (None, Format::Text) => frame.readable_lanes(),
        (None, Format::Json) => wave.wave_size().all_lanes().collect(),
    };
    let document = PrintDocument::new(&frame, &lanes, &arguments.expressions, &Options::default());
    let document = document.map_err(place)?;
    match arguments.format {
        Format::Json => writeln!(out, "{}", to_json_pretty(&document)?)?,
        Format::Text => {
            text::print(&document, lanes.len() == all, width, out, err)?;
            if chosen.is_none() {
                vars::print_unsure(&lanes, &frame, out)?;
            }
        }
    }
    let expressions = &document.expressions;
    let failed = expressions
        .iter()
        .any(|expression| expression.error.is_some());
    let any = expressions.iter().any(|expression| expression.has_value());
    Ok(if any && !failed {
        Exit::Done
    } else {
        Exit::BadNews
    })
}
