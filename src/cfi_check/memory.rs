//! Loads and stores: which slot of the stack they reach, and what goes in and out.
//!
//! Only accesses whose address is the stack or frame pointer plus a constant reach what registers are
//! saved in. Those with an address of each lane's own, and those through flat addresses, reach variables
//! of the program: that they leave saved registers alone is what every compiler relies on.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is left unknown, whatever it is"
)]

use super::slot::{Base, Slot};
use super::state::State;
use super::value::{STACK_POINTER, Scalar};
use crate::arch::{ScratchAddressing, WaveSize};
use crate::isa::{Access, AccessKind, MachineRegister, Operand};
use crate::machine_flow::{Reached, in_lane};

/// Returns the slot that a scalar register plus a constant of one lane points to.
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
    let offset = in_lane(plus.into(), addressing, wave_size)?.saturating_add(offset);
    Some(Slot { base, offset })
}

/// Where an access goes.
pub(super) fn reached(state: &State, access: &Access, wave_size: WaveSize) -> Reached<Slot> {
    let addressing = match access.kind {
        AccessKind::Flat => return Reached::Variables,
        AccessKind::Global => return Reached::Elsewhere,
        AccessKind::Scratch => ScratchAddressing::Flat,
        AccessKind::Buffer if !is_scratch_descriptor(state, access) => return Reached::Elsewhere,
        AccessKind::Buffer => ScratchAddressing::Buffer,
    };
    if access.address.is_some() {
        return Reached::Variables;
    }
    let base = state.operand(access.base, 0);
    match slot_at(base, access.offset.into(), addressing, wave_size) {
        Some(slot) => Reached::Row(slot),
        None if access.base.register() == Some(MachineRegister::Sgpr(STACK_POINTER)) => {
            let top = slot_at(
                state.stack_top(),
                access.offset.into(),
                addressing,
                wave_size,
            );
            top.map_or(Reached::Scratch, Reached::Above)
        }
        None => Reached::Scratch,
    }
}

/// Returns true if it is the descriptor that functions get in `s[0:3]`. One that may be it counts.
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

/// Returns true if a store leaves alone what is saved in these slots: distances from the CFA, in bytes of the wave.
pub(super) fn leaves_alone(
    state: &State,
    access: &Access,
    wave_size: WaveSize,
    saved: &[i64],
) -> bool {
    match reached(state, access, wave_size) {
        Reached::Variables | Reached::Elsewhere => true,
        Reached::Scratch | Reached::Above(_) => false,
        // Beside others with the same base. A CFA that is right is the stack pointer on entry.
        Reached::Row(slot) => {
            let first = slot.offset.saturating_sub(3);
            let end = slot.offset.saturating_add(access.bytes.into());
            let lanes = i64::from(wave_size.lanes());
            let mut touched = saved.iter().map(|plus| plus.div_euclid(lanes));
            slot.base == Base::Entry
                && !state.has_other_base(slot)
                && !touched.any(|offset| (first..end).contains(&offset))
        }
    }
}
