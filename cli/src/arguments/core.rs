//! The arguments of `core`, and of a core in place of a code object.

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

Exit status: 0 all of it could be read, 1 a part, 2 nothing.";

pub(super) const CORE_HELP: &str = "Examples:
  hetdwarf core merged.core
  hetdwarf core gpucore.4242 core.4242
  hetdwarf core merged.core --object-path build --source-dir src
  hetdwarf core merged.core --group-by kernel --format json
  hetdwarf core merged.core --export waves
  hetdwarf core merged.core --fault-address 0x7f0005202000
  hetdwarf core crashes/*.core --tree
  hetdwarf core --how

What the ROCm runtime writes (gpucore.PID) has scratch, code and buffers of the GPU; what the kernel writes (core.PID) \
has everything else, and waves are there. Give both, or what roccoremerge or rocgdb's gcore made of them.

Exit status: 0 all of it could be read, 1 a part, 2 nothing.";

#[derive(Debug, Args)]
pub(crate) struct CoreArguments {
    /// The core file; or the GPU's half and the host's, in any order. Of more processes than one: a table of their distinct crashes
    #[arg(value_name = "FILE", required_unless_present = "how")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) objects: CoreObjects,
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
    /// Also write each wave as a snapshot, wave-INDEX.json (hetdwarf-wave/1), and each code object, object-N.hsaco
    #[arg(long, value_name = "DIR")]
    pub(crate) export: Option<PathBuf>,
    /// Also write a page for a browser, one file: groups of waves, and of each wave its lanes, stack, source and variables;
    /// with --all those of every wave, however many there are. Of several processes, their crashes
    #[arg(long, value_name = "OUT")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArguments,
    /// With --export: how many MiB are written at most; without it 1,024, and 1,024 times the size of the core
    #[arg(long, value_name = "MIB", requires = "export")]
    pub(crate) export_limit: Option<u64>,
    /// With --export: which memory the snapshots have besides LDS, scratch and kernel arguments
    #[arg(long, value_enum, default_value_t, requires = "export")]
    pub(crate) memory: MemoryName,
    /// Look for the access to this address, or to its page: the one that the runtime said a wave has faulted at
    #[arg(long, value_name = "ADDRESS", value_parser = parse_offset)]
    pub(crate) fault_address: Option<u64>,
    /// Say where an address of the process lies: in which memory, or how far from it, and from what arguments of the kernel point to
    #[arg(long = "where", value_name = "ADDRESS", value_parser = parse_offset)]
    pub(crate) whereabouts: Option<u64>,
    /// Say how to get a core, and what prevents one; no file is read
    #[arg(long)]
    pub(crate) how: bool,
    /// What the waves of a group have in common
    #[arg(long, value_enum, default_value_t)]
    pub(crate) group_by: GroupByName,
    /// Show the call stacks of all waves as one tree, with the distinct crashes
    #[arg(long)]
    pub(crate) tree: bool,
    /// With several processes: how many cores are read at once; by default as many as there are processors
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Every wave that stopped in full, and a line for each wave
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) recovery: RecoveryArguments,
    /// The GPUs
    #[arg(long)]
    pub(crate) agents: bool,
    /// The queues
    #[arg(long)]
    pub(crate) queues: bool,
    /// The dispatches
    #[arg(long)]
    pub(crate) dispatches: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: CoreFormat,
}

/// How the answer about a core is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CoreFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// A JSON document in a line for each wave, for collections of crashes.
    Jsonl,
}

/// Which global memory is exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemoryName {
    /// What the variables of the frames reach.
    #[default]
    Reached,
    /// All that the core has.
    All,
}

/// What waves of a group have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupByName {
    /// The call stack.
    #[default]
    Stack,
    /// The kernel.
    Kernel,
    /// The line they are at.
    Line,
    /// Nothing: each wave by itself.
    None,
}

/// The code objects of a core that are not in it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CoreObjects {
    /// A code object in place of one that is lost or stripped: where its code is found loaded, or at LOAD
    #[arg(long = "object", value_name = "OBJ[@LOAD]")]
    pub(crate) given: Vec<PathBuf>,
    /// A folder to look in for code objects that are lost or stripped, and for those that are in files
    #[arg(long = "object-path", value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
}

impl CoreObjects {
    /// The files that are named.
    fn files(&self) -> impl Iterator<Item = &Path> {
        self.given.iter().map(|given| object_and_load(given).0)
    }
}

/// The file and the load address of `OBJ[@LOAD]`.
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
    /// The files that are read.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.files
            .iter()
            .map(PathBuf::as_path)
            .chain(self.objects.files())
    }
}

impl CoreChoice {
    /// The files that are read.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.core
            .iter()
            .map(PathBuf::as_path)
            .chain(self.objects.files())
    }
}

impl CoreObjectChoice {
    /// The files that are read.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.core
            .iter()
            .map(PathBuf::as_path)
            .chain(self.objects.files())
    }
}

/// A core in place of a code object, whose waves `--wave` chooses from.
#[derive(Debug, Args)]
pub(crate) struct CoreChoice {
    /// A core file in place of OBJECT, or twice for the GPU's half and the host's; --wave is then the number of a wave,
    /// QUEUE:PACKET:(x,y,z)/w, or `stopped` (the default: the first that faulted)
    #[arg(long, value_name = "FILE")]
    pub(crate) core: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) objects: CoreObjects,
}

/// A core in place of a code object, which is one of its own.
#[derive(Debug, Args)]
pub(crate) struct CoreObjectChoice {
    /// A core file in place of OBJECT, or twice for the GPU's half and the host's
    #[arg(long, value_name = "FILE")]
    pub(crate) core: Vec<PathBuf>,
    /// Of the code objects of the core, the one with this number, from 0, as `hetdwarf core` lists them
    #[arg(long, value_name = "N", requires = "core")]
    pub(crate) code_object: Option<usize>,
    #[command(flatten)]
    pub(crate) objects: CoreObjects,
}
