//! Describes the variables of frames, by program location and lane.

use core::ops::Range;

use super::super::absent::AbsentLanes;
use super::super::completeness::Completeness;
use super::super::frame::{FrameDocument, path};
use super::super::number::{Hex, hex_bytes};
use super::children::Lister;
use super::empty::EmptyReason;
use super::places::Places;
use super::{
    DeclarationDocument, EXEC_UNKNOWN, FrameVariables, HiddenDocument, LaneDocument, NOT_WAITING,
    PER_LANE, RecoveredDocuments, TypeText, ValueNote, ValueText, VariableDocument, VarsRequest,
    lane_message,
};
use crate::arch::Lane;
use crate::debug_info::brackets_after_name;
use crate::debug_info::types::TypeTable;
use crate::error::Result;
use crate::inspect::{LaneTexts, StopFrame, ValueState, ValueStateKind, VariableValue};
use crate::meter::Meter;
use crate::tree::Tree;
use crate::untrusted::Untrusted;

/// Describes variables.
pub(super) struct Writer<'w> {
    request: &'w VarsRequest<'w>,
    meter: &'w Meter,
    /// The places of lanes that did not enter the function.
    absent: AbsentLanes,
    recovered: RecoveredDocuments,
    /// The completeness of the description since it was last taken.
    pub(super) completeness: Completeness,
}

impl<'w> Writer<'w> {
    pub(super) fn new(meter: &'w Meter, request: &'w VarsRequest<'w>) -> Writer<'w> {
        Writer {
            request,
            meter,
            absent: AbsentLanes::default(),
            recovered: RecoveredDocuments::default(),
            completeness: Completeness::default(),
        }
    }

    /// Describes a call frame with its inlined calls, or one of these parts. Also describes the frames of requested lanes that wait elsewhere in it.
    pub(super) fn frames(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        types: &mut TypeTable,
    ) -> Result<Vec<FrameVariables>> {
        let Places { first, waiting } = Places::of(*frame, self.request.lanes);
        let mut found = self.place(&first.0, &first.1, types)?;
        for (frame, lanes) in &waiting {
            if !self.completeness.complete {
                break;
            }
            let place = self.place(frame, lanes, types);
            if let Some(place) = self.completeness.accept(place)?
                && let Some(last) = found.last_mut()
            {
                last.waiting_lanes.extend(place);
            }
        }
        Ok(found)
    }

    /// Describes the variables of lanes that are at the same place.
    fn place(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        lanes: &[Lane],
        types: &mut TypeTable,
    ) -> Result<Vec<FrameVariables>> {
        // The frames are described first, because they are the main part of the answer if the budget does not suffice for all.
        let parts = FrameDocument::parts(frame, self.meter)?;
        let (mut values, limit) = frame.variables_and_limit(types)?;
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
        self.absent = self
            .completeness
            .accept(AbsentLanes::find(frame, lanes))?
            .unwrap_or_default();
        let in_prologue = match values.is_empty() {
            true => None,
            false => self.completeness.accept(frame.is_in_prologue())?,
        };
        let tree = match self.request.children {
            0 => None,
            _ => Some(Tree::of_frame(*frame)?),
        };
        // If the frame is only a part of a call frame, only its own variables were read.
        let part_of = |value: &VariableValue<'_>| match frame.is_whole() {
            true => value.depth(),
            false => 0,
        };
        let mut documents: Vec<Vec<VariableDocument>> = parts.iter().map(|_| Vec::new()).collect();
        for value in &values {
            let read = self.variable((frame, tree.as_ref()), value, lanes, types);
            let Some(mut variable) = self.completeness.accept(read)? else {
                break;
            };
            if in_prologue == Some(true) && frame.is_written_by_prologue(value, lanes) {
                variable.note = Some(ValueNote::Prologue);
            }
            if let Some(documents) = documents.get_mut(part_of(value)) {
                documents.push(variable);
            }
        }
        if let Some(error) = self.meter.refused() {
            self.completeness.note(&error);
        }
        let empty = EmptyReason::find(frame, &all_names, filter, &documents);
        let empty = match self.completeness.accept(empty)?.flatten() {
            // An incomplete search does not prove that there are no variables.
            Some((EmptyReason::NoVariables, _)) if !self.completeness.complete => None,
            found => found,
        };
        let is_exec_unknown = frame.call_frame().level() == 0 && frame.exec().is_none();
        let frames = parts.into_iter().zip(documents);
        let mut frames: Vec<FrameVariables> = frames
            .map(|(place, variables)| FrameVariables {
                waiting: frame.is_of_waiting_lanes(),
                note: is_exec_unknown.then_some(EXEC_UNKNOWN),
                ..FrameVariables::new(place, variables)
            })
            .collect();
        // A request for variables by name does not ask for initial registers.
        let entry = match filter {
            None => self.completeness.accept(frame.initial_registers())?,
            Some(_) => None,
        };
        let hidden = match self.request.hidden {
            true => self.completeness.accept(frame.hidden_arguments())?,
            false => None,
        };
        if let Some(last) = frames.last_mut() {
            let hidden = hidden.iter().flatten();
            last.hidden = hidden.map(HiddenDocument::new).collect();
            (last.reason, last.message) = empty.unzip();
            last.entry = entry.unwrap_or_default();
        }
        Ok(frames)
    }

    fn variable<'p>(
        &mut self,
        (frame, tree): (&StopFrame<'_, 'p, '_>, Option<&Tree<'_, 'p, '_>>),
        value: &VariableValue<'p>,
        lanes: &[Lane],
        types: &mut TypeTable,
    ) -> Result<VariableDocument> {
        let variable = &value.variable;
        let name = variable.name.as_deref().unwrap_or_default();
        let scope = variable.scope.as_deref();
        for text in [name, &value.type_name, scope.unwrap_or_default()] {
            self.meter.charge_text(text.len())?;
        }
        self.meter.hold_all::<LaneDocument>(lanes.len())?;
        self.meter.work(lanes.len() as u64 * PER_LANE)?;
        let mut text = String::new();
        let mut texts = value.texts(types, &self.request.display, &mut text);
        let mut why = None;
        let documents = lanes.iter();
        let documents = documents.map(|lane| self.lane(frame, value, *lane, &mut texts, &mut why));
        let mut documents: Vec<LaneDocument> = documents.collect();
        if let Some(tree) = tree {
            for document in documents.iter_mut().filter(|lane| lane.is_readable()) {
                if let Err(error) = self.children(tree, value, document, types) {
                    self.completeness.note(&error);
                    document.message = Some(format!("its members are not listed: {error}").into());
                }
            }
        }
        let brackets = brackets_after_name(types, value.ty);
        let ty = TypeText::new(value.type_name.to_string(), brackets);
        Ok(VariableDocument {
            die: Hex::from(variable.die.offset),
            decl: DeclarationDocument {
                file: variable.declaration.file.as_ref().map(path),
                line: variable.declaration.line,
            },
            scope: scope.map(|scope| scope.to_owned().into()),
            reading: value.reading,
            lanes: documents,
            ..VariableDocument::new(name.to_owned().into(), variable.kind, ty)
        })
    }

    /// Describes a variable in a lane.
    ///
    /// * `why`: the reason why the variable has no location, once a lane needed it.
    fn lane(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        value: &VariableValue<'_>,
        lane: Lane,
        texts: &mut LaneTexts<'_>,
        why: &mut Option<Untrusted<'static>>,
    ) -> LaneDocument {
        let state = value.state(lane);
        let work_item = frame.stop().wave().work_item(lane);
        let mut document = LaneDocument::of_state(lane, work_item, state.kind());
        let is_waiting = frame.is_of_waiting_lanes() && value.variable.location.is_some();
        document.message = if state == ValueState::NotInFrame {
            self.absent.message(lane).cloned()
        } else if state == ValueState::OptimizedOut && is_waiting {
            Some(NOT_WAITING.into())
        } else if state == ValueState::OptimizedOut {
            let why = why.get_or_insert_with(|| frame.no_location(value).into());
            Some(why.clone())
        } else {
            lane_message(frame, value, &state).map(Untrusted::from)
        };
        if let ValueState::Error(error) = &state {
            self.completeness.note(error);
        }
        if state.kind().is_recovered() {
            let recovered = value.recovered();
            document.recovered = recovered.map(|one| self.recovered.get(one, frame.stop()));
        }
        if state.kind().is_readable()
            && let Err(error) = self.value(value, lane, texts, &mut document)
        {
            self.completeness.note(&error);
            document.state = ValueStateKind::Error;
            document.message = Some(error.to_string().into());
        }
        document
    }

    /// Adds the parts of the value in a lane.
    fn children<'p>(
        &mut self,
        tree: &Tree<'_, 'p, '_>,
        value: &VariableValue<'p>,
        document: &mut LaneDocument,
        types: &mut TypeTable,
    ) -> Result<()> {
        let lane = Lane(document.lane);
        let Some((node, bits)) = tree.root(value, lane)? else {
            return Ok(());
        };
        let lister = Lister {
            tree,
            options: &self.request.display,
        };
        let depth = self.request.children;
        let found = lister.children(&node, &bits, types, depth)?;
        (document.children, document.more_children) = found;
        Ok(())
    }

    /// Adds the value in a lane.
    fn value(
        &mut self,
        value: &VariableValue<'_>,
        lane: Lane,
        texts: &mut LaneTexts<'_>,
        document: &mut LaneDocument,
    ) -> Result<()> {
        let Some(bits) = value.bits(lane)? else {
            return Ok(());
        };
        let (undefined, unavailable) = (bits.undefined.ranges(), bits.unavailable.ranges());
        let ranges = undefined.len() + unavailable.len();
        let size = bits.bytes.len() * 2;
        self.meter.charge_text(size + ranges * 16)?;
        if let Some((text, marks)) = texts.marked(lane, self.meter) {
            self.meter.charge_text(text.len() + size_of_val(marks))?;
            document.value = Some(ValueText::new(text, marks));
        }
        document.bytes = Some(hex_bytes(&bits.bytes));
        let pairs = |ranges: &[Range<u64>]| ranges.iter().map(|r| [r.start, r.end]).collect();
        document.undefined = pairs(undefined);
        document.unavailable = pairs(unavailable);
        Ok(())
    }
}
