//! Exports the items that most users need: `use hetdwarf::prelude::*`.
//!
//! These are the types needed to get from a code object and a stopped wave to its variables, and the traits with the methods used for that.
//!
//! ```
//! use hetdwarf::prelude::*;
//!
//! let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco").unwrap();
//! let object = CodeObject::parse(&file)?;
//! let program = Program::load(&object)?;
//! assert!(program.info().unit_ids().next().is_some());
//!
//! // A wave of which only the pc is known still has a frame.
//! let wave = Snapshot::new("gfx1100", WaveSize::Wave32, 0_u64);
//! let arena = Arena::new();
//! let stop = Stop::new(&program, &wave, wave.pc(), StopOptions::default(), &arena);
//! assert!(stop.frame(0).is_some());
//! # Ok::<(), hetdwarf::Error>(())
//! ```

pub use fallible_iterator::FallibleIterator;

pub use crate::arch::{Lane, Register, WaveSize};
pub use crate::error::{Error, Result};
pub use crate::inspect::{Program, Stop, StopFrame, StopOptions};
pub use crate::limits::Limits;
pub use crate::location::Arena;
pub use crate::object::CodeObject;
pub use crate::untrusted::Untrusted;
pub use crate::wave::{AccessError, Memory, Snapshot, Wave};
