//! Runs `verify` on locations of real code objects. The expected errors were found by other means: llvm-dwarfdump, and reading the code.
//! `spec-notes/verify-locations.md` has the evidence.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;
use hetdwarf::verify::{Finding, Severity, verify};

/// Returns the findings outside of call frame information.
fn findings(bytes: &[u8]) -> Vec<Finding> {
    let Ok(object) = CodeObject::parse(bytes) else {
        return Vec::new();
    };
    let Ok(program) = Program::load(&object) else {
        return Vec::new();
    };
    let all = verify(&program).findings;
    all.into_iter()
        .filter(|finding| !matches!(finding.section, ".debug_frame" | ".eh_frame"))
        .collect()
}

/// Returns the folder and name of a file of the corpus.
fn name(path: &Path) -> String {
    let folder = path.parent().unwrap().file_name().unwrap();
    let file = path.file_name().unwrap();
    format!("{}/{}", folder.display(), file.display())
}

/// The errors in the corpus: file, rule, function and object. Another test covers functions without a frame base, because llvm-dwarfdump
/// lists them.
#[rustfmt::skip]
const ERRORS: &[(&str, &str, &str, &str)] = &[
    ("gcc12/offload-gfx900-O0.hsaco",          "expr-out-of-bounds", "_dtoa_r", "_d"),
    ("gcc12/offload-gfx900-O0.hsaco",          "expr-out-of-bounds", "_dtoa_r", "L"),
    ("gcc12/offload-gfx900-O0.hsaco",          "expr-out-of-bounds", "__d2b",   "_d"),
    ("gcc12/offload-gfx900-O0.hsaco",          "expr-out-of-bounds", "__ulp",   "_x"),
    ("gcc12/offload-gfx906-O1.hsaco",          "expr-out-of-bounds", "_dtoa_r", "_d"),
    ("gcc12/offload-gfx906-O1.hsaco",          "expr-out-of-bounds", "_dtoa_r", "L"),
    ("gcc12/offload-gfx906-O1.hsaco",          "expr-out-of-bounds", "__d2b",   "_d"),
    ("gcc12/offload-gfx906-O1.hsaco",          "expr-out-of-bounds", "__ulp",   "_x"),
    ("llvm22/tile-gfx90a-O1-names.hsaco",      "expr-lane-overrun",  "tile",    "a"),
    ("llvm22/tile-gfx90a-O1-names.hsaco",      "expr-lane-overrun",  "tile",    "b"),
    ("rocm-style/big-gfx1030-w64-O2.hsaco",    "expr-lane-overrun",  "big",     "w2"),
    ("rocm-style/big-gfx1030-w64-O2.hsaco",    "expr-lane-overrun",  "big",     "w3"),
];

#[test]
fn errors_of_the_corpus_are_those_that_were_proved() {
    let mut found = BTreeSet::new();
    for path in dwarf_tests::corpus() {
        for finding in findings(&std::fs::read(&path).unwrap()) {
            if finding.severity != Severity::Error || finding.rule.id == "expr-no-frame-base" {
                continue;
            }
            let object = finding.message.raw().split('`').nth(1).unwrap_or_default();
            let function = finding.function.unwrap_or_default();
            let function = function.into_raw().into_owned();
            found.insert((name(&path), finding.rule.id, function, object.to_owned()));
        }
    }
    let expected = ERRORS
        .iter()
        .map(|(file, rule, function, object)| {
            (
                (*file).to_owned(),
                *rule,
                (*function).to_owned(),
                (*object).to_owned(),
            )
        })
        .collect();
    assert_eq!(found, expected);
}

/// Returns the names of functions in which llvm-dwarfdump shows `DW_OP_fbreg` without `DW_AT_frame_base`.
fn without_frame_base(dump: &str) -> BTreeSet<String> {
    /// A function, until the next one starts.
    #[derive(Default)]
    struct Function {
        name: String,
        has_code: bool,
        has_base: bool,
        uses_base: bool,
    }
    let mut found = BTreeSet::new();
    let mut function = Function::default();
    let mut in_subprogram = false;
    let mut take = |function: &mut Function| {
        let done = std::mem::take(function);
        if done.uses_base && !done.has_base && done.has_code {
            found.insert(done.name);
        }
    };
    for line in dump.lines() {
        if let Some((_, tag)) = line.split_once(" DW_TAG_") {
            in_subprogram = tag == "subprogram";
            if in_subprogram || tag == "compile_unit" {
                take(&mut function);
            }
            continue;
        }
        let quoted = || line.split('"').nth(1).unwrap_or_default().to_owned();
        if in_subprogram {
            function.has_code |= line.contains("DW_AT_low_pc") || line.contains("DW_AT_ranges");
            function.has_base |= line.contains("DW_AT_frame_base");
            if line.contains("DW_AT_name") || line.contains("DW_AT_abstract_origin") {
                function.name = quoted();
            }
        }
        function.uses_base |= line.contains("DW_OP_fbreg");
    }
    take(&mut function);
    found
}

#[test]
fn functions_without_frame_base_are_those_of_llvm_dwarfdump() {
    let Some(dwarfdump) = dwarf_tests::llvm_tool("llvm-dwarfdump") else {
        return;
    };
    let mut functions = 0;
    for path in dwarf_tests::corpus() {
        let output = Command::new(&dwarfdump)
            .arg("--debug-info")
            .arg(&path)
            .output()
            .unwrap();
        let expected = without_frame_base(&String::from_utf8_lossy(&output.stdout));
        let found: BTreeSet<_> = findings(&std::fs::read(&path).unwrap())
            .into_iter()
            .filter(|finding| finding.rule.id == "expr-no-frame-base")
            .map(|finding| finding.function.unwrap().into_raw().into_owned())
            .collect();
        assert_eq!(found, expected, "{}", path.display());
        functions += found.len();
    }
    // The corpus contains such functions: README.md, "Facts seen".
    assert!(functions >= 10, "{functions}");
}

/// LLVM leaves out the parts after the last known one. llvm-dwarfdump shows the number of locations with a single part, and `verify`
/// reports them once for a unit.
#[test]
fn parts_left_out_are_counted_once_for_a_unit() {
    let Some(dwarfdump) = dwarf_tests::llvm_tool("llvm-dwarfdump") else {
        return;
    };
    let mut all = 0;
    for path in dwarf_tests::corpus() {
        let folder = path.parent().unwrap().file_name().unwrap().to_owned();
        // GCC writes all parts. Only LLVM omits the parts after the last known one.
        if !folder.to_str().unwrap().starts_with("llvm") {
            continue;
        }
        let output = Command::new(&dwarfdump)
            .arg("--debug-info")
            .arg(&path)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let one_part = |line: &&str| {
            line.matches("DW_OP_piece").count() == 1
                && line.trim_end_matches(')').ends_with("DW_OP_piece 0x4")
        };
        let expected = text.lines().filter(one_part).count();
        let units = text.matches("DW_TAG_compile_unit").count();
        let findings = findings(&std::fs::read(&path).unwrap());
        let notes: Vec<_> = findings
            .iter()
            .filter(|finding| finding.rule.id == "expr-short-composite")
            .collect();
        assert!(notes.len() <= units, "{}", path.display());
        let counted = |finding: &&Finding| {
            assert_eq!(finding.severity, Severity::Note);
            let more = finding.message.raw().split("; ").nth(1);
            let more = more.and_then(|text| text.split(' ').next());
            1 + more.map_or(0, |count| count.parse::<usize>().unwrap())
        };
        let found: usize = notes.iter().map(counted).sum();
        assert_eq!(found, expected, "{}", path.display());
        all += found;
    }
    assert!(all > 15, "{all}");
}

/// ROCm's location of a lane's dword, after `DW_OP_regx` and the number: `push_lane, lit4, mul, offset`.
const LANE_OF_REGISTER: [u8; 6] = [0xe9, 0x03, 0x34, 0x1e, 0xe9, 0x04];

/// A byte to change, its new value, and the expected rule.
#[rustfmt::skip]
const MUTATIONS: &[(usize, u8, &str)] = &[
    (1, 0x00, "expr-decode"),            // vendor code 0 is reserved
    (1, 0x0d, "expr-foreign-operation"), // DW_OP_LLVM_NVIDIA_mux
    (2, 0x13, "expr-kind"),              // drop: the register would be multiplied
    (3, 0x96, "expr-leftover"),          // nop: offset moves the lane's number, and the register stays
    (5, 0x0a, "expr-piece-end"),
    (5, 0x0f, "expr-decode"),            // not assigned
];

/// In real objects, every occurrence is changed in every way, and each change is found. The unchanged object has no findings.
#[test]
fn changed_locations_are_each_found_by_the_rule_meant_for_them() {
    let mut changed = 0;
    for file in ["calls-gfx90a-O2", "lane_pc", "inlined-gfx1201-O2"] {
        let path = dwarf_tests::fixture(&format!("corpus/rocm-style/{file}.hsaco"));
        let mut bytes = std::fs::read(path).unwrap();
        let count = |bytes: &[u8], rule: &str| {
            findings(bytes)
                .iter()
                .filter(|finding| finding.rule.id == rule)
                .count()
        };
        let places: Vec<_> = bytes
            .windows(LANE_OF_REGISTER.len())
            .enumerate()
            .filter(|(_, window)| *window == LANE_OF_REGISTER)
            .map(|(at, _)| at)
            .collect();
        assert!(places.len() > 3, "{file}");
        for (byte, value, rule) in MUTATIONS {
            assert_eq!(count(&bytes, rule), 0, "{file}: {rule}");
            for place in &places {
                let at = place + byte;
                let before = std::mem::replace(&mut bytes[at], *value);
                assert!(count(&bytes, rule) > 0, "{file}: {rule} at {at:#x}");
                bytes[at] = before;
                changed += 1;
            }
        }
    }
    assert!(changed > 200, "{changed}");
}

/// For any bytes in the sections, the check returns a reproducible result.
#[test]
fn damaged_objects_are_checked_to_the_end() {
    for file in [
        "rocm-style/lane_pc_loclist.hsaco",
        "llvm22/inlined-gfx1100-O1-dwarf4.hsaco",
    ] {
        let path = dwarf_tests::fixture(&format!("corpus/{file}"));
        let mut bytes = std::fs::read(path).unwrap();
        let mut state = 7_u64;
        for _ in 0..600 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = (state >> 20) as usize % bytes.len();
            // The ELF header is unchanged, so that the file remains a code object.
            if at < 64 {
                continue;
            }
            let before = std::mem::replace(&mut bytes[at], (state >> 50) as u8);
            let found = findings(&bytes);
            assert_eq!(found, findings(&bytes));
            bytes[at] = before;
        }
    }
}

/// `made.s` has these deliberate faults, each with a comment: a reference past the unit, a signature without a type unit, two entries that
/// complete each other, a duplicate attribute. Its expressions are blocks, as before DWARF 4, in a unit of version 5.
#[test]
fn faults_made_on_purpose_are_found_and_no_others() {
    let path = dwarf_tests::fixture("debug_info/made.elf");
    let found = findings(&std::fs::read(path).unwrap());
    let errors: Vec<_> = found
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(|finding| (finding.rule.id, finding.offset))
        .collect();
    let expected = [
        ("abbrev-form", Some(0x71)),
        ("abbrev-attribute-twice", Some(0xb7)),
        ("loc-reference-cycle", Some(0x244)),
        ("loc-reference", Some(0x280)),
        ("loc-reference", Some(0x296)),
    ];
    assert_eq!(errors, expected);
}
