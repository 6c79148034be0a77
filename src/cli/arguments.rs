//! The arguments.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::limits::LimitArguments;
use crate::arch::WaveSize;
use crate::verify::Profile;

/// Reads the DWARF of GPU code: variables of stopped waves, lane by lane, call stacks, locations.
#[derive(Debug, Parser)]
#[command(name = "hetdwarf", version, propagate_version = true)]
#[command(
    after_help = "Exit status: 0 done, 1 the answer is bad news, 2 the command could not run."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the variables of a stopped wave, in every lane
    #[command(
        override_usage = "hetdwarf vars [OPTIONS] <OBJECT> --wave <FILE>\n       \
        hetdwarf vars [OPTIONS] --core <FILE> [--wave <SEL>]",
        after_help = VARS_EXAMPLES
    )]
    Vars(VarsArguments),
    /// Evaluate expressions of C in a stopped wave, in every lane
    #[command(
        override_usage = "hetdwarf print [OPTIONS] <OBJECT> --wave <FILE> <EXPR>...\n       \
        hetdwarf print [OPTIONS] --core <FILE> [--wave <SEL>] <EXPR>...",
        after_help = PRINT_EXAMPLES
    )]
    Print(PrintArguments),
    /// Evaluate an expression
    #[command(
        after_help = "Examples:\n  hetdwarf eval --expr 'DW_OP_lit6, DW_OP_lit7, DW_OP_mul'\n  \
        hetdwarf eval --expr 'regx v4, push_lane, lit4, mul, offset' --wave stop.json --lane all --read 32\n  \
        hetdwarf eval --batch vectors.jsonl --format json\n  \
        hetdwarf eval --expr 'regx v4' --core merged.core --wave 12 --lane all --read 32"
    )]
    Eval(EvalArguments),
    /// Print the call stack of a stopped wave
    #[command(
        override_usage = "hetdwarf unwind [OPTIONS] <OBJECT> --wave <FILE>\n       \
        hetdwarf unwind [OPTIONS] --core <FILE> [--wave <SEL>]",
        after_help = "Examples:\n  hetdwarf unwind kernel.hsaco --wave stop.json --registers\n  \
        hetdwarf unwind kernel.hsaco --wave stop.json --registers --lane 0-3\n  \
        hetdwarf unwind --core merged.core --wave 12\n  \
        hetdwarf unwind --core gpucore.4242 --core core.4242 --all-waves"
    )]
    Unwind(UnwindArguments),
    /// Show where each lane of a stopped wave is
    #[command(
        override_usage = "hetdwarf lane-pc [OPTIONS] <OBJECT> --wave <FILE>\n       \
        hetdwarf lane-pc [OPTIONS] --core <FILE> [--wave <SEL>]",
        after_help = LANE_PC_EXAMPLES
    )]
    LanePc(LanePcArguments),
    /// Add to a code object where the lanes are that EXEC has switched off, for every debugger
    #[command(after_help = ANNOTATE_EXAMPLES)]
    Annotate(AnnotateArguments),
    /// Show what the waves of a GPU core file were doing
    #[command(after_help = CORE_EXAMPLES, after_long_help = CORE_HELP)]
    Core(CoreArguments),
    /// Make snapshots of waves out of what ROCm's debug agent printed
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(ImportArguments),
    /// Print what a code object is: target, kernels and their resources, debugging information
    #[command(
        after_help = "Examples:\n  hetdwarf info kernel.hsaco\n  hetdwarf info a.out --target gfx90a\n  \
        hetdwarf info --core merged.core --code-object 0"
    )]
    Info(InfoArguments),
    /// Print DWARF register numbers and what they stand for
    #[command(after_help = "Examples:\n  hetdwarf regs\n  hetdwarf regs 2602\n  \
        hetdwarf regs v0-v7 --wave-size 32\n  hetdwarf regs --target gfx90a")]
    Regs(RegsArguments),
    /// Show what a core file says that is built in: which wave died, where, and the variables of each lane
    Demo(DemoArguments),
    /// Print a script that completes the arguments in a shell
    #[command(after_help = "Example:\n  hetdwarf completions bash > \
        ~/.local/share/bash-completion/completions/hetdwarf")]
    Completions(CompletionsArguments),
    /// Print what a code object's debugging information says, as llvm-dwarfdump does
    #[command(after_help = DUMP_EXAMPLES, after_long_help = DUMP_JSON)]
    Dump(DumpArguments),
    /// Check debugging information by rules, for a compiler's tests and for CI
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(VerifyArguments),
}

const VARS_EXAMPLES: &str = "Examples:
  hetdwarf vars kernel.hsaco --wave stop.json --name 'v*'
  hetdwarf vars kernel.hsaco --wave stop.json --frame all --lane 0-7,12
  hetdwarf vars kernel.hsaco --wave stop.json --depth 2
  hetdwarf vars kernel.hsaco --wave stop.json --lane 3 --children 2 --format json
  dump-wave | hetdwarf vars kernel.hsaco --wave - --format json
  hetdwarf vars --core merged.core --wave stopped

Exit status: 0 done, 1 no variable could be read (the answer says why), 2 the command could not run.";
const PRINT_EXAMPLES: &str = "Examples:
  hetdwarf print kernel.hsaco --wave stop.json 'p->next->x' 'a[i] + 1' '&v'
  hetdwarf print kernel.hsaco --wave stop.json --lane 0-3,7 '*q@4' 'sizeof(struct T)'
  hetdwarf print kernel.hsaco --wave stop.json --frame 1 'n > 0 ? total / n : 0' '$v3' '$exec'
  hetdwarf print kernel.hsaco --wave stop.json '*(float *) local#0x40'
  hetdwarf print --core merged.core --wave 12 'p->x'
  hetdwarf print --core gpucore.4242 --core core.4242 --all-waves 'n'

Operators are C's; `p[0]@n` is an array of n elements, as in gdb. Nothing is assigned or called.

Exit status: 0 done, 1 an expression is wrong or none has a value, 2 the command could not run.";

const LANE_PC_EXAMPLES: &str = "Examples:
  hetdwarf lane-pc kernel.hsaco --wave stop.json
  hetdwarf lane-pc kernel.hsaco --wave stop.json --html lanes.html --source-dir src
  hetdwarf lane-pc kernel.hsaco --wave stop.json --svg lanes.svg --source-dir /build/project=.
  hetdwarf lane-pc --core merged.core --wave '1:382:(0,0,0)/0'";

const ANNOTATE_EXAMPLES: &str = "Examples:
  hetdwarf annotate kernel.hsaco -o annotated.hsaco
  hetdwarf annotate kernel.hsaco -o annotated.hsaco --only 'my_*' --report

What is loaded stays as it is, byte for byte. Functions that say it already are left alone.

Exit status: 0 OUT was written (also if nothing could be added), 2 it was not.";

const VERIFY_EXAMPLES: &str = "Examples:
  hetdwarf verify kernel.hsaco
  hetdwarf verify build --format sarif > hetdwarf.sarif
  hetdwarf verify build --write-baseline known.json
  hetdwarf verify build --baseline known.json --deny 'cfi-*'
  hetdwarf verify build --allow machine-code    # four times as fast
  hetdwarf verify --explain cfi-entry

hetdwarf.toml, in this folder or the next above that has one, has a repository's choices:
  [verify]
  allow = [\"RULE\"]          # and warn, deny; options go before what is said here
  exclude = [\"third_party\"]  # paths from the folder of the file; names without / in any folder
  baseline = \"known.json\"      # in the folder of the file or below

Exit status: 0 no error was found, 1 errors were found, 2 not everything could be checked,\nor nothing was found to check.";

const IMPORT_EXAMPLES: &str = "Examples:
  hetdwarf import run.log -o waves --object kernel.hsaco
  hetdwarf import run.log -o waves --target gfx1100

The agent is librocm-debug-agent.so.2, in HSA_TOOLS_LIB; --save-code-objects in ROCM_DEBUG_AGENT_OPTIONS writes the code
objects too. Its text has no scratch and no global memory: what is there is unavailable.

Exit status: 0 done, 2 there is no wave in it, its target is not known, or it could not be read.";

const CORE_EXAMPLES: &str = "Examples:
  hetdwarf core merged.core
  hetdwarf core gpucore.4242 core.4242
  hetdwarf core merged.core --object-path build --source-dir src
  hetdwarf core merged.core --group-by kernel --format json
  hetdwarf core merged.core --export waves

Exit status: 0 all of it could be read, 1 a part, 2 nothing.";

const CORE_HELP: &str = "Examples:
  hetdwarf core merged.core
  hetdwarf core gpucore.4242 core.4242
  hetdwarf core merged.core --object-path build --source-dir src
  hetdwarf core merged.core --group-by kernel --format json
  hetdwarf core merged.core --export waves

What the ROCm runtime writes (gpucore.PID) has scratch, code and buffers of the GPU; what the kernel writes (core.PID) \
has everything else, and waves are there. Give both, or what roccoremerge or rocgdb's gcore made of them.

Exit status: 0 all of it could be read, 1 a part, 2 nothing.";

const DUMP_EXAMPLES: &str = "Examples:
  hetdwarf dump kernel.hsaco --name 'v*'
  hetdwarf dump kernel.hsaco --debug-frame
  hetdwarf dump kernel.hsaco --die 0x1f3 --format json";

const DUMP_JSON: &str = "Examples:
  hetdwarf dump kernel.hsaco --name 'v*'
  hetdwarf dump kernel.hsaco --debug-frame
  hetdwarf dump kernel.hsaco --die 0x1f3 --format json

Without --debug-…, --debug-info is printed. A part that is malformed is an error in its place, \
the rest is printed, and the exit status is 2.

The JSON document is {\"format\": \"hetdwarf-dump/1\"} with a field for each part that was asked for:
  units           --debug-info: section, offset, length, version, dwarf_format, kind, abbrev_offset, \
address_size, dwo_id, type_signature, type_offset, entries
    entries       in the order of the section: offset, depth (0 for the first), tag, attributes
    attributes    name, form, class (address, block, constant, exprloc, flag, loclist, rnglist, \
reference, string or offset), value
                  text       what the value stands for: a name, a path, the name of the entry referred to
                  bytes      of blocks and expressions; value is an expression's text
                  list       of location lists: range ([start, end], or \"default\"), value, bytes
                  ranges     of range lists: [start, end]
                  error      in place of value
  location_lists  --debug-loclists: section, offset, entries (kind, operands, range, value, bytes)
  line_tables     --debug-line: offset, version, …, directories, files, rows (address, line, column, \
file, isa, discriminator, op_index, flags)
  frames          --debug-frame: section, offset, kind (cie, fde or terminator), …, instructions, rows
  address_ranges  --debug-aranges: offset, unit, …, ranges
  name_indexes    --debug-names: offset, units, abbreviations, names (name, hash, entries), …
Offsets and addresses are strings, \"0x…\"; so are constants that may pass 2^53. Bytes are hexadecimal digits.";

#[derive(Debug, Args)]
pub(crate) struct DumpArguments {
    /// The code object or .dwo file, or a bundle or host program that contains it
    #[arg(required_unless_present = "core", conflicts_with = "core")]
    pub(crate) object: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) core: CoreObjectChoice,
    #[command(flatten)]
    pub(crate) which: ObjectArguments,
    /// Print the entries of all units, with their attributes (the default)
    #[arg(long)]
    pub(crate) debug_info: bool,
    /// Print the sections of location lists
    #[arg(long)]
    pub(crate) debug_loclists: bool,
    /// Print the line tables
    #[arg(long)]
    pub(crate) debug_line: bool,
    /// Print the entries, instructions and rows of the call frame information
    #[arg(long)]
    pub(crate) debug_frame: bool,
    /// Print the index of names
    #[arg(long)]
    pub(crate) debug_names: bool,
    /// Print which addresses the units say they cover
    #[arg(long)]
    pub(crate) debug_aranges: bool,
    /// Only entries whose name or linkage name matches, each alone
    #[arg(long, value_name = "GLOB", conflicts_with = "die")]
    pub(crate) name: Option<String>,
    /// Only the entry at this offset, and what is below it
    #[arg(long, value_name = "OFFSET", value_parser = parse_offset)]
    pub(crate) die: Option<u64>,
    /// With --name: also what is below each entry
    #[arg(long, requires = "name")]
    pub(crate) show_children: bool,
    /// Which names are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) style: DumpStyle,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Which names a dump has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DumpStyle {
    /// Those of all registers and address spaces.
    #[default]
    Names,
    /// Those that llvm-dwarfdump 22 prints.
    Llvm,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Code objects, bundles, archives, host objects and programs, and folders of such
    #[arg(value_name = "PATH", required_unless_present_any = ["list", "explain"])]
    pub(crate) paths: Vec<PathBuf>,
    /// Only these rules; `cfi-*` is all whose names start so, `machine-code` those that read machine code
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) rules: Vec<String>,
    /// Drop what this rule finds
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
    /// Make what this rule finds a warning
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) warn: Vec<String>,
    /// Make what this rule finds an error
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) deny: Vec<String>,
    /// Who asks, and so what counts; without it what hetdwarf.toml says, or else compiler
    #[arg(long, value_enum, value_name = "WHO")]
    pub(crate) profile: Option<ProfileName>,
    /// How many threads check files and their parts; by default as many as there are processors
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Only what is not in this file counts and is printed
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write what is found to this file, and take it as known
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    pub(crate) write_baseline: Option<PathBuf>,
    /// The choices of this file, instead of the next hetdwarf.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Every finding by itself, not one for each cause
    #[arg(long)]
    pub(crate) each: bool,
    /// Only the table: for each rule its level and how many findings, functions and files
    #[arg(long, conflicts_with_all = ["each", "list", "explain"])]
    pub(crate) summary: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// Print the rules
    #[arg(long, conflicts_with_all = ["paths", "explain"])]
    pub(crate) list: bool,
    /// Print what there is to say of a rule, or of those that a name stands for
    #[arg(long, value_name = "RULE", conflicts_with = "paths")]
    pub(crate) explain: Option<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: VerifyFormat,
}

/// Who asks for a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProfileName {
    /// Who works on a compiler, an assembler or a linker: everything.
    Compiler,
    /// Who ships code objects: errors and warnings.
    Release,
    /// Who takes the compiler as it is: errors are notes that say what a debugger shows wrongly.
    Application,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Profile {
        match name {
            ProfileName::Compiler => Profile::Compiler,
            ProfileName::Release => Profile::Release,
            ProfileName::Application => Profile::Application,
        }
    }
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerifyFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// SARIF 2.1.0, for code hosts and editors.
    Sarif,
    /// Annotations of a GitHub workflow.
    Github,
    /// A line for each finding, which stays the same when code only moves: for `FileCheck` and grep.
    Lines,
    /// `JUnit` XML, for other CIs.
    Junit,
}

/// How the answer is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
}

/// Which codes the heterogeneous operations have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    /// Today's: two codes, of which the first is 0xe9.
    #[default]
    User,
    /// Codes of one byte, as emitted from 2020 to 2022.
    OneByte,
    /// The codes of the first draft.
    Draft,
}

#[derive(Debug, Args)]
pub(crate) struct CoreArguments {
    /// The core file; or the GPU's half and the host's, in any order
    #[arg(value_name = "FILE", required = true, num_args = 1..=2)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) objects: CoreObjects,
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
    /// Also write each wave as a snapshot, wave-INDEX.json (hetdwarf-wave/1), and each code object, object-N.hsaco
    #[arg(long, value_name = "DIR")]
    pub(crate) export: Option<PathBuf>,
    /// Also write a page for a browser, one file: groups of waves, and of each wave its lanes, stack, source and variables;
    /// with --all those of every wave, however many there are
    #[arg(long, value_name = "OUT")]
    pub(crate) html: Option<PathBuf>,
    /// With --export: which memory the snapshots have besides LDS, scratch and kernel arguments
    #[arg(long, value_enum, default_value_t, requires = "export")]
    pub(crate) memory: MemoryName,
    /// What the waves of a group have in common
    #[arg(long, value_enum, default_value_t)]
    pub(crate) group_by: GroupByName,
    /// Every wave that stopped in full, and a line for each wave
    #[arg(long)]
    pub(crate) all: bool,
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
    pub(crate) format: Format,
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

/// Where the source is, if it is not in the debugging information.
#[derive(Debug, Args)]
pub(crate) struct SourceArguments {
    /// A folder to look in for the source, or OLD=NEW: what is below OLD in the debugging information is below NEW. No other
    /// file is shown
    #[arg(long = "source-dir", alias = "source-path", value_name = "DIR|OLD=NEW")]
    pub(crate) source_dirs: Vec<String>,
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

/// Which code object of a file.
#[derive(Debug, Args)]
pub(crate) struct ObjectArguments {
    /// Of several code objects in the file, the one for this processor (gfx90a, gfx90a:xnack+)
    #[arg(long, value_name = "TARGET", conflicts_with = "index")]
    pub(crate) target: Option<String>,
    /// Of several code objects in the file, the one with this number, from 0
    #[arg(long, value_name = "N")]
    pub(crate) index: Option<usize>,
    /// The .dwo file with the debugging information
    #[arg(long, value_name = "FILE")]
    pub(crate) dwo: Option<PathBuf>,
    /// Which codes the heterogeneous operations have
    #[arg(long, value_enum, default_value_t)]
    pub(crate) dialect: DialectName,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
}

/// Which call frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameChoice {
    /// The one of this level, 0 for the innermost.
    One(usize),
    /// All, the innermost first.
    All,
}

/// By the letter or as producers need it.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct StrictArguments {
    /// Read the DWARF by the letter, also where producers mean something else
    #[arg(long, conflicts_with = "tolerant")]
    pub(crate) strict: bool,
    /// Read the DWARF as real producers need it (the default)
    #[arg(long)]
    pub(crate) tolerant: bool,
}

/// Which wave is asked about: that of a file, with the code object that it runs, or one of a core.
#[derive(Debug, Args)]
pub(crate) struct StopArguments {
    /// The code object, or a bundle or host program that contains it
    #[arg(required_unless_present = "core", conflicts_with = "core")]
    pub(crate) object: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) which: ObjectArguments,
    /// The stopped wave (hetdwarf-wave/1); - reads standard input
    #[arg(long, value_name = "FILE", required_unless_present = "core")]
    pub(crate) wave: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) core: CoreChoice,
}

#[derive(Debug, Args)]
pub(crate) struct VarsArguments {
    #[command(flatten)]
    pub(crate) stop: StopArguments,
    /// The lanes: 3 or 0-7,12, each where it waits, or all where the frame stands (the default, but text shows only
    /// lanes known to be active in a caller whose EXEC is not known)
    #[arg(long, value_name = "LANES")]
    pub(crate) lane: Option<String>,
    /// The call frame, 0 for the innermost, or all
    #[arg(long, value_name = "N|all", default_value = "0", value_parser = parse_frame)]
    pub(crate) frame: FrameChoice,
    /// Only variables whose name matches
    #[arg(long, value_name = "GLOB")]
    pub(crate) name: Option<String>,
    /// How deep nested structures and arrays are printed; deeper ones are {...}
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,
    /// With --format json: also list the parts of each value, N levels of them (1, if it is left out): members,
    /// elements, what pointers point to
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1",
        value_parser = clap::value_parser!(u32).range(..=16))]
    pub(crate) children: Option<u32>,
    #[command(flatten)]
    pub(crate) reading: StrictArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct PrintArguments {
    /// The code object, or a bundle or host program that contains it; left out with --core
    #[arg(required = true)]
    pub(crate) object: PathBuf,
    /// What to evaluate; one that starts with `-` comes after `--`
    #[arg(value_name = "EXPR", required_unless_present = "core")]
    pub(crate) expressions: Vec<String>,
    #[command(flatten)]
    pub(crate) which: ObjectArguments,
    /// The stopped wave (hetdwarf-wave/1); - reads standard input
    #[arg(long, value_name = "FILE", required_unless_present = "core")]
    pub(crate) wave: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) core: CoreChoice,
    /// Ask every wave of the core; those with equal answers are one group. Work-items are left out
    #[arg(long, requires = "core", conflicts_with = "wave")]
    pub(crate) all_waves: bool,
    /// Lanes, or all (the default, but text shows only lanes known to be active in a caller whose EXEC is not
    /// known)
    #[arg(long, value_name = "N|A-B,C|all")]
    pub(crate) lane: Option<String>,
    /// The call frame, 0 for the innermost
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) frame: usize,
    #[command(flatten)]
    pub(crate) reading: StrictArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct UnwindArguments {
    #[command(flatten)]
    pub(crate) stop: StopArguments,
    /// The lanes whose values are shown of vector registers: 3, 0-7,12 or all (the default). The first of them also
    /// says which value is shown of a scalar register that was saved in per-lane memory
    #[arg(long, value_name = "LANES")]
    pub(crate) lane: Option<String>,
    /// Also show the registers of each frame and where they were found
    #[arg(long)]
    pub(crate) registers: bool,
    /// The call stacks of every wave of the core; equal ones are one group. Registers are left out without --registers,
    /// and work-items are
    #[arg(long, requires = "core", conflicts_with = "wave")]
    pub(crate) all_waves: bool,
    #[command(flatten)]
    pub(crate) reading: StrictArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct LanePcArguments {
    #[command(flatten)]
    pub(crate) stop: StopArguments,
    /// The call frame, 0 for the innermost
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) frame: usize,
    /// Find lanes in the machine code even where an attribute says where they are; without either option, where
    /// none does
    #[arg(long, conflicts_with = "no_recover")]
    pub(crate) recover: bool,
    /// Say only what attributes say
    #[arg(long)]
    pub(crate) no_recover: bool,
    /// Also draw the lanes beside the source, as an SVG picture for browsers
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Also draw the lanes beside the source, as a page for browsers
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct AnnotateArguments {
    /// The code object, or a bundle, relocatable host object or archive with some
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// The file that is written: another one
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Only functions whose name matches
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Option<String>,
    /// Also list the functions: how much of each is covered, and why not more
    #[arg(long)]
    pub(crate) report: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// What the program and the agent printed
    #[arg(value_name = "LOG", required = true)]
    pub(crate) logs: Vec<PathBuf>,
    /// The folder for the snapshots, wave-N.json with the agent's number of the wave
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// A code object of the program, perhaps one that the agent saved; it gives the target and where it is loaded
    #[arg(long = "object", value_name = "OBJ")]
    pub(crate) objects: Vec<PathBuf>,
    /// The target of the waves, if no code object says it (gfx90a, gfx90a:xnack+)
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct InfoArguments {
    /// A code object, or a bundle or host program that contains some
    #[arg(required_unless_present = "core", conflicts_with = "core")]
    pub(crate) object: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) core: CoreObjectChoice,
    /// Of several code objects in the file, the one for this processor (gfx90a, gfx90a:xnack+)
    #[arg(long, value_name = "TARGET", conflicts_with = "index")]
    pub(crate) target: Option<String>,
    /// Of several code objects in the file, the one with this number, from 0
    #[arg(long, value_name = "N")]
    pub(crate) index: Option<usize>,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Write the core file, for other commands, and print nothing
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RegsArguments {
    /// A name (v42, exec, VGPR42), a DWARF number, or a range (v0-v7, 2560-2815); without it all ranges
    #[arg(value_name = "NAME|NUMBER|RANGE")]
    pub(crate) registers: Option<String>,
    /// Also say which of them this processor has
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// Only registers that waves of this size have
    #[arg(long, value_name = "32|64", value_parser = parse_wave_size)]
    pub(crate) wave_size: Option<WaveSize>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
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

fn parse_offset(text: &str) -> Result<u64, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| "expected a number, in decimal or after 0x in hexadecimal".to_owned())
}

fn parse_frame(text: &str) -> Result<FrameChoice, String> {
    if text == "all" {
        return Ok(FrameChoice::All);
    }
    let level = text.parse().map(FrameChoice::One);
    level.map_err(|_| "expected the number of a frame, from 0, or all".to_owned())
}

fn parse_wave_size(text: &str) -> Result<WaveSize, String> {
    let lanes = text.parse().ok();
    lanes
        .and_then(WaveSize::from_lanes)
        .ok_or_else(|| "expected 32 or 64".to_owned())
}
