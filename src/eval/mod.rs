//! The stack machine: operation expressions evaluated to values and location descriptions.
//!
//! It knows no debugging information entries: what an expression refers to is asked of a [`Resolver`],
//! what a call frame knows of a [`Frame`], and the contents of storage of a [`Wave`](crate::wave::Wave).
//! Each family of operations has a file of its own: `stack`, `control`, `arithmetic`, `memory`,
//! `entry_value`, `frame_base`, `register`, `implicit`, `composite`. `fast` has short ways for what is common.
//!
//! Source: HET A.2.5. Where the text leaves room: `spec-notes/evaluation.md`.

mod arithmetic;
mod budget;
mod composite;
mod context;
mod control;
mod entry_value;
mod fast;
mod frame_base;
mod implicit;
mod legacy;
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
pub(crate) use legacy::MOST_FROM_ONE_DWORD;
pub use legacy::{
    Doubt, IntegerType, LegacyBase, LegacyFrame, LegacyUnit, Meaning, ObjectShape, rewrite_legacy,
};
pub use machine::evaluate;
pub use per_lane::{PerLane, locate, locate_lanes};
pub use resolver::{
    CallSite, DieReference, ExpressionBytes, LocationAttribute, Procedure, Resolver, Unit,
};
pub(crate) use value::to_odd;
pub use value::{BaseType, BaseTypeEncoding, Value};
