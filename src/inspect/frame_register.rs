//! Reads the registers of frames.

use super::stop::StopFrame;
use crate::arch::{Lane, Register};
use crate::error::{Error, Result};
use crate::eval::Frame as _;
use crate::location::{Bits, read, read_lanes};

impl StopFrame<'_, '_, '_> {
    /// Reads a register in the frame. In a caller, it has the value that the caller will find. A vector register is read whole, 32 bits for each
    /// lane, lane 0 lowest.
    ///
    /// * `lane`: the lane for reading a scalar register that was saved in per-lane memory.
    ///
    /// # Errors
    /// If the register has no size, if call frame information cannot locate it, or like [`read`]. Missing bits are no error.
    pub fn read_register(&self, register: Register, lane: Option<Lane>) -> Result<Bits> {
        let no_size = || Error::malformed("register", "it has no size");
        let bit_size = u64::from(register.size_in_bits().ok_or_else(no_size)?);
        let location = self.call_frame().register(register)?;
        let access = self.stop().access(lane);
        if location.stands_for_all_lanes() {
            return Ok(read_lanes(&location, bit_size, &access)?.bits(lane.unwrap_or(Lane(0))));
        }
        read(&location, bit_size, &access)
    }
}
