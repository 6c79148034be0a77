//! Describing the variables of frames, place by place and lane by lane.

use core::ops::Range;

use super::super::completeness::Completeness;
use super::super::number::{Hex, hex_bytes};
use super::children::{Lister, Value};
use super::empty::EmptyReason;
use super::places::Places;
use super::{
    DeclarationDocument, FrameVariables, IN_PROLOGUE, LaneDocument, NOT_WAITING, PER_LANE,
    VariableDocument, VarsFrame, VarsRequest, file_name, lane_message,
};
use crate::arch::Lane;
use crate::debug_info::brackets_after_name;
use crate::debug_info::types::TypeTable;
use crate::error::Result;
use crate::inspect::{StopFrame, ValueState, ValueStateKind, VariableValue};
use crate::meter::Meter;
use crate::untrusted::Untrusted;

/// Describes variables.
pub(super) struct Writer<'w> {
    request: &'w VarsRequest<'w>,
    types: TypeTable,
    meter: &'w Meter,
    /// That of the frame.
    completeness: Completeness,
}

impl<'w> Writer<'w> {
    pub(super) fn new(meter: &'w Meter, request: &'w VarsRequest<'w>) -> Writer<'w> {
        Writer {
            request,
            types: TypeTable::default(),
            meter,
            completeness: Completeness::default(),
        }
    }

    pub(super) fn frame(&mut self, frame: &StopFrame<'_, '_, '_>) -> Result<FrameVariables> {
        let Places { first, waiting } = Places::of(*frame, self.request.lanes);
        let mut found = self.place(&first.0, &first.1)?;
        for (frame, lanes) in &waiting {
            if !found.completeness.complete {
                break;
            }
            let place = self.place(frame, lanes);
            if let Some(place) = found.completeness.accept(place)? {
                if !place.completeness.complete {
                    found.completeness = place.completeness.clone();
                }
                found.waiting_lanes.push(place);
            }
        }
        Ok(found)
    }

    /// The variables of lanes that are in the same place.
    fn place(&mut self, frame: &StopFrame<'_, '_, '_>, lanes: &[Lane]) -> Result<FrameVariables> {
        self.completeness = Completeness::default();
        // It is what the answer is about, and comes first where there is not enough for all.
        let place = VarsFrame::within(frame, self.meter)?;
        let (mut values, limit) = frame.variables_within(&mut self.types, self.meter)?;
        if let Some(error) = limit {
            self.completeness.note(&error);
        }
        let filter = self.request.names;
        let wanted = |value: &VariableValue<'_>| {
            let name = value.variable.name.as_deref().unwrap_or_default();
            filter.is_none_or(|filter| (filter.matches)(name))
        };
        let all_names = if values.iter().any(&wanted) {
            Vec::new()
        } else {
            let names = values.iter().map(|value| value.variable.name.as_deref());
            names.flatten().map(str::to_owned).collect()
        };
        values.retain(&wanted);
        let in_prologue = match values.is_empty() {
            true => None,
            false => self.completeness.accept(frame.is_in_prologue())?,
        };
        let mut variables = Vec::new();
        for value in &values {
            let read = self.variable(frame, value, lanes);
            let Some(mut variable) = self.completeness.accept(read)? else {
                break;
            };
            let is_written = |lane: &LaneDocument| {
                lane.is_readable() && frame.is_written_by_prologue(value, Lane(lane.lane))
            };
            if in_prologue == Some(true) && variable.lanes.iter().any(is_written) {
                variable.note = Some(IN_PROLOGUE);
            }
            variables.push(variable);
        }
        if let Some(error) = self.meter.refused() {
            self.completeness.note(&error);
        }
        let empty = EmptyReason::find(frame, &all_names, filter, &variables);
        let (reason, message) = match self.completeness.accept(empty)?.flatten() {
            // That there are none cannot be said of what was not looked at.
            Some((EmptyReason::NoVariables, _)) if !self.completeness.complete => (None, None),
            Some((reason, message)) => (Some(reason), Some(message)),
            None => (None, None),
        };
        Ok(FrameVariables {
            pc: Hex::from(frame.pc()),
            frame: place,
            waiting: frame.is_of_waiting_lanes(),
            reason,
            message,
            completeness: self.completeness.clone(),
            variables,
            waiting_lanes: Vec::new(),
        })
    }

    fn variable(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        value: &VariableValue<'_>,
        lanes: &[Lane],
    ) -> Result<VariableDocument> {
        let variable = &value.variable;
        let name = variable.name.as_deref().unwrap_or_default();
        let scope = variable.scope.as_deref();
        for text in [name, &value.type_name, scope.unwrap_or_default()] {
            self.meter.answer(text.len())?;
        }
        self.meter.hold_all::<LaneDocument>(lanes.len())?;
        self.meter.work(lanes.len() as u64 * PER_LANE)?;
        Ok(VariableDocument {
            name: name.to_owned().into(),
            kind: variable.kind,
            ty: value.type_name.to_string().into(),
            brackets: brackets_after_name(&self.types, value.ty),
            die: Hex::from(variable.die.offset),
            decl: DeclarationDocument {
                file: file_name(variable.declaration.file.as_ref()),
                line: variable.declaration.line,
            },
            scope: scope.map(|scope| scope.to_owned().into()),
            reading: value.reading,
            note: None,
            lanes: lanes
                .iter()
                .map(|lane| self.lane(frame, value, *lane))
                .collect(),
        })
    }

    fn lane(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        value: &VariableValue<'_>,
        lane: Lane,
    ) -> LaneDocument {
        let state = value.state(lane);
        let work_item = frame.stop().wave().work_item(lane);
        let mut document = LaneDocument::of_state(lane, work_item, state.kind());
        let is_waiting = frame.is_of_waiting_lanes() && value.variable.location.is_some();
        document.message = match is_waiting && state == ValueState::OptimizedOut {
            true => Some(NOT_WAITING.into()),
            false => lane_message(value, &state).map(Untrusted::from),
        };
        if let ValueState::Error(error) = &state {
            self.completeness.note(error);
        }
        if matches!(state, ValueState::Ok | ValueState::Partial) {
            if let Err(error) = self.value(value, lane, &mut document) {
                self.completeness.note(&error);
                document.state = ValueStateKind::Error;
                document.message = Some(error.to_string().into());
            } else if value.not_understood().is_none()
                && let Err(error) = self.children(frame, value, lane, &mut document)
            {
                self.completeness.note(&error);
                document.message = Some(format!("its parts are not listed: {error}").into());
            }
        }
        document
    }

    /// Adds the parts of what a lane holds.
    fn children(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        value: &VariableValue<'_>,
        lane: Lane,
        document: &mut LaneDocument,
    ) -> Result<()> {
        let depth = self.request.children;
        let Some(bits) = value.bits(lane)?.filter(|_| depth > 0) else {
            return Ok(());
        };
        let mut lister = Lister {
            frame,
            lane,
            types: &self.types,
            options: &self.request.display,
            meter: self.meter,
        };
        let value = Value {
            ty: value.type_in(lane),
            bits: &bits,
        };
        (document.children, document.more_children) = lister.children(&value, depth)?;
        Ok(())
    }

    /// Adds what a lane holds.
    fn value(
        &mut self,
        value: &VariableValue<'_>,
        lane: Lane,
        document: &mut LaneDocument,
    ) -> Result<()> {
        let Some(bits) = value.bits(lane)? else {
            return Ok(());
        };
        let (undefined, unavailable) = (bits.undefined.ranges(), bits.unavailable.ranges());
        let ranges = undefined.len() + unavailable.len();
        let size = bits.bytes.len() * 2;
        self.meter.answer(size + ranges * 16)?;
        let text = value.text_within(lane, &self.types, &self.request.display, self.meter);
        self.meter.answer(text.as_ref().map_or(0, String::len))?;
        document.value = text;
        document.bytes = Some(hex_bytes(&bits.bytes));
        let pairs = |ranges: &[Range<u64>]| ranges.iter().map(|r| [r.start, r.end]).collect();
        document.undefined = pairs(undefined);
        document.unavailable = pairs(unavailable);
        Ok(())
    }
}
