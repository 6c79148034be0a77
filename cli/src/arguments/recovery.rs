//! The choice between values of the debugging information alone and those that are found besides.

use clap::Args;

/// Which values are shown.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct RecoveryArguments {
    /// Show only values at locations in the debugging information: no entry values and no last-known values. Implied by
    /// --strict
    #[arg(long)]
    pub(crate) only_dwarf: bool,
}
