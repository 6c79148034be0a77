//! Writes call frame information, `.debug_frame`, from the events of a function's prologue and epilogue.
//!
//! Reading it back is left to [`frame`](super); [`location`](crate::location) defines the places of registers. Sources: [HET](crate) A.6.4 and
//! A.7.24, DWARF 5 §6.4, [USAGE](crate) "Call Frame Information".
//!
//! ```
//! use hetdwarf::arch::{Register, ScratchAddressing, WaveSize};
//! use hetdwarf::frame::write::{Common, FrameTable, FunctionFrame, ReturnAddress, Start, Target};
//! use hetdwarf::frame::{FrameIndex, FrameSection};
//!
//! let target = Target { wave_size: WaveSize::Wave64, scratch: ScratchAddressing::Buffer };
//! let sgpr = |n| Register::sgpr(n).unwrap();
//! let mut helper = FunctionFrame::new(target, &Common::new(), Start::symbol("helper"), 0x40)?;
//! helper.cfa_from_stack_pointer(sgpr(32))?.return_address_in(ReturnAddress::Pair(sgpr(30)))?;
//! helper.at(4)?.saved_in_register(sgpr(33), sgpr(40))?;       // s_mov_b32 s40, s33
//! helper.at(8)?.cfa_from_frame_pointer(sgpr(33))?;            // s_mov_b32 s33, s32
//! let mut table = FrameTable::new();
//! table.add(helper);
//!
//! let section = table.write()?.resolved(|symbol| (symbol == "helper").then_some(0x1a00))?;
//! let index = FrameIndex::new(FrameSection::debug_frame(&section));
//! let (_, row) = index.row_at(0x1a08, None)?.unwrap();
//! assert_eq!((row.start, row.end), (0x1a08, 0x1a40));
//! assert_eq!(table.directives()?[0].blocks[2].directives[0].text, ".cfi_def_cfa_register 65");
//! # Ok::<(), hetdwarf::Error>(())
//! ```

mod assembly;
mod common;
mod events;
mod function;
mod place;
mod readable;
mod rules;
mod state;
mod table;
mod target;
#[cfg(test)]
mod tests;

pub use assembly::{Directive, DirectiveBlock, FunctionDirectives};
pub use common::{Common, Format};
pub use function::{FunctionFrame, Start};
pub use place::{Mask, ReturnAddress};
pub use readable::Assembler;
pub use table::{FrameBytes, FrameTable, RelocationPoint, RelocationTarget};
pub use target::Target;
