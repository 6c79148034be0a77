//! Represents the address of a call frame: the address at which the wave continues, and the address for look-ups.

/// The address of a call frame, in the code object.
///
/// Intentionally exhaustive: there is no third kind of address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameAddress {
    /// The program counter of the innermost frame: the instruction that is executed next.
    ProgramCounter(u64),
    /// The return address of a caller: the instruction after the call.
    ReturnAddress(u64),
}

impl FrameAddress {
    /// Returns the address at which the wave continues in the frame.
    #[must_use]
    pub const fn resumes_at(self) -> u64 {
        match self {
            FrameAddress::ProgramCounter(address) | FrameAddress::ReturnAddress(address) => address,
        }
    }

    /// Returns the address for looking up rows, functions, lines and locations. For a caller it is within the call instruction, which may be the last
    /// of its function. Source: DWARF 5 §6.4.4.
    #[must_use]
    pub const fn lookup(self) -> u64 {
        match self {
            FrameAddress::ProgramCounter(address) => address,
            FrameAddress::ReturnAddress(address) => address.wrapping_sub(1),
        }
    }
}
