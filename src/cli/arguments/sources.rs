//! Where the source of a program is.

use clap::Args;

/// Where the source is, if it is not in the debugging information.
#[derive(Debug, Args)]
pub(crate) struct SourceArguments {
    /// A folder to look in for the source, or OLD=NEW: what is below OLD in the debugging information is below NEW. No other
    /// file is shown
    #[arg(long = "source-dir", alias = "source-path", value_name = "DIR|OLD=NEW")]
    pub(crate) source_dirs: Vec<String>,
}
