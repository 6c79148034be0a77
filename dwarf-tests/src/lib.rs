//! Shared helpers of the tests: fixtures, running the command in this process, and numbers in JSON.

pub mod browser;
pub mod cores;
pub mod disassembly;
pub mod elf;
pub mod emulator;
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

/// Returns the folder of this package.
#[must_use]
pub fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the path of a fixture.
#[must_use]
pub fn fixture(path: &str) -> PathBuf {
    // Fixtures for the library's own tests are in its package, so that the package is complete.
    let folder = match path.starts_with("debug_info") {
        true => "../tests",
        false => "fixtures",
    };
    package().join(folder).join(path)
}

/// Returns the bytes of an object in which a section has another name, and is therefore missing.
///
/// # Panics
/// If the object has no such section.
#[must_use]
pub fn without_section(object: impl AsRef<Path>, name: &str) -> Vec<u8> {
    let mut bytes = std::fs::read(object).unwrap();
    let name = format!("{name}\0").into_bytes();
    let start = bytes.windows(name.len()).position(|part| part == name);
    bytes[start.unwrap() + 1] = b'x';
    bytes
}

/// Returns an entry of `.debug_frame` in 32-bit format: its length, then the parts of its contents, padded with `DW_CFA_nop` to 8 bytes in all.
///
/// # Panics
/// If the contents have 4 GiB or more.
#[must_use]
pub fn frame_entry(contents: &[&[u8]]) -> Vec<u8> {
    let mut contents = contents.concat();
    contents.resize((contents.len() + 4).next_multiple_of(8) - 4, 0);
    let length = u32::try_from(contents.len()).unwrap();
    [&length.to_le_bytes()[..], &contents].concat()
}

/// Returns the number of samples that a test takes: `all` with `HETDWARF_THOROUGH`, as in `.ci/full`, and `some` without it.
#[must_use]
pub fn samples<N>(all: N, some: N) -> N {
    match std::env::var_os("HETDWARF_THOROUGH") {
        Some(_) => all,
        None => some,
    }
}

/// Returns the files of the corpus that are code objects themselves, in a fixed order.
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

/// Returns a small object of each tested producer (`spec-notes/producers.md`), in a fixed order.
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

/// Returns the folders of the stopped waves.
#[must_use]
pub fn wave_cases() -> Vec<PathBuf> {
    cases("waves", 10)
}

/// Returns the folders of the stopped waves in which the position of every lane is known.
#[must_use]
pub fn lane_cases() -> Vec<PathBuf> {
    cases("lanes", 44)
}

/// Returns the folders of a kind of fixture, in a fixed order. Panics if there are fewer than `at_least`.
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

/// Returns the cases in which call frame information was compared with the emulated run.
#[must_use]
pub fn wave_cases_with_cfi() -> Vec<PathBuf> {
    let mut cases = wave_cases();
    cases.retain(|case| case.join("cfi-check.json").exists());
    assert!(cases.len() >= 10, "the waves are missing");
    cases
}

/// Reads a JSON file.
#[must_use]
pub fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns a number from a JSON number, or from a string in decimal or after `0x`.
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

/// Returns the variables of all frames in a document of `vars`.
///
/// # Panics
/// If the document is not from `vars`.
#[must_use]
pub fn variables(document: &Value) -> Vec<Value> {
    let frames = document["frames"].as_array().unwrap().iter();
    frames
        .flat_map(|frame| frame["variables"].as_array().unwrap())
        .cloned()
        .collect()
}

/// Returns the number of a call frame in a document of `unwind`. Frames beyond the document's last are numbered consecutively.
///
/// * `level`: the index of the call frame, 0 for the innermost.
///
/// # Panics
/// If the document is not from `unwind`.
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

/// Returns the frames in a document of `vars` that are shown for lanes waiting elsewhere.
///
/// # Panics
/// If the document is not from `vars`.
#[must_use]
pub fn waiting_frames(document: &Value) -> Vec<Value> {
    let frames = document["frames"].as_array().unwrap().iter();
    let others = frames
        .clone()
        .filter_map(|frame| frame["waiting_lanes"].as_array());
    let here = frames.filter(|frame| frame["waiting"] == true);
    here.chain(others.flatten()).cloned().collect()
}

/// Removes the work-items of lanes from a document.
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

/// The output and exit status of a command.
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

/// Returns the path of an LLVM tool of version 22. If it is not installed, returns None and reports a skipped test.
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
