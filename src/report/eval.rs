//! `hetdwarf-eval/1`: the result of an expression in one or more lanes.

use serde::Serialize;

use super::ErrorDocument;
use super::number::hex_bytes;
use super::place::{PlaceDocument, places};
use crate::arch::{Lane, WaveSize};
use crate::error::{Error, Result};
use crate::eval::{Context, ExpressionBytes, LaneFocus, Outcome, ResultKind, Unit, evaluate};
use crate::expr::{Dialect, Encoding, ParseOptions, parse};
use crate::location::{Access, Bits, Location, read};
use crate::meter::Meter;

/// The maximum number of composite parts that are listed for all lanes together.
const MOST_PARTS: u64 = 1 << 14;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct EvalDocument {
    /// `hetdwarf-eval/1`.
    pub format: &'static str,
    /// The id of the request, as the request gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<serde_json::Value>,
    /// One answer for each lane.
    pub lanes: Vec<EvalLane>,
    /// The reason why there is no answer at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorDocument>,
}

impl EvalDocument {
    /// Returns the document of a malformed request.
    ///
    /// * `message`: describes the mistake in the request.
    #[must_use]
    pub fn not_understood(message: String) -> EvalDocument {
        EvalDocument {
            format: "hetdwarf-eval/1",
            id: None,
            lanes: Vec::new(),
            error: Some(ErrorDocument {
                kind: "syntax",
                offset: None,
                op: None,
                message: message.into(),
            }),
        }
    }
}

/// The answer for a lane.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct EvalLane {
    /// The lane; null if no lane is in focus.
    pub lane: Option<u8>,
    /// The position of the work-item in the grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_item: Option<[u32; 3]>,
    /// The result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultDocument>,
    /// The bits at the location, or of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<ReadDocument>,
    /// The reason why there is no result, or why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorDocument>,
}

/// A result.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ResultDocument {
    /// A location.
    Location {
        /// The places.
        places: Vec<PlaceDocument>,
    },
    /// A value.
    Value {
        /// The type.
        #[serde(rename = "type")]
        ty: TypeDocument,
        /// The bytes.
        bytes: String,
    },
}

/// The type of a value.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TypeDocument {
    /// `generic`, `signed`, `unsigned`, `float`, `boolean`, …
    pub encoding: &'static str,
    /// The size of the type in bits.
    pub bit_size: u32,
}

/// The bits that were read.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct ReadDocument {
    /// The number of bits.
    pub bit_size: u64,
    /// The bits. Bits without a known value are zero.
    pub bytes: String,
    /// Half-open ranges of bits without a value.
    pub undefined: Vec<[u64; 2]>,
    /// Half-open ranges of bits whose value is not known.
    pub unavailable: Vec<[u64; 2]>,
}

impl From<&Bits> for ReadDocument {
    fn from(bits: &Bits) -> ReadDocument {
        ReadDocument {
            bit_size: bits.bit_size,
            bytes: hex_bytes(&bits.bytes),
            undefined: bits
                .undefined
                .ranges()
                .iter()
                .map(|r| [r.start, r.end])
                .collect(),
            unavailable: bits
                .unavailable
                .ranges()
                .iter()
                .map(|r| [r.start, r.end])
                .collect(),
        }
    }
}

/// An expression, in either form.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The text, in the syntax of llvm-dwarfdump.
    Text(String),
    /// The encoded bytes.
    Bytes(Vec<u8>),
}

impl Source {
    /// Returns the bytes in `encoding`, which must have a code for every operation that the text may name.
    fn bytes(&self, encoding: Encoding, wave_size: WaveSize, unit_offset: u64) -> Result<Vec<u8>> {
        match self {
            Source::Bytes(bytes) => Ok(bytes.clone()),
            Source::Text(text) => {
                let options = ParseOptions {
                    wave_size,
                    encoding,
                    unit_offset,
                };
                parse(text, &options)?.encode(encoding)
            }
        }
    }
}

/// The options of an evaluation.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvalOptions {
    /// The lanes for which the expression is evaluated, one after the other. If the list is empty, it is evaluated once without a lane in focus.
    pub lanes: Vec<Lane>,
    /// The kind of result.
    pub result: ResultKind,
    /// The number of bits to read at the location, or of the value.
    pub read: Option<u64>,
    /// The expressions whose results are pushed first, in order.
    pub initial_stack: Vec<Source>,
    /// The current object.
    pub object_location: Option<Source>,
}

/// An expression with the context of its evaluation.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct EvalRequest<'r, 'c, 'a> {
    /// The expression.
    pub expression: &'r Source,
    /// The options of the evaluation.
    pub options: &'r EvalOptions,
    /// The context of the evaluation. The options override its lane, its object and its initial stack.
    pub context: &'r Context<'c, 'a>,
    /// The unit that references in the expression are relative to.
    pub unit: Unit,
    /// The offset of that unit's header in `.debug_info`.
    pub unit_offset: u64,
}

impl<'r, 'c, 'a> EvalRequest<'r, 'c, 'a> {
    /// Creates a request for an expression of the unit whose header is at `unit_offset` of `.debug_info`.
    #[must_use]
    pub fn new(
        expression: &'r Source,
        options: &'r EvalOptions,
        context: &'r Context<'c, 'a>,
        unit: Unit,
        unit_offset: u64,
    ) -> EvalRequest<'r, 'c, 'a> {
        EvalRequest {
            expression,
            options,
            context,
            unit,
            unit_offset,
        }
    }
}

/// An error in the expressions of a request, which cannot be parsed.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    /// The field of the request: `expr`, `initial_stack` or `object_location`.
    pub field: &'static str,
    /// The error.
    pub error: Error,
}

impl core::error::Error for SourceError {}

impl core::fmt::Display for SourceError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {}", self.field, self.error)
    }
}

/// Evaluates a request.
///
/// # Errors
/// If the text of an expression cannot be parsed. All other errors are in the document.
pub fn evaluate_all(request: &EvalRequest<'_, '_, '_>) -> Result<EvalDocument, SourceError> {
    let wave_size = request
        .context
        .wave
        .map_or(WaveSize::Wave64, |wave| wave.wave_size());
    let parse = |field: &'static str, source: &Source| {
        // Text may name operations without a code in the unit's encoding, so it is encoded with codes for in-memory use. Bytes are decoded in
        // their own dialect. In the current dialect, bytes may contain in-memory codes too.
        let encoding = match (source, request.unit.encoding.dialect) {
            (Source::Text(_), _) | (Source::Bytes(_), Dialect::User) => {
                request.unit.encoding.in_memory()
            }
            (Source::Bytes(_), _) => request.unit.encoding,
        };
        let unit = Unit {
            encoding,
            ..request.unit
        };
        let bytes = source.bytes(unit.encoding, wave_size, request.unit_offset);
        let bytes = bytes.map_err(|error| SourceError { field, error })?;
        let bytes = request.context.arena.keep(bytes);
        Ok::<_, SourceError>(ExpressionBytes::alone(bytes, unit))
    };
    let options = request.options;
    let expression = parse("expr", request.expression)?;
    let initial: Vec<ExpressionBytes<'_>> = options
        .initial_stack
        .iter()
        .map(|source| parse("initial_stack", source))
        .collect::<Result<_, _>>()?;
    let object = options.object_location.as_ref();
    let object = object
        .map(|source| parse("object_location", source))
        .transpose()?;
    let lanes: Vec<Option<Lane>> = if options.lanes.is_empty() {
        vec![None]
    } else {
        options.lanes.iter().copied().map(Some).collect()
    };
    let mut answers = Vec::with_capacity(lanes.len());
    let mut reading = Reading {
        bits: options.read,
        lanes: lanes.len() as u64,
        meter: Meter::new(&request.context.limits, 0),
    };
    for lane in lanes {
        let context = Context {
            lane: lane.map_or(LaneFocus::None, LaneFocus::One),
            ..*request.context
        };
        answers.push(answer(
            expression,
            &initial,
            object,
            options,
            lane,
            &context,
            &mut reading,
        ));
    }
    Ok(EvalDocument {
        format: "hetdwarf-eval/1",
        id: None,
        lanes: answers,
        error: None,
    })
}

fn answer<'a>(
    expression: ExpressionBytes<'a>,
    initial: &[ExpressionBytes<'a>],
    object: Option<ExpressionBytes<'a>>,
    options: &EvalOptions,
    lane: Option<Lane>,
    context: &Context<'_, 'a>,
    reading: &mut Reading,
) -> EvalLane {
    let outcome = evaluate_one(expression, initial, object, options, context);
    let number = lane.map(|lane| lane.0);
    let work_item = lane.and_then(|lane| context.wave?.work_item(lane));
    match outcome {
        Err(error) => EvalLane {
            lane: number,
            work_item,
            result: None,
            read: None,
            error: Some((&error).into()),
        },
        Ok(outcome) => {
            let read = reading.read(&outcome, lane, context).transpose();
            let error = read.as_ref().err().map(ErrorDocument::from);
            let read = read.ok().flatten();
            EvalLane {
                lane: number,
                work_item,
                result: Some(result_document(&outcome, lane, reading.parts())),
                read,
                error,
            }
        }
    }
}

fn evaluate_one<'a>(
    expression: ExpressionBytes<'a>,
    initial: &[ExpressionBytes<'a>],
    object: Option<ExpressionBytes<'a>>,
    options: &EvalOptions,
    context: &Context<'_, 'a>,
) -> Result<Outcome<'a>> {
    let stack: Vec<Outcome<'a>> = initial
        .iter()
        .map(|entry| evaluate(entry, ResultKind::Any, context))
        .collect::<Result<_>>()?;
    let object = match object {
        Some(object) => match evaluate(&object, ResultKind::Location, context)? {
            Outcome::Location(location) => Some(location),
            Outcome::Value(_) => None,
        },
        None => context.object,
    };
    let context = Context {
        initial_stack: &stack,
        object,
        ..*context
    };
    evaluate(&expression, options.result, &context)
}

/// The number of bits to read for each lane, and the meter for all lanes together.
struct Reading {
    /// The number of bits, if reading was requested.
    bits: Option<u64>,
    lanes: u64,
    meter: Meter,
}

impl Reading {
    /// Returns the maximum number of composite parts that are listed for one lane.
    fn parts(&self) -> u32 {
        let most = MOST_PARTS.checked_div(self.lanes).unwrap_or(MOST_PARTS);
        u32::try_from(most).unwrap_or(u32::MAX)
    }

    /// Returns the bits at a location, or of a value. Returns `None` if reading was not requested.
    fn read(
        &mut self,
        outcome: &Outcome<'_>,
        lane: Option<Lane>,
        context: &Context<'_, '_>,
    ) -> Option<Result<ReadDocument>> {
        let bits = self.bits?;
        // Memory is held for the bytes, their text, and the text in the document. It is charged for all lanes at once, so that all lanes have the
        // same error.
        let size = bits.saturating_mul(self.lanes) / 2;
        if let Err(error) = self.meter.hold(size) {
            return Some(Err(error));
        }
        self.meter.release(size);
        let location = match outcome {
            Outcome::Location(location) => *location,
            Outcome::Value(value) => {
                let bit_size = u16::try_from(value.base_type.bit_size).unwrap_or(u16::MAX);
                let storage = crate::location::Storage::Value {
                    bits: value.bits,
                    bit_size,
                };
                Location::One(crate::location::Place::new(storage, 0))
            }
        };
        let access = Access {
            wave: context.wave.unwrap_or(&NoWave),
            lane,
            max_bits: context.limits.bits,
            meter: Some(&self.meter),
        };
        let read = read(&location, bits, &access);
        Some(read.map(|bits| ReadDocument::from(&bits)))
    }
}

/// A wave without any known state. It serves to read constants.
struct NoWave;

impl crate::wave::Wave for NoWave {
    fn wave_size(&self) -> WaveSize {
        WaveSize::Wave64
    }

    fn read_register(
        &self,
        _: crate::arch::Register,
        _: core::ops::Range<u32>,
        _: &mut [u8],
    ) -> Result<(), crate::wave::AccessError> {
        Err(crate::wave::AccessError::Unavailable)
    }

    fn read_memory(
        &self,
        _: crate::wave::Memory,
        _: u64,
        _: &mut [u8],
    ) -> Result<(), crate::wave::AccessError> {
        Err(crate::wave::AccessError::Unavailable)
    }
}

fn result_document(outcome: &Outcome<'_>, lane: Option<Lane>, parts: u32) -> ResultDocument {
    match outcome {
        Outcome::Location(location) => ResultDocument::Location {
            places: places(location, lane, parts),
        },
        Outcome::Value(value) => ResultDocument::Value {
            ty: TypeDocument {
                encoding: value.base_type.encoding.name(),
                bit_size: value.base_type.bit_size,
            },
            bytes: hex_bytes(&value.to_bytes()),
        },
    }
}
