//! Abstract interpretation of the machine code of one function: the parts that all analyses of code share.
//!
//! Each analysis supplies its lattice and its transfer function. [`cfi_check`](crate::cfi_check) and [`lane_flow`](crate::lane_flow) are solved over
//! the whole graph. [`value_flow`](crate::value_flow) uses the machine and the transfer function along the paths that `lane_flow` follows.
//! [`fault`](crate::fault) uses only [`Edge`].
//!
//! - [`Code`]: the instructions, the edges after each, and the control-flow graph.
//! - [`Machine`]: the known contents of scalar registers, vector registers and rows of scratch at one place.
//! - [`Transfer`]: copies between those, stores, loads and results that are not followed, for any lattice.
//! - [`solve()`]: the work list, in reverse postorder. It returns a [`Solution`], from which the state before any instruction follows.
//!
//! # To write an analysis
//!
//! 1. The lattice of a dword: a type with [`Scalar`]. The top is `UNKNOWN`. `COMPUTED` may be lower, if it matters that a result is none of
//!    the values of interest.
//! 2. The lattice of a vector register: a type with [`Lanes`], whose `Row` names a row of scratch by a base and a distance ([`Row`]). An
//!    analysis that does not follow vector registers has one value here, `UNKNOWN`.
//! 3. The state: a [`Machine`], with other followed parts (EXEC, for example) in a struct around it.
//! 4. The transfer function: [`Transfer`] determines the target of an access, and the lanes that EXEC lets an instruction write. The
//!    analysis's own `match` over [`Effect`](crate::isa::Effect) handles the operations that it follows, and passes the rest to
//!    [`Transfer::step_rest`].
//! 5. [`Analysis`]: charges, the step, and the join. Each join has to rise in a lattice of bounded height, or to be bounded by its charges.
//!
//! `tests.rs` has a complete example: the numbers that registers hold.

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
