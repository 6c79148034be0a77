//! Analyses that go with a lane: what else is known of a lane that is followed from the entry of a function, on and off.
//!
//! Where the lane is on and off is found by `switches`; what is known of it besides is the other analysis's.

use super::fuel::{Fuel, left};
use super::function::FunctionFlow;
use super::state::State;
use super::switches::{FollowedLane, Switch, Switches};
use crate::meter::Meter;

/// What another analysis knows of the lane that is followed, on and off. Its steps have an `X` in common.
pub(crate) trait Companion<X>: Clone {
    /// True if there is nothing to follow.
    const IS_NOTHING: bool = false;

    /// Takes an instruction into account.
    fn step(&mut self, context: &X, step: LaneStep);

    /// Takes in what is known at the end of another path. Returns true if that changes anything.
    fn join(&mut self, other: &Self) -> bool;

    /// Returns how many values it lists.
    fn size(&self) -> usize;

    /// Returns how many bytes it has that no other shares.
    fn bytes(&self) -> u64;
}

/// An instruction on the way of a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneStep {
    /// The number of the instruction.
    pub(crate) index: usize,
    /// True if the program has the lane on.
    pub(crate) is_on: bool,
    /// Whether the lane executes it; `None` if that is not known. In sections of other lanes a lane that is off may.
    pub(crate) executes: Option<bool>,
}

impl Companion<()> for () {
    const IS_NOTHING: bool = true;

    fn step(&mut self, (): &(), _: LaneStep) {}

    fn join(&mut self, (): &()) -> bool {
        false
    }

    fn size(&self) -> usize {
        0
    }

    fn bytes(&self) -> u64 {
        0
    }
}

/// What a companion knows of lanes.
#[derive(Debug)]
pub(crate) struct Followed<C> {
    /// For each half of the wave, and each place that was asked for. Empty if it would take too much.
    pub(crate) halves: Vec<Vec<Option<C>>>,
    /// Over how many instructions it was found.
    pub(crate) instructions: usize,
}

impl FunctionFlow<'_> {
    /// Follows lanes that entered the function, with a companion. Returns what the companion knows of those that are on before some
    /// instructions, in each half of the wave.
    ///
    /// * `entry`: what it knows on entry, `with`: what its steps have in common.
    /// * `meter`: what it may cost.
    pub(crate) fn follow_with<X, C: Companion<X>>(
        &self,
        places: &[usize],
        entry: &C,
        with: &X,
        meter: &Meter,
    ) -> Followed<C> {
        let most = Fuel::of(self.steps().min(left(meter)));
        let mut fuel = most;
        let mut find = || -> Option<Vec<Vec<Option<C>>>> {
            let rows = self.rows_at_entry()?;
            let follow = |half| {
                let contexts = self.contexts(half, &rows);
                let lane = FollowedLane {
                    switch: Switch::On,
                    state: State::at_entry(),
                    companion: entry.clone(),
                };
                let all = Switches::find(&contexts, lane, with, &mut fuel)?;
                let before = |index: &usize| {
                    let lanes = all.before(&contexts, *index, with, &mut fuel)?;
                    let on = lanes.into_iter().find(|lane| lane.switch == Switch::On);
                    Some(on.map(|lane| lane.companion))
                };
                places.iter().map(before).collect()
            };
            (0..self.halves()).map(follow).collect()
        };
        let halves = find().unwrap_or_default();
        Followed {
            halves,
            instructions: fuel.since(most).instructions,
        }
    }
}
