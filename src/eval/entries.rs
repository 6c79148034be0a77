//! The stack itself: where its entries are kept.
//!
//! What every operation does is always inlined here and in the machine: left to itself, the compiler calls some of it in one
//! build and not in the next (`BENCHMARKS.md`).

use super::stack::Entry;
use crate::error::{Limit, Result};
use crate::limits::reached;
use crate::location::Arena;

/// How many entries are kept in place. Compilers need fewer.
const NEAR: usize = 6;

/// A stack of entries: the first six in place, the others in the arena.
pub(super) struct Entries<'a> {
    near: [Entry<'a>; NEAR],
    far: &'a mut [Entry<'a>],
    count: usize,
    limit: u32,
    arena: &'a Arena<'a>,
}

impl<'a> Entries<'a> {
    /// An empty stack for at most `limit` entries.
    #[inline]
    pub(super) fn new(limit: u32, arena: &'a Arena<'a>) -> Entries<'a> {
        Entries {
            near: [Entry::Generic(0); NEAR],
            far: &mut [],
            count: 0,
            limit,
            arena,
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
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "it is below the limit, which a `u32` holds"
    )]
    pub(super) fn push(&mut self, entry: Entry<'a>) -> Result<()> {
        if self.count >= self.limit as usize {
            return Err(reached(Limit::Stack, self.limit.into()));
        }
        match self.near.get_mut(self.count) {
            Some(slot) => *slot = entry,
            None => self.push_far(entry),
        }
        self.count += 1;
        Ok(())
    }

    /// The same for what nearly every entry is, so that no larger one is moved.
    ///
    /// # Errors
    /// [`Limit::Stack`].
    #[inline(always)]
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "it is below the limit, which a `u32` holds"
    )]
    pub(super) fn push_generic(&mut self, value: u64) -> Result<()> {
        match self.near.get_mut(self.count) {
            Some(slot) if self.count < self.limit as usize => {
                *slot = Entry::Generic(value);
                self.count += 1;
                Ok(())
            }
            Some(_) | None => self.push(Entry::Generic(value)),
        }
    }

    #[cold]
    fn push_far(&mut self, entry: Entry<'a>) {
        let at = self.count.saturating_sub(NEAR);
        if at >= self.far.len() {
            let room = self.far.len().max(NEAR).saturating_mul(2);
            let larger = self.arena.alloc_alike(Entry::Generic(0), room);
            for (to, from) in larger.iter_mut().zip(&*self.far) {
                *to = *from;
            }
            self.far = larger;
        }
        if let Some(slot) = self.far.get_mut(at) {
            *slot = entry;
        }
    }

    /// The entry with `index` others above it.
    pub(super) fn below(&self, index: usize) -> Option<&Entry<'a>> {
        let at = self.count.checked_sub(1)?.checked_sub(index)?;
        match self.near.get(at) {
            Some(entry) => Some(entry),
            None => self.far.get(at.checked_sub(NEAR)?),
        }
    }

    #[cold]
    fn far_below(&mut self, index: usize) -> Option<&mut Entry<'a>> {
        let at = self.count.checked_sub(1)?.checked_sub(index)?;
        match self.near.get_mut(at) {
            Some(entry) => Some(entry),
            None => self.far.get_mut(at.checked_sub(NEAR)?),
        }
    }

    /// The top entry.
    #[inline(always)]
    pub(super) fn last(&self) -> Option<&Entry<'a>> {
        match self.near.get(..self.count) {
            Some(near) => near.last(),
            None => self.below(0),
        }
    }

    #[inline(always)]
    pub(super) fn last_mut(&mut self) -> Option<&mut Entry<'a>> {
        if self.count <= NEAR {
            self.near.get_mut(..self.count)?.last_mut()
        } else {
            self.far_below(0)
        }
    }

    /// The entry below the top, and the top.
    #[inline(always)]
    pub(super) fn last_two(&mut self) -> Option<(&mut Entry<'a>, Entry<'a>)> {
        if self.count <= NEAR {
            let [.., below, top] = self.near.get_mut(..self.count)? else {
                return None;
            };
            return Some((below, *top));
        }
        let top = *self.below(0)?;
        Some((self.far_below(1)?, top))
    }

    /// Takes the top entry.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Entry<'a>> {
        let entry = *self.last()?;
        self.drop_last();
        Some(entry)
    }

    /// Takes the top entry, if there is one, without a look at it.
    #[inline(always)]
    pub(super) fn drop_last(&mut self) {
        self.count = self.count.saturating_sub(1);
    }
}
