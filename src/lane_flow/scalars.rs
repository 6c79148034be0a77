//! The abstract values of scalar registers for one lane.

use super::value::Value;
use crate::machine_flow::{Scalars, nth};

impl Scalars<Value> {
    /// Forgets all registers but those in `kept`, one bit per number. Of these, forgets the values that are not masks, except in the
    /// registers in `addresses`.
    pub(super) fn keep(&mut self, kept: u128, addresses: u128) {
        self.change(|index, value| match kept & nth(index) != 0 {
            true if addresses & nth(index) != 0 => value,
            true => value.as_mask(),
            false => Value::Unknown,
        });
    }

    /// Replaces a value in every register that has it.
    pub(super) fn replace(&mut self, value: Value, by: Value) {
        if self.has(value) {
            self.change(|_, known| if known == value { by } else { known });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::isa::MachineRegister;
    use crate::lane_flow::place::DwordPlace;
    use crate::machine_flow::{Scalar as _, numbered_scalar, scalar_index};

    fn of(map: &BTreeMap<MachineRegister, Value>, register: MachineRegister) -> Value {
        map.get(&register).copied().unwrap_or(Value::Unknown)
    }

    /// After any sequence of changes, the contents equal a map of all registers.
    #[test]
    fn few_values_are_kept_as_a_map_keeps_them() {
        let registers: Vec<MachineRegister> = (0..128).filter_map(numbered_scalar).collect();
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
