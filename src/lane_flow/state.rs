//! The known contents of the machine at one place of the code, in terms of a stop.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use core::ops::{Deref, DerefMut};

use super::place::{DwordPlace, Slot};
use super::value::{Decisions, Value};
use super::vector::Vector;
use crate::flat::Flat;
use crate::isa::MachineRegister;
use crate::machine_flow::{Lanes as _, Machine, bit};

/// The registers that stack addresses are relative to, `s32` to `s34`, one bit per number.
const STACK_BITS: u128 = 0b111 << 32;

/// The lanes of one half of a wave, 0 or 1, before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HalfAt {
    pub(super) index: usize,
    pub(super) half: u8,
}

/// The lanes that execute while EXEC contains other lanes than the active ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SectionLanes {
    /// All lanes.
    All,
    /// The lanes in this mask.
    Mask(u64),
    /// The inactive lanes.
    Inactive,
}

/// A section of code in which EXEC does not contain the active lanes, because more lanes or other lanes have to execute. For example, from
/// `s_or_saveexec S, -1` to `s_mov exec, S`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Section {
    pub(super) lanes: SectionLanes,
    /// The register, or the first of two, that holds the active lanes. `None` if there is none.
    pub(super) saved: Option<MachineRegister>,
}

/// The meaning of EXEC. Outside of whole-wave sections, the bit of the followed lane is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Exec {
    /// EXEC contains the active lanes.
    Active,
    /// EXEC contains other lanes.
    Section(Section),
    /// The meaning of EXEC is unknown.
    Unknown,
}

/// The known contents of the machine at one place of the code. Copies share unchanged parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    machine: Machine<Vector>,
    pub(super) exec: Exec,
    /// True if EXEC has all lanes that entered the function, where it contains the active lanes.
    pub(super) is_whole: bool,
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
    /// Returns the state at the stop, in which every dword has its initial value.
    pub(super) fn at_stop(exec: Exec) -> State {
        State {
            machine: Machine::new(|register| Value::initial(DwordPlace::Scalar(register))),
            exec,
            is_whole: false,
        }
    }

    /// Returns the state on entry to a function, in which nothing is known about masks.
    pub(super) fn at_entry() -> State {
        let mut state = State::at_stop(Exec::Active);
        state.keep_scalars(STACK_BITS);
        state
    }

    /// Returns the number of listed values.
    pub(super) fn size(&self) -> usize {
        let vectors = self.vectors.iter().map(|(_, vector)| vector.size());
        let slots = self.rows.iter().map(|(_, vector)| vector.size());
        (self.scalars.len()).saturating_add(vectors.chain(slots).sum())
    }

    /// Returns the number of bytes that are not shared with another state.
    pub(super) fn bytes(&self) -> u64 {
        let scalars = self.scalars.len().saturating_mul(size_of::<Value>());
        let vectors = (Arc::strong_count(&self.vectors) == 1).then_some(&self.vectors);
        let vectors = vectors.map_or(0, |all| all.iter().map(|(_, one)| one.bytes()).sum());
        let slots = (Arc::strong_count(&self.rows) == 1).then_some(&self.rows);
        let slots: usize = slots.map_or(0, |all| all.iter().map(|(_, one)| one.bytes()).sum());
        [size_of::<State>(), scalars, vectors, slots]
            .into_iter()
            .fold(0, usize::saturating_add) as u64
    }

    /// Returns the places whose bit is known, independent of earlier contents.
    pub(super) fn known_bits(&self) -> Vec<(DwordPlace, bool)> {
        let scalars =
            (self.scalars.iter()).map(|(register, value)| (DwordPlace::Scalar(register), value));
        let vectors = self.vectors.iter().flat_map(|(register, vector)| {
            let lanes = vector.lanes();
            lanes.map(move |(lane, value)| (DwordPlace::Lane { register, lane }, value))
        });
        let slots = self.rows.iter().flat_map(|(slot, vector)| {
            let lanes = vector.lanes();
            lanes.map(move |(lane, value)| (DwordPlace::Scratch { slot, lane }, value))
        });
        let all = scalars.chain(vectors).chain(slots);
        all.filter_map(|(place, value)| Some((place, value.own_bit()?)))
            .collect()
    }

    /// Returns the value of a scalar register; unknown if the register is not followed.
    pub(super) fn scalar(&self, register: MachineRegister) -> Value {
        self.scalars.get(register)
    }

    /// Changes a scalar register.
    pub(super) fn set_scalar(&mut self, register: MachineRegister, value: Value) {
        if let Exec::Section(section) = &mut self.exec
            && let Some(saved) = section.saved
            && (saved == register || saved.plus(1) == Some(register))
        {
            section.saved = None;
        }
        self.scalars.set(register, value);
    }

    /// Forgets the scalar registers that are not in a set, one bit per number.
    pub(super) fn keep_scalars(&mut self, kept: u128) {
        self.scalars.keep(kept, STACK_BITS);
    }

    /// Forgets a vector register except for some lanes, one bit per lane.
    pub(super) fn keep_vector(&mut self, register: MachineRegister, lanes: u64) {
        if self.vectors_lost {
            return;
        }
        let Some(known) = self.vectors.get(register) else {
            let only = self.vector(register).only(lanes);
            return self.set_vector(register, only);
        };
        if !known.is_only(lanes) {
            let only = known.only(lanes);
            if let Some(known) = Arc::make_mut(&mut self.vectors).get_mut(register) {
                *known = only;
            }
        }
    }

    /// Forgets scratch except for some lanes of some rows, one bit per lane.
    pub(super) fn keep_slots(&mut self, rows: impl Iterator<Item = (Slot, u64)> + Clone) {
        if !self.rows_lost {
            let mut only: Vec<(Slot, Vector)> = (rows.clone())
                .filter(|(_, lanes)| *lanes != 0)
                .map(|(slot, lanes)| (slot, self.row(slot).only(lanes)))
                .filter(|(_, only)| *only != Vector::UNKNOWN)
                .collect();
            only.sort_by_key(|(slot, _)| *slot);
            only.dedup_by_key(|(slot, _)| *slot);
            self.rows_lost = true;
            self.rows = Arc::new(Flat::in_order(only.into_iter()));
            return;
        }
        if self.rows.is_empty() {
            return;
        }
        let mut kept: BTreeMap<Slot, u64> = BTreeMap::new();
        for (slot, lanes) in rows {
            kept.entry(slot).or_insert(lanes);
        }
        let lanes_of = |slot: Slot| kept.get(&slot).copied().unwrap_or(0);
        if !(self.rows.iter())
            .all(|(slot, vector)| vector.has_lanes() && vector.is_only(lanes_of(slot)))
        {
            let only = self.rows.iter();
            let only = only.map(|(slot, vector)| (slot, vector.only(lanes_of(slot))));
            let only = only.filter(|(_, only)| *only != Vector::UNKNOWN);
            self.rows = Arc::new(Flat::in_order(only));
        }
    }

    /// Forgets scalar registers, one bit per number.
    pub(super) fn forget_scalars(&mut self, forgotten: u128) {
        if forgotten == 0 {
            return;
        }
        if let Exec::Section(section) = &mut self.exec
            && let Some(saved) = section.saved
            && forgotten & (bit(saved) | saved.plus(1).map_or(0, bit)) != 0
        {
            section.saved = None;
        }
        self.scalars.forget_those(forgotten);
    }

    /// Replaces a value in every place that has it.
    pub(super) fn replace(&mut self, value: Value, by: Value) {
        self.scalars.replace(value, by);
        if self.vectors.iter().any(|(_, vector)| vector.has(value)) {
            let vectors = Arc::make_mut(&mut self.vectors).iter_mut();
            vectors.for_each(|(_, vector)| vector.replace(value, by));
        }
        if self.rows.iter().any(|(_, vector)| vector.has(value)) {
            let slots = Arc::make_mut(&mut self.rows).iter_mut();
            slots.for_each(|(_, vector)| vector.replace(value, by));
        }
    }

    /// Returns one lane's dword of a vector register.
    ///
    /// * `has_entered`: true if the lane entered the function.
    pub(super) fn vector_lane_that(
        &self,
        register: MachineRegister,
        has_entered: bool,
        lane: u8,
    ) -> Value {
        match self.vectors.get(register) {
            Some(vector) => vector.lane_that(has_entered, lane),
            None => self.vector_lane(register, lane),
        }
    }

    /// Returns one lane's dword of a vector register.
    pub(super) fn vector_lane(&self, register: MachineRegister, lane: u8) -> Value {
        match self.vectors.get(register) {
            Some(vector) => vector.lane(lane),
            None if self.vectors_lost => Value::Unknown,
            None => Value::initial(DwordPlace::Lane { register, lane }),
        }
    }

    /// Changes one lane's dword of a vector register.
    pub(super) fn set_vector_lane(&mut self, register: MachineRegister, lane: u8, value: Value) {
        let known = self.vectors.get(register);
        if !known.is_some_and(|vector| vector.has_lane(lane, value)) {
            self.change_vector(register, |vector| vector.set_lane(lane, value));
        }
    }

    /// Returns true if all facts that are known here are also known in `other`.
    ///
    /// * `decisions`: the bits of the lanes, which both states are for.
    pub(super) fn covers(&self, other: &State, decisions: &Decisions) -> bool {
        let covers = |here: &Vector, there: &Vector| {
            here.covers_by(there, |here, there| here.covers_saved(there, decisions))
        };
        // Shared parts need no comparison.
        let same_vectors =
            self.vectors_lost == other.vectors_lost && Arc::ptr_eq(&self.vectors, &other.vectors);
        let same_slots = self.rows_lost == other.rows_lost && Arc::ptr_eq(&self.rows, &other.rows);
        self.exec == other.exec
            && (!self.is_whole || other.is_whole)
            && self.callees_from == other.callees_from
            && (self.vectors_lost || !other.vectors_lost)
            && (self.rows_lost || !other.rows_lost)
            && (self.scalars).covers_by(&other.scalars, |here, there| {
                here.covers_for(there, decisions)
            })
            && (same_vectors
                || Flat::either(&self.vectors, &other.vectors).all(|(register, here, there)| {
                    let here = here.map_or_else(|| self.vector(register), Cow::Borrowed);
                    let there = there.map_or_else(|| other.vector(register), Cow::Borrowed);
                    covers(&here, &there)
                }))
            && (same_slots
                || Flat::either(&self.rows, &other.rows).all(|(slot, here, there)| {
                    let here = here.map_or_else(|| self.row(slot), Cow::Borrowed);
                    let there = there.map_or_else(|| other.row(slot), Cow::Borrowed);
                    covers(&here, &there)
                }))
    }

    /// Joins the facts at the end of another path. Returns true if this changes anything.
    pub(super) fn join(&mut self, other: &State) -> bool {
        let before = (self.exec, self.is_whole);
        let is_new = self.machine.join(&other.machine);
        self.exec = self.exec.join(other.exec);
        self.is_whole &= other.is_whole;
        is_new || before != (self.exec, self.is_whole)
    }
}

impl Exec {
    fn join(self, other: Exec) -> Exec {
        match (self, other) {
            (one, other) if one == other => one,
            // The saved registers may differ, but both sections have the same lanes.
            (Exec::Section(one), Exec::Section(other)) if one.lanes == other.lanes => {
                Exec::Section(Section { saved: None, ..one })
            }
            (_, _) => Exec::Unknown,
        }
    }
}
