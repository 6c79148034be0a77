//! The command `hetdwarf`: arguments and printing. What it finds out, the layers below find out.
//!
//! [`run`] is the whole command, so that it can be tested without a process.

mod arguments;
mod eval;
mod failure;
mod input;
mod lane_pc;
mod lanes;
mod table;
mod unwind;
mod vars;

use std::ffi::OsString;
use std::io::Write;

use arguments::{Cli, Command};
use clap::Parser;
use failure::{Exit, Failure};

/// Runs the command with `arguments`, the first of which is its name; gives the exit status.
///
/// What is printed may contain escape codes for colours; whoever passes `out` and `err` removes them where
/// they are not wanted.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let text = error.render();
            // Help and version are no errors, and go to standard output. Nothing can be done if that fails.
            if error.use_stderr() {
                let _ = write!(err, "{}", text.ansi());
                return 2;
            }
            let _ = write!(out, "{}", text.ansi());
            return 0;
        }
    };
    let result = dispatch(cli.command, out).and_then(|exit| {
        out.flush()?;
        Ok(exit)
    });
    match result {
        Ok(exit) => exit.code(),
        Err(failure) => failure.report(err),
    }
}

fn dispatch(command: Command, out: &mut dyn Write) -> Result<Exit, Failure> {
    match command {
        Command::Eval(arguments) => eval::run(&arguments, out),
        Command::Vars(arguments) => vars::run(&arguments, out),
        Command::Unwind(arguments) => unwind::run(&arguments, out),
        Command::LanePc(arguments) => lane_pc::run(&arguments, out),
    }
}
