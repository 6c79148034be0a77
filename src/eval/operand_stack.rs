//! Holds the entries of the stack.
//!
//! A second stack with numbers in 8 bytes instead of 64 did not make any mix faster: `BENCHMARKS.md`, "Fast paths".

use smallvec::SmallVec;

use super::stack::Entry;
use crate::arch::Register;
use crate::error::{Limit, Result};
use crate::limits::reached;
use crate::location::{Location, Place};

/// The number of entries that need no allocation. Expressions from compilers need fewer.
const IN_PLACE: usize = 10;

/// A stack of entries.
pub(super) struct OperandStack<'a> {
    entries: SmallVec<[Entry<'a>; IN_PLACE]>,
    limit: u32,
}

// Methods used by every operation are always inlined. Otherwise the compiler inlines them in some builds and not in others.
impl<'a> OperandStack<'a> {
    /// Creates an empty stack for at most `limit` entries.
    #[inline(always)]
    pub(super) fn new(limit: u32) -> OperandStack<'a> {
        OperandStack {
            entries: SmallVec::new(),
            limit,
        }
    }

    /// Returns the number of entries.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Pushes an entry.
    ///
    /// # Errors
    /// [`Limit::Stack`].
    #[inline(always)]
    pub(super) fn push(&mut self, entry: Entry<'a>) -> Result<()> {
        if self.entries.len() >= self.limit as usize {
            return Err(reached(Limit::Stack, self.limit.into()));
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Removes and returns the top entry.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Entry<'a>> {
        self.entries.pop()
    }

    /// Removes the top entry, if there is one.
    #[inline(always)]
    pub(super) fn drop_last(&mut self) {
        self.entries.pop();
    }

    /// Returns the top entry.
    #[inline(always)]
    pub(super) fn top(&self) -> Option<&Entry<'a>> {
        self.entries.last()
    }

    /// Returns the top entry, for a change in place.
    #[inline(always)]
    pub(super) fn top_mut(&mut self) -> Option<&mut Entry<'a>> {
        self.entries.last_mut()
    }

    /// Returns the entry with `index` others above it.
    pub(super) fn below(&self, index: usize) -> Option<Entry<'a>> {
        self.entries.iter().rev().copied().nth(index)
    }

    /// Returns the value on top, if it is of the generic type.
    #[inline(always)]
    pub(super) fn top_generic(&mut self) -> Option<&mut u64> {
        let Entry::Generic(value) = self.top_mut()? else {
            return None;
        };
        Some(value)
    }

    /// Returns the value below the top, and the one on top, if both are of the generic type.
    #[inline(always)]
    pub(super) fn two_generics(&mut self) -> Option<(&mut u64, &mut u64)> {
        let [.., Entry::Generic(below), Entry::Generic(top)] = self.entries.as_mut_slice() else {
            return None;
        };
        Some((below, top))
    }

    /// Removes and returns the top entry, if it is a whole register.
    #[inline(always)]
    pub(super) fn take_register(&mut self) -> Option<Register> {
        let Entry::Register(register) = *self.top()? else {
            return None;
        };
        self.drop_last();
        Some(register)
    }

    /// Returns the top entry, if it is a location with one place.
    #[inline(always)]
    pub(super) fn top_place(&mut self) -> Option<&mut Place<'a>> {
        let Entry::Location(Location::One(place)) = self.top_mut()? else {
            return None;
        };
        Some(place)
    }

    /// Returns true if an incomplete composite is on top.
    #[inline]
    pub(super) fn top_is_incomplete(&self) -> bool {
        matches!(self.top(), Some(Entry::Incomplete))
    }

    /// Returns the number of bytes that the entries hold outside the stack itself.
    pub(super) fn bytes(&self) -> u64 {
        held(&self.entries)
    }
}

/// Returns the number of bytes allocated for a stack, or 0 while it is in place.
pub(super) fn held<A: smallvec::Array>(stack: &SmallVec<A>) -> u64 {
    let count = if stack.spilled() { stack.capacity() } else { 0 };
    // Less than the address space, since they are in memory.
    (count as u64).wrapping_mul(size_of::<A::Item>() as u64)
}
