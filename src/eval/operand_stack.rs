//! The stack itself: where its entries are kept.
//!
//! Nearly every entry needs one number of 64 bits (a value of the generic type, an address in the default space, a value that is
//! a location, a register), two (a value that grows from lane to lane: base and step) or none (a composite that is not
//! finished). These are kept as numbers; all others are kept beside them, in the same order. An entry that can be anything has
//! eight times the size, and moving such entries took more time than executing the operations (`BENCHMARKS.md`).
//!
//! What every operation does is always inlined here and in the machine: left to itself, the compiler calls some of it in one
//! build and not in the next.

use smallvec::SmallVec;

use super::stack::Entry;
use crate::arch::Register;
use crate::error::{Limit, Result};
use crate::limits::reached;
use crate::location::{Location, Place};

/// How many entries can be kept as numbers. Compilers need fewer.
const INLINE: usize = SLOTS - 1;
/// How many places for them there are: below the lowest is one that is never used.
const SLOTS: usize = 8;
/// How many other entries are kept in place.
const OTHERS: usize = 3;

/// What an inline entry is.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Below the lowest entry.
    None,
    Generic,
    Address,
    Implicit,
    Register,
    Linear,
    /// No number either, but there is nothing to keep of it.
    Incomplete,
    /// No number; or any entry at the top of a deep stack.
    Other,
}

impl Kind {
    /// The entry that a number is; nothing if it is none.
    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the number of a register was cast from one of 16 bits"
    )]
    fn entry<'a>(self, word: u64, step: u64) -> Option<Entry<'a>> {
        Some(match self {
            Kind::Generic => Entry::Generic(word),
            Kind::Address => Entry::Address(word),
            Kind::Implicit => Entry::Implicit(word),
            Kind::Register => Entry::Register(Register(word as u16)),
            Kind::Linear => Entry::Linear { base: word, step },
            Kind::Incomplete => Entry::Incomplete,
            Kind::None | Kind::Other => return None,
        })
    }
}

/// A stack of entries.
pub(super) struct OperandStack<'a> {
    /// The first entries, as far as they are numbers. The lowest has the index 1, so that the top one has the index `count`.
    words: [u64; SLOTS],
    /// By how much the linear ones grow from lane to lane.
    steps: [u64; SLOTS],
    /// What the first entries are. On a deep stack nothing is a number, so that one look at this tells whether the top is kept as
    /// one.
    kinds: [Kind; SLOTS],
    /// The kinds of the first entries of a deep stack.
    saved_kinds: [Kind; SLOTS],
    /// How many entries there are.
    count: usize,
    /// How many there may be that are kept as numbers.
    inline_limit: usize,
    limit: u32,
    /// The first entries that are no numbers, and all after them.
    others: SmallVec<[Entry<'a>; OTHERS]>,
}

impl<'a> OperandStack<'a> {
    /// An empty stack for at most `limit` entries.
    #[inline(always)]
    pub(super) fn new(limit: u32) -> OperandStack<'a> {
        OperandStack {
            words: [0; SLOTS],
            steps: [0; SLOTS],
            kinds: [Kind::None; SLOTS],
            saved_kinds: [Kind::None; SLOTS],
            count: 0,
            inline_limit: INLINE.min(limit as usize),
            limit,
            others: SmallVec::new(),
        }
    }

    /// How many entries there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// # Errors
    /// [`Limit::Stack`].
    #[inline]
    pub(super) fn push(&mut self, entry: Entry<'a>) -> Result<()> {
        match entry {
            Entry::Generic(value) => self.push_generic(value),
            Entry::Address(address) => self.push_address(address),
            Entry::Implicit(value) => self.push_word(Kind::Implicit, value),
            Entry::Register(register) => self.push_register(register),
            Entry::Linear { base, step } => self.push_linear(base, step),
            Entry::Incomplete => self.push_incomplete(),
            Entry::Typed(_) | Entry::Pointer(_) | Entry::Location(_) => self.push_other(entry),
        }
    }

    /// Pushes a value of the generic type.
    ///
    /// # Errors
    /// [`Limit::Stack`].
    #[inline(always)]
    pub(super) fn push_generic(&mut self, value: u64) -> Result<()> {
        self.push_word(Kind::Generic, value)
    }

    /// Pushes the location of a byte in the default space.
    ///
    /// # Errors
    /// [`Limit::Stack`].
    #[inline(always)]
    pub(super) fn push_address(&mut self, address: u64) -> Result<()> {
        self.push_word(Kind::Address, address)
    }

    /// Pushes the location of all of a register.
    ///
    /// # Errors
    /// [`Limit::Stack`].
    #[inline(always)]
    pub(super) fn push_register(&mut self, register: Register) -> Result<()> {
        self.push_word(Kind::Register, register.number().into())
    }

    /// Pushes a composite to which parts can be added.
    ///
    /// # Errors
    /// [`Limit::Stack`].
    #[inline(always)]
    pub(super) fn push_incomplete(&mut self) -> Result<()> {
        self.push_word(Kind::Incomplete, 0)
    }

    /// Takes the register on top; nothing, and nothing taken, if there is none, or on a deep stack.
    #[inline(always)]
    pub(super) fn take_register(&mut self) -> Option<Register> {
        let Some(Entry::Register(register)) = self.top_number() else {
            return None;
        };
        self.drop_number();
        Some(register)
    }

    /// Pushes a value of the generic type that grows from lane to lane.
    #[inline(always)]
    pub(super) fn push_linear(&mut self, base: u64, step: u64) -> Result<()> {
        if self.count >= self.inline_limit {
            return self.push_other(Entry::Linear { base, step });
        }
        if let Some(slot) = self.steps.get_mut(inline_index(self.count.wrapping_add(1))) {
            *slot = step;
        }
        self.push_word(Kind::Linear, base)
    }

    #[inline(always)]
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "the count is below the limit, which a `u32` holds"
    )]
    fn push_word(&mut self, kind: Kind, word: u64) -> Result<()> {
        if self.count >= self.inline_limit {
            return self.push_far_word(kind, word);
        }
        self.count += 1;
        self.set(inline_index(self.count), kind, word);
        Ok(())
    }

    /// What an inline entry is.
    #[inline(always)]
    fn set(&mut self, at: usize, kind: Kind, word: u64) {
        if let (Some(kinds), Some(words)) = (self.kinds.get_mut(at), self.words.get_mut(at)) {
            (*kinds, *words) = (kind, word);
        }
    }

    #[cold]
    fn push_far_word(&mut self, kind: Kind, word: u64) -> Result<()> {
        (kind.entry(word, 0)).map_or(Ok(()), |entry| self.push_other(entry))
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "the count is below the limit, which a `u32` holds"
    )]
    fn push_other(&mut self, entry: Entry<'a>) -> Result<()> {
        if self.count >= self.limit as usize {
            return Err(reached(Limit::Stack, self.limit.into()));
        }
        if self.count == INLINE {
            self.saved_kinds = self.kinds;
            self.kinds = [Kind::Other; SLOTS];
        }
        self.count += 1;
        if let Some(kind) = self.kinds.get_mut(self.count) {
            *kind = Kind::Other;
        }
        self.others.push(entry);
        Ok(())
    }

    /// What the top entry is.
    #[inline(always)]
    fn top_kind(&self) -> Kind {
        let kind = self.kinds.get(inline_index(self.count));
        kind.copied().unwrap_or(Kind::None)
    }

    /// What the top entry is, and its number if it has one.
    #[inline(always)]
    pub(super) fn top_inline(&self) -> (Kind, u64) {
        let word = self.words.get(inline_index(self.count));
        (self.top_kind(), word.copied().unwrap_or(0))
    }

    /// The number on top; nothing if it is none, or on a deep stack.
    #[inline(always)]
    pub(super) fn top_number(&self) -> Option<Entry<'a>> {
        let at = inline_index(self.count);
        self.top_kind()
            .entry(*self.words.get(at)?, *self.steps.get(at)?)
    }

    /// The value on top, if it is of the generic type; nothing on a deep stack.
    #[inline(always)]
    pub(super) fn top_generic(&mut self) -> Option<&mut u64> {
        if self.top_kind() != Kind::Generic {
            return None;
        }
        self.words.get_mut(inline_index(self.count))
    }

    /// The value below the top, and the one on top, if both are of the generic type; nothing on
    /// a deep stack.
    #[inline(always)]
    pub(super) fn two_generics(&mut self) -> Option<(&mut u64, u64)> {
        // Below the only entry is none.
        let (top, below) = (
            inline_index(self.count),
            inline_index(self.count.wrapping_sub(1)),
        );
        if self.top_kind() != Kind::Generic || *self.kinds.get(below)? != Kind::Generic {
            return None;
        }
        let top = *self.words.get(top)?;
        Some((self.words.get_mut(below)?, top))
    }

    /// Whether a composite to which parts can be added is on top.
    #[inline]
    pub(super) fn top_is_incomplete(&self) -> bool {
        self.top_kind() == Kind::Incomplete || matches!(self.top_other(), Some(Entry::Incomplete))
    }

    /// Makes a value of the generic type of the number on top.
    #[inline(always)]
    pub(super) fn set_generic(&mut self, value: u64) {
        self.set(inline_index(self.count), Kind::Generic, value);
    }

    /// Makes a location of the generic value on top, that holds it; whether there is one, and not on a deep stack.
    #[inline(always)]
    pub(super) fn make_implicit(&mut self) -> bool {
        let value = self.top_generic().copied();
        if let Some(value) = value {
            self.set(inline_index(self.count), Kind::Implicit, value);
        }
        value.is_some()
    }

    /// The entry with `index` others above it.
    pub(super) fn below(&self, index: usize) -> Option<Entry<'a>> {
        let at = self.count.checked_sub(index).filter(|at| *at > 0)?;
        let (Some(word), Some(step)) = (self.words.get(at), self.steps.get(at)) else {
            let others = self.others.iter().rev();
            return others.copied().nth(index);
        };
        let kinds = if self.count > INLINE {
            &self.saved_kinds
        } else {
            &self.kinds
        };
        // Up to the entry.
        let kinds = kinds.get(..=at)?;
        let other = || {
            let others = kinds.iter().filter(|kind| **kind == Kind::Other);
            self.others.get(others.count().checked_sub(1)?).copied()
        };
        kinds.last()?.entry(*word, *step).or_else(other)
    }

    /// The top entry.
    #[inline]
    pub(super) fn top(&self) -> Option<Entry<'a>> {
        self.top_number().or_else(|| self.top_other().copied())
    }

    /// The top entry, if it is no number, or on a deep stack.
    #[inline(always)]
    pub(super) fn top_other(&self) -> Option<&Entry<'a>> {
        (self.top_kind() == Kind::Other)
            .then(|| self.others.last())
            .flatten()
    }

    /// The top entry, if it is a location with one place.
    #[inline(always)]
    pub(super) fn top_place(&mut self) -> Option<&mut Place<'a>> {
        if self.top_kind() != Kind::Other {
            return None;
        }
        let Entry::Location(Location::One(place)) = self.others.last_mut()? else {
            return None;
        };
        Some(place)
    }

    /// Takes the top entry.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Entry<'a>> {
        let entry = self.top()?;
        self.drop_last();
        Some(entry)
    }

    /// Takes the top entry, if there is one, without a look at it.
    #[inline(always)]
    pub(super) fn drop_last(&mut self) {
        if self.top_kind() == Kind::Other {
            self.drop_other();
        } else {
            self.count = self.count.saturating_sub(1);
        }
    }

    /// How many bytes the entries hold outside of the stack itself.
    pub(super) fn bytes(&self) -> u64 {
        held(&self.others)
    }

    fn drop_other(&mut self) {
        self.others.pop();
        self.count = self.count.saturating_sub(1);
        if self.count == INLINE {
            self.kinds = self.saved_kinds;
        }
    }

    /// Takes the number that was found on top.
    #[inline(always)]
    pub(super) fn drop_number(&mut self) {
        self.count = self.count.wrapping_sub(1);
    }
}

/// The index of an inline entry. The kinds say whether it is one; with the mask the compiler knows that there is such an entry.
#[inline(always)]
fn inline_index(index: usize) -> usize {
    const { assert!(SLOTS.is_power_of_two()) };
    index & (SLOTS - 1)
}

/// How many bytes a stack has asked for, none as long as it is in place.
pub(super) fn held<A: smallvec::Array>(stack: &SmallVec<A>) -> u64 {
    let count = if stack.spilled() { stack.capacity() } else { 0 };
    (count as u64).saturating_mul(size_of::<A::Item>() as u64)
}
