//! The command as a process: its streams, its terminal and its signals.

use std::ffi::OsString;
use std::io::Write;

use anstream::{AutoStream, ColorChoice};

use crate::plain::Plain;

/// Runs the command as this process, with `arguments`, the first of which is its name; returns the exit status.
///
/// It writes to the standard streams, in colours only where they are terminals and the environment wants them, and handles
/// signals from then on. The programs of all packages are this function.
pub fn run_process(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    // Without it an interrupted command leaves what it was writing.
    #[cfg(unix)]
    let _ = crate::handle_signals();
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
    let width = width.unwrap_or(crate::DEFAULT_WIDTH);
    crate::run_with_width(arguments, width, &mut *out, &mut err)
}
