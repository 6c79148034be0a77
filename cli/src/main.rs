//! The command `hetdwarf`.

use std::io::Write;
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use hetdwarf_cli::Plain;

fn main() -> ExitCode {
    // Without it an interrupted command leaves what it was writing.
    #[cfg(unix)]
    let _ = hetdwarf_cli::handle_signals();
    let stdout = std::io::stdout();
    let mut out: Box<dyn Write> = if AutoStream::choice(&stdout) == ColorChoice::Never {
        Box::new(Plain::new(stdout.lock()))
    } else {
        Box::new(AutoStream::auto(stdout.lock()))
    };
    let mut err = anstream::stderr().lock();
    // That of the terminal, if standard output is one. One that does not know says 0.
    let width = comfy_table::Table::new().width().map(usize::from);
    let width = width.filter(|width| *width > 0);
    ExitCode::from(hetdwarf_cli::run_with_width(
        std::env::args_os(),
        width.unwrap_or(hetdwarf_cli::DEFAULT_WIDTH),
        &mut *out,
        &mut err,
    ))
}
