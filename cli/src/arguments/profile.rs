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

Code objects come from --object, from the directories of --object-path, and from `…_code_object_id_N.out` beside the \
file or its folder `ui_output_…`. rocpd databases (SQLite) are not supported: run rocprofv3 with `--output-format json`.

Exit status: 0 all samples were counted, 1 only a part (a file is damaged, or no sample could be located), 2 nothing could \
be read, or a limit was reached.";

#[derive(Debug, Args)]
pub(crate) struct ProfileArguments {
    /// PC samples from rocprofv3 (JSON or CSV), or thread trace statistics (code.json or CSV)
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Use this code object, or those in this file, matched by target and size
    #[arg(long = "object", value_name = "OBJ")]
    pub(crate) given: Vec<PathBuf>,
    /// Search this directory for code objects
    #[arg(long = "object-path", value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    /// Group samples by this
    #[arg(long, value_enum, default_value_t)]
    pub(crate) by: ByName,
    /// Print only the first N rows [default: 40 as text, all in other formats]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ProfileFormat,
}

/// The key by which samples are grouped.
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

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON document, hetdwarf-profile/1.
    Json,
    /// One line per stack, for flame graphs.
    Folded,
    /// An HTML page: the source with the counts of each line.
    Html,
}
