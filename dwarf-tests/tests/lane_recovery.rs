//! Compares `hetdwarf lane-pc` without attributes with the records of an emulator (`fixtures/lanes/README.md`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::io::Read;
use std::path::{Path, PathBuf};

use dwarf_tests::{call_number, fixture, hetdwarf, json, lane_cases, number, wave_cases};
use serde_json::{Value, json};

/// A folder for a test's files.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("hetdwarf-lane-recovery-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    /// Unpacks the snapshot of a wave.
    fn wave(&self, packed: &Path) -> PathBuf {
        let mut text = Vec::new();
        let file = std::fs::File::open(packed).unwrap();
        flate2::read::GzDecoder::new(file)
            .read_to_end(&mut text)
            .unwrap();
        let path = self.0.join("wave.json");
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Writes a changed snapshot.
    fn changed(&self, wave: &Path, change: impl FnOnce(&mut Value)) -> PathBuf {
        let mut content = json(wave);
        change(&mut content);
        let path = self.0.join("changed.json");
        std::fs::write(&path, content.to_string()).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(object: &Path, wave: &Path, options: &[&str]) -> String {
    let mut arguments = vec!["lane-pc".into(), object.as_os_str().to_owned()];
    arguments.extend(["--wave".into(), wave.as_os_str().to_owned()]);
    arguments.extend(options.iter().map(Into::into));
    let ran = hetdwarf(arguments);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", ran.out);
    ran.out
}

fn unwind(object: &Path, wave: &Path) -> Value {
    let arguments = [
        "unwind".into(),
        object.as_os_str().to_owned(),
        "--wave".into(),
    ];
    let more = [
        wave.as_os_str().to_owned(),
        "--format".into(),
        "json".into(),
    ];
    let ran = hetdwarf(arguments.into_iter().chain(more));
    serde_json::from_str(&ran.out).unwrap()
}

fn document(object: &Path, wave: &Path, options: &[&str]) -> Value {
    let mut options = options.to_vec();
    options.extend(["--format", "json"]);
    serde_json::from_str(&run(object, wave, &options)).unwrap()
}

/// Returns true if a process address is within ranges of the code object.
fn is_within(runs: &Value, pc: &Value, load_address: u128) -> bool {
    let pc = number(pc) - load_address;
    runs.as_array().unwrap().iter().any(|run| {
        let [first, last] = [&run[0], &run[1]].map(number);
        (first..=last).contains(&pc)
    })
}

/// Returns the mask of the lanes with a state.
fn lanes_that(lanes: &[Value], state: &str) -> u128 {
    let chosen = (0..).zip(lanes).filter(|(_, lane)| lane["state"] == state);
    chosen.map(|(number, _)| 1_u128 << number).sum()
}

/// Checks a waiting lane in the command's output: in the queried frame, or in a caller.
///
/// * `unwound`: the call stack.
fn check_lane(lane: &Value, group: &Value, unwound: &Value, load_address: u128, at: &str) {
    let at = format!("{at}: {lane} {group}");
    if group["frame"] != 0 {
        assert_eq!(
            (&lane["state"], &lane["pc"]),
            (&json!("elsewhere"), &Value::Null),
            "{at}"
        );
        let caller = &lane["caller"];
        let frame = call_number(unwound, group["frame"].as_u64().unwrap());
        assert_eq!(caller["frame"], frame, "{at}");
        // The emulator has symbols. At -O0, the symbol of a kernel's body has a prefix.
        let function = group["function"].as_str().unwrap();
        let function = function.trim_start_matches("__clang_ocl_kern_imp_");
        assert_eq!(caller["function"], function, "{at}");
        assert!(
            is_within(&group["right"], &caller["pc"], load_address),
            "{at}"
        );
        return;
    }
    assert_eq!(
        (&lane["state"], &lane["active"]),
        (&json!("waiting"), &json!(false)),
        "{at}"
    );
    assert_eq!(lane["origin"], "recovered", "{at}");
    assert!(
        is_within(&group["right"], &lane["pc"], load_address),
        "{at}"
    );
    if !lane["left"].is_null() {
        let left = number(&lane["left"]) - load_address;
        assert_eq!(left, number(&group["last_active"]), "{at}");
    }
    if lane["resumes"].is_null() || group["next_active"].is_null() {
        assert_eq!(lane["resumes"], group["next_active"], "{at}");
    } else {
        assert!(
            is_within(&group["right"], &lane["resumes"], load_address),
            "{at}"
        );
    }
}

#[test]
fn the_command_says_where_waiting_lanes_are() {
    let folder = Folder::new("waiting");
    let (mut waiting, mut with_line, mut expected_line) = (0, 0, 0);
    for case in lane_cases() {
        let truth = json(&case.join("truth.json"));
        let object = case.join(truth["object"].as_str().unwrap());
        for stop in truth["snapshots"].as_array().unwrap() {
            let at = format!("{} {}", truth["case"], stop["wave"]);
            let wave = folder.wave(&case.join(stop["wave"].as_str().unwrap()));
            let load_address = number(&json(&wave)["load_address"]);
            let document = document(&object, &wave, &[]);
            let unwound = unwind(&object, &wave);
            assert_eq!(document["format"], "hetdwarf-lane-pc/1");
            let lanes = document["lanes"].as_array().unwrap();
            assert_eq!(lanes_that(lanes, "active"), number(&stop["active"]), "{at}");
            assert_eq!(lanes_that(lanes, "unknown"), 0, "{at}");
            for (number, lane) in lanes.iter().enumerate() {
                assert_eq!(lane["active"], lane["state"] == "active", "{at} {number}");
            }
            for group in stop["groups"].as_array().unwrap() {
                for number in group["lanes"].as_array().unwrap() {
                    let lane = &lanes[number.as_u64().unwrap() as usize];
                    check_lane(lane, group, &unwound, load_address, &at);
                    let place = if group["frame"] == 0 {
                        lane
                    } else {
                        &lane["caller"]
                    };
                    waiting += 1;
                    with_line += usize::from(place["line"].as_u64().unwrap_or(0) != 0);
                    let lines = [&group["line_decision"], &group["line_arrival"]];
                    expected_line += usize::from(lines.contains(&&place["line"]));
                }
            }
        }
    }
    println!(
        "{waiting} waiting lanes, {with_line} with a line, {expected_line} with an expected one"
    );
    assert_eq!(waiting, 7948);
    // For 96 % of the lanes, some address in the gap has a line.
    assert!(with_line * 100 >= waiting * 81, "{with_line}");
    assert!(expected_line * 100 >= waiting * 79, "{expected_line}");
}

/// A work-group of 20 is in a wave of 32, so lanes 20 to 31 do not exist, regardless of their bits in masks.
#[test]
fn lanes_that_the_dispatch_did_not_start_are_nowhere() {
    let case = fixture("waves/manyargs");
    let (object, wave) = (case.join("manyargs.rocm.hsaco"), case.join("w10.json"));
    for options in [&[][..], &["--no-recover"], &["--recover"]] {
        let document = document(&object, &wave, options);
        for lane in &document["lanes"].as_array().unwrap()[20..] {
            assert_eq!(
                [
                    &lane["state"],
                    &lane["reason"],
                    &lane["pc"],
                    &lane["caller"]
                ],
                [
                    &json!("elsewhere"),
                    &json!("not-dispatched"),
                    &Value::Null,
                    &Value::Null
                ],
                "{options:?}"
            );
        }
    }
    let text = run(&object, &wave, &[]);
    assert!(
        text.contains("lanes 20-31: not started by the dispatch\n"),
        "{text}"
    );
}

/// The wave is `calls-O2 w06`, which is also the demo's: `mid` called `leaf` in a branch that the odd lanes 1 to 25 take. The emulator
/// knows the active lanes in each frame.
#[test]
fn lanes_that_did_not_take_a_call_are_in_callers() {
    let case = fixture("waves/calls-O2");
    let truth = json(&case.join("truth.json"));
    let stops = truth["snapshots"].as_array().unwrap();
    let stop = stops
        .iter()
        .find(|stop| stop["wave"] == "w06.json")
        .unwrap();
    let frames = stop["frames"].as_array().unwrap();
    let (object, wave) = (case.join("calls-O2.rocm.hsaco"), case.join("w06.json"));
    let unwound = unwind(&object, &wave);
    for (level, frame) in frames.iter().enumerate() {
        let option = call_number(&unwound, level as u64).to_string();
        let document = document(&object, &wave, &["--frame", &option]);
        let lanes = document["lanes"].as_array().unwrap();
        assert_eq!(
            lanes_that(lanes, "active"),
            number(&frame["exec"]),
            "{level}"
        );
        let entered = lanes_that(lanes, "active") | lanes_that(lanes, "waiting");
        assert_eq!(entered, number(&frame["entry_exec"]), "{level}");
        for (number, lane) in lanes.iter().enumerate() {
            let inner = frames
                .iter()
                .skip(level)
                .position(|frame| dwarf_tests::number(&frame["entry_exec"]) >> number & 1 == 1);
            match inner {
                None => assert_eq!(lane["reason"], "not-dispatched"),
                Some(0) => assert!(lane.get("caller").is_none()),
                Some(outer) => {
                    let frame = call_number(&unwound, (level + outer) as u64);
                    assert_eq!(lane["caller"]["frame"], frame, "{lane}");
                    assert_eq!(
                        lane["caller"]["function"],
                        frames[level + outer]["function"]
                    );
                }
            }
        }
    }
}

/// If a value cannot be read, only the lanes that depend on it are unknown, and none is wrong.
#[test]
fn what_is_not_available_is_said_for_the_lanes_concerned() {
    let folder = Folder::new("unavailable");
    let mut unknown = 0;
    for case in lane_cases() {
        let truth = json(&case.join("truth.json"));
        let object = case.join(truth["object"].as_str().unwrap());
        for stop in truth["snapshots"].as_array().unwrap().iter().step_by(3) {
            let at = format!("{} {}", truth["case"], stop["wave"]);
            let wave = folder.wave(&case.join(stop["wave"].as_str().unwrap()));
            let load_address = number(&json(&wave)["load_address"]);
            // The mask that switches each group on is removed, one group at a time.
            for group in stop["groups"].as_array().unwrap() {
                let Some(register) = group["mask_home"]["sgpr"].as_u64() else {
                    continue;
                };
                let wave = folder.changed(&wave, |wave| {
                    let registers = wave["registers"].as_object_mut().unwrap();
                    for number in [register & !1, register | 1] {
                        registers.remove(&format!("s{number}"));
                    }
                });
                let document = document(&object, &wave, &[]);
                let unwound = unwind(&object, &wave);
                let lanes = document["lanes"].as_array().unwrap();
                for group in stop["groups"].as_array().unwrap() {
                    for number in group["lanes"].as_array().unwrap() {
                        let lane = &lanes[number.as_u64().unwrap() as usize];
                        match lane["state"].as_str().unwrap() {
                            "unknown" => {
                                unknown += 1;
                                assert!(lane["reason"].is_string() && lane["pc"].is_null(), "{at}");
                            }
                            "elsewhere" if lane.get("caller").is_none() => unknown += 1,
                            _ => check_lane(lane, group, &unwound, load_address, &at),
                        }
                    }
                }
            }
        }
    }
    println!("{unknown} lanes are unknown");
    assert!(unknown > 500, "{unknown}");
}

/// `--no-recover` uses only attributes, and `--recover` only the machine code.
#[test]
fn what_is_asked_can_be_chosen() {
    let folder = Folder::new("chosen");
    let case = fixture("lanes/ifelse-gfx1100-O2");
    let (object, wave) = (
        case.join("ifelse-gfx1100-O2.hsaco"),
        folder.wave(&case.join("w00.json.gz")),
    );
    let without = document(&object, &wave, &["--no-recover"]);
    assert_eq!(without["known"], false);
    let lanes = without["lanes"].as_array().unwrap();
    assert!(lanes_that(lanes, "unknown") > 0 && lanes_that(lanes, "waiting") == 0);
    for lane in lanes.iter().filter(|lane| lane["state"] == "unknown") {
        assert_eq!(
            (&lane["reason"], &lane["pc"]),
            (&json!("no-attribute"), &Value::Null)
        );
    }
    // An attribute takes precedence, unless recovery is requested.
    let object = fixture("corpus/rocm-style/lane_pc.hsaco");
    let wave = fixture("lane_pc/nested-else.json");
    let origins = |options: &[&str]| {
        let document = document(&object, &wave, options);
        let lanes = document["lanes"].as_array().unwrap().clone();
        let mut origins: Vec<Value> = lanes.iter().map(|lane| lane["origin"].clone()).collect();
        origins.retain(|origin| !origin.is_null());
        origins.dedup();
        origins
    };
    assert_eq!(origins(&[]), ["dwarf"]);
    assert_eq!(origins(&["--no-recover"]), ["dwarf"]);
    assert!(!origins(&["--recover"]).contains(&json!("dwarf")));
    let both = hetdwarf(["lane-pc", "x", "--wave", "y", "--recover", "--no-recover"]);
    assert_eq!(both.status, 2);
    assert!(both.err.contains("cannot be used with"), "{}", both.err);
}

/// For these waves, the inactive lanes that entered a frame wait in it, and have a pc.
#[test]
fn lanes_of_other_waves_have_places() {
    let (mut stops, mut waiting, mut lanes_in_callers) = (0, 0, 0);
    for case in wave_cases() {
        let truth = json(&case.join("truth.json"));
        let object = case.join(truth["object"].as_str().unwrap());
        for stop in truth["snapshots"].as_array().unwrap() {
            let at = format!("{} {}", truth["case"], stop["wave"]);
            let wave = case.join(stop["wave"].as_str().unwrap());
            let document = document(&object, &wave, &[]);
            let unwound = unwind(&object, &wave);
            let frames = stop["frames"].as_array().unwrap();
            let lanes = document["lanes"].as_array().unwrap();
            stops += 1;
            let entered = lanes_that(lanes, "active") | lanes_that(lanes, "waiting");
            assert_eq!(entered, number(&frames[0]["entry_exec"]), "{at}");
            assert_eq!(lanes_that(lanes, "unknown"), 0, "{at}");
            waiting += lanes_that(lanes, "waiting").count_ones();
            for (number, lane) in lanes.iter().enumerate() {
                let level = frames
                    .iter()
                    .position(|frame| dwarf_tests::number(&frame["entry_exec"]) >> number & 1 == 1);
                match level {
                    None => assert_eq!(lane["reason"], "not-dispatched", "{at}"),
                    Some(0) => assert_ne!(lane["state"], "elsewhere", "{at}"),
                    Some(level) => {
                        lanes_in_callers += 1;
                        let frame = call_number(&unwound, level as u64);
                        assert_eq!(lane["caller"]["frame"], frame, "{at} {lane}");
                        assert_eq!(
                            lane["caller"]["function"], frames[level]["function"],
                            "{at}"
                        );
                    }
                }
            }
        }
    }
    println!("{stops} stops, {waiting} lanes wait, {lanes_in_callers} are in callers");
    assert!(stops >= 130 && waiting > 100 && lanes_in_callers > 100);
}
