//! The arguments of `coverage` and `compare`.

use std::path::PathBuf;

use clap::Args;

use super::format::Format;
use super::object::ObjectArguments;

pub(super) const COVERAGE_EXAMPLES: &str = "Examples:
  hetdwarf coverage kernel.hsaco
  hetdwarf coverage old/*.hsaco --format json

The bytes of code in the scope of each variable and parameter are counted as
  dwarf      covered by a location, as llvm-dwarfdump --statistics counts them
  recovered  not covered, but `vars` shows an entry or last-known value: a kernel argument, or a value that the
             machine code provably keeps in a register or on the stack for every active lane. Values that only a
             caller still has are not counted
  neither    the rest

Variables that are absent from an inlined copy of their function are counted as \"omitted\"; llvm-dwarfdump leaves them
out.

Exit status: 0 it ran, 1 the entries of some units are in .dwo files that --dwo does not name, 2 an object could not be
read or has all its entries in such files, or a limit was reached.";

#[derive(Debug, Args)]
pub(crate) struct CoverageArguments {
    /// Code objects, or bundles or host programs that each contain one
    #[arg(required = true, value_name = "OBJECT")]
    pub(crate) objects: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) which: ObjectArguments,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

pub(super) const COMPARE_EXAMPLES: &str = "Examples:
  hetdwarf compare old/kernel.hsaco new/kernel.hsaco
  hetdwarf compare old/kernel.hsaco new/kernel.hsaco --tolerance 0.5 --format json

Both must be compiled from the same source. Functions are matched by linkage name. The output lists variables that
gained or lost coverage and, for functions whose code is equal, call frame rows and lines that differ.

--dwo may be repeated: each .dwo file is used for the version with its id.

Exit status: 0 it ran, 1 coverage fell by more than the tolerance, in total or in one function,
2 an object could not be read or lacks its .dwo file, or a limit was reached.";

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The old code object
    pub(crate) old: PathBuf,
    /// The new code object
    pub(crate) new: PathBuf,
    /// Allow coverage to fall by N percentage points
    #[arg(long, value_name = "N", default_value_t = 0.0, value_parser = tolerance, allow_negative_numbers = true)]
    pub(crate) tolerance: f64,
    #[command(flatten)]
    pub(crate) which: ObjectArguments,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let points = text.parse().ok();
    let points = points.filter(|points| (0.0..=100.0).contains(points));
    points.ok_or_else(|| "expected a number from 0 to 100".to_owned())
}
