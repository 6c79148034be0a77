//! The truth of lane program locations: random structured programs, run lane by lane and as a wave.
//!
//! * [`source`]: programs; [`generate`](generate()) makes one of a seed.
//! * [`lane`]: one lane alone, which knows where it is, and nothing of masks.
//! * [`back_end`]: makes linear code under EXEC masks, and describes its regions to
//!   `hetdwarf::lane_pc`; [`machine`] runs it as a wave.
//! * [`graph`]: the same code as a control-flow graph, of which nobody says what it was made from.
//! * [`object_file`]: the debugging information in a file.
//! * [`amdgpu`]: the same code as that of processors; [`recovery`]: what `hetdwarf::lane_flow` finds out about its
//!   lanes from that code alone, compared at every step.
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
