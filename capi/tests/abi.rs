//! Tests the binary interface that existing programs depend on: the library's functions and the layout of its structs.
//!
//! Until the number in the library's file name changes, entries may be added to `abi.txt` but not changed.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

mod common;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

fn header() -> String {
    fs::read_to_string(common::root().join("include/hetdwarf.h")).unwrap()
}

/// Returns the lines of the header that are not comments.
fn code(header: &str) -> impl Iterator<Item = &str> {
    header
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
}

/// Returns the functions that the header declares.
fn functions(header: &str) -> BTreeSet<String> {
    let lines = code(header).filter(|line| !line.starts_with(' ') && !line.starts_with("typedef"));
    // The `template` lines are C++ functions that the header itself defines.
    let lines = lines.filter(|line| !line.starts_with("template"));
    let starts = lines.filter_map(|line| line.split_once('('));
    let names = starts.filter_map(|(before, _)| before.rsplit([' ', '*']).next());
    names
        .filter(|name| name.starts_with("hetdwarf_"))
        .map(str::to_owned)
        .collect()
}

/// Returns the structs and their fields.
fn structs(header: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut inside = false;
    for line in code(header) {
        if let Some(name) = line
            .strip_prefix("typedef struct ")
            .and_then(|line| line.strip_suffix(" {"))
        {
            found.push((name.to_owned(), Vec::new()));
            inside = true;
        } else if line.starts_with('}') {
            inside = false;
        } else if inside {
            let field = line.trim().trim_end_matches(';');
            let field = field.split('[').next().unwrap();
            let field = field.rsplit([' ', '*']).next().unwrap();
            found.last_mut().unwrap().1.push(field.to_owned());
        }
    }
    found
}

/// Returns the names of constants and enumerators.
fn numbers(header: &str) -> Vec<String> {
    let defined = code(header).filter_map(|line| line.strip_prefix("#define HETDWARF_"));
    let defined = defined.filter(|line| line.contains(' '));
    let members = code(header).filter_map(|line| line.strip_prefix("  HETDWARF_"));
    let names = defined
        .chain(members)
        .filter_map(|line| line.split(' ').next())
        // Macros with parameters are not constants.
        .filter(|name| !name.contains('('));
    names.map(|name| format!("HETDWARF_{name}")).collect()
}

/// Returns the layout of the structs and the values of the constants, as compiled by gcc.
fn layout(header: &str) -> String {
    let mut source = String::from("#include <hetdwarf.h>\n#include <stdio.h>\nint main(void) {\n");
    for (name, fields) in structs(header) {
        writeln!(source, "printf(\"struct {name} %zu\\n\", sizeof({name}));").unwrap();
        for field in fields {
            writeln!(
                source,
                "printf(\"  {field} %zu+%zu\\n\", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));"
            )
            .unwrap();
        }
    }
    for name in numbers(header) {
        writeln!(source, "printf(\"{name} %lld\\n\", (long long){name});").unwrap();
    }
    source.push_str("return 0; }\n");
    let folder = tempfile::tempdir().unwrap();
    let (file, program) = (folder.path().join("layout.c"), folder.path().join("layout"));
    fs::write(&file, source).unwrap();
    common::compile("gcc", &file, &program, &[]);
    String::from_utf8(common::run(&mut Command::new(program)).stdout).unwrap()
}

/// A struct without its size can never grow. Those that never change are named at the head of the header.
#[test]
fn every_struct_that_can_grow_begins_with_its_size() {
    let header = header();
    let head = header.split("*/").next().unwrap();
    let (before, _) = head.split_once("are elements of arrays").unwrap();
    let (_, names) = before.rsplit_once("Reserved fields are zero.").unwrap();
    let fixed: BTreeSet<&str> = names
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(|word| word.starts_with("hetdwarf_"))
        .collect();
    let all = structs(&header);
    let without: BTreeSet<&str> = all
        .iter()
        .filter(|(_, fields)| fields[0] != "size")
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(without, fixed);
    assert!(all.len() > 20, "{} structs", all.len());
}

#[test]
fn the_library_has_the_functions_of_the_header_and_no_others() {
    if !common::has("nm") {
        test_skips::skipped("there is no nm");
        return;
    }
    let library = common::libraries().join("libhetdwarf_capi.so");
    let mut nm = Command::new("nm");
    let output = common::run(nm.args(["-D", "--defined-only", "-P"]).arg(library));
    let text = String::from_utf8(output.stdout).unwrap();
    let symbols: BTreeSet<String> = text
        .lines()
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(symbols, functions(&header()));
}

#[test]
fn the_layout_is_what_programs_were_built_against() {
    if !common::has("gcc") {
        test_skips::skipped("there is no gcc");
        return;
    }
    let header = header();
    let mut found = layout(&header);
    for name in functions(&header) {
        writeln!(found, "function {name}").unwrap();
    }
    let path = common::root().join("tests/abi.txt");
    if std::env::var_os("HETDWARF_WRITE_HEADER").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let differs = found
        .lines()
        .zip(kept.lines())
        .find(|(one, other)| one != other);
    assert!(
        found == kept,
        "tests/abi.txt: {differs:?}; if it is meant, run this test with HETDWARF_WRITE_HEADER=1"
    );
}
