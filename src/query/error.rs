//! What is wrong with an expression: the same for all lanes, and found before anything is read.

use core::fmt;

use crate::error::Error;

/// Why an expression cannot be evaluated in any lane, and where in its text the reason lies.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// The kind of the problem.
    pub kind: QueryErrorKind,
    /// The offset in the text, in bytes.
    pub offset: usize,
}

/// The kind of a mistake in an expression.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryErrorKind {
    /// The text is no expression.
    Syntax {
        /// What could stand there.
        expected: String,
        /// What does.
        found: String,
    },
    /// An expression of C that is not evaluated: assignments and calls change the program.
    Unsupported(&'static str),
    /// No variable, function or enumerator has this name.
    UnknownName {
        /// The name.
        name: String,
        /// Names that are written alike.
        nearest: Vec<String>,
    },
    /// No type has this name.
    UnknownType {
        /// The name.
        name: String,
        /// Names that are written alike.
        nearest: Vec<String>,
    },
    /// A structure, class or union has no such member.
    UnknownMember {
        /// The name.
        name: String,
        /// The type's name.
        ty: String,
        /// Its members whose names are written alike.
        nearest: Vec<String>,
    },
    /// No register has this name.
    UnknownRegister {
        /// The name, without the `$`.
        name: String,
    },
    /// An operator does not take operands of these types.
    Type(String),
    /// The expression is larger than any that a person writes.
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much there can be.
        most: u64,
    },
    /// Nothing describes the code of the frame, so that no variable is known in it.
    NoDebugInfo,
    /// The requested data cannot be read from the debugging information.
    DebugInfo(Error),
}

impl QueryErrorKind {
    /// The kind's stable name: `error.kind` of the JSON documents.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            QueryErrorKind::Syntax { .. } => "syntax",
            QueryErrorKind::Unsupported(_) => "unsupported",
            QueryErrorKind::UnknownName { .. } => "unknown-name",
            QueryErrorKind::UnknownType { .. } => "unknown-type",
            QueryErrorKind::UnknownMember { .. } => "unknown-member",
            QueryErrorKind::UnknownRegister { .. } => "unknown-register",
            QueryErrorKind::Type(_) => "type",
            QueryErrorKind::Limit { .. } => "limit",
            QueryErrorKind::NoDebugInfo => "no-debug-info",
            QueryErrorKind::DebugInfo(_) => "debug-info",
        }
    }

    /// Returns the error at an offset of the text.
    pub(crate) fn at(self, offset: usize) -> QueryError {
        QueryError { kind: self, offset }
    }
}

impl fmt::Display for QueryErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueryErrorKind::Syntax { expected, found } => {
                write!(f, "expected {expected}, found {found}")
            }
            QueryErrorKind::Unsupported(what) => f.write_str(what),
            QueryErrorKind::UnknownName { name, nearest } => {
                write!(f, "there is no `{name}` here")?;
                did_you_mean(f, nearest)
            }
            QueryErrorKind::UnknownType { name, nearest } => {
                write!(f, "there is no type `{name}`")?;
                did_you_mean(f, nearest)
            }
            QueryErrorKind::UnknownMember { name, ty, nearest } => {
                write!(f, "`{ty}` has no member `{name}`")?;
                did_you_mean(f, nearest)
            }
            QueryErrorKind::UnknownRegister { name } => {
                write!(f, "the wave has no register `${name}`")
            }
            QueryErrorKind::Type(message) => f.write_str(message),
            QueryErrorKind::Limit { what, most } => {
                write!(f, "too many {what}: there can be {most}")
            }
            QueryErrorKind::NoDebugInfo => {
                f.write_str("no debugging information describes the code of this frame")
            }
            QueryErrorKind::DebugInfo(error) => error.fmt(f),
        }
    }
}

fn did_you_mean(f: &mut fmt::Formatter<'_>, nearest: &[String]) -> fmt::Result {
    match nearest.split_first() {
        None => Ok(()),
        Some((first, rest)) => {
            write!(f, "; did you mean `{first}`")?;
            rest.iter().try_for_each(|name| write!(f, " or `{name}`"))?;
            f.write_str("?")
        }
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.kind)
    }
}

impl core::error::Error for QueryError {}

/// Returns the error of a text that has something else than what is expected.
pub(super) fn syntax(expected: &str, found: impl Into<String>) -> QueryErrorKind {
    QueryErrorKind::Syntax {
        expected: expected.to_owned(),
        found: found.into(),
    }
}
