//! Where what locations are made of lives.

use core::cell::{Cell, OnceCell};
use core::fmt;

use super::{Composite, ImplicitPointer, Link, Part, Place};

/// Where composite storages and their parts live. The caller makes one, and drops it when it is done with
/// the locations.
///
/// An arena that nothing is put into asks for no memory.
#[derive(Default)]
pub struct Arena<'a> {
    pub(crate) composites: Pool<Composite<'a>>,
    pub(crate) parts: Pool<Part<'a>>,
    pub(crate) places: Pool<Place<'a>>,
    pub(crate) pointers: Pool<ImplicitPointer>,
    pub(crate) building: Pool<Link<'a>>,
    bytes: Pool<u8>,
    counters: Pool<Cell<u64>>,
}

impl fmt::Debug for Arena<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena")
            .field("composites", &self.composites.len())
            .finish_non_exhaustive()
    }
}

impl Arena<'_> {
    /// An empty arena. Its first chunks are small; it grows as it is used.
    #[must_use]
    pub fn new() -> Self {
        Arena::default()
    }

    /// Keeps bytes, those of an expression for example, as long as the locations made of them.
    pub fn keep(&self, bytes: Vec<u8>) -> &[u8] {
        self.bytes.alloc_extend(bytes)
    }

    /// A counter that starts at 0 and lives as long as the locations.
    pub(crate) fn counter(&self) -> &Cell<u64> {
        self.counters.alloc(Cell::new(0))
    }
}

/// Values of one type that live as long as the arena. Memory is asked for when there is a first value.
pub(crate) struct Pool<T>(OnceCell<typed_arena::Arena<T>>);

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool(OnceCell::new())
    }
}

impl<T> Pool<T> {
    /// How many values the first chunk has room for; the next is twice as large.
    const FIRST: usize = match 512usize.checked_div(size_of::<T>()) {
        Some(0) | None => 1,
        Some(count) => count,
    };

    fn values(&self) -> &typed_arena::Arena<T> {
        self.0
            .get_or_init(|| typed_arena::Arena::with_capacity(Self::FIRST))
    }

    /// Keeps a value.
    pub(crate) fn alloc(&self, value: T) -> &T {
        self.values().alloc(value)
    }

    /// Keeps values, one behind the other.
    pub(crate) fn alloc_extend(&self, values: impl IntoIterator<Item = T>) -> &[T] {
        self.values().alloc_extend(values)
    }

    fn len(&self) -> usize {
        self.0.get().map_or(0, typed_arena::Arena::len)
    }
}
