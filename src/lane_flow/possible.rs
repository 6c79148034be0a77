//! Finds the lanes that may be off at a place of the code, with the instruction that switched each off, its known bits, and its right
//! places.
//!
//! It serves to check a `DW_AT_LLVM_lane_pc` of another producer. A place is accepted unless it is known to be wrong. Right places lie
//! between the last instruction that acted on the lane and the next one that may, even if the lane is switched on and off in between.

use std::collections::{BTreeMap, BTreeSet};

use super::fuel::{Fuel, pay};
use super::function::FunctionFlow;
use super::gap::{acts, around, is_control};
use super::lane_plan::{LanePlan, PlacePlan};
use super::place::DwordPlace;
use super::state::State;
use super::switches::{Contexts, FollowedLane, MOST_KNOWN, Switch};
use crate::error::Result;
use crate::machine_flow::{Code, Edge};
use crate::meter::Meter;
use crate::sync::lock;

/// The most alternatives of one kind of lane that are distinguished.
const MOST_WAYS: usize = 64;
/// The most instructions that are followed to find the places of one kind of lane.
const MOST_INSTRUCTIONS: usize = 1024;

/// The lanes that may be off at a place, with the same history.
#[derive(Clone, Debug)]
pub(crate) struct OffLane {
    /// Lanes 0 to 31, or 32 to 63.
    pub(crate) half: u8,
    /// The instruction that switched the lanes off. `None` if they did not enter the function.
    pub(crate) left: Option<u64>,
    /// The possible combinations of the lanes' bits. Each lane has one of them.
    pub(crate) ways: Vec<Way>,
}

/// A combination of bits, and the right places of a lane with them.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) bits: BTreeMap<DwordPlace, bool>,
    pub(crate) right: Right,
}

/// The right places of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    /// The lane waits, and resumes at `resumes`.
    Waits { resumes: u64, places: BTreeSet<u64> },
    /// The lane never executes again.
    Ended { places: BTreeSet<u64> },
    /// The lane did not enter the function: no place is right.
    Elsewhere,
    /// No lane has these bits, or the place is unknown: every answer is accepted. Contains the places that the code leads to with such
    /// bits, if they are known.
    Open(Option<BTreeSet<u64>>),
}

impl Right {
    /// Returns true if an address is a right place of the lane. `None` stands for no place.
    pub(crate) fn allows(&self, said: Option<u64>) -> bool {
        match (self, said) {
            (Right::Waits { places, .. }, Some(said)) => places.contains(&said),
            // Lanes that were never started cannot be distinguished from lanes that ended.
            (Right::Waits { .. }, None) => false,
            (Right::Ended { places }, Some(said)) => places.contains(&said),
            (Right::Ended { .. } | Right::Elsewhere, None) | (Right::Open(_), _) => true,
            (Right::Elsewhere, Some(_)) => false,
        }
    }

    /// Returns the right addresses. `None` if they are unknown.
    pub(crate) fn places(&self) -> Option<&BTreeSet<u64>> {
        static NONE: BTreeSet<u64> = BTreeSet::new();
        match self {
            Right::Waits { places, .. } | Right::Ended { places } => Some(places),
            Right::Elsewhere => Some(&NONE),
            Right::Open(places) => places.as_ref(),
        }
    }
}

/// Returns the combinations of bits that lanes can have according to the plan of a place. Returns `None` if there are too many.
///
/// * `known`: the known bits of the lanes.
/// * `right`: returns the right places of lanes at a leaf of the plan.
fn ways_of(
    plan: &LanePlan,
    known: &[(DwordPlace, bool)],
    mut right: impl FnMut(&LanePlan) -> Right,
) -> Option<Vec<Way>> {
    let known: BTreeMap<DwordPlace, bool> = known.iter().copied().collect();
    let mut found = Vec::new();
    let mut work = vec![(plan, known)];
    while let Some((plan, bits)) = work.pop() {
        let LanePlan::Ask { place, then } = plan else {
            if found.len() >= MOST_WAYS {
                return None;
            }
            let right = right(plan);
            found.push(Way { bits, right });
            continue;
        };
        for (next, bit) in then.iter().zip([false, true]) {
            if bits.get(place).is_none_or(|known| *known == bit) {
                let mut bits = bits.clone();
                bits.insert(*place, bit);
                work.push((next, bits));
            }
        }
    }
    Some(found)
}

/// Returns the addresses of a lane from its resumption up to the first instruction that acts on it.
///
/// Returns `None` if they are unknown.
fn find_ahead(contexts: &Contexts<'_>, index: usize, state: State) -> Option<BTreeSet<u64>> {
    let code = contexts.on.code;
    let mut places = BTreeSet::new();
    let mut known: BTreeMap<(usize, bool), State> = BTreeMap::new();
    let mut work = vec![(index, true, state)];
    let mut left = MOST_INSTRUCTIONS;
    let mut live = Fuel::of(MOST_INSTRUCTIONS);
    while let Some((index, is_on, mut state)) = work.pop() {
        left = left.checked_sub(1)?;
        if code.is_leader(index) {
            contexts.off.keep_live(&mut state, index, &mut live)?;
            match known.get_mut(&(index, is_on)) {
                Some(known) => {
                    if !known.join(&state) {
                        continue;
                    }
                    state = known.clone();
                }
                None => {
                    known.insert((index, is_on), state.clone());
                }
            }
        }
        let instruction = code.instructions.get(index)?;
        if is_on {
            places.insert(instruction.address);
            if acts(&state, instruction) {
                continue;
            }
        }
        let mut switch = if is_on { Switch::On } else { Switch::At(index) };
        let other = contexts.step(index, &mut switch, &mut state)?.other();
        for (switch, state) in [(switch, state)].into_iter().chain(other) {
            let stays_on = switch == Switch::On;
            if is_on && !stays_on {
                places.extend(around(code, index));
            }
            for edge in code.edges(index) {
                match edge {
                    Edge::To(to) => work.push((to, stays_on, state.clone())),
                    Edge::Leaves | Edge::Ends => {}
                    Edge::Lost => return None,
                }
            }
        }
    }
    Some(places)
}

/// Returns the right addresses after a switch-off: the instruction, its successors up to a branch, and the predecessors that act on no
/// lane.
fn behind_of(code: &Code, index: usize) -> BTreeSet<u64> {
    let address = |index: usize| code.instructions.get(index).map(|one| one.address);
    let mut places: BTreeSet<u64> = around(code, index).into_iter().collect();
    let mut seen = BTreeSet::from([index]);
    let mut work = vec![index];
    while let Some(at) = work.pop() {
        for earlier in code.before(at) {
            let is_idle = code.instructions.get(earlier).is_some_and(is_control);
            if is_idle && seen.insert(earlier) {
                places.extend(address(earlier));
                work.push(earlier);
            }
        }
    }
    places
}

impl FunctionFlow<'_> {
    /// Returns the lanes that may be off before an instruction, by their switch-off.
    ///
    /// * `plan`: the facts about that instruction.
    ///
    /// # Errors
    /// If the query costs more than its budget.
    pub(super) fn possible(
        &self,
        index: usize,
        plan: &PlacePlan,
        meter: &Meter,
    ) -> Result<Option<Vec<OffLane>>> {
        let Some(rows) = self.rows_at_entry() else {
            return Ok(None);
        };
        let mut found = Vec::new();
        for (half, plan) in (0..self.halves()).zip(&plan.halves) {
            let contexts = self.contexts(half, &rows);
            let Some(switches) = self.all_switches(half, Switch::On) else {
                return Ok(None);
            };
            let never = self.all_switches(half, Switch::NotEntered);
            let mut most = Fuel::of(MOST_KNOWN);
            let mut known = lock(&self.ahead);
            let mut ahead = |resumes: u64| {
                let find = || {
                    let index = self.code().index_of(resumes)?;
                    let mut fuel = Fuel::of(MOST_KNOWN);
                    let lanes = switches.before(&contexts, index, &(), &mut fuel)?;
                    let on = lanes.into_iter().find(|lane| lane.switch == Switch::On)?;
                    find_ahead(&contexts, index, on.state)
                };
                known.entry((resumes, half)).or_insert_with(find).clone()
            };
            let Some(lanes) = switches.before(&contexts, index, &(), &mut most) else {
                return Ok(None);
            };
            let never = never.and_then(|one| one.before(&contexts, index, &(), &mut most));
            for lane in lanes.into_iter().chain(never.into_iter().flatten()) {
                let FollowedLane { switch, state, .. } = lane;
                if switch == Switch::On {
                    continue;
                }
                let known = self.bits_at_stop(index, &state);
                let entered = switch != Switch::NotEntered;
                let at = switch.instruction();
                let instruction = at.and_then(|at| self.code().instructions.get(at));
                let left = instruction.map(|one| one.address);
                let behind = at.map_or(BTreeSet::new(), |at| behind_of(self.code(), at));
                let ways = ways_of(plan, &known, |way| match way {
                    LanePlan::Resumes { pc: resumes, .. } => match ahead(*resumes) {
                        Some(places) if entered => Right::Waits {
                            resumes: *resumes,
                            places: places.union(&behind).copied().collect(),
                        },
                        places => Right::Open(places),
                    },
                    LanePlan::Ends { pc: end, .. } => {
                        let places = behind.iter().copied().chain([*end]).collect();
                        if entered {
                            Right::Ended { places }
                        } else {
                            Right::Open(Some(places))
                        }
                    }
                    LanePlan::Elsewhere if !entered => Right::Elsewhere,
                    LanePlan::Elsewhere | LanePlan::Ask { .. } => {
                        Right::Open(Some(BTreeSet::new()))
                    }
                });
                pay(meter, behind.len().saturating_add(known.len()))?;
                found.extend(ways.map(|ways| OffLane { half, left, ways }));
            }
            pay(meter, MOST_KNOWN.saturating_sub(most.instructions()))?;
        }
        Ok(Some(found))
    }
}
