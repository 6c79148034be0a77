//! The work list of forward analyses: states are joined where paths meet, until nothing changes.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use arrayvec::ArrayVec;

use super::code::{Code, Edge};

/// The instructions that control can go to after one.
pub(crate) type Targets = ArrayVec<usize, 2>;

/// A forward analysis of a function.
pub(crate) trait Analysis {
    /// What is known before an instruction: an element of the lattice.
    type State: Clone;
    /// Why the analysis cannot be finished.
    type Failure;

    /// Charges for instructions that are about to be stepped over.
    ///
    /// # Errors
    /// If it costs too much.
    fn charge(&mut self, instructions: usize) -> Result<(), Self::Failure>;

    /// Returns where control goes after an instruction that does not just [go on](Code::goes_on). Analyses that take note of how a
    /// function is left do so here.
    ///
    /// # Errors
    /// If control goes to an unknown place.
    fn follow(
        &mut self,
        code: &Code,
        state: &Self::State,
        index: usize,
    ) -> Result<Targets, Self::Failure>;

    /// The transfer function.
    fn step(&mut self, state: &mut Self::State, index: usize);

    /// Returns the join: takes `state` into what is known before an instruction already, if a path led there. Returns true if that
    /// changes anything.
    ///
    /// # Errors
    /// If it costs too much.
    fn join(
        &mut self,
        known: Option<&mut Self::State>,
        state: &Self::State,
    ) -> Result<bool, Self::Failure>;

    /// Returns true if the state before an instruction is kept, and joined with others. It has to be before leaders, and may be
    /// before other starts of blocks.
    fn keeps(&self, code: &Code, index: usize) -> bool {
        code.is_leader(index)
    }

    /// Returns the place of an instruction in the order in which those with kept states are gone through.
    fn order(&self, code: &Code, index: usize) -> usize {
        code.order(index)
    }
}

/// The states before the first instruction and before each leader that is reached, from which others follow.
#[derive(Debug)]
pub(crate) struct Solution<S>(BTreeMap<usize, S>);

/// Follows every path from before an instruction on.
///
/// # Errors
/// Those of the analysis.
pub(crate) fn solve<A: Analysis>(
    code: &Code,
    start: usize,
    entry: A::State,
    analysis: &mut A,
) -> Result<Solution<A::State>, A::Failure> {
    let mut states = BTreeMap::from([(start, entry)]);
    let mut work = BTreeSet::from([(0, start)]);
    while let Some((_, first)) = work.pop_first() {
        let Some(mut state) = states.get(&first).cloned() else {
            continue;
        };
        let mut next = Some(first);
        while let Some(index) = next.take() {
            let end = code.block_end(index);
            // That where the analysis begins may be in a block.
            let end = if (index..end).contains(&start) && index != start {
                start
            } else {
                end
            };
            let Some(last) = end.checked_sub(1).filter(|last| *last >= index) else {
                break;
            };
            analysis.charge(end.saturating_sub(index))?;
            for passed in index..last {
                analysis.step(&mut state, passed);
            }
            let targets = match code.goes_on(last) {
                true => Targets::from_iter([end]),
                false => analysis.follow(code, &state, last)?,
            };
            analysis.step(&mut state, last);
            for to in targets {
                if !analysis.keeps(code, to) && to != start {
                    next = Some(to);
                    continue;
                }
                let is_new = match states.entry(to) {
                    Entry::Occupied(mut known) => analysis.join(Some(known.get_mut()), &state)?,
                    Entry::Vacant(none) => {
                        let is_new = analysis.join(None, &state)?;
                        none.insert(state.clone());
                        is_new
                    }
                };
                if is_new {
                    work.insert((analysis.order(code, to), to));
                }
            }
        }
    }
    Ok(Solution(states))
}

impl<S: Clone> Solution<S> {
    /// Returns how many instructions [`before`](Solution::before) steps over.
    pub(crate) fn distance(&self, index: usize) -> usize {
        let first = self.0.range(..=index).next_back();
        first.map_or(0, |(first, _)| index.saturating_sub(*first))
    }

    /// Returns the state before an instruction, if a path leads there.
    ///
    /// * `step`: the transfer function.
    pub(crate) fn before(
        &self,
        code: &Code,
        index: usize,
        mut step: impl FnMut(&mut S, usize),
    ) -> Option<S> {
        let (first, state) = self.0.range(..=index).next_back()?;
        let mut state = state.clone();
        for passed in *first..index {
            if !code.falls_through(passed) {
                return None;
            }
            step(&mut state, passed);
        }
        Some(state)
    }

    /// Steps once over each instruction that is reached, in the order of the code.
    pub(crate) fn replay(&self, code: &Code, mut step: impl FnMut(&mut S, usize)) {
        let mut starts = self.0.iter().peekable();
        while let Some((first, state)) = starts.next() {
            let (mut state, mut index) = (state.clone(), *first);
            let end = starts.peek().map(|(next, _)| **next);
            loop {
                step(&mut state, index);
                let next = index.saturating_add(1);
                if Some(next) == end || !code.falls_through(index) {
                    break;
                }
                index = next;
            }
        }
    }
}

/// Returns the instructions of the function that control goes to, as far as the instruction itself says.
pub(crate) fn targets(code: &Code, index: usize) -> Targets {
    let to = |edge| match edge {
        Edge::To(to) => Some(to),
        Edge::Leaves | Edge::Ends | Edge::Lost => None,
    };
    code.edges(index).filter_map(to).collect()
}
