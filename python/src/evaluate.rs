//! Evaluates DWARF expressions.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use hetdwarf::arch::{Lane, LoadAddress, ProcessAddress, WaveSize};
use hetdwarf::eval::{Context, Reading, Unit};
use hetdwarf::expr::Encoding;
use hetdwarf::location::Arena;
use hetdwarf::report::{EvalOptions, EvalRequest, Source, evaluate_all};
use hetdwarf::wave::Wave;

use crate::error::Failure;
use crate::json;
use crate::wave::{self, Asked, WaveSource};

/// Evaluates a DWARF expression: its bytes, or operations as llvm-dwarfdump prints them.
///
/// Returns the document of `hetdwarf eval --format json` for all lanes of the wave, for one lane, or without a lane in focus.
///
/// ```python
/// >>> hetdwarf.evaluate("DW_OP_lit21, DW_OP_dup, DW_OP_plus, DW_OP_stack_value", read=32)["lanes"][0]["read"]["bytes"]
/// '2a000000'
///
/// ```
#[pyfunction]
#[pyo3(signature = (expression, wave = None, lane = None, read = None))]
pub fn evaluate(
    py: Python<'_>,
    expression: &Bound<'_, PyAny>,
    wave: Option<&Bound<'_, PyAny>>,
    lane: Option<&Bound<'_, PyAny>>,
    read: Option<u64>,
) -> PyResult<Py<PyAny>> {
    let source = match expression.cast::<PyBytes>() {
        Ok(bytes) => Source::Bytes(bytes.as_bytes().to_vec()),
        Err(_) => Source::Text(expression.extract()?),
    };
    let wave = wave.map(|wave| WaveSource::new(wave, None)).transpose()?;
    let size = wave.as_ref().and_then(WaveSource::wave_size);
    let size = size.unwrap_or(WaveSize::Wave64);
    let lanes: Vec<Lane> = match lane {
        None => match &wave {
            Some(WaveSource::Snapshot(wave)) => wave.focus_lane().into_iter().collect(),
            Some(_) | None => Vec::new(),
        },
        Some(lane) => match lane.extract::<String>() {
            Ok(all) if all == "all" => wave::lanes(size),
            Ok(other) => {
                return Err(Failure::Other(format!(
                    "lane {other:?}: expected a number or \"all\""
                ))
                .into());
            }
            Err(_) => vec![wave::lane(lane.extract()?, size)?],
        },
    };
    let mut options = EvalOptions::default();
    options.lanes = lanes;
    options.read = read;
    let document = py.detach(|| -> PyResult<serde_json::Value> {
        match &wave {
            Some(WaveSource::Callbacks(callbacks)) => {
                let asked = Asked::new(callbacks);
                let place = (callbacks.pc.into(), callbacks.load_address.into());
                let answer = answer(&source, &options, Some((&asked, place)));
                match asked.raised() {
                    Some(raised) => Err(raised),
                    None => Ok(answer?),
                }
            }
            Some(WaveSource::Snapshot(wave)) => {
                let place = (wave.pc(), wave.load_address);
                Ok(answer(&source, &options, Some((&**wave, place)))?)
            }
            Some(WaveSource::Core(..)) | None => Ok(answer(&source, &options, None)?),
        }
    })?;
    json::to_python(py, &document)
}

/// Evaluates the expression for the document. A wave adds its pc and its load address.
fn answer(
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
    let request = EvalRequest::new(
        expression,
        options,
        &context,
        Unit::unknown(Encoding::AMDGPU),
        0,
    );
    let document = evaluate_all(&request).map_err(|error| Failure::Malformed(error.to_string()))?;
    serde_json::to_value(&document).map_err(|error| Failure::Other(error.to_string()))
}
