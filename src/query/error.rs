//! What is wrong with an expression, and why one has no value in a lane.
//!
//! The first is the same for all lanes and is found before anything is read; the second belongs to one lane,
//! and costs the others nothing.

use core::fmt;

use crate::arch::AddressSpace;
use crate::error::Error;
use crate::inspect::{ValueState, ValueStateKind};

/// Why an expression cannot be evaluated in any lane, and where in its text the reason lies.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// What is wrong.
    pub kind: QueryErrorKind,
    /// The offset in the text, in bytes.
    pub offset: usize,
}

/// What is wrong with an expression.
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
    /// What the expression asks for cannot be read from the debugging information.
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

    /// The error at an offset of the text.
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

/// Why an expression has no value in a lane.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoValue {
    /// The lane does not execute.
    Inactive,
    /// The lane did not enter the function of the frame.
    NotInFrame,
    /// A variable has none.
    Variable {
        /// Its name.
        name: String,
        /// What is known of it.
        state: ValueState,
    },
    /// Bits that it needs were optimised away.
    OptimizedOut,
    /// The wave does not say what bits are that it needs.
    Unavailable,
    /// Division or remainder by zero.
    DivisionByZero,
    /// What a null pointer points to.
    NullPointer(AddressSpace),
    /// A shift by a negative number of bits, or by as many as there are or more.
    ShiftCount {
        /// By how many bits.
        count: i128,
        /// How many bits what is shifted has.
        bits: u32,
    },
    /// Something has no address: it is in a register, a constant, or in several places.
    NoAddress(String),
    /// An element outside of an array that is not in memory.
    OutsideOfObject,
    /// A pointer that has no equal in another address space.
    NotInSpace {
        /// The pointer's space.
        from: AddressSpace,
        /// The address.
        address: u64,
        /// The other space.
        to: AddressSpace,
    },
    /// An array of no or a negative number of elements (`x@0`).
    ElementCount(i128),
    /// More bytes than are read of one object.
    TooLarge {
        /// The size, in bytes.
        bytes: u128,
        /// The most that is read, in bytes.
        most: u64,
    },
    /// The place of a member, or the distance of elements, is not known.
    UnknownLayout,
    /// It could not be read.
    Error(Error),
}

impl NoValue {
    /// What it makes of the lane's state, as of a variable.
    #[must_use]
    pub fn state(&self) -> ValueStateKind {
        match self {
            NoValue::Inactive => ValueStateKind::Inactive,
            NoValue::NotInFrame => ValueStateKind::NotInFrame,
            NoValue::Variable { state, .. } => state.kind(),
            NoValue::OptimizedOut => ValueStateKind::OptimizedOut,
            NoValue::Unavailable => ValueStateKind::Unavailable,
            NoValue::DivisionByZero
            | NoValue::NullPointer(_)
            | NoValue::ShiftCount { .. }
            | NoValue::NoAddress(_)
            | NoValue::OutsideOfObject
            | NoValue::NotInSpace { .. }
            | NoValue::ElementCount(_)
            | NoValue::TooLarge { .. }
            | NoValue::UnknownLayout => ValueStateKind::Error,
            NoValue::Error(error) => ValueState::of_error(error.clone()).kind(),
        }
    }
}

impl fmt::Display for NoValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoValue::Inactive => f.write_str("the lane does not execute here"),
            NoValue::NotInFrame => f.write_str("the lane did not enter this function"),
            NoValue::Variable {
                name,
                state: ValueState::Error(error),
            } => write!(f, "`{name}`: {error}"),
            NoValue::Variable {
                name,
                state: ValueState::OptimizedOut,
            } => write!(f, "`{name}` is optimized out"),
            NoValue::Variable {
                name,
                state: ValueState::Ambiguous(reason),
            } => write!(f, "`{name}`: {reason}"),
            NoValue::Variable {
                name,
                state: ValueState::Unsupported { what },
            } => write!(f, "`{name}`: {what}"),
            NoValue::Variable { name, state } => write!(f, "`{name}` is {}", state.name()),
            NoValue::OptimizedOut => f.write_str("it needs bits that were optimized out"),
            NoValue::Unavailable => f.write_str("the wave does not say what is there"),
            NoValue::DivisionByZero => f.write_str("division by zero"),
            NoValue::NullPointer(AddressSpace::None) => f.write_str("the pointer is null"),
            NoValue::NullPointer(space) => {
                write!(f, "the pointer is null ({space}#{:#x})", space.null())
            }
            NoValue::ShiftCount { count, bits } => {
                write!(f, "a shift of {bits} bits by {count}")
            }
            NoValue::NoAddress(reason) => write!(f, "it has no address: {reason}"),
            NoValue::OutsideOfObject => {
                f.write_str("it lies outside of an object that is not in memory")
            }
            NoValue::NotInSpace { from, address, to } => {
                write!(f, "{from}#{address:#x} is not in the address space {to}")
            }
            NoValue::ElementCount(count) => write!(f, "an array of {count} elements"),
            NoValue::TooLarge { bytes, most } => {
                write!(f, "{bytes} bytes; at most {most} are read of one object")
            }
            NoValue::UnknownLayout => f.write_str("where it starts is not known"),
            NoValue::Error(error) => error.fmt(f),
        }
    }
}

impl From<Error> for NoValue {
    fn from(error: Error) -> NoValue {
        NoValue::Error(error)
    }
}
