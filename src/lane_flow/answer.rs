//! The answers for the lanes of a stopped wave.

use super::Reason;

/// The known facts about the place of a waiting lane.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Waiting {
    /// An address between the last instruction that acted on the lane and the next one that will.
    pub pc: u64,
    /// The instruction that switched the lane off. `None` if several are possible.
    pub left: Option<u64>,
    /// The first instruction that executes with the lane on again. `None` if the wave ends before.
    pub resumes: Option<u64>,
    /// The next instruction that acts on the lane, which may be switched on and off before. `None` if it is unknown.
    pub arrival: Option<u64>,
}

/// The place of a lane in a frame.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneState {
    /// At the program counter of the frame.
    Active,
    /// Switched off.
    Waiting {
        /// An address between the last instruction that acted on the lane and the next one that will.
        pc: u64,
        /// The instruction that switched the lane off. `None` if several are possible.
        left: Option<u64>,
        /// The first instruction that executes with the lane on again. `None` if the wave ends before.
        resumes: Option<u64>,
        /// The next instruction that acts on the lane, which may be switched on and off before. `None` if it is unknown.
        arrival: Option<u64>,
    },
    /// Not active on entry to the function: the lane is in an outer frame, or in none.
    Elsewhere,
    /// Unknown.
    Unknown(Reason),
}

impl LaneState {
    pub(super) fn is_elsewhere(self) -> bool {
        matches!(self, LaneState::Elsewhere)
    }

    pub(super) fn is_unknown(self) -> bool {
        matches!(self, LaneState::Unknown(_))
    }

    /// Returns the known facts about a waiting lane.
    #[must_use]
    pub const fn waiting(self) -> Option<Waiting> {
        match self {
            LaneState::Waiting {
                pc,
                left,
                resumes,
                arrival,
            } => Some(Waiting {
                pc,
                left,
                resumes,
                arrival,
            }),
            LaneState::Active | LaneState::Elsewhere | LaneState::Unknown(_) => None,
        }
    }
}

/// The lanes of one frame.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameLanes {
    /// The program counter. For a caller, the address that the call returns to.
    pub pc: u64,
    /// The address of the function.
    pub function: Option<u64>,
    /// The state of each lane, from lane 0.
    pub lanes: Vec<LaneState>,
}

impl FrameLanes {
    /// Returns the lanes whose state satisfies `is_one`, one bit per lane.
    #[must_use]
    pub fn lanes_that(&self, is_one: impl Fn(LaneState) -> bool) -> u64 {
        let from_last = self.lanes.iter().rev();
        from_last.fold(0, |mask, lane| mask << 1 | u64::from(is_one(*lane)))
    }

    /// Returns the lanes at the program counter, one bit per lane. Returns `None` if the state of a lane is unknown.
    pub(crate) fn active(&self) -> Option<u64> {
        match self.lanes_that(LaneState::is_unknown) {
            0 => Some(self.lanes_that(|state| matches!(state, LaneState::Active))),
            _ => None,
        }
    }
}

/// The lanes of a stopped wave.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopLanes {
    /// The frames, from the innermost, up to the outermost that contains lanes of the wave.
    pub frames: Vec<FrameLanes>,
}

impl StopLanes {
    /// Returns the lanes that are in a frame, one bit per lane. Returns `None` if this is unknown for a lane.
    pub(crate) fn started(&self) -> Option<u64> {
        let (mut started, mut outside) = (0, u64::MAX);
        for frame in &self.frames {
            if outside & frame.lanes_that(LaneState::is_unknown) != 0 {
                return None;
            }
            let inside = frame.lanes_that(|state| !state.is_elsewhere());
            started |= inside;
            outside &= !inside;
        }
        Some(started)
    }

    /// Returns the place of a lane: the frame, counted from the innermost, and its state there. A lane that is in no
    /// frame was never started.
    #[must_use]
    pub fn lane(&self, lane: u8) -> (usize, LaneState) {
        let states = (self.frames.iter().enumerate())
            .filter_map(|(n, frame)| Some((n, *frame.lanes.get(usize::from(lane))?)));
        let mut found = (0, LaneState::Elsewhere);
        for (n, state) in states {
            found = (n, state);
            if state != LaneState::Elsewhere {
                break;
            }
        }
        found
    }
}
