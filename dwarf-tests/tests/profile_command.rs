//! Compares `hetdwarf profile` on files in rocprofv3's formats with LLVM's tools on the same samples, and tests damaged files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use dwarf_tests::browser::Browser;
use dwarf_tests::{Ran, fixture, hetdwarf};
use serde_json::{Value, json};

/// A temporary folder.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("hetdwarf-profile-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn profiles(name: &str) -> PathBuf {
    fixture("profiles").join(name)
}

/// Returns the path of a case's code object.
fn object(case: &str) -> PathBuf {
    fixture("corpus").join(match case {
        "stochastic" => "llvm22/inlined-gfx942-O2.hsaco",
        _ => "llvm24/inlined-gfx90a-O2.hsaco",
    })
}

fn run(file: &Path, more: &[&str]) -> Ran {
    let arguments = ["profile".into(), file.as_os_str().to_owned()];
    hetdwarf(arguments.into_iter().chain(more.iter().map(Into::into)))
}

fn document(file: &Path, more: &[&str]) -> (Value, Ran) {
    let ran = run(file, &[more, &["--format", "json"]].concat());
    let document = serde_json::from_str(&ran.out);
    (document.unwrap_or_else(|_| panic!("{}", ran.err)), ran)
}

/// Returns the samples of a file, each with the text of its instruction and the comment.
fn samples(case: &str) -> Vec<(Value, Option<(String, String)>)> {
    let text = std::fs::read(profiles(case).join("4242_results.json")).unwrap();
    let file: Value = serde_json::from_slice(&text).unwrap();
    let process = &file["rocprofiler-sdk-tool"][0];
    let records = &process["buffer_records"];
    let lists = ["pc_sample_host_trap", "pc_sample_stochastic"].map(|name| &records[name]);
    let all = lists.into_iter().flat_map(|list| list.as_array().unwrap());
    let text = |list: &str, index: &Value| {
        let index = usize::try_from(index.as_i64().unwrap()).ok()?;
        Some(process["strings"][list][index].as_str().unwrap().to_owned())
    };
    all.map(|sample| {
        let index = &sample["inst_index"];
        let both = text("pc_sample_instructions", index);
        let both = both.zip(text("pc_sample_comments", index));
        (sample["record"].clone(), both)
    })
    .collect()
}

fn rows(document: &Value) -> BTreeMap<String, Value> {
    let rows = document["rows"].as_array().unwrap().iter();
    rows.map(|row| (row["by"].as_str().unwrap().to_owned(), row.clone()))
        .collect()
}

fn sum(document: &Value) -> u64 {
    let rows = document["rows"].as_array().unwrap().iter();
    rows.map(|row| row["samples"].as_u64().unwrap()).sum()
}

/// By instruction, the texts equal llvm-objdump's. The samples, stalls and active lanes equal the file's.
#[test]
fn instructions_are_those_of_llvm() {
    for case in ["stochastic", "host-trap"] {
        let file = profiles(case).join("4242_results.json");
        let object = object(case);
        let more = ["--object", object.to_str().unwrap(), "--by", "instruction"];
        let (document, ran) = document(&file, &more);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{case}");
        assert_eq!(
            (&document["samples"], &document["unresolved"]),
            (&json!(60), &json!(1))
        );
        let mut expected: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
        for (record, text) in samples(case) {
            let Some((instruction, _)) = text else {
                continue;
            };
            let address = record["pc"]["code_object_offset"].as_u64().unwrap();
            let by = format!("{address:#x} {instruction}");
            let (count, lanes, waits) = expected.entry(by).or_default();
            *count += 1;
            *lanes += u64::from(record["exec_mask"].as_u64().unwrap().count_ones());
            let reason = record["snapshot"]["stall_reason"].as_str().unwrap_or("");
            let is_stalled = record["wave_issued"] == 0;
            *waits += u64::from(is_stalled && reason.ends_with("_ALU_DEPENDENCY"));
        }
        let found = rows(&document);
        assert_eq!(found.len(), expected.len(), "{case}");
        for (by, (count, lanes, waits)) in expected {
            let row = &found[&by];
            assert_eq!(row["samples"], count, "{case} {by}");
            let share = row["lanes_active"].as_f64().unwrap();
            assert!(
                (share - lanes as f64 / (64 * count) as f64).abs() < 1e-4,
                "{by}"
            );
            let stalls = row["stalls"]["ALU_DEPENDENCY"].as_u64();
            assert_eq!(stalls.unwrap_or(0), waits, "{case} {by}");
        }
    }
}

/// By line, the lines equal llvm-symbolizer's, except that code without a line has the line of the previous row.
#[test]
fn lines_are_those_of_llvm() {
    for case in ["stochastic", "host-trap"] {
        let object = object(case);
        let file = profiles(case).join("4242_results.json");
        let (document, _) = document(&file, &["--object", object.to_str().unwrap()]);
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        for (_, text) in samples(case) {
            let Some((_, comment)) = text else { continue };
            let innermost = comment.split(" -> ").next().unwrap();
            let line = innermost.rsplit('/').next().unwrap().to_owned();
            *expected.entry(line).or_default() += 1;
        }
        let without = expected.remove("inlined.cl:?").unwrap_or(0);
        let found = rows(&document);
        let mut more = 0;
        for (line, count) in expected {
            more += found[&line]["samples"].as_u64().unwrap() - count;
        }
        // The remaining samples have lines of their own.
        assert!(more <= without && without < 20, "{case}: {more} {without}");
        assert_eq!(sum(&document), 59, "{case}");
        // Without the code object only the profiler's comments are available.
        let folder = Folder::new(&format!("lines-{case}"));
        let alone = folder.write("4242_results.json", std::fs::read(&file).unwrap());
        let (document, ran) = self::document(&alone, &[]);
        assert_eq!(
            (ran.status, &document["by_comment"]),
            (0, &json!(59)),
            "{case}"
        );
        assert_eq!(rows(&document)["?"]["samples"], without, "{case}");
        assert_eq!(document["divergence"], json!([]), "{case}");
    }
}

/// The samples as CSV give the same lines, and the statistics of a thread trace the same addresses as `code.json`.
#[test]
fn other_forms_say_the_same() {
    for case in ["stochastic", "host-trap"] {
        let method = case.replace('-', "_");
        let csv = profiles(case).join(format!("4242_pc_sampling_{method}.csv"));
        let (of_csv, ran) = document(&csv, &[]);
        assert_eq!(
            (ran.status, &of_csv["unresolved"]),
            (0, &json!(1)),
            "{case}"
        );
        assert!(
            of_csv["notes"][0]
                .as_str()
                .unwrap()
                .contains("CSV contains no addresses")
        );
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        for (_, text) in samples(case) {
            let Some((_, comment)) = text else { continue };
            let line = comment.split(" -> ").next().unwrap();
            let line = line.rsplit('/').next().unwrap();
            let line = if line.ends_with('?') { "?" } else { line };
            *expected.entry(line.to_owned()).or_default() += 1;
        }
        let found = rows(&of_csv).into_iter();
        let found: BTreeMap<String, u64> = found
            .map(|(line, row)| (line, row["samples"].as_u64().unwrap()))
            .collect();
        assert_eq!(found, expected, "{case}");
        let object = object(case);
        let more = ["--object", object.to_str().unwrap(), "--by", "instruction"];
        let stats = profiles(case).join("stats_ui_output_agent_4242_dispatch_1.csv");
        let (of_stats, ran) = document(&stats, &more);
        assert_eq!((ran.status, &of_stats["counts"]), (0, &json!("executions")));
        let (of_code, _) = document(&profiles(case).join("code.json"), &more);
        assert_eq!(of_stats["rows"], of_code["rows"], "{case}");
        let text = std::fs::read_to_string(&stats).unwrap();
        // The columns are CodeObj, Vaddr, "Instruction", Hitcount, Latency, Stall, Idle and Source. Instructions can contain commas.
        let mut hits = 0;
        for line in text.lines().skip(1) {
            let (start, rest) = line.split_once(",\"").unwrap();
            let (instruction, counts) = rest.split_once("\",").unwrap();
            let counts: Vec<u64> = counts
                .split(',')
                .take(4)
                .map(|one| one.parse().unwrap())
                .collect();
            let address: u64 = start.split_once(',').unwrap().1.parse().unwrap();
            hits += counts[0];
            if counts[0] == 0 {
                continue;
            }
            let row = &rows(&of_stats)[&format!("{address:#x} {instruction}")];
            let cycles = json!({"latency": counts[1], "stall": counts[2], "idle": counts[3]});
            assert_eq!(
                (&row["samples"], &row["cycles"]),
                (&json!(counts[0]), &cycles)
            );
        }
        assert_eq!(of_stats["samples"], hits);
    }
}

/// Counts of executions and of samples have no common sum.
#[test]
fn executions_and_samples_are_not_added() {
    let folder = profiles("stochastic");
    let files = [
        "4242_results.json",
        "stats_ui_output_agent_4242_dispatch_1.csv",
    ];
    let [samples, executions] = files.map(|name| folder.join(name).into_os_string());
    for [one, other] in [[&samples, &executions], [&executions, &samples]] {
        let ran = hetdwarf(["profile".into(), one.clone(), other.clone()]);
        assert_eq!(ran.status, 2, "{}", ran.out);
        assert!(ran.err.contains("counted differently"), "{}", ran.err);
        let same = hetdwarf(["profile".into(), one.clone(), one.clone()]);
        assert!(same.status < 2, "{}", same.err);
    }
}

/// Profilers write a run as JSON and as CSV: the sum would be twice the number of its samples.
#[test]
fn two_forms_of_a_run_are_not_added() {
    let folder = profiles("stochastic");
    for forms in [
        ["4242_results.json", "4242_pc_sampling_stochastic.csv"],
        ["code.json", "stats_ui_output_agent_4242_dispatch_1.csv"],
    ] {
        let [one, other] = forms.map(|name| folder.join(name).into_os_string());
        for files in [[&one, &other], [&other, &one]] {
            let ran = hetdwarf(["profile".into(), files[0].clone(), files[1].clone()]);
            assert_eq!(ran.status, 2, "{}", ran.out);
            assert!(ran.err.contains("give one form"), "{}", ran.err);
        }
    }
}

/// The section is renamed, so there is no line table.
#[test]
fn samples_without_lines_have_a_reason() {
    let folder = Folder::new("no-lines");
    let bytes = dwarf_tests::without_section(object("stochastic"), ".debug_line");
    let damaged = folder.0.join("no-lines.hsaco");
    std::fs::write(&damaged, bytes).unwrap();
    let samples = profiles("stochastic").join("4242_results.json");
    let (_, ran) = document(&samples, &["--object", damaged.to_str().unwrap()]);
    assert!(
        ran.err.contains("lines are missing: .debug_line"),
        "{}",
        ran.err
    );
}

/// rocprofv3 saves code objects beside the folder of a thread trace, not in it.
#[test]
fn saved_code_objects_are_beside_the_folder_of_a_thread_trace() {
    let folder = Folder::new("trace");
    let trace = folder.0.join("ui_output_agent_4242_dispatch_1");
    std::fs::create_dir_all(&trace).unwrap();
    let code = trace.join("code.json");
    std::fs::copy(profiles("stochastic").join("code.json"), &code).unwrap();
    std::fs::copy(object("stochastic"), folder.0.join(SAVED)).unwrap();
    let object = object("stochastic");
    let (expected, _) = document(&code, &["--object", object.to_str().unwrap()]);
    let (found, ran) = document(&code, &[]);
    assert_eq!((ran.status, &found["rows"]), (0, &expected["rows"]));
}

/// An instruction of a thread trace whose hits are not a number is counted as discarded, and not as one without hits.
#[test]
fn a_count_of_a_thread_trace_that_is_not_a_number_is_told() {
    let folder = Folder::new("trace");
    let stats = profiles("stochastic").join("stats_ui_output_agent_4242_dispatch_1.csv");
    let text = std::fs::read_to_string(stats).unwrap();
    let is_hit = |line: &&str| line.rsplit(',').nth(4) != Some("0");
    let line = text.lines().skip(1).find(is_hit).unwrap();
    let mut fields: Vec<&str> = line.rsplitn(6, ',').collect();
    fields[4] = "many";
    fields.reverse();
    let text = text.replace(line, &fields.join(","));
    let file = folder.write("stats_ui_output_agent_4242_dispatch_1.csv", text);
    let object = object("stochastic");
    let (document, _) = document(&file, &["--object", object.to_str().unwrap()]);
    assert_eq!(document["discarded"], json!({"a count is not a number": 1}));
}

/// Returns the results of the fixture, after applying `change`.
fn changed(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let text = std::fs::read(profiles("stochastic").join("4242_results.json")).unwrap();
    let mut file: Value = serde_json::from_slice(&text).unwrap();
    change(&mut file["rocprofiler-sdk-tool"][0]);
    serde_json::to_vec(&file).unwrap()
}

const SAVED: &str = "4242_gfx942_code_object_id_2.out";

/// `serde_json` orders keys alphabetically, with `code_objects` after `buffer_records`. Here the order is reversed, the code file is next
/// to the profile, and names of keys have trailing spaces.
#[test]
fn the_order_of_keys_does_not_matter() {
    let folder = Folder::new("order");
    folder.write(SAVED, std::fs::read(object("stochastic")).unwrap());
    let text = changed(|_| {});
    let process = String::from_utf8(text.clone()).unwrap();
    let value: Value = serde_json::from_slice(&text).unwrap();
    let value = &value["rocprofiler-sdk-tool"][0];
    let fields = value.as_object().unwrap().iter().rev();
    let fields = fields.map(|(name, value)| format!("\"{name} \": {value}"));
    let turned = format!(
        "{{\"rocprofiler-sdk-tool\": [{{{}}}]}}",
        fields.collect::<Vec<_>>().join(", ")
    );
    let one = folder.write("one.json", process);
    let other = folder.write("other.json", turned);
    let (one, ran) = document(&one, &[]);
    assert_eq!((ran.status, one.get("by_comment")), (0, None));
    assert_eq!(document(&other, &[]).0, one);
}

/// A dispatch gives the started lanes, regardless of its position in the file.
#[test]
fn dispatches_say_which_lanes_were_started() {
    let folder = Folder::new("dispatch");
    folder.write(SAVED, std::fs::read(object("stochastic")).unwrap());
    let make = |process: &mut Value| {
        let records = &mut process["buffer_records"];
        let list = &mut records["pc_sample_stochastic"];
        let mut sample = list[0].clone();
        // At the kernel's first instruction all lanes are on, which are 40 work-items.
        sample["record"]["pc"] = json!({"code_object_id": 2, "code_object_offset": 0x1700});
        sample["record"]["exec_mask"] = json!((1_u64 << 40) - 1);
        sample["record"]["wave_in_grp"] = json!(0);
        sample["record"]["dispatch_id"] = json!(9);
        *list = json!([sample]);
        let size = json!({"x": 40, "y": 1, "z": 1});
        let info = json!({"dispatch_id": 9, "kernel_id": 1, "workgroup_size": size, "grid_size": {"x": 4000, "y": 1, "z": 1}});
        records["kernel_dispatch"] = json!([{"dispatch_info": info}]);
    };
    // `serde_json` sorts fields, so dispatches come first. Renamed, they come last, and a second pass reads them.
    let first = String::from_utf8(changed(make)).unwrap();
    let at = first.find("\"kernel_dispatch\":").unwrap();
    let end = first[at..].find("}}]").unwrap() + at + 3;
    let dispatch = first[at..end].to_owned();
    let last = first.replacen(&format!("{dispatch},"), "", 1);
    let marker = "\"pc_sample_stochastic\":[";
    let start = last.find(marker).unwrap();
    let list_end = last[start..].find("}]}").unwrap() + start + 2;
    let last = format!("{},{dispatch}{}", &last[..list_end], &last[list_end..]);
    let never = json!([{"branch": null, "reason": "never-dispatched", "text": "never dispatched", "idle_lane_samples": 24, "share": 1.0}]);
    for (name, text) in [("first.json", first), ("last.json", last)] {
        serde_json::from_str::<Value>(&text).unwrap();
        let file = folder.write(name, text);
        let (document, ran) = document(&file, &["--by", "kernel"]);
        assert_eq!((ran.status, &document["divergence"]), (0, &never), "{name}");
        assert_eq!(document["rows"][0]["by"], "inlined", "{name}");
        assert_eq!(document["samples"], 1, "{name}");
    }
}

/// Wrong numbers are counted by reason, and unknown fields are named.
#[test]
fn what_is_wrong_is_counted_by_reason() {
    let folder = Folder::new("wrong");
    folder.write(SAVED, std::fs::read(object("stochastic")).unwrap());
    let text = changed(|process| {
        let list = &mut process["buffer_records"]["pc_sample_stochastic"];
        list[6]["record"]["pc"]["code_object_id"] = json!(77);
        list[6]["inst_index"] = json!(-1);
        list[1]["record"]["exec_mask"] = json!(-5);
        list[2]["record"]["pc"]["code_object_offset"] = json!("much");
        list[3]["record"]["pc"]["code_object_offset"] = json!(u64::MAX);
        list[3]["inst_index"] = json!(u64::MAX);
        list[4] = json!(null);
        list[5]["record"]["color"] = json!("red");
        process["weather"] = json!({"wind": [1, 2]});
    });
    let text = String::from_utf8(text).unwrap();
    // The number has more than 64 bits.
    let huge = text.replacen(
        "\"exec_mask\":18446744073709551615",
        "\"exec_mask\":118446744073709551615",
        1,
    );
    assert_ne!(huge, text);
    let file = folder.write("wrong.json", huge);
    let (document, ran) = document(&file, &[]);
    assert_eq!(ran.status, 1);
    let discarded = json!({"its EXEC mask is not a number": 2, "its code object or address is not a number": 1});
    assert_eq!(document["discarded"], discarded);
    let reasons = json!({
        "outside of all code objects": 1,
        "code object 77 is not in the file's list, and was not found": 1,
        "no code at the address in code object 2": 1,
    });
    assert_eq!(document["unresolved_reasons"], reasons);
    assert_eq!(
        (&document["samples"], &document["unresolved"]),
        (&json!(56), &json!(3))
    );
    assert_eq!(document["unknown_fields"], json!(["color", "weather"]));
}

/// In a truncated file the samples before its end are counted, and the command ends normally.
#[test]
fn what_is_before_a_cut_is_counted() {
    let folder = Folder::new("cut");
    let whole = std::fs::read(profiles("stochastic").join("4242_results.json")).unwrap();
    let mut last = 0;
    for cut in (0..whole.len()).step_by(whole.len() / 97) {
        let file = folder.write("cut.json", &whole[..cut]);
        let ran = run(&file, &["--format", "json"]);
        if ran.status == 2 {
            assert!(
                last == 0 && ran.out.is_empty() && ran.err.starts_with("error: "),
                "{cut}"
            );
            continue;
        }
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        let samples = document["samples"].as_u64().unwrap();
        assert!(ran.status == 1 && samples >= last, "{cut}: {}", ran.err);
        assert!(
            ran.err
                .contains("only the samples before the error are counted"),
            "{}",
            ran.err
        );
        last = samples;
    }
    assert!(last > 55, "{last}");
    let csv = profiles("stochastic").join("4242_pc_sampling_stochastic.csv");
    let whole = std::fs::read(csv).unwrap();
    let cut = folder.write("cut.csv", &whole[..whole.len() - 20]);
    let (document, ran) = document(&cut, &[]);
    assert_eq!((ran.status, &document["samples"]), (1, &json!(59)));
    for (text, message) in [
        ("SQLite format 3\0…", "--output-format json"),
        ("{\"a\": 1}", "neither PC samples"),
        ("a,b\n1,2\n", "neither PC samples"),
        ("", "neither PC samples"),
        ("\u{7f}ELF\u{2}\u{1}\u{1}\0", "neither PC samples"),
    ] {
        let ran = run(&folder.write("other", text), &[]);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{text}");
        assert!(ran.err.contains(message), "{}", ran.err);
    }
}

/// A file is opened only if it or its folder is named. If two files match, neither is used.
#[test]
fn code_objects_are_found_in_named_folders_only() {
    let folder = Folder::new("objects");
    let bytes = std::fs::read(object("stochastic")).unwrap();
    let library = folder.0.join("app/libkernels.so");
    let uri = format!(
        "file://{}#offset=8192&size={}",
        library.display(),
        bytes.len()
    );
    let text = changed(|process| process["code_objects"][2]["uri"] = json!(uri));
    let file = folder.write("4242_results.json", text);
    let app = folder.0.join("app");
    std::fs::create_dir_all(&app).unwrap();
    let mut padded = vec![0; 8192];
    padded.extend(&bytes);
    std::fs::write(&library, &padded).unwrap();
    let by_comment = |more: &[&str]| document(&file, more).0.get("by_comment").cloned();
    assert_eq!(by_comment(&[]), Some(json!(59)));
    assert_eq!(by_comment(&["--object-path", app.to_str().unwrap()]), None);
    // The file has another target or size.
    let other = object("host-trap");
    let (document, _) = document(&file, &["--object", other.to_str().unwrap()]);
    assert_eq!(document["by_comment"], 59);
    assert!(
        document["problems"][0]
            .as_str()
            .unwrap()
            .ends_with("has its target and size")
    );
    // Two files have the same target and size.
    let mut twin = bytes.clone();
    *twin.last_mut().unwrap() ^= 1;
    let one = folder.write("one.hsaco", &bytes);
    let twin = folder.write("twin.hsaco", twin);
    let both = [
        "--object",
        one.to_str().unwrap(),
        "--object",
        twin.to_str().unwrap(),
    ];
    let (document, _) = self::document(&file, &both);
    let problem = document["problems"][0].as_str().unwrap();
    assert!(problem.ends_with("match, so neither is used"), "{problem}");
    assert_eq!(document["by_comment"], 59);
}

/// Tables fit the width, and stacks include inlined calls.
#[test]
fn text_and_stacks() {
    let file = profiles("stochastic").join("4242_results.json");
    let object = object("stochastic");
    let more = ["--object", object.to_str().unwrap()];
    for by in ["line", "function", "kernel", "instruction", "stack"] {
        let ran = run(&file, &[&more[..], &["--by", by]].concat());
        assert_eq!(ran.status, 0);
        let longest = ran.out.lines().map(|line| line.chars().count()).max();
        assert!(longest.unwrap() <= 100, "{}", ran.out);
    }
    let folded = run(&file, &[&more[..], &["--format", "folded"]].concat()).out;
    let all = folded.lines().map(|line| line.rsplit_once(' ').unwrap());
    let all: Vec<(&str, u64)> = all.map(|(stack, n)| (stack, n.parse().unwrap())).collect();
    assert_eq!(all.iter().map(|(_, count)| count).sum::<u64>(), 59);
    assert!(
        all.iter().all(|(stack, _)| stack.starts_with("inlined")),
        "{folded}"
    );
    assert!(
        all.iter().any(|(stack, _)| stack.split(';').count() == 4),
        "{folded}"
    );
    let top = run(
        &file,
        &[&more[..], &["--top", "2", "--format", "json"]].concat(),
    );
    let top: Value = serde_json::from_str(&top.out).unwrap();
    assert_eq!(top["rows"].as_array().unwrap().len(), 2);
    assert!(top["rows_left_out"].as_u64().unwrap() > 3);
}

/// The page shows the rows of the document, the instructions of the selected line, and the source.
#[test]
fn the_page_shows_what_the_document_says() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let folder = Folder::new("page");
    let file = profiles("stochastic").join("4242_results.json");
    let object = object("stochastic");
    let source = fixture("corpus/src");
    let more = ["--object", object.to_str().unwrap()];
    let page = ["--source-dir", source.to_str().unwrap(), "--format", "html"];
    let ran = run(&file, &[&more[..], &page].concat());
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    browser.open(&folder.write("page.html", ran.out));
    let (document, _) = document(&file, &more);
    let rows = document["rows"].as_array().unwrap();
    let lines = browser.texts("#lines tbody td.text");
    let found: BTreeSet<&str> = lines.iter().map(String::as_str).collect();
    let expected: BTreeSet<&str> = rows.iter().map(|row| row["by"].as_str().unwrap()).collect();
    assert_eq!((found, lines.len()), (expected, rows.len()));
    assert_eq!(lines[0], rows[0]["by"].as_str().unwrap());
    // At first, the line with the most samples is selected.
    let counts = browser.texts("#source tr.code td:first-child");
    let sum: u64 = counts
        .iter()
        .map(|count| count.parse::<u64>().unwrap())
        .sum();
    assert_eq!(rows[0]["samples"], sum);
    let text = std::fs::read_to_string(source.join("inlined.cl")).unwrap();
    let number = usize::try_from(rows[0]["line"].as_u64().unwrap()).unwrap();
    let shown = browser.texts("#source tr.chosen td.text");
    assert_eq!(
        shown[0].trim(),
        text.lines().nth(number - 1).unwrap().trim()
    );
    // The lines are sorted by lanes, with the fewest first.
    browser.click("#lines th button", 2);
    let lanes = browser.texts("#lines tbody td:nth-child(3)");
    let lanes = lanes
        .iter()
        .map(|one| one.trim_end_matches(" %").parse::<f64>().unwrap());
    assert!(
        lanes.is_sorted(),
        "{:?}",
        browser.texts("#lines tbody td:nth-child(3)")
    );
    browser.click("#lines tbody tr", 1);
    let chosen = browser.texts("#lines tr.chosen td.text");
    let row = rows
        .iter()
        .find(|row| row["by"] == chosen[0].as_str())
        .unwrap();
    let counts = browser.texts("#source tr.code td:first-child");
    let sum: u64 = counts
        .iter()
        .map(|count| count.parse::<u64>().unwrap())
        .sum();
    assert_eq!(row["samples"], sum);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Text of a file is always text on the page, and never markup.
#[test]
fn nothing_of_a_file_is_obeyed() {
    let text = changed(|process| {
        for list in ["pc_sample_instructions", "pc_sample_comments"] {
            for text in process["strings"][list].as_array_mut().unwrap() {
                *text = json!("</script><script>document.title = 'x'</script>\u{1b}[2J:7");
            }
        }
    });
    let folder = Folder::new("obeyed");
    let file = folder.write("4242_results.json", text);
    for format in ["text", "json", "folded", "html"] {
        let ran = run(&file, &["--format", format, "--by", "line"]);
        assert_eq!(ran.status, 0, "{}", ran.err);
        assert!(!ran.out.contains('\u{1b}'), "{format}");
        assert!(
            format != "html" || !ran.out.contains("<script>document.title"),
            "{}",
            ran.out
        );
    }
}
