//! Reads call frame information: entries, instructions and rows, and unwinds with it.
//!
//! A caller's register may be at any location description: in another register, in lanes of a vector register, or in scratch under a mask. Sources:
//! [HET](crate) A.6.4, DWARF 5 §6.4, [USAGE](crate) "Call Frame Information".
//!
//! Finds the return address of `leaf` after its prologue:
//!
//! ```
//! use hetdwarf::{inspect::Program, object::CodeObject};
//!
//! let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco").unwrap();
//! let object = CodeObject::parse(&file)?;
//! let program = Program::load(&object)?;
//! let mid = object.symbols()?.into_iter().find(|symbol| symbol.name == "mid").unwrap();
//! let (fde, row) = program.cfi().row_at(mid.address + 0x40, None)?.unwrap();
//! assert!(fde.contains(mid.address));
//! let return_address = fde.cie.return_address_register;
//! println!("from {:#x}: return address {:?}", row.start, row.rule(return_address));
//! # Ok::<(), hetdwarf::Error>(())
//! ```

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod address;
mod augmentation;
mod eh_pointer;
mod entry;
mod index;
mod instruction;
mod print;
mod row;
mod rule;
mod stop;
mod unwind;
pub mod write;

pub use address::FrameAddress;
pub use augmentation::{Augmentation, Vendor};
pub use entry::{Cie, Entries, Entry, Fde, FrameSection, SectionKind};
pub use index::FrameIndex;
pub(crate) use instruction::Effect;
pub use instruction::{
    CFA_ROWS, CfaOpcode, CfaOperand, CfaRow, Instruction, InstructionItem, Instructions,
};
pub use print::FramePrinter;
pub(crate) use row::{REMEMBERED, RULES_PER_STEP};
pub use row::{Row, Rows};
pub use rule::{CfaRule, RegisterRule, RuleExpression};
pub use stop::Stopped;
pub use unwind::{CallFrame, CallStack, CorrectedRule, Unwind, unwind};
pub(crate) use unwind::{
    CallerExec, Correction, Corrections, Derived, LanesLeft, LostRegister, unwind_corrected,
};
