//! Places that do not move.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use std::sync::Arc;

/// A value in a place of its own, which others may borrow until it is dropped.
///
/// A `Box` would not do: it may not be moved while what is in it is borrowed.
pub struct Pinned<T>(NonNull<T>, PhantomData<T>);

impl<T> Pinned<T> {
    /// Moves a value to where it stays.
    #[must_use]
    pub fn new(value: T) -> Pinned<T> {
        Pinned(Box::leak(Box::new(value)).into(), PhantomData)
    }

    /// Returns the value, for as long as the caller says.
    ///
    /// # Safety
    /// What is borrowed must not be used after this is dropped.
    #[must_use]
    pub unsafe fn borrow(&self) -> &'static T {
        // SAFETY: the value is in a box that only `drop` frees, and is never borrowed mutably.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: it owns a value that is only lent as a shared reference; one that was lent may stay with another thread.
unsafe impl<T: Send + Sync> Send for Pinned<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Pinned<T> {}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        // SAFETY: it was made of a box in `new`, and is dropped once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<T> fmt::Debug for Pinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pinned").finish_non_exhaustive()
    }
}

/// Returns the bytes of a file for as long as the owner has them.
///
/// # Safety
/// What is borrowed must not be used after the last owner of `bytes` is dropped.
pub(crate) unsafe fn borrow_bytes(bytes: &Arc<[u8]>) -> &'static [u8] {
    // SAFETY: an `Arc` never moves or changes what it owns while it is shared; the caller keeps it.
    unsafe { &*Arc::as_ptr(bytes) }
}
