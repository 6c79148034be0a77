//! The command `hetdwarf`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut out = anstream::stdout().lock();
    let mut err = anstream::stderr().lock();
    ExitCode::from(hetdwarf::cli::run(std::env::args_os(), &mut out, &mut err))
}
