//! The known state of the machine at one place of the code, relative to the entry of the function.

use core::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::mask::Mask;
use super::slot::Base;
use super::value::{STACK_POINTER, Scalar, Verdict};
use super::vector::Vector;
use crate::arch::WaveSize;
use crate::flat::Flat;
use crate::isa::{MachineRegister, Operand, Span};
use crate::machine_flow::{self, Lanes as _, Machine, nth};

/// The known state of the machine. Copies share unchanged parts.
#[derive(Clone, Debug)]
pub(super) struct State {
    machine: Machine<Vector>,
    /// For each scalar register, the offset of the instruction that wrote it last; the highest where paths meet.
    written_at: Arc<[u32; MachineRegister::SCALARS as usize]>,
    pub(super) exec: Mask,
    /// The offset of the instruction that wrote `exec` last.
    pub(super) exec_written_at: u32,
    /// The distance of the stack pointer from its value on entry, when it was last known. If it has been set to a computed value since, it
    /// is not lower: stack is allocated at run time, but not freed.
    top: i32,
}

impl Deref for State {
    type Target = Machine<Vector>;

    fn deref(&self) -> &Machine<Vector> {
        &self.machine
    }
}

impl DerefMut for State {
    fn deref_mut(&mut self) -> &mut Machine<Vector> {
        &mut self.machine
    }
}

impl State {
    /// Returns the state on entry, in which every register has its own value.
    pub(super) fn entry() -> State {
        let on_entry = |register| scalar_index(register).map_or(Scalar::Other, Scalar::entry);
        State {
            machine: Machine::new(on_entry),
            written_at: Arc::new([0; MachineRegister::SCALARS as usize]),
            exec: Mask::ENTRY,
            exec_written_at: 0,
            top: 0,
        }
    }

    pub(super) fn scalar(&self, register: u8) -> Scalar {
        self.scalars.at(register.into())
    }

    pub(super) fn scalar_written_at(&self, register: u8) -> u32 {
        let written_at = self.written_at.get(usize::from(register));
        written_at.copied().unwrap_or(0)
    }

    pub(super) fn set_scalar(&mut self, register: u8, value: Scalar, written_at: u32) {
        if let (STACK_POINTER, Scalar::Entry { register: of, plus }) = (register, value)
            && of == STACK_POINTER
        {
            self.top = plus;
        }
        self.scalars.set_at(register.into(), value);
        if let Some(at) = Arc::make_mut(&mut self.written_at).get_mut(usize::from(register)) {
            *at = written_at;
        }
    }

    /// Returns the scalar registers that certainly differ from their values on entry, one bit each from `s0`.
    pub(super) fn overwritten(&self) -> u128 {
        self.scalars_with(Verdict::Different)
    }

    /// Returns the scalar registers that certainly have their values on entry, one bit each from `s0`.
    pub(super) fn unchanged(&self) -> u128 {
        self.scalars_with(Verdict::Same)
    }

    fn scalars_with(&self, verdict: Verdict) -> u128 {
        let chosen = (self.known_scalars()).filter(|(n, value)| value.is_entry_of(*n) == verdict);
        chosen.fold(0, |set, (n, _)| set | nth(n.into()))
    }

    /// Returns the lowest possible stack pointer.
    pub(super) fn stack_top(&self) -> Scalar {
        Scalar::Entry {
            register: STACK_POINTER,
            plus: self.top,
        }
    }

    /// Returns the known contents of scalar registers, from `s0`.
    pub(super) fn known_scalars(&self) -> impl Iterator<Item = (u8, Scalar)> {
        let known = self.scalars.numbered();
        known.filter_map(|(index, value)| Some((followed(index)?, value)))
    }

    /// Makes the active lanes of vector registers unknown that a callee may have changed. Registers that this function never wrote are left
    /// unchanged, since no correct row names them.
    pub(super) fn clobber_vectors(&mut self, is_clobbered: impl Fn(MachineRegister) -> bool) {
        let mask = if self.exec.is_within_entry() {
            Mask::ENTRY
        } else {
            Mask::ALL
        };
        let unknown = Vector::UNKNOWN;
        for (register, vector) in Arc::make_mut(&mut self.vectors).iter_mut() {
            if is_clobbered(register) {
                let at = vector.written_at;
                vector.write(mask, &unknown, at);
            }
        }
    }

    /// Forgets the facts that depend on the earlier condition of the instruction at this offset, which computes a new one.
    pub(super) fn forget(&mut self, at: u32) {
        if self.exec.depends_on(at) {
            self.exec = self.exec.forget();
        }
        self.scalars.change(|_, value| value.forget(at));
        forget_in(&mut self.vectors, at);
        forget_in(&mut self.rows, at);
    }

    /// Returns true if a value is relative to the earlier result of the rounding instruction at this offset.
    pub(super) fn has_aligned(&self, at: u32) -> bool {
        let is = |value: &Scalar| matches!(value, Scalar::Aligned { at: of, .. } if *of == at);
        let named = |vector: &Vector| {
            let lanes = vector.active.named().iter().chain(vector.inactive.named());
            lanes.into_iter().any(|(_, value)| is(value))
        };
        self.scalars.iter().any(|(_, value)| is(&value))
            || self.vectors.iter().any(|(_, vector)| named(vector))
            || (self.rows.iter())
                .any(|(slot, vector)| slot.base == Base::Aligned(at) || named(vector))
    }

    /// Returns the mask in scalar registers or in `exec`.
    pub(super) fn mask(&self, operand: Operand, wave_size: WaveSize) -> Mask {
        let dwords = wave_size.lanes() / 32;
        if let Operand::Registers(Span {
            first: MachineRegister::ExecLo,
            count,
        }) = operand
        {
            return if u32::from(count) == dwords {
                self.exec
            } else {
                Mask::UNKNOWN
            };
        }
        let low = self.operand(operand, 0).mask(false);
        if dwords == 1 {
            return low;
        }
        match self.operand(operand, 1).mask(true) {
            high if high == low => low,
            _ => Mask::UNKNOWN,
        }
    }

    /// Returns dword `n` of an operand.
    pub(super) fn operand(&self, operand: Operand, n: u8) -> Scalar {
        match operand.registers().and_then(|span| span.first.plus(n)) {
            Some(MachineRegister::ExecLo) => Scalar::of_mask(self.exec, false),
            Some(MachineRegister::ExecHi) => Scalar::of_mask(self.exec, true),
            _ => self.machine.operand(operand, n),
        }
    }

    /// Joins the state at the end of another path. Returns true if this changes anything except the offsets of writes.
    pub(super) fn join(&mut self, other: &State) -> bool {
        let before = (self.exec, self.top);
        let is_new = self.machine.join(&other.machine);
        if self.written_at != other.written_at {
            let written_at = Arc::make_mut(&mut self.written_at).iter_mut();
            for (here, there) in written_at.zip(other.written_at.iter()) {
                *here = (*here).max(*there);
            }
        }
        self.exec = self.exec.join(other.exec);
        self.exec_written_at = self.exec_written_at.max(other.exec_written_at);
        self.top = self.top.min(other.top);
        is_new || before != (self.exec, self.top)
    }
}

fn forget_in<K: Ord + Copy>(map: &mut Arc<Flat<K, Vector>>, at: u32) {
    let changes = map
        .iter()
        .filter_map(|(key, vector)| Some((key, vector.forget(at)?)));
    let changes: Vec<(K, Vector)> = changes.collect();
    if !changes.is_empty() {
        let map = Arc::make_mut(map);
        for (key, vector) in changes {
            map.insert(key, vector);
        }
    }
}

/// Returns the index of a register among the followed scalar registers: `s0` to `s105`, and the two halves of `vcc`.
pub(super) fn scalar_index(register: MachineRegister) -> Option<u8> {
    followed(machine_flow::scalar_index(register)?)
}

fn followed(index: u32) -> Option<u8> {
    let index = u8::try_from(index).ok();
    index.filter(|n| *n < MachineRegister::SCALARS)
}

/// Returns the scalar register with an index of [`scalar_index`].
pub(super) fn numbered_scalar(n: u8) -> MachineRegister {
    machine_flow::numbered_scalar(n.into()).unwrap_or(MachineRegister::Sgpr(n))
}
