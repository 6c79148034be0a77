//! Tests objects of machines other than AMDGPU: `dump`, `info` and `verify` read them, and other commands name their machine.
//!
//! llvm-dwarfdump's output is the reference. `fixtures/host/README.md` describes how the objects were built.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure here is a failure of the test"
)]

use dwarf_tests::{Ran, fixture, hetdwarf};
use serde_json::Value;

const MACHINES: [(&str, &str); 4] = [
    ("x86_64", "x86-64"),
    ("aarch64", "AArch64"),
    ("riscv64", "RISC-V"),
    ("loongarch64", "LoongArch"),
];

fn run(arguments: &[&str]) -> Ran {
    hetdwarf(arguments.iter().map(|argument| (*argument).to_owned()))
}

fn object(machine: &str) -> String {
    let path = fixture(&format!("host/host-{machine}.o"));
    path.to_str().unwrap().to_owned()
}

/// Returns the lines after the first, which names the file.
fn body(text: &str) -> &str {
    text.split_once('\n').unwrap().1.trim_end()
}

#[test]
fn dump_prints_what_llvm_dwarfdump_prints() {
    for (machine, _) in &MACHINES[..3] {
        let object = object(machine);
        for part in ["info", "loclists"] {
            let ran = run(&[
                "dump",
                "--style",
                "llvm",
                &format!("--debug-{part}"),
                &object,
            ]);
            assert_eq!((ran.status, ran.err.as_str()), (0, ""));
            let expected = fixture(&format!("host/host-{machine}.{part}.txt"));
            let expected = std::fs::read_to_string(expected).unwrap();
            let format = |text: &str| {
                text.lines()
                    .next()
                    .unwrap()
                    .rsplit(' ')
                    .next()
                    .unwrap()
                    .to_owned()
            };
            assert_eq!(format(&ran.out), format(&expected));
            assert_eq!(body(&ran.out), body(&expected), "{machine} {part}");
        }
    }
}

/// The symbol table has the sizes of the functions: `start` has 0x30 bytes and `sum` 0x28. The tables of this object consist of differences
/// that the linker computes, some of them as LEB128 numbers.
#[test]
fn differences_are_computed_where_the_linker_would() {
    let object = object("loongarch64");
    let ran = run(&["dump", &object, "--format", "json"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let root = &document["units"][0]["entries"][0];
    let mut attributes = root["attributes"].as_array().unwrap().iter();
    let ranges = attributes
        .find(|one| one["name"] == "DW_AT_ranges")
        .unwrap();
    let sizes: Vec<u64> = ranges["ranges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|range| {
            let number = |at: usize| {
                let text = range[at].as_str().unwrap();
                u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
            };
            number(1) - number(0)
        })
        .collect();
    assert_eq!(sizes, [0x28, 0x30]);
}

/// Except in LLVM's style, different sections and different functions have distinct addresses.
#[test]
fn sections_of_an_object_have_addresses_of_their_own_unless_asked_for_llvms() {
    let object = object("x86_64");
    let starts = |style: &str| {
        let ran = run(&["dump", &object, "--style", style]);
        let starts = ran.out.lines().filter(|line| line.contains("DW_AT_low_pc"));
        let mut starts: Vec<String> = starts.map(|line| line.trim().to_owned()).collect();
        starts.sort();
        starts.dedup();
        starts.len()
    };
    assert!(starts("names") > starts("llvm"));
}

#[test]
fn info_and_verify_leave_out_what_is_about_gpus() {
    for (machine, name) in MACHINES {
        let object = object(machine);
        let ran = run(&["verify", &object]);
        assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
        let info = run(&["info", &object]);
        assert_eq!(info.status, 0, "{}", info.err);
        assert!(info.out.starts_with(&format!("{name}\n")), "{}", info.out);
        assert!(info.out.contains("DWARF 5"), "{}", info.out);
        for about_gpus in ["kernel", "xnack", "processor"] {
            assert!(!info.out.contains(about_gpus), "{}", info.out);
        }
        let json = run(&["info", &object, "--format", "json"]);
        let json: Value = serde_json::from_str(&json.out).unwrap();
        assert_eq!(json["object"]["machine"], name);
        assert_eq!(json["objects"][0]["target"], name);
    }
}

/// Errors are found as in a code object: here the address size, and the offset of the abbreviations.
#[test]
fn verify_finds_faults_that_are_not_about_gpus() {
    let folder = std::env::temp_dir().join(format!("hetdwarf-host-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut bytes = std::fs::read(object("x86_64")).unwrap();
    let code = hetdwarf::object::CodeObject::parse_any_machine(
        &bytes,
        hetdwarf::object::Layout::Distinct,
        &std::sync::Arc::new(hetdwarf::meter::Meter::new(
            &hetdwarf::limits::Limits::DEFAULT,
            0,
        )),
    )
    .unwrap();
    let sections = code.sections().iter();
    let offset = sections
        .filter(|section| section.name == ".debug_info")
        .map(|section| section.offset);
    let offset = usize::try_from(offset.clone().next().unwrap()).unwrap();
    drop(code);
    // Breaks the abbreviation code of the first entry, which follows the header of 12 bytes.
    bytes[offset + 12] = 0x7f;
    let path = folder.join("broken.o");
    std::fs::write(&path, bytes).unwrap();
    let ran = run(&["verify", path.to_str().unwrap()]);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(ran.status, 1, "{}{}", ran.out, ran.err);
    assert!(
        ran.out.contains("invalid abbreviation code: 127"),
        "{}",
        ran.out
    );
}

#[test]
fn other_commands_say_what_the_file_is() {
    let object = object("x86_64");
    let wave = fixture("waves/calls/w09.json");
    let wave = wave.to_str().unwrap();
    for command in [
        vec!["vars", &object, "--wave", wave],
        vec!["unwind", &object, "--wave", wave],
    ] {
        let ran = run(&command);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""));
        assert!(ran.err.contains("machine 62 (x86-64)"), "{}", ran.err);
        assert!(!ran.err.contains("malformed"), "{}", ran.err);
    }
}

/// The referenced entries are in another object, and not at an offset in this one.
#[test]
fn references_into_other_objects_are_no_faults() {
    let object = fixture("host/lto.o");
    let object = object.to_str().unwrap();
    let ran = run(&["verify", object]);
    assert_eq!(ran.status, 0, "{}", ran.out);
    // The same number of relocations of .debug_info have a symbol that is not in any section.
    assert!(
        ran.out
            .contains("8 references to entries of other objects are not checked"),
        "{}",
        ran.out
    );
    assert_eq!(ran.out.matches("loc-reference").count(), 1, "{}", ran.out);
    let dump = run(&["dump", object]);
    assert_eq!((dump.status, dump.err.as_str()), (0, ""));
}

/// A host program that contains code objects is selected by the name of its machine.
#[test]
fn the_host_half_of_a_program_is_chosen_by_its_machine() {
    let object = fixture("corpus/bundle/host-fatbin.o");
    let object = object.to_str().unwrap();
    let device = run(&["dump", object, "--index", "0"]);
    assert!(
        device.out.contains("file format elf64-amdgpu"),
        "{}",
        device.err
    );
    let host = run(&["dump", object, "--target", "x86-64"]);
    assert!(
        host.out.contains("file format elf64-x86-64"),
        "{}",
        host.err
    );
}

/// The CIE of a function with cleanups names a personality routine, by a pointer to a pointer (`DW_EH_PE_indirect`) in code at any
/// distance.
#[test]
fn entries_with_a_personality_are_read() {
    let object = fixture("host/cleanup-x86_64.o");
    let object = object.to_str().unwrap();
    let ran = run(&["verify", object]);
    assert_eq!(ran.status, 0, "{}", ran.out);
    assert!(ran.out.contains("0 errors, 0 warnings"), "{}", ran.out);
    let ran = run(&["dump", object, "--debug-frame"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains("\"zPLR\""), "{}", ran.out);
    // This is the last row that llvm-dwarfdump 22 prints.
    let row = "0x1a: CFA=RSP+32: RBX=[CFA-16], RIP=[CFA-8]";
    assert!(ran.out.contains(row), "{}", ran.out);
}
