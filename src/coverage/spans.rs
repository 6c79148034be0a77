//! Represents sets of addresses as sorted ranges that do not touch.

use core::ops::Range;

/// A set of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spans(Vec<Range<u64>>);

impl Spans {
    /// Creates a set from ranges in any order, which may overlap.
    pub(crate) fn new(ranges: impl IntoIterator<Item = Range<u64>>) -> Spans {
        let ranges = ranges.into_iter().filter(|range| range.start < range.end);
        let mut ranges: Vec<Range<u64>> = ranges.collect();
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        ranges.dedup_by(|next, range| {
            let touch = next.start <= range.end;
            if touch {
                range.end = range.end.max(next.end);
            }
            touch
        });
        Spans(ranges)
    }

    pub(crate) fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }

    /// Returns the number of bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let sizes = self
            .0
            .iter()
            .map(|range| range.end.saturating_sub(range.start));
        sizes.fold(0, u64::saturating_add)
    }

    /// Returns the intersection of two sets.
    pub(crate) fn and(&self, other: &Spans) -> Spans {
        let mut found = Vec::new();
        let mut others = other.0.iter().peekable();
        for range in &self.0 {
            while let Some(other) = others.peek() {
                let (start, end) = (range.start.max(other.start), range.end.min(other.end));
                if start < end {
                    found.push(start..end);
                }
                if other.end > range.end {
                    break;
                }
                others.next();
            }
        }
        Spans(found)
    }

    /// Returns the addresses that are not in the other set.
    pub(crate) fn without(&self, other: &Spans) -> Spans {
        let mut found = Vec::new();
        for range in &self.0 {
            let mut start = range.start;
            let first = other.0.partition_point(|one| one.end <= range.start);
            let rest = other.0.get(first..).unwrap_or_default();
            for one in rest.iter().take_while(|one| one.start < range.end) {
                if start < one.start {
                    found.push(start..one.start);
                }
                start = start.max(one.end);
            }
            if start < range.end {
                found.push(start..range.end);
            }
        }
        Spans(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the operations with sets of single addresses.
    #[test]
    fn sets_are_those_of_their_addresses() {
        let sets: Vec<Vec<Range<u64>>> = vec![
            vec![],
            vec![0..4, 2..6, 9..9, 10..12],
            vec![3..11],
            vec![6..7, 1..2, 11..15, 7..8],
        ];
        let has = |ranges: &[Range<u64>], at: u64| ranges.iter().any(|range| range.contains(&at));
        for one in &sets {
            for other in &sets {
                let spans = [one, other].map(|ranges| Spans::new(ranges.iter().cloned()));
                let [a, b] = &spans;
                for (found, expected) in [(a.and(b), [true, false]), (a.without(b), [false, true])]
                {
                    let mut count = 0;
                    for at in 0..20 {
                        let [both, only] = expected;
                        let is_in =
                            has(one, at) && ((both && has(other, at)) || (only && !has(other, at)));
                        assert_eq!(has(found.ranges(), at), is_in, "{one:?} {other:?} {at}");
                        count += u64::from(is_in);
                    }
                    assert_eq!(found.bytes(), count);
                }
            }
        }
    }
}
