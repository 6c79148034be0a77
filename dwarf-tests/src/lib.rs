//! What the tests of this package share: fixtures, the command run in this process, and numbers in JSON.

pub mod browser;
pub mod cores;
pub mod disassembly;
pub mod elf;
pub mod flow;
pub mod fuzz;
pub mod gimli_oracle;
pub mod large;
pub mod probe;
pub mod seeds;
pub mod simulator;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;
pub use test_skips::skipped;

/// The folder of this package.
#[must_use]
pub fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A file or folder among the fixtures.
#[must_use]
pub fn fixture(path: &str) -> PathBuf {
    // Those that tests in the library read stand there, so that its package is complete.
    let folder = match path.starts_with("debug_info") {
        true => "../tests",
        false => "fixtures",
    };
    package().join(folder).join(path)
}

/// Every file of the corpus that is a code object by itself, in a fixed order.
#[must_use]
pub fn corpus() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in [
        "llvm22",
        "llvm24",
        "rocm-style",
        "gcc12",
        "clang18",
        "triton",
    ] {
        for entry in std::fs::read_dir(fixture("corpus").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let extension = path.extension().and_then(|e| e.to_str());
            if matches!(extension, Some("hsaco" | "o")) {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(files.len() > 80, "the corpus is missing");
    files
}

/// A small object of each producer that was tried (`spec-notes/producers.md`), in a fixed order.
#[must_use]
pub fn of_producers() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(fixture("producers")).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| {
        let extension = path.extension().and_then(|e| e.to_str());
        matches!(extension, Some("hsaco" | "o" | "elf"))
    });
    files.sort();
    assert!(files.len() > 10, "the objects of producers are missing");
    files
}

/// The folders of the stopped waves.
#[must_use]
pub fn wave_cases() -> Vec<PathBuf> {
    cases("waves", 10)
}

/// The folders of the stopped waves in which the place of every lane is known.
#[must_use]
pub fn lane_cases() -> Vec<PathBuf> {
    cases("lanes", 44)
}

/// The folders in one of the fixtures', in a fixed order; there are so many at least.
fn cases(kind: &str, at_least: usize) -> Vec<PathBuf> {
    let mut cases: Vec<_> = std::fs::read_dir(fixture(kind))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    cases.sort();
    assert!(cases.len() >= at_least, "the {kind} are missing");
    cases
}

/// Those in which call frame information was compared with what really happened.
#[must_use]
pub fn wave_cases_with_cfi() -> Vec<PathBuf> {
    let mut cases = wave_cases();
    cases.retain(|case| case.join("cfi-check.json").exists());
    assert!(cases.len() >= 10, "the waves are missing");
    cases
}

/// A JSON file.
#[must_use]
pub fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A number, or a string that is one in decimal or after `0x`.
#[must_use]
pub fn number(value: &Value) -> u128 {
    let Some(text) = value.as_str() else {
        return value
            .as_u64()
            .unwrap_or_else(|| panic!("{value} is no number"))
            .into();
    };
    match text.strip_prefix("0x") {
        Some(digits) => u128::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

/// The variables of all frames of a document of `vars`.
///
/// # Panics
/// If it is no such document.
#[must_use]
pub fn variables(document: &Value) -> Vec<Value> {
    let frames = document["frames"].as_array().unwrap().iter();
    frames
        .flat_map(|frame| frame["variables"].as_array().unwrap())
        .cloned()
        .collect()
}

/// The number that a call frame has in a document of `unwind`; those further out than it leads are counted on.
///
/// * `level`: which of the call frames it is, 0 for the innermost.
///
/// # Panics
/// If it is no such document.
#[must_use]
pub fn call_number(document: &Value, level: u64) -> u64 {
    let frames = document["frames"].as_array().unwrap();
    let calls = frames.iter().filter(|frame| frame["kind"] != "inlined");
    let calls: Vec<u64> = calls
        .map(|frame| frame["index"].as_u64().unwrap())
        .collect();
    let known = calls.len() as u64;
    let further_out = || frames.len() as u64 + (level - known);
    let call = usize::try_from(level)
        .ok()
        .and_then(|level| calls.get(level));
    call.copied().unwrap_or_else(further_out)
}

/// The frames of a document of `vars` as lanes see them that wait elsewhere.
///
/// # Panics
/// If it is no such document.
#[must_use]
pub fn waiting_frames(document: &Value) -> Vec<Value> {
    let frames = document["frames"].as_array().unwrap().iter();
    let others = frames
        .clone()
        .filter_map(|frame| frame["waiting_lanes"].as_array());
    let here = frames.filter(|frame| frame["waiting"] == true);
    here.chain(others.flatten()).cloned().collect()
}

/// Takes the work-items of lanes out of a document.
pub fn without_work_items(document: &mut Value) {
    match document {
        Value::Array(items) => items.iter_mut().for_each(without_work_items),
        Value::Object(fields) => {
            fields.remove("work_item");
            fields.values_mut().for_each(without_work_items);
        }
        _ => {}
    }
}

/// What a command printed, and how it ended.
#[derive(Debug)]
pub struct Ran {
    /// Standard output, without colours.
    pub out: String,
    /// Standard error, without colours.
    pub err: String,
    /// The exit status.
    pub status: u8,
}

/// Runs `hetdwarf` with arguments, in this process.
#[must_use]
pub fn hetdwarf<A: Into<OsString>>(arguments: impl IntoIterator<Item = A>) -> Ran {
    let arguments =
        core::iter::once(OsString::from("hetdwarf")).chain(arguments.into_iter().map(Into::into));
    let mut out = anstream::StripStream::new(Vec::new());
    let mut err = anstream::StripStream::new(Vec::new());
    let status = hetdwarf_cli::run(arguments, &mut out, &mut err);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran {
        out: text(out.into_inner()),
        err: text(err.into_inner()),
        status,
    }
}

/// An LLVM tool of version 22; nothing, and a line on standard error, if it is not installed.
#[must_use]
pub fn llvm_tool(name: &str) -> Option<PathBuf> {
    let name = format!("{name}-22");
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(&name))
        .find(|path| path.is_file());
    if found.is_none() {
        skipped(&format!("{name} is not installed"));
    }
    found
}
