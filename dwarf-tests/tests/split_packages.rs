//! Tests packages of split units (`.dwp`), and objects that have skeletons and split units in one file.
//!
//! In a package, the offsets of a unit count from its own part of each section. A reader that treats them as section offsets always finds
//! the entries of the first unit. `fixtures/dwp/README.md` describes how the files were built.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure here is a failure of the test"
)]

use std::sync::Arc;

use dwarf_tests::{Ran, fixture, hetdwarf};
use hetdwarf::inspect::Program;
use hetdwarf::limits::Limits;
use hetdwarf::meter::Meter;
use hetdwarf::object::{CodeObject, Layout};
use hetdwarf::verify::{Finding, verify};
use serde_json::Value;

fn path(name: &str) -> String {
    let path = fixture(&format!("dwp/{name}"));
    path.to_str().unwrap().to_owned()
}

fn text(name: &str) -> String {
    std::fs::read_to_string(fixture(&format!("dwp/{name}"))).unwrap()
}

fn run(arguments: &[&str]) -> Ran {
    hetdwarf(arguments.iter().map(|argument| (*argument).to_owned()))
}

/// Returns the lines after the first, which names the file.
fn body(text: &str) -> &str {
    text.split_once('\n').unwrap().1.trim_end()
}

/// Opens a file of any machine.
fn read(bytes: &[u8]) -> CodeObject<'_> {
    let meter = Arc::new(Meter::new(&Limits::DEFAULT, 0));
    CodeObject::parse_any_machine(bytes, Layout::Distinct, &meter).unwrap()
}

/// The wave is in `fb(float q)` of `gpu-b.c`. The first unit of the package has `fa(int x)`.
#[test]
fn variables_are_those_of_the_units_own_part() {
    let (object, wave, package) = (path("ab.so"), path("ab.so.json"), path("ab.dwp"));
    let ran = run(&[
        "vars", &object, "--wave", &wave, "--dwo", &package, "--format", "json",
    ]);
    // The wave does not have the value of `q`.
    assert_eq!(ran.status, 1, "{}", ran.err);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(ran.out.contains("\"fb\""), "{}", ran.out);
    assert!(!ran.out.contains("\"fa\""), "{}", ran.out);
    let variables = dwarf_tests::variables(&document);
    let names: Vec<_> = variables.iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["q"]);
}

#[test]
fn dump_prints_what_llvm_dwarfdump_prints() {
    for version in [4, 5] {
        let package = path(&format!("ab{version}.dwp"));
        let parts = ["--debug-info", "--debug-types"];
        let ran = run(&["dump", "--style", "llvm", parts[0], parts[1], &package]);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""));
        let expected = text(&format!("ab{version}.info.txt"));
        assert_eq!(body(&ran.out), body(&expected), "version {version}");
    }
    let single = path("single.o");
    let ran = run(&["dump", "--style", "llvm", &single]);
    assert_eq!(body(&ran.out), body(&text("single.info.txt")));
    let ran = run(&["dump", "--style", "llvm", "--debug-line", &single]);
    assert_eq!(body(&ran.out), body(&text("single.line.txt")));
    // In the other style, files come from the line table that the skeleton names.
    let ran = run(&["dump", &single]);
    assert!(ran.out.contains("two.c\")"), "{}", ran.out);
}

/// Without the program the addresses are unknown, which is not an error. With the program they are read.
#[test]
fn packages_are_checked_and_read_with_their_programs() {
    for version in [4, 5] {
        let package = path(&format!("ab{version}.dwp"));
        let ran = run(&["verify", &package]);
        assert_eq!(ran.status, 0, "{}", ran.out);
        assert!(ran.out.contains("0 errors, 0 warnings"), "{}", ran.out);
        let program = path(&format!("ab{version}.x"));
        let ran = run(&["dump", &program, "--dwo", &package]);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""));
        // Each function occurs once, with its address in the program.
        for function in ["fa", "fb", "main"] {
            assert!(
                ran.out.contains(&format!("DW_AT_name\t(\"{function}\")")),
                "{}",
                ran.out
            );
        }
        assert!(!ran.out.contains("<unresolved>"), "{}", ran.out);
    }
    for file in ["ab.dwp", "single.o"] {
        let ran = run(&["verify", &path(file)]);
        assert!(
            ran.status == 0 && ran.out.contains("0 errors, 0 warnings"),
            "{}",
            ran.out
        );
    }
}

/// A file, a section of it, the offset of the changed byte and its new value; then the broken rule, the section and the offset of the
/// finding, and its message.
type Fault = (
    &'static str,
    &'static str,
    usize,
    u8,
    &'static str,
    &'static str,
    u64,
    &'static str,
);

/// Offsets are llvm-dwarfdump 22's. In `ab4.dwp` with units of DWARF 4, the line table of the second unit is at 0x1b, and string offsets
/// have no header.
#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    ("single.o", ".debug_str_offsets.dwo", 0x0d, 0x10, "string-offset",  ".debug_str_offsets.dwo", 0x0c, "0x1005 is not in .debug_str.dwo"),
    ("single.o", ".debug_str_offsets.dwo", 0x28, 0x49, "string-offset",  ".debug_str_offsets.dwo", 0x28, "0x49 is not in .debug_str.dwo"),
    ("ab5.dwp",  ".debug_str_offsets.dwo", 0xa1, 0x10, "string-offset",  ".debug_str_offsets.dwo", 0xa0, "is not in .debug_str.dwo"),
    ("ab4.dwp",  ".debug_str_offsets.dwo", 0x05, 0x10, "string-offset",  ".debug_str_offsets.dwo", 0x04, "0x100d is not in .debug_str.dwo"),
    ("ab4.dwp",  ".debug_str_offsets.dwo", 0x8b, 0x10, "string-offset",  ".debug_str_offsets.dwo", 0x88, "0x1000009d is not in .debug_str.dwo"),
    ("ab4.dwp",  ".debug_line.dwo",        0x1f, 9,    "line-table",     ".debug_line.dwo",        0x1b, "version"),
    ("ab4.dwp",  ".debug_line.dwo",        0x17, 7,    "line-directory", ".debug_line.dwo",        0,    "file 1 is in directory 7"),
];

#[test]
fn faults_of_split_sections_are_found() {
    for (file, section, at, byte, rule, of, offset, message) in FAULTS {
        let mut bytes = std::fs::read(fixture(&format!("dwp/{file}"))).unwrap();
        let whole = read(&bytes);
        let mut sections = whole.sections().iter();
        let found = sections.find(|one| one.name == *section).unwrap();
        let place = usize::try_from(found.offset).unwrap() + at;
        assert!(*at < usize::try_from(found.size).unwrap());
        bytes[place] = *byte;
        let object = read(&bytes);
        let program = Program::load(&object).unwrap();
        let findings = verify(&program).findings;
        let is_it = |one: &&Finding| {
            one.rule.id == *rule && one.section == *of && one.offset == Some(*offset)
        };
        let found = findings
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("{file} {section} {at:#x}: {findings:#?}"));
        assert!(found.message.raw().contains(message), "{}", found.message);
    }
}

/// After a byte of an index is changed, reading gives an error or the contents of another unit, in bounded time.
#[test]
fn a_damaged_index_does_no_harm() {
    let folder = std::env::temp_dir().join(format!("hetdwarf-dwp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let whole = std::fs::read(fixture("dwp/ab5.dwp")).unwrap();
    let object = read(&whole);
    let indices = object
        .sections()
        .iter()
        .filter(|section| section.name.ends_with("_index"));
    let places: Vec<usize> = indices
        .flat_map(|section| section.offset..section.offset + section.size)
        .map(|place| usize::try_from(place).unwrap())
        .collect();
    assert!(places.len() > 200, "{}", places.len());
    let file = folder.join("damaged.dwp");
    let mut refused = 0;
    for place in places {
        for byte in [0x00, 0x01, 0xff] {
            let mut bytes = whole.clone();
            if bytes[place] == byte {
                continue;
            }
            bytes[place] = byte;
            std::fs::write(&file, bytes).unwrap();
            let file = file.to_str().unwrap();
            let dump = run(&["dump", file]);
            let verify = run(&["verify", file]);
            assert!(
                dump.status == 0 || dump.status == 2,
                "{place:#x}: {}",
                dump.err
            );
            assert!(verify.status <= 2, "{place:#x}: {}", verify.err);
            refused += usize::from(dump.status == 2);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    // Slots of the hash table do not matter; counts, columns, offsets and sizes do.
    assert!(refused > 50, "{refused}");
}
