//! Following a lane that is off, both ways at every branch, until it is on or leaves the function.

use std::collections::{BTreeMap, BTreeSet};

use super::Reason;
use super::bill::Left;
use super::code::Edge;
use super::state::State;
use super::step::{Context, Outcome};
use super::value::{Decisions, Undecided};

/// How many different states are kept apart where paths meet. What differs is seldom more than a bit or two;
/// after so many the states are joined, so that there is an end.
const STATES: usize = 32;

/// What happens to the lanes that start with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// They execute next at this address.
    Resumes(u64),
    /// They are off until the wave leaves the function: they did not enter it.
    Leaves,
    /// They are off until the wave ends; where it does, if that is one place.
    Ends(Option<u64>),
    /// It cannot be told.
    Unknown(Reason),
}

/// What has been found on all ways so far.
#[derive(Debug, Default)]
struct Found {
    resumes: BTreeSet<u64>,
    ends: BTreeSet<u64>,
    leaves: bool,
}

impl Found {
    fn answer(&self) -> Answer {
        let mut resumes = self.resumes.iter();
        match (resumes.next(), resumes.next(), self.leaves) {
            (Some(_), Some(_), _) => Answer::Unknown(Reason::Ambiguous),
            (Some(address), None, false) if self.ends.is_empty() => Answer::Resumes(*address),
            (Some(_), None, _) => Answer::Unknown(Reason::Ambiguous),
            (None, _, true) if self.ends.is_empty() => Answer::Leaves,
            (None, _, true) => Answer::Unknown(Reason::Ambiguous),
            (None, _, false) => match (self.ends.first(), self.ends.len()) {
                (None, _) => Answer::Unknown(Reason::Endless),
                (Some(address), 1) => Answer::Ends(Some(*address)),
                (Some(_), _) => Answer::Ends(None),
            },
        }
    }
}

/// Follows the lanes with these bits from before an instruction on.
///
/// * `left`: how many instructions may be gone through, and how much be kept.
///
/// # Errors
/// A place at the stop whose bit decides where they go.
pub(super) fn walk(
    context: &Context<'_>,
    start: usize,
    state: State,
    decisions: &Decisions,
    left: &mut Left,
) -> Result<Answer, Undecided> {
    let code = context.code;
    let mut known: BTreeMap<usize, Vec<State>> = BTreeMap::new();
    let mut found = Found::default();
    let mut work = vec![(start, state)];
    while let Some((mut index, mut state)) = work.pop() {
        loop {
            if code.is_leader(index) {
                if context.keep_live(&mut state, index, left).is_none() {
                    return Ok(Answer::Unknown(Reason::Budget));
                }
                match arrive(known.entry(index).or_default(), &mut state, left) {
                    Some(true) => {}
                    Some(false) => break,
                    None => return Ok(Answer::Unknown(Reason::Budget)),
                }
            }
            let (next, forgotten) = context.next(index);
            index = next;
            state.forget_scalars(forgotten);
            if left.count(1).is_none() {
                return Ok(Answer::Unknown(Reason::Budget));
            }
            match context.step(&mut state, index, decisions)? {
                Outcome::Same | Outcome::Off => {}
                Outcome::On => {
                    let next = code
                        .instructions
                        .get(index)
                        .map(crate::isa::Instruction::end);
                    found.resumes.extend(next);
                    break;
                }
                Outcome::Lost(reason) => return Ok(Answer::Unknown(reason)),
            }
            let mut next = None;
            for edge in code.edges(index) {
                match edge {
                    Edge::To(to) if next.is_none() => next = Some(to),
                    Edge::To(to) => {
                        if left.keep(state.bytes()).is_none() {
                            return Ok(Answer::Unknown(Reason::Budget));
                        }
                        work.push((to, state.clone()));
                    }
                    Edge::Leaves => found.leaves = true,
                    Edge::Ends => {
                        let end = code.instructions.get(index).map(|one| one.address);
                        found.ends.extend(end);
                    }
                    Edge::Lost => return Ok(Answer::Unknown(Reason::Jump)),
                }
            }
            match next {
                Some(to) => index = to,
                None => break,
            }
        }
    }
    Ok(found.answer())
}

/// Takes a state in among those that a place was reached with. Gives whether there is anything new to
/// follow, which is then in `state`; nothing if it is too much.
pub(super) fn arrive(known: &mut Vec<State>, state: &mut State, left: &mut Left) -> Option<bool> {
    left.compare(known.len().saturating_mul(state.size()))?;
    if known.iter().any(|known| known.covers(state)) {
        return Some(false);
    }
    if known.len() < STATES {
        left.keep(state.bytes())?;
        known.push(state.clone());
        return Some(true);
    }
    let Some(last) = known.last_mut() else {
        return Some(false);
    };
    let changed = last.join(state);
    if changed {
        left.keep(last.bytes())?;
    }
    *state = last.clone();
    Some(changed)
}
