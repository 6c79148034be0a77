//! The choice between values of the debugging information alone and those that are found besides.

use clap::Args;

/// Which values are shown.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct RecoveryArguments {
    /// Show only values that the debugging information gives: none as of an earlier line, or as on entry. Implied by --strict
    #[arg(long)]
    pub(crate) only_dwarf: bool,
}
