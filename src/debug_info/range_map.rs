//! Finds which of many half-open ranges of addresses contains an address.
//!
//! The ranges may stand for anything. Where ranges overlap, the one that starts last wins. For nested ranges that is the innermost.

use core::ops::Range;

/// Ranges of addresses with something attached to each, ready for binary search.
#[derive(Default, Debug)]
pub(super) struct RangeMap<T> {
    /// Disjoint and sorted.
    segments: Vec<(Range<u64>, T)>,
}

impl<T: Copy> RangeMap<T> {
    /// Builds the map, and ignores empty ranges. If ranges are equal, the last one wins.
    pub(super) fn new(mut entries: Vec<(Range<u64>, T)>) -> RangeMap<T> {
        entries.retain(|(range, _)| range.start < range.end);
        // Stable, so that equal ranges keep their order and the last of them ends on top of the stack.
        entries.sort_by_key(|(range, _)| (range.start, core::cmp::Reverse(range.end)));
        let mut sweep = Sweep {
            at: 0,
            open: Vec::new(),
            segments: Vec::with_capacity(entries.len()),
        };
        for (range, value) in entries {
            sweep.advance(range.start);
            sweep.open.push((range.end, value));
        }
        sweep.advance(u64::MAX);
        RangeMap {
            segments: sweep.segments,
        }
    }

    /// Returns the value for the innermost range that contains `address`.
    pub(super) fn get(&self, address: u64) -> Option<T> {
        let after = self
            .segments
            .partition_point(|(range, _)| range.start <= address);
        let (range, value) = self.segments.get(after.checked_sub(1)?)?;
        range.contains(&address).then_some(*value)
    }
}

/// The state of the pass from low to high addresses.
struct Sweep<T> {
    at: u64,
    /// Ends of the ranges that have started, the one that started last on top.
    open: Vec<(u64, T)>,
    segments: Vec<(Range<u64>, T)>,
}

impl<T: Copy> Sweep<T> {
    /// Moves on to the address `to`. Every iteration ends a range or the loop.
    fn advance(&mut self, to: u64) {
        while self.at < to {
            let Some(&(end, value)) = self.open.last() else {
                break;
            };
            if end <= self.at {
                self.open.pop();
                continue;
            }
            let stop = end.min(to);
            self.segments.push((self.at..stop, value));
            self.at = stop;
        }
        self.at = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the result directly from the definition, for comparison.
    fn slow(entries: &[(Range<u64>, u32)], address: u64) -> Option<u32> {
        entries
            .iter()
            .filter(|(range, _)| range.contains(&address))
            .max_by_key(|(range, value)| (range.start, core::cmp::Reverse(range.end), *value))
            .map(|(_, value)| *value)
    }

    #[test]
    fn finds_the_range_that_starts_last() {
        let cases: [&[(Range<u64>, u32)]; 5] = [
            &[],
            &[(10..20, 0), (20..30, 1), (40..50, 2)],
            &[(10..50, 0), (20..30, 1), (22..25, 2), (35..40, 3)],
            &[(10..30, 0), (20..40, 1), (5..12, 2), (15..15, 3)],
            &[(10..20, 0), (10..20, 1), (10..15, 2), (0..u64::MAX, 3)],
        ];
        for entries in cases {
            let map = RangeMap::new(entries.to_vec());
            for address in 0..60 {
                assert_eq!(
                    map.get(address),
                    slow(entries, address),
                    "{entries:?} at {address}"
                );
            }
        }
    }
}
