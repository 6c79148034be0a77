//! `hetdwarf completions`.

use std::io::Write;

use clap::CommandFactory;

use super::arguments::{Cli, CompletionsArguments};
use super::failure::{Exit, Failure};

pub(crate) fn run(arguments: &CompletionsArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    // Writing to memory does not fail, as writing to a pipe does.
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Cli::command(),
        "hetdwarf",
        &mut script,
    );
    out.write_all(&script)?;
    Ok(Exit::Done)
}
