//! Reads a wave from a snapshot, and gives its registers and memory to the caller.

use core::ffi::{c_char, c_void};
use std::sync::Arc;

use hetdwarf::arch::Register;
use hetdwarf::error::{AccessFailure, ErrorKind};
use hetdwarf::wave::{AccessError, Memory, Snapshot, Wave};

use super::{
    HETDWARF_NO_LANE, HETDWARF_WAVE_HAS_APERTURES, HETDWARF_WAVE_HAS_DISPATCH,
    HETDWARF_WAVE_HAS_KERNARG, hetdwarf_wave, memory_number,
};
use crate::handle::{Lock, give, handles, with};
use crate::object::read_file;
use crate::plain;
use crate::status::hetdwarf_status::*;
use crate::status::{Answer, Fault, guard, hetdwarf_status};

/// A stopped wave in a file of the format `hetdwarf-wave/1`. Free it with `hetdwarf_free`.
#[derive(Debug)]
pub struct hetdwarf_snapshot {
    _private: [u8; 0],
}

handles! { hetdwarf_snapshot: Snapshot = b"hdwsnap\x01"; }

fn snapshot(text: &[u8]) -> Answer<(Arc<Lock>, Snapshot)> {
    Ok((Arc::default(), Snapshot::from_json(text)?))
}

/// Opens a snapshot in memory.
///
/// * `text`, `length`: the JSON document.
/// * `snapshot`: gets the handle, which the caller frees; NULL on error.
///
/// Errors: `HETDWARF_MALFORMED`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_snapshot_open(
    text: *const u8,
    length: usize,
    snapshot: *mut *mut hetdwarf_snapshot,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        give(snapshot, || {
            self::snapshot(plain::bytes(text, length, "text")?)
        })
    })
}

/// Opens a snapshot file.
///
/// * `path`: the path, UTF-8.
///
/// Errors: the errors of `hetdwarf_snapshot_open`; `HETDWARF_IO`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_snapshot_open_file(
    path: *const c_char,
    snapshot: *mut *mut hetdwarf_snapshot,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe { give(snapshot, || self::snapshot(&read_file(path)?)) })
}

/// Returns the wave of a snapshot, with callbacks that read the snapshot.
///
/// * `wave`: gets the answer; the caller sets its `size`. `user` is the snapshot, which must outlive the use of the wave.
///
/// Errors: only the common ones.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_snapshot_wave(
    snapshot: *mut hetdwarf_snapshot,
    wave: *mut hetdwarf_wave,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(snapshot.cast_const(), |known, _| {
            let apertures = known.apertures();
            let dispatch = known.dispatch();
            let flag = |is_known: bool, flag: u32| if is_known { flag } else { 0 };
            let place = dispatch.unwrap_or_default();
            let value = hetdwarf_wave {
                size: 0,
                user: snapshot.cast(),
                read_register: Some(hetdwarf_snapshot_read_register),
                read_memory: Some(hetdwarf_snapshot_read_memory),
                write_register: None,
                write_memory: None,
                pc: known.pc().into(),
                load_address: known.load_address.into(),
                wave_size: known.wave_size().lanes(),
                kernarg_address: place.kernarg_address.unwrap_or(0),
                flags: flag(place.kernarg_address.is_some(), HETDWARF_WAVE_HAS_KERNARG)
                    | flag(apertures.is_some(), HETDWARF_WAVE_HAS_APERTURES)
                    | flag(dispatch.is_some(), HETDWARF_WAVE_HAS_DISPATCH),
                shared_base: apertures.map_or(0, |apertures| apertures.shared_base),
                private_base: apertures.map_or(0, |apertures| apertures.private_base),
                workgroup_id: place.workgroup_id,
                workgroup_size: place.workgroup_size,
                grid_size: place.grid_size,
                wave_in_group: place.wave_in_group,
                reserved: [0; 3],
            };
            plain::write(wave, &value)
        })
    })
}

fn access_fault(error: AccessError) -> Fault {
    match error {
        AccessError::Unavailable => Fault::new(HETDWARF_UNAVAILABLE, "not available"),
        AccessError::ReadOnly => Fault::new(HETDWARF_READ_ONLY, "read-only"),
        other => Fault::from(hetdwarf::Error::from(ErrorKind::Access(
            AccessFailure::new(other),
        ))),
    }
}

/// Returns the caller's bytes as a slice.
///
/// # Safety
/// `out` is NULL or has room for `size` bytes.
unsafe fn room<'a>(out: *mut c_void, size: usize) -> Answer<&'a mut [u8]> {
    if size == 0 {
        return Ok(&mut []);
    }
    if out.is_null() || isize::try_from(size).is_err() {
        return Err(Fault::argument("out is NULL, or its size is too large"));
    }
    // SAFETY: zeroing needs no initialized bytes, and the caller guarantees the room.
    unsafe {
        out.cast::<u8>().write_bytes(0, size);
        Ok(core::slice::from_raw_parts_mut(out.cast(), size))
    }
}

/// Reads a register of a snapshot. It is a `hetdwarf_read_register` callback, which the caller's own callbacks can use.
///
/// * `snapshot`: the handle.
///
/// Errors: `HETDWARF_UNAVAILABLE`.
///
/// # Safety
/// See `hetdwarf_read_register`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_snapshot_read_register(
    snapshot: *mut c_void,
    number: u32,
    lane: i32,
    first_bit: u32,
    bit_count: u32,
    out: *mut c_void,
) -> i32 {
    // SAFETY: the caller keeps the contract of this function.
    let status = guard(|| unsafe {
        with(
            snapshot.cast_const().cast::<hetdwarf_snapshot>(),
            |known, _| {
                let wrong = || {
                    Fault::argument(format!(
                        "register {number}, lane {lane} has no bits {first_bit}+{bit_count}"
                    ))
                };
                let register = Register::from_number(number.into()).ok_or_else(wrong)?;
                let size = register.size_in_bits().ok_or_else(wrong)?;
                let skip = match u32::try_from(lane) {
                    Ok(lane) => lane.checked_mul(32).ok_or_else(wrong)?,
                    Err(_) if lane == HETDWARF_NO_LANE => 0,
                    Err(_) => return Err(wrong()),
                };
                let start = skip.checked_add(first_bit).ok_or_else(wrong)?;
                let end = start.checked_add(bit_count).ok_or_else(wrong)?;
                if end > size || start % 8 != 0 || end % 8 != 0 {
                    return Err(wrong());
                }
                let out = room(out, usize::try_from(bit_count / 8).map_err(|_| wrong())?)?;
                known
                    .read_register(register, start..end, out)
                    .map_err(access_fault)
            },
        )
    });
    status as i32
}

/// Reads memory of a snapshot. It is a `hetdwarf_read_memory` callback, which the caller's own callbacks can use.
///
/// * `snapshot`: the handle.
///
/// Errors: `HETDWARF_UNAVAILABLE`.
///
/// # Safety
/// See `hetdwarf_read_memory`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_snapshot_read_memory(
    snapshot: *mut c_void,
    memory: u32,
    address: u64,
    size: usize,
    out: *mut c_void,
) -> i32 {
    // SAFETY: the caller keeps the contract of this function.
    let status = guard(|| unsafe {
        with(
            snapshot.cast_const().cast::<hetdwarf_snapshot>(),
            |known, _| {
                let mut memories = Memory::ALL.into_iter();
                let known_memory = memories.find(|one| memory_number(*one) == memory);
                let wrong = || Fault::argument(format!("there is no memory {memory}"));
                let memory = known_memory.ok_or_else(wrong)?;
                let out = room(out, size)?;
                known
                    .read_memory(memory, address, out)
                    .map_err(access_fault)
            },
        )
    });
    status as i32
}
