//! Checks the call frame instructions of entries: each must be executable, and their order must be valid. `meaning` checks the resulting rules.
//! Sources: DWARF 5 §6.4.2 and §6.4.3, HET A.6.4.2.

mod cycle;
mod rule;

use fallible_iterator::FallibleIterator;

use smallvec::SmallVec;

use super::coverage::says_nothing;
use super::dependency::{self, Dependencies, Ruled};
use super::finding::{Excerpt, Finding, Findings};
use super::frame_expression::{self, Expressions, Gives, Use};
use super::given::{Given, GivenRules, Saved};
use super::register::{self, Existing};
use super::subject::{Facts, KernelEntry};
use super::{expression, meaning};
use crate::arch::{AddressSpace, Register};
use crate::expr::RegisterStyle;
use crate::frame::{
    CfaOperand, Cie, Effect, Fde, FramePrinter, Instruction, InstructionItem, Instructions,
    REMEMBERED, RULES_PER_STEP, RegisterRule, RuleExpression,
};
use crate::meter::Meter;
use crate::rule::Rule;

pub(super) use rule::RULES;

/// The rule families by which call frame instructions are checked.
pub(super) const FAMILIES: [&[&Rule]; 6] = [
    RULES,
    dependency::RULES,
    meaning::RULES,
    frame_expression::RULES,
    register::RULES,
    expression::RULES,
];

/// The kind of the CFA's rule, on which the order of instructions depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CfaKind {
    #[default]
    None,
    Register,
    Expression,
}

/// The rules of a row except the register rules.
#[derive(Clone, Debug, Default)]
struct Rules {
    cfa: CfaKind,
    /// The number of the CFA's address space, if the CFA is a register plus an offset.
    cfa_space: Option<u64>,
    /// True if the CFA is known not to be the start of a wavefront's scratch.
    cfa_is_elsewhere: bool,
    /// True if the return address has a rule other than "undefined".
    has_return_address: bool,
    dependencies: Dependencies,
}

/// All rules of a row, for a later restore.
#[derive(Debug, Default)]
struct Remembered {
    rules: Rules,
    registers: Saved,
}

/// Checks the instructions of every readable entry, and of its common information entry.
///
/// * `kernels`: the first instructions of kernels, sorted.
pub(super) fn check<'a>(
    facts: &Facts<'a>,
    fdes: &[Fde<'a>],
    kernels: &[KernelEntry],
    meter: &Meter,
    findings: &mut Findings,
) {
    let mut by_cie: Vec<&Fde<'a>> = fdes
        .iter()
        .filter(|fde| fde.cie.augmentation.is_known())
        .collect();
    by_cie.sort_by_key(|fde| (fde.cie.offset, fde.offset));
    let mut common: Option<(u64, Remembered)> = None;
    let mut shared = Shared::default();
    for fde in by_cie {
        let cie = &fde.cie;
        let initial = match common.take() {
            Some((offset, initial)) if offset == cie.offset => initial,
            _ => {
                let none = Remembered::default();
                let mut walk = Walk::new(facts, cie, None, &none, &mut shared, meter);
                walk.run(cie.initial_instructions, cie.instructions_offset, findings);
                walk.copy()
            }
        };
        let (_, initial) = common.insert((cie.offset, initial));
        let mut walk = Walk::new(facts, cie, Some(fde), initial, &mut shared, meter);
        let after = kernels.partition_point(|entry| entry.address < fde.initial_location);
        let entry = kernels.get(after).copied();
        walk.kernel = entry.filter(|entry| fde.contains(entry.address));
        walk.run(fde.instructions, fde.instructions_offset, findings);
        if walk.is_exhausted() {
            let message = "the entries from here on are not checked".to_owned();
            findings.add(walk.finding(&rule::TOO_LARGE, fde.offset, message));
            break;
        }
    }
    shared.expressions.finish(findings);
}

/// A walk through the instructions of an entry.
struct Walk<'w, 'a> {
    facts: &'w Facts<'a>,
    section: &'static str,
    cie: &'w Cie<'a>,
    /// The entry of the code. `None` for the instructions of a CIE.
    fde: Option<&'w Fde<'a>>,
    rules: Rules,
    /// The row of the initial instructions.
    initial: &'w Remembered,
    /// The saved rules, each with the offset of the instruction that saved them.
    remembered: Vec<(u64, Remembered)>,
    location: u64,
    row: u32,
    /// The number of instructions in the row.
    in_row: u32,
    said_no_cfa: bool,
    said_of_row: bool,
    /// The kernel at the start of the code, if there is one.
    kernel: Option<KernelEntry>,
    shared: &'w mut Shared<'a>,
    meter: &'w Meter,
}

/// State that the walks through the entries of a section share.
#[derive(Default)]
struct Shared<'a> {
    /// The rules of the current row.
    registers: GivenRules,
    existing: Existing,
    expressions: Expressions<'a>,
}

impl<'w, 'a> Walk<'w, 'a> {
    fn new(
        facts: &'w Facts<'a>,
        cie: &'w Cie<'a>,
        fde: Option<&'w Fde<'a>>,
        initial: &'w Remembered,
        shared: &'w mut Shared<'a>,
        meter: &'w Meter,
    ) -> Walk<'w, 'a> {
        shared.registers.load(&initial.registers);
        let walk = Walk {
            shared,
            meter,
            facts,
            section: facts.frame_section.name(),
            cie,
            fde,
            initial,
            rules: initial.rules.clone(),
            remembered: Vec::new(),
            location: fde.map_or(0, |fde| fde.initial_location),
            row: 1,
            in_row: 0,
            said_no_cfa: false,
            said_of_row: false,
            kernel: None,
        };
        walk.charge(initial.registers.len());
        walk
    }

    /// Charges for copied rules or executed instructions. If the meter refuses, the walk ends.
    fn charge(&self, count: usize) {
        let steps = (count as u64).div_ceil(RULES_PER_STEP);
        let _ = self.meter.work(steps);
    }

    fn is_exhausted(&self) -> bool {
        self.meter.refused().is_some()
    }

    fn run(&mut self, bytes: &'a [u8], start: u64, findings: &mut Findings) {
        let mut items = Instructions::new(bytes, start, self.cie.address_size, self.section);
        let mut nops = 0_usize;
        loop {
            match items.next() {
                Ok(Some(item)) if matches!(item.instruction, Instruction::Nop) => {
                    nops += 1;
                }
                Ok(Some(item)) => {
                    nops = 0;
                    let remembers = matches!(item.instruction, Instruction::RememberState);
                    if remembers && self.remembered.len() >= REMEMBERED {
                        let message = format!(
                            "more than {REMEMBERED} rows are remembered at once; the entry is not checked from here on"
                        );
                        findings.add(self.about(&rule::TOO_LARGE, &item, message));
                        return;
                    }
                    self.step(&item, findings);
                    if self.is_exhausted() {
                        return;
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    let offset = error.origin().map_or(start, |origin| origin.offset);
                    let message = error.kind().to_string();
                    findings.add(self.finding(&rule::INSTRUCTION, offset, message));
                    return;
                }
            }
        }
        self.end_row(self.fde.map_or(0, Fde::end), findings);
        if nops >= usize::from(self.cie.address_size.max(1)) {
            let message = format!("its instructions end in {nops} bytes of DW_CFA_nop");
            findings.add(self.finding(&rule::PADDING, self.entry_offset(), message));
        }
        if let Some((offset, _)) = self.remembered.last() {
            let message = "the rules remembered here are never restored".to_owned();
            findings.add(self.finding(&rule::REMEMBER_STATE, *offset, message));
        }
    }

    fn entry_offset(&self) -> u64 {
        self.fde.map_or(self.cie.offset, |fde| fde.offset)
    }

    /// Returns the start address of the row, or None in a CIE. A row past the end of the entry is attributed to its last byte, so that it belongs to
    /// this function.
    fn pc(&self) -> Option<u64> {
        let fde = self.fde?;
        Some(self.location.min(fde.end().saturating_sub(1)))
    }

    fn finding(&self, rule: &'static Rule, offset: u64, message: String) -> Finding {
        let finding = Finding::new(rule, self.section, message).at(offset);
        match self.pc() {
            Some(pc) => finding.pc(pc),
            None => finding,
        }
    }

    /// Returns a finding that shows an instruction.
    fn about(
        &self,
        rule: &'static Rule,
        item: &InstructionItem<'a>,
        message: impl Into<String>,
    ) -> Finding {
        let printer = FramePrinter::new(
            self.facts.frame_section,
            RegisterStyle::Names,
            self.facts.dialect,
        );
        let mut location = self.fde.map(|_| self.location);
        let text = printer.instruction(&item.instruction, self.cie, &mut location);
        self.finding(rule, item.offset, message.into())
            .excerpt(Excerpt::whole(text))
    }

    fn step(&mut self, item: &InstructionItem<'a>, findings: &mut Findings) {
        self.charge(1);
        self.check_operands(item, findings);
        match item.effect(self.cie.data_alignment_factor) {
            Effect::Nothing => {}
            Effect::Advance(delta) => return self.advance(self.after(delta), item, findings),
            Effect::SetLocation(address) => return self.advance(Some(address), item, findings),
            Effect::RememberState => {
                let copy = self.copy();
                self.remembered.push((item.offset, copy));
            }
            Effect::RestoreState => match self.remembered.pop() {
                Some((_, remembered)) => self.go_back(remembered),
                None => {
                    findings.add(self.about(&rule::RESTORE_STATE, item, "nothing was remembered"))
                }
            },
            Effect::RestoreRule(register) => self.restore(register, item, findings),
            Effect::DefineCfa {
                register, space, ..
            } => self.define_cfa(register, space, item, findings),
            Effect::CfaExpression(expression) => {
                self.rules.cfa = CfaKind::Expression;
                self.rules.cfa_space = None;
                let found = self.run_expression(expression, Use::Cfa);
                self.depend(Ruled::Cfa, found.uses, item, findings);
                self.rules.cfa_space = found.space;
                self.rules.cfa_is_elsewhere = found.is_elsewhere;
            }
            Effect::CfaRegister(register) => {
                if self.change_cfa(item, findings) {
                    let space = self.rules.cfa_space.unwrap_or_default();
                    self.define_cfa(register, space, item, findings);
                }
            }
            Effect::CfaOffset(_) => drop(self.change_cfa(item, findings)),
            Effect::Rule(register, rule) => self.give(register, rule, item, findings),
        }
        self.in_row = self.in_row.saturating_add(1);
    }

    fn give(
        &mut self,
        register: u64,
        rule: RegisterRule<'a>,
        item: &InstructionItem<'a>,
        findings: &mut Findings,
    ) {
        if register == self.cie.return_address_register {
            self.rules.has_return_address = rule != RegisterRule::Undefined;
        }
        match rule {
            RegisterRule::Undefined | RegisterRule::SameValue | RegisterRule::Architectural => {
                self.define(register, false, item, findings);
            }
            RegisterRule::Register(saved_in) => {
                self.define_by_register(register, saved_in, item, findings);
            }
            RegisterRule::Offset(_) => {
                self.define(register, true, item, findings);
                self.check_cycle(Ruled::Register(register), item, findings);
            }
            RegisterRule::ValOffset(_) => {
                self.define(register, true, item, findings);
                self.check_cycle(Ruled::Register(register), item, findings);
                let space = self.rules.cfa_space;
                if let Some(message) = meaning::value_size(self.facts, register, space) {
                    findings.add(self.about(&meaning::REGISTER_SIZE, item, message));
                }
            }
            RegisterRule::Expression(expression) => {
                let usage = Use::Location(register);
                self.define_by(usage, register, expression, item, findings);
            }
            RegisterRule::ValExpression(expression) => {
                self.define_by(Use::Value(register), register, expression, item, findings);
            }
        }
    }

    /// Checks that registers and address spaces exist.
    fn check_operands(&mut self, item: &InstructionItem<'a>, findings: &mut Findings) {
        item.instruction.each_number(|kind, number| match kind {
            CfaOperand::Register | CfaOperand::SmallRegister => {
                if let Some((rule, message)) = self.shared.existing.check(self.facts, number) {
                    findings.add(self.about(rule, item, message));
                }
            }
            CfaOperand::Space if AddressSpace::from_number(number).is_none() => {
                let message = format!("the address space {number:#x} is reserved");
                findings.add(self.about(&rule::ADDRESS_SPACE, item, message));
            }
            CfaOperand::Space
            | CfaOperand::SmallDelta
            | CfaOperand::Delta1
            | CfaOperand::Delta2
            | CfaOperand::Delta4
            | CfaOperand::Delta8
            | CfaOperand::Address
            | CfaOperand::Offset
            | CfaOperand::Factored
            | CfaOperand::SignedFactored
            | CfaOperand::Expression => {}
        });
    }

    /// Returns the location `delta` code units after the current one. Returns `None` if it exceeds the address range.
    fn after(&self, delta: u64) -> Option<u64> {
        let distance = delta.checked_mul(self.cie.code_alignment_factor)?;
        self.location.checked_add(distance)
    }

    /// * `next`: the new location. `None` if it exceeds the address range.
    fn advance(&mut self, next: Option<u64>, item: &InstructionItem<'a>, findings: &mut Findings) {
        let Some(fde) = self.fde else {
            let message = "there is no location to advance";
            findings.add(self.about(&rule::ADVANCE_IN_CIE, item, message));
            return;
        };
        let Some(next) = next.filter(|next| *next >= self.location) else {
            let message = format!("the row before it starts at {:#x}", self.location);
            findings.add(self.about(&rule::ROW_ORDER, item, message));
            return;
        };
        self.end_row(next, findings);
        if next == self.location && self.in_row > 0 {
            let message = "the location advances by 0";
            findings.add(self.about(&rule::ROW_EMPTY, item, message));
        } else if self.in_row == 0 && self.row > 1 {
            let message = format!("no instruction follows for the row at {:#x}", self.location);
            findings.add(self.about(&rule::ROW_UNCHANGED, item, message));
        }
        let end = fde.end();
        if next > end && self.location <= end {
            let message = format!("it starts at {next:#x}, but the code ends at {end:#x}");
            findings.add(self.about(&rule::ROW_OUTSIDE, item, message));
        } else if next == end && self.location < end {
            let message = format!("it starts at {next:#x}, where the code ends");
            findings.add(self.about(&rule::ROW_EMPTY, item, message));
        }
        self.location = next;
        self.row = self.row.saturating_add(1);
        self.in_row = 0;
    }

    /// Checks a whole row.
    ///
    /// * `end`: the first address after the row.
    fn end_row(&mut self, end: u64, findings: &mut Findings) {
        let Some(fde) = self.fde else { return };
        if self.rules.cfa == CfaKind::None
            && !self.said_no_cfa
            && let Some(register) = self.shared.registers.needing_cfa()
        {
            // Only one of the two findings is reported.
            (self.said_no_cfa, self.said_of_row) = (true, true);
            let name = self.facts.register_name(register);
            let message = format!("the rule of {name} counts from the CFA, which has no rule");
            findings.add(self.finding(&rule::CFA_MISSING, self.entry_offset(), message));
        }
        let end = end.min(fde.end());
        if self.location < end {
            self.check_row(fde, end, findings);
        }
    }

    /// Checks that a row with code leads to the caller or to the end of the stack. Reports at most one finding for each entry.
    fn check_row(&mut self, fde: &Fde<'a>, end: u64, findings: &mut Findings) {
        // `coverage` reports all entries without rules as one finding.
        if self.said_of_row || says_nothing(fde) {
            return;
        }
        let (rule, wrong) = match (self.rules.cfa, self.kernel) {
            (CfaKind::None, _) => (&rule::NO_CFA, "there is no rule for the CFA"),
            (CfaKind::Register | CfaKind::Expression, None) => return,
            (CfaKind::Register | CfaKind::Expression, Some(kernel)) => {
                let wrong = if self.rules.has_return_address {
                    "the return address is not undefined"
                } else if self.rules.cfa_is_elsewhere && !kernel.has_dynamic_vgprs {
                    "the CFA is not private_wave 0"
                } else {
                    return;
                };
                (&rule::KERNEL_ROW, wrong)
            }
        };
        self.said_of_row = true;
        let message = format!("at {:#x}..{end:#x} {wrong}", self.location);
        let help = match self.kernel.is_some() {
            false => "define the CFA before the first instruction",
            true => {
                "the rules of a kernel are DW_CFA_def_cfa_expression: DW_OP_lit0, DW_OP_lit6, DW_OP_LLVM_user DW_OP_LLVM_form_aspace_address and \
                 DW_CFA_undefined: PC_REG"
            }
        };
        findings.add(self.finding(rule, fde.offset, message).help(help));
    }

    fn go_back(&mut self, remembered: Remembered) {
        self.rules = remembered.rules;
        self.shared.registers.load(&remembered.registers);
    }

    fn copy(&mut self) -> Remembered {
        self.charge(self.shared.registers.len());
        Remembered {
            rules: self.rules.clone(),
            registers: self.shared.registers.save(),
        }
    }

    fn restore(&mut self, register: u64, item: &InstructionItem<'a>, findings: &mut Findings) {
        let by_number = |(number, _): &(u16, Given)| u64::from(*number).cmp(&register);
        let initial = &self.initial.registers;
        let found = initial.binary_search_by(by_number).ok();
        let initial = found
            .and_then(|index| initial.get(index))
            .map(|(_, given)| *given);
        let now = self.shared.registers.set(register, initial);
        let before = &self.initial.rules.dependencies;
        let ruled = Ruled::Register(register);
        self.rules.dependencies.restore(ruled, before);
        self.check_cycle(ruled, item, findings);
        if register == self.cie.return_address_register {
            self.rules.has_return_address = self.initial.rules.has_return_address;
        }
        if initial.is_none() && now.is_none() && Register::from_number(register).is_some() {
            let message = format!("{} has no rule", self.facts.register_name(register));
            findings.add(self.about(&rule::RESTORE, item, message));
        }
    }

    fn define_cfa(
        &mut self,
        register: u64,
        space: u64,
        item: &InstructionItem<'a>,
        findings: &mut Findings,
    ) {
        self.rules.cfa = CfaKind::Register;
        self.rules.cfa_space = Some(space);
        self.rules.cfa_is_elsewhere = true;
        self.rules.dependencies.clear(Ruled::Cfa);
        if let Some(finding) = meaning::check_cfa(self.facts, register, space) {
            let (rule, message, help) = finding;
            findings.add(self.about(rule, item, message).help(help));
        }
    }

    fn define_by_register(
        &mut self,
        register: u64,
        saved_in: u64,
        item: &InstructionItem<'a>,
        findings: &mut Findings,
    ) {
        self.define(register, false, item, findings);
        if let Some(message) = meaning::register_sizes(self.facts, register, saved_in) {
            findings.add(self.about(&meaning::REGISTER_SIZE, item, message));
        }
        let uses = SmallVec::from_slice(&[saved_in]);
        self.depend(Ruled::Register(register), uses, item, findings);
    }

    fn define_by(
        &mut self,
        usage: Use,
        register: u64,
        expression: RuleExpression<'a>,
        item: &InstructionItem<'a>,
        findings: &mut Findings,
    ) {
        // An expression may ignore the CFA that is on its stack, so the rule does not require a CFA.
        self.define(register, false, item, findings);
        let found = self.run_expression(expression, usage);
        self.depend(Ruled::Register(register), found.uses, item, findings);
    }

    fn run_expression(&mut self, expression: RuleExpression<'a>, usage: Use) -> Gives {
        let (pc, cfa_space) = (self.pc(), self.rules.cfa_space);
        self.shared.expressions.check(
            self.facts,
            self.meter,
            self.cie,
            (expression, usage),
            cfa_space,
            pc,
        )
    }

    /// Returns true if the CFA is a register plus an offset, so that the register or the offset can be changed.
    fn change_cfa(&self, item: &InstructionItem<'a>, findings: &mut Findings) -> bool {
        let message = match self.rules.cfa {
            CfaKind::Register => return true,
            CfaKind::None => "the CFA has no rule",
            CfaKind::Expression => "the CFA is an expression",
        };
        findings.add(self.about(&rule::CFA_CHANGE, item, message));
        false
    }

    fn define(
        &mut self,
        register: u64,
        needs_cfa: bool,
        item: &InstructionItem<'a>,
        findings: &mut Findings,
    ) {
        let given = Given {
            needs_cfa,
            row: self.row,
        };
        let before = self.shared.registers.set(register, Some(given));
        self.rules.dependencies.clear(Ruled::Register(register));
        if before.is_some_and(|before| before.row == self.row) && self.fde.is_some() {
            let name = self.facts.register_name(register);
            let message = format!("{name} already has a rule in this row");
            findings.add(self.about(&rule::OVERWRITTEN, item, message));
        }
    }
}
