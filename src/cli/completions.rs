//! `hetdwarf completions`, and `hetdwarf man`, which is for who makes packages.

use std::io::Write;

use clap::CommandFactory;

use super::arguments::{Cli, CompletionsArguments, ManArguments};
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

/// Writes a page for the command and one for each of its commands: `hetdwarf.1`, `hetdwarf-verify.1`.
pub(crate) fn write_manual(arguments: &ManArguments) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .map_err(|error| Failure::in_file(folder, error))?;
    Ok(Exit::Done)
}
