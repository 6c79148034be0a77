//! Tests faults and hangs with known causes: the faulting access, and the waves that wait at a barrier and those missing there.
//!
//! The cases are in `fixtures/triage`, and in the folders `fault` and `hang` of the folder that `HETDWARF_TRIAGE` names.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use dwarf_tests::cores::{Folder, unpacked};
use dwarf_tests::{fixture, hetdwarf, json};
use serde_json::Value;

/// Returns the cases of a kind.
fn cases(kind: &str) -> Vec<PathBuf> {
    let more = std::env::var_os("HETDWARF_TRIAGE").map(PathBuf::from);
    let folders = [Some(fixture("triage")), more].into_iter().flatten();
    let mut found: Vec<PathBuf> = folders
        .filter_map(|folder| std::fs::read_dir(folder.join(kind)).ok())
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("truth.json").is_file())
        .collect();
    found.sort();
    found
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the document of a case's core.
fn document(case: &Path, more: &[&str]) -> Value {
    let packed = std::fs::read(case.join("merged.core.gz")).unwrap();
    let mut bytes = Vec::new();
    let mut reader = flate2::read::GzDecoder::new(&*packed);
    reader.read_to_end(&mut bytes).unwrap();
    let folder = Folder::new();
    let core = folder.path("merged.core");
    std::fs::write(&core, bytes).unwrap();
    let core = core.display().to_string();
    let arguments = [&["core", &core, "--format", "json"], more].concat();
    let ran = hetdwarf(arguments);
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.err))
}

/// Returns the fault of the wave that the truth describes.
fn fault<'d>(document: &'d Value, truth: &Value) -> &'d Value {
    let same = |wave: &&Value| {
        ["queue_id", "packet_id", "workgroup", "wave_in_group"]
            .iter()
            .all(|key| wave[key] == truth["wave"][key])
    };
    &list(&document["waves"]).iter().find(same).unwrap()["fault"]
}

/// Returns the lanes with their addresses.
fn lanes(lanes: &Value, is_one: impl Fn(&Value) -> bool) -> BTreeMap<u64, String> {
    let lanes = list(lanes).iter().filter(|lane| is_one(lane));
    lanes
        .map(|lane| {
            let number = lane["lane"].as_u64().unwrap();
            (number, lane["address"].as_str().unwrap().to_owned())
        })
        .collect()
}

fn hex(text: &str) -> i64 {
    i64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

#[derive(Debug, Default)]
struct Counts {
    asked: usize,
    first: usize,
    among: usize,
    missing: usize,
    certain: usize,
}

/// Queries with the page, without it, and with a page that no lane touched. No wrong access is certain, and the lanes of a certain access
/// are right. Among accesses whose registers survive, the right one comes first in 80 of 100 cases.
#[test]
fn faults_are_found() {
    let mut of_survivors = Counts::default();
    let mut of_others = Counts::default();
    let mut wrong = Vec::new();
    let cases = cases("fault");
    assert!(cases.len() >= 5, "cases are missing");
    for case in &cases {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let truth = json(&case.join("truth.json"));
        let page = truth["fault_address"].as_str().unwrap();
        let other = truth["other_address"].as_str().unwrap();
        let access = &truth["fault"];
        // Another access that also faulted is not a wrong answer.
        let also = list(&truth["also_faulting"]).iter();
        let also: Vec<&Value> = also
            .map(|one| if one.is_object() { &one["pc"] } else { one })
            .collect();
        let is_true = |pc: &Value| *pc == access["pc"] || also.contains(&pc);
        for asked in ["with", "without", "other"] {
            let options: &[&str] = match asked {
                "with" => &["--fault-address", page],
                "other" => &["--fault-address", other],
                _ => &[],
            };
            let document = document(case, options);
            let fault = fault(&document, &truth);
            let candidates = list(&fault["candidates"]);
            for candidate in candidates.iter().filter(|one| one["certain"] == true) {
                if asked == "other" || !is_true(&candidate["pc"]) {
                    wrong.push(format!("{name} {asked}: {candidate}"));
                }
                if candidate["pc"] == access["pc"] && access["scalar"] != true {
                    let is_here = |lane: &Value| asked == "without" || lane["page"] == *page;
                    let expected = lanes(&access["lanes"], is_here);
                    let found = lanes(&candidate["lanes"], |_| true);
                    // The registers of some lanes may be lost.
                    let is_same =
                        found
                            .iter()
                            .all(|(lane, address)| match access["space"].as_str() {
                                Some("scratch") => expected.contains_key(lane),
                                _ => expected.get(lane) == Some(address),
                            });
                    if !is_same {
                        wrong.push(format!("{name} {asked}: {found:?}, not {expected:?}"));
                    }
                }
            }
            let is_asked = list(&truth["ask"]).iter().any(|one| one == asked);
            if asked == "other" || !is_asked {
                continue;
            }
            let counts = match truth["survives"] == true {
                true => &mut of_survivors,
                false => &mut of_others,
            };
            let place = candidates.iter().position(|one| one["pc"] == access["pc"]);
            counts.asked += 1;
            match place {
                Some(0) => counts.first += 1,
                Some(_) => counts.among += 1,
                None => counts.missing += 1,
            }
            counts.certain += usize::from(place == Some(0) && candidates[0]["certain"] == true);
            // All pointers of these cases are to `int` or `float`.
            let nearest = &fault["nearest"];
            let arguments = list(&truth["arguments"]).iter();
            let mut named = arguments.filter(|one| one["name"] == nearest["name"]);
            if let (Some(of), Some(argument)) = (nearest["of"].as_str(), named.next()) {
                let element = &nearest["element"];
                let start = hex(argument["value"].as_str().unwrap());
                let end = hex(argument["range"][1].as_str().unwrap());
                let index = (hex(of) - start).div_euclid(4);
                assert_eq!(element["index"].as_i64(), Some(index), "{name}");
                assert_eq!(element["most_elements"], (end - start) / 4, "{name}");
            }
            if place == Some(0) {
                assert_eq!(candidates[0]["kind"], access["kind"], "{name}");
                assert_eq!(candidates[0]["line"], access["line"], "{name}");
            }
        }
    }
    println!("registers survive: {of_survivors:?}; they do not: {of_others:?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(
        of_survivors.first * 10 >= of_survivors.asked * 8,
        "{of_survivors:?}"
    );
}

/// Returns the numbers of waves in their workgroup, for a list of their indexes.
fn numbers(document: &Value, indexes: &Value) -> Vec<u64> {
    let waves = list(&document["waves"]);
    let number = |index: &Value| {
        let wave = waves.iter().find(|wave| wave["index"] == *index).unwrap();
        wave["wave_in_group"].as_u64().unwrap()
    };
    let mut numbers: Vec<u64> = list(indexes).iter().map(number).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn hangs_are_told() {
    let cases = cases("hang");
    assert!(cases.len() >= 2, "cases are missing");
    for case in &cases {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let truth = json(&case.join("truth.json"));
        let document = document(case, &[]);
        assert_eq!(document["verdict"]["kind"], "hang", "{name}");
        let groups = list(&document["workgroups"]);
        assert_eq!(groups.len(), list(&truth["workgroups"]).len(), "{name}");
        for expected in list(&truth["workgroups"]) {
            let same = |group: &&Value| {
                ["workgroup", "queue_id", "packet_id"]
                    .iter()
                    .all(|key| group[key] == expected[key])
            };
            let group = groups.iter().find(same).unwrap();
            assert_eq!(
                group["expected_waves"], expected["expected_waves"],
                "{name}"
            );
            let of = |list_of: &Value| -> Vec<u64> {
                let waves = list(list_of).iter();
                waves
                    .map(|wave| wave["wave_in_group"].as_u64().or(wave.as_u64()).unwrap())
                    .collect()
            };
            for key in ["at_barrier", "elsewhere"] {
                let found = numbers(&document, &group[key]);
                assert_eq!(found, of(&expected[key]), "{name} {key}");
            }
            assert_eq!(of(&group["missing"]), of(&expected["missing"]), "{name}");
        }
    }
}

/// The first screen shows a fault or a hang.
#[test]
fn the_verdict_comes_first() {
    let verdict = |case: &str| {
        let document = document(&fixture("triage").join(case), &[]);
        document["verdict"].clone()
    };
    let fault = verdict("fault/call-942");
    assert_eq!(fault["kind"], "memory-violation");
    assert_eq!(fault["function"], "save");
    assert_eq!(fault["line"], 6);
    let text = "wave 2 (workgroup (1,0,0), wave 0) of kernel k: store (global_store_dword) in save at call-942.cl:6 faulted in lanes 0, 11, 22, \
                33, 44, 55: 0x7f0005bffd30 is 720 bytes before the start of the memory that argument out points into, as element -180 of at most 1024 (at = -180)";
    assert_eq!(fault["text"], text);
    let hang = verdict("hang/spin-1100");
    let text = "workgroup (0,0,0): waves 0, 1, 3 (--wave 1, 2, 4) wait at the barrier of spin-1100.cl:12; wave 2 (--wave 3) loops at spin-1100.cl:9-10 \
                and loads 0x7f0000400008, which is 0, in each pass, in the memory that argument flag points into, as element 2 of at most 1024 \
                (1 other workgroup likewise: (1,0,0) waits for wave 3 (--wave 8))";
    assert_eq!(hang["text"], text);
    let lock = verdict("hang/lock-90a");
    let text = "6 waves of kernel k loop at lock-90a.cl:8-10 and load 0x7f0000400000, which is 1, in each pass, in the memory that argument lock points into, \
                as element 0 of at most 1024; none waits at a barrier";
    assert_eq!(lock["text"], text);
}

/// A snapshot of the wave gives the same access as the core, for the reported page.
#[test]
fn a_snapshot_is_a_core_of_one_wave() {
    let (folder, core) = unpacked("fault/inline-1100");
    let out = folder.path("out").display().to_string();
    assert_eq!(hetdwarf(["core", &core, "--export", &out]).status, 0);
    let object = folder.path("out/object-0.hsaco").display().to_string();
    let wave = fixture("triage/fault/inline-1100/w0.json");
    let truth = json(&fixture("triage/fault/inline-1100/truth.json"));
    let wave = wave.display().to_string();
    let page = truth["fault_address"].as_str().unwrap();
    let ran = hetdwarf([
        "core",
        &wave,
        "--object",
        &object,
        "--fault-address",
        page,
        "--format",
        "json",
    ]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let first = &document["waves"][0]["fault"]["candidates"][0];
    assert_eq!(first["pc"], truth["fault"]["pc"], "{}", ran.err);
    assert_eq!(first["certain"], true);
    // Without the page, nothing is known about the memory, so nothing is certain.
    let ran = hetdwarf(["core", &wave, "--object", &object, "--format", "json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["verdict"]["kind"], "none");
}

/// Each wave has a line, with a fingerprint that equal crashes share.
#[test]
fn lines_have_fingerprints() {
    let (_folder, core) = unpacked("hang/spin-1100");
    let ran = hetdwarf(["core", &core, "--format", "jsonl"]);
    let lines: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 8);
    let print = |line: &Value| line["fingerprint"].as_str().unwrap().to_owned();
    for line in &lines {
        assert_eq!(line["format"], "hetdwarf-core-wave/1");
        assert_eq!(print(line).len(), 16);
        assert_eq!(line["verdict"]["kind"], "hang");
        let same = lines
            .iter()
            .filter(|other| other["wave"]["pc"] == line["wave"]["pc"]);
        assert!(same.into_iter().all(|other| print(other) == print(line)));
        let other = lines
            .iter()
            .find(|other| other["wave"]["pc"] != line["wave"]["pc"]);
        assert_ne!(print(other.unwrap()), print(line));
        assert_eq!(line["stack"][0]["function"], "k");
    }
}

/// The nearest memory, worked out by hand: the argument `out` points to 0x7f0005c00000, whose memory has 0x1000 bytes, so 1024 of type
/// `int`. Outside of the memory, no element is counted, because nothing shows that the address belongs to `out`.
#[test]
fn it_is_said_where_an_address_lies() {
    let (_folder, core) = unpacked("fault/call-942");
    for (address, expected) in [
        (
            "0x7f0005bffd30",
            "720 bytes before the start of the memory that argument out points into",
        ),
        (
            "0x7f0005c00ffc",
            "in the memory that argument out points into, as element 1023 of at most 1024",
        ),
        (
            "0x7f0005c01000",
            "at the end of the memory that argument out points into",
        ),
        (
            "0x7f0005c02000",
            "4096 bytes past the end of the memory that argument out points into",
        ),
        ("0x10", "16 bytes after address 0: a null pointer"),
        ("0x7f55008c1ae0", "in code object 0: save at call-942.cl:6"),
    ] {
        let ran = hetdwarf(["core", &core, "--where", address]);
        assert_eq!(ran.out, format!("{address}: {expected}\n"));
    }
}

/// A log without waves gives the runtime's message, and a log with waves their verdict.
#[test]
fn logs_are_cores_without_memory() {
    let folder = Folder::new();
    let path = folder.path("log").display().to_string();
    let document = |text: &str| -> Value {
        std::fs::write(&path, text).unwrap();
        let ran = hetdwarf(["core", &path, "--format", "json"]);
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.err))
    };
    let fault = "Memory access fault by GPU node-2 (Agent handle: 0x56) on address 0x7ffb61f02000. Reason: Unknown.\n";
    let alone = document(fault);
    assert_eq!(alone["verdict"]["kind"], "memory-violation");
    assert_eq!(alone["events"][0]["address"], "0x7ffb61f02000");
    let hang = document("HW Exception by GPU node-1 (Agent handle: 0x55) reason :GPU Hang\n");
    assert_eq!(hang["verdict"]["kind"], "hang");
    let wave = "wave_1: pc=0x7f4000001600 (kernel_code_entry=0x7f4000001900 <k>, kernargs=0x7ffb61f00000) (stopped, reason: MEMORY_VIOLATION)\n\n\
                system registers:\n  exec: ffffffff\n";
    let waves = document(&format!("{fault}{wave}"));
    assert_eq!(waves["waves"][0]["kernel"], "k");
    assert_eq!(waves["waves"][0]["fault"]["address"], "0x7ffb61f02000");
    assert_eq!(waves["verdict"]["wave"], 1);
    // A block of code is left without its wave.
    let block = document(
        "Disassembly for function k:\n    code object: file:///a\n    loaded at: [0x7f4000000000-0x7f4000004000]\n => 0x7f4000001608 <+48>:    s_waitcnt\n",
    );
    assert_eq!(block["waves"][0]["pc"], "0x7f4000001608");
    assert_eq!(block["waves"][0]["function"], "k");
    assert_eq!(block["waves"][0]["state"], "unsure");
}

/// A wave waits at a barrier in one branch of a condition, while lanes wait for the other branch and for the join.
///
/// The wave is one of `fixtures/lanes` with known resume positions. The `s_nop` at its pc is replaced by an `s_barrier`.
#[test]
fn it_is_said_where_lanes_go_on_that_are_not_at_the_barrier() {
    let case = fixture("lanes/ifelse-gfx1100-O2");
    let truth = json(&case.join("truth.json"));
    let mut stop = list(&truth["snapshots"]).iter();
    let stop = stop.find(|one| one["wave"] == "w02.json.gz").unwrap();
    let folder = Folder::new();
    let mut object = std::fs::read(case.join("ifelse-gfx1100-O2.hsaco")).unwrap();
    // `s_nop 0x118` and `s_barrier` of gfx1100, as llvm-mc writes them. Segments have the same offset in the page as in memory.
    let (nop, barrier) = ([0x18, 0x01, 0x80, 0xbf], [0x00, 0x00, 0xbd, 0xbf]);
    let pc = hex(stop["pc"].as_str().unwrap());
    let mut places = object.windows(4).enumerate();
    let is_here = |(n, bytes): &(usize, &[u8])| *n as i64 % 4096 == pc % 4096 && *bytes == nop;
    let (place, _) = places.find(is_here).unwrap();
    assert!(places.find(is_here).is_none());
    object[place..place + 4].copy_from_slice(&barrier);
    let path = folder.path("barrier.hsaco");
    std::fs::write(&path, object).unwrap();
    let packed = std::fs::read(case.join("w02.json.gz")).unwrap();
    let mut wave: Value = serde_json::from_reader(flate2::read::GzDecoder::new(&*packed)).unwrap();
    wave["pc"] = format!("{:#x}", pc + 4).into();
    let snapshot = folder.path("wave.json");
    std::fs::write(&snapshot, wave.to_string()).unwrap();
    let [snapshot, object] = [snapshot, path].map(|path| path.display().to_string());
    let ran = hetdwarf(["core", &snapshot, "--object", &object, "--format", "json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let group = &document["workgroups"][0];
    assert_eq!(group["at_barrier"], serde_json::json!([1]), "{}", ran.err);
    let divergent = &group["divergent"][0];
    let load = hex(truth["load_address"].as_str().unwrap());
    let mut lanes = Vec::new();
    for expected in list(&stop["groups"]) {
        let off = list(&divergent["places"]).iter();
        let mut of_group = off.filter(|off| off["lanes"] == expected["lanes"]);
        let off = of_group.next().unwrap_or_else(|| panic!("{divergent}"));
        let pc = hex(off["pc"].as_str().unwrap()) - load;
        assert_eq!(pc, hex(expected["arrival"].as_str().unwrap()), "{off}");
        assert_eq!(off["line"], expected["line_arrival"], "{off}");
        lanes.extend(
            list(&expected["lanes"])
                .iter()
                .map(|lane| lane.as_u64().unwrap()),
        );
    }
    lanes.sort_unstable();
    assert_eq!(divergent["lanes"], serde_json::json!(lanes));
    let text = document["verdict"]["text"].as_str().unwrap();
    let expected = "workgroup (0,0,0): wave 0 (--wave 1) waits at the barrier of ifelse.cl:24; \
        lanes 0, 1, 3, 7, 8, 10, 12, 15, 17, 19, 23, 25-27, 29, 31 of wave 0 go on elsewhere, in k at ifelse.cl:30, \
        lanes 4, 11, 13, 14, 20, 22, 30 in k at ifelse.cl:26";
    assert_eq!(text, expected);
}

/// The first parameter of `__assert_fail` points to the text of the condition: `.rodata` has `k`, `i < n` and `assert.cl` from 0x580 on
/// (llvm-readelf). The parameters are in v0 to v4 (their location lists), and `s_trap` is at 0x1984. The object has no call frame
/// information; the return address in s[30:31] follows the call in `k`, at 0x16a0 (llvm-objdump).
#[test]
fn the_condition_of_an_assertion_is_read() {
    let case = fixture("triage/assert");
    let object = case.join("assert.hsaco").display().to_string();
    let folder = Folder::new();
    let snapshot = folder.path("wave.json").display().to_string();
    let verdict = |text: u32| {
        let each = |value: u32| vec![format!("{value:#x}"); 32];
        let wave = serde_json::json!({
            "format": "hetdwarf-wave/1", "target": "gfx1100", "wave_size": 32, "pc": "0x7f4000001988",
            "load_address": "0x7f4000000000", "stop": ["assert_trap"],
            "registers": {
                "exec": "0xfffffff0", "s30": "0x16a4", "s31": "0x7f40", "s32": "0x0",
                "v0": each(text), "v1": each(0x7f40), "v2": each(0x588), "v3": each(0x7f40), "v4": each(9),
            },
            "memory": [],
        });
        std::fs::write(&snapshot, wave.to_string()).unwrap();
        let ran = hetdwarf(["core", &snapshot, "--object", &object, "--format", "json"]);
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        let wave = document["waves"][0].clone();
        (document["verdict"].clone(), wave["assertion"].clone())
    };
    let (found, condition) = verdict(0x582);
    assert_eq!(condition["condition"], "i < n");
    assert_eq!(found["kind"], "assert");
    assert_eq!(found["line"], 9);
    let text =
        "wave 1 of an unknown kernel: assertion `i < n` failed in k at assert.cl:9 in lanes 4-31";
    assert_eq!(found["text"], text);
    // Nothing outside of the code object is read.
    let (found, condition) = verdict(0x10_0000);
    assert_eq!(condition, Value::Null);
    assert!(
        found["text"]
            .as_str()
            .unwrap()
            .contains("abort, or an assertion that failed,")
    );
}

/// An epilogue has restored the frame pointer, and with it the stack pointer. The variables belong to the ending frame, and not to the
/// caller.
///
/// According to the source, `save(out, (long)v * n, i)`: `p` is the argument `out`, `at` the index of the faulting element, and `v` the
/// work-item.
#[test]
fn variables_in_an_epilogue_are_those_of_their_function() {
    let (_folder, core) = unpacked("fault/call-942");
    let ran = hetdwarf([
        "vars", "--core", &core, "--wave", "2", "--frame", "0", "--format", "json",
    ]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let frame = &document["frames"][0];
    assert_eq!(frame["frame"]["function"], "save", "{}", ran.err);
    let value = |name: &str, lane: usize| {
        let mut variables = list(&frame["variables"]).iter();
        let variable = variables.find(|one| one["name"] == name).unwrap();
        let mut lanes = list(&variable["lanes"]).iter();
        let lane = lanes.find(|one| one["lane"] == lane).unwrap();
        assert_eq!(lane["state"], "ok", "{name}");
        lane["value"].clone()
    };
    for lane in [0, 11, 22, 55] {
        assert_eq!(value("p", lane), "0x7f0005c00000");
        assert_eq!(value("at", lane), "-180");
        assert_eq!(value("v", lane), lane.to_string());
    }
}

/// According to the sources, wave `w` of a workgroup waits for `flag[w]` of spin-1100, and all waves of lock-90a for `lock[0]`. The
/// arguments `flag` and `lock` are 0x7f0000400000, as `vars` shows. `elsewhere` lists the waiting waves.
#[test]
fn hangs_name_the_address_that_a_loop_polls() {
    for (case, waves) in [
        (
            "hang/spin-1100",
            &[(3, "0x7f0000400008"), (8, "0x7f000040000c")][..],
        ),
        (
            "hang/lock-90a",
            &[1, 2, 3, 4, 5, 6].map(|wave| (wave, "0x7f0000400000")),
        ),
    ] {
        let found = document(&fixture("triage").join(case), &[]);
        let polled = list(&found["waves"]).iter().filter_map(|wave| {
            let address = wave["polled"]["address"].as_str()?;
            assert_eq!(wave["polled"]["kind"], "load");
            assert_eq!(wave["polled"]["nearest"]["distance"], 0);
            Some((wave["index"].as_u64().unwrap(), address))
        });
        assert_eq!(polled.collect::<Vec<_>>(), waves, "{case}");
    }
}

/// The waves at a barrier form one group, although some were saved as running and some as stopped.
#[test]
fn waves_at_a_barrier_are_one_group() {
    let (_folder, core) = unpacked("hang/spin-1100");
    let ran = hetdwarf(["core", &core]);
    let (_, groups) = ran.out.split_once("Waves by call stack\n").unwrap();
    let groups: Vec<&str> = groups.lines().map(str::trim).collect();
    assert_eq!(groups.len(), 3, "{}", ran.out);
    let waiting = groups.iter().filter(|line| line.contains(" waiting "));
    let waiting: Vec<&&str> = waiting.collect();
    assert_eq!(waiting.len(), 1, "{}", ran.out);
    assert!(waiting[0].starts_with("6 waiting  k (inlined) at spin-1100.cl:12"));
    assert!(waiting[0].ends_with("waves 1-2, 4-7"));
}

/// If only one half of a core is given, the first line names the missing half and the command to type.
#[test]
fn half_a_core_asks_for_the_other_half() {
    let folder = Folder::of("gfx1100");
    let [gpu, host] =
        ["gpucore.4242", "core.4242"].map(|name| folder.path(name).display().to_string());
    let ran = hetdwarf(["core", &gpu]);
    let first: Vec<&str> = ran
        .out
        .lines()
        .take_while(|line| !line.is_empty())
        .collect();
    assert_eq!(
        first
            .join(" ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
        "this is only the GPU's half of a core, and its waves are found through the host's half; give both: `hetdwarf core gpucore.PID core.PID`"
    );
    assert!(!ran.out.contains("0 waves"), "{}", ran.out);
    let ran = hetdwarf(["core", &host]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.err.contains("this is only the host's half of a core")
            && ran.err.contains("`hetdwarf core gpucore.PID core.PID`"),
        "{}",
        ran.err
    );
    // With both halves, nothing is missing.
    let ran = hetdwarf(["core", &gpu, &host]);
    assert!(!ran.out.contains("half"), "{}", ran.out);
}

/// A log with its code object has a page, snapshots and the available facts about an address.
#[test]
fn a_log_has_a_page_and_snapshots() {
    let folder = Folder::new();
    let (path, object) = (folder.path("log"), fixture("triage/assert/assert.hsaco"));
    let [log, page, out] =
        ["log", "page.html", "out"].map(|name| folder.path(name).display().to_string());
    let object = object.display().to_string();
    let text = "wave_1: pc=0x7f4000001988 (stopped, reason: ASSERT_TRAP)\n\nsystem registers:\n  exec: fffffff0\n\n\
                vector registers:\n  v0:VALUES\n\n\
                Disassembly for function k:\n    code object: file:///a\n    loaded at: [0x7f4000000000-0x7f4000004000]\n\
                 => 0x7f4000001988 <+48>:    s_nop\nEnd of disassembly.\n";
    let values: String = (0..32).map(|lane| format!(" [{lane}] 00000582")).collect();
    std::fs::write(&path, text.replace("VALUES", &values)).unwrap();
    let ran = hetdwarf([
        "core", &log, "--object", &object, "--html", &page, "--export", &out,
    ]);
    assert!(ran.status < 2, "{}", ran.err);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("id=\"wave-1\"") && html.contains("assert_trap"));
    let snapshot = json(&folder.path("out/wave-1.json"));
    assert_eq!(snapshot["pc"], "0x7f4000001988");
    let copied = std::fs::read(folder.path("out/object-0.hsaco")).unwrap();
    assert_eq!(copied, std::fs::read(&object).unwrap());
    for (address, expected) in [
        (
            "0x7f4000001984",
            "in code object 0: __assert_fail at assert.cl:4",
        ),
        ("0x10", "16 bytes after address 0: a null pointer"),
        ("0x7f5000000000", "in no memory that is known"),
    ] {
        let ran = hetdwarf(["core", &log, "--object", &object, "--where", address]);
        assert_eq!(ran.out, format!("{address}: {expected}\n"), "{}", ran.err);
    }
}
