//! The stack machine: operation expressions evaluated to values and location descriptions.
//!
//! It knows no debugging information entries: what an expression refers to is asked of a [`Resolver`],
//! what a call frame knows of a frame. Source: HET A.2.5.

mod resolver;
mod value;

pub use resolver::{DieReference, ExpressionBytes, LocationAttribute, Procedure, Resolver, Unit};
pub use value::{BaseType, Encoding};
