//! Finds values of variables that are still in the machine after the debugging information has stopped describing them, by value numbering
//! of machine code for one lane.
//!
//! Callers supply the variables and their location lists, and read the places that are found. The clients are `inspect`, for a stop, and
//! `coverage`, for all addresses of a function. Source: `spec-notes/lost-values.md`.
//!
//! # The analysis
//!
//! A lane is followed from the entry of the function, on and off, by [`lane_flow`](crate::lane_flow). Its dwords are followed with it:
//! scalar registers, its own dwords of vector registers and of rows of scratch, and the dwords in lanes of vector registers that
//! `v_writelane` wrote.
//!
//! **Lattice** (`number`). A dword is unknown, a constant, or a number plus a constant. A number stands for a place on entry to the
//! function or at an instruction that read it, for a kernel argument in memory, or for an expression of these (`expression`). Kernel
//! arguments are never written. Dwords with the same number are equal. The lattice is flat: values that differ at the ends of two paths
//! become unknown.
//!
//! **Numbers on demand.** If an instruction copies an unknown dword or computes with it, the dword gets a number that is named after the
//! instruction. When the instruction is executed again, the dwords with its earlier number, or computed from it, become unknown first.
//! Numbers are therefore sound in loops: two dwords have the same number in a state only if they are equal on every path to it.
//!
//! **Search** (`search`). A number is found in a place with the same number, up to a constant. Otherwise, it is computed from the places of
//! its operands, or a place with a sum or an exclusive or is solved for it.
//!
//! **Variables** ([`Watched`]). For each variable, a state has the numbers of its dwords where the debugging information last described it,
//! and the instruction. That is the last instruction in a range of its location list, a jump out of it, or one that may switch the lane
//! off. The dwords are the ones *before* that instruction. If the range begins with the instruction, and it writes the place, the variable
//! is unknown: a dual instruction that defines the variable is covered by its own range. A lane that is off at that instruction keeps its
//! earlier value.
//!
//! **Inlined calls.** Entering one begins another activation of its variables, so their known values are forgotten there.
//!
//! **Written lanes.** An instruction writes a lane's dwords if the lane executes it. If that is unknown, it may write them, and only values
//! that are equal either way are kept. Lanes of a vector register that hold scalar values are lost when it is written otherwise.
//!
//! **Memory.** Rows of scratch at constant distances from the stack pointer are followed. A call makes all rows unknown, and so does a
//! store that may reach a variable by its address. Other memory is not followed.
//!
//! **Termination.** As for all analyses of lanes, a join only removes numbers, and instructions are charged.

mod contents;
mod expression;
mod number;
mod plan;
mod recipe;
mod search;
mod state;
mod step;
mod survey;
#[cfg(test)]
mod tests;
mod watched;

pub(crate) use number::Cell;
pub(crate) use plan::{Kept, KeptValue, find};
pub(crate) use recipe::{ARGUMENTS, Recipe, Step};
pub(crate) use survey::{Asked, KeptRange, Sought, survey};
pub(crate) use watched::{Covered, Dword, KernelEntry, OnEntry, Watched};
