//! The parts of a graph in which no regions were recovered.

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
    /// The blocks at which the problem was found, in the order of the graph.
    pub blocks: Vec<NodeIndex>,
    /// The names of the blocks.
    pub names: Vec<String>,
    /// The code in which the places of inactive lanes that entered it are unknown. `None` stands for the whole function.
    pub code: Option<Range<Label>>,
}

/// The reason why the graph is not structured.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A cycle has several entries.
    Irreducible,
    /// An edge enters or leaves a region other than at its beginning or end.
    Crossed,
    /// EXEC is narrowed, but was not saved in a mask that it is restored from afterwards.
    Narrowed,
    /// EXEC is restored from a mask in an unknown place, or from a mask of no region that could end here.
    Restored,
    /// The function ends within a region.
    NotRestored,
    /// Lanes leave, but not to the end of an enclosing region; or they are removed from masks and do not leave.
    Left,
    /// A saved mask is in no known place.
    Lost,
    /// The code of a region is not contiguous.
    Scattered,
    /// EXEC gets more lanes, and the active ones are not saved before and restored afterwards.
    WholeWave,
}

impl Reason {
    /// Returns a description of one sentence.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Reason::Irreducible => "a cycle has several entries",
            Reason::Crossed => {
                "an edge enters or leaves a region elsewhere than at its start or end"
            }
            Reason::Narrowed => "EXEC is narrowed, but not saved before and restored afterwards",
            Reason::Restored => {
                "EXEC is restored from a mask that belongs to no region that could end or change \
                 there"
            }
            Reason::NotRestored => "the function ends before EXEC is restored",
            Reason::Left => "lanes leave to a place that is not the end of an enclosing region",
            Reason::Lost => "the place of a saved mask is unknown",
            Reason::Scattered => "the code of a region is not contiguous",
            Reason::WholeWave => "EXEC is widened, but not saved before and restored afterwards",
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
