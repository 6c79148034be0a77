//! Follows an inactive lane in both directions at every branch, until it is on or leaves the function, or until an instruction acts on it.

use std::collections::{BTreeMap, BTreeSet};

use super::Reason;
use super::fuel::Fuel;
use super::gap::{acts, is_taken_by_active};
use super::state::State;
use super::step::Outcome;
use super::switches::Contexts;
use super::value::{Decisions, Undecided};
use crate::machine_flow::Edge;

/// The number of different states that are kept apart where paths meet. They seldom differ in more than a bit or two. Further states are
/// joined, so that the analysis terminates.
const STATES: usize = 32;

/// The result for lanes that start with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalkResult {
    /// The lanes resume at this address.
    Resumes(u64),
    /// The lanes are off until the wave leaves the function, so they did not enter it.
    Leaves,
    /// The lanes are off until the wave ends. Contains the address of the end, if it is unique.
    Ends(Option<u64>),
    /// The place of the lanes is unknown.
    Unknown(Reason),
}

/// The end of the followed paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// The first instruction with the lane on.
    On,
    /// The first instruction that acts on the lane, which may be switched on and off before. All paths have to lead to the same one.
    Acting,
}

/// The lanes before an instruction.
#[derive(Clone, Debug)]
pub(super) struct Start<'s> {
    pub(super) index: usize,
    pub(super) state: State,
    /// The bits of the lanes.
    pub(super) decisions: &'s Decisions,
}

/// The results of the paths that have been followed so far.
#[derive(Debug, Default)]
struct Found {
    resumes: BTreeSet<u64>,
    ends: BTreeSet<u64>,
    leaves: bool,
}

impl Found {
    fn answer(&self) -> WalkResult {
        let mut resumes = self.resumes.iter();
        match (resumes.next(), resumes.next(), self.leaves) {
            (Some(_), Some(_), _) => WalkResult::Unknown(Reason::Ambiguous),
            (Some(address), None, false) if self.ends.is_empty() => WalkResult::Resumes(*address),
            (Some(_), None, _) => WalkResult::Unknown(Reason::Ambiguous),
            (None, _, true) if self.ends.is_empty() => WalkResult::Leaves,
            (None, _, true) => WalkResult::Unknown(Reason::Ambiguous),
            (None, _, false) => match (self.ends.first(), self.ends.len()) {
                (None, _) => WalkResult::Unknown(Reason::Endless),
                (Some(address), 1) => WalkResult::Ends(Some(*address)),
                (Some(_), _) => WalkResult::Ends(None),
            },
        }
    }

    /// Returns true if the result is final because the paths lead to different ends.
    fn is_over(&self, goal: Goal) -> bool {
        goal == Goal::Acting && (self.leaves || !self.ends.is_empty() || self.resumes.len() > 1)
    }
}

/// Follows inactive lanes.
///
/// * `fuel`: the budget of instructions and bytes.
///
/// # Errors
/// A place at the stop whose bit decides where the lanes go.
pub(super) fn walk(
    contexts: &Contexts<'_>,
    start: Start<'_>,
    goal: Goal,
    fuel: &mut Fuel,
) -> Result<WalkResult, Undecided> {
    let mut found = Found::default();
    match find(contexts, start, goal, fuel, &mut found)? {
        Ok(()) => Ok(found.answer()),
        Err(reason) => Ok(WalkResult::Unknown(reason)),
    }
}

fn find(
    contexts: &Contexts<'_>,
    start: Start<'_>,
    goal: Goal,
    fuel: &mut Fuel,
    found: &mut Found,
) -> Result<Result<(), Reason>, Undecided> {
    const TOO_MUCH: Result<Result<(), Reason>, Undecided> = Ok(Err(Reason::Budget));
    let code = contexts.off.code;
    let mut known: BTreeMap<(usize, bool), Vec<State>> = BTreeMap::new();
    let mut work = vec![(start.index, false, start.state)];
    while let Some((mut index, mut is_on, mut state)) = work.pop() {
        loop {
            if code.is_leader(index) {
                if contexts.off.keep_live(&mut state, index, fuel).is_none() {
                    return TOO_MUCH;
                }
                match arrive(known.entry((index, is_on)).or_default(), &mut state, fuel) {
                    Some(true) => {}
                    Some(false) => break,
                    None => return TOO_MUCH,
                }
            }
            if !is_on {
                let (next, forgotten) = contexts.off.next(index);
                index = next;
                state.forget_scalars(forgotten);
            }
            if fuel.count(1).is_none() {
                return TOO_MUCH;
            }
            let Some(instruction) = code.instructions.get(index) else {
                return Ok(Err(Reason::Code));
            };
            if is_on && acts(&state, instruction) {
                found.resumes.insert(instruction.address);
                break;
            }
            let (was_on, exec) = (is_on, state.exec);
            let context = if is_on { &contexts.on } else { &contexts.off };
            match context.step(&mut state, index, start.decisions)? {
                Outcome::Same => {}
                Outcome::Off => is_on = false,
                Outcome::On if goal == Goal::On => {
                    found.resumes.insert(instruction.end());
                    break;
                }
                Outcome::On => is_on = true,
                Outcome::Lost(reason) => return Ok(Err(reason)),
            }
            let mut next = None;
            for edge in code.edges(index) {
                match edge {
                    Edge::To(to) if was_on && !is_taken_by_active(exec, instruction, index, to) => {
                    }
                    Edge::To(to) if next.is_none() => next = Some(to),
                    Edge::To(to) => {
                        if fuel.keep(state.bytes()).is_none() {
                            return TOO_MUCH;
                        }
                        work.push((to, is_on, state.clone()));
                    }
                    Edge::Leaves => found.leaves = true,
                    Edge::Ends => {
                        found.ends.insert(instruction.address);
                    }
                    Edge::Lost => return Ok(Err(Reason::Jump)),
                }
            }
            match next {
                Some(to) => index = to,
                None => break,
            }
        }
        if found.is_over(goal) {
            return Ok(Ok(()));
        }
    }
    Ok(Ok(()))
}

/// Adds a state to those that reached a place. Returns true if there is a new state to follow, and stores it in `state`. Returns `None` if
/// the budget is exceeded.
fn arrive(known: &mut Vec<State>, state: &mut State, fuel: &mut Fuel) -> Option<bool> {
    fuel.compare(known.len().saturating_mul(state.size()))?;
    if known.iter().any(|known| known.covers(state)) {
        return Some(false);
    }
    if known.len() < STATES {
        fuel.keep(state.bytes())?;
        known.push(state.clone());
        return Some(true);
    }
    let Some(last) = known.last_mut() else {
        return Some(false);
    };
    let changed = last.join(state);
    if changed {
        fuel.keep(last.bytes())?;
    }
    *state = last.clone();
    Some(changed)
}
