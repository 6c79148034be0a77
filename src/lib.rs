//! Reads and writes the DWARF of GPU code: DWARF 5 and AMD's extensions for heterogeneous debugging.
// The example of the README reads a snapshot, which needs the feature.
#![cfg_attr(feature = "serde", doc = include_str!("../README.md"))]
// The command maps large files: `cli::contents`. The library has nothing of the kind.
#![cfg_attr(not(feature = "cli"), forbid(unsafe_code))]
#![deny(unsafe_code)]
// Not in Cargo.toml, which would say it of examples, benchmarks and tests too: a test that overflows has failed.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
// What `clippy.toml` lists; tests print what they like.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod abi;
pub mod annotate;
pub mod arch;
pub mod cfi_check;
#[cfg(feature = "cli")]
pub mod cli;
pub mod debug_agent;
pub mod debug_info;
pub mod display;
#[cfg(feature = "serde")]
pub mod dump;
pub mod error;
pub mod eval;
pub mod expr;
pub mod frame;
pub mod gpu_core;
pub mod inspect;
pub mod isa;
pub mod lane_flow;
pub mod lane_pc;
pub mod limits;
pub mod location;
pub mod meter;
mod nearest;
pub mod object;
pub mod query;
#[cfg(feature = "serde")]
pub mod report;
pub mod rule;
pub mod untrusted;
pub mod verify;
pub mod wave;

pub use error::{Error, Result};
pub use limits::Limits;
pub use untrusted::Untrusted;
