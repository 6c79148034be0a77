//! Implements `eval --batch`: reads requests from a file, one per line.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::Value as Json;

use super::{Settings, context, focus};
use crate::contents::{Input, Lines, STANDARD_INPUT, input_name};
use crate::failure::{Exit, Failure};
use crate::input::read_wave_file;
use crate::lanes::chosen_lanes;
use hetdwarf::arch::WaveSize;
use hetdwarf::eval::{ResultKind, Unit};
use hetdwarf::location::Arena;
use hetdwarf::report::{
    EvalDocument, EvalOptions, EvalRequest, Source, evaluate_all, parse_hex_bytes, to_json,
};
use hetdwarf::wave::{Snapshot, Wave};

/// Evaluates a file of requests.
pub(super) fn run(path: &Path, settings: &Settings, out: &mut dyn Write) -> Result<Exit, Failure> {
    let wrong = |error: std::io::Error| Failure::in_file(input_name(path), error);
    let named = (path != Path::new(STANDARD_INPUT)).then_some(path);
    let mut lines = Lines::open(named).map_err(wrong)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut waves = HashMap::new();
    let mut out = std::io::BufWriter::new(out);
    let mut failed = false;
    while let Some(line) = lines.next() {
        let line = line.map_err(wrong)?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let document = answer_line(&line, folder, settings, &mut waves);
        failed |=
            document.error.is_some() || document.lanes.iter().any(|lane| lane.error.is_some());
        writeln!(out, "{}", to_json(&document)?)?;
        // A program that asks one question after the other waits for each answer.
        if lines.may_wait() {
            out.flush()?;
        }
    }
    out.flush()?;
    Ok(if failed { Exit::Negative } else { Exit::Done })
}

type Waves = HashMap<PathBuf, Result<Rc<Snapshot>, String>>;

/// Returns the answer to a line. A malformed request is answered with an error.
fn answer_line(line: &[u8], folder: &Path, settings: &Settings, waves: &mut Waves) -> EvalDocument {
    let request: Result<Json, _> = serde_json::from_slice(line);
    let id = request
        .as_ref()
        .ok()
        .and_then(|request| request.get("id"))
        .cloned();
    let answer = match request {
        Ok(request) => answer_request(&request, folder, settings, waves),
        Err(error) => Err(format!("not a JSON object: {error}")),
    };
    let mut document = match answer {
        Ok(document) => document,
        Err(message) => EvalDocument::not_understood(message),
    };
    document.id = id;
    document
}

fn answer_request(
    request: &Json,
    folder: &Path,
    settings: &Settings,
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
    let mut options = EvalOptions::default();
    options.lanes = lanes;
    options.result = match field(request, "result").and_then(Json::as_str) {
        None | Some("any") => ResultKind::Any,
        Some("location") => ResultKind::Location,
        Some("value") => ResultKind::Value,
        Some(other) => {
            return Err(format!(
                "result: expected location, value or any, found {other}"
            ));
        }
    };
    options.read = number(request, "read")?;
    options.initial_stack = match field(request, "initial_stack") {
        None => Vec::new(),
        Some(list) => list
            .as_array()
            .and_then(|list| list.iter().map(entry).collect::<Option<Vec<_>>>())
            .ok_or("initial_stack: expected a list of expressions")?,
    };
    options.object_location = match field(request, "object_location") {
        None => None,
        Some(object) => Some(entry(object).ok_or("object_location: expected an expression")?),
    };
    let small = |name: &str| {
        number(request, name)?
            .map(|n| u32::try_from(n).map_err(|_| format!("{name}: too large")))
            .transpose()
    };
    let mut limits = settings.limits;
    limits.steps = small("max_steps")?.unwrap_or(limits.steps);
    let settings = Settings {
        address_size: small("address_size")?
            .and_then(|size| u8::try_from(size).ok())
            .unwrap_or(8),
        limits,
        tolerant: field(request, "tolerant")
            .and_then(Json::as_bool)
            .unwrap_or(false),
        dialect: settings.dialect,
    };
    let arena = Arena::new();
    let context = context(snapshot.as_deref(), &settings, &arena);
    let unit = Unit::unknown(settings.encoding());
    evaluate_all(&EvalRequest::new(&expression, &options, &context, unit, 0))
        .map_err(|error| error.to_string())
}

/// Returns a field unless it is missing or null.
fn field<'j>(request: &'j Json, name: &str) -> Option<&'j Json> {
    request.get(name).filter(|value| !value.is_null())
}

/// Returns a number, which may also be given as a string.
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

/// Parses an expression: an object with `hex` or `expr`, or text.
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
