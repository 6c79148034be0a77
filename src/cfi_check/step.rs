//! The transfer functions: the effects of an instruction on the known state.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is left unknown, whatever it is"
)]

use super::mask::Mask;
use super::memory;
use super::slot::{Base, Slot};
use super::state::{State, scalar_index};
use super::value::Scalar;
use super::vector::Vector;
use crate::abi::{Callees, Convention};
use crate::arch::{ScratchAddressing, WaveSize};
use crate::isa::{
    Access, CallTarget, Effect, ExecOp, Instruction, MachineRegister, Operand, ScalarOp, Span,
};
use crate::machine_flow::{Code, Lanes as _, Reached, ScalarOperation, Transfer};
use crate::meter::Meter;

/// The context that the steps of one function share.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) wave_size: WaveSize,
    pub(super) convention: Convention,
    /// The function, with this convention.
    pub(super) code: &'a Code,
    /// The unit of the stack pointer. `None` if it is unknown.
    pub(super) addressing: Option<ScratchAddressing>,
    pub(super) callees: &'a Callees<'a>,
    /// The address of the function.
    pub(super) start: u64,
    pub(super) meter: &'a Meter,
}

impl Context<'_> {
    /// Returns true if functions preserve a register; a vector register, in the lanes that were active on entry.
    pub(super) fn preserves(&self, register: MachineRegister) -> bool {
        self.code.preserves(register)
    }

    /// Returns the offset of an address in the function.
    pub(super) fn offset(&self, address: u64) -> u32 {
        u32::try_from(address.wrapping_sub(self.start)).unwrap_or(u32::MAX)
    }

    /// Applies the transfer function: updates `state` to the state after the instruction.
    pub(super) fn step(&self, state: &mut State, instruction: &Instruction) {
        let at = self.offset(instruction.address);
        if self.convention == Convention::Gcc {
            return self.step_gcc(state, instruction, at);
        }
        match instruction.effect {
            Effect::Scalar { op, dst, a, b } => {
                self.scalar(state, ScalarOperation { op, dst, a, b }, at);
            }
            Effect::SaveExec { op, dst, src } => {
                let old = state.exec;
                let src = self.operand_mask(state, src, at);
                let new = exec_op(op, src, old);
                self.set_mask(state, dst, old, at);
                set_exec(state, new, at);
            }
            Effect::WriteExec { op, dst, src } => {
                let src = self.operand_mask(state, src, at);
                let new = exec_op(op, src, state.exec);
                self.set_mask(state, dst, new, at);
                set_exec(state, new, at);
            }
            Effect::Compare { dst, to_exec } => {
                state.forget(at);
                let new = Mask::condition(at).and(state.exec);
                self.set_mask(state, dst, new, at);
                if to_exec {
                    set_exec(state, new, at);
                }
            }
            Effect::GetPc { dst } => {
                let address = instruction.end();
                for (high, register) in [false, true].into_iter().zip(each(dst)) {
                    self.write_scalar(state, at, register, Scalar::CodeAddress { address, high });
                }
            }
            Effect::Call { dst, target } => self.call(state, dst, target, at),
            _ => self.step_rest(state, at, instruction),
        }
    }

    /// Applies an instruction of GCC's functions, in which only the CFA is compared. Therefore only the stack and frame pointers are
    /// followed. All other registers keep their symbols from the entry, which are not used.
    fn step_gcc(&self, state: &mut State, instruction: &Instruction, at: u32) {
        let is_followed =
            |register: MachineRegister| matches!(register, MachineRegister::Sgpr(14..=17));
        let spans = instruction.writes.spans();
        let may_write = |span: &Span| matches!(span.first, MachineRegister::Sgpr(0..=17));
        if !(spans.iter()).any(|span| may_write(span) && span.registers().any(is_followed)) {
            return;
        }
        match instruction.effect {
            Effect::Scalar { op, dst, a, b } if each(dst).all(is_followed) => {
                self.scalar(state, ScalarOperation { op, dst, a, b }, at);
            }
            _ => {
                let registers = spans.iter().flat_map(|span| span.registers());
                for register in registers.filter(|register| is_followed(*register)) {
                    self.write_scalar(state, at, register, Scalar::Unknown);
                }
            }
        }
    }

    /// Applies an operation of the scalar ALU.
    fn scalar(&self, state: &mut State, operation: ScalarOperation, at: u32) {
        let ScalarOperation { op, dst, a, b } = operation;
        let Some(span) = dst.registers() else {
            return;
        };
        let mut values = [0, 1].map(|n| {
            let old = state.operand(dst, n);
            let (a, b) = (state.operand(a, n), state.operand(b, n));
            self.value(state, op, span.count, [old, a, b], at)
        });
        if op == ScalarOp::Add && span.count == 2 {
            values = add_to_address(state, a, b).unwrap_or([Scalar::Other; 2]);
        }
        if u32::from(span.count) == self.wave_size.lanes() / 32
            && let Some(mask) = self.mask_result(state, op, a, b, at)
            && mask != Mask::UNKNOWN
        {
            values = [false, true].map(|high| Scalar::of_mask(mask, high));
        }
        if span.first == MachineRegister::ExecLo && !matches!(op, ScalarOp::MovIfScc) {
            let both = (values[0].mask(false), values[1].mask(true));
            let is_whole = u32::from(span.count) == self.wave_size.lanes() / 32;
            let new = match both {
                (low, _) if is_whole && span.count == 1 => low,
                (low, high) if is_whole && low == high => low,
                _ => Mask::UNKNOWN,
            };
            return set_exec(state, new, at);
        }
        for (register, value) in span.registers().zip(values) {
            self.write_scalar(state, at, register, value);
        }
        // Results of more than two dwords are unknown.
        for register in span.registers().skip(2) {
            self.write_scalar(state, at, register, Scalar::Unknown);
        }
    }

    /// Returns the mask in an operand that is combined with the execution mask. An unknown mask becomes a new condition, computed here.
    fn operand_mask(&self, state: &mut State, operand: Operand, at: u32) -> Mask {
        match state.mask(operand, self.wave_size) {
            Mask::UNKNOWN => {
                state.forget(at);
                Mask::condition(at)
            }
            mask => mask,
        }
    }

    /// Returns the result of an operation on masks. `None` if it is not one.
    fn mask_result(
        &self,
        state: &mut State,
        op: ScalarOp,
        a: Operand,
        b: Operand,
        at: u32,
    ) -> Option<Mask> {
        let known = [a, b].map(|operand| state.mask(operand, self.wave_size));
        let chooses = matches!(op, ScalarOp::And | ScalarOp::AndNot);
        let [a, b] = match known {
            [Mask::UNKNOWN, Mask::UNKNOWN] => known,
            [Mask::UNKNOWN, other] if chooses && is_relative_to_entry(other) => {
                state.forget(at);
                [Mask::condition(at), state.mask(b, self.wave_size)]
            }
            [other, Mask::UNKNOWN] if chooses && is_relative_to_entry(other) => {
                state.forget(at);
                [state.mask(a, self.wave_size), Mask::condition(at)]
            }
            known => known,
        };
        Some(match op {
            ScalarOp::Not => a.not(),
            ScalarOp::And => a.and(b),
            ScalarOp::Or => a.or(b),
            ScalarOp::Xor => a.xor(b),
            ScalarOp::AndNot => a.and(b.not()),
            ScalarOp::OrNot => a.or(b.not()),
            ScalarOp::Nand => a.and(b).not(),
            ScalarOp::Nor => a.or(b).not(),
            ScalarOp::Xnor => a.xor(b).not(),
            ScalarOp::Select => a.join(b),
            _ => return None,
        })
    }

    /// Returns one dword of the result, from the old value and the operands' dwords.
    fn value(&self, state: &State, op: ScalarOp, dwords: u8, of: [Scalar; 3], at: u32) -> Scalar {
        let [old, a, b] = of;
        let result = match (op, dwords) {
            (ScalarOp::Mov, _) => Some(a),
            (ScalarOp::MovIfScc, _) => Some(old.join(a)),
            (ScalarOp::Select, _) => Some(a.join(b)),
            (ScalarOp::Add, 1) => plus(a, b).or_else(|| plus(b, a)),
            (ScalarOp::Sub, 1) => match b {
                Scalar::Constant(n) => plus(a, Scalar::Constant(n.wrapping_neg())),
                _ => None,
            },
            // The high half of an address after an addition or subtraction of a constant.
            (ScalarOp::AddCarry | ScalarOp::SubBorrow, _) => match (a, b) {
                (
                    Scalar::CodeAddress { .. } | Scalar::Entry { .. },
                    Scalar::Constant(0 | u32::MAX),
                ) => Some(a),
                _ => None,
            },
            (ScalarOp::And, 1) => self.round(state, a, b, at),
            _ => None,
        };
        result.unwrap_or(if [a, b].contains(&Scalar::Unknown) {
            Scalar::Unknown
        } else {
            Scalar::Other
        })
    }

    /// Applies `a & b`, if it rounds the stack pointer down.
    fn round(&self, state: &State, a: Scalar, b: Scalar, at: u32) -> Option<Scalar> {
        match (a, b) {
            (Scalar::Entry { register, .. }, Scalar::Constant(_))
                if register == self.convention.stack_pointer() =>
            {
                if state.has_aligned(at) {
                    return Some(Scalar::Unknown);
                }
                Some(Scalar::Aligned { at, plus: 0 })
            }
            _ => None,
        }
    }

    /// Writes a mask to scalar registers.
    fn set_mask(&self, state: &mut State, dst: Operand, mask: Mask, at: u32) {
        for (high, register) in [false, true].into_iter().zip(each(dst)) {
            self.write_scalar(state, at, register, Scalar::of_mask(mask, high));
        }
    }

    /// Applies a call, up to the return of the callee.
    fn call(&self, state: &mut State, dst: Operand, target: CallTarget, at: u32) {
        let address = match target {
            CallTarget::Address(address) => Some(address),
            CallTarget::Registers(operand) => match state.operand(operand, 0) {
                Scalar::CodeAddress {
                    address,
                    high: false,
                } => Some(address),
                _ => None,
            },
        };
        let is_kept = self.code.call_keeps(self.callees, address);
        let is_clobbered = |register| !is_kept(register);
        let scalars = 0..MachineRegister::SCALARS;
        for register in scalars.filter(|n| is_clobbered(MachineRegister::Sgpr(*n))) {
            let written_at = state.scalar_written_at(register);
            state.set_scalar(register, Scalar::Unknown, written_at);
        }
        state.clobber_vectors(is_clobbered);
        let stack_pointer = match state.scalar(self.convention.stack_pointer()) {
            Scalar::Unknown | Scalar::Other => state.stack_top(),
            known => known,
        };
        let slot = (self.addressing)
            .and_then(|addressing| memory::slot_at(stack_pointer, 0, addressing, self.wave_size));
        match slot {
            Some(slot) if slot.base == Base::Entry => state.give_to_callee(slot),
            _ => state.lose_rows(),
        }
        self.write_scalars(state, at, dst, Scalar::Other);
    }
}

impl Transfer for Context<'_> {
    type Lanes = Vector;
    type State = State;
    /// The offset in the function.
    type Place = u32;

    fn wave_size(&self) -> WaveSize {
        self.wave_size
    }

    fn operand(&self, state: &State, operand: Operand, n: u8) -> Scalar {
        state.operand(operand, n)
    }

    fn reached(&self, state: &State, access: &Access) -> Reached<Slot> {
        memory::reached(state, access, self.wave_size)
    }

    fn write_scalar(&self, state: &mut State, at: u32, register: MachineRegister, value: Scalar) {
        match register {
            // Half of EXEC, or the result of an unknown instruction.
            MachineRegister::ExecLo | MachineRegister::ExecHi => set_exec(state, Mask::UNKNOWN, at),
            _ => {
                if let Some(register) = scalar_index(register) {
                    state.set_scalar(register, value, at);
                }
            }
        }
    }

    fn write_lane(
        &self,
        state: &mut State,
        at: u32,
        register: MachineRegister,
        lane: u8,
        value: Scalar,
    ) {
        state.change_vector(register, |vector| vector.set_lane(lane, value, at));
    }

    fn overwritten(&self, state: &State, at: u32, known: &Vector, new: &Vector) -> Option<Vector> {
        let mut vector = known.clone();
        vector.write(state.exec, new, at);
        (state.exec != Mask::NONE).then_some(vector)
    }

    /// Changes the vector in place, because each write changes at least the recorded offset.
    fn write_vector(&self, state: &mut State, at: u32, register: MachineRegister, new: &Vector) {
        let exec = state.exec;
        if exec != Mask::NONE {
            state.change_vector(register, |vector| vector.write(exec, new, at));
        }
    }

    /// Overwrites registers with computed values. Matrix instructions, which have large results, also write inactive lanes.
    fn overwrite_vectors(&self, state: &mut State, at: u32, span: Span) {
        for register in span.registers() {
            self.write_vector(state, at, register, &Vector::COMPUTED);
            if span.count > 1 {
                state.change_vector(register, |vector| {
                    if let Some(joined) = vector.join(&Vector::UNKNOWN) {
                        vector.inactive = joined.inactive;
                    }
                });
            }
        }
    }
}

fn each(operand: Operand) -> impl Iterator<Item = MachineRegister> {
    operand.registers().into_iter().flat_map(Span::registers)
}

fn set_exec(state: &mut State, mask: Mask, at: u32) {
    (state.exec, state.exec_written_at) = (mask, at);
}

fn exec_op(op: ExecOp, source: Mask, exec: Mask) -> Mask {
    match op {
        ExecOp::And => source.and(exec),
        ExecOp::Or => source.or(exec),
        ExecOp::Xor => source.xor(exec),
        ExecOp::Nand => source.and(exec).not(),
        ExecOp::Nor => source.or(exec).not(),
        ExecOp::Xnor => source.xor(exec).not(),
        ExecOp::SourceAndNotExec => source.and(exec.not()),
        ExecOp::SourceOrNotExec => source.or(exec.not()),
        ExecOp::ExecAndNotSource => exec.and(source.not()),
        ExecOp::ExecOrNotSource => exec.or(source.not()),
    }
}

/// Returns true if the mask is a nonempty subset of the lanes active on entry, and not just a number.
fn is_relative_to_entry(mask: Mask) -> bool {
    mask.is_within_entry() && mask != Mask::NONE
}

/// Returns a value plus a constant, if the sum has an abstract value.
fn plus(value: Scalar, constant: Scalar) -> Option<Scalar> {
    let Scalar::Constant(n) = constant else {
        return None;
    };
    let signed = n.cast_signed();
    Some(match value {
        Scalar::Entry { register, plus } => Scalar::Entry {
            register,
            plus: plus.wrapping_add(signed),
        },
        Scalar::Aligned { at, plus } => Scalar::Aligned {
            at,
            plus: plus.wrapping_add(signed),
        },
        Scalar::CodeAddress {
            address,
            high: false,
        } => Scalar::CodeAddress {
            address: address.wrapping_add_signed(signed.into()),
            high: false,
        },
        Scalar::Constant(value) => Scalar::Constant(value.wrapping_add(n)),
        Scalar::CodeAddress { .. } | Scalar::Mask { .. } | Scalar::Other => return None,
        Scalar::Unknown => Scalar::Unknown,
    })
}

/// Returns the sum of a code address in a pair of registers and a constant.
fn add_to_address(state: &State, a: Operand, b: Operand) -> Option<[Scalar; 2]> {
    let (Scalar::CodeAddress { address, .. }, Some(n)) = (state.operand(a, 0), b.constant()) else {
        return None;
    };
    let address = address.wrapping_add_signed(n);
    Some([false, true].map(|high| Scalar::CodeAddress { address, high }))
}
