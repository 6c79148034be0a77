//! What is known of a scalar register or of an execution mask at one place of the code.
//!
//! Everything is told relative to the entry of the function, since that is where the registers have the
//! values that call frame information has to find again. Two tops are kept apart: [`Scalar::Other`] is
//! surely no value a register had on entry, [`Scalar::Unknown`] may be one.

/// The scalar register that LLVM's functions round.
const STACK_POINTER: u8 = 32;

/// A set of lanes, as far as it can be told from the lanes that were active on entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mask {
    /// No lane.
    None,
    /// The lanes active on entry.
    Entry,
    /// The lanes not active on entry.
    NotEntry,
    /// All lanes.
    All,
    /// Some of the lanes active on entry; possibly none or all of them.
    Within,
    /// Any.
    Unknown,
}

impl Mask {
    /// The lanes in both.
    pub(super) fn and(self, other: Mask) -> Mask {
        use Mask as M;
        match (self, other) {
            (M::None, _)
            | (_, M::None)
            | (M::NotEntry, M::Entry | M::Within)
            | (M::Entry | M::Within, M::NotEntry) => M::None,
            (M::All, one) | (one, M::All) => one,
            (M::Entry, M::Entry) => M::Entry,
            (M::NotEntry, M::NotEntry) => M::NotEntry,
            (M::Entry | M::Within, _) | (_, M::Entry | M::Within) => M::Within,
            (M::NotEntry | M::Unknown, M::NotEntry | M::Unknown) => M::Unknown,
        }
    }

    /// The lanes in either.
    pub(super) fn or(self, other: Mask) -> Mask {
        use Mask as M;
        match (self, other) {
            (M::None, one) | (one, M::None) => one,
            (M::All, _)
            | (_, M::All)
            | (M::Entry, M::NotEntry)
            | (M::NotEntry, M::Entry) => M::All,
            (M::Entry, M::Entry | M::Within) | (M::Within, M::Entry) => M::Entry,
            (M::NotEntry, M::NotEntry) => M::NotEntry,
            (M::Within, M::Within) => M::Within,
            (M::Unknown, _)
            | (_, M::Unknown)
            | (M::NotEntry, M::Within)
            | (M::Within, M::NotEntry) => M::Unknown,
        }
    }

    /// The lanes in one and not in the other.
    pub(super) fn xor(self, other: Mask) -> Mask {
        use Mask as M;
        match (self, other) {
            (M::None, one) | (one, M::None) => one,
            (M::All, one) | (one, M::All) => one.not(),
            (M::Entry, M::Entry) | (M::NotEntry, M::NotEntry) => M::None,
            (M::Entry, M::NotEntry) | (M::NotEntry, M::Entry) => M::All,
            (M::Entry | M::Within, M::Entry | M::Within) => M::Within,
            (M::Unknown, _)
            | (_, M::Unknown)
            | (M::NotEntry, M::Within)
            | (M::Within, M::NotEntry) => M::Unknown,
        }
    }

    /// The other lanes.
    pub(super) fn not(self) -> Mask {
        match self {
            Mask::None => Mask::All,
            Mask::All => Mask::None,
            Mask::Entry => Mask::NotEntry,
            Mask::NotEntry => Mask::Entry,
            Mask::Within | Mask::Unknown => Mask::Unknown,
        }
    }

    /// What holds of either.
    pub(super) fn join(self, other: Mask) -> Mask {
        use Mask as M;
        match (self, other) {
            (one, other) if one == other => one,
            (M::None | M::Entry | M::Within, M::None | M::Entry | M::Within) => M::Within,
            (_, _) => M::Unknown,
        }
    }

    /// Whether it has no lane that was not active on entry.
    pub(super) fn is_within_entry(self) -> bool {
        matches!(self, Mask::None | Mask::Entry | Mask::Within)
    }
}

/// 32 bits: the contents of a scalar register, or what one lane of a vector register keeps of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    /// What the scalar register had on entry, plus a constant.
    Entry {
        /// The number of the scalar register.
        register: u8,
        /// What is added.
        plus: i32,
    },
    /// The low or high half of a mask that is told from the one on entry. Never [`Mask::Unknown`].
    Mask {
        /// The mask.
        mask: Mask,
        /// Whether it is the half of lanes 32 to 63.
        high: bool,
    },
    /// The stack pointer as the instruction at this offset in the function rounded it when it last ran,
    /// plus a constant.
    Aligned {
        /// The offset of the instruction, in bytes.
        at: u32,
        /// What is added.
        plus: i32,
    },
    /// Half of the address of code in the same object.
    CodeAddress {
        /// The address, in the code object.
        address: u64,
        /// Whether it is the high half.
        high: bool,
    },
    /// A number.
    Constant(u32),
    /// Something computed: none of the above, and nothing that a register had on entry.
    Other,
    /// Anything.
    Unknown,
}

impl Scalar {
    /// What the scalar register had on entry.
    pub(super) const fn entry(register: u8) -> Scalar {
        Scalar::Entry { register, plus: 0 }
    }

    /// Half of a mask.
    pub(super) fn of_mask(mask: Mask, high: bool) -> Scalar {
        match mask {
            Mask::Unknown => Scalar::Other,
            Mask::None => Scalar::Constant(0),
            Mask::All => Scalar::Constant(u32::MAX),
            Mask::Entry | Mask::NotEntry | Mask::Within => Scalar::Mask { mask, high },
        }
    }

    /// The mask that it is the named half of.
    pub(super) fn mask(self, high: bool) -> Mask {
        match self {
            Scalar::Mask { mask, high: half } if half == high => mask,
            Scalar::Constant(0) => Mask::None,
            Scalar::Constant(u32::MAX) => Mask::All,
            Scalar::Mask { .. }
            | Scalar::Entry { .. }
            | Scalar::Aligned { .. }
            | Scalar::CodeAddress { .. }
            | Scalar::Constant(_)
            | Scalar::Other
            | Scalar::Unknown => Mask::Unknown,
        }
    }

    /// What holds of either.
    pub(super) fn join(self, other: Scalar) -> Scalar {
        if self == other {
            return self;
        }
        let half = |one: Scalar| match one {
            Scalar::Mask { high, .. } => Some(high),
            Scalar::Entry { .. }
            | Scalar::Aligned { .. }
            | Scalar::CodeAddress { .. }
            | Scalar::Constant(_)
            | Scalar::Other
            | Scalar::Unknown => None,
        };
        if let Some(high) = half(self).or(half(other)) {
            let joined = self.mask(high).join(other.mask(high));
            if joined != Mask::Unknown {
                return Scalar::of_mask(joined, high);
            }
        }
        if self.may_be_entry() || other.may_be_entry() {
            Scalar::Unknown
        } else {
            Scalar::Other
        }
    }

    /// Whether it may be what some scalar register had on entry.
    pub(super) fn may_be_entry(self) -> bool {
        match self {
            Scalar::Entry { .. } | Scalar::Aligned { .. } | Scalar::Unknown => true,
            Scalar::Mask { .. }
            | Scalar::CodeAddress { .. }
            | Scalar::Constant(_)
            | Scalar::Other => false,
        }
    }

    /// Whether it is what a scalar register had on entry.
    pub(super) fn is_entry_of(self, register: u8) -> Verdict {
        match self {
            Scalar::Entry { register: of, plus } if of == register && plus == 0 => Verdict::Same,
            // Where the stack pointer was aligned already, rounding changed nothing.
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

/// What a comparison came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Equal.
    Same,
    /// Not equal.
    Different,
    /// Not known.
    Unknown,
}

impl Verdict {
    /// Of several parts that must all be equal.
    pub(super) fn and(self, other: Verdict) -> Verdict {
        match (self, other) {
            (Verdict::Different, _) | (_, Verdict::Different) => Verdict::Different,
            (Verdict::Same, Verdict::Same) => Verdict::Same,
            (Verdict::Unknown, _) | (_, Verdict::Unknown) => Verdict::Unknown,
        }
    }
}
