//! Tests `hetdwarf import` on text in the format of ROCm's debug agent. The text is written here, according to the format's description,
//! from stopped waves with known values.

use core::fmt::Write;

use dwarf_tests::cores::{Folder, truth};
use dwarf_tests::{Ran, fixture, hetdwarf, json, number};
use serde_json::Value;

/// Returns a stopped wave in the agent's format.
///
/// * `new`: true for the kernel's entry in the first line.
fn printed(wave: &Value, index: u64, new: bool) -> String {
    let mut text = String::new();
    let pc = number(&wave["pc"]);
    let kernel = match new {
        true => "(kernel_code_entry=0x7f0000001000 <void f<int, (k)2>(S<int>, (anonymous)::T)>) ",
        false => "",
    };
    writeln!(
        text,
        "wave_{index}: pc=0x{pc:x} {kernel}(stopped, reason: MEMORY_VIOLATION|ASSERT_TRAP)"
    )
    .unwrap();
    let registers = wave["registers"].as_object().unwrap();
    let wide = |name: &str| match wave["wave_size"].as_u64() {
        Some(64) => matches!(name, "exec" | "vcc"),
        _ => false,
    };
    writeln!(text, "\nsystem registers:").unwrap();
    writeln!(
        text,
        "{:>8}: {:08x}{:>8}: {:08x}",
        "m0", 7, "ttmp4", 0xffff_ffff_u32
    )
    .unwrap();
    writeln!(text, "\nscalar registers:").unwrap();
    for (count, (name, value)) in registers
        .iter()
        .filter(|(_, value)| value.is_string())
        .enumerate()
    {
        let value = number(value);
        let digits = if wide(name) { 16 } else { 8 };
        write!(text, "{name:>16}: {value:0digits$x}").unwrap();
        if count % 4 == 3 {
            writeln!(text).unwrap();
        }
    }
    writeln!(text, "\n\nvector registers:").unwrap();
    for (name, lanes) in registers {
        // The agent prints every lane.
        if let Some(lanes) = lanes
            .as_array()
            .filter(|lanes| !lanes.contains(&Value::Null))
        {
            write!(text, "{name:>16}:").unwrap();
            for (lane, value) in lanes.iter().enumerate() {
                write!(text, " [{lane}] {:08x}", number(value)).unwrap();
            }
            writeln!(text).unwrap();
        }
    }
    // 2a 00 00 00 is the number 42 in memory.
    writeln!(
        text,
        "\nLocal memory content:\n    0x0000: 0000002a 11223344"
    )
    .unwrap();
    writeln!(
        text,
        "    0x0020: 00000001 00000002 00000003 00000004 00000005 00000006 00000007 00000008"
    )
    .unwrap();
    let load = number(&wave["load_address"]);
    writeln!(text, "\nDisassembly for function f:").unwrap();
    writeln!(text, "    code object: memory://4242#offset=0x55&size=100").unwrap();
    writeln!(text, "    loaded at: [0x{load:x}-0x{:x}]", load + 0x10000).unwrap();
    writeln!(
        text,
        "\n/src/f.cl:\n12          int x = 3;\n => s_nop 0\nEnd of disassembly.\n"
    )
    .unwrap();
    writeln!(text, "{}", "-".repeat(56)).unwrap();
    text
}

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out)
        .unwrap_or_else(|error| panic!("{error}: {} {}", ran.out, ran.err))
}

fn import(folder: &Folder, log: &[u8], more: &[&str]) -> Ran {
    std::fs::write(folder.path("log"), log).unwrap();
    let [log, out] = ["log", "out"].map(|name| folder.path(name).display().to_string());
    let start = ["import", &log, "-o", &out, "--format", "json"];
    hetdwarf([&start, more].concat())
}

fn written(folder: &Folder, name: &str) -> Value {
    json(&folder.path("out").join(name))
}

/// Returns two stopped waves with their code objects, of 32 and of 64 lanes.
fn cases() -> [(Value, String); 2] {
    ["gfx1100", "gfx90a"].map(|case| {
        let case = &truth(case)["waves"][0];
        let path = |name: &str| fixture(case[name].as_str().unwrap());
        let mut wave = json(&path("snapshot"));
        let object = path("object");
        // The object is loaded at whole pages, as by a runtime.
        let (pc, load) = (number(&wave["pc"]), number(&wave["load_address"]));
        let at = 0x7f00_0000_0000;
        wave["pc"] = format!("{:#x}", pc - load + at).into();
        wave["load_address"] = format!("{at:#x}").into();
        (wave, object.display().to_string())
    })
}

fn same_registers(found: &Value, wave: &Value) -> usize {
    let (mut compared, found) = (0, &found["registers"]);
    for (name, value) in wave["registers"].as_object().unwrap() {
        match value {
            Value::String(_) => assert_eq!(number(&found[name]), number(value), "{name}"),
            Value::Array(lanes) if lanes.contains(&Value::Null) => continue,
            Value::Array(lanes) => {
                let found = found[name].as_array().unwrap_or_else(|| panic!("{name}"));
                assert_eq!(found.len(), lanes.len(), "{name}");
                for (found, value) in found.iter().zip(lanes) {
                    assert_eq!(number(found), number(value), "{name}");
                }
            }
            _ => panic!("{name}"),
        }
        compared += 1;
    }
    compared
}

#[test]
fn waves_of_a_log_are_those_that_were_printed() {
    for (wave, object) in cases() {
        for new in [false, true] {
            let folder = Folder::new();
            let log = format!(
                "hello\nQueue error (HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation)\n{}after\n",
                printed(&wave, 7, new)
            );
            let ran = import(&folder, log.as_bytes(), &["--object", &object]);
            assert_eq!((ran.status, ran.err.as_str()), (0, ""));
            let found = document(&ran);
            assert_eq!(found["format"], "hetdwarf-import/1");
            // Only the other program's text before and after is skipped. The error and all parts of the wave are read.
            assert_eq!(found["skipped_lines"], 2);
            let said = &found["waves"][0];
            assert_eq!(said["number"], 7);
            assert_eq!(said["reason"], "MEMORY_VIOLATION|ASSERT_TRAP");
            assert_eq!(said["lanes"], wave["wave_size"]);
            assert_eq!(said["left_out"], 0);
            let file = written(&folder, "wave-7.json");
            // m0 and ttmp4 have no DWARF numbers.
            assert_eq!(number(&file["registers"]["m0"]), 7);
            assert_eq!(number(&file["registers"]["ttmp4"]), 0xffff_ffff);
            assert!(same_registers(&file, &wave) > 20);
            for field in ["pc", "load_address", "wave_size"] {
                assert_eq!(number(&file[field]), number(&wave[field]), "{field}");
            }
            assert_eq!(file["memory"][0]["bytes"], "2a00000044332211");
            assert_eq!(file["memory"][1]["address"], "0x20");
            // This query only needs registers.
            let path = folder.path("out/wave-7.json").display().to_string();
            let ran = hetdwarf(["unwind", &object, "--wave", &path, "--format", "json"]);
            let frames = document(&ran);
            assert_eq!(frames["frames"][0]["pc"], wave["pc"]);
            assert!(frames["frames"][0]["function"].is_string());
        }
    }
}

/// Tests all disturbances that the format's description mentions.
#[test]
fn damaged_text_costs_what_is_damaged() {
    let [(wave, object), _] = cases();
    let good = printed(&wave, 1, true);
    // If the text ends before the load address, the code object has no place.
    let with = |log: &[u8], is_cut: bool| {
        let folder = Folder::new();
        let ran = import(&folder, log, &["--object", &object]);
        match (ran.status, ran.err.as_str()) {
            (0, "") => {}
            (status, err) => assert!(
                is_cut && status == 1 && err.contains(": not used: "),
                "{err}"
            ),
        }
        let found = document(&ran);
        let names: Vec<_> = std::fs::read_dir(folder.path("out")).unwrap().collect();
        assert_eq!(names.len(), found["waves"].as_array().unwrap().len());
        let file = written(&folder, "wave-1.json");
        (found, file, folder)
    };
    let (_, expected, _) = with(good.as_bytes(), false);
    // The text has CRLF, colours, a launcher's prefix, or other output between the lines.
    let crlf = good.replace('\n', "\r\n");
    let coloured = good.replace("v1:", "\u{1b}[1;31mv1\u{1b}[0m:");
    let prefixed: String = good
        .lines()
        .map(|line| format!("[rank 3] {line}\n"))
        .collect();
    for log in [&crlf, &coloured, &prefixed] {
        let (found, file, _) = with(log.as_bytes(), false);
        assert_eq!(
            (&file, found["skipped_lines"].as_u64()),
            (&expected, Some(0))
        );
    }
    let mixed: String = good
        .lines()
        .map(|line| format!("{line}\n[rank 4] working\nother: 12\n"))
        .collect();
    let (found, file, _) = with(mixed.as_bytes(), false);
    assert_eq!(file["registers"], expected["registers"]);
    assert!(found["skipped_lines"].as_u64() > Some(20));
    // The lines of two ranks alternate.
    let second = printed(&wave, 2, false);
    let mut lines: Vec<String> = good
        .lines()
        .map(|line| format!("[rank 3] {line}\n"))
        .collect();
    for (at, line) in second.lines().enumerate() {
        lines.insert((2 * at + 1).min(lines.len()), format!("[rank 4] {line}\n"));
    }
    let (found, file, folder) = with(lines.concat().as_bytes(), false);
    assert_eq!(
        (&file, found["skipped_lines"].as_u64()),
        (&expected, Some(0))
    );
    assert_eq!(
        written(&folder, "wave-2.json")["registers"],
        expected["registers"]
    );
    // The same wave occurs twice, and another wave has the same number.
    let other = good.replace("0000002a", "0000002b");
    let (found, file, folder) = with([&*good, &good, &other].concat().as_bytes(), false);
    assert_eq!((&file, found["repeated"].as_u64()), (&expected, Some(1)));
    assert_eq!(
        written(&folder, "wave-1-2.json")["memory"][0]["bytes"],
        "2b00000044332211"
    );
    // Truncated at various positions after the first vector register: the values before are kept.
    let start = good.find("[31]").unwrap() + 14;
    for end in (start..good.len()).step_by(97) {
        let (_, file, _) = with(&good.as_bytes()[..end], true);
        assert_eq!(file["pc"], expected["pc"]);
        for (name, value) in file["registers"].as_object().unwrap() {
            assert_eq!(value, &expected["registers"][name], "{name}");
        }
    }
    // Arbitrary bytes precede the text.
    let mut noise = good.clone().into_bytes();
    noise.splice(0..0, [0xff, 0x1b, b'[', 0, b'\n', 0x9b, 0x1b]);
    noise.push(b'\n');
    with(&[&noise[..], good.as_bytes()].concat(), false);
}

#[test]
fn without_a_target_or_a_wave_there_is_no_answer() {
    let [(wave, object), (wide, _)] = cases();
    let folder = Folder::new();
    let log = printed(&wave, 3, false);
    let ran = import(&folder, log.as_bytes(), &[]);
    assert!(
        ran.status == 2
            && ran
                .err
                .contains("wave_3: the log does not contain its target"),
        "{}",
        ran.err
    );
    assert!(!folder.path("out").exists());
    let ran = import(&folder, b"nothing here\n", &["--object", &object]);
    assert!(
        ran.status == 2 && ran.err.contains("no wave of the debug agent"),
        "{}",
        ran.err
    );
    let ran = import(
        &folder,
        printed(&wide, 3, false).as_bytes(),
        &["--target", "gfx90"],
    );
    assert_eq!(ran.status, 2, "{}", ran.out);
    // A processor has no waves of this size.
    let ran = import(&folder, log.as_bytes(), &["--target", "gfx90a"]);
    assert!(
        ran.status == 2 && ran.err.contains("has no such waves"),
        "{}",
        ran.err
    );
    let ran = import(&folder, log.as_bytes(), &["--target", "gfx1100"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let said = &document(&ran)["waves"][0];
    assert_eq!(
        (&said["object"], &said["target"]),
        (&Value::Null, &"gfx1100".into())
    );
}

/// The last printed command shows the variables of the wave, even if its code object is the second of a bundle.
///
/// Source of the bundle's format: the documentation of clang-offload-bundler.
#[test]
fn the_code_object_of_a_bundle_is_named_in_the_next_command() {
    let folder = Folder::new();
    let [(_, first), (wave, second)] = cases();
    let objects = [first, second].map(|path| std::fs::read(path).unwrap());
    let names = ["gfx1100", "gfx90a"].map(|name| format!("hipv4-amdgcn-amd-amdhsa--{name}"));
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    let head: usize = 24 + 8 + names.iter().map(|name| 24 + name.len()).sum::<usize>();
    let mut offset = head.next_multiple_of(4096);
    bundle.extend(2_u64.to_le_bytes());
    for (name, object) in names.iter().zip(&objects) {
        for number in [offset, object.len(), name.len()] {
            bundle.extend((number as u64).to_le_bytes());
        }
        bundle.extend(name.bytes());
        offset = (offset + object.len()).next_multiple_of(4096);
    }
    for object in &objects {
        bundle.resize(bundle.len().next_multiple_of(4096), 0);
        bundle.extend(object);
    }
    let path = folder.path("both.hipfb");
    std::fs::write(&path, bundle).unwrap();
    std::fs::write(folder.path("log"), printed(&wave, 7, true)).unwrap();
    let [log, out] = ["log", "out"].map(|name| folder.path(name).display().to_string());
    let path = path.display().to_string();
    let with = ["--object", &path, "--target", "gfx90a"];
    let ran = hetdwarf([&["import", &log, "-o", &out], &with[..]].concat());
    let next = ran
        .out
        .lines()
        .last()
        .unwrap_or_else(|| panic!("{}", ran.err));
    let words: Vec<&str> = next
        .strip_prefix("next: hetdwarf ")
        .unwrap()
        .split(' ')
        .collect();
    assert_eq!(
        words[..5],
        ["vars", &path, "--index", "1", "--wave"],
        "{next}"
    );
    let vars = hetdwarf(words);
    // The variables are in scratch, which a log does not contain.
    assert!(
        vars.out.starts_with("#0 collatz at loops-gfx90a.cl:8 "),
        "{}",
        vars.err
    );
}
