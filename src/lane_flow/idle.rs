//! Instructions that change nothing of what is followed in the way of a lane, most of a function's, or only forget
//! something. They are passed over.
//!
//! Where a store to scratch goes is known from the function's entry on, and it is the same row for whoever stops on the way.
//! Of what is read from lanes of vector registers half is the other half's.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what writes none of the registers that are followed does nothing"
)]

use super::facts::Marks;
use super::liveness::{Dword, Liveness};
use super::memory::is_stack;
use crate::isa::{Effect, Instruction, MachineRegister, Span};
use crate::machine_flow::{Code, bit, rows};

/// The instructions of a function, in the way of a lane of one half of the wave.
#[derive(Debug, Default)]
pub(super) struct Idle(Vec<Passed>);

#[derive(Clone, Copy, Debug)]
struct Passed {
    /// The scalar registers that the instruction forgets, a bit for each number, if that is all that it does.
    forgets: Option<u128>,
    /// The first from it on that does something, branches, or is before one that branches go to.
    next: usize,
    /// What those between forget.
    forgotten: u128,
}

impl Idle {
    /// * `liveness`: of that half.
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

    /// Returns the scalar registers that an instruction forgets, if that is all that it does.
    pub(super) fn forgets(&self, index: usize) -> Option<u128> {
        self.0.get(index)?.forgets
    }

    /// Returns the first instruction from one on that does something, branches, or is before one that branches go to, and the
    /// scalar registers that are forgotten on the way.
    pub(super) fn next(&self, index: usize) -> (usize, u128) {
        let passed = self.0.get(index);
        passed.map_or((index, 0), |one| (one.next, one.forgotten))
    }
}

/// Returns the scalar registers that [`Context::step`](super::step::Context::step) forgets, if it does nothing else whatever is known before.
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

/// Returns the scalar registers that an instruction writes, if it writes nothing else that is followed.
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
