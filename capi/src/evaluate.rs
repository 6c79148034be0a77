//! Evaluates DWARF expressions, and navigates, reads and writes their results.

mod result;
mod start;

pub(crate) use result::Answered;

use core::ffi::c_char;
use std::sync::Arc;

use hetdwarf::arch::Register;
use hetdwarf::eval::Outcome;
use hetdwarf::location::{Access, Destination, Storage, read};

use crate::bits::{self, hetdwarf_bits};
use crate::handle::{Lock, give, handles, with};
use crate::plain::{self, sized};
use crate::status::hetdwarf_status::*;
use crate::status::{Fault, guard, hetdwarf_status};
use crate::stop::{hetdwarf_stop, lane_of};
use crate::text::Texts;
use crate::values::hetdwarf_values;
use result::{MOST_BITS, home};
use start::{Start, answer};

/// A result of either kind.
pub const HETDWARF_RESULT_ANY: u32 = 0;
/// A location. A value is converted where the DWARF extensions for heterogeneous debugging allow it.
pub const HETDWARF_RESULT_LOCATION: u32 = 1;
/// A value. A location is converted where the DWARF extensions for heterogeneous debugging allow it.
pub const HETDWARF_RESULT_VALUE: u32 = 2;

/// No value is available.
pub const HETDWARF_STORAGE_UNDEFINED: u32 = 0;
/// The memory of an address space.
pub const HETDWARF_STORAGE_MEMORY: u32 = 1;
/// A register.
pub const HETDWARF_STORAGE_REGISTER: u32 = 2;
/// A read-only value.
pub const HETDWARF_STORAGE_IMPLICIT: u32 = 3;
/// A pointer that was optimised away, although its target is known.
pub const HETDWARF_STORAGE_IMPLICIT_POINTER: u32 = 4;
/// Several parts, each with its own storage.
pub const HETDWARF_STORAGE_COMPOSITE: u32 = 5;

/// In place of a unit's offset: the unit of the frame's function, or no unit without a stop.
pub const HETDWARF_UNIT_OF_FRAME: u64 = u64::MAX;

/// An expression, and the context of its evaluation.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_evaluation {
    /// `sizeof(hetdwarf_evaluation)`.
    pub size: usize,
    /// The operations; NULL if `text` is given.
    pub bytes: *const u8,
    /// The number of bytes.
    pub length: usize,
    /// Operations as llvm-dwarfdump prints them, separated by commas; NULL if `bytes` is given.
    pub text: *const c_char,
    /// The stopped wave; NULL for an expression that needs no wave.
    pub stop: *const hetdwarf_stop,
    /// The level of the call frame; 0 is the innermost.
    pub level: usize,
    /// The offset in `.debug_info` of the header of the unit that the expression refers to, or `HETDWARF_UNIT_OF_FRAME`.
    pub unit_offset: u64,
    /// The lane in focus; `HETDWARF_NO_LANE` if there is none.
    pub lane: i32,
    /// `HETDWARF_RESULT_…`.
    pub result: u32,
    /// The current object, a location; NULL if there is none.
    pub object: *const hetdwarf_result,
    /// The initial stack, the lowest entry first; NULL if it is empty.
    pub initial: *const *const hetdwarf_result,
    /// The number of entries on the initial stack.
    pub initial_count: usize,
    /// Zero.
    pub reserved: [u64; 4],
}

/// A summary of a result. Strings belong to the result, and are NULL if absent.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_result_info {
    /// `sizeof(hetdwarf_result_info)`, set by the caller.
    pub size: usize,
    /// The number of places of a location, at least one; 0 for a value. An object at several places is written to all of them, and read
    /// from any.
    pub place_count: usize,
    /// The encoding of a value's bits: `generic`, `signed`, `unsigned`, `float`, `boolean`, `address`, `signed_char`, `unsigned_char`,
    /// `utf` or `other`.
    pub encoding: *const c_char,
    /// The size of a value, in bits, at most 128.
    pub bit_size: u64,
    /// The bits of the value, the lowest first.
    pub bytes: [u8; 16],
    /// Zero.
    pub reserved: [u64; 4],
}

/// A place: a single location description, in the words of the specification. Strings and bytes belong to the result.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_place {
    /// `sizeof(hetdwarf_place)`, set by the caller.
    pub size: usize,
    /// `HETDWARF_STORAGE_…`. Fields that do not apply to this storage are 0.
    pub storage: u32,
    /// The bit at which the object starts in its first byte, 0 to 7.
    pub bit: u32,
    /// The byte of the storage at which the object starts. For memory, this is the address.
    pub byte_offset: u64,
    /// For memory and implicit pointers: the DWARF number of the address space.
    pub address_space: u32,
    /// For memory: the lane that owns it; `HETDWARF_NO_LANE` if the address space is not specific to a lane.
    pub lane: i32,
    /// The name of the address space, or the assembler's name of the register; NULL for other storage.
    pub name: *const c_char,
    /// For a register: its DWARF number.
    pub register_number: u32,
    /// Zero.
    pub padding: u32,
    /// The size of an implicit value or composite, in bits; `UINT64_MAX` if the size does not fit.
    pub bit_size: u64,
    /// The bits of an implicit value, in as many bytes as they need.
    pub bytes: *const u8,
    /// For an implicit pointer: the offset in `.debug_info` of the entry that describes its target.
    pub entry: u64,
    /// For an implicit pointer: the offset in the target, in bytes.
    pub pointer_offset: i64,
    /// Zero.
    pub reserved: [u64; 4],
}

/// A part of a composite.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_part {
    /// `sizeof(hetdwarf_part)`, set by the caller.
    pub size: usize,
    /// The bit of the composite at which the part starts.
    pub start: u64,
    /// The size of the part, in bits. The next part starts at `start + bit_size`.
    pub bit_size: u64,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! { hetdwarf_evaluation hetdwarf_result_info hetdwarf_place hetdwarf_part }

/// The result of an expression: a location or a value. Free it with `hetdwarf_free`.
#[derive(Debug)]
pub struct hetdwarf_result {
    _private: [u8; 0],
}

handles! { hetdwarf_result: Answered = b"hdwrslt\x01"; }

/// Evaluates a DWARF expression.
///
/// * `evaluation`: the expression and its context. All of it, including results, may be freed afterwards.
/// * `result`: gets the handle, which the caller frees; NULL on error. The stop may be freed first.
///
/// Errors: `HETDWARF_MALFORMED`, `HETDWARF_MISSING_CONTEXT`, `HETDWARF_UNAVAILABLE`, `HETDWARF_OPTIMIZED_OUT`, `HETDWARF_UNSUPPORTED`,
/// `HETDWARF_LIMIT`, `HETDWARF_CALLBACK_FAILED`, `HETDWARF_FAILED`; `HETDWARF_NOT_FOUND` if there is no such frame or unit.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_evaluate(
    evaluation: *const hetdwarf_evaluation,
    result: *mut *mut hetdwarf_result,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        plain::put(result, core::ptr::null_mut(), "result")?;
        let given = plain::read(evaluation)?;
        if !given.stop.is_null() {
            return with(given.stop, |stop, lock| {
                let start = Start::read(&given, lock)?;
                give(result, || {
                    Ok((Arc::clone(lock), answer(&given, start, Some(stop))?))
                })
            });
        }
        // Without a stop, given results have their own lock, which the new result shares.
        let mut given_results = given.object;
        if given_results.is_null() && given.initial_count > 0 && !given.initial.is_null() {
            given_results = given.initial.read();
        }
        let evaluated = |lock: &Arc<Lock>| {
            let start = Start::read(&given, lock)?;
            give(result, || {
                Ok((Arc::clone(lock), answer(&given, start, None)?))
            })
        };
        if given_results.is_null() {
            return evaluated(&Arc::default());
        }
        with(given_results, |_, lock| evaluated(lock))
    })
}

/// Returns the location of a variable in a lane. The location can be navigated, read and written.
///
/// * `index`: below the count of the values.
/// * `lane`: the lane.
/// * `result`: gets the handle, which the caller frees; NULL on error.
///
/// Errors: `HETDWARF_NOT_FOUND` if there is no such value; `HETDWARF_OPTIMIZED_OUT` if the variable has no location in this lane, or if the
/// value is an expression or a constant.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_values_location(
    values: *const hetdwarf_values,
    index: usize,
    lane: u32,
    result: *mut *mut hetdwarf_result,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(values, |values, lock| {
            give(result, || {
                let stop = values.stop();
                let lane =
                    i32::try_from(lane).map_err(|_| Fault::argument("there is no such lane"))?;
                let lane = lane_of(lane, stop.stop().wave())?;
                let place = lane.map(|lane| values.location(index, lane)).transpose()?;
                let nowhere = || Fault::new(HETDWARF_OPTIMIZED_OUT, "it has no place in this lane");
                let answered = Answered {
                    outcome: Outcome::Location(place.flatten().ok_or_else(nowhere)?),
                    lane,
                    texts: Texts::default(),
                    home: home(Vec::new(), Some(Arc::clone(stop))),
                };
                Ok((Arc::clone(lock), answered))
            })
        })
    })
}

/// Returns a summary of a result.
///
/// * `info`: gets the answer; the caller sets its `size`.
///
/// Errors: only the common ones.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_result_get_info(
    result: *const hetdwarf_result,
    info: *mut hetdwarf_result_info,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(result, |result, _| {
            let mut value = hetdwarf_result_info {
                size: 0,
                place_count: 0,
                encoding: core::ptr::null(),
                bit_size: 0,
                bytes: [0; 16],
                reserved: [0; 4],
            };
            match &result.outcome {
                Outcome::Location(location) => value.place_count = location.places().len(),
                Outcome::Value(known) => {
                    value.encoding = result.texts.keep(known.base_type.encoding.name());
                    value.bit_size = known.base_type.bit_size.into();
                    value.bytes = known.bits.to_le_bytes();
                }
            }
            plain::write(info, &value)
        })
    })
}

/// Returns a place of a location.
///
/// * `index`: below `place_count`.
/// * `place`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`; `HETDWARF_INVALID_ARGUMENT` if the result is a value.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_result_place(
    result: *const hetdwarf_result,
    index: usize,
    place: *mut hetdwarf_place,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(result, |result, _| {
            plain::size_at(place)?;
            let found = result.place(index)?;
            plain::write(place, &result.describe(&found))
        })
    })
}

/// Returns the part of a composite that contains a bit. To visit all parts, start at bit 0 and continue at the end of each part.
///
/// * `index`: the index of the composite's place.
/// * `bit`: the bit, counted from the start of the composite.
/// * `part`: gets the answer; the caller sets its `size`.
/// * `location`: gets a handle for the location of the part, which the caller frees; NULL on error.
///
/// Errors: `HETDWARF_NOT_FOUND` past the end; `HETDWARF_INVALID_ARGUMENT` if the place is not a composite.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_result_part(
    result: *const hetdwarf_result,
    index: usize,
    bit: u64,
    part: *mut hetdwarf_part,
    location: *mut *mut hetdwarf_result,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(result, |result, lock| {
            give(location, || {
                plain::size_at(part)?;
                let Storage::Composite(composite) = result.place(index)?.storage else {
                    return Err(Fault::argument("the place is not a composite"));
                };
                let found = composite.part_at(bit.into());
                let found =
                    found.ok_or_else(|| Fault::not_found(format!("no part has bit {bit}")))?;
                let value = hetdwarf_part {
                    size: 0,
                    start: u64::try_from(found.start).unwrap_or(u64::MAX),
                    bit_size: u64::try_from(found.bit_size).unwrap_or(u64::MAX),
                    reserved: [0; 4],
                };
                plain::write(part, &value)?;
                Ok((Arc::clone(lock), result.other(found.location)))
            })
        })
    })
}

/// Reads bits of a value, or of the object at a location.
///
/// * `lane`: the lane that reads, if the storage depends on it; `HETDWARF_NO_LANE` for the lane that the result was made for.
/// * `bit_size`: the number of bits, at most 2^24.
/// * `bits`: gets the bits.
///
/// Errors: `HETDWARF_TOO_SMALL`; `HETDWARF_FAILED` if the storage has fewer bits; `HETDWARF_LIMIT`; `HETDWARF_CALLBACK_FAILED`. Missing
/// bits are not an error: see `hetdwarf_bits`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_result_read(
    result: *const hetdwarf_result,
    lane: i32,
    bit_size: u64,
    bits: *mut hetdwarf_bits,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(result, |result, _| {
            let access = Access {
                wave: result.wave(),
                lane: result.lane(lane)?,
                max_bits: MOST_BITS,
                meter: None,
            };
            bits::put(bits, &read(&result.readable(), bit_size, &access)?)
        })
    })
}

/// Writes bits to all places of a location, through the callbacks of the wave.
///
/// * `lane`: the lane that writes, if the storage depends on it; `HETDWARF_NO_LANE` for the lane that the result was made for.
/// * `bytes`: the bits, the lowest first, `bit_size` of them.
///
/// Nothing is written unless every bit has a writable place. Frames and values that were read before keep their old contents: read them
/// again.
///
/// Errors: `HETDWARF_READ_ONLY` if the wave cannot be written to; `HETDWARF_UNSUPPORTED` for implicit parts; `HETDWARF_OPTIMIZED_OUT`;
/// `HETDWARF_FAILED` if the storage has fewer bits; `HETDWARF_CALLBACK_FAILED`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_result_write(
    result: *const hetdwarf_result,
    lane: i32,
    bytes: *const u8,
    bit_size: u64,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(result, |result, _| {
            let length = usize::try_from(bit_size.div_ceil(8))
                .ok()
                .filter(|_| bit_size <= MOST_BITS);
            let length = length.ok_or_else(|| Fault::new(HETDWARF_LIMIT, "too many bits"))?;
            let bytes = plain::bytes(bytes, length, "bytes")?;
            let writer = result.home.stop.as_ref().and_then(|stop| stop.writer());
            let read_only = || Fault::new(HETDWARF_READ_ONLY, "the wave cannot be written to");
            let mut wave = writer.ok_or_else(read_only)?;
            let lane = result.lane(lane)?;
            let access = Access {
                wave: &wave,
                lane,
                max_bits: MOST_BITS,
                meter: None,
            };
            let destination = Destination::find(&result.location()?, bit_size, &access);
            let written = destination.and_then(|found| found.write(bytes, &mut wave));
            written.map_err(|error| match wave.is_refused() {
                true => read_only(),
                false => error.into(),
            })
        })
    })
}

/// Reads a register of a frame. In a caller's frame, this is the value that the caller will see after the return.
///
/// * `level`: 0 for the innermost frame.
/// * `number`: the register's DWARF number.
/// * `lane`: the lane for a scalar register that was saved in the memory of each lane; `HETDWARF_NO_LANE` for lane 0, or for any other
///   register. A vector register is read whole, 32 bits for each lane, lane 0 lowest.
/// * `bits`: gets the bits; 256 bytes are enough for every register.
///
/// Errors: `HETDWARF_NOT_FOUND` if there is no such frame or register; `HETDWARF_TOO_SMALL`; the errors of `hetdwarf_evaluate`. Missing
/// bits are not an error: see `hetdwarf_bits`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_stop_register(
    stop: *const hetdwarf_stop,
    level: usize,
    number: u32,
    lane: i32,
    bits: *mut hetdwarf_bits,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(stop, |data, _| {
            let no_such = || Fault::not_found(format!("there is no register {number}"));
            let register = Register::from_number(number.into()).ok_or_else(no_such)?;
            register.size_in_bits().ok_or_else(no_such)?;
            let frame = data.frame(level)?;
            let lane = lane_of(lane, data.stop().wave())?;
            let found = frame.read_register(register, lane)?;
            bits::put(bits, &found)
        })
    })
}
