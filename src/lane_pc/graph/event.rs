//! The elements of a graph: blocks, and the effects of their instructions on masks of lanes.

use core::ops::Range;

use super::super::mask::MaskPlace;
use super::super::region::Label;

/// A basic block.
#[derive(Clone, Debug)]
pub struct Block {
    /// The name in messages.
    pub name: String,
    /// The code.
    pub code: Range<Label>,
    /// The changes that its instructions make to EXEC and to saved masks, in order.
    pub events: Vec<Event>,
}

/// An instruction, or a short sequence, that changes EXEC or a saved mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The instruction. For a sequence, the instruction after which the change is complete. Instructions with two effects, like
    /// `s_and_saveexec_b64`, are two events with the same code.
    pub code: Range<Label>,
    /// The effect.
    pub change: Change,
}

/// The change that an event makes.
///
/// The purpose of a place decides. A saved mask may lack lanes that are currently active, since their place is the wave's. A loop that
/// collects the lanes that left it therefore [saves](Change::Save) its mask where it clears it, and an `s_or` of EXEC with such a mask is a
/// [`Change::Restore`].
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A place gets EXEC: the mask of a region begins. For a [constant](MaskPlace::Constant), EXEC is known to have this value.
    Save {
        /// The place.
        to: MaskPlace,
    },
    /// A place gets the active lanes for which the next condition is false: the lanes of an `else`.
    SaveOthers {
        /// The place.
        to: MaskPlace,
    },
    /// A place gets no lanes: a mask of [lanes that left](MaskPlace::Without) begins.
    Clear {
        /// The place.
        to: MaskPlace,
    },
    /// A mask is copied, and is in the new place from then on.
    Move {
        /// The old place.
        from: MaskPlace,
        /// The new place.
        to: MaskPlace,
    },
    /// A place gets a value that is not a mask.
    Clobber {
        /// The place.
        place: MaskPlace,
    },
    /// The active lanes are added to a mask of lanes that left.
    Or {
        /// The mask.
        mask: MaskPlace,
    },
    /// The active lanes are removed from a mask.
    AndNot {
        /// The mask.
        mask: MaskPlace,
    },
    /// EXEC keeps the lanes for which a condition is true.
    And,
    /// EXEC gets the lanes of a mask that were not active: `then` changes to `else`.
    Flip {
        /// The mask.
        from: MaskPlace,
    },
    /// EXEC gets the lanes of a mask: the saved lanes, or the lanes of an `else`.
    Restore {
        /// The mask.
        from: MaskPlace,
    },
    /// EXEC becomes zero: the active lanes leave the regions from whose masks they were just removed.
    Leave,
    /// EXEC gets lanes that are not active, for whole or quad wavefront mode.
    WholeWave,
}

/// A point between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Point {
    pub(super) block: usize,
    /// The next event; one past the last at the block's end.
    pub(super) event: usize,
}
