//! Locks of what threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; a thread that panicked while it had the lock has left what it found or what it was about to put there, never half of it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
