//! The arguments of `eval`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::format::{Format, parse_offset};
use super::object::ObjectArguments;

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["expr", "hex", "batch"]))]
#[command(group = clap::ArgGroup::new("program").multiple(true).args(["object", "core"]))]
#[command(group = clap::ArgGroup::new("stopped").multiple(true).args(["wave", "core"]))]
pub(crate) struct EvalArguments {
    /// The expression, as llvm-dwarfdump prints it; prefixes may be left out
    #[arg(long, value_name = "TEXT")]
    pub(crate) expr: Option<String>,
    /// The expression's bytes
    #[arg(long, value_name = "BYTES")]
    pub(crate) hex: Option<String>,
    /// Evaluate every line of a file: a JSON object with these options as fields; - reads standard input
    #[arg(long, value_name = "FILE",
        conflicts_with_all = ["object", "core", "folders", "wave", "lane", "result", "read"])]
    pub(crate) batch: Option<PathBuf>,
    /// The code object that the expression refers to; with --core one in place of one that is lost or stripped
    #[arg(long, value_name = "FILE")]
    pub(crate) object: Vec<PathBuf>,
    /// A core file, or twice for the GPU's half and the host's; --wave is then the number of a wave,
    /// QUEUE:PACKET:(x,y,z)/w, or `stopped` (the default: the first that faulted)
    #[arg(long, value_name = "FILE")]
    pub(crate) core: Vec<PathBuf>,
    /// With --core: a folder to look in for code objects that are lost or stripped, and for those that are in files
    #[arg(long = "object-path", value_name = "DIR", requires = "core")]
    pub(crate) folders: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) which: ObjectArguments,
    /// The offset of the unit's header, in `.debug_info`
    #[arg(long, value_name = "OFFSET", requires = "program", value_parser = parse_offset)]
    pub(crate) unit: Option<u64>,
    /// The stopped wave (hetdwarf-wave/1); - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) wave: Option<PathBuf>,
    /// The lanes: 3, 0-7,12 or all; without it the lane in the wave's focus
    #[arg(long, value_name = "LANES")]
    pub(crate) lane: Option<String>,
    /// The call frame, 0 for the innermost
    #[arg(long, value_name = "N", requires = "program", requires = "stopped")]
    pub(crate) frame: Option<usize>,
    /// The kind of result that is required
    #[arg(long, value_enum, default_value_t)]
    pub(crate) result: ResultName,
    /// Also read this many bits at the result
    #[arg(long, value_name = "BITS")]
    pub(crate) read: Option<u64>,
    /// An expression whose result is pushed first; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub(crate) initial_stack: Vec<String>,
    /// An expression whose result is the current object
    #[arg(long, value_name = "TEXT")]
    pub(crate) object_location: Option<String>,
    /// The size of an address, in bytes
    #[arg(long, value_name = "4|8", default_value_t = 8, value_parser = clap::value_parser!(u8).range(4..=8))]
    pub(crate) address_size: u8,
    /// The most operations that are executed: `--limit steps=N`
    #[arg(long, value_name = "N")]
    pub(crate) max_steps: Option<u32>,
    /// Read as real producers need it, not by the letter
    #[arg(long)]
    pub(crate) tolerant: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// The kind of result that is required.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultName {
    /// A location.
    Location,
    /// A value.
    Value,
    /// Whatever the expression gives.
    #[default]
    Any,
}
