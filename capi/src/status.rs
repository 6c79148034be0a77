//! Defines the statuses of functions, and keeps the message of the last error.

use core::cell::RefCell;
use core::ffi::c_char;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hetdwarf::Error;
use hetdwarf::error::ErrorKind;

use crate::text::c_string;
use crate::wave::CallbackFailure;

/// The result of a function: success, or the reason of the failure. Values are never renumbered, and later versions may add values.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum hetdwarf_status {
    /// The function succeeded.
    HETDWARF_OK = 0,
    /// An argument is NULL where it must not be, a struct has a size that belongs to no version, reserved bytes are not zero, or a number
    /// is out of range.
    HETDWARF_INVALID_ARGUMENT = 1,
    /// A pointer does not point to a handle of the required kind.
    HETDWARF_INVALID_HANDLE = 2,
    /// The current thread already uses the handle, or one that it depends on, because a callback called the library.
    HETDWARF_BUSY = 3,
    /// The requested item does not exist: for example, no function at an address, or no variable with this name.
    HETDWARF_NOT_FOUND = 4,
    /// The caller's buffer is too small. The required size has been written.
    HETDWARF_TOO_SMALL = 5,
    /// A file cannot be read.
    HETDWARF_IO = 6,
    /// A file, an expression or a wave breaks a rule.
    HETDWARF_MALFORMED = 7,
    /// A limit on work or memory was reached.
    HETDWARF_LIMIT = 8,
    /// The debugger does not have the requested data. Callbacks return this for unknown registers and memory.
    HETDWARF_UNAVAILABLE = 9,
    /// The value was optimised away.
    HETDWARF_OPTIMIZED_OUT = 10,
    /// The input is valid, but the library does not support it.
    HETDWARF_UNSUPPORTED = 11,
    /// The input can be read in several ways, and nothing decides between them.
    HETDWARF_AMBIGUOUS = 12,
    /// The evaluation needs a lane, a frame or an object that was not given.
    HETDWARF_MISSING_CONTEXT = 13,
    /// The wave cannot be written to.
    HETDWARF_READ_ONLY = 14,
    /// A callback failed. Callbacks return this for any failure without a status of its own.
    HETDWARF_CALLBACK_FAILED = 15,
    /// The evaluation failed for another reason; see the message.
    HETDWARF_FAILED = 16,
    /// A bug in the library. The handle, and all handles that depend on it, can only be freed.
    HETDWARF_INTERNAL = 17,
}

use hetdwarf_status::*;

/// A status with its message, before it is returned to C.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) status: hetdwarf_status,
    message: String,
}

pub(crate) type Answer<T> = Result<T, Fault>;

impl Fault {
    pub(crate) fn new(status: hetdwarf_status, message: impl Into<String>) -> Fault {
        Fault {
            status,
            message: message.into(),
        }
    }

    pub(crate) fn argument(message: impl Into<String>) -> Fault {
        Fault::new(HETDWARF_INVALID_ARGUMENT, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Fault {
        Fault::new(HETDWARF_NOT_FOUND, message)
    }
}

/// Returns the status for an error of the library.
pub(crate) fn status_of(kind: &ErrorKind) -> hetdwarf_status {
    match kind {
        ErrorKind::Limit { .. } | ErrorKind::TooMany { .. } => HETDWARF_LIMIT,
        ErrorKind::Unavailable(_) => HETDWARF_UNAVAILABLE,
        ErrorKind::UndefinedRead => HETDWARF_OPTIMIZED_OUT,
        ErrorKind::Unsupported(_) => HETDWARF_UNSUPPORTED,
        ErrorKind::Ambiguous(_) => HETDWARF_AMBIGUOUS,
        ErrorKind::MissingContext(_) => HETDWARF_MISSING_CONTEXT,
        ErrorKind::Selection { .. } => HETDWARF_NOT_FOUND,
        ErrorKind::WrongWaveSize { .. } => HETDWARF_INVALID_ARGUMENT,
        ErrorKind::Access(failure) => {
            let failure = failure.error().downcast_ref::<CallbackFailure>();
            failure.map_or(HETDWARF_CALLBACK_FAILED, CallbackFailure::status)
        }
        ErrorKind::Truncated { .. }
        | ErrorKind::UnknownOperation { .. }
        | ErrorKind::StackUnderflow { .. }
        | ErrorKind::IllFormed(_)
        | ErrorKind::TypeMismatch { .. }
        | ErrorKind::Malformed { .. }
        | ErrorKind::NoCodeObject { .. }
        | ErrorKind::Syntax { .. } => HETDWARF_MALFORMED,
        _ => HETDWARF_FAILED,
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::new(status_of(error.kind()), error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
}

fn remember(message: Option<CString>) {
    // An exiting thread no longer has a last error.
    let _ = LAST.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            *last = message;
        }
    });
}

/// Runs the body of a function, returns its status and keeps its message. Panics do not cross this function.
pub(crate) fn guard(body: impl FnOnce() -> Answer<()>) -> hetdwarf_status {
    // Data that a panic leaves inconsistent stays locked: see `handle::Lock`.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => {
            remember(None);
            HETDWARF_OK
        }
        Ok(Err(fault)) => {
            remember(Some(c_string(&fault.message)));
            fault.status
        }
        Err(_) => {
            remember(Some(c_string("internal error of the library")));
            HETDWARF_INTERNAL
        }
    }
}

/// Returns the error message of the last function that this thread called, or NULL if the function succeeded. Text from files is escaped in
/// the message.
///
/// The string is valid until this thread calls another function of the library.
#[unsafe(no_mangle)]
pub extern "C" fn hetdwarf_last_error() -> *const c_char {
    LAST.try_with(|last| match last.try_borrow() {
        Ok(last) => last
            .as_ref()
            .map_or(core::ptr::null(), |text| text.as_ptr()),
        Err(_) => core::ptr::null(),
    })
    .unwrap_or(core::ptr::null())
}

/// Returns the name of a status as the header spells it, or `?` for an unknown number. The string is always valid.
///
/// * `status`: the return value of a function.
#[unsafe(no_mangle)]
pub extern "C" fn hetdwarf_status_name(status: i32) -> *const c_char {
    let name = match status {
        0 => c"HETDWARF_OK",
        1 => c"HETDWARF_INVALID_ARGUMENT",
        2 => c"HETDWARF_INVALID_HANDLE",
        3 => c"HETDWARF_BUSY",
        4 => c"HETDWARF_NOT_FOUND",
        5 => c"HETDWARF_TOO_SMALL",
        6 => c"HETDWARF_IO",
        7 => c"HETDWARF_MALFORMED",
        8 => c"HETDWARF_LIMIT",
        9 => c"HETDWARF_UNAVAILABLE",
        10 => c"HETDWARF_OPTIMIZED_OUT",
        11 => c"HETDWARF_UNSUPPORTED",
        12 => c"HETDWARF_AMBIGUOUS",
        13 => c"HETDWARF_MISSING_CONTEXT",
        14 => c"HETDWARF_READ_ONLY",
        15 => c"HETDWARF_CALLBACK_FAILED",
        16 => c"HETDWARF_FAILED",
        17 => c"HETDWARF_INTERNAL",
        _ => c"?",
    };
    name.as_ptr()
}

/// The major version of this header. `hetdwarf_version()` returns the version of the library.
pub const HETDWARF_VERSION_MAJOR: u32 = 0;
/// The minor version of this header.
pub const HETDWARF_VERSION_MINOR: u32 = 1;
/// The patch version of this header.
pub const HETDWARF_VERSION_PATCH: u32 = 0;

/// Returns the version of the library, for example `0.1.0`. The string is always valid.
#[unsafe(no_mangle)]
pub extern "C" fn hetdwarf_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_version_of_the_package() {
        let numbers = [
            HETDWARF_VERSION_MAJOR,
            HETDWARF_VERSION_MINOR,
            HETDWARF_VERSION_PATCH,
        ];
        let text = numbers.map(|number| number.to_string()).join(".");
        assert_eq!(text, env!("CARGO_PKG_VERSION"));
    }
}
