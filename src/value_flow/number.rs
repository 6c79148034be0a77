//! What a dword of one lane is: an element of the lattice.

use crate::isa::MachineRegister;
use crate::lane_flow::Slot;
use crate::machine_flow::Scalar;

/// A dword of the machine as one lane has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cell {
    /// A scalar register.
    Scalar(MachineRegister),
    /// The lane's own dword of a vector register.
    Own(MachineRegister),
    /// One lane's dword of a vector register, whichever lane is followed: a scalar value was put there.
    Lane { register: MachineRegister, lane: u8 },
    /// The lane's own dword of a row of scratch.
    Row(Slot),
}

/// What a number names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// What a place had on entry to the function.
    Entry(Cell),
    /// What a place had when an instruction looked at it.
    At {
        /// The number of the instruction.
        index: u32,
        /// Which of the places that it looked at.
        place: u16,
    },
}

/// What a dword is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// Nothing is known.
    Unknown,
    /// A constant.
    Word(u32),
    /// What a number names, plus a constant.
    Known { origin: Origin, plus: u32 },
}

impl Number {
    /// What a place has on entry.
    pub(super) const fn at_entry(cell: Cell) -> Number {
        Number::Known {
            origin: Origin::Entry(cell),
            plus: 0,
        }
    }

    /// The sum with a constant.
    pub(super) fn plus(self, more: u32) -> Number {
        match self {
            Number::Unknown => Number::Unknown,
            Number::Word(word) => Number::Word(word.wrapping_add(more)),
            Number::Known { origin, plus } => Number::Known {
                origin,
                plus: plus.wrapping_add(more),
            },
        }
    }

    /// Returns true if an instruction gave the number.
    pub(super) fn is_of(self, at: u32) -> bool {
        matches!(self, Number::Known { origin: Origin::At { index, .. }, .. } if index == at)
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
