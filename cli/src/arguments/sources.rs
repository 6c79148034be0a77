//! The arguments that locate a program's source.

use std::path::Path;

use clap::Args;

/// The location of the source, if it is not in the debugging information.
#[derive(Debug, Args)]
pub(crate) struct SourceArguments {
    /// Search this directory for source files, or with OLD=NEW replace the prefix OLD of source paths by NEW. No other
    /// files are read
    #[arg(
        long = "source-dir",
        alias = "source-path",
        value_name = "DIR|OLD=NEW",
        value_parser = with_folder
    )]
    pub(crate) source_dirs: Vec<String>,
}

/// Checks that the folder of an argument exists.
fn with_folder(given: &str) -> Result<String, String> {
    let folder = given.split_once('=').map_or(given, |(_, new)| new);
    match Path::new(folder).metadata() {
        Ok(found) if found.is_dir() => Ok(given.to_owned()),
        Ok(_) => Err("not a directory".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
