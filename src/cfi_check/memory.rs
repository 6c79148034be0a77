//! Loads and stores: which slot of the stack they reach, and what goes in and out.
//!
//! Only accesses whose address is the stack or frame pointer plus a constant reach what registers are
//! saved in. Those with an address of each lane's own, and those through flat addresses, reach variables
//! of the program: that they leave saved registers alone is what every compiler relies on.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is left unknown, whatever it is"
)]

use super::mask::Mask;
use super::state::{Base, Slot, State};
use super::value::{STACK_POINTER, Scalar};
use super::vector::{LaneValue, Vector};
use crate::arch::{ScratchAddressing, WaveSize};
use crate::isa::{Access, AccessKind, MachineRegister, Operand};

/// Where an access goes.
enum Place {
    /// To the stack, at a known place.
    Slot(Slot),
    /// To variables on the stack.
    Variables,
    /// Somewhere on the stack.
    Stack,
    /// On the stack, from this slot up.
    Above(Slot),
    /// To other memory.
    Elsewhere,
}

/// A distance in bytes of the whole wave as one in bytes of each lane; nothing if that is no whole number.
pub(super) fn in_lane(distance: i64, wave_size: WaveSize) -> Option<i64> {
    let lanes = i64::from(wave_size.lanes());
    distance
        .checked_div(lanes)
        .filter(|_| distance.checked_rem(lanes) == Some(0))
}

/// The slot that a scalar register plus a constant of one lane points to.
///
/// * `addressing`: what the register counts.
pub(super) fn slot_at(
    value: Scalar,
    offset: i64,
    addressing: ScratchAddressing,
    wave_size: WaveSize,
) -> Option<Slot> {
    let (base, plus) = match value {
        Scalar::Entry {
            register: STACK_POINTER,
            plus,
        } => (Base::Entry, plus),
        Scalar::Aligned { at, plus } => (Base::Aligned(at), plus),
        Scalar::Entry { .. }
        | Scalar::Mask { .. }
        | Scalar::CodeAddress { .. }
        | Scalar::Constant(_)
        | Scalar::Other
        | Scalar::Unknown => return None,
    };
    let plus = i64::from(plus);
    let plus = match addressing {
        ScratchAddressing::Flat => plus,
        ScratchAddressing::Buffer => in_lane(plus, wave_size)?,
    };
    let offset = plus.saturating_add(offset);
    Some(Slot { base, offset })
}

fn place(state: &State, access: &Access, wave_size: WaveSize) -> Place {
    let addressing = match access.kind {
        AccessKind::Flat => return Place::Variables,
        AccessKind::Global => return Place::Elsewhere,
        AccessKind::Scratch => ScratchAddressing::Flat,
        AccessKind::Buffer if !is_scratch_descriptor(state, access) => return Place::Elsewhere,
        AccessKind::Buffer => ScratchAddressing::Buffer,
    };
    if access.address.is_some() {
        return Place::Variables;
    }
    let base = state.operand(access.base, 0);
    match slot_at(base, access.offset.into(), addressing, wave_size) {
        Some(slot) => Place::Slot(slot),
        None if access.base.register() == Some(MachineRegister::Sgpr(STACK_POINTER)) => {
            let top = slot_at(
                state.stack_top(),
                access.offset.into(),
                addressing,
                wave_size,
            );
            top.map_or(Place::Stack, Place::Above)
        }
        None => Place::Stack,
    }
}

/// Whether it is the descriptor that functions get in `s[0:3]`. One that may be it counts.
fn is_scratch_descriptor(state: &State, access: &Access) -> bool {
    let Some(span) = access.descriptor.and_then(Operand::registers) else {
        return true;
    };
    (0..4)
        .zip(span.registers())
        .all(|(n, register)| match register {
            MachineRegister::Sgpr(register) => match state.scalar(register) {
                Scalar::Entry { register, plus } => register == n && plus == 0,
                Scalar::Unknown => true,
                _ => false,
            },
            _ => false,
        })
}

/// Whether a store leaves alone what is saved in these slots: distances from the CFA, in bytes of the wave.
pub(super) fn leaves_alone(
    state: &State,
    access: &Access,
    wave_size: WaveSize,
    saved: &[i64],
) -> bool {
    match place(state, access, wave_size) {
        Place::Variables | Place::Elsewhere => true,
        Place::Stack | Place::Above(_) => false,
        // Beside others with the same base. A CFA that is right is the stack pointer on entry.
        Place::Slot(slot) => {
            let first = slot.offset.saturating_sub(3);
            let end = slot.offset.saturating_add(access.bytes.into());
            let lanes = i64::from(wave_size.lanes());
            let mut touched = saved.iter().map(|plus| plus.div_euclid(lanes));
            slot.base == Base::Entry
                && state.has_base(Base::Entry)
                && !touched.any(|offset| (first..end).contains(&offset))
        }
    }
}

/// A store.
pub(super) fn store(state: &mut State, access: &Access, wave_size: WaveSize, at: u32) {
    let slot = match place(state, access, wave_size) {
        Place::Slot(slot) => slot,
        Place::Above(slot) => return state.give_to_callee(slot.offset),
        Place::Stack => return state.lose_slots(),
        Place::Variables | Place::Elsewhere => return,
    };
    let Some(data) = access.data else {
        return;
    };
    let first = slot.offset.saturating_sub(slot.offset.rem_euclid(4));
    if access.bytes < 4 || first != slot.offset {
        // Every dword that is touched has something new in it.
        let end = slot.offset.saturating_add(access.bytes.into());
        let mut offset = first;
        while offset < end {
            let other = Vector::all(LaneValue::Other, at);
            state.store(Slot { offset, ..slot }, &other, at);
            offset = offset.saturating_add(4);
        }
        return;
    }
    for (n, register) in (0i64..).zip(data.registers()) {
        let slot = Slot {
            offset: slot.offset.saturating_add(n.saturating_mul(4)),
            ..slot
        };
        let value = state.vector(register).into_owned();
        state.store(slot, &value, at);
    }
}

/// A load.
pub(super) fn load(state: &mut State, access: &Access, wave_size: WaveSize, at: u32) {
    let Some(data) = access.data else {
        return;
    };
    let place = place(state, access, wave_size);
    for (n, register) in (0i64..).zip(data.registers()) {
        let value = match place {
            Place::Slot(slot) if access.bytes >= 4 => {
                let offset = slot.offset.saturating_add(n.saturating_mul(4));
                state.slot(Slot { offset, ..slot }).into_owned()
            }
            Place::Slot(_) | Place::Elsewhere => Vector::all(LaneValue::Other, at),
            Place::Variables | Place::Stack | Place::Above(_) => {
                Vector::all(LaneValue::Unknown, at)
            }
        };
        write(state, register, &value, at);
    }
}

/// Writes the active lanes of a vector register.
pub(super) fn write(state: &mut State, register: MachineRegister, value: &Vector, at: u32) {
    let mask = state.exec;
    if mask != Mask::NONE {
        state.change_vector(register, |vector| vector.write(mask, value, at));
    }
}
