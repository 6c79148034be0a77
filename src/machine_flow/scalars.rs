//! The known contents of the scalar registers. Most registers are unknown, so that only the others are stored.

use core::fmt;
use std::sync::Arc;

use crate::isa::MachineRegister;

/// The known facts about a dword: an element of a lattice.
pub(crate) trait Scalar: Copy + Eq + fmt::Debug {
    /// The top: nothing is known.
    const UNKNOWN: Self;
    /// The result of an operation that is not followed.
    const COMPUTED: Self = Self::UNKNOWN;

    /// Returns a number.
    fn of_word(word: u32) -> Self;

    /// Returns the value as a number, if it is one.
    fn word(self) -> Option<u32>;

    /// Returns the least upper bound: the facts that hold where two paths meet.
    fn join(self, other: Self) -> Self;
}

/// The number of registers `sN` that are followed. The registers in [`NAMED`] come after them.
const SGPRS: u32 = MachineRegister::SGPRS as u32;
/// The number of dwords of scalar registers that are followed.
const SCALARS: u32 = SGPRS + NAMED.len() as u32;

/// The spare capacity of a copy into which a value is inserted.
const ROOM: usize = 4;

/// The scalar registers after `sN`, in the order of their indices.
const NAMED: [MachineRegister; 7] = [
    MachineRegister::VccLo,
    MachineRegister::VccHi,
    MachineRegister::M0,
    MachineRegister::FlatScratchLo,
    MachineRegister::FlatScratchHi,
    MachineRegister::XnackMaskLo,
    MachineRegister::XnackMaskHi,
];

/// Returns the index of a followed scalar register. `None` for `exec`, `scc`, registers of the trap handler and vector registers.
pub(crate) fn scalar_index(register: MachineRegister) -> Option<u32> {
    if let MachineRegister::Sgpr(n) = register {
        return Some(u32::from(n)).filter(|n| *n < SGPRS);
    }
    let named = NAMED.iter().position(|one| *one == register)?;
    Some(SGPRS + u32::try_from(named).ok()?)
}

/// Returns the scalar register with an index.
pub(crate) fn numbered_scalar(index: u32) -> Option<MachineRegister> {
    match index.checked_sub(SGPRS) {
        None => u8::try_from(index).ok().map(MachineRegister::Sgpr),
        Some(named) => NAMED.get(usize::try_from(named).ok()?).copied(),
    }
}

/// Returns the bit of an index in a set.
pub(crate) const fn nth(index: u32) -> u128 {
    1_u128.wrapping_shl(index)
}

/// Returns the bit of a register in a set; 0 if it is not followed.
pub(crate) fn bit(register: MachineRegister) -> u128 {
    scalar_index(register).map_or(0, nth)
}

/// A value for each known scalar register. Copies share the values until one changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scalars<S> {
    /// The known registers, one bit per index.
    known: u128,
    /// The values, in the order of indices. No value is [`Scalar::UNKNOWN`].
    values: Arc<Vec<S>>,
}

impl<S: Scalar> Scalars<S> {
    /// Returns the number of registers with known values.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Creates a set in which every register has its own value.
    pub(crate) fn all(value: impl Fn(MachineRegister) -> S) -> Scalars<S> {
        let mut known = 0;
        let mut values = Vec::with_capacity(SCALARS as usize);
        for index in 0..SCALARS {
            let value = numbered_scalar(index).map_or(S::UNKNOWN, &value);
            if value != S::UNKNOWN {
                known |= nth(index);
                values.push(value);
            }
        }
        Scalars {
            known,
            values: Arc::new(values),
        }
    }

    /// Returns the position at which the value of a register is, or has to be inserted.
    fn position(&self, index: u32) -> usize {
        // Most are among the first 64, and counting half a set takes half the time.
        let before = match index.checked_sub(64) {
            None => (self.known as u64 & (1_u64 << index).wrapping_sub(1)).count_ones(),
            Some(_) => (self.known & nth(index).wrapping_sub(1)).count_ones(),
        };
        usize::try_from(before).unwrap_or(usize::MAX)
    }

    /// Returns the known registers, by index.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u32, S)> {
        indices(self.known).zip(self.values.iter().copied())
    }

    /// Returns the registers with known values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (MachineRegister, S)> {
        let known = self.numbered();
        known.filter_map(|(index, value)| Some((numbered_scalar(index)?, value)))
    }

    /// Returns a register's value; unknown if the register is not followed.
    pub(crate) fn get(&self, register: MachineRegister) -> S {
        scalar_index(register).map_or(S::UNKNOWN, |index| self.at(index))
    }

    /// Returns the value of the register with an index.
    pub(crate) fn at(&self, index: u32) -> S {
        if self.known & nth(index) == 0 {
            return S::UNKNOWN;
        }
        let value = self.values.get(self.position(index));
        value.copied().unwrap_or(S::UNKNOWN)
    }

    pub(crate) fn set(&mut self, register: MachineRegister, value: S) {
        if let Some(index) = scalar_index(register) {
            self.set_at(index, value);
        }
    }

    /// Changes the register with an index.
    pub(crate) fn set_at(&mut self, index: u32, value: S) {
        let is_known = self.known & nth(index) != 0;
        if !is_known && value == S::UNKNOWN {
            return;
        }
        let at = self.position(index);
        if is_known && self.values.get(at) == Some(&value) {
            return;
        }
        let values = self.own(if is_known { 0 } else { ROOM });
        if !is_known {
            values.insert(at, value);
            self.known |= nth(index);
        } else if value == S::UNKNOWN {
            values.remove(at);
            self.known &= !nth(index);
        } else if let Some(known) = values.get_mut(at) {
            *known = value;
        }
    }

    /// Returns the values for modification, after copying them if they are shared.
    ///
    /// * `room`: the spare capacity of a copy.
    fn own(&mut self, room: usize) -> &mut Vec<S> {
        if Arc::get_mut(&mut self.values).is_none() {
            let mut copy = Vec::with_capacity(self.values.len() + room);
            copy.extend_from_slice(&self.values);
            self.values = Arc::new(copy);
        }
        Arc::make_mut(&mut self.values)
    }

    /// Returns true if some register has a value.
    pub(crate) fn has(&self, value: S) -> bool {
        self.values.contains(&value)
    }

    /// Applies a function to every known value, with the index of its register.
    pub(crate) fn change(&mut self, mut change: impl FnMut(u32, S) -> S) {
        let mut left = indices(self.known);
        let mut known = self.known;
        let mut changed = |value: S| {
            let index = left.next()?;
            let value = change(index, value);
            if value == S::UNKNOWN {
                known &= !nth(index);
            }
            Some(value).filter(|value| *value != S::UNKNOWN)
        };
        if let Some(values) = Arc::get_mut(&mut self.values) {
            values.retain_mut(|value| {
                changed(*value).is_some_and(|new| {
                    *value = new;
                    true
                })
            });
        } else {
            // Removed values need not be copied.
            let mut values = Vec::with_capacity(self.values.len());
            values.extend(self.values.iter().filter_map(|value| changed(*value)));
            self.values = Arc::new(values);
        }
        self.known = known;
    }

    /// Forgets registers, one bit per index.
    pub(crate) fn forget_those(&mut self, forgotten: u128) {
        if self.known & forgotten != 0 {
            self.change(|index, value| match forgotten & nth(index) != 0 {
                true => S::UNKNOWN,
                false => value,
            });
        }
    }

    /// Forgets some registers.
    pub(crate) fn forget(&mut self, is_forgotten: impl Fn(MachineRegister) -> bool) {
        self.change(
            |index, value| match numbered_scalar(index).is_none_or(&is_forgotten) {
                true => S::UNKNOWN,
                false => value,
            },
        );
    }

    /// Returns the known values here, each with its value there, in order.
    fn with<'s>(&'s self, other: &'s Scalars<S>) -> impl Iterator<Item = (S, S)> + use<'s, S> {
        let mut others = indices(other.known).zip(other.values.iter()).peekable();
        (indices(self.known).zip(self.values.iter())).map(move |(index, here)| {
            while others.next_if(|(other, _)| *other < index).is_some() {}
            let there = others.next_if(|(other, _)| *other == index);
            (*here, there.map_or(S::UNKNOWN, |(_, value)| *value))
        })
    }

    /// Returns true if all facts that are known here are also known in `other`.
    pub(crate) fn covers(&self, other: &Scalars<S>) -> bool {
        self.covers_by(other, |here, there| here == there)
    }

    /// Returns true if each value that is known here covers the other one.
    pub(crate) fn covers_by(&self, other: &Scalars<S>, covers: impl Fn(S, S) -> bool) -> bool {
        if self.known != other.known {
            let has_all = self.known & !other.known == 0;
            return has_all && self.with(other).all(|(here, there)| covers(here, there));
        }
        let mut pairs = self.values.iter().zip(other.values.iter());
        Arc::ptr_eq(&self.values, &other.values) || pairs.all(|(here, there)| covers(*here, *there))
    }

    /// Joins the facts at the end of another path. Returns true if this changes anything.
    pub(crate) fn join(&mut self, other: &Scalars<S>) -> bool {
        if self.covers(other) {
            return false;
        }
        let mut is_new = false;
        let joined = self.with(other).map(|(here, there)| {
            let joined = here.join(there);
            is_new |= joined != here;
            joined
        });
        let joined: Vec<S> = joined.collect();
        let mut joined = joined.into_iter();
        self.change(|_, _| joined.next().unwrap_or(S::UNKNOWN));
        is_new
    }
}

/// Returns the indices in a set, in order.
pub(crate) fn indices(set: u128) -> impl Iterator<Item = u32> {
    let (mut low, mut high) = (set as u64, (set >> 64) as u64);
    // Separate halves are faster to iterate over than the whole.
    core::iter::from_fn(move || {
        let (half, first) = match low {
            0 => (&mut high, 64),
            _ => (&mut low, 0),
        };
        let index = half.trailing_zeros();
        *half &= half.checked_sub(1)?;
        Some(first | index)
    })
}
