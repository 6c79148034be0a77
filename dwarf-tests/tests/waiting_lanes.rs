//! Tests waiting lanes in `vars` and `unwind`: each has a position, and the variables of that position.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use dwarf_tests::{call_number, fixture, hetdwarf, json, lane_cases, number, waiting_frames};
use serde_json::Value;

/// Unpacks a snapshot to a file of its own for each test.
fn unpacked(packed: &Path, test: &str) -> PathBuf {
    let mut text = Vec::new();
    let file = std::fs::File::open(packed).unwrap();
    flate2::read::GzDecoder::new(file)
        .read_to_end(&mut text)
        .unwrap();
    let name = format!("hetdwarf-waiting-{test}-{}.json", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn ask(command: &str, object: &Path, wave: &Path, options: &[&str]) -> Value {
    let mut arguments = vec![command.into(), object.as_os_str().to_owned()];
    arguments.extend(["--wave".into(), wave.as_os_str().to_owned()]);
    arguments.extend(options.iter().chain(&["--format", "json"]).map(Into::into));
    let ran = hetdwarf(arguments);
    assert_eq!(ran.err, "", "{}", object.display());
    serde_json::from_str(&ran.out).unwrap()
}

/// Returns the values of a variable at one place, by lane.
fn values(place: &Value, name: &str) -> BTreeMap<u64, i64> {
    let variables = place["variables"].as_array().unwrap();
    let named = variables.iter().filter(|variable| variable["name"] == name);
    let lanes = named.flat_map(|variable| variable["lanes"].as_array().unwrap());
    let readable = lanes.filter(|lane| lane["state"] == "ok");
    let value = |lane: &Value| {
        let text = lane["value"].as_str().unwrap();
        (lane["lane"].as_u64().unwrap(), text.parse().unwrap())
    };
    readable.map(value).collect()
}

/// Returns the successive values of `r` of `ifelse.cl` in a work-item, as far as only `x` and `id` decide.
fn values_of_r(x: i64, id: i64) -> Vec<i64> {
    let mut values = vec![1];
    let mut next = |value: &dyn Fn(i64) -> i64| {
        let last = values[values.len() - 1];
        values.push(value(last));
    };
    if x & 1 != 0 {
        next(&|r| r + x * 3);
        match (x & 2, x & 4) {
            (0, _) => next(&|r| r - x),
            (_, 0) => {
                next(&|r| r ^ 5);
                next(&|r| r - 7);
                next(&|r| r * 2);
            }
            (_, _) => next(&|r| r ^ 5),
        }
    } else {
        if x & 8 != 0 {
            next(&|r| r + 100);
        }
        next(&|r| r * 7 + id);
    }
    values
}

/// In every waiting lane, `id` is the work-item. For `ifelse.cl` at -O0 the other variables are known too: `x` has the value of other stops
/// at which the lane was active, and `r` is one of the values in the source.
#[test]
fn waiting_lanes_have_the_variables_of_where_they_wait() {
    let (mut ids, mut others, mut places_seen) = (0, 0, 0);
    for case in lane_cases() {
        let truth = json(&case.join("truth.json"));
        let object = case.join(truth["object"].as_str().unwrap());
        let is_known = truth["source"] == "ifelse.cl" && truth["optimisation"] == "-O0";
        let mut x: BTreeMap<u64, i64> = BTreeMap::new();
        let stops = truth["snapshots"].as_array().unwrap();
        for stop in stops.iter().step_by(if is_known { 1 } else { 3 }) {
            let at = format!("{} {}", truth["case"], stop["wave"]);
            let wave = unpacked(&case.join(stop["wave"].as_str().unwrap()), "vars");
            let last = number(&truth["wave_size"]) - 1;
            let document = ask("vars", &object, &wave, &["--lane", &format!("0-{last}")]);
            let first = &document["frames"][0];
            if is_known && first["waiting"] != true {
                x.extend(values(first, "x"));
            }
            for place in &waiting_frames(&document) {
                places_seen += 1;
                for (lane, id) in values(place, "id") {
                    assert_eq!(id, lane as i64, "{at}");
                    ids += 1;
                }
                if !is_known {
                    continue;
                }
                for (lane, value) in values(place, "x") {
                    // Before `x` is read, it can have any value.
                    let line = place["frame"]["line"].as_u64();
                    assert!(line.is_none_or(|line| line > 6), "{at} {line:?}");
                    assert_eq!(*x.entry(lane).or_insert(value), value, "{at} lane {lane}");
                }
                for (lane, r) in values(place, "r") {
                    let x = x[&lane];
                    // `in[…]` is added, whose value is unknown.
                    let is_open = if x & 1 != 0 { x & 6 == 6 } else { x > 40 };
                    let known = values_of_r(x, lane as i64);
                    assert!(
                        is_open || known.contains(&r),
                        "{at} {lane} {x} {r} {known:?}"
                    );
                    others += usize::from(!is_open);
                }
            }
            std::fs::remove_file(&wave).unwrap();
        }
    }
    println!("{places_seen} places, {ids} times id, {others} times r");
    assert!(places_seen > 200 && ids > 1000 && others > 350);
}

/// `print` evaluates in chosen waiting lanes where they wait: `id` is the work-item, `x` equals the value of `vars`, and expressions
/// combine both.
#[test]
fn expressions_are_those_of_where_lanes_wait() {
    let mut seen = 0;
    for case in lane_cases() {
        let truth = json(&case.join("truth.json"));
        if truth["source"] != "ifelse.cl" || truth["optimisation"] != "-O0" {
            continue;
        }
        let object = case.join(truth["object"].as_str().unwrap());
        for stop in truth["snapshots"].as_array().unwrap() {
            let at = format!("{} {}", truth["case"], stop["wave"]);
            let wave = unpacked(&case.join(stop["wave"].as_str().unwrap()), "print");
            let last = number(&truth["wave_size"]) - 1;
            let lanes = format!("0-{last}");
            let vars = ask("vars", &object, &wave, &["--lane", &lanes]);
            let print = ["id", "x", "x * 2 + id", "--lane", &lanes];
            let print = ask("print", &object, &wave, &print);
            assert_eq!(print["pc"], vars["pc"], "{at}");
            let frame = &vars["frames"][0];
            assert_eq!(print["waiting"], frame["waiting"], "{at}");
            // The places and the values there are the same.
            let waiting = |document: &Value| document["waiting_lanes"].as_array().cloned();
            let [vars_at, print_at] = [frame, &print].map(|one| waiting(one).unwrap_or_default());
            assert_eq!(vars_at.len(), print_at.len(), "{at}");
            for (vars, print) in vars_at.iter().zip(&print_at).chain([(frame, &print)]) {
                assert_eq!(print["frame"], vars["frame"], "{at}");
                let known = values(vars, "x");
                let answers = |n: usize| -> BTreeMap<u64, i64> {
                    let lanes = print["expressions"][n]["lanes"].as_array().unwrap();
                    let readable = lanes.iter().filter(|lane| lane["state"] == "ok");
                    let value = |lane: &Value| {
                        let text = lane["value"].as_str().unwrap();
                        (lane["lane"].as_u64().unwrap(), text.parse().unwrap())
                    };
                    readable.map(value).collect()
                };
                for (lane, id) in answers(0) {
                    assert_eq!(id, lane as i64, "{at}");
                }
                assert_eq!(answers(1), known, "{at}");
                for (lane, sum) in answers(2) {
                    assert_eq!(sum, known[&lane] * 2 + lane as i64, "{at}");
                    seen += 1;
                }
            }
            std::fs::remove_file(&wave).unwrap();
        }
    }
    assert!(seen > 300, "{seen}");
    // The text names the place of the lane.
    let case = fixture("lanes/ifelse-gfx1100-O0");
    let wave = unpacked(&case.join("w03.json.gz"), "print");
    let truth = json(&case.join("truth.json"));
    let lane = truth["snapshots"][3]["groups"][0]["lanes"][0].to_string();
    let object = case.join("ifelse-gfx1100-O0.hsaco").into_os_string();
    let arguments = ["print".into(), object, "--wave".into(), wave.clone().into()];
    let options = ["--lane", &lane, "id"].map(Into::into);
    let text = hetdwarf(arguments.into_iter().chain(options)).out;
    let expected = format!("lane {lane} waits in ");
    assert!(
        text.contains(&expected) && text.contains(&format!("id = {lane} ")),
        "{text}"
    );
    std::fs::remove_file(&wave).unwrap();
}

/// `vars --lane N` for a single waiting lane shows the place where it waits.
#[test]
fn one_waiting_lane_is_shown_where_it_waits() {
    let case = fixture("lanes/ifelse-gfx1100-O0");
    let object = case.join("ifelse-gfx1100-O0.hsaco");
    let wave = unpacked(&case.join("w03.json.gz"), "one");
    let truth = json(&case.join("truth.json"));
    let stop = &truth["snapshots"][3];
    let load_address = number(&json(&wave)["load_address"]);
    for group in stop["groups"].as_array().unwrap() {
        for lane in group["lanes"].as_array().unwrap() {
            let document = ask("vars", &object, &wave, &["--lane", &lane.to_string()]);
            assert_eq!(document["frames"][0]["waiting"], true);
            let pc = number(&document["pc"]) - load_address;
            let is_right = group["right"].as_array().unwrap().iter().any(|run| {
                let [first, last] = [&run[0], &run[1]].map(number);
                (first..=last).contains(&pc)
            });
            assert!(is_right, "{pc:#x} {group}");
            assert_ne!(document["pc"], stop["pc"]);
        }
    }
    // An active lane is shown at the pc of the wave.
    let active = number(&stop["active"]).trailing_zeros().to_string();
    let document = ask("vars", &object, &wave, &["--lane", &active]);
    assert!(document["frames"][0].get("waiting").is_none() && document["pc"] == stop["pc"]);
    std::fs::remove_file(&wave).unwrap();
}

/// `unwind` names the frame of every waiting lane, even in callers without call frame information.
#[test]
fn the_call_stack_says_where_waiting_lanes_are() {
    let mut waiting = 0;
    for case in lane_cases() {
        let truth = json(&case.join("truth.json"));
        if truth["source"] != "divcalls.cl" {
            continue;
        }
        let object = case.join(truth["object"].as_str().unwrap());
        for stop in truth["snapshots"].as_array().unwrap() {
            let at = format!("{} {}", truth["case"], stop["wave"]);
            let wave = unpacked(&case.join(stop["wave"].as_str().unwrap()), "unwind");
            let arguments = ["unwind".into(), object.clone().into_os_string()];
            let arguments = arguments
                .into_iter()
                .chain(["--wave".into(), wave.clone().into()]);
            // A long line continues in an indented line.
            let text = hetdwarf(arguments).out.replace("\n  ", " ");
            let unwound = ask("unwind", &object, &wave, &[]);
            for group in stop["groups"].as_array().unwrap() {
                let place = match group["frame"].as_u64().unwrap() {
                    0 => "waiting at ".to_owned(),
                    level => format!("in frame {}, ", call_number(&unwound, level)),
                };
                let lines: Vec<&str> = (text.lines())
                    .filter_map(|line| line.strip_prefix("lanes ").or(line.strip_prefix("lane ")))
                    .filter(|line| line.contains(&place))
                    .collect();
                for lane in group["lanes"].as_array().unwrap() {
                    let lane = lane.as_u64().unwrap();
                    let is_there = lines.iter().any(|line| numbers(line).contains(&lane));
                    assert!(is_there, "{at}: {lane} {group}\n{text}");
                    waiting += 1;
                }
            }
            std::fs::remove_file(&wave).unwrap();
        }
    }
    assert!(waiting > 1400, "{waiting}");
}

/// Returns the lanes at the start of a line: `3, 12-14, 20-26 even: …`.
fn numbers(line: &str) -> Vec<u64> {
    let (lanes, _) = line.split_once(':').unwrap();
    let ranges = lanes.split(", ").map(|range| {
        let (range, step) = match range.split_once(' ') {
            Some((range, _)) => (range, 2),
            None => (range, 1),
        };
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        (first.parse::<u64>().unwrap()..=last.parse().unwrap()).step_by(step)
    });
    ranges.flatten().collect()
}
