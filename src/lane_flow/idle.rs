//! Finds the instructions that change no followed value of a lane, or only forget scalar registers. Most instructions of a function are of
//! this kind, and are skipped.
//!
//! The row of a store to scratch is known from the function's entry on, and is the same for every wave that stops later. Half of the reads
//! from lanes of vector registers serve the other half of the wave, and are skipped, too.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what writes none of the registers that are followed does nothing"
)]

use super::facts::Marks;
use super::liveness::{Dword, Liveness};
use super::memory::is_stack;
use crate::isa::{Effect, Instruction, MachineRegister, Span};
use crate::machine_flow::{Code, bit, rows};

/// The skipped instructions of a function, for a lane of one half of the wave.
#[derive(Debug, Default)]
pub(super) struct Idle(Vec<Passed>);

#[derive(Clone, Copy, Debug)]
struct Passed {
    /// The scalar registers that the instruction forgets, one bit per number, if it has no other effect.
    forgets: Option<u128>,
    /// The next instruction, from this one on, that has an effect, branches, or precedes a branch target.
    next: usize,
    /// The registers that the instructions before `next` forget.
    forgotten: u128,
}

impl Idle {
    /// Finds the skipped instructions.
    ///
    /// * `liveness`: the live dwords for this half.
    pub(super) fn find(code: &Code, marks: &Marks, liveness: &Liveness) -> Idle {
        let count = code.instructions.len();
        let mut all: Vec<Passed> = (0..count)
            .map(|index| Passed {
                forgets: forgets(code, marks, liveness, index),
                next: index,
                forgotten: 0,
            })
            .collect();
        let mut after = (count, 0);
        for (index, one) in all.iter_mut().enumerate().rev() {
            let following = index.saturating_add(1);
            if let Some(forgotten) = one.forgets
                && code.goes_on(index)
                && !code.is_leader(following)
            {
                let (next, later) = after;
                (one.next, one.forgotten) = (next, forgotten | later);
            }
            after = (one.next, one.forgotten);
        }
        Idle(all)
    }

    /// Returns the scalar registers that an instruction forgets, if it has no other effect.
    pub(super) fn forgets(&self, index: usize) -> Option<u128> {
        self.0.get(index)?.forgets
    }

    /// Returns the next instruction, from this one on, that has an effect, branches, or precedes a branch target. Also returns the scalar
    /// registers that are forgotten before it.
    pub(super) fn next(&self, index: usize) -> (usize, u128) {
        let passed = self.0.get(index);
        passed.map_or((index, 0), |one| (one.next, one.forgotten))
    }
}

/// Returns the scalar registers that [`Context::step`](super::step::Context::step) forgets, if it has no other effect in any state.
fn forgets(code: &Code, marks: &Marks, liveness: &Liveness, index: usize) -> Option<u128> {
    let instruction = code.instructions.get(index)?;
    let has_lanes = |span: Span| span.registers().any(|register| code.has_lanes(register));
    let is_nothing = match instruction.effect {
        Effect::Scalar { .. }
        | Effect::SaveExec { .. }
        | Effect::WriteExec { .. }
        | Effect::Compare { .. }
        | Effect::Call { .. }
        | Effect::GprIndex => false,
        Effect::VgprMsb { bits } => bits == 0,
        Effect::WriteLane { dst, .. } => !code.has_lanes(dst),
        Effect::VectorMove { dst, .. } => !has_lanes(dst),
        Effect::Load(access) => access.data.is_some_and(|data| !has_lanes(data)),
        Effect::Store(access) if !is_stack(&access) => true,
        Effect::Store(access) => marks.stores.get(&index).is_some_and(|slot| {
            let is_followed = |row| liveness.dwords().binary_search(&Dword::Row(row)).is_ok();
            !rows(&access, *slot).any(is_followed)
        }),
        Effect::ReadLane { .. } if liveness.is_needed(index) => false,
        _ => return written(code, instruction),
    };
    is_nothing.then_some(0)
}

/// Returns the scalar registers that an instruction writes, if it writes no other followed register.
fn written(code: &Code, instruction: &Instruction) -> Option<u128> {
    let writes = &instruction.writes;
    let mut registers = writes.spans().iter().flat_map(|span| span.registers());
    if writes.is_indirect() {
        return None;
    }
    registers.try_fold(0, |set, register| match register {
        MachineRegister::Vgpr(_) | MachineRegister::Agpr(_) => {
            (!code.has_lanes(register)).then_some(set)
        }
        MachineRegister::ExecLo | MachineRegister::ExecHi => None,
        register => Some(set | bit(register)),
    })
}
