//! The command `hetdwarf`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut out = anstream::stdout().lock();
    let mut err = anstream::stderr().lock();
    // That of the terminal, if standard output is one. One that does not know says 0.
    let width = comfy_table::Table::new().width().map(usize::from);
    let width = width.filter(|width| *width > 0);
    ExitCode::from(hetdwarf::cli::run_with_width(
        std::env::args_os(),
        width.unwrap_or(hetdwarf::cli::DEFAULT_WIDTH),
        &mut out,
        &mut err,
    ))
}
