//! What is known of whole dwords along every path from one place: of a function from its entry, or of a
//! frame from the stop to its return.

use std::collections::{BTreeMap, BTreeSet};

use super::bill::Left;
use super::code::Edge;
use super::state::State;
use super::step::{Context, Outcome};
use super::value::{Decisions, Value};
use crate::isa::{Effect, MachineRegister};

/// What is known along the paths from one place. States are joined where paths meet, so that each changes as
/// often at most as it has dwords.
#[derive(Debug)]
pub(super) struct Dataflow {
    /// The state before instructions that branches go to, and before the first.
    states: BTreeMap<usize, State>,
    /// The states in which the function is left, joined.
    pub(super) returned: Option<Returned>,
    /// Whether some path goes to a place that is not known.
    pub(super) is_lost: bool,
}

/// The registers when a function returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Returned {
    pub(super) state: State,
    /// The address that it returns to, its low half first.
    pub(super) address: [Value; 2],
}

/// Follows every path from before an instruction on.
///
/// * `left`: how many instructions may be gone through, and how much be kept. Nothing if that is not enough.
pub(super) fn follow(
    context: &Context<'_>,
    start: usize,
    state: State,
    left: &mut Left,
) -> Option<Dataflow> {
    let code = context.code;
    let mut flow = Dataflow {
        states: BTreeMap::from([(start, state)]),
        returned: None,
        is_lost: false,
    };
    let mut work = BTreeSet::from([(0, start)]);
    while let Some((_, first)) = work.pop_first() {
        let Some(mut state) = flow.states.get(&first).cloned() else {
            continue;
        };
        let mut index = first;
        loop {
            left.count(1)?;
            let leaves = code.edges(index).any(|edge| edge == Edge::Leaves);
            let before = leaves.then(|| state.clone());
            // Of dwords nothing is to be decided.
            let outcome = context.step(&mut state, index, &Decisions::default());
            debug_assert!(!matches!(outcome, Ok(Outcome::On) | Err(_)), "{outcome:?}");
            let mut next = None;
            for edge in code.edges(index) {
                match edge {
                    Edge::To(to) if code.is_leader(to) || to == start => {
                        if left.arrive(&mut flow.states, to, (&state, 0))? {
                            work.insert((code.order(to), to));
                        }
                    }
                    Edge::To(to) => next = Some(to),
                    Edge::Leaves | Edge::Ends => {}
                    Edge::Lost => flow.is_lost = true,
                }
            }
            if let Some(before) = before {
                flow.leave(context, index, before);
            }
            match next {
                Some(to) => index = to,
                None => break,
            }
        }
    }
    Some(flow)
}

impl Dataflow {
    /// The function is left by an instruction: with a return, or with a jump to another function that returns
    /// in its place.
    fn leave(&mut self, context: &Context<'_>, index: usize, mut state: State) {
        let code = context.code;
        let link = MachineRegister::Sgpr(code.convention.return_address());
        let source = match code.instructions.get(index).map(|one| one.effect) {
            Some(Effect::SetPc { src }) => src.registers().map(|span| span.first),
            _ => None,
        };
        let address = [Some(link), link.plus(1)]
            .map(|half| half.map_or(Value::Unknown, |register| state.scalar(register)));
        if source != Some(link) {
            context.call(&mut state, index);
        }
        let found = Returned { state, address };
        match &mut self.returned {
            Some(known) => {
                known.state.join(&found.state);
                for (known, found) in known.address.iter_mut().zip(found.address) {
                    *known = known.join(found);
                }
            }
            none => *none = Some(found),
        }
    }

    /// The instructions whose states are kept.
    pub(super) fn starts(&self) -> impl Iterator<Item = usize> {
        self.states.keys().copied()
    }

    /// Whether the state before an instruction is kept.
    pub(super) fn is_start(&self, index: usize) -> bool {
        self.states.contains_key(&index)
    }

    /// How many instructions one is after the last place from which on [`before`](Dataflow::before) goes.
    pub(super) fn since(&self, index: usize) -> usize {
        let first = self.states.range(..=index).next_back();
        first.map_or(0, |(first, _)| index.saturating_sub(*first))
    }

    /// What is known before an instruction; nothing if no path leads there.
    pub(super) fn before(&self, context: &Context<'_>, index: usize) -> Option<State> {
        let (first, state) = self.states.range(..=index).next_back()?;
        let mut state = state.clone();
        for passed in *first..index {
            let next = Edge::To(passed.checked_add(1)?);
            if !context.code.edges(passed).any(|edge| edge == next) {
                return None;
            }
            let _ = context.step(&mut state, passed, &Decisions::default());
        }
        Some(state)
    }
}
