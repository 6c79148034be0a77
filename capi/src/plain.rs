//! Reads and writes C structs that begin with their size, so that they can grow.

use core::mem::{MaybeUninit, size_of};

use crate::status::{Answer, Fault};

/// A struct that begins with its size.
///
/// # Safety
/// The struct is `repr(C)`, its first field is `size: usize`, and all bytes zero are a valid value.
pub(crate) unsafe trait Sized_: Copy {
    /// Its name in the header.
    const NAME: &'static str;
    /// The size of its first version.
    const FIRST: usize;

    /// Returns true if the reserved fields are zero.
    fn is_reserved_zero(&self) -> bool;
}

/// Implements [`Sized_`] for structs whose last field is `reserved`.
macro_rules! sized {
    ($($name:ident)*) => { $(
        // SAFETY: it is `repr(C)` and starts with `size: usize`; its fields are numbers, pointers and optional functions.
        unsafe impl crate::plain::Sized_ for $name {
            const NAME: &'static str = stringify!($name);
            const FIRST: usize = core::mem::size_of::<$name>();

            fn is_reserved_zero(&self) -> bool {
                self.reserved.iter().all(|word| *word == 0)
            }
        }
    )* };
}
pub(crate) use sized;

fn check_size<T: Sized_>(size: usize) -> Answer<()> {
    // A size that is far too large indicates uninitialized memory, and not a later version.
    let most = size_of::<T>() * 16;
    if size < T::FIRST || size > most || !size.is_multiple_of(align_of::<usize>()) {
        return Err(Fault::argument(format!("{}: size is {size}", T::NAME)));
    }
    Ok(())
}

/// Reads a struct of the caller.
///
/// # Safety
/// `given` is NULL, or begins with its size, and that many bytes can be read.
pub(crate) unsafe fn read<T: Sized_>(given: *const T) -> Answer<T> {
    // SAFETY: the caller keeps the contract of this function.
    match unsafe { read_if(given) }? {
        Some(given) => Ok(given),
        None => Err(Fault::argument(format!("{} is NULL", T::NAME))),
    }
}

/// Reads a struct of the caller. Returns `None` for NULL.
///
/// # Safety
/// See [`read`].
pub(crate) unsafe fn read_if<T: Sized_>(given: *const T) -> Answer<Option<T>> {
    if given.is_null() {
        return Ok(None);
    }
    // SAFETY: it is not NULL, and begins with its size.
    let size = unsafe { given.cast::<usize>().read_unaligned() };
    check_size::<T>(size)?;
    let known = size.min(size_of::<T>());
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: `known` bytes can be read, and the value has room for them.
    unsafe { core::ptr::copy_nonoverlapping(given.cast::<u8>(), value.as_mut_ptr().cast(), known) };
    // SAFETY: all bytes that were not copied are zero, which is valid.
    let value = unsafe { value.assume_init() };
    let beyond = known..size;
    // SAFETY: `size` bytes can be read.
    let is_known = beyond
        .into_iter()
        .all(|at| unsafe { given.cast::<u8>().add(at).read() } == 0);
    if !is_known || !value.is_reserved_zero() {
        return Err(Fault::argument(format!(
            "{}: reserved bytes are not zero",
            T::NAME
        )));
    }
    Ok(Some(value))
}

/// Writes an answer to the caller's struct, up to the caller's size. Bytes beyond the known fields become zero.
///
/// # Safety
/// `place` is NULL, or begins with its size, and that many bytes can be written.
pub(crate) unsafe fn write<T: Sized_>(place: *mut T, value: &T) -> Answer<()> {
    // SAFETY: the caller keeps the contract of this function.
    let size = unsafe { size_at(place) }?;
    let known = size.min(size_of::<T>());
    let bytes = place.cast::<u8>();
    let skip = size_of::<usize>();
    // SAFETY: `size` bytes can be written; the size field is unchanged.
    unsafe {
        let from = core::ptr::from_ref(value).cast::<u8>();
        core::ptr::copy(from.add(skip), bytes.add(skip), known.saturating_sub(skip));
        bytes.add(known).write_bytes(0, size.saturating_sub(known));
    }
    Ok(())
}

/// Returns the size of the caller's struct, if an answer can be written to it.
///
/// # Safety
/// See [`write`].
pub(crate) unsafe fn size_at<T: Sized_>(place: *mut T) -> Answer<usize> {
    if place.is_null() {
        return Err(Fault::argument(format!("{} is NULL", T::NAME)));
    }
    // SAFETY: it is not NULL, and begins with its size.
    let size = unsafe { place.cast::<usize>().read_unaligned() };
    check_size::<T>(size)?;
    Ok(size)
}

/// Returns a slice of the caller's bytes.
///
/// # Safety
/// `length` bytes can be read at `bytes` for `'a`, or `length` is 0.
pub(crate) unsafe fn bytes<'a>(bytes: *const u8, length: usize, name: &str) -> Answer<&'a [u8]> {
    if length == 0 {
        return Ok(&[]);
    }
    if bytes.is_null() {
        return Err(Fault::argument(format!("{name} is NULL")));
    }
    if isize::try_from(length).is_err() {
        return Err(Fault::argument(format!("{name} has no {length} bytes")));
    }
    // SAFETY: it is not NULL and not too long, and the caller guarantees that it can be read.
    Ok(unsafe { core::slice::from_raw_parts(bytes, length) })
}

/// Writes an answer to the caller's variable.
///
/// # Safety
/// `place` is NULL or writable.
pub(crate) unsafe fn put<T>(place: *mut T, value: T, name: &str) -> Answer<()> {
    if place.is_null() {
        return Err(Fault::argument(format!("{name} is NULL")));
    }
    // SAFETY: it is not NULL and writable. It need not be aligned.
    unsafe { place.write_unaligned(value) };
    Ok(())
}
