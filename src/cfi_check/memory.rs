//! Loads and stores: the accessed slots of the stack, and the moved values.
//!
//! Only accesses at the stack or frame pointer plus a constant reach save areas of registers. Accesses at per-lane addresses and flat
//! addresses reach variables of the program. Every compiler guarantees that they do not overwrite saved registers.

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

/// Returns the slot at a scalar register plus a constant of one lane.
///
/// * `addressing`: the unit of the register.
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

/// Returns the target of an access.
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

/// Returns true if the descriptor is, or may be, the one that functions get in `s[0:3]`.
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

/// Returns true if a store does not overwrite these slots, given as distances from the CFA in bytes of the wave.
pub(super) fn leaves_alone(
    state: &State,
    access: &Access,
    wave_size: WaveSize,
    saved: &[i64],
) -> bool {
    match reached(state, access, wave_size) {
        Reached::Variables | Reached::Elsewhere => true,
        Reached::Scratch | Reached::Above(_) => false,
        // The saved slots are relative to the CFA, which is the stack pointer on entry if it is correct. Slots with another base cannot be
        // compared with them.
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
