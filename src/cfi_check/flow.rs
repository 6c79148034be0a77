//! Follows a function: its blocks, the paths between them, and the state at the start of each.
//!
//! The target of an indirect jump is taken from the state before it, and not from the control-flow graph.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is left unknown, whatever it is"
)]

use super::SkipReason;
use super::state::State;
use super::step::Context;
use super::value::{Scalar, Verdict};
use crate::isa::{Effect, Instruction, MachineRegister};
use crate::machine_flow::{Analysis, Code, Targets, solve};

/// The number of instructions that may be visited per instruction of the function, and the minimum. A block is visited again each time that
/// the state at its start changes, two or three times in real code.
const INSTRUCTIONS_EACH: usize = 24;
const LEAST_INSTRUCTIONS: usize = 4096;
/// The cost of one visit in steps of the meter: the instruction is compared with the rules of its row. `meter.rs` lists the other factors.
const STEPS_PER_INSTRUCTION: u64 = 8;
/// The most instructions that may be visited, and the most blocks of a function, each of which needs some thousand bytes. The largest
/// function of the corpus has about seven hundred blocks.
const MOST_INSTRUCTIONS: usize = 1 << 21;
const MOST_BLOCKS: usize = 1 << 13;

/// Receives the states before instructions.
pub(super) trait Visitor {
    /// Begins another block. The instructions of a block come by ascending address.
    fn begin_block(&mut self);

    /// Receives an instruction, and the complete state before it.
    fn visit(&mut self, state: &State, instruction: &Instruction);
}

/// Passes every reached instruction to a visitor, by ascending address, and returns the visitor.
///
/// If all branches are forward, as in most functions, the state of a block is complete when it is reached, and one visit is sufficient. If
/// this turns out to be wrong, the visitor is discarded.
pub(super) fn visit<V: Visitor>(
    context: &Context<'_>,
    mut visitor: impl FnMut() -> V,
) -> Result<V, SkipReason> {
    let code = context.code;
    if code.blocks() > MOST_BLOCKS {
        return Err(SkipReason::Budget);
    }
    let mut branches = code.jumps().filter_map(|one| match one.effect {
        Effect::Branch { target, .. } => Some((one.address, target)),
        _ => None,
    });
    let is_inside = |(_, target)| code.has(target) && code.index_of(target).is_none();
    if branches.clone().any(is_inside) {
        return Err(SkipReason::UnknownJump);
    }
    if branches.all(|(address, target)| target > address) {
        let mut once = visitor();
        if solve(
            code,
            0,
            State::entry(),
            &mut Values::new(context, Some(&mut once)),
        )
        .is_ok()
        {
            return Ok(once);
        }
    }
    let states = solve(
        code,
        0,
        State::entry(),
        &mut Values::new(context, None::<&mut V>),
    )?;
    let mut again = visitor();
    let mut values = Values::new(context, Some(&mut again));
    states.replay(code, |state, index| values.step(state, index));
    Ok(again)
}

/// The analysis.
struct Values<'v, 'c, V> {
    context: &'v Context<'c>,
    /// The visitor, if each instruction is visited once only, so that no path may go back.
    visitor: Option<&'v mut V>,
    /// The number of instructions that may still be visited.
    left: usize,
}

impl<'v, 'c, V> Values<'v, 'c, V> {
    fn new(context: &'v Context<'c>, visitor: Option<&'v mut V>) -> Values<'v, 'c, V> {
        let left = context.code.instructions.len() * INSTRUCTIONS_EACH;
        Values {
            context,
            visitor,
            left: left.clamp(LEAST_INSTRUCTIONS, MOST_INSTRUCTIONS),
        }
    }
}

impl<V: Visitor> Analysis for Values<'_, '_, V> {
    type State = State;
    type Failure = SkipReason;

    fn charge(&mut self, instructions: usize) -> Result<(), SkipReason> {
        self.left = (self.left.checked_sub(instructions)).ok_or(SkipReason::Budget)?;
        let steps = STEPS_PER_INSTRUCTION * instructions as u64;
        (self.context.meter.work(steps)).map_err(|_| SkipReason::Budget)
    }

    fn follow(&mut self, code: &Code, state: &State, index: usize) -> Result<Targets, SkipReason> {
        let Some(instruction) = code.instructions.get(index) else {
            return Ok(Targets::new());
        };
        let mut targets = Targets::new();
        for target in successors(self.context, state, instruction)?
            .into_iter()
            .flatten()
        {
            // Targets outside are branches out of the function.
            if !code.has(target) {
                continue;
            }
            let to = code.index_of(target).ok_or(SkipReason::UnknownJump)?;
            let is_back = self.visitor.is_some() && to <= index;
            if is_back || !code.is_block_start(to) {
                return Err(SkipReason::UnknownJump);
            }
            targets.push(to);
        }
        Ok(targets)
    }

    fn step(&mut self, state: &mut State, index: usize) {
        let code = self.context.code;
        let Some(instruction) = code.instructions.get(index) else {
            return;
        };
        if let Some(visitor) = &mut self.visitor {
            if code.is_block_start(index) {
                visitor.begin_block();
            }
            visitor.visit(state, instruction);
        }
        self.context.step(state, instruction);
    }

    fn join(&mut self, known: Option<&mut State>, state: &State) -> Result<bool, SkipReason> {
        Ok(known.is_none_or(|known| known.join(state)))
    }

    fn keeps(&self, code: &Code, index: usize) -> bool {
        code.is_block_start(index)
    }

    // Orders blocks by ascending address, as visitors expect.
    fn order(&self, _: &Code, index: usize) -> usize {
        index
    }
}

/// Returns the addresses of the successors of an instruction; none if it leaves the function.
fn successors(
    context: &Context<'_>,
    state: &State,
    instruction: &Instruction,
) -> Result<[Option<u64>; 2], SkipReason> {
    match instruction.effect {
        Effect::Branch { target, condition } => {
            let next = condition.map(|_| instruction.end());
            Ok([Some(target), next])
        }
        Effect::EndProgram | Effect::CodeEnd => Ok([None; 2]),
        Effect::SetPc { src } => {
            let target = state.operand(src, 0);
            let is_return = target.is_entry_of(context.convention.return_address());
            match target {
                _ if is_return == Verdict::Same || is_tail_call(context, state) => Ok([None; 2]),
                Scalar::CodeAddress { address, .. } => Ok([Some(address), None]),
                // The register of the return address: the jump is a return, even if the value is no longer known.
                _ if src.registers().map(|span| span.first)
                    == Some(MachineRegister::Sgpr(context.convention.return_address())) =>
                {
                    Ok([None; 2])
                }
                _ => Err(SkipReason::UnknownJump),
            }
        }
        Effect::OtherJump => Err(SkipReason::UnknownJump),
        _ => Ok([Some(instruction.end()), None]),
    }
}

/// Returns true if the stack pointer and return address are the caller's, so that a jump leaves the function.
fn is_tail_call(context: &Context<'_>, state: &State) -> bool {
    [
        context.convention.stack_pointer(),
        context.convention.return_address(),
    ]
    .into_iter()
    .all(|register| state.scalar(register).is_entry_of(register) == Verdict::Same)
}
