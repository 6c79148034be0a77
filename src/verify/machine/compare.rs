//! A row against what is known of the machine at one instruction.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is left unknown, whatever it is"
)]

use std::borrow::Cow;

use smallvec::SmallVec;

use super::claim::{CfaClaim, Claim, ScalarPlace, Scaled, VectorPlace};
use super::contradiction::{ContradictionKind as Kind, Dword, Rule, SavedLanes, Subject, When};
use super::convention::Convention;
use super::findings::{Findings, Place};
use super::holder;
use super::mask::{Mask, Part};
use super::memory::{in_lane, slot_at};
use super::rows::Claims;
use super::state::{Slot, State, bits};
use super::step::Context;
use super::value::{Scalar, Verdict};
use super::vector::{LaneValue, Lanes, Vector};
use crate::arch::{AddressSpace, Register, ScratchAddressing, WaveSize};
use crate::isa::MachineRegister;

/// One instruction and the row that holds there.
pub(super) struct Comparison<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) claims: &'a Claims,
    pub(super) state: &'a State,
    /// The addresses of the instruction.
    pub(super) place: Place,
    /// The addresses of the returns of the function, ascending.
    pub(super) returns: &'a [u64],
}

/// What the comparison of a CFA came to.
struct CfaResult {
    /// The place on the stack that the row's CFA is, if it can be told.
    slot: Option<Slot>,
}

impl Comparison<'_> {
    /// Compares everything, and adds what is wrong.
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
        for (register, machine, claim) in &self.claims.registers {
            self.register(*register, *machine, claim, &cfa, findings);
        }
        self.exec(findings);
        for n in bits(self.claims.without_rule(self.state.overwritten())) {
            self.scalar_without_rule(n, findings);
        }
        for (register, vector) in self.state.vectors() {
            self.vector_without_rule(register, vector, findings);
        }
    }

    /// Compares again what has no rule and is named by none, where these registers alone have changed since
    /// all was compared with the row.
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
            } else if let Some(vector) = self.state.changed_vector(*register) {
                self.vector_without_rule(*register, vector, findings);
            }
        }
    }

    /// The CFA, if the row is of a frame that has a caller.
    fn cfa_of_caller(&self) -> Option<CfaClaim> {
        self.claims.cfa.filter(|_| self.claims.has_caller)
    }

    /// What is claimed of one register.
    fn register(
        &self,
        register: Register,
        machine: MachineRegister,
        claim: &Claim,
        cfa: &CfaResult,
        findings: &mut Findings,
    ) {
        let subject = Subject::Register(register);
        match claim {
            Claim::None | Claim::Pair(_) => {}
            Claim::Scalar(place) => {
                if let MachineRegister::Sgpr(n) = machine {
                    self.dwords(subject, &[*place], &[n], findings);
                }
            }
            Claim::Vector(place) => self.vector(subject, machine, place, cfa, findings),
            Claim::Number(number) => self.number(subject, machine, number, findings),
            Claim::CfaScaled { shift, plus } => {
                self.scaled(subject, machine, (*shift, *plus), cfa, findings);
            }
        }
    }

    fn lane_shift(&self) -> i8 {
        match self.context.wave_size {
            WaveSize::Wave32 => 5,
            WaveSize::Wave64 => 6,
        }
    }

    /// The CFA is to be the stack pointer on entry. What the row says of it is a scalar register, shifted
    /// where scratch is addressed by lanes.
    fn cfa(&self, claim: &CfaClaim, findings: &mut Findings) -> CfaResult {
        let number = claim.number;
        let value = self.state.scalar(number.register);
        let unknown = CfaResult { slot: None };
        let plain = !number.pair && matches!(value, Scalar::Entry { .. } | Scalar::Aligned { .. });
        if !plain {
            if value != Scalar::Unknown && !number.pair {
                self.wrong_cfa(claim, Kind::CfaWrong, When::Always, findings);
            }
            return unknown;
        }
        let k = self.lane_shift();
        // How far the address is shifted against one that counts bytes of the whole wave.
        let scale = match claim.space {
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
                self.wrong_cfa(claim, Kind::CfaScale, When::Always, findings);
                return unknown;
            }
        };
        // What is added counts bytes of the wave, or of one lane.
        let plus = match claim.space {
            AddressSpace::PrivateWave => in_lane(number.plus, self.context.wave_size),
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
                let kind = match self.return_since_rule() {
                    Some(_) => Kind::CfaAfterEpilogue,
                    None => Kind::CfaWrong,
                };
                self.wrong_cfa(claim, kind, When::Always, findings);
                unknown
            }
            Scalar::Aligned { .. } => {
                self.wrong_cfa(claim, Kind::CfaRealigned, When::StackMisaligned, findings);
                let slot = slot_at(value, plus, addressing, self.context.wave_size);
                CfaResult { slot }
            }
            _ => {
                self.wrong_cfa(claim, Kind::CfaWrong, When::Always, findings);
                unknown
            }
        }
    }

    /// The last return that stands between the place where the CFA got its rule and here.
    fn return_since_rule(&self) -> Option<u64> {
        let before = self.returns.partition_point(|at| *at < self.place.start);
        let last = self.returns.get(before.checked_sub(1)?)?;
        (*last >= self.claims.cfa_since).then_some(*last)
    }

    fn wrong_cfa(&self, claim: &CfaClaim, kind: Kind, when: When, findings: &mut Findings) {
        let number = claim.number;
        let culprit = match kind {
            Kind::CfaAfterEpilogue => self.return_since_rule().unwrap_or(self.claims.cfa_since),
            _ => self.address(self.state.scalar_written_at(number.register)),
        };
        findings.add((kind, Subject::Cfa, when), culprit, self.place, || {
            let says = Rule::Cfa {
                register: MachineRegister::Sgpr(number.register),
                shift: number.shift,
                plus: number.plus,
                space: claim.space,
            };
            (says, holder::cfa(self.context, self.state))
        });
    }

    /// GCC's CFA is the 64-bit stack pointer on entry.
    fn gcc_cfa(&self, claim: &CfaClaim, findings: &mut Findings) {
        let number = claim.number;
        let low = Convention::Gcc.stack_pointer();
        let high = number
            .register
            .checked_add(1)
            .map(|high| self.state.scalar(high));
        if !number.pair || number.shift != 0 || high != Some(Scalar::entry(low.saturating_add(1))) {
            return;
        }
        if let Scalar::Entry { register, plus } = self.state.scalar(number.register)
            && register == low
            && i64::from(plus).saturating_add(number.plus) != 0
        {
            self.wrong_cfa(claim, Kind::CfaWrong, When::Always, findings);
        }
    }

    fn address(&self, offset: u32) -> u64 {
        self.context.start.saturating_add(offset.into())
    }

    fn return_address(&self, findings: &mut Findings) {
        if let Claim::Pair(places) = &self.claims.return_address {
            let low = self.context.convention.return_address();
            let registers = [low, low.saturating_add(1)];
            self.dwords(Subject::ReturnAddress, places, &registers, findings);
        }
    }

    /// What 32 bits are, if the lane was active on entry and if it was not, and who wrote them.
    fn dword(&self, place: ScalarPlace) -> ([Scalar; 2], u32) {
        match place {
            ScalarPlace::Scalar(n) => ([self.state.scalar(n); 2], self.state.scalar_written_at(n)),
            ScalarPlace::Lane { vector, lane } => {
                let vector = self.state.vector(vector);
                (vector.lane(lane), vector.written_at)
            }
        }
    }

    /// Whether the whole register was put back to what it was on entry.
    fn is_reloaded(&self, place: ScalarPlace) -> bool {
        let ScalarPlace::Lane { vector, .. } = place else {
            return false;
        };
        let has_own =
            |lanes: &Lanes| lanes.rest == LaneValue::Entry(vector) && lanes.named().is_empty();
        let known = self.state.vector(vector);
        known.written_at != 0 && (has_own(&known.active) || has_own(&known.inactive))
    }

    /// Scalar registers whose dwords are said to be in these places.
    fn dwords(
        &self,
        subject: Subject,
        places: &[ScalarPlace],
        registers: &[u8],
        findings: &mut Findings,
    ) {
        let mut verdicts = [Verdict::Same; 2];
        let mut culprit = 0;
        let mut reloaded = false;
        for (place, register) in places.iter().zip(registers) {
            let (values, written_at) = self.dword(*place);
            let found = values.map(|value| value.is_entry_of(*register));
            if found.contains(&Verdict::Different) {
                culprit = culprit.max(written_at);
                reloaded |= self.is_reloaded(*place);
            }
            verdicts = [0, 1].map(|n| match (verdicts.get(n), found.get(n)) {
                (Some(one), Some(other)) => one.and(*other),
                _ => Verdict::Unknown,
            });
        }
        let Some(when) = when_of(verdicts) else {
            return;
        };
        let kind = if reloaded {
            Kind::StaleLane
        } else {
            Kind::WrongPlace
        };
        findings.add(
            (kind, subject, when),
            self.address(culprit),
            self.place,
            || {
                let dwords = places.iter().map(|place| match place {
                    ScalarPlace::Scalar(n) => Dword::Scalar(MachineRegister::Sgpr(*n)),
                    ScalarPlace::Lane { vector, lane } => Dword::Lane(*vector, *lane),
                });
                (
                    Rule::Dwords(dwords.collect()),
                    holder::dwords(self.state, registers),
                )
            },
        );
    }

    /// What a place of a vector register has, with `mask` for the execution mask on entry.
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
                let plus = in_lane(*plus, self.context.wave_size)?;
                let offset = cfa.offset.checked_add(plus)?;
                Some(self.state.slot(Slot { offset, ..cfa }))
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

    /// The execution mask on entry, as the row has it.
    fn entry_exec(&self) -> Mask {
        match &self.claims.exec {
            None => self.state.exec,
            Some(Claim::Scalar(place)) => self.mask_in(&[*place]),
            Some(Claim::Pair(places)) => self.mask_in(places),
            Some(Claim::None | Claim::Vector(_) | Claim::Number(_) | Claim::CfaScaled { .. }) => {
                Mask::UNKNOWN
            }
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

    /// A vector register that is said to be in some place.
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
        let without_exec = self.claims.exec.is_none() && mask != Mask::ENTRY;
        // Lanes that were switched off are said to be in the register, which has been overwritten.
        let none_is_right = || match verdicts(Mask::NONE) {
            Some(([active, _], _)) => active != Verdict::Different,
            None => true,
        };
        let when = match when_of(found) {
            Some(when) => when,
            None if mask.active() == Part::Less && without_exec && !none_is_right() => {
                When::LanesSwitchedOff
            }
            None => return,
        };
        let is_right = |mask| verdicts(mask).is_some_and(|(found, _)| when_of(found).is_none());
        let (kind, culprit) = if without_exec && is_right(Mask::ENTRY) {
            (Kind::ExecWithoutRule, self.state.exec_written_at)
        } else if matches!(place, VectorPlace::Saved(_))
            && found == [Verdict::Different, Verdict::Same]
        {
            (Kind::InactiveLanesOnly, written_at)
        } else {
            (Kind::WrongPlace, written_at)
        };
        let when = match kind {
            // Some lane was active on entry.
            Kind::InactiveLanesOnly => When::Always,
            _ => when,
        };
        findings.add(
            (kind, subject, when),
            self.address(culprit),
            self.place,
            || {
                let should = match kind {
                    Kind::ExecWithoutRule => self.saved(place, SavedLanes::Active),
                    Kind::InactiveLanesOnly => self.saved(place, SavedLanes::Inactive),
                    _ => holder::vector(self.context, self.state, register),
                };
                (self.saved(place, SavedLanes::All), should)
            },
        );
    }

    fn saved(&self, place: &VectorPlace, lanes: SavedLanes) -> Rule {
        match place {
            VectorPlace::Register(register) => Rule::Vector(*register, lanes),
            VectorPlace::Saved(plus) => Rule::Scratch(*plus, lanes),
            VectorPlace::Select(places) => {
                let [_, one] = &**places;
                self.saved(one, SavedLanes::Active)
            }
        }
    }

    /// A register that is said to be the CFA, shifted. That can be the stack pointer alone.
    fn scaled(
        &self,
        subject: Subject,
        register: MachineRegister,
        (shift, plus): (i8, i64),
        cfa: &CfaResult,
        findings: &mut Findings,
    ) {
        let Some(right) = holder::stack_pointer_shift(self.context) else {
            return;
        };
        if cfa.slot.is_none() || register != MachineRegister::Sgpr(32) {
            return;
        }
        if plus != 0 || shift.checked_neg() != Some(right) {
            let key = (Kind::WrongPlace, subject, When::Always);
            findings.add(key, self.place.start, self.place, || {
                (Rule::Other, holder::stack_pointer(self.context, self.state))
            });
        }
    }

    /// A scalar register that is said to be another one plus a constant.
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
            let key = (Kind::WrongPlace, subject, When::Always);
            findings.add(key, self.address(written_at), self.place, || {
                (Rule::Other, holder::dwords(self.state, &[n]))
            });
        }
    }

    fn exec(&self, findings: &mut Findings) {
        let register = Register::exec(self.context.wave_size);
        let (kind, mask, says) = match &self.claims.exec {
            None => (Kind::ExecWithoutRule, self.state.exec, Rule::None),
            Some(_) => (Kind::WrongPlace, self.entry_exec(), Rule::Other),
        };
        let when = match (mask.active(), mask.inactive()) {
            // Some lane was active on entry.
            (Part::None, _) => When::Always,
            (Part::Less, _) => When::LanesSwitchedOff,
            (Part::All | Part::Unknown, Part::All) => When::LanesInactive,
            (Part::All | Part::Unknown, Part::None | Part::Less | Part::Unknown) => return,
        };
        let culprit = self.address(self.state.exec_written_at);
        let key = (kind, Subject::Register(register), when);
        findings.add(key, culprit, self.place, || {
            (says, holder::exec(self.state, self.context.wave_size))
        });
    }

    /// A scalar register that was overwritten, if it has no rule.
    fn scalar_without_rule(&self, n: u8, findings: &mut Findings) {
        let return_address = self.context.convention.return_address();
        if self.state.scalar(n).is_entry_of(n) != Verdict::Different
            || n == return_address
            || n == return_address.saturating_add(1)
            || self.claims.has_scalar(n)
        {
            return;
        }
        let machine = MachineRegister::Sgpr(n);
        let Some(register) = Register::sgpr(n.into()).filter(|_| n < 106) else {
            return;
        };
        let kind = if n == self.context.convention.stack_pointer() {
            Kind::StackPointerWithoutRule
        } else if self.context.convention.preserves(machine) {
            Kind::ScalarWithoutRule
        } else {
            Kind::ClobberedNotUndefined
        };
        let culprit = self.address(self.state.scalar_written_at(n));
        let key = (kind, Subject::Register(register), When::Always);
        findings.add(key, culprit, self.place, || {
            let should = match kind {
                Kind::StackPointerWithoutRule => holder::stack_pointer(self.context, self.state),
                Kind::ScalarWithoutRule => holder::dwords(self.state, &[n]),
                _ => Rule::Undefined,
            };
            (Rule::None, should)
        });
    }

    /// A vector register that was written, if it has no rule.
    fn vector_without_rule(
        &self,
        machine: MachineRegister,
        vector: &Vector,
        findings: &mut Findings,
    ) {
        if self.claims.has_vector(machine) {
            return;
        }
        let verdicts = [
            vector.active.is_entry_of(machine),
            vector.inactive.is_entry_of(machine),
        ];
        let Some(when) = when_of(verdicts) else {
            return;
        };
        let Some((register, _)) = machine.dwarf(self.context.wave_size) else {
            return;
        };
        let preserved = self.context.convention.preserves(machine);
        let (kind, when) = match (preserved, when) {
            (true, when) => (Kind::VectorWithoutRule, when),
            (false, When::LanesInactive) => (Kind::VectorWithoutRule, when),
            (false, _) => (Kind::ClobberedNotUndefined, When::Always),
        };
        let when = match when {
            When::LanesActive => When::Always,
            when => when,
        };
        let culprit = self.address(vector.written_at);
        let key = (kind, Subject::Register(register), when);
        findings.add(key, culprit, self.place, || {
            let should = match kind {
                Kind::ClobberedNotUndefined => Rule::Undefined,
                _ => holder::vector(self.context, self.state, machine),
            };
            (Rule::None, should)
        });
    }
}

/// When something is wrong, from what is known of lanes active and not active on entry.
fn when_of([active, inactive]: [Verdict; 2]) -> Option<When> {
    match (active, inactive) {
        (Verdict::Different, Verdict::Different) => Some(When::Always),
        (Verdict::Different, Verdict::Same | Verdict::Unknown) => Some(When::LanesActive),
        (Verdict::Same | Verdict::Unknown, Verdict::Different) => Some(When::LanesInactive),
        (Verdict::Same | Verdict::Unknown, Verdict::Same | Verdict::Unknown) => None,
    }
}
