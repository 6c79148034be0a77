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
    /// Evaluate this expression, in llvm-dwarfdump's syntax; `DW_OP_` prefixes are optional
    #[arg(long, value_name = "TEXT")]
    pub(crate) expr: Option<String>,
    /// Evaluate the expression with these bytes, in hexadecimal
    #[arg(long, value_name = "BYTES")]
    pub(crate) hex: Option<String>,
    /// Evaluate each line of a file, a JSON object with these options as fields; `-` reads standard input
    #[arg(long, value_name = "FILE",
        conflicts_with_all = ["object", "core", "folders", "wave", "lane", "result", "read"])]
    pub(crate) batch: Option<PathBuf>,
    /// Use the code object in this file; with --core, it replaces a missing or stripped one
    #[arg(long, value_name = "FILE")]
    pub(crate) object: Vec<PathBuf>,
    /// Read the wave from a core file (give the option twice for separate GPU and host files). --wave then takes a
    /// wave number, QUEUE:PACKET:(x,y,z)/w, or `stopped` for the first faulted wave [default: stopped]
    #[arg(long, value_name = "FILE")]
    pub(crate) core: Vec<PathBuf>,
    /// With --core: search this directory for missing or stripped code objects
    #[arg(long = "object-path", value_name = "DIR", requires = "core")]
    pub(crate) folders: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) which: ObjectArguments,
    /// Use the unit whose header is at this offset in `.debug_info`
    #[arg(long, value_name = "OFFSET", requires = "program", value_parser = parse_offset)]
    pub(crate) unit: Option<u64>,
    /// Read the stopped wave from this file (hetdwarf-wave/1); `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) wave: Option<PathBuf>,
    /// Evaluate in these lanes: 3, 0-7,12 or all [default: the focus lane of the wave]
    #[arg(long, value_name = "LANES")]
    pub(crate) lane: Option<String>,
    /// Evaluate in this call frame; 0 is the innermost
    #[arg(long, value_name = "N", requires = "program", requires = "stopped")]
    pub(crate) frame: Option<usize>,
    /// Require this kind of result
    #[arg(long, value_enum, default_value_t)]
    pub(crate) result: ResultName,
    /// Also read this many bits at the resulting location
    #[arg(long, value_name = "BITS")]
    pub(crate) read: Option<u64>,
    /// Push the result of this expression first; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub(crate) initial_stack: Vec<String>,
    /// Use the result of this expression as the current object
    #[arg(long, value_name = "TEXT")]
    pub(crate) object_location: Option<String>,
    /// Use addresses of this many bytes
    #[arg(long, value_name = "4|8", default_value_t = 8, value_parser = clap::value_parser!(u8).range(4..=8))]
    pub(crate) address_size: u8,
    /// Execute at most N operations; short for `--limit steps=N`
    #[arg(long, value_name = "N")]
    pub(crate) max_steps: Option<u32>,
    /// Accept what known compilers emit, where it differs from the specification
    #[arg(long)]
    pub(crate) tolerant: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// The required kind of result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultName {
    /// A location.
    Location,
    /// A value.
    Value,
    /// Either.
    #[default]
    Any,
}
