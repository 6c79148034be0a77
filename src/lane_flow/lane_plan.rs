//! The facts about the lanes at a place of a function, independent of the masks of a wave.

use core::ops::Range;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::Reason;
use super::answer::Waiting;
use super::parting::parting;
use super::place::DwordPlace;
use crate::isa::MachineRegister;

/// The place of an inactive lane, depending on its bits.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LanePlan {
    /// The lane waits.
    Resumes {
        /// The address at which it resumes.
        pc: u64,
        /// The instruction that switched it off. `None` if it was not requested, or is unknown.
        left: Option<u64>,
        /// The next instruction that acts on it. `None` if it was not requested, or is unknown.
        arrival: Option<u64>,
    },
    /// The lane never executes again.
    Ends {
        /// The address at which the wave ends.
        pc: u64,
        /// The instruction that switched it off. `None` if it was not requested, or is unknown.
        left: Option<u64>,
    },
    /// The lane did not enter the function.
    Elsewhere,
    /// The bit of a place decides.
    Ask {
        /// The place of the bit.
        place: DwordPlace,
        /// The plans for a clear and for a set bit.
        then: Box<[LanePlan; 2]>,
    },
}

/// The active lanes.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActiveLanes {
    /// The lanes in EXEC.
    Exec,
    /// The lanes in the mask in this register and, for 64 lanes, the next one.
    Saved(MachineRegister),
    /// The lanes that are not in EXEC.
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
    /// Returns the known facts about a waiting lane.
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

    /// Returns this plan with a switch-off.
    pub(super) fn with_switch_off(self, left: Option<u64>) -> LanePlan {
        match self {
            LanePlan::Resumes { pc, arrival, .. } => LanePlan::Resumes { pc, left, arrival },
            LanePlan::Ends { pc, .. } => LanePlan::Ends { pc, left },
            LanePlan::Elsewhere | LanePlan::Ask { .. } => self,
        }
    }

    /// Returns the kinds of lanes that wait together but part before an instruction acts on them: see [`parting`](parting()).
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

    /// Removes the next acting instruction of some lanes. Decisions between plans that become equal are removed, too.
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

    /// Returns the number of leaves of the decision tree.
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

    /// Returns the places whose bits decide.
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

/// Returns a decision by the bit of a place. If the plans are equal, or only one of them is possible, no decision is needed.
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
