//! The right places for a waiting lane: the addresses between the last instruction that acted on it and the next one that will.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "whatever is not known to be control may act on lanes"
)]

use smallvec::SmallVec;

use super::state::{Exec, State};
use super::step::{Context, Outcome};
use super::value::Decisions;
use crate::isa::{Condition, Effect, Instruction, MachineRegister, Mnemonic};
use crate::machine_flow::{Code, Edge};

/// The most places that are visited. Instructions that are further away do not belong to the same line.
const MOST: usize = 64;

/// Holds the instructions that a lane executes from a given instruction to the first one that may act on the lane.
#[derive(Clone, Debug, Default)]
pub(super) struct UntilActing {
    /// The addresses, in order.
    pub(super) places: Vec<u64>,
    /// The last address, if its instruction acts on the lane.
    pub(super) arrival: Option<u64>,
}

/// Returns the instructions that a lane executes after it resumes.
///
/// * `context`: the context of an active lane.
pub(super) fn until_acting(
    context: &Context<'_>,
    mut index: usize,
    mut state: State,
) -> UntilActing {
    let code = context.code;
    let mut ahead = UntilActing::default();
    while ahead.places.len() < MOST
        && let Some(instruction) = code.instructions.get(index)
    {
        ahead.places.push(instruction.address);
        if acts(&state, instruction) {
            ahead.arrival = Some(instruction.address);
            break;
        }
        let before = state.exec;
        let outcome = context.step(&mut state, index, &Decisions::closed());
        let stays = matches!(outcome, Ok(Outcome::Same | Outcome::On));
        let next = code.edges(index).filter_map(|edge| match edge {
            Edge::To(to) => Some(to),
            Edge::Leaves | Edge::Ends | Edge::Lost => None,
        });
        let mut next: SmallVec<[usize; 2]> = next.collect();
        next.retain(|to| is_taken_by_active(before, instruction, index, *to));
        match next.as_slice() {
            [next] if stays => index = *next,
            _ => break,
        }
    }
    ahead
}

/// Returns true if an instruction acts on a lane that is on before it.
pub(super) fn acts(state: &State, instruction: &Instruction) -> bool {
    state.exec == Exec::Active && !is_control(instruction)
}

/// Returns true if the wave may go from one instruction to another while a lane is active, so that EXEC is not zero.
///
/// * `exec`: the meaning of EXEC before the instruction.
pub(super) fn is_taken_by_active(
    exec: Exec,
    instruction: &Instruction,
    index: usize,
    to: usize,
) -> bool {
    let is_next = index.checked_add(1) == Some(to);
    match instruction.effect {
        Effect::Branch { condition, target } if exec == Exec::Active => match condition {
            Some(Condition::ExecZero) => is_next,
            // Both ways of a branch to the next instruction lead there.
            Some(Condition::ExecNotZero) => !is_next || target == instruction.end(),
            _ => true,
        },
        _ => true,
    }
}

/// Returns the instruction that switched a lane off, its successors up to a branch, and its predecessors. Ends at instructions that act on
/// a lane or write EXEC. A comparison that switched the lane off has no predecessors here.
pub(super) fn around(code: &Code, index: usize) -> Vec<u64> {
    let address = |index: usize| code.instructions.get(index).map(|one| one.address);
    let is_idle = |index: usize| {
        code.instructions.get(index).is_some_and(|one| {
            let mut masks = [MachineRegister::ExecLo, MachineRegister::ExecHi].into_iter();
            is_control(one) && !masks.any(|mask| one.writes.contains(mask))
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
    // A comparison that writes EXEC acted on the lane, so the gap begins with it.
    let is_control = code.instructions.get(index).is_some_and(is_control);
    let before = if is_control { 0..index } else { 0..0 };
    for before in before.rev().take(MOST) {
        let after = before.saturating_add(1);
        if code.is_leader(after) || !is_idle(before) {
            break;
        }
        places.extend(address(before));
    }
    places
}

/// Returns true if an instruction certainly acts on no lane: scalar instructions, branches, waits, and moves between scalar registers and
/// lanes of vector registers.
pub(super) fn is_control(instruction: &Instruction) -> bool {
    // Includes comparisons that set SCC. Excludes barriers: other waves observe that this wave has reached one.
    let is_other = |name: Mnemonic| name.is_scalar() && !name.to_string().starts_with("s_barrier");
    matches!(
        instruction.effect,
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
            // Compilers fill hazards with short `s_nop`s; larger numbers mark a place of the source.
            | Effect::Nop { cycles: 0..16 }
    ) || instruction.effect == Effect::Other && instruction.mnemonic.is_some_and(is_other)
}
