//! Compares the document of `hetdwarf core` with the known contents of the files, and tests its text and exit status.

use std::path::Path;

use dwarf_tests::cores::generation::Generation;
use dwarf_tests::cores::writer::CoreSpec;
use dwarf_tests::cores::{Folder, cases, truth};
use dwarf_tests::{Ran, fixture, hetdwarf, number, without_work_items};
use insta::assert_snapshot;
use serde_json::{Value, json as value};

/// The arguments that name the files of a case: merged, and the halves in both orders.
const GIVEN: [&[&str]; 3] = [
    &["merged.core"],
    &["gpucore.4242", "core.4242"],
    &["core.4242", "gpucore.4242"],
];

fn core(folder: &Folder, files: &[&str], more: &[&str]) -> Ran {
    let mut arguments = vec!["core".to_owned()];
    arguments.extend(
        files
            .iter()
            .map(|name| folder.path(name).display().to_string()),
    );
    arguments.extend(more.iter().map(|&text| text.to_owned()));
    hetdwarf(arguments)
}

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.err))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// Checks that two values in both documents are the same number, text or list.
fn same(found: &Value, truth: &Value, what: &str) {
    match (found, truth) {
        (Value::Array(found), Value::Array(truth)) => {
            assert_eq!(found.len(), truth.len(), "{what}");
            for (found, truth) in found.iter().zip(truth) {
                same(found, truth, what);
            }
        }
        (Value::String(_) | Value::Number(_), Value::String(_) | Value::Number(_))
            if found != truth =>
        {
            assert_eq!(number(found), number(truth), "{what}");
        }
        _ => assert_eq!(found, truth, "{what}"),
    }
}

/// Compares every field that both documents have.
fn same_fields(found: &Value, truth: &Value, what: &str) {
    let mut common = 0;
    for (name, value) in truth.as_object().unwrap() {
        if let Some(found) = found.get(name) {
            same(found, value, &format!("{what}: {name}"));
            common += 1;
        }
    }
    assert!(common > 1, "{what}: nothing in common");
}

fn same_lists(found: &Value, truth: &Value, name: &str) {
    let (found, truth) = (list(&found[name]), list(&truth[name]));
    assert_eq!(found.len(), truth.len(), "{name}");
    for (index, (found, truth)) in (1..).zip(found.iter().zip(truth)) {
        same_fields(found, truth, &format!("{name} {index}"));
        if name != "code_objects" {
            assert_eq!(found["index"], index);
        }
    }
}

/// Returns the truth with `stop` as a list, as in the document. `none` and `running` become empty lists.
fn with_stop_lists(truth: &Value) -> Value {
    let mut truth = truth.clone();
    for wave in truth["waves"].as_array_mut().unwrap() {
        wave["stop"] = match wave["stop"].as_str().unwrap() {
            "none" | "running" => value!([]),
            stop => value!([stop]),
        };
        // No wave of the case was halted at launch.
        assert_eq!(wave["halted_at_launch"], false);
    }
    truth
}

#[test]
fn the_document_is_what_was_put_into_the_files() {
    for case in ["gfx1100", "gfx1100-lds", "gfx90a"] {
        let folder = Folder::of(case);
        let truth = with_stop_lists(&truth(case));
        for files in GIVEN {
            let ran = core(&folder, files, &["--format", "json"]);
            eprintln!("{case} {files:?}");
            assert_eq!((ran.status, ran.err.as_str()), (0, ""));
            let document = document(&ran);
            assert_eq!(document["format"], "hetdwarf-core/1");
            assert_eq!(document["problems"], value!([]));
            let note = &document["note"];
            same_fields(note, &truth["note"], "note");
            assert_eq!(note["interface"], truth["note"]["r_version"]);
            assert_eq!(note["runtime_state"], 1);
            for name in ["agents", "queues", "dispatches", "code_objects", "waves"] {
                same_lists(&document, &truth, name);
            }
            for object in list(&document["code_objects"]) {
                assert_eq!(object["found"], true);
            }
            check_places(&document, &truth);
        }
    }
}

/// Compares the position and stack of each wave with `unwind` on its snapshot.
fn check_places(document: &Value, truth: &Value) {
    let groups = list(&document["groups"]);
    let mut in_groups = 0;
    for (wave, truth) in list(&document["waves"]).iter().zip(list(&truth["waves"])) {
        let object = fixture(truth["object"].as_str().unwrap());
        let snapshot = fixture(truth["snapshot"].as_str().unwrap());
        let unwound = unwind(&object, &snapshot);
        let frames = list(&unwound["frames"]);
        for field in ["function", "file", "line"] {
            assert_eq!(
                wave[field], frames[0][field],
                "wave {} {field}",
                wave["index"]
            );
        }
        assert_eq!(wave["code_object"], 0);
        assert_eq!(wave["kernel"], "k");
        let stack: Vec<String> = frames.iter().map(frame_text).collect();
        let own: Vec<&Value> = groups
            .iter()
            .filter(|group| list(&group["waves"]).contains(&wave["index"]))
            .collect();
        assert_eq!(own.len(), 1, "wave {}", wave["index"]);
        assert_eq!(own[0]["stack"], value!(stack));
        assert_eq!(own[0]["state"], wave["state"]);
        in_groups += 1;
    }
    let count: usize = groups.iter().map(|group| list(&group["waves"]).len()).sum();
    assert_eq!(count, in_groups);
}

fn unwind(object: &Path, snapshot: &Path) -> Value {
    let ran = hetdwarf([
        "unwind".as_ref(),
        object.as_os_str(),
        "--wave".as_ref(),
        snapshot.as_os_str(),
        "--format".as_ref(),
        "json".as_ref(),
    ]);
    document(&ran)
}

/// Formats a frame of `unwind` like a line of a core's stacks.
fn frame_text(frame: &Value) -> String {
    let file = frame["file"].as_str().unwrap().rsplit('/').next().unwrap();
    let inlined = match frame["kind"].as_str().unwrap() {
        "inlined" => " (inlined)",
        _ => "",
    };
    let function = frame["function"].as_str().unwrap();
    format!("{function}{inlined} at {file}:{}", frame["line"])
}

#[test]
fn damaged_files_end_as_the_truth_expects() {
    for case in cases() {
        let folder = Folder::of(&case);
        let truth = truth(&case);
        let ran = core(&folder, &["merged.core"], &["--format", "json"]);
        let expect = &truth["expect"];
        let status = match expect["result"].as_str().unwrap() {
            "ok" => 0,
            "partial" => 1,
            "error" => 2,
            other => panic!("{other}"),
        };
        assert_eq!(ran.status, status, "{case}");
        if status == 2 {
            assert_eq!(ran.out, "");
            assert!(ran.err.contains("version 2"), "{}", ran.err);
            continue;
        }
        let document = document(&ran);
        let problems = list(&document["problems"]);
        assert_eq!(problems.is_empty(), status == 0);
        for problem in problems {
            let has_place = !problem["where"].as_str().unwrap().is_empty();
            assert!(has_place && problem["message"].is_string(), "{problem}");
        }
        same_lists(&document, &truth, "agents");
        if case == "bad-file-cut" {
            assert_eq!(document["code_objects"][0]["found"], false);
            continue;
        }
        for failing in expect["queues_failing"].as_array().unwrap_or(&vec![]) {
            let place = format!("queue {failing}");
            assert!(problems.iter().any(|problem| problem["where"] == *place));
        }
        if case == "bad-save-area-missing" {
            assert_eq!(document["waves"], value!([]));
            continue;
        }
        let mut truth = with_stop_lists(&truth);
        if case == "bad-packet-out" {
            for wave in truth["waves"].as_array_mut().unwrap() {
                wave["packet_id"] = Value::Null;
            }
        }
        same_lists(&document, &truth, "waves");
        same_lists(&document, &truth, "dispatches");
    }
}

/// With two files, the problem names the file that contains the bytes.
#[test]
fn problems_name_the_file_of_their_offset() {
    let folder = Folder::of("bad-link-cycle");
    for (files, file) in [(GIVEN[1], 1), (GIVEN[2], 0)] {
        let found = document(&core(&folder, files, &["--format", "json"]));
        assert_eq!(found["problems"][0]["file"], file);
        assert_eq!(found["problems"][0]["where"], "code objects");
    }
    let found = document(&core(&folder, GIVEN[0], &["--format", "json"]));
    assert_eq!(found["problems"][0].get("file"), None);
}

/// Wave 5 is `w04` of `calls`, whose truth gives `mid` the lanes of 0x7ffffff: lanes 27 to 31 did not enter it. Its store at 0x1c1c is not in a section of
/// other lanes.
#[test]
fn lanes_that_did_not_enter_a_function_are_not_at_fault() {
    let folder = Folder::of("bad-link-cycle");
    let found = document(&core(&folder, GIVEN[0], &["--format", "json"]));
    let candidates = list(&found["waves"][4]["fault"]["candidates"]);
    assert!(!candidates.is_empty());
    for candidate in candidates {
        if candidate["pc"] == "0x7f4000001c1c" {
            let lanes = list(&candidate["lanes"]).iter();
            let outside = lanes.filter(|lane| lane["lane"].as_u64() > Some(26));
            assert_eq!(outside.count(), 0, "{candidate}");
        }
    }
}

#[test]
fn what_cannot_be_opened_is_an_error() {
    let folder = Folder::of("gfx1100");
    std::fs::write(folder.path("text"), "no core").unwrap();
    for (files, text) in [
        (&["core.4242"][..], "gpucore.PID"),
        (&["text"], "not an ELF file"),
        (&["none"], "No such file"),
        (&["core.4242"; 3], "gpucore.PID"),
    ] {
        let ran = core(&folder, files, &[]);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{files:?}");
        assert!(ran.err.contains(text), "{}", ran.err);
    }
    assert_eq!(core(&folder, &[], &[]).status, 2);
    // The second file counts as another process.
    let ran = core(&folder, &["merged.core", "text"], &[]);
    assert_eq!(ran.status, 2);
    assert!(ran.out.contains("1 file could not be read"), "{}", ran.out);
    assert!(ran.err.contains("not an ELF file"), "{}", ran.err);
    // The GPU's half alone: agents and queues, and a message about the missing half.
    let ran = core(&folder, &["gpucore.4242"], &["--format", "json"]);
    assert_eq!(ran.status, 1);
    let found = document(&ran);
    assert_eq!(
        (list(&found["agents"]).len(), list(&found["queues"]).len()),
        (2, 6)
    );
    assert!(ran.out.contains("give the host file (core.PID) too"));
}

#[test]
fn waves_are_grouped_as_asked() {
    let folder = Folder::of("gfx1100");
    let groups = |by: &str| {
        let ran = core(&folder, GIVEN[0], &["--format", "json", "--group-by", by]);
        document(&ran)["groups"].clone()
    };
    let count = |by| list(&groups(by)).len();
    assert_eq!((count("none"), count("kernel")), (18, 2));
    assert!(count("line") <= count("stack"));
    // Stopped waves come first: 13 stopped, and 5 were running.
    let kernel = groups("kernel");
    let of = |n: usize| (kernel[n]["state"].clone(), list(&kernel[n]["waves"]).len());
    assert_eq!(
        (of(0), of(1)),
        ((value!("stopped"), 13), (value!("running"), 5))
    );
    assert_eq!(kernel[0]["stack"], value!([]));
}

/// Adds a core whose code object is in a file. The core has only the loaded code.
fn with_file_object(folder: &Folder, uri: &str) {
    let object = std::fs::read(fixture("waves/calls/calls.rocm.hsaco")).unwrap();
    let mut spec = CoreSpec::new(Generation::Gfx11, 110_000);
    spec.objects = vec![(0x7f40_0000_0000, uri.to_owned())];
    // These are the bytes that the loader copies, according to the program headers.
    let u64_at = |at: usize| u64::from_le_bytes(object[at..at + 8].try_into().unwrap());
    let headers = usize::from(u16::from_le_bytes(object[56..58].try_into().unwrap()));
    for header in (0..headers).map(|n| 64 + n * 56) {
        if object[header] == 1 {
            let (offset, size) = (u64_at(header + 8) as usize, u64_at(header + 32) as usize);
            let bytes = object[offset..offset + size].to_vec();
            spec.memory
                .push((0x7f40_0000_0000 + u64_at(header + 16), bytes, true));
        }
    }
    std::fs::write(folder.path("merged.core"), spec.build().merged()).unwrap();
}

/// A stripped copy of a code object that the core has with debugging information would only take answers away.
#[test]
fn a_stripped_copy_replaces_nothing() {
    let folder = Folder::of("gfx1100");
    let mut stripped = std::fs::read(fixture("waves/calls/calls.rocm.hsaco")).unwrap();
    // Without `e_shoff`, `e_shnum` and `e_shstrndx`, the file has no sections.
    stripped[0x28..0x30].fill(0);
    stripped[0x3c..0x40].fill(0);
    std::fs::write(folder.path("stripped.hsaco"), stripped).unwrap();
    // There is no code to compare, so the file is given with its address.
    let object = format!("{}@0x7f4000000000", folder.path("stripped.hsaco").display());
    let whole = document(&core(&folder, GIVEN[0], &["--format", "json"]));
    let found = document(&core(
        &folder,
        GIVEN[0],
        &["--format", "json", "--object", &object],
    ));
    assert_eq!(found["verdict"], whole["verdict"]);
    let message = found["problems"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("not used: it is stripped"), "{message}");
}

/// Only files that the user names are opened, regardless of the core.
#[test]
fn code_objects_in_files_are_opened_only_where_asked() {
    let folder = Folder::new();
    let original = fixture("waves/calls/calls.rocm.hsaco");
    with_file_object(&folder, &format!("file://{}", original.display()));
    let run = |more: &[&str]| {
        let more: Vec<&str> = more.iter().copied().chain(["--format", "json"]).collect();
        core(&folder, GIVEN[0], &more)
    };
    let ran = run(&[]);
    assert_eq!(ran.status, 1);
    let found = document(&ran);
    assert_eq!(
        (
            &found["code_objects"][0]["found"],
            &found["code_objects"][0]["target"]
        ),
        (&value!(false), &Value::Null)
    );
    assert!(
        found["problems"][0]["message"]
            .as_str()
            .unwrap()
            .contains("--object-path")
    );

    let calls = fixture("waves/calls").display().to_string();
    let object = original.display().to_string();
    let (at_load, elsewhere) = (
        format!("{object}@0x7f4000000000"),
        format!("{object}@0x7f5000000000"),
    );
    for more in [
        ["--object-path", &calls],
        ["--object", &object],
        ["--object", &at_load],
    ] {
        let ran = run(&more);
        let found = document(&ran);
        assert_eq!(
            (ran.status, &found["problems"]),
            (0, &value!([])),
            "{more:?}"
        );
        assert_eq!(
            (
                &found["code_objects"][0]["found"],
                &found["code_objects"][0]["target"]
            ),
            (&value!(true), &value!("gfx1100"))
        );
    }
    // Adds a code object at an address that the core does not contain.
    let found = document(&run(&["--object", &elsewhere]));
    assert_eq!(list(&found["code_objects"]).len(), 2);
    assert_eq!(found["code_objects"][1]["load_address"], "0x7f5000000000");

    // A file that does not fit is not used: it has another program, processor or address.
    let lds = fixture("waves/lds/lds.rocm.hsaco").display().to_string();
    let wave64 = fixture("waves/loops-gfx90a/loops-gfx90a.rocm.hsaco")
        .display()
        .to_string();
    let source = fixture("waves/calls/calls.cl").display().to_string();
    let moved = format!("{object}@0x7f4000000100");
    for (object, text) in [
        (&lds, "differs"),
        (&wave64, "no GPU"),
        (&source, "no code object"),
        (&moved, "differs"),
    ] {
        let ran = run(&["--object", object]);
        assert_eq!(ran.status, 1, "{object}");
        let found = document(&ran);
        assert_eq!(found["code_objects"][0]["found"], false);
        assert!(ran.out.contains(text), "{object}: {}", found["problems"]);
    }
    let ran = run(&["--object-path", &lds]);
    assert_eq!(ran.status, 2, "a file is no folder");
    let folder_without = fixture("waves/lds").display().to_string();
    assert_eq!(
        document(&run(&["--object-path", &folder_without]))["code_objects"][0]["found"],
        false
    );
}

/// Files that are too deep in a folder are reported, if a code object is missing.
#[test]
fn what_is_not_looked_at_in_a_folder_is_said() {
    let folder = Folder::new();
    let original = fixture("waves/calls/calls.rocm.hsaco");
    with_file_object(&folder, &format!("file://{}", original.display()));
    let search = folder.path("search");
    let search = search.to_str().unwrap().to_owned();
    let problems = |depth: usize, more: &[&str]| {
        let deep = Path::new(&search).join("d/".repeat(depth));
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::copy(&original, deep.join("object.hsaco")).unwrap();
        let given = [&["--object-path", &search, "--format", "json"], more].concat();
        let found = document(&core(&folder, GIVEN[0], &given));
        std::fs::remove_dir_all(&search).unwrap();
        list(&found["problems"]).to_vec()
    };
    assert_eq!(problems(32, &[]), Vec::<Value>::new());
    let found = problems(33, &[]);
    assert_eq!(found.len(), 2, "{found:?}");
    let said = found.iter().find(|problem| {
        let place = problem["where"].as_str().unwrap();
        let message = problem["message"].as_str().unwrap();
        place.starts_with("--object-path ") && message.ends_with("32 directories deep")
    });
    assert!(said.is_some(), "{found:?}");
    let beside = original.parent().unwrap().display().to_string();
    let found = problems(33, &["--object-path", &beside]);
    assert_eq!(found, Vec::<Value>::new());
}

/// Source lines come only from named folders.
#[test]
fn the_text_shows_what_faulted_first() {
    let folder = Folder::of("gfx1100");
    let with_source = fixture("waves/calls").display().to_string();
    let ran = core(&folder, GIVEN[0], &["--source-dir", &with_source]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert_snapshot!("core", ran.out);
    let plain = core(&folder, GIVEN[0], &[]).out;
    assert!(ran.out.contains("NI int mid(") && !plain.contains("NI int mid("));
    let all = core(&folder, GIVEN[0], &["--all"]).out;
    // All but two of the 13 stopped waves are shown in full, and each wave has a line.
    assert_eq!(all.matches("\nwave ").count() - 1, 11);
    let queues = core(&folder, GIVEN[0], &["--queues"]).out;
    assert!(
        queues.starts_with("\nQueues\n") && !queues.contains("GPUs") && !queues.contains("wave 1")
    );
    let dispatches = core(&folder, GIVEN[0], &["--dispatches", "--agents"]).out;
    assert!(dispatches.contains("GPUs") && dispatches.contains("0x7f4000000940"));
    let damaged = Folder::of("bad-packet-out");
    let ran = core(&damaged, GIVEN[0], &[]);
    assert_eq!(ran.status, 1);
    assert_snapshot!("core-damaged", ran.out);
}

/// The waves of a core equal the fixtures, and the document is valid by its schema.
#[test]
fn the_document_has_the_fields_of_the_contract() {
    let folder = Folder::of("gfx90a");
    let found = document(&core(&folder, GIVEN[0], &["--format", "json"]));
    let contract = value!({
        "note": ["version", "kfd", "r_debug", "runtime_state", "interface"],
        "agents": ["index", "gpu_id", "target", "xcc"],
        "queues": ["index", "queue_id", "gpu_id", "type", "waves", "read_id", "write_id"],
        "dispatches": ["index", "queue_id", "packet_id", "kernel", "grid_size", "workgroup_size"],
        "code_objects": ["load_address", "uri", "target", "found"],
        "waves": ["index", "gpu_id", "queue_id", "xcc", "packet_id", "workgroup", "wave_in_group", "lanes", "pc",
                  "exec", "state", "stop", "code_object", "function", "file", "line"],
        "groups": ["waves", "stack", "state"],
    });
    for (part, fields) in contract.as_object().unwrap() {
        let first = found[part].get(0).unwrap_or(&found[part]);
        for field in list(fields) {
            assert!(
                first.get(field.as_str().unwrap()).is_some(),
                "{part}: {field}"
            );
        }
    }
}

/// A GPU full of waves has as few groups as a core with one wave at each place, and each wave has its position.
#[test]
fn thousands_of_waves_are_a_few_groups() {
    let folder = Folder::of("gfx1100");
    let one = document(&core(&folder, GIVEN[0], &["--format", "json"]));
    let many = dwarf_tests::cores::many::built(3600);
    std::fs::write(folder.path("many.core"), many.merged()).unwrap();
    let ran = core(&folder, &["many.core"], &["--format", "json"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    let found = document(&ran);
    assert_eq!(list(&found["waves"]).len(), 3600);
    for (n, wave) in list(&found["waves"]).iter().enumerate() {
        assert_eq!(wave["workgroup"], value!([n, 0, 0]));
        let original = &one["waves"][n % 18];
        for field in [
            "pc",
            "exec",
            "state",
            "stop",
            "function",
            "file",
            "line",
            "packet_id",
        ] {
            assert_eq!(wave[field], original[field], "wave {n} {field}");
        }
    }
    let (groups, expected) = (list(&found["groups"]), list(&one["groups"]));
    assert_eq!(groups.len(), expected.len());
    for group in groups {
        let waves = list(&group["waves"]);
        let first = waves[0].as_u64().unwrap();
        let same = expected
            .iter()
            .find(|group| list(&group["waves"]).contains(&value!(first)));
        assert_eq!(group["stack"], same.unwrap()["stack"]);
        assert_eq!(waves.len() % 200, 0);
    }
    let text = core(&folder, &["many.core"], &[]).out;
    assert!(text.contains("(199 more so: waves"), "{text}");
    assert!(text.lines().count() < 200);
}

/// `unwind` prints the same for a core's wave as for its snapshot, regardless of how the files and the wave are chosen.
#[test]
fn unwind_takes_its_wave_from_a_core() {
    for case in ["gfx1100", "gfx1100-lds", "gfx90a"] {
        let folder = Folder::of(case);
        let file = |name: &str| folder.path(name).display().to_string();
        let merged = vec!["--core".to_owned(), file("merged.core")];
        let halves = [("--core", "gpucore.4242"), ("--core", "core.4242")]
            .iter()
            .flat_map(|(option, name)| [(*option).to_owned(), file(name)])
            .collect();
        let unwound = |files: &Vec<String>, more: &[&str]| {
            let more = more.iter().map(|&text| text.to_owned());
            let start = ["unwind".to_owned()];
            hetdwarf(start.into_iter().chain(files.iter().cloned()).chain(more))
        };
        let truth = truth(case);
        for (index, wave) in (1..).zip(list(&truth["waves"])) {
            let path = |name: &str| fixture(wave[name].as_str().unwrap());
            // The snapshots have another dispatch than the cores that were made from them.
            let stack = |mut document: Value| {
                without_work_items(&mut document);
                document
            };
            let expected = stack(unwind(&path("object"), &path("snapshot")));
            let number = index.to_string();
            let group = &wave["workgroup"];
            let place = format!(
                "{}:{}:({},{},{})/{}",
                wave["queue_id"],
                wave["packet_id"],
                group[0],
                group[1],
                group[2],
                wave["wave_in_group"]
            );
            for (files, chosen) in [(&merged, &number), (&halves, &place)] {
                let ran = unwound(files, &["--wave", chosen, "--format", "json"]);
                assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{case} {chosen}");
                assert_eq!(stack(document(&ran)), expected, "{case} {chosen}");
            }
            if index == 1 {
                let ran = unwound(&merged, &["--format", "json"]);
                assert_eq!(stack(document(&ran)), expected, "the first that faulted");
            }
        }
        for (more, text) in [
            (&["--wave", "1000"][..], "no such wave"),
            (&["--wave", "first"], "the number of a wave"),
            (&["--object", "/none"], "/none"),
        ] {
            let ran = unwound(&merged, more);
            assert_eq!((ran.status, ran.out.as_str()), (2, ""));
            assert!(ran.err.contains(text), "{}", ran.err);
        }
        assert_eq!(unwound(&Vec::new(), &["--wave", "1"]).status, 2);
        let both = vec![
            file("merged.core"),
            "--object".to_owned(),
            file("core.4242"),
        ];
        let ran = unwound(&both, &["--wave", "1"]);
        assert!(ran.status == 2 && ran.err.contains("are for code objects of a --core"));
    }
}
