//! Following a lane that is off, both ways at every branch: until it is on or leaves the function, or until something acts on it.

use std::collections::{BTreeMap, BTreeSet};

use super::Reason;
use super::fuel::Fuel;
use super::gap::{acts, is_taken_by_active};
use super::state::State;
use super::step::Outcome;
use super::switches::Contexts;
use super::value::{Decisions, Undecided};
use crate::machine_flow::Edge;

/// How many different states are kept apart where paths meet. What differs is seldom more than a bit or two;
/// after so many the states are joined, so that there is an end.
const STATES: usize = 32;

/// What happens to the lanes that start with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalkResult {
    /// They execute next at this address.
    Resumes(u64),
    /// They are off until the wave leaves the function: they did not enter it.
    Leaves,
    /// They are off until the wave ends; where it does, if that is one place.
    Ends(Option<u64>),
    /// It cannot be told.
    Unknown(Reason),
}

/// What paths are followed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// The first instruction with the lane on.
    On,
    /// The first instruction that acts on the lane, which may be on and off before. All paths have to lead to the same.
    Acting,
}

/// Lanes before an instruction.
#[derive(Clone, Debug)]
pub(super) struct Start<'s> {
    pub(super) index: usize,
    pub(super) state: State,
    /// Their bits.
    pub(super) decisions: &'s Decisions,
}

/// What has been found on all ways so far.
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

    /// Returns true if no more can be found than that paths do not lead to one goal.
    fn is_over(&self, goal: Goal) -> bool {
        goal == Goal::Acting && (self.leaves || !self.ends.is_empty() || self.resumes.len() > 1)
    }
}

/// Follows lanes that are off.
///
/// * `fuel`: how many instructions may be gone through, and how much be kept.
///
/// # Errors
/// A place at the stop whose bit decides where they go.
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

/// Takes a state in among those that a place was reached with. Gives whether there is anything new to
/// follow, which is then in `state`. `None` if it is too much.
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
