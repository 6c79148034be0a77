//! Classifies the lanes of a frame: executing in it, switched off in it, or never entered.
//!
//! `lane_pc` locates lanes. It is called only when a lane's state is needed, and once for each call frame.

use std::rc::Rc;

use super::lane_pc::{LanePlace, Recovery};
use super::stop::{Stop, StopCore, StopFrame, is_active};
use crate::arch::Lane;
use crate::eval::Reading;

/// The relation of a lane to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneInFrame {
    /// The lane executes here, or, in a caller, is in the call.
    Active,
    /// EXEC has switched the lane off. The lane may be in the frame, or its position is unknown.
    Inactive,
    /// The lane did not enter the function.
    Absent,
}

/// The lanes of a frame, as bit masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameLanes {
    /// The executing lanes. Without EXEC all lanes count as active.
    pub(super) active: u64,
    /// The lanes that did not enter the function, or that the dispatch did not start.
    pub(super) absent: u64,
    /// The inactive lanes whose position is unknown.
    pub(super) unsure: u64,
}

impl FrameLanes {
    fn of(self, lane: Lane) -> LaneInFrame {
        if is_active(Some(self.active), lane) {
            LaneInFrame::Active
        } else if is_active(Some(self.absent), lane) {
            LaneInFrame::Absent
        } else {
            LaneInFrame::Inactive
        }
    }
}

/// Finds the lanes of a frame on demand.
pub(super) trait LaneSource {
    fn lanes(self: Rc<Self>, level: usize) -> FrameLanes;
}

impl LaneSource for StopCore<'_, '_> {
    fn lanes(self: Rc<Self>, level: usize) -> FrameLanes {
        let stop = Stop::of_core(self);
        stop.lanes_at(level)
    }
}

/// The lanes of the frame that a value belongs to.
#[derive(Clone)]
pub(super) enum LaneGate<'p> {
    /// The lanes of a call frame.
    Frame(Rc<dyn LaneSource + 'p>, usize),
    /// The waiting lanes, in a frame as they see it.
    Waiting(u64),
}

impl LaneGate<'_> {
    /// Returns the relation of a lane to the frame.
    pub(super) fn of(&self, lane: Lane) -> LaneInFrame {
        match self {
            LaneGate::Frame(source, level) => Rc::clone(source).lanes(*level).of(lane),
            LaneGate::Waiting(lanes) if is_active(Some(*lanes), lane) => LaneInFrame::Active,
            LaneGate::Waiting(_) => LaneInFrame::Inactive,
        }
    }
}

impl core::fmt::Debug for LaneGate<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            LaneGate::Frame(_, level) => f.debug_tuple("Frame").field(level).finish(),
            LaneGate::Waiting(lanes) => f.debug_tuple("Waiting").field(lanes).finish(),
        }
    }
}

impl<'p, 'a> Stop<'p, 'a> {
    /// Returns the lanes of a call frame.
    fn lanes_at(&self, level: usize) -> FrameLanes {
        let known = self.core().lanes.borrow().get(&level).copied();
        if let Some(known) = known {
            return known;
        }
        let Some(frame) = self.call_frame(level) else {
            // The frame always exists.
            return FrameLanes {
                active: 0,
                absent: 0,
                unsure: 0,
            };
        };
        let (lanes, is_final) = frame.find_lanes();
        if is_final {
            self.core().lanes.borrow_mut().insert(level, lanes);
        }
        lanes
    }
}

impl<'p> StopFrame<'_, 'p, '_> {
    /// Returns the source of lane states for values of this frame.
    pub(super) fn lane_gate(&self) -> LaneGate<'p> {
        match self.waiting {
            Some(waiting) => LaneGate::Waiting(waiting.lanes),
            None => LaneGate::Frame(self.stop.share(), self.frame.level()),
        }
    }

    /// Returns the lanes of the frame.
    pub(super) fn lanes(&self) -> FrameLanes {
        match self.waiting {
            Some(waiting) => FrameLanes {
                active: waiting.lanes,
                absent: 0,
                unsure: 0,
            },
            None => self.stop.lanes_at(self.frame.level()),
        }
    }

    /// Finds the lanes of the frame. Also returns true if the result may be kept.
    fn find_lanes(&self) -> (FrameLanes, bool) {
        let all = self.wave_size().mask();
        let exec = self.exec();
        // Attributes of a caller may need EXEC there, for which there is no rule.
        let by_code = |_| self.lane_pcs_within(Recovery::Always);
        let found = match self.lane_pcs_within(Recovery::default()).or_else(by_code) {
            Ok(found) if found.is_known() => found,
            other => {
                let started = self.stop.dispatched().unwrap_or(all);
                let active = exec.or_else(|| self.surely_active()).unwrap_or(all) & all;
                let lanes = FrameLanes {
                    active,
                    absent: !started & all,
                    unsure: !active & started & all,
                };
                return (lanes, !other.is_err_and(|error| error.is_limit()));
            }
        };
        let those = |wanted: fn(&LanePlace) -> bool| {
            let places = self.wave_size().all_lanes().zip(found.places());
            let places = places.filter(|(_, place)| wanted(place));
            places.fold(0, |mask, (lane, _)| mask | lane.bit())
        };
        let absent =
            those(|place| matches!(place, LanePlace::Elsewhere | LanePlace::NotDispatched));
        let unsure = those(|place| matches!(place, LanePlace::Unknown(_)));
        // If the code does not show to which lanes a mask belongs, EXEC decides.
        let enabled = match self.frame.level() {
            0 => exec.unwrap_or(0) & unsure,
            _ => 0,
        };
        // Read strictly, EXEC in a caller has its current value, unless there is a rule for it.
        let active = match (self.stop.options().reading, exec) {
            (Reading::Strict, Some(exec)) => exec & all,
            (Reading::Strict, None) | (Reading::Tolerant, _) => found.active() | enabled,
        };
        let lanes = FrameLanes {
            active: active & !absent,
            absent,
            unsure,
        };
        (lanes, true)
    }
}
