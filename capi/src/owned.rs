//! Values that own what they borrow from.
//!
//! What the library reads of a file borrows from its bytes. A handle owns both: the bytes, and everything between, are in
//! places of their own that do not move, and fields are dropped in their order, so that each goes before what it borrows.

use std::sync::Arc;

use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;

use crate::status::Answer;

/// A value in a place of its own, which others may borrow until it is dropped.
pub(crate) struct Pinned<T>(core::ptr::NonNull<T>, core::marker::PhantomData<T>);

impl<T> Pinned<T> {
    pub(crate) fn new(value: T) -> Pinned<T> {
        Pinned(Box::leak(Box::new(value)).into(), core::marker::PhantomData)
    }

    /// # Safety
    /// What is borrowed must not be used after this is dropped.
    pub(crate) unsafe fn borrow(&self) -> &'static T {
        // SAFETY: the value is in a box that only `drop` frees, and is never borrowed mutably.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        // SAFETY: it was made of a box in `new`, and is dropped once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// The bytes of a file for as long as the owner has them.
///
/// # Safety
/// What is borrowed must not be used after the last owner of `bytes` is dropped.
pub(crate) unsafe fn borrow_bytes(bytes: &Arc<[u8]>) -> &'static [u8] {
    // SAFETY: an `Arc` never moves or changes what it owns while it is shared; the caller keeps it.
    unsafe { &*Arc::as_ptr(bytes) }
}

/// A program with what it borrows from.
pub(crate) struct LoadedProgram {
    program: Program<'static>,
    _object: Pinned<CodeObject<'static>>,
    _bytes: Arc<[u8]>,
}

impl LoadedProgram {
    pub(crate) fn load(bytes: Arc<[u8]>) -> Answer<LoadedProgram> {
        // SAFETY: `_bytes` owns them until the object and the program are dropped.
        let data = unsafe { borrow_bytes(&bytes) };
        let object = Pinned::new(CodeObject::parse(data)?);
        // SAFETY: `_object` is dropped after the program.
        let program = Program::load(unsafe { object.borrow() })?;
        Ok(LoadedProgram {
            program,
            _object: object,
            _bytes: bytes,
        })
    }

    /// What it lends says that it lives for ever, and must not be used after this is dropped.
    pub(crate) fn program(&self) -> &Program<'static> {
        &self.program
    }
}
