//! The interface of analyses that accompany a lane from the entry of a function.
//!
//! `switches` decides where the lane is on and off. The companion tracks its own facts about the lane.

/// Holds the facts of another analysis about the followed lane. `X` is the context that all its steps share.
pub(crate) trait Companion<X>: Clone {
    /// True if the companion tracks nothing.
    const IS_NOTHING: bool = false;

    /// Updates the facts for an instruction.
    fn step(&mut self, context: &X, step: LaneStep);

    /// Joins the facts at the end of another path. Returns true if this changes anything.
    fn join(&mut self, other: &Self) -> bool;

    /// Returns the number of listed values.
    fn size(&self) -> usize;

    /// Returns the number of bytes that are not shared with a copy.
    fn bytes(&self) -> u64;
}

/// An instruction on the path of a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneStep {
    /// The number of the instruction.
    pub(crate) index: usize,
    /// True if the lane is on in the program.
    pub(crate) is_on: bool,
    /// True if the lane executes the instruction; `None` if unknown. An inactive lane may execute in sections of other lanes.
    pub(crate) executes: Option<bool>,
}

impl Companion<()> for () {
    const IS_NOTHING: bool = true;

    fn step(&mut self, (): &(), _: LaneStep) {}

    fn join(&mut self, (): &()) -> bool {
        false
    }

    fn size(&self) -> usize {
        0
    }

    fn bytes(&self) -> u64 {
        0
    }
}
