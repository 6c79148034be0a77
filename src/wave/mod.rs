//! What a debugger supplies: the contents of a stopped wavefront's registers and memory.
//!
//! [`Wave`] is the whole integration: a debugger implements it over its process access. [`Snapshot`] is
//! the same in a file. Neither knows anything of DWARF.
//!
//! A wave that knows two scalar registers and nothing else:
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
//! let access = Access { wave: &Two, lane: None, max_bits: 64 };
//! let bits = read(&Location::register(Register::s::<4>()), 16, &access)?;
//! assert_eq!(bits.bytes, [0x44, 0x33]);
//! # Ok::<(), hetdwarf::Error>(())
//! ```

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod dispatch;
mod recorder;
mod snapshot;

use core::ops::Range;

use crate::arch::{Apertures, Lane, Register, WaveSize};
pub use dispatch::Dispatch;
pub use recorder::Recorder;
pub use snapshot::Snapshot;

/// A memory that really exists, as opposed to a view of one: `private_lane` and `generic` addresses are
/// translated before a debugger is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Memory {
    /// Global memory; addresses of 64 bits.
    Global,
    /// The region (GDS) memory; addresses of 32 bits.
    Region,
    /// The work-group's local memory (LDS); addresses of 32 bits, 0 is the group's first byte.
    Local,
    /// The wavefront's scratch, not swizzled; address 0 is its first byte.
    PrivateWave,
}

/// One stopped wavefront, as far as the debugger knows it.
pub trait Wave {
    /// How many lanes the wavefront has.
    fn wave_size(&self) -> WaveSize;

    /// Copies `bits` of `register` into `out`, the lowest bit first.
    ///
    /// A vector register has 32 bits a lane, lane 0 lowest. `bits` starts and ends on whole bytes, lies
    /// within the register, and `out` is exactly as long.
    ///
    /// # Errors
    /// [`AccessError::Unavailable`] if the contents are not known.
    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError>;

    /// Copies `out.len()` bytes at `address` of `memory` into `out`.
    ///
    /// # Errors
    /// [`AccessError::Unavailable`] if any byte is not known.
    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError>;

    /// Where the generic address space shows local and private memory; nothing if unknown.
    fn apertures(&self) -> Option<Apertures> {
        None
    }

    /// What the wave is a part of; nothing if unknown.
    fn dispatch(&self) -> Option<Dispatch> {
        None
    }

    /// The work-item that a lane is, by its place in the grid; see [`Dispatch::work_item`]. Nothing if it is none, or
    /// if the dispatch is not known.
    fn work_item(&self, lane: Lane) -> Option<[u32; 3]> {
        self.dispatch()?.work_item(lane, self.wave_size())
    }

    /// Replaces `bits` of `register` by `bytes`; the mirror of [`read_register`](Wave::read_register).
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

    /// Replaces the bytes at `address` of `memory`; the mirror of [`read_memory`](Wave::read_memory).
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

/// Why a debugger could not answer.
#[non_exhaustive]
#[derive(Debug)]
pub enum AccessError {
    /// The contents are not known.
    Unavailable,
    /// The wave cannot be written to.
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
            // Its text is this one's, so that what is below it is what is below this one.
            AccessError::Failed(error) => error.source(),
            AccessError::Unavailable | AccessError::ReadOnly => None,
        }
    }
}
