//! Implements [`Mask`]: a set of bits of a value.
//!
//! Its meaning depends on the user: bits that are undefined, or that the debugger could not read.

use core::ops::Range;

/// A set of bits of a value: half-open ranges, counted in bits from the value's lowest.
///
/// The ranges are sorted and not empty, and neither touch nor overlap, so that equal sets compare equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mask {
    ranges: Vec<Range<u64>>,
}

impl Mask {
    /// Returns the empty set.
    #[must_use]
    pub const fn new() -> Mask {
        Mask { ranges: Vec::new() }
    }

    /// Returns the ranges, in ascending order.
    #[must_use]
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// Returns true if no bit is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds `bits`, a range in bits. An empty range adds nothing.
    pub fn insert(&mut self, bits: Range<u64>) {
        if bits.is_empty() {
            return;
        }
        let first = self.ranges.partition_point(|r| r.end < bits.start);
        let last = self.ranges.partition_point(|r| r.start <= bits.end);
        let touched = self.ranges.get(first..last).unwrap_or_default();
        let start = touched
            .first()
            .map_or(bits.start, |r| r.start.min(bits.start));
        let end = touched.last().map_or(bits.end, |r| r.end.max(bits.end));
        self.ranges
            .splice(first..last.max(first), core::iter::once(start..end));
    }

    /// Returns true if any of `bits` is in the set.
    #[must_use]
    pub fn overlaps(&self, bits: Range<u64>) -> bool {
        self.within(bits).next().is_some()
    }

    /// Returns true if all of `bits` are in the set. This holds for an empty range.
    #[must_use]
    pub fn covers(&self, bits: Range<u64>) -> bool {
        bits.is_empty() || self.within(bits.clone()).next() == Some(bits)
    }

    /// Returns the parts of the set within `bits`.
    pub fn within(&self, bits: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let first = self.ranges.partition_point(|r| r.end <= bits.start);
        self.ranges
            .get(first..)
            .unwrap_or_default()
            .iter()
            .map(move |r| r.start.max(bits.start)..r.end.min(bits.end))
            .take_while(|r| !r.is_empty())
    }
}

impl FromIterator<Range<u64>> for Mask {
    /// Returns the set of all bits in any of the ranges, which may be in any order.
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Mask {
        let mut mask = Mask::new();
        for range in ranges {
            mask.insert(range);
        }
        mask
    }
}

#[cfg(test)]
#[expect(
    clippy::single_range_in_vec_init,
    reason = "sets of one range are meant"
)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_or_overlap_become_one() {
        let mask: Mask = [8..16, 0..4, 32..40, 4..8, 12..20, 6..6, 39..41]
            .into_iter()
            .collect();
        assert_eq!(mask.ranges(), [0..20, 32..41]);
        let mut all = mask.clone();
        all.insert(19..33);
        assert_eq!(all.ranges(), [0..41]);
        let mut last = mask;
        last.insert(50..u64::MAX);
        assert_eq!(last.ranges(), [0..20, 32..41, 50..u64::MAX]);
    }

    #[test]
    fn every_pair_of_small_ranges_gives_the_union_of_their_bits() {
        let ranges = || (0u64..7).flat_map(|a| (0..7).map(move |b| a..b));
        for (a, b) in ranges().flat_map(|a| ranges().map(move |b| (a.clone(), b))) {
            let mask: Mask = [a.clone(), 9..10, b.clone()].into_iter().collect();
            for bit in 0..9 {
                let expected = a.contains(&bit) || b.contains(&bit);
                assert_eq!(mask.overlaps(bit..bit + 1), expected, "{a:?} {b:?} {bit}");
                assert_eq!(mask.covers(bit..bit + 1), expected, "{a:?} {b:?} {bit}");
            }
            assert!(
                mask.ranges()
                    .windows(2)
                    .all(|pair| pair[0].end < pair[1].start)
            );
        }
    }

    #[test]
    fn a_range_is_covered_only_as_a_whole() {
        let mask: Mask = [0..8, 9..16].into_iter().collect();
        assert!(mask.covers(1..8) && mask.covers(9..16) && mask.covers(8..8));
        assert!(!mask.covers(0..16) && !mask.covers(8..9) && !mask.overlaps(8..9));
        assert!(mask.overlaps(8..10) && mask.overlaps(0..1) && !mask.overlaps(16..20));
        assert!(Mask::new().is_empty() && !mask.is_empty());
        assert!(mask.within(4..12).eq([4..8, 9..12]));
    }
}
