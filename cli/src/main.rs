//! The command `hetdwarf`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(hetdwarf_cli::run_process(std::env::args_os()))
}
