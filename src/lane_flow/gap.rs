//! The places that are right for a waiting lane: between the last instruction that acted on it and the next one
//! that will.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "whatever is not known to be control may act on lanes"
)]

use super::code::{Code, Edge};
use super::state::{Exec, State};
use super::step::{Context, Outcome};
use super::value::Decisions;
use crate::isa::{Condition, Effect, MachineRegister};

/// How many places are looked at. What is further away is not of the same line.
const MOST: usize = 64;

/// What a lane executes that goes on at an instruction, up to the first that may act on it.
///
/// * `context`: of a lane that executes.
pub(super) fn until_acting(context: &Context<'_>, mut index: usize, mut state: State) -> Vec<u64> {
    let code = context.code;
    let mut passed = Vec::new();
    while passed.len() < MOST
        && let Some(instruction) = code.instructions.get(index)
    {
        passed.push(instruction.address);
        let is_idle = state.exec != Exec::Active || is_control(&instruction.effect);
        let outcome = context.step(&mut state, index, &Decisions::closed());
        let stays = matches!(outcome, Ok(Outcome::Same | Outcome::On));
        let mut next = code.edges(index).filter_map(|edge| match edge {
            Edge::To(to) => Some(to),
            Edge::Leaves | Edge::Ends | Edge::Lost => None,
        });
        let (first, other) = (next.next(), next.next());
        let next = match instruction.effect {
            // A lane executes.
            Effect::Branch {
                condition: Some(Condition::ExecZero),
                ..
            } => index.checked_add(1),
            Effect::Branch {
                condition: Some(Condition::ExecNotZero),
                ..
            } => first,
            _ => first.filter(|_| other.is_none()),
        };
        match next {
            Some(next) if stays && is_idle => index = next,
            Some(_) | None => break,
        }
    }
    passed
}

/// The instruction that switched a lane off, those that follow it up to a branch, and those before it, as far as none of
/// them acts on a lane or writes EXEC.
pub(super) fn around(code: &Code, index: usize) -> Vec<u64> {
    let address = |index: usize| code.instructions.get(index).map(|one| one.address);
    let is_idle = |index: usize| {
        code.instructions.get(index).is_some_and(|one| {
            let mut masks = [MachineRegister::ExecLo, MachineRegister::ExecHi].into_iter();
            is_control(&one.effect) && !masks.any(|mask| one.writes.contains(mask))
        })
    };
    let mut places: Vec<u64> = address(index).into_iter().collect();
    for next in (index..).skip(1).take(MOST) {
        if !is_idle(next) || code.is_leader(next) {
            break;
        }
        places.extend(address(next));
        if let Some(Effect::Branch { .. }) = code.instructions.get(next).map(|one| one.effect) {
            break;
        }
    }
    for before in (0..index).rev().take(MOST) {
        let after = before.saturating_add(1);
        if code.is_leader(after) || !is_idle(before) {
            break;
        }
        places.extend(address(before));
    }
    places
}

/// Whether an instruction surely acts on no lane: scalar ones, branches, waits, and moves between scalar registers and
/// lanes of vector registers.
pub(super) const fn is_control(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Scalar { .. }
            | Effect::SaveExec { .. }
            | Effect::WriteExec { .. }
            | Effect::WriteLane { .. }
            | Effect::ReadLane { .. }
            | Effect::ReadFirstLane { .. }
            | Effect::ScalarLoad { .. }
            | Effect::GetPc { .. }
            | Effect::Branch { .. }
            | Effect::Clause { .. }
            | Effect::Wait
    )
}
