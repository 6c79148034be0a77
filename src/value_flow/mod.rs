//! Where values of variables are still kept, after the debugging information has stopped giving them: value numbering of machine
//! code, for one lane.
//!
//! It leaves to others which variables there are, what their location lists mean, and to read what is found. The clients are
//! `inspect`, for a stop, and `coverage`, for all addresses of a function. Source: `spec-notes/lost-values.md`.
//!
//! # The analysis
//!
//! A lane is followed from the entry of the function, on and off ([`lane_flow`](crate::lane_flow) does that), and with it what its
//! dwords are: those of scalar registers, its own dword of vector registers and of rows of scratch, and the dwords in lanes of
//! vector registers that `v_writelane` wrote.
//!
//! **Lattice** (`number`). A dword is unknown, a constant, or a number plus a constant. A number names what a place had on entry
//! to the function, what a place had where an instruction looked at it, an argument of the kernel in memory that nothing writes, or
//! an expression of these (`expression`). Dwords with the same number are equal. It is flat: what differs at the ends of two paths
//! is unknown.
//!
//! **Numbers are given on demand.** Where an instruction copies a dword that is unknown or computes with it, it gets a number that is
//! named after the instruction. When that is executed again, the dwords with its earlier number, or computed from it, become unknown
//! first. So numbers are sound in loops: two dwords have the same number in a state only if they are equal on every path to it.
//!
//! **Where a number is** (`search`): in a place with the same number, up to a constant; or it is computed from places that have
//! what it is made of; or a sum or an exclusive or that a place has is solved for it.
//!
//! **Variables** ([`Watched`]). For each variable a state has the numbers of its dwords where the debugging information last gave
//! them, and which instruction that was: the last one that a range of its location list covers, a jump out of it, or
//! one that may switch the lane off. The dwords are those *before*
//! that instruction. Where the range begins with it and it writes the place, nothing is taken: a dual instruction that defines
//! the variable is covered by its own range. A lane that is off at that instruction is not at it, and keeps what it had.
//!
//! **Inlined calls.** Entering one begins another activation of its variables, so that what is known of them is forgotten there.
//!
//! **Which lanes are written.** An instruction writes a lane's dwords if the lane executes it, and may do so where that is not
//! known: then what is kept has to be equal either way. Lanes of a vector register that hold scalar values are lost when it is
//! written otherwise.
//!
//! **Memory.** Rows of scratch at constant distances from the stack pointer are followed. A store or a call that may reach a
//! variable by its address ends what is known of rows, unless the function never takes an address on its stack. Other memory is
//! not followed.
//!
//! **Why it ends.** As for all analyses of lanes: what is joined only loses numbers, and instructions are charged.

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
