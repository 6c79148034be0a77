//! Locates the lanes of a stop by the machine code: asks `lane_flow`, compares with the call frame information, and finds
//! the source lines that a reader expects.

use super::lane_pc::{LaneOrigin, LanePlace, Recovery, UnknownLane};
use super::program::Program;
use super::stop::Stop;
use crate::arch::{CodeAddress, Lane, WaveSize};
use crate::error::{Error, ErrorKind, Result};
use crate::lane_flow::{LaneState, Reason, StopLanes, Waiting};

impl Stop<'_, '_> {
    /// Locates the lanes from the machine code, once for all frames.
    pub(super) fn recovered(&self) -> Result<&StopLanes> {
        if let Some(found) = self.recovered_cell().get() {
            return found.as_ref().map_err(Error::clone);
        }
        let found = self.recover();
        // Another question may have more left than this one.
        if let Err(error) = &found
            && matches!(error.kind(), ErrorKind::Limit { .. })
        {
            return Err(error.clone());
        }
        let found = self.recovered_cell().get_or_init(|| found);
        found.as_ref().map_err(Error::clone)
    }

    fn recover(&self) -> Result<StopLanes> {
        let wave = self.wave();
        let load_address = self.options().load_address;
        let Some(pc) = self
            .call_frame(0)
            .map(|frame| frame.call_frame().code_address())
        else {
            return Ok(StopLanes { frames: Vec::new() });
        };
        let flow = self.program().lane_flow(wave.wave_size());
        flow.stop(wave, pc, load_address, self.dispatched(), self.meter())
    }

    /// Returns the lanes that the dispatch started, a bit each. `None` if that is not known.
    pub(super) fn dispatched(&self) -> Option<u64> {
        let wave = self.wave();
        wave.dispatch()?.lanes(wave.wave_size())
    }

    /// Where a lane is by the machine code, in a frame that the call frame information found: unknown if the code
    /// finds another one there.
    pub(super) fn recovered_place(&self, level: usize, lane: Lane) -> Result<LanePlace> {
        let found = self.recovered()?.frames.get(level).map(|frame| frame.pc);
        let frame = self.call_frame(level);
        let frame = frame.map(|frame| frame.call_frame().code_address());
        match (found, frame) {
            (Some(found), Some(address)) if found != address => {
                Ok(LanePlace::Unknown(UnknownLane::Code(Reason::Caller)))
            }
            (_, _) => self.place_in(level, lane),
        }
    }

    /// Returns the place of a lane in a frame that the machine code finds.
    fn place_in(&self, level: usize, lane: Lane) -> Result<LanePlace> {
        let found = self.recovered()?;
        let state = match found.frames.get(level) {
            Some(frame) => frame.lanes.get(usize::from(lane.0)).copied(),
            // Every lane that was started is in a frame further in, and so at the call in this one.
            None => Some(match found.lane(lane.0).1 {
                LaneState::Active | LaneState::Waiting { .. } => LaneState::Active,
                LaneState::Elsewhere => LaneState::Elsewhere,
                LaneState::Unknown(Reason::Caller) => LaneState::Unknown(Reason::Caller),
                LaneState::Unknown(_) => LaneState::Unknown(Reason::Callee),
            }),
        };
        Ok(match state {
            Some(LaneState::Active) => LanePlace::Active,
            Some(LaneState::Waiting {
                pc,
                left,
                resumes,
                arrival,
            }) => {
                let load_address = self.options().load_address;
                let wave_size = self.wave().wave_size();
                let known = Waiting {
                    pc,
                    left,
                    resumes,
                    arrival,
                };
                let pc = self.program().place_with_line(wave_size, lane.0, known)?;
                let [left, resumes] =
                    [left, resumes].map(|pc| pc.map(|pc| load_address.to_process(CodeAddress(pc))));
                LanePlace::Waiting {
                    pc: load_address.to_process(CodeAddress(pc)),
                    origin: LaneOrigin::Recovered { left, resumes },
                }
            }
            Some(LaneState::Elsewhere) | None => LanePlace::Elsewhere,
            Some(LaneState::Unknown(reason)) => LanePlace::Unknown(UnknownLane::Code(reason)),
        })
    }

    /// Where a lane is in a caller that the machine code finds, if it is to be asked: also one that the call frame
    /// information does not lead to, or has another one for.
    pub(super) fn recovered_in_caller(
        &self,
        level: usize,
        lane: Lane,
        recovery: Recovery,
    ) -> Option<LanePlace> {
        if recovery == Recovery::Never {
            return None;
        }
        self.recovered().ok()?.frames.get(level)?;
        self.place_in(level, lane).ok()
    }
}

impl Program<'_> {
    /// Returns the address in the code object that is given for a waiting lane: of those that are right one with a source line, if there is
    /// one.
    ///
    /// * `known`: its `pc` is returned if none has a line.
    pub(crate) fn place_with_line(
        &self,
        wave_size: WaveSize,
        lane: u8,
        known: Waiting,
    ) -> Result<u64> {
        Ok(self
            .line_in_gap(wave_size, lane, known)?
            .unwrap_or(known.pc))
    }

    /// Returns the same. `None` if none of them has a line.
    pub(crate) fn line_in_gap(
        &self,
        wave_size: WaveSize,
        lane: u8,
        known: Waiting,
    ) -> Result<Option<u64>> {
        for address in self.lane_flow(wave_size).gap(lane, known) {
            let line = self.info().line_at(address)?;
            if line.is_some_and(|line| line.line != 0) {
                return Ok(Some(address));
            }
        }
        Ok(None)
    }
}
