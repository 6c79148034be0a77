//! Defines the errors of an expression. An error concerns all lanes, and is found before anything is read.

use core::fmt;

use crate::error::Error;

/// The reason why an expression cannot be evaluated in any lane, and the place of the cause in its text.
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
    /// The text is not an expression.
    Syntax {
        /// The expected syntax.
        expected: String,
        /// The text that was found.
        found: String,
    },
    /// An expression of C that is not supported, because assignments and calls change the program.
    Unsupported(&'static str),
    /// No variable, function or enumerator has this name.
    UnknownName {
        /// The name.
        name: String,
        /// The names with similar spelling.
        nearest: Vec<String>,
        /// The nearest other frame that has a variable with this name: its number and its function.
        frame: Option<(usize, String)>,
    },
    /// No type has this name.
    UnknownType {
        /// The name.
        name: String,
        /// The names with similar spelling.
        nearest: Vec<String>,
    },
    /// Several entities have this name, and none of them is nearer to the frame.
    Ambiguous {
        /// The name.
        name: String,
        /// The full names of the entities, each with the line of its declaration if it is local to a function.
        candidates: Vec<String>,
    },
    /// A structure, class or union has no member with this name.
    UnknownMember {
        /// The name.
        name: String,
        /// The name of the type.
        ty: String,
        /// The members of the type with similar names.
        nearest: Vec<String>,
    },
    /// No register has this name.
    UnknownRegister {
        /// The name, without the `$`.
        name: String,
    },
    /// An operator cannot be applied to operands of these types.
    Type(String),
    /// The expression exceeds a size that no person writes.
    Limit {
        /// The counted things.
        what: &'static str,
        /// The maximum number.
        most: u64,
    },
    /// No debugging information describes the frame's code, so no variable is known.
    NoDebugInfo,
    /// The requested data cannot be read from the debugging information.
    DebugInfo(Error),
}

impl QueryErrorKind {
    /// Returns the stable name of the kind, which is `error.kind` in JSON documents.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            QueryErrorKind::Syntax { .. } => "syntax",
            QueryErrorKind::Unsupported(_) => "unsupported",
            QueryErrorKind::UnknownName { .. } => "unknown-name",
            QueryErrorKind::UnknownType { .. } => "unknown-type",
            QueryErrorKind::Ambiguous { .. } => "ambiguous-name",
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
            QueryErrorKind::UnknownName {
                name,
                nearest,
                frame,
            } => {
                write!(f, "there is no `{name}` here")?;
                match frame {
                    Some((number, function)) => {
                        write!(f, "; frame {number}, {function}, has one: --frame {number}")
                    }
                    None => did_you_mean(f, nearest),
                }
            }
            QueryErrorKind::UnknownType { name, nearest } => {
                write!(f, "there is no type `{name}`")?;
                did_you_mean(f, nearest)
            }
            QueryErrorKind::Ambiguous { name, candidates } => {
                write!(f, "`{name}` is ambiguous: {}", candidates.join(", "))
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
                write!(f, "too many {what}: at most {most} are allowed")
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

/// Returns the error of a name with several candidates.
pub(super) fn ambiguous(name: impl fmt::Display, candidates: Vec<String>) -> QueryErrorKind {
    QueryErrorKind::Ambiguous {
        name: name.to_string(),
        candidates,
    }
}

/// Returns the error of a text that differs from the expected syntax.
pub(super) fn syntax(expected: &str, found: impl Into<String>) -> QueryErrorKind {
    QueryErrorKind::Syntax {
        expected: expected.to_owned(),
        found: found.into(),
    }
}
