//! Tests locations and types of untested producers, and valid corner cases of DWARF: `fixtures/shapes`.
//!
//! The expected values come from the sources next to the objects, from the values that the tests put into registers and memory, and from
//! llvm-dwarfdump.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::needless_range_loop,
    reason = "a failure here is a failure of the test"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use dwarf_tests::{fixture, hetdwarf, llvm_tool, variables};
use serde_json::{Value as Json, json};

fn shape(name: &str) -> PathBuf {
    fixture("shapes").join(name)
}

/// A snapshot file, which is removed when this value is dropped.
struct SnapshotFile(PathBuf);

impl SnapshotFile {
    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SnapshotFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn file(wave: &Json) -> SnapshotFile {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("hetdwarf-shapes-{}-{number}.json", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, wave.to_string()).unwrap();
    SnapshotFile(path)
}

fn read(name: &str) -> Json {
    serde_json::from_slice(&std::fs::read(shape(name)).unwrap()).unwrap()
}

/// Returns the lanes of each variable of a stop, by name. With the option `--strict`, the locations are read exactly as specified.
fn vars(object: &str, wave: &Json, options: &[&str]) -> BTreeMap<String, Vec<Json>> {
    let wave = file(wave);
    let mut arguments = vec!["vars".into(), shape(object).into_os_string()];
    arguments.extend(["--wave".into(), wave.path().as_os_str().to_owned()]);
    arguments.extend(["--format".into(), "json".into()]);
    arguments.extend(options.iter().map(Into::into));
    let ran = hetdwarf(arguments);
    let document: Json = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    variables(&document)
        .into_iter()
        .map(|variable| {
            let name = variable["name"].as_str().unwrap().to_owned();
            (name, variable["lanes"].as_array().unwrap().clone())
        })
        .collect()
}

/// Returns the value of a lane, or its state.
fn shown(lane: &Json) -> &str {
    let text = lane["value"].as_str().filter(|_| lane["state"] == "ok");
    text.unwrap_or_else(|| lane["state"].as_str().unwrap())
}

/// Returns the answers of `print` in a lane.
fn answers(object: &str, wave: &Json, lane: usize, expressions: &[&str]) -> Vec<Json> {
    let wave = file(wave);
    let mut arguments = vec!["print".into(), shape(object).into_os_string()];
    arguments.extend(["--wave".into(), wave.path().as_os_str().to_owned()]);
    arguments.extend(["--lane".into(), lane.to_string().into()]);
    arguments.extend(["--format".into(), "json".into()]);
    arguments.extend(expressions.iter().map(Into::into));
    let ran = hetdwarf(arguments);
    let document: Json = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    document["expressions"].as_array().unwrap().clone()
}

/// Returns the value, the state or the kind of error of each expression in a lane.
fn printed(object: &str, wave: &Json, lane: usize, expressions: &[&str]) -> Vec<String> {
    let answers = answers(object, wave, lane, expressions);
    let shown = |answer: &Json| match answer["error"]["kind"].as_str() {
        Some(kind) => kind.to_owned(),
        None => shown(&answer["lanes"][0]).to_owned(),
    };
    answers.iter().map(shown).collect()
}

/// Returns the value of each expression in a lane, in any state, or the message if it has none.
fn said(object: &str, wave: &Json, lane: usize, expressions: &[&str]) -> Vec<String> {
    let answers = answers(object, wave, lane, expressions);
    let said = |answer: &Json| {
        let lane = &answer["lanes"][0];
        let said = [
            &lane["value"],
            &lane["message"],
            &answer["error"]["message"],
        ];
        let mut said = said.iter().filter_map(|text| text.as_str());
        said.next().unwrap_or_default().to_owned()
    };
    answers.iter().map(said).collect()
}

/// Scratch in the layout of the hardware: the dwords of all lanes at an offset are adjacent.
struct Scratch {
    lanes: u64,
    bytes: Vec<u8>,
}

impl Scratch {
    fn new(lanes: u64, size: u64) -> Scratch {
        let bytes = vec![0xa5; usize::try_from(lanes * size).unwrap()];
        Scratch { lanes, bytes }
    }

    /// Writes at an address of a lane's private memory.
    fn write(&mut self, lane: u64, address: u64, bytes: &[u8]) {
        for (address, byte) in (address..).zip(bytes) {
            let at = (address / 4 * self.lanes + lane) * 4 + address % 4;
            self.bytes[usize::try_from(at).unwrap()] = *byte;
        }
    }

    fn region(&self) -> Json {
        let digits: String = self.bytes.iter().map(|b| format!("{b:02x}")).collect();
        json!({"space": "private_wave", "address": "0x0", "bytes": digits})
    }
}

const SHARED: u64 = 0x1_0000_0000_0000;
const PRIVATE: u64 = 0x2_0000_0000_0000;

/// Returns a stop in a function of `references.hip`, whose frame is at private address 0x100.
fn stop(target: &str, lanes: u64, pc: u64, scratch: &Scratch, memory: Vec<Json>) -> Json {
    // If scratch is accessed through buffers, the frame pointer counts the bytes of all lanes.
    let frame = match target {
        "gfx906" => 0x100 * lanes,
        _ => 0x100,
    };
    let mut regions = memory;
    regions.push(scratch.region());
    json!({
        "format": "hetdwarf-wave/1", "target": target, "wave_size": lanes, "pc": format!("{pc:#x}"),
        "load_address": "0x0",
        "registers": {"exec": if lanes == 64 { "0xffffffffffffffff" } else { "0xffffffff" },
                      "s33": format!("{frame:#x}"), "s32": format!("{:#x}", frame + 0x40 * 64)},
        "memory": regions,
        "apertures": {"shared_base": format!("{SHARED:#x}"), "private_base": format!("{PRIVATE:#x}")},
    })
}

const TARGETS: [(&str, u64); 2] = [("gfx1100", 32), ("gfx906", 64)];

/// `f`, `g` and `h` are parts of a slot. `a` to `e`, `m` and `n` are pointees of eight-byte pointers in slots: `q` in private memory,
/// `three` in local or global memory, depending on the lane.
#[test]
fn structured_bindings_are_where_their_slot_or_its_pointer_says() {
    for (target, lanes) in TARGETS {
        let mut scratch = Scratch::new(lanes, 0x400);
        for lane in 0..lanes {
            let mut pointer = |offset: u64, to: u64| {
                scratch.write(lane, 0x100 + offset, &to.to_le_bytes());
            };
            pointer(24, PRIVATE + 0x200);
            pointer(
                32,
                if lane % 2 == 0 {
                    SHARED + 0x10
                } else {
                    0x7000_0000_0000
                },
            );
            pointer(56, PRIVATE + 0x300);
            let number = u32::try_from(lane).unwrap();
            for (index, at) in (1u32..).zip([0x128, 0x12c, 0x130]) {
                scratch.write(lane, at, &(number * 10 + index).to_le_bytes());
            }
            for (at, first) in [(0x200, 100), (0x300, 200)] {
                scratch.write(lane, at, &(number + first).to_le_bytes());
                let second = f64::from(number) + 0.5;
                scratch.write(lane, at + 8, &second.to_le_bytes());
            }
        }
        let three = "0b0000000c0000000d000000";
        let memory = vec![
            json!({"space": "local", "address": "0x10", "bytes": three}),
            json!({"space": "none", "address": "0x700000000000", "bytes": three.replace('0', "1")}),
        ];
        let pc = if target == "gfx1100" { 0x2500 } else { 0x2600 };
        let wave = stop(target, lanes, pc, &scratch, memory);
        let variables = vars(&format!("references-{target}.hsaco"), &wave, &[]);
        for lane in 0..usize::try_from(lanes).unwrap() {
            let of = |name: &str| shown(&variables[name][lane]).to_owned();
            assert_eq!(of("a"), (lane + 100).to_string(), "{target}");
            assert_eq!(of("b"), format!("{lane}.5"), "{target}");
            assert_eq!(of("m"), (lane + 200).to_string());
            assert_eq!(of("n"), format!("{lane}.5"));
            let parts = [of("f"), of("g"), of("h")];
            assert_eq!(parts, [1, 2, 3].map(|n| (lane * 10 + n).to_string()));
            let expected = match lane % 2 {
                0 => [0xb, 0xc, 0xd],
                _ => [0x1111_111b, 0x1111_111c, 0x1111_111d],
            };
            assert_eq!(
                [of("c"), of("d"), of("e")],
                expected.map(|n: u32| n.to_string())
            );
        }
        // In strict reading, all of them are different or ill-formed.
        let strict = vars(&format!("references-{target}.hsaco"), &wave, &["--strict"]);
        assert!(
            strict["a"].iter().all(|lane| lane["state"] != "ok"),
            "{target}"
        );
    }
}

/// The slot of `r` in `make` has four bytes, because `i` follows it. In `make_none` its size is unknown, and the value is known if both
/// readings agree: if the pointer is a generic one into private memory.
#[test]
fn a_result_in_the_callers_memory_is_at_a_private_pointer() {
    for (target, lanes) in TARGETS {
        let mut scratch = Scratch::new(lanes, 0x400);
        for lane in 0..lanes {
            let number = u32::try_from(lane).unwrap();
            scratch.write(lane, 0x100, &0x200u32.to_le_bytes());
            scratch.write(lane, 0x104, &number.to_le_bytes());
            if lane % 2 == 0 {
                scratch.write(lane, 0x100, &(PRIVATE + 0x200).to_le_bytes());
            }
            scratch.write(lane, 0x200, &(number + 1).to_le_bytes());
            scratch.write(lane, 0x208, &(f64::from(number) / 2.0).to_le_bytes());
        }
        let (make, none) = if target == "gfx1100" {
            (0x1a00, 0x1d00)
        } else {
            (0x1a00, 0x1e00)
        };
        let object = format!("references-{target}.hsaco");
        let own = vars(
            &object,
            &stop(target, lanes, make, &scratch, Vec::new()),
            &[],
        );
        let other = vars(
            &object,
            &stop(target, lanes, none, &scratch, Vec::new()),
            &[],
        );
        for lane in 0..usize::try_from(lanes).unwrap() {
            let half = serde_json::Number::from_f64(lane as f64 / 2.0)
                .unwrap()
                .to_string();
            let expected = format!("{{a = {}, b = {}}}", lane + 1, half.trim_end_matches(".0"));
            assert_eq!(shown(&own["r"][lane]), expected, "{target}");
            let told = if lane % 2 == 0 {
                expected.as_str()
            } else {
                "ambiguous"
            };
            assert_eq!(shown(&other["r"][lane]), told, "{target}");
        }
    }
}

/// The pointers of Zig and Flang parameters were spilled. For lane N, the values are those in the source.
#[test]
fn parameters_by_reference_are_at_the_pointer_that_was_spilled() {
    let zig = vars("zig.hsaco", &read("zig.json"), &[]);
    for lane in 0..32usize {
        let of = |name: &str| shown(&zig[name][lane]).to_owned();
        assert_eq!(of("a"), format!("{{1, 2, {lane}}}"));
        if lane % 2 == 1 {
            assert_eq!(of("opt"), format!("{{payload = {lane}, some = 1}}"));
        }
        let tag = match lane {
            0 => "z",
            1 | 2 => "x",
            _ => "y",
        };
        assert!(of("t").ends_with(&format!("tag = {tag}}}")), "{}", of("t"));
    }
    let fortran = vars("fortran.hsaco", &read("fortran.json"), &[]);
    for lane in 0..32usize {
        assert_eq!(shown(&fortran["i"][lane]), lane.to_string());
    }
}

/// If no register holds the start of a kernel's frame, it is the start of private memory. This also holds for locations that name lanes.
#[test]
fn a_kernel_without_a_frame_base_has_its_frame_at_zero() {
    let mut scratch = Scratch::new(32, 0x40);
    for lane in 0..32u32 {
        scratch.write(lane.into(), 8, &(lane * 3).to_le_bytes());
    }
    let registers: Vec<u32> = (0..32).collect();
    let at = |pc: u64| {
        let mut wave = stop("gfx1100", 32, pc, &scratch, Vec::new());
        wave["registers"]["v0"] = json!(registers);
        wave
    };
    let kernel = vars("frame.hsaco", &at(0x125c), &[]);
    for lane in 0..32usize {
        assert_eq!(shown(&kernel["in_register"][lane]), lane.to_string());
        assert_eq!(shown(&kernel["on_stack"][lane]), (lane * 3).to_string());
    }
    let strict = vars("frame.hsaco", &at(0x125c), &["--strict"]);
    assert_eq!(shown(&strict["on_stack"][1]), "error");
    // For other functions, the frame base is unknown.
    let function = vars("frame.hsaco", &at(0x1264), &[]);
    assert_eq!(shown(&function["of_function"][1]), "error");
}

/// `scalars.s` documents the values that the code writes into each register. Bit N of a mask belongs to lane N.
#[test]
fn truth_values_in_scalar_registers_are_bits_of_lanes_where_the_code_says_so() {
    let wave = read("scalars.json");
    let variables = vars("scalars.hsaco", &wave, &[]);
    let masks = [
        ("compared", 0xff0au32),
        ("combined", 0xa),
        ("from_lane", 0xa),
        ("joined", 0x00ff_0005),
        ("inverted", 0xffff_fff5),
        ("saved", u32::MAX),
        ("selected", u32::MAX),
        ("in_vcc", 0xf0f0_f0f0),
    ];
    for (name, mask) in masks {
        for lane in 0..32usize {
            let expected = (mask >> lane & 1 == 1).to_string();
            assert_eq!(shown(&variables[name][lane]), expected, "{name} in {lane}");
        }
    }
    let others = [
        ("constant", "true"),
        ("loaded", "true"),
        ("joined_values", "false"),
        ("value_from_lane", "true"),
        ("cut", "true"),
        ("mixed", "ambiguous"),
        ("at_entry", "ambiguous"),
        // The type cannot have this value.
        ("invalid", "<invalid bool 248>"),
        // A constant in DWARF before version 4, and values without bits.
        ("number", "-5"),
        ("nothing", "unknown_type"),
        ("unit", "()"),
    ];
    for (name, expected) in others {
        for lane in &variables[name] {
            assert_eq!(shown(lane), expected, "{name}");
        }
    }
    let expressions = [
        "compared",
        "!compared",
        "number * 2",
        "nothing + 1",
        "(int) nothing",
    ];
    let printed = printed("scalars.hsaco", &wave, 1, &expressions);
    assert_eq!(printed, ["true", "0", "-10", "type", "type"]);
}

/// A mask of 64 lanes is in two registers. Lanes 0 to 2 are not greater than 2.
#[test]
fn a_comparison_of_mojo_is_a_bit_of_each_lane() {
    let wave = read("mojo.json");
    let variables = vars("mojo.hsaco", &wave, &[]);
    for (lane, value) in variables["ok"].iter().enumerate() {
        assert_eq!(shown(value), format!("{{{}}}", lane > 2));
    }
}

#[test]
fn a_base_type_without_bits_has_no_number() {
    let triton = vars("triton.hsaco", &read("triton.json"), &[]);
    assert!(triton["offs"].iter().all(|lane| lane["state"] == "ok"));
    let expressions = ["x", "x + 1", "!x", "sizeof(x)"];
    let printed = printed("triton.hsaco", &read("triton.json"), 33, &expressions);
    assert_eq!(printed, ["unknown_type", "type", "type", "0"]);
}

/// Static data members are accessed by the class, through inline namespaces, in an object, in a base class, and in a member function.
#[test]
fn static_constants_of_classes_have_values() {
    let mut scratch = Scratch::new(32, 0x400);
    for lane in 0..32 {
        scratch.write(lane, 0x108, &(PRIVATE + 0x200).to_le_bytes());
    }
    let kernel = stop("gfx1100", 32, 0x2800, &scratch, Vec::new());
    let expressions = [
        "outer::Derived::wide",
        "outer::v1::Derived::wide",
        "Derived::level",
        "Base::level + 1",
        "o.level",
        "(&o)->wide",
        "::outer::v1::Derived::level",
        "sizeof(outer::Derived)",
        "level",
        "o.nothing",
    ];
    let found = printed("references-gfx1100.hsaco", &kernel, 1, &expressions);
    let expected = [
        "-5",
        "-5",
        "3",
        "4",
        "3",
        "-5",
        "3",
        "4",
        // Only one class has this name, as for types and enumerators.
        "3",
        "unknown-member",
    ];
    assert_eq!(found, expected);
    let method = stop("gfx1100", 32, 0x3280, &scratch, Vec::new());
    let found = printed(
        "references-gfx1100.hsaco",
        &method,
        1,
        &["wide", "level", "this->level"],
    );
    assert_eq!(found, ["-5", "3", "3"]);
}

/// Registers can be named by ranges and as halves of masks, and can have no DWARF number.
#[test]
fn registers_are_printed_by_all_names_of_the_assembler() {
    let scratch = Scratch::new(64, 0x400);
    let mut wave = stop("gfx906", 64, 0x2600, &scratch, Vec::new());
    let lanes: Vec<u32> = (0..64).collect();
    let registers = &mut wave["registers"];
    registers["exec"] = json!("0x500000003");
    registers["v42"] = json!(lanes);
    registers["v43"] = json!(vec![7; 64]);
    registers["s4"] = json!("0x11");
    registers["s5"] = json!("0x22");
    registers["s6"] = json!("0x33");
    registers["m0"] = json!("0xfff");
    registers["MODE"] = json!("0x3f0");
    registers["ttmp8"] = json!("0x55");
    let expressions = [
        "$v[42:43]",
        "$s[4:7]",
        "$s[4:6][1]",
        "$s[5:5]",
        "$exec_lo",
        "$exec_hi",
        "$m0",
        "$ttmp8",
        "$mode",
        "$ttmp[8:10]",
        "$trapsts",
        "sizeof($v[0:7])",
        "$s[6:4]",
        "$exec[0:1]",
        "$s[0:9999]",
        "$s[104:110]",
    ];
    let found = printed("references-gfx906.hsaco", &wave, 1, &expressions);
    let expected = [
        ((7u64 << 32) + 1).to_string(),
        "partial".to_owned(),
        "34".to_owned(),
        "34".to_owned(),
        "3".to_owned(),
        "5".to_owned(),
        "4095".to_owned(),
        "85".to_owned(),
        "1008".to_owned(),
        "partial".to_owned(),
        "unavailable".to_owned(),
        "32".to_owned(),
        "unknown-register".to_owned(),
        "unknown-register".to_owned(),
        "unknown-register".to_owned(),
        "unknown-register".to_owned(),
    ];
    assert_eq!(found, expected);
}

/// Brackets in the name of a type that is not an array do not denote an array: `[]const u8` in Zig.
#[test]
fn only_the_brackets_of_arrays_stand_after_the_name() {
    let ran = hetdwarf([
        "vars".into(),
        shape("zig.hsaco").into_os_string(),
        "--wave".into(),
        shape("zig.json").into_os_string(),
        "--lane".into(),
        "3".into(),
    ]);
    for line in [
        "f32 a[3] = {1, 2, 3}",
        "[]const u8 s = {",
        "[:0]const u8 c = {",
    ] {
        assert!(
            ran.out.contains(&format!("\n{line}")),
            "{line}: {}",
            ran.out
        );
    }
}

/// A line table may have no directories, no files, and no formats for them (DWARF 5 §6.2.4).
#[test]
fn line_tables_without_files_are_read() {
    for name in ["empty-formats.hsaco", "empty-files.hsaco"] {
        let ran = hetdwarf([
            "dump".into(),
            "--debug-line".into(),
            shape(name).into_os_string(),
        ]);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{name}");
        assert!(
            ran.out.contains("0x0000000000001234      7      0      1"),
            "{name}"
        );
        if let Some(tool) = llvm_tool("llvm-dwarfdump") {
            let theirs = Command::new(tool)
                .arg("--debug-line")
                .arg(shape(name))
                .output()
                .unwrap();
            let theirs = String::from_utf8(theirs.stdout).unwrap();
            let after = |text: &str| text.split_once(".debug_line").unwrap().1.to_owned();
            assert_eq!(after(&ran.out), after(&theirs), "{name}");
        }
        let wave = json!({"format": "hetdwarf-wave/1", "target": "gfx1100", "wave_size": 32, "pc": "0x1234",
            "load_address": "0x0", "registers": {"exec": "0x1"}, "memory": []});
        let wave = file(&wave);
        let ran = hetdwarf([
            "unwind".into(),
            shape(name).into_os_string(),
            "--wave".into(),
            wave.path().as_os_str().to_owned(),
        ]);
        assert!(!ran.err.contains("malformed"), "{}", ran.err);
    }
}

/// The linker keeps one of two functions with the same code, but the rows of both functions. `same1` is at line 3.
#[test]
fn function_and_line_of_folded_code_are_of_the_same_function() {
    let wave = json!({"format": "hetdwarf-wave/1", "target": "gfx1100", "wave_size": 32, "pc": "0x1510",
        "load_address": "0x0", "registers": {"exec": "0x1"}, "memory": []});
    let wave = file(&wave);
    let ran = hetdwarf([
        "unwind".into(),
        shape("folded.hsaco").into_os_string(),
        "--wave".into(),
        wave.path().as_os_str().to_owned(),
    ]);
    assert!(ran.out.contains("in same1 at t.c:3\n"), "{}", ran.out);
}

/// A bit-field starts before its storage unit. The offset −3 is in `DW_FORM_udata`, which has no sign. 0x04a1 >> 7 & 15 is 9.
#[test]
fn a_negative_bit_offset_is_read_without_a_sign() {
    let wave = read("bit-offset.json");
    let found = printed("bit-offset.hsaco", &wave, 0, &["(int) x.a", "(int) x.b"]);
    assert_eq!(found, ["33", "9"]);
}

/// In DWARF 2, references in operations have the size of an address.
#[test]
fn references_of_dwarf_2_have_the_size_of_an_address() {
    let name = "dwarf2-references.hsaco";
    let ran = hetdwarf(["dump".into(), shape(name).into_os_string()]);
    let locations = [
        "(DW_OP_GNU_implicit_pointer 0x76 +0)",
        "(DW_OP_GNU_implicit_pointer 0x80 +0, DW_OP_piece 0x8)",
        "(DW_OP_call_ref 0x80)",
    ];
    for location in locations {
        assert!(ran.out.contains(location), "{location}");
    }
    let ran = hetdwarf(["verify".into(), shape(name).into_os_string()]);
    assert_eq!(ran.status, 0, "{}", ran.out);
    let wave = json!({"format": "hetdwarf-wave/1", "target": "gfx1100", "wave_size": 32, "pc": "0x1234",
        "load_address": "0x0", "registers": {"exec": "0x1", "s2": "0x22"}, "memory": []});
    let variables = vars(name, &wave, &[]);
    assert_eq!(shown(&variables["c"][0]), "34");
    assert_eq!(variables["p"][0]["value"], "(int *) → 42");
    assert_eq!(variables["q"][0]["value"], "(int *) → 34");
}

/// The pointers were optimized away: `p` points to an entry whose location is the constant 42, and `q` to one with 99. A pointer outside of
/// its pointee points to nothing.
#[test]
fn what_pointers_without_bits_point_to_can_be_asked_for() {
    let wave = read("implicit.json");
    let asked = ["p", "*p", "q", "*q", "q[0]", "*(p + 1 - 1)", "p[1]"];
    let found = said("implicit.hsaco", &wave, 0, &asked);
    let outside = "bit 32 is outside a storage of 32 bits [HET A.2.5.4.4.1]";
    assert_eq!(
        found,
        [
            "(int *) → 42",
            "42",
            "(int *) → 99",
            "99",
            "99",
            "42",
            outside
        ]
    );
    let variables = vars("implicit.hsaco", &wave, &["--children", "1"]);
    let lane = &variables["p"][0];
    assert_eq!(lane["value"], "(int *) → 42");
    assert_eq!(lane["children"][0]["name"], "*");
    assert_eq!(lane["children"][0]["value"], "42");
}

/// The pointer is in a structure whose other member has bits.
#[test]
fn a_member_may_be_a_pointer_without_bits() {
    let wave = read("implicit-member.json");
    let found = said(
        "implicit-member.hsaco",
        &wave,
        0,
        &["s", "s.p", "*s.p", "s.n"],
    );
    assert_eq!(
        found,
        ["{n = 7, p = (int *) → 41}", "(int *) → 41", "41", "7"]
    );
    let lanes = vars("implicit-member.hsaco", &wave, &["--children", "2"]);
    let lane = &lanes["s"][0];
    assert_eq!(lane["value"], "{n = 7, p = (int *) → 41}");
    let p = &lane["children"][1];
    assert_eq!(
        (&p["name"], &p["value"]),
        (&json!("p"), &json!("(int *) → 41"))
    );
    assert_eq!(p["children"][0]["value"], "41");
}

/// The offset of a virtual base is stored 24 bytes before the address in the object's first pointer (`virtual-base.json`): 16 is stored at
/// `0x5018 - 24`, and 16 bytes into `d` is 99. This holds for any position of the object.
#[test]
fn virtual_bases_are_found_in_every_object() {
    let wave = read("virtual-base.json");
    let asked = ["d.b", "h.dd.b", "pd->b", "(*pd).d", "d", "h", "*pd"];
    let found = said("virtual-base.hsaco", &wave, 0, &asked);
    let object = "{<B> = {b = 99}, d = 7}";
    let outer = "{dd = {<B> = {b = 99}, d = 7}}";
    assert_eq!(found, ["99", "99", "99", "7", object, outer, object]);
    let lanes = vars("virtual-base.hsaco", &wave, &["--children", "3"]);
    let target = &lanes["pd"][0]["children"][0];
    assert_eq!(target["value"], object);
    let base = &target["children"][0];
    assert_eq!(
        (&base["name"], &base["value"]),
        (&json!("<B>"), &json!("{b = 99}"))
    );
}

/// The length of the arrays is in a variable, through pointers and references. Memory from 0x4008 on has 12, 13, 14 …, and `n` is 3. An
/// array without bounds has elements, but no count.
#[test]
fn arrays_are_as_long_as_variables_say() {
    let wave = read("computed.json");
    let asked = [
        "*pv",
        "rv",
        "(*pv)[1]",
        "sizeof(*pv)",
        "sizeof(rv)",
        "(*pv)[3]",
    ];
    let found = said("computed.hsaco", &wave, 0, &asked);
    let beyond = "there is no element 3: the first is 0, the last is 2";
    assert_eq!(
        found,
        ["{12, 13, 14}", "{12, 13, 14}", "13", "12", "12", beyond]
    );
    let found = said("computed.hsaco", &wave, 0, &["e[1]", "e", "fam.dat[1]"]);
    assert_eq!(found, ["11", "<incomplete type>", "12"]);
    let lanes = vars("computed.hsaco", &wave, &["--children", "1"]);
    let open = &lanes["e"][0];
    assert_eq!(
        (&open["state"], &open["value"]),
        (&json!("partial"), &json!("<incomplete type>"))
    );
    assert_eq!(lanes["pv"][0]["children"][0]["value"], "{12, 13, 14}");
}

/// The contents of a Rust variant are shown if it is present: `o` is `Some(n)` in lanes with an odd work-item number, where `s` is a
/// circle.
#[test]
fn what_variants_hold_can_be_asked_for() {
    let wave = read("rust.json");
    let asked = [
        "o",
        "o.__0",
        "o.Some.__0",
        "s",
        "s.Circle.__0",
        "s.w",
        "optr",
        "optr.Some",
    ];
    let found = said("rust.hsaco", &wave, 1, &asked);
    let other = "the active variant is `Circle`";
    let none = "the active variant is `None`";
    assert_eq!(
        found,
        [
            "Some(1)",
            "1",
            "1",
            "Circle(1.5)",
            "1.5",
            other,
            "None",
            none
        ]
    );
    let lanes = vars("rust.hsaco", &wave, &["--children", "2"]);
    let some = &lanes["o"][1]["children"][0];
    assert_eq!(
        (&some["name"], &some["children"][0]["name"]),
        (&json!("Some"), &json!("__0"))
    );
    assert_eq!(some["children"][0]["value"], "1");
    // Every lane has its own variant.
    let variants: std::collections::BTreeSet<&str> = (lanes["s"].iter())
        .filter_map(|lane| lane["children"][0]["name"].as_str())
        .collect();
    assert!(variants.len() > 1, "{variants:?}");
}

/// Zig 0.13 describes arrays as starting at the index −312, but arrays in Zig start at 0. `arr` is {1, 2, 3, lane} (`k-0.13.0.zig`).
#[test]
fn a_lower_bound_that_the_language_does_not_have_is_not_counted_from() {
    let wave = read("zig-0.13.json");
    let asked = ["arr", "arr[0]", "arr[3]", "vec[2]", "arr[4]", "arr[-312]"];
    let found = said("zig-0.13.hsaco", &wave, 2, &asked);
    let beyond =
        |index: &str| format!("there is no element {index}: the first is 0, the last is 3");
    let beyond = [beyond("4"), beyond("-312")];
    assert_eq!(found[..4], ["{1, 2, 3, 2}", "1", "2", "2"]);
    assert_eq!(found[4..], beyond);
    let lanes = vars("zig-0.13.hsaco", &wave, &["--children", "1"]);
    assert_eq!(lanes["arr"][2]["children"][0]["name"], "[0]");
    assert_eq!(lanes["arr"][2]["children"][3]["value"], "2");
    // The warning is printed once.
    let wave = file(&wave);
    let mut arguments = vec!["vars".into(), shape("zig-0.13.hsaco").into_os_string()];
    arguments.extend(["--wave".into(), wave.path().as_os_str().to_owned()]);
    let ran = hetdwarf(arguments);
    assert_eq!(
        ran.err.matches("has the lower bound -312").count(),
        1,
        "{}",
        ran.err
    );
}

/// `s` has 8 characters, `loc` three rows and columns, and `neg` starts at −2 (`fortran.f90`).
#[test]
fn indices_are_those_of_the_declaration() {
    let wave = read("fortran.json");
    let found = said(
        "fortran.hsaco",
        &wave,
        0,
        &["s[0]", "loc[0][0]", "neg[2]", "neg[3]"],
    );
    let beyond = |index: i32, first: i32, last: i32| {
        format!("there is no element {index}: the first is {first}, the last is {last}")
    };
    assert_eq!(found[..2], [beyond(0, 1, 8), beyond(0, 1, 3)]);
    assert_eq!(found[2..], [beyond(2, -2, 1), beyond(3, -2, 1)]);
    let found = said("fortran.hsaco", &wave, 0, &["neg[-2]", "neg[1]"]);
    assert_eq!(found, ["-2", "1"]);
}
