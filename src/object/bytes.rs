//! Reads little-endian numbers and slices at untrusted offsets: out of range is `None`, never a panic.

use object::pod::{self, Pod};

/// Returns the `len` bytes at `offset`.
pub(crate) fn slice_at(data: &[u8], offset: u64, len: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let len = usize::try_from(len).ok()?;
    data.get(start..start.checked_add(len)?)
}

/// Returns all bytes from `offset` on.
pub(crate) fn tail_at(data: &[u8], offset: u64) -> Option<&[u8]> {
    data.get(usize::try_from(offset).ok()?..)
}

fn array_at<const N: usize>(data: &[u8], offset: u64) -> Option<[u8; N]> {
    tail_at(data, offset)?.first_chunk::<N>().copied()
}

/// Returns a reference to the structure at `offset`.
pub(crate) fn pod_at<T: Pod>(data: &[u8], offset: u64) -> Option<&T> {
    let (read, _) = pod::from_bytes(tail_at(data, offset)?).ok()?;
    Some(read)
}

/// Returns the number of 2 bytes at `offset`.
pub(crate) fn u16_at(data: &[u8], offset: u64) -> Option<u16> {
    array_at(data, offset).map(u16::from_le_bytes)
}

/// Returns the number of 4 bytes at `offset`.
pub(crate) fn u32_at(data: &[u8], offset: u64) -> Option<u32> {
    array_at(data, offset).map(u32::from_le_bytes)
}

/// Returns the number of 8 bytes at `offset`.
pub(crate) fn u64_at(data: &[u8], offset: u64) -> Option<u64> {
    array_at(data, offset).map(u64::from_le_bytes)
}

/// Returns a length as `u64`, the type in files.
pub(crate) fn len(data: &[u8]) -> u64 {
    // A slice is never longer than `isize::MAX` bytes.
    data.len() as u64
}
