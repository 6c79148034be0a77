//! The arguments of `merge`.

use std::path::PathBuf;

use clap::Args;

use super::super::outputs::ForceArguments;
use super::verify::VerifyFormat;

pub(super) const MERGE_EXAMPLES: &str = "Examples:
  hetdwarf merge part-*.jsonl
  hetdwarf merge part-*.jsonl --format sarif > hetdwarf.sarif
  hetdwarf merge monday.jsonl tuesday.jsonl --format jsonl > week.jsonl
  zstdcat part-*.jsonl.zst | hetdwarf merge -
  hetdwarf merge crashes-*.jsonl --tree

Exit status: of records of verify 0 no error was found, 1 errors were found, 2 not everything could be checked;
of records of core 0 all of it could be read, 1 a part, 2 a core was not; 2 also if a line is no record.";

#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    /// Records that `verify --format jsonl` or `core --format jsonl` printed, in any order; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Every finding by itself, not one for each cause
    #[arg(long)]
    pub(crate) each: bool,
    /// Only the table: for each rule its level and how many findings, functions and files
    #[arg(long, conflicts_with = "each")]
    pub(crate) summary: bool,
    /// Add the call stacks of all waves of the cores as one tree
    #[arg(long)]
    pub(crate) tree: bool,
    /// Also write a page for a browser about the crashes of the cores
    #[arg(long, value_name = "OUT")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: VerifyFormat,
}
