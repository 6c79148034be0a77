//! Evaluates an expression from the caller's inputs and its context.

use std::sync::Arc;

use hetdwarf::arch::{Lane, WaveSize};
use hetdwarf::eval::{Context, ExpressionBytes, LaneFocus, Outcome, ResultKind, Unit, evaluate};
use hetdwarf::expr::{Encoding, ParseOptions, parse};
use hetdwarf::location::{Arena, Location};
use hetdwarf::wave::Wave;
use hetdwarf_owned::Pinned;

use super::result::{Answered, NoWave, home};
use super::{
    HETDWARF_RESULT_ANY, HETDWARF_RESULT_LOCATION, HETDWARF_RESULT_VALUE, HETDWARF_UNIT_OF_FRAME,
    hetdwarf_evaluation,
};
use crate::handle::{Lock, beside};
use crate::plain;
use crate::status::{Answer, Fault};
use crate::stop::{SharedStop, lane_of};
use crate::text::{Texts, given_if};

/// The starting point of an evaluation.
pub(super) struct Start {
    bytes: Option<Vec<u8>>,
    text: Option<String>,
    kind: ResultKind,
    object: Option<Location<'static>>,
    initial: Vec<Outcome<'static>>,
    /// The arenas from which object and initial stack borrow.
    arenas: Vec<Arc<Pinned<Arena<'static>>>>,
}

impl Start {
    /// # Safety
    /// The pointers meet the requirements of `hetdwarf_evaluation`.
    pub(super) unsafe fn read(given: &hetdwarf_evaluation, lock: &Arc<Lock>) -> Answer<Start> {
        let mut arenas: Vec<Arc<Pinned<Arena<'static>>>> = Vec::new();
        let mut keep = |known: &Answered| {
            for arena in &known.home.arenas {
                if !arenas.iter().any(|other| Arc::ptr_eq(other, arena)) {
                    arenas.push(Arc::clone(arena));
                }
            }
        };
        // SAFETY: the caller keeps the contract of this function.
        unsafe {
            let text = given_if(given.text, "text")?;
            let bytes = plain::bytes(given.bytes, given.length, "bytes")?;
            if text.is_some() && !bytes.is_empty() {
                return Err(Fault::argument("bytes and text are given"));
            }
            let object = match given.object.is_null() {
                true => None,
                false => Some(beside(given.object, lock, |known| {
                    keep(known);
                    known.location()
                })?),
            };
            let mut initial = Vec::new();
            if given.initial_count > 0 && given.initial.is_null() {
                return Err(Fault::argument("initial is NULL"));
            }
            for at in 0..given.initial_count {
                let entry = given.initial.add(at).read();
                initial.push(beside(entry, lock, |known| {
                    keep(known);
                    Ok(known.outcome)
                })?);
            }
            Ok(Start {
                bytes: text.is_none().then(|| bytes.to_vec()),
                text: text.map(str::to_owned),
                kind: match given.result {
                    HETDWARF_RESULT_ANY => ResultKind::Any,
                    HETDWARF_RESULT_LOCATION => ResultKind::Location,
                    HETDWARF_RESULT_VALUE => ResultKind::Value,
                    other => {
                        return Err(Fault::argument(format!(
                            "there is no kind of result {other}"
                        )));
                    }
                },
                object,
                initial,
                arenas,
            })
        }
    }

    /// Returns the expression, with its bytes in an arena.
    fn expression(
        &self,
        unit: Unit,
        unit_offset: u64,
        wave_size: WaveSize,
        arena: &'static Arena<'static>,
    ) -> Answer<ExpressionBytes<'static>> {
        let unit = Unit {
            encoding: unit.encoding.in_memory(),
            ..unit
        };
        let bytes = match (&self.text, &self.bytes) {
            (Some(text), _) => {
                let options = ParseOptions {
                    wave_size,
                    encoding: unit.encoding,
                    unit_offset,
                };
                parse(text, &options)?.encode(unit.encoding)?
            }
            (None, bytes) => bytes.clone().unwrap_or_default(),
        };
        Ok(ExpressionBytes::alone(arena.keep(bytes), unit))
    }
}

/// Evaluates an expression, in a frame if there is a stop.
pub(super) fn answer(
    given: &hetdwarf_evaluation,
    start: Start,
    stop: Option<&SharedStop>,
) -> Answer<Answered> {
    #[expect(
        clippy::arc_with_non_send_sync,
        reason = "the lock lets one thread at a time use it"
    )]
    let arena = Arc::new(Pinned::new(Arena::new()));
    // SAFETY: the result's owner drops the arena after the result.
    let place = unsafe { arena.borrow() };
    let outcome = match stop {
        Some(stop) => in_frame(given, &start, stop, place)?,
        None => {
            let context = Context::new(place)
                .with_lane(focus(lane_of(given.lane, &NoWave)?))
                .with_initial_stack(&start.initial)
                .with_object(start.object);
            let unit = Unit::unknown(Encoding::AMDGPU);
            let expression = start.expression(unit, 0, WaveSize::Wave64, place)?;
            evaluate(&expression, start.kind, &context)?
        }
    };
    let wave: &dyn Wave = stop.map_or(&NoWave, |stop| stop.stop().wave());
    let mut arenas = start.arenas;
    arenas.push(arena);
    Ok(Answered {
        outcome,
        lane: lane_of(given.lane, wave)?,
        texts: Texts::default(),
        home: home(arenas, stop.map(Arc::clone)),
    })
}

fn focus(lane: Option<Lane>) -> LaneFocus {
    lane.map_or(LaneFocus::None, LaneFocus::One)
}

/// Evaluates in a call frame, with the debugging information of its object.
fn in_frame(
    given: &hetdwarf_evaluation,
    start: &Start,
    data: &SharedStop,
    arena: &'static Arena<'static>,
) -> Answer<Outcome<'static>> {
    let frame = data.frame(given.level)?;
    let stop = data.stop();
    let wave = stop.wave();
    let info = stop.program().info();
    let of_frame = frame.context()?;
    let context = (of_frame.context())
        .with_arena(arena)
        .with_lane(focus(lane_of(given.lane, wave)?))
        .with_object(start.object)
        .with_initial_stack(&start.initial)
        // It has the limits of a single evaluation, regardless of earlier evaluations at the stop.
        .with_meter(None);
    let (unit, unit_offset) = match given.unit_offset {
        HETDWARF_UNIT_OF_FRAME => of_frame.expression_unit()?,
        offset => {
            let is_meant = |id: &_| info.unit_info(*id).is_ok_and(|unit| unit.offset == offset);
            let found = info.unit_ids().find(is_meant);
            let no_such = || Fault::not_found(format!("there is no unit at {offset:#x}"));
            (info.eval_unit(found.ok_or_else(no_such)?)?, offset)
        }
    };
    let expression = start.expression(unit, unit_offset, wave.wave_size(), arena)?;
    Ok(evaluate(&expression, start.kind, &context)?)
}
