//! What most users need: `use hetdwarf::prelude::*`.
//!
//! The types of the way from a code object and a stopped wave to its variables, and the traits whose methods are called on that way.

pub use fallible_iterator::FallibleIterator;

pub use crate::arch::{Lane, Register, WaveSize};
pub use crate::error::{Error, Result};
pub use crate::inspect::{Program, Stop, StopFrame, StopOptions};
pub use crate::limits::Limits;
pub use crate::location::Arena;
pub use crate::object::CodeObject;
pub use crate::untrusted::Untrusted;
pub use crate::wave::{AccessError, Memory, Snapshot, Wave};
