//! Which code object of a file, and the arguments of commands that tell or make something of one.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::super::limits::LimitArguments;
use super::super::outputs::ForceArguments;
use super::core::CoreObjectChoice;
use super::format::Format;
use super::recovery::RecoveryArguments;

/// Which codes the heterogeneous operations have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    /// Today's: two codes, of which the first is 0xe9.
    #[default]
    User,
    /// Codes of one byte, as emitted from 2020 to 2022.
    OneByte,
    /// The codes of the first draft.
    Draft,
    /// The names and overlays of DWARF 6, which has no codes yet.
    Dwarf6,
}

/// Which code object of a file.
#[derive(Debug, Args)]
pub(crate) struct ObjectArguments {
    /// Of several code objects in the file, the one for this processor (gfx90a, gfx90a:xnack+)
    #[arg(long, value_name = "TARGET", conflicts_with = "index")]
    pub(crate) target: Option<String>,
    /// Of several code objects in the file, the one with this number, from 0
    #[arg(long, value_name = "N")]
    pub(crate) index: Option<usize>,
    /// The .dwo file with the debugging information
    #[arg(long, value_name = "FILE")]
    pub(crate) dwo: Option<PathBuf>,
    /// Which codes the heterogeneous operations have
    #[arg(long, value_enum, default_value_t)]
    pub(crate) dialect: DialectName,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
}

impl ObjectArguments {
    /// The files that are read besides.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.dwo.as_deref().into_iter()
    }
}

/// By the letter or as producers need it.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct StrictArguments {
    /// Read the DWARF by the letter, also where producers mean something else
    #[arg(long, conflicts_with = "tolerant")]
    pub(crate) strict: bool,
    /// Read the DWARF as real producers need it (the default)
    #[arg(long)]
    pub(crate) tolerant: bool,
    #[command(flatten)]
    pub(crate) recovery: RecoveryArguments,
}

#[derive(Debug, Args)]
pub(crate) struct InfoArguments {
    /// A code object, or a bundle or host program that contains some; `-` is standard input
    #[arg(required_unless_present = "core", conflicts_with = "core")]
    pub(crate) object: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) core: CoreObjectChoice,
    /// Of several code objects in the file, the one for this processor (gfx90a, gfx90a:xnack+)
    #[arg(long, value_name = "TARGET", conflicts_with = "index")]
    pub(crate) target: Option<String>,
    /// Of several code objects in the file, the one with this number, from 0
    #[arg(long, value_name = "N")]
    pub(crate) index: Option<usize>,
    /// Print every field of each kernel descriptor
    #[arg(long)]
    pub(crate) descriptor: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct AnnotateArguments {
    /// The code object, or a bundle, relocatable host object or archive with some
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// The file that is written: another one
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) force: ForceArguments,
    /// Only functions whose name matches
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Option<String>,
    /// Also write which lanes are active in whole-wave sections, by an attribute that has no code of its own any more: LLVM's tools take it for
    /// another one
    #[arg(long)]
    pub(crate) active_lane: bool,
    /// Also make location lists of constant parameters longer, where the value provably is still in registers
    #[arg(long)]
    pub(crate) locations: bool,
    /// Which codes the heterogeneous operations have, and what is added has
    #[arg(long, value_enum, default_value_t)]
    pub(crate) dialect: DialectName,
    /// Also list the functions: how much of each is covered, and why not more
    #[arg(long)]
    pub(crate) report: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

pub(super) const ANNOTATE_EXAMPLES: &str = "Examples:
  hetdwarf annotate kernel.hsaco -o annotated.hsaco
  hetdwarf annotate kernel.hsaco -o annotated.hsaco --only 'my_*' --report

What is loaded stays as it is, byte for byte. Functions that say it already are left alone.

Exit status: 0 OUT was written (also if nothing could be added), 2 it was not, or a limit of the whole file was reached
and OUT has what was found before it.";
