//! Provides reference results for lane program locations: random structured programs, run lane by lane and as a wave.
//!
//! * [`source`]: programs; [`generate`](generate()) makes one from a seed.
//! * [`lane`]: runs one lane alone, without masks, so that its position is known.
//! * [`back_end`]: generates linear code with EXEC masks, and describes its regions to `hetdwarf::lane_pc`; [`machine`] runs it as a wave.
//! * [`graph`]: the same code as a control-flow graph, without information about its origin.
//! * [`object_file`]: writes the debugging information to a file.
//! * [`amdgpu`]: the same code for real processors; [`recovery`]: compares the lanes that `hetdwarf::lane_flow` recovers from that code
//!   with the reference at every step.
//! * [`check`](check()): reads the file back, and compares at every step of the wave.

pub mod amdgpu;
pub mod back_end;
mod check;
mod generate;
pub mod graph;
pub mod lane;
pub mod machine;
mod masks;
mod mutate;
pub mod object_file;
pub mod random;
pub mod recovery;
pub mod source;

pub use check::{Failure, Figures, Form, NAMES, Way, check, shrink};
pub use generate::{generate, smaller};
pub use mutate::{MISTAKES, Mistake, mutate};
pub use random::Random;
