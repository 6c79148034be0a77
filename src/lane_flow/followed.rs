//! What an analysis that goes with a lane knows at places of a function.

use super::companion::Companion;
use super::fuel::{Fuel, left};
use super::function::FunctionFlow;
use super::state::State;
use super::switches::{Contexts, FollowedLane, Switch, Switches};
use crate::meter::Meter;

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
        let (halves, instructions) =
            self.follow(places, entry, with, meter, |_, _, known, _| Some(known));
        Followed {
            halves: halves.unwrap_or_default(),
            instructions,
        }
    }

    /// Follows lanes as [`follow_with`](FunctionFlow::follow_with) does, and gives what the companion knows before every instruction that
    /// a lane can reach. Returns what was made of it for each half of the wave, or None if it would take too much.
    ///
    /// * `begin`: is given what is known before the `places`.
    /// * `give`: is given the number of each instruction and what is known before it. Returns what that counts as, in values that
    ///   are looked at.
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

    /// Follows lanes through the function in each half of the wave. Returns what `make` makes of that, or None if it would take too much; and
    /// over how many instructions it was found.
    ///
    /// * `make`: is given what is known before the `places`.
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

/// What was made of what a companion knows.
#[derive(Debug)]
pub(crate) struct Visited<T> {
    /// For each half of the wave; `None` if it would take too much.
    pub(crate) halves: Option<Vec<T>>,
    /// Over how many instructions it was found.
    pub(crate) instructions: usize,
}
