//! The choice between values from the debugging information alone and values that were also recovered by analysis.

use clap::Args;

/// The choice of the values that are shown.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct RecoveryArguments {
    /// Show only values at locations in the debugging information: no entry values and no last-known values. Implied by
    /// --strict
    #[arg(long)]
    pub(crate) only_dwarf: bool,
}
