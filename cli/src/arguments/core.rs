//! The arguments of `core`, and the arguments that select a core in place of a code object.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::super::limits::LimitArguments;
use super::super::outputs::ForceArguments;
use super::format::parse_offset;
use super::recovery::RecoveryArguments;
use super::sources::SourceArguments;

pub(super) const CORE_EXAMPLES: &str = "Examples:
  hetdwarf core merged.core
  hetdwarf core gpucore.4242 core.4242
  hetdwarf core merged.core --object-path build --source-dir src
  hetdwarf core merged.core --group-by kernel --format json
  hetdwarf core merged.core --export waves
  hetdwarf core merged.core --fault-address 0x7f0005202000
  hetdwarf core crashes/*.core --tree
  hetdwarf core --how

Exit status: 0 everything could be read, 1 only a part, 2 nothing.";

pub(super) const CORE_HELP: &str = "Examples:
  hetdwarf core merged.core
  hetdwarf core gpucore.4242 core.4242
  hetdwarf core merged.core --object-path build --source-dir src
  hetdwarf core merged.core --group-by kernel --format json
  hetdwarf core merged.core --export waves
  hetdwarf core merged.core --fault-address 0x7f0005202000
  hetdwarf core crashes/*.core --tree
  hetdwarf core --how

The ROCm runtime writes scratch, code and buffers of the GPU to gpucore.PID. The Linux kernel writes everything else, \
including the waves, to core.PID. Give both files, or one file made by roccoremerge or rocgdb's gcore.

Exit status: 0 everything could be read, 1 only a part, 2 nothing.";

#[derive(Debug, Args)]
pub(crate) struct CoreArguments {
    /// The core file, or the GPU file and the host file in any order; `-` reads standard input. With files of several
    /// processes: print a table of distinct crashes
    #[arg(value_name = "FILE", required_unless_present = "how")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) objects: CoreObjects,
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
    /// Also write each wave as a snapshot (wave-INDEX.json, hetdwarf-wave/1) and each code object (object-N.hsaco) to this
    /// directory
    #[arg(long, value_name = "DIR")]
    pub(crate) export: Option<PathBuf>,
    /// Also write an HTML page with the groups of waves, and the lanes, stack, source and variables of the most important
    /// waves, or with --all of every wave. With files of several processes: a page of their crashes
    #[arg(long, value_name = "OUT")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArguments,
    /// With --export: write at most this many MiB [default: 1024, plus 1024 times the size of the core]
    #[arg(long, value_name = "MIB", requires = "export")]
    pub(crate) export_limit: Option<u64>,
    /// With --export: the memory to include besides LDS, scratch and kernel arguments
    #[arg(long, value_enum, default_value_t, requires = "export")]
    pub(crate) memory: MemoryName,
    /// Find the access to this address or its page, as reported by the runtime
    #[arg(long, value_name = "ADDRESS", value_parser = parse_offset)]
    pub(crate) fault_address: Option<u64>,
    /// Print the memory that contains this address, or the distance to the nearest memory and kernel argument
    #[arg(long = "where", value_name = "ADDRESS", value_parser = parse_offset)]
    pub(crate) whereabouts: Option<u64>,
    /// Explain how to get a core file; no file is read
    #[arg(long)]
    pub(crate) how: bool,
    /// Group waves by this
    #[arg(long, value_enum, default_value_t)]
    pub(crate) group_by: GroupByName,
    /// Show the call stacks of all waves as one tree, with the distinct crashes
    #[arg(long)]
    pub(crate) tree: bool,
    /// With several processes: read N cores at once [default: the number of processors]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Show every stopped wave in full, and one line for each wave
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) recovery: RecoveryArguments,
    /// Show the GPUs
    #[arg(long)]
    pub(crate) agents: bool,
    /// Show the queues
    #[arg(long)]
    pub(crate) queues: bool,
    /// Show the dispatches
    #[arg(long)]
    pub(crate) dispatches: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: CoreFormat,
}

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CoreFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// One line of JSON per wave, for collections of crashes.
    Jsonl,
}

/// The global memory to export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemoryName {
    /// Memory that variables of the frames point to.
    #[default]
    Reached,
    /// All memory of the core.
    All,
}

/// The key by which waves are grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupByName {
    /// The call stack.
    #[default]
    Stack,
    /// The kernel.
    Kernel,
    /// The line of the pc.
    Line,
    /// Nothing: each wave is a group.
    None,
}

/// The files and folders with code objects that are missing from a core.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CoreObjects {
    /// Use this file for a missing or stripped code object, matched by content or placed at LOAD
    #[arg(long = "object", value_name = "OBJ[@LOAD]")]
    pub(crate) given: Vec<PathBuf>,
    /// Search this directory for missing or stripped code objects
    #[arg(long = "object-path", value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
}

impl CoreObjects {
    /// Returns the named files.
    fn files(&self) -> impl Iterator<Item = &Path> {
        self.given.iter().map(|given| object_and_load(given).0)
    }
}

/// Splits `OBJ[@LOAD]` into the file and the load address.
pub(crate) fn object_and_load(given: &Path) -> (&Path, Option<u64>) {
    if let Some((path, address)) = given.to_str().and_then(|text| text.rsplit_once('@')) {
        let number = match address.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => address.parse().ok(),
        };
        if let Some(number) = number {
            return (Path::new(path), Some(number));
        }
    }
    (given, None)
}

impl CoreArguments {
    /// Returns the files that are read.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.files
            .iter()
            .map(PathBuf::as_path)
            .chain(self.objects.files())
    }
}

impl CoreChoice {
    /// Returns the files that are read.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.core
            .iter()
            .map(PathBuf::as_path)
            .chain(self.objects.files())
    }
}

impl CoreObjectChoice {
    /// Returns the files that are read.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.core
            .iter()
            .map(PathBuf::as_path)
            .chain(self.objects.files())
    }
}

/// The choice of a wave in a core, for commands that otherwise take a code object and `--wave`.
#[derive(Debug, Args)]
pub(crate) struct CoreChoice {
    /// Read the wave from a core file instead of OBJECT (give the option twice for separate GPU and host files). --wave
    /// then takes a wave number, QUEUE:PACKET:(x,y,z)/w, or `stopped` for the first faulted wave [default: stopped]
    #[arg(long, value_name = "FILE")]
    pub(crate) core: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) objects: CoreObjects,
}

/// The choice of a code object in a core, for commands that otherwise take the code object itself.
#[derive(Debug, Args)]
pub(crate) struct CoreObjectChoice {
    /// Read the code object from a core file (give the option twice for separate GPU and host files)
    #[arg(long, value_name = "FILE")]
    pub(crate) core: Vec<PathBuf>,
    /// Choose the code object with this number, counted from 0 as `hetdwarf core` lists them
    #[arg(long, value_name = "N", requires = "core")]
    pub(crate) code_object: Option<usize>,
    #[command(flatten)]
    pub(crate) objects: CoreObjects,
}
