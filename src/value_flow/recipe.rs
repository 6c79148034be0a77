//! Recipes for reading a dword that is still in the machine.

use smallvec::SmallVec;

use super::expression::Operation;
use super::number::Cell;
use crate::lane_flow::Slot;

/// The number of vector registers that pass arguments; other arguments are on the stack.
///
/// Source: USAGE "Non-Kernel Functions".
pub(crate) const ARGUMENTS: u16 = 32;

/// A step of a recipe. Steps push dwords on a stack, and operations pop two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A constant.
    Word(u32),
    /// The contents of a register.
    Register(Cell),
    /// The lane's own dword of a row of scratch, relative to the current contents of a register.
    Row(Slot),
    /// The value of a vector register on entry that the function no longer keeps. The caller may keep it.
    Argument(u16),
    /// The initial value of a register, which follows from the dispatch.
    Initial(Cell),
    /// The result of an operation.
    Apply(Operation),
}

/// A recipe for reading a dword. At its end, one dword is on the stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recipe(pub(crate) SmallVec<[Step; 3]>);

impl Recipe {
    pub(super) fn of(step: Step) -> Recipe {
        Recipe(SmallVec::from_iter([step]))
    }

    /// Returns true if the caller has to supply a value.
    pub(crate) fn has_argument(&self) -> bool {
        self.0.iter().any(|step| matches!(step, Step::Argument(_)))
    }

    /// Returns the recipe for the result of an operation on two dwords.
    pub(super) fn and(mut self, other: Recipe, operation: Operation) -> Recipe {
        self.0.extend(other.0);
        self.0.push(Step::Apply(operation));
        self
    }

    pub(super) fn plus(self, more: u32) -> Recipe {
        match more {
            0 => self,
            more => self.and(Recipe::of(Step::Word(more)), Operation::Add),
        }
    }

    pub(super) fn times(self, by: u32) -> Recipe {
        match by {
            1 => self,
            by => self.and(Recipe::of(Step::Word(by)), Operation::Mul),
        }
    }
}
