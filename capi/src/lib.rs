//! The C interface of hetdwarf.
//!
//! Functions take opaque handles and return a [`hetdwarf_status`]. The header, `include/hetdwarf.h`, is generated from this crate. It
//! documents ownership, errors and threads for each function. This crate contains no DWARF logic: each function converts its arguments for
//! the library, and the answer to plain structs.
//!
//! With `owned`, this crate contains all shipped `unsafe` code, except for the command's mapping of files. The unsafe code reads and writes
//! through pointers from C, and lets handles own the values from which they borrow.
#![expect(
    non_camel_case_types,
    reason = "types and functions have the names of the header"
)]

mod bits;
mod cfi;
mod core;
mod documents;
mod evaluate;
mod handle;
mod kernel;
mod lane_pc;
mod lanes;
mod object;
mod plain;
mod statics;
mod status;
mod stop;
mod symbolize;
mod text;
mod types;
mod values;
mod verify;
mod wave;

pub use self::core::*;
pub use bits::hetdwarf_bits;
pub use cfi::*;
pub use documents::*;
pub use evaluate::*;
pub use handle::hetdwarf_free;
pub use kernel::*;
pub use lane_pc::*;
pub use lanes::*;
pub use object::*;
pub use statics::*;
pub use status::*;
pub use stop::*;
pub use symbolize::*;
pub use text::hetdwarf_escape;
pub use types::*;
pub use values::*;
pub use verify::*;
pub use wave::*;

use handle::Kind;

/// The first bytes in the memory of every kind of handle.
const KINDS: &[u64] = &[
    hetdwarf_cfi::MAGIC,
    hetdwarf_core::MAGIC,
    hetdwarf_lane_pcs::MAGIC,
    hetdwarf_object::MAGIC,
    hetdwarf_result::MAGIC,
    hetdwarf_snapshot::MAGIC,
    hetdwarf_stop::MAGIC,
    hetdwarf_types::MAGIC,
    hetdwarf_values::MAGIC,
];
