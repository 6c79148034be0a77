//! Implements the stack machine, which evaluates operation expressions to values and location descriptions.
//!
//! It knows no debugging information entries. A [`Resolver`] resolves references, a [`Frame`] provides the call frame, and a
//! [`Wave`](crate::wave::Wave) provides the contents of storage. Each family of operations has its own file: `stack`, `control`, `arithmetic`,
//! `memory`, `entry_value`, `frame_base`, `register`, `implicit`, `composite`. `in_registers` is a fast path for frequent expressions.
//!
//! An `int` in `v2`: each lane has its own dword ([USAGE](crate) "Operations", `DW_OP_LLVM_push_lane`), and one evaluation finds all of them.
//!
//! ```
//! use hetdwarf::arch::{Lane, Register, WaveSize};
//! use hetdwarf::eval::{Context, ExpressionBytes, LaneFocus, Outcome, ResultKind, Unit, evaluate};
//! use hetdwarf::expr::{Encoding, ParseOptions, parse};
//! use hetdwarf::location::{Access, Arena, read, read_lanes};
//! use hetdwarf::wave::Snapshot;
//!
//! let text = "DW_OP_regx 1538, DW_OP_LLVM_push_lane, DW_OP_lit4, DW_OP_mul, DW_OP_LLVM_offset";
//! let bytes = parse(text, &ParseOptions::default())?.encode(Encoding::AMDGPU)?;
//! let expression = ExpressionBytes::alone(&bytes, Unit::unknown(Encoding::AMDGPU));
//!
//! let mut wave = Snapshot::new("gfx1100", WaveSize::Wave32, 0);
//! wave.set_lanes(Register::v::<2>(WaveSize::Wave32), &core::array::from_fn::<_, 32, _>(|lane| Some(10 + lane as u32)))?;
//! let arena = Arena::new();
//! let mut context = Context::new(&arena);
//! context.wave = Some(&wave);
//!
//! context.lane = LaneFocus::One(Lane(1));
//! let Outcome::Location(place) = evaluate(&expression, ResultKind::Location, &context)? else { unreachable!() };
//! let access = Access { wave: &wave, lane: Some(Lane(1)), max_bits: 64, meter: None };
//! assert_eq!(read(&place, 32, &access)?.bytes, [11, 0, 0, 0]);
//!
//! context.lane = LaneFocus::All;
//! let Outcome::Location(places) = evaluate(&expression, ResultKind::Location, &context)? else { unreachable!() };
//! assert!(places.stands_for_all_lanes());
//! assert_eq!(read_lanes(&places, 32, &access)?.bits(Lane(2)).bytes, [12, 0, 0, 0]);
//! # Ok::<(), hetdwarf::Error>(())
//! ```
//!
//! Source: [HET](crate) A.2.5. `spec-notes/evaluation.md` documents choices that the text leaves open.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod arithmetic;
mod budget;
mod composite;
mod context;
mod control;
mod entry_value;
mod frame_base;
mod implicit;
mod in_registers;
mod legacy;
mod location_list;
mod machine;
mod memory;
mod operand_stack;
mod per_lane;
mod register;
mod resolver;
mod stack;
#[cfg(test)]
mod tests;
mod value;

pub use context::{Context, Frame, LaneFocus, Outcome, Reading, ResultKind, Subprogram, Tls};
pub(crate) use entry_value::single_register;
pub use legacy::Doubt;
pub(crate) use legacy::MOST_FROM_ONE_DWORD;
pub(crate) use legacy::{
    IntegerType, LegacyBase, LegacyFrame, LegacyUnit, Meaning, ObjectShape, SlotPointer,
    rewrite_legacy,
};
pub use location_list::{LocationEntry, LocationRange};
pub(crate) use location_list::{LocationGap, Matching};
pub use machine::evaluate;
pub use per_lane::{PerLane, locate, locate_lanes};
pub use resolver::{
    CallPlace, CallSite, DieReference, ExpressionBytes, LocationAttribute, Procedure, Resolver,
    Unit,
};
pub use value::{BaseType, BaseTypeEncoding, Value};
