//! Defines the statuses of functions, and keeps the message of the last error.

use core::cell::RefCell;
use core::ffi::c_char;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hetdwarf::Error;
use hetdwarf::error::ErrorKind;

use crate::text::c_string;
use crate::wave::CallbackFailure;

/// The result of a function: success, or the reason of the failure. Values are never renumbered; there may be more in later
/// versions.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum hetdwarf_status {
    /// Done.
    HETDWARF_OK = 0,
    /// An argument is NULL where it must not be, a struct has a size that is none of its versions, reserved bytes are not
    /// zero, or a number is out of its range.
    HETDWARF_INVALID_ARGUMENT = 1,
    /// A pointer is not that of a handle of the kind that is asked for.
    HETDWARF_INVALID_HANDLE = 2,
    /// The handle, or one that it depends on, is in use by this very thread: a callback has called back.
    HETDWARF_BUSY = 3,
    /// There is no such thing: no function at an address, no variable of a name.
    HETDWARF_NOT_FOUND = 4,
    /// The caller's buffer is too small; the size that is needed has been written.
    HETDWARF_TOO_SMALL = 5,
    /// A file cannot be read.
    HETDWARF_IO = 6,
    /// A file, an expression or a wave breaks a rule.
    HETDWARF_MALFORMED = 7,
    /// A limit on work or memory was reached.
    HETDWARF_LIMIT = 8,
    /// The debugger does not have what is asked for. Callbacks give it for registers and memory that are not known.
    HETDWARF_UNAVAILABLE = 9,
    /// There is no value: it was optimised away.
    HETDWARF_OPTIMIZED_OUT = 10,
    /// Valid, but outside what the library does.
    HETDWARF_UNSUPPORTED = 11,
    /// It can be read in several ways, and nothing decides.
    HETDWARF_AMBIGUOUS = 12,
    /// The evaluation needs something that was not given: a lane, a frame, an object.
    HETDWARF_MISSING_CONTEXT = 13,
    /// The wave cannot be written to.
    HETDWARF_READ_ONLY = 14,
    /// A callback failed. Callbacks give it for failures that are not those above.
    HETDWARF_CALLBACK_FAILED = 15,
    /// Any other failure of the evaluation; the message tells.
    HETDWARF_FAILED = 16,
    /// A mistake of the library. The handle that was used, and all that depend on it, can only be freed.
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

/// What went wrong in the last function that this thread has called, for people; NULL if nothing did. Text of files in it
/// is escaped.
///
/// It is valid until this thread calls another function of the library.
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

/// The name of a status, as the header spells it; `?` for numbers that are none. It is valid for ever.
///
/// * `status`: what a function gave.
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

/// The version of this header, as `HETDWARF_VERSION_MAJOR.HETDWARF_VERSION_MINOR.HETDWARF_VERSION_PATCH`; that of the library is
/// `hetdwarf_version()`.
pub const HETDWARF_VERSION_MAJOR: u32 = 0;
/// The second number of the version of this header.
pub const HETDWARF_VERSION_MINOR: u32 = 1;
/// The third number of the version of this header.
pub const HETDWARF_VERSION_PATCH: u32 = 0;

/// The version of the library, as `0.1.0`. It is valid for ever.
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
