//! Finds the possible switch-offs at a place from only its program counter, as for a profiler's sample.
//!
//! No mask is read. The answer is unique if only one instruction can have switched a lane off on all paths from the entry to the place.

use std::collections::BTreeSet;

use super::Reason;
use super::fuel::{Fuel, Left, pay};
use super::state::{Exec, HalfAt};
use super::stop::LaneFlow;
use super::switches::MOST_KNOWN;
use super::value::Decisions;
use super::walk::{Goal, WalkResult};
use crate::meter::Meter;

/// The lanes of a half of a wave that may be off before an instruction.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PossiblyOff {
    /// The instructions that may have switched off a lane that entered the function.
    pub switches: BTreeSet<u64>,
    /// True if every lane that is off never executes again.
    pub has_ended: bool,
}

/// The facts about inactive lanes before an instruction.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceOff {
    /// True in a kernel: lanes that did not enter it were never started.
    pub is_kernel: bool,
    /// Lanes 0 to 31 and, for 64 lanes, lanes 32 to 63.
    pub halves: Vec<PossiblyOff>,
}

impl LaneFlow<'_> {
    /// Returns the possible switch-offs of lanes that are inactive before the instruction at `pc`, independent of the masks of a wave.
    ///
    /// * `pc`: an address in the code object.
    /// * `meter`: the budget.
    ///
    /// # Errors
    /// The reason why they are unknown.
    pub fn possibly_off(&self, pc: u64, meter: &Meter) -> Result<PlaceOff, Reason> {
        let at = self.find(pc, false, meter)?;
        let flow = &at.flow;
        let charge = |instructions| pay(meter, instructions).map_err(|_| Reason::Budget);
        charge(flow.since(at.index))?;
        if flow.exec_at(at.index) != Exec::Active {
            return Err(Reason::WholeWave);
        }
        let mut halves = Vec::new();
        for half in 0..flow.halves() {
            let place = HalfAt {
                index: at.index,
                half,
            };
            let all = Fuel::of(MOST_KNOWN);
            let mut fuel = all;
            let found = flow.find_switches(place, &mut fuel);
            charge(fuel.since(all).instructions)?;
            let found = found.ok_or(Reason::Budget)?;
            let switches: BTreeSet<u64> = found.iter().map(|one| one.address).collect();
            let has_ended = at.is_kernel && switches.len() > 1 && {
                let mut left = Left::of(flow.steps(), flow.steps());
                let decisions = Decisions::default();
                let mut search = flow.search_from(place.index, Goal::On);
                let answer = flow.go_on(&mut search, place, &decisions, &mut left);
                charge(left.used())?;
                matches!(answer, Ok(WalkResult::Ends(_)))
            };
            halves.push(PossiblyOff {
                switches,
                has_ended,
            });
        }
        flow.forget(at.index);
        Ok(PlaceOff {
            is_kernel: at.is_kernel,
            halves,
        })
    }
}
