//! What is said of the lanes at a place of a function, whatever a wave has in its masks.

use core::ops::Range;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::Reason;
use super::answer::Waiting;
use super::parting::parting;
use super::place::DwordPlace;
use crate::isa::MachineRegister;

/// The place of an inactive lane, by its bits.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LanePlan {
    /// It waits.
    Resumes {
        /// It executes next at this address.
        pc: u64,
        /// The instruction that switched it off. `None` if that was not asked for, or cannot be told.
        left: Option<u64>,
        /// The next instruction that acts on it; None if that was not asked for, or is not known.
        arrival: Option<u64>,
    },
    /// It never executes again.
    Ends {
        /// The wave ends at this address.
        pc: u64,
        /// As above.
        left: Option<u64>,
    },
    /// It did not enter the function.
    Elsewhere,
    /// A decision by the bit of a place.
    Ask {
        /// Where the bit is.
        place: DwordPlace,
        /// What follows if it is clear, and if it is set.
        then: Box<[LanePlan; 2]>,
    },
}

/// The active lanes.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActiveLanes {
    /// Those of EXEC.
    Exec,
    /// Those of the mask in this register, and of 64 lanes the next.
    Saved(MachineRegister),
    /// Those that are not in EXEC.
    NotExec,
}

/// The facts about lanes at a place of a function.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacePlan {
    /// The active lanes.
    pub active: ActiveLanes,
    /// The places of inactive lanes, for each half of 32 lanes.
    pub halves: Vec<LanePlan>,
}

/// The facts along a range of addresses, or the reason why there are none.
pub type RangePlan = (Range<u64>, Result<Arc<PlacePlan>, Reason>);

impl LanePlan {
    /// Returns what is known of a lane that waits.
    #[must_use]
    pub const fn waiting(&self) -> Option<Waiting> {
        match *self {
            LanePlan::Resumes { pc, left, arrival } => Some(Waiting {
                pc,
                left,
                resumes: Some(pc),
                arrival,
            }),
            LanePlan::Ends { pc, left } => Some(Waiting {
                pc,
                left,
                resumes: None,
                arrival: None,
            }),
            LanePlan::Elsewhere | LanePlan::Ask { .. } => None,
        }
    }

    /// Returns the same place with what switched the lane off.
    pub(super) fn with_switch_off(self, left: Option<u64>) -> LanePlan {
        match self {
            LanePlan::Resumes { pc, arrival, .. } => LanePlan::Resumes { pc, left, arrival },
            LanePlan::Ends { pc, .. } => LanePlan::Ends { pc, left },
            LanePlan::Elsewhere | LanePlan::Ask { .. } => self,
        }
    }

    /// Returns what is known of lanes that wait together but part before anything acts on them: see [`parting`](parting()).
    pub(super) fn parting(&self) -> BTreeSet<Waiting> {
        let mut kinds = BTreeSet::new();
        let mut work = vec![self];
        while let Some(plan) = work.pop() {
            if let LanePlan::Ask { then, .. } = plan {
                work.extend(then.iter());
            }
            kinds.extend(plan.waiting());
        }
        parting(&kinds)
    }

    /// Forgets what acts next on some lanes. What then is the same needs no question.
    pub(super) fn without_arrivals(self, parting: &BTreeSet<Waiting>) -> LanePlan {
        let is_one = self.waiting().is_some_and(|one| parting.contains(&one));
        match self {
            LanePlan::Resumes { pc, left, .. } if is_one => LanePlan::Resumes {
                pc,
                left,
                arrival: None,
            },
            LanePlan::Ask { place, then } => {
                let [clear, set] = *then;
                let clear = clear.without_arrivals(parting);
                let set = set.without_arrivals(parting);
                both(place, Some(clear.clone()), Some(set)).unwrap_or(clear)
            }
            LanePlan::Resumes { .. } | LanePlan::Ends { .. } | LanePlan::Elsewhere => self,
        }
    }

    /// Returns how many ends the questions lead to.
    pub(super) fn leaves(&self) -> usize {
        let mut leaves = 0_usize;
        let mut work = vec![self];
        while let Some(plan) = work.pop() {
            if let LanePlan::Ask { then, .. } = plan {
                work.extend(then.iter());
            } else {
                leaves = leaves.saturating_add(1);
            }
        }
        leaves
    }

    /// Returns the places that are asked for.
    pub(super) fn places(&self) -> Vec<DwordPlace> {
        let mut found = Vec::new();
        let mut work = vec![self];
        while let Some(plan) = work.pop() {
            if let LanePlan::Ask { place, then } = plan {
                found.push(*place);
                work.extend(then.iter());
            }
        }
        found
    }
}

/// What is known by the bit of a place. What no lane has needs no question.
pub(super) fn both(
    place: DwordPlace,
    clear: Option<LanePlan>,
    set: Option<LanePlan>,
) -> Option<LanePlan> {
    match (clear, set) {
        (Some(clear), Some(set)) if clear != set => {
            let then = Box::new([clear, set]);
            Some(LanePlan::Ask { place, then })
        }
        (clear, set) => clear.or(set),
    }
}
