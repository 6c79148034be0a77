//! The choice of a stopped wave, and the arguments of commands about one.

use std::path::PathBuf;

use clap::Args;

use super::super::limits::LimitArguments;
use super::super::outputs::ForceArguments;
use super::core::CoreChoice;
use super::format::Format;
use super::object::{ObjectArguments, StrictArguments};
use super::sources::SourceArguments;

/// The choice of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameChoice {
    /// The frame with this number; 0 is the innermost.
    One(usize),
    /// All frames, the innermost first.
    All,
}

/// The choice of a wave in a snapshot or a core, and of the way to read its code object.
#[derive(Debug, Args)]
pub(crate) struct WaveArguments {
    #[command(flatten)]
    pub(crate) which: ObjectArguments,
    /// Read the stopped wave from this file (hetdwarf-wave/1); `-` reads standard input
    #[arg(long, value_name = "FILE", required_unless_present = "core")]
    pub(crate) wave: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) core: CoreChoice,
}

/// The choice of a wave: a snapshot with the code object that it runs, or a wave of a core.
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

Exit status: 0 it ran, 1 no variable could be read (the output says why), 2 it could not run.";

#[derive(Debug, Args)]
pub(crate) struct VarsArguments {
    #[command(flatten)]
    pub(crate) stop: StopArguments,
    /// Show these lanes (3 or 0-7,12), each at the pc where it waits [default: all lanes at the pc of the frame]
    #[arg(long, value_name = "LANES")]
    pub(crate) lane: Option<String>,
    /// Show this frame, numbered as by unwind, or all [default: the innermost call and the calls inlined in it]
    #[arg(long, value_name = "N|all", value_parser = parse_frame)]
    pub(crate) frame: Option<FrameChoice>,
    /// Show only variables whose name matches
    #[arg(long, value_name = "GLOB")]
    pub(crate) name: Option<String>,
    /// Print N levels of nested structures and arrays, and deeper ones as {...}
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,
    /// With --format json: also list N levels of the parts of each value, that is members, elements and pointees
    /// [default: 1]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1",
        value_parser = clap::value_parser!(u32).range(..=16))]
    pub(crate) children: Option<u32>,
    /// Also show the arguments that the compiler adds to kernels, such as dispatch sizes and runtime buffers
    #[arg(long)]
    pub(crate) hidden: bool,
    #[command(flatten)]
    pub(crate) reading: StrictArguments,
    /// Output format
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

Operators are those of C; `p[0]@n` is an array of n elements, as in gdb. Assignments and calls are rejected.

Exit status: 0 it ran, 1 an expression is invalid or none has a value, 2 it could not run.";

#[derive(Debug, Args)]
pub(crate) struct PrintArguments {
    /// The code object, or a bundle or host program that contains it; omitted with --core
    #[arg(required = true)]
    pub(crate) object: PathBuf,
    /// The expressions; put one that starts with `-` after `--`
    #[arg(value_name = "EXPR", required_unless_present = "core")]
    pub(crate) expressions: Vec<String>,
    #[command(flatten)]
    pub(crate) wave: WaveArguments,
    /// Evaluate in every wave of the core, and group waves with equal results
    #[arg(long, requires = "core", conflicts_with = "wave")]
    pub(crate) all_waves: bool,
    /// Show these lanes (3 or 0-7,12), each at the pc where it waits [default: all lanes at the pc of the frame]
    #[arg(long, value_name = "N|A-B,C|all")]
    pub(crate) lane: Option<String>,
    /// Look names up in this frame, numbered as by unwind [default: the innermost call and the calls inlined in it]
    #[arg(long, value_name = "N")]
    pub(crate) frame: Option<usize>,
    #[command(flatten)]
    pub(crate) reading: StrictArguments,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct UnwindArguments {
    #[command(flatten)]
    pub(crate) stop: StopArguments,
    /// Show these lanes of vector registers: 3, 0-7,12 or all [default: all]. A scalar register that was saved in
    /// per-lane memory shows the value of the first lane
    #[arg(long, value_name = "LANES")]
    pub(crate) lane: Option<String>,
    /// Also show the registers of each frame and where they were saved
    #[arg(long)]
    pub(crate) registers: bool,
    /// Show the call stack of every wave of the core, and group waves with equal stacks
    #[arg(long, requires = "core", conflicts_with = "wave")]
    pub(crate) all_waves: bool,
    #[command(flatten)]
    pub(crate) reading: StrictArguments,
    /// Output format
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
    /// Recover lanes from the machine code even if `DW_AT_LLVM_lane_pc` exists [default: only if it does not]
    #[arg(long, conflicts_with = "no_recover")]
    pub(crate) recover: bool,
    /// Never recover lanes from the machine code
    #[arg(long)]
    pub(crate) no_recover: bool,
    /// Also draw the lanes beside the source, as an SVG picture
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Also draw the lanes beside the source, as an HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArguments,
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

pub(super) const IMPORT_EXAMPLES: &str = "Examples:
  hetdwarf import run.log -o waves --object kernel.hsaco
  hetdwarf import run.log -o waves --target gfx1100

To load the agent, set HSA_TOOLS_LIB=librocm-debug-agent.so.2. With --save-code-objects in ROCM_DEBUG_AGENT_OPTIONS it
writes the code objects too. Its log has no scratch and no global memory, so values there are unavailable.

Exit status: 0 it ran, 1 some waves could not be written, 2 none could.";

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The log, with the output of the program and the agent
    #[arg(value_name = "LOG", required = true)]
    pub(crate) logs: Vec<PathBuf>,
    /// Write the snapshots to this directory, as wave-N.json with the agent's wave number
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) force: ForceArguments,
    /// Use this code object of the program, for example one that the agent saved; it gives the target and the load
    /// address
    #[arg(long = "object", value_name = "OBJ")]
    pub(crate) objects: Vec<PathBuf>,
    /// Use this target of the waves, if there is no code object (gfx90a, gfx90a:xnack+)
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// Output format
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
