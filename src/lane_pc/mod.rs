//! Divergent program locations: from structured control flow to `DW_AT_LLVM_lane_pc`.
//!
//! A back end describes a function as a tree of [`Region`]s. Each has the mask of lanes that entered it, and the places where inactive
//! lanes wait. For a back end that has only linear code and its effects on EXEC, [`graph::recover`] finds the tree. [`Program::new`]
//! converts the tree to debugging information. [`UnitWriter`] adds it to a `gimli::write::Unit`, [`sections()`] writes a unit of its own as
//! sections with relocations, and [`assembly()`] prints one for an assembler. Reading it back is left to [`inspect`](crate::inspect), and control flow to the back end.
//!
//! `r = a > b ? a + b : a - b`, from a back end that saved EXEC in `s4`:
//!
//! ```
//! use hetdwarf::arch::WaveSize;
//! use hetdwarf::lane_pc::{AssemblyFunction, Function, Label, MaskPlace, Program, Region, assembly};
//!
//! let range = |from: u64, to: u64| Label::from(from)..Label::from(to);
//! // Lanes of `else` wait at 0x08 while `then` runs; those of `then` wait at 0x1c while `else` does.
//! let choice = Region::if_then_else(
//!     0x08.into(),
//!     (range(0x0c, 0x14), vec![]),
//!     (range(0x14, 0x1c), vec![]),
//!     0x1c.into(),
//!     MaskPlace::Scalar(4),
//! );
//! let program = Program::new(&Function {
//!     code: range(0, 0x24),
//!     wave_size: WaveSize::Wave32,
//!     regions: vec![choice],
//!     whole_wave: vec![],
//! })?;
//! let function = AssemblyFunction { name: "choose", start: "choose", end: ".Lend", program: &program };
//! let text = assembly("choose.c", &[function]);
//! assert!(text.contains(".debug_info"));
//! # Ok::<(), hetdwarf::Error>(())
//! ```
//!
//! The scheme follows [USAGE](crate) `DW_AT_LLVM_lane_pc`, with two corrections (`spec-notes/lane-pc.md`). Each region that a lane can wait
//! in has a DWARF procedure, which is based on the one of the enclosing region. The active lanes are overlaid with the program counter.

mod assembly;
mod gimli_unit;
pub mod graph;
mod mask;
mod program;
mod region;
mod sections;
#[cfg(test)]
mod tests;

pub use assembly::{AssemblyFunction, assembly};
pub(crate) use gimli_unit::code as attribute_code;
pub use gimli_unit::{UnitWriter, Written};
pub use mask::MaskPlace;
pub use program::{Operand, Procedure, Program, Variable};
pub use region::{Function, Label, Phase, Region, WholeWave};
pub use sections::{Section, SectionFunction, SectionRelocation, sections};
