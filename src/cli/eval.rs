//! `hetdwarf eval`.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::arch::{Lane, WaveSize};
use crate::eval::{Context, LaneFocus, Reading, ResultKind, Unit};
use crate::expr::Encoding;
use crate::inspect::{FrameContext, Program, Stop, StopOptions};
use crate::limits::Limits;
use crate::location::Arena;
use crate::report::{
    ErrorDocument, EvalDocument, EvalLane, EvalOptions, EvalRequest, PlaceDocument, ResultDocument,
    Source, evaluate_all, parse_hex_bytes, to_json,
};
use crate::wave::{Snapshot, Wave};
use serde_json::Value as Json;

use super::arguments::{CoreChoice, CoreObjects, EvalArguments, Format, ResultName};
use super::contents::{Input, Lines};
use super::core::{Chosen, with_chosen};
use super::failure::{Exit, Failure};
use super::input::{
    STANDARD_INPUT, check_wave, dialect, frame_at, read_wave, read_wave_file, with_program,
};
use super::lanes::chosen_lanes;

pub(crate) fn run(
    arguments: &EvalArguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    if let Some(batch) = &arguments.batch {
        return run_batch(batch, &limits(arguments), out);
    }
    let expression = match (&arguments.expr, &arguments.hex) {
        (Some(text), _) => Source::Text(text.clone()),
        (None, hex) => bytes_source(hex.as_deref().unwrap_or_default())?,
    };
    let settings = Settings {
        address_size: arguments.address_size,
        limits: limits(arguments),
        tolerant: arguments.tolerant,
    };
    let document = if arguments.core.is_empty() {
        of_files(arguments, &expression, &settings, err)?
    } else {
        of_core(arguments, &expression, &settings, err)?
    };
    match arguments.format {
        Format::Json => writeln!(out, "{}", to_json(&document)?)?,
        Format::Text => print(&document, out)?,
    }
    let failed = document.lanes.iter().any(|lane| lane.error.is_some());
    Ok(if failed { Exit::BadNews } else { Exit::Done })
}

/// What is asked, of a wave of this size.
///
/// * `focus`: the lanes without a choice.
fn options(
    arguments: &EvalArguments,
    wave_size: WaveSize,
    focus: Vec<Lane>,
) -> Result<EvalOptions, Failure> {
    let chosen = chosen_lanes(arguments.lane.as_deref(), wave_size)?;
    Ok(EvalOptions {
        lanes: chosen.unwrap_or(focus),
        result: match arguments.result {
            ResultName::Location => ResultKind::Location,
            ResultName::Value => ResultKind::Value,
            ResultName::Any => ResultKind::Any,
        },
        read: arguments.read,
        initial_stack: arguments
            .initial_stack
            .iter()
            .cloned()
            .map(Source::Text)
            .collect(),
        object_location: arguments.object_location.clone().map(Source::Text),
    })
}

/// Evaluates with a code object and a snapshot, as far as they are given.
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
                "--object: without --core there is one code object",
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
    let encoding = Encoding {
        dialect: dialect(arguments.which.dialect),
        ..settings.encoding()
    };
    Ok(evaluate_all(&EvalRequest {
        expression,
        options: &options,
        context: &context,
        unit: Unit::unknown(encoding),
        unit_offset: 0,
    })?)
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
        reading: settings.reading(),
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

/// The lane in focus, if there is one.
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

/// Those of `--limit`; `--max-steps` is another way to set one.
fn limits(arguments: &EvalArguments) -> Limits {
    let mut limits = arguments.which.limits.limits();
    limits.steps = arguments.max_steps.unwrap_or(limits.steps);
    limits
}

/// What is not an option of the evaluation itself.
struct Settings {
    address_size: u8,
    limits: Limits,
    tolerant: bool,
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
            ..Encoding::AMDGPU
        }
    }
}

fn context<'c, 'a>(
    snapshot: Option<&'c Snapshot>,
    settings: &Settings,
    arena: &'a Arena<'a>,
) -> Context<'c, 'a> {
    let mut context = Context::new(arena);
    if let Some(snapshot) = snapshot {
        context.wave = Some(snapshot);
        context.load_address = snapshot.load_address;
        context.pc = Some(snapshot.pc().wrapping_sub(snapshot.load_address));
    }
    context.limits = settings.limits;
    context.reading = settings.reading();
    context
}

/// A program, and a stopped wave that runs it, if there is one.
struct Place<'s, 'p, 'a> {
    /// What messages name.
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
    let place = |error: crate::Error| Failure::in_file(path, error);
    let info = program.info();
    let level = arguments.frame.unwrap_or(0);
    let frame = stop.map(|stop| frame_at(stop, level)).transpose()?;
    let frame_context = frame.map(|frame| frame.context()).transpose();
    let frame_context = frame_context.map_err(place)?;
    let mut context = match &frame_context {
        Some(frame_context) => Context {
            limits: settings.limits,
            ..frame_context.context()
        },
        None => Context {
            resolver: Some(&info),
            processor: Some(program.processor()),
            ..context(None, settings, arena)
        },
    };
    context.lane = LaneFocus::None;
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
    let (unit, unit_offset) = match unit.or_else(|| info.unit_ids().next()) {
        Some(id) => (
            info.eval_unit(id).map_err(place)?,
            info.unit_info(id).map_err(place)?.offset,
        ),
        None => (Unit::unknown(settings.encoding()), 0),
    };
    Ok(evaluate_all(&EvalRequest {
        expression,
        options,
        context: &context,
        unit,
        unit_offset,
    })?)
}

/// Evaluates a file of requests, one a line.
fn run_batch(path: &Path, limits: &Limits, out: &mut dyn Write) -> Result<Exit, Failure> {
    let wrong = |error: std::io::Error| Failure::in_file(super::input::wave_name(path), error);
    let named = (path != Path::new(STANDARD_INPUT)).then_some(path);
    let lines = Lines::open(named).map_err(wrong)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut waves = HashMap::new();
    let mut out = std::io::BufWriter::new(out);
    for line in lines {
        let line = line.map_err(wrong)?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let document = answer_line(&line, folder, limits, &mut waves);
        writeln!(out, "{}", to_json(&document)?)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

type Waves = HashMap<PathBuf, Result<Rc<Snapshot>, String>>;

/// The answer to a line; what cannot be run answers with an error.
fn answer_line(line: &[u8], folder: &Path, limits: &Limits, waves: &mut Waves) -> EvalDocument {
    let request: Result<Json, _> = serde_json::from_slice(line);
    let id = request
        .as_ref()
        .ok()
        .and_then(|request| request.get("id"))
        .map(|id| match id {
            Json::String(id) => id.clone(),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
                id.to_string()
            }
        });
    let answer = match request {
        Ok(request) => answer_request(&request, folder, limits, waves),
        Err(error) => Err(format!("not a JSON object: {error}")),
    };
    match answer {
        Ok(document) => EvalDocument { id, ..document },
        Err(message) => EvalDocument {
            format: "hetdwarf-eval/1",
            id,
            lanes: Vec::new(),
            error: Some(ErrorDocument {
                kind: "syntax",
                offset: None,
                op: None,
                message: message.into(),
            }),
        },
    }
}

fn answer_request(
    request: &Json,
    folder: &Path,
    limits: &Limits,
    waves: &mut Waves,
) -> Result<EvalDocument, String> {
    let snapshot = match field(request, "wave") {
        Some(Json::String(path)) => Some(load_wave(&folder.join(path), waves)?),
        Some(_) => return Err("wave: expected a path".to_owned()),
        None => None,
    };
    let wave_size = snapshot
        .as_ref()
        .map_or(WaveSize::Wave64, |snapshot| snapshot.wave_size());
    let expression = source(request).ok_or("expr or hex: expected an expression")?;
    let lanes = match field(request, "lane") {
        None => focus(snapshot.as_deref()),
        Some(lane) => {
            let text = lane
                .as_str()
                .map_or_else(|| lane.to_string(), str::to_owned);
            chosen_lanes(Some(&text), wave_size)
                .map_err(|failure| failure.to_string())?
                .unwrap_or_default()
        }
    };
    let options = EvalOptions {
        lanes,
        result: match field(request, "result").and_then(Json::as_str) {
            None | Some("any") => ResultKind::Any,
            Some("location") => ResultKind::Location,
            Some("value") => ResultKind::Value,
            Some(other) => {
                return Err(format!(
                    "result: expected location, value or any, found {other}"
                ));
            }
        },
        read: number(request, "read")?,
        initial_stack: match field(request, "initial_stack") {
            None => Vec::new(),
            Some(list) => list
                .as_array()
                .and_then(|list| list.iter().map(entry).collect::<Option<Vec<_>>>())
                .ok_or("initial_stack: expected a list of expressions")?,
        },
        object_location: match field(request, "object_location") {
            None => None,
            Some(object) => Some(entry(object).ok_or("object_location: expected an expression")?),
        },
    };
    let small = |name: &str| {
        number(request, name)?
            .map(|n| u32::try_from(n).map_err(|_| format!("{name}: too large")))
            .transpose()
    };
    let mut limits = *limits;
    limits.steps = small("max_steps")?.unwrap_or(limits.steps);
    let settings = Settings {
        address_size: small("address_size")?
            .and_then(|size| u8::try_from(size).ok())
            .unwrap_or(8),
        limits,
        tolerant: field(request, "tolerant")
            .and_then(Json::as_bool)
            .unwrap_or(false),
    };
    let arena = Arena::new();
    let context = context(snapshot.as_deref(), &settings, &arena);
    let unit = Unit::unknown(settings.encoding());
    evaluate_all(&EvalRequest {
        expression: &expression,
        options: &options,
        context: &context,
        unit,
        unit_offset: 0,
    })
    .map_err(|error| error.to_string())
}

/// A field that is there and not null.
fn field<'j>(request: &'j Json, name: &str) -> Option<&'j Json> {
    request.get(name).filter(|value| !value.is_null())
}

/// A number, or a string that is one.
fn number(request: &Json, name: &str) -> Result<Option<u64>, String> {
    let Some(value) = field(request, name) else {
        return Ok(None);
    };
    let number = match value.as_str() {
        Some(text) => match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
        None => value.as_u64(),
    };
    number
        .map(Some)
        .ok_or_else(|| format!("{name}: expected a number"))
}

/// An expression: an object with `hex` or `expr`, or its text.
fn entry(value: &Json) -> Option<Source> {
    match value.as_str() {
        Some(text) => Some(Source::Text(text.to_owned())),
        None => source(value),
    }
}

fn source(request: &Json) -> Option<Source> {
    let text = |name| field(request, name).and_then(Json::as_str);
    match (text("hex"), text("expr")) {
        (Some(hex), _) => parse_hex_bytes(hex).map(Source::Bytes),
        (None, Some(text)) => Some(Source::Text(text.to_owned())),
        (None, None) => None,
    }
}

fn load_wave(path: &Path, waves: &mut Waves) -> Result<Rc<Snapshot>, String> {
    let load = || {
        read_wave_file(path, Input::WaveOfBatch)
            .map(Rc::new)
            .map_err(|failure| failure.to_string())
    };
    waves.entry(path.to_owned()).or_insert_with(load).clone()
}

/// The answers, for people.
fn print(document: &EvalDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let several = document.lanes.len() > 1;
    for lane in &document.lanes {
        if several && let Some(lane) = lane.lane {
            write!(out, "lane {lane:2}: ")?;
        }
        print_lane(lane, out)?;
    }
    Ok(())
}

fn print_lane(lane: &EvalLane, out: &mut dyn Write) -> Result<(), Failure> {
    match &lane.result {
        Some(ResultDocument::Value { ty, bytes }) => {
            let value = little_endian(bytes);
            write!(
                out,
                "value {value} ({} of {} bits)",
                ty.encoding, ty.bit_size
            )?;
        }
        Some(ResultDocument::Location { places }) => {
            let places: Vec<String> = places.iter().map(place_text).collect();
            write!(out, "{}", places.join(" and "))?;
        }
        None => {}
    }
    if let Some(read) = &lane.read {
        write!(out, ": {}", read.bytes)?;
        for (name, ranges) in [
            ("undefined", &read.undefined),
            ("unavailable", &read.unavailable),
        ] {
            for [start, end] in ranges {
                write!(out, ", bits {start} to {} {name}", end.saturating_sub(1))?;
            }
        }
    }
    if let Some(error) = &lane.error {
        let style = anstyle::AnsiColor::Red.on_default();
        let separator = if lane.result.is_some() { "; " } else { "" };
        write!(
            out,
            "{separator}{style}{}{style:#}: {}",
            error.kind, error.message
        )?;
    }
    writeln!(out)?;
    Ok(())
}

/// The number that bytes in target order stand for.
fn little_endian(hex: &str) -> String {
    let bytes = parse_hex_bytes(hex).unwrap_or_default();
    let value = bytes
        .iter()
        .rev()
        .fold(0u128, |value, byte| value << 8 | u128::from(*byte));
    format!("{value:#x}")
}

fn place_text(place: &PlaceDocument) -> String {
    let bits = |bit_offset: u128| {
        if bit_offset.is_multiple_of(8) {
            format!("{:#x}", bit_offset / 8)
        } else {
            format!("{:#x}+{} bits", bit_offset / 8, bit_offset % 8)
        }
    };
    match place {
        PlaceDocument::Undefined => "undefined".to_owned(),
        PlaceDocument::Memory {
            address_space,
            bit_offset,
            lane,
        } => match lane {
            Some(lane) => format!("{address_space}#{} of lane {lane}", bits(bit_offset.0)),
            None => format!("{address_space}#{}", bits(bit_offset.0)),
        },
        PlaceDocument::Register {
            register,
            bit_offset,
            ..
        } if *bit_offset == 0 => register.clone(),
        PlaceDocument::Register {
            register,
            bit_offset,
            ..
        } => format!("{register} from byte {}", bits((*bit_offset).into())),
        PlaceDocument::Implicit {
            bytes, bit_offset, ..
        } if *bit_offset == 0 => format!("the constant {}", little_endian(bytes)),
        PlaceDocument::Implicit {
            bytes, bit_offset, ..
        } => {
            format!(
                "the constant {} from byte {}",
                little_endian(bytes),
                bits((*bit_offset).into())
            )
        }
        PlaceDocument::ImplicitPointer {
            die, byte_offset, ..
        } => {
            format!(
                "a pointer that was optimised away, to {:#x}{byte_offset:+}",
                die.0
            )
        }
        PlaceDocument::Composite {
            bit_size,
            parts,
            bit_offset,
            ..
        } => {
            let start = if bit_offset.0 == 0 {
                String::new()
            } else {
                format!(" from byte {}", bits(bit_offset.0))
            };
            format!("{} bits in {} parts{start}", bit_size.0, parts.len())
        }
    }
}
