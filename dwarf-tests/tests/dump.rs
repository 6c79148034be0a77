//! Compares `hetdwarf dump` with llvm-dwarfdump line by line, over every code object of the corpus.
//!
//! With `--style llvm` both print the same except for white space. [`EXCEPTIONS`] lists the differences with reasons. Without the tool
//! these tests are reported as skipped.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm,
    reason = "a failure here is a failure of the test"
)]

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

#[allow(dead_code, reason = "the other test that it belongs to uses all of it")]
#[path = "hostile/elf.rs"]
mod elf;

use dwarf_tests::{Ran, corpus, fixture, hetdwarf, llvm_tool, number, of_producers, wave_cases};
use fallible_iterator::FallibleIterator;
use hetdwarf::debug_info::{DebugInfo, DieValue};
use hetdwarf::dump::{Dump, Part};
use hetdwarf::expr::{
    Code, Encoding, OperandKind, OperandValue, Operation, encode_operation, operations,
};
use hetdwarf::frame::{CfaOperand, Entry, FrameSection, Instructions};
use hetdwarf::object::CodeObject;

/// A line that llvm-dwarfdump 22 prints in another way, and the reason.
struct Exception {
    reason: &'static str,
    /// Returns true if the exception explains the lines of llvm-dwarfdump and of hetdwarf.
    explains: fn(&str, &str) -> bool,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        reason: "DW_OP_deref_type is read as an operation without operands that is not known",
        explains: |theirs, ours| undecoded(theirs, ours, "a6", "DW_OP_deref_type "),
    },
    Exception {
        reason: "DW_OP_GNU_uninit (0xf0) is not known",
        explains: |theirs, ours| undecoded(theirs, ours, "f0", "DW_OP_GNU_uninit"),
    },
    Exception {
        reason: "DW_OP_GNU_parameter_ref (0xfa) is not known",
        explains: |theirs, ours| undecoded(theirs, ours, "fa", "DW_OP_GNU_parameter_ref "),
    },
    Exception {
        reason: "in .debug_loclists, where it has no unit, DW_OP_implicit_pointer is not decoded",
        explains: |theirs, ours| undecoded(theirs, ours, "a0", "DW_OP_implicit_pointer "),
    },
    Exception {
        reason: "in .debug_loclists, where it has no unit, DW_OP_call_ref is not decoded",
        explains: |theirs, ours| undecoded(theirs, ours, "9a", "DW_OP_call_ref "),
    },
    Exception {
        reason: "in .debug_loclists, where it has no unit, some references to base types are in brackets",
        explains: |theirs, ours| {
            let plain = theirs.replace("<base_type ref: ", "");
            theirs != plain && plain.replace('>', "") == ours
        },
    },
    Exception {
        reason: "the location list of DW_AT_LLVM_lane_pc is not printed, only that there is one",
        explains: |theirs, ours| {
            theirs.starts_with("DW_AT_LLVM_lane_pc (indexed")
                && theirs
                    .strip_suffix(')')
                    .is_some_and(|head| ours.starts_with(head))
        },
    },
    Exception {
        reason: "a restrict-qualified type is named by its tag alone",
        explains: |theirs, ours| theirs.contains("\"restrict \"") && ours.ends_with("restrict\")"),
    },
    Exception {
        reason: "an argument of a template whose type is Rust's usize is named u64",
        explains: |theirs, ours| theirs.replace("usize", "u64") == ours.replace("usize", "u64"),
    },
    Exception {
        reason: "of an array of pointers to functions, what stands after the brackets is left out",
        explains: |theirs, ours| {
            theirs.contains("(*[")
                && theirs
                    .strip_suffix("\")")
                    .is_some_and(|head| ours.starts_with(head) && ours.ends_with(")\")"))
        },
    },
];

/// Returns true if llvm-dwarfdump stops at an operation that hetdwarf knows, and both agree up to there.
fn undecoded(theirs: &str, ours: &str, code: &str, name: &str) -> bool {
    theirs
        .split_once("<decoding error> ")
        .is_some_and(|(head, bytes)| {
            bytes.starts_with(code)
                && ours
                    .strip_prefix(head)
                    .is_some_and(|rest| rest.starts_with(name))
        })
}

/// This object has a section for every function, and llvm-dwarfdump places all at address 0. hetdwarf places them consecutively, so that
/// addresses are unique.
const SECTIONS: &str = "calls-gfx90a-O2-et-rel-sections.o";

/// Returns every code object of the fixtures, and the `.dwo` files.
fn objects() -> Vec<PathBuf> {
    let mut files = corpus();
    files.extend(
        ["languages", "bounds", "templates", "rust", "dwarf6-as-5"]
            .map(|name| fixture(&format!("shapes/{name}.hsaco"))),
    );
    // Mojo's names contain escape characters, which hetdwarf prints differently.
    let has_control = |path: &PathBuf| path.ends_with("mojo-0.25.7.o");
    files.extend(of_producers().into_iter().filter(|path| !has_control(path)));
    files.push(fixture("corpus/llvm22/small.dwo"));
    files.push(fixture("object/split-4.dwo"));
    for case in wave_cases() {
        for entry in std::fs::read_dir(case).unwrap() {
            let path = entry.unwrap().path();
            if path
                .extension()
                .is_some_and(|extension| extension == "hsaco")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn dump(file: &Path, arguments: &[&str]) -> Ran {
    let mut all = vec!["dump".to_owned(), file.display().to_string()];
    all.extend(arguments.iter().map(ToString::to_string));
    hetdwarf(all)
}

fn llvm(tool: &Path, file: &Path, arguments: &[&str]) -> String {
    let output = Command::new(tool)
        .args(arguments)
        .arg(file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", file.display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the lines with single spaces, without empty lines and section titles.
fn lines(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|line| !line.is_empty() && !line.ends_with(" contents:"))
        .filter(|line| !line.contains("file format elf64-amdgpu"))
        .collect()
}

/// Returns a line without its addresses.
fn without_addresses(line: &str) -> String {
    line.split(' ')
        .map(|word| {
            let address = word
                .trim_start_matches(['[', '('])
                .starts_with("0x00000000")
                || word.starts_with("pc=")
                || (word.starts_with("0x") && word.ends_with(':'));
            if address { "ADDRESS" } else { word }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// The number of comparisons.
#[derive(Debug, Default)]
struct Counts {
    files: usize,
    lines: usize,
    expressions: usize,
    lists: usize,
    exceptions: Vec<(&'static str, usize)>,
}

impl Counts {
    fn except(&mut self, reason: &'static str) {
        match self
            .exceptions
            .iter_mut()
            .find(|(known, _)| *known == reason)
        {
            Some((_, count)) => *count += 1,
            None => self.exceptions.push((reason, 1)),
        }
    }

    fn compare(&mut self, file: &Path, theirs: &str, ours: &str) {
        let sections = file.ends_with(SECTIONS);
        let mut ours = lines(ours).into_iter().peekable();
        let mut place = String::new();
        self.files += 1;
        for theirs in lines(theirs) {
            let our = ours.next().unwrap_or_default();
            if theirs.starts_with("0x") {
                place.clone_from(&theirs);
            }
            self.lines += 1;
            self.expressions += usize::from(our.contains("DW_OP_"));
            self.lists +=
                usize::from(our.contains("loclist = ") || our.contains("0x") && our.ends_with(':'));
            if theirs == our || (sections && without_addresses(&theirs) == without_addresses(&our))
            {
                continue;
            }
            let found = EXCEPTIONS
                .iter()
                .find(|exception| (exception.explains)(&theirs, &our));
            let Some(exception) = found else {
                panic!(
                    "{}, in {place}\n  theirs: {theirs}\n  ours:   {our}",
                    file.display()
                );
            };
            self.except(exception.reason);
            if our.starts_with("DW_AT_LLVM_lane_pc") {
                while ours.next_if(|line| line.starts_with('[')).is_some() {}
            }
        }
        let more = ours.next();
        assert_eq!(more, None, "{}: we print more", file.display());
    }
}

/// Compares a part of the dump of every object.
fn compare_all(ours: &str, theirs: &[&str]) -> Option<Counts> {
    let tool = llvm_tool("llvm-dwarfdump")?;
    let mut counts = Counts::default();
    for file in objects() {
        let ran = dump(&file, &[ours, "--style", "llvm"]);
        assert_eq!(ran.status, 0, "{}: {}", file.display(), ran.err);
        counts.compare(&file, &llvm(&tool, &file, theirs), &ran.out);
    }
    println!("{ours}: {counts:#?}");
    Some(counts)
}

#[test]
fn debug_info_is_the_same() {
    let Some(counts) = compare_all("--debug-info", &["--debug-info"]) else {
        return;
    };
    assert!(counts.lines > 300_000, "{counts:?}");
    assert!(
        counts.expressions > 20_000 && counts.lists > 5_000,
        "{counts:?}"
    );
}

#[test]
fn debug_frame_is_the_same() {
    let Some(counts) = compare_all("--debug-frame", &["--debug-frame"]) else {
        return;
    };
    assert!(
        counts.lines > 40_000 && counts.expressions > 5_000,
        "{counts:?}"
    );
    assert!(counts.exceptions.is_empty(), "{counts:?}");
}

#[test]
fn debug_loclists_is_the_same() {
    let mut lists = 0;
    for part in ["--debug-loc", "--debug-loclists"] {
        let Some(counts) = compare_all(part, &[part]) else {
            return;
        };
        lists += counts.lists;
    }
    assert!(lists > 5_000, "{lists}");
}

#[test]
fn debug_line_is_the_same() {
    let Some(counts) = compare_all("--debug-line", &["--debug-line"]) else {
        return;
    };
    assert!(counts.lines > 50_000, "{counts:?}");
    assert!(counts.exceptions.is_empty(), "{counts:?}");
}

/// Returns objects with indices of names and addresses: two units, a merged index, type units in this and in other files, and the 64-bit
/// format.
fn indexed() -> Vec<PathBuf> {
    let names = ["two", "merged", "types", "split", "wide"];
    let folder = fixture("debug_info");
    let path = |name: &str| folder.join(format!("names-{name}.hsaco"));
    names.into_iter().map(path).collect()
}

/// The output is equal byte by byte, except for the first line, which has the path.
#[test]
fn debug_names_and_debug_aranges_are_the_same() {
    let Some(tool) = llvm_tool("llvm-dwarfdump") else {
        return;
    };
    let body = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    let (mut names, mut ranges) = (0, 0);
    for file in objects().into_iter().chain(indexed()) {
        for part in ["--debug-names", "--debug-aranges"] {
            let ran = dump(&file, &[part, "--style", "llvm"]);
            assert_eq!(ran.status, 0, "{}: {}", file.display(), ran.err);
            let expected = body(&llvm(&tool, &file, &[part]));
            // llvm-dwarfdump prints nothing for parts that a .dwo file cannot have.
            let is_dwo = file.extension().is_some_and(|extension| extension == "dwo");
            if !is_dwo {
                assert_eq!(body(&ran.out), expected, "{} {part}", file.display());
            }
            names += ran.out.matches("String: 0x").count();
            ranges += ran.out.matches("\n[0x").count();
        }
    }
    assert!(names > 80 && ranges > 100, "{names} {ranges}");
}

#[test]
fn indices_as_json_say_the_same_as_text() {
    for file in indexed() {
        let text = dump(&file, &["--debug-names", "--debug-aranges"]).out;
        let ran = dump(
            &file,
            &["--debug-names", "--debug-aranges", "--format", "json"],
        );
        assert_eq!(ran.status, 0, "{}", ran.err);
        let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let list = |value: &serde_json::Value| value.as_array().unwrap().clone();
        let ranges = list(&json["address_ranges"]).into_iter();
        let ranges: usize = ranges.map(|set| list(&set["ranges"]).len()).sum();
        assert_eq!(ranges, text.matches("\n[0x").count());
        let mut entries = 0;
        for index in list(&json["name_indexes"]) {
            assert_eq!(index["augmentation"], "LLVM0700");
            for name in list(&index["names"]) {
                let string = format!(
                    "Hash: 0x{:X}\n      String: {:#010x} \"{}\"",
                    number(&name["hash"]),
                    number(&name["string"]),
                    name["name"].as_str().unwrap()
                );
                assert!(text.contains(&string), "{string}");
                for entry in list(&name["entries"]) {
                    let place = entry["offset"].as_str().unwrap();
                    let tag = entry["tag"].as_str().unwrap();
                    let entry = text.split(&format!("Entry @ {place} {{")).nth(1).unwrap();
                    assert_eq!(entry.lines().nth(2).unwrap().trim(), format!("Tag: {tag}"));
                    entries += 1;
                }
            }
        }
        assert_eq!(
            entries,
            text.matches(" Entry @ ").count() - text.matches(": Entry @ ").count()
        );
    }
}

#[test]
fn entries_by_name_and_offset_are_the_same() {
    let Some(tool) = llvm_tool("llvm-dwarfdump") else {
        return;
    };
    let file = fixture("corpus/llvm22/units-gfx90a.hsaco");
    for (ours, theirs) in [
        (vec!["--name", "tail"], vec!["--name=tail"]),
        (vec!["--name", "length2"], vec!["--name=length2"]),
        (
            vec!["--name", "tail", "--show-children"],
            vec!["--name=tail", "--show-children"],
        ),
        (
            vec!["--die", "0x33"],
            vec!["--debug-info=0x33", "--show-children"],
        ),
        (
            vec!["--die", "0xc"],
            vec!["--debug-info=0xc", "--show-children"],
        ),
    ] {
        let ours = [ours, vec!["--style", "llvm"]].concat();
        let ran = dump(&file, &ours);
        assert_eq!(ran.status, 0, "{ours:?}: {}", ran.err);
        let expected = llvm(&tool, &file, &theirs);
        // White space must also be equal here.
        let body = |text: &str| text.split_once('\n').unwrap().1.trim_end().to_owned();
        assert_eq!(body(&ran.out), body(&expected), "{ours:?}");
    }
}

#[test]
fn white_space_is_the_same_too() {
    let Some(tool) = llvm_tool("llvm-dwarfdump") else {
        return;
    };
    for name in [
        "units-gfx90a.hsaco",
        "calls-gfx1030-O2.hsaco",
        "small-gfx90a-O0-dwarf4.hsaco",
    ] {
        let file = fixture("corpus/llvm22").join(name);
        for part in ["--debug-info", "--debug-frame", "--debug-line"] {
            let ran = dump(&file, &[part, "--style", "llvm"]);
            let expected = llvm(&tool, &file, &[part]);
            let trimmed = |text: &str| {
                text.lines()
                    .map(str::trim_end)
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            assert_eq!(
                trimmed(&ran.out).trim_end(),
                trimmed(&expected).trim_end(),
                "{name} {part}"
            );
        }
    }
}

/// Every entry and attribute is in the JSON document too, and expressions have the same text and the bytes.
#[test]
fn json_says_the_same_as_text() {
    // GCC's large objects would only take time here.
    let objects = objects()
        .into_iter()
        .filter(|file| !file.starts_with(fixture("corpus/gcc12")));
    for file in objects {
        let all = [
            "--debug-info",
            "--debug-loclists",
            "--debug-line",
            "--debug-frame",
        ];
        let text = dump(&file, &all).out;
        let ran = dump(&file, &[&all[..], &["--format", "json"]].concat());
        assert_eq!(ran.status, 0, "{}: {}", file.display(), ran.err);
        let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(json["format"], "hetdwarf-dump/1");
        let count = |part: &str, field: &str| -> usize {
            let parts = json[part].as_array().unwrap();
            parts
                .iter()
                .map(|part| part[field].as_array().map_or(0, Vec::len))
                .sum()
        };
        let tags = text
            .lines()
            .filter(|line| line.contains(": ") && line.starts_with("0x"));
        let tags = tags.filter(|line| line.contains("DW_TAG_") || line.ends_with("NULL"));
        assert_eq!(
            count("units", "entries"),
            tags.count(),
            "{}",
            file.display()
        );
        let rows = text.lines().filter(|line| {
            line.starts_with("0x")
                && line
                    .split_whitespace()
                    .nth(6)
                    .is_some_and(|word| word == "0")
        });
        assert_eq!(
            count("line_tables", "rows"),
            rows.count(),
            "{}",
            file.display()
        );
        let rows = text
            .lines()
            .filter(|line| line.starts_with("  ") && line.contains("CFA="));
        assert_eq!(count("frames", "rows"), rows.count(), "{}", file.display());
        let shown: HashSet<&str> = text
            .lines()
            .filter_map(|line| line.split('\t').nth(1))
            .collect();
        let units = json["units"].as_array().unwrap();
        for entry in units
            .iter()
            .flat_map(|unit| unit["entries"].as_array().unwrap())
        {
            for attribute in entry["attributes"].as_array().unwrap() {
                if attribute["class"] == "exprloc" {
                    let expression = format!("({})", attribute["value"].as_str().unwrap());
                    assert!(shown.contains(&*expression), "{expression}");
                    assert!(attribute["bytes"].is_string());
                }
            }
        }
    }
}

#[test]
fn the_style_names_shows_all_registers_and_spaces() {
    let file = fixture("corpus/llvm24/calls-gfx1030-O0.hsaco");
    let names = dump(&file, &["--debug-info", "--debug-frame"]).out;
    let llvm = dump(&file, &["--debug-info", "--debug-frame", "--style", "llvm"]).out;
    assert!(llvm.contains("reg1576=") && !llvm.contains("VGPR40="));
    assert!(names.contains("VGPR40=") && !names.contains("reg1576"));
    let file = fixture("corpus/rocm-style/lane_pc.hsaco");
    let file = dump(&file, &[]).out;
    assert!(file.contains("DW_AT_LLVM_lanes\t(0x40)"), "{file}");
    let spaces = dump(&fixture("corpus/llvm24/types-gfx1201-O0.hsaco"), &[]).out;
    for space in ["AMDGPU_generic", "AMDGPU_local", "AMDGPU_private_lane"] {
        assert!(
            spaces.contains(&format!("(DW_ASPACE_LLVM_{space})")),
            "{space}"
        );
    }
}

/// The bounds -2 to 1 mean four elements, but llvm-dwarfdump 22 prints two.
#[test]
fn the_style_names_has_bounds_with_a_sign() {
    let names = dump(&fixture("shapes/bounds.hsaco"), &["--debug-info"]).out;
    for text in ["int[[-2, 2)]", "int[[-5, -2)]", "int[[2, 4)]"] {
        assert!(names.contains(text), "{text}: {names}");
    }
}

/// Returns every expression of a code object, with its encoding.
fn expressions(object: &CodeObject<'_>, split: bool) -> Vec<(Vec<u8>, Encoding)> {
    let mut found = Vec::new();
    let section = |name: &str| Ok(object.section(name)?.unwrap_or_default());
    let info = if split {
        DebugInfo::load(|_| Ok(&[] as &[u8]))
            .unwrap()
            .with_split(section)
            .unwrap()
    } else {
        DebugInfo::load(section).unwrap()
    };
    for unit in info.unit_ids() {
        let mut dies = info.dies(unit).unwrap();
        while let Some(die) = dies.next().unwrap() {
            for attribute in die.attributes() {
                match info.value(&die, attribute) {
                    Ok(DieValue::Expression(expression)) => {
                        found.push((expression.bytes.to_vec(), expression.unit.encoding));
                    }
                    Ok(DieValue::LocationList(offset)) if !split => {
                        let meter = info.for_query();
                        let mut list = info.location_list(unit, offset, &meter).unwrap();
                        while let Some(entry) = list.next().unwrap() {
                            let expression = entry.expression;
                            found.push((expression.bytes.to_vec(), expression.unit.encoding));
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    let frames =
        FrameSection::debug_frame(object.section(".debug_frame").unwrap().unwrap_or_default());
    let mut entries = frames.entries();
    while let Some(entry) = entries.next().unwrap() {
        let (bytes, offset) = match &entry {
            Entry::Cie(cie) => (cie.initial_instructions, cie.instructions_offset),
            Entry::Fde(fde) => (fde.instructions, fde.instructions_offset),
            Entry::Terminator(_) => continue,
        };
        let mut instructions = Instructions::new(bytes, offset, 8, ".debug_frame");
        while let Some(item) = instructions.next().unwrap() {
            for (kind, value) in item.instruction.operands() {
                if let (CfaOperand::Expression, OperandValue::Bytes(bytes)) = (kind, value) {
                    found.push((bytes.to_vec(), Encoding::AMDGPU));
                }
            }
        }
    }
    found
}

fn refers_to_a_base_type(operation: &Operation<'_>) -> bool {
    operation
        .opcode()
        .row()
        .operands
        .contains(&OperandKind::BaseType)
}

#[test]
fn every_expression_is_written_as_it_was_read() {
    let (mut count, mut padded) = (0, 0);
    for file in objects() {
        let data = std::fs::read(&file).unwrap();
        let object = CodeObject::parse(&data).unwrap();
        let split = file.extension().is_some_and(|extension| extension == "dwo");
        for (bytes, encoding) in expressions(&object, split) {
            count += 1;
            let mut items = operations(&bytes, encoding);
            while let Some(item) = items.next().unwrap() {
                let read = &bytes[item.offset..item.end];
                let mut written = Vec::new();
                encode_operation(&item.operation, encoding, &mut written).unwrap();
                // GNU operations that DWARF 5 standardized are written with the standard's codes.
                if let Code::Byte(code @ 0xe0..) = item.code {
                    written[0] = code;
                }
                // LLVM pads references to base types, because it writes them before it knows the offsets.
                if written.len() < read.len() && refers_to_a_base_type(&item.operation) {
                    let again = operations(&written, encoding).next().unwrap().unwrap();
                    assert_eq!(again.operation, item.operation);
                    padded += 1;
                    continue;
                }
                assert_eq!(written, read, "{}: {}", file.display(), item.name());
            }
        }
    }
    println!("{count} expressions, {padded} padded references");
    assert!(count > 25_000 && padded < 60, "{count}, {padded}");
}

/// Dumps all parts of an object with one byte changed, in both formats. Returns the number of errors.
fn dump_damaged(file: &Path, data: &[u8]) -> usize {
    let parts = [
        "--debug-info",
        "--debug-loclists",
        "--debug-line",
        "--debug-frame",
        "--debug-names",
        "--debug-aranges",
    ];
    let mut complained = 0;
    std::fs::write(file, data).unwrap();
    for format in ["text", "json"] {
        let ran = dump(file, &[&parts[..], &["--format", format]].concat());
        assert!(matches!(ran.status, 0 | 2), "{}: {}", ran.status, ran.err);
        assert_eq!(ran.status == 2, !ran.err.is_empty());
        complained += usize::from(ran.status == 2);
        if format == "json" {
            serde_json::from_str::<serde_json::Value>(&ran.out).unwrap();
        } else {
            // An unknown operation is not an error.
            let errors = ran.out.replace("<decoding error>", "").contains("error: ");
            assert_eq!(ran.status == 2, errors, "{}", ran.err);
        }
    }
    complained
}

/// For any changed byte, all parts are printed, or an error explains the problem.
#[test]
fn damaged_objects_do_not_stop_the_dump() {
    let folder = std::env::temp_dir().join(format!("hetdwarf-dump-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let damaged = folder.join("damaged.hsaco");
    for name in [
        "corpus/llvm22/small-gfx90a-O0-dwarf4.hsaco",
        "corpus/llvm22/small-gfx1100-O2-gz-zlib.hsaco",
        "debug_info/names-types.hsaco",
    ] {
        let intact = std::fs::read(fixture(name)).unwrap();
        let object = CodeObject::parse(&intact).unwrap();
        let mut complained = 0;
        for section in object
            .sections()
            .iter()
            .filter(|section| section.is_debug())
        {
            let start = usize::try_from(section.offset).unwrap();
            let range = start..start + usize::try_from(section.stored_size).unwrap();
            for step in 0..12 {
                let mut data = intact.clone();
                data[range.start + step * range.len() / 12] ^= [0xff, 0x01, 0x80][step % 3];
                complained += dump_damaged(&damaged, &data);
            }
        }
        assert!(complained > 20, "{name}: {complained}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn wrong_offsets_are_refused() {
    let file = fixture("corpus/llvm22/units-gfx90a.hsaco");
    for format in ["text", "json"] {
        let ran = dump(&file, &["--die", "0x34", "--format", format]);
        assert_eq!(ran.status, 2);
        assert!(
            ran.err.contains("no entry starts at this offset"),
            "{}",
            ran.err
        );
        assert_eq!(ran.out, "");
    }
}

/// A `.dwo` file next to its code object has addresses.
#[test]
fn split_units_have_the_addresses_of_their_skeletons() {
    let dwo = fixture("corpus/llvm22/small.dwo");
    let file = fixture("corpus/llvm22/split-gfx90a-O2.hsaco");
    let alone = dump(&dwo, &["--name", "helper"]);
    assert!(
        alone
            .out
            .contains("DW_AT_low_pc\t(indexed (00000000) address = <unresolved>)")
    );
    let dwo = dwo.display().to_string();
    let ran = dump(&file, &["--debug-info", "--debug-line", "--dwo", &dwo]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(
        !ran.out.contains("<unresolved>") && !ran.out.contains("DW_LLE_"),
        "{}",
        ran.out
    );
    let helper = ran
        .out
        .split("\n\n")
        .find(|entry| entry.contains("(\"helper\")"))
        .unwrap();
    let low = helper
        .lines()
        .find_map(|line| line.split_once("DW_AT_low_pc\t("))
        .unwrap()
        .1;
    assert!(
        ran.out
            .contains(&format!("\n{} ", low.trim_end_matches(')'))),
        "no row at {low}"
    );
    assert!(
        helper.contains("DW_AT_decl_file\t(\"./small.cl\")"),
        "{helper}"
    );
}

/// Returns the document of a part of a file with these sections, and the errors about malformed DWARF.
fn document(sections: &[(&str, &[u8])], part: Part) -> (serde_json::Value, String) {
    let file = elf::code_object(sections);
    let object = CodeObject::parse(&file).unwrap();
    let mut text = Vec::new();
    let parts = [part];
    let dump = Dump::new("file", &object, None).parts(&parts).json(true);
    let problem = dump.write(&mut text).unwrap();
    let json = serde_json::from_slice(&text).unwrap();
    let problem = problem.map(|malformed| malformed.message);
    (json, problem.unwrap_or_default())
}

/// DWARF 4 §2.6.2: a pair whose first address is the highest possible selects a base. Otherwise it could not be distinguished from an
/// entry.
#[test]
fn json_has_both_addresses_of_a_base_selection() {
    let pairs = [u64::MAX, 0x1000, 0x10, 0x20];
    let mut list: Vec<u8> = pairs.iter().flat_map(|n| n.to_le_bytes()).collect();
    // An expression of one byte, and the end of the list.
    list.extend([1, 0, 0x30]);
    list.extend([0; 16]);
    let (json, problem) = document(&[(".debug_loc", &list)], Part::Loc);
    assert_eq!(problem, "");
    let entries = &json["old_location_lists"][0]["entries"];
    let operands = |number: usize| &entries[number]["operands"];
    assert_eq!(
        *operands(0),
        serde_json::json!(["0xffffffffffffffff", "0x1000"])
    );
    assert_eq!(*operands(1), serde_json::json!(["0x10", "0x20"]));
}

/// DWARF 5 §7.4: of the lengths from 0xfffffff0 on, only 0xffffffff has a meaning.
#[test]
fn a_length_that_is_reserved_is_said_to_be() {
    let table = [0xf0, 0xff, 0xff, 0xff, 5, 0];
    let parts = [
        (".debug_loclists", Part::Loclists),
        (".debug_line", Part::Line),
    ];
    for (section, part) in parts {
        let (_, problem) = document(&[(section, &table)], part);
        assert!(problem.contains("0xfffffff0 is reserved"), "{problem}");
    }
}

/// A truncated view pair, in the list of a variable of a `.dwo` file, without its code object.
#[test]
fn an_error_in_a_list_of_a_dwo_file_names_its_section() {
    let entry = |tag, depth, attributes| elf::Entry {
        tag,
        attributes,
        depth,
    };
    // `DW_AT_location`, by `DW_FORM_sec_offset`: the list is after the header of its table.
    let location = (0x02, elf::Attribute::Bytes(0x17, vec![12, 0, 0, 0]));
    let entries = [entry(0x11, 0, vec![]), entry(0x34, 1, vec![location])];
    let (abbreviations, info) = elf::debug_info(&entries);
    let lists = [9, 0, 0, 0, 5, 0, 8, 0, 0, 0, 0, 0, 9];
    let sections = [
        (".debug_abbrev.dwo", &abbreviations[..]),
        (".debug_info.dwo", &info),
        (".debug_loclists.dwo", &lists),
    ];
    let (_, problem) = document(&sections, Part::Info);
    assert!(problem.contains(".debug_loclists.dwo+0xc"), "{problem}");
}
