//! The command `hetdwarf`: parses arguments and prints the results of the library crates.
//!
//! [`run`] is the whole command, so that it can be tested without a process.

mod annotate;
mod arguments;
mod compare;
mod completions;
mod contents;
mod core;
mod coverage;
mod dap;
mod demo;
mod dump;
mod eval;
mod failure;
mod folders;
mod hint;
mod import;
mod info;
mod input;
#[cfg(unix)]
mod interrupt;
mod lane_pc;
mod lane_places;
mod lane_table;
mod lanes;
mod limits;
mod merge;
mod outputs;
mod packages;
mod packing;
mod pattern;
mod plain;
mod print;
mod process;
mod profile;
mod progress;
mod regs;
mod resident;
mod save;
mod skeleton;
mod sources;
mod style;
mod symbolize;
mod table;
mod until_closed;
mod unwind;
mod variables;
mod vars;
mod verify;
mod wrap;

use std::ffi::OsString;
use std::io::Write;

use arguments::{Cli, Command};
use clap::{CommandFactory, FromArgMatches};
use failure::{Exit, Failure};
use until_closed::UntilClosed;

use hetdwarf::untrusted::Untrusted;

pub use dap::debug_adapter;
#[cfg(unix)]
pub use interrupt::handle_signals;
pub use plain::Plain;
pub use process::run_process;
pub use verify::file_records;

/// The number of characters in a line if the output is not a terminal.
pub const DEFAULT_WIDTH: usize = 100;

/// Runs the command with `arguments`, the first of which is its name, and returns the exit status.
///
/// The output may contain escape codes for colours. Wrap `out` and `err` in [`Plain`] to remove them. Lines are [`DEFAULT_WIDTH`]
/// characters wide.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    run_with_width(arguments, DEFAULT_WIDTH, out, err)
}

/// Runs the command like [`run`], with lines and tables of `width` characters.
pub fn run_with_width(
    arguments: impl IntoIterator<Item = OsString>,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    // Longer lines of prose are hard to read.
    let command = Cli::command().term_width(width.min(DEFAULT_WIDTH));
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let parsed = command
        .try_get_matches_from(&arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map_err(|error| hint::with_hint(error, &arguments));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let text = error.render();
            // Help and version are not errors, and go to standard output.
            if error.use_stderr() {
                // The message repeats arguments, which can be untrusted names of files.
                let plain = text.to_string();
                let escaped = failure::escaped(&plain);
                let _ = match escaped == plain {
                    true => write!(err, "{}", text.ansi()),
                    false => write!(err, "{escaped}"),
                };
                return 2;
            }
            let written = write!(out, "{}", text.ansi()).and_then(|()| out.flush());
            return match written {
                Ok(()) => 0,
                Err(error) => Failure::from(error).report(err),
            };
        }
    };
    // A closed standard error does not change the result.
    let err = &mut UntilClosed::new(err);
    match dispatch(cli.command, width, out, err) {
        Ok(exit) => exit.code(),
        Err(failure) => failure.report(err),
    }
}

fn dispatch(
    command: Command,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    // These commands print one result after the other, and stop when the pipe is closed.
    let prints_on = if let Command::Eval(arguments) = &command {
        arguments.batch.is_some()
    } else {
        matches!(command, Command::Dump(_) | Command::Symbolize(_))
    };
    if prints_on {
        return run_command(command, width, out, err);
    }
    let mut out = UntilClosed::new(out);
    run_command(command, width, &mut out, err)
}

fn run_command(
    command: Command,
    width: usize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    let exit = match command {
        Command::Eval(arguments) => eval::run(&arguments, out, err),
        Command::Vars(arguments) => vars::run(&arguments, width, out, err),
        Command::Print(arguments) => print::run(&arguments, width, out, err),
        Command::Unwind(arguments) => unwind::run(&arguments, width, out, err),
        Command::LanePc(arguments) => lane_pc::run(&arguments, width, out, err),
        Command::Annotate(arguments) => annotate::run(&arguments, out),
        Command::Core(arguments) => core::run(&arguments, width, out, err),
        Command::Import(arguments) => import::run(&arguments, out, err),
        Command::Info(arguments) => info::run(&arguments, out),
        Command::Regs(arguments) => regs::run(&arguments, out),
        Command::Demo(arguments) => demo::run(&arguments, width, out),
        Command::Completions(arguments) => completions::run(&arguments, out),
        Command::Man(arguments) => completions::write_manual(&arguments),
        Command::Compare(arguments) => compare::run(&arguments, out, err),
        Command::Dap(arguments) => dap::run(&arguments, out, err),
        Command::Coverage(arguments) => coverage::run(&arguments, out, err),
        Command::Symbolize(arguments) => symbolize::run(&arguments, out, err),
        Command::Dump(arguments) => dump::run(&arguments, out, err),
        Command::Profile(arguments) => profile::run(&arguments, width, out, err),
        Command::Merge(arguments) => merge::run(&arguments, out, err),
        Command::Verify(arguments) => verify::run(&arguments, width, out, err),
    }?;
    out.flush()?;
    Ok(exit)
}

/// Returns a name, or `?` if there is none.
fn or_unknown<'n>(name: Option<&'n Untrusted<'_>>) -> Untrusted<'n> {
    name.map_or("?".into(), Untrusted::borrowed)
}
