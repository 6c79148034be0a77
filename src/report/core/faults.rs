//! The faults and failed assertions of all waves of a core, as far as a question may take.

use std::collections::BTreeMap;

use super::assertion::AssertionDocument;
use super::fault::{FaultDocument, NearestDocument};
use super::{CoreRequest, ProblemDocument};
use crate::gpu_core::{CoreWave, GpuCore, StopReason};
use crate::inspect::{DispatchMemory, Programs};
use crate::location::Arena;
use crate::meter::Meter;
use crate::wave::Wave;

/// The most waves that are searched at one place, and in all, unless all are wanted.
const OF_PLACE: usize = 2;
const IN_ALL: usize = 32;

/// As how many operations a wave counts.
const PER_WAVE: u64 = 64;

/// Looks for the accesses of waves of a core.
pub(super) struct Faults<'f, 'data, 'p> {
    core: &'f GpuCore<'data>,
    programs: &'f Programs<'p>,
    address: Option<u64>,
    /// Charged for all waves.
    meter: &'f Meter,
    searches_all: bool,
    /// The number of searched waves, by their pc.
    searched: BTreeMap<u64, usize>,
    /// By the index of the dispatch.
    memories: BTreeMap<Option<usize>, DispatchMemory>,
    /// Why the last wave that could not be asked was not.
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

    /// Finds where a wave faulted; `None` if it cannot be asked.
    pub(super) fn find(&mut self, wave: &CoreWave<'_, '_>) -> Option<FaultDocument> {
        if let Err(error) = self.meter.work(PER_WAVE) {
            self.reason = Some(error.to_string());
            return None;
        }
        if !self.has_turn(wave) {
            return Some(FaultDocument::not_searched(self.address));
        }
        let (core, programs) = (self.core, self.programs);
        let memory = self
            .memories
            .entry(wave.dispatch_index())
            .or_insert_with(|| DispatchMemory::new(core, programs, wave.dispatch()));
        let arena = Arena::new();
        let stop = self.programs.stop(wave, &arena)?;
        let before = stop.meter().steps();
        let found = FaultDocument::new(wave, &stop, memory, programs.process(), self.address);
        let steps = stop.meter().steps().saturating_sub(before);
        // What was refused shows at the next wave.
        let _ = self.meter.work(steps);
        match found {
            Ok(found) => Some(found),
            Err(error) => {
                self.reason = Some(error.to_string());
                None
            }
        }
    }

    /// Returns the assertion that failed in a wave. None if it is not known, or enough other waves were asked.
    pub(super) fn assertion(&mut self, wave: &CoreWave<'_, '_>) -> Option<AssertionDocument> {
        if self.meter.work(PER_WAVE).is_err() || !self.has_turn(wave) {
            return None;
        }
        let arena = Arena::new();
        let stop = self.programs.stop(wave, &arena)?;
        let found = AssertionDocument::find(&stop);
        // What was refused shows at the next wave.
        let _ = self.meter.work(stop.meter().steps());
        found
    }

    /// Returns true if a wave is searched: of thousands at the same place a few tell as much.
    fn has_turn(&mut self, wave: &CoreWave<'_, '_>) -> bool {
        let all = self
            .searched
            .values()
            .fold(0, |all: usize, one| all.saturating_add(*one));
        let here = self.searched.entry(wave.pc().0).or_default();
        let has_turn = self.searches_all || (*here < OF_PLACE && all < IN_ALL);
        *here = here.saturating_add(usize::from(has_turn));
        has_turn
    }

    /// Finds where an address lies, as the first wave that faulted sees it, or else the first wave.
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
        NearestDocument::new(address, &found)
    }

    /// Returns the problem, if there is one.
    pub(super) fn problem(&self) -> Option<ProblemDocument> {
        let reason = self.reason.as_ref()?;
        let message = format!("where some waves faulted was not found: {reason}");
        Some(ProblemDocument::of("faults", message))
    }
}
