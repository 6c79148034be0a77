//! Defines the interface to a debugger: the contents of a stopped wavefront's registers and memory.
//!
//! [`Wave`] is the only interface needed: a debugger implements it with its process access. [`Snapshot`] implements it with data from a file. Neither
//! depends on DWARF.
//!
//! A wave with only two known scalar registers:
//!
//! ```
//! use core::ops::Range;
//! use hetdwarf::arch::{Register, WaveSize};
//! use hetdwarf::location::{Access, Location, read};
//! use hetdwarf::wave::{AccessError, Memory, Wave};
//!
//! struct Two;
//!
//! impl Wave for Two {
//!     fn wave_size(&self) -> WaveSize {
//!         WaveSize::Wave32
//!     }
//!
//!     fn read_register(&self, register: Register, bits: Range<u32>, out: &mut [u8]) -> Result<(), AccessError> {
//!         let value: u32 = match register.index() {
//!             Some(4) => 0x1122_3344,
//!             Some(5) => 7,
//!             _ => return Err(AccessError::Unavailable),
//!         };
//!         let bytes = bits.start as usize / 8..bits.end as usize / 8;
//!         out.copy_from_slice(value.to_le_bytes().get(bytes).ok_or(AccessError::Unavailable)?);
//!         Ok(())
//!     }
//!
//!     fn read_memory(&self, _: Memory, _: u64, _: &mut [u8]) -> Result<(), AccessError> {
//!         Err(AccessError::Unavailable)
//!     }
//! }
//!
//! let access = Access { wave: &Two, lane: None, max_bits: 64, meter: None };
//! let bits = read(&Location::register(Register::s::<4>()), 16, &access)?;
//! assert_eq!(bits.bytes, [0x44, 0x33]);
//! # Ok::<(), hetdwarf::Error>(())
//! ```

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod dispatch;
mod recorder;
mod snapshot;
mod stop_reason;

use core::ops::Range;

use crate::arch::AddressSpace;
use crate::arch::{Apertures, Lane, Register, UnnumberedRegister, WaveSize};
pub use dispatch::Dispatch;
pub use recorder::Recorder;
pub use snapshot::Snapshot;
pub use stop_reason::{StopReason, StopReasons};

/// A memory of the hardware, as opposed to a view of one: `private_lane` and `generic` addresses are translated before a debugger gets them.
///
/// Intentionally exhaustive: a debugger must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Memory {
    /// Global memory; addresses of 64 bits.
    Global,
    /// The region (GDS) memory; addresses of 32 bits.
    Region,
    /// The work-group's local memory (LDS); addresses of 32 bits, 0 is the group's first byte.
    Local,
    /// The wavefront's scratch, not swizzled. Address 0 is its first byte.
    PrivateWave,
}

impl Memory {
    /// All memories.
    pub const ALL: [Memory; 4] = [
        Memory::Global,
        Memory::Region,
        Memory::Local,
        Memory::PrivateWave,
    ];

    /// Returns the address space of the memory's addresses.
    #[must_use]
    pub const fn address_space(self) -> AddressSpace {
        match self {
            Memory::Global => AddressSpace::None,
            Memory::Region => AddressSpace::Region,
            Memory::Local => AddressSpace::Local,
            Memory::PrivateWave => AddressSpace::PrivateWave,
        }
    }

    /// Returns the name of its address space in snapshots.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.address_space().name()
    }
}

/// A stopped wavefront, as far as the debugger knows it.
pub trait Wave {
    /// Returns the number of lanes of the wavefront.
    fn wave_size(&self) -> WaveSize;

    /// Copies `bits` of `register` into `out`, lowest bit first.
    ///
    /// A vector register has 32 bits a lane, lane 0 lowest. `bits` starts and ends on whole bytes, lies
    /// within the register, and `out` is exactly as long.
    ///
    /// # Requests
    /// Any register with a name in [USAGE](crate) "Register Identifier" that an expression, a call frame or machine code uses:
    ///
    /// | register | bits in waves of 32 lanes | of 64 |
    /// |---|---|---|
    /// | `s0` to `s105` | 32 | 32 |
    /// | `v0` and so on, `a0` and so on | 1024, by numbers of their own | 2048, by numbers of their own |
    /// | EXEC, VCC | 32, [`EXEC_32`](Register::EXEC_32) and [`VCC_32`](Register::VCC_32) | 64, [`EXEC_64`](Register::EXEC_64) and [`VCC_64`](Register::VCC_64) |
    /// | the program counter, [`PC_64`](Register::PC_64) | 64 | 64 |
    /// | STATUS | 32 | 32 |
    ///
    /// EXEC is read at every stop, since it has the active lanes; all others only if they hold needed data. Vector registers are read whole, for one
    /// lane or for some bytes of it. Malformed files may also request registers of the other wave size and `PC_32`, which are not available. Reserved
    /// numbers are never requested. Each name has one number for a wave size, so that no register is requested by two numbers.
    ///
    /// # Errors
    /// [`AccessError::Unavailable`] if any of the bits are unknown. Halves of the range are then requested, down to single bytes, to show all known parts.
    /// Any other error becomes the error of the variable or expression, with the debugger's own as its [`source`](core::error::Error::source).
    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError>;

    /// Copies `out.len()` bytes at `address` of `memory` into `out`.
    ///
    /// # Requests
    /// Only the memories of [`Memory`]: an address of a lane's scratch is translated to the dwords of that lane in [`Memory::PrivateWave`], and a
    /// generic one with the [`apertures`](Wave::apertures). For a lane's scratch, at most four bytes are requested, or a dword of all lanes at once
    /// (128 or 256 bytes). Otherwise it is the whole object, up to `max_bits` of [`Access`](crate::location::Access). Addresses come from the program
    /// or its debugging information, and can be arbitrary.
    ///
    /// # Errors
    /// [`AccessError::Unavailable`] if any byte is unknown. Halves are then requested, as for registers.
    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError>;

    /// Returns the value of a register without a DWARF number, zero-extended. It is called only if a user names the register.
    ///
    /// # Errors
    /// Fails like [`read_register`](Wave::read_register). Without an implementation these registers are unknown.
    fn read_unnumbered(&self, register: UnnumberedRegister) -> Result<u64, AccessError> {
        let _ = register;
        Err(AccessError::Unavailable)
    }

    /// Returns the apertures of the generic address space for local and private memory, or `None` if unknown.
    fn apertures(&self) -> Option<Apertures> {
        None
    }

    /// Returns the dispatch of the wave, or `None` if unknown.
    fn dispatch(&self) -> Option<Dispatch> {
        None
    }

    /// Returns the reasons why the wave stopped, or `None` if unknown. They affect a wave that stands after an `s_trap`: if it is known to have
    /// stopped for another reason, it is not moved back to the trap.
    fn stop_reasons(&self) -> Option<StopReasons> {
        None
    }

    /// Returns the work-item of a lane, by its position in the grid; see [`Dispatch::work_item`]. Returns `None` if it has none, or if the dispatch
    /// is unknown.
    fn work_item(&self, lane: Lane) -> Option<[u32; 3]> {
        self.dispatch()?.work_item(lane, self.wave_size())
    }

    /// Replaces `bits` of `register` by `bytes`; the inverse of [`read_register`](Wave::read_register).
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`] unless the implementation can write.
    fn write_register(
        &mut self,
        register: Register,
        bits: Range<u32>,
        bytes: &[u8],
    ) -> Result<(), AccessError> {
        let _ = (register, bits, bytes);
        Err(AccessError::ReadOnly)
    }

    /// Replaces the bytes at `address` of `memory`; the inverse of [`read_memory`](Wave::read_memory).
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`] unless the implementation can write.
    fn write_memory(
        &mut self,
        memory: Memory,
        address: u64,
        bytes: &[u8],
    ) -> Result<(), AccessError> {
        let _ = (memory, address, bytes);
        Err(AccessError::ReadOnly)
    }
}

/// The reason why an access failed.
#[non_exhaustive]
#[derive(Debug)]
pub enum AccessError {
    /// The contents are unknown.
    Unavailable,
    /// The wave is read-only.
    ReadOnly,
    /// The access itself failed.
    Failed(Box<dyn core::error::Error + Send + Sync>),
}

impl core::fmt::Display for AccessError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            AccessError::Unavailable => f.write_str("not available"),
            AccessError::ReadOnly => f.write_str("read-only"),
            AccessError::Failed(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for AccessError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            // The text of this error is that error's text, so its source is that error's source.
            AccessError::Failed(error) => error.source(),
            AccessError::Unavailable | AccessError::ReadOnly => None,
        }
    }
}
