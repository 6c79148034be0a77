//! Where a lane was switched off: the instruction after which it has not executed any more.
//!
//! The masks of a stop do not name it, but they tell most such places apart: a lane that was switched off
//! in an inner region has its bit in the mask of that region, one that never entered the region has not. A
//! lane is followed from the entry of the function, on and off; while it is off, with the instruction that
//! switched it off. States of the same instruction and the same switch are joined, so that what is known
//! at a stop is what all ways there have in common. A switch that contradicts the bits of a lane is not the
//! lane's; if one is left, it is that.

use std::collections::{BTreeMap, BTreeSet};

use super::code::Edge;
use super::state::{Exec, State};
use super::step::{Context, Outcome};
use super::value::Decisions;

/// How many states are kept for a function.
const MOST: usize = 1 << 14;

/// The instruction that switched a lane off; nothing if it is on.
type Switch = Option<usize>;

/// What stands for the instruction of a lane that did not enter the function.
pub(super) const NEVER: usize = usize::MAX;

/// What is known of a lane at each place of a function.
#[derive(Debug)]
pub(super) struct Switches {
    states: BTreeMap<(usize, Switch), State>,
}

/// The contexts of a lane that is on, and of one that is off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contexts<'c> {
    pub(super) on: Context<'c>,
    pub(super) off: Context<'c>,
}

impl Contexts<'_> {
    /// What becomes of a lane with an instruction: one or two states.
    ///
    /// Nothing if it cannot be told.
    pub(super) fn step(
        &self,
        (index, switch): (usize, Switch),
        state: &State,
    ) -> Option<Vec<(Switch, State)>> {
        let context = match switch {
            None => &self.on,
            Some(_) => &self.off,
        };
        let mut next = state.clone();
        let on = |state: State| (None, state);
        let off = |state: State| (Some(switch.unwrap_or(index)), state);
        let outcome = context.step(&mut next, index, &Decisions::closed());
        Some(match outcome.ok()? {
            Outcome::Same => vec![(switch, next)],
            Outcome::On => vec![on(next)],
            Outcome::Off => vec![off(next)],
            Outcome::Lost(super::Reason::Mask) if next.exec == Exec::Active => {
                let mut both = vec![on(next.clone()), off(next)];
                // Within a section EXEC was not the lane's.
                let is_known = state.exec == Exec::Active;
                let both_ways = both.iter_mut().filter(|_| is_known);
                for ((_, state), bit) in both_ways.zip([true, false]) {
                    context.assume(state, index, bit);
                }
                both
            }
            Outcome::Lost(_) => return None,
        })
    }
}

impl Switches {
    /// Follows a lane from the entry of the function: one that entered it, or one that did not and is off all the
    /// time ([`NEVER`]).
    ///
    /// * `left`: how many instructions may be gone through. Nothing if those are not enough, or a way cannot be
    ///   followed.
    pub(super) fn find(
        contexts: &Contexts<'_>,
        (entry, switch): (State, Switch),
        mut left: usize,
    ) -> Option<Switches> {
        let code = contexts.on.code;
        let never = switch == Some(NEVER);
        let mut states: BTreeMap<(usize, Switch), State> = BTreeMap::from([((0, switch), entry)]);
        let mut work = BTreeSet::from([(0, switch)]);
        while let Some((first, switch)) = work.pop_first() {
            let state = states.get(&(first, switch))?.clone();
            // The states of one lane on its way through a block.
            let mut lanes = vec![(switch, state)];
            let mut index = first;
            loop {
                left = left.checked_sub(lanes.len())?;
                let mut next = Vec::new();
                for (switch, state) in &lanes {
                    next.extend(contexts.step((index, *switch), state)?);
                }
                // What would switch one on that did not enter does not happen.
                next.retain(|(switch, _)| !never || switch.is_some());
                lanes = merged(next);
                let mut goes_on = false;
                for edge in code.edges(index) {
                    match edge {
                        Edge::To(to) if code.is_leader(to) || Some(to) != index.checked_add(1) => {
                            for (switch, state) in &lanes {
                                let mut state = state.clone();
                                contexts.off.keep_live(&mut state, to);
                                let key = (to, *switch);
                                let is_new = match states.get_mut(&key) {
                                    Some(known) => known.join(&state),
                                    None => {
                                        states.insert(key, state);
                                        true
                                    }
                                };
                                if is_new {
                                    work.insert(key);
                                }
                            }
                        }
                        Edge::To(_) => goes_on = true,
                        Edge::Leaves | Edge::Ends => {}
                        Edge::Lost => return None,
                    }
                }
                if states.len() > MOST {
                    return None;
                }
                match index.checked_add(1) {
                    Some(next) if goes_on => index = next,
                    _ => break,
                }
            }
        }
        Some(Switches { states })
    }

    /// What is known of lanes before an instruction: of those that are on, and of those that each instruction switched off.
    pub(super) fn before(
        &self,
        contexts: &Contexts<'_>,
        index: usize,
    ) -> Option<Vec<(Switch, State)>> {
        let code = contexts.on.code;
        // Every state of the block.
        let ((first, _), _) = (self.states.range(..=(index, Some(usize::MAX)))).next_back()?;
        let range = (*first, None)..=(*first, Some(usize::MAX));
        let mut lanes: Vec<(Switch, State)> = (self.states.range(range))
            .map(|((_, switch), state)| (*switch, state.clone()))
            .collect();
        for passed in *first..index {
            let goes_on = passed.checked_add(1).map(Edge::To);
            if !code.edges(passed).any(|edge| Some(edge) == goes_on) {
                return None;
            }
            let mut next = Vec::new();
            for (switch, state) in &lanes {
                next.extend(contexts.step((passed, *switch), state)?);
            }
            // One that did not enter has no others beside it.
            let never = lanes.iter().any(|(switch, _)| *switch == Some(NEVER));
            next.retain(|(switch, _)| !never || switch.is_some());
            lanes = merged(next);
        }
        Some(lanes)
    }
}

/// The states of each switch, joined.
fn merged(states: Vec<(Switch, State)>) -> Vec<(Switch, State)> {
    let mut all: BTreeMap<Switch, State> = BTreeMap::new();
    for (switch, state) in states {
        match all.get_mut(&switch) {
            Some(known) => {
                known.join(&state);
            }
            None => {
                all.insert(switch, state);
            }
        }
    }
    all.into_iter().collect()
}
