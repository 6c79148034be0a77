//! Implements register locations. Sources: HET A.2.5.4.4.4, and A.2.5.4.4.1 for `DW_OP_LLVM_call_frame_entry_reg`.

use super::context::Frame;
use super::machine::Machine;
use super::stack::Entry;
use crate::arch::Register;
use crate::error::{Error, Result, SpecRule};
use crate::location::Location;

impl<'a> Machine<'_, '_, 'a> {
    #[inline(always)]
    pub(super) fn push_register(&mut self, number: u64) -> Result<()> {
        let register = register(number)?;
        match self.context.frame {
            Some(_) => self.push_frame_register(register),
            None => self.push(Entry::Register(register)),
        }
    }

    fn push_frame_register(&mut self, register: Register) -> Result<()> {
        let location = location(register, self.frame())?;
        match location.whole_register() {
            Some(register) => self.push(Entry::Register(register)),
            None => self.push(Entry::Location(location)),
        }
    }

    /// Returns the location of a register in the current frame.
    #[inline]
    pub(super) fn register_location(&mut self, number: u64) -> Result<Location<'a>> {
        location(register(number)?, self.frame())
    }

    #[inline(never)]
    pub(super) fn call_frame_entry_reg(&mut self, number: u64) -> Result<()> {
        let register = register(number)?;
        let location = match self.frame() {
            Some(frame) => frame.entry_register(register)?,
            // Without call frame information the default rule holds: same value.
            None => Location::register(register),
        };
        self.push(Entry::Location(location))
    }
}

/// Returns the location of a register in a frame.
#[inline]
pub(super) fn location<'a>(
    register: Register,
    frame: Option<&dyn Frame<'a>>,
) -> Result<Location<'a>> {
    match frame {
        Some(frame) => frame.register(register),
        None => Ok(Location::register(register)),
    }
}

/// Returns a register, which may be reserved but must be in the table.
fn register(number: u64) -> Result<Register> {
    Register::from_number(number).ok_or_else(|| Error::from(SpecRule::RegisterNumber))
}
