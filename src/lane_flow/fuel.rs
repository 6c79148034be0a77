//! Bounds what is found out about machine code.
//!
//! Facts about a function are found once and kept for all questions. Their budget depends on the file and the function alone, and no
//! question is charged for them. What is found for a place of a function is charged to every question that asks for it, also if it was
//! found before. So no answer depends on who asked before. The meter of the file holds what is kept, until the function is forgotten.

use super::Reason;
use super::state::State;
use crate::error;
use crate::meter::Meter;

/// How many instructions that something is followed over are a step of the meter.
const PER_STEP: usize = 8;
/// How many values that are compared or copied count as an instruction.
const PER_INSTRUCTION: usize = 8;
/// How many bytes that are copied count as an instruction, where a question pays for copies.
const COPIED_PER_INSTRUCTION: u64 = 128;
/// How many facts are found for a function: its code, its states, and for each half of the wave its liveness and what switches off lanes
/// that entered it and that did not.
const FACTS: u64 = 8;
/// How many bytes the states may have that are kept for one fact.
const MOST_BYTES: u64 = 64 << 20;

/// What may still be done to find one thing out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fuel {
    instructions: usize,
    bytes: u64,
}

/// What it took to find something out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    pub(super) instructions: usize,
    pub(super) bytes: u64,
}

impl Used {
    pub(super) fn plus(self, other: Used) -> Used {
        Used {
            instructions: self.instructions.saturating_add(other.instructions),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

impl Fuel {
    /// So many instructions, and as many bytes as anything may have.
    pub(super) const fn of(instructions: usize) -> Fuel {
        Fuel {
            instructions,
            bytes: MOST_BYTES,
        }
    }

    /// Returns what each fact about a function may take. All facts about a file together may take half the steps of a question about it.
    ///
    /// * `size`: the bytes of the function, `all`: those of all functions of the file.
    /// * `meter`: the file's.
    pub(super) fn of_fact(size: usize, all: u64, meter: &Meter) -> Fuel {
        let steps = meter.most_steps() / 2 / FACTS;
        let instructions = steps.saturating_mul(PER_STEP as u64);
        let share = Meter::share(instructions, size as u64, &mut { all });
        Fuel {
            instructions: usize::try_from(share).unwrap_or(usize::MAX),
            bytes: MOST_BYTES.min(meter.most_bytes() / 2),
        }
    }

    /// Returns the same, with so many instructions at most.
    pub(super) fn at_most(self, instructions: usize) -> Fuel {
        Fuel {
            instructions: self.instructions.min(instructions),
            ..self
        }
    }

    pub(super) const fn instructions(self) -> usize {
        self.instructions
    }

    /// Returns the steps of the meter that all facts about a function take at most, of which each may take this.
    pub(super) fn steps_of_facts(self) -> u64 {
        (self.instructions.div_ceil(PER_STEP) as u64).saturating_mul(FACTS)
    }

    /// Charges for instructions that are gone through. Returns None if they are not enough; then none is left.
    pub(super) fn count(&mut self, instructions: usize) -> Option<()> {
        let rest = self.instructions.checked_sub(instructions);
        self.instructions = rest.unwrap_or(0);
        rest.map(|_| ())
    }

    /// Charges for decoding a function: a step of the meter for each instruction.
    pub(super) fn decode(&mut self, instructions: usize) -> Option<()> {
        self.count(instructions.saturating_mul(PER_STEP))
    }

    /// Charges for comparing values.
    pub(super) fn compare(&mut self, values: usize) -> Option<()> {
        self.count(values / PER_INSTRUCTION)
    }

    /// Charges for bytes that are kept.
    pub(super) fn keep(&mut self, bytes: u64) -> Option<()> {
        self.bytes = self.bytes.checked_sub(bytes)?;
        self.count(1)
    }

    /// Takes a state into the one that is kept before a leader; if none is, it is about to be kept itself. Returns true if
    /// that is news, and None if it is too much.
    ///
    /// * `shared`: the bytes of what it shares with the state that the analysis goes on with, and with no other.
    pub(super) fn arrive(
        &mut self,
        known: Option<&mut State>,
        state: &State,
        shared: u64,
    ) -> Option<bool> {
        self.compare(state.size())?;
        let Some(known) = known else {
            self.keep(shared.saturating_add(state.bytes()))?;
            return Some(true);
        };
        let is_new = known.join(state);
        if is_new {
            // What it shared with others may be its own now.
            self.keep(known.bytes())?;
        }
        Some(is_new)
    }

    /// Returns what was used since it was `before`.
    pub(super) fn since(self, before: Fuel) -> Used {
        Used {
            instructions: before.instructions.saturating_sub(self.instructions),
            bytes: before.bytes.saturating_sub(self.bytes),
        }
    }
}

/// What may still be done for the plans of a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    /// How many instructions may be gone through, however much the question has.
    instructions: usize,
    /// How many the question has, which also pays for copies of states.
    paid: usize,
    /// How many of them were used.
    used: usize,
}

impl Left {
    /// * `instructions`: how many may be gone through, however much the question has, `paid`: how many it has.
    pub(super) const fn of(instructions: usize, paid: usize) -> Left {
        Left {
            instructions,
            paid,
            used: 0,
        }
    }

    /// Returns how many instructions may still be gone through.
    pub(super) fn instructions(self) -> usize {
        self.instructions.min(self.paid)
    }

    /// Returns how many instructions were used, with those that copies count as.
    pub(super) const fn used(self) -> usize {
        self.used
    }

    /// Returns true if the question has no more.
    pub(super) const fn is_paid_out(self) -> bool {
        self.paid == 0
    }

    /// Takes what something used; if that is more than is left, all.
    pub(super) fn take(&mut self, used: Used) {
        let copies = usize::try_from(used.bytes / COPIED_PER_INSTRUCTION).unwrap_or(usize::MAX);
        let all = used.instructions.saturating_add(copies).min(self.paid);
        self.instructions = self.instructions.saturating_sub(used.instructions);
        self.paid = self.paid.saturating_sub(all);
        self.used = self.used.saturating_add(all);
    }

    /// Counts instructions.
    ///
    /// # Errors
    /// If fewer are left; then none is.
    pub(super) fn pay(&mut self, instructions: usize) -> Result<(), Reason> {
        let is_enough = instructions <= self.instructions();
        let bytes = 0;
        self.take(Used {
            instructions,
            bytes,
        });
        is_enough.then_some(()).ok_or(Reason::Budget)
    }
}

/// Charges a question for instructions that are gone through.
///
/// # Errors
/// [`Limit::Work`](crate::error::Limit::Work) if fewer are left.
pub(super) fn pay(meter: &Meter, instructions: usize) -> error::Result<()> {
    meter.work(instructions.div_ceil(PER_STEP) as u64)
}

/// Returns how many instructions a question may still go through.
pub(super) fn left(meter: &Meter) -> usize {
    let left = usize::try_from(meter.steps_left()).unwrap_or(usize::MAX);
    left.saturating_mul(PER_STEP)
}
