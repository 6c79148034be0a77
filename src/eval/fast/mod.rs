//! Short ways for what is most common in real code. Each gives what the machine gives, in value, error and steps, which a property
//! test in its file holds against the machine; each can be deleted, and nothing but the count of instructions changes. What they save is in
//! `BENCHMARKS.md`.

mod frame_base;
mod in_registers;

pub(super) use in_registers::{REG0, REG31, REGX, may_name_registers, run_in_registers};
