//! The arguments, by command.

mod alone;
mod core;
mod coverage;
mod dap;
mod dump;
mod eval;
mod format;
mod merge;
mod object;
mod profile;
mod recovery;
mod shard;
mod sources;
mod stop;
mod symbolize;
mod verify;

use clap::{Parser, Subcommand};

pub(crate) use self::alone::{CompletionsArguments, DemoArguments, ManArguments, RegsArguments};
pub(crate) use self::core::{
    CoreArguments, CoreChoice, CoreFormat, CoreObjectChoice, CoreObjects, GroupByName, MemoryName,
    object_and_load,
};
pub(crate) use self::coverage::{CompareArguments, CoverageArguments};
pub(crate) use self::dap::DapArguments;
pub(crate) use self::dump::{DumpArguments, DumpStyle};
pub(crate) use self::eval::{EvalArguments, ResultName};
pub(crate) use self::format::Format;
pub(crate) use self::merge::MergeArguments;
pub(crate) use self::object::{
    AnnotateArguments, DialectName, InfoArguments, ObjectArguments, StrictArguments,
};
pub(crate) use self::profile::{ByName, ProfileArguments, ProfileFormat};
pub(crate) use self::recovery::RecoveryArguments;
pub(crate) use self::shard::Shard;
pub(crate) use self::stop::{
    FrameChoice, ImportArguments, LanePcArguments, PrintArguments, StopArguments, UnwindArguments,
    VarsArguments, WaveArguments,
};
pub(crate) use self::symbolize::{FunctionNames, SymbolizeArguments, SymbolizeFormat};
pub(crate) use self::verify::{DocumentFormat, ProfileName, VerifyArguments, VerifyFormat};

use self::core::{CORE_EXAMPLES, CORE_HELP};
use self::coverage::{COMPARE_EXAMPLES, COVERAGE_EXAMPLES};
use self::dap::DAP_EXAMPLES;
use self::dump::{DUMP_EXAMPLES, DUMP_JSON};
use self::merge::MERGE_EXAMPLES;
use self::object::ANNOTATE_EXAMPLES;
use self::profile::PROFILE_EXAMPLES;
use self::stop::{IMPORT_EXAMPLES, LANE_PC_EXAMPLES, PRINT_EXAMPLES, VARS_EXAMPLES};
use self::symbolize::SYMBOLIZE_EXAMPLES;
use self::verify::VERIFY_EXAMPLES;

/// Shows what an AMD GPU kernel was doing when it stopped, and reads, writes and checks its DWARF.
#[derive(Debug, Parser)]
#[command(name = "hetdwarf", version, propagate_version = true)]
#[command(
    after_help = "Exit status: 0 it ran, 1 it ran and the result is negative, 2 it could not run."
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
    /// Evaluate C expressions in a stopped wave, in every lane
    #[command(
        override_usage = "hetdwarf print [OPTIONS] <OBJECT> --wave <FILE> <EXPR>...\n       \
        hetdwarf print [OPTIONS] --core <FILE> [--wave <SEL>] <EXPR>...",
        after_help = PRINT_EXAMPLES
    )]
    Print(PrintArguments),
    /// Evaluate a DWARF expression
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
    /// Write a copy of a code object in which any debugger can locate switched-off lanes
    #[command(after_help = ANNOTATE_EXAMPLES)]
    Annotate(AnnotateArguments),
    /// Show what the waves in a GPU core file were doing
    #[command(after_help = CORE_EXAMPLES, after_long_help = CORE_HELP)]
    Core(CoreArguments),
    /// Convert the log of ROCm's debug agent into snapshots of waves
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(ImportArguments),
    /// Print the target, kernels, arguments and debugging information of a code object
    #[command(
        after_help = "Examples:\n  hetdwarf info kernel.hsaco\n  hetdwarf info a.out --target gfx90a\n  \
        hetdwarf info kernel.hsaco --descriptor\n  \
        hetdwarf info --core merged.core --code-object 0"
    )]
    Info(InfoArguments),
    /// Print DWARF register numbers and the registers they name
    #[command(after_help = "Examples:\n  hetdwarf regs\n  hetdwarf regs 2602\n  \
        hetdwarf regs v0-v7 --wave-size 32\n  hetdwarf regs --target gfx90a")]
    Regs(RegsArguments),
    /// Show a built-in example: the core file of a crashed kernel
    Demo(DemoArguments),
    /// Print a shell completion script
    #[command(after_help = "Example:\n  hetdwarf completions bash > \
        ~/.local/share/bash-completion/completions/hetdwarf")]
    Completions(CompletionsArguments),
    /// Write the manual pages, for packages
    #[command(hide = true)]
    Man(ManArguments),
    /// Print the debugging information of a code object, like llvm-dwarfdump
    #[command(after_help = DUMP_EXAMPLES, after_long_help = DUMP_JSON)]
    Dump(DumpArguments),
    /// Serve a core file to an editor over the Debug Adapter Protocol
    #[command(after_help = DAP_EXAMPLES)]
    Dap(DapArguments),
    /// Translate addresses to functions and lines
    #[command(
        override_usage = "hetdwarf symbolize [OPTIONS] <OBJECT[@LOAD]>... [ADDRESS]... [-]\n       \
        hetdwarf symbolize [OPTIONS] --core <FILE> [OBJECT[@LOAD]]... [ADDRESS]... [-]",
        after_help = SYMBOLIZE_EXAMPLES
    )]
    Symbolize(SymbolizeArguments),
    /// Measure the share of code in which a debugger can show each variable
    #[command(after_help = COVERAGE_EXAMPLES)]
    Coverage(CoverageArguments),
    /// Compare the variable coverage of two versions of a code object
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArguments),
    /// Show profiler samples by source line, and the branches that leave lanes idle
    #[command(after_help = PROFILE_EXAMPLES)]
    Profile(ProfileArguments),
    /// Find errors in debugging information, for CI and compiler tests
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(VerifyArguments),
    /// Merge the records of many files or cores into one report
    #[command(after_help = MERGE_EXAMPLES)]
    Merge(MergeArguments),
}
