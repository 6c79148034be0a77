//! Describes the workgroups of a core: the waves that wait at a barrier, and the waves that they wait for.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde::Serialize;

use super::super::frame::FrameDocument;
use super::super::number::Hex;
use super::CoreWaveDocument;
use super::fault::frames_at;
use super::nearest::NearestDocument;
use crate::arch::{ProcessAddress, WaveSize};
use crate::error::Result;
use crate::gpu_core::CoreWave;
use crate::inspect::{LanePlace, Programs, Recovery, Stop, Whereabouts};
use crate::location::Arena;
use crate::meter::Meter;
use crate::untrusted::Untrusted;
use crate::wave::{Dispatch, Memory, Wave};

/// A workgroup with waves in the core.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct WorkgroupDocument {
    /// The workgroup id in the dispatch.
    pub workgroup: [u32; 3],
    /// The driver's number of its queue.
    pub queue_id: u32,
    /// The id of the packet that launched it.
    pub packet_id: Option<u64>,
    /// The number of its waves when it started; null if the dispatch is unknown.
    pub expected_waves: Option<u64>,
    /// The waves that wait at a barrier, by their indexes.
    pub at_barrier: Vec<usize>,
    /// The other waves that are in the core, by their indexes.
    pub elsewhere: Vec<usize>,
    /// The numbers in the workgroup of the waves that are not in the core. They have ended, or were not saved.
    pub missing: Vec<u64>,
    /// The inactive lanes of waves that wait at a barrier without all of their lanes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub divergent: Vec<DivergentDocument>,
}

/// A wave that waits at a barrier without all of its lanes.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DivergentDocument {
    /// The index.
    pub wave: usize,
    /// The lanes that are not at the barrier.
    pub lanes: Vec<u8>,
    /// The places at which these lanes go on, if known.
    pub places: Vec<OffLanesDocument>,
}

/// Lanes that are switched off while their wave waits at a barrier.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OffLanesDocument {
    /// The lanes.
    pub lanes: Vec<u8>,
    /// The address at which they go on.
    pub pc: Hex,
    /// The function, which may be an inlined one.
    pub function: Option<Untrusted<'static>>,
    /// The path of the source file.
    pub file: Option<Untrusted<'static>>,
    /// The line.
    pub line: Option<u64>,
}

/// A wave at a barrier or in a loop.
#[derive(Clone, Debug, Default)]
pub(super) struct WavePlace {
    /// The barrier at which it waits, and its innermost frame there.
    pub(super) barrier: Option<(ProcessAddress, Option<Rc<FrameDocument>>)>,
    /// The lines of the loop that contains it.
    pub(super) looping: Option<LoopLines>,
    /// The places at which inactive lanes go on while it waits at a barrier.
    pub(super) off: Vec<OffLanesDocument>,
}

/// An access that the loop around a wave makes in each pass at the same address, as a wave does that waits for a flag or a lock.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct PolledDocument {
    /// The address of the instruction in the process.
    pub pc: Hex,
    /// `load` or `atomic`.
    pub kind: &'static str,
    /// The accessed address.
    pub address: Hex,
    /// The place of the address; null if the memory of the process is not known.
    pub nearest: Option<NearestDocument>,
    /// The place of the address relative to the argument from which it was computed, as text.
    #[serde(skip)]
    from_argument: Option<Untrusted<'static>>,
    /// The base address of the access in scalar registers.
    #[serde(skip)]
    pub(super) base: Option<u64>,
    /// The value at the address.
    #[serde(skip)]
    value: Option<u64>,
}

impl PolledDocument {
    /// Finds the access. Returns `None` if registers do not prove that there is one.
    pub(super) fn find(stop: &Stop<'_, '_>) -> Option<PolledDocument> {
        // Reaching a limit leaves the access out.
        let found = stop.polled_access().ok()??;
        Some(PolledDocument {
            pc: Hex::from(found.pc),
            kind: found.operation.name(),
            address: Hex::from(found.address),
            nearest: None,
            from_argument: None,
            base: found.base,
            value: value_at(stop, found.address, found.bytes),
        })
    }

    /// Sets the place of the address.
    ///
    /// * `from_base`: its place relative to the argument that is the base of the access.
    pub(super) fn locate(
        &mut self,
        address: u64,
        found: &Whereabouts,
        from_base: Option<&Whereabouts>,
    ) {
        let from_base = from_base.map(|found| NearestDocument::new(address, found).text);
        self.from_argument = from_base;
        self.nearest = Some(NearestDocument::new(address, found));
    }

    /// Continues a sentence about the loop: ` and loads 0x…, which is 0, in each pass, in the memory that argument flag points into`.
    ///
    /// * `ending`: the ending of the verb.
    pub(super) fn text(&self, ending: &str) -> String {
        let verb = match self.kind {
            "load" => "load",
            _ => "update",
        };
        let nearest = self.nearest.as_ref().map(|nearest| &nearest.text);
        let place = self.from_argument.as_ref().or(nearest);
        let place = place.map(|place| format!(", {place}"));
        let place = place.unwrap_or_default();
        let value = self.value.map(|value| format!(", which is {value},"));
        let value = value.unwrap_or_default();
        format!(
            " and {verb}{ending} {:#x}{value} in each pass{place}",
            self.address.0
        )
    }
}

/// Reads a number in global memory. Returns `None` if it is not available, or has another size than an integer.
fn value_at(stop: &Stop<'_, '_>, address: u64, bytes: u8) -> Option<u64> {
    let mut value = [0; 8];
    let part = value.get_mut(..usize::from(bytes))?;
    let is_integer = matches!(bytes, 1 | 2 | 4 | 8);
    let read = is_integer.then(|| stop.wave().read_memory(Memory::Global, address, part))?;
    read.ok().map(|()| u64::from_le_bytes(value))
}

/// The lines of a loop, in the file of `frame`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoopLines {
    pub(super) frame: Rc<FrameDocument>,
    pub(super) first: u64,
    pub(super) last: u64,
}

/// The maximum number of instructions of a loop that are looked up.
const MOST_PLACES: u64 = 128;
/// The number of operations that are charged for a wave.
const PER_WAVE: u64 = 8;
/// The maximum number of waves at barriers whose inactive lanes are located.
const MOST_DIVERGENT: usize = 32;
/// The maximum number of waves in loops that are searched for a repeated access.
pub(super) const MOST_POLLED: usize = 32;

/// The known places of waves. The key is the code object, the address, and the pcs of the outer frames, on which loops depend.
#[derive(Debug, Default)]
pub(super) struct KnownPlaces(BTreeMap<(usize, u64, Vec<Hex>), WavePlace>);

impl KnownPlaces {
    /// Returns the place of a wave. Calls `find` for a place that is not yet known.
    pub(super) fn find(
        &mut self,
        key: (usize, u64, Vec<Hex>),
        meter: &Meter,
        find: impl FnOnce() -> WavePlace,
    ) -> WavePlace {
        if let Some(known) = self.0.get(&key) {
            return known.clone();
        }
        if meter.work(PER_WAVE).is_err() {
            return WavePlace::default();
        }
        let found = find();
        self.0.insert(key, found.clone());
        found
    }
}

/// Finds the places of waves, once for each address.
pub(super) struct WavePlaces<'w, 'p> {
    programs: &'w Programs<'p>,
    meter: &'w Meter,
    known: KnownPlaces,
    /// The number of waves whose inactive lanes were located.
    divergent: usize,
    /// The number of waves whose loops were searched for a repeated access.
    polled: usize,
}

impl<'w, 'p> WavePlaces<'w, 'p> {
    pub(super) fn new(programs: &'w Programs<'p>, meter: &'w Meter) -> WavePlaces<'w, 'p> {
        WavePlaces {
            programs,
            meter,
            known: KnownPlaces::default(),
            divergent: 0,
            polled: 0,
        }
    }

    /// Finds the place of a wave, with the lanes that are switched off.
    ///
    /// * `callers`: the pcs of the outer frames, on which loops depend.
    pub(super) fn find(&mut self, wave: &CoreWave<'_, '_>, callers: Vec<Hex>) -> WavePlace {
        let place = self.find_place(wave, callers);
        let started = Started::of(*wave);
        let is_asked = place.barrier.is_some() && started.absent() != 0;
        if !is_asked || self.divergent == MOST_DIVERGENT {
            return place;
        }
        self.divergent += 1;
        let arena = Arena::new();
        let Some(stop) = self.programs.stop(wave, &arena) else {
            return place;
        };
        let place = place.with_off_lanes(&stop, &started);
        // If the meter refuses this charge, the next wave reports it.
        let _ = self.meter.work(stop.meter().steps());
        place
    }

    /// Finds the access that the loop around a wave repeats, for a limited number of waves.
    pub(super) fn polled(
        &mut self,
        wave: &CoreWave<'_, '_>,
        place: &WavePlace,
    ) -> Option<PolledDocument> {
        if place.looping.is_none() || self.polled == MOST_POLLED {
            return None;
        }
        self.polled += 1;
        let arena = Arena::new();
        let stop = self.programs.stop(wave, &arena)?;
        let found = PolledDocument::find(&stop);
        // If the meter refuses this charge, the next wave reports it.
        let _ = self.meter.work(stop.meter().steps());
        found
    }

    fn find_place(&mut self, wave: &CoreWave<'_, '_>, callers: Vec<Hex>) -> WavePlace {
        let Some(object) = self.programs.object_of(wave) else {
            return WavePlace::default();
        };
        let (programs, meter) = (self.programs, self.meter);
        let key = (object, wave.pc().0, callers);
        self.known.find(key, meter, || {
            let arena = Arena::new();
            let Some(stop) = programs.stop(wave, &arena) else {
                return WavePlace::default();
            };
            let found = WavePlace::of(&stop);
            // If the meter refuses this charge, the next wave reports it.
            let _ = meter.work(stop.meter().steps());
            found
        })
    }
}

impl WavePlace {
    pub(super) fn of(stop: &Stop<'_, '_>) -> WavePlace {
        let barrier = stop.barrier().map(|address| {
            let frames = frames_at(stop, address).unwrap_or_default();
            (address, frames.into_iter().next())
        });
        let looping = match barrier {
            Some(_) => None,
            None => WavePlace::find_loop(stop),
        };
        WavePlace {
            barrier,
            looping,
            off: Vec::new(),
        }
    }

    /// Adds the inactive lanes of a wave at a barrier.
    pub(super) fn with_off_lanes(self, stop: &Stop<'_, '_>, started: &Started) -> WavePlace {
        let absent = started.absent();
        if self.barrier.is_none() || absent == 0 {
            return self;
        }
        let off = off_lanes(stop, absent).unwrap_or_default();
        WavePlace { off, ..self }
    }

    fn find_loop(stop: &Stop<'_, '_>) -> Option<LoopLines> {
        let range = stop.innermost_loop()?;
        let mut found: Option<LoopLines> = None;
        let addresses = (range.start.0..range.end.0).step_by(4);
        let count = range.end.0.saturating_sub(range.start.0) / 4;
        let step = usize::try_from(count.div_ceil(MOST_PLACES).max(1)).unwrap_or(1);
        for address in addresses.step_by(step) {
            let frames = frames_at(stop, ProcessAddress(address)).ok()?;
            // Instructions of line 0 are shown with the line of a neighbour, so they are left out.
            let Some(frame) = frames.into_iter().find(|frame| !frame.approximate) else {
                continue;
            };
            let Some(line) = frame.line else { continue };
            match &mut found {
                None => {
                    found = Some(LoopLines {
                        frame,
                        first: line,
                        last: line,
                    });
                }
                Some(lines) if lines.frame.file == frame.file => {
                    lines.first = lines.first.min(line);
                    lines.last = lines.last.max(line);
                }
                Some(_) => {}
            }
        }
        found
    }
}

/// Finds the places at which inactive lanes go on, in the order of their first lanes.
fn off_lanes(stop: &Stop<'_, '_>, lanes: u64) -> Result<Vec<OffLanesDocument>> {
    let Some(frame) = stop.call_frame(0) else {
        return Ok(Vec::new());
    };
    let found = frame.lane_pcs_within(Recovery::default())?;
    let callers = frame.lanes_in_callers(&found);
    let mut all: Vec<OffLanesDocument> = Vec::new();
    let places = found.places().iter().zip(callers);
    for (lane, (place, caller)) in frame.wave_size().all_lanes().zip(places) {
        if lanes & lane.bit() == 0 {
            continue;
        }
        let pc = match (place, caller) {
            (LanePlace::Waiting { pc, .. }, _) => *pc,
            (LanePlace::Elsewhere, Some(caller)) => caller.pc,
            (_, _) => continue,
        };
        let known = all.iter_mut().find(|one| one.pc == Hex::from(pc));
        if let Some(known) = known {
            known.lanes.push(lane.0);
            continue;
        }
        let frame = frames_at(stop, pc)?.into_iter().next();
        let frame = frame.as_ref();
        all.push(OffLanesDocument {
            lanes: vec![lane.0],
            pc: Hex::from(pc),
            function: frame.and_then(|frame| frame.function.clone()),
            file: frame.and_then(|frame| frame.file.clone()),
            line: frame.and_then(|frame| frame.line),
        });
    }
    Ok(all)
}

/// The parameters with which a wave was started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Started {
    pub(super) dispatch: Option<Dispatch>,
    pub(super) wave_size: WaveSize,
    pub(super) exec: u64,
}

impl Started {
    /// Returns a mask of the lanes that the wave was started with and that are inactive now. The mask is 0 if the dispatch is not known.
    fn absent(&self) -> u64 {
        let lanes = self.dispatch.and_then(|one| one.lanes(self.wave_size));
        lanes.map_or(0, |started| started & !self.exec)
    }

    pub(super) fn of(wave: CoreWave<'_, '_>) -> Started {
        Started {
            dispatch: Wave::dispatch(&wave),
            wave_size: wave.wave_size(),
            exec: wave.exec(),
        }
    }
}

/// Lists the workgroups of a core, in the order of their first waves.
///
/// * `places`: the place of each wave, in the order of the waves.
pub(super) fn workgroups(
    started: impl Iterator<Item = Started>,
    waves: &[CoreWaveDocument],
    places: &[WavePlace],
) -> Vec<WorkgroupDocument> {
    type Key = (u32, Option<u64>, [u32; 3]);
    let mut order: Vec<WorkgroupDocument> = Vec::new();
    let mut known: BTreeMap<Key, (usize, BTreeSet<u64>)> = BTreeMap::new();
    for ((wave, document), place) in started.zip(waves).zip(places) {
        let Some(workgroup) = document.workgroup else {
            continue;
        };
        let key = (document.queue_id, document.packet_id, workgroup);
        let (at, present) = known.entry(key).or_insert_with(|| {
            order.push(WorkgroupDocument {
                workgroup,
                queue_id: document.queue_id,
                packet_id: document.packet_id,
                expected_waves: expected_waves(&wave),
                at_barrier: Vec::new(),
                elsewhere: Vec::new(),
                missing: Vec::new(),
                divergent: Vec::new(),
            });
            (order.len() - 1, BTreeSet::new())
        });
        if let Some(number) = document.wave_in_group {
            present.insert(number.into());
        }
        let Some(group) = order.get_mut(*at) else {
            continue;
        };
        if place.barrier.is_none() {
            group.elsewhere.push(document.index);
            continue;
        }
        group.at_barrier.push(document.index);
        let absent = wave.absent();
        if absent != 0 {
            let lanes = wave.wave_size.all_lanes();
            let lanes = lanes.filter(|lane| absent & lane.bit() != 0);
            group.divergent.push(DivergentDocument {
                wave: document.index,
                lanes: lanes.map(|lane| lane.0).collect(),
                places: place.off.clone(),
            });
        }
    }
    for (at, present) in known.values() {
        if let Some(group) = order.get_mut(*at) {
            let expected = group.expected_waves.unwrap_or(0);
            group.missing = (0..expected).filter(|n| !present.contains(n)).collect();
        }
    }
    order
}

/// Returns the number of waves with which the workgroup of a wave started.
fn expected_waves(wave: &Started) -> Option<u64> {
    /// The maximum plausible count. No hardware runs that many waves in a workgroup.
    const MOST: u64 = 64;
    let dispatch = wave.dispatch?;
    let sizes = dispatch.workgroup_size.iter().zip(dispatch.grid_size);
    let mut items = 1_u64;
    for (id, (size, grid)) in dispatch.workgroup_id.iter().zip(sizes) {
        let before = u64::from(*id).checked_mul((*size).into())?;
        let left = u64::from(grid).checked_sub(before)?;
        items = items.checked_mul(left.min((*size).into()))?;
    }
    let lanes = u64::from(wave.wave_size.lanes());
    Some(items.div_ceil(lanes)).filter(|count| *count <= MOST)
}
