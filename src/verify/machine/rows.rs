//! The rows of a function, prepared for being compared with many instructions.

use super::claim::{self, CfaClaim, Claim};
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
    /// The vector and accumulation registers that have a rule, ascending.
    vectors: Vec<MachineRegister>,
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
                claims.vectors.push(machine);
            }
            if *rule != RegisterRule::Undefined {
                let claim = claim::register(*rule, dwords, encoding, wave_size);
                if claim != Claim::None {
                    claims.registers.push((register, machine, claim));
                }
            }
        }
        claims.vectors.sort_unstable();
        claims
    }

    /// Whether the scalar register has a rule.
    pub(super) fn has_scalar(&self, n: u8) -> bool {
        self.scalars & 1u128.checked_shl(n.into()).unwrap_or(0) != 0
    }

    /// Whether the vector or accumulation register has a rule.
    pub(super) fn has_vector(&self, register: MachineRegister) -> bool {
        self.vectors.binary_search(&register).is_ok()
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
