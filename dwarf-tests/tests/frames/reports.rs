//! Tests frames that earlier versions showed wrongly. The expected frames are llvm-symbolizer 22's, unless a comment says otherwise.

use dwarf_tests::cores::Folder;
use dwarf_tests::{fixture, hetdwarf, without_section};
use serde_json::{Value, json};

use super::{Frame, Pair, list, of_documents, of_rust};

/// Returns a wave without registers at an address in an object of the fixtures.
fn at(folder: &Folder, object: &str, target: (&str, u64), pc: u64) -> Pair {
    let wave = folder.path(&format!("{pc:x}.json"));
    let snapshot = json!({
        "format": "hetdwarf-wave/1", "target": target.0, "wave_size": target.1, "pc": format!("{pc:#x}"),
        "registers": {"exec": "0xff"}, "memory": [],
    });
    std::fs::write(&wave, snapshot.to_string()).unwrap();
    Pair {
        object: fixture("frames").join(object),
        wave,
    }
}

/// The kind, function, path, line and column of a frame.
type Place<'f> = (&'f str, &'f str, &'f str, u64, u64);

fn place(frame: &Frame) -> Place<'_> {
    (
        &frame.kind,
        frame.function.as_deref().unwrap(),
        frame.file.as_deref().unwrap(),
        frame.line.unwrap(),
        frame.column.unwrap_or(0),
    )
}

#[track_caller]
fn check(pair: &Pair, expected: &[Place<'_>]) {
    let document = pair.document("unwind", &[]);
    let frames = of_documents(list(&document["frames"]));
    assert_eq!(frames.iter().map(place).collect::<Vec<_>>(), expected);
    assert_eq!(pair.with_stop(of_rust), frames);
}

const GFX90A: (&str, u64) = ("gfx90a", 64);
const GFX1100: (&str, u64) = ("gfx1100", 32);

#[test]
fn calls_of_inlined_functions_have_lines() {
    let folder = Folder::new();
    let pair = at(&folder, "inlined.hsaco", GFX90A, 0x1adc);
    let file = "/src/out/bugs-gpu/gaps/a.cl";
    check(
        &pair,
        &[
            ("inlined", "helper", file, 3, 19),
            ("inlined", "mid2", file, 6, 11),
            ("inlined", "kern", file, 13, 10),
            ("call", "kern", file, 9, 44),
        ],
    );
    let text = pair.run("unwind", &[]);
    for line in [
        "#0  0x0000000000001adc in helper (inlined) at a.cl:3",
        "#1  0x0000000000001adc in mid2 (inlined) at a.cl:6",
        "#2  0x0000000000001adc in kern (inlined) at a.cl:13",
        "#3  0x0000000000001adc in kern at a.cl:9",
    ] {
        assert!(text.lines().any(|found| found == line), "{text}");
    }
    check(
        &at(&folder, "header.hsaco", GFX1100, 0x1aa4),
        &[
            (
                "inlined",
                "inl",
                "/src/out/bugs-dwarf/split/./inc/h.h",
                2,
                73,
            ),
            ("call", "far", "/src/out/bugs-dwarf/split/s.c", 2, 58),
        ],
    );
}

/// The section is renamed, so there is no line table. The lines of the callers are the DW_AT_call_line of the inlined calls.
#[test]
fn without_a_line_table_only_lines_and_files_are_missing() {
    let folder = Folder::new();
    let mut pair = at(&folder, "inlined.hsaco", GFX90A, 0x1adc);
    let damaged = without_section(&pair.object, ".debug_line");
    pair.object = folder.path("no-lines.hsaco");
    std::fs::write(&pair.object, damaged).unwrap();
    let document = pair.document("unwind", &[]);
    let frames = of_documents(list(&document["frames"]));
    let found = frames.iter().map(|frame| {
        let function = frame.function.as_deref().unwrap();
        (frame.kind.as_str(), function, &frame.file, frame.line)
    });
    let expected = [
        ("inlined", "helper", &None, None),
        ("inlined", "mid2", &None, Some(6)),
        ("inlined", "kern", &None, Some(13)),
        ("call", "kern", &None, Some(9)),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    let (object, wave) = (pair.object.to_str().unwrap(), pair.wave.to_str().unwrap());
    for command in ["unwind", "vars", "lane-pc"] {
        let ran = hetdwarf([command, object, "--wave", wave]);
        assert!(ran.status < 2, "{command}: {}", ran.err);
        for part in ["warning: lines and files are missing", ": .debug_line+0x0"] {
            assert!(ran.err.contains(part), "{command}: {}", ran.err);
        }
    }
    for command in ["unwind", "lane-pc"] {
        let warning = pair.document(command, &[])["warnings"][0].to_string();
        assert!(warning.contains(".debug_line+0x0"), "{command}: {warning}");
    }
    let values = pair.document("vars", &[]);
    let warning = values["warnings"][0].as_str().unwrap();
    assert!(
        warning.contains("variables may not be set yet"),
        "{warning}"
    );
    let ran = hetdwarf(["symbolize", object, "0x1adc"]);
    assert_eq!((ran.status, &*ran.out), (2, "0x1adc: kern+0xdc (symbol)\n"));
    assert!(ran.err.contains("malformed line table"), "{}", ran.err);
}

#[test]
fn files_of_one_name_are_told_apart() {
    let folder = Folder::new();
    let path = |name: &str| format!("/src/out/bugs-gpu/same/./{name}/k.h");
    for (pc, function, file) in [(0x1600, "f", path("x")), (0x1688, "g", path("y"))] {
        let pair = at(&folder, "same-names.hsaco", GFX90A, pc);
        check(&pair, &[("call", function, &file, 1, 0)]);
    }
}

/// The names and offsets come from the symbol table.
#[test]
fn code_without_debugging_information_has_the_names_of_its_symbols() {
    let folder = Folder::new();
    for (object, pc, name, offset) in [
        ("symbols.hsaco", 0x1610, "vec_dot", 0x10),
        ("symbols.hsaco", 0x1700, "mul_mat_vec_q", 0),
        ("stripped.hsaco", 0x1adc, "kern", 0xdc),
    ] {
        let pair = at(&folder, object, GFX90A, pc);
        let document = pair.document("unwind", &[]);
        let frames = of_documents(list(&document["frames"]));
        let [frame] = &*frames else {
            panic!("{frames:?}")
        };
        assert_eq!(
            (&*frame.kind, frame.function.as_deref()),
            ("symbol", Some(name))
        );
        assert_eq!(
            (frame.symbol_offset, &frame.file, frame.line),
            (Some(offset), &None, None)
        );
        let text = pair.run("unwind", &[]);
        assert!(
            text.contains(&format!(" in {name}+{offset:#x} (symbol)\n")),
            "{text}"
        );
    }
}

/// The entry exists, but has no rules.
#[test]
fn a_row_without_rules_is_not_missing_information() {
    let folder = Folder::new();
    let end = |object: &str, target, pc| {
        let document = at(&folder, object, target, pc).document("unwind", &[]);
        let text = |field: &str| document[field].as_str().unwrap().to_owned();
        (text("stopped"), text("message"))
    };
    // The rule of the return address is *undefined*.
    for pc in [0x1300, 0x1304, 0x1308] {
        let (stopped, _) = end("no-cfa.hsaco", ("gfx942", 64), pc);
        assert_eq!(stopped, "return-address-undefined");
    }
    let (stopped, message) = end("inlined.hsaco", GFX90A, 0x1adc);
    assert_eq!(stopped, "no-cfi");
    assert!(message.contains("has no rules"), "{message}");
    let (stopped, message) = end("trap.hsaco", GFX1100, 0x1308);
    assert_eq!(stopped, "no-cfi");
    assert!(
        message.contains("there is no call frame information"),
        "{message}"
    );
}

/// A log of the debug agent, in which the pc is after the trap, in another function.
const LOG: &str = "\
wave_1: pc=0x7f4000001308 (kernel_code_entry=0x7f4000001300 <check>) (stopped, reason: ASSERT_TRAP)

scalar registers:
            s0: 00000000            s1: 00000000

vector registers:
            v0: LANES

general registers:
            m0: 000103c0
            pc: 00007f4000001308          exec: 00000000ffffffff
           vcc: 0000000000000000

Disassembly for function check:
    code object: memory://4242#offset=0x7ff736b8c040&size=2328
    loaded at: [0x7f4000000000-0x7f4000004000]
 => 0x7f4000001308 <+8>:    v_mov_b32_e32 v0, 2

End of disassembly.
";

#[test]
fn a_stop_after_a_trap_is_at_the_trap() {
    let folder = Folder::new();
    let expected: [Place<'_>; 1] = [("call", "check", "/src/t.cl", 3, 5)];
    // The snapshots give no reason for the stop. The pc is after the trap, at the trap, and after another instruction.
    check(&at(&folder, "trap.hsaco", GFX1100, 0x1308), &expected);
    check(&at(&folder, "trap.hsaco", GFX1100, 0x1304), &expected);
    check(
        &at(&folder, "trap.hsaco", GFX1100, 0x130c),
        &[("call", "other", "/src/t.cl", 9, 1)],
    );
    let lanes: String = (0..32).map(|lane| format!("[{lane}] 00000000 ")).collect();
    let (log, out) = (folder.path("agent.log"), folder.path("waves"));
    std::fs::write(&log, LOG.replace("LANES", lanes.trim())).unwrap();
    let object = fixture("frames/trap.hsaco");
    let ran = hetdwarf([
        "import".as_ref(),
        log.as_os_str(),
        "--object".as_ref(),
        object.as_os_str(),
        "-o".as_ref(),
        out.as_os_str(),
    ]);
    assert_eq!(ran.status, 0, "{} {}", ran.out, ran.err);
    let pair = Pair {
        object,
        wave: out.join("wave-1.json"),
    };
    check(&pair, &expected);
    let document: Value = pair.document("unwind", &[]);
    assert_eq!(document["frames"][0]["pc"], "0x7f4000001304");
}

/// The row has line 0, and follows a row with line 9 of the same function.
#[test]
fn a_row_without_a_line_has_that_of_the_row_before_it() {
    let folder = Folder::new();
    let pair = at(&folder, "trap.hsaco", GFX1100, 0x1310);
    check(&pair, &[("call", "other", "/src/t.cl", 9, 1)]);
    let document = pair.document("unwind", &[]);
    assert_eq!(document["frames"][0]["approximate"], true);
    assert!(
        pair.run("unwind", &[])
            .contains(" in other at t.cl:9 (approximate)\n")
    );
}

/// The row with line 0 is the first of its sequence, so the last row of another sequence at the same address does not count. llvm-symbolizer
/// 22 with `--skip-line-zero` gives line 0, too.
#[test]
fn a_row_of_another_sequence_is_not_before() {
    let folder = Folder::new();
    let pair = at(&folder, "sequences.hsaco", GFX1100, 0x1308);
    let frame = &pair.document("unwind", &[])["frames"][0];
    assert_eq!(frame["function"], "other");
    assert!(
        frame["line"].is_null() && frame.get("approximate").is_none(),
        "{frame}"
    );
    check(
        &at(&folder, "sequences.hsaco", GFX1100, 0x130c),
        &[("call", "other", "/src/t.cl", 9, 1)],
    );
}
