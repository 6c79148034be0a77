//! What a graph is made of: blocks, and what their instructions do to masks of lanes.

use core::ops::Range;

use super::super::mask::MaskPlace;
use super::super::region::Label;

/// A basic block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its name in messages.
    pub name: String,
    /// Its code.
    pub code: Range<Label>,
    /// The changes that its instructions make to EXEC and to saved masks, in order.
    pub events: Vec<Event>,
}

/// An instruction, or a few that belong together, that changes EXEC or a saved mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The instruction; of several, the one after which the change is complete. Instructions that do two
    /// things, like `s_and_saveexec_b64`, are two events with the same code.
    pub code: Range<Label>,
    /// Its effect.
    pub change: Change,
}

/// The change that an event makes.
///
/// What counts is what a place is used for. A saved mask may lack lanes that are active meanwhile, since those are
/// where the wave is: a loop that collects the lanes that left it [saves](Change::Save) its mask where it
/// clears it, and an `s_or` of EXEC with such a mask is a [`Change::Restore`].
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A place gets EXEC: the mask of a region begins. Of a [constant](MaskPlace::Constant) it says that EXEC is
    /// known to be that here.
    Save {
        /// The place.
        to: MaskPlace,
    },
    /// A place gets the active lanes for which the condition that comes next is false: those of an `else`.
    SaveOthers {
        /// The place.
        to: MaskPlace,
    },
    /// A place gets no lanes: a mask of [lanes that left](MaskPlace::Without) begins.
    Clear {
        /// The place.
        to: MaskPlace,
    },
    /// A mask is copied, and is to be found in the new place from then on.
    Move {
        /// Where it was.
        from: MaskPlace,
        /// Its address.
        to: MaskPlace,
    },
    /// A place gets something that is no mask.
    Clobber {
        /// The place.
        place: MaskPlace,
    },
    /// The active lanes are added to a mask of lanes that left.
    Or {
        /// The mask.
        mask: MaskPlace,
    },
    /// The active lanes are taken out of a mask.
    AndNot {
        /// The mask.
        mask: MaskPlace,
    },
    /// EXEC keeps the lanes for which a condition is true.
    And,
    /// EXEC gets the lanes of a mask that were not active: from `then` to `else`.
    Flip {
        /// The mask.
        from: MaskPlace,
    },
    /// EXEC gets the lanes of a mask: those that were saved, or those of an `else`.
    Restore {
        /// The mask.
        from: MaskPlace,
    },
    /// EXEC becomes zero: the active lanes leave the regions whose masks they were just taken out of.
    Leave,
    /// EXEC gets lanes that are not active, for whole or quad wavefront mode.
    WholeWave,
}

/// Between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Point {
    pub(super) block: usize,
    /// The event that comes next; one past the last at the block's end.
    pub(super) event: usize,
}
