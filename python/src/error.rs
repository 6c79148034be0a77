//! Defines the exceptions, and converts failures to them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use hetdwarf::error::ErrorKind;

use crate::text::shown;

create_exception!(hetdwarf, Error, PyException, "Any failure of this package.");
create_exception!(
    hetdwarf,
    Malformed,
    Error,
    "A file, an expression or a wave breaks a rule."
);
create_exception!(
    hetdwarf,
    Limit,
    Error,
    "A limit on work or memory was reached."
);
create_exception!(
    hetdwarf,
    Unavailable,
    Error,
    "The register or memory is not available."
);
create_exception!(
    hetdwarf,
    OptimizedOut,
    Error,
    "The value was optimized away."
);
create_exception!(hetdwarf, Inactive, Error, "The lane is not active here.");
create_exception!(
    hetdwarf,
    NotInFrame,
    Inactive,
    "The lane did not enter the function of the frame."
);
create_exception!(
    hetdwarf,
    Unsupported,
    Error,
    "An attribute or operation that affects the value is not supported."
);
create_exception!(
    hetdwarf,
    Ambiguous,
    Error,
    "The location has several possible meanings."
);
create_exception!(
    hetdwarf,
    Partial,
    Error,
    "Some bits of the value are missing: `bytes` has the others, `undefined` the half-open ranges of missing bits."
);

/// A failure that needs no interpreter, which is released while queries run.
#[derive(Clone, Debug)]
pub enum Failure {
    Library(hetdwarf::Error),
    /// A failure of the library, and its subject.
    About(String, hetdwarf::Error),
    Unavailable(String),
    OptimizedOut(String),
    Inactive(String),
    NotInFrame(String),
    Unsupported(String),
    Ambiguous(String),
    Malformed(String),
    Limit(String),
    Partial {
        message: String,
        bytes: Vec<u8>,
        undefined: Vec<(u64, u64)>,
    },
    Other(String),
}

impl From<hetdwarf::Error> for Failure {
    fn from(error: hetdwarf::Error) -> Failure {
        Failure::Library(error)
    }
}

impl Failure {
    /// Escapes the message, which may contain names from the file, for terminals.
    fn escaped(self) -> Failure {
        let with = |make: fn(String) -> Failure, message: String| make(shown(&message));
        match self {
            Failure::Library(_) => self,
            Failure::About(what, error) => Failure::About(shown(&what), error),
            Failure::Unavailable(message) => with(Failure::Unavailable, message),
            Failure::OptimizedOut(message) => with(Failure::OptimizedOut, message),
            Failure::Inactive(message) => with(Failure::Inactive, message),
            Failure::NotInFrame(message) => with(Failure::NotInFrame, message),
            Failure::Unsupported(message) => with(Failure::Unsupported, message),
            Failure::Ambiguous(message) => with(Failure::Ambiguous, message),
            Failure::Malformed(message) => with(Failure::Malformed, message),
            Failure::Limit(message) => with(Failure::Limit, message),
            Failure::Other(message) => with(Failure::Other, message),
            Failure::Partial {
                message,
                bytes,
                undefined,
            } => Failure::Partial {
                message: shown(&message),
                bytes,
                undefined,
            },
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        match failure.escaped() {
            Failure::Library(error) => of_library(&error, shown(&error.to_string())),
            Failure::About(what, error) => {
                of_library(&error, format!("{what}: {}", shown(&error.to_string())))
            }
            Failure::Unavailable(message) => Unavailable::new_err(message),
            Failure::OptimizedOut(message) => OptimizedOut::new_err(message),
            Failure::Inactive(message) => Inactive::new_err(message),
            Failure::NotInFrame(message) => NotInFrame::new_err(message),
            Failure::Unsupported(message) => Unsupported::new_err(message),
            Failure::Ambiguous(message) => Ambiguous::new_err(message),
            Failure::Malformed(message) => Malformed::new_err(message),
            Failure::Limit(message) => Limit::new_err(message),
            Failure::Other(message) => Error::new_err(message),
            Failure::Partial {
                message,
                bytes,
                undefined,
            } => {
                let error = Partial::new_err(message);
                Python::attach(|py| {
                    let value = error.value(py);
                    let set = value
                        .setattr("bytes", PyBytes::new(py, &bytes))
                        .and_then(|()| value.setattr("undefined", undefined));
                    set.err().unwrap_or(error)
                })
            }
        }
    }
}

fn of_library(error: &hetdwarf::Error, message: String) -> PyErr {
    match error.kind() {
        ErrorKind::Limit { .. } | ErrorKind::TooMany { .. } => Limit::new_err(message),
        ErrorKind::Unavailable { .. } => Unavailable::new_err(message),
        ErrorKind::UndefinedRead => OptimizedOut::new_err(message),
        ErrorKind::Unsupported(_) => Unsupported::new_err(message),
        ErrorKind::Ambiguous(_) => Ambiguous::new_err(message),
        kind if matches!(
            kind.name(),
            "truncated"
                | "unknown-operation"
                | "ill-formed"
                | "stack-underflow"
                | "type-mismatch"
                | "wave-size"
                | "malformed"
        ) =>
        {
            Malformed::new_err(message)
        }
        _ => Error::new_err(message),
    }
}

/// Locks data that a panic cannot leave inconsistent.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a function with the interpreter released. A panic, which is a bug of this package, becomes an `Error`.
pub fn detached<R: Send>(
    py: Python<'_>,
    run: impl FnOnce() -> Result<R, PyErr> + Send,
) -> PyResult<R> {
    let ran = py.detach(|| catch_unwind(AssertUnwindSafe(run)));
    ran.unwrap_or_else(|_| {
        let message = "internal error of hetdwarf: standard error shows where it was detected";
        Err(Error::new_err(message))
    })
}

/// Reads a file with the interpreter released, because another Python thread may be writing the file.
pub fn read_file(py: Python<'_>, path: &Path) -> PyResult<Vec<u8>> {
    let read = py.detach(|| std::fs::read(path));
    read.map_err(|error| match error.raw_os_error() {
        Some(number) => {
            let text = py
                .import("os")
                .and_then(|os| os.call_method1("strerror", (number,)))
                .and_then(|text| text.extract::<String>());
            let text = text.unwrap_or_else(|_| error.to_string());
            // Python chooses the subclass, for example `FileNotFoundError`.
            PyOSError::new_err((number, text, path.as_os_str().to_owned()))
        }
        None => error.into(),
    })
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", py.get_type::<Error>())?;
    module.add("Malformed", py.get_type::<Malformed>())?;
    module.add("Limit", py.get_type::<Limit>())?;
    module.add("Unavailable", py.get_type::<Unavailable>())?;
    module.add("OptimizedOut", py.get_type::<OptimizedOut>())?;
    module.add("Inactive", py.get_type::<Inactive>())?;
    module.add("NotInFrame", py.get_type::<NotInFrame>())?;
    module.add("Unsupported", py.get_type::<Unsupported>())?;
    module.add("Ambiguous", py.get_type::<Ambiguous>())?;
    module.add("Partial", py.get_type::<Partial>())?;
    Ok(())
}
