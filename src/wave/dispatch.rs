//! Locates a wave in its dispatch, and maps its lanes to work-items.

use crate::arch::{Lane, WaveSize};

/// The dispatch of a wave, and the wave's place in it.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dispatch {
    /// The position of the wave's work-group, counted in work-groups: x, y and z.
    pub workgroup_id: [u32; 3],
    /// The size of a work-group, in work-items.
    pub workgroup_size: [u32; 3],
    /// The size of the dispatch, in work-items.
    pub grid_size: [u32; 3],
    /// The wave's number in its work-group, from 0.
    pub wave_in_group: u32,
    /// The address of the kernel's arguments in global memory, if it is known.
    pub kernarg_address: Option<u64>,
}

impl Dispatch {
    /// Returns the work-item of a lane, by its position in the grid: x, y and z. Returns `None` if it has none, since the last wave of a work-group
    /// need not be full.
    ///
    /// A work-group is divided into waves in the order of flat identifiers. In a group of `sx`×`sy`×`sz`, work-item (x, y, z) has x + `sx`·(y +
    /// `sy`·z), and lane n of wave w has `wave_size`·w + n. A group at the end of the grid has only the remaining size, which also determines its
    /// flat identifiers.
    ///
    /// Source: `spec-notes/snapshot.md`, "Work-items".
    #[must_use]
    pub fn work_item(&self, lane: Lane, wave_size: WaveSize) -> Option<[u32; 3]> {
        let lanes = u64::from(wave_size.lanes());
        if u64::from(lane.0) >= lanes {
            return None;
        }
        // Both are products and sums of numbers of 32 and 8 bits.
        let first = u64::from(self.wave_in_group).checked_mul(lanes)?;
        let mut rest = first.checked_add(lane.0.into())?;
        let mut place = [0; 3];
        let dimensions = self.workgroup_id.iter().zip(self.workgroup_size);
        for (coordinate, ((&group, size), grid)) in
            place.iter_mut().zip(dimensions.zip(self.grid_size))
        {
            let start = group.checked_mul(size)?;
            let size = size.min(grid.checked_sub(start)?);
            let local = u32::try_from(rest.checked_rem(size.into())?).ok()?;
            rest = rest.checked_div(size.into())?;
            *coordinate = start.checked_add(local)?;
        }
        (rest == 0).then_some(place)
    }

    /// Returns the mask of lanes of the wave that have a work-item. Some lack one in the last wave of a work-group whose size is no multiple of the
    /// wave's, as at the edges of a grid.
    ///
    /// Returns `None` if the work-group is outside of the grid, or has no such wave.
    #[must_use]
    pub fn lanes(&self, wave_size: WaveSize) -> Option<u64> {
        let mut items = 1_u64;
        let dimensions = (self.workgroup_id.iter().zip(self.workgroup_size)).zip(self.grid_size);
        for ((id, size), grid) in dimensions {
            let before = u64::from(*id).checked_mul(size.into())?;
            let left = u64::from(grid).checked_sub(before)?;
            items = items.checked_mul(left.min(size.into()))?;
        }
        let lanes = u64::from(wave_size.lanes());
        let before = u64::from(self.wave_in_group).checked_mul(lanes)?;
        let here = items
            .checked_sub(before)
            .filter(|left| *left > 0)?
            .min(lanes);
        let unused = 64_u32.checked_sub(u32::try_from(here).ok()?)?;
        u64::MAX.checked_shr(unused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(dispatch: Dispatch, wave_size: WaveSize) -> Vec<Option<[u32; 3]>> {
        let lanes = wave_size.all_lanes();
        lanes
            .map(|lane| dispatch.work_item(lane, wave_size))
            .collect()
    }

    /// 256 work-items in groups of 64; wave 1 of group 2 starts at 2·64 + 1·32 = 160.
    #[test]
    fn lanes_follow_each_other_in_x() {
        let dispatch = Dispatch {
            workgroup_id: [2, 0, 0],
            workgroup_size: [64, 1, 1],
            grid_size: [256, 1, 1],
            wave_in_group: 1,
            kernarg_address: None,
        };
        let items = items(dispatch, WaveSize::Wave32);
        assert_eq!(items[0], Some([160, 0, 0]));
        assert_eq!(items[31], Some([191, 0, 0]));
        assert_eq!(dispatch.work_item(Lane(32), WaveSize::Wave32), None);
        // A group of 64 is one wave of 64: there is no wave 1.
        assert_eq!(dispatch.work_item(Lane(0), WaveSize::Wave64), None);
    }

    /// Groups of 8×4×4 = 128 work-items. Lane 5 of wave 1 of 64 is flat 69 = 5 + 8·(0 + 4·2): (5, 0, 2), and lane 63
    /// flat 127 = 7 + 8·(3 + 4·3): (7, 3, 3). Group (1, 2, 3) starts at (8, 8, 12).
    #[test]
    fn x_is_fastest_then_y_then_z() {
        let dispatch = Dispatch {
            workgroup_id: [1, 2, 3],
            workgroup_size: [8, 4, 4],
            grid_size: [32, 32, 32],
            wave_in_group: 1,
            kernarg_address: None,
        };
        let items = items(dispatch, WaveSize::Wave64);
        assert_eq!(items[0], Some([8, 8, 14]));
        assert_eq!(items[5], Some([13, 8, 14]));
        assert_eq!(items[8], Some([8, 9, 14]));
        assert_eq!(items[63], Some([15, 11, 15]));
    }

    /// A grid of 10×7 in groups of 8×4: group (1, 1) has 2×3 work-items, at (8, 4). Lane 0 is (8, 4), lane 1 (9, 4), lane 2 (8, 5), lane 5 (9, 6),
    /// and there is no lane 6.
    #[test]
    fn groups_at_the_end_of_the_grid_are_smaller() {
        let dispatch = Dispatch {
            workgroup_id: [1, 1, 0],
            workgroup_size: [8, 4, 1],
            grid_size: [10, 7, 1],
            wave_in_group: 0,
            kernarg_address: None,
        };
        let items = items(dispatch, WaveSize::Wave32);
        assert_eq!(
            items[..6],
            [
                [8, 4, 0],
                [9, 4, 0],
                [8, 5, 0],
                [9, 5, 0],
                [8, 6, 0],
                [9, 6, 0]
            ]
            .map(Some)
        );
        assert!(items[6..].iter().all(Option::is_none));
    }

    #[test]
    fn what_cannot_be_has_no_work_items() {
        let whole = Dispatch {
            workgroup_id: [0; 3],
            workgroup_size: [4, 2, 1],
            grid_size: [4, 2, 1],
            wave_in_group: 0,
            kernarg_address: None,
        };
        assert_eq!(items(whole, WaveSize::Wave64).iter().flatten().count(), 8);
        let most = u32::MAX;
        for nowhere in [
            Dispatch {
                workgroup_id: [1, 0, 0],
                ..whole
            },
            Dispatch {
                workgroup_size: [4, 0, 1],
                ..whole
            },
            Dispatch {
                grid_size: [4, 2, 0],
                ..whole
            },
            Dispatch {
                wave_in_group: 1,
                ..whole
            },
            Dispatch {
                wave_in_group: most,
                ..whole
            },
            Dispatch {
                workgroup_id: [most; 3],
                workgroup_size: [most; 3],
                grid_size: [most; 3],
                wave_in_group: most,
                kernarg_address: None,
            },
            Dispatch::default(),
        ] {
            assert!(
                items(nowhere, WaveSize::Wave64).iter().all(Option::is_none),
                "{nowhere:?}"
            );
        }
        let largest = Dispatch {
            workgroup_id: [most - 1, 0, 0],
            workgroup_size: [1, 1, 1],
            grid_size: [most, 1, 1],
            wave_in_group: 0,
            kernarg_address: None,
        };
        assert_eq!(items(largest, WaveSize::Wave32)[0], Some([most - 1, 0, 0]));
    }
}
