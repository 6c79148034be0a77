//! Vector registers and scratch in the transfer functions: scalar values in lanes, and lanes in scratch.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is left unknown, whatever it is"
)]

use super::place::{DwordPlace, Slot};
use super::state::{Exec, SectionLanes, State};
use super::step::{Context, Follow};
use super::value::Value;
use super::vector::{Vector, Written};
use crate::arch::{ScratchAddressing, WaveSize};
use crate::isa::{Access, AccessKind, MachineRegister, Operand};
use crate::machine_flow::{Reached, Transfer, in_lane};

impl Context<'_> {
    /// Returns the lanes that an instruction writes.
    pub(super) fn written(&self, state: &State, index: usize) -> Written {
        match state.exec {
            Exec::Active if state.is_whole || self.is_whole_until_return(index) => Written::Entered,
            Exec::Section(section) => match section.lanes {
                SectionLanes::All => Written::All,
                SectionLanes::Mask(mask) => Written::Mask(mask),
                SectionLanes::Inactive if state.is_whole || self.is_whole_until_return(index) => {
                    Written::Others
                }
                SectionLanes::Inactive => Written::Some,
            },
            Exec::Active | Exec::Unknown => Written::Some,
        }
    }

    /// Returns true if EXEC is given back at the return as it is before an instruction.
    pub(super) fn is_whole_until_return(&self, index: usize) -> bool {
        (self.facts).is_some_and(|facts| facts.is_whole_until_return(index))
    }

    /// Returns the row of scratch that an access with a uniform address reaches.
    pub(super) fn slot(&self, state: &State, access: &Access) -> Option<Slot> {
        let addressing = match access.kind {
            AccessKind::Scratch => ScratchAddressing::Flat,
            AccessKind::Buffer if has_scratch_descriptor(access) => ScratchAddressing::Buffer,
            AccessKind::Buffer | AccessKind::Flat | AccessKind::Global => return None,
        };
        if access.address.is_some() {
            return None;
        }
        self.slot_at(
            state.operand(access.base, 0),
            access.offset.into(),
            addressing,
        )
    }

    /// Returns the row of scratch at an address.
    ///
    /// * `offset`: an additional offset in bytes of one lane.
    pub(super) fn slot_at(
        &self,
        base: Value,
        offset: i64,
        addressing: ScratchAddressing,
    ) -> Option<Slot> {
        let (base, plus) = match base {
            Value::Word(word) => (None, i64::from(word)),
            Value::Initial {
                place: DwordPlace::Scalar(register),
                plus,
            } => (Some(register), i64::from(plus)),
            _ => return None,
        };
        let offset = in_lane(plus, addressing, self.wave_size)?.saturating_add(offset);
        Some(Slot {
            base,
            addressing,
            offset,
        })
    }
}

impl Transfer for Context<'_> {
    type Lanes = Vector;
    type State = State;
    /// The index of the instruction.
    type Place = usize;

    fn wave_size(&self) -> WaveSize {
        self.wave_size
    }

    fn operand(&self, state: &State, operand: Operand, n: u8) -> Value {
        let dword = self.pair(state, operand).get(usize::from(n)).copied();
        dword.unwrap_or(Value::Unknown)
    }

    /// Returns true if a register is followed. For a single lane, only registers with scalar values are followed.
    fn is_followed(&self, register: MachineRegister) -> bool {
        match self.follow {
            Follow::Dwords => true,
            Follow::Scalars => false,
            Follow::Lane(_) | Follow::ActiveLane(_) => self.code.has_lanes(register),
        }
    }

    fn reached(&self, state: &State, access: &Access) -> Reached<Slot> {
        match self.slot(state, access) {
            Some(slot) => Reached::Row(slot),
            None if is_stack(access) => Reached::Scratch,
            None => Reached::Elsewhere,
        }
    }

    fn write_scalar(&self, state: &mut State, _: usize, register: MachineRegister, value: Value) {
        match register {
            MachineRegister::ExecLo | MachineRegister::ExecHi => {
                (state.exec, state.is_whole) = (Exec::Unknown, false);
            }
            register => state.set_scalar(register, value),
        }
    }

    fn overwritten(
        &self,
        state: &State,
        index: usize,
        known: &Vector,
        new: &Vector,
    ) -> Option<Vector> {
        Some(known.overwritten(new, self.written(state, index)))
    }

    fn write_lane(
        &self,
        state: &mut State,
        index: usize,
        register: MachineRegister,
        lane: u8,
        value: Value,
    ) {
        let is_needed = self.is_needed(index);
        let value = if is_needed { value } else { Value::Unknown };
        state.set_vector_lane(register, lane, value);
    }

    /// Returns true if a row is kept. For a single lane, only rows that are loaded into registers with scalar values are kept.
    fn is_kept(&self, slot: Slot) -> bool {
        match self.follow {
            Follow::Dwords => true,
            Follow::Scalars => false,
            Follow::Lane(_) | Follow::ActiveLane(_) => self.rows.contains(&Some(slot)),
        }
    }
}

/// Returns true if an access is to the stack, at a uniform address.
pub(super) fn is_stack(access: &Access) -> bool {
    let is_scratch = match access.kind {
        AccessKind::Scratch => true,
        AccessKind::Buffer => has_scratch_descriptor(access),
        AccessKind::Flat | AccessKind::Global => false,
    };
    is_scratch && access.address.is_none()
}

/// Returns true if a buffer access is to scratch, which uses the descriptor in `s[0:3]`.
fn has_scratch_descriptor(access: &Access) -> bool {
    let first = access
        .descriptor
        .and_then(Operand::registers)
        .map(|span| span.first);
    first == Some(MachineRegister::Sgpr(0))
}
