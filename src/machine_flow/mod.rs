//! Abstract interpretation of the machine code of one function: what all analyses of code share.
//!
//! It leaves to an analysis what is known (its lattice), and what operations do with that (its transfer function). The clients are
//! [`cfi_check`](crate::cfi_check) and [`lane_flow`](crate::lane_flow).
//!
//! - [`Code`]: the instructions, where control goes after each, and the control-flow graph.
//! - [`Machine`]: what is known of scalar registers, vector registers and rows of scratch at one place.
//! - [`Transfer`]: copies between those, stores, loads and results that are not followed, for any lattice.
//! - [`solve()`]: the work list, by reverse postorder. It gives a [`Solution`], from which the state before any instruction follows.
//!
//! # To write an analysis
//!
//! 1. The lattice of a dword: a type with [`Scalar`]. The top is `UNKNOWN`; `COMPUTED` may be lower, where it matters that a result
//!    is none of the values that are looked for.
//! 2. The lattice of a vector register: a type with [`Lanes`], whose `Row` names a row of scratch by a base and a distance ([`Row`]). An
//!    analysis that does not follow vector registers has one value here, `UNKNOWN`.
//! 3. The state: a [`Machine`], with what else is followed (EXEC, for example) in a struct around it.
//! 4. The transfer function: [`Transfer`] says where an access goes and which lanes EXEC lets an instruction write. The analysis's own
//!    `match` over [`Effect`](crate::isa::Effect) has the operations that it follows, and gives the rest to [`Transfer::step_rest`].
//! 5. [`Analysis`]: charges, the step, and the join. Each has to rise in a lattice of bounded height, or to be bounded by what it is
//!    charged with.
//!
//! `tests.rs` has a whole one: the numbers that registers hold.

mod code;
mod machine;
mod scalars;
mod solve;
mod step;
#[cfg(test)]
mod tests;

pub(crate) use code::{Code, Edge, Graph, STACK_REGISTERS};
pub(crate) use machine::{Lanes, Machine, Row};
pub(crate) use scalars::{Scalar, Scalars, bit, indices, nth, numbered_scalar, scalar_index};
pub(crate) use solve::{Analysis, Solution, Targets, solve, targets};
pub(crate) use step::{Reached, ScalarOperation, Transfer, in_lane, rows};
