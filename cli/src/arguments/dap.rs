//! The arguments of `dap`.

use clap::Args;

pub(super) const DAP_EXAMPLES: &str = "Examples:
  hetdwarf dap
  hetdwarf dap --port 4711

An editor starts this command and opens a core with a configuration such as
  { \"type\": \"hetdwarf\", \"request\": \"attach\", \"coreFile\": \"gpucore.4242\", \"sourceDir\": [\"src\"] }
with these fields:
  coreFile    the core, or a list of the GPU file and the host file
  waveFile    a snapshot of a wave, instead of a core
  log         a log of ROCm's debug agent, instead of a core
  object      code objects, OBJ or OBJ@LOAD, that replace missing or stripped ones
  objectPath  directories to search for code objects
  sourceDir   directories to search for source files, or OLD=NEW

Exit status: 0 the editor disconnected, 2 the port cannot be used.";

#[derive(Debug, Args)]
pub(crate) struct DapArguments {
    /// Listen on this port of 127.0.0.1 for any number of editors; 0 chooses a free port [default: use standard input and
    /// output]
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
}
