//! Reads variables and expressions in each lane, without the interpreter.

use hetdwarf::arch::{Lane, WaveSize};
use hetdwarf::debug_info::types::{TypeId, TypeTable};
use hetdwarf::display::Options;
use hetdwarf::inspect::{StopFrame, ValueState, ValueStateKind, VariableValue};
use hetdwarf::location::{Bits, Mask};
use hetdwarf::query::{NoValue, Query, QueryError};
use hetdwarf::report::{AbsentLanes, RecoveredDocument, lane_message};

use crate::error::Failure;
use crate::wave;

/// A value in one lane.
pub struct LaneValue {
    pub state: ValueStateKind,
    pub ty: TypeId,
    pub bits: Bits,
    /// The size of a bit-field, in bits.
    pub bit_field: Option<u64>,
    /// The text, if the type and the bits alone do not determine it.
    pub text: Option<String>,
    pub message: String,
    /// The error, if the value could not be read.
    pub error: Option<hetdwarf::Error>,
    /// True if the value exceeds the size limit of one value.
    pub is_too_large: bool,
    /// The recovered value, if the debugging information does not give the value here.
    pub recovered: Option<RecoveredDocument>,
}

/// A value in all lanes, without the interpreter.
pub struct Found {
    pub name: String,
    pub kind: &'static str,
    pub ty: TypeId,
    pub type_name: String,
    pub scope: Option<String>,
    pub line: Option<u64>,
    pub reading: Option<&'static str>,
    pub is_in_prologue: bool,
    pub size: WaveSize,
    pub lanes: Vec<LaneValue>,
}

impl Found {
    fn of(
        value: &VariableValue<'_>,
        types: &TypeTable,
        frame: &StopFrame<'_, '_, '_>,
        in_prologue: bool,
    ) -> Found {
        let size = frame.wave_size();
        let lanes = wave::lanes(size).into_iter();
        Found {
            name: value
                .variable
                .name
                .as_deref()
                .unwrap_or_default()
                .to_owned(),
            kind: value.variable.kind.name(),
            ty: value.ty,
            type_name: value.type_name.to_string(),
            scope: value.variable.scope.as_deref().map(str::to_owned),
            line: value.variable.declaration.line,
            reading: Some(value.reading.name()),
            is_in_prologue: in_prologue && frame.is_written_by_prologue(value, &wave::lanes(size)),
            size,
            lanes: lanes
                .map(|lane| LaneValue::of(value, types, lane, frame))
                .collect(),
        }
    }
}

impl Found {
    /// Adds the positions of lanes that did not enter the frame.
    fn say_where(&mut self, absent: &AbsentLanes) {
        for (lane, value) in wave::lanes(self.size).into_iter().zip(&mut self.lanes) {
            if value.state == ValueStateKind::NotInFrame {
                value.message = absent
                    .message(lane)
                    .map_or(String::new(), ToString::to_string);
            }
        }
    }
}

impl LaneValue {
    fn of(
        value: &VariableValue<'_>,
        types: &TypeTable,
        lane: Lane,
        frame: &StopFrame<'_, '_, '_>,
    ) -> LaneValue {
        let state = value.state(lane);
        let message = lane_message(frame, value, &state).unwrap_or_default();
        let error = match &state {
            ValueState::Error(error) | ValueState::Unavailable(Some(error)) => Some(error.clone()),
            _ => None,
        };
        let is_readable = state.kind().is_readable();
        let bits = is_readable
            .then(|| value.bits(lane).ok().flatten())
            .flatten();
        let recovered = value.recovered().filter(|_| state.kind().is_recovered());
        // Only the stop knows the targets of implicit pointers, which have no bits.
        let text = matches!(state, ValueState::Partial)
            .then(|| value.text(lane, types, &Options::default()));
        LaneValue {
            state: state.kind(),
            ty: value.type_in(lane),
            bits: bits.unwrap_or_default(),
            bit_field: None,
            text: text.flatten(),
            message,
            error,
            is_too_large: false,
            recovered: recovered.map(|one| RecoveredDocument::new(one, frame.stop())),
        }
    }

    /// Returns the reason why the value is missing or incomplete.
    pub fn failure(&self, name: &str, lane: u8) -> Failure {
        if let Some(error) = &self.error {
            return Failure::About(format!("{name} in lane {lane}"), error.clone());
        }
        let message = match (self.state, self.message.as_str()) {
            _ if self.recovered.is_some() => format!(
                "{name} in lane {lane}: the debugging information does not give it here; earlier(lane) returns an earlier value"
            ),
            (state, "") => format!("{name} in lane {lane}: {}", state.name().replace('-', " ")),
            (_, message) => format!("{name} in lane {lane}: {message}"),
        };
        match self.state {
            _ if self.is_too_large => Failure::Limit(message),
            ValueStateKind::OptimizedOut | ValueStateKind::Entry | ValueStateKind::LastKnown => {
                Failure::OptimizedOut(message)
            }
            ValueStateKind::Unavailable => Failure::Unavailable(message),
            ValueStateKind::Ambiguous => Failure::Ambiguous(message),
            ValueStateKind::Unsupported => Failure::Unsupported(message),
            ValueStateKind::Inactive => Failure::Inactive(message),
            ValueStateKind::NotInFrame => Failure::NotInFrame(message),
            ValueStateKind::Partial => Failure::Partial {
                message,
                bytes: self.bits.bytes.clone(),
                undefined: missing(&self.bits),
            },
            _ => Failure::Other(message),
        }
    }
}

/// Returns the ranges of missing bits, for any reason.
fn missing(bits: &Bits) -> Vec<(u64, u64)> {
    let mut all = Mask::default();
    for range in bits
        .undefined
        .ranges()
        .iter()
        .chain(bits.unavailable.ranges())
    {
        all.insert(range.clone());
    }
    all.ranges()
        .iter()
        .map(|range| (range.start, range.end))
        .collect()
}

/// Reads the variables of a frame.
pub fn variables(frame: &StopFrame<'_, '_, '_>) -> Result<(Vec<Found>, TypeTable), Failure> {
    let mut types = TypeTable::default();
    let values = frame.variables(&mut types)?;
    let size = frame.wave_size();
    let absent = AbsentLanes::find(frame, &wave::lanes(size))?;
    let in_prologue = !values.is_empty() && frame.is_in_prologue()?;
    let mut found: Vec<Found> = values
        .iter()
        .map(|value| Found::of(value, &types, frame, in_prologue))
        .collect();
    for variable in &mut found {
        variable.say_where(&absent);
    }
    Ok((found, types))
}

/// Evaluates a C expression in all lanes.
pub fn expression(
    frame: &StopFrame<'_, '_, '_>,
    text: &str,
) -> Result<(Found, TypeTable), Failure> {
    let mut query = Query::new(*frame)?;
    let size = frame.wave_size();
    let answer = query.evaluate(text, &wave::lanes(size));
    let answer = answer.map_err(|error| wrong_expression(text, &error))?;
    let lanes = answer.lanes.iter().map(|lane| {
        let state = lane.state();
        LaneValue {
            state,
            ty: lane.ty,
            bits: lane.value.clone().unwrap_or_default(),
            bit_field: lane.bit_field,
            text: (state == ValueStateKind::Partial || lane.bit_field.is_some())
                .then(|| query.text(lane, &Options::default()))
                .flatten(),
            message: lane.message().unwrap_or_default(),
            error: match &lane.value {
                Err(NoValue::Variable {
                    state: ValueState::Error(error) | ValueState::Unavailable(Some(error)),
                    ..
                }) => Some(error.clone()),
                _ => None,
            },
            is_too_large: matches!(lane.value, Err(NoValue::TooLarge { .. })),
            recovered: (lane.recovered()).map(|one| RecoveredDocument::new(one, frame.stop())),
        }
    });
    let mut found = Found {
        name: text.to_owned(),
        kind: "expression",
        ty: answer.ty,
        type_name: answer.type_name.clone(),
        scope: None,
        line: None,
        reading: None,
        is_in_prologue: answer.is_in_prologue,
        size,
        lanes: lanes.collect(),
    };
    found.say_where(&AbsentLanes::find(frame, &wave::lanes(size))?);
    Ok((found, query.types().clone()))
}

/// Returns the failure for an expression that cannot be parsed or typed.
pub fn wrong_expression(text: &str, error: &QueryError) -> Failure {
    Failure::Malformed(format!(
        "{text}: {} (at offset {})",
        error.kind, error.offset
    ))
}
