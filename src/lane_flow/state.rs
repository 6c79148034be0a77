//! What is known of the machine at one place of the code, in terms of a stop.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::place::{DwordPlace, Slot};
use super::scalars::{Scalars, bit};
use super::value::Value;
use super::vector::{Vector, Whole};
use crate::flat::Flat;
use crate::isa::{MachineRegister, Operand};

/// The registers that addresses on the stack are counted from, `s32` to `s34`: a bit for each number.
const STACK_REGISTERS: u128 = 0b111 << 32;

/// How many slots and vector registers are kept.
const MOST: usize = 1024;

/// Which lanes execute while EXEC has been set to other lanes than those of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SectionLanes {
    /// All.
    All,
    /// These.
    Mask(u64),
    /// Those that are not active.
    Inactive,
}

/// A section of code in which EXEC does not say which lanes are active, since more or other lanes have to
/// execute: from `s_or_saveexec S, -1` to `s_mov exec, S` for example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Section {
    pub(super) lanes: SectionLanes,
    /// The register with the lanes that are active, or its first dword; nothing if there is none.
    pub(super) saved: Option<MachineRegister>,
}

/// What is known of EXEC besides the bit of the lane that is followed, which is 0 outside of whole-wave sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Exec {
    /// It says which lanes are active.
    Active,
    /// It does not.
    Section(Section),
    /// It is not known whether it does.
    Unknown,
}

/// What is known at one place of the code. Copies share what did not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    scalars: Scalars,
    /// Those that are not as at the stop.
    vectors: Arc<Flat<MachineRegister, Vector>>,
    /// Those that were stored since the stop.
    slots: Arc<Flat<Slot, Vector>>,
    /// Any vector register may have been written.
    vectors_lost: bool,
    /// Any slot that is not listed may have been written.
    slots_lost: bool,
    /// Callees may have written slots from this one up.
    callees_from: Option<Slot>,
    pub(super) exec: Exec,
    /// Whether EXEC has the lanes that entered the function, where it has those that are active.
    pub(super) is_whole: bool,
}

impl State {
    /// The state at the stop: every dword is what it is.
    pub(super) fn at_stop(exec: Exec) -> State {
        State {
            scalars: Scalars::all(|register| Value::initial(DwordPlace::Scalar(register))),
            vectors: Arc::default(),
            slots: Arc::default(),
            vectors_lost: false,
            slots_lost: false,
            callees_from: None,
            exec,
            is_whole: false,
        }
    }

    /// On entry to a function: nothing is known of masks.
    pub(super) fn at_entry() -> State {
        let mut state = State::at_stop(Exec::Active);
        state.keep_scalars(STACK_REGISTERS);
        state
    }

    /// How many values it lists.
    pub(super) fn size(&self) -> usize {
        let vectors = self.vectors.iter().map(|(_, vector)| vector.size());
        let slots = self.slots.iter().map(|(_, vector)| vector.size());
        (self.scalars.len()).saturating_add(vectors.chain(slots).sum())
    }

    /// How many bytes it has that no other state shares.
    pub(super) fn bytes(&self) -> u64 {
        let scalars = self.scalars.len().saturating_mul(size_of::<Value>());
        let vectors = (Arc::strong_count(&self.vectors) == 1).then_some(&self.vectors);
        let vectors = vectors.map_or(0, |all| all.iter().map(|(_, one)| one.bytes()).sum());
        let slots = (Arc::strong_count(&self.slots) == 1).then_some(&self.slots);
        let slots: usize = slots.map_or(0, |all| all.iter().map(|(_, one)| one.bytes()).sum());
        [size_of::<State>(), scalars, vectors, slots]
            .into_iter()
            .fold(0, usize::saturating_add) as u64
    }

    /// The places whose bit is known, whatever was there before.
    pub(super) fn known_bits(&self) -> Vec<(DwordPlace, bool)> {
        let scalars =
            (self.scalars.iter()).map(|(register, value)| (DwordPlace::Scalar(register), value));
        let vectors = self.vectors.iter().flat_map(|(register, vector)| {
            let lanes = vector.lanes();
            lanes.map(move |(lane, value)| (DwordPlace::Lane { register, lane }, value))
        });
        let slots = self.slots.iter().flat_map(|(slot, vector)| {
            let lanes = vector.lanes();
            lanes.map(move |(lane, value)| (DwordPlace::Scratch { slot, lane }, value))
        });
        let all = scalars.chain(vectors).chain(slots);
        all.filter_map(|(place, value)| Some((place, value.own_bit()?)))
            .collect()
    }

    /// A scalar register; unknown if it is none of those that are followed.
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

    /// Forgets the scalar registers that are not in a set, a bit for each number.
    pub(super) fn keep_scalars(&mut self, kept: u128) {
        self.scalars.keep(kept, STACK_REGISTERS);
    }

    /// Forgets of a vector register all but some lanes, a bit each.
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

    /// Forgets of scratch all but some lanes of some rows, a bit each.
    pub(super) fn keep_slots(&mut self, rows: impl Iterator<Item = (Slot, u64)> + Clone) {
        if !self.slots_lost {
            let mut only: Vec<(Slot, Vector)> = (rows.clone())
                .filter(|(_, lanes)| *lanes != 0)
                .map(|(slot, lanes)| (slot, self.slot(slot).only(lanes)))
                .filter(|(_, only)| *only != Vector::UNKNOWN)
                .collect();
            only.sort_by_key(|(slot, _)| *slot);
            only.dedup_by_key(|(slot, _)| *slot);
            self.slots_lost = true;
            self.slots = Arc::new(Flat::in_order(only.into_iter()));
            return;
        }
        if self.slots.is_empty() {
            return;
        }
        let mut kept: BTreeMap<Slot, u64> = BTreeMap::new();
        for (slot, lanes) in rows {
            kept.entry(slot).or_insert(lanes);
        }
        let lanes_of = |slot: Slot| kept.get(&slot).copied().unwrap_or(0);
        if !(self.slots.iter())
            .all(|(slot, vector)| vector.has_lanes() && vector.is_only(lanes_of(slot)))
        {
            let only = self.slots.iter();
            let only = only.map(|(slot, vector)| (slot, vector.only(lanes_of(slot))));
            let only = only.filter(|(_, only)| *only != Vector::UNKNOWN);
            self.slots = Arc::new(Flat::in_order(only));
        }
    }

    /// Forgets scalar registers, a bit for each number.
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

    /// Puts another value into every place that has one.
    pub(super) fn replace(&mut self, value: Value, by: Value) {
        self.scalars.replace(value, by);
        if self.vectors.iter().any(|(_, vector)| vector.has(value)) {
            let vectors = Arc::make_mut(&mut self.vectors).iter_mut();
            vectors.for_each(|(_, vector)| vector.replace(value, by));
        }
        if self.slots.iter().any(|(_, vector)| vector.has(value)) {
            let slots = Arc::make_mut(&mut self.slots).iter_mut();
            slots.for_each(|(_, vector)| vector.replace(value, by));
        }
    }

    /// Forgets all scalar registers.
    pub(super) fn lose_scalars(&mut self) {
        self.scalars.forget(|_| true);
    }

    /// Forgets the scalar registers that a callee may have changed.
    pub(super) fn clobber_scalars(&mut self, is_clobbered: impl Fn(MachineRegister) -> bool) {
        self.scalars.forget(is_clobbered);
    }

    /// Dword `n` of an operand that is not `exec`.
    pub(super) fn operand(&self, operand: Operand, n: u8) -> Value {
        match operand {
            Operand::Registers(span) => {
                let register = span.first.plus(n);
                register.map_or(Value::Unknown, |register| self.scalar(register))
            }
            Operand::Integer(value) if n == 0 => Value::Word(value.cast_unsigned()),
            Operand::Integer(value) => Value::Word(if value < 0 { u32::MAX } else { 0 }),
            Operand::Literal(value) if n == 0 => Value::Word(value),
            Operand::Literal64(value) => {
                let halves = [value & u64::from(u32::MAX), value >> 32];
                let half = halves.get(usize::from(n)).copied();
                let half = half.and_then(|half| u32::try_from(half).ok());
                half.map_or(Value::Unknown, Value::Word)
            }
            Operand::Null => Value::Word(0),
            Operand::Literal(_) | Operand::Float(_) | Operand::Other(_) => Value::Unknown,
        }
    }

    /// A vector or accumulation register.
    pub(super) fn vector(&self, register: MachineRegister) -> Vector {
        match self.vectors.get(register) {
            Some(vector) => vector.clone(),
            None if self.vectors_lost => Vector::UNKNOWN,
            None => Vector::of(Whole::Register(register)),
        }
    }

    /// One lane's dword of a vector register.
    ///
    /// * `has_entered`: whether the lane entered the function.
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

    /// One lane's dword of a vector register.
    pub(super) fn vector_lane(&self, register: MachineRegister, lane: u8) -> Value {
        match self.vectors.get(register) {
            Some(vector) => vector.lane(lane),
            None if self.vectors_lost => Value::Unknown,
            None => Value::initial(DwordPlace::Lane { register, lane }),
        }
    }

    /// Changes a vector register in all lanes.
    pub(super) fn set_vector(&mut self, register: MachineRegister, vector: Vector) {
        if self.vectors_lost {
            return;
        }
        if self.vectors.len() >= MOST && self.vectors.get(register).is_none() {
            return self.lose_vectors();
        }
        if self.vectors.get(register) != Some(&vector) {
            Arc::make_mut(&mut self.vectors).insert(register, vector);
        }
    }

    /// Changes one lane's dword of a vector register.
    pub(super) fn set_vector_lane(&mut self, register: MachineRegister, lane: u8, value: Value) {
        match self.vectors.get(register) {
            _ if self.vectors_lost => return,
            Some(vector) if vector.has_lane(lane, value) => return,
            Some(_) => {}
            None => self.set_vector(register, Vector::of(Whole::Register(register))),
        }
        if let Some(vector) = Arc::make_mut(&mut self.vectors).get_mut(register) {
            vector.set_lane(lane, value);
        }
    }

    /// Whether nothing is known of any vector register.
    pub(super) fn has_lost_vectors(&self) -> bool {
        self.vectors_lost
    }

    /// From here on nothing is known of any vector register.
    pub(super) fn lose_vectors(&mut self) {
        self.vectors_lost = true;
        self.vectors = Arc::default();
    }

    /// A row of scratch.
    pub(super) fn slot(&self, slot: Slot) -> Vector {
        match self.slots.get(slot) {
            Some(vector) => vector.clone(),
            None if self.slots_lost => Vector::UNKNOWN,
            // Of rows that count from something else it is not known whether they are this one.
            None if self.has_others(slot) => Vector::UNKNOWN,
            None if self.callees_from.is_some_and(|first| first.reaches(slot)) => Vector::UNKNOWN,
            None => Vector::of(Whole::Slot(slot)),
        }
    }

    /// Whether there are rows that count from something else than one.
    fn has_others(&self, slot: Slot) -> bool {
        // In their order those that count from the same are neighbours.
        let ends = self.slots.ends().into_iter().flatten();
        ends.into_iter().any(|known| !known.is_comparable(slot))
    }

    /// Changes a row of scratch.
    pub(super) fn set_slot(&mut self, slot: Slot, vector: Vector) {
        let has_others = self.has_others(slot);
        let is_full = self.slots.len() >= MOST && self.slots.get(slot).is_none();
        if has_others || is_full {
            self.lose_slots();
        }
        if self.slots.get(slot) != Some(&vector) {
            Arc::make_mut(&mut self.slots).insert(slot, vector);
        }
    }

    /// From here on nothing is known of scratch but what is stored later.
    pub(super) fn lose_slots(&mut self) {
        self.slots_lost = true;
        self.slots = Arc::default();
    }

    /// A callee has scratch from this row up.
    pub(super) fn give_to_callee(&mut self, first: Slot) {
        self.callees_from = match self.callees_from {
            Some(known) if known.is_comparable(first) => Some(known.min(first)),
            Some(_) => return self.lose_slots(),
            None => Some(first),
        };
        if self.slots.keys().any(|slot| first.reaches(slot)) {
            Arc::make_mut(&mut self.slots).retain(|slot| !first.reaches(slot));
        }
    }

    /// Whether everything that is known here is known there, too.
    pub(super) fn covers(&self, other: &State) -> bool {
        let covers = |vectors: [Vector; 2]| {
            let [here, there] = vectors;
            here.covers(&there)
        };
        // What states share need not be looked at.
        let same_vectors =
            self.vectors_lost == other.vectors_lost && Arc::ptr_eq(&self.vectors, &other.vectors);
        let same_slots =
            self.slots_lost == other.slots_lost && Arc::ptr_eq(&self.slots, &other.slots);
        self.exec == other.exec
            && (!self.is_whole || other.is_whole)
            && self.callees_from == other.callees_from
            && (self.vectors_lost || !other.vectors_lost)
            && (self.slots_lost || !other.slots_lost)
            && self.scalars.covers(&other.scalars)
            && (same_vectors
                || Flat::either(&self.vectors, &other.vectors).all(|(register, here, there)| {
                    covers([(self, here), (other, there)].map(|(state, known)| {
                        known.cloned().unwrap_or_else(|| state.vector(register))
                    }))
                }))
            && (same_slots
                || Flat::either(&self.slots, &other.slots).all(|(slot, here, there)| {
                    covers(
                        [(self, here), (other, there)].map(|(state, known)| {
                            known.cloned().unwrap_or_else(|| state.slot(slot))
                        }),
                    )
                }))
    }

    /// Takes in what is known at the end of another path. Gives whether that changed anything.
    pub(super) fn join(&mut self, other: &State) -> bool {
        let mut is_new = self.scalars.join(&other.scalars);
        if self.vectors_lost || other.vectors_lost {
            is_new |= !self.vectors_lost;
            self.lose_vectors();
        } else if !Arc::ptr_eq(&self.vectors, &other.vectors) {
            let news = news(
                [&self.vectors, &other.vectors],
                |register| self.vector(register),
                |register| other.vector(register),
            );
            is_new |= !news.is_empty();
            insert(&mut self.vectors, news);
        }
        if self.slots_lost != other.slots_lost || !Arc::ptr_eq(&self.slots, &other.slots) {
            let news = news(
                [&self.slots, &other.slots],
                |slot| self.slot(slot),
                |slot| other.slot(slot),
            );
            is_new |= !news.is_empty() || (other.slots_lost && !self.slots_lost);
            self.slots_lost |= other.slots_lost;
            insert(&mut self.slots, news);
        }
        let rest = (self.callees_from, self.exec, self.is_whole);
        if let Some(first) = other.callees_from {
            let lost = self.slots_lost;
            is_new |= self.slots.keys().any(|slot| first.reaches(slot));
            self.give_to_callee(first);
            is_new |= lost != self.slots_lost;
        }
        self.exec = self.exec.join(other.exec);
        self.is_whole &= other.is_whole;
        is_new || rest != (self.callees_from, self.exec, self.is_whole)
    }
}

/// What one map has to get, so that it has only what two have in common.
///
/// * `here`, `there`: what they have where nothing is listed.
fn news<K: Copy + Ord>(
    [one, other]: [&Flat<K, Vector>; 2],
    here: impl Fn(K) -> Vector,
    there: impl Fn(K) -> Vector,
) -> Vec<(K, Vector)> {
    let either = Flat::either(one, other);
    let changed = either.filter_map(|(key, known, new)| match (known, new) {
        (Some(known), Some(new)) if known.covers(new) => None,
        (Some(known), Some(new)) => Some((key, known.join(new))),
        (Some(known), None) => {
            let new = there(key);
            (!known.covers(&new)).then(|| (key, known.join(&new)))
        }
        (None, Some(new)) => Some((key, here(key).join(new))),
        (None, None) => None,
    });
    changed.collect()
}

fn insert<K: Copy + Ord>(map: &mut Arc<Flat<K, Vector>>, news: Vec<(K, Vector)>) {
    if !news.is_empty() {
        let map = Arc::make_mut(map);
        for (key, vector) in news {
            map.insert(key, vector);
        }
    }
}

impl Exec {
    fn join(self, other: Exec) -> Exec {
        match (self, other) {
            (one, other) if one == other => one,
            // What was saved where differs; that both are in a section of the same lanes does not.
            (Exec::Section(one), Exec::Section(other)) if one.lanes == other.lanes => {
                Exec::Section(Section { saved: None, ..one })
            }
            (_, _) => Exec::Unknown,
        }
    }
}
