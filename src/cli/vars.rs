//! `hetdwarf vars`.

mod text;

pub(crate) use text::print;

use std::io::Write;

use crate::display::Options;
use crate::eval::LaneFocus;
use crate::inspect::{Program, Stop, StopOptions};
use crate::location::Arena;
use crate::object::CodeObject;
use crate::report::{VariableDocument, VarsDocument};
use crate::wave::Wave;
use globset::Glob;

use super::arguments::{Format, VarsArguments};
use super::failure::{Exit, Failure};
use super::input::{choose, dialect, lane_focus, lanes_of, read_file, read_wave};

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
    let dwo_data = arguments.which.dwo.as_deref().map(read_file).transpose()?;
    let dwo = dwo_data
        .as_deref()
        .map(CodeObject::parse)
        .transpose()
        .map_err(place)?;
    let mut program = Program::load(&object)
        .map_err(place)?
        .with_dialect(dialect(arguments.which.dialect));
    if let Some(dwo) = &dwo {
        program = program.with_split(dwo).map_err(place)?;
    }
    let wave = read_wave(&arguments.wave)?;
    let focus = lane_focus(arguments.lane.as_deref(), wave.wave_size())?.unwrap_or(LaneFocus::All);
    let lanes = lanes_of(focus, wave.wave_size());
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
    let document =
        VarsDocument::new(&frame, &lanes, &wanted, &Options::default()).map_err(place)?;
    match arguments.format {
        Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(&document)?)?,
        Format::Text => print(&document, width, out)?,
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
