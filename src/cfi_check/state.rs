//! What is known of the machine at one place of the code, relative to the entry of the function.

use core::cmp::Ordering;
use std::borrow::Cow;
use std::rc::Rc;

use super::mask::Mask;
use super::value::{STACK_POINTER, Scalar, Verdict};
use super::vector::{LaneValue, Vector};
use crate::arch::WaveSize;
use crate::flat::Flat;
use crate::isa::{MachineRegister, Operand, Span};

/// `s0` to `s105`, and the two halves of `vcc`.
pub(super) const SCALARS: usize = MachineRegister::SCALARS as usize;

/// Where accumulation registers begin among vector registers.
const AGPRS: u32 = 1 << 16;

/// How many slots are kept. Functions that save every register there is need fewer.
const SLOTS: usize = 1024;

/// What the address of a scratch slot is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// The stack pointer on entry.
    Entry,
    /// The stack pointer that the instruction at this offset in the function rounded.
    Aligned(u32),
}

/// A dword of scratch, one for each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) base: Base,
    /// In bytes of one lane.
    pub(super) offset: i64,
}

/// By base, then by offset. Slots are compared all the time, and numbers are compared fast.
impl Ord for Slot {
    fn cmp(&self, other: &Slot) -> Ordering {
        let key = |slot: &Slot| match slot.base {
            Base::Entry => (0, slot.offset),
            Base::Aligned(at) => (u64::from(at).saturating_add(1), slot.offset),
        };
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Slot {
    fn partial_cmp(&self, other: &Slot) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What registers or slots have. Copies share what did not change.
type Map<K> = Flat<K, Rc<Vector>>;

/// A scalar register: its contents, and the instruction that wrote it last; where paths meet, the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    value: Scalar,
    written_at: u32,
}

/// See the head of the module. Copies share what did not change.
#[derive(Clone, Debug)]
pub(super) struct State {
    scalars: Rc<[Cell; SCALARS]>,
    /// Those that surely have not what they had on entry, a bit each.
    overwritten: u128,
    pub(super) exec: Mask,
    /// The offset of the instruction that wrote `exec` last.
    pub(super) exec_written_at: u32,
    /// Those that are not as on entry, by their numbers.
    vectors: Rc<Map<u32>>,
    /// Those that were written.
    slots: Rc<Map<Slot>>,
    /// Which vector register an instruction writes is not known any more.
    vectors_lost: bool,
    /// Stores went to unknown places of the stack: slots that are not listed can have anything.
    slots_lost: bool,
    /// Callees may have written slots from here up.
    callees_from: Option<i64>,
    /// How far the stack pointer was above that on entry when that was last known. Where it has been set
    /// to something computed since, it is no lower: stack is allocated at run time, not given back.
    top: i32,
}

impl State {
    /// On entry: every register has its own value.
    pub(super) fn entry() -> State {
        let mut register = 0u8;
        let scalars = [(); SCALARS].map(|()| {
            let value = Scalar::entry(register);
            register = register.saturating_add(1);
            Cell {
                value,
                written_at: 0,
            }
        });
        State {
            scalars: Rc::new(scalars),
            overwritten: 0,
            exec: Mask::ENTRY,
            exec_written_at: 0,
            vectors: Rc::default(),
            slots: Rc::default(),
            vectors_lost: false,
            slots_lost: false,
            callees_from: None,
            top: 0,
        }
    }

    pub(super) fn scalar(&self, register: u8) -> Scalar {
        (self.scalars.get(usize::from(register))).map_or(Scalar::Unknown, |cell| cell.value)
    }

    pub(super) fn scalar_written_at(&self, register: u8) -> u32 {
        (self.scalars.get(usize::from(register))).map_or(0, |cell| cell.written_at)
    }

    pub(super) fn set_scalar(&mut self, register: u8, value: Scalar, written_at: u32) {
        if let (STACK_POINTER, Scalar::Entry { register: of, plus }) = (register, value)
            && of == STACK_POINTER
        {
            self.top = plus;
        }
        let slot = Rc::make_mut(&mut self.scalars).get_mut(usize::from(register));
        if let Some(slot) = slot {
            *slot = Cell { value, written_at };
        }
        self.note_overwritten(register, value);
    }

    fn note_overwritten(&mut self, register: u8, value: Scalar) {
        let bit = 1u128.checked_shl(register.into()).unwrap_or(0);
        if value.is_entry_of(register) == Verdict::Different {
            self.overwritten |= bit;
        } else {
            self.overwritten &= !bit;
        }
    }

    /// The scalar registers that surely have not what they had on entry, a bit each from `s0`.
    pub(super) fn overwritten(&self) -> u128 {
        self.overwritten
    }

    /// The lowest that the stack pointer can be.
    pub(super) fn stack_top(&self) -> Scalar {
        Scalar::Entry {
            register: STACK_POINTER,
            plus: self.top,
        }
    }

    /// The contents of every scalar register, from `s0`.
    pub(super) fn scalars(&self) -> impl Iterator<Item = (u8, Scalar)> {
        (0u8..).zip(self.scalars.iter().map(|cell| cell.value))
    }

    /// A vector or accumulation register.
    pub(super) fn vector(&self, register: MachineRegister) -> Cow<'_, Vector> {
        match self.vectors.get(number(register)) {
            _ if self.vectors_lost => Cow::Owned(Vector::all(LaneValue::Unknown, 0)),
            Some(vector) => Cow::Borrowed(vector),
            None => Cow::Owned(Vector::entry(register)),
        }
    }

    /// A vector or accumulation register, if it may not be as on entry.
    pub(super) fn changed_vector(&self, register: MachineRegister) -> Option<&Vector> {
        let vectors = (!self.vectors_lost).then_some(&self.vectors)?;
        vectors.get(number(register)).map(|vector| &**vector)
    }

    /// Those that may not be as on entry.
    pub(super) fn vectors(&self) -> impl Iterator<Item = (MachineRegister, &Vector)> {
        let known = !self.vectors_lost;
        (self.vectors.iter())
            .filter(move |_| known)
            .map(|(number, vector)| (numbered(number), &**vector))
    }

    /// Changes a vector register.
    pub(super) fn change_vector(
        &mut self,
        register: MachineRegister,
        change: impl FnOnce(&mut Vector),
    ) {
        let vectors = Rc::make_mut(&mut self.vectors);
        vectors.change(
            number(register),
            || Rc::new(Vector::entry(register)),
            |vector| change(Rc::make_mut(vector)),
        );
    }

    /// From here on any vector register can have anything.
    pub(super) fn lose_vectors(&mut self) {
        self.vectors_lost = true;
        self.vectors = Rc::default();
    }

    /// What is in a slot. What was never written is not known to be anything's value, unless callees or
    /// stores to unknown places may have put it there.
    pub(super) fn slot(&self, slot: Slot) -> Cow<'_, Vector> {
        if let Some(vector) = self.slots.get(slot) {
            return Cow::Borrowed(vector);
        }
        let of_callees = match (slot.base, self.callees_from) {
            (_, None) => false,
            (Base::Aligned(_), Some(_)) => true,
            (Base::Entry, Some(from)) => slot.offset >= from,
        };
        // Addresses with another base may be the same places.
        let other_bases = has_other_base(&self.slots, slot.base);
        let aligned = slot.base != Base::Entry;
        let unknown = self.slots_lost || of_callees || other_bases || aligned;
        let value = if unknown || slot.offset % 4 != 0 {
            LaneValue::Unknown
        } else {
            LaneValue::Other
        };
        Cow::Owned(Vector::all(value, 0))
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = (Slot, &Vector)> {
        (self.slots.iter()).map(|(slot, vector)| (slot, &**vector))
    }

    /// Whether all slots that are known have this base.
    pub(super) fn has_base(&self, base: Base) -> bool {
        !has_other_base(&self.slots, base)
    }

    /// Writes the lanes of the execution mask to a slot.
    pub(super) fn store(&mut self, slot: Slot, value: &Vector, at: u32) {
        if slot.offset % 4 != 0 {
            return self.lose_slots();
        }
        let mut vector = self.slot(slot).into_owned();
        vector.write(self.exec, value, at);
        let slots = Rc::make_mut(&mut self.slots);
        // Addresses with another base may be the same places.
        if has_other_base(slots, slot.base) {
            slots.retain(|key| key.base == slot.base);
            self.slots_lost = true;
        }
        // One more than is kept is not known, like those of which nothing is.
        if slots.len() < SLOTS || slots.get(slot).is_some() {
            slots.insert(slot, Rc::new(vector));
        } else {
            self.slots_lost = true;
        }
    }

    /// From here on any slot can have anything.
    pub(super) fn lose_slots(&mut self) {
        self.slots_lost = true;
        self.slots = Rc::default();
    }

    /// A callee has the stack from this offset up, in bytes of one lane.
    pub(super) fn give_to_callee(&mut self, from: i64) {
        self.callees_from = Some(self.callees_from.map_or(from, |lowest| lowest.min(from)));
        if self.slots.iter().any(|(slot, _)| is_above(slot, from)) {
            Rc::make_mut(&mut self.slots).retain(|slot| !is_above(slot, from));
        }
    }

    /// A callee may have changed these vector registers in the lanes that are active. Those that this
    /// function never wrote are left as they are: they keep nothing that a row could rightly name.
    pub(super) fn clobber_vectors(&mut self, is_clobbered: impl Fn(MachineRegister) -> bool) {
        let mask = if self.exec.is_within_entry() {
            Mask::ENTRY
        } else {
            Mask::ALL
        };
        let unknown = Vector::all(LaneValue::Unknown, 0);
        for (number, vector) in Rc::make_mut(&mut self.vectors).iter_mut() {
            if is_clobbered(numbered(number)) {
                let vector = Rc::make_mut(vector);
                let at = vector.written_at;
                vector.write(mask, &unknown, at);
            }
        }
    }

    /// The instruction at this offset finds its condition anew: what depended on what it found before
    /// forgets it.
    pub(super) fn forget(&mut self, at: u32) {
        if self.exec.depends_on(at) {
            self.exec = self.exec.forget();
        }
        if self.scalars.iter().any(|cell| cell.value.depends_on(at)) {
            for cell in Rc::make_mut(&mut self.scalars) {
                cell.value = cell.value.forget(at);
            }
        }
        forget_in(&mut self.vectors, at);
        forget_in(&mut self.slots, at);
    }

    /// Whether a value is expressed by what the instruction at this offset rounded when it ran before.
    pub(super) fn has_aligned(&self, at: u32) -> bool {
        let is = |value: &Scalar| matches!(value, Scalar::Aligned { at: of, .. } if *of == at);
        let named = |vector: &Vector| {
            let lanes = vector.active.named().iter().chain(vector.inactive.named());
            lanes.into_iter().any(|(_, value)| is(value))
        };
        self.scalars.iter().any(|cell| is(&cell.value))
            || self.vectors.iter().any(|(_, vector)| named(vector))
            || (self.slots.iter())
                .any(|(slot, vector)| slot.base == Base::Aligned(at) || named(vector))
    }

    /// The mask in scalar registers or in `exec`.
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

    /// Dword `n` of an operand.
    pub(super) fn operand(&self, operand: Operand, n: u8) -> Scalar {
        match operand {
            Operand::Registers(span) => match span.first.plus(n) {
                Some(MachineRegister::ExecLo) => Scalar::of_mask(self.exec, false),
                Some(MachineRegister::ExecHi) => Scalar::of_mask(self.exec, true),
                Some(register) => scalar_index(register).map_or(Scalar::Other, |r| self.scalar(r)),
                None => Scalar::Unknown,
            },
            Operand::Integer(value) if n == 0 => Scalar::Constant(value.cast_unsigned()),
            Operand::Integer(value) => Scalar::Constant(if value < 0 { u32::MAX } else { 0 }),
            Operand::Literal(value) if n == 0 => Scalar::Constant(value),
            Operand::Literal64(value) if n == 0 => Scalar::Constant(half(value, false)),
            Operand::Literal64(value) => Scalar::Constant(half(value, true)),
            Operand::Null => Scalar::Constant(0),
            Operand::Literal(_) | Operand::Float(_) | Operand::Other(_) => Scalar::Other,
        }
    }

    /// Takes in what is known at the end of another path. Gives whether that changed anything but who
    /// wrote what.
    pub(super) fn join(&mut self, other: &State) -> bool {
        let mut changed = self.join_scalars(other);
        let exec = self.exec.join(other.exec);
        let at = self.exec_written_at.max(other.exec_written_at);
        changed |= exec != self.exec;
        (self.exec, self.exec_written_at) = (exec, at);
        if other.vectors_lost && !self.vectors_lost {
            self.lose_vectors();
            changed = true;
        }
        if !self.vectors_lost && !Rc::ptr_eq(&self.vectors, &other.vectors) {
            let entry = |number| Vector::entry(numbered(number));
            changed |= join_maps(&mut self.vectors, &other.vectors, entry, entry);
        }
        if !Rc::ptr_eq(&self.slots, &other.slots) {
            let (here, there) = (self.clone(), other);
            changed |= join_maps(
                &mut self.slots,
                &other.slots,
                |slot| here.slot(slot).into_owned(),
                |slot| there.slot(slot).into_owned(),
            );
        }
        changed |= other.slots_lost && !self.slots_lost;
        self.slots_lost |= other.slots_lost;
        let lowest = match (self.callees_from, other.callees_from) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        changed |= lowest != self.callees_from;
        self.callees_from = lowest;
        changed |= other.top < self.top;
        self.top = self.top.min(other.top);
        changed
    }

    fn join_scalars(&mut self, other: &State) -> bool {
        if self.scalars == other.scalars {
            return false;
        }
        let mut changed = 0u128;
        let cells = Rc::make_mut(&mut self.scalars).iter_mut();
        for (n, (cell, other)) in (0u32..).zip(cells.zip(other.scalars.iter())) {
            if cell != other {
                let joined = Cell {
                    value: cell.value.join(other.value),
                    written_at: cell.written_at.max(other.written_at),
                };
                let is_new = joined.value != cell.value;
                changed |= u128::from(is_new).checked_shl(n).unwrap_or(0);
                *cell = joined;
            }
        }
        for register in bits(changed) {
            self.note_overwritten(register, self.scalar(register));
        }
        changed != 0
    }
}

fn forget_in<K: Ord + Copy>(map: &mut Rc<Map<K>>, at: u32) {
    let changes = map
        .iter()
        .filter_map(|(key, vector)| Some((key, vector.forget(at)?)));
    let changes: Vec<(K, Vector)> = changes.collect();
    insert_all(map, changes);
}

/// Whether there were any.
fn insert_all<K: Ord + Copy>(map: &mut Rc<Map<K>>, changes: Vec<(K, Vector)>) -> bool {
    if changes.is_empty() {
        return false;
    }
    let map = Rc::make_mut(map);
    for (key, vector) in changes {
        map.insert(key, Rc::new(vector));
    }
    true
}

/// Where a register stands among vector registers, then accumulation registers. What is neither of them, and
/// has nothing here, comes after all.
fn number(register: MachineRegister) -> u32 {
    match register {
        MachineRegister::Vgpr(n) => n.into(),
        MachineRegister::Agpr(n) => AGPRS | u32::from(n),
        _ => u32::MAX,
    }
}

/// The register that has this number.
fn numbered(number: u32) -> MachineRegister {
    let [a, b, ..] = number.to_le_bytes();
    let n = u16::from_le_bytes([a, b]);
    if number < AGPRS {
        MachineRegister::Vgpr(n)
    } else {
        MachineRegister::Agpr(n)
    }
}

/// Joins each entry; `here` and `there` say what an entry that is missing stands for.
fn join_maps<K: Ord + Copy>(
    map: &mut Rc<Map<K>>,
    other: &Map<K>,
    here: impl Fn(K) -> Vector,
    there: impl Fn(K) -> Vector,
) -> bool {
    let changes = Flat::either(map, other).filter_map(|(key, one, other)| {
        let joined = match (one, other) {
            (None, None) => return None,
            (None, Some(other)) => here(key).join(other),
            (Some(one), None) => one.join(&there(key)),
            (Some(one), Some(other)) if Rc::ptr_eq(one, other) => return None,
            (Some(one), Some(other)) => one.join(other),
        };
        let is_same =
            |one: &Rc<Vector>| joined.active == one.active && joined.inactive == one.inactive;
        (!one.is_some_and(is_same)).then_some((key, joined))
    });
    let changes: Vec<(K, Vector)> = changes.collect();
    insert_all(map, changes)
}

/// Whether there is a slot with another base. Slots are ordered by their bases.
fn has_other_base(slots: &Map<Slot>, base: Base) -> bool {
    let ends = slots.ends();
    ends.is_some_and(|ends| ends.iter().any(|slot| slot.base != base))
}

fn is_above(slot: Slot, from: i64) -> bool {
    slot.base == Base::Entry && slot.offset >= from
}

/// The numbers of the bits that are set, ascending.
pub(super) fn bits(mut set: u128) -> impl Iterator<Item = u8> {
    core::iter::from_fn(move || {
        let lowest = u8::try_from(set.trailing_zeros()).ok();
        let rest = set & set.wrapping_sub(1);
        (core::mem::replace(&mut set, rest) != 0).then_some(lowest?)
    })
}

fn half(value: u64, high: bool) -> u32 {
    let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
    u32::from_le_bytes(if high { [e, f, g, h] } else { [a, b, c, d] })
}

/// Where a register stands among the scalar registers that are followed.
pub(super) fn scalar_index(register: MachineRegister) -> Option<u8> {
    match register {
        MachineRegister::Sgpr(n) if n < MachineRegister::SGPRS => Some(n),
        MachineRegister::VccLo => Some(MachineRegister::SGPRS),
        MachineRegister::VccHi => Some(MachineRegister::SGPRS.saturating_add(1)),
        MachineRegister::Sgpr(_)
        | MachineRegister::Vgpr(_)
        | MachineRegister::Agpr(_)
        | MachineRegister::Ttmp(_)
        | MachineRegister::FlatScratchLo
        | MachineRegister::FlatScratchHi
        | MachineRegister::XnackMaskLo
        | MachineRegister::XnackMaskHi
        | MachineRegister::M0
        | MachineRegister::ExecLo
        | MachineRegister::ExecHi
        | MachineRegister::Scc => None,
    }
}
