//! Finds the correct rule: the place of a value of the caller at some place of the code.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is left unknown, whatever it is"
)]

use super::contradiction::{Dword, RowRule, SavedLanes};
use super::mask::Mask;
use super::slot::Base;
use super::state::{State, numbered_scalar};
use super::step::Context;
use super::value::{Scalar, Verdict};
use super::vector::Vector;
use crate::abi::Convention;
use crate::arch::{AddressSpace, ScratchAddressing, WaveSize};
use crate::isa::MachineRegister;

/// Returns the places of the dwords of scalar registers.
pub(super) fn dwords(state: &State, registers: &[u8]) -> RowRule {
    let values = || registers.iter().map(|register| Scalar::entry(*register));
    let found = values().map(|value| dword(state, value));
    let Some(found) = found.collect::<Option<Vec<_>>>() else {
        return RowRule::Other;
    };
    // While a pair is being reloaded, a scalar register has one half, but lanes still have both.
    let is_in_lane = |one: &Dword| matches!(one, Dword::Lane(..));
    if found.iter().any(is_in_lane)
        && let Some(lanes) = values().map(|value| lane(state, value)).collect()
    {
        return RowRule::Dwords(lanes);
    }
    let own = registers.iter().map(|n| Dword::Scalar(numbered_scalar(*n)));
    if own.eq(found.iter().copied()) && registers.len() == 1 {
        return RowRule::SameValue;
    }
    RowRule::Dwords(found)
}

/// Returns a place that has this value, whichever lanes are active. Prefers the register itself.
fn dword(state: &State, value: Scalar) -> Option<Dword> {
    if let Scalar::Entry { register, .. } = value
        && state.scalar(register) == value
    {
        return Some(Dword::Scalar(numbered_scalar(register)));
    }
    let scalar = state.known_scalars().find(|(_, one)| *one == value);
    if let Some((n, _)) = scalar {
        return Some(Dword::Scalar(numbered_scalar(n)));
    }
    lane(state, value)
}

/// Returns a lane that has this value, whichever lanes are active.
fn lane(state: &State, value: Scalar) -> Option<Dword> {
    state.vectors.iter().find_map(|(register, vector)| {
        let lanes = vector.active.named().iter();
        let lane = lanes
            .map(|(lane, _)| *lane)
            .find(|lane| vector.lanes(*lane) == [value; 2]);
        lane.map(|lane| Dword::Lane(register, lane))
    })
}

/// Returns the place of the execution mask on entry.
pub(super) fn exec(state: &State, wave_size: WaveSize) -> RowRule {
    let halves = [false, true]
        .into_iter()
        .take(if wave_size == WaveSize::Wave32 { 1 } else { 2 });
    let found = halves.map(|high| dword(state, Scalar::of_mask(Mask::ENTRY, high)));
    found
        .collect::<Option<Vec<_>>>()
        .map_or(RowRule::Other, RowRule::Dwords)
}

/// Returns the rule of the caller's stack pointer: a register that holds it, or the shifted CFA.
pub(super) fn stack_pointer(context: &Context<'_>, state: &State) -> RowRule {
    let exact = dwords(state, &[context.convention.stack_pointer()]);
    match (exact, stack_pointer_shift(context)) {
        (RowRule::Other, Some(bits)) => RowRule::CfaShiftedRight(bits.unsigned_abs()),
        (exact, _) => exact,
    }
}

/// Returns the register from which the CFA can be computed.
pub(super) fn cfa(context: &Context<'_>, state: &State) -> RowRule {
    let stack_pointer = context.convention.stack_pointer();
    let of_stack = |value: Scalar| match value {
        Scalar::Entry { register, plus } if register == stack_pointer => Some(plus),
        _ => None,
    };
    let mut known = (state.known_scalars()).filter_map(|(n, value)| Some((n, of_stack(value)?)));
    // Prefers a register that holds the value unchanged.
    let exact = state
        .known_scalars()
        .find(|(_, value)| of_stack(*value) == Some(0));
    let Some((n, plus)) = exact.map(|(n, _)| (n, 0)).or_else(|| known.next()) else {
        return RowRule::Other;
    };
    let gcc = stack_pointer == Convention::Gcc.stack_pointer();
    let (shift, space) = match stack_pointer_shift(context) {
        _ if gcc => (0, AddressSpace::None),
        Some(shift) => (shift, AddressSpace::PrivateWave),
        None => return RowRule::Other,
    };
    RowRule::Cfa {
        register: numbered_scalar(n),
        shift,
        plus: (-i64::from(plus))
            .checked_shl(shift.unsigned_abs().into())
            .unwrap_or(0),
        space,
    }
}

/// Returns the shift of a stack pointer, relative to an address that counts bytes of the wave. Returns `None` if the unit of scratch
/// addresses is unknown.
pub(super) fn stack_pointer_shift(context: &Context<'_>) -> Option<i8> {
    match (context.addressing?, context.wave_size) {
        (ScratchAddressing::Buffer, _) => Some(0),
        (ScratchAddressing::Flat, WaveSize::Wave32) => Some(5),
        (ScratchAddressing::Flat, WaveSize::Wave64) => Some(6),
    }
}

/// Returns the place of a vector or accumulation register.
pub(super) fn vector(context: &Context<'_>, state: &State, register: MachineRegister) -> RowRule {
    let lanes_of = |vector: &Vector| {
        let active = vector.active.is_entry_of(register) == Verdict::Same;
        let inactive = vector.inactive.is_entry_of(register) == Verdict::Same;
        match (active, inactive) {
            (true, true) => Some(SavedLanes::All),
            (true, false) => Some(SavedLanes::Active),
            (false, true) => Some(SavedLanes::Inactive),
            (false, false) => None,
        }
    };
    if lanes_of(&state.vector(register)) == Some(SavedLanes::All) {
        return RowRule::SameValue;
    }
    let lanes = i64::from(context.wave_size.lanes());
    let slot = state.rows.iter().find_map(|(slot, vector)| {
        let saved = lanes_of(vector).filter(|_| slot.base == Base::Entry)?;
        Some(RowRule::Scratch(slot.offset.saturating_mul(lanes), saved))
    });
    let other = || {
        state.vectors.iter().find_map(|(other, vector)| {
            let saved = lanes_of(vector).filter(|_| other != register)?;
            Some(RowRule::Vector(other, saved))
        })
    };
    slot.or_else(other).unwrap_or(RowRule::Other)
}
