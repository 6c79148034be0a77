//! The next instruction that acts on a lane that waits: the lane may be switched on and off again before, by what its bits are in
//! the masks there.

use std::collections::{BTreeMap, BTreeSet};

use super::bill::Left;
use super::code::Edge;
use super::gap::{acts, is_taken_by_active};
use super::state::State;
use super::step::Outcome;
use super::switches::Contexts;
use super::value::{Decisions, Undecided};
use super::walk::arrive;

/// Follows the lanes with these bits, which are off before an instruction, up to the first that acts on them.
///
/// Returns its address, if all ways of the code lead to the same one.
///
/// * `left`: how many instructions may be gone through, and how much be kept. None is returned if they are too few.
///
/// # Errors
/// A place at the stop whose bit decides where they go.
pub(super) fn arrival(
    contexts: &Contexts<'_>,
    start: usize,
    state: State,
    decisions: &Decisions,
    left: &mut Left,
) -> Result<Option<u64>, Undecided> {
    let code = contexts.off.code;
    let mut known: BTreeMap<(usize, bool), Vec<State>> = BTreeMap::new();
    let mut found = BTreeSet::new();
    let mut work = vec![(start, false, state)];
    while let Some((mut index, mut is_on, mut state)) = work.pop() {
        loop {
            if code.is_leader(index) {
                if contexts.off.keep_live(&mut state, index, left).is_none() {
                    return Ok(None);
                }
                match arrive(known.entry((index, is_on)).or_default(), &mut state, left) {
                    Some(true) => {}
                    Some(false) => break,
                    None => return Ok(None),
                }
            }
            if !is_on {
                let (next, forgotten) = contexts.off.next(index);
                index = next;
                state.forget_scalars(forgotten);
            }
            let (Some(instruction), Some(())) = (code.instructions.get(index), left.count(1))
            else {
                return Ok(None);
            };
            if is_on && acts(&state, instruction) {
                found.insert(instruction.address);
                if found.len() > 1 {
                    return Ok(None);
                }
                break;
            }
            let (was_on, exec) = (is_on, state.exec);
            let context = if is_on { &contexts.on } else { &contexts.off };
            match context.step(&mut state, index, decisions)? {
                Outcome::Same => {}
                Outcome::On => is_on = true,
                Outcome::Off => is_on = false,
                Outcome::Lost(_) => return Ok(None),
            }
            let mut next = None;
            for edge in code.edges(index) {
                let Edge::To(to) = edge else {
                    return Ok(None);
                };
                if was_on && !is_taken_by_active(exec, instruction, index, to) {
                    continue;
                }
                if next.is_none() {
                    next = Some(to);
                } else if left.keep(state.bytes()).is_some() {
                    work.push((to, is_on, state.clone()));
                } else {
                    return Ok(None);
                }
            }
            match next {
                Some(to) => index = to,
                None => break,
            }
        }
    }
    Ok(found.pop_first())
}
