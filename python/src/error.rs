//! The exceptions, and how failures become them.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use hetdwarf::error::ErrorKind;

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
    "The wave does not say what is there."
);
create_exception!(
    hetdwarf,
    OptimizedOut,
    Error,
    "There is no value: it was optimised away."
);
create_exception!(hetdwarf, Inactive, Error, "The lane does not execute here.");
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
    "Something that changes the value is not understood."
);
create_exception!(
    hetdwarf,
    Ambiguous,
    Error,
    "The location can be read in several ways, and nothing decides."
);
create_exception!(
    hetdwarf,
    Partial,
    Error,
    "Some of the value is missing: `bytes` has what there is, `undefined` the half-open ranges of bits that are not there."
);

/// A failure without the interpreter, which is released while questions run.
#[derive(Clone, Debug)]
pub enum Failure {
    Library(hetdwarf::Error),
    /// A failure of the library, and what it is about.
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

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        match failure {
            Failure::Library(error) => of_library(&error, error.to_string()),
            Failure::About(what, error) => of_library(&error, format!("{what}: {error}")),
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
        ErrorKind::Limit { .. } => Limit::new_err(message),
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
                | "malformed"
        ) =>
        {
            Malformed::new_err(message)
        }
        _ => Error::new_err(message),
    }
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
