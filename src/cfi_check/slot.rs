//! Scratch of the function: dwords of all lanes, relative to the stack pointer on entry or to a rounded one.

use core::cmp::Ordering;

use crate::machine_flow::Row;

/// The base of a scratch slot's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// The stack pointer on entry.
    Entry,
    /// The stack pointer that the instruction at this offset in the function rounded.
    Aligned(u32),
}

/// A dword of scratch, one for each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) base: Base,
    /// The offset in bytes of one lane.
    pub(super) offset: i64,
}

/// Orders by base, then by offset. Slots are compared often, and integers compare fast.
impl Ord for Slot {
    fn cmp(&self, other: &Slot) -> Ordering {
        let key = |slot: &Slot| match slot.base {
            Base::Entry => (0, slot.offset),
            Base::Aligned(at) => (u64::from(at) + 1, slot.offset),
        };
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Slot {
    fn partial_cmp(&self, other: &Slot) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Row for Slot {
    fn is_comparable(self, other: Slot) -> bool {
        self.base == other.base
    }

    fn offset(self) -> i64 {
        self.offset
    }

    fn at(self, offset: i64) -> Slot {
        Slot { offset, ..self }
    }

    /// An aligned frame is completely below the stack pointer, whichever of the two bases is known.
    fn is_given_with(self, first: Slot) -> bool {
        self.is_comparable(first) && self >= first
    }
}
