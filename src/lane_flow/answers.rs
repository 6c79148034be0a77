//! Applies the answers of decision trees to the lanes of a frame.

use super::Reason;
use super::answer::LaneState;
use super::contents::{Unread, Words};
use super::place::DwordPlace;
use super::walk::{Goal, WalkResult};

/// Collects the answers for the lanes of one half of a wave.
pub(super) struct Answers<'f, 'c, 'w> {
    pub(super) words: &'f mut Words<'c, 'w>,
    pub(super) lanes: &'f mut [LaneState],
    /// The first lane of the half.
    pub(super) shift: u32,
    pub(super) goal: Goal,
    pub(super) is_kernel: bool,
    pub(super) is_dispatch_known: bool,
}

impl Answers<'_, '_, '_> {
    /// Reads the dword of a place. `None` if it is unknown.
    pub(super) fn read(&mut self, unread: Unread) -> Option<u32> {
        self.words.read(unread)
    }

    /// Returns the dword of a place if it was read before. `None` if it is unknown.
    pub(super) fn known(&self, place: DwordPlace) -> Result<Option<u32>, Unread> {
        self.words.known(place)
    }

    /// Records the answer for some lanes, one bit per lane.
    pub(super) fn answer(&mut self, lanes: u32, answer: WalkResult) {
        let mask = u64::from(lanes).checked_shl(self.shift).unwrap_or(0);
        if self.goal == Goal::Acting {
            for_each(self.lanes, mask, |lane| {
                if let (LaneState::Waiting { arrival, .. }, WalkResult::Resumes(found)) =
                    (lane, answer)
                {
                    *arrival = Some(found);
                }
            });
            return;
        }
        let state = match answer {
            WalkResult::Resumes(pc) => LaneState::Waiting {
                pc,
                left: None,
                resumes: Some(pc),
                arrival: None,
            },
            WalkResult::Leaves => LaneState::Elsewhere,
            // The lane may also have stayed outside the function.
            WalkResult::Ends(_) if !self.is_kernel => LaneState::Unknown(Reason::Caller),
            WalkResult::Ends(_) if !self.is_dispatch_known => LaneState::Unknown(Reason::Dispatch),
            WalkResult::Ends(Some(pc)) => LaneState::Waiting {
                pc,
                left: None,
                resumes: None,
                arrival: None,
            },
            WalkResult::Ends(None) => LaneState::Unknown(Reason::SeveralEnds),
            WalkResult::Unknown(reason) => LaneState::Unknown(reason),
        };
        set(self.lanes, mask, state);
    }
}

/// Sets the state of some lanes, one bit per lane.
pub(super) fn set(lanes: &mut [LaneState], mask: u64, state: LaneState) {
    for_each(lanes, mask, |lane| *lane = state);
}

/// Calls a function for each of some lanes, one bit per lane.
fn for_each(lanes: &mut [LaneState], mask: u64, mut with: impl FnMut(&mut LaneState)) {
    let mut left = mask;
    while left != 0 {
        let number = left.trailing_zeros() as usize;
        lanes.get_mut(number).map(&mut with);
        left &= left.wrapping_sub(1);
    }
}
