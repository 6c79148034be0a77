//! Which access a wave faulted at that stopped some instructions after it.
//!
//! Hardware reports a violation late: the wave has gone on, and its pc says only that the access is somewhere before. This goes
//! back from the stop over all paths of the machine code, undoes what can be undone, and asks of each access on the way which addresses its
//! lanes had. It leaves to others which memory there is ([`Memory`]), and where an address is in the source. Sources and the rule of
//! what may still be outstanding: `spec-notes/faults.md`.
//!
//! # The analysis
//!
//! **State** ([`past`]). What registers had at an earlier place, by lane, in numbers: what no instruction since has written they
//! still have, and what was copied or added to is computed back (`undo`). The lanes that were active are between two masks: those
//! that surely were, and those that may have been.
//!
//! **Paths** (`walk`). Backwards over all edges, also from where a call returns into the function that was called, and from the
//! entry of a function to its caller. Where paths come together, only what all agree on is known.
//!
//! **How far.** An access that a wait since then was for has completed ([`Room`](past)): nothing before that is looked at.
//!
//! **Certain** is an access which every path has passed, at addresses that are the same for all paths, in a lane that surely was
//! active.

mod address;
mod find;
mod past;
mod undo;
mod walk;

use core::ops::Range;

use crate::arch::{Lane, LoadAddress, ProcessAddress};
use crate::isa::Decoder;
use crate::lane_flow::LaneFlow;
use crate::meter::Meter;
use crate::object::CodeObject;
use crate::wave::Wave;

pub(crate) use crate::isa::Operation;

/// The size of the pages in which faults are reported.
const PAGE: u64 = 4096;

/// The memory of the process, as far as it is known.
pub(crate) trait Memory {
    /// Returns true if some of these bytes are in no memory of the process; `None` if that cannot be told.
    fn is_missing(&self, bytes: Range<u64>) -> Option<bool>;

    /// Returns true if these bytes are where the kernel is known to access memory: in a buffer that an argument points to, or in scratch.
    fn is_expected(&self, bytes: Range<u64>) -> bool;
}

/// A wave that faulted, with all that it takes to look for the access.
pub(crate) struct Question<'q, 'a> {
    pub(crate) wave: &'q dyn Wave,
    /// Where it stopped.
    pub(crate) pc: ProcessAddress,
    pub(crate) load_address: LoadAddress,
    pub(crate) flow: &'q LaneFlow<'a>,
    pub(crate) decoder: &'q Decoder,
    pub(crate) object: &'a CodeObject<'a>,
    /// The address at fault, if it was reported; that of its page will do.
    pub(crate) fault_address: Option<u64>,
    pub(crate) memory: &'q dyn Memory,
    /// The address of the wave's scratch in the process, if it is known.
    pub(crate) scratch: Option<u64>,
    pub(crate) meter: &'q Meter,
}

/// An access that may be at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Where it is, in the code object.
    pub(crate) address: u64,
    pub(crate) operation: Operation,
    /// The lanes at fault, with the addresses; empty of a scalar access, and if they are not known.
    pub(crate) lanes: Vec<(Lane, u64)>,
    /// The address of a scalar access.
    pub(crate) scalar: Option<u64>,
    pub(crate) is_certain: bool,
    /// The bytes of the access in each lane.
    pub(crate) bytes: u8,
}

pub(crate) use find::find;

/// Returns the page of an address.
pub(crate) const fn page_of(address: u64) -> Range<u64> {
    let start = address & !(PAGE - 1);
    start..start.saturating_add(PAGE)
}
