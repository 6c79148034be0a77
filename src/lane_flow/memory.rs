//! Vector registers and scratch in the transfer functions: where scalar values are put into lanes, and lanes into
//! scratch.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is left unknown, whatever it is"
)]

use smallvec::SmallVec;

use super::place::{DwordPlace, Slot};
use super::state::{Exec, SectionLanes, State};
use super::step::{Context, Follow};
use super::value::Value;
use super::vector::{Vector, Written};
use crate::arch::ScratchAddressing;
use crate::isa::{Access, AccessKind, MachineRegister, Operand, Span};

impl Context<'_> {
    /// The lane that an instruction names.
    pub(super) fn lane_number(&self, state: &State, lane: Operand) -> Option<u8> {
        let Value::Word(lane) = state.operand(lane, 0) else {
            return None;
        };
        // The hardware takes as many bits as there are lanes for.
        let lanes = self.wave_size.lanes();
        lane.checked_rem(lanes)
            .and_then(|lane| u8::try_from(lane).ok())
    }

    pub(super) fn write_lane(
        &self,
        state: &mut State,
        (dst, index): (MachineRegister, usize),
        src: Operand,
        lane: Operand,
    ) {
        if !self.is_followed(dst) {
            return;
        }
        let [value, _] = match self.is_needed(index) {
            true => self.pair(state, src),
            false => [Value::Unknown; 2],
        };
        match self.lane_number(state, lane) {
            Some(lane) => state.set_vector_lane(dst, lane, value),
            None => state.set_vector(dst, Vector::UNKNOWN),
        }
    }

    /// Whether the contents of a vector register are kept. In the way of a lane those are enough that
    /// scalar values are put in.
    pub(super) fn is_followed(&self, register: MachineRegister) -> bool {
        match self.follow {
            Follow::Dwords => true,
            Follow::Scalars => false,
            Follow::Lane(_) | Follow::ActiveLane(_) => self.code.has_lanes(register),
        }
    }

    /// A vector register, as far as it is followed.
    pub(super) fn vector(&self, state: &State, register: MachineRegister) -> Vector {
        if self.is_followed(register) {
            state.vector(register)
        } else {
            Vector::UNKNOWN
        }
    }

    /// The lanes that an instruction writes.
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

    /// Whether EXEC is given back at the return as it is before an instruction.
    pub(super) fn is_whole_until_return(&self, index: usize) -> bool {
        (self.facts).is_some_and(|facts| facts.is_whole_until_return(index))
    }

    pub(super) fn write_vector(
        &self,
        state: &mut State,
        (register, index): (MachineRegister, usize),
        new: &Vector,
    ) {
        if self.is_followed(register) {
            let vector = match self.written(state, index) {
                Written::All => new.clone(),
                written => state.vector(register).overwritten(new, written),
            };
            state.set_vector(register, vector);
        }
    }

    /// Writes a row of scratch.
    pub(super) fn write_slot(&self, state: &mut State, (slot, index): (Slot, usize), new: &Vector) {
        if self.is_kept(slot) {
            let written = self.written(state, index);
            let vector = state.slot(slot).overwritten(new, written);
            state.set_slot(slot, vector);
        }
    }

    /// Whether the contents of a row of scratch are kept. In the way of a lane those are enough that are loaded
    /// into registers with scalar values; others are not known.
    pub(super) fn is_kept(&self, slot: Slot) -> bool {
        match self.follow {
            Follow::Dwords => true,
            Follow::Scalars => false,
            Follow::Lane(_) | Follow::ActiveLane(_) => self.rows.contains(&Some(slot)),
        }
    }

    pub(super) fn vector_move(&self, state: &mut State, index: usize, dst: Span, src: Operand) {
        let sources = src.registers();
        // Those that are written may be among those that are read.
        let vectors: SmallVec<[Vector; 2]> = (0..dst.count)
            .map(|n| match sources.and_then(|span| span.first.plus(n)) {
                Some(register @ (MachineRegister::Vgpr(_) | MachineRegister::Agpr(_))) => {
                    self.vector(state, register)
                }
                _ => Vector::UNKNOWN,
            })
            .collect();
        for (register, vector) in dst.registers().zip(&vectors) {
            self.write_vector(state, (register, index), vector);
        }
    }

    /// The row of scratch that an access reaches: with an address that is the same for all lanes.
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

    /// * `offset`: in bytes of one lane.
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
        let lanes = i64::from(self.wave_size.lanes());
        let plus = match addressing {
            ScratchAddressing::Flat => plus,
            ScratchAddressing::Buffer if plus.checked_rem(lanes) == Some(0) => {
                plus.checked_div(lanes)?
            }
            ScratchAddressing::Buffer => return None,
        };
        let offset = plus.saturating_add(offset);
        Some(Slot {
            base,
            addressing,
            offset,
        })
    }

    /// A store. Those with an address of each lane's own, and those through flat addresses, go to variables
    /// of the program and not to where registers are kept: every compiler relies on that.
    pub(super) fn store(&self, state: &mut State, index: usize, access: &Access) {
        if !is_stack(access) {
            return;
        }
        let Some(slot) = self.slot(state, access) else {
            return state.lose_slots();
        };
        // A dword that is not touched as a whole has something new in it.
        let is_whole = slot.offset.rem_euclid(4) == 0 && access.bytes >= 4;
        let mut registers = access.data.into_iter().flat_map(Span::registers);
        for row in rows(access, slot) {
            let register = registers.next().filter(|_| is_whole);
            let vector = register.map_or(Vector::UNKNOWN, |one| self.vector(state, one));
            self.write_slot(state, (row, index), &vector);
        }
    }

    pub(super) fn load(&self, state: &mut State, index: usize, access: &Access) {
        let slot = self.slot(state, access);
        let Some(data) = access.data else {
            self.write_anything(state, index);
            return;
        };
        let whole = access.bytes >= 4 && slot.is_some_and(|slot| slot.offset.rem_euclid(4) == 0);
        for (n, register) in (0_i64..).zip(data.registers()) {
            if !self.is_followed(register) {
                continue;
            }
            let vector = match slot {
                Some(slot) if whole => {
                    let offset = slot.offset.saturating_add(n.saturating_mul(4));
                    let slot = Slot { offset, ..slot };
                    if self.is_kept(slot) {
                        state.slot(slot)
                    } else {
                        Vector::UNKNOWN
                    }
                }
                _ => Vector::UNKNOWN,
            };
            self.write_vector(state, (register, index), &vector);
        }
    }
}

/// Whether an access is one to the stack, at an address that is the same for all lanes.
pub(super) fn is_stack(access: &Access) -> bool {
    let is_scratch = match access.kind {
        AccessKind::Scratch => true,
        AccessKind::Buffer => has_scratch_descriptor(access),
        AccessKind::Flat | AccessKind::Global => false,
    };
    is_scratch && access.address.is_none()
}

/// The rows of scratch that a store touches.
///
/// * `slot`: where it begins.
pub(super) fn rows(access: &Access, slot: Slot) -> impl Iterator<Item = Slot> {
    let dword = slot.offset.rem_euclid(4);
    let bytes = i64::from(access.bytes);
    let count = if dword != 0 || bytes < 4 {
        dword.saturating_add(bytes).saturating_add(3).div_euclid(4)
    } else {
        access.data.map_or(0, |data| i64::from(data.count))
    };
    let first = slot.offset.saturating_sub(dword);
    (0..count).map(move |n| Slot {
        offset: first.saturating_add(n.saturating_mul(4)),
        ..slot
    })
}

/// Whether a buffer access is one to scratch: by the descriptor in `s[0:3]`.
fn has_scratch_descriptor(access: &Access) -> bool {
    let first = access
        .descriptor
        .and_then(Operand::registers)
        .map(|span| span.first);
    first == Some(MachineRegister::Sgpr(0))
}
