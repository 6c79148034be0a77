//! Finds the faults and failed assertions of all waves of a core, within the limits of one query.

use std::collections::BTreeMap;

use super::assertion::AssertionDocument;
use super::fault::{FaultDocument, FoundFault};
use super::nearest::{NearestDocument, code_at};
use super::workgroups::PolledDocument;
use super::{CoreRequest, ProblemDocument};
use crate::gpu_core::{CoreWave, GpuCore, StopReason};
use crate::inspect::{DispatchMemory, Programs};
use crate::location::Arena;
use crate::meter::Meter;
use crate::wave::Wave;

/// The maximum number of waves that are searched at one place, and in total, unless all are requested.
const OF_PLACE: usize = 2;
const IN_ALL: usize = 32;

/// The number of operations that are charged for a wave.
const PER_WAVE: u64 = 64;

/// Searches the waves of a core for their faulting accesses.
pub(super) struct Faults<'f, 'data, 'p> {
    core: &'f GpuCore<'data>,
    programs: &'f Programs<'p>,
    address: Option<u64>,
    /// The meter to which all waves are charged.
    meter: &'f Meter,
    searches_all: bool,
    /// The number of searched waves, by their pc.
    searched: BTreeMap<u64, usize>,
    /// The memory of each dispatch, by the index of the dispatch.
    memories: BTreeMap<Option<usize>, DispatchMemory>,
    /// The reason why the last wave that could not be searched was not.
    reason: Option<String>,
}

impl<'f, 'data, 'p> Faults<'f, 'data, 'p> {
    pub(super) fn new(
        core: &'f GpuCore<'data>,
        programs: &'f Programs<'p>,
        request: CoreRequest,
        meter: &'f Meter,
    ) -> Faults<'f, 'data, 'p> {
        Faults {
            core,
            programs,
            address: request.fault_address,
            meter,
            searches_all: request.all_faults,
            searched: BTreeMap::new(),
            memories: BTreeMap::new(),
            reason: None,
        }
    }

    /// Finds the faulting access of a wave. Returns `None` if the wave cannot be searched.
    pub(super) fn find(&mut self, wave: &CoreWave<'_, '_>) -> Option<FoundFault> {
        if let Err(error) = self.meter.work(PER_WAVE) {
            self.reason = Some(error.to_string());
            return None;
        }
        if !self.has_turn(wave) {
            return Some(FaultDocument::not_searched(self.address).into());
        }
        let (core, programs) = (self.core, self.programs);
        let memory = self
            .memories
            .entry(wave.dispatch_index())
            .or_insert_with(|| DispatchMemory::new(core, programs, wave.dispatch()));
        let arena = Arena::new();
        let stop = self.programs.stop(wave, &arena)?;
        let before = stop.meter().steps();
        let found = FoundFault::new(wave, &stop, memory, programs.process(), self.address);
        let steps = stop.meter().steps().saturating_sub(before);
        // If the meter refuses this charge, the next wave reports it.
        let _ = self.meter.work(steps);
        match found {
            Ok(found) => Some(found),
            Err(error) => {
                self.reason = Some(error.to_string());
                None
            }
        }
    }

    /// Returns the assertion that failed in a wave. Returns None if it is not known, or if enough other waves were searched.
    pub(super) fn assertion(&mut self, wave: &CoreWave<'_, '_>) -> Option<AssertionDocument> {
        if self.meter.work(PER_WAVE).is_err() || !self.has_turn(wave) {
            return None;
        }
        let arena = Arena::new();
        let stop = self.programs.stop(wave, &arena)?;
        let found = AssertionDocument::find(&stop);
        // If the meter refuses this charge, the next wave reports it.
        let _ = self.meter.work(stop.meter().steps());
        found
    }

    /// Returns true if a wave is to be searched. Thousands of waves may be at the same place, and a few of them suffice.
    fn has_turn(&mut self, wave: &CoreWave<'_, '_>) -> bool {
        let all: usize = self.searched.values().sum();
        let here = self.searched.entry(wave.pc().0).or_default();
        let has_turn = self.searches_all || (*here < OF_PLACE && all < IN_ALL);
        *here += usize::from(has_turn);
        has_turn
    }

    /// Locates the address that a loop accesses in each pass.
    pub(super) fn locate(&mut self, wave: &CoreWave<'_, '_>, polled: &mut PolledDocument) {
        let Ok(address) = u64::try_from(polled.address.0) else {
            return;
        };
        let (core, programs) = (self.core, self.programs);
        let memory = self
            .memories
            .entry(wave.dispatch_index())
            .or_insert_with(|| DispatchMemory::new(core, programs, wave.dispatch()));
        let found = memory.find(
            address,
            wave.apertures(),
            wave.scratch(),
            programs.process(),
        );
        let from_base = polled.base.and_then(|base| memory.from_base(address, base));
        polled.locate(address, &found, from_base.as_ref());
    }

    /// Locates an address with the memory of the first wave that faulted, or else of the first wave.
    pub(super) fn whereabouts(&self, address: u64) -> NearestDocument {
        let faulted = self
            .core
            .waves()
            .find(|wave| wave.stops().contains(StopReason::MemoryViolation));
        let wave = faulted.or_else(|| self.core.waves().next());
        let process = self.programs.process();
        let dispatch = match &wave {
            Some(wave) => wave.dispatch(),
            None => self.core.dispatches().first(),
        };
        let memory = DispatchMemory::new(self.core, self.programs, dispatch);
        let apertures = wave.as_ref().and_then(Wave::apertures);
        let scratch = wave.as_ref().and_then(CoreWave::scratch);
        let found = memory.find(address, apertures, scratch, process);
        let mut nearest = NearestDocument::new(address, &found);
        let code = found.code_object.and_then(|index| {
            let loaded = process.objects().get(index)?;
            let program = self.programs.get(index)?.ok()?;
            code_at(program, loaded.load_address, address)
        });
        if let Some(code) = code {
            nearest.add_code(&code);
        }
        nearest
    }

    /// Returns the problem of waves that could not be searched, if there are any.
    pub(super) fn problem(&self) -> Option<ProblemDocument> {
        let reason = self.reason.as_ref()?;
        let message = format!("the fault addresses of some waves were not found: {reason}");
        Some(ProblemDocument::of("faults", message))
    }
}
