//! Reads and writes the DWARF of GPU code: DWARF 5 and AMD's extensions for heterogeneous debugging.
//!
//! It implements two specifications, which the documentation cites:
//!
//! - **HET**: [DWARF Extensions For Heterogeneous Debugging](https://llvm.org/docs/AMDGPUDwarfExtensionsForHeterogeneousDebugging.html), by section
//!   number: `HET A.2.5.4.4.6`. For everything else it defers to the [DWARF 5](https://dwarfstd.org/dwarf5std.html) standard.
//! - **USAGE**: [User Guide for AMDGPU Backend](https://llvm.org/docs/AMDGPUUsage.html), by section title: `USAGE "Address Space Identifier"`.
//!
//! If both leave a choice, `spec-notes/` in the repository documents the decision and its reason.
// The example of the README reads a snapshot, which needs the feature.
#![cfg_attr(feature = "serde", doc = include_str!("../README.md"))]
#![forbid(unsafe_code)]
// `clippy.toml` lists these methods. Tests may print anything.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

// Modules that read bytes warn about arithmetic that can overflow: `clippy::arithmetic_side_effects` is set in each module, or for some of them here.
// Tests are exempt, since an overflow makes them fail.
mod abi;
#[cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
pub mod annotate;
pub mod arch;
pub mod cfi_check;
#[cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
pub mod coverage;
pub mod debug_agent;
pub mod debug_info;
pub mod display;
#[cfg(feature = "serde")]
#[cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
pub mod dump;
pub mod error;
pub mod eval;
pub mod expr;
#[cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
mod fault;
mod flat;
pub mod frame;
pub mod gpu_core;
#[cfg(feature = "serde")]
mod hex;
pub mod inspect;
pub mod isa;
#[cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
pub mod lane_flow;
pub mod lane_pc;
pub mod limits;
pub mod location;
mod machine_flow;
pub mod meter;
mod nearest;
pub mod object;
pub mod plural;
pub mod prelude;
#[cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
pub mod profile;
pub mod query;
#[cfg(feature = "serde")]
pub mod report;
pub mod rule;
mod sync;
pub mod tree;
pub mod untrusted;
mod value_flow;
pub mod verify;
pub mod wave;

// Types of these packages are part of the public interface.
pub use fallible_iterator;
pub use gimli;
pub use petgraph;
pub use smallvec;

pub use error::{Error, Result};
pub use limits::Limits;
pub use untrusted::Untrusted;
