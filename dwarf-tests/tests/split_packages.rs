//! Tests packages of split units (`.dwp`), objects that have skeletons and split units in one file, and commands about objects without their `.dwo`
//! files.
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
    for file in ["ab.dwp", "single.o", "constant.dwo"] {
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

/// The number in the skeleton of `split-gfx90a-O2.hsaco` and in `small.dwo`, as llvm-dwarfdump prints it.
const DWO_ID: u64 = 0x7bbc_4439_0e0d_6618;

/// A folder with `old.hsaco` and `new.hsaco`, which are equal except for their numbers, their files `old.dwo` and `new.dwo`, and `whole.hsaco`, which
/// is not split. Both skeletons name `small.dwo`.
struct Versions(std::path::PathBuf);

impl Versions {
    fn new(name: &str) -> Versions {
        let name = format!("hetdwarf-split-{name}-{}", std::process::id());
        let folder = Versions(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0).unwrap();
        let corpus = |name: &str| std::fs::read(fixture(&format!("corpus/llvm22/{name}"))).unwrap();
        for (from, to) in [("split-gfx90a-O2.hsaco", "hsaco"), ("small.dwo", "dwo")] {
            let old = corpus(from);
            let id = DWO_ID.to_le_bytes();
            let places = old.windows(8).enumerate().filter(|(_, bytes)| *bytes == id);
            let places: Vec<usize> = places.map(|(at, _)| at).collect();
            let [at] = places[..] else {
                panic!("{from}: {places:?}");
            };
            let mut new = old.clone();
            new[at..at + 8].copy_from_slice(&(DWO_ID + 1).to_le_bytes());
            std::fs::write(folder.0.join(format!("old.{to}")), old).unwrap();
            std::fs::write(folder.0.join(format!("new.{to}")), new).unwrap();
        }
        std::fs::write(
            folder.0.join("whole.hsaco"),
            corpus("small-gfx90a-O2-dwarf4.hsaco"),
        )
        .unwrap();
        folder
    }

    /// Runs a command. `TMP` stands for the folder.
    fn run(&self, line: &str) -> Ran {
        let folder = self.0.to_str().unwrap();
        let ran = hetdwarf(line.split(' ').map(|word| word.replace("TMP", folder)));
        Ran {
            out: ran.out.replace(folder, "TMP"),
            err: ran.err.replace(folder, "TMP"),
            ..ran
        }
    }
}

impl Drop for Versions {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const ELSEWHERE: &str =
    "the debugging information is in another file, small.dwo: give it with --dwo";

#[test]
fn coverage_says_that_a_dwo_file_is_missing() {
    let files = Versions::new("coverage");
    let ran = files.run("coverage TMP/old.hsaco");
    let expected = format!("error: TMP/old.hsaco: {ELSEWHERE}\n");
    assert_eq!((ran.status, &ran.err), (2, &expected));
    let json = files.run("coverage TMP/old.hsaco --format json");
    let json: Value = serde_json::from_str(&json.out).unwrap();
    let missing = &json["files"][0]["missing_split"];
    assert_eq!(
        (&missing["units"], &missing["name"]),
        (&1.into(), &"small.dwo".into())
    );
    // The other object is counted.
    let ran = files.run("coverage TMP/whole.hsaco TMP/old.hsaco");
    assert_eq!((ran.status, &ran.err), (2, &expected));
    assert!(
        ran.out
            .starts_with("TMP/whole.hsaco (gfx90a, 3 functions)\n"),
        "{}",
        ran.out
    );
    let ran = files.run("coverage TMP/old.hsaco TMP/new.hsaco --dwo TMP/old.dwo --dwo TMP/new.dwo");
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert_eq!(
        ran.out.matches("(gfx90a, 3 functions)").count(),
        2,
        "{}",
        ran.out
    );
    // A file that belongs to no unit is neither counted nor accepted silently. The second copy of a file has nothing new.
    for (object, dwo, unused) in [
        ("whole", "old.dwo", "old.dwo"),
        ("old", "new.dwo", "new.dwo"),
        ("old", "whole.hsaco", "whole.hsaco"),
        ("old", "old.dwo --dwo TMP/old.dwo", "old.dwo"),
    ] {
        let ran = files.run(&format!("coverage TMP/{object}.hsaco --dwo TMP/{dwo}"));
        let reason = format!("error: TMP/{unused}: it belongs to no unit of TMP/{object}.hsaco\n");
        assert!(ran.status == 2 && ran.err.ends_with(&reason), "{}", ran.err);
        assert!(
            !ran.out.contains("5 functions") && !ran.out.contains("6 functions"),
            "{}",
            ran.out
        );
    }
    // The other commands about one object name it as well.
    let ran = files.run("eval --object TMP/old.hsaco --dwo TMP/new.dwo --expr lit1");
    let reason = "error: TMP/new.dwo: it belongs to no unit of TMP/old.hsaco\n";
    assert_eq!((ran.status, ran.err.as_str()), (2, reason));
}

#[test]
fn versions_are_compared_with_their_own_dwo_files() {
    let files = Versions::new("compare");
    // Without the file, every function would seem to have lost its variables.
    let ran = files.run("compare TMP/whole.hsaco TMP/old.hsaco");
    let expected = format!("error: TMP/old.hsaco: {ELSEWHERE}\n");
    assert_eq!((ran.status, ran.out.as_str(), &ran.err), (2, "", &expected));
    let ran = files.run("compare TMP/old.hsaco TMP/new.hsaco --dwo TMP/old.dwo");
    let expected = format!("error: TMP/new.hsaco: {ELSEWHERE}\n");
    assert_eq!((ran.status, ran.out.as_str(), &ran.err), (2, "", &expected));
    // The file is used only for the version that it belongs to.
    let ran = files.run("compare TMP/whole.hsaco TMP/old.hsaco --dwo TMP/old.dwo");
    assert!(
        ran.out.contains("3 functions: ") && ran.err.is_empty(),
        "{}{}",
        ran.out,
        ran.err
    );
    let both = "compare TMP/old.hsaco TMP/new.hsaco --dwo TMP/new.dwo --dwo TMP/old.dwo";
    let ran = files.run(both);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("3 functions: "), "{}", ran.out);
    let ran = files.run(&both.replace("new.hsaco", "whole.hsaco"));
    let reason = "error: TMP/new.dwo: it belongs to no unit of TMP/old.hsaco or TMP/whole.hsaco\n";
    assert_eq!((ran.status, ran.err.as_str()), (2, reason));
}

#[test]
fn verify_says_that_a_dwo_file_was_not_checked() {
    let files = Versions::new("verify");
    let ran = files.run("verify TMP/old.hsaco");
    let warning = "warning: TMP/old.hsaco: the debugging information is in another file, small.dwo, which was not checked; check it by itself\n";
    assert_eq!((ran.status, ran.err.as_str()), (0, warning));
    // The record has it, so that it is also in a merged report.
    let records = files.run("verify TMP/old.hsaco --format jsonl");
    assert_eq!((records.status, records.err.as_str()), (0, warning));
    std::fs::write(
        files.0.join("records.jsonl"),
        records.out.replace("TMP", files.0.to_str().unwrap()),
    )
    .unwrap();
    for format in ["text", "json"] {
        let whole = files.run(&format!("verify TMP/old.hsaco --format {format}"));
        let merged = files.run(&format!("merge TMP/records.jsonl --format {format}"));
        assert_eq!(
            (merged.status, merged.out, merged.err.as_str()),
            (0, whole.out, warning)
        );
    }
    // The file is checked as well.
    std::fs::rename(files.0.join("old.dwo"), files.0.join("small.dwo")).unwrap();
    let ran = files.run("verify TMP/old.hsaco TMP/small.dwo");
    assert_eq!(ran.err, "");
    assert!(ran.out.contains("2 code objects: "), "{}", ran.out);
}
