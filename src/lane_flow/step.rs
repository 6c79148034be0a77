//! The transfer functions: the effects of instructions on the known state.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is left unknown, whatever it is"
)]

use super::Reason;
use super::exec::NewExec;
use super::facts::Facts;
use super::fuel::Fuel;
use super::idle::Idle;
use super::liveness::Dword;
use super::place::Slot;
use super::state::{Exec, Section, SectionLanes, State};
use super::value::{Bitwise, Decisions, Undecided, Value};
use super::vector::Vector;
use crate::abi::Callees;
use crate::arch::{ScratchAddressing, WaveSize};
use crate::isa::{Effect, ExecOp, MachineRegister, Operand, ScalarOp};
use crate::machine_flow::{Code, Lanes as _, Scalar as _, ScalarOperation, Transfer};

/// The subject that is followed through the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follow {
    /// An inactive lane in this half of the wave: bit `lane % 32` of each mask.
    Lane(u8),
    /// An active lane in this half of the wave.
    ActiveLane(u8),
    /// Whole dwords, independent of lanes.
    Dwords,
    /// The dwords of scalar registers, unless they come from vector registers or memory.
    Scalars,
}

/// The effect of an instruction on the followed lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The lane stays off or on.
    Same,
    /// The lane is off afterwards.
    Off,
    /// The lane executes the next instruction.
    On,
    /// The effect is unknown.
    Lost(Reason),
}

/// The context that all steps through a function share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'c> {
    pub(super) code: &'c Code,
    pub(super) callees: &'c Callees<'c>,
    pub(super) wave_size: WaveSize,
    /// The unit of the stack pointer. `None` if the code does not show it.
    pub(super) addressing: Option<ScratchAddressing>,
    /// The facts about the function from its entry on. `None` while they are being found.
    pub(super) facts: Option<&'c Facts>,
    /// The rows of scratch that are kept, in the order of the facts' dwords. `None` for rows that are unknown in terms of the stop.
    pub(super) rows: &'c [Option<Slot>],
    pub(super) follow: Follow,
}

/// The dwords of a register's new value.
pub(super) type Pair = [Value; 2];

impl<'c> Context<'c> {
    /// Applies the transfer function of an instruction.
    ///
    /// # Errors
    /// A place at the stop whose bit decides the effect. The state is then unchanged.
    pub(super) fn step(
        &self,
        state: &mut State,
        index: usize,
        decisions: &Decisions,
    ) -> Result<Outcome, Undecided> {
        if let Some(forgotten) = self.idle().and_then(|idle| idle.forgets(index)) {
            state.forget_scalars(forgotten);
            return Ok(Outcome::Same);
        }
        let Some(instruction) = self.code.instructions.get(index) else {
            return Ok(Outcome::Lost(Reason::Code));
        };
        match instruction.effect {
            Effect::Scalar { op, dst, a, b } => {
                let operation = ScalarOperation { op, dst, a, b };
                self.scalar(state, index, operation, decisions)
            }
            Effect::SaveExec { op, dst, src } => {
                let (exec, source) = (self.exec(state), self.pair(state, src));
                let result = self.exec_op(op, source, exec, decisions)?;
                let section = match op {
                    ExecOp::Xor if self.is_all_ones(source) => Some(SectionLanes::Inactive),
                    _ => None,
                };
                let new = NewExec {
                    section,
                    saved: dst.registers().map(|span| span.first),
                    also_written: Some((dst, exec)),
                    ..NewExec::of(result)
                };
                self.set_exec(state, index, new, decisions)
            }
            Effect::WriteExec { op, dst, src } => {
                let (exec, source) = (self.exec(state), self.pair(state, src));
                let result = self.exec_op(op, source, exec, decisions)?;
                let new = NewExec {
                    also_written: Some((dst, result)),
                    ..NewExec::of(result)
                };
                self.set_exec(state, index, new, decisions)
            }
            Effect::Compare { dst, to_exec } => Ok(self.compare(state, index, dst, to_exec)),
            Effect::Call { dst, .. } => {
                self.call(state, index);
                self.assign(state, dst, [Value::Unknown; 2]);
                Ok(Outcome::Same)
            }
            _ => {
                self.step_rest(state, index, instruction);
                let masks = [MachineRegister::ExecLo, MachineRegister::ExecHi];
                let is_lost = masks.iter().any(|mask| instruction.writes.contains(*mask));
                Ok(if is_lost {
                    Outcome::Lost(Reason::Mask)
                } else {
                    Outcome::Same
                })
            }
        }
    }

    /// Returns the skipped instructions. `None` while they are unknown.
    fn idle(&self) -> Option<&'c Idle> {
        self.facts?.idle(self.half()?)
    }

    /// Returns the next instruction that is not skipped, from a given one on, and the registers that are forgotten before it: see
    /// [`Idle::next`].
    pub(super) fn next(&self, index: usize) -> (usize, u128) {
        self.idle().map_or((index, 0), |idle| idle.next(index))
    }

    /// Returns true if the value that an instruction puts into a lane of a vector register is followed.
    pub(super) fn is_needed(&self, index: usize) -> bool {
        match (self.facts, self.half()) {
            (Some(facts), Some(half)) => facts.is_needed(half, index),
            (_, _) => true,
        }
    }

    /// Forgets the values that cannot reach EXEC from a branch target on. Returns `None` if the budget is exceeded.
    pub(super) fn keep_live(&self, state: &mut State, index: usize, fuel: &mut Fuel) -> Option<()> {
        /// The number of dwords that are free of charge. Few functions have more.
        const FREE: usize = 64;
        let (Some(half), Some(facts)) = (self.half(), self.facts) else {
            return Some(());
        };
        let Some(live) = facts.live(half, index) else {
            return Some(());
        };
        fuel.count(facts.dwords().len().saturating_sub(FREE))?;
        state.keep_scalars(live.scalars);
        let dwords = facts.dwords().iter().zip(&live.lanes);
        for (dword, lanes) in dwords.clone() {
            if let Dword::Register(register) = dword {
                state.keep_vector(*register, *lanes);
            }
        }
        let rows = dwords.zip(self.rows);
        state.keep_slots(rows.filter_map(|((_, lanes), row)| Some(((*row)?, *lanes))));
        Some(())
    }

    fn scalar(
        &self,
        state: &mut State,
        index: usize,
        operation: ScalarOperation,
        decisions: &Decisions,
    ) -> Result<Outcome, Undecided> {
        let ScalarOperation { op, dst, a, b } = operation;
        // The instruction begins or ends a section of the inactive lanes.
        let inverts_exec = is_exec(dst) && is_exec(a) && op == ScalarOp::Not;
        let count = dst.registers().map_or(0, |span| span.count);
        let source = a.registers().map(|span| span.first);
        let (a, b) = (self.pair(state, a), self.pair(state, b));
        if inverts_exec || self.inverts(operation, [a, b]) {
            state.exec = match state.exec {
                Exec::Active => Exec::Section(Section {
                    lanes: SectionLanes::Inactive,
                    saved: None,
                }),
                Exec::Section(Section {
                    lanes: SectionLanes::Inactive,
                    ..
                }) => Exec::Active,
                Exec::Section(_) | Exec::Unknown => Exec::Unknown,
            };
            return Ok(match state.exec {
                Exec::Unknown => Outcome::Lost(Reason::WholeWave),
                Exec::Active | Exec::Section(_) => Outcome::Same,
            });
        }
        let zip = |f: &dyn Fn(Value, Value) -> Value| {
            let ([a0, a1], [b0, b1]) = (a, b);
            [f(a0, b0), f(a1, b1)]
        };
        let result = match op {
            ScalarOp::Mov => a,
            ScalarOp::Not => a.map(Value::not),
            ScalarOp::MovIfScc => {
                let ([o0, o1], [a0, a1]) = (self.pair(state, dst), a);
                [o0.join(a0), o1.join(a1)]
            }
            ScalarOp::Select => zip(&Value::join),
            ScalarOp::Add | ScalarOp::Sub if count == 1 => {
                let ([a, _], [b, _]) = (a, b);
                [sum(op, a, b), Value::Unknown]
            }
            _ => match Bitwise::of(op) {
                Some(bitwise) => self.bitwise(bitwise, a, b, decisions)?,
                None => [Value::Unknown; 2],
            },
        };
        if is_exec(dst) {
            let Some(span) = dst.registers() else {
                return Ok(Outcome::Same);
            };
            if span.count != self.mask_dwords() && matches!(state.exec, Exec::Section(_)) {
                state.exec = Exec::Unknown;
                return Ok(Outcome::Lost(Reason::WholeWave));
            }
            let result = self.whole_exec(state, span, result);
            let new = NewExec {
                source: source.filter(|_| op == ScalarOp::Mov),
                ..NewExec::of(result)
            };
            return self.set_exec(state, index, new, decisions);
        }
        let result = match Bitwise::of(op) {
            Some(_) => self.number(state, index, result),
            None => result,
        };
        self.assign(state, dst, result);
        Ok(Outcome::Same)
    }

    /// Returns the dwords of an operand. The second is unknown if it has only one.
    pub(super) fn pair(&self, state: &State, operand: Operand) -> Pair {
        let Operand::Registers(span) = operand else {
            return [state.operand(operand, 0), state.operand(operand, 1)];
        };
        let dword = |n: u8| {
            let register = span.first.plus(n).filter(|_| n < span.count);
            match register {
                Some(MachineRegister::ExecLo) => self.exec(state)[0],
                Some(MachineRegister::ExecHi) => self.exec(state)[1],
                Some(register) => state.scalar(register),
                None => Value::Unknown,
            }
        };
        [dword(0), dword(1)]
    }

    pub(super) fn bitwise(
        &self,
        op: Bitwise,
        a: Pair,
        b: Pair,
        decisions: &Decisions,
    ) -> Result<Pair, Undecided> {
        let ([a0, a1], [b0, b1]) = (a, b);
        Ok([
            self.bitwise_dword(op, a0, b0, decisions)?,
            self.bitwise_dword(op, a1, b1, decisions)?,
        ])
    }

    pub(super) fn bitwise_dword(
        &self,
        op: Bitwise,
        a: Value,
        b: Value,
        decisions: &Decisions,
    ) -> Result<Value, Undecided> {
        match (op.apply(a, b, decisions), self.follow) {
            // A whole dword has no single bit to ask for.
            (Err(_), Follow::Dwords | Follow::Scalars) => Ok(Value::Unknown),
            (result, _) => result,
        }
    }

    /// Writes a value to a destination other than EXEC.
    pub(super) fn assign(&self, state: &mut State, dst: Operand, value: Pair) {
        let Some(span) = dst.registers() else {
            return;
        };
        let [low, high] = value;
        for (n, register) in span.registers().enumerate() {
            let value = match n {
                0 => low,
                1 => high,
                _ => Value::Unknown,
            };
            state.set_scalar(register, value);
        }
    }

    /// Applies a call. It preserves EXEC, the registers that the convention preserves, and the registers that the callee is known not to
    /// write.
    pub(super) fn call(&self, state: &mut State, index: usize) {
        let is_kept = self.code.call_keeps(self.callees, self.code.callee(index));
        let is_clobbered = |register| !is_kept(register);
        state.scalars.forget(is_clobbered);
        let forget = |register| {
            if is_clobbered(register) {
                state.set_vector(register, Vector::UNKNOWN);
            }
        };
        match self.follow {
            Follow::Scalars => {}
            Follow::Lane(_) | Follow::ActiveLane(_) => {
                self.code.vectors_with_lanes().for_each(forget);
            }
            Follow::Dwords => {
                let numbers = 0..256;
                numbers
                    .flat_map(|n| [MachineRegister::Vgpr(n), MachineRegister::Agpr(n)])
                    .for_each(forget);
            }
        }
        let stack_pointer =
            state.scalar(MachineRegister::Sgpr(self.code.convention.stack_pointer()));
        // Any stack pointer, known or not, is above everything that this function keeps.
        if let Some(slot) = self
            .addressing
            .and_then(|a| self.slot_at(stack_pointer, 0, a))
        {
            state.give_to_callee(slot);
        }
    }
}

/// Returns a mask with every lane.
pub(super) const fn all_lanes(wave_size: WaveSize) -> u64 {
    match wave_size {
        WaveSize::Wave32 => 0xffff_ffff,
        WaveSize::Wave64 => u64::MAX,
    }
}

pub(super) fn is_exec(operand: Operand) -> bool {
    let first = operand.registers().map(|span| span.first);
    matches!(
        first,
        Some(MachineRegister::ExecLo | MachineRegister::ExecHi)
    )
}

/// Returns a sum or a difference with one constant operand.
fn sum(op: ScalarOp, a: Value, b: Value) -> Value {
    match (op, a, b) {
        (ScalarOp::Add, a, Value::Word(b)) => a.plus(b.cast_signed()),
        (ScalarOp::Add, Value::Word(a), b) => b.plus(a.cast_signed()),
        (ScalarOp::Sub, a, Value::Word(b)) => a.plus(b.cast_signed().wrapping_neg()),
        _ => Value::Unknown,
    }
}
