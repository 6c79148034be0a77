//! Implements `hetdwarf eval`.

mod batch;
mod text;

use std::io::Write;
use std::path::Path;

use hetdwarf::arch::{Lane, WaveSize};
use hetdwarf::eval::{Context, LaneFocus, Reading, ResultKind, Unit};
use hetdwarf::expr::{Dialect, Encoding};
use hetdwarf::inspect::{FrameContext, Program, Stop, StopOptions};
use hetdwarf::limits::Limits;
use hetdwarf::location::Arena;
use hetdwarf::report::{
    EvalDocument, EvalOptions, EvalRequest, Source, evaluate_all, parse_hex_bytes, to_json,
};
use hetdwarf::wave::{Snapshot, Wave};

use super::arguments::{CoreChoice, CoreObjects, EvalArguments, Format, ResultName};
use super::core::{Chosen, with_chosen};
use super::failure::{Exit, Failure};
use super::input::{check_wave, dialect, frame_at, read_wave, with_program};
use super::lanes::chosen_lanes;

pub(crate) fn run(
    arguments: &EvalArguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let settings = Settings {
        address_size: arguments.address_size,
        limits: limits(arguments),
        tolerant: arguments.tolerant,
        dialect: dialect(arguments.which.dialect),
    };
    if let Some(batch) = &arguments.batch {
        return batch::run(batch, &settings, out);
    }
    let expression = match (&arguments.expr, &arguments.hex) {
        (Some(text), _) => Source::Text(text.clone()),
        (None, hex) => bytes_source(hex.as_deref().unwrap_or_default())?,
    };
    let document = if arguments.core.is_empty() {
        of_files(arguments, &expression, &settings, err)?
    } else {
        of_core(arguments, &expression, &settings, err)?
    };
    match arguments.format {
        Format::Json => writeln!(out, "{}", to_json(&document)?)?,
        Format::Text => text::print(&document, out)?,
    }
    let failed = document.lanes.iter().any(|lane| lane.error.is_some());
    Ok(if failed { Exit::Negative } else { Exit::Done })
}

/// Returns the evaluation options for a wave of this size.
///
/// * `focus`: the lanes if `--lane` is not given.
fn options(
    arguments: &EvalArguments,
    wave_size: WaveSize,
    focus: Vec<Lane>,
) -> Result<EvalOptions, Failure> {
    let chosen = chosen_lanes(arguments.lane.as_deref(), wave_size)?;
    let mut options = EvalOptions::default();
    options.lanes = chosen.unwrap_or(focus);
    options.result = match arguments.result {
        ResultName::Location => ResultKind::Location,
        ResultName::Value => ResultKind::Value,
        ResultName::Any => ResultKind::Any,
    };
    options.read = arguments.read;
    options.initial_stack = arguments
        .initial_stack
        .iter()
        .cloned()
        .map(Source::Text)
        .collect();
    options.object_location = arguments.object_location.clone().map(Source::Text);
    Ok(options)
}

/// Evaluates with the code object and the snapshot, either of which may be missing.
fn of_files(
    arguments: &EvalArguments,
    expression: &Source,
    settings: &Settings,
    err: &mut dyn Write,
) -> Result<EvalDocument, Failure> {
    let snapshot = arguments.wave.as_deref().map(read_wave).transpose()?;
    let wave_size = snapshot.as_ref().map_or(WaveSize::Wave64, Wave::wave_size);
    let options = options(arguments, wave_size, focus(snapshot.as_ref()))?;
    let path = match &*arguments.object {
        [] => None,
        [path] => Some(path),
        [_, second, ..] => {
            return Err(Failure::in_file(
                second,
                "--object: only one code object is allowed without --core",
            ));
        }
    };
    if let Some(path) = path {
        return with_program(path, &arguments.which, |program| {
            if let (Some(path), Some(wave)) = (&arguments.wave, &snapshot) {
                check_wave(program, path, wave, err)?;
            }
            let arena = Arena::new();
            let stop = snapshot.as_ref().map(|wave| {
                let options = StopOptions::loaded_at(wave.load_address).reading(settings.reading());
                Stop::new(program, wave, wave.pc(), options, &arena)
            });
            let place = Place {
                path,
                program,
                stop: stop.as_ref(),
                arena: &arena,
            };
            in_program(&place, arguments, expression, &options, settings)
        });
    }
    let arena = Arena::new();
    let context = context(snapshot.as_ref(), settings, &arena);
    Ok(evaluate_all(&EvalRequest::new(
        expression,
        &options,
        &context,
        Unit::unknown(settings.encoding()),
        0,
    ))?)
}

/// Evaluates in a wave of a core.
fn of_core(
    arguments: &EvalArguments,
    expression: &Source,
    settings: &Settings,
    err: &mut dyn Write,
) -> Result<EvalDocument, Failure> {
    let core = CoreChoice {
        core: arguments.core.clone(),
        objects: CoreObjects {
            given: arguments.object.clone(),
            folders: arguments.folders.clone(),
        },
    };
    let chosen = Chosen {
        object: None,
        wave: arguments.wave.as_deref(),
        core: &core,
        which: &arguments.which,
        options: StopOptions::default().reading(settings.reading()),
    };
    with_chosen(&chosen, err, |stop, path| {
        let options = options(arguments, stop.wave().wave_size(), Vec::new())?;
        let place = Place {
            path,
            program: stop.program(),
            stop: Some(stop),
            arena: stop.arena(),
        };
        in_program(&place, arguments, expression, &options, settings)
    })
}

/// Returns the lane in focus, if there is one.
fn focus(snapshot: Option<&Snapshot>) -> Vec<Lane> {
    let focus = snapshot.and_then(Snapshot::focus_lane);
    focus.into_iter().collect()
}

fn bytes_source(hex: &str) -> Result<Source, Failure> {
    match parse_hex_bytes(hex) {
        Some(bytes) => Ok(Source::Bytes(bytes)),
        None => Err(Failure::new(format!(
            "--hex {hex}: expected pairs of hexadecimal digits"
        ))),
    }
}

/// Returns the limits of `--limit`. `--max-steps` overrides the limit of steps.
fn limits(arguments: &EvalArguments) -> Limits {
    let mut limits = arguments.which.limits.limits();
    limits.steps = arguments.max_steps.unwrap_or(limits.steps);
    limits
}

/// The settings that are not options of the evaluation itself.
struct Settings {
    address_size: u8,
    limits: Limits,
    tolerant: bool,
    dialect: Dialect,
}

impl Settings {
    fn reading(&self) -> Reading {
        if self.tolerant {
            Reading::Tolerant
        } else {
            Reading::Strict
        }
    }

    fn encoding(&self) -> Encoding {
        Encoding {
            address_size: self.address_size,
            dialect: self.dialect,
            ..Encoding::AMDGPU
        }
    }
}

fn context<'c, 'a>(
    snapshot: Option<&'c Snapshot>,
    settings: &Settings,
    arena: &'a Arena<'a>,
) -> Context<'c, 'a> {
    let context = Context::new(arena)
        .with_limits(settings.limits)
        .with_reading(settings.reading());
    match snapshot {
        Some(snapshot) => context
            .with_wave(snapshot)
            .stopped_at(snapshot.pc(), snapshot.load_address),
        None => context,
    }
}

/// A program, and the stopped wave that runs it, if any.
struct Place<'s, 'p, 'a> {
    /// The path that messages name.
    path: &'s Path,
    program: &'p Program<'a>,
    stop: Option<&'s Stop<'p, 'a>>,
    arena: &'p Arena<'p>,
}

/// Evaluates with the debugging information of a code object and, if there is a wave, in a call frame.
fn in_program(
    &Place {
        path,
        program,
        stop,
        arena,
    }: &Place<'_, '_, '_>,
    arguments: &EvalArguments,
    expression: &Source,
    options: &EvalOptions,
    settings: &Settings,
) -> Result<EvalDocument, Failure> {
    let place = |error: hetdwarf::Error| Failure::in_file(path, error);
    let info = program.info();
    let level = arguments.frame.unwrap_or(0);
    let frame = stop.map(|stop| frame_at(stop, level)).transpose()?;
    let frame_context = frame.map(|frame| frame.context()).transpose();
    let frame_context = frame_context.map_err(place)?;
    let mut unit = frame_context.as_ref().and_then(FrameContext::unit);
    if let Some(offset) = arguments.unit {
        let found = info
            .unit_ids()
            .find(|id| info.unit_info(*id).is_ok_and(|unit| unit.offset == offset));
        unit = Some(found.ok_or_else(|| {
            Failure::in_file(
                path,
                format!("--unit {offset:#x}: there is no unit at this offset"),
            )
        })?);
    }
    let unit = unit.or_else(|| info.unit_ids().next());
    let program_context;
    let context = match &frame_context {
        Some(frame_context) => frame_context.context(),
        None => {
            let context = program.context(unit, settings.reading(), arena);
            program_context = context.map_err(place)?;
            program_context.context()
        }
    };
    let context = context
        .with_limits(settings.limits)
        .with_lane(LaneFocus::None);
    let (unit, unit_offset) = match unit {
        Some(id) => (
            info.eval_unit(id).map_err(place)?,
            info.unit_info(id).map_err(place)?.offset,
        ),
        None => (Unit::unknown(settings.encoding()), 0),
    };
    let request = EvalRequest::new(expression, options, &context, unit, unit_offset);
    Ok(evaluate_all(&request)?)
}
