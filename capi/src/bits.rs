//! Writes bits to buffers of the caller.

use hetdwarf::location::{Bits, Mask};

use crate::plain::{self, sized};
use crate::status::hetdwarf_status::HETDWARF_TOO_SMALL;
use crate::status::{Answer, Fault};

/// The bits of a read. The first bit is the lowest bit of the first byte. Missing bits are zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_bits {
    /// `sizeof(hetdwarf_bits)`.
    pub size: usize,
    /// A buffer of the caller, which gets the bits.
    pub bytes: *mut u8,
    /// A buffer of the caller, which gets a 1 for each bit that has no value because it was optimised away; NULL to omit it.
    pub undefined: *mut u8,
    /// A buffer of the caller, which gets a 1 for each bit whose value the debugger does not know; NULL to omit it.
    pub unavailable: *mut u8,
    /// The size of each buffer in bytes.
    pub capacity: usize,
    /// Gets the number of bits. If a buffer is too small for them, nothing else is written.
    pub bit_size: u64,
    /// Gets 1 if no bit is missing, else 0.
    pub is_complete: u64,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! { hetdwarf_bits }

/// Writes bits to a struct of the caller.
///
/// # Safety
/// `place` is NULL, or meets the requirements of `hetdwarf_bits`.
pub(crate) unsafe fn put(place: *mut hetdwarf_bits, bits: &Bits) -> Answer<()> {
    // SAFETY: the caller keeps the contract of this function.
    unsafe {
        let mut given = plain::read(place.cast_const())?;
        given.bit_size = bits.bit_size;
        given.is_complete = bits.is_complete().into();
        plain::write(place, &given)?;
        if given.capacity < bits.bytes.len() {
            let message = format!(
                "{} bytes are needed, and there are {}",
                bits.bytes.len(),
                given.capacity
            );
            return Err(Fault::new(HETDWARF_TOO_SMALL, message));
        }
        if given.bytes.is_null() && !bits.bytes.is_empty() {
            return Err(Fault::argument("hetdwarf_bits: bytes is NULL"));
        }
        copy(&bits.bytes, given.bytes);
        let length = bits.bytes.len();
        put_mask(&bits.undefined, length, given.undefined);
        put_mask(&bits.unavailable, length, given.unavailable);
    }
    Ok(())
}

/// Copies bytes to a buffer of the caller. Does nothing if it is NULL.
///
/// # Safety
/// `place` is NULL or has room for the bytes.
pub(crate) unsafe fn copy(bytes: &[u8], place: *mut u8) {
    if !place.is_null() {
        // SAFETY: the caller guarantees the room.
        unsafe { core::ptr::copy(bytes.as_ptr(), place, bytes.len()) };
    }
}

/// Writes a mask as bits to a buffer of the caller. Does nothing if it is NULL.
///
/// # Safety
/// `place` is NULL or has room for `length` bytes.
pub(crate) unsafe fn put_mask(mask: &Mask, length: usize, place: *mut u8) {
    if place.is_null() {
        return;
    }
    // SAFETY: the caller guarantees the room, and it is zeroed before it is read.
    let out = unsafe {
        place.write_bytes(0, length);
        core::slice::from_raw_parts_mut(place, length)
    };
    for range in mask.ranges() {
        for bit in range.clone() {
            let byte = usize::try_from(bit / 8).ok().and_then(|at| out.get_mut(at));
            let Some(byte) = byte else { break };
            *byte |= 1 << (bit % 8);
        }
    }
}
