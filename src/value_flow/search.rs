//! Finds recipes that compute a number from the contents of registers and rows.

use core::cell::Cell as Counter;
use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::expression::{Expression, Expressions, Operation, inverse};
use super::number::{Cell, Number, Origin};
use super::recipe::{ARGUMENTS, Recipe, Step};
use super::state::State;
use crate::isa::MachineRegister;
use crate::lane_flow::Slot;

/// A search at one place of the code.
pub(super) struct Search<'s> {
    state: &'s State,
    expressions: &'s Expressions,
    /// For each origin, the place that holds it and the offset there. Prefers the place that is easiest to read.
    holders: BTreeMap<Origin, (Cell, u32)>,
    /// The places with expressions, which may be solved for their operands.
    computed: Vec<(Cell, Number)>,
    /// The registers whose values on entry follow from the dispatch.
    known: &'s [Cell],
    /// The number of searches that are left.
    left: Counter<u32>,
}

impl<'s> Search<'s> {
    /// The most operations that a dword may need.
    const MOST_DEPTH: u32 = 4;
    /// The most searches.
    const MOST: u32 = 1 << 12;

    /// Creates a search.
    ///
    /// * `known`: the registers whose values on entry follow from the dispatch.
    pub(super) fn new(
        state: &'s State,
        expressions: &'s Expressions,
        known: &'s [Cell],
    ) -> Search<'s> {
        let mut holders = BTreeMap::new();
        let mut computed = Vec::new();
        for (cell, number) in state.numbered() {
            let is_read = match cell {
                Cell::Row(slot) => row_now(state, slot).is_some(),
                Cell::Scalar(_) | Cell::Own(_) | Cell::Lane { .. } => true,
            };
            if let Number::Known { origin, plus } = number
                && is_read
            {
                let known = holders.entry(origin).or_insert((cell, plus));
                // A copy needs no sum.
                if known.1 != 0 && plus == 0 {
                    *known = (cell, plus);
                }
                if matches!(origin, Origin::Computed(_)) {
                    computed.push((cell, number));
                }
            }
        }
        Search {
            state,
            expressions,
            holders,
            computed,
            known,
            left: Counter::new(Self::MOST),
        }
    }

    /// Returns the number of values that were visited.
    pub(super) fn looked_at(&self) -> usize {
        let asked = (Self::MOST - self.left.get()) as usize;
        asked * self.computed.len().max(1)
    }

    /// Returns the recipes for dwords with these numbers.
    pub(super) fn recipes(&self, numbers: &[Number]) -> Option<SmallVec<[Recipe; 2]>> {
        numbers.iter().map(|number| self.recipe(*number)).collect()
    }

    /// Returns the recipes for reading these values on entry from copies in other places.
    pub(super) fn copies(&self, numbers: &[Number]) -> Option<SmallVec<[Recipe; 2]>> {
        let copy = |wanted: &Number| {
            let mut places = self.state.numbered();
            let found = places
                .find(|(cell, number)| number == wanted && *number != Number::at_entry(*cell));
            Some(Recipe::of(self.step(found?.0)?))
        };
        numbers.iter().map(copy).collect()
    }

    /// Returns the recipe for a dword with a number.
    pub(super) fn recipe(&self, wanted: Number) -> Option<Recipe> {
        self.within(wanted, Self::MOST_DEPTH)
    }

    /// Returns a recipe with limited operations.
    ///
    /// * `depth`: the most operations that it may need.
    fn within(&self, wanted: Number, depth: u32) -> Option<Recipe> {
        let (origin, plus) = match wanted {
            Number::Unknown => return None,
            Number::Word(word) => return Some(Recipe::of(Step::Word(word))),
            Number::Known { origin, plus } => (origin, plus),
        };
        self.left.set(self.left.get().checked_sub(1)?);
        if let Some((cell, has)) = self.holders.get(&origin) {
            let place = Recipe::of(self.step(*cell)?);
            return Some(place.plus(plus.wrapping_sub(*has)));
        }
        if let Origin::Entry(cell) = origin
            && self.known.contains(&cell)
        {
            return Some(Recipe::of(Step::Initial(cell)).plus(plus));
        }
        let depth = depth.checked_sub(1)?;
        let made = match origin {
            Origin::Computed(id) => match self.expressions.get(id)? {
                Expression::Sum(terms) => {
                    let terms = terms.iter().map(|(origin, factor)| {
                        let origin = *origin;
                        let one = self.within(Number::Known { origin, plus: 0 }, depth)?;
                        Some(one.times(*factor))
                    });
                    let sum = terms.reduce(|one, other| Some(one?.and(other?, Operation::Add)));
                    sum.flatten()
                }
                Expression::Of(operation, a, b) => self
                    .within(a, depth)
                    .and_then(|a| Some(a.and(self.within(b, depth)?, operation))),
            },
            Origin::Entry(_) | Origin::At { .. } | Origin::Kernarg(_) => None,
        };
        // Values that the caller would have to supply come last.
        let mut found = made;
        for (cell, number) in &self.computed {
            if found.as_ref().is_some_and(|found| !found.has_argument()) {
                break;
            }
            let solved = self.solved(*cell, *number, origin, depth);
            let is_local = solved.as_ref().is_some_and(|one| !one.has_argument());
            if found.is_none() || is_local {
                found = solved;
            }
        }
        let argument = || match origin {
            Origin::Entry(Cell::Own(MachineRegister::Vgpr(register))) => {
                (register < ARGUMENTS).then(|| Recipe::of(Step::Argument(register)))
            }
            Origin::Entry(_) | Origin::At { .. } | Origin::Kernarg(_) | Origin::Computed(_) => None,
        };
        let found = found.or_else(argument)?;
        Some(found.plus(plus))
    }

    /// Returns the recipe for an origin, computed from a place whose expression contains it.
    fn solved(&self, cell: Cell, number: Number, wanted: Origin, depth: u32) -> Option<Recipe> {
        let Number::Known {
            origin: Origin::Computed(id),
            plus,
        } = number
        else {
            return None;
        };
        match self.expressions.get(id)? {
            Expression::Sum(terms) => {
                let (_, factor) = terms.iter().find(|(origin, _)| *origin == wanted)?;
                let inverse = inverse(*factor)?;
                let others = terms.iter().filter(|(origin, _)| *origin != wanted);
                let mut rest = Recipe::of(self.step(cell)?).plus(plus.wrapping_neg());
                for (origin, factor) in others {
                    let origin = *origin;
                    let other = self.within(Number::Known { origin, plus: 0 }, depth)?;
                    rest = rest.and(other.times(factor.wrapping_neg()), Operation::Add);
                }
                Some(rest.times(inverse))
            }
            Expression::Of(Operation::Xor, a, b) => {
                let of = |one: Number, other: Number| match one {
                    Number::Known { origin, plus } if origin == wanted => Some((plus, other)),
                    Number::Known { .. } | Number::Word(_) | Number::Unknown => None,
                };
                let (more, other) = of(a, b).or_else(|| of(b, a))?;
                let other = self.within(other, depth)?;
                let has = Recipe::of(self.step(cell)?).plus(plus.wrapping_neg());
                Some(has.and(other, Operation::Xor).plus(more.wrapping_neg()))
            }
            Expression::Of(..) => None,
        }
    }

    /// Returns the step that reads a place.
    fn step(&self, cell: Cell) -> Option<Step> {
        match cell {
            Cell::Row(slot) => row_now(self.state, slot).map(Step::Row),
            Cell::Scalar(_) | Cell::Own(_) | Cell::Lane { .. } => Some(Step::Register(cell)),
        }
    }
}

/// Converts a row relative to the value of a register on entry to a row relative to the current contents of a register.
fn row_now(state: &State, slot: Slot) -> Option<Slot> {
    let Some(base) = slot.base else {
        return Some(slot);
    };
    let on_entry = Origin::Entry(Cell::Scalar(base));
    state.scalars.iter().find_map(|(register, number)| {
        let Number::Known { origin, plus } = number else {
            return None;
        };
        let is_it = origin == on_entry && plus == 0 && is_stack_register(register);
        is_it.then_some(Slot {
            base: Some(register),
            ..slot
        })
    })
}

/// Returns true for the registers that stack addresses are relative to.
fn is_stack_register(register: MachineRegister) -> bool {
    crate::machine_flow::STACK_REGISTERS.contains(&register)
}
