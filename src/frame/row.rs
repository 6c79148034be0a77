//! Executes call frame instructions to compute the row of each address. Source: HET A.6.4.1 and A.6.4.2.

use std::sync::Arc;

use fallible_iterator::FallibleIterator;

use super::entry::{Cie, Fde};
use super::instruction::{Effect, InstructionItem, Instructions};
use super::rule::{CfaRule, RegisterRule};
use crate::error::{Error, Limit, Result, SpecRule};
use crate::limits::{Limits, reached, too_many};
use crate::meter::Meter;

/// The rules that hold from one address to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row<'a> {
    /// The first address.
    pub start: u64,
    /// The first address past it.
    pub end: u64,
    /// The rule of the CFA.
    pub cfa: CfaRule<'a>,
    rules: Vec<(u64, RegisterRule<'a>)>,
}

impl<'a> Row<'a> {
    /// Returns the rule of a register, by its number, or `None` if there is no rule, which means the default rule.
    #[must_use]
    pub fn rule(&self, register: u64) -> Option<RegisterRule<'a>> {
        let at = self.find(register).ok()?;
        self.rules.get(at).map(|(_, rule)| *rule)
    }

    /// Returns all explicit rules, by ascending register number.
    #[must_use]
    pub fn rules(&self) -> &[(u64, RegisterRule<'a>)] {
        &self.rules
    }

    /// Returns true if there are no rules at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cfa == CfaRule::None && self.rules.is_empty()
    }

    /// Returns a row with only the CFA's rule.
    pub(crate) fn of_cfa(&self) -> Row<'a> {
        Row {
            start: self.start,
            end: self.end,
            cfa: self.cfa,
            rules: Vec::new(),
        }
    }

    /// Returns a row with the rules that further instructions set.
    ///
    /// # Errors
    /// If an instruction is wrong.
    pub(super) fn extended(
        &self,
        cie: &Cie<'_>,
        instructions: &'a [u8],
        section: &'static str,
    ) -> Result<Row<'a>> {
        let mut row = self.clone();
        let mut items = Instructions::new(instructions, 0, cie.address_size, section);
        while let Some(item) = items.next()? {
            let effect = item.effect(cie.data_alignment_factor);
            let Effect::Rule(register, rule) = effect else {
                row.cfa.apply(effect)?;
                continue;
            };
            match row.find(register) {
                Ok(at) => (row.rules.get_mut(at).into_iter()).for_each(|(_, old)| *old = rule),
                Err(at) => row.rules.insert(at, (register, rule)),
            }
        }
        Ok(row)
    }

    /// Copies the rules of another row, reusing the memory.
    fn copy_rules(&mut self, other: &Row<'a>) {
        self.cfa = other.cfa;
        self.rules.clear();
        self.rules.extend_from_slice(&other.rules);
    }

    /// Returns the position of a register's rule, or the position at which to insert it.
    fn find(&self, register: u64) -> core::result::Result<usize, usize> {
        // Compilers write the rules of a prologue in this order.
        if self.rules.last().is_none_or(|(last, _)| *last < register) {
            return Err(self.rules.len());
        }
        self.rules
            .binary_search_by_key(&register, |(number, _)| *number)
    }
}

impl<'a> CfaRule<'a> {
    /// Executes an instruction. Returns true if it affects the CFA.
    ///
    /// # Errors
    /// [`SpecRule::CfaRule`] if it changes a part of a rule that is not a register plus an offset.
    // Inlined into the reader of rows, where most instructions need none of this code.
    #[inline(always)]
    pub(super) fn apply(&mut self, effect: Effect<'a>) -> Result<bool> {
        match (effect, self) {
            (
                Effect::DefineCfa {
                    register,
                    offset,
                    space,
                },
                cfa,
            ) => {
                *cfa = CfaRule::Register {
                    register,
                    offset,
                    space,
                };
            }
            (Effect::CfaExpression(expression), cfa) => *cfa = CfaRule::Expression(expression),
            (Effect::CfaRegister(new), CfaRule::Register { register, .. }) => *register = new,
            (Effect::CfaOffset(new), CfaRule::Register { offset, .. }) => *offset = new,
            (Effect::CfaRegister(_) | Effect::CfaOffset(_), _) => {
                return Err(SpecRule::CfaRule.into());
            }
            (
                Effect::Nothing
                | Effect::Advance(_)
                | Effect::SetLocation(_)
                | Effect::Rule(..)
                | Effect::RestoreRule(_)
                | Effect::RememberState
                | Effect::RestoreState,
                _,
            ) => return Ok(false),
        }
        Ok(true)
    }
}

/// The number of rules copied or moved for each step of the meter. `meter.rs` lists the other factors.
pub(crate) const RULES_PER_STEP: u64 = 16;

/// The maximum number of remembered rows. Compilers nest two or three.
pub(crate) const REMEMBERED: usize = 64;

/// The fields of a CIE on which instructions depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Factors {
    code: u64,
    data: i64,
    address_size: u8,
}

impl Factors {
    fn of(cie: &Cie<'_>) -> Factors {
        Factors {
            code: cie.code_alignment_factor,
            data: cie.data_alignment_factor,
            address_size: cie.address_size,
        }
    }
}

/// The rows of an FDE, one after the other. The sequence ends with the first error.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    factors: Factors,
    initial_instructions: &'a [u8],
    instructions: Instructions<'a>,
    row: Row<'a>,
    /// The rules of this row not yet inserted. Compilers write a prologue's rules in ascending runs of registers, and each run is inserted at once.
    group: Vec<(u64, RegisterRule<'a>)>,
    /// The rules after the initial instructions, for `DW_CFA_restore`; empty while those are executed.
    initial: Option<Arc<Row<'a>>>,
    remembered: Vec<Row<'a>>,
    /// Discarded rows, kept to reuse their memory.
    spare: Vec<Row<'a>>,
    /// The start of the next row.
    next_start: u64,
    end: u64,
    done: bool,
    /// The maximum number of rules that the instructions can produce.
    most_rules: usize,
    /// The maximum cost of one entry: rules copied or moved.
    most: u64,
    /// The cost not yet charged: instructions, and rules copied or moved.
    unpaid: u64,
    cost: u64,
    /// The cost of the initial instructions: both limits.
    initial_cost: (u64, u64),
}

impl<'a> Rows<'a> {
    /// Creates the rows of an FDE. `section` is the name of its section.
    ///
    /// # Errors
    /// If the initial instructions of its CIE are wrong.
    pub fn new(fde: &Fde<'a>, section: &'static str) -> Result<Rows<'a>> {
        let mut rows = Rows::start(&fde.cie, section, fde.instructions.len());
        rows.run_initial()?;
        rows.begin(fde);
        Ok(rows)
    }

    /// Continues with another FDE of the section, reusing the memory. The initial instructions of an unchanged CIE are not executed again.
    ///
    /// # Errors
    /// Fails like [`new`](Rows::new).
    pub fn restart(&mut self, fde: &Fde<'a>) -> Result<()> {
        let cie = &*fde.cie;
        let is_known = self.factors == Factors::of(cie)
            && core::ptr::eq(self.initial_instructions, cie.initial_instructions);
        match self.initial.take().filter(|_| is_known) {
            Some(initial) => {
                self.restart_after(fde, initial);
                let (unpaid, cost) = self.initial_cost;
                self.unpaid = self.unpaid.saturating_add(unpaid);
                self.cost = cost;
            }
            None => {
                self.clear(cie, fde.instructions.len());
                self.run_initial()?;
                self.begin(fde);
            }
        }
        Ok(())
    }

    /// Restarts with the row that [`initial`](Rows::initial) returned for its CIE.
    pub(super) fn restart_after(&mut self, fde: &Fde<'a>, initial: Arc<Row<'a>>) {
        self.clear(&fde.cie, fde.instructions.len());
        self.row.copy_rules(&initial);
        self.initial = Some(initial);
        self.begin(fde);
    }

    /// Creates the rows of an FDE, with the result of [`initial`](Rows::initial) for its CIE.
    pub(super) fn after(fde: &Fde<'a>, section: &'static str, initial: Arc<Row<'a>>) -> Rows<'a> {
        let mut rows = Rows::start(&fde.cie, section, fde.instructions.len());
        rows.restart_after(fde, initial);
        rows
    }

    /// Returns the rules after a CIE's initial instructions, as a row without addresses.
    ///
    /// # Errors
    /// If an instruction is wrong.
    pub fn initial(cie: &Cie<'a>, section: &'static str) -> Result<Row<'a>> {
        let mut rows = Rows::start(cie, section, 0);
        rows.run_initial()?;
        Ok(rows.row)
    }

    /// Creates a reader at the initial instructions of a CIE, before executing any. The given number of further instruction bytes will follow.
    fn start(cie: &Cie<'a>, section: &'static str, more: usize) -> Rows<'a> {
        let mut rows = Rows {
            factors: Factors::of(cie),
            initial_instructions: &[],
            instructions: Instructions::new(&[], 0, cie.address_size, section),
            row: Row::default(),
            group: Vec::new(),
            initial: None,
            remembered: Vec::new(),
            spare: Vec::new(),
            next_start: 0,
            end: u64::MAX,
            done: false,
            most_rules: 0,
            most: 0,
            unpaid: 0,
            cost: 0,
            initial_cost: (0, 0),
        };
        rows.clear(cie, more);
        rows
    }

    /// Restarts with another CIE. Keeps the buffers and the uncharged steps.
    fn clear(&mut self, cie: &Cie<'a>, more: usize) {
        self.factors = Factors::of(cie);
        self.initial_instructions = cie.initial_instructions;
        self.instructions = Instructions::new(
            cie.initial_instructions,
            cie.instructions_offset,
            cie.address_size,
            self.instructions.section(),
        );
        self.row.rules.clear();
        self.row.cfa = CfaRule::None;
        self.group.clear();
        self.initial = None;
        self.spare.append(&mut self.remembered);
        (self.next_start, self.end, self.done) = (0, u64::MAX, false);
        let length = cie.initial_instructions.len().saturating_add(more);
        // An instruction that sets a rule has two bytes or more.
        self.most_rules = length / 2;
        self.most = Limits::DEFAULT.most_steps(length as u64);
        self.cost = 0;
    }

    /// Executes the initial instructions.
    fn run_initial(&mut self) -> Result<()> {
        let unpaid = self.unpaid;
        // A fault in these affects all following instructions.
        self.done = true;
        while let Some(item) = self.instructions.next()? {
            // An advance in a CIE has no start address, and is ignored.
            self.unpaid = self.unpaid.saturating_add(1);
            let section = self.instructions.section();
            self.execute(item)
                .map_err(|e| e.within(section, item.offset))?;
        }
        self.end_group();
        self.done = false;
        // Its entries start with these rules, and with no remembered state (DWARF 5 §6.4.3).
        self.spare.append(&mut self.remembered);
        self.initial_cost = (self.unpaid.saturating_sub(unpaid), self.cost);
        self.initial = Some(Arc::new(self.row.clone()));
        Ok(())
    }

    /// Continues with the instructions of an FDE.
    fn begin(&mut self, fde: &Fde<'a>) {
        self.instructions = Instructions::new(
            fde.instructions,
            fde.instructions_offset,
            fde.cie.address_size,
            self.instructions.section(),
        );
        self.row.start = fde.initial_location;
        self.next_start = fde.initial_location;
        self.end = fde.end();
    }

    /// Returns a reference to the next row, which the following one overwrites. Clone it to keep it.
    ///
    /// # Errors
    /// [`SpecRule::CfaRule`] and similar if an instruction breaks a rule. The error gives its place.
    #[expect(
        clippy::should_implement_trait,
        reason = "the row is lent, so that rows cost nothing to step through"
    )]
    pub fn next(&mut self) -> Result<Option<&Row<'a>>> {
        if self.done {
            return Ok(None);
        }
        self.row.start = self.next_start;
        loop {
            let item = self.instructions.next().inspect_err(|_| self.done = true)?;
            let Some(item) = item else {
                self.done = true;
                self.end_group();
                self.row.end = self.end.max(self.row.start);
                return Ok(Some(&self.row));
            };
            self.unpaid = self.unpaid.saturating_add(1);
            let next = self.execute(item).inspect_err(|_| self.done = true);
            let section = self.instructions.section();
            if let Some(next) = next.map_err(|e| e.within(section, item.offset))? {
                self.end_group();
                self.next_start = next;
                self.row.end = next;
                return Ok(Some(&self.row));
            }
        }
    }

    /// Returns the row that holds at an address, or `None` if there is none.
    ///
    /// # Errors
    /// Fails like [`next`](Rows::next).
    pub fn row_at(mut self, pc: u64) -> Result<Option<Row<'a>>> {
        Ok(self.find(pc, None)?.then_some(self.row))
    }

    /// Advances to the row that holds at an address. Returns true if there is one. Charges the meter for all reading.
    fn find(&mut self, pc: u64, meter: Option<&Meter>) -> Result<bool> {
        while let Some(row) = self.next()? {
            let is_found = row.start <= pc && pc < row.end;
            if let Some(meter) = meter {
                self.pay(meter)?;
            }
            if is_found {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns a copy of the row that holds at an address.
    pub(super) fn row_within(&mut self, pc: u64, meter: Option<&Meter>) -> Result<Option<Row<'a>>> {
        let found = self.find(pc, meter)?;
        Ok(found.then(|| self.row.clone()))
    }

    /// Executes an instruction. Returns the start of the next row if it begins one.
    #[inline(always)]
    fn execute(&mut self, item: InstructionItem<'a>) -> Result<Option<u64>> {
        let effect = item.effect(self.factors.data);
        match effect {
            Effect::Nothing => {}
            Effect::Advance(delta) => {
                let distance = delta.checked_mul(self.factors.code);
                let next = distance.and_then(|distance| self.row.start.checked_add(distance));
                return next
                    .map(Some)
                    .ok_or_else(|| Error::malformed("advance", "it goes past the last address"));
            }
            Effect::SetLocation(address) => {
                if address < self.row.start {
                    return Err(Error::malformed("advance", "it goes backwards"));
                }
                return Ok(Some(address));
            }
            Effect::RememberState => self.remember()?,
            Effect::RestoreState => self.restore_state()?,
            Effect::RestoreRule(register) => self.restore_rule(register)?,
            Effect::DefineCfa { .. }
            | Effect::CfaRegister(_)
            | Effect::CfaOffset(_)
            | Effect::CfaExpression(_) => drop(self.row.cfa.apply(effect)?),
            Effect::Rule(register, rule) => self.give(register, rule)?,
        }
        Ok(None)
    }

    fn remember(&mut self) -> Result<()> {
        if self.remembered.len() >= REMEMBERED {
            return Err(too_many("rows that are remembered", REMEMBERED as u64));
        }
        self.end_group();
        self.charge()?;
        let mut saved = self.spare.pop().unwrap_or_default();
        saved.copy_rules(&self.row);
        self.remembered.push(saved);
        Ok(())
    }

    fn restore_state(&mut self) -> Result<()> {
        let saved = self.remembered.pop();
        let mut saved = saved
            .ok_or_else(|| Error::malformed("DW_CFA_restore_state", "nothing was remembered"))?;
        self.row.cfa = saved.cfa;
        core::mem::swap(&mut self.row.rules, &mut saved.rules);
        self.spare.push(saved);
        self.group.clear();
        Ok(())
    }

    /// Restores a register's rule from the initial instructions, or removes it.
    #[inline(never)]
    fn restore_rule(&mut self, register: u64) -> Result<()> {
        let initial = self.initial.as_ref();
        if let Some(rule) = initial.and_then(|initial| initial.rule(register)) {
            return self.give(register, rule);
        }
        if self.group.last().is_some_and(|(last, _)| register <= *last) {
            self.end_group();
        }
        match self.row.find(register) {
            Ok(at) => drop(self.row.rules.remove(at)),
            Err(_) => return Ok(()),
        }
        self.charge()
    }

    /// Sets a register's rule. Charges for other rules that it moves.
    // The most frequent case: the rule goes directly from the instruction to the row, without a copy in memory.
    #[inline(always)]
    fn give(&mut self, register: u64, rule: RegisterRule<'a>) -> Result<()> {
        /// Twice the number of registers.
        const RULES: usize = 8192;
        /// Enough for most functions with calls, limited by the number of instructions.
        const ROOM: usize = 64;
        if self.group.last().is_some_and(|(last, _)| register <= *last) {
            self.end_group();
        }
        match self.row.find(register) {
            Ok(at) => {
                if let Some((_, slot)) = self.row.rules.get_mut(at) {
                    *slot = rule;
                }
                return Ok(());
            }
            Err(at) => {
                if self.row.rules.len().saturating_add(self.group.len()) >= RULES {
                    return Err(too_many("rules in a row", RULES as u64));
                }
                let room = self.most_rules.min(ROOM);
                let is_last = at == self.row.rules.len() && self.group.is_empty();
                let rules = match is_last {
                    true => &mut self.row.rules,
                    false => &mut self.group,
                };
                if rules.capacity() == 0 {
                    rules.reserve(room);
                }
                rules.push((register, rule));
                // No other rule is moved: a CIE with a thousand registers sets their rules in ascending order.
                if is_last {
                    return self.spend(1);
                }
            }
        }
        self.charge()
    }

    /// Inserts the rules of the group into the row.
    fn end_group(&mut self) {
        let (Some((first, _)), Some((last, _))) = (self.group.first(), self.group.last()) else {
            return;
        };
        let rules = &mut self.row.rules;
        if rules.last().is_none_or(|(register, _)| register < first) {
            rules.append(&mut self.group);
            return;
        }
        let at = rules.partition_point(|(register, _)| register < first);
        if rules.get(at).is_none_or(|(register, _)| register > last) {
            rules.splice(at..at, self.group.drain(..));
        } else {
            rules.append(&mut self.group);
            // Two ascending runs, which a stable sort merges efficiently.
            rules.sort_by_key(|(register, _)| *register);
        }
    }

    fn spend(&mut self, steps: u64) -> Result<()> {
        self.cost = self.cost.saturating_add(steps);
        self.unpaid = self.unpaid.saturating_add(steps);
        if self.cost > self.most {
            return Err(reached(Limit::Work, self.most));
        }
        Ok(())
    }

    /// Charges for the work since the last call.
    pub(crate) fn pay(&mut self, meter: &Meter) -> Result<()> {
        meter.work(core::mem::take(&mut self.unpaid))
    }

    /// Charges for work that may affect every rule of the row.
    fn charge(&mut self) -> Result<()> {
        let rules = self.row.rules.len().saturating_add(self.group.len()) as u64;
        self.spend(rules.div_ceil(RULES_PER_STEP))
    }
}

#[cfg(test)]
mod tests;
