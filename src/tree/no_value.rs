//! Lists the reasons for a missing value in a lane, which does not affect the other lanes.

use core::fmt;

use crate::arch::AddressSpace;
use crate::error::Error;
use crate::inspect::{ValueState, ValueStateKind};
use crate::limits::Limit;

/// The reason why an expression, or a part of a value, has no value in a lane.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoValue {
    /// The lane does not execute.
    Inactive,
    /// The lane did not enter the function of the frame.
    NotInFrame,
    /// A variable has no value.
    Variable {
        /// The name.
        name: String,
        /// The known state of its value.
        state: ValueState,
        /// The reason why the debugging information gives no value, if that is the state.
        why: Option<String>,
    },
    /// Required bits were optimized away.
    OptimizedOut,
    /// Required bits are not available from the wave.
    Unavailable,
    /// Division or remainder by zero.
    DivisionByZero,
    /// The target of a null pointer.
    NullPointer(AddressSpace),
    /// A shift by a negative number of bits, or by at least as many as there are.
    ShiftCount {
        /// The shift count.
        count: i128,
        /// The number of bits in the shifted operand.
        bits: u32,
    },
    /// An operand has no address: it is in a register, a constant, or in several places.
    NoAddress(String),
    /// An element outside an array that is not in memory.
    OutsideOfObject,
    /// A pointer without an equivalent in another address space.
    NotInSpace {
        /// The pointer's space.
        from: AddressSpace,
        /// The address.
        address: u64,
        /// The other space.
        to: AddressSpace,
    },
    /// An array of zero or a negative number of elements (`x@0`).
    ElementCount(i128),
    /// An object that exceeds the maximum size for reading.
    TooLarge {
        /// The size, in bytes.
        bytes: u128,
        /// The maximum size, in bytes.
        most: u64,
    },
    /// The offset of a member, or the distance of elements, is unknown.
    UnknownLayout,
    /// An element outside of the bounds of its array.
    OutOfBounds {
        /// The index.
        index: i128,
        /// The index of the first element.
        first: i128,
        /// The number of elements.
        count: u64,
    },
    /// A member of a variant that is not present.
    OtherVariant {
        /// The name of the present variant, if it has one.
        present: Option<String>,
    },
    /// The present variant is unknown. The field is the reason, as text.
    NoVariant(String),
    /// Reading failed.
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
            NoValue::Variable { name, state, why } => match (state, why) {
                (ValueState::Error(error) | ValueState::Unavailable(Some(error)), _) => {
                    write!(f, "`{name}`: {error}")
                }
                (ValueState::Ambiguous(reason), _) => write!(f, "`{name}`: {reason}"),
                (ValueState::Unsupported { what }, _) => write!(f, "`{name}`: {what}"),
                (ValueState::OptimizedOut, Some(why)) => write!(f, "`{name}`: {why}"),
                (ValueState::OptimizedOut, None) => write!(f, "`{name}` is optimized out"),
                (other, _) => write!(f, "`{name}` is {}", other.name()),
            },
            NoValue::OptimizedOut => f.write_str("it needs bits that were optimized out"),
            NoValue::Unavailable => f.write_str("the register or memory is not available"),
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
                f.write_str("it is outside of an object that is not in memory")
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
            NoValue::UnknownLayout => f.write_str("its start is unknown"),
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
                let last = first + i128::from(*count) - 1;
                write!(
                    f,
                    "there is no element {index}: the first is {first}, the last is {last}"
                )
            }
            NoValue::OtherVariant {
                present: Some(name),
            } => write!(f, "the active variant is `{name}`"),
            NoValue::OtherVariant { present: None } => f.write_str("its variant is not active"),
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
