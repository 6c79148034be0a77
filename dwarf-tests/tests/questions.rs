//! Tests queries of a stop other than the values of one frame: all frames, some lanes, the work-item of a lane, and the reason for an empty
//! answer.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use dwarf_tests::{Ran, fixture, hetdwarf, json, llvm_tool, number, variables, wave_cases};
use serde_json::{Value, json};

/// Runs a command whose arguments have no spaces. The tests run in the folder of the package.
fn run(arguments: &str) -> Ran {
    hetdwarf(arguments.split_whitespace())
}

/// Returns the document that a command prints. The command must end with `status`.
fn document(arguments: &str, status: u8) -> Value {
    let ran = run(&format!("{arguments} --format json"));
    assert_eq!((ran.status, ran.err.as_str()), (status, ""), "{arguments}");
    serde_json::from_str(&ran.out).unwrap()
}

/// Returns the object and wave of a case, as arguments.
fn stop(case: &str, wave: &str) -> String {
    format!("fixtures/waves/{case}/{case}.rocm.hsaco --wave fixtures/waves/{case}/{wave}.json")
}

/// A temporary file.
struct File(PathBuf);

impl File {
    fn new(name: &str, content: &Value) -> File {
        let name = format!("hetdwarf-questions-{name}-{}.json", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content.to_string()).unwrap();
        File(path)
    }

    /// Returns a wave of a case with some fields replaced.
    fn wave(name: &str, case: &str, wave: &str, fields: &[(&str, Value)]) -> File {
        let mut content = json(&fixture(&format!("waves/{case}/{wave}.json")));
        for (field, value) in fields {
            content[*field] = value.clone();
        }
        File::new(name, &content)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn lanes(value: &Value) -> Vec<u64> {
    let lanes = value["lanes"].as_array().unwrap().iter();
    lanes.map(|lane| lane["lane"].as_u64().unwrap()).collect()
}

/// The list of all frames equals the single frames, and the true call stack.
#[test]
fn all_frames_are_the_frames_one_by_one() {
    for (case, wave) in [("calls", "w09"), ("recursion", "w06"), ("calls-O2", "w06")] {
        let stop = stop(case, wave);
        let all = document(&format!("vars {stop} --frame all"), 0);
        let frames = all["frames"].as_array().unwrap();
        assert!(all.get("frame").is_none() && all.get("variables").is_none());
        assert_eq!(all["format"], "hetdwarf-vars/2");
        assert_eq!(all["stopped"], "return-address-undefined");
        assert_eq!(all["pc"], frames[0]["frame"]["pc"]);
        let truth = json(&fixture(&format!("waves/{case}/truth.json")));
        let snapshots = truth["snapshots"].as_array().unwrap();
        let truth = snapshots
            .iter()
            .find(|snapshot| snapshot["wave"] == format!("{wave}.json"))
            .unwrap()["frames"]
            .as_array()
            .unwrap();
        // The emulator knows only calls. Inlined frames precede their call, which has the line of the first frame.
        let calls = frames
            .iter()
            .filter(|frame| frame["frame"]["kind"] == "call");
        assert_eq!(calls.count(), truth.len(), "{case}");
        let mut truth = truth.iter();
        let mut is_first = true;
        for (number, frame) in frames.iter().enumerate() {
            let place = &frame["frame"];
            assert_eq!(place["index"], json!(number));
            let call = &frames[place["call_frame"].as_u64().unwrap() as usize]["frame"];
            assert_eq!((&call["kind"], &call["pc"]), (&json!("call"), &place["pc"]));
            let expected = truth.clone().next().unwrap();
            if is_first {
                assert_eq!(place["line"], expected["line"], "{case} {number}");
            }
            is_first = place["kind"] == "call";
            if is_first {
                assert_eq!(place["function"], expected["function"], "{case} {number}");
                truth.next();
            }
            let lanes = |of: &Value| of["lanes"].as_array().unwrap().clone();
            let variables = frame["variables"].as_array().unwrap();
            let readable = variables.iter().flat_map(lanes).any(|lane| {
                ["ok", "entry", "last-known"].contains(&lane["state"].as_str().unwrap())
            });
            let one = document(
                &format!("vars {stop} --frame {number}"),
                u8::from(!readable),
            );
            assert_eq!(one["frames"].as_array().unwrap().len(), 1);
            let one = &one["frames"][0];
            assert_eq!(
                (&one["frame"], &one["variables"]),
                (place, &json!(variables))
            );
        }
    }
    // The text has each frame once, and ends with the reason why there are no more.
    let text = run(&format!("vars {} --frame all", stop("calls", "w09"))).out;
    let starts: Vec<_> = text.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(starts.len(), 3);
    assert!(starts[1].starts_with("#1 k at calls.cl:38 "), "{text}");
    assert!(text.ends_with("the return address is undefined: this is the outermost frame\n"));
}

#[test]
fn lanes_are_chosen_one_by_one_and_in_ranges() {
    let stop = stop("calls", "w09");
    let all = document(&format!("vars {stop}"), 0);
    let some = document(&format!("vars {stop} --lane 7,1-3,2"), 0);
    for (all, some) in variables(&all).iter().zip(&variables(&some)) {
        assert_eq!(lanes(some), [1, 2, 3, 7]);
        for lane in some["lanes"].as_array().unwrap() {
            let index = usize::try_from(lane["lane"].as_u64().unwrap()).unwrap();
            assert_eq!(lane, &all["lanes"][index]);
        }
    }
    assert_eq!(
        document(&format!("vars {stop} --lane all"), 0),
        document(&format!("vars {stop}"), 0)
    );
    // The expression is twice the lane's number: push_lane, lit1, shl.
    let eval = "eval --expr push_lane,lit1,shl --wave fixtures/waves/calls/w09.json";
    let some = document(&format!("{eval} --lane 4-5,30"), 0);
    assert_eq!(lanes(&some), [4, 5, 30]);
    let bytes: Vec<_> = some["lanes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lane| {
            lane["result"]["bytes"]
                .as_str()
                .unwrap()
                .split_at(2)
                .0
                .to_owned()
        })
        .collect();
    assert_eq!(bytes, ["08", "0a", "3c"]);
    // For vector registers, only the selected lanes are printed.
    let unwind = run(&format!(
        "unwind {} --registers --lane 3,9",
        self::stop("recursion", "w06")
    ));
    let line = unwind
        .out
        .lines()
        .find(|line| line.contains(" v40 = "))
        .unwrap();
    let document = document(&format!("unwind {}", self::stop("recursion", "w06")), 0);
    let v40 = &document["frames"][1]["registers"]["v40"]["value"];
    let expected = format!(
        "v40 = lane 3 (3,0,0): {}, lane 9 (9,0,0): {} [",
        v40[3].as_str().unwrap(),
        v40[9].as_str().unwrap()
    );
    assert!(line.contains(&expected), "{line}\n{expected}");
}

/// The wave is the second in a group of 64, so lane n is work-item 32 + n. The values are worked out by hand.
#[test]
fn lanes_are_named_by_their_work_items() {
    let stop = stop("lds", "w12");
    let items = |document: &Value| {
        let lanes = document["lanes"].as_array().unwrap().clone();
        lanes
            .into_iter()
            .map(|lane| lane["work_item"].clone())
            .collect::<Vec<_>>()
    };
    let expected: Vec<Value> = (32..64).map(|x| json!([x, 0, 0])).collect();
    let vars = document(&format!("vars {stop}"), 0);
    for variable in &variables(&vars) {
        assert_eq!(items(variable), expected);
    }
    assert_eq!(items(&document(&format!("lane-pc {stop}"), 0)), expected);
    assert_eq!(items(&document(&format!("unwind {stop}"), 0)), expected);
    let wave = "--wave fixtures/waves/lds/w12.json --lane all";
    assert_eq!(
        items(&document(&format!("eval --expr push_lane {wave}"), 0)),
        expected
    );
    let text = run(&format!("vars {stop} --lane 3")).out;
    assert!(
        text.lines().next().unwrap().ends_with(", lane 3 (35,0,0)"),
        "{text}"
    );
    let text = run(&format!("lane-pc {stop}")).out;
    assert!(
        text.contains("lanes and work-items: 0-31 (32,0,0)-(63,0,0)\n"),
        "{text}"
    );
    // The group has 20 work-items, so the other lanes of the wave have none.
    let vars = document(&format!("vars {}", self::stop("manyargs", "w10")), 0);
    let found = items(&variables(&vars)[0]);
    assert_eq!(found[19], json!([19, 0, 0]));
    assert!(found[20..].iter().all(Value::is_null));
}

/// The wave is in the last group of a grid of 19×10 with groups of 8×4: the group starts at (16, 8) and is 3×2. Lane 4 has the flat index
/// 4, which is (1, 1) in the group. Lanes from 6 on have no work-item.
#[test]
fn work_items_of_two_dimensions_are_named_in_full() {
    let wave = File::wave(
        "grid",
        "lds",
        "w12",
        &[(
            "dispatch",
            json!({"workgroup_id": [2, 2, 0], "workgroup_size": [8, 4, 1], "grid_size": [19, 10, 1], "wave_in_group": 0}),
        )],
    );
    let object = "fixtures/waves/lds/lds.rocm.hsaco";
    let text = run(&format!(
        "vars {object} --wave {} --lane 0-4,6",
        wave.path()
    ))
    .out;
    let row = text.lines().find(|line| line.starts_with("item ")).unwrap();
    let names: Vec<_> = row.split_whitespace().skip(1).collect();
    assert_eq!(
        names,
        [
            "(16,8,0)", "(17,8,0)", "(18,8,0)", "(16,9,0)", "(17,9,0)", "-"
        ],
        "{text}"
    );
    let text = run(&format!("lane-pc {object} --wave {}", wave.path())).out;
    assert!(
        text.contains("lanes and work-items: 0-2 (16,8,0)-(18,8,0), 3-5 (16,9,0)-(18,9,0)\n"),
        "{text}"
    );
    // Without a dispatch, the work-item is unknown.
    let wave = File::wave("bare", "lds", "w12", &[("dispatch", Value::Null)]);
    let ran = run(&format!(
        "vars {object} --wave {} --format json",
        wave.path()
    ));
    assert!(
        ran.status == 0 && !ran.out.contains("work_item"),
        "{}",
        ran.out
    );
    let text = run(&format!("vars {object} --wave {}", wave.path())).out;
    assert!(!text.contains("item"), "{text}");
}

/// Returns the addresses where prologues start and end, according to llvm-dwarfdump. The value is true for a start.
fn prologues(object: &Path) -> Option<BTreeMap<u128, bool>> {
    let tool = llvm_tool("llvm-dwarfdump")?;
    let dump = |section: &str| {
        let out = Command::new(&tool)
            .arg(section)
            .arg(object)
            .output()
            .unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    let hex = |digits: &str| u128::from_str_radix(digits, 16).unwrap();
    let mut found = BTreeMap::new();
    for entry in dump("--debug-info")
        .split("DW_TAG_")
        .filter(|entry| entry.starts_with("subprogram"))
    {
        if let Some((_, pc)) = entry.split_once("DW_AT_low_pc\t(0x") {
            found.insert(hex(pc.split(')').next().unwrap()), true);
        }
    }
    for row in dump("--debug-line")
        .lines()
        .filter(|line| line.starts_with("0x") && line.contains("prologue_end"))
    {
        found.insert(hex(row[2..].split(' ').next().unwrap()), false);
    }
    Some(found)
}

/// At -O0 the prologue stores every variable in stack memory. The emulator knows the stops, and llvm-dwarfdump the ends of prologues.
#[test]
fn before_the_prologue_is_over_memory_is_not_trusted() {
    let (mut before, mut after) = (0usize, 0usize);
    for case in wave_cases() {
        let truth = json(&case.join("truth.json"));
        if truth["optimisation"] != "-O0" {
            continue;
        }
        for object in ["object_rocm", "object"] {
            let object = case.join(truth[object].as_str().unwrap());
            let Some(prologues) = prologues(&object) else {
                return;
            };
            for snapshot in truth["snapshots"].as_array().unwrap() {
                let wave = case.join(snapshot["wave"].as_str().unwrap());
                let content = json(&wave);
                let pc = number(&content["pc"]) - number(&content["load_address"]);
                let (_, in_prologue) = prologues.range(..=pc).next_back().unwrap();
                let in_prologue = *in_prologue;
                let arguments = format!("vars {} --wave {}", object.display(), wave.display());
                let ran = run(&format!("{arguments} --format json"));
                let document: Value = serde_json::from_str(&ran.out).unwrap();
                for variable in &variables(&document) {
                    let is_own = variable["kind"] != "global";
                    let is_readable = variable["lanes"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .any(|lane| lane["state"] == "ok");
                    let noted = variable.get("note").is_some();
                    let place = format!("{} {}", wave.display(), variable["name"]);
                    assert_eq!(noted, in_prologue && is_own && is_readable, "{place}");
                }
                let notes = document["reason"].is_null() && in_prologue;
                let text = run(&arguments).out;
                assert_eq!(
                    text.contains("\nstopped in the prologue; "),
                    notes,
                    "{text}"
                );
                before += usize::from(notes);
                after += usize::from(!in_prologue);
            }
        }
    }
    assert!(before > 20 && after > 150, "{before} {after}");
}

/// The mark is on the first instruction after the prologue.
#[test]
fn the_prologue_is_over_where_the_mark_is() {
    let object = fixture("waves/calls/calls.rocm.hsaco");
    let Some(prologues) = prologues(&object) else {
        return;
    };
    let load = 0x7f40_0000_0000;
    let ends: Vec<u128> = prologues
        .iter()
        .filter(|(_, starts)| !**starts)
        .map(|(end, _)| *end)
        .collect();
    assert!(ends.len() >= 3);
    for end in ends {
        for (pc, notes) in [(end - 4, true), (end, false)] {
            let pc = json!(format!("{:#x}", pc + load));
            let wave = File::wave("at-the-end", "calls", "w01", &[("pc", pc)]);
            let ran = run(&format!("vars {} --wave {}", object.display(), wave.path()));
            assert_eq!(
                ran.out.contains("\nstopped in the prologue; "),
                notes,
                "{}",
                ran.out
            );
        }
    }
}

/// In optimized code, locations are lists whose entries state where they are valid.
#[test]
fn location_lists_are_taken_at_their_word() {
    let truth = json(&fixture("waves/calls-O2/truth.json"));
    for snapshot in truth["snapshots"].as_array().unwrap() {
        let wave = snapshot["wave"].as_str().unwrap().replace(".json", "");
        let ran = run(&format!("vars {} --format json", stop("calls-O2", &wave)));
        assert!(!ran.out.contains("\"note\""), "{wave}: {}", ran.out);
    }
}

/// Objects and program counters, with the expected messages.
#[test]
fn empty_answers_name_their_cause() {
    let corpus = |name: &str| format!("fixtures/corpus/llvm22/{name}.hsaco");
    let calls = "fixtures/waves/calls/calls.rocm.hsaco".to_owned();
    let wave = |target: &str, lanes: u32, pc: u64, load: u64| {
        json!({"format": "hetdwarf-wave/1", "target": target, "wave_size": lanes, "pc": pc, "load_address": load,
               "registers": {"exec": "0xff"}, "memory": []})
    };
    // The sections and units are as llvm-readelf and llvm-dwarfdump show them: the code of `calls` is at 0x1a00-0x2500, and its unit at
    // 0x1a00-0x236c. Padding lies between its functions `leaf` (to 0x1b18) and `mid` (from 0x1b80).
    let base = 0x7f40_0000_0000;
    for (object, wave, reason, says) in [
        (
            corpus("small-gfx90a-O2-nodebug"),
            wave("gfx90a", 64, 0x1720, 0),
            "no-debug-info",
            vec!["no debugging information"],
        ),
        (
            corpus("divergent-gfx1201-O2-stripped"),
            wave("gfx1201", 32, 0x1720, 0),
            "no-debug-info",
            vec!["no debugging information"],
        ),
        (
            corpus("small-gfx90a-O2-lines"),
            wave("gfx90a", 64, 0x1720, 0),
            "lines-only",
            vec!["lines only"],
        ),
        (
            corpus("split-gfx90a-O2"),
            wave("gfx90a", 64, 0x1720, 0),
            "no-dwo",
            vec!["small.dwo", "--dwo"],
        ),
        (
            calls.clone(),
            wave("gfx1100", 32, base + 0x1b40, base),
            "no-function",
            vec!["no function"],
        ),
        (
            calls.clone(),
            wave("gfx1100", 32, base + 0x2400, base),
            "no-unit",
            vec!["no debugging information for this code"],
        ),
        (
            calls.clone(),
            wave("gfx1100", 32, base + 0x1a1c, 0),
            "outside-code",
            vec![
                "pc 0x7f4000001a1c ",
                "load address 0x0 is at 0x1a00-0x2500;",
                "load address 0x7f4000000000 would fit",
            ],
        ),
        (
            // The code starts at 0xa00 of a page, and ends at 0x500 of the next, so 0x91c is in no such page.
            calls.clone(),
            wave("gfx1100", 32, base + 0x191c, base),
            "outside-code",
            vec!["is at 0x7f4000001a00-0x7f4000002500"],
        ),
    ] {
        let wave = File::new("empty", &wave);
        let arguments = format!("{object} --wave {}", wave.path());
        let found = document(&format!("vars {arguments}"), 1);
        let message = found["message"].as_str().unwrap();
        assert_eq!(found["reason"], reason, "{object}: {message}");
        assert_eq!(variables(&found), Vec::<Value>::new());
        for says in says {
            assert!(message.contains(says), "{object}: {message}");
        }
        if reason == "outside-code" {
            let fits = message.contains("would fit");
            assert_eq!(fits, message.contains("load address 0x0 "), "{message}");
            assert_eq!(
                document(&format!("unwind {arguments}"), 0)["reason"],
                reason
            );
            let lanes = document(&format!("lane-pc {arguments}"), 0);
            assert_eq!(lanes["message"].as_str(), Some(message));
        }
        let ran = run(&format!("vars {arguments}"));
        assert_eq!(ran.status, 1);
        assert!(ran.out.lines().any(|line| line == message), "{}", ran.out);
        let all = document(&format!("vars {arguments} --frame all"), 1);
        let last = all["frames"].as_array().unwrap().last();
        assert_eq!(last.unwrap()["reason"], reason);
    }
}

/// The variables exist, but have no value for this query.
#[test]
fn what_was_asked_for_is_not_there() {
    let stop = stop("structs", "w10");
    for (arguments, reason, says) in [
        (
            format!("vars {stop} --name rec"),
            "no-match",
            "is called rec; did you mean recs?",
        ),
        (
            format!("vars {stop} --name nothing"),
            "no-match",
            "is called nothing; there are ",
        ),
        (
            format!("vars {stop} --name *zz*"),
            "no-match",
            "matches *zz*; there are ",
        ),
        (
            // The wave has 20 work-items, so lane 31 has none and does not wait.
            format!("vars {} --lane 31", self::stop("manyargs", "w00")),
            "inactive",
            "none of these lanes is active",
        ),
        (
            format!("vars {} --name r", self::stop("calls-O2", "w00")),
            "optimized-out",
            "optimized out",
        ),
    ] {
        let found = document(&arguments, 1);
        assert_eq!(found["reason"], reason, "{arguments}");
        let message = found["message"].as_str().unwrap();
        assert!(message.contains(says), "{arguments}: {message}");
        if reason == "no-match" {
            assert!(run(&arguments).out.contains(message));
        }
    }
    // If there is an answer, no reason is given.
    let found = document(&format!("vars {stop}"), 0);
    assert!(found.get("reason").is_none() && found.get("message").is_none());
    // The snapshot does not have these registers.
    let wave = File::wave(
        "empty-registers",
        "calls-O2",
        "w06",
        &[("registers", json!({"exec": "0xff"}))],
    );
    let object = "fixtures/waves/calls-O2/calls-O2.rocm.hsaco";
    let found = document(&format!("vars {object} --wave {} --name a", wave.path()), 1);
    assert_eq!(found["reason"], "unavailable");
}

#[test]
fn nested_values_are_printed_as_deep_as_asked() {
    let stop = stop("structs", "w10");
    let value = |more: &str| {
        let document = document(&format!("vars {stop} --name recs --lane 12 {more}"), 0);
        variables(&document)[0]["lanes"][0]["value"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    // The variable is `Rec recs[2]`, where a Rec has an array and a structure. gdb's `set print max-depth` gives the same results.
    assert_eq!(value("--depth 0"), "{...}");
    assert_eq!(value("--depth 1"), "{{...}, {...}}");
    let two = value("--depth 2");
    assert!(
        two.starts_with("{{x = 5, y = {...}, in = {...}, col = BLUE, "),
        "{two}"
    );
    assert_eq!(value("--depth 3"), value(""));
}

/// No line is wider than the terminal if it can be broken.
#[test]
fn structures_take_as_many_lines_as_they_need() {
    for width in [30, 60, 100, 300] {
        let arguments = format!("vars {} --name [!a-q]*", stop("structs", "w10"));
        let arguments = ["hetdwarf"]
            .into_iter()
            .chain(arguments.split_whitespace())
            .map(Into::into);
        let (mut out, mut err) = (anstream::StripStream::new(Vec::new()), Vec::new());
        let status = hetdwarf_cli::run_with_width(arguments, width, &mut out, &mut err);
        assert_eq!(status, 0);
        let text = String::from_utf8(out.into_inner()).unwrap();
        let values = text.lines().filter(|line| line.starts_with("    "));
        assert!(
            values.clone().all(|line| line.chars().count() <= width),
            "{width}:\n{text}"
        );
        assert_eq!(values.count() > 0, width < 300, "{width}:\n{text}");
    }
}

/// Returns the part of a value to which names lead.
fn part<'v>(value: &'v Value, names: &[&str]) -> &'v Value {
    names.iter().fold(value, |value, name| {
        let children = value["children"].as_array();
        let mut children = children.unwrap_or_else(|| panic!("{name}: {value}")).iter();
        children.find(|child| child["name"] == *name).unwrap()
    })
}

/// Members and elements have the bytes of the whole value, at the offsets that llvm-dwarfdump prints: `Rec` has `x` at 0, `y` (three
/// floats) at 4, `in` at 16 with `s`, `c` and `u`, `col` and `big`.
#[test]
fn members_and_elements_are_listed_on_request() {
    let stop = stop("structs", "w10");
    let found = document(
        &format!("vars {stop} --name recs --lane 12 --children 4"),
        0,
    );
    let recs = &variables(&found)[0]["lanes"][0];
    let bytes = recs["bytes"].as_str().unwrap();
    assert_eq!(recs["children"].as_array().unwrap().len(), 2);
    // Other tests compare the values with the host's run. The float `-1.25` is bfa00000.
    let second = part(recs, &["[1]"]);
    assert_eq!(second["bytes"], bytes[bytes.len() / 2..]);
    assert_eq!(
        (&second["type"], &second["state"]),
        (&json!("Rec"), &json!("ok"))
    );
    let y = part(recs, &["[1]", "y", "[1]"]);
    assert_eq!(
        (&y["type"], &y["value"], &y["bytes"]),
        (&json!("float"), &json!("-1.25"), &json!("0000a0bf"))
    );
    assert_eq!(part(recs, &["[0]", "in", "c"])["value"], "'N'");
    assert!(part(recs, &["[0]", "x"]).get("children").is_none());
    // Each level is read only on request.
    let found = document(&format!("vars {stop} --name recs --lane 12 --children"), 0);
    let recs = &variables(&found)[0]["lanes"][0];
    assert!(part(recs, &["[0]"]).get("children").is_none());
    let found = document(&format!("vars {stop} --name recs --lane 12"), 0);
    assert!(variables(&found)[0]["lanes"][0].get("children").is_none());
}

/// Compares the pointees of pointers in every address space with the host's run. In the truth, `points-to` is the pointee of a pointer to
/// private memory.
#[test]
fn pointers_are_followed_on_request() {
    let mut followed = 0;
    for case in ["pointers", "structs"] {
        let truth = json(&fixture(&format!("waves/{case}/truth.json")));
        for snapshot in truth["snapshots"].as_array().unwrap() {
            let wave = snapshot["wave"].as_str().unwrap().replace(".json", "");
            let known = snapshot["variables"].as_array().into_iter().flatten();
            for expected in known.filter(|variable| variable["kind"] == "points-to") {
                let name = expected["name"].as_str().unwrap();
                let found = document(
                    &format!("vars {} --name {name} --children", stop(case, &wave)),
                    0,
                );
                for lane in expected["lanes"].as_array().unwrap() {
                    let number = usize::try_from(number(&lane["lane"])).unwrap();
                    let found = &variables(&found)[0]["lanes"][number];
                    let want = lane["bytes"].as_str().unwrap();
                    let target = part(found, &["*"])["bytes"].as_str().unwrap();
                    assert_eq!(
                        target,
                        &want[..target.len()],
                        "{case} {wave} {name} {number}"
                    );
                    followed += 1;
                }
            }
        }
    }
    assert!(followed > 30, "{followed}");
    // `int **pp` is `&cur`. Until `*pp` is advanced, `cur` is `&arr[1]`, and `p` is `arr`.
    let stop = stop("pointers", "w02");
    let found = document(&format!("vars {stop} --name pp --children 3"), 0);
    let p = document(&format!("vars {stop} --name p"), 0);
    let found = variables(&found);
    let lanes = found[0]["lanes"].as_array().unwrap();
    let mut seen = 0;
    for lane in lanes.iter().filter(|lane| lane["state"] == "ok") {
        let index = usize::try_from(lane["lane"].as_u64().unwrap()).unwrap();
        let p = pointer(&variables(&p)[0]["lanes"][index]);
        let cur = part(lane, &["*"]);
        assert_eq!(pointer(cur), p + 4, "{cur}");
        assert_eq!(part(cur, &["*"])["type"], "int");
        seen += 1;
    }
    assert!(seen > 0);
}

/// Returns the address in a pointer.
fn pointer(value: &Value) -> u128 {
    let text = value["value"].as_str().unwrap();
    number(&json!(text.rsplit('#').next().unwrap()))
}

/// The snapshot does not have the global memory.
#[test]
fn what_a_pointer_points_to_may_not_be_known() {
    let content = json(&fixture("waves/calls/w09.json"));
    let mut memory = content["memory"].as_array().unwrap().clone();
    memory.retain(|region| region["space"] != "none");
    let wave = File::wave("no-memory", "calls", "w09", &[("memory", json!(memory))]);
    let object = "fixtures/waves/calls/calls.rocm.hsaco";
    let with = |wave: &str| {
        let arguments = format!("vars {object} --wave {wave} --name g --lane 2 --children");
        variables(&document(&arguments, 0))[0]["lanes"][0].clone()
    };
    let (known, unknown) = (with("fixtures/waves/calls/w09.json"), with(wave.path()));
    assert_eq!(known["value"], unknown["value"]);
    assert_eq!(part(&known, &["*"])["state"], "ok");
    let target = part(&unknown, &["*"]);
    assert_eq!(
        (&target["state"], target.get("value")),
        (&json!("unavailable"), None)
    );
    assert_eq!(target["message"], "the register or memory is not available");
}
