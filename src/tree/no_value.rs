//! Why there is no value in a lane. It costs the other lanes nothing.

use core::fmt;

use crate::arch::AddressSpace;
use crate::error::Error;
use crate::inspect::{ValueState, ValueStateKind};
use crate::limits::Limit;

/// Why an expression, or a part of a value, has no value in a lane.
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
    /// The target of a null pointer.
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
    /// An element outside of the bounds of its array.
    OutOfBounds {
        /// The index.
        index: i128,
        /// The index of the first element.
        first: i128,
        /// How many elements there are.
        count: u64,
    },
    /// A member of a variant that is not present.
    OtherVariant {
        /// Which one is, if it has a name.
        present: Option<String>,
    },
    /// The present variant is unknown; the reason, in words.
    NoVariant(String),
    /// It could not be read.
    Error(Error),
}

impl NoValue {
    /// Returns the state of the lane, as for a variable.
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
            | NoValue::UnknownLayout
            | NoValue::OutOfBounds { .. }
            | NoValue::OtherVariant { .. }
            | NoValue::NoVariant(_) => ValueStateKind::Error,
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
                write!(
                    f,
                    "it has {bytes} bytes; `{}` limits one value to {most}",
                    Limit::Value.name()
                )
            }
            NoValue::UnknownLayout => f.write_str("where it starts is not known"),
            NoValue::OutOfBounds {
                index, count: 0, ..
            } => {
                write!(f, "there is no element {index}: the array has none")
            }
            NoValue::OutOfBounds {
                index,
                first,
                count,
            } => {
                let last = first.saturating_add(i128::from(*count)).saturating_sub(1);
                write!(
                    f,
                    "there is no element {index}: the first is {first}, the last is {last}"
                )
            }
            NoValue::OtherVariant {
                present: Some(name),
            } => write!(f, "the variant that is present is `{name}`"),
            NoValue::OtherVariant { present: None } => {
                f.write_str("the variant that has it is not present")
            }
            NoValue::NoVariant(why) => f.write_str(why),
            NoValue::Error(error) => error.fmt(f),
        }
    }
}

impl From<Error> for NoValue {
    fn from(error: Error) -> NoValue {
        NoValue::Error(error)
    }
}
