//! The stack itself: where its entries are kept.
//!
//! Nearly every entry is a number of 64 bits: a value of the generic type, an address in the default space, a
//! value that is a location, a register; or two, a value that grows from lane to lane; or, as a composite that is being made,
//! none. They are kept as such; what else there is lies beside them, in the same order. An entry that can be anything has eight
//! times the size, and moving those about took more time than executing the operations (`BENCHMARKS.md`).
//!
//! What every operation does is always inlined here and in the machine: left to itself, the compiler calls some of it in one
//! build and not in the next.

use super::spill::Spill;
use super::stack::Entry;
use crate::arch::Register;
use crate::error::{Limit, Result};
use crate::limits::reached;
use crate::location::Arena;

/// How many entries can be kept as numbers. Compilers need fewer.
const NEAR: usize = 8;
/// How many other entries are kept in place.
const OTHERS: usize = 3;

/// What a near entry is, in four bits.
mod kind {
    use super::{Entry, Register};

    pub(super) const GENERIC: u32 = 1;
    pub(super) const ADDRESS: u32 = 2;
    /// All bits of `GENERIC`, and one more.
    pub(super) const IMPLICIT: u32 = 3;
    pub(super) const REGISTER: u32 = 4;
    pub(super) const LINEAR: u32 = 5;
    /// No number either, but there is nothing to keep of it.
    pub(super) const INCOMPLETE: u32 = 6;
    /// No number. No other kind has this bit.
    pub(super) const OTHER: u32 = 8;
    /// The bits of one entry.
    pub(super) const BITS: u32 = 4;
    pub(super) const MASK: u32 = 0b1111;
    /// No entry is a number.
    pub(super) const ALL_OTHER: u32 = 0x8888_8888;

    /// The entry that a number is; nothing if it is none.
    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the number of a register was cast from one of 16 bits"
    )]
    pub(super) fn entry<'a>(kind: u32, word: u64, step: u64) -> Option<Entry<'a>> {
        Some(match kind & MASK {
            GENERIC => Entry::Generic(word),
            ADDRESS => Entry::Address(word),
            IMPLICIT => Entry::Implicit(word),
            REGISTER => Entry::Register(Register(word as u16)),
            LINEAR => Entry::Linear { base: word, step },
            INCOMPLETE => Entry::Incomplete,
            _ => return None,
        })
    }

    /// How many are no numbers.
    pub(super) fn others(kinds: u32) -> usize {
        (kinds & ALL_OTHER).count_ones() as usize
    }
}

/// A stack of entries.
pub(super) struct Entries<'a> {
    /// The first entries, as far as they are numbers.
    words: [u64; NEAR],
    /// By how much the linear ones grow from lane to lane.
    steps: [u64; NEAR],
    /// The kinds of the first entries, of the top one in the low bits: 0 where there is no entry. On a deep stack nothing is
    /// a number, so that one look at this tells whether the top is kept as one.
    kinds: u32,
    /// The kinds of the first entries of a deep stack.
    covered: u32,
    /// How many entries there are.
    count: usize,
    /// How many there may be that are kept as numbers.
    near_limit: usize,
    limit: u32,
    /// The first entries that are no numbers, and all behind them.
    others: Spill<'a, Entry<'a>, OTHERS>,
}

impl<'a> Entries<'a> {
    /// An empty stack for at most `limit` entries.
    #[inline(always)]
    pub(super) fn new(limit: u32, arena: &'a Arena<'a>) -> Entries<'a> {
        Entries {
            words: [0; NEAR],
            steps: [0; NEAR],
            kinds: 0,
            covered: 0,
            count: 0,
            near_limit: NEAR.min(limit as usize),
            limit,
            others: Spill::new(arena),
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
            Entry::Implicit(value) => self.push_word(kind::IMPLICIT, value),
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
        self.push_word(kind::GENERIC, value)
    }

    /// Pushes the location of a byte in the default space.
    ///
    /// # Errors
    /// [`Limit::Stack`].
    #[inline(always)]
    pub(super) fn push_address(&mut self, address: u64) -> Result<()> {
        self.push_word(kind::ADDRESS, address)
    }

    /// Pushes the location of all of a register.
    ///
    /// # Errors
    /// [`Limit::Stack`].
    #[inline(always)]
    pub(super) fn push_register(&mut self, register: Register) -> Result<()> {
        self.push_word(kind::REGISTER, register.number().into())
    }

    /// Pushes a composite to which parts can be added.
    ///
    /// # Errors
    /// [`Limit::Stack`].
    #[inline(always)]
    pub(super) fn push_incomplete(&mut self) -> Result<()> {
        self.push_word(kind::INCOMPLETE, 0)
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
        if self.count >= self.near_limit {
            return self.push_other(Entry::Linear { base, step });
        }
        if let Some(slot) = self.steps.get_mut(near(self.count)) {
            *slot = step;
        }
        self.push_word(kind::LINEAR, base)
    }

    #[inline(always)]
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "the count is below the limit, which a `u32` holds"
    )]
    fn push_word(&mut self, kind: u32, word: u64) -> Result<()> {
        if self.count >= self.near_limit {
            return self.push_far_word(kind, word);
        }
        if let Some(slot) = self.words.get_mut(near(self.count)) {
            *slot = word;
        }
        self.kinds = self.kinds << kind::BITS | kind;
        self.count += 1;
        Ok(())
    }

    #[cold]
    fn push_far_word(&mut self, kind: u32, word: u64) -> Result<()> {
        kind::entry(kind, word, 0).map_or(Ok(()), |entry| self.push_other(entry))
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "the count is below the limit, which a `u32` holds"
    )]
    fn push_other(&mut self, entry: Entry<'a>) -> Result<()> {
        if self.count >= self.limit as usize {
            return Err(reached(Limit::Stack, self.limit.into()));
        }
        if self.count == NEAR {
            self.covered = self.kinds;
            self.kinds = kind::ALL_OTHER;
        }
        self.kinds = self.kinds << kind::BITS | kind::OTHER;
        self.others.push(entry);
        self.count += 1;
        Ok(())
    }

    /// The number on top; nothing if it is none, or on a deep stack.
    #[inline(always)]
    pub(super) fn top_number(&self) -> Option<Entry<'a>> {
        let at = near(self.count.wrapping_sub(1));
        kind::entry(self.kinds, *self.words.get(at)?, *self.steps.get(at)?)
    }

    /// The value on top, if it is of the generic type; nothing on a deep stack.
    #[inline(always)]
    pub(super) fn top_generic(&mut self) -> Option<&mut u64> {
        if self.kinds & kind::MASK != kind::GENERIC {
            return None;
        }
        self.words.get_mut(near(self.count.wrapping_sub(1)))
    }

    /// The value below the top, and the one on top, if both are of the generic type; nothing on
    /// a deep stack.
    #[inline(always)]
    pub(super) fn two_generics(&mut self) -> Option<(&mut u64, u64)> {
        const BOTH: u32 = kind::MASK << kind::BITS | kind::MASK;
        if self.kinds & BOTH != kind::GENERIC << kind::BITS | kind::GENERIC {
            return None;
        }
        let top = *self.words.get(near(self.count.wrapping_sub(1)))?;
        let below = self.words.get_mut(near(self.count.wrapping_sub(2)))?;
        Some((below, top))
    }

    /// Whether a composite to which parts can be added is on top.
    #[inline]
    pub(super) fn top_is_incomplete(&self) -> bool {
        self.kinds & kind::MASK == kind::INCOMPLETE
            || matches!(self.top_other(), Some(Entry::Incomplete))
    }

    /// Makes a value of the generic type of the number on top.
    #[inline(always)]
    pub(super) fn set_generic(&mut self, value: u64) {
        if let Some(top) = self.words.get_mut(near(self.count.wrapping_sub(1))) {
            *top = value;
            self.kinds = self.kinds & !kind::MASK | kind::GENERIC;
        }
    }

    /// Makes a location of the generic value on top, that holds it; whether there is one, and not on a deep stack.
    #[inline(always)]
    pub(super) fn make_implicit(&mut self) -> bool {
        let is_generic = self.top_generic().is_some();
        if is_generic {
            self.kinds |= kind::IMPLICIT;
        }
        is_generic
    }

    /// The entry with `index` others above it.
    pub(super) fn below(&self, index: usize) -> Option<Entry<'a>> {
        let at = self.count.checked_sub(1)?.checked_sub(index)?;
        let (Some(word), Some(step)) = (self.words.get(at), self.steps.get(at)) else {
            return self.others.below(index).copied();
        };
        let kinds = if self.count > NEAR {
            self.covered
        } else {
            self.kinds
        };
        // Of the entry and of those below it.
        let above = self.count.min(NEAR).checked_sub(at)?.checked_sub(1)?;
        let kinds = kinds.checked_shr(kind::BITS.checked_mul(u32::try_from(above).ok()?)?)?;
        let other = || {
            self.others
                .get(kind::others(kinds).checked_sub(1)?)
                .copied()
        };
        kind::entry(kinds, *word, *step).or_else(other)
    }

    /// The top entry.
    #[inline]
    pub(super) fn top(&self) -> Option<Entry<'a>> {
        self.top_number().or_else(|| self.top_other().copied())
    }

    /// The top entry, if it is no number, or on a deep stack.
    #[inline(always)]
    pub(super) fn top_other(&self) -> Option<&Entry<'a>> {
        (self.kinds & kind::OTHER != 0)
            .then(|| self.others.below(0))
            .flatten()
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
        if self.kinds & kind::OTHER != 0 {
            self.drop_other();
        } else {
            self.kinds >>= kind::BITS;
            self.count = self.count.saturating_sub(1);
        }
    }

    fn drop_other(&mut self) {
        self.others.drop_last();
        self.count = self.count.saturating_sub(1);
        if self.count < NEAR {
            self.kinds >>= kind::BITS;
        } else if self.count == NEAR {
            self.kinds = self.covered;
        }
    }

    /// Takes the number that was found on top.
    #[inline(always)]
    pub(super) fn drop_number(&mut self) {
        self.kinds >>= kind::BITS;
        self.count = self.count.wrapping_sub(1);
    }
}

/// The index of a near entry. The kinds say whether it is one; with the mask the compiler knows that there is such an entry.
#[inline(always)]
fn near(index: usize) -> usize {
    const { assert!(NEAR.is_power_of_two() && NEAR * kind::BITS as usize == u32::BITS as usize) };
    index & (NEAR - 1)
}
