//! Finds the access at which a wave faulted that stopped some instructions later, and the access that a loop repeats (`polled`).
//!
//! Hardware reports a violation late. The wave has gone on, and its pc is only an upper bound for the access. The analysis goes back from
//! the stop on all paths of the machine code, undoes instructions where it can, and computes the addresses of each access in each lane. The
//! caller supplies the mapped memory ([`Memory`]) and the source positions. Sources, and the rule for accesses that may be outstanding:
//! `spec-notes/faults.md`.
//!
//! # The analysis
//!
//! **State** ([`past`]). The contents of registers at an earlier place, by lane, as numbers. A register that was not written since has its
//! current contents. The operands of copies and additions are computed back (`undo`). The active lanes are bounded by two masks: the
//! certainly active and the possibly active lanes.
//!
//! **Paths** (`walk`). Backwards over all edges: from the return of a call into the called function, and from the entry of a function to
//! its caller. Where paths meet, only facts that hold on all of them are known.
//!
//! **Extent.** An access has completed if there was a wait for it since then ([`Room`](past)). The walk stops there.
//!
//! An access is **certain** if every path has passed it, at addresses that are equal on all paths, in a lane that was certainly active.

mod address;
mod find;
mod past;
mod polled;
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
    /// Returns true if some of these bytes are not mapped; `None` if that is unknown.
    fn is_missing(&self, bytes: Range<u64>) -> Option<bool>;

    /// Returns true if the kernel is expected to access these bytes, which are in a buffer that an argument points to, or in scratch.
    fn is_expected(&self, bytes: Range<u64>) -> bool;
}

/// A wave that faulted, with the input of the search for the access.
pub(crate) struct Question<'q, 'a> {
    pub(crate) wave: &'q dyn Wave,
    /// The address at which it stopped.
    pub(crate) pc: ProcessAddress,
    pub(crate) load_address: LoadAddress,
    pub(crate) flow: &'q LaneFlow<'a>,
    pub(crate) decoder: &'q Decoder,
    pub(crate) object: &'a CodeObject<'a>,
    /// The faulting address, if it was reported; the address of its page is sufficient.
    pub(crate) fault_address: Option<u64>,
    pub(crate) memory: &'q dyn Memory,
    /// The address of the wave's scratch in the process, if it is known.
    pub(crate) scratch: Option<u64>,
    /// The lanes that did not enter the function in which it stopped.
    pub(crate) outside: u64,
    pub(crate) meter: &'q Meter,
}

/// An access that may have faulted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The address in the code object.
    pub(crate) address: u64,
    pub(crate) operation: Operation,
    /// The lanes with faulting addresses; empty for a scalar access, and if they are unknown.
    pub(crate) lanes: Vec<(Lane, u64)>,
    /// The address of a scalar access.
    pub(crate) scalar: Option<u64>,
    /// The base address in scalar registers, if the access has one and it is known.
    pub(crate) base: Option<u64>,
    pub(crate) is_certain: bool,
    /// The bytes of the access in each lane.
    pub(crate) bytes: u8,
}

pub(crate) use find::find;
pub(crate) use polled::polled;

/// Returns the page of an address.
pub(crate) const fn page_of(address: u64) -> Range<u64> {
    let start = address & !(PAGE - 1);
    start..start.saturating_add(PAGE)
}
