//! What is known of the scalar registers: of a few of them something, of most nothing.

use super::value::Value;
use crate::isa::MachineRegister;

/// How many registers `sN` are followed. After them those of [`NAMED`] are numbered.
const SGPRS: u32 = MachineRegister::SGPRS as u32;
/// How many dwords of scalar registers are followed.
const SCALARS: u32 = SGPRS + NAMED.len() as u32;

/// The scalar registers after `sN`, in the order of their numbers here.
const NAMED: [MachineRegister; 7] = [
    MachineRegister::VccLo,
    MachineRegister::VccHi,
    MachineRegister::M0,
    MachineRegister::FlatScratchLo,
    MachineRegister::FlatScratchHi,
    MachineRegister::XnackMaskLo,
    MachineRegister::XnackMaskHi,
];

/// The number of a scalar register among those that are followed; nothing for `exec`, `scc`, those of the
/// trap handler and vector registers.
fn scalar_index(register: MachineRegister) -> Option<u32> {
    let named = match register {
        MachineRegister::Sgpr(n) => return Some(u32::from(n)).filter(|n| *n < SGPRS),
        MachineRegister::VccLo => 0_u32,
        MachineRegister::VccHi => 1,
        MachineRegister::M0 => 2,
        MachineRegister::FlatScratchLo => 3,
        MachineRegister::FlatScratchHi => 4,
        MachineRegister::XnackMaskLo => 5,
        MachineRegister::XnackMaskHi => 6,
        MachineRegister::Vgpr(_)
        | MachineRegister::Agpr(_)
        | MachineRegister::Ttmp(_)
        | MachineRegister::ExecLo
        | MachineRegister::ExecHi
        | MachineRegister::Scc => return None,
    };
    Some(SGPRS.saturating_add(named))
}

/// The scalar register with a number.
fn numbered_scalar(index: u32) -> Option<MachineRegister> {
    match index.checked_sub(SGPRS) {
        None => u8::try_from(index).ok().map(MachineRegister::Sgpr),
        Some(named) => NAMED.get(usize::try_from(named).ok()?).copied(),
    }
}

/// The bit of a number in a set.
const fn nth(index: u32) -> u128 {
    1_u128.wrapping_shl(index)
}

/// The bit of a register in a set; none if it is not followed.
pub(super) fn bit(register: MachineRegister) -> u128 {
    scalar_index(register).map_or(0, nth)
}

/// A value for each scalar register of which anything is known. A copy is as long as what is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scalars {
    /// Those of which something is known, a bit for each number.
    known: u128,
    /// What, in the order of their numbers. None is [`Value::Unknown`].
    values: Vec<Value>,
}

impl Scalars {
    /// Of how many something is known.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Of every register its own value.
    pub(super) fn all(value: impl Fn(MachineRegister) -> Value) -> Scalars {
        let mut all = Scalars {
            known: 0,
            values: Vec::new(),
        };
        for index in 0..SCALARS {
            if let Some(register) = numbered_scalar(index) {
                all.set(register, value(register));
            }
        }
        all
    }

    /// Where the value of a register is, or would be.
    fn position(&self, index: u32) -> usize {
        let before = self.known & nth(index).wrapping_sub(1);
        usize::try_from(before.count_ones()).unwrap_or(usize::MAX)
    }

    /// The registers of which something is known.
    pub(super) fn iter(&self) -> impl Iterator<Item = (MachineRegister, Value)> {
        let indices = indices(self.known).zip(&self.values);
        indices.filter_map(|(index, value)| Some((numbered_scalar(index)?, *value)))
    }

    /// A register's value; unknown if it is none of those that are followed.
    pub(super) fn get(&self, register: MachineRegister) -> Value {
        match scalar_index(register) {
            Some(index) if self.known & nth(index) != 0 => {
                let value = self.values.get(self.position(index));
                value.copied().unwrap_or(Value::Unknown)
            }
            Some(_) | None => Value::Unknown,
        }
    }

    pub(super) fn set(&mut self, register: MachineRegister, value: Value) {
        let Some(index) = scalar_index(register) else {
            return;
        };
        let is_known = self.known & nth(index) != 0;
        if !is_known && value == Value::Unknown {
            return;
        }
        let at = self.position(index);
        match (is_known, value) {
            (true, Value::Unknown) => {
                self.values.remove(at);
                self.known &= !nth(index);
            }
            (false, _) => {
                self.values.insert(at, value);
                self.known |= nth(index);
            }
            (true, _) => {
                if let Some(known) = self.values.get_mut(at) {
                    *known = value;
                }
            }
        }
    }

    /// Changes everything that is known.
    fn change(&mut self, mut change: impl FnMut(u32, Value) -> Value) {
        let mut left = indices(self.known);
        let mut known = self.known;
        self.values.retain_mut(|value| {
            let Some(index) = left.next() else {
                return false;
            };
            *value = change(index, *value);
            if *value == Value::Unknown {
                known &= !nth(index);
            }
            *value != Value::Unknown
        });
        self.known = known;
    }

    /// Forgets all but some registers, a bit for each number, and of those everything that is no mask, but not of
    /// addresses.
    pub(super) fn keep(&mut self, kept: u128, addresses: u128) {
        self.change(|index, value| match kept & nth(index) != 0 {
            true if addresses & nth(index) != 0 => value,
            true => value.as_mask(),
            false => Value::Unknown,
        });
    }

    /// Puts another value into every register that has one.
    pub(super) fn replace(&mut self, value: Value, by: Value) {
        if self.values.contains(&value) {
            self.change(|_, known| if known == value { by } else { known });
        }
    }

    /// Forgets registers, a bit for each number.
    pub(super) fn forget_those(&mut self, forgotten: u128) {
        if self.known & forgotten != 0 {
            self.change(|index, value| match forgotten & nth(index) != 0 {
                true => Value::Unknown,
                false => value,
            });
        }
    }

    /// Forgets some registers.
    pub(super) fn forget(&mut self, is_forgotten: impl Fn(MachineRegister) -> bool) {
        self.change(
            |index, value| match numbered_scalar(index).is_none_or(&is_forgotten) {
                true => Value::Unknown,
                false => value,
            },
        );
    }

    /// What is known here, with what is known there, in order.
    fn with<'s>(&'s self, other: &'s Scalars) -> impl Iterator<Item = (Value, Value)> + use<'s> {
        let mut others = indices(other.known).zip(&other.values).peekable();
        (indices(self.known).zip(&self.values)).map(move |(index, here)| {
            while others.next_if(|(other, _)| *other < index).is_some() {}
            let there = others.next_if(|(other, _)| *other == index);
            (*here, there.map_or(Value::Unknown, |(_, value)| *value))
        })
    }

    /// Whether everything that is known here is known there, too.
    pub(super) fn covers(&self, other: &Scalars) -> bool {
        match self.known == other.known {
            true => self.values == other.values,
            false => {
                self.known & !other.known == 0
                    && self.with(other).all(|(here, there)| here == there)
            }
        }
    }

    /// Takes in what is known at the end of another path. Gives whether that changed anything.
    pub(super) fn join(&mut self, other: &Scalars) -> bool {
        if self.covers(other) {
            return false;
        }
        let joined = self.with(other).map(|(here, there)| here.join(there));
        let joined: Vec<Value> = joined.collect();
        let mut joined = joined.into_iter();
        self.change(|_, _| joined.next().unwrap_or(Value::Unknown));
        true
    }
}

/// The numbers that are in a set, in order.
fn indices(mut set: u128) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let index = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (index < u128::BITS).then_some(index)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::lane_flow::place::DwordPlace;

    fn of(map: &BTreeMap<MachineRegister, Value>, register: MachineRegister) -> Value {
        map.get(&register).copied().unwrap_or(Value::Unknown)
    }

    /// Any sequence of changes leaves what a map of all registers has.
    #[test]
    fn few_values_are_kept_as_a_map_keeps_them() {
        let registers: Vec<MachineRegister> = (0..SCALARS).filter_map(numbered_scalar).collect();
        assert_eq!(registers.len(), 113);
        for (index, register) in (0..).zip(&registers) {
            assert_eq!(scalar_index(*register), Some(index));
        }
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        let mut both = [0, 1].map(|_| {
            let value = |register| Value::initial(DwordPlace::Scalar(register));
            let map: BTreeMap<_, _> = registers.iter().map(|one| (*one, value(*one))).collect();
            (Scalars::all(value), map)
        });
        let mut joined = [0; 2];
        for round in 0..20_000 {
            let register = registers[usize::try_from(random(113)).unwrap()];
            let value = [
                Value::Unknown,
                Value::Bit(true),
                Value::Word(0),
                Value::Word(5),
            ][usize::try_from(random(4)).unwrap()];
            let which = usize::try_from(random(2)).unwrap();
            let (scalars, map) = &mut both[which];
            scalars.set(register, value);
            map.insert(register, value);
            match round % 37 {
                0 => {
                    let kept = u128::from(random(1 << 30)) << random(100) | 0xf0;
                    scalars.keep(kept, 1 << 5);
                    for (index, register) in (0..).zip(&registers) {
                        let value = match (kept >> index & 1, index) {
                            (0, _) => Value::Unknown,
                            (_, 5) => of(map, *register),
                            (_, _) => of(map, *register).as_mask(),
                        };
                        map.insert(*register, value);
                    }
                }
                1 => {
                    let [(one, _), (other, there)] = &mut both;
                    let is_covered = one.covers(other);
                    let is_new = one.join(other);
                    assert_eq!(is_new, !is_covered);
                    joined[usize::from(is_new)] += 1;
                    let there = there.clone();
                    for (register, here) in &mut both[0].1 {
                        *here = here.join(of(&there, *register));
                    }
                    both[1] = both[0].clone();
                }
                _ => {}
            }
            for (scalars, map) in &both {
                for register in &registers {
                    assert_eq!(scalars.get(*register), of(map, *register), "{round}");
                }
                assert!(scalars.iter().all(|(_, value)| value != Value::Unknown));
            }
        }
        assert!(joined[1] > 100, "{joined:?}");
    }
}
