//! Adds a hint to errors in arguments: the command that the user probably meant.

use std::ffi::OsString;
use std::path::Path;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::contents::Contents;
use hetdwarf::object::is_core_file;

/// The options that choose a part of a stop, which `core` does not have.
const PARTS: [&str; 4] = ["--wave", "--lane", "--frame", "--name"];
/// The commands whose first operand is a code object, and which take a core by `--core`.
const OF_STOPS: [&str; 5] = ["vars", "print", "unwind", "lane-pc", "eval"];

/// Adds a hint to an error in the arguments of the command.
///
/// * `arguments`: all arguments, the first of which is the name of the command.
pub(crate) fn with_hint(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    // An unknown option was not meant as a value, so clap's suggestion is removed.
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Suggested);
    }
    let text: Vec<&str> = arguments.iter().filter_map(|one| one.to_str()).collect();
    if let [_, command, rest @ ..] = text.as_slice()
        && let Some(hint) = hint(&error, command, rest)
    {
        error.remove(ContextKind::SuggestedArg);
        let hint = ContextValue::StyledStrs(vec![StyledStr::from(hint)]);
        error.insert(ContextKind::Suggested, hint);
    }
    error
}

fn hint(error: &clap::Error, command: &str, rest: &[&str]) -> Option<String> {
    let has_core = rest.iter().any(|one| one.starts_with("--core"));
    let file = |is: fn(&[u8]) -> bool| {
        let mut operands = rest.iter().filter(|one| !one.starts_with('-'));
        operands.find(|one| Contents::start(Path::new(one)).is_ok_and(|start| is(&start)))
    };
    if error.kind() == ErrorKind::UnknownArgument && command == "core" {
        let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
            return None;
        };
        let core = file(is_core_file).copied().unwrap_or("CORE");
        if option == "--core" {
            return Some(format!(
                "`core` takes its files without --core: hetdwarf core {core}"
            ));
        }
        return PARTS.contains(&option.as_str()).then(|| {
            format!("`core` shows all waves; for one: hetdwarf vars --core {core} {option} …")
        });
    }
    if error.kind() == ErrorKind::UnknownArgument && command == "eval" {
        let Some(ContextValue::String(text)) = error.get(ContextKind::InvalidArg) else {
            return None;
        };
        let is_option = text.starts_with('-');
        return (!is_option)
            .then(|| format!("--expr takes the expression: hetdwarf eval --expr '{text}'"));
    }
    if error.kind() == ErrorKind::ArgumentConflict && has_core && OF_STOPS.contains(&command) {
        return conflict(command, rest);
    }
    if error.kind() != ErrorKind::MissingRequiredArgument || !OF_STOPS.contains(&command) {
        return None;
    }
    if has_core {
        let example = "an expression is missing, for example: hetdwarf print --core CORE 'a + 1'";
        return (command == "print").then(|| example.to_owned());
    }
    let core = file(is_core_file)?;
    Some(format!(
        "{core} is a core file: hetdwarf {command} --core {core}"
    ))
}

/// Returns the hint for an operand beside `--core`: the other half of the core, or the name of a variable.
fn conflict(command: &str, rest: &[&str]) -> Option<String> {
    let is_core =
        |path: &str| Contents::start(Path::new(path)).is_ok_and(|start| is_core_file(&start));
    let after = |option: &[&str]| matches!(option, [core, _] if *core == "--core");
    let given = rest.windows(2).find(|pair| after(pair))?.get(1)?;
    let before = [&""].into_iter().chain(rest);
    let mut operands = before.zip(rest).filter_map(|(before, one)| {
        let is_operand = !one.starts_with('-') && !before.starts_with('-');
        is_operand.then_some(*one)
    });
    let other = operands.next()?;
    match (is_core(other), command) {
        (true, _) => Some(format!(
            "a core in two files: hetdwarf {command} --core {given} --core {other}"
        )),
        (false, "vars") if !Path::new(other).exists() => Some(format!(
            "for one variable: hetdwarf vars --core {given} --name {other}"
        )),
        (false, _) => None,
    }
}
