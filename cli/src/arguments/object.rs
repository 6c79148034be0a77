//! The choice of a code object in a file, and the arguments of `info` and `annotate`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::super::limits::LimitArguments;
use super::super::outputs::ForceArguments;
use super::core::CoreObjectChoice;
use super::format::Format;
use super::recovery::RecoveryArguments;

/// The encoding of the heterogeneous operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    /// The current encoding: two bytes, the first of which is 0xe9.
    #[default]
    User,
    /// One byte, as emitted from 2020 to 2022.
    OneByte,
    /// The first draft.
    Draft,
    /// The names of DWARF 6, which has not assigned encodings yet.
    Dwarf6,
}

/// The choice of a code object in a file, and of the way to read it.
#[derive(Debug, Args)]
pub(crate) struct ObjectArguments {
    /// Choose the code object for this target (gfx90a, gfx90a:xnack+)
    #[arg(long, value_name = "TARGET", conflicts_with = "index")]
    pub(crate) target: Option<String>,
    /// Choose the code object with this number, counted from 0
    #[arg(long, value_name = "N")]
    pub(crate) index: Option<usize>,
    /// Read the split debugging information from this .dwo file
    #[arg(long, value_name = "FILE")]
    pub(crate) dwo: Vec<PathBuf>,
    /// Use this encoding of the heterogeneous operations
    #[arg(long, value_enum, default_value_t)]
    pub(crate) dialect: DialectName,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
}

impl ObjectArguments {
    /// Returns the other files that are read.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.dwo.iter().map(PathBuf::as_path)
    }
}

/// The choice between reading DWARF exactly as specified and reading it as known compilers emit it.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct StrictArguments {
    /// Read the DWARF exactly as specified, even where known compilers mean something else
    #[arg(long, conflicts_with = "tolerant")]
    pub(crate) strict: bool,
    /// Read the DWARF as known compilers mean it (the default)
    #[arg(long)]
    pub(crate) tolerant: bool,
    #[command(flatten)]
    pub(crate) recovery: RecoveryArguments,
}

#[derive(Debug, Args)]
pub(crate) struct InfoArguments {
    /// A code object, or a bundle or host program that contains some; `-` reads standard input
    #[arg(required_unless_present = "core", conflicts_with = "core")]
    pub(crate) object: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) core: CoreObjectChoice,
    /// Choose the code object for this target (gfx90a, gfx90a:xnack+)
    #[arg(long, value_name = "TARGET", conflicts_with = "index")]
    pub(crate) target: Option<String>,
    /// Choose the code object with this number, counted from 0
    #[arg(long, value_name = "N")]
    pub(crate) index: Option<usize>,
    /// Print every field of each kernel descriptor
    #[arg(long)]
    pub(crate) descriptor: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct AnnotateArguments {
    /// The code object, or a bundle, relocatable host object or archive that contains some
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// Write the result to this file, different from IN
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) force: ForceArguments,
    /// Annotate only functions whose name matches
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Option<String>,
    /// Also write `DW_AT_LLVM_active_lane` for whole-wave sections. Its code was reassigned, so LLVM's tools show another
    /// attribute
    #[arg(long)]
    pub(crate) active_lane: bool,
    /// Also extend the location lists of constant parameters to code where a register provably holds the value
    #[arg(long)]
    pub(crate) locations: bool,
    /// Use this encoding of the heterogeneous operations, in the input and the additions
    #[arg(long, value_enum, default_value_t)]
    pub(crate) dialect: DialectName,
    /// Also list how much of each function is covered, and why the rest is not
    #[arg(long)]
    pub(crate) report: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

pub(super) const ANNOTATE_EXAMPLES: &str = "Examples:
  hetdwarf annotate kernel.hsaco -o annotated.hsaco
  hetdwarf annotate kernel.hsaco -o annotated.hsaco --only 'my_*' --report

Loaded segments stay the same, byte for byte. Functions that already have the attribute are not
changed.

Exit status: 0 OUT was written, even if nothing was added, 2 OUT was not written, or a limit was
reached and OUT is incomplete.";
