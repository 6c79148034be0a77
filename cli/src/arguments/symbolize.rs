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
  0x1a1c        an address of the process. Without @LOAD, a code object is loaded at 0
  1:0x1a1c      an address in the code object with this number. Code objects are numbered from 0,
                in the order of the files and within each; those of a core as `core` lists them
  SYMBOL+0x1c   so many bytes after the function with this name in the symbol table

Without ADDRESS, or with `-`, addresses are read from standard input, one a line. Other lines are
passed through, in JSON as {\"text\": LINE}.

With --format llvm a host program stands for itself; --target or --index choose a code object in it.

Exit status: 0 done, also if nothing is known of an address, 1 an address is in several code objects
and was not looked up, 2 a file could not be read, or a limit was reached.";

#[derive(Debug, Args)]
pub(crate) struct SymbolizeArguments {
    /// Code objects, or bundles, archives or host programs with some, each with its load address; then addresses. With
    /// --format llvm the first is OBJECT, unless there is a --core
    #[arg(value_name = "OBJECT[@LOAD]|ADDRESS")]
    pub(crate) inputs: Vec<PathBuf>,
    /// A core file, or twice for the GPU's half and the host's: look addresses up in its code objects, where they were loaded.
    /// OBJECT then stands for a missing or stripped one
    #[arg(long, value_name = "FILE")]
    pub(crate) core: Vec<PathBuf>,
    /// A folder to look in for code objects of the core that are missing or stripped
    #[arg(long = "object-path", value_name = "DIR", requires = "core")]
    pub(crate) folders: Vec<PathBuf>,
    /// Show functions and lines within a log: after each address in a line, in parentheses
    #[arg(long)]
    pub(crate) filter: bool,
    /// Print one frame for an address: the function that contains the code, with the line of the address
    #[arg(long)]
    pub(crate) no_inlines: bool,
    /// Print names of files without directories
    #[arg(long)]
    pub(crate) basenames: bool,
    /// Which names functions have
    #[arg(long, value_enum, default_value_t)]
    pub(crate) functions: FunctionNames,
    #[command(flatten)]
    pub(crate) which: ObjectArguments,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: SymbolizeFormat,
}

/// How symbolized addresses are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SymbolizeFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
    /// What llvm-symbolizer 22 prints for the same lines.
    Llvm,
}

/// Which names functions have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FunctionNames {
    /// Those for the linker, demangled except in JSON.
    #[default]
    Linkage,
    /// Those in the source, without namespaces and parameters.
    Short,
    /// None.
    None,
}
