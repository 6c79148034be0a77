//! Collects the data for the panel of a wave: the places of its lanes, its stack, and the variables of each frame.
//!
//! The data comes from [`LanePcDocument`] and [`VarsDocument`], with each different value stored once. Most lanes share a few places and values.

use std::collections::BTreeMap;

use serde::Serialize;

use super::source::{SourcePlace, Sources};
use crate::arch::ProcessAddress;
use crate::debug_info::VariableKind;
use crate::inspect::{FrameKind, LaneOrigin, Stop, StopFrame, ValueStateKind};
use crate::meter::Meter;
use crate::report::core::own_frame;
use crate::report::lane_pc::{LanePcLane, Lines};
use crate::report::{
    Hex, LanePcDocument, TypeText, ValueNote, VariableDocument, VarsDocument, VarsRequest,
};
use crate::untrusted::Untrusted;

/// The maximum number of frames that are shown of a stack. The frames further out are counted.
const FRAMES: usize = 24;
/// The maximum number of variables that are shown of a frame.
const VARIABLES: usize = 200;

/// The details of a wave.
#[derive(Default, Serialize)]
pub(super) struct WaveDetail {
    /// The places of the lanes, each once.
    places: Vec<PlaceDetail>,
    /// The index in `places` for each lane.
    lanes: Vec<usize>,
    /// The work-item in the grid for each lane; empty if it is not known.
    items: Vec<[u32; 3]>,
    frames: Vec<FrameDetail>,
    /// The number of frames that are not shown.
    more_frames: usize,
    /// The number of the innermost frame in the user's own code.
    own: usize,
    /// The reason why the stack ends.
    end: Option<Untrusted<'static>>,
    /// Notes on missing facts.
    notes: Vec<Untrusted<'static>>,
}

/// The place of one or more lanes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct PlaceDetail {
    /// `active`, `waiting`, `elsewhere` or `unknown`.
    state: &'static str,
    /// The frame that the lanes are in, if it is known.
    frame: Option<usize>,
    pc: Option<Hex>,
    resumes: Option<Hex>,
    source: Option<SourcePlace>,
    /// The reason why the place is not known.
    reason: Option<String>,
}

#[derive(Serialize)]
struct FrameDetail {
    pc: Hex,
    kind: FrameKind,
    /// The number of the call frame that this is a part of.
    call: usize,
    function: Option<Untrusted<'static>>,
    source: Option<SourcePlace>,
    variables: Vec<VariableDetail>,
    /// The number of variables that are not shown.
    more: usize,
    message: Option<Untrusted<'static>>,
}

#[derive(Serialize)]
struct VariableDetail {
    name: Untrusted<'static>,
    #[serde(rename = "type")]
    ty: TypeText,
    kind: VariableKind,
    scope: Option<Untrusted<'static>>,
    note: Option<&'static str>,
    /// The different values, each with its state and its text.
    values: Vec<(ValueStateKind, Untrusted<'static>)>,
    /// The lanes that were evaluated, each with the index of its value.
    lanes: Vec<(u8, usize)>,
}

impl WaveDetail {
    /// Collects the details of a wave. Returns `None` if they cost more than `meter` allows.
    ///
    /// * `stop`: the stop of the wave, if its code object was found.
    pub(super) fn new(
        stop: Option<&Stop<'_, '_>>,
        sources: &mut Sources<'_>,
        meter: &Meter,
    ) -> Option<WaveDetail> {
        let mut detail = WaveDetail::default();
        let Some(stop) = stop else {
            let note =
                "its pc is in no code object that was found, so it has no stack and no variables";
            detail.notes.push(note.into());
            return Some(detail);
        };
        detail.own = own_frame(stop).map_or(0, |frame| frame.index());
        detail.end = Some(match stop.stack().error() {
            Some(error) => error.to_string().into(),
            None => stop.stopped().text().into(),
        });
        detail.lanes(stop, sources);
        meter.work(stop.meter().steps()).ok()?;
        for frame in stop.call_frames() {
            if detail.frames.len() >= FRAMES {
                break;
            }
            detail.frame(&frame, sources);
            meter.work(stop.meter().steps()).ok()?;
        }
        detail.frames.truncate(FRAMES);
        detail.more_frames = stop.frames().len().saturating_sub(detail.frames.len());
        Some(detail)
    }

    fn lanes(&mut self, stop: &Stop<'_, '_>, sources: &mut Sources<'_>) {
        let Some(frame) = stop.call_frame(0) else {
            return;
        };
        let document = match LanePcDocument::new(&frame) {
            Ok(document) => document,
            Err(error) => {
                let note = format!("the positions of inactive lanes are unknown: {error}");
                self.notes.push(note.into());
                return;
            }
        };
        self.notes.extend(document.message.clone());
        let mut lines = Lines::default();
        let mut known: BTreeMap<PlaceDetail, usize> = BTreeMap::new();
        for lane in &document.lanes {
            let place = place(lane, &frame, &mut lines, sources);
            let index = *known.entry(place).or_insert_with_key(|place| {
                self.places.push(place.clone());
                self.places.len() - 1
            });
            self.lanes.push(index);
        }
        let lanes = document.lanes.iter();
        let items: Option<Vec<[u32; 3]>> = lanes.map(|lane| lane.work_item).collect();
        self.items = items.unwrap_or_default();
    }

    /// Adds the parts of a call frame: the function and the functions that are inlined in it.
    fn frame(&mut self, frame: &StopFrame<'_, '_, '_>, sources: &mut Sources<'_>) {
        let parts: Vec<_> = match frame.parts() {
            Ok(parts) => parts.collect(),
            Err(_) => vec![frame.innermost()],
        };
        let document = VarsDocument::new(frame, &VarsRequest::default());
        let error = document.as_ref().err().map(ToString::to_string);
        let mut contents = document
            .map_or(Vec::new(), |document| document.frames)
            .into_iter();
        for part in parts {
            let description = part.description().ok();
            let content = contents.next();
            let (message, variables) = match content {
                Some(content) => (content.message, content.variables),
                None => (error.clone().map(Untrusted::from), Vec::new()),
            };
            self.frames.push(FrameDetail {
                pc: Hex::from(part.pc()),
                kind: description
                    .as_ref()
                    .map_or(FrameKind::Call, |found| found.kind),
                call: part.call_index(),
                source: description
                    .as_ref()
                    .and_then(|found| sources.want(frame, found)),
                function: description
                    .and_then(|found| found.function)
                    .map(Untrusted::from),
                message,
                more: variables.len().saturating_sub(VARIABLES),
                variables: (variables.into_iter().take(VARIABLES))
                    .map(VariableDetail::new)
                    .collect(),
            });
        }
    }
}

fn place(
    lane: &LanePcLane,
    frame: &StopFrame<'_, '_, '_>,
    lines: &mut Lines,
    sources: &mut Sources<'_>,
) -> PlaceDetail {
    let caller = lane.caller.as_ref();
    let pc = lane.pc.or(caller.map(|caller| caller.pc));
    let address = |pc: Hex| u64::try_from(pc.0).ok().map(ProcessAddress);
    // A line that cannot be read is left out.
    let found = pc.and_then(address).and_then(|pc| lines.of(frame, pc).ok());
    PlaceDetail {
        state: lane.place.name(),
        frame: match (lane.pc, caller) {
            (Some(_), _) => Some(frame.call_index()),
            (None, caller) => caller.map(|caller| caller.frame),
        },
        pc,
        resumes: (lane.place.origin())
            .and_then(LaneOrigin::resumes)
            .map(Hex::from),
        source: found.and_then(|found| sources.want(frame, &found)),
        reason: match lane.place.unknown() {
            Some(why) => Some(why.to_string()),
            None => lane.place.reason().map(str::to_owned),
        },
    }
}

impl VariableDetail {
    fn new(document: VariableDocument) -> VariableDetail {
        let mut known: BTreeMap<(ValueStateKind, String), usize> = BTreeMap::new();
        let (mut values, mut lanes) = (Vec::new(), Vec::with_capacity(document.lanes.len()));
        for lane in document.lanes {
            let text = match (lane.value, lane.message) {
                (Some(value), _) => value.to_string(),
                (None, message) => message.map_or_else(String::new, |text| text.to_string()),
            };
            let index = *known
                .entry((lane.state, text))
                .or_insert_with_key(|(state, text)| {
                    values.push((*state, text.clone().into()));
                    values.len() - 1
                });
            lanes.push((lane.lane, index));
        }
        VariableDetail {
            name: document.name,
            ty: document.ty,
            kind: document.kind,
            scope: document.scope,
            note: document.note.map(ValueNote::text),
            values,
            lanes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu_core::{GpuCore, Process};
    use crate::inspect::Programs;
    use crate::limits::Limits;
    use crate::location::Arena;

    /// Checks that the places of lanes and the variables of each frame are charged to the page's meter.
    #[test]
    fn all_of_a_wave_is_paid_for() {
        let file = include_bytes!("../../../examples/demo/demo.core");
        let core = GpuCore::open(&[file], &Limits::DEFAULT).unwrap();
        let images = core.images();
        let process = Process::open(&core, &images);
        let read = |_: &str, _: Option<&str>| None;
        let of_sources = core.meter().for_query();
        let mut sources = Sources::new(&read, &of_sources);
        let mut of_lanes = Vec::new();
        for number in 0.. {
            let Some(wave) = core.wave(number) else { break };
            // Each query uses its own programs, because programs cache the parts that they have read.
            let programs = Programs::new(&process);
            let meter = core.meter().for_query();
            let arena = Arena::new();
            let stop = programs.stop(&wave, &arena);
            WaveDetail::new(stop.as_ref(), &mut sources, &meter).unwrap();
            let programs = Programs::new(&process);
            let arena = Arena::new();
            let stop = programs.stop(&wave, &arena).unwrap();
            let mut detail = WaveDetail::default();
            detail.lanes(&stop, &mut sources);
            let lanes = stop.meter().steps();
            let mut steps = Vec::new();
            for frame in stop.call_frames().take(FRAMES) {
                detail.frame(&frame, &mut sources);
                steps.push(stop.meter().steps());
            }
            assert!(steps.len() > 1 && !steps.contains(&0), "{steps:?}");
            let expected = lanes + steps.iter().sum::<u64>();
            assert_eq!(meter.steps(), expected, "wave {number}: {lanes}, {steps:?}");
            of_lanes.push(lanes);
        }
        // The lanes of a wave cost nothing if all of them are active.
        assert!(of_lanes.iter().any(|steps| *steps > 0), "{of_lanes:?}");
    }
}
