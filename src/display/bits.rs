//! Reads bits of a value by position, and tracks which are known.
//!
//! Interpreting them is left to the printers. Bit 0 is the lowest bit of the first byte, since AMDGPU is little-endian.
#![warn(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use core::ops::Range;
use std::borrow::Cow;

use super::{Mask, TypedBytes};

/// The printability of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// All bits are known.
    Known,
    /// Some bit has no value.
    OptimizedOut,
    /// Some bit has a value that the debugger could not read.
    Unavailable,
}

impl State {
    /// Returns the text in place of the value, or `None` if it is known.
    pub(super) fn text(self) -> Option<&'static str> {
        match self {
            State::Known => None,
            State::OptimizedOut => Some("<optimized out>"),
            State::Unavailable => Some("<unavailable>"),
        }
    }
}

/// The bytes of a value with their masks. Bits past the last byte are unavailable, so that a partially read type can be printed.
#[derive(Debug)]
pub(super) struct Bits<'a> {
    bytes: Cow<'a, [u8]>,
    undefined: &'a Mask,
    /// The unavailable bits among the bytes.
    unavailable: &'a Mask,
    /// The number of bits in the bytes.
    size: u64,
}

/// Returns the range of `size` bits at `offset`, truncated at the largest number.
fn range(offset: u64, size: u64) -> Range<u64> {
    offset..offset.saturating_add(size)
}

/// Returns a function that makes a range of bits relative to `start`.
fn from(start: u64) -> impl Fn(Range<u64>) -> Range<u64> {
    move |bits| bits.start - start..bits.end - start
}

impl<'a> Bits<'a> {
    pub(super) fn new(value: &TypedBytes<'a>) -> Bits<'a> {
        let size = u64::try_from(value.bytes.len()).map_or(u64::MAX, |n| n * 8);
        Bits {
            bytes: Cow::Borrowed(value.bytes),
            undefined: value.undefined,
            unavailable: value.unavailable,
            size,
        }
    }

    /// Creates the bits of a known number, in their usual order.
    pub(super) fn of_number(number: u128) -> Bits<'a> {
        const NONE: &Mask = &Mask::new();
        Bits {
            bytes: Cow::Owned(number.to_le_bytes().to_vec()),
            undefined: NONE,
            unavailable: NONE,
            size: 128,
        }
    }

    /// Returns `size` bits at `offset`, at most 128, in big-endian order: bits count from the highest of each byte, and the first is the most
    /// significant. If some are unknown, it returns the reason.
    pub(super) fn big_endian(&self, offset: u64, size: u64) -> Result<u128, State> {
        let mut number = 0u128;
        for from_top in offset..offset.saturating_add(size) {
            // The bit at the other end of the same byte.
            let at = from_top ^ 7;
            match self.state(at, 1) {
                State::Known => number = number << 1 | self.unsigned(at, 1),
                lost @ (State::OptimizedOut | State::Unavailable) => return Err(lost),
            }
        }
        Ok(number)
    }

    /// Returns the state of `size` bits at `offset`: known, or the reason why some are not.
    pub(super) fn state(&self, offset: u64, size: u64) -> State {
        if self.undefined.overlaps(range(offset, size)) {
            State::OptimizedOut
        } else if size > 0
            && (offset.saturating_add(size) > self.size
                || self.unavailable.overlaps(range(offset, size)))
        {
            State::Unavailable
        } else {
            State::Known
        }
    }

    /// Returns the state of `size` bits at `offset` as a whole: known if any bit is, or if there are none.
    pub(super) fn state_of_all(&self, offset: u64, size: u64) -> State {
        if size == 0 {
            State::Known
        } else if self.undefined.covers(range(offset, size)) {
            State::OptimizedOut
        } else if (self.unavailable).covers(offset..offset.saturating_add(size).min(self.size)) {
            State::Unavailable
        } else {
            State::Known
        }
    }

    /// Returns eight bits at `offset`, with zeros past the end.
    fn byte(&self, offset: u64) -> u8 {
        let byte = |index: u64| {
            usize::try_from(index)
                .ok()
                .and_then(|i| self.bytes.get(i))
                .copied()
                .unwrap_or(0)
        };
        let (index, shift) = (offset / 8, offset % 8);
        let pair = u16::from_le_bytes([byte(index), byte(index + 1)]);
        pair.checked_shr(u32::try_from(shift).unwrap_or(0))
            .unwrap_or(0)
            .to_le_bytes()[0]
    }

    /// Returns `size` bits at `offset` as a slice of bytes, or `None` if they are not whole bytes, or not all available.
    fn whole_bytes(&self, offset: u64, size: u64) -> Option<&[u8]> {
        if !offset.is_multiple_of(8) || !size.is_multiple_of(8) {
            return None;
        }
        let index = |bit: u64| usize::try_from(bit / 8).ok();
        self.bytes
            .get(index(offset)?..index(offset.checked_add(size)?)?)
    }

    /// Returns `size` bits at `offset`, at most 128, zero-extended.
    pub(super) fn unsigned(&self, offset: u64, size: u64) -> u128 {
        let mut bytes = [0; 16];
        if let Some(whole) = self.whole_bytes(offset, size)
            && let Some(start) = bytes.get_mut(..whole.len())
        {
            start.copy_from_slice(whole);
            return u128::from_le_bytes(bytes);
        }
        for (byte, at) in bytes
            .iter_mut()
            .zip((offset..offset.saturating_add(size)).step_by(8))
        {
            *byte = self.byte(at);
        }
        let excess = 128u64.saturating_sub(size);
        let excess = u32::try_from(excess).unwrap_or(128);
        let low = u128::MAX.checked_shr(excess).unwrap_or(0);
        u128::from_le_bytes(bytes) & low
    }

    /// Returns `size` bits at `offset`, at most 128, as a number in two's complement.
    pub(super) fn signed(&self, offset: u64, size: u64) -> i128 {
        let excess = u32::try_from(128u64.saturating_sub(size)).unwrap_or(128);
        let value = self.unsigned(offset, size).checked_shl(excess).unwrap_or(0);
        value.cast_signed().checked_shr(excess).unwrap_or(0)
    }

    /// Returns the length of the run at `first`: the number of elements equal to the one there, including it.
    ///
    /// * `left`: the number of elements from `first` on; `size`: the size of an element, `stride`: the distance between elements, in bits.
    pub(super) fn run(&self, first: u64, stride: u64, size: u64, left: u64) -> u64 {
        // After the bytes all elements are equal, regardless of their number in the type.
        if stride == 0 || size == 0 || first >= self.size {
            return left;
        }
        if let Some(run) = self
            .run_of_bytes(first, stride, left)
            .filter(|_| size == stride)
        {
            return run;
        }
        let next = |index: u64| first.saturating_add(index.saturating_mul(stride));
        // All elements after the bytes equal the first of them.
        let after = (self.size - first).div_ceil(stride);
        (1..left.min(after + 1))
            .find(|&index| !self.same(first, next(index), size))
            .unwrap_or(left)
    }

    /// Finds a [`run`](Self::run) of elements of whole bytes without gaps, all known within the bytes. Returns `None` in other cases. It compares
    /// each byte with the one a stride further, which is fast.
    fn run_of_bytes(&self, first: u64, stride: u64, left: u64) -> Option<u64> {
        let end = first
            .saturating_add(left.saturating_mul(stride))
            .min(self.size);
        let known = self.state(first, end - first) == State::Known;
        if !known || !first.is_multiple_of(8) || !stride.is_multiple_of(8) {
            return None;
        }
        let index = |bit: u64| usize::try_from(bit / 8).ok();
        let bytes = self.bytes.get(index(first)?..index(end)?)?;
        let step = index(stride)?;
        let later = bytes.get(step..)?;
        let whole = bytes.len().checked_div(step)?;
        let same = bytes
            .iter()
            .zip(later)
            .take_while(|(left, right)| left == right)
            .count();
        let run = (same.checked_div(step)? + 1).min(whole);
        u64::try_from(run).ok()
    }

    /// Returns true if `size` bits at `a` and at `b` are equal, and have the same missing bits.
    fn same(&self, a: u64, b: u64, size: u64) -> bool {
        let undefined = |start: u64| self.undefined.within(range(start, size)).map(from(start));
        undefined(a).eq(undefined(b))
            && self.unavailable_from(a, size) == self.unavailable_from(b, size)
            && self.same_bits(a, b, size)
    }

    /// Returns the unavailable bits among `size` bits at `start`, including those past the last byte, relative to `start`.
    fn unavailable_from(&self, start: u64, size: u64) -> Mask {
        let within = self.unavailable.within(range(start, size));
        let mut unavailable: Mask = within.map(from(start)).collect();
        unavailable.insert(self.size.saturating_sub(start).min(size)..size);
        unavailable
    }

    /// Returns true if `size` bits at `a` and at `b` are equal, taking those past the end as zero.
    fn same_bits(&self, a: u64, b: u64, size: u64) -> bool {
        let size = size.min(self.size);
        let whole = size / 8;
        let rest = size % 8;
        let slice = |start: u64| {
            let start = usize::try_from(start / 8).ok()?;
            let len = usize::try_from(whole).ok()?;
            self.bytes.get(start..start.checked_add(len)?)
        };
        let equal = match (slice(a), slice(b)) {
            (Some(left), Some(right)) if a.is_multiple_of(8) && b.is_multiple_of(8) => {
                left == right
            }
            _ => (0..whole).all(|i| {
                let skip = i * 8;
                self.byte(a.saturating_add(skip)) == self.byte(b.saturating_add(skip))
            }),
        };
        let tail = whole * 8;
        equal
            && self.unsigned(a.saturating_add(tail), rest)
                == self.unsigned(b.saturating_add(tail), rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the value of one bit, and true if it is known.
    fn bit(value: &TypedBytes<'_>, at: u64) -> (bool, State) {
        let known = usize::try_from(at / 8)
            .ok()
            .and_then(|byte| value.bytes.get(byte));
        let state = if value.undefined.overlaps(at..at + 1) {
            State::OptimizedOut
        } else if known.is_none() || value.unavailable.overlaps(at..at + 1) {
            State::Unavailable
        } else {
            State::Known
        };
        (known.is_some_and(|byte| byte >> (at % 8) & 1 == 1), state)
    }

    #[test]
    fn numbers_are_the_sums_of_their_bits() {
        let bytes = [0x5a, 0xc3, 0x0f, 0x81, 0xff, 0x00, 0x7e];
        let value = TypedBytes::known(&bytes);
        let bits = Bits::new(&value);
        for offset in 0..64 {
            for size in 0..=40u64 {
                let sum: u128 = (0..size)
                    .map(|i| u128::from(bit(&value, offset + i).0) << i)
                    .sum();
                assert_eq!(bits.unsigned(offset, size), sum);
                let negative = size > 0 && bit(&value, offset + size - 1).0;
                let signed = i128::try_from(sum).unwrap() - if negative { 1 << size } else { 0 };
                assert_eq!(bits.signed(offset, size), signed);
            }
        }
        assert_eq!(
            Bits::new(&TypedBytes::known(&[0xff; 16])).signed(0, 128),
            -1
        );
    }

    /// Bits after the end are unknown, like an unknown element before it.
    #[test]
    fn a_run_that_goes_past_the_bytes_is_not_counted_one_by_one() {
        let unavailable: Mask = core::iter::once(32..64).collect();
        let value = TypedBytes {
            unavailable: &unavailable,
            ..TypedBytes::known(&[0; 8])
        };
        assert_eq!(Bits::new(&value).run(32, 32, 32, 1 << 60), 1 << 60);
        assert_eq!(Bits::new(&value).run(0, 32, 32, 1 << 60), 1);
    }

    #[test]
    fn runs_are_counted_like_one_element_after_the_other() {
        let bytes = [7, 7, 7, 7, 7, 7, 1, 7, 1, 7, 1, 7, 0, 0, 0];
        let some: Mask = [33..40, 90..91].into_iter().collect();
        for undefined in [&Mask::new(), &some] {
            let value = TypedBytes {
                undefined,
                ..TypedBytes::known(&bytes)
            };
            let bits = Bits::new(&value);
            for (first, stride) in (0..130).flat_map(|a| (1..40).map(move |b| (a, b))) {
                for (size, left) in [(stride, 9), (stride, 3), (stride.min(5), 9)] {
                    let element =
                        |n: u64| (0..size).map(move |i| bit(&value, first + n * stride + i));
                    let alike = |n: &u64| element(*n).eq(element(0));
                    let run = (1..left).take_while(alike).count() as u64 + 1;
                    assert_eq!(
                        bits.run(first, stride, size, left).min(left),
                        run,
                        "{first} {stride}"
                    );
                }
            }
        }
    }
}
