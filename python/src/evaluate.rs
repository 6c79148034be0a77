//! Evaluates DWARF expressions, by themselves or in a frame.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use hetdwarf::arch::{Lane, LoadAddress, ProcessAddress, WaveSize};
use hetdwarf::eval::{Context, LaneFocus, Reading, ResultKind, Unit};
use hetdwarf::expr::Encoding;
use hetdwarf::inspect::StopFrame;
use hetdwarf::location::Arena;
use hetdwarf::report::{EvalOptions, EvalRequest, Source, evaluate_all};
use hetdwarf::wave::Wave;

use crate::error::Failure;
use crate::json;
use crate::wave::{self, Asked, WaveSource};

/// The arguments of an evaluation in Python.
pub struct Given<'g, 'py> {
    pub expression: &'g Bound<'py, PyAny>,
    pub lane: Option<&'g Bound<'py, PyAny>>,
    pub read: Option<u64>,
    pub result: &'g str,
    pub initial_stack: Vec<Bound<'py, PyAny>>,
    pub object_location: Option<&'g Bound<'py, PyAny>>,
}

impl Given<'_, '_> {
    /// Returns the expression, and the options of its evaluation.
    ///
    /// * size: the size of the wave.
    /// * focus: the lane if none is given.
    pub fn request(self, size: WaveSize, focus: Option<Lane>) -> PyResult<(Source, EvalOptions)> {
        let mut options = EvalOptions::default();
        options.lanes = match self.lane {
            None => focus.into_iter().collect(),
            Some(lane) => lanes(lane, size)?,
        };
        options.read = self.read;
        options.result = match self.result {
            "any" => ResultKind::Any,
            "location" => ResultKind::Location,
            "value" => ResultKind::Value,
            other => {
                let message = format!("result {other:?}: expected any, location or value");
                return Err(PyValueError::new_err(message));
            }
        };
        let initial = self.initial_stack.iter().map(source);
        options.initial_stack = initial.collect::<PyResult<_>>()?;
        options.object_location = self.object_location.map(source).transpose()?;
        Ok((source(self.expression)?, options))
    }
}

/// Reads an expression: its bytes, or its text.
fn source(expression: &Bound<'_, PyAny>) -> PyResult<Source> {
    Ok(match expression.cast::<PyBytes>() {
        Ok(bytes) => Source::Bytes(bytes.as_bytes().to_vec()),
        Err(_) => Source::Text(expression.extract()?),
    })
}

/// Reads lanes: a number, or `all`.
fn lanes(lane: &Bound<'_, PyAny>, size: WaveSize) -> PyResult<Vec<Lane>> {
    match lane.extract::<String>() {
        Ok(all) if all == "all" => Ok(wave::lanes(size)),
        Ok(other) => {
            let message = format!("lane {other:?}: expected a number or \"all\"");
            Err(Failure::Other(message).into())
        }
        Err(_) => Ok(vec![wave::lane(lane.extract()?, size)?]),
    }
}

/// Evaluates a DWARF expression: its bytes, or operations as llvm-dwarfdump prints them.
///
/// Returns the document of `hetdwarf eval --format json` for all lanes of the wave, for one lane, or without a lane in focus. `Frame.evaluate`
/// evaluates in a frame of a stop, with its registers and its debugging information.
///
/// * read: the number of bits to read at the location, or from the value.
/// * result: the required kind of the result: `any`, `location` or `value`.
/// * `initial_stack`: expressions whose results are pushed first.
/// * `object_location`: the expression of the current object's location.
///
/// ```python
/// >>> hetdwarf.evaluate("DW_OP_lit21, DW_OP_dup, DW_OP_plus, DW_OP_stack_value", read=32)["lanes"][0]["read"]["bytes"]
/// '2a000000'
///
/// ```
#[pyfunction]
#[pyo3(signature = (expression, wave = None, lane = None, read = None, *, result = "any", initial_stack = None, object_location = None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub fn evaluate(
    py: Python<'_>,
    expression: &Bound<'_, PyAny>,
    wave: Option<&Bound<'_, PyAny>>,
    lane: Option<&Bound<'_, PyAny>>,
    read: Option<u64>,
    result: &str,
    initial_stack: Option<Vec<Bound<'_, PyAny>>>,
    object_location: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let wave = wave.map(|wave| WaveSource::new(wave, None)).transpose()?;
    let size = wave.as_ref().and_then(WaveSource::wave_size);
    let size = size.unwrap_or(WaveSize::Wave64);
    let given = Given {
        expression,
        lane,
        read,
        result,
        initial_stack: initial_stack.unwrap_or_default(),
        object_location,
    };
    let focus = wave.as_ref().and_then(WaveSource::focus_lane);
    let (source, options) = given.request(size, focus)?;
    let document = py.detach(|| -> PyResult<serde_json::Value> {
        match &wave {
            Some(WaveSource::Callbacks(callbacks)) => {
                let asked = Asked::new(callbacks);
                let place = (callbacks.pc.into(), callbacks.load_address.into());
                let answer = alone(&source, &options, Some((&asked, place)));
                match asked.raised() {
                    Some(raised) => Err(raised),
                    None => Ok(answer?),
                }
            }
            Some(WaveSource::Snapshot(wave)) => {
                let place = (wave.pc(), wave.load_address);
                Ok(alone(&source, &options, Some((&**wave, place)))?)
            }
            Some(WaveSource::Core(..)) | None => Ok(alone(&source, &options, None)?),
        }
    })?;
    json::to_python(py, &document)
}

/// Evaluates without a code object. A wave adds its pc and its load address.
fn alone(
    expression: &Source,
    options: &EvalOptions,
    wave: Option<(&dyn Wave, (ProcessAddress, LoadAddress))>,
) -> Result<serde_json::Value, Failure> {
    let arena = Arena::new();
    let context = Context::new(&arena).with_reading(Reading::Strict);
    let context = match wave {
        Some((wave, (pc, load_address))) => context.with_wave(wave).stopped_at(pc, load_address),
        None => context,
    };
    let unit = Unit::unknown(Encoding::AMDGPU);
    document(&EvalRequest::new(expression, options, &context, unit, 0))
}

/// Evaluates in a frame.
pub fn in_frame(
    frame: &StopFrame<'_, '_, '_>,
    expression: &Source,
    options: &EvalOptions,
) -> Result<serde_json::Value, Failure> {
    let of_frame = frame.context()?;
    // It has the limits of a single evaluation, regardless of earlier questions.
    let context = of_frame
        .context()
        .with_lane(LaneFocus::None)
        .with_meter(None);
    let (unit, unit_offset) = of_frame.expression_unit()?;
    document(&EvalRequest::new(
        expression,
        options,
        &context,
        unit,
        unit_offset,
    ))
}

fn document(request: &EvalRequest<'_, '_, '_>) -> Result<serde_json::Value, Failure> {
    let document = evaluate_all(request).map_err(|error| Failure::Malformed(error.to_string()))?;
    json::value(serde_json::to_value(&document))
}
