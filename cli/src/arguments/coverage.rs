//! The arguments of `coverage`.

use std::path::PathBuf;

use clap::Args;

use super::format::Format;
use super::object::ObjectArguments;

pub(super) const COVERAGE_EXAMPLES: &str = "Examples:
  hetdwarf coverage kernel.hsaco
  hetdwarf coverage old/*.hsaco --format json

Counted are bytes of code: for each variable and parameter those in its scope, and of these
  dwarf      those with a location, as llvm-dwarfdump --statistics counts them
  recovered  those without, where `vars` shows an entry value or a last-known value: the argument of a kernel, or what
             the machine code proves to be kept in a register or on the stack for every lane that is active
             there. What only a caller still has is not counted
  neither    the rest

Variables that an inlined copy of their function leaves out are counted (\"omitted\"), unlike in llvm-dwarfdump's bytes.

Exit status: 0 done, 2 an object could not be read, or a limit was reached.";

#[derive(Debug, Args)]
pub(crate) struct CoverageArguments {
    /// Code objects, or bundles or host programs that contain one each
    #[arg(required = true, value_name = "OBJECT")]
    pub(crate) objects: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) which: ObjectArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
