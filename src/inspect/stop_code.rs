//! Asks the machine code about a stopped wave: the lanes of all frames, and the rules of call frame information that are wrong.

use core::cell::OnceCell;
use std::sync::Arc;

use super::program::Program;
use crate::arch::{Lane, LoadAddress, ProcessAddress};
use crate::error::{Error, Result};
use crate::frame::{CallerExec, Cie, Correction, Corrections, Derived};
use crate::lane_flow::{LaneState, Reason, StopLanes};
use crate::meter::Meter;
use crate::wave::Wave;

/// The wave, owned or borrowed.
#[derive(Clone, Copy)]
pub(super) struct WaveRef<'p>(pub(super) &'p dyn Wave);

impl core::fmt::Debug for WaveRef<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("WaveRef").finish_non_exhaustive()
    }
}

/// The machine code at a stop, which shows the lanes of all frames and where call frame information is wrong.
#[derive(Debug)]
pub(super) struct StopCode<'p, 'a> {
    program: &'p Program<'a>,
    wave: WaveRef<'p>,
    /// The program counter, in the code object.
    pc: u64,
    load_address: LoadAddress,
    meter: &'p Meter,
    /// The lanes of all frames, located on first use.
    lanes: OnceCell<Result<StopLanes>>,
    /// The lanes that are in a frame, one bit per lane. `None` if this is unknown for a lane.
    started: OnceCell<Option<u64>>,
}

impl<'p, 'a> StopCode<'p, 'a> {
    pub(super) fn new(
        program: &'p Program<'a>,
        wave: WaveRef<'p>,
        pc: ProcessAddress,
        load_address: LoadAddress,
        meter: &'p Meter,
    ) -> StopCode<'p, 'a> {
        StopCode {
            program,
            wave,
            pc: load_address.to_code(pc).0,
            load_address,
            meter,
            lanes: OnceCell::new(),
            started: OnceCell::new(),
        }
    }

    /// Locates the lanes from the machine code, once for all frames.
    pub(super) fn lanes(&self) -> Result<&StopLanes> {
        if let Some(found) = self.lanes.get() {
            return found.as_ref().map_err(Error::clone);
        }
        let WaveRef(wave) = self.wave;
        let flow = self.program.lane_flow(wave.wave_size());
        let (load_address, dispatched) = (self.load_address, self.dispatched());
        let found = flow.stop(wave, self.pc, load_address, dispatched, self.meter);
        // Another query may have a larger budget left.
        if let Err(error) = &found
            && error.is_limit()
        {
            return Err(error.clone());
        }
        let found = self.lanes.get_or_init(|| found);
        found.as_ref().map_err(Error::clone)
    }

    /// Returns [`lanes`](StopCode::lanes), or `None` if EXEC cannot be read.
    ///
    /// # Errors
    /// If a limit is reached.
    fn known_lanes(&self) -> Result<Option<&StopLanes>> {
        match self.lanes() {
            Err(error) if !error.is_limit() => Ok(None),
            found => found.map(Some),
        }
    }

    /// Returns the mask of lanes that the dispatch started, or `None` if it is unknown.
    pub(super) fn dispatched(&self) -> Option<u64> {
        let WaveRef(wave) = self.wave;
        wave.dispatch()?.lanes(wave.wave_size())
    }
}

impl Corrections for StopCode<'_, '_> {
    fn correction(&self, address: u64, cie: &Cie<'_>) -> Result<Option<Arc<Correction>>> {
        let WaveRef(wave) = self.wave;
        (self.program).correction(address, cie, wave.wave_size(), self.meter)
    }

    fn derived(&self, address: u64) -> Result<Option<Arc<Derived>>> {
        let WaveRef(wave) = self.wave;
        self.program.derived(address, wave.wave_size(), self.meter)
    }

    fn returns_to(&self, level: usize, address: u64) -> Result<bool> {
        // The analysis of lanes finds return addresses in another way, as far as there are lanes to be found.
        let lanes = self.known_lanes()?;
        let known = lanes.and_then(|found| found.frames.get(level.checked_add(1)?));
        let WaveRef(wave) = self.wave;
        let flow = self.program.lane_flow(wave.wave_size());
        let is_known = known.is_none_or(|caller| caller.pc == address);
        Ok(is_known && flow.follows_call(address, self.meter)?)
    }

    fn exec(&self, level: usize) -> Result<Option<CallerExec>> {
        let Some(found) = self.known_lanes()? else {
            return Ok(None);
        };
        let frame = found.frames.get(level);
        let mask = match frame {
            Some(frame) => frame.active(),
            // Every started lane is in an inner frame, and therefore at the call in this one.
            None => *self.started.get_or_init(|| found.started()),
        };
        Ok(mask.map(|mask| CallerExec {
            mask,
            return_address: frame.map(|frame| frame.pc),
        }))
    }
}

/// Returns the state of a lane in a frame. Returns `None` if the wave has no such lane.
pub(super) fn state_in(found: &StopLanes, level: usize, lane: Lane) -> Option<LaneState> {
    match found.frames.get(level) {
        Some(frame) => frame.lanes.get(usize::from(lane.0)).copied(),
        // Every started lane is in an inner frame, and therefore at the call in this one.
        None => Some(match found.lane(lane.0).1 {
            LaneState::Active | LaneState::Waiting { .. } => LaneState::Active,
            LaneState::Elsewhere => LaneState::Elsewhere,
            LaneState::Unknown(Reason::Caller) => LaneState::Unknown(Reason::Caller),
            LaneState::Unknown(_) => LaneState::Unknown(Reason::Callee),
        }),
    }
}
