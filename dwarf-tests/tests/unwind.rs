//! Compares the call stacks of real stopped waves: strict reading with a second implementation, and tolerant reading with the emulator.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dwarf_tests::{hetdwarf, json, number, wave_cases};
use serde_json::Value;

/// The number of comparisons.
#[derive(Default)]
struct Counts {
    snapshots: usize,
    frames: usize,
    registers: usize,
    /// Registers without a value.
    unknown: usize,
}

fn unwind(object: &Path, wave: &Path, strict: bool) -> Value {
    let mut arguments = vec![
        "unwind".into(),
        object.as_os_str().to_owned(),
        "--wave".into(),
        wave.as_os_str().to_owned(),
        "--format".into(),
        "json".into(),
    ];
    if strict {
        arguments.push("--strict".into());
    }
    let ran = hetdwarf(arguments);
    assert_eq!(ran.status, 0, "{}: {}", wave.display(), ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

/// Calls `check` for every snapshot of every case, with both objects. These have the same code and the same call frame information.
fn each_snapshot(mut check: impl FnMut(&str, &Value, &Value, &dyn Fn(bool) -> Value)) {
    for case in wave_cases() {
        let truth = json(&case.join("truth.json"));
        for field in ["object", "object_rocm"] {
            let object = case.join(truth[field].as_str().unwrap());
            for snapshot in truth["snapshots"].as_array().unwrap() {
                let wave = case.join(snapshot["wave"].as_str().unwrap());
                let name = format!(
                    "{}/{}",
                    case.file_name().unwrap().to_string_lossy(),
                    snapshot["wave"].as_str().unwrap()
                );
                let registers = &json(&wave)["registers"];
                check(&name, snapshot, registers, &|strict| {
                    unwind(&object, &wave, strict)
                });
            }
        }
    }
}

fn frames(document: &Value) -> &[Value] {
    document["frames"].as_array().unwrap()
}

/// Returns the address space and the address of the CFA. Returns `None` if the frame has no CFA.
fn cfa(frame: &Value) -> Option<(&str, u128)> {
    let cfa = frame.get("cfa").filter(|cfa| !cfa.is_null())?;
    Some((
        cfa["address_space"].as_str().unwrap(),
        number(&cfa["address"]),
    ))
}

/// Returns the value of a register, or the values of its lanes.
fn numbers(value: &Value) -> Vec<u128> {
    match value.as_array() {
        Some(lanes) => lanes.iter().map(number).collect(),
        None => vec![number(value)],
    }
}

/// A register with an unexpected value.
struct Difference {
    register: String,
    /// True if there is no value.
    is_unknown: bool,
    /// True if `unwind` says that the value assumes the caller's EXEC.
    assumes_exec: bool,
}

/// Returns the registers that differ. A register without a rule has its value in the stopped wave. A register that the wave lacks is
/// unavailable, and not compared.
fn differences(
    ours: &Value,
    expected: &Value,
    stopped: &Value,
    counts: &mut Counts,
) -> Vec<Difference> {
    let none = serde_json::Map::new();
    let expected = expected["registers"].as_object().unwrap_or(&none);
    let mut wrong = Vec::new();
    for (register, value) in expected {
        let ruled = ours["registers"].get(register);
        let found = match (ruled, stopped.get(register)) {
            (Some(found), _) => &found["value"],
            (None, Some(unchanged)) => unchanged,
            (None, None) => continue,
        };
        counts.registers += 1;
        if found.is_null() || numbers(found) != numbers(value) {
            wrong.push(Difference {
                register: register.clone(),
                is_unknown: found.is_null(),
                assumes_exec: ruled.is_some_and(|found| found["assumes_exec"] == true),
            });
        }
    }
    wrong
}

/// Returns the call frames of a document, each with the line of its innermost frame, as in the emulator and the line table.
fn calls(document: &Value) -> Vec<Value> {
    let mut calls: Vec<Value> = Vec::new();
    let mut line = None;
    for frame in frames(document) {
        let line_of_call = line.take().unwrap_or_else(|| frame["line"].clone());
        if frame["kind"] == "inlined" {
            line = Some(line_of_call);
        } else {
            let mut call = frame.clone();
            call["line"] = line_of_call;
            calls.push(call);
        }
    }
    calls
}

#[test]
fn by_the_letter() {
    let mut counts = Counts::default();
    each_snapshot(|name, snapshot, stopped, unwind| {
        counts.snapshots += 1;
        let ours = unwind(true);
        let expected = &snapshot["by_cfi"];
        let (ours_frames, expected_frames) = (calls(&ours), frames(expected));
        assert_eq!(ours_frames.len(), expected_frames.len(), "{name}: {ours}");
        for (ours, expected) in ours_frames.iter().zip(expected_frames) {
            counts.frames += 1;
            let place = format!("{name}, frame {}", ours["index"]);
            assert_eq!(number(&ours["pc"]), number(&expected["pc"]), "{place}");
            assert_eq!(cfa(ours), cfa(expected), "{place}");
            let wrong = differences(ours, expected, stopped, &mut counts);
            let wrong: Vec<_> = wrong.iter().map(|wrong| &wrong.register).collect();
            assert!(wrong.is_empty(), "{place}: {wrong:?}");
        }
        assert_eq!(ours["stopped"], expected["stopped"], "{name}");
    });
    println!(
        "{} snapshots, {} frames, {} registers as the tables say",
        counts.snapshots, counts.frames, counts.registers
    );
    assert!(counts.snapshots >= 100 && counts.registers > 1000);
}

#[test]
fn in_truth() {
    let mut counts = Counts::default();
    let mut unsure = BTreeSet::new();
    let mut corrected = BTreeSet::new();
    each_snapshot(|name, snapshot, stopped, unwind| {
        counts.snapshots += 1;
        if !snapshot["cfi_leaves_truth"].is_null() {
            corrected.insert(name.to_owned());
        }
        let ours = unwind(false);
        let (ours_frames, expected_frames) = (calls(&ours), frames(snapshot));
        assert_eq!(ours_frames.len(), expected_frames.len(), "{name}: {ours}");
        for (ours, expected) in ours_frames.iter().zip(expected_frames) {
            counts.frames += 1;
            let place = format!("{name}, frame {}", ours["index"]);
            assert_eq!(number(&ours["pc"]), number(&expected["pc"]), "{place}");
            assert_eq!(ours["function"], expected["function"], "{place}");
            // If a line is only approximate, the truth has line 0.
            match ours["approximate"].as_bool() {
                Some(true) => assert_eq!(expected["line"], 0, "{place}"),
                _ => assert_eq!(ours["line"], expected["line"], "{place}"),
            }
            assert_eq!(cfa(ours), cfa(expected), "{place}");
            for wrong in differences(ours, expected, stopped, &mut counts) {
                assert!(wrong.assumes_exec, "{place}: {} differs", wrong.register);
                unsure.insert(name.to_owned());
            }
        }
    });
    println!(
        "{} snapshots, {} frames, {} registers as they were; {} snapshots whose tables lead to a wrong caller",
        counts.snapshots,
        counts.frames,
        counts.registers,
        corrected.len()
    );
    assert_eq!(corrected.len(), 8, "{corrected:?}");
    assert!(unsure.is_empty(), "{unsure:?}");
    assert!(counts.snapshots >= 100 && counts.registers > 10_000);
}

/// Returns a copy of an object in which the section of call frame information has another name.
fn without_cfi(object: &Path, folder: &Path) -> PathBuf {
    let bytes = dwarf_tests::without_section(object, ".debug_frame");
    let copy = folder.join(object.file_name().unwrap());
    std::fs::write(&copy, bytes).unwrap();
    copy
}

/// A kernel has no caller, even if `s[30:31]` still have the address after a call. In `calls`, the kernel `k` begins at 0x2200, and 0x20c8 follows a
/// call (llvm-objdump).
#[test]
fn a_kernel_has_no_caller() {
    let folder = std::env::temp_dir().join(format!("hetdwarf-kernel-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let case = dwarf_tests::fixture("waves/calls");
    let object = without_cfi(&case.join("calls.rocm.hsaco"), &folder);
    let mut wave = json(&case.join("w00.json"));
    wave["pc"] = "0x7f4000002200".into();
    wave["registers"]["s30"] = "0x20c8".into();
    wave["registers"]["s31"] = "0x7f40".into();
    let path = folder.join("wave.json");
    std::fs::write(&path, wave.to_string()).unwrap();
    let document = unwind(&object, &path, false);
    assert_eq!(calls(&document).len(), 1, "{document}");
    assert_eq!(calls(&document)[0]["function"], "k");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Without call frame information, the machine code shows the same frames. A register has the emulator's value, or none.
#[test]
fn from_the_code_alone() {
    let folder = std::env::temp_dir().join(format!("hetdwarf-no-cfi-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut counts = Counts::default();
    for case in wave_cases() {
        let truth = json(&case.join("truth.json"));
        let object = case.join(truth["object_rocm"].as_str().unwrap());
        let object = without_cfi(&object, &folder);
        for snapshot in truth["snapshots"].as_array().unwrap() {
            counts.snapshots += 1;
            let wave = case.join(snapshot["wave"].as_str().unwrap());
            let stopped = &json(&wave)["registers"];
            let ours = unwind(&object, &wave, false);
            let (ours_frames, expected_frames) = (calls(&ours), frames(snapshot));
            let name = wave.display();
            let pcs = |frames: &[Value]| -> Vec<u128> {
                frames.iter().map(|frame| number(&frame["pc"])).collect()
            };
            assert_eq!(pcs(&ours_frames), pcs(expected_frames), "{name}: {ours}");
            // A kernel has no caller, and its rules are not derived.
            let callers = expected_frames.len() - 1;
            for (n, (ours, expected)) in ours_frames.iter().zip(expected_frames).enumerate() {
                counts.frames += 1;
                assert_eq!(ours["derived"] == true, n < callers, "{name}: {ours}");
                if n < callers {
                    assert_eq!(cfa(ours), cfa(expected), "{name}, frame {n}");
                }
                for wrong in differences(ours, expected, stopped, &mut counts) {
                    assert!(
                        wrong.is_unknown,
                        "{name}, frame {n}: {} differs",
                        wrong.register
                    );
                    counts.unknown += 1;
                }
            }
            assert_eq!(ours["stopped"], "no-cfi", "{name}");
            let message = ours["message"].as_str().unwrap();
            let start = "this is a kernel, which has no caller";
            assert!(message.starts_with(start), "{name}: {message}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    println!(
        "{} snapshots, {} frames, {} registers as they were, except {} that are unknown",
        counts.snapshots, counts.frames, counts.registers, counts.unknown
    );
    assert!(counts.registers > 10_000);
    assert_eq!(counts.unknown, 0);
}
