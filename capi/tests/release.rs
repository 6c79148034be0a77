//! Tests that programs built against the header of the last release run with this library.
//!
//! `release/` contains the header, `abi.txt` and the examples of the commit that `.ci/last-release` names.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn release() -> PathBuf {
    common::root().join("tests/release")
}

/// Compiles an example of a release with the header of that release.
fn built(folder: &Path, compiler: &str, source: &Path, include: &Path) -> PathBuf {
    let program = folder.join(source.parent().unwrap().file_name().unwrap());
    common::compile_against(include, compiler, source, &program, &[]);
    program
}

fn printed(program: &Path, arguments: &[&Path]) -> String {
    let output = common::run(Command::new(program).args(arguments));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_debugger_of_the_last_release_prints_what_one_of_today_prints() {
    let Some(compiler) = common::compilers(false).into_iter().next() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let source = "print_variables.c";
    let old = built(folder.path(), compiler, &release().join(source), &release());
    let examples = common::root().join("examples");
    let include = common::root().join("include");
    let new = built(folder.path(), compiler, &examples.join(source), &include);
    let mut lines = 0;
    for (object, wave) in common::waves().iter().step_by(23) {
        let files: [&Path; 2] = [object, wave];
        let (old, new) = (printed(&old, &files), printed(&new, &files));
        // Only the newer example marks inlined frames.
        assert_eq!(old, new.replace(" (inlined)", ""), "{object:?} {wave:?}");
        lines += old.lines().count();
    }
    assert!(lines > 1_000, "{lines} lines");
}

#[test]
fn a_checker_of_the_last_release_finds_what_one_of_today_finds() {
    let Some(compiler) = common::compilers(false).into_iter().next() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let include = common::root().join("include");
    let old = built(
        folder.path(),
        compiler,
        &release().join("verify.c"),
        &release(),
    );
    let new = common::root().join("examples/verify.c");
    let new = built(folder.path(), compiler, &new, &include);
    let object = common::root().join("../dwarf-tests/fixtures/corpus/llvm22/big-gfx1030-O0.hsaco");
    // The status is 1 because there are findings.
    let found = |program: &Path| Command::new(program).arg(&object).output().unwrap();
    let (old, new) = (found(&old), found(&new));
    assert!(!old.stdout.is_empty());
    assert_eq!(
        (old.status.code(), old.stdout),
        (new.status.code(), new.stdout)
    );
}

/// Returns the entries of an `abi.txt`. The name of a field includes the name of its struct.
fn entries(text: &str) -> BTreeMap<String, String> {
    let mut current = "";
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let (name, value) = line.trim().rsplit_once(' ').unwrap_or((line, ""));
        if let Some(field) = line.strip_prefix("  ") {
            let field = field.split(' ').next().unwrap();
            found.insert(format!("{current}.{field}"), value.to_owned());
        } else {
            current = name;
            found.insert(name.to_owned(), value.to_owned());
        }
    }
    found
}

/// Checks that structs keep their sizes and fields keep their offsets. Only reserved space may become fields.
#[test]
fn all_that_the_last_release_had_is_where_it_was() {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let old = entries(&read(&release().join("abi.txt")));
    let new = entries(&read(&common::root().join("tests/abi.txt")));
    assert!(old.len() > 300, "{}", old.len());
    let is_reserved = |name: &str| name.ends_with(".reserved") || name.ends_with(".padding");
    for (name, value) in old.iter().filter(|(name, _)| !is_reserved(name)) {
        assert_eq!(new.get(name), Some(value), "{name}");
    }
}
