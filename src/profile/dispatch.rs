//! The lanes of a wave that the dispatch started. The last wave of a workgroup is partial if the workgroup's size is not a multiple of the
//! wave's.
//!
//! Work-items are numbered by x, then y, then z, and packed into waves in that order. Source: [USAGE](crate) "Kernel Dispatch". A workgroup
//! at the end of the grid has the remaining work-items.

/// The size of a dispatch, in work-items.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DispatchShape {
    /// The size of a workgroup.
    pub workgroup: [u64; 3],
    /// The size of the grid.
    pub grid: [u64; 3],
}

/// The number of started lanes, the lowest ones, of a wave of 32 lanes and of a wave of 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started(Option<[u8; 2]>);

impl Started {
    /// The number is unknown.
    pub const UNKNOWN: Started = Started(None);

    /// Returns the started lanes of a wave with this many lanes, one bit per lane.
    pub(super) fn lanes(self, wave_size: u32) -> Option<u64> {
        let [of_32, of_64] = self.0?;
        let count = if wave_size == 32 { of_32 } else { of_64 };
        Some(lowest(count.into()))
    }
}

impl DispatchShape {
    /// Creates a dispatch of a grid in workgroups of a size; `None` if one of the numbers is 0.
    #[must_use]
    pub fn new(workgroup: [u64; 3], grid: [u64; 3]) -> Option<DispatchShape> {
        let is_some = |size: &u64| *size != 0;
        let all = workgroup.iter().all(is_some) && grid.iter().all(is_some);
        all.then_some(DispatchShape { workgroup, grid })
    }

    /// Returns the started lanes of a wave of a workgroup.
    ///
    /// * `workgroup`: the coordinate of the workgroup.
    /// * `wave`: the number of the wave in it.
    #[must_use]
    pub fn started(&self, workgroup: [u64; 3], wave: u64) -> Started {
        let sizes = self.workgroup.iter().zip(self.grid).zip(workgroup);
        let work_items = sizes.map(|((size, grid), at)| {
            let first = at.checked_mul(*size)?;
            let rest = grid.checked_sub(first).filter(|rest| *rest != 0)?;
            Some(rest.min(*size))
        });
        let work_items = work_items.reduce(|one, other| one?.checked_mul(other?));
        let count = |lanes: u64| {
            let first = wave.checked_mul(lanes)?;
            // A wave without a work-item contradicts the size.
            let rest = work_items.flatten()?.checked_sub(first);
            let rest = rest.filter(|rest| *rest != 0)?;
            u8::try_from(rest.min(lanes)).ok()
        };
        // A workgroup has twice as many waves of 32 lanes.
        let (of_32, of_64) = (count(32), count(64));
        Started(of_32.map(|of_32| [of_32, of_64.unwrap_or(0)]))
    }
}

/// Returns a mask of the lowest `count` bits.
pub(super) fn lowest(count: u32) -> u64 {
    match count {
        0 => 0,
        1..64 => u64::MAX >> 64_u32.saturating_sub(count),
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_wave_and_the_last_workgroup_are_partial() {
        let lanes = |shape: DispatchShape, at, wave| {
            [32, 64].map(|size| shape.started(at, wave).lanes(size))
        };
        // 100 work-items: waves of 64 have 64 and 36, waves of 32 have 32, 32, 32 and 4.
        let shape = DispatchShape::new([100, 1, 1], [250, 1, 1]).unwrap();
        let full = [Some(0xffff_ffff), Some(u64::MAX)];
        assert_eq!(lanes(shape, [0; 3], 0), full);
        let second = [Some(0xffff_ffff), Some((1 << 36) - 1)];
        assert_eq!(lanes(shape, [1, 0, 0], 1), second);
        assert_eq!(lanes(shape, [1, 0, 0], 3), [Some(0xf), Some(0)]);
        assert_eq!(lanes(shape, [1, 0, 0], 4), [None, None]);
        // The third workgroup has 50.
        let third = [Some(0xffff_ffff), Some((1 << 50) - 1)];
        assert_eq!(lanes(shape, [2, 0, 0], 0), third);
        assert_eq!(lanes(shape, [3, 0, 0], 0), [None, None]);
        // 3 × 5 of 4 × 8 work-items remain in a corner.
        let shape = DispatchShape::new([4, 8, 1], [7, 13, 1]).unwrap();
        assert_eq!(lanes(shape, [1, 1, 0], 0), [Some(0x7fff), Some(0x7fff)]);
        assert_eq!(lanes(shape, [u64::MAX, 0, 0], u64::MAX), [None, None]);
        assert!(DispatchShape::new([0, 1, 1], [1, 1, 1]).is_none());
    }
}
