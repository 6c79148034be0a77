//! What functions agree on when they call each other, and what is seen of it in machine code.
//!
//! The calling conventions, the registers that a callee writes, and the unit of the stack pointer.
//! `machine_flow` and its clients interpret code by it. Source: USAGE "Non-Kernel Functions".

mod addressing;
mod callees;
mod convention;

pub(crate) use addressing::addressing;
pub(crate) use callees::{Callees, call_targets};
pub(crate) use convention::Convention;
