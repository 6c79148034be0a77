//! Finds the registers that may differ between the place of a waiting lane and the place of its wave. The wave goes on for other lanes, and
//! scalar registers belong to all lanes.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "of most instructions only the registers that they write matter"
)]

use std::collections::BTreeSet;

use super::between::Between;
use super::function::FunctionFlow;
use crate::arch::{Register, WaveSize};
use crate::isa::{Effect, MachineRegister, Writes};

/// The registers of a frame that may change between the place of a waiting lane and the place of its wave.
///
/// A vector register is included if some of its lanes hold scalar values, or if it is written while more lanes execute than the active
/// ones. Other contents of a vector register do not change while the lane is off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    registers: BTreeSet<MachineRegister>,
    /// True if any register may have changed.
    all: bool,
    wave_size: Option<WaveSize>,
}

impl Changed {
    /// Returns the set of all registers, for a place about which nothing is known.
    pub(crate) fn all() -> Changed {
        Changed {
            all: true,
            ..Changed::default()
        }
    }

    /// Returns true if a register, or a part of it, is in the set.
    #[must_use]
    pub fn contains(&self, register: Register) -> bool {
        // The program location is not included; callers do not need it for a waiting lane.
        let is_part = |one: &MachineRegister| {
            let wave_size = self.wave_size.unwrap_or(WaveSize::Wave64);
            one.dwarf(wave_size)
                .is_some_and(|(whole, _)| whole == register)
        };
        self.all || self.registers.iter().any(is_part)
    }

    fn insert(&mut self, register: MachineRegister) {
        self.registers.insert(register);
    }
}

impl FunctionFlow<'_> {
    /// Returns the number of instructions that [`changed_between`](Self::changed_between) visits.
    pub(super) fn cost_of_changes(&self) -> usize {
        let instructions = &self.code().instructions;
        let calls = (instructions.iter()).filter(|one| matches!(one.effect, Effect::Call { .. }));
        let scalars = usize::from(MachineRegister::SCALARS);
        let registers = scalars.saturating_add(self.code().vectors_with_lanes().count());
        let calls = calls.count().saturating_mul(registers);
        instructions.len().saturating_mul(8).saturating_add(calls)
    }

    /// Returns the registers that may be written between two instructions, in whichever order the wave reaches them: on the paths from one
    /// to the other, and back.
    pub(super) fn changed_between(&self, wave_size: WaveSize, one: usize, other: usize) -> Changed {
        let code = self.code();
        let mut changed = Changed {
            wave_size: Some(wave_size),
            ..Changed::default()
        };
        for [from, to] in [[one, other], [other, one]] {
            let between = Between::new(code, from, to);
            changed.all |= between.is_unknown;
            for index in between.instructions {
                self.add_writes(index, &mut changed);
            }
        }
        changed
    }

    fn add_writes(&self, index: usize, changed: &mut Changed) {
        let code = self.code();
        let Some(instruction) = code.instructions.get(index) else {
            return;
        };
        // In the mode that `GprIndex` begins, the registers that instructions write depend on M0.
        if instruction.writes.is_indirect() || instruction.effect == Effect::GprIndex {
            changed.all = true;
        }
        if let Effect::Call { .. } = instruction.effect {
            let is_kept = code.call_keeps(self.callees(), code.callee(index));
            let registers = MachineRegister::scalars().chain(code.vectors_with_lanes());
            for register in registers.filter(|register| !is_kept(*register)) {
                changed.insert(register);
            }
        }
        for register in registers(&instruction.writes) {
            let is_changed = match register {
                MachineRegister::Vgpr(_) | MachineRegister::Agpr(_) => {
                    code.has_lanes(register) || !self.is_plain(index)
                }
                _ => true,
            };
            if is_changed {
                changed.insert(register);
            }
        }
    }
}

fn registers(writes: &Writes) -> impl Iterator<Item = MachineRegister> {
    writes.spans().iter().flat_map(|span| span.registers())
}
