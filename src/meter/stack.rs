//! Implements stacks that grow with the input.

use super::Meter;
use crate::error::Result;

/// A stack whose depth depends on the input, charged while it is that deep.
#[derive(Debug)]
pub(crate) struct HeldStack<'m, T> {
    meter: &'m Meter,
    entries: Vec<T>,
}

impl<'m, T> HeldStack<'m, T> {
    /// A vector has a capacity of up to twice its length.
    const ENTRY: u64 = 2 * size_of::<T>() as u64;

    pub(crate) fn new(meter: &'m Meter) -> HeldStack<'m, T> {
        HeldStack {
            meter,
            entries: Vec::new(),
        }
    }

    pub(crate) fn last(&self) -> Option<&T> {
        self.entries.last()
    }

    /// Returns the number of entries.
    #[cfg(feature = "serde")]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the entries, lowest first.
    #[cfg(feature = "serde")]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter()
    }

    /// Pushes an entry. Fails like [`Meter::hold`].
    pub(crate) fn push(&mut self, entry: T) -> Result<()> {
        self.meter.hold(Self::ENTRY)?;
        self.entries.push(entry);
        Ok(())
    }

    /// Pops entries as long as `is_over` returns true for the last.
    pub(crate) fn pop_while(&mut self, is_over: impl Fn(&T) -> bool) {
        while self.entries.pop_if(|last| is_over(last)).is_some() {
            self.meter.release(Self::ENTRY);
        }
    }
}

impl<T> Drop for HeldStack<'_, T> {
    fn drop(&mut self) {
        self.meter
            .release(Self::ENTRY.saturating_mul(self.entries.len() as u64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    #[test]
    fn a_stack_is_paid_for_while_it_is_deep() {
        let limits = Limits {
            memory: 100,
            memory_per_byte: 0,
            ..Limits::DEFAULT
        };
        let meter = Meter::new(&limits, 0);
        let mut stack = HeldStack::new(&meter);
        for entry in [1_u64, 2, 3, 4, 5, 6] {
            stack.push(entry).unwrap();
        }
        assert_eq!((meter.bytes(), stack.push(7).is_err()), (96, true));
        stack.pop_while(|entry| *entry > 2);
        assert_eq!((meter.bytes(), stack.last()), (32, Some(&2)));
        drop(stack);
        assert_eq!(meter.bytes(), 0);
    }
}
