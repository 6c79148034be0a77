//! A stack in place, as long as it is small.

use arrayvec::ArrayVec;

use crate::location::Arena;

/// A stack whose first `N` items are in place, and the others in the arena.
pub(super) struct Spill<'a, T, const N: usize> {
    near: ArrayVec<T, N>,
    /// The others, and room for more.
    far: &'a mut [T],
    far_count: usize,
    arena: &'a Arena<'a>,
}

impl<'a, T: Copy, const N: usize> Spill<'a, T, N> {
    #[inline(always)]
    pub(super) fn new(arena: &'a Arena<'a>) -> Spill<'a, T, N> {
        Spill {
            near: ArrayVec::new(),
            far: &mut [],
            far_count: 0,
            arena,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, item: T) {
        if self.near.is_full() {
            self.push_far(item);
        } else {
            self.near.push(item);
        }
    }

    #[cold]
    fn push_far(&mut self, item: T) {
        if self.far_count >= self.far.len() {
            let least = N.saturating_mul(2);
            self.far = self.arena.alloc_larger(self.far, item, least);
        }
        if let Some(slot) = self.far.get_mut(self.far_count) {
            *slot = item;
            self.far_count = self.far_count.saturating_add(1);
        }
    }

    /// The item with `at` others below it.
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<&T> {
        match self.near.get(at) {
            Some(item) => Some(item),
            None => self.far.get(at.checked_sub(N)?),
        }
    }

    /// The item with `index` others above it.
    #[inline]
    pub(super) fn below(&self, index: usize) -> Option<&T> {
        let count = self.near.len().checked_add(self.far_count)?;
        self.get(count.checked_sub(1)?.checked_sub(index)?)
    }

    /// The item on top.
    #[inline]
    pub(super) fn last(&self) -> Option<&T> {
        match self.far_count.checked_sub(1) {
            Some(at) => self.far.get(at),
            None => self.near.last(),
        }
    }

    /// The item on top, to be changed.
    #[inline]
    pub(super) fn last_mut(&mut self) -> Option<&mut T> {
        match self.far_count.checked_sub(1) {
            Some(at) => self.far.get_mut(at),
            None => self.near.last_mut(),
        }
    }

    /// Takes the top item away, if there is one.
    #[inline]
    pub(super) fn drop_last(&mut self) {
        match self.far_count.checked_sub(1) {
            Some(count) => self.far_count = count,
            None => {
                self.near.pop();
            }
        }
    }
}
