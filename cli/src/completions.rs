//! Implements `hetdwarf completions`, and `hetdwarf man` for people who build packages.

use std::io::Write;

use clap::CommandFactory;

use super::arguments::{Cli, CompletionsArguments, ManArguments};
use super::failure::{Exit, Failure};
use super::outputs::{Kind, Outputs};

pub(crate) fn run(arguments: &CompletionsArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    // Writing to memory cannot fail, but writing to a pipe can.
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

/// Writes a manual page for the command and one for each subcommand: `hetdwarf.1`, `hetdwarf-verify.1`.
pub(crate) fn write_manual(arguments: &ManArguments) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    let in_folder = |error| Failure::in_file(folder, error);
    std::fs::create_dir_all(folder).map_err(in_folder)?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut outputs = Outputs::new(arguments.force, []);
    let mut pages = Vec::new();
    let commands = command.get_subcommands().filter(|one| !one.is_hide_set());
    for command in core::iter::once(&command).chain(commands) {
        let name = command.get_display_name().unwrap_or(command.get_name());
        let page = clap_mangen::Man::new(command.clone());
        let mut text = Vec::new();
        page.render(&mut text)?;
        let path = folder.join(format!("{name}.1"));
        pages.push((outputs.plan(&path, Kind::Manual)?, text));
    }
    for (page, text) in pages {
        page.write(&text)?;
    }
    Ok(Exit::Done)
}
