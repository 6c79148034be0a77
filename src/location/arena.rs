//! Where what locations are made of lives.

use crate::meter::Meter;
use core::cell::{Cell, OnceCell};
use core::fmt;
use core::marker::PhantomData;

use bumpalo::Bump;

/// Where composite storages and their parts live. The caller makes one, and drops it when it is done with
/// the locations.
///
/// Memory is asked for in chunks, and none as long as nothing is put into it.
#[derive(Default)]
pub struct Arena<'a> {
    memory: OnceCell<Bump>,
    /// What is in it borrows from expressions and from the arena itself.
    borrows: PhantomData<Cell<&'a ()>>,
}

/// The size of the first chunk, in bytes: composites of a few parts need no other.
const FIRST: usize = 960;

impl fmt::Debug for Arena<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena")
            .field("bytes", &self.memory.get().map_or(0, Bump::allocated_bytes))
            .finish_non_exhaustive()
    }
}

impl Arena<'_> {
    /// An empty arena.
    #[must_use]
    pub fn new() -> Self {
        Arena::default()
    }

    fn memory(&self) -> &Bump {
        self.memory.get_or_init(|| Bump::with_capacity(FIRST))
    }

    /// Keeps bytes, those of an expression for example, as long as the locations made of them.
    #[must_use]
    pub fn keep(&self, bytes: Vec<u8>) -> &[u8] {
        self.memory().alloc_slice_copy(&bytes)
    }

    /// How many bytes were asked for.
    pub(crate) fn bytes(&self) -> u64 {
        self.memory
            .get()
            .map_or(0, |memory| memory.allocated_bytes() as u64)
    }

    /// Keeps a meter as long as the locations.
    pub(crate) fn meter(&self, meter: Meter) -> &Meter {
        self.alloc_mut(meter)
    }

    /// Keeps a value. Only values that own nothing are: nobody would free it.
    #[inline]
    pub(crate) fn alloc<T: Copy>(&self, value: T) -> &T {
        self.memory().alloc(value)
    }

    /// Keeps a value that can be changed. It must own nothing either.
    #[inline]
    pub(crate) fn alloc_mut<T>(&self, value: T) -> &mut T {
        const { assert!(!core::mem::needs_drop::<T>()) };
        self.memory().alloc(value)
    }

    /// Keeps values, one behind the other.
    pub(crate) fn alloc_all<T: Copy>(&self, values: &[T]) -> &mut [T] {
        self.memory().alloc_slice_copy(values)
    }

    /// Keeps what `values` has and as many more again, at least `least` in all; those are alike until they are changed.
    pub(crate) fn alloc_larger<T: Copy>(&self, values: &[T], filler: T, least: usize) -> &mut [T] {
        let larger = self.alloc_alike(filler, values.len().saturating_mul(2).max(least));
        for (to, from) in larger.iter_mut().zip(values) {
            *to = *from;
        }
        larger
    }

    /// Keeps all values of an iterator, one behind the other.
    #[inline]
    pub(crate) fn alloc_each<T: Copy>(&self, values: impl ExactSizeIterator<Item = T>) -> &[T] {
        self.memory().alloc_slice_fill_iter(values)
    }

    /// Keeps so many values, which are all alike until they are changed.
    pub(crate) fn alloc_alike<T: Copy>(&self, value: T, count: usize) -> &mut [T] {
        self.memory().alloc_slice_fill_copy(count, value)
    }
}
