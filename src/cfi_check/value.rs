//! Represents the known contents of a scalar register at one place of the code.
//!
//! All values are relative to the entry of the function, since call frame information recovers the values that registers had there. There
//! are two top elements: [`Scalar::Other`] is certainly not a value on entry, and [`Scalar::Unknown`] may be one.

use super::mask::Mask;
use crate::machine_flow;

/// The scalar register with the stack pointer of LLVM's functions.
pub(super) const STACK_POINTER: u8 = 32;

/// 32 bits: the contents of a scalar register, or of one lane of a vector register that holds a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    /// The value of the scalar register on entry, plus a constant.
    Entry {
        /// The number of the scalar register.
        register: u8,
        /// The constant to add.
        plus: i32,
    },
    /// The low or high half of a mask that is relative to the mask on entry. Never [`Mask::UNKNOWN`].
    Mask {
        /// The mask.
        mask: Mask,
        /// True for the half of lanes 32 to 63.
        high: bool,
    },
    /// The last result of the instruction at this offset in the function, which rounded the stack pointer, plus a constant.
    Aligned {
        /// The offset of the instruction, in bytes.
        at: u32,
        /// The constant to add.
        plus: i32,
    },
    /// Half of the address of code in the same object.
    CodeAddress {
        /// The address, in the code object.
        address: u64,
        /// True for the high half.
        high: bool,
    },
    /// A number.
    Constant(u32),
    /// A computed value that is none of the above, and not a value of a register on entry.
    Other,
    /// Anything.
    Unknown,
}

impl machine_flow::Scalar for Scalar {
    const UNKNOWN: Scalar = Scalar::Unknown;
    const COMPUTED: Scalar = Scalar::Other;

    fn of_word(word: u32) -> Scalar {
        Scalar::Constant(word)
    }

    fn word(self) -> Option<u32> {
        let Scalar::Constant(word) = self else {
            return None;
        };
        Some(word)
    }

    fn join(self, other: Scalar) -> Scalar {
        Scalar::join(self, other)
    }
}

impl Scalar {
    /// Returns the value of the scalar register on entry.
    pub(super) const fn entry(register: u8) -> Scalar {
        Scalar::Entry { register, plus: 0 }
    }

    /// Returns one half of a mask.
    pub(super) fn of_mask(mask: Mask, high: bool) -> Scalar {
        match mask {
            Mask::UNKNOWN => Scalar::Other,
            Mask::NONE => Scalar::Constant(0),
            Mask::ALL => Scalar::Constant(u32::MAX),
            mask => Scalar::Mask { mask, high },
        }
    }

    /// Returns the mask, if the value is the requested half of one.
    pub(super) fn mask(self, high: bool) -> Mask {
        match self {
            Scalar::Mask { mask, high: half } if half == high => mask,
            Scalar::Constant(0) => Mask::NONE,
            Scalar::Constant(u32::MAX) => Mask::ALL,
            Scalar::Mask { .. }
            | Scalar::Entry { .. }
            | Scalar::Aligned { .. }
            | Scalar::CodeAddress { .. }
            | Scalar::Constant(_)
            | Scalar::Other
            | Scalar::Unknown => Mask::UNKNOWN,
        }
    }

    /// Returns true if the value is half of a mask that depends on the condition of the instruction at this offset.
    pub(super) fn depends_on(self, at: u32) -> bool {
        matches!(self, Scalar::Mask { mask, .. } if mask.depends_on(at))
    }

    /// Returns the value without facts that depend on the instruction at this offset.
    pub(super) fn forget(self, at: u32) -> Scalar {
        if let Scalar::Mask { mask, high } = self
            && mask.depends_on(at)
        {
            Scalar::of_mask(mask.forget(), high)
        } else {
            self
        }
    }

    /// Returns the join (least upper bound) of two values.
    pub(super) fn join(self, other: Scalar) -> Scalar {
        if self == other {
            return self;
        }
        let half = |one: Scalar| {
            let Scalar::Mask { high, .. } = one else {
                return None;
            };
            Some(high)
        };
        if let Some(high) = half(self).or(half(other)) {
            let joined = self.mask(high).join(other.mask(high));
            if joined != Mask::UNKNOWN {
                return Scalar::of_mask(joined, high);
            }
        }
        if self.may_be_entry() || other.may_be_entry() {
            Scalar::Unknown
        } else {
            Scalar::Other
        }
    }

    /// Returns true if the value may be a scalar register's value on entry.
    pub(super) fn may_be_entry(self) -> bool {
        matches!(
            self,
            Scalar::Entry { .. } | Scalar::Aligned { .. } | Scalar::Unknown
        )
    }

    /// Compares the value with a scalar register's value on entry.
    pub(super) fn is_entry_of(self, register: u8) -> Verdict {
        match self {
            Scalar::Entry { register: of, plus } if of == register && plus == 0 => Verdict::Same,
            // If the stack pointer was already aligned, rounding did not change it.
            Scalar::Aligned { .. } if register == STACK_POINTER => Verdict::Unknown,
            Scalar::Unknown => Verdict::Unknown,
            Scalar::Entry { .. }
            | Scalar::Aligned { .. }
            | Scalar::Mask { .. }
            | Scalar::CodeAddress { .. }
            | Scalar::Constant(_)
            | Scalar::Other => Verdict::Different,
        }
    }
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Equal.
    Same,
    /// Not equal.
    Different,
    /// Unknown.
    Unknown,
}

impl Verdict {
    /// Joins the verdicts on parts that must all be equal.
    pub(super) fn and(self, other: Verdict) -> Verdict {
        match (self, other) {
            (Verdict::Different, _) | (_, Verdict::Different) => Verdict::Different,
            (Verdict::Same, Verdict::Same) => Verdict::Same,
            (Verdict::Unknown, _) | (_, Verdict::Unknown) => Verdict::Unknown,
        }
    }
}
