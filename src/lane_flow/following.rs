//! Finds the next instruction that acts on a waiting lane, and the right places for it.

use super::answer::{LaneState, Waiting};
use super::state::HalfAt;
use super::stop::{At, LaneFlow};

impl LaneFlow<'_> {
    /// Returns the right places for a waiting lane, in the order that a reader expects. First come the next instruction that acts on it and
    /// the one that switched it off. Then come the instructions from its resumption up to the first that may act on it.
    #[must_use]
    pub fn gap(&self, lane: u8, waiting: Waiting) -> Vec<u64> {
        let half = u8::from(lane >= 32);
        let mut gap: Vec<u64> = waiting.arrival.into_iter().collect();
        let off = waiting.left.and_then(|left| self.find_known(left));
        gap.extend(off.into_iter().flat_map(|at| at.flow.around(at.index)));
        match waiting.resumes.and_then(|resumes| self.find_known(resumes)) {
            Some(at) => {
                let ahead = at.flow.until_acting(HalfAt {
                    index: at.index,
                    half,
                });
                gap.extend(&ahead.places);
            }
            None => gap.push(waiting.pc),
        }
        gap
    }

    /// Finds the next instruction that acts on each waiting lane of one half, if it follows directly after the lane resumes. Returns the
    /// other lanes, one bit per lane.
    pub(super) fn find_following(&self, at: &At<'_>, half: u8, lanes: &mut [LaneState]) -> u32 {
        let first = usize::from(half).saturating_mul(32);
        let mut open = 0;
        // Neighbouring lanes mostly resume at the same instruction.
        let mut known: Option<(u64, Option<u64>)> = None;
        for (n, lane) in (0_u32..32).zip(lanes.iter_mut().skip(first)) {
            let LaneState::Waiting {
                resumes: Some(resumes),
                arrival,
                ..
            } = lane
            else {
                continue;
            };
            let follows = match known {
                Some((of, follows)) if of == *resumes => follows,
                _ => {
                    let Some(index) = at.flow.index_of(*resumes) else {
                        continue;
                    };
                    at.flow.until_acting(HalfAt { index, half }).arrival
                }
            };
            known = Some((*resumes, follows));
            *arrival = follows;
            if follows.is_none() {
                open |= 1_u32.checked_shl(n).unwrap_or(0);
            }
        }
        open
    }
}
