//! Tracks the registers that have a rule, for checks of the order of instructions.

use crate::arch::Register;

/// The rule of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// True if the rule depends on the CFA.
    pub(super) needs_cfa: bool,
    /// The number of the row that set the rule. It is below 2^29, because an entry has fewer bytes.
    pub(super) row: u32,
}

/// The rules of a row, in ascending order of register numbers.
pub(super) type Saved = Vec<(u16, Given)>;

/// The rules of all registers. A register outside the table never has a rule, because its use is an error by itself.
///
/// Back ends give each function rules for dozens of registers. The rules are therefore in a table of all registers, with a list of the used ones.
/// Looking up a rule and clearing all rules are both fast.
#[derive(Debug, Default)]
pub(super) struct GivenRules {
    by_number: Vec<Slot>,
    used: Vec<u16>,
    /// The number of rules that depend on the CFA.
    needing_cfa: u32,
}

/// A rule in four bytes: the number of the row, and three flags.
#[derive(Clone, Copy, Debug, Default)]
struct Slot(u32);

impl Slot {
    /// Set if the register is in the list of used ones.
    const USED: u32 = 1;
    const HAS_RULE: u32 = 2;
    const NEEDS_CFA: u32 = 4;

    fn new(given: Option<Given>) -> Slot {
        let Some(given) = given else {
            return Slot(Slot::USED);
        };
        let needs_cfa = if given.needs_cfa { Slot::NEEDS_CFA } else { 0 };
        Slot((given.row << 3) | needs_cfa | Slot::HAS_RULE | Slot::USED)
    }

    fn given(self) -> Option<Given> {
        (self.0 & Slot::HAS_RULE != 0).then_some(Given {
            needs_cfa: self.needs_cfa(),
            row: self.0 >> 3,
        })
    }

    fn needs_cfa(self) -> bool {
        self.0 & Slot::NEEDS_CFA != 0
    }
}

impl GivenRules {
    /// Returns the maximum number of registers in a copy.
    pub(super) fn len(&self) -> usize {
        self.used.len()
    }

    /// Returns the rule of a register.
    pub(super) fn get(&self, register: u64) -> Option<Given> {
        let index = usize::try_from(register).ok()?;
        self.by_number.get(index)?.given()
    }

    /// Sets or removes the rule of a register. Returns the previous rule.
    pub(super) fn set(&mut self, register: u64, given: Option<Given>) -> Option<Given> {
        let number = Register::from_number(register)?.number();
        let index = usize::from(number);
        if index >= self.by_number.len() {
            // The table is allocated once for a section.
            let last = Register::ranges().last()?.last;
            self.by_number
                .resize(usize::from(last) + 1, Slot::default());
        }
        let slot = self.by_number.get_mut(index)?;
        let before = *slot;
        *slot = Slot::new(given);
        match (before.needs_cfa(), slot.needs_cfa()) {
            (false, true) => self.needing_cfa += 1,
            (true, false) => self.needing_cfa -= 1,
            (true, true) | (false, false) => {}
        }
        if before.0 == 0 {
            self.used.push(number);
        }
        before.given()
    }

    /// Returns the first register whose rule depends on the CFA.
    pub(super) fn needing_cfa(&self) -> Option<u64> {
        if self.needing_cfa == 0 {
            return None;
        }
        let index = self.by_number.iter().position(|slot| slot.needs_cfa())?;
        Some(index as u64)
    }

    /// Returns a copy of the rules.
    pub(super) fn save(&self) -> Saved {
        let with_rule = |number: &u16| Some((*number, self.get(u64::from(*number))?));
        let mut saved: Saved = self.used.iter().filter_map(with_rule).collect();
        saved.sort_unstable_by_key(|(number, _)| *number);
        saved
    }

    /// Replaces all rules.
    pub(super) fn load(&mut self, saved: &[(u16, Given)]) {
        for number in self.used.drain(..) {
            if let Some(slot) = self.by_number.get_mut(usize::from(number)) {
                *slot = Slot::default();
            }
        }
        self.needing_cfa = 0;
        for (number, given) in saved {
            self.set(u64::from(*number), Some(*given));
        }
    }
}
