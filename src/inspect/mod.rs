//! What a debugger asks of a stopped wave: its frames, and the variables of each, lane by lane.
//!
//! It joins the layers below and adds no rules of its own, but one: how the variables of LLVM without the
//! extensions are read (`spec-notes/legacy-llvm.md`).
//!
//! A debugger loads a [`Program`] once for each code object, and makes a [`Stop`] when a wave stops.

mod lane_pc;
mod lane_recovery;
mod layout;
mod legacy;
mod pointee;
mod process;
mod program;
mod prologue;
mod stop;
mod undescribed;
mod variable;
mod waiting;

pub use lane_pc::{LaneInCaller, LaneOrigin, LanePcs, LanePlace, Recovery, UnknownLane};
pub use process::Programs;
pub use program::Program;
pub use stop::{Stop, StopFrame, StopOptions};
pub use undescribed::Undescribed;
pub(crate) use variable::MOST_BYTES;
pub use variable::{LaneState, LocationReading, VariableValue};
