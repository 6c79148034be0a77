//! The choice between values from the debugging information alone and values that were also recovered by analysis.

use clap::Args;

/// The choice of the values that are shown.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct RecoveryArguments {
    /// Show only values at locations in the debugging information: no entry values and no last-known values. Use only
    /// call frame information to find callers, even if the machine code contradicts it. Implied by --strict
    #[arg(long)]
    pub(crate) only_dwarf: bool,
}
