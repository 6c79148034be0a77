//! Handles: what C holds, and who may use it.
//!
//! What the library reads of a file borrows from its bytes and is made for one thread at a time. Handles that share it,
//! an object and its stops for example, share a [`Lock`]: a call takes it, and a call from another thread waits. A call
//! from within a callback of the same thread would wait for itself, and is refused.

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::status::hetdwarf_status::*;
use crate::status::{Answer, Fault, guard, hetdwarf_status};

/// The lock that handles share if they depend on each other.
#[derive(Debug, Default)]
pub(crate) struct Lock {
    mutex: Mutex<()>,
    /// The thread that has it, by the address of something of its own; 0 if none has.
    owner: AtomicUsize,
}

/// The lock, taken.
pub(crate) struct Taken<'l> {
    lock: &'l Lock,
    _guard: Option<MutexGuard<'l, ()>>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.lock.owner.store(0, Ordering::Relaxed);
    }
}

/// A number that no other thread has now.
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
        // Only this thread stores its own number, so that an older one of another thread does no harm.
        if self.owner.load(Ordering::Relaxed) == this_thread() {
            return Err(busy());
        }
        let guard = self.mutex.lock().map_err(|_| {
            Fault::new(
                HETDWARF_INTERNAL,
                "an earlier call has failed by a mistake of the library",
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

/// Says what is behind handles, whose types C knows by name only.
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

/// Makes a handle.
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

/// Gives a handle to the caller.
///
/// # Safety
/// `place` is NULL or can be written.
pub(crate) unsafe fn give<K: Kind>(
    place: *mut *mut K,
    make_inner: impl FnOnce() -> Answer<(Arc<Lock>, K::Inner)>,
) -> Answer<()> {
    // SAFETY: as the caller says.
    unsafe { crate::plain::put(place, core::ptr::null_mut(), K::NAME) }?;
    let (lock, inner) = make_inner()?;
    // SAFETY: as above.
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
    // SAFETY: it is not NULL; alignment is looked at before anything is read.
    if !head.is_aligned() || unsafe { (*head).magic } != K::MAGIC {
        return Err(no_handle("this is no such handle"));
    }
    // SAFETY: it begins as one of this kind does.
    Ok(unsafe { &*handle.cast::<Box_<K::Inner>>() })
}

/// Calls `then` with what a handle holds, while no other thread uses it or what it depends on.
///
/// # Safety
/// `handle` is NULL, or that of a live handle of any kind.
pub(crate) unsafe fn with<K: Kind, R>(
    handle: *const K,
    then: impl FnOnce(&K::Inner, &Arc<Lock>) -> Answer<R>,
) -> Answer<R> {
    // SAFETY: as the caller says.
    let opened = unsafe { open(handle) }?;
    let _taken = opened.lock.take()?;
    then(&opened.inner, &opened.lock)
}

/// Uses one more handle, which must share the taken lock.
///
/// # Safety
/// `handle` is NULL, or that of a live handle of any kind; the caller has taken `lock`.
pub(crate) unsafe fn beside<K: Kind, R>(
    handle: *const K,
    lock: &Arc<Lock>,
    then: impl FnOnce(&K::Inner) -> Answer<R>,
) -> Answer<R> {
    // SAFETY: as the caller says.
    let opened = unsafe { open(handle) }?;
    if !Arc::ptr_eq(&opened.lock, lock) {
        let message = format!("{} is of another object", K::NAME);
        return Err(Fault::new(HETDWARF_INVALID_ARGUMENT, message));
    }
    then(&opened.inner)
}

/// # Safety
/// `head` is that of a live handle of kind `K`, which nobody uses afterwards.
unsafe fn free<K: Kind>(head: *mut Head) -> Answer<()> {
    let handle = head.cast::<Box_<K::Inner>>();
    // SAFETY: it is live.
    let lock = Arc::clone(unsafe { &(*handle).lock });
    let _taken = lock.take_to_drop()?;
    // SAFETY: it was made by `make`, and is not used afterwards.
    let mut owned = unsafe { Box::from_raw(handle) };
    owned.head.magic = 0;
    drop(owned);
    Ok(())
}

/// All kinds.
fn is_known(magic: u64) -> bool {
    crate::KINDS.contains(&magic)
}

/// Frees a handle of any kind, with all strings and arrays that it owns. What depends on it, a stop on its object for
/// example, is not freed, and can still be used.
///
/// * `handle`: NULL is allowed, and nothing happens. It must not be used afterwards, nor freed again.
///
/// Errors: `HETDWARF_BUSY` from within a callback that the handle has called: it is not freed; `HETDWARF_INVALID_HANDLE`
/// for a pointer that is to something else. No other thread may use the handle at the same time.
///
/// # Safety
/// `handle` is NULL or that of a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_free(handle: *mut c_void) -> hetdwarf_status {
    guard(|| {
        if handle.is_null() {
            return Ok(());
        }
        let head = handle.cast::<Head>();
        // SAFETY: it is not NULL; alignment is looked at before anything is read.
        if !head.is_aligned() || !is_known(unsafe { (*head).magic }) {
            return Err(Fault::new(HETDWARF_INVALID_HANDLE, "this is no handle"));
        }
        // SAFETY: it begins as a handle does, which knows how it is freed.
        unsafe { ((*head).free)(head) }
    })
}
