//! What a question pays for that is found out about functions: each thing once, also if it was found out before and kept, so that
//! an answer does not depend on who asked before. What is kept of a function is held by the meter of the file, until the function is
//! forgotten.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

use super::state::{HalfAt, State};
use crate::error::Result;
use crate::meter::{Held, Meter};
use crate::sync::lock;

/// How many instructions that something is followed over are a step of the meter.
const PER_STEP: usize = 8;
/// How many values that are compared or copied count as an instruction.
const PER_INSTRUCTION: usize = 8;
/// How many bytes the states may have that are kept for one thing that is found out.
const MOST_BYTES: u64 = 64 << 20;

/// What is found out about a function once, and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FactKey {
    /// Its graph, and what is known from its entry on.
    Function,
    /// What switches the lanes of a half off.
    Switches(u8),
    /// Where lanes of a half are off that did not enter it.
    Never(u8),
    /// By the number of the instruction where waves stopped in it, what registers have when it returns.
    Returned(usize),
    /// What may have switched its lanes off.
    SwitchesAt(HalfAt),
}

/// What one thing that is found out may still take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fuel {
    instructions: usize,
    bytes: u64,
    /// Whether there were too few instructions.
    is_short: bool,
    /// Whether there were too few bytes: then nothing is counted any more.
    is_full: bool,
}

/// Something that was found out, and what it cost.
#[derive(Clone, Debug)]
pub(super) struct WithCost<T> {
    pub(super) found: T,
    pub(super) cost: Cost,
}

/// Where things are kept that are found out for a key.
pub(super) type Cells<K, T> = Mutex<BTreeMap<K, Arc<OnceLock<WithCost<T>>>>>;

/// The instructions that were gone through, and the bytes of the states that were kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    instructions: usize,
    pub(super) bytes: u64,
}

/// What one question has paid for.
#[derive(Debug)]
pub(crate) struct Bill<'m> {
    meter: &'m Meter,
    /// By the address of the function.
    paid: RefCell<BTreeSet<(u64, FactKey)>>,
}

impl Fuel {
    /// So many instructions, and as many bytes as anything may have.
    pub(super) const fn of(instructions: usize) -> Fuel {
        Fuel {
            instructions,
            bytes: MOST_BYTES,
            is_short: false,
            is_full: false,
        }
    }

    pub(super) const fn instructions(self) -> usize {
        self.instructions
    }

    /// Counts instructions off that are gone through. Nothing if they are not enough; then none is left.
    pub(super) fn count(&mut self, instructions: usize) -> Option<()> {
        if self.is_full {
            return None;
        }
        let rest = self.instructions.checked_sub(instructions);
        self.instructions = rest.unwrap_or(0);
        self.is_short |= rest.is_none();
        rest.map(|_| ())
    }

    /// Counts off a look at so many values.
    pub(super) fn compare(&mut self, values: usize) -> Option<()> {
        self.count(values / PER_INSTRUCTION)
    }

    /// Counts off bytes that are kept.
    pub(super) fn keep(&mut self, bytes: u64) -> Option<()> {
        let rest = self.bytes.checked_sub(bytes);
        self.bytes = rest.unwrap_or(0);
        self.is_full |= rest.is_none();
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
}

impl Cost {
    /// A function that is decoded: every instruction is a step of the meter.
    pub(super) fn of_code(code: &[u8]) -> Cost {
        /// What is kept of each instruction.
        const BYTES: u64 = 512;
        let instructions = code.len() / 4;
        Cost {
            instructions: instructions.saturating_mul(PER_STEP),
            bytes: (instructions as u64).saturating_mul(BYTES),
        }
    }

    pub(super) fn plus(self, other: Cost) -> Cost {
        Cost {
            instructions: self.instructions.saturating_add(other.instructions),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

impl<T> WithCost<T> {
    /// With the bytes of what is kept.
    pub(super) fn with_bytes(mut self, bytes: impl Fn(&T) -> u64) -> WithCost<T> {
        self.cost.bytes = bytes(&self.found);
        self
    }
}

impl<T> WithCost<Option<T>> {
    /// With the bytes of what is kept, which may be less than it took to find it.
    pub(super) fn keeping(mut self, bytes: impl Fn(&T, u64) -> u64) -> WithCost<Option<T>> {
        let found = self.cost.bytes;
        self.cost.bytes = (self.found.as_ref()).map_or(0, |kept| bytes(kept, found));
        self
    }
}

impl<'m> Bill<'m> {
    pub(super) fn new(meter: &'m Meter) -> Bill<'m> {
        Bill {
            meter,
            paid: RefCell::default(),
        }
    }

    /// Whether something could not be paid for.
    pub(super) fn is_refused(&self) -> bool {
        self.meter.refused().is_some()
    }

    /// How many instructions may still be gone through.
    pub(super) fn left(&self) -> usize {
        let left = usize::try_from(self.meter.steps_left()).unwrap_or(usize::MAX);
        left.saturating_mul(PER_STEP)
    }

    /// Pays for instructions that are gone through.
    ///
    /// # Errors
    /// [`Limit::Work`](crate::error::Limit::Work) if fewer are left.
    pub(super) fn pay(&self, instructions: usize) -> Result<()> {
        self.meter.work(instructions.div_ceil(PER_STEP) as u64)
    }

    /// Whether something can be paid for; it is not paid yet.
    ///
    /// # Errors
    /// If not.
    pub(super) fn affords(&self, cost: Cost) -> Result<()> {
        if self.left() < cost.instructions {
            self.pay(usize::MAX)?;
        }
        self.has_room_for(cost.bytes)
    }

    /// Whether the question may hold so many bytes.
    ///
    /// # Errors
    /// If not.
    fn has_room_for(&self, bytes: u64) -> Result<()> {
        self.meter.hold(bytes)?;
        self.meter.release(bytes);
        Ok(())
    }

    /// Holds what is kept for all questions.
    ///
    /// # Errors
    /// If the file may not hold so much; it is then the question's error.
    pub(super) fn hold(&self, held: &Held, bytes: u64) -> Result<()> {
        let count = usize::try_from(bytes).unwrap_or(usize::MAX);
        if held.meter().affords::<u8>(0, count) {
            held.hold(bytes)
        } else {
            self.meter.hold(u64::MAX)
        }
    }

    /// Finds something out, which is not paid yet.
    ///
    /// * `most`: how many instructions may be gone through for it.
    /// * `find`: counts them off, and leaves none where they are not enough.
    ///
    /// # Errors
    /// As [`pay`](Bill::pay), if it took more than are left, and [`Limit::Memory`](crate::error::Limit::Memory) for states that it
    /// kept: what `find` gives then says nothing.
    pub(super) fn find<T>(
        &self,
        most: usize,
        find: impl FnOnce(&mut Fuel) -> T,
    ) -> Result<WithCost<T>> {
        let granted = Fuel::of(self.left().min(most));
        let mut fuel = granted;
        let found = find(&mut fuel);
        if fuel.is_short && granted.instructions < most {
            self.pay(usize::MAX)?;
        }
        let cost = Cost {
            instructions: granted.instructions.saturating_sub(fuel.instructions),
            bytes: granted.bytes.saturating_sub(fuel.bytes),
        };
        if let Err(error) = self.has_room_for(cost.bytes) {
            self.pay(cost.instructions)?;
            return Err(error);
        }
        Ok(WithCost { found, cost })
    }

    /// What is kept of a function, found out if nobody has done so before, and paid for.
    ///
    /// # Errors
    /// As [`find`](Bill::find).
    pub(super) fn keep<'k, T>(
        &self,
        cell: &'k OnceLock<WithCost<T>>,
        key: (u64, FactKey),
        held: &Held,
        find: impl FnOnce() -> Result<WithCost<T>>,
    ) -> Result<&'k T> {
        if let Some(kept) = cell.get() {
            self.pay_once(key, kept.cost)?;
            return Ok(&kept.found);
        }
        let found = find()?;
        let bytes = found.cost.bytes;
        self.pay_once(key, found.cost)?;
        self.hold(held, bytes)?;
        let mut is_first = false;
        let kept = cell.get_or_init(|| {
            is_first = true;
            found
        });
        // Another thread was faster.
        if !is_first {
            held.release(bytes);
        }
        Ok(&kept.found)
    }

    /// Pays for something that is kept of a function, if that was not done before.
    pub(super) fn pay_once(&self, key: (u64, FactKey), cost: Cost) -> Result<()> {
        if self.paid.borrow_mut().insert(key) {
            self.pay(cost.instructions)?;
            self.has_room_for(cost.bytes)?;
        }
        Ok(())
    }
}

/// Where something is kept that is found out for a key.
pub(super) fn cell_of<K: Ord, T>(cells: &Cells<K, T>, key: K) -> Arc<OnceLock<WithCost<T>>> {
    let mut cells = lock(cells);
    Arc::clone(cells.entry(key).or_default())
}
