//! Tests that `examples/expand_variables.c`, a C debugger that expands variables, prints the same values as
//! `vars --children` and the same types as llvm-dwarfdump.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

mod common;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use hetdwarf::Untrusted;
use serde_json::Value;

/// The number of levels to expand. No value in the fixtures is deeper, except for circular lists.
const DEPTH: usize = 6;

fn shown(text: &Value) -> String {
    Untrusted::from(text.as_str().unwrap()).to_string()
}

/// Writes the expected lines of a value and its parts.
fn lines(name: [&Value; 2], lane: &Value, number: &Value, indent: usize, out: &mut String) {
    let [ty, name] = name.map(shown);
    let state = lane["state"].as_str().unwrap();
    write!(out, "{:indent$}{ty} {name} {number} {state}", "").unwrap();
    if let Some(text) = lane["value"].as_str() {
        write!(out, " = {text} [{}]", lane["bytes"].as_str().unwrap()).unwrap();
    }
    if !lane["message"].is_null() {
        write!(out, " ({})", shown(&lane["message"])).unwrap();
    }
    if let Some(earlier) = common::earlier(lane) {
        write!(out, " ({earlier})").unwrap();
    }
    out.push('\n');
    for child in lane["children"].as_array().into_iter().flatten() {
        let name = [&child["type"], &child["name"]];
        lines(name, child, number, indent + 2, out);
    }
    if let Some(more) = lane["more_children"].as_u64() {
        writeln!(out, "{:1$}{more} more", "", indent + 2).unwrap();
    }
}

fn expected(object: &str, wave: &str) -> String {
    let depth = DEPTH.to_string();
    let arguments = ["vars", object, "--wave", wave, "--frame", "all", "--lane"];
    let more = ["all", "--children", &depth, "--format", "json"];
    let document = common::hetdwarf(&[&arguments[..], &more].concat());
    let mut out = String::new();
    let frames = document["frames"].as_array().unwrap().iter();
    for variable in frames.flat_map(|frame| frame["variables"].as_array().unwrap()) {
        for lane in variable["lanes"].as_array().unwrap() {
            let name = [&variable["type"], &variable["name"]];
            lines(name, lane, &lane["lane"], 0, &mut out);
        }
    }
    out
}

/// Compiles the program with the first installed compiler.
fn program(folder: &Path) -> Option<PathBuf> {
    let source = common::root().join("examples/expand_variables.c");
    let mut programs = common::compilers(false).into_iter().map(|compiler| {
        let program = folder.join(compiler);
        common::compile(compiler, &source, &program, &[]);
        program
    });
    programs.next()
}

/// Runs the program and returns the lines about values and the lines about types.
fn printed(program: &Path, object: &str, wave: &str) -> (Vec<String>, Vec<String>) {
    let mut command = Command::new(program);
    let output = common::run(command.args([object, wave, &DEPTH.to_string()]));
    let text = String::from_utf8(output.stdout).unwrap();
    // In a line about a value, the lane and its state, or the number of further parts, follow the name.
    let states = [
        "ok",
        "optimized-out",
        "partial",
        "unavailable",
        "ambiguous",
        "unsupported",
        "error",
        "inactive",
        "not-in-frame",
        "entry",
        "last-known",
        "more",
    ];
    let is_value = |line: &&str| {
        let start = line.split(" = ").next().unwrap();
        let words: Vec<&str> = start.split(' ').collect();
        let mut pairs = words.windows(2);
        pairs.any(|pair| pair[0].parse::<u64>().is_ok() && states.contains(&pair[1]))
    };
    let (values, types): (Vec<&str>, Vec<&str>) = text.lines().partition(is_value);
    let owned = |lines: Vec<&str>| lines.into_iter().map(str::to_owned).collect();
    (owned(values), owned(types))
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_debugger_in_c_unfolds_what_the_command_unfolds() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path()) else {
        return;
    };
    let (mut count, mut deepest) = (0, 0);
    let step = match std::env::var_os("HETDWARF_WAVES") {
        Some(_) => 1,
        None => 7,
    };
    for (object, wave) in common::waves().iter().step_by(step) {
        let (object, wave) = (text(object), text(wave));
        let (values, _) = printed(&program, &object, &wave);
        let expected = expected(&object, &wave);
        for (printed, expected) in values.iter().zip(expected.lines()) {
            assert_eq!(printed, expected, "{object} {wave}");
        }
        assert_eq!(values.len(), expected.lines().count(), "{object} {wave}");
        count += values.len();
        let indents = values
            .iter()
            .map(|line| line.len() - line.trim_start().len());
        deepest = deepest.max(indents.max().unwrap_or(0));
    }
    assert!(count > 10_000, "{count} lines");
    assert!(deepest >= 6, "{deepest} columns");
}

/// Returns one line for each structure member with its offset, as llvm-dwarfdump prints it.
fn members_of_llvm(object: &str) -> Vec<String> {
    let mut dump = Command::new("llvm-dwarfdump-22");
    let output = common::run(dump.args(["--debug-info", object]));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut found = Vec::new();
    for entry in text
        .split("\n\n")
        .filter(|entry| entry.contains("DW_TAG_member"))
    {
        let value = |name: &str| {
            let line = entry.lines().find(|line| line.contains(name))?;
            Some(line.split('(').nth(1)?.trim_end_matches(')').to_owned())
        };
        let (Some(name), Some(offset)) = (value("DW_AT_name"), value("DW_AT_data_member_location"))
        else {
            continue;
        };
        let offset = u64::from_str_radix(offset.trim_start_matches("0x"), 16).unwrap();
        found.push(format!(
            "member {} at bit {}:",
            name.trim_matches('"'),
            offset * 8
        ));
    }
    found
}

#[test]
fn types_are_those_of_llvm() {
    if !common::has("llvm-dwarfdump-22") {
        test_skips::skipped("there is no llvm-dwarfdump-22");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path()) else {
        return;
    };
    let case = common::root().join("../dwarf-tests/fixtures/waves/structs");
    let (object, wave) = (
        text(&case.join("structs.rocm.hsaco")),
        text(&case.join("w03.json")),
    );
    let (_, types) = printed(&program, &object, &wave);
    let members: std::collections::BTreeSet<&str> = types
        .iter()
        .map(|line| line.trim())
        .filter(|line| line.starts_with("member "))
        .collect();
    let llvm = members_of_llvm(&object);
    let llvm: std::collections::BTreeSet<&str> = llvm.iter().map(String::as_str).collect();
    assert!(members.len() >= 4, "{members:?}");
    assert_eq!(members, llvm);
    // The variable is `Rec *r`. `Rec` has an `int`, an array, a structure and an enumeration; see structs.cl.
    for line in [
        "pointer Rec * of 4 bytes into private_lane",
        "array float[3] of 12 bytes [3]",
        "GREEN = 7",
        "BLUE = -3",
        "base int of 4 bytes",
    ] {
        assert!(
            types.iter().any(|known| known.trim() == line),
            "{line}: {types:#?}"
        );
    }
}
