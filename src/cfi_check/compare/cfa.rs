//! Compares the CFA of a row with the known state of the machine.

use super::super::contradiction::{Condition, RowRule, Subject};
use super::super::decode_rule::DecodedCfa;
use super::super::findings::{Findings, Wrong};
use super::super::memory::slot_at;
use super::super::rule::CfiRule;
use super::super::slot::Slot;
use super::super::value::Scalar;
use super::{Comparison, find_value, rule};
use crate::abi::Convention;
use crate::arch::{AddressSpace, ScratchAddressing};
use crate::isa::MachineRegister;
use crate::machine_flow::in_lane;

/// The result of comparing a CFA.
pub(super) struct CfaResult {
    /// The place on the stack to which the row's CFA points, if it is known.
    pub(super) slot: Option<Slot>,
}

impl Comparison<'_> {
    /// Compares the CFA with the stack pointer on entry. The row computes it from a scalar register, with a shift if scratch addresses
    /// count bytes of one lane.
    pub(super) fn cfa(&self, decoded: &DecodedCfa, findings: &mut Findings) -> CfaResult {
        let number = decoded.number;
        let value = self.state.scalar(number.register);
        let unknown = CfaResult { slot: None };
        let plain = !number.pair && matches!(value, Scalar::Entry { .. } | Scalar::Aligned { .. });
        if !plain {
            if (value != Scalar::Unknown || self.doubts) && !number.pair {
                self.wrong_cfa(decoded, &rule::CFA_WRONG, Condition::Always, findings);
            }
            return unknown;
        }
        let k = self.lane_shift();
        // The shift of the address, relative to one that counts bytes of the whole wave.
        let scale = match decoded.space {
            AddressSpace::PrivateWave => number.shift,
            AddressSpace::PrivateLane => number.shift.saturating_add(k),
            _ => return unknown,
        };
        let addressing = match (self.context.addressing, scale) {
            (Some(ScratchAddressing::Flat), scale) if scale == k => ScratchAddressing::Flat,
            (Some(ScratchAddressing::Buffer), 0) => ScratchAddressing::Buffer,
            (None, scale) if scale == k => ScratchAddressing::Flat,
            (None, 0) => ScratchAddressing::Buffer,
            (None, _) => return unknown,
            (Some(_), _) => {
                self.wrong_cfa(decoded, &rule::CFA_SCALE, Condition::Always, findings);
                return unknown;
            }
        };
        // The offset counts bytes of the wave, or of one lane.
        let plus = match decoded.space {
            AddressSpace::PrivateWave => in_lane(
                number.plus,
                ScratchAddressing::Buffer,
                self.context.wave_size,
            ),
            AddressSpace::PrivateLane => Some(number.plus),
            _ => None,
        };
        let Some(plus) = plus else {
            return unknown;
        };
        match value {
            Scalar::Entry {
                register: 32,
                plus: moved,
            } => {
                let slot = slot_at(value, plus, addressing, self.context.wave_size);
                let is_right = match slot {
                    Some(slot) => slot.offset == 0,
                    None => moved == 0 && plus == 0,
                };
                if is_right {
                    return CfaResult { slot };
                }
                match self.return_since_rule() {
                    Some(last) => {
                        let rule = &rule::CFA_AFTER_EPILOGUE;
                        self.wrong_cfa_since(decoded, rule, Condition::Always, last, findings);
                    }
                    None => self.wrong_cfa(decoded, &rule::CFA_WRONG, Condition::Always, findings),
                }
                unknown
            }
            Scalar::Aligned { .. } => {
                self.wrong_cfa(
                    decoded,
                    &rule::CFA_REALIGNED,
                    Condition::StackMisaligned,
                    findings,
                );
                let slot = slot_at(value, plus, addressing, self.context.wave_size);
                CfaResult { slot }
            }
            _ => {
                self.wrong_cfa(decoded, &rule::CFA_WRONG, Condition::Always, findings);
                unknown
            }
        }
    }

    /// Returns the last return between the first row with this CFA and here.
    fn return_since_rule(&self) -> Option<u64> {
        let before = self.returns.partition_point(|at| *at < self.place.start);
        let last = self.returns.get(before.checked_sub(1)?)?;
        (*last >= self.row.cfa_since).then_some(*last)
    }

    /// Adds a CFA that is wrong since its register was written.
    fn wrong_cfa(
        &self,
        decoded: &DecodedCfa,
        rule: &'static CfiRule,
        condition: Condition,
        findings: &mut Findings,
    ) {
        let cause_pc = self.address(self.state.scalar_written_at(decoded.number.register));
        self.wrong_cfa_since(decoded, rule, condition, cause_pc, findings);
    }

    fn wrong_cfa_since(
        &self,
        decoded: &DecodedCfa,
        rule: &'static CfiRule,
        condition: Condition,
        cause_pc: u64,
        findings: &mut Findings,
    ) {
        let number = decoded.number;
        let wrong = Wrong {
            rule,
            subject: Subject::Cfa,
            condition,
            cause_pc,
            intact: None,
        };
        findings.add(wrong, self.place, || {
            let actual = RowRule::Cfa {
                register: MachineRegister::Sgpr(number.register),
                shift: number.shift,
                plus: number.plus,
                space: decoded.space,
            };
            (actual, find_value::cfa(self.context, self.state))
        });
    }

    /// Compares GCC's CFA, the 64-bit stack pointer on entry.
    pub(super) fn gcc_cfa(&self, decoded: &DecodedCfa, findings: &mut Findings) {
        let number = decoded.number;
        let low = Convention::Gcc.stack_pointer();
        let high = number
            .register
            .checked_add(1)
            .map(|high| self.state.scalar(high));
        if !number.pair || number.shift != 0 || high != Some(Scalar::entry(low + 1)) {
            return;
        }
        if let Scalar::Entry { register, plus } = self.state.scalar(number.register)
            && register == low
            && i64::from(plus).saturating_add(number.plus) != 0
        {
            self.wrong_cfa(decoded, &rule::CFA_WRONG, Condition::Always, findings);
        }
    }
}
