//! The work list of forward analyses: states are joined where paths meet, until nothing changes.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use arrayvec::ArrayVec;

use super::code::{Code, Edge};

/// The successors of an instruction.
pub(crate) type Targets = ArrayVec<usize, 2>;

/// A forward analysis of a function.
pub(crate) trait Analysis {
    /// The known facts before an instruction: an element of the lattice.
    type State: Clone;
    /// The reason why the analysis cannot be finished.
    type Failure;

    /// Charges for instructions that are about to be visited.
    ///
    /// # Errors
    /// If the budget is exceeded.
    fn charge(&mut self, instructions: usize) -> Result<(), Self::Failure>;

    /// Returns the successors of an instruction that does not just [go on](Code::goes_on). Analyses that record how a function is left do
    /// so here.
    ///
    /// # Errors
    /// If control goes to an unknown place.
    fn follow(
        &mut self,
        code: &Code,
        state: &Self::State,
        index: usize,
    ) -> Result<Targets, Self::Failure>;

    /// Applies the transfer function.
    fn step(&mut self, state: &mut Self::State, index: usize);

    /// Joins `state` into the facts before an instruction, if another path led there. Returns true if this changes anything.
    ///
    /// # Errors
    /// If the budget is exceeded.
    fn join(
        &mut self,
        known: Option<&mut Self::State>,
        state: &Self::State,
    ) -> Result<bool, Self::Failure>;

    /// Returns true if the state before an instruction is kept, and joined with others. It has to be kept before leaders, and may be before
    /// other starts of blocks.
    fn keeps(&self, code: &Code, index: usize) -> bool {
        code.is_leader(index)
    }

    /// Returns the position of an instruction in the order in which kept states are visited.
    fn order(&self, code: &Code, index: usize) -> usize {
        code.order(index)
    }
}

/// The states before the first instruction and before each leader that is reached. Other states follow from these.
#[derive(Debug)]
pub(crate) struct Solution<S>(BTreeMap<usize, S>);

/// Follows every path from an instruction on.
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
            // The first instruction of the analysis may be within a block.
            let end = if (index..end).contains(&start) && index != start {
                start
            } else {
                end
            };
            let Some(last) = end.checked_sub(1).filter(|last| *last >= index) else {
                break;
            };
            analysis.charge(end - index)?;
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
    /// Returns the number of instructions that [`before`](Solution::before) visits.
    pub(crate) fn distance(&self, index: usize) -> usize {
        let first = self.0.range(..=index).next_back();
        first.map_or(0, |(first, _)| index - *first)
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

    /// Visits each reached instruction once, in the order of the code.
    pub(crate) fn replay(&self, code: &Code, mut step: impl FnMut(&mut S, usize)) {
        let mut starts = self.0.iter().peekable();
        while let Some((first, state)) = starts.next() {
            let (mut state, mut index) = (state.clone(), *first);
            let end = starts.peek().map(|(next, _)| **next);
            loop {
                step(&mut state, index);
                let next = index + 1;
                if Some(next) == end || !code.falls_through(index) {
                    break;
                }
                index = next;
            }
        }
    }
}

/// Returns the successors of an instruction within the function, as far as the instruction itself determines them.
pub(crate) fn targets(code: &Code, index: usize) -> Targets {
    let to = |edge| match edge {
        Edge::To(to) => Some(to),
        Edge::Leaves | Edge::Ends | Edge::Lost => None,
    };
    code.edges(index).filter_map(to).collect()
}
