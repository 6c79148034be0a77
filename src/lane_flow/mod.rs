//! Locates the lanes that EXEC has switched off in a stopped wave. It reads machine code only, and needs no attributes, call frame
//! information or source.
//!
//! Choosing the source line to show, and comparing with attributes, is left to callers. `spec-notes/lane-recovery.md` defines a right
//! answer, and counts how often one is found. Sources: [USAGE](crate) `DW_AT_LLVM_lane_pc`; AMD's instruction set architecture documents.
//!
//! The example is a wave of the demo that stopped while the odd lanes are in the function `leaf`:
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
//! An inactive lane does nothing. Until it is active again, only scalar operations change its bit in the masks. The analysis therefore
//! follows these bits from the stop on, in both directions at every branch. It ends where the lane's bit of EXEC becomes 1 (the lane
//! *resumes* there), where the function returns (the lane did not enter it), or where the wave ends. Everything is over-approximated: if
//! all paths give the same answer, it is also the answer of the path that the wave will take.
//!
//! **Domain.** A state (`state`) assigns a value to each scalar register, to each lane's dword of vector registers, and to rows of scratch.
//! A value (`value`) is one of these:
//!
//! * unknown;
//! * the lane's bit;
//! * the lane's bit of a place at the stop, or its complement;
//! * an unknown bit that an instruction made, equal in all its copies;
//! * a whole constant;
//! * the contents of a place at the stop plus a constant.
//!
//! The values form a flat lattice. EXEC is not a value. The lane's bit of EXEC is 0, except in sections in which other lanes execute. In
//! such a section EXEC does not describe the lane.
//!
//! **Transfer functions** (`step`). Bitwise operations combine bits, and use an absorbing operand (`x & 0`). A comparison gives 0. Lane
//! reads and writes, copies, loads and stores move dwords. Sums move addresses on the stack. Registers that a callee may write become
//! unknown, and so do the results of all other instructions.
//!
//! **Questions** (`tree`). If the bit of a place at the stop decides where a path goes, the path waits. When all other paths have ended or
//! wait too, the search asks for the bit, and goes on from there for lanes with either bit. What does not depend on the bit is followed only
//! once. The questions from one place of the code form a decision tree: its inner nodes are places, its leaves are answers. The tree is
//! built once, as far as waves need it, and is valid for every wave that stops there.
//!
//! **Join** (`walk`, `dataflow`). A state that is covered by another state at the same instruction is not followed. A limited number of
//! states is kept apart. Further states are joined: values that differ become unknown. Values that cannot reach EXEC are forgotten first
//! (`liveness`), which makes most states equal.
//!
//! **Skipped instructions** (`idle`). Most instructions do not change anything that is followed for a lane: vector arithmetic, loads and
//! stores of variables. With masks of 64 lanes, the lanes of vector registers that hold the other half's masks are not followed.
//!
//! **Termination.** A join changes a value at most once, and the number of states kept for an instruction is bounded. In addition, each
//! fact has a budget of instructions, proportional to the size of the function, and a budget of bytes for the states that it keeps
//! (`fuel`).
//!
//! **Callers** (`dataflow`). The same transfer functions work on whole dwords from the stop to the return. The result gives the caller's
//! registers in terms of registers, lanes and scratch at the stop.
//!
//! **Switch-off points** (`switches`). A lane is followed from the entry, on and off, together with the instruction that switched it off.
//! Switch-offs that contradict the lane's bits at the stop are excluded. The bits of masks are unknown here, but each result has a number
//! (`exec::number`). A fact that a branch reveals about a mask therefore applies to its copies, too.
//!
//! **Assumptions**: callees restore EXEC and the registers that the calling convention preserves; flat and per-lane stores do not overwrite
//! the compiler's spill slots; masks of the program are not constants, unless the same lane of a vector holds a computed mask on another
//! path. **Not tracked**: memory other than scratch at constant distances from the stack pointer, contents of vector registers, and the
//! conditions of branches.

mod answer;
mod answers;
mod between;
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

/// The reason why the place of a lane is unknown.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The program counter is in none of the functions, or not at an instruction.
    NoFunction,
    /// The function cannot be decoded.
    Code,
    /// A path leads to an unknown place.
    Jump,
    /// EXEC gets a value in which the lane's bit is unknown.
    Mask,
    /// EXEC does not contain the active lanes, and it is unknown which register does.
    WholeWave,
    /// The lane resumes in different places, depending on other lanes or scalar values.
    Ambiguous,
    /// No path leads to a place where the lane resumes.
    Endless,
    /// A mask is in a register or in memory that cannot be read.
    Unavailable(DwordPlace),
    /// The analysis would exceed its budget.
    Budget,
    /// The lane did not enter the function, and the caller is unknown.
    Caller,
    /// It is not known whether the lane entered the function that this frame called.
    Callee,
    /// The lane never executes again, or was never started: the dispatch is unknown.
    Dispatch,
    /// The lane never executes again, and the wave ends in one of several places.
    SeveralEnds,
}

impl Reason {
    /// Returns the stable name of the reason, as the member `reason` of the JSON documents has it.
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

/// Completes the sentence "it is not known where the lane is, since …".
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::NoFunction => "no function of the object has code here",
            Reason::Code => "the function's machine code cannot be decoded",
            Reason::Jump => "the code jumps to an unknown place",
            Reason::Mask => "EXEC gets an unknown value",
            Reason::WholeWave => "EXEC does not give the active lanes here",
            Reason::Ambiguous => "the lane resumes in one of several places",
            Reason::Endless => "the code never reaches the place where the lane resumes",
            Reason::Unavailable(place) => return write!(f, "{place} is not available"),
            Reason::Budget => "the analysis would take too long",
            Reason::Caller => "the lane may be in an unknown caller",
            Reason::Callee => "the lane may not have entered the function that is called here",
            Reason::Dispatch => {
                "without the dispatch, the lane may have ended or never have been \
                                 started"
            }
            Reason::SeveralEnds => {
                "the lane never executes again, and the wave ends in one of several places"
            }
        })
    }
}
