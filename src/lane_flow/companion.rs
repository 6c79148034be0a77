//! Analyses that go with a lane: what else is known of a lane that is followed from the entry of a function, on and off.
//!
//! Where the lane is on and off is found by `switches`; what is known of it besides is the other analysis's.

/// What another analysis knows of the lane that is followed, on and off. Its steps have an `X` in common.
pub(crate) trait Companion<X>: Clone {
    /// True if there is nothing to follow.
    const IS_NOTHING: bool = false;

    /// Takes an instruction into account.
    fn step(&mut self, context: &X, step: LaneStep);

    /// Takes in what is known at the end of another path. Returns true if that changes anything.
    fn join(&mut self, other: &Self) -> bool;

    /// Returns how many values it lists.
    fn size(&self) -> usize;

    /// Returns how many bytes it has that no other shares.
    fn bytes(&self) -> u64;
}

/// An instruction on the way of a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneStep {
    /// The number of the instruction.
    pub(crate) index: usize,
    /// True if the program has the lane on.
    pub(crate) is_on: bool,
    /// True if the lane executes it; `None` if that is not known. In sections of other lanes a lane that is off may.
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
