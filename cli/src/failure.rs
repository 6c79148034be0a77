//! Defines the exit statuses and failures of commands.

use std::io::Write;
use std::path::Path;

use super::style::{ALARM, WARNING};
use hetdwarf::report::Completeness;
use hetdwarf::untrusted::{Escaper, Untrusted};

/// The exit status of a command that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// 0: done.
    Done,
    /// 1: the command ran, and the result is negative.
    Negative,
    /// 2: the readable part was processed, and a message names the rest.
    Incomplete,
}

impl Exit {
    /// Returns this status, or [`Incomplete`](Exit::Incomplete) if a limit was reached.
    pub(crate) fn unless_limited(self, completeness: &Completeness) -> Exit {
        if completeness.complete {
            self
        } else {
            Exit::Incomplete
        }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Negative => 1,
            Exit::Incomplete => 2,
        }
    }
}

/// Prints a line if a limit was reached.
pub(crate) fn print_limit(completeness: &Completeness, out: &mut dyn Write) -> std::io::Result<()> {
    if completeness.complete {
        return Ok(());
    }
    writeln!(out, "{completeness}")
}

/// The reason why a command could not run: exit status 2.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The message, with the file it is about.
    Message(String),
    /// The reader of the output has closed the pipe.
    ClosedPipe,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure::Message(message.into())
    }

    /// Returns a failure about a file.
    pub(crate) fn in_file(path: &Path, error: impl core::fmt::Display) -> Failure {
        Failure::Message(format!("{}: {error}", Untrusted::from(path)))
    }

    /// Returns a failure about the value of an option.
    pub(crate) fn in_option(option: &str, text: &str, error: impl core::fmt::Display) -> Failure {
        let error = Untrusted::from(error.to_string());
        Failure::Message(format!("{option} {}: {error}", Untrusted::from(text)))
    }

    /// Prints a warning about a file.
    pub(crate) fn warn(err: &mut dyn Write, path: &Path, message: &str) {
        let _ = writeln!(
            err,
            "{WARNING}warning{WARNING:#}: {}: {}",
            Untrusted::from(path),
            Untrusted::from(message)
        );
    }

    pub(crate) fn report(&self, err: &mut dyn Write) -> u8 {
        match self {
            Failure::Message(message) => {
                let message = escaped(message);
                let _ = writeln!(err, "{ALARM}error{ALARM:#}: {message}");
                2
            }
            Failure::ClosedPipe => 0,
        }
    }
}

/// Prints warnings about the debugging information that do not prevent values from being read.
pub(crate) fn print_warnings(
    warnings: &[Untrusted<'static>],
    err: &mut dyn Write,
) -> std::io::Result<()> {
    let style = anstyle::AnsiColor::Yellow.on_default().bold();
    warnings
        .iter()
        .try_for_each(|text| writeln!(err, "{style}warning{style:#}: {text}"))
}

/// Returns a message with its own line ends kept and all other control characters escaped.
pub(crate) fn escaped(message: &str) -> String {
    let mut escaped = String::with_capacity(message.len());
    for (number, line) in message.split('\n').enumerate() {
        if number > 0 {
            escaped.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = Escaper::new().write(line, &mut escaped);
    }
    escaped
}

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Failure::Message(message) => f.write_str(&escaped(message)),
            Failure::ClosedPipe => f.write_str("the output was closed"),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Failure::ClosedPipe;
        }
        Failure::Message(format!("cannot write the output: {error}"))
    }
}

impl From<hetdwarf::report::SourceError> for Failure {
    fn from(error: hetdwarf::report::SourceError) -> Failure {
        let option = error.field.replace('_', "-");
        Failure::Message(format!("--{option}: {}", error.error))
    }
}

impl From<hetdwarf::Error> for Failure {
    fn from(error: hetdwarf::Error) -> Failure {
        Failure::Message(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure::Message(format!("cannot write the output: {error}"))
    }
}
