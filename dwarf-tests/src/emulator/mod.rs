//! Emulates compiled kernels: a wave that executes the instructions of LLVM's disassembly, lane by lane.

pub mod machine;
pub mod program;

pub use machine::{Event, Machine};
pub use program::Program;
