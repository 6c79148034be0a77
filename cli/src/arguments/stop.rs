//! Which stopped wave, and the arguments of commands about one.

use std::path::PathBuf;

use clap::Args;

use super::super::limits::LimitArguments;
use super::super::outputs::ForceArguments;
use super::core::CoreChoice;
use super::format::Format;
use super::object::{ObjectArguments, StrictArguments};
use super::sources::SourceArguments;

/// Which frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameChoice {
    /// The one with this number, 0 for the innermost.
    One(usize),
    /// All, the innermost first.
    All,
}

/// Which wave is asked about: that of a file, or one of a core; and how its code object is read.
#[derive(Debug, Args)]
pub(crate) struct WaveArguments {
    #[command(flatten)]
    pub(crate) which: ObjectArguments,
    /// The stopped wave (hetdwarf-wave/1); - reads standard input
    #[arg(long, value_name = "FILE", required_unless_present = "core")]
    pub(crate) wave: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) core: CoreChoice,
}

/// Which wave is asked about: that of a file, with the code object that it runs, or one of a core.
#[derive(Debug, Args)]
pub(crate) struct StopArguments {
    /// The code object, or a bundle or host program that contains it
    #[arg(required_unless_present = "core", conflicts_with = "core")]
    pub(crate) object: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) wave: WaveArguments,
}

pub(super) const VARS_EXAMPLES: &str = "Examples:
  hetdwarf vars kernel.hsaco --wave stop.json --name 'v*'
  hetdwarf vars kernel.hsaco --wave stop.json --frame all --lane 0-7,12
  hetdwarf vars kernel.hsaco --wave stop.json --depth 2
  hetdwarf vars kernel.hsaco --wave stop.json --lane 3 --children 2 --format json
  dump-wave | hetdwarf vars kernel.hsaco --wave - --format json
  hetdwarf vars --core merged.core --wave stopped

Exit status: 0 done, 1 no variable could be read (the answer says why), 2 the command could not run.";

#[derive(Debug, Args)]
pub(crate) struct VarsArguments {
    #[command(flatten)]
    pub(crate) stop: StopArguments,
    /// Show these lanes, 3 or 0-7,12, each where it waits; or all where the frame stands (the default)
    #[arg(long, value_name = "LANES")]
    pub(crate) lane: Option<String>,
    /// Show this frame, numbered as by unwind, or all; without it, the innermost call with what is inlined in it
    #[arg(long, value_name = "N|all", value_parser = parse_frame)]
    pub(crate) frame: Option<FrameChoice>,
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
    /// Of kernels also the arguments that the compiler adds: sizes of the dispatch, buffers of the runtime
    #[arg(long)]
    pub(crate) hidden: bool,
    #[command(flatten)]
    pub(crate) reading: StrictArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

pub(super) const PRINT_EXAMPLES: &str = "Examples:
  hetdwarf print kernel.hsaco --wave stop.json 'p->next->x' 'a[i] + 1' '&v'
  hetdwarf print kernel.hsaco --wave stop.json --lane 0-3,7 '*q@4' 'sizeof(struct T)'
  hetdwarf print kernel.hsaco --wave stop.json --frame 1 'n > 0 ? total / n : 0' '$v3' '$exec'
  hetdwarf print kernel.hsaco --wave stop.json '*(float *) local#0x40'
  hetdwarf print --core merged.core --wave 12 'p->x'
  hetdwarf print --core gpucore.4242 --core core.4242 --all-waves 'n'

Operators are C's; `p[0]@n` is an array of n elements, as in gdb. Nothing is assigned or called.

Exit status: 0 done, 1 an expression is wrong or none has a value, 2 the command could not run.";

#[derive(Debug, Args)]
pub(crate) struct PrintArguments {
    /// The code object, or a bundle or host program that contains it; left out with --core
    #[arg(required = true)]
    pub(crate) object: PathBuf,
    /// What to evaluate; one that starts with `-` comes after `--`
    #[arg(value_name = "EXPR", required_unless_present = "core")]
    pub(crate) expressions: Vec<String>,
    #[command(flatten)]
    pub(crate) wave: WaveArguments,
    /// Ask every wave of the core; those with equal answers are one group. Work-items are left out
    #[arg(long, requires = "core", conflicts_with = "wave")]
    pub(crate) all_waves: bool,
    /// Show these lanes, 3 or 0-7,12, each where it waits; or all where the frame stands (the default)
    #[arg(long, value_name = "N|A-B,C|all")]
    pub(crate) lane: Option<String>,
    /// Take names from this frame, numbered as by unwind; without it, from the innermost call with what is inlined in it
    #[arg(long, value_name = "N")]
    pub(crate) frame: Option<usize>,
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

pub(super) const LANE_PC_EXAMPLES: &str = "Examples:
  hetdwarf lane-pc kernel.hsaco --wave stop.json
  hetdwarf lane-pc kernel.hsaco --wave stop.json --html lanes.html --source-dir src
  hetdwarf lane-pc kernel.hsaco --wave stop.json --svg lanes.svg --source-dir /build/project=.
  hetdwarf lane-pc --core merged.core --wave '1:382:(0,0,0)/0'";

#[derive(Debug, Args)]
pub(crate) struct LanePcArguments {
    #[command(flatten)]
    pub(crate) stop: StopArguments,
    /// Show the lanes of this frame, numbered as by unwind
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
    pub(crate) force: ForceArguments,
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

pub(super) const IMPORT_EXAMPLES: &str = "Examples:
  hetdwarf import run.log -o waves --object kernel.hsaco
  hetdwarf import run.log -o waves --target gfx1100

The agent is librocm-debug-agent.so.2, in HSA_TOOLS_LIB; --save-code-objects in ROCM_DEBUG_AGENT_OPTIONS writes the code
objects too. Its text has no scratch and no global memory: what is there is unavailable.

Exit status: 0 done, 1 some waves could not be written, 2 none could.";

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// What the program and the agent printed
    #[arg(value_name = "LOG", required = true)]
    pub(crate) logs: Vec<PathBuf>,
    /// The folder for the snapshots, wave-N.json with the agent's number of the wave
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) force: ForceArguments,
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

fn parse_frame(text: &str) -> Result<FrameChoice, String> {
    if text == "all" {
        return Ok(FrameChoice::All);
    }
    let level = text.parse().map(FrameChoice::One);
    level.map_err(|_| "expected the number of a frame, from 0, or all".to_owned())
}
