//! Where the lanes of a stopped wave are that EXEC has switched off, from the machine code alone: no
//! attribute, no call frame information and no source is needed.
//!
//! It leaves to others which line to show, and attributes that say the same. What a right answer is, and how
//! often there is one: `spec-notes/lane-recovery.md`. Sources: [USAGE](crate) `DW_AT_LLVM_lane_pc`; AMD's instruction
//! set architecture documents.
//!
//! A wave of the demo, which stopped while the odd lanes are in the function `leaf`:
//!
//! ```
//! use hetdwarf::lane_flow::{Function, LaneFlow, LaneState};
//! use hetdwarf::meter::Meter;
//! use hetdwarf::prelude::*;
//! # #[cfg(feature = "serde")] {
//!
//! let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco").unwrap();
//! let wave = Snapshot::from_json(&std::fs::read("examples/demo/stop.json").unwrap())?;
//! let object = CodeObject::parse(&file)?;
//! let functions = Function::all(&object)?;
//! let flow = LaneFlow::new(object.target().processor(), wave.wave_size(), functions, object.meter());
//!
//! let pc = wave.load_address.to_code(wave.pc());
//! let meter = Meter::new(object.meter().limits(), file.len() as u64);
//! let found = flow.stop(&wave, pc.0, wave.load_address, None, &meter)?;
//! assert_eq!(found.lane(3), (0, LaneState::Active));
//! assert_eq!(found.frames[0].lanes[2], LaneState::Elsewhere);
//! # }
//! # Ok::<(), hetdwarf::Error>(())
//! ```
//!
//! # The analysis
//!
//! A lane that is off does nothing. Until it is on again, its bit in every mask changes by scalar operations
//! only. So its bits are followed from the stop on, both ways at every branch, until its bit of EXEC is 1
//! (it *resumes* there), or the function returns (it did not enter the function), or the wave ends.
//! Everything is over-approximated: if all paths give the same answer, it is that of the path that the wave
//! will take.
//!
//! **Domain.** A state (`state`) gives a value to each scalar register, to each lane's dword of vector
//! registers and to rows of scratch. A value (`value`) is nothing known, the lane's bit, the lane's bit
//! of a place at the stop or its complement, a bit that an instruction made and that is the same wherever it was copied, a whole
//! constant, or a place at the stop plus a constant. They are
//! ordered flatly, by how much they say. EXEC is not a value: outside of sections in which other lanes
//! execute, the lane's bit of it is 0, and inside of them it says nothing about the lane.
//!
//! **Transfer functions** (`step`). Bitwise operations work on bits, with what absorbs the other operand; a
//! comparison gives 0; lane reads and writes, copies, loads and stores move dwords; sums move addresses on the
//! stack; what a callee may write is lost, and so is everything that any other instruction writes.
//!
//! **Questions** (`tree`). Where a bit of a place at the stop decides, the walk ends with a question. The
//! questions from one place of the code make a decision tree, of which the inner nodes are places and the
//! leaves answers. It is made once, as far as waves ask for it, and is right for every wave that stops
//! there.
//!
//! **Join** (`walk`, `dataflow`). Of states that reach an instruction one that is covered by another is not
//! followed. So many are kept apart; after that they are joined, where what differs is not known. What
//! cannot reach EXEC is forgotten before (`liveness`), which makes most states equal.
//!
//! **What is passed over** (`idle`). Most instructions change nothing of what is followed in the way of a lane: arithmetic of
//! vectors, loads and stores of variables. Of the lanes of vector registers with masks of 64 lanes those of the other half are
//! not followed.
//!
//! **Why it ends.** A value changes at most once by joining, and what is kept of an instruction is bounded;
//! besides, each thing that is found out has a budget of instructions that is a multiple of those of the function, and one of bytes for
//! the states that it keeps (`fuel`).
//!
//! **Callers** (`dataflow`). The same transfer functions, on whole dwords, from the stop to the return: what the
//! caller finds in its registers is told by what registers, lanes and scratch have at the stop.
//!
//! **Where a lane was switched off** (`switches`). From the entry on, a lane on and off, with the instruction that
//! switched it off; the switches that contradict the lane's bits at the stop are not its own. Here the bits of masks are not known, but
//! what an instruction makes has a number (`exec::number`), so that what a branch tells of a mask is known of its copies.
//!
//! **Assumed**: EXEC and the registers of the calling convention are given back by callees; flat and per-lane
//! stores leave alone what the compiler spilled; masks of the program are no constants. **Not tracked**:
//! memory other than scratch at constant distances from the stack pointer, values of vector registers, and what
//! conditions of branches say.

mod answer;
mod answers;
mod changed;
mod companion;
mod contents;
mod dataflow;
mod exec;
mod facts;
mod followed;
mod following;
mod fuel;
mod function;
mod functions;
mod gap;
mod history;
mod idle;
mod lane_plan;
mod liveness;
mod memory;
mod no_mask;
mod parting;
mod place;
mod plan;
mod possible;
mod scalars;
mod state;
mod step;
mod stop;
mod switches;
#[cfg(test)]
mod tests;
mod tree;
mod unasked;
mod uniform;
mod value;
mod vector;
mod walk;
mod written;

use core::fmt;

pub use answer::{FrameLanes, LaneState, StopLanes, Waiting};
pub use changed::Changed;
pub(crate) use companion::{Companion, LaneStep};
pub(crate) use function::FunctionFlow;
pub use functions::Function;
pub use lane_plan::{ActiveLanes, LanePlan, PlacePlan, RangePlan};
pub use place::{DwordPlace, Slot};
pub(crate) use possible::{OffLane, Right};
pub use stop::LaneFlow;
pub use unasked::{PlaceOff, PossiblyOff};
pub(crate) use uniform::Uniformity;

/// Why it cannot be told where a lane is.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The program counter is in none of the functions, or not at an instruction.
    NoFunction,
    /// The function cannot be decoded.
    Code,
    /// A way leads to a place that is not known.
    Jump,
    /// EXEC gets a value of which the lane's bit is not known.
    Mask,
    /// EXEC does not say which lanes are active, and it is not known what does.
    WholeWave,
    /// The lane goes on in different places, by what other lanes or scalar values decide.
    Ambiguous,
    /// No way leads to where it goes on.
    Endless,
    /// A mask is in a register or in memory that cannot be read.
    Unavailable(DwordPlace),
    /// It would take too long.
    Budget,
    /// The lane did not enter the function, and the caller is not known.
    Caller,
    /// It is not known whether the lane entered the function that this frame called.
    Callee,
    /// The lane never executes again, or was never started: the dispatch is not known.
    Dispatch,
    /// The lane never executes again, and the wave ends in one of several places.
    SeveralEnds,
}

impl Reason {
    /// The reason's stable name: `reason` of the JSON documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Reason::NoFunction => "no-function",
            Reason::Code => "undecodable",
            Reason::Jump => "unknown-jump",
            Reason::Mask => "unknown-mask",
            Reason::WholeWave => "whole-wave",
            Reason::Ambiguous => "ambiguous",
            Reason::Endless => "endless",
            Reason::Unavailable(_) => "unavailable",
            Reason::Budget => "limit",
            Reason::Caller => "unknown-caller",
            Reason::Callee => "unknown-callee",
            Reason::Dispatch => "unknown-dispatch",
            Reason::SeveralEnds => "several-ends",
        }
    }
}

/// The reason, for people: what goes on after "it is not known where the lane is, since …".
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::NoFunction => "no function of the object has code here",
            Reason::Code => "the function's machine code cannot be decoded",
            Reason::Jump => "the code jumps to a place that is not known",
            Reason::Mask => "EXEC gets a value that cannot be told",
            Reason::WholeWave => "EXEC does not say which lanes are active here",
            Reason::Ambiguous => "it goes on in one of several places",
            Reason::Endless => "no way of the code leads to where it goes on",
            Reason::Unavailable(place) => return write!(f, "{place} is not available"),
            Reason::Budget => "it would take too long to tell",
            Reason::Caller => "it may be in a caller, which is not known",
            Reason::Callee => "it is not known whether it entered the function that is called here",
            Reason::Dispatch => "without the dispatch it may have ended or never have been started",
            Reason::SeveralEnds => {
                "it never executes again, and the wave ends in one of several places"
            }
        })
    }
}
