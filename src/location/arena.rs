//! Owns the data to which locations refer: composites, their parts, implicit pointers.

use core::cell::{Cell, OnceCell};
use core::fmt;

use super::incomplete::Incomplete;
use super::part::{Part, RegisterPart};
use super::{Composite, ImplicitPointer, Location, Place};
use crate::meter::Meter;

/// The memory of composite storages and their parts. The caller creates one, and drops it together with the locations.
///
/// There is a pool for each type of value, which allocates memory for its first value.
#[derive(Default)]
pub struct Arena<'a> {
    pub(crate) composites: Pool<Composite<'a>>,
    pub(crate) parts: Pool<Part<'a>>,
    pub(super) register_parts: Pool<RegisterPart>,
    pub(crate) locations: Pool<Location<'a>>,
    pub(crate) places: Pool<Place<'a>>,
    pub(crate) masks: Pool<u128>,
    pub(crate) pointers: Pool<ImplicitPointer>,
    pub(super) incomplete: Pool<Incomplete<'a>>,
    bytes: Pool<u8>,
    meters: Pool<Meter>,
}

impl fmt::Debug for Arena<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena")
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

impl Arena<'_> {
    /// Creates an empty arena.
    #[must_use]
    pub fn new() -> Self {
        Arena::default()
    }

    /// Keeps bytes, such as an expression's, as long as the locations made from them.
    #[must_use]
    pub fn keep(&self, bytes: impl AsRef<[u8]>) -> &[u8] {
        self.bytes.alloc_extend(bytes.as_ref().iter().copied())
    }

    /// Returns the size of the kept values in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let pools = [
            self.composites.bytes(),
            self.parts.bytes(),
            self.register_parts.bytes(),
            self.locations.bytes(),
            self.places.bytes(),
            self.masks.bytes(),
            self.pointers.bytes(),
            self.incomplete.bytes(),
            self.bytes.bytes(),
        ];
        pools.into_iter().fold(0, u64::wrapping_add)
    }

    /// Keeps a meter as long as the locations.
    pub(crate) fn meter(&self, meter: Meter) -> &Meter {
        self.meters.alloc(meter)
    }
}

/// Values of one type that live as long as the arena.
pub(crate) struct Pool<T> {
    values: OnceCell<typed_arena::Arena<T>>,
    /// The size of the values in bytes. Evaluations read it after each call that may have added some.
    bytes: Cell<u64>,
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool {
            values: OnceCell::new(),
            bytes: Cell::new(0),
        }
    }
}

impl<T> Pool<T> {
    /// The capacity of the first chunk. Each further chunk has twice the capacity of the one before.
    const FIRST: usize = match 512usize.checked_div(size_of::<T>()) {
        Some(0) | None => 1,
        Some(count) => count,
    };

    fn values(&self) -> &typed_arena::Arena<T> {
        self.values
            .get_or_init(|| typed_arena::Arena::with_capacity(Self::FIRST))
    }

    fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    fn add(&self, count: usize) {
        let bytes = (count as u64).wrapping_mul(size_of::<T>() as u64);
        // No machine has enough memory for an overflow.
        self.bytes.set(self.bytes.get().wrapping_add(bytes));
    }

    /// Keeps a value.
    pub(crate) fn alloc(&self, value: T) -> &mut T {
        self.add(1);
        self.values().alloc(value)
    }

    /// Keeps values, one after the other.
    pub(crate) fn alloc_extend(&self, values: impl IntoIterator<Item = T>) -> &mut [T] {
        let values = self.values().alloc_extend(values);
        self.add(values.len());
        values
    }
}

impl<T: Copy> Pool<T> {
    /// Copies `values` and adds as many copies of `filler` again, at least `least` values in all.
    pub(crate) fn alloc_larger(&self, values: &[T], filler: T, least: usize) -> &mut [T] {
        // A slice in memory has at most half of the bytes that a number counts.
        let count = values.len().wrapping_mul(2).max(least);
        let values = values.iter().copied().chain(core::iter::repeat(filler));
        self.alloc_extend(values.take(count))
    }
}
