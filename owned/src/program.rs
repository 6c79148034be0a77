//! A program that owns its code object and its file.

use core::fmt;
use std::sync::Arc;

use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;
use hetdwarf::{Limits, Result};

use crate::pinned::{Pinned, borrow_bytes};

/// A program with the values that it borrows from.
pub struct LoadedProgram {
    program: Pinned<Program<'static>>,
    _object: Pinned<CodeObject<'static>>,
    _bytes: Arc<[u8]>,
}

impl LoadedProgram {
    /// Loads the program of a code object file.
    ///
    /// # Errors
    /// See [`CodeObject::parse`] and [`Program::load`].
    pub fn load(bytes: Arc<[u8]>) -> Result<LoadedProgram> {
        LoadedProgram::load_with(bytes, &Limits::DEFAULT)
    }

    /// Loads the program of a code object file, within limits.
    ///
    /// # Errors
    /// See [`CodeObject::parse_with`] and [`Program::load`].
    pub fn load_with(bytes: Arc<[u8]>, limits: &Limits) -> Result<LoadedProgram> {
        // SAFETY: `_bytes` owns them until the object and the program are dropped.
        let data = unsafe { borrow_bytes(&bytes) };
        let object = Pinned::new(CodeObject::parse_with(data, limits)?);
        // SAFETY: `_object` is dropped after the program.
        let program = Program::load(unsafe { object.borrow() })?;
        Ok(LoadedProgram {
            program: Pinned::new(program),
            _object: object,
            _bytes: bytes,
        })
    }

    /// Calls `question` with the program.
    pub fn with<R>(&self, question: impl for<'p, 'd> FnOnce(&'p Program<'d>) -> R) -> R {
        // SAFETY: the answer cannot borrow from the program, because `question` accepts any lifetimes.
        question(unsafe { self.program() })
    }

    /// Returns the program with a lifetime that the caller controls.
    ///
    /// # Safety
    /// The reference must not be used after this program is dropped.
    #[must_use]
    pub unsafe fn program(&self) -> &'static Program<'static> {
        // SAFETY: the caller keeps the contract of this function.
        unsafe { self.program.borrow() }
    }
}

impl fmt::Debug for LoadedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedProgram").finish_non_exhaustive()
    }
}
