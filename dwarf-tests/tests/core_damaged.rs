//! Runs every command on core files with one error. Answers about the intact parts do not change, and the damaged part is reported.

use dwarf_tests::cores::{Folder, truth};
use dwarf_tests::{Ran, fixture, hetdwarf, number, variables, without_work_items};
use serde_json::Value;

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// Runs a command on the merged core of a case.
fn of_core(folder: &Folder, command: &str, more: &[&str]) -> Ran {
    let core = folder.path("merged.core").display().to_string();
    let start: &[&str] = match command {
        "core" => &["core", &core],
        command => &[command, "--core", &core],
    };
    hetdwarf(start.iter().chain(more).map(|&text| text.to_owned()))
}

/// Runs the same command on the snapshot that a wave was made from.
fn of_snapshot(wave: &Value, command: &str, more: &[&str]) -> Value {
    let path = |name: &str| fixture(wave[name].as_str().unwrap()).display().to_string();
    let (object, snapshot) = (path("object"), path("snapshot"));
    let start = [command, &object, "--wave", &snapshot, "--format", "json"];
    answer(&hetdwarf(
        start.iter().chain(more).map(|&text| text.to_owned()),
    ))
}

fn of_wave(folder: &Folder, command: &str, number: usize, more: &[&str]) -> Value {
    let number = number.to_string();
    let more = [&["--wave", &number, "--format", "json"], more].concat();
    answer(&of_core(folder, command, &more))
}

/// Returns a document without facts from the dispatch, which differs in the core of a case.
fn answer(ran: &Ran) -> Value {
    let mut document: Value =
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.err));
    without_work_items(&mut document);
    document
}

/// Returns true if the snapshot saw the same global memory.
fn has_same_memory(wave: &Value) -> bool {
    list(&wave["global_memory_differs"]).is_empty()
}

/// Every command that queries a wave, with its other arguments.
const QUESTIONS: [(&str, &[&str]); 8] = [
    ("vars", &[]),
    ("vars", &["--frame", "all"]),
    ("unwind", &[]),
    ("unwind", &["--all-waves"]),
    ("lane-pc", &[]),
    ("print", &["$pc"]),
    ("print", &["$pc", "--all-waves"]),
    ("eval", &["--expr", "lit1"]),
];

#[test]
fn a_circle_of_code_objects_costs_no_answer() {
    whole_answers("bad-link-cycle");
}

#[test]
fn an_unknown_dispatch_costs_work_items_only() {
    whole_answers("bad-packet-out");
}

/// Stacks, variables and lane positions are the same as for the snapshots.
fn whole_answers(case: &str) {
    let folder = Folder::of(case);
    let mut compared = 0;
    for (number, wave) in (1..).zip(list(&truth(case)["waves"])) {
        let unwound = of_wave(&folder, "unwind", number, &[]);
        assert_eq!(unwound, of_snapshot(wave, "unwind", &[]), "{case} {number}");
        if has_same_memory(wave) {
            let more = ["--frame", "all"];
            let expected = of_snapshot(wave, "vars", &more);
            assert_eq!(of_wave(&folder, "vars", number, &more), expected);
            compared += 1;
        }
        let places = |document: &Value| {
            let lanes = list(&document["lanes"]).iter();
            lanes.map(|lane| lane["pc"].clone()).collect::<Vec<_>>()
        };
        let found = of_wave(&folder, "lane-pc", number, &[]);
        assert_eq!(places(&found), places(&of_snapshot(wave, "lane-pc", &[])));
    }
    assert!(compared > 2);
    for (command, more) in QUESTIONS {
        let ran = of_core(&folder, command, more);
        assert_eq!(
            (ran.status, ran.err.as_str()),
            (0, ""),
            "{command} {more:?}"
        );
    }
}

/// Without scratch, a variable keeps its value or is not available. It never gets another value.
#[test]
fn lost_scratch_costs_what_was_in_it() {
    let case = "bad-scratch-missing";
    let folder = Folder::of(case);
    let (mut known, mut lost) = (0, 0);
    for (number, wave) in (1..).zip(list(&truth(case)["waves"])) {
        let (found, expected) = (
            of_wave(&folder, "unwind", number, &[]),
            of_snapshot(wave, "unwind", &[]),
        );
        let (found, expected) = (&found["frames"][0], &expected["frames"][0]);
        for field in ["pc", "function", "file", "line"] {
            assert_eq!(found[field], expected[field], "{number} {field}");
        }
        if !has_same_memory(wave) {
            continue;
        }
        let (found, expected) = (
            of_wave(&folder, "vars", number, &[]),
            of_snapshot(wave, "vars", &[]),
        );
        let (found, expected) = (variables(&found), variables(&expected));
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found["name"], expected["name"]);
            for (found, expected) in list(&found["lanes"]).iter().zip(list(&expected["lanes"])) {
                match found["state"].as_str().unwrap() {
                    "unavailable" => lost += 1,
                    _ => {
                        assert_eq!(found, expected);
                        known += 1;
                    }
                }
            }
        }
    }
    assert!(lost > 100 && known > 0, "{known} are known, {lost} are not");
    let ran = of_core(&folder, "core", &["--format", "json"]);
    assert!(ran.out.contains("scratch"), "{}", ran.out);
}

/// A wave may access the scratch that it was given, whether the file has it or not.
#[test]
fn no_wave_faulted_in_scratch_that_the_file_lacks() {
    let case = "bad-scratch-missing";
    let ran = of_core(&Folder::of(case), "core", &["--format", "json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let truth = truth(case);
    let mut faulted = 0;
    for (found, expected) in list(&document["waves"]).iter().zip(list(&truth["waves"])) {
        let of = |field: &str| number(&expected["scratch"][field]);
        let scratch = of("address")..of("address") + of("size");
        faulted += usize::from(found["fault"].is_object());
        let candidates = found["fault"]["candidates"].as_array();
        for candidate in candidates.into_iter().flatten() {
            for lane in list(&candidate["lanes"]) {
                assert!(!scratch.contains(&number(&lane["address"])), "{candidate}");
            }
        }
    }
    assert_eq!(faulted, 2);
}

/// A file without readable waves can be opened, and the first sentence has the reason. A query about a wave fails with the same sentence.
#[test]
fn a_core_without_waves_says_so() {
    let missing = "queue 1: the save area at 0x7fb100000000 is not in the file";
    for (case, reason) in [
        ("bad-save-area-missing", missing),
        ("bad-file-cut", "the file ends early: "),
    ] {
        let folder = Folder::of(case);
        let expected = format!("no wave could be read: {reason}");
        for (command, more) in QUESTIONS {
            let ran = of_core(&folder, command, more);
            assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{case} {command}");
            let said = ran.err.contains(&expected) && ran.err.contains("; see hetdwarf core");
            assert!(said, "{case} {command}: {}", ran.err);
        }
        let ran = of_core(&folder, "core", &[]);
        assert_eq!(ran.status, 1);
        assert!(ran.out.contains(missing), "{}", ran.out);
        let words = ran.out.split_whitespace().collect::<Vec<&str>>().join(" ");
        assert!(words.starts_with(&expected), "{}", ran.out);
        assert!(!ran.out.contains("\n\n\n"), "{}", ran.out);
        let page = folder.path("page.html").display().to_string();
        let ran = of_core(&folder, "core", &["--format", "json", "--html", &page]);
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(document["verdict"]["kind"], "none");
        let text = document["verdict"]["text"].as_str().unwrap();
        assert!(text.starts_with(&expected), "{text}");
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains(&expected));
    }
}

/// The halves of two processes fit each other nowhere. That is no core without waves.
#[test]
fn halves_of_two_processes_have_no_readable_wave() {
    let (one, other) = (Folder::of("gfx1100"), Folder::of("gfx90a"));
    let gpu = one.path("gpucore.4242").display().to_string();
    let host = other.path("core.4242").display().to_string();
    let ran = hetdwarf(["core", &gpu, &host]);
    let words = ran.out.split_whitespace().collect::<Vec<&str>>().join(" ");
    let expected = "no wave could be read: queue 1: the header of the save area is damaged: it refers to bytes beyond the end of the save area";
    assert!(words.starts_with(expected), "{}", ran.out);
}

/// Commands that do not query a wave work if the code object exists. A page and exported files can be made from any core.
#[test]
fn code_objects_pages_and_exports_come_from_damaged_cores_too() {
    for (case, has_object, waves) in [
        ("bad-link-cycle", true, 6),
        ("bad-packet-out", true, 6),
        ("bad-scratch-missing", true, 6),
        ("bad-save-area-missing", true, 0),
        ("bad-file-cut", false, 0),
    ] {
        let folder = Folder::of(case);
        let object = fixture("waves/calls/calls.rocm.hsaco");
        for command in ["info", "dump"] {
            let ran = of_core(&folder, command, &[]);
            if has_object {
                assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{case} {command}");
            } else {
                assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{case} {command}");
                assert!(ran.err.contains("--object-path"), "{}", ran.err);
            }
        }
        let path = |name: &str| folder.path(name).display().to_string();
        let (page, export) = (path("page.html"), path("export"));
        let ran = of_core(&folder, "core", &["--html", &page, "--export", &export]);
        assert_eq!((ran.status, ran.err.as_str()), (1, ""), "{case}");
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.ends_with("</html>\n"));
        assert_eq!(page.matches("id=\"wave-").count(), waves, "{case}");
        let files = std::fs::read_dir(&export).unwrap().count();
        assert_eq!(files, waves + usize::from(has_object), "{case}");
        if has_object {
            let exported = std::fs::read(folder.path("export/object-0.hsaco")).unwrap();
            assert!(exported == std::fs::read(object).unwrap());
        }
    }
}

#[test]
fn another_version_of_the_note_is_named_by_every_command() {
    let folder = Folder::of("bad-note-version");
    let others: [(&str, &[&str]); 4] = [
        ("core", &[]),
        ("core", &["--html", "/none/page.html"]),
        ("info", &[]),
        ("dump", &[]),
    ];
    for (command, more) in QUESTIONS.into_iter().chain(others) {
        let ran = of_core(&folder, command, more);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{command}");
        assert!(
            ran.err.contains("unknown version 2"),
            "{command}: {}",
            ran.err
        );
    }
}
