//! The value of a dword of one lane: an element of the lattice.

use crate::isa::MachineRegister;
use crate::lane_flow::Slot;
use crate::machine_flow::Scalar;

/// A dword of the machine, as seen by one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Cell {
    /// A scalar register.
    Scalar(MachineRegister),
    /// The lane's own dword of a vector register.
    Own(MachineRegister),
    /// The dword of a certain lane of a vector register, which holds a scalar value.
    Lane { register: MachineRegister, lane: u8 },
    /// The lane's own dword of a row of scratch.
    Row(Slot),
}

impl Cell {
    /// Returns the register that the place is, or belongs to.
    pub(crate) const fn register(self) -> Option<MachineRegister> {
        match self {
            Cell::Scalar(register) | Cell::Own(register) | Cell::Lane { register, .. } => {
                Some(register)
            }
            Cell::Row(_) => None,
        }
    }
}

/// The origin of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Origin {
    /// The contents of a place on entry to the function.
    Entry(Cell),
    /// The contents of a place when an instruction read it.
    At {
        /// The index of the instruction.
        index: u32,
        /// The index among the places that it read.
        place: u16,
    },
    /// A dword of the kernel's arguments in memory, by its offset in bytes. They are never written.
    Kernarg(u32),
    /// An expression, by its index.
    Computed(u32),
}

/// The value of a dword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Number {
    /// Unknown.
    Unknown,
    /// A constant.
    Word(u32),
    /// An origin plus a constant.
    Known { origin: Origin, plus: u32 },
}

impl Number {
    /// Returns the contents of a place on entry.
    pub(super) const fn at_entry(cell: Cell) -> Number {
        Number::Known {
            origin: Origin::Entry(cell),
            plus: 0,
        }
    }

    /// Returns a dword of the kernel's arguments, by its offset in bytes.
    pub(super) const fn argument(offset: u32) -> Number {
        Number::Known {
            origin: Origin::Kernarg(offset),
            plus: 0,
        }
    }

    /// Returns the origin of the number, unless it is a constant or unknown.
    pub(super) const fn origin(self) -> Option<Origin> {
        match self {
            Number::Known { origin, .. } => Some(origin),
            Number::Unknown | Number::Word(_) => None,
        }
    }
}

impl Scalar for Number {
    const UNKNOWN: Number = Number::Unknown;

    fn of_word(word: u32) -> Number {
        Number::Word(word)
    }

    fn word(self) -> Option<u32> {
        match self {
            Number::Word(word) => Some(word),
            Number::Unknown | Number::Known { .. } => None,
        }
    }

    fn join(self, other: Number) -> Number {
        if self == other { self } else { Number::Unknown }
    }
}
