//! The arguments of `symbolize`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::object::ObjectArguments;

pub(super) const SYMBOLIZE_EXAMPLES: &str = "Examples:
  hetdwarf symbolize kernel.hsaco 0x1a1c 0x1b40
  hetdwarf symbolize a.out --target gfx90a 0x1a1c
  hetdwarf symbolize kernel.hsaco@0x7f4000000000 --format json < addresses.txt
  hetdwarf symbolize first.hsaco second.hsaco 1:0x1a1c '_Z6helperi+0x1c'
  dmesg | hetdwarf symbolize --core gpucore.4242 --filter
  hetdwarf symbolize kernel.hsaco --format llvm --functions short 0x1a1c

An ADDRESS is
  0x1a1c        an address in the process. Without @LOAD, code objects are loaded at 0
  1:0x1a1c      an address in code object 1. Code objects are numbered from 0 in the order of the files
                and within each file; with --core as `core` lists them
  SYMBOL+0x1c   an offset in bytes from a symbol

Without ADDRESS, or with `-`, addresses are read from standard input, one per line. Other lines are
copied, in JSON as {\"text\": LINE}.

With --format llvm, addresses refer to the host program itself; --target or --index select a code
object in it.

Exit status: 0 it ran, even if an address is unknown, 1 an address is in several code objects and
was not looked up, 2 a file could not be read, or a limit was reached.";

#[derive(Debug, Args)]
pub(crate) struct SymbolizeArguments {
    /// Code objects, or bundles, archives or host programs that contain some, each with its load address; then
    /// addresses. With --format llvm and without --core, only the first argument is an OBJECT
    #[arg(value_name = "OBJECT[@LOAD]|ADDRESS")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Look addresses up in the loaded code objects of this core file (give the option twice for separate GPU and host
    /// files). OBJECT then replaces a missing or stripped code object
    #[arg(long, value_name = "FILE")]
    pub(crate) core: Vec<PathBuf>,
    /// Search this directory for missing or stripped code objects of the core
    #[arg(long = "object-path", value_name = "DIR", requires = "core")]
    pub(crate) folders: Vec<PathBuf>,
    /// Copy a log from standard input, with functions and lines in parentheses after each address
    #[arg(long)]
    pub(crate) filter: bool,
    /// Print one frame per address: the function that contains the code, with the line of the address
    #[arg(long)]
    pub(crate) no_inlines: bool,
    /// Print file names without directories
    #[arg(long)]
    pub(crate) basenames: bool,
    /// Print this kind of function names
    #[arg(long, value_enum, default_value_t)]
    pub(crate) functions: FunctionNames,
    #[command(flatten)]
    pub(crate) which: ObjectArguments,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: SymbolizeFormat,
}

/// The output format of symbolized addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SymbolizeFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
    /// The output of llvm-symbolizer 22.
    Llvm,
}

/// The names of functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FunctionNames {
    /// Linkage names, demangled except in JSON.
    #[default]
    Linkage,
    /// Names in the source, without namespaces and parameters.
    Short,
    /// No names.
    None,
}
