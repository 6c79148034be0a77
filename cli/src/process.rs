//! Runs the command as a process, with its streams, its terminal and its signals.

use std::ffi::OsString;
use std::io::Write;

use anstream::{AutoStream, ColorChoice};

use crate::plain::Plain;

/// Runs the command as this process and returns the exit status. The first of `arguments` is the name of the command.
///
/// Output goes to the standard streams, in colours only if they are terminals and the environment allows it. From this call on, signals are
/// handled. The programs of all packages call this function.
pub fn run_process(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    // Without handlers, an interrupted command leaves unfinished files.
    #[cfg(unix)]
    let _ = crate::handle_signals();
    let stdout = std::io::stdout();
    let mut out: Box<dyn Write> = if AutoStream::choice(&stdout) == ColorChoice::Never {
        Box::new(Plain::new(stdout.lock()))
    } else {
        Box::new(AutoStream::auto(stdout.lock()))
    };
    let mut err = anstream::stderr().lock();
    // The width of the terminal, if standard output is one. Terminals that do not know it report 0.
    let width = comfy_table::Table::new().width().map(usize::from);
    let width = width.filter(|width| *width > 0);
    let width = width.unwrap_or(crate::DEFAULT_WIDTH);
    crate::run_with_width(arguments, width, &mut *out, &mut err)
}
