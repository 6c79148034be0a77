//! Follows lanes through a function together with a companion analysis.

use super::companion::Companion;
use super::fuel::{Fuel, left};
use super::function::FunctionFlow;
use super::state::State;
use super::switches::{Contexts, FollowedLane, Switch, Switches};
use crate::meter::Meter;

/// The companion's facts about lanes.
#[derive(Debug)]
pub(crate) struct Followed<C> {
    /// The facts for each half of the wave, and each requested place. Empty if the budget was exceeded.
    pub(crate) halves: Vec<Vec<Option<C>>>,
    /// The number of instructions that were followed.
    pub(crate) instructions: usize,
}

impl FunctionFlow<'_> {
    /// Follows lanes that entered the function, with a companion. Returns the companion's facts about active lanes before the requested
    /// instructions, in each half of the wave.
    ///
    /// * `entry`: the companion's facts on entry, `with`: the context that its steps share.
    /// * `meter`: the budget.
    pub(crate) fn follow_with<X, C: Companion<X>>(
        &self,
        places: &[usize],
        entry: &C,
        with: &X,
        meter: &Meter,
    ) -> Followed<C> {
        let (halves, instructions) =
            self.follow(places, entry, with, meter, |_, _, known, _| Some(known));
        Followed {
            halves: halves.unwrap_or_default(),
            instructions,
        }
    }

    /// Follows lanes as [`follow_with`](FunctionFlow::follow_with) does, and passes on the companion's facts before every instruction that
    /// a lane can reach. Returns the result for each half of the wave, or `None` if the budget was exceeded.
    ///
    /// * `begin`: creates the result from the facts before the `places`.
    /// * `give`: receives the index of each instruction and the facts before it. Returns its cost, as a number of values that are compared.
    pub(crate) fn follow_each<X, C: Companion<X>, T>(
        &self,
        places: &[usize],
        entry: &C,
        with: &X,
        meter: &Meter,
        begin: impl Fn(Vec<Option<C>>) -> T,
        give: impl Fn(&mut T, usize, &C) -> usize,
    ) -> Visited<T> {
        let make = |all: &Switches<C>, contexts: &Contexts<'_>, known, fuel: &mut Fuel| {
            let mut made = begin(known);
            all.each(contexts, with, fuel, |index, known, fuel| {
                fuel.compare(give(&mut made, index, known))
            })?;
            Some(made)
        };
        let (halves, instructions) = self.follow(places, entry, with, meter, make);
        Visited {
            halves,
            instructions,
        }
    }

    /// Follows lanes through the function in each half of the wave. Returns the results of `make`, or `None` if the budget was exceeded,
    /// and the number of instructions that were followed.
    ///
    /// * `make`: receives the facts before the `places`.
    fn follow<X, C: Companion<X>, T>(
        &self,
        places: &[usize],
        entry: &C,
        with: &X,
        meter: &Meter,
        make: impl Fn(&Switches<C>, &Contexts<'_>, Vec<Option<C>>, &mut Fuel) -> Option<T>,
    ) -> (Option<Vec<T>>, usize) {
        let most = Fuel::of(self.steps().min(left(meter)));
        let mut fuel = most;
        let mut find = || -> Option<Vec<T>> {
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
                let known = places.iter().map(before).collect::<Option<_>>()?;
                make(&all, &contexts, known, &mut fuel)
            };
            (0..self.halves()).map(follow).collect()
        };
        let halves = find();
        (halves, fuel.since(most).instructions)
    }
}

/// The results that were computed from the companion's facts.
#[derive(Debug)]
pub(crate) struct Visited<T> {
    /// The result for each half of the wave; `None` if the budget was exceeded.
    pub(crate) halves: Option<Vec<T>>,
    /// The number of instructions that were followed.
    pub(crate) instructions: usize,
}
