//! Tests locations in code objects of compilers without the heterogeneous extensions.
//!
//! The expected values come from `fixtures/corpus/clang18/README.md` and `triton/README.md`, whose stops have distinct values in each lane,
//! and from llvm-dwarfdump.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm,
    reason = "a failure here is a failure of the test"
)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use dwarf_tests::{corpus, fixture, hetdwarf, llvm_tool};
use fallible_iterator::FallibleIterator;
use hetdwarf::arch::Register;
use hetdwarf::debug_info::{
    AddressSpaceNumbering, DebugInfo, DieValue, LocationConvention, UnitId,
};
use hetdwarf::expr::{Operation, operations};
use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;
use serde_json::Value as Json;

/// Returns the variables of a stop: the text of each lane, by name.
fn vars(object: &str, wave: &str, strict: bool) -> BTreeMap<String, Vec<Json>> {
    let path = |name: &str| fixture("corpus").join(name).into_os_string();
    let mut arguments = vec![
        "vars".into(),
        path(object),
        "--wave".into(),
        path(wave),
        "--format".into(),
        "json".into(),
    ];
    if strict {
        arguments.push("--strict".into());
    }
    let ran = hetdwarf(arguments);
    let document: Json = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    let mut variables = BTreeMap::new();
    for variable in dwarf_tests::variables(&document) {
        let name = variable["name"].as_str().unwrap().to_owned();
        let lanes = variable["lanes"].as_array().unwrap().clone();
        let has_value = lanes.iter().any(|lane| lane["state"] == "ok");
        // Of several variables with one name, the one with a value is used.
        if has_value || !variables.contains_key(&name) {
            variables.insert(name, lanes);
        }
        assert_eq!(
            variable["reading"],
            if strict { "dwarf" } else { "legacy-llvm" }
        );
    }
    variables
}

/// Checks a value of `buf`, the kernel's local memory, which holds 100, 101, ….
fn holds_local_memory(lane: &Json) {
    let numbers: Vec<String> = (100..132).map(|number| number.to_string()).collect();
    assert_eq!(lane["value"], format!("{{{}}}", numbers.join(", ")));
}

/// The registers of the stop hold `1000 * N + lane`.
#[test]
fn registers_of_clang_18_are_those_of_the_lane() {
    let variables = vars(
        "clang18/hip-gfx90a-O2.hsaco",
        "clang18/stop-hip-O2.json",
        false,
    );
    let shown = |name: &str, lane: usize| &variables[name][lane];
    for lane in 0..64 {
        assert_eq!(shown("id", lane)["value"], lane.to_string());
        assert_eq!(shown("q", lane)["value"], (3000 + lane).to_string());
        // The location is `bregx VGPR3+0, consts 30, gt, …`, and v3 holds at least 3000.
        assert_eq!(shown("c", lane)["value"], "true");
        holds_local_memory(shown("buf", lane));
    }
}

/// Scratch holds `1000 * slot + lane`. Slots are dwords from the frame base on: `fbreg N` is slot `N / 4`.
#[test]
fn the_stack_of_clang_18_is_that_of_the_lane() {
    let variables = vars(
        "clang18/hip-gfx90a-O0.hsaco",
        "clang18/stop-hip-O0.json",
        false,
    );
    for (name, fbreg) in [("n", 24), ("id", 28), ("q", 32)] {
        for (lane, shown) in variables[name].iter().enumerate() {
            let expected = 1000 * (fbreg / 4) + lane;
            assert_eq!(shown["value"], expected.to_string(), "{name}");
        }
    }
    for lane in 0..64u64 {
        let lanes = |name: &str| &variables[name][usize::try_from(lane).unwrap()];
        // The values are in slots 4 and 5, and in one byte of slot 9.
        let pointer = (5000 + lane) << 32 | (4000 + lane);
        assert_eq!(lanes("out")["value"], format!("{pointer:#x}"));
        assert_eq!(lanes("c")["bytes"], format!("{:02x}", (9000 + lane) & 0xff));
        holds_local_memory(lanes("buf"));
    }
}

/// In this producer, address space 1 is private, and 2 is local.
#[test]
fn address_spaces_of_clang_18_have_its_numbers() {
    let variables = vars(
        "clang18/opencl-gfx90a-O0.hsaco",
        "clang18/stop-opencl-O0.json",
        false,
    );
    for lane in 0..64u64 {
        let lanes = |name: &str| &variables[name][usize::try_from(lane).unwrap()];
        // The variables are at `fbreg +16`, 20, 24 and 28: slots 4 to 7.
        assert_eq!(lanes("lp")["value"], format!("local#{:#x}", 4000 + lane));
        assert_eq!(lanes("n")["value"], (5000 + lane).to_string());
        assert_eq!(lanes("id")["value"], (6000 + lane).to_string());
        assert_eq!(lanes("q")["value"], (7000 + lane).to_string());
        holds_local_memory(lanes("buf"));
    }
}

/// Registers of the stop hold different numbers in every lane. According to llvm-dwarfdump, `x` is v4 and `total` v2.
#[test]
fn registers_of_triton_are_those_of_the_lane() {
    let variables = vars("triton/add-gfx942.hsaco", "triton/stop-gfx942.json", false);
    let text = std::fs::read(fixture("corpus/triton/stop-gfx942.json")).unwrap();
    let stop: Json = serde_json::from_slice(&text).unwrap();
    for (name, register) in [("x", "v4"), ("total", "v2")] {
        for lane in 0..64 {
            let held = stop["registers"][register][lane].as_str().unwrap();
            let held = u32::from_str_radix(held.strip_prefix("0x").unwrap(), 16).unwrap();
            let bytes: String = held
                .to_le_bytes()
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect();
            assert_eq!(variables[name][lane]["bytes"], bytes, "{name}");
        }
    }
}

/// The linker leaves the symbols of local memory undefined, and the location of each object at 0. The kernel `lds` has two objects of 256
/// and 128 bytes in its 384 bytes. Only one of them can be at 0, and it is unknown which. The only object of `lds_two` fills its 64 bytes,
/// so it is at 0.
#[test]
fn local_memory_whose_symbol_is_undefined_is_shown_only_if_it_fills_the_kernels() {
    let bytes: Vec<u8> = (0..=255).chain(0..128).collect();
    let at = |pc: u64| {
        let stop = serde_json::json!({
            "format": "hetdwarf-wave/1", "target": "gfx1100", "wave_size": 32, "pc": pc,
            "registers": {"exec": 0xffff_ffffu32},
            "memory": [{"space": "local", "address": 0, "bytes": hex(&bytes)}],
        });
        let wave = format!("hetdwarf-local-{pc:x}-{}.json", std::process::id());
        let wave = std::env::temp_dir().join(wave);
        std::fs::write(&wave, stop.to_string()).unwrap();
        let found = vars("llvm22/lds-gfx1100-O2.hsaco", wave.to_str().unwrap(), false);
        std::fs::remove_file(&wave).unwrap();
        found
    };
    let two = at(0x1ad4);
    for name in ["line", "pairs"] {
        let lane = &two[name][0];
        assert_eq!(lane["state"], "ambiguous", "{name}: {lane}");
        assert_eq!(lane.get("value"), None, "{name}: {lane}");
    }
    let one = at(0x1c70);
    assert_eq!(one["line"][0]["state"], "ok");
    assert_eq!(one["line"][0]["bytes"], hex(&bytes[..64]));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Strict reading does not use the intended meaning: the first dword of a vector register is lane 0's.
#[test]
fn by_the_letter_a_register_is_that_of_lane_0() {
    let variables = vars(
        "clang18/hip-gfx90a-O2.hsaco",
        "clang18/stop-hip-O2.json",
        true,
    );
    for lane in &variables["q"] {
        assert_eq!(lane["value"], "3000");
    }
}

/// The facts that a unit's locations reveal.
#[derive(Default)]
struct Shown {
    /// The number of locations that start with `DW_OP_regx` of a vector register.
    vector_registers: usize,
}

fn shown(info: &DebugInfo<'_>, unit: UnitId) -> Shown {
    let mut shown = Shown::default();
    let mut look = |bytes: &[u8], encoding| {
        let names = operations(bytes, encoding)
            .iterator()
            .map_while(Result::ok)
            .filter(|item| match item.operation {
                Operation::Regx { register } => {
                    Register::from_number(register).is_some_and(Register::is_vector)
                }
                _ => false,
            })
            .count();
        shown.vector_registers += names;
    };
    let mut dies = info.dies(unit).unwrap();
    while let Some(die) = dies.next().unwrap() {
        for attribute in die.attributes() {
            if attribute.name() != gimli::DW_AT_location {
                continue;
            }
            match info.value(&die, attribute) {
                Ok(DieValue::Expression(expression)) => {
                    look(expression.bytes, expression.unit.encoding);
                }
                Ok(DieValue::LocationList(offset)) => {
                    let meter = info.for_query();
                    let mut entries = info.location_list(unit, offset, &meter).unwrap();
                    while let Some(entry) = entries.next().unwrap() {
                        look(entry.expression.bytes, entry.expression.unit.encoding);
                    }
                }
                _ => {}
            }
        }
    }
    shown
}

/// Returns the wording of `spec-notes/legacy-llvm.md`.
fn reading(locations: LocationConvention) -> &'static str {
    match locations {
        LocationConvention::Augmented => "as specified: augmentation",
        LocationConvention::Extended { .. } => "as specified: an operation of the extensions",
        LocationConvention::Gnu => "as specified: GNU, lane 0",
        LocationConvention::LaneDword => "the lane's dword",
        other => panic!("{other:?}"),
    }
}

fn numbering(spaces: AddressSpaceNumbering) -> &'static str {
    match spaces {
        AddressSpaceNumbering::Usage => "USAGE",
        AddressSpaceNumbering::UpTo20 => "up to 20",
        AddressSpaceNumbering::Undecided => "undecided",
        other => panic!("{other:?}"),
    }
}

/// Implements the rule independently, with llvm-dwarfdump's output for a unit's variables and frame bases.
fn by_llvm_dwarfdump(tool: &Path, object: &Path) -> Vec<&'static str> {
    let output = Command::new(tool)
        .arg("--debug-info")
        .arg(object)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut units = Vec::new();
    let (mut tag, mut attribute) = ("", "");
    for line in text.lines() {
        if line.contains("_UNIT_") || line.contains(" Unit: length") {
            units.push("the lane's dword");
        }
        if let Some(at) = line.find("DW_TAG_") {
            tag = line[at..].trim_end();
        }
        if let Some(at) = line.find("DW_AT_") {
            attribute = line[at..].split_whitespace().next().unwrap();
        }
        // llvm-dwarfdump has no name for the augmentation: it is an attribute of a unit with text in this format.
        let is_augmentation = tag.ends_with("_unit") && line.contains("(\"[");
        let is_location = matches!(
            (tag, attribute),
            (
                "DW_TAG_variable" | "DW_TAG_formal_parameter",
                "DW_AT_location"
            ) | ("DW_TAG_subprogram", "DW_AT_frame_base")
        );
        let Some(unit) = units.last_mut() else {
            continue;
        };
        if tag.ends_with("_unit") && attribute == "DW_AT_producer" && line.contains("GNU") {
            *unit = "as specified: GNU, lane 0";
        } else if is_augmentation {
            *unit = "as specified: augmentation";
        } else if is_location && line.contains("DW_OP_LLVM_user") && *unit == "the lane's dword" {
            *unit = "as specified: an operation of the extensions";
        }
    }
    units
}

/// Every `DW_OP_regx VGPRn` of every object of the corpus is in a unit with a known reading, which llvm-dwarfdump's text confirms. The
/// table of objects equals the one in `spec-notes/legacy-llvm.md`.
#[test]
fn every_unit_of_the_corpus_is_read_as_the_table_says() {
    let tool = llvm_tool("llvm-dwarfdump");
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in corpus() {
        let bytes = std::fs::read(&path).unwrap();
        let object = CodeObject::parse(&bytes).unwrap();
        let program = Program::load(&object).unwrap();
        let info = program.info();
        let mut found = Vec::new();
        // Units with the same facts: their number, and the number of their vector registers.
        let mut kinds: BTreeMap<(String, String, &str, &str), (usize, usize)> = BTreeMap::new();
        for unit in info.unit_ids() {
            let said = info.unit_info(unit).unwrap();
            let convention = info.convention(unit).unwrap();
            let reading = reading(convention.locations);
            if !said.section.starts_with(".debug_types") {
                found.push(reading);
            }
            let text = |text: &Option<_>| text.as_deref().unwrap_or("–").to_owned();
            // Only the version of a producer matters, so options and paths are left out.
            let producer = text(&said.producer);
            let end = producer
                .find(" (")
                .or(producer.find(" -"))
                .unwrap_or(producer.len());
            let key = (
                producer[..end].to_owned(),
                text(&said.augmentation),
                reading,
                numbering(convention.address_spaces),
            );
            let kind = kinds.entry(key).or_default();
            kind.0 += 1;
            kind.1 += shown(info, unit).vector_registers;
        }
        if let Some(tool) = &tool {
            assert_eq!(by_llvm_dwarfdump(tool, &path), found, "{}", path.display());
        }
        let folder = path
            .parent()
            .unwrap()
            .file_name()
            .unwrap()
            .to_str()
            .unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        for ((producer, augmentation, reading, spaces), (units, registers)) in kinds {
            let producer = if producer.is_empty() {
                "(empty)"
            } else {
                &producer
            };
            let row = format!("{producer} | {augmentation} | {reading} | {spaces}");
            let of = format!("{name} ({units}, {registers})");
            rows.entry(format!("`{folder}` | {row}"))
                .or_default()
                .push(of);
        }
    }
    let mut table = String::new();
    for (row, objects) in &rows {
        let (folder, row) = row.split_once(" | ").unwrap();
        writeln!(table, "| {folder}: {} | {row} |", objects.join(", ")).unwrap();
    }
    let notes = dwarf_tests::package().join("../spec-notes/legacy-llvm.md");
    let notes = std::fs::read_to_string(notes).unwrap();
    for row in table.lines() {
        assert!(
            notes.contains(row),
            "spec-notes/legacy-llvm.md lacks:\n{table}"
        );
    }
}

/// Returns a unit of an unknown producer with two pointers: one has the number 2 in `DW_AT_address_class`, and the other the number 1 in
/// `attribute`.
fn unit_with_pointers(attribute: u16) -> Option<Vec<u8>> {
    let text = format!(
        ".section .debug_abbrev,\"\",@progbits\n\
         .byte 1, 0x11, 1, 0x25, 8, 0, 0\n\
         .byte 2, 0x0f, 0, 0x33, 0x0b, 0, 0\n\
         .byte 3, 0x0f, 0\n.uleb128 {attribute:#x}\n.byte 0x0b, 0, 0\n.byte 0\n\
         .section .debug_info,\"\",@progbits\n\
         .long .Lend - .Lstart\n.Lstart:\n.short 5\n.byte 1, 8\n.long 0\n\
         .byte 1\n.asciz \"somebody's compiler\"\n.byte 2, 2, 3, 1, 0\n.Lend:\n"
    );
    let tool = llvm_tool("llvm-mc")?;
    let folder = std::env::temp_dir().join(format!("hetdwarf-spaces-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, object) = (folder.join("p.s"), folder.join("p.o"));
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new(tool);
    command.args([
        "-triple=amdgcn-amd-amdhsa",
        "-mcpu=gfx1100",
        "-filetype=obj",
    ]);
    let ran = command
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .status()
        .unwrap();
    assert!(ran.success());
    let file = std::fs::read(&object).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    Some(file)
}

/// LLVM 24 writes `DW_AT_LLVM_address_space` (0x3e10) with the numbers of USAGE, in place of `DW_AT_address_class` (0x33) with the numbers
/// of the producer's version.
#[test]
fn an_address_space_decides_the_numbering() {
    for (attribute, expected) in [
        (0x33, AddressSpaceNumbering::UpTo20),
        (0x3e10, AddressSpaceNumbering::Usage),
        // DW_AT_LLVM_vector_size is an attribute with another meaning.
        (0x3e13, AddressSpaceNumbering::UpTo20),
    ] {
        let Some(file) = unit_with_pointers(attribute) else {
            return;
        };
        let object = CodeObject::parse(&file).unwrap();
        let program = Program::load(&object).unwrap();
        let unit = program.info().unit_ids().next().unwrap();
        let convention = program.info().convention(unit).unwrap();
        assert_eq!(convention.address_spaces, expected, "{attribute:#x}");
    }
}
