//! The arguments of `dap`.

use clap::Args;

pub(super) const DAP_EXAMPLES: &str = "Examples:
  hetdwarf dap
  hetdwarf dap --port 4711

An editor starts it and opens a core with a configuration like
  { \"type\": \"hetdwarf\", \"request\": \"attach\", \"coreFile\": \"gpucore.4242\", \"sourceDir\": [\"src\"] }
in which may be
  coreFile    the core, or a list of the GPU's half and the host's
  waveFile    a snapshot of a wave, in place of a core
  log         what ROCm's debug agent printed, in place of a core
  object      code objects, OBJ or OBJ@LOAD, for those that are lost or stripped
  objectPath  folders to look in for code objects
  sourceDir   folders to look in for the source, or OLD=NEW

Exit status: 0 the editor has left, 2 the port cannot be used.";

#[derive(Debug, Args)]
pub(crate) struct DapArguments {
    /// Listen on this port of 127.0.0.1, for any number of editors, until stopped; 0 takes a free one. Without it the editor is at
    /// standard input and output
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
}
