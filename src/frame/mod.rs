//! Call frame information: entries, instructions and rows, and unwinding by them.
//!
//! A register of a caller may be anywhere a location description can say: in another register, in lanes
//! of a vector register, in scratch under a mask. Sources: HET A.6.4, DWARF 5 §6.4, USAGE "Call Frame Information".

mod augmentation;
mod entry;
mod index;
mod instruction;
mod print;
mod row;
mod stop;
mod unwind;
pub mod write;

pub use augmentation::{Augmentation, Vendor};
pub use entry::{Cie, Entries, Entry, Fde, FrameSection, SectionKind};
pub use index::FrameIndex;
pub use instruction::{
    CFA_ROWS, CfaOpcode, CfaOperand, CfaRow, Instruction, InstructionItem, Instructions,
};
pub use print::FramePrinter;
pub(crate) use row::RULES_PER_STEP;
pub use row::{CfaRule, RegisterRule, Row, Rows};
pub use stop::Stopped;
pub use unwind::{CallFrame, CallStack, Unwind, unwind};
