//! Short ways for what is most common in real code. Each gives what the machine gives, in value, error and steps, which a property
//! test in its file holds against the machine; each can be deleted, and nothing but the count of instructions changes. What each saves, of
//! the instructions of an expression of real code, stands at its head: `BENCHMARKS.md` has the mixes (`cargo bench --profile dist --bench counts -- mix/`).

mod frame_base;
mod in_registers;

pub(super) use in_registers::{REG0, REG31, REGX, may_name_registers, run_in_registers};
