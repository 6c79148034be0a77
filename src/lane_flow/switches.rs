//! Finds the instruction that switched a lane off: the one after which it has not executed again.
//!
//! The masks at a stop do not name this instruction, but they distinguish most candidates. If a lane was switched off in an inner region,
//! its bit is set in that region's mask. If it never entered the region, its bit is clear.
//!
//! A lane is followed from the entry of the function, on and off. While it is off, its state includes the instruction that switched it off.
//! States of the same instruction and the same switch-off are joined, so the facts at a stop hold on all paths there. Before a block, lanes
//! of different switch-offs may have equal states, since the masks that distinguished them are dead. They are followed through the block
//! together. A switch-off that contradicts the bits of a lane is excluded. If one remains, it is the lane's.

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use super::companion::{Companion, LaneStep};
use super::fuel::Fuel;
use super::state::{Exec, SectionLanes, State};
use super::step::{Context, Outcome};
use super::value::Decisions;
use crate::machine_flow::Edge;

/// The most states that are kept for a function.
const MOST: usize = 1 << 14;

/// The most steps to find the states before one place, summed over all possible switch-offs.
const MOST_BEFORE: usize = 1 << 13;

/// The most instructions that are followed with full states of these lanes.
pub(super) const MOST_KNOWN: usize = 1 << 15;

/// The switch-off of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Switch {
    /// None: the lane is on.
    On,
    /// An instruction, by its index.
    At(usize),
    /// Several instructions, on the way through a block.
    Several,
    /// The lane did not enter the function.
    NotEntered,
}

impl Switch {
    /// Returns the index of the instruction, if it is a single one.
    pub(super) const fn instruction(self) -> Option<usize> {
        match self {
            Switch::At(index) => Some(index),
            Switch::On | Switch::Several | Switch::NotEntered => None,
        }
    }
}

/// A lane at a place.
#[derive(Clone, Debug)]
pub(super) struct FollowedLane<C> {
    pub(super) switch: Switch,
    pub(super) state: State,
    pub(super) companion: C,
}

impl<C> FollowedLane<C> {
    /// Applies the next instruction to the companion.
    fn tell<X>(&mut self, context: &X, index: usize)
    where
        C: Companion<X>,
    {
        let is_on = self.switch == Switch::On;
        let executes = match self.state.exec {
            Exec::Active => Some(is_on),
            Exec::Section(section) => match section.lanes {
                SectionLanes::All => Some(true),
                SectionLanes::Inactive => Some(!is_on),
                SectionLanes::Mask(_) => None,
            },
            Exec::Unknown => None,
        };
        let step = LaneStep {
            index,
            is_on,
            executes,
        };
        self.companion.step(context, step);
    }
}

/// The known states of a lane at each place of a function.
#[derive(Debug)]
pub(super) struct Switches<C = ()> {
    states: BTreeMap<(usize, Switch), (State, C)>,
}

/// The contexts of an active and of an inactive lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contexts<'c> {
    pub(super) on: Context<'c>,
    pub(super) off: Context<'c>,
}

/// The result of an instruction for a lane.
pub(super) enum Stepped {
    /// The updated state.
    One,
    /// The updated state, or this one; which of them is unknown.
    Either(Switch, State),
}

impl Stepped {
    /// Returns the alternative to the updated state, if there is one.
    pub(super) fn other(self) -> Option<(Switch, State)> {
        match self {
            Stepped::One => None,
            Stepped::Either(switch, state) => Some((switch, state)),
        }
    }
}

impl Contexts<'_> {
    /// Applies an instruction to a lane. Returns `None` if the result is unknown.
    pub(super) fn step(
        &self,
        index: usize,
        switch: &mut Switch,
        state: &mut State,
    ) -> Option<Stepped> {
        let (context, off) = match *switch {
            Switch::On => (&self.on, Switch::At(index)),
            off @ (Switch::At(_) | Switch::Several | Switch::NotEntered) => (&self.off, off),
        };
        // Within a section, EXEC does not contain the lane's bit.
        let is_known = state.exec == Exec::Active;
        match context.step(state, index, &Decisions::closed()).ok()? {
            Outcome::Same => {}
            Outcome::On => *switch = Switch::On,
            Outcome::Off => *switch = off,
            Outcome::Lost(super::Reason::Mask) if state.exec == Exec::Active => {
                let mut other = state.clone();
                if is_known {
                    context.assume(state, index, true);
                    context.assume(&mut other, index, false);
                }
                *switch = Switch::On;
                return Some(Stepped::Either(off, other));
            }
            Outcome::Lost(_) => return None,
        }
        Some(Stepped::One)
    }

    /// Applies an instruction to the lanes at one place.
    fn step_all<X, C: Companion<X>>(
        &self,
        index: usize,
        lanes: &mut Vec<FollowedLane<C>>,
        with: &X,
        fuel: &mut Fuel,
    ) -> Option<()> {
        // An instruction cannot switch on a lane that did not enter.
        let never = lanes.iter().any(|lane| lane.switch == Switch::NotEntered);
        let (mut is_same, mut others) = (true, Vec::new());
        for lane in lanes.iter_mut() {
            lane.tell(with, index);
            let before = lane.switch;
            let other = self.step(index, &mut lane.switch, &mut lane.state)?.other();
            is_same &= other.is_none() && lane.switch == before;
            others.extend(other.map(|(switch, state)| FollowedLane {
                switch,
                state,
                companion: lane.companion.clone(),
            }));
        }
        if !is_same {
            lanes.append(&mut others);
            lanes.retain(|lane| !never || lane.switch != Switch::On);
            *lanes = merged::<X, C>(core::mem::take(lanes), fuel)?;
        }
        Some(())
    }
}

impl<C> Switches<C> {
    /// Follows a lane from the entry of the function. It entered the function, or it did not and stays off ([`Switch::NotEntered`]).
    ///
    /// * `with`: the context that the steps of the companion share.
    /// * `fuel`: the budget. Returns `None` if it is exceeded, or a path cannot be followed.
    pub(super) fn find<X>(
        contexts: &Contexts<'_>,
        entry: FollowedLane<C>,
        with: &X,
        fuel: &mut Fuel,
    ) -> Option<Switches<C>>
    where
        C: Companion<X>,
    {
        let code = contexts.on.code;
        let mut search = Search {
            work: BTreeSet::from([(0, 0, entry.switch)]),
            states: BTreeMap::from([((0, entry.switch), (entry.state, entry.companion))]),
        };
        while let Some((order, first, switch)) = search.work.pop_first() {
            let Search { states, work } = &mut search;
            let (state, mut companion) = states.get(&(first, switch))?.clone();
            // Lanes with equal states are followed together, independent of their switch-offs.
            let rest = (order, first, switch)..=(order, first, Switch::NotEntered);
            let is_same =
                |other: Switch| (states.get(&(first, other))).is_some_and(|(one, _)| *one == state);
            let others = work.range(rest).map(|(_, _, other)| *other);
            let same: Vec<Switch> = (others.clone())
                .filter(|other| switch != Switch::On && is_same(*other))
                .chain([switch])
                .collect();
            fuel.compare(others.count().saturating_mul(state.size()))?;
            for other in &same {
                work.remove(&(order, first, *other));
                if let Some((_, other)) = states.get(&(first, *other)).filter(|_| !C::IS_NOTHING) {
                    fuel.compare(companion.size())?;
                    companion.join(other);
                }
            }
            let switch = if same.len() > 1 {
                Switch::Several
            } else {
                switch
            };
            // The states of the lanes on their way through a block.
            let mut lanes = vec![FollowedLane {
                switch,
                state,
                companion,
            }];
            let mut index = first;
            loop {
                let (next, forgotten) = contexts.off.next(index);
                pass_over(&mut lanes, index..next, with, fuel)?;
                index = next;
                for lane in &mut lanes {
                    lane.state.forget_scalars(forgotten);
                }
                fuel.count(lanes.len())?;
                contexts.step_all(index, &mut lanes, with, fuel)?;
                let mut goes_on = false;
                for edge in code.edges(index) {
                    match edge {
                        Edge::To(to) if code.is_leader(to) || Some(to) != index.checked_add(1) => {
                            for lane in &lanes {
                                let own = [lane.switch];
                                let all = match lane.switch {
                                    Switch::Several => &same[..],
                                    Switch::On | Switch::At(_) | Switch::NotEntered => &own,
                                };
                                search.arrive::<X>(contexts, to, lane, all, fuel)?;
                            }
                        }
                        Edge::To(_) => goes_on = true,
                        Edge::Leaves | Edge::Ends => {}
                        Edge::Lost => return None,
                    }
                }
                if search.states.len() > MOST {
                    return None;
                }
                match index.checked_add(1) {
                    Some(next) if goes_on => index = next,
                    _ => break,
                }
            }
        }
        Some(Switches {
            states: search.states,
        })
    }

    /// Returns the lanes before an instruction: the active ones, and the inactive ones by switch-off.
    ///
    /// * `fuel`: the budget, which is charged for the instructions from the last branch target on. Returns `None` if it is exceeded.
    pub(super) fn before<X>(
        &self,
        contexts: &Contexts<'_>,
        index: usize,
        with: &X,
        fuel: &mut Fuel,
    ) -> Option<Vec<FollowedLane<C>>>
    where
        C: Companion<X>,
    {
        let code = contexts.on.code;
        // Every state at the beginning of the block.
        let ((first, _), _) = (self.states.range(..=(index, Switch::NotEntered))).next_back()?;
        let range = (*first, Switch::On)..=(*first, Switch::NotEntered);
        let mut lanes: Vec<FollowedLane<C>> = (self.states.range(range))
            .map(|((_, switch), (state, companion))| FollowedLane {
                switch: *switch,
                state: state.clone(),
                companion: companion.clone(),
            })
            .collect();
        let mut steps = MOST_BEFORE;
        for passed in *first..index {
            steps = steps.checked_sub(lanes.len())?;
            fuel.count(lanes.len())?;
            let goes_on = passed.checked_add(1).map(Edge::To);
            if !code.edges(passed).any(|edge| Some(edge) == goes_on) {
                return None;
            }
            contexts.step_all(passed, &mut lanes, with, fuel)?;
        }
        Some(lanes)
    }
}

impl<C> Switches<C> {
    /// Passes on the companion's facts about an active lane before each instruction that it can reach, block by block.
    ///
    /// * `fuel`: the budget, as for [`before`](Self::before).
    /// * `give`: ends the iteration if it returns `None`.
    pub(super) fn each<X>(
        &self,
        contexts: &Contexts<'_>,
        with: &X,
        fuel: &mut Fuel,
        mut give: impl FnMut(usize, &C, &mut Fuel) -> Option<()>,
    ) -> Option<()>
    where
        C: Companion<X>,
    {
        let code = contexts.on.code;
        let mut states = self.states.iter().peekable();
        while let Some(((first, _), _)) = states.peek() {
            let first = *first;
            let mut lanes: Vec<FollowedLane<C>> = Vec::new();
            while let Some(((_, switch), (state, companion))) =
                states.next_if(|((other, _), _)| *other == first)
            {
                lanes.push(FollowedLane {
                    switch: *switch,
                    state: state.clone(),
                    companion: companion.clone(),
                });
            }
            let mut index = first;
            loop {
                if let Some(on) = lanes.iter().find(|lane| lane.switch == Switch::On) {
                    give(index, &on.companion, fuel)?;
                }
                fuel.count(lanes.len())?;
                contexts.step_all(index, &mut lanes, with, fuel)?;
                let next = index.checked_add(1)?;
                let goes_on = code.edges(index).any(|edge| edge == Edge::To(next));
                if !goes_on || code.is_leader(next) {
                    break;
                }
                index = next;
            }
        }
        Some(())
    }
}

/// The states before each place that was reached, and the places to continue from.
struct Search<C> {
    states: BTreeMap<(usize, Switch), (State, C)>,
    /// The places to continue from, in the order in which they are followed.
    work: BTreeSet<(usize, usize, Switch)>,
}

impl<C> Search<C> {
    /// Joins a lane into the states of a branch target, for each of some switch-offs.
    fn arrive<X>(
        &mut self,
        contexts: &Contexts<'_>,
        to: usize,
        lane: &FollowedLane<C>,
        switches: &[Switch],
        fuel: &mut Fuel,
    ) -> Option<()>
    where
        C: Companion<X>,
    {
        let shared = lane.state.bytes().saturating_add(lane.companion.bytes());
        let mut state = lane.state.clone();
        contexts.off.keep_live(&mut state, to, fuel)?;
        for switch in switches {
            fuel.compare(lane.companion.size())?;
            let is_new = match self.states.get_mut(&(to, *switch)) {
                Some((known, companion)) => {
                    let is_new = fuel.arrive(Some(known), &state, shared)?;
                    companion.join(&lane.companion) || is_new
                }
                None => {
                    fuel.arrive(None, &state, shared)?;
                    let new = (state.clone(), lane.companion.clone());
                    self.states.insert((to, *switch), new);
                    true
                }
            };
            if is_new {
                let order = contexts.on.code.order(to);
                self.work.insert((order, to, *switch));
            }
        }
        Some(())
    }
}

/// Applies skipped instructions, which do not change the known masks, to the companions.
fn pass_over<X, C: Companion<X>>(
    lanes: &mut [FollowedLane<C>],
    passed: Range<usize>,
    with: &X,
    fuel: &mut Fuel,
) -> Option<()> {
    if C::IS_NOTHING {
        return Some(());
    }
    for index in passed {
        fuel.count(lanes.len())?;
        for lane in lanes.iter_mut() {
            lane.tell(with, index);
        }
    }
    Some(())
}

/// Joins the states of each switch-off, in the order in which the switch-offs come first. Returns `None` if the budget is exceeded.
fn merged<X, C: Companion<X>>(
    lanes: Vec<FollowedLane<C>>,
    fuel: &mut Fuel,
) -> Option<Vec<FollowedLane<C>>> {
    let mut all: Vec<FollowedLane<C>> = Vec::with_capacity(lanes.len());
    let mut places: BTreeMap<Switch, usize> = BTreeMap::new();
    for lane in lanes {
        let place = *places.entry(lane.switch).or_insert(all.len());
        match all.get_mut(place) {
            Some(known) => {
                fuel.compare(lane.state.size().saturating_add(lane.companion.size()))?;
                known.state.join(&lane.state);
                known.companion.join(&lane.companion);
            }
            None => all.push(lane),
        }
    }
    Some(all)
}
