//! The arguments of `profile`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::super::limits::LimitArguments;
use super::sources::SourceArguments;

pub(super) const PROFILE_EXAMPLES: &str = "Examples:
  rocprofv3 --pc-sampling-beta-enabled --pc-sampling-method host_trap --pc-sampling-unit time \\
      --pc-sampling-interval 1 --output-format json -d out -- ./app
  hetdwarf profile out/*/*_results.json --object-path build
  hetdwarf profile 4242_results.json --object app --by function --format json
  hetdwarf profile 4242_results.json --format folded | flamegraph.pl > flame.svg
  hetdwarf profile 4242_results.json --source-dir src --format html > profile.html

Code objects are taken from --object, from folders given by --object-path, and from `…_code_object_id_N.out` beside the \
file. A database of rocpd (SQLite) is not read: run rocprofv3 with `--output-format json`.

Exit status: 0 the samples were counted, 1 a part of them (a file is damaged, or no sample could be looked up), 2 nothing \
could be read, or a limit was reached.";

#[derive(Debug, Args)]
pub(crate) struct ProfileArguments {
    /// PC samples of rocprofv3 (JSON or CSV), or the statistics of a thread trace (code.json or CSV)
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A code object, or a file that contains some, matched by target and size
    #[arg(long = "object", value_name = "OBJ")]
    pub(crate) given: Vec<PathBuf>,
    /// A folder to look in for code objects
    #[arg(long = "object-path", value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    /// What samples are grouped by
    #[arg(long, value_enum, default_value_t)]
    pub(crate) by: ByName,
    /// Print the first N rows only; without it 40 as text, and all in other formats
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ProfileFormat,
}

/// What samples are grouped by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByName {
    /// The line of the innermost inlined call.
    #[default]
    Line,
    /// The innermost function, inlined or not.
    Function,
    /// The kernel.
    Kernel,
    /// The instruction.
    Instruction,
    /// The functions, inlined ones included.
    Stack,
}

/// How a profile is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON document, hetdwarf-profile/1.
    Json,
    /// A line for each stack, for flame graphs.
    Folded,
    /// A page for a browser: the source with what was counted at each line.
    Html,
}
