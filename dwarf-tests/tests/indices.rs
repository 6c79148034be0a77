//! Tests indices of names and addresses, and GNU's view pairs, through the command, and compares them with llvm-dwarfdump's checks.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure here is a failure of the test"
)]

use std::path::Path;
use std::process::Command;

use dwarf_tests::{Ran, corpus, fixture, hetdwarf, llvm_tool};
use serde_json::Value;

fn verify(file: &Path, rules: &str) -> Vec<Value> {
    let file = file.display().to_string();
    let ran = hetdwarf([
        "verify", &file, "--rules", rules, "--each", "--format", "json",
    ]);
    assert!(ran.status <= 1, "{file}: {}", ran.err);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    document["files"][0]["findings"].as_array().unwrap().clone()
}

const RULES: &str = "aranges-*,names-*,index-*,range-list";

/// The output of compilers and linkers violates no rule.
#[test]
fn real_indices_break_no_rule() {
    let names = ["two", "merged", "types", "split", "wide"];
    let names = names.map(|name| fixture(&format!("debug_info/names-{name}.hsaco")));
    let mut checked = 0;
    for file in corpus().iter().chain(&names) {
        // Another test covers bundles.
        if file
            .extension()
            .is_none_or(|extension| extension != "hsaco")
        {
            continue;
        }
        assert_eq!(verify(file, RULES), [] as [Value; 0], "{}", file.display());
        checked += 1;
    }
    assert!(checked > 80, "{checked}");
}

/// The linker merges the indices of two units with type units, but does not list the type units.
#[test]
fn entries_for_type_units_that_are_not_listed_are_those_of_llvm_dwarfdump() {
    let Some(tool) = llvm_tool("llvm-dwarfdump") else {
        return;
    };
    let file = fixture("debug_info/names-merged-types.hsaco");
    let output = Command::new(tool)
        .arg("--verify")
        .arg(&file)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    let expected: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("contains an invalid TU index"))
        .map(|line| line.split(' ').nth(7).unwrap())
        .collect();
    assert!(expected.len() > 8, "{text}");
    let found = verify(&file, "names-entry");
    let mut found: Vec<&str> = found
        .iter()
        .map(|one| one["offset"].as_str().unwrap())
        .collect();
    found.sort_unstable();
    let mut expected = expected;
    expected.sort_unstable();
    assert_eq!(found, expected);
}

/// Returns the object that gcc wrote with view pairs in its lists, relabelled for gfx90a.
fn views() -> Vec<u8> {
    let mut data = std::fs::read(fixture("debug_info/views-in-lists.elf")).unwrap();
    // EI_OSABI and EI_ABIVERSION of code object version 5, EM_AMDGPU, EF_AMDGPU_MACH.
    data[7] = 64;
    data[8] = 3;
    data[18] = 224;
    data[48] = 0x3f;
    data
}

/// `readelf --debug-dump=loc` has 11 view pairs, the first before 0x1020..0x102a; one has a view 1.
#[test]
fn view_pairs_are_shown_and_are_no_fault() {
    let folder = std::env::temp_dir().join(format!("hetdwarf-views-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("views.elf");
    std::fs::write(&file, views()).unwrap();
    let dump = |part: &str| -> Ran { hetdwarf(["dump", &file.display().to_string(), part]) };
    let lists = dump("--debug-loclists");
    assert_eq!((lists.status, lists.err.as_str()), (0, ""));
    assert_eq!(
        lists.out.matches("DW_LLE_GNU_view_pair").count(),
        11,
        "{}",
        lists.out
    );
    let entries = dump("--debug-info");
    assert_eq!((entries.status, entries.err.as_str()), (0, ""));
    assert!(
        entries
            .out
            .contains("[0x0000000000001032, 0x0000000000001033): "),
        "{}",
        entries.out
    );
    assert!(!entries.out.contains("view_pair"));
    let found = verify(&file, "loc-list,loc-range-*");
    assert_eq!(found, [] as [Value; 0]);
    std::fs::remove_dir_all(&folder).unwrap();
}
