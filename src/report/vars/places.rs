//! Groups the requested lanes by program location, because waiting lanes have other variables and other locations.

use std::collections::BTreeMap;

use super::LaneChoice;
use crate::arch::{Lane, ProcessAddress};
use crate::inspect::{LanePlace, Recovery, StopFrame};

/// The requested lanes, grouped by program location.
pub(in crate::report) struct Places<'s, 'p, 'a> {
    /// The frame and the lanes that are shown first.
    pub(in crate::report) first: (StopFrame<'s, 'p, 'a>, Vec<Lane>),
    /// The frames and the lanes of the other places where lanes wait, by program location.
    pub(in crate::report) waiting: Vec<(StopFrame<'s, 'p, 'a>, Vec<Lane>)>,
}

impl<'s, 'p, 'a> Places<'s, 'p, 'a> {
    /// Returns the requested lanes, grouped by program location.
    pub(in crate::report) fn of(
        frame: StopFrame<'s, 'p, 'a>,
        choice: LaneChoice<'_>,
    ) -> Places<'s, 'p, 'a> {
        let here = match choice {
            LaneChoice::All => frame.wave_size().all_lanes().collect(),
            LaneChoice::These(lanes) => return Places::where_they_wait(frame, lanes.to_vec()),
        };
        Places {
            first: (frame, here),
            waiting: Vec::new(),
        }
    }

    /// Returns all lanes at the frame's program location, and the waiting lanes again at the locations where they wait. If all lanes wait, leaves out
    /// the frame's own location.
    fn where_they_wait(frame: StopFrame<'s, 'p, 'a>, lanes: Vec<Lane>) -> Places<'s, 'p, 'a> {
        let found = match lanes.iter().all(|lane| frame.is_active(*lane)) {
            true => None,
            // If the places are not known, the lanes are shown as inactive.
            false => frame.lane_pcs_within(Recovery::default()).ok(),
        };
        let mut by_pc: BTreeMap<ProcessAddress, Vec<Lane>> = BTreeMap::new();
        for lane in &lanes {
            let places = found.as_ref().map(|found| found.places());
            let place = places.and_then(|places| places.get(usize::from(lane.0)));
            if let Some(LanePlace::Waiting { pc, .. }) = place {
                by_pc.entry(*pc).or_default().push(*lane);
            }
        }
        let all_wait = by_pc.values().map(Vec::len).sum::<usize>() == lanes.len();
        let seen = |(pc, lanes): (ProcessAddress, Vec<Lane>)| {
            let bit = |lane: &Lane| 1_u64.checked_shl(lane.0.into()).unwrap_or(0);
            let mask = lanes.iter().fold(0, |mask, lane| mask | bit(lane));
            (frame.for_waiting(pc, mask), lanes)
        };
        let mut waiting = by_pc.into_iter().map(seen);
        let first = match waiting.next() {
            Some(first) if all_wait => first,
            other => {
                let waiting = other.into_iter().chain(waiting).collect();
                return Places {
                    first: (frame, lanes),
                    waiting,
                };
            }
        };
        Places {
            first,
            waiting: waiting.collect(),
        }
    }
}
