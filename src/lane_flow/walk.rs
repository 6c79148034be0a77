//! Follows an inactive lane in both directions at every branch, until it is on or leaves the function, or until an instruction acts on it.

use std::collections::{BTreeMap, BTreeSet};

use super::Reason;
use super::fuel::{Fuel, Used};
use super::gap::{acts, is_taken_by_active};
use super::place::DwordPlace;
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

/// The results of the paths that have been followed so far.
#[derive(Clone, Debug, Default)]
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
        let is_off = self.leaves || !self.ends.is_empty();
        self.resumes.len() > 1
            || is_off && (goal == Goal::Acting || !self.resumes.is_empty())
            || self.leaves && !self.ends.is_empty()
    }
}

/// The lanes before an instruction.
#[derive(Clone, Debug)]
struct At {
    index: usize,
    is_on: bool,
    state: State,
}

/// A search for the ends of the paths of inactive lanes. If a bit of the stop decides where they go, the search pauses, and copies of it go
/// on with either bit. It first follows all paths as far as they do not depend on the bit, because both copies need them.
#[derive(Clone, Debug)]
pub(super) struct Search {
    goal: Goal,
    fuel: Fuel,
    found: Found,
    /// The states that reached a leader, with the lane off or on.
    known: BTreeMap<(usize, bool), Vec<State>>,
    /// The ends of the paths that are followed further.
    work: Vec<At>,
    /// The ends of the paths that wait for the bit of a place.
    waiting: Vec<(DwordPlace, At)>,
}

impl Search {
    /// Creates a search.
    ///
    /// * `index`, `state`: the next instruction of the wave, and the state before it.
    pub(super) fn new(goal: Goal, index: usize, state: State) -> Search {
        let start = At {
            index,
            is_on: false,
            state,
        };
        Search {
            goal,
            fuel: Fuel::of(0),
            found: Found::default(),
            known: BTreeMap::new(),
            work: vec![start],
            waiting: Vec::new(),
        }
    }

    /// Goes on until the paths end, or a bit is needed. Also returns the cost.
    ///
    /// * `decisions`: the bits of the lanes, including the bit that the search waits for.
    /// * `instructions`: the most instructions to follow from here on.
    ///
    /// # Errors
    /// A place at the stop whose bit decides where the lanes go.
    pub(super) fn go_on(
        &mut self,
        contexts: &Contexts<'_>,
        decisions: &Decisions,
        instructions: usize,
    ) -> (Result<WalkResult, Undecided>, Used) {
        self.fuel = self.fuel.refilled(instructions);
        let before = self.fuel;
        let answer = match self.follow(contexts, decisions) {
            Err(reason) => Ok(WalkResult::Unknown(reason)),
            Ok(()) => match self.waiting.first() {
                Some((place, _)) if !self.found.is_over(self.goal) => Err(Undecided(*place)),
                Some(_) | None => Ok(self.found.answer()),
            },
        };
        (answer, self.fuel.since(before))
    }

    /// Follows all paths until they end, or wait for a bit.
    fn follow(&mut self, contexts: &Contexts<'_>, decisions: &Decisions) -> Result<(), Reason> {
        if let Some((place, _)) = self.waiting.first() {
            let place = *place;
            self.pay_for_copy()?;
            let (decided, waiting) = core::mem::take(&mut self.waiting)
                .into_iter()
                .partition(|(asked, _)| *asked == place);
            self.waiting = waiting;
            for (_, at) in decided {
                self.follow_one(contexts, decisions, at, true)?;
            }
        }
        while !self.found.is_over(self.goal)
            && let Some(at) = self.work.pop()
        {
            self.follow_one(contexts, decisions, at, false)?;
        }
        Ok(())
    }

    /// Follows one path until it ends, or waits for a bit. Adds the other paths to `work`.
    ///
    /// * `has_waited`: true if the path has waited for a bit that is now known.
    fn follow_one(
        &mut self,
        contexts: &Contexts<'_>,
        decisions: &Decisions,
        mut at: At,
        mut has_waited: bool,
    ) -> Result<(), Reason> {
        let code = contexts.off.code;
        loop {
            if !has_waited && !self.arrive(contexts, decisions, &mut at)? {
                return Ok(());
            }
            has_waited = false;
            let Some(instruction) = code.instructions.get(at.index) else {
                return Err(Reason::Code);
            };
            if at.is_on && acts(&at.state, instruction) {
                self.found.resumes.insert(instruction.address);
                return Ok(());
            }
            let (was_on, exec) = (at.is_on, at.state.exec);
            let context = if was_on { &contexts.on } else { &contexts.off };
            match context.step(&mut at.state, at.index, decisions) {
                Ok(Outcome::Same) => {}
                Ok(Outcome::Off) => at.is_on = false,
                Ok(Outcome::On) if self.goal == Goal::On => {
                    self.found.resumes.insert(instruction.end());
                    return Ok(());
                }
                Ok(Outcome::On) => at.is_on = true,
                Ok(Outcome::Lost(reason)) => return Err(reason),
                Err(Undecided(place)) => {
                    self.keep(&at.state)?;
                    self.waiting.push((place, at));
                    return Ok(());
                }
            }
            let mut next = None;
            for edge in code.edges(at.index) {
                match edge {
                    Edge::To(to)
                        if was_on && !is_taken_by_active(exec, instruction, at.index, to) => {}
                    Edge::To(to) if next.is_none() => next = Some(to),
                    Edge::To(to) => {
                        self.keep(&at.state)?;
                        self.work.push(At {
                            index: to,
                            ..at.clone()
                        });
                    }
                    Edge::Leaves => self.found.leaves = true,
                    Edge::Ends => {
                        self.found.ends.insert(instruction.address);
                    }
                    Edge::Lost => return Err(Reason::Jump),
                }
            }
            match next {
                Some(to) => at.index = to,
                None => return Ok(()),
            }
        }
    }

    /// Moves to the next instruction that changes a followed value. Returns true if the state there is new.
    fn arrive(
        &mut self,
        contexts: &Contexts<'_>,
        decisions: &Decisions,
        at: &mut At,
    ) -> Result<bool, Reason> {
        let At {
            index,
            is_on,
            state,
        } = at;
        let fuel = &mut self.fuel;
        if contexts.off.code.is_leader(*index) {
            let live = contexts.off.keep_live(state, *index, fuel);
            live.ok_or(Reason::Budget)?;
            let known = self.known.entry((*index, *is_on)).or_default();
            if !add_if_new(known, state, decisions, fuel).ok_or(Reason::Budget)? {
                return Ok(false);
            }
        }
        if !*is_on {
            let (next, forgotten) = contexts.off.next(*index);
            *index = next;
            state.forget_scalars(forgotten);
        }
        fuel.count(1).ok_or(Reason::Budget)?;
        Ok(true)
    }

    fn keep(&mut self, state: &State) -> Result<(), Reason> {
        self.fuel.keep(state.bytes()).ok_or(Reason::Budget)
    }

    /// Charges for the copy of the search that goes on with the other bit. The copies share the contents of their states.
    fn pay_for_copy(&mut self) -> Result<(), Reason> {
        let known: usize = self.known.values().map(Vec::len).sum();
        let states = known.saturating_add(self.waiting.len());
        let bytes = states.saturating_mul(size_of::<State>());
        self.fuel.compare(states).ok_or(Reason::Budget)?;
        self.fuel.keep(bytes as u64).ok_or(Reason::Budget)
    }
}

/// Adds a state to those that reached a place. Returns true if there is a new state to follow, and stores it in `state`. Returns `None` if
/// the budget is exceeded.
fn add_if_new(
    known: &mut Vec<State>,
    state: &mut State,
    decisions: &Decisions,
    fuel: &mut Fuel,
) -> Option<bool> {
    fuel.compare(known.len().saturating_mul(state.size()))?;
    if known.iter().any(|known| known.covers(state, decisions)) {
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
