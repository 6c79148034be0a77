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

Exit status for records of verify: 0 no error was found, 1 errors were found, 2 something could not
be checked. For records of core: 0 everything could be read, 1 only a part of a core, 2 a core could
not be read. A line that is not a record also gives 2.";

#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    /// Records from `verify --format jsonl` or `core --format jsonl`, in any order; `-` reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Report every finding instead of one per cause
    #[arg(long)]
    pub(crate) each: bool,
    /// Print only a table of rules with counts
    #[arg(long, conflicts_with = "each")]
    pub(crate) summary: bool,
    /// Also print the call stacks of all waves as one tree
    #[arg(long)]
    pub(crate) tree: bool,
    /// Also write an HTML page of the crashes
    #[arg(long, value_name = "OUT")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArguments,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: VerifyFormat,
}
