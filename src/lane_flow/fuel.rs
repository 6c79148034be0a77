//! Bounds the analysis of machine code.
//!
//! Facts about a function are found once and kept for all queries. Their budget depends only on the file and the function, and queries
//! are not charged for them. The facts for one place of a function are charged to every query that needs them, even if they were found
//! before. The result of a query therefore does not depend on earlier queries. The meter of the file holds the kept facts until the
//! function is forgotten.

use super::Reason;
use super::state::State;
use crate::error;
use crate::meter::Meter;

/// The number of followed instructions that cost one step of the meter. `meter.rs` lists the other factors.
const INSTRUCTIONS_PER_STEP: usize = 8;
/// The number of values, compared or copied, that cost as much as a followed instruction.
const VALUES_PER_INSTRUCTION: usize = 8;
/// The number of copied bytes that cost as much as a followed instruction, where a query is charged for copies of states.
const COPIED_PER_INSTRUCTION: u64 = 128;
/// The number of facts per function: its code, its states, and three for each half of the wave. These are its liveness, and the switch-offs
/// of lanes that entered the function and of lanes that did not.
const FACTS: u64 = 8;
/// The most bytes of states that are kept for one fact.
const MOST_BYTES: u64 = 64 << 20;

/// The budget that is left to find one fact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fuel {
    instructions: usize,
    bytes: u64,
}

/// The cost of one fact.
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
    /// Returns a budget of this many instructions, with the largest budget of bytes.
    pub(super) const fn of(instructions: usize) -> Fuel {
        Fuel {
            instructions,
            bytes: MOST_BYTES,
        }
    }

    /// Returns the budget of each fact about a function. All facts about a file together may use half the steps of a query about it.
    ///
    /// * `size`: the bytes of the function, `all`: the bytes of all functions of the file.
    /// * `meter`: the meter of the file.
    pub(super) fn of_fact(size: usize, all: u64, meter: &Meter) -> Fuel {
        let steps = meter.most_steps() / 2 / FACTS;
        let instructions = steps.saturating_mul(INSTRUCTIONS_PER_STEP as u64);
        let share = Meter::share(instructions, size as u64, &mut { all });
        Fuel {
            instructions: usize::try_from(share).unwrap_or(usize::MAX),
            bytes: MOST_BYTES.min(meter.most_bytes() / 2),
        }
    }

    /// Returns this budget, limited to a number of instructions.
    pub(super) fn at_most(self, instructions: usize) -> Fuel {
        Fuel {
            instructions: self.instructions.min(instructions),
            ..self
        }
    }

    pub(super) const fn instructions(self) -> usize {
        self.instructions
    }

    /// Returns a budget of this many instructions, and of the bytes that are left of this one.
    pub(super) const fn refilled(self, instructions: usize) -> Fuel {
        Fuel {
            instructions,
            bytes: self.bytes,
        }
    }

    /// Returns the most steps of the meter that all facts about a function can cost, if this is the budget of each.
    pub(super) fn steps_of_facts(self) -> u64 {
        (self.instructions.div_ceil(INSTRUCTIONS_PER_STEP) as u64).saturating_mul(FACTS)
    }

    /// Charges for followed instructions. Returns `None`, and leaves nothing, if the budget is exceeded.
    pub(super) fn count(&mut self, instructions: usize) -> Option<()> {
        let rest = self.instructions.checked_sub(instructions);
        self.instructions = rest.unwrap_or(0);
        rest.map(|_| ())
    }

    /// Charges for decoding a function: one step of the meter per instruction.
    pub(super) fn decode(&mut self, instructions: usize) -> Option<()> {
        self.count(instructions.saturating_mul(INSTRUCTIONS_PER_STEP))
    }

    /// Charges for comparing values.
    pub(super) fn compare(&mut self, values: usize) -> Option<()> {
        self.count(values / VALUES_PER_INSTRUCTION)
    }

    /// Charges for kept bytes.
    pub(super) fn keep(&mut self, bytes: u64) -> Option<()> {
        self.bytes = self.bytes.checked_sub(bytes)?;
        self.count(1)
    }

    /// Joins a state with the one that is kept before a leader. If there is none, the caller keeps the new state. Returns true if the kept
    /// state changes, and `None` if the budget is exceeded.
    ///
    /// * `shared`: the bytes that the state shares only with the state that the analysis continues with.
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
            // After the join, it may no longer share its contents.
            self.keep(known.bytes())?;
        }
        Some(is_new)
    }

    /// Returns the difference to an earlier budget.
    pub(super) fn since(self, before: Fuel) -> Used {
        Used {
            instructions: before.instructions.saturating_sub(self.instructions),
            bytes: before.bytes.saturating_sub(self.bytes),
        }
    }
}

/// The budget that is left for the plans of a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    /// The number of instructions that may still be followed, independently of the query's budget.
    instructions: usize,
    /// The query's budget in instructions, which is also charged for copies of states.
    paid: usize,
    /// The number of instructions that were charged to the query.
    used: usize,
}

impl Left {
    /// Creates the budget.
    ///
    /// * `instructions`: the number of instructions that may be followed, independently of the query's budget.
    /// * `paid`: the query's budget in instructions.
    pub(super) const fn of(instructions: usize, paid: usize) -> Left {
        Left {
            instructions,
            paid,
            used: 0,
        }
    }

    /// Returns the number of instructions that may still be followed.
    pub(super) fn instructions(self) -> usize {
        self.instructions.min(self.paid)
    }

    /// Returns the number of instructions that were charged, including the cost of copies.
    pub(super) const fn used(self) -> usize {
        self.used
    }

    /// Returns true if the query's budget is used up.
    pub(super) const fn is_paid_out(self) -> bool {
        self.paid == 0
    }

    /// Charges a cost. If less is left, nothing is left afterwards.
    pub(super) fn take(&mut self, used: Used) {
        let copies = usize::try_from(used.bytes / COPIED_PER_INSTRUCTION).unwrap_or(usize::MAX);
        let all = used.instructions.saturating_add(copies).min(self.paid);
        self.instructions = self.instructions.saturating_sub(used.instructions);
        self.paid = self.paid.saturating_sub(all);
        self.used = self.used.saturating_add(all);
    }

    /// Charges for followed instructions.
    ///
    /// # Errors
    /// If fewer instructions are left. Afterwards, none are left.
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

/// Charges a query for followed instructions.
///
/// # Errors
/// [`Limit::Work`](crate::error::Limit::Work) if fewer instructions are left.
pub(super) fn pay(meter: &Meter, instructions: usize) -> error::Result<()> {
    meter.work(instructions.div_ceil(INSTRUCTIONS_PER_STEP) as u64)
}

/// Returns the number of instructions that a query may still follow.
pub(super) fn left(meter: &Meter) -> usize {
    let left = usize::try_from(meter.steps_left()).unwrap_or(usize::MAX);
    left.saturating_mul(INSTRUCTIONS_PER_STEP)
}
