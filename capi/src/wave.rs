//! Provides waves, from a debugger's callbacks or from a snapshot ([`snapshot`]).

mod snapshot;

use core::cell::Cell;
use core::ffi::c_void;
use core::fmt;
use core::ops::Range;

use hetdwarf::arch::{Apertures, Register, WaveSize};
use hetdwarf::wave::{AccessError, Dispatch, Memory, Wave};

use crate::plain::sized;
use crate::status::hetdwarf_status::*;
use crate::status::{Answer, Fault, hetdwarf_status};
pub use snapshot::*;

/// In place of a lane: no lane, or the whole register.
pub const HETDWARF_NO_LANE: i32 = -1;

/// Global memory; addresses of 64 bits.
pub const HETDWARF_MEMORY_GLOBAL: u32 = 0;
/// The region (GDS) memory; addresses of 32 bits.
pub const HETDWARF_MEMORY_REGION: u32 = 1;
/// The work-group's local memory (LDS); address 0 is the group's first byte.
pub const HETDWARF_MEMORY_LOCAL: u32 = 2;
/// The wave's scratch, not swizzled; address 0 is its first byte.
pub const HETDWARF_MEMORY_PRIVATE_WAVE: u32 = 3;

/// `shared_base` and `private_base` of a wave are known.
pub const HETDWARF_WAVE_HAS_APERTURES: u32 = 1;
/// The fields from `workgroup_id` to `wave_in_group` of a wave are known.
pub const HETDWARF_WAVE_HAS_DISPATCH: u32 = 2;
/// The wave is read exactly as specified, without the adjustments for current producers.
pub const HETDWARF_WAVE_STRICT: u32 = 4;

/// Only values from the debugging information are used: none from kernel arguments or from the machine code.
pub const HETDWARF_WAVE_ONLY_DWARF: u32 = 8;

/// `kernarg_address` of a wave is known.
pub const HETDWARF_WAVE_HAS_KERNARG: u32 = 16;

/// Reads a register: copies `bit_count` bits, starting at `first_bit`, to `out`, the lowest first. Both numbers are multiples of 8.
///
/// * `user`: the `user` field of the wave.
/// * `number`: the DWARF number, which depends on the wave size: `v0` is 1536 in a wave of 32 lanes and 2560 in a wave of 64.
/// * `lane`: the lane of a vector register, if `first_bit` counts from the 32 bits of this lane. `HETDWARF_NO_LANE` if it counts from the
///   start of the register. A vector register has 32 bits for each lane, lane 0 lowest.
///
/// The callback returns `HETDWARF_OK`, `HETDWARF_UNAVAILABLE` for an unknown register, or another status. If the call of the library needs
/// the register, it fails with this status. A status that callbacks must not return becomes `HETDWARF_CALLBACK_FAILED`, with the number in
/// the message. The callback must not throw an exception. It must not call functions with the handle that called it, which would return
/// `HETDWARF_BUSY`.
pub type hetdwarf_read_register = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        number: u32,
        lane: i32,
        first_bit: u32,
        bit_count: u32,
        out: *mut c_void,
    ) -> i32,
>;

/// Reads memory: copies `size` bytes at `address` to `out`. See `hetdwarf_read_register` for the rest.
///
/// * `memory`: `HETDWARF_MEMORY_…`. Private addresses of a lane and generic addresses are translated to one of these memories before the
///   call. The callback therefore needs no lane.
pub type hetdwarf_read_memory = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        memory: u32,
        address: u64,
        size: usize,
        out: *mut c_void,
    ) -> i32,
>;

/// Writes a register; the counterpart of `hetdwarf_read_register`.
pub type hetdwarf_write_register = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        number: u32,
        lane: i32,
        first_bit: u32,
        bit_count: u32,
        bytes: *const c_void,
    ) -> i32,
>;

/// Writes memory; the counterpart of `hetdwarf_read_memory`.
pub type hetdwarf_write_memory = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        memory: u32,
        address: u64,
        size: usize,
        bytes: *const c_void,
    ) -> i32,
>;

/// A stopped wave, as far as the debugger knows it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_wave {
    /// `sizeof(hetdwarf_wave)`.
    pub size: usize,
    /// A pointer that is passed to the callbacks. The library does not use it otherwise.
    pub user: *mut c_void,
    /// Reads registers.
    pub read_register: hetdwarf_read_register,
    /// Reads memory.
    pub read_memory: hetdwarf_read_memory,
    /// Writes registers; NULL if the wave is read-only.
    pub write_register: hetdwarf_write_register,
    /// Writes memory; NULL if the wave is read-only.
    pub write_memory: hetdwarf_write_memory,
    /// The address in the process at which the wave stopped.
    pub pc: u64,
    /// The load address of the object: the difference of the process's addresses from the object's.
    pub load_address: u64,
    /// The number of lanes, 32 or 64.
    pub wave_size: u32,
    /// `HETDWARF_WAVE_…`, combined with `|`.
    pub flags: u32,
    /// The generic address of the first byte of local memory.
    pub shared_base: u64,
    /// The generic address of the first byte of private memory.
    pub private_base: u64,
    /// The wave's work-group, counted in work-groups: x, y and z.
    pub workgroup_id: [u32; 3],
    /// The size of a work-group, in work-items.
    pub workgroup_size: [u32; 3],
    /// The size of the dispatch, in work-items.
    pub grid_size: [u32; 3],
    /// The wave's number in its work-group, from 0.
    pub wave_in_group: u32,
    /// The address of the kernel's arguments in global memory.
    pub kernarg_address: u64,
    /// Zero.
    pub reserved: [u64; 3],
}

sized! { hetdwarf_wave }

/// A wave that is accessed through callbacks.
pub(crate) struct CallbackWave {
    given: hetdwarf_wave,
    wave_size: WaveSize,
    /// True if something could not be written because the wave is read-only.
    is_refused: Cell<bool>,
}

/// The failure of a callback.
#[derive(Debug)]
pub(crate) struct CallbackFailure {
    callback: &'static str,
    status: i32,
}

impl CallbackFailure {
    /// Returns the callback's status, which becomes the status of the call. Unknown numbers, and statuses about handles of the library,
    /// become `HETDWARF_CALLBACK_FAILED`.
    pub(crate) fn status(&self) -> hetdwarf_status {
        let kept = [
            HETDWARF_INVALID_ARGUMENT,
            HETDWARF_NOT_FOUND,
            HETDWARF_TOO_SMALL,
            HETDWARF_IO,
            HETDWARF_MALFORMED,
            HETDWARF_LIMIT,
            HETDWARF_UNSUPPORTED,
            HETDWARF_MISSING_CONTEXT,
            HETDWARF_READ_ONLY,
            HETDWARF_FAILED,
        ];
        let known = kept.into_iter().find(|kept| *kept as i32 == self.status);
        known.unwrap_or(HETDWARF_CALLBACK_FAILED)
    }
}

impl fmt::Display for CallbackFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CallbackFailure { callback, status } = self;
        write!(f, "the debugger's {callback} returned status {status}")
    }
}

impl core::error::Error for CallbackFailure {}

fn access(callback: &'static str, status: i32) -> Result<(), AccessError> {
    match status {
        s if s == HETDWARF_OK as i32 => Ok(()),
        s if s == HETDWARF_UNAVAILABLE as i32 => Err(AccessError::Unavailable),
        s if s == HETDWARF_READ_ONLY as i32 => Err(AccessError::ReadOnly),
        status => Err(AccessError::Failed(
            CallbackFailure { callback, status }.into(),
        )),
    }
}

/// Returns the number of a memory, `HETDWARF_MEMORY_…`.
fn memory_number(memory: Memory) -> u32 {
    match memory {
        Memory::Global => HETDWARF_MEMORY_GLOBAL,
        Memory::Region => HETDWARF_MEMORY_REGION,
        Memory::Local => HETDWARF_MEMORY_LOCAL,
        Memory::PrivateWave => HETDWARF_MEMORY_PRIVATE_WAVE,
    }
}

/// Returns the lane and the first bit that identify bits of a register to a callback.
fn lane_of(register: Register, bits: &Range<u32>) -> (i32, u32) {
    let mut pieces = register.by_lane(bits.clone());
    match (pieces.next(), pieces.next()) {
        (Some((Some(lane), within)), None) => (lane.0.into(), within.start),
        _ => (HETDWARF_NO_LANE, bits.start),
    }
}

impl CallbackWave {
    pub(crate) fn new(given: hetdwarf_wave) -> Answer<CallbackWave> {
        let wave_size = WaveSize::from_lanes(given.wave_size.into());
        let wave_size = wave_size.ok_or_else(|| {
            Fault::argument(format!(
                "a wave has 32 or 64 lanes, not {}",
                given.wave_size
            ))
        })?;
        if given.read_register.is_none() || given.read_memory.is_none() {
            return Err(Fault::argument(
                "read_register and read_memory must not be NULL",
            ));
        }
        let known = HETDWARF_WAVE_HAS_APERTURES
            | HETDWARF_WAVE_HAS_DISPATCH
            | HETDWARF_WAVE_STRICT
            | HETDWARF_WAVE_ONLY_DWARF
            | HETDWARF_WAVE_HAS_KERNARG;
        if given.flags & !known != 0 {
            return Err(Fault::argument(format!(
                "unknown flags of a wave: {:#x}",
                given.flags
            )));
        }
        Ok(CallbackWave {
            given,
            wave_size,
            is_refused: Cell::new(false),
        })
    }

    pub(crate) fn given(&self) -> &hetdwarf_wave {
        &self.given
    }

    /// Returns a copy of the wave for writing.
    pub(crate) fn writer(&self) -> CallbackWave {
        CallbackWave {
            given: self.given,
            wave_size: self.wave_size,
            is_refused: Cell::new(false),
        }
    }

    /// Returns true if a write failed because the wave is read-only.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.get()
    }

    /// Records a failed write, and returns the result.
    fn written(&self, answer: Result<(), AccessError>) -> Result<(), AccessError> {
        if matches!(answer, Err(AccessError::ReadOnly)) {
            self.is_refused.set(true);
        }
        answer
    }

    pub(crate) fn is_only_dwarf(&self) -> bool {
        self.given.flags & HETDWARF_WAVE_ONLY_DWARF != 0
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.given.flags & HETDWARF_WAVE_STRICT != 0
    }
}

impl Wave for CallbackWave {
    fn wave_size(&self) -> WaveSize {
        self.wave_size
    }

    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        let Some(read) = self.given.read_register else {
            return Err(AccessError::Unavailable);
        };
        let (lane, first) = lane_of(register, &bits);
        let count = bits.end.saturating_sub(bits.start);
        let number = register.number().into();
        let out = out.as_mut_ptr().cast();
        // SAFETY: the caller of `hetdwarf_object_stop` guarantees the callback; `out` has room for the bits, as `Wave` requires.
        let status = unsafe { read(self.given.user, number, lane, first, count, out) };
        access("read_register", status)
    }

    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        let Some(read) = self.given.read_memory else {
            return Err(AccessError::Unavailable);
        };
        let memory = memory_number(memory);
        let size = out.len();
        // SAFETY: the callback is guaranteed as above; `out` has room for `size` bytes.
        let status = unsafe {
            read(
                self.given.user,
                memory,
                address,
                size,
                out.as_mut_ptr().cast(),
            )
        };
        access("read_memory", status)
    }

    fn write_register(
        &mut self,
        register: Register,
        bits: Range<u32>,
        bytes: &[u8],
    ) -> Result<(), AccessError> {
        let Some(write) = self.given.write_register else {
            return self.written(Err(AccessError::ReadOnly));
        };
        let (lane, first) = lane_of(register, &bits);
        let count = bits.end.saturating_sub(bits.start);
        let number = register.number().into();
        let bytes = bytes.as_ptr().cast();
        // SAFETY: the callback is guaranteed as above; `bytes` covers all bits.
        let status = unsafe { write(self.given.user, number, lane, first, count, bytes) };
        self.written(access("write_register", status))
    }

    fn write_memory(
        &mut self,
        memory: Memory,
        address: u64,
        bytes: &[u8],
    ) -> Result<(), AccessError> {
        let Some(write) = self.given.write_memory else {
            return self.written(Err(AccessError::ReadOnly));
        };
        let memory = memory_number(memory);
        let size = bytes.len();
        // SAFETY: the callback is guaranteed as above.
        let status = unsafe {
            write(
                self.given.user,
                memory,
                address,
                size,
                bytes.as_ptr().cast(),
            )
        };
        self.written(access("write_memory", status))
    }

    fn apertures(&self) -> Option<Apertures> {
        let is_known = self.given.flags & HETDWARF_WAVE_HAS_APERTURES != 0;
        is_known.then_some(Apertures {
            shared_base: self.given.shared_base,
            private_base: self.given.private_base,
        })
    }

    fn dispatch(&self) -> Option<Dispatch> {
        let is_known = self.given.flags & HETDWARF_WAVE_HAS_DISPATCH != 0;
        is_known.then(|| {
            let mut dispatch = Dispatch::default();
            dispatch.workgroup_id = self.given.workgroup_id;
            dispatch.workgroup_size = self.given.workgroup_size;
            dispatch.grid_size = self.given.grid_size;
            dispatch.wave_in_group = self.given.wave_in_group;
            let has_kernarg = self.given.flags & HETDWARF_WAVE_HAS_KERNARG != 0;
            dispatch.kernarg_address = has_kernarg.then_some(self.given.kernarg_address);
            dispatch
        })
    }
}
