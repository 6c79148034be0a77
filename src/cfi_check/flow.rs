//! Following a function: its blocks, the paths between them, and what is known at the start of each.
//!
//! No graph is built before: where a jump by a register goes is known only from the state in which it is reached, so that
//! petgraph would hold edges that are looked at once.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is left unknown, whatever it is"
)]

use std::collections::BTreeSet;

use super::SkipReason;
use super::state::State;
use super::step::Context;
use super::value::{Scalar, Verdict};
use crate::isa::{Effect, Instruction, MachineRegister};

/// How many instructions may be stepped over for each one that the function has, before it is given up,
/// and how many in any case. A block is gone through once for each time that more is known of its start;
/// in real code that is two or three times.
const STEPS_EACH: usize = 24;
/// As how many steps of the meter one of them counts: it is compared with the rules of its row.
const PER_INSTRUCTION: u64 = 8;
const STEPS: usize = 4096;
/// How many instructions may be stepped over at most, and how many blocks a function may have: each keeps
/// some thousand bytes. The largest function of the corpus has some seven hundred.
const MOST_STEPS: usize = 1 << 21;
const MOST_BLOCKS: usize = 1 << 13;

/// Instructions that run one after the other.
#[derive(Debug)]
pub(super) struct Block {
    /// The first instruction, by its place in the function.
    pub(super) first: usize,
    /// The first one after the block.
    pub(super) end: usize,
    /// What is known at its start; nothing if no path leads there.
    pub(super) state: Option<State>,
}

/// Where control goes at the end of a block.
enum Next {
    /// To these addresses.
    To([Option<u64>; 2]),
    /// Out of the function.
    Out,
    /// To a place that is not known.
    Unknown,
}

/// What looks at the states that an instruction can be reached in.
pub(super) trait Visitor {
    /// The instructions that come are those of another block, by ascending address.
    fn begin_block(&mut self);

    /// An instruction, and all that is known before it.
    fn visit(&mut self, state: &State, instruction: &Instruction);
}

/// Shows every instruction that is reached to a visitor, by ascending address, and gives the visitor back.
///
/// Where all branches go forward, as in most functions, everything is known of a block when it is reached, and going
/// through it once is enough. Where that turns out to be wrong, what the visitor has seen is forgotten with it.
pub(super) fn visit<V: Visitor>(
    context: &Context<'_>,
    instructions: &[Instruction],
    mut visitor: impl FnMut() -> V,
) -> Result<V, SkipReason> {
    if goes_forward(instructions) {
        let mut once = visitor();
        if follow(context, instructions, Paths::Forward, &mut once).is_ok() {
            return Ok(once);
        }
    }
    let blocks = follow(context, instructions, Paths::All, &mut NullVisitor)?;
    let mut again = visitor();
    for block in blocks {
        let Some(mut state) = block.state else {
            continue;
        };
        again.begin_block();
        for instruction in instructions.get(block.first..block.end).unwrap_or_default() {
            again.visit(&state, instruction);
            context.step(&mut state, instruction);
        }
    }
    Ok(again)
}

/// Whether no branch goes back. Where a jump by a register goes is known only when it is followed.
fn goes_forward(instructions: &[Instruction]) -> bool {
    instructions
        .iter()
        .all(|instruction| match instruction.effect {
            Effect::Branch { target, .. } => target > instruction.address,
            _ => true,
        })
}

/// Which paths between blocks are followed.
#[derive(Clone, Copy, PartialEq)]
enum Paths {
    All,
    /// One that goes back is an error.
    Forward,
}

/// Looks at nothing.
struct NullVisitor;

impl Visitor for NullVisitor {
    fn begin_block(&mut self) {}

    fn visit(&mut self, _: &State, _: &Instruction) {}
}

/// The blocks of a function, each with what is known at its start. The visitor sees a block each time it is gone through.
fn follow(
    context: &Context<'_>,
    instructions: &[Instruction],
    paths: Paths,
    visitor: &mut impl Visitor,
) -> Result<Vec<Block>, SkipReason> {
    let mut blocks = blocks(context.start, instructions)?;
    let starts: Vec<u64> = (blocks.iter())
        .filter_map(|block| Some(instructions.get(block.first)?.address))
        .collect();
    let end = instructions.last().map_or(context.start, Instruction::end);
    if blocks.len() > MOST_BLOCKS {
        return Err(SkipReason::Budget);
    }
    let left = instructions.len().saturating_mul(STEPS_EACH);
    let mut left = left.clamp(STEPS, MOST_STEPS);
    let mut work = BTreeSet::from([0]);
    if let Some(first) = blocks.first_mut() {
        first.state = Some(State::entry());
    }
    while let Some(n) = work.pop_first() {
        let Some(Block {
            first,
            end: last,
            state: Some(state),
        }) = blocks.get(n)
        else {
            continue;
        };
        let mut state = state.clone();
        let body = instructions.get(*first..*last).unwrap_or_default();
        left = left.checked_sub(body.len()).ok_or(SkipReason::Budget)?;
        let steps = (body.len() as u64).saturating_mul(PER_INSTRUCTION);
        (context.meter.work(steps)).map_err(|_| SkipReason::Budget)?;
        let Some((last, body)) = body.split_last() else {
            continue;
        };
        visitor.begin_block();
        for instruction in body {
            visitor.visit(&state, instruction);
            context.step(&mut state, instruction);
        }
        visitor.visit(&state, last);
        let next = successors(context, &state, last);
        context.step(&mut state, last);
        let targets = match next {
            Next::To(targets) => targets,
            Next::Out => continue,
            Next::Unknown => return Err(SkipReason::UnknownJump),
        };
        for target in targets.into_iter().flatten() {
            if !(context.start..end).contains(&target) {
                continue;
            }
            let to = (starts.binary_search(&target)).map_err(|_| SkipReason::UnknownJump)?;
            if paths == Paths::Forward && to <= n {
                return Err(SkipReason::UnknownJump);
            }
            let Some(block) = blocks.get_mut(to) else {
                continue;
            };
            let changed = match &mut block.state {
                Some(known) => known.join(&state),
                none => {
                    *none = Some(state.clone());
                    true
                }
            };
            if changed {
                work.insert(to);
            }
        }
    }
    Ok(blocks)
}

/// Cuts the function where branches go and where they are.
fn blocks(start: u64, instructions: &[Instruction]) -> Result<Vec<Block>, SkipReason> {
    let mut leaders = vec![start];
    let end = instructions.last().map_or(start, Instruction::end);
    for instruction in instructions {
        match instruction.effect {
            Effect::Branch { target, .. } => {
                leaders.extend([target, instruction.end()]);
            }
            Effect::SetPc { .. } | Effect::EndProgram | Effect::OtherJump | Effect::CodeEnd => {
                leaders.push(instruction.end());
            }
            _ => {}
        }
    }
    leaders.sort_unstable();
    leaders.dedup();
    // Those outside are branches out of the function.
    let mut leaders = (leaders.into_iter())
        .filter(|leader| (start..end).contains(leader))
        .peekable();
    let mut blocks: Vec<Block> = Vec::new();
    for (n, instruction) in instructions.iter().enumerate() {
        if leaders.next_if_eq(&instruction.address).is_some() {
            if let Some(last) = blocks.last_mut() {
                last.end = n;
            }
            blocks.push(Block {
                first: n,
                end: instructions.len(),
                state: None,
            });
        }
    }
    // One that was not met goes into the middle of an instruction.
    if leaders.next().is_some() {
        return Err(SkipReason::UnknownJump);
    }
    Ok(blocks)
}

/// Where control goes after an instruction.
fn successors(context: &Context<'_>, state: &State, instruction: &Instruction) -> Next {
    match instruction.effect {
        Effect::Branch { target, condition } => {
            let next = condition.map(|_| instruction.end());
            Next::To([Some(target), next])
        }
        Effect::EndProgram | Effect::CodeEnd => Next::Out,
        Effect::SetPc { src } => {
            let target = state.operand(src, 0);
            let is_return = target.is_entry_of(context.convention.return_address());
            match target {
                _ if is_return == Verdict::Same || is_tail_call(context, state) => Next::Out,
                Scalar::CodeAddress { address, .. } => Next::To([Some(address), None]),
                // The register of the return address: that its value was lost sight of changes nothing.
                _ if src.registers().map(|span| span.first)
                    == Some(MachineRegister::Sgpr(context.convention.return_address())) =>
                {
                    Next::Out
                }
                _ => Next::Unknown,
            }
        }
        Effect::OtherJump => Next::Unknown,
        _ => Next::To([Some(instruction.end()), None]),
    }
}

/// Whether everything is as the caller left it, so that a jump leaves the function.
fn is_tail_call(context: &Context<'_>, state: &State) -> bool {
    [
        context.convention.stack_pointer(),
        context.convention.return_address(),
    ]
    .into_iter()
    .all(|register| state.scalar(register).is_entry_of(register) == Verdict::Same)
}
