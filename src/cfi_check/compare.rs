//! Compares a row with the known state of the machine at one instruction.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is left unknown, whatever it is"
)]

mod cfa;

use std::borrow::Cow;

use smallvec::SmallVec;

use super::contradiction::{Condition, Dword, RowRule, SavedLanes, Subject};
use super::decode_row::{AGPRS, DecodedRow, VGPRS};
use super::decode_rule::{DecodedCfa, DecodedRule, ScalarPlace, Scaled, VectorPlace};
use super::find_value;
use super::findings::{Findings, Place, Wrong};
use super::mask::{Mask, Part};
use super::rule::{self};
use super::slot::Slot;
use super::state::{State, numbered_scalar};
use super::step::Context;
use super::value::{Scalar, Verdict};
use super::vector::{LaneValue, Lanes, Vector};
use crate::abi::Convention;
use crate::arch::{Register, ScratchAddressing, WaveSize};
use crate::isa::{Effect, Instruction, MachineRegister};
use crate::machine_flow::{Lanes as _, in_lane, indices};
use cfa::CfaResult;

/// The input of a comparison: one instruction, and the row that applies to it.
pub(super) struct Comparison<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) row: &'a DecodedRow,
    pub(super) state: &'a State,
    /// The address range of the instruction.
    pub(super) place: Place,
    /// The addresses of the returns of the function, ascending.
    pub(super) returns: &'a [u64],
    /// True if a rule is also wrong if its value is not known to be the one on entry.
    pub(super) doubts: bool,
}

impl Comparison<'_> {
    /// Compares all rules, and adds the contradictions.
    pub(super) fn run(&self, findings: &mut Findings) {
        let Some(cfa) = self.cfa_of_caller() else {
            return;
        };
        if self.context.convention == Convention::Gcc {
            self.gcc_cfa(&cfa, findings);
            return;
        }
        let cfa = self.cfa(&cfa, findings);
        self.return_address(findings);
        for (register, machine, decoded) in &self.row.registers {
            self.register(*register, *machine, decoded, &cfa, findings);
        }
        self.exec(findings);
        let changed = match self.doubts {
            true => !self.state.unchanged(),
            false => self.state.overwritten(),
        };
        for n in indices(self.row.without_rule(changed)) {
            self.scalar_without_rule(u8::try_from(n).unwrap_or(u8::MAX), findings);
        }
        for (register, vector) in self.state.vectors.iter() {
            self.vector_without_rule(register, vector, findings);
        }
        if self.doubts {
            self.vectors_of_callees(findings);
        }
    }

    /// Reports the vector registers that a callee may have written. The state has only those that this function writes.
    fn vectors_of_callees(&self, findings: &mut Findings) {
        let is_call = |one: &Instruction| matches!(one.effect, Effect::Call { .. });
        if !self.context.code.instructions.iter().any(is_call) {
            return;
        }
        let written = self.context.callees.writes(self.context.start);
        let vectors = (0..VGPRS).map(MachineRegister::Vgpr);
        for register in vectors.chain((0..AGPRS).map(MachineRegister::Agpr)) {
            let is_written = written.is_none_or(|written| written.contains(register));
            if is_written
                && !self.context.preserves(register)
                && self.state.vectors.get(register).is_none()
            {
                let mut vector = Vector::of_register(register);
                vector.write(Mask::ENTRY, &Vector::UNKNOWN, 0);
                self.vector_without_rule(register, &vector, findings);
            }
        }
    }

    /// Repeats the comparison of registers that have no rule and are not named by one, if only these have changed since the last comparison
    /// with the row.
    pub(super) fn run_again(&self, changed: &[MachineRegister], findings: &mut Findings) {
        if self.cfa_of_caller().is_none() {
            return;
        }
        let wave_size = self.context.wave_size;
        let numbers = changed.iter().filter_map(|one| one.dwarf(wave_size));
        let subjects: SmallVec<[Subject; 4]> = numbers
            .map(|(register, _)| Subject::Register(register))
            .collect();
        findings.forget(&subjects);
        for register in changed {
            if let MachineRegister::Sgpr(n) = *register {
                self.scalar_without_rule(n, findings);
            } else if let Some(vector) = self.state.vectors.get(*register) {
                self.vector_without_rule(*register, vector, findings);
            }
        }
    }

    /// Returns the verdict for a rule, from that for its value.
    fn judged(&self, verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Unknown if self.doubts => Verdict::Different,
            Verdict::Same | Verdict::Different | Verdict::Unknown => verdict,
        }
    }

    /// Returns the CFA, if the row belongs to a frame with a caller.
    fn cfa_of_caller(&self) -> Option<DecodedCfa> {
        self.row.cfa.filter(|_| self.row.has_caller)
    }

    /// Compares the rule of one register.
    fn register(
        &self,
        register: Register,
        machine: MachineRegister,
        decoded: &DecodedRule,
        cfa: &CfaResult,
        findings: &mut Findings,
    ) {
        let subject = Subject::Register(register);
        match decoded {
            DecodedRule::None | DecodedRule::Pair(_) => {}
            DecodedRule::Scalar(place) => {
                if let MachineRegister::Sgpr(n) = machine {
                    self.dwords(subject, &[*place], &[n], findings);
                }
            }
            DecodedRule::Vector(place) => self.vector(subject, machine, place, cfa, findings),
            DecodedRule::Number(number) => self.number(subject, machine, number, findings),
            DecodedRule::CfaScaled { shift, plus } => {
                self.scaled(subject, machine, *shift, *plus, cfa, findings);
            }
        }
    }

    fn lane_shift(&self) -> i8 {
        match self.context.wave_size {
            WaveSize::Wave32 => 5,
            WaveSize::Wave64 => 6,
        }
    }

    fn address(&self, offset: u32) -> u64 {
        self.context.start.saturating_add(offset.into())
    }

    fn return_address(&self, findings: &mut Findings) {
        if let DecodedRule::Pair(places) = &self.row.return_address {
            let low = self.context.convention.return_address();
            let registers = [low, low + 1];
            self.dwords(Subject::ReturnAddress, places, &registers, findings);
        }
    }

    /// Returns the value of 32 bits, for lanes active and inactive on entry, and the offset of the instruction that wrote it.
    fn dword(&self, place: ScalarPlace) -> ([Scalar; 2], u32) {
        match place {
            ScalarPlace::Scalar(n) => ([self.state.scalar(n); 2], self.state.scalar_written_at(n)),
            ScalarPlace::Lane { vector, lane } => {
                let vector = self.state.vector(vector);
                (vector.lanes(lane), vector.written_at)
            }
        }
    }

    /// Returns true if the whole register was restored to its value on entry.
    fn is_reloaded(&self, place: ScalarPlace) -> bool {
        let ScalarPlace::Lane { vector, .. } = place else {
            return false;
        };
        let has_own =
            |lanes: &Lanes| lanes.rest == LaneValue::Entry(vector) && lanes.named().is_empty();
        let known = self.state.vector(vector);
        known.written_at != 0 && (has_own(&known.active) || has_own(&known.inactive))
    }

    /// Compares the rule of scalar registers whose dwords are in these places.
    fn dwords(
        &self,
        subject: Subject,
        places: &[ScalarPlace],
        registers: &[u8],
        findings: &mut Findings,
    ) {
        let mut verdicts = [Verdict::Same; 2];
        let mut written_last = 0;
        let mut reloaded = false;
        for (place, register) in places.iter().zip(registers) {
            let (values, written_at) = self.dword(*place);
            let found = values.map(|value| self.judged(value.is_entry_of(*register)));
            if found.contains(&Verdict::Different) {
                written_last = written_last.max(written_at);
                reloaded |= self.is_reloaded(*place);
            }
            verdicts = [0, 1].map(|n| match (verdicts.get(n), found.get(n)) {
                (Some(one), Some(other)) => one.and(*other),
                _ => Verdict::Unknown,
            });
        }
        let Some(condition) = condition_of(verdicts) else {
            return;
        };
        let wrong = Wrong {
            rule: if reloaded {
                &rule::STALE_LANE
            } else {
                &rule::WRONG_PLACE
            },
            subject,
            condition,
            cause_pc: self.address(written_last),
            intact: None,
        };
        findings.add(wrong, self.place, || {
            let dwords = places.iter().map(|place| match place {
                ScalarPlace::Scalar(n) => Dword::Scalar(numbered_scalar(*n)),
                ScalarPlace::Lane { vector, lane } => Dword::Lane(*vector, *lane),
            });
            let actual = RowRule::Dwords(dwords.collect());
            (actual, find_value::dwords(self.state, registers))
        });
    }

    /// Returns the contents of a place of a vector register. `mask` is the execution mask on entry.
    fn contents(
        &self,
        place: &VectorPlace,
        cfa: &CfaResult,
        mask: Mask,
    ) -> Option<Cow<'_, Vector>> {
        match place {
            VectorPlace::Register(register) => Some(self.state.vector(*register)),
            VectorPlace::Saved(plus) => {
                let cfa = cfa.slot?;
                let plus = in_lane(*plus, ScratchAddressing::Buffer, self.context.wave_size)?;
                let offset = cfa.offset.checked_add(plus)?;
                Some(self.state.row(Slot { offset, ..cfa }))
            }
            VectorPlace::Select(places) => {
                let [zero, one] = &**places;
                let mut contents = self.contents(zero, cfa, mask)?.into_owned();
                let one = self.contents(one, cfa, mask)?;
                let at = one.written_at;
                contents.write(mask, &one, at);
                Some(Cow::Owned(contents))
            }
        }
    }

    /// Returns the execution mask on entry, according to the row.
    fn entry_exec(&self) -> Mask {
        match &self.row.exec {
            None => self.state.exec,
            Some(DecodedRule::Scalar(place)) => self.mask_in(&[*place]),
            Some(DecodedRule::Pair(places)) => self.mask_in(places),
            Some(
                DecodedRule::None
                | DecodedRule::Vector(_)
                | DecodedRule::Number(_)
                | DecodedRule::CfaScaled { .. },
            ) => Mask::UNKNOWN,
        }
    }

    fn mask_in(&self, places: &[ScalarPlace]) -> Mask {
        let mut masks = places.iter().zip([false, true]).map(|(place, high)| {
            let ([active, inactive], _) = self.dword(*place);
            active.join(inactive).mask(high)
        });
        let first = masks.next().unwrap_or(Mask::UNKNOWN);
        if masks.all(|mask| mask == first) {
            first
        } else {
            Mask::UNKNOWN
        }
    }

    /// Compares the rule of a vector register that is in some place.
    fn vector(
        &self,
        subject: Subject,
        register: MachineRegister,
        place: &VectorPlace,
        cfa: &CfaResult,
        findings: &mut Findings,
    ) {
        let verdicts = |mask| {
            let contents = self.contents(place, cfa, mask)?;
            let verdicts = [
                contents.active.is_entry_of(register),
                contents.inactive.is_entry_of(register),
            ];
            Some((verdicts, contents.written_at))
        };
        let mask = self.entry_exec();
        let Some((found, written_at)) = verdicts(mask) else {
            return;
        };
        let without_exec = self.row.exec.is_none() && mask != Mask::ENTRY;
        // For switched-off lanes, the rule names the register itself, which has been overwritten.
        let none_is_right = || match verdicts(Mask::NONE) {
            Some(([active, _], _)) => active != Verdict::Different,
            None => true,
        };
        let condition = match condition_of(found) {
            Some(condition) => condition,
            None if mask.active() == Part::Less && without_exec && !none_is_right() => {
                Condition::LanesSwitchedOff
            }
            None => return,
        };
        let is_right =
            |mask| verdicts(mask).is_some_and(|(found, _)| condition_of(found).is_none());
        // The broken rule, and the lanes for which the place is right.
        let (rule, condition, written_at, lanes) = if without_exec && is_right(Mask::ENTRY) {
            let written_at = self.state.exec_written_at;
            let lanes = Some(SavedLanes::Active);
            (&rule::EXEC_WITHOUT_RULE, condition, written_at, lanes)
        } else if matches!(place, VectorPlace::Saved(_))
            && found == [Verdict::Different, Verdict::Same]
        {
            // At least one lane was active on entry.
            let (condition, lanes) = (Condition::Always, Some(SavedLanes::Inactive));
            (&rule::INACTIVE_LANES_ONLY, condition, written_at, lanes)
        } else {
            (&rule::WRONG_PLACE, condition, written_at, None)
        };
        let wrong = Wrong {
            rule,
            subject,
            condition,
            cause_pc: self.address(written_at),
            intact: None,
        };
        findings.add(wrong, self.place, || {
            let expected = match lanes {
                Some(lanes) => self.saved(place, lanes),
                None => find_value::vector(self.context, self.state, register),
            };
            (self.saved(place, SavedLanes::All), expected)
        });
    }

    fn saved(&self, place: &VectorPlace, lanes: SavedLanes) -> RowRule {
        match place {
            VectorPlace::Register(register) => RowRule::Vector(*register, lanes),
            VectorPlace::Saved(plus) => RowRule::Scratch(*plus, lanes),
            VectorPlace::Select(places) => {
                let [_, one] = &**places;
                self.saved(one, SavedLanes::Active)
            }
        }
    }

    /// Compares the rule that a register is the shifted CFA. Only the stack pointer can have this value.
    fn scaled(
        &self,
        subject: Subject,
        register: MachineRegister,
        shift: i8,
        plus: i64,
        cfa: &CfaResult,
        findings: &mut Findings,
    ) {
        let Some(right) = find_value::stack_pointer_shift(self.context) else {
            return;
        };
        if cfa.slot.is_none() || register != MachineRegister::Sgpr(32) {
            return;
        }
        if plus != 0 || shift.checked_neg() != Some(right) {
            let wrong = Wrong {
                rule: &rule::WRONG_PLACE,
                subject,
                condition: Condition::Always,
                cause_pc: self.place.start,
                intact: None,
            };
            findings.add(wrong, self.place, || {
                (
                    RowRule::Other,
                    find_value::stack_pointer(self.context, self.state),
                )
            });
        }
    }

    /// Compares the rule that a scalar register is another register plus a constant.
    fn number(
        &self,
        subject: Subject,
        register: MachineRegister,
        number: &Scaled,
        findings: &mut Findings,
    ) {
        let MachineRegister::Sgpr(n) = register else {
            return;
        };
        let (Scalar::Entry { register: of, plus }, 0, false) = (
            self.state.scalar(number.register),
            number.shift,
            number.pair,
        ) else {
            return;
        };
        if of != n || i64::from(plus).saturating_add(number.plus) != 0 {
            let written_at = self.state.scalar_written_at(number.register);
            let wrong = Wrong {
                rule: &rule::WRONG_PLACE,
                subject,
                condition: Condition::Always,
                cause_pc: self.address(written_at),
                intact: None,
            };
            findings.add(wrong, self.place, || {
                (RowRule::Other, find_value::dwords(self.state, &[n]))
            });
        }
    }

    fn exec(&self, findings: &mut Findings) {
        let register = Register::exec(self.context.wave_size);
        let (rule, mask, actual) = match &self.row.exec {
            None => (&rule::EXEC_WITHOUT_RULE, self.state.exec, RowRule::None),
            Some(_) => (&rule::WRONG_PLACE, self.entry_exec(), RowRule::Other),
        };
        let condition = match (mask.active(), mask.inactive()) {
            // At least one lane was active on entry.
            (Part::None, _) => Condition::Always,
            (Part::Less, _) => Condition::LanesSwitchedOff,
            (Part::All | Part::Unknown, Part::All) => Condition::LanesInactive,
            (Part::All | Part::Unknown, Part::None | Part::Less | Part::Unknown) => return,
        };
        let wrong = Wrong {
            rule,
            subject: Subject::Register(register),
            condition,
            cause_pc: self.address(self.state.exec_written_at),
            intact: None,
        };
        findings.add(wrong, self.place, || {
            (actual, find_value::exec(self.state, self.context.wave_size))
        });
    }

    /// Compares a scalar register without a rule: it must not have been overwritten.
    fn scalar_without_rule(&self, n: u8, findings: &mut Findings) {
        let return_address = self.context.convention.return_address();
        if self.judged(self.state.scalar(n).is_entry_of(n)) != Verdict::Different
            || n == return_address
            || n == return_address + 1
        {
            return;
        }
        let machine = MachineRegister::Sgpr(n);
        let Some(register) = Register::sgpr(n.into()).filter(|_| n < MachineRegister::SGPRS) else {
            return;
        };
        let is_stack_pointer = n == self.context.convention.stack_pointer();
        let rule = if is_stack_pointer {
            &rule::STACK_POINTER_WITHOUT_RULE
        } else if self.context.preserves(machine) {
            &rule::SCALAR_WITHOUT_RULE
        } else {
            &rule::CLOBBERED_NOT_UNDEFINED
        };
        let wrong = Wrong {
            rule,
            subject: Subject::Register(register),
            condition: Condition::Always,
            cause_pc: self.address(self.state.scalar_written_at(n)),
            intact: None,
        };
        findings.add(wrong, self.place, || {
            let expected = if is_stack_pointer {
                find_value::stack_pointer(self.context, self.state)
            } else if self.context.preserves(machine) {
                find_value::dwords(self.state, &[n])
            } else {
                RowRule::Undefined
            };
            (RowRule::None, expected)
        });
    }

    /// Compares a vector register without a rule that was written.
    fn vector_without_rule(
        &self,
        machine: MachineRegister,
        vector: &Vector,
        findings: &mut Findings,
    ) {
        if self.row.has_vector(machine) {
            return;
        }
        let verdicts = [
            self.judged(vector.active.is_entry_of(machine)),
            self.judged(vector.inactive.is_entry_of(machine)),
        ];
        let intact = match verdicts {
            [Verdict::Different, Verdict::Different] => None,
            [Verdict::Different, _] => Some(SavedLanes::Inactive),
            [_, Verdict::Different] => Some(SavedLanes::Active),
            [_, _] => Some(SavedLanes::All),
        };
        let Some(condition) = condition_of(verdicts) else {
            return;
        };
        let Some((register, _)) = machine.dwarf(self.context.wave_size) else {
            return;
        };
        // In every vector register, the lanes that were inactive on entry are callee-saved.
        let is_preserved = self.context.preserves(machine) || condition == Condition::LanesInactive;
        let wrong = Wrong {
            rule: if is_preserved {
                &rule::VECTOR_WITHOUT_RULE
            } else {
                &rule::CLOBBERED_NOT_UNDEFINED
            },
            subject: Subject::Register(register),
            // At least one lane was active on entry.
            condition: match condition {
                Condition::LanesInactive => condition,
                _ => Condition::Always,
            },
            cause_pc: self.address(vector.written_at),
            intact,
        };
        findings.add(wrong, self.place, || {
            let expected = if is_preserved {
                find_value::vector(self.context, self.state, machine)
            } else {
                RowRule::Undefined
            };
            (RowRule::None, expected)
        });
    }
}

/// Returns the condition for a contradiction, from the verdicts for lanes active and inactive on entry.
fn condition_of([active, inactive]: [Verdict; 2]) -> Option<Condition> {
    match (active, inactive) {
        (Verdict::Different, Verdict::Different) => Some(Condition::Always),
        (Verdict::Different, Verdict::Same | Verdict::Unknown) => Some(Condition::LanesActive),
        (Verdict::Same | Verdict::Unknown, Verdict::Different) => Some(Condition::LanesInactive),
        (Verdict::Same | Verdict::Unknown, Verdict::Same | Verdict::Unknown) => None,
    }
}
