//! Provides storage that does not move.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use std::sync::Arc;

/// A value at a fixed address, which others may borrow until it is dropped.
///
/// A `Box` is not sufficient: moving it invalidates borrows of its contents.
pub struct Pinned<T>(NonNull<T>, PhantomData<T>);

impl<T> Pinned<T> {
    /// Moves a value to its fixed address.
    #[must_use]
    pub fn new(value: T) -> Pinned<T> {
        Pinned(Box::leak(Box::new(value)).into(), PhantomData)
    }

    /// Returns the value with a lifetime that the caller controls.
    ///
    /// # Safety
    /// The reference must not be used after this value is dropped.
    #[must_use]
    pub unsafe fn borrow(&self) -> &'static T {
        // SAFETY: the value is in a box that only `drop` frees, and is never borrowed mutably.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: the value is only lent as a shared reference, which may remain in another thread.
unsafe impl<T: Send + Sync> Send for Pinned<T> {}
// SAFETY: the value is only lent as a shared reference.
unsafe impl<T: Sync> Sync for Pinned<T> {}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        // SAFETY: `new` made the pointer from a box, and it is dropped once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<T> fmt::Debug for Pinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pinned").finish_non_exhaustive()
    }
}

/// Returns the bytes of a file with a lifetime that the caller controls.
///
/// # Safety
/// The bytes must not be used after the last owner of `bytes` is dropped.
pub(crate) unsafe fn borrow_bytes(bytes: &Arc<[u8]>) -> &'static [u8] {
    // SAFETY: an `Arc` never moves or changes its contents while it is shared, and the caller keeps it.
    unsafe { &*Arc::as_ptr(bytes) }
}
