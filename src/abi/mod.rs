//! The calling conventions of functions, and their traces in machine code.
//!
//! The module has the conventions, the registers that a callee writes, and the unit of the stack pointer. `machine_flow` and its clients
//! interpret code with it. Source: USAGE "Non-Kernel Functions".

mod addressing;
mod callees;
mod convention;

pub(crate) use addressing::addressing;
pub(crate) use callees::{Callees, call_targets};
pub(crate) use convention::Convention;
