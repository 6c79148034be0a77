//! The arguments of commands that read no code object.

use std::path::PathBuf;

use clap::Args;

use super::super::outputs::ForceArguments;
use super::format::Format;
use hetdwarf::arch::WaveSize;

#[derive(Debug, Args)]
pub(crate) struct RegsArguments {
    /// A name (v42, exec, VGPR42), a DWARF number, or a range (v0-v7, 2560-2815) [default: all ranges]
    #[arg(value_name = "NAME|NUMBER|RANGE")]
    pub(crate) registers: Option<String>,
    /// Also show which of them this processor has
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// Show only registers that exist in waves of this size
    #[arg(long, value_name = "32|64", value_parser = parse_wave_size)]
    pub(crate) wave_size: Option<WaveSize>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Write the core file to FILE, for use with other commands, and print nothing
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The directory to write to
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) force: ForceArguments,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

fn parse_wave_size(text: &str) -> Result<WaveSize, String> {
    let lanes = text.parse().ok();
    lanes
        .and_then(WaveSize::from_lanes)
        .ok_or_else(|| "expected 32 or 64".to_owned())
}
