//! The arguments of `coverage` and `compare`.

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

pub(super) const COMPARE_EXAMPLES: &str = "Examples:
  hetdwarf compare old/kernel.hsaco new/kernel.hsaco
  hetdwarf compare old/kernel.hsaco new/kernel.hsaco --tolerance 0.5 --format json

Both are compiled from the same source. Functions are matched by their names for the linker. Listed are variables of which
more or less code has a location and, where the code of a function is equal, rows of call frame information and
lines that differ.

Exit status: 0 done, 1 coverage fell by more than the tolerance, of all functions together or of one of them,
2 an object could not be read, or a limit was reached.";

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The code object as it was
    pub(crate) old: PathBuf,
    /// The code object as it is now
    pub(crate) new: PathBuf,
    /// By how many percent points the share of bytes with a location may fall
    #[arg(long, value_name = "N", default_value_t = 0.0, value_parser = tolerance)]
    pub(crate) tolerance: f64,
    #[command(flatten)]
    pub(crate) which: ObjectArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let points = text.parse().ok();
    let points = points.filter(|points| (0.0..=100.0).contains(points));
    points.ok_or_else(|| "it is a number from 0 to 100".to_owned())
}
