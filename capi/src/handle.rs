//! Defines the handles that C holds, and their locking.
//!
//! Values that the library reads from a file borrow from its bytes, and only one thread at a time can use them. Handles that share them,
//! such as an object and its stops, share a [`Lock`]. A call takes it, and a call from another thread waits. A call from a callback of the
//! same thread would deadlock, and is rejected.

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::status::hetdwarf_status::*;
use crate::status::{Answer, Fault, guard, hetdwarf_status};

/// The lock that handles share if they depend on each other.
#[derive(Debug, Default)]
pub(crate) struct Lock {
    mutex: Mutex<()>,
    /// The thread that holds the lock, as the address of a thread-local; 0 if none.
    owner: AtomicUsize,
}

/// A guard for the lock.
pub(crate) struct Taken<'l> {
    lock: &'l Lock,
    _guard: Option<MutexGuard<'l, ()>>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.lock.owner.store(0, Ordering::Relaxed);
    }
}

/// Returns a number that no other running thread has.
fn this_thread() -> usize {
    thread_local!(static OWN: u8 = const { 0 });
    OWN.try_with(|own| core::ptr::from_ref(own).addr())
        .unwrap_or(usize::MAX)
}

impl Lock {
    /// # Errors
    /// `HETDWARF_BUSY` from within a callback; `HETDWARF_INTERNAL` after a panic.
    fn take(&self) -> Answer<Taken<'_>> {
        let busy = || {
            Fault::new(
                HETDWARF_BUSY,
                "the handle is in use by a call that has not returned",
            )
        };
        // Only this thread stores its own number, so a stale number of another thread is harmless.
        if self.owner.load(Ordering::Relaxed) == this_thread() {
            return Err(busy());
        }
        let guard = self.mutex.lock().map_err(|_| {
            Fault::new(
                HETDWARF_INTERNAL,
                "an earlier call failed with an internal error of the library",
            )
        })?;
        Ok(self.taken(Some(guard)))
    }

    /// Takes the lock to drop its contents, which is allowed after a panic too.
    fn take_to_drop(&self) -> Answer<Taken<'_>> {
        match self.take() {
            Err(fault) if fault.status == HETDWARF_INTERNAL => {
                let guard = self
                    .mutex
                    .lock()
                    .unwrap_or_else(|poisoned| poisoned.into_inner());
                Ok(self.taken(Some(guard)))
            }
            other => other,
        }
    }

    fn taken<'l>(&'l self, guard: Option<MutexGuard<'l, ()>>) -> Taken<'l> {
        self.owner.store(this_thread(), Ordering::Relaxed);
        Taken {
            lock: self,
            _guard: guard,
        }
    }
}

/// A kind of handle.
pub(crate) trait Kind {
    /// The contents of a handle of this kind.
    type Inner: 'static;
    /// The first bytes of its memory.
    const MAGIC: u64;
    /// Its name in the header.
    const NAME: &'static str;
}

/// Defines the contents of the handle types that are opaque in C.
macro_rules! handles {
    ($($name:ident: $inner:ty = $magic:literal;)*) => { $(
        impl crate::handle::Kind for $name {
            type Inner = $inner;
            const MAGIC: u64 = u64::from_le_bytes(*$magic);
            const NAME: &'static str = stringify!($name);
        }
    )* };
}
pub(crate) use handles;

/// The start of every handle.
#[repr(C)]
struct Head {
    magic: u64,
    free: unsafe fn(*mut Head) -> Answer<()>,
}

/// The memory of a handle.
#[repr(C)]
struct Box_<I> {
    head: Head,
    lock: Arc<Lock>,
    inner: I,
}

/// Allocates a handle.
pub(crate) fn make<K: Kind>(lock: Arc<Lock>, inner: K::Inner) -> *mut K {
    let handle = Box::new(Box_ {
        head: Head {
            magic: K::MAGIC,
            free: free::<K>,
        },
        lock,
        inner,
    });
    Box::into_raw(handle).cast()
}

/// Passes a new handle to the caller.
///
/// # Safety
/// `place` is NULL or writable.
pub(crate) unsafe fn give<K: Kind>(
    place: *mut *mut K,
    make_inner: impl FnOnce() -> Answer<(Arc<Lock>, K::Inner)>,
) -> Answer<()> {
    // SAFETY: the caller keeps the contract of this function.
    unsafe { crate::plain::put(place, core::ptr::null_mut(), K::NAME) }?;
    let (lock, inner) = make_inner()?;
    // SAFETY: the caller keeps the contract of this function.
    unsafe { crate::plain::put(place, make::<K>(lock, inner), K::NAME) }
}

/// # Safety
/// `handle` is NULL, or points to memory of a live handle of any kind.
unsafe fn open<'h, K: Kind>(handle: *const K) -> Answer<&'h Box_<K::Inner>> {
    let no_handle =
        |what: &str| Fault::new(HETDWARF_INVALID_HANDLE, format!("{}: {what}", K::NAME));
    if handle.is_null() {
        return Err(no_handle("the handle is NULL"));
    }
    let head = handle.cast::<Head>();
    // SAFETY: it is not NULL, and alignment is checked before it is read.
    if !head.is_aligned() || unsafe { (*head).magic } != K::MAGIC {
        return Err(no_handle("this is not a handle of this type"));
    }
    // SAFETY: the magic number belongs to this kind.
    Ok(unsafe { &*handle.cast::<Box_<K::Inner>>() })
}

/// Calls `then` with the contents of a handle. No other thread can use it or its dependencies meanwhile.
///
/// # Safety
/// `handle` is NULL, or a live handle of any kind.
pub(crate) unsafe fn with<K: Kind, R>(
    handle: *const K,
    then: impl FnOnce(&K::Inner, &Arc<Lock>) -> Answer<R>,
) -> Answer<R> {
    // SAFETY: the caller keeps the contract of this function.
    let opened = unsafe { open(handle) }?;
    let _taken = opened.lock.take()?;
    then(&opened.inner, &opened.lock)
}

/// Accesses another handle, which must share the held lock.
///
/// # Safety
/// `handle` is NULL, or a live handle of any kind; the caller holds `lock`.
pub(crate) unsafe fn beside<K: Kind, R>(
    handle: *const K,
    lock: &Arc<Lock>,
    then: impl FnOnce(&K::Inner) -> Answer<R>,
) -> Answer<R> {
    // SAFETY: the caller keeps the contract of this function.
    let opened = unsafe { open(handle) }?;
    if !Arc::ptr_eq(&opened.lock, lock) {
        let message = format!("{} belongs to another object", K::NAME);
        return Err(Fault::new(HETDWARF_INVALID_ARGUMENT, message));
    }
    then(&opened.inner)
}

/// # Safety
/// `head` is a live handle of kind `K`, and is not used afterwards.
unsafe fn free<K: Kind>(head: *mut Head) -> Answer<()> {
    let handle = head.cast::<Box_<K::Inner>>();
    // SAFETY: the handle is live.
    let lock = Arc::clone(unsafe { &(*handle).lock });
    let _taken = lock.take_to_drop()?;
    // SAFETY: `make` allocated it, and it is not used afterwards.
    let mut owned = unsafe { Box::from_raw(handle) };
    owned.head.magic = 0;
    drop(owned);
    Ok(())
}

/// Returns true for the magic numbers of all kinds.
fn is_known(magic: u64) -> bool {
    crate::KINDS.contains(&magic)
}

/// Frees a handle of any kind, with all strings and arrays that it owns. Handles that depend on it, for example the stops of an object, are
/// not freed and remain usable.
///
/// * `handle`: the handle, which must not be used or freed again; NULL does nothing.
///
/// Errors: `HETDWARF_BUSY`, without freeing the handle, if a callback of the handle calls this function; `HETDWARF_INVALID_HANDLE` for any
/// other pointer. No other thread may use the handle at the same time.
///
/// # Safety
/// `handle` is NULL or points to a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_free(handle: *mut c_void) -> hetdwarf_status {
    guard(|| {
        if handle.is_null() {
            return Ok(());
        }
        let head = handle.cast::<Head>();
        // SAFETY: it is not NULL, and alignment is checked before it is read.
        if !head.is_aligned() || !is_known(unsafe { (*head).magic }) {
            return Err(Fault::new(
                HETDWARF_INVALID_HANDLE,
                "the pointer is not a handle",
            ));
        }
        // SAFETY: it starts with the head of a handle, which has the function that frees it.
        unsafe { ((*head).free)(head) }
    })
}
