//! Why nothing is said of a part of a graph.

use core::fmt::{self, Display, Formatter};
use core::ops::Range;

use petgraph::graph::NodeIndex;

use super::super::region::Label;

/// A part of a graph in which no regions were recovered.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The reason why the graph is not structured.
    pub reason: Reason,
    /// The blocks where that shows, in the order of the graph.
    pub blocks: Vec<NodeIndex>,
    /// Their names.
    pub names: Vec<String>,
    /// The code in which it is not known where lanes are that entered it and are not active; nothing means all
    /// of the function.
    pub code: Option<Range<Label>>,
}

/// The reason why the graph is not structured.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A cycle that is entered in several places.
    Irreducible,
    /// An edge goes into a region or out of one, past where it begins or ends.
    Crossed,
    /// EXEC is narrowed, and no mask was saved that it is restored from afterwards.
    Narrowed,
    /// EXEC is restored from a mask of no region that could end here, or that is in no known place.
    Restored,
    /// The function ends while a region has not.
    NotRestored,
    /// Lanes leave, but not to the end of a region around; or they are taken out of masks and do not leave.
    Left,
    /// A saved mask is nowhere to be found.
    Lost,
    /// The code of a region is not in one piece.
    Scattered,
    /// EXEC gets more lanes, and what is active is not saved and restored around that.
    WholeWave,
}

impl Reason {
    /// Returns one sentence for people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Reason::Irreducible => "a cycle is entered in several places",
            Reason::Crossed => {
                "an edge goes into a region or out of one past where it begins or ends"
            }
            Reason::Narrowed => {
                "EXEC is narrowed, but not saved before and restored from that afterwards"
            }
            Reason::Restored => {
                "EXEC is restored from a mask of no region that could end or change there"
            }
            Reason::NotRestored => "the function ends and EXEC has not been restored",
            Reason::Left => "lanes leave, but not to the end of a region around them",
            Reason::Lost => "a saved mask is in no known place",
            Reason::Scattered => "the code of a region is not in one piece",
            Reason::WholeWave => {
                "EXEC gets more lanes, but is not saved before and restored afterwards"
            }
        }
    }
}

impl Display for Refused {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (blocks: {})",
            self.reason.text(),
            self.names.join(", ")
        )
    }
}
