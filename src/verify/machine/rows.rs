//! The rows of a function, prepared for being compared with many instructions.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "only vector and accumulation registers are collected"
)]

use super::claim::{self, CfaClaim, Claim, ScalarPlace, VectorPlace};
use super::convention::Convention;
use crate::arch::{Register, RegisterClass, WaveSize};
use crate::expr::Encoding;
use crate::frame::{RegisterRule, Row};
use crate::isa::MachineRegister;

/// One row.
#[derive(Debug, Default)]
pub(super) struct Claims {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Whether it says anything about a caller. A kernel has none.
    pub(super) has_caller: bool,
    pub(super) cfa: Option<CfaClaim>,
    /// The start of the first row in succession that has this CFA.
    pub(super) cfa_since: u64,
    /// The rule of the return address.
    pub(super) return_address: Claim,
    /// The rule of the execution mask: nothing if there is none.
    pub(super) exec: Option<Claim>,
    /// What is claimed about other registers, as far as it can be checked.
    pub(super) registers: Vec<(Register, MachineRegister, Claim)>,
    /// The scalar registers that have a rule.
    scalars: u128,
    /// The vector and accumulation registers that have a rule.
    vectors: RegisterSet,
    /// Those that are named in what is claimed.
    named: RegisterSet,
    /// What is claimed to be in scratch: distances from the CFA, in bytes of the wave.
    pub(super) saved: Vec<i64>,
}

impl Claims {
    /// Reads a row.
    ///
    /// * `return_address`: the column of the return address.
    pub(super) fn new(
        row: &Row<'_>,
        return_address: u64,
        encoding: Encoding,
        wave_size: WaveSize,
    ) -> Claims {
        let mut claims = Claims {
            start: row.start,
            end: row.end,
            cfa_since: row.start,
            cfa: claim::cfa(row.cfa, encoding),
            ..Claims::default()
        };
        let mask_dwords = if wave_size == WaveSize::Wave32 { 1 } else { 2 };
        for (number, rule) in row.rules() {
            if *number == return_address {
                claims.has_caller = *rule != RegisterRule::Undefined;
                claims.return_address = claim::register(*rule, 2, encoding, wave_size);
                continue;
            }
            let Some(register) = Register::from_number(*number) else {
                continue;
            };
            let Some(machine) = claim::machine_register(register) else {
                continue;
            };
            let is_rule = *rule != RegisterRule::SameValue;
            let dwords = match register.class() {
                Some(RegisterClass::Exec) => {
                    if is_rule {
                        let claim = claim::register(*rule, mask_dwords, encoding, wave_size);
                        claims.exec = Some(claim);
                    }
                    continue;
                }
                Some(RegisterClass::Sgpr) => 1,
                _ => u8::MAX,
            };
            if !is_rule {
                continue;
            }
            if let MachineRegister::Sgpr(n) = machine {
                claims.scalars |= 1u128.checked_shl(n.into()).unwrap_or(0);
            } else {
                claims.vectors.insert(machine);
            }
            if *rule != RegisterRule::Undefined {
                let claim = claim::register(*rule, dwords, encoding, wave_size);
                if claim != Claim::None {
                    claims.registers.push((register, machine, claim));
                }
            }
        }
        claims.name_all();
        claims
    }

    /// Whether the scalar register has a rule.
    pub(super) fn has_scalar(&self, n: u8) -> bool {
        self.scalars & 1u128.checked_shl(n.into()).unwrap_or(0) != 0
    }

    /// Whether the vector or accumulation register has a rule.
    pub(super) fn has_vector(&self, register: MachineRegister) -> bool {
        self.vectors.contains(register)
    }

    /// Whether what is in the vector or accumulation register makes no difference to the comparison.
    pub(super) fn ignores_vector(&self, register: MachineRegister) -> bool {
        self.vectors.contains(register) && !self.named.contains(register)
    }

    /// Collects the vector registers that the claims name.
    fn name_all(&mut self) {
        let claims = self.registers.iter().map(|(_, _, claim)| claim);
        let others = [Some(&self.return_address), self.exec.as_ref()];
        for claim in claims.chain(others.into_iter().flatten()) {
            match claim {
                Claim::Scalar(place) => self.named.insert_place(*place),
                Claim::Pair(places) => {
                    (places.iter()).for_each(|place| self.named.insert_place(*place));
                }
                Claim::Vector(place) => {
                    insert_vector_place(&mut self.named, &mut self.saved, place);
                }
                Claim::None | Claim::Number(_) | Claim::CfaScaled { .. } => {}
            }
        }
        for (_, machine, _) in &self.registers {
            self.named.insert(*machine);
        }
    }

    /// By whose conventions the function is called: the register in the CFA tells. Nothing if it does not.
    pub(super) fn convention(&self) -> Option<Convention> {
        match self.cfa?.number.register {
            32 | 33 => Some(Convention::Llvm),
            16 | 14 => Some(Convention::Gcc),
            _ => None,
        }
    }
}

/// A set of vector and accumulation registers: 1024 of the former, then 256 of the latter.
#[derive(Debug, Default)]
struct RegisterSet {
    words: [u128; 10],
}

impl RegisterSet {
    fn place(register: MachineRegister) -> Option<(usize, u32)> {
        let n = match register {
            MachineRegister::Vgpr(n) if n < 1024 => n,
            MachineRegister::Agpr(n) if n < 256 => n.saturating_add(1024),
            _ => return None,
        };
        Some((usize::from(n / 128), u32::from(n % 128)))
    }

    fn insert(&mut self, register: MachineRegister) {
        if let Some((word, bit)) = RegisterSet::place(register)
            && let Some(word) = self.words.get_mut(word)
        {
            *word |= 1u128.checked_shl(bit).unwrap_or(0);
        }
    }

    fn contains(&self, register: MachineRegister) -> bool {
        RegisterSet::place(register).is_some_and(|(word, bit)| {
            let word = self.words.get(word).copied().unwrap_or(0);
            word.checked_shr(bit).unwrap_or(0) & 1 != 0
        })
    }

    fn insert_place(&mut self, place: ScalarPlace) {
        if let ScalarPlace::Lane { vector, .. } = place {
            self.insert(vector);
        }
    }
}

/// Collects the registers and the places in scratch that are named.
fn insert_vector_place(registers: &mut RegisterSet, saved: &mut Vec<i64>, place: &VectorPlace) {
    match place {
        VectorPlace::Register(register) => registers.insert(*register),
        VectorPlace::Saved(plus) => saved.push(*plus),
        VectorPlace::Select(places) => {
            let [zero, one] = &**places;
            insert_vector_place(registers, saved, zero);
            insert_vector_place(registers, saved, one);
        }
    }
}
