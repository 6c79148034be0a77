//! Locates the lanes of a stop by the machine code. It calls `lane_flow`, compares the result with the call frame information, and finds the expected
//! source lines.

use super::lane_pc::{LaneOrigin, LanePlace, Recovery, UnknownLane};
use super::program::Program;
use super::stop::Stop;
use super::stop_code::state_in;
use crate::arch::{CodeAddress, Lane, WaveSize};
use crate::error::Result;
use crate::lane_flow::{LaneState, Reason, StopLanes, Waiting};

impl Stop<'_, '_> {
    /// Returns the lanes according to the machine code, for all frames.
    fn recovered(&self) -> Result<&StopLanes> {
        self.code().lanes()
    }

    /// Returns the mask of lanes that the dispatch started, or `None` if it is unknown.
    pub(super) fn dispatched(&self) -> Option<u64> {
        self.code().dispatched()
    }

    /// Returns the position of a lane according to the machine code, in a frame from the call frame information. It is unknown if the code finds
    /// another frame there.
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

    /// Returns the position of a lane in a frame from the machine code.
    fn place_in(&self, level: usize, lane: Lane) -> Result<LanePlace> {
        let found = self.recovered()?;
        let state = state_in(found, level, lane);
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

    /// Returns the position of a lane in a caller from the machine code, if that is to be used. The call frame information may not lead to this
    /// caller, or find another one.
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
    /// Returns the address in the code object to report for a waiting lane. Among the equivalent addresses, one with a source line is preferred.
    ///
    /// * `known`: its `pc` is the result if none has a line.
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

    /// Returns the address to report, or `None` if no candidate has a line. A line table that cannot be read has no lines: the position of the lane
    /// is known without it.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn line_in_gap(
        &self,
        wave_size: WaveSize,
        lane: u8,
        known: Waiting,
    ) -> Result<Option<u64>> {
        for address in self.lane_flow(wave_size).gap(lane, known) {
            match self.info().line_at(address) {
                Ok(Some(line)) if line.line != 0 => return Ok(Some(address)),
                Err(error) if error.is_limit() => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(None)
    }
}
