//! What is known of the machine at one place of the code, in terms of a stop.

use std::sync::Arc;

use super::flat::Flat;
use super::place::{Place, Slot};
use super::value::Value;
use super::vector::{Vector, Whole};
use crate::isa::{MachineRegister, Operand};

/// How many dwords of scalar registers are followed: `s0` to `s105`, then those of [`NAMED`].
pub(super) const SCALARS: usize = 113;

/// The scalar registers after `s105`, in the order of their numbers here.
const NAMED: [MachineRegister; 7] = [
    MachineRegister::VccLo,
    MachineRegister::VccHi,
    MachineRegister::M0,
    MachineRegister::FlatScratchLo,
    MachineRegister::FlatScratchHi,
    MachineRegister::XnackMaskLo,
    MachineRegister::XnackMaskHi,
];

/// The numbers of the registers that addresses on the stack are counted from.
const STACK_REGISTERS: core::ops::RangeInclusive<u32> = 32..=34;

/// How many slots and vector registers are kept.
const MOST: usize = 1024;

/// The number of a scalar register among those that are followed; nothing for `exec`, `scc`, those of the
/// trap handler and vector registers.
pub(super) fn scalar_index(register: MachineRegister) -> Option<usize> {
    if let MachineRegister::Sgpr(n) = register {
        return Some(usize::from(n)).filter(|n| *n < 106);
    }
    let named = NAMED.iter().position(|one| *one == register)?;
    named.checked_add(106)
}

/// The scalar register with a number.
pub(super) fn numbered_scalar(index: usize) -> Option<MachineRegister> {
    match index.checked_sub(106) {
        None => u8::try_from(index).ok().map(MachineRegister::Sgpr),
        Some(named) => NAMED.get(named).copied(),
    }
}

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

/// Dwords that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// Scalar registers, a bit for each number.
    pub(super) scalars: u128,
    /// Of vector registers these lanes, a bit each.
    pub(super) vectors: Vec<(MachineRegister, u64)>,
    /// Of rows of scratch these lanes.
    pub(super) slots: Vec<(Slot, u64)>,
}

/// What is known at one place of the code. Copies share what did not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    scalars: Arc<[Value; SCALARS]>,
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
        let mut index = 0_usize;
        let scalars = [(); SCALARS].map(|()| {
            let register = numbered_scalar(index);
            index = index.saturating_add(1);
            register.map_or(Value::Unknown, |register| {
                Value::initial(Place::Scalar(register))
            })
        });
        State {
            scalars: Arc::new(scalars),
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
        let stack = STACK_REGISTERS.fold(0, |set, n| set | 1_u128.checked_shl(n).unwrap_or(0));
        state.keep_scalars(stack);
        state
    }

    /// The places whose bit is known, whatever was there before.
    pub(super) fn known_bits(&self) -> Vec<(Place, bool)> {
        let scalars = (self.scalars.iter().enumerate())
            .filter_map(|(n, value)| Some((Place::Scalar(numbered_scalar(n)?), *value)));
        let vectors = self.vectors.iter().flat_map(|(register, vector)| {
            let lanes = vector.lanes();
            lanes.map(move |(lane, value)| (Place::Lane { register, lane }, value))
        });
        let slots = self.slots.iter().flat_map(|(slot, vector)| {
            let lanes = vector.lanes();
            lanes.map(move |(lane, value)| (Place::Scratch { slot, lane }, value))
        });
        let all = scalars.chain(vectors).chain(slots);
        all.filter_map(|(place, value)| Some((place, value.own_bit()?)))
            .collect()
    }

    /// A scalar register; unknown if it is none of those that are followed.
    pub(super) fn scalar(&self, register: MachineRegister) -> Value {
        let value = scalar_index(register).and_then(|index| self.scalars.get(index));
        value.copied().unwrap_or(Value::Unknown)
    }

    /// Changes a scalar register.
    pub(super) fn set_scalar(&mut self, register: MachineRegister, value: Value) {
        if let Exec::Section(section) = &mut self.exec {
            let saved = section.saved;
            let second = saved.and_then(|register| register.plus(1));
            if saved == Some(register) || second == Some(register) {
                section.saved = None;
            }
        }
        let Some(index) = scalar_index(register) else {
            return;
        };
        if self.scalars.get(index) != Some(&value)
            && let Some(slot) = Arc::make_mut(&mut self.scalars).get_mut(index)
        {
            *slot = value;
        }
    }

    /// Forgets the dwords that are not in a set.
    pub(super) fn keep(&mut self, kept: &Kept) {
        self.keep_scalars(kept.scalars);
        for (register, lanes) in &kept.vectors {
            let only = match self.vectors.get(*register) {
                Some(vector) => vector.only(*lanes),
                None => self.vector(*register).only(*lanes),
            };
            self.set_vector(*register, only);
        }
        for (slot, lanes) in &kept.slots {
            let only = self.slot(*slot).only(*lanes);
            self.set_slot(*slot, only);
        }
    }

    /// Forgets the scalar registers that are not in a set, a bit for each number.
    pub(super) fn keep_scalars(&mut self, kept: u128) {
        let words = [kept & u128::from(u64::MAX), kept >> 64];
        let words = words.map(|word| u64::try_from(word).unwrap_or(0));
        let is_kept = |index: u32| {
            let word = if index < 64 { words[0] } else { words[1] };
            word & 1_u64.wrapping_shl(index) != 0
        };
        let is_address = |index: u32| STACK_REGISTERS.contains(&index);
        let keep = |index: u32, value: Value| match is_kept(index) {
            true if is_address(index) => value,
            true => value.as_mask(),
            false => Value::Unknown,
        };
        if (0..)
            .zip(self.scalars.iter())
            .all(|(n, value)| keep(n, *value) == *value)
        {
            return;
        }
        for (index, value) in (0..).zip(Arc::make_mut(&mut self.scalars)) {
            *value = keep(index, *value);
        }
    }

    /// Forgets all scalar registers.
    pub(super) fn lose_scalars(&mut self) {
        Arc::make_mut(&mut self.scalars).fill(Value::Unknown);
    }

    /// Forgets the scalar registers that a callee may have changed.
    pub(super) fn clobber_scalars(&mut self, is_clobbered: impl Fn(MachineRegister) -> bool) {
        for (index, value) in Arc::make_mut(&mut self.scalars).iter_mut().enumerate() {
            if numbered_scalar(index).is_none_or(&is_clobbered) {
                *value = Value::Unknown;
            }
        }
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
            None => Value::initial(Place::Lane { register, lane }),
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
            None if self.slots.keys().any(|known| !known.is_comparable(slot)) => Vector::UNKNOWN,
            None if self.callees_from.is_some_and(|first| first.reaches(slot)) => Vector::UNKNOWN,
            None => Vector::of(Whole::Slot(slot)),
        }
    }

    /// Changes a row of scratch.
    pub(super) fn set_slot(&mut self, slot: Slot, vector: Vector) {
        let has_others = self.slots.keys().any(|known| !known.is_comparable(slot));
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
        let scalars = self.scalars.iter().zip(other.scalars.iter());
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
            && (Arc::ptr_eq(&self.scalars, &other.scalars)
                || scalars.into_iter().all(|(here, there)| here.covers(*there)))
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
        let mut is_new = self.join_scalars(other);
        if self.vectors_lost || other.vectors_lost {
            is_new |= !self.vectors_lost;
            self.lose_vectors();
        } else if self.vectors != other.vectors {
            let either = Flat::either(&self.vectors, &other.vectors);
            let joined = Flat::in_order(either.map(|(register, here, there)| {
                let here = here.cloned().unwrap_or_else(|| self.vector(register));
                let there = there.cloned();
                let there = there.unwrap_or_else(|| other.vector(register));
                (register, here.join(&there))
            }));
            if joined != *self.vectors {
                self.vectors = Arc::new(joined);
                is_new = true;
            }
        }
        if self.slots_lost != other.slots_lost || self.slots != other.slots {
            let either = Flat::either(&self.slots, &other.slots);
            let joined = Flat::in_order(either.map(|(slot, here, there)| {
                let here = here.cloned().unwrap_or_else(|| self.slot(slot));
                let there = there.cloned().unwrap_or_else(|| other.slot(slot));
                (slot, here.join(&there))
            }));
            is_new |= other.slots_lost && !self.slots_lost;
            self.slots_lost |= other.slots_lost;
            if joined != *self.slots {
                self.slots = Arc::new(joined);
                is_new = true;
            }
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

    fn join_scalars(&mut self, other: &State) -> bool {
        if Arc::ptr_eq(&self.scalars, &other.scalars) {
            return false;
        }
        let mut pairs = self.scalars.iter().zip(other.scalars.iter());
        let Some(first) = pairs.position(|(here, there)| here.join(*there) != *here) else {
            return false;
        };
        let here = Arc::make_mut(&mut self.scalars).iter_mut();
        for (here, there) in here.zip(other.scalars.iter()).skip(first) {
            *here = here.join(*there);
        }
        true
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
