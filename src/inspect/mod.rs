//! Answers the queries of a debugger about a stopped wave: its frames, and the variables of each, lane by lane.
//!
//! It combines the layers below. It adds one rule: the reading of LLVM's variable locations without the extensions (`spec-notes/legacy-llvm.md`).
//!
//! A debugger loads a [`Program`] once for each code object, and creates a [`Stop`] when a wave stops.
//!
//! A complete example, with a code object and a [`Wave`](crate::wave::Wave) as a debugger has them at a stop. Here the wave is a snapshot:
//!
//! ```
//! # #[cfg(feature = "serde")]
//! # fn main() -> Result<(), hetdwarf::Error> {
//! use hetdwarf::prelude::*;
//! use hetdwarf::{debug_info::types::TypeTable, display::Options};
//! # let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco").unwrap();
//! let wave = Snapshot::from_json(&std::fs::read("examples/demo/stop.json").unwrap())?;
//! let object = CodeObject::parse(&file)?;
//! let program = Program::load(&object)?;
//!
//! let arena = Arena::new();
//! let options = StopOptions::loaded_at(wave.load_address);
//! let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
//! let mut types = TypeTable::default();
//! for frame in stop.frames() {
//!     println!("#{} {:?}", frame.index(), frame.description()?.function);
//!     for variable in frame.variables(&mut types)? {
//!         for lane in frame.readable_lanes() {
//!             let text = variable.text(lane, &types, &Options::default());
//!             println!("  lane {}: {:?} = {text:?}", lane.0, variable.variable.name);
//!         }
//!     }
//!     // Where the lanes are that do not execute.
//!     println!("  {:x?}", frame.lane_pcs()?.pcs().collect::<Vec<_>>());
//! }
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "serde"))]
//! # fn main() {}
//! ```

mod barrier;
mod context;
mod corrections;
mod description;
mod epilogue;
mod fault;
mod frame_lanes;
mod frame_list;
mod frame_register;
mod given;
mod initial_registers;
mod kept_in_function;
mod kept_value;
mod kernel_argument;
mod kernel_entry;
mod lane_pc;
mod lane_recovery;
mod lane_texts;
mod layout;
mod legacy;
mod missing_split;
mod missing_variable;
mod no_location;
mod plan;
mod pointee;
mod process;
mod program;
mod prologue;
mod recovered;
mod stop;
mod stop_code;
mod symbolizer;
mod symbols;
mod trap;
mod truth;
mod undescribed;
mod value;
mod variable;
mod waiting;
mod whereabouts;

pub use context::{FrameContext, ProgramContext};
pub use description::{FrameDescription, FrameKind};
pub use fault::{AccessOperation, FaultCandidate, MemoryMap, PolledAccess};
pub(crate) use kept_in_function::{KeptInFunction, KeptQuestion, KeptVariable};
pub use kernel_argument::HiddenArgument;
pub(crate) use lane_pc::SaidLanes;
pub use lane_pc::{LaneInCaller, LaneOrigin, LanePcs, LanePlace, Recovery, UnknownLane};
pub use lane_texts::LaneTexts;
pub(crate) use layout::is_open_array;
pub use missing_split::MissingSplit;
pub use missing_variable::MissingVariable;
pub(crate) use pointee::{implicit_pointer, implicit_unit};
pub use process::Programs;
pub use program::Program;
pub use recovered::{Recovered, RecoveredFrom};
pub use stop::{Stop, StopFrame, StopOptions};
pub use symbolizer::{Lookups, Symbolized, Symbolizer};
pub(crate) use truth::mask_alone;
pub use undescribed::Undescribed;
pub use value::{LocationReading, ValueState, ValueStateKind, VariableValue};
pub(crate) use value::{NOT_SAID, NotUnderstood};
pub(crate) use variable::{bits_within, cut_text};
pub use whereabouts::{DispatchMemory, HostMemory, Nearest, PointerArgument, Whereabouts};
