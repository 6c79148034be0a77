//! Finds rules that depend on each other in a circle.

use smallvec::SmallVec;

use super::Walk;
use crate::frame::InstructionItem;
use crate::verify::dependency::{CIRCULAR, Ruled};
use crate::verify::finding::Findings;

impl<'a> Walk<'_, 'a> {
    /// Records the dependencies of a new rule, and reports a cycle that it closes.
    pub(super) fn depend(
        &mut self,
        ruled: Ruled,
        uses: SmallVec<[u64; 2]>,
        item: &InstructionItem<'a>,
        findings: &mut Findings,
    ) {
        self.rules.dependencies.set(ruled, uses);
        self.check_cycle(ruled, item, findings);
    }

    /// Reports a cycle that a new rule closes.
    pub(super) fn check_cycle(
        &mut self,
        ruled: Ruled,
        item: &InstructionItem<'a>,
        findings: &mut Findings,
    ) {
        let registers = &self.shared.registers;
        let needs_cfa = |number| registers.get(number).is_some_and(|given| given.needs_cfa);
        if !self.rules.dependencies.goes_on(ruled, &needs_cfa) {
            return;
        }
        let name = |number| self.facts.register_name(number);
        let cycle = self.rules.dependencies.cycle(ruled, &needs_cfa, name);
        self.charge(self.rules.dependencies.len());
        if let Some(path) = cycle {
            findings.add(self.about(&CIRCULAR, item, path));
        }
    }
}
