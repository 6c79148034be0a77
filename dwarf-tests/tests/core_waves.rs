//! Commands about a wave or code object of a core print the same as for the snapshot or object that the core was made from.

use dwarf_tests::cores::{Folder, truth};
use dwarf_tests::{Ran, fixture, hetdwarf, without_work_items};
use serde_json::{Value, json as value};

const CASES: [&str; 3] = ["gfx1100", "gfx1100-lds", "gfx90a"];
/// The arguments for the merged file, and for the halves in both orders.
const GIVEN: [&[&str]; 3] = [
    &["merged.core"],
    &["gpucore.4242", "core.4242"],
    &["core.4242", "gpucore.4242"],
];

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out)
        .unwrap_or_else(|error| panic!("{error}: {} {}", ran.out, ran.err))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// Runs a command with `--core` for each file.
fn of_core(folder: &Folder, command: &str, files: &[&str], more: &[&str]) -> Ran {
    let mut arguments = vec![command.to_owned()];
    for name in files {
        arguments.push("--core".to_owned());
        arguments.push(folder.path(name).display().to_string());
    }
    arguments.extend(more.iter().map(|&text| text.to_owned()));
    hetdwarf(arguments)
}

/// Runs a command on a wave's snapshot.
fn of_snapshot(wave: &Value, command: &[&str], more: &[&str]) -> Ran {
    let path = |name: &str| fixture(wave[name].as_str().unwrap()).display().to_string();
    let mut arguments: Vec<String> = command.iter().map(|&text| text.to_owned()).collect();
    arguments.extend([path("object"), "--wave".to_owned(), path("snapshot")]);
    arguments.extend(more.iter().map(|&text| text.to_owned()));
    hetdwarf(arguments)
}

/// Returns the status and the document, without facts from the dispatch, which differs in the snapshots.
fn answer(ran: &Ran) -> (u8, Value) {
    let mut document = document(ran);
    without_work_items(&mut document);
    (ran.status, document)
}

fn place(wave: &Value) -> String {
    let (group, packet) = (&wave["workgroup"], &wave["packet_id"]);
    let (queue, number) = (&wave["queue_id"], &wave["wave_in_group"]);
    let [x, y, z] = [0, 1, 2].map(|n| group[n].clone());
    format!("{queue}:{packet}:({x},{y},{z})/{number}")
}

#[test]
fn every_wave_answers_as_its_snapshot() {
    let (mut compared, mut skipped) = (0, 0);
    for case in CASES {
        let folder = Folder::of(case);
        for (index, wave) in (1..).zip(list(&truth(case)["waves"])) {
            let (number, place) = (index.to_string(), place(wave));
            let json = ["--format", "json"];
            let questions: [(&str, &[&str]); 4] = [
                ("vars", &["--frame", "all"]),
                ("vars", &["--strict"]),
                ("unwind", &[]),
                ("lane-pc", &[]),
            ];
            for (command, more) in questions {
                // A core has one version of global memory, and snapshots of one case have several.
                if command == "vars" && !list(&wave["global_memory_differs"]).is_empty() {
                    skipped += 1;
                    continue;
                }
                let more = [more, &json].concat();
                let expected = answer(&of_snapshot(wave, &[command], &more));
                for (files, chosen) in GIVEN.iter().zip([&number, &place, &number]) {
                    let more = [&more[..], &["--wave", chosen]].concat();
                    let ran = of_core(&folder, command, files, &more);
                    assert_eq!(ran.err, "", "{case} {command} {chosen}");
                    assert_eq!(
                        answer(&ran),
                        expected,
                        "{case} {command} {chosen} {files:?}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(
        compared > 300 && skipped < compared / 10,
        "{compared} {skipped}"
    );
}

#[test]
fn print_and_eval_take_their_wave_from_a_core() {
    let folder = Folder::of("gfx1100");
    let truth = truth("gfx1100");
    let json = ["--format", "json"];
    for (index, wave) in (1..).zip(list(&truth["waves"])) {
        let number = index.to_string();
        let asked = ["$exec", "$pc == 0", "no_such_name"];
        let more = [&asked[..], &json].concat();
        let expected = answer(&of_snapshot(wave, &["print"], &more));
        assert_eq!(expected.0, 1, "one of the expressions has no value");
        let more = [&more[..], &["--wave", &number]].concat();
        assert_eq!(
            answer(&of_core(&folder, "print", GIVEN[0], &more)),
            expected
        );
        // Without a choice, the command takes the first wave that faulted.
        for expression in ["regx v4, push_lane, lit4, mul, offset", "call_frame_cfa"] {
            let more = [
                "--expr", expression, "--lane", "all", "--read", "32", "--format", "json",
            ];
            let expected = answer(&of_snapshot(wave, &["eval", "--object"], &more));
            let more = [&more[..], &["--wave", &number]].concat();
            let found = answer(&of_core(&folder, "eval", GIVEN[1], &more));
            assert_eq!(found, expected, "{number} {expression}");
        }
    }
    for (command, more, text) in [
        ("print", &["--wave", "1"][..], "lane"),
        (
            "eval",
            &["--expr", "lit0", "--wave", "1000"],
            "no such wave",
        ),
        (
            "vars",
            &["--target", "gfx1100"],
            "--target works with OBJECT",
        ),
        ("vars", &["--wave", "none"], "the number of a wave"),
        (
            "unwind",
            &["--all-waves", "--wave", "1"],
            "cannot be used with",
        ),
    ] {
        let more = if command == "print" {
            &["1 +"][..]
        } else {
            more
        };
        let ran = of_core(&folder, command, GIVEN[0], more);
        assert_ne!(ran.status, 0, "{command}");
        let is_said = ran.err.contains(text) || command == "print";
        assert!(is_said, "{command}: {}", ran.err);
    }
}

/// The groups of `--all-waves` contain the same answers as queries about single waves.
#[test]
fn all_waves_are_asked_and_equal_answers_grouped() {
    let folder = Folder::of("gfx1100");
    let waves = list(&truth("gfx1100")["waves"]).len();
    for (command, format, asked) in [
        ("unwind", "hetdwarf-unwind/2", &["--registers"][..]),
        ("print", "hetdwarf-print/1", &["$exec", "$pc"]),
    ] {
        let all = [asked, &["--all-waves", "--format", "json"]].concat();
        let ran = of_core(&folder, command, GIVEN[0], &all);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""));
        let found = document(&ran);
        assert_eq!(found["format"], format);
        let groups = list(&found["groups"]);
        let mut seen: Vec<u64> = Vec::new();
        let mut answers: Vec<Value> = Vec::new();
        for group in groups {
            assert!(
                !answers.contains(&group["document"]),
                "an answer has one group"
            );
            answers.push(group["document"].clone());
            for wave in list(&group["waves"]) {
                let number = wave.to_string();
                let one = [asked, &["--wave", &number, "--format", "json"]].concat();
                let alone = answer(&of_core(&folder, command, GIVEN[0], &one)).1;
                assert_eq!(alone, group["document"], "{command} {number}");
                seen.push(wave.as_u64().unwrap());
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, (1..=waves as u64).collect::<Vec<_>>());
    }
    let ran = of_core(
        &folder,
        "unwind",
        GIVEN[0],
        &["--all-waves", "--format", "json"],
    );
    let found = document(&ran);
    let groups = list(&found["groups"]);
    assert!(groups.len() < waves, "stacks without registers are equal");
    assert_eq!(groups[0]["document"]["frames"][0]["registers"], value!({}));
    let text = of_core(&folder, "unwind", GIVEN[0], &["--all-waves"]).out;
    let titles = |line: &&str| line.starts_with("wave ") || line.contains(" waves: ");
    assert_eq!(text.lines().filter(titles).count(), groups.len(), "{text}");
    let text = of_core(&folder, "print", GIVEN[0], &["--all-waves", "$exec"]).out;
    assert!(
        text.starts_with("wave") || text.contains(" waves: "),
        "{text}"
    );
}

/// `info` and `dump` print the same for a core's code object as for the original file.
#[test]
fn info_and_dump_take_a_code_object_of_a_core() {
    let folder = Folder::of("gfx1100");
    let truth = truth("gfx1100");
    let objects = list(&truth["code_objects"]);
    let mut found = 0;
    for (index, object) in objects.iter().enumerate() {
        let Some(file) = object["object"].as_str() else {
            continue;
        };
        let (number, file) = (index.to_string(), fixture(file).display().to_string());
        for command in ["info", "dump"] {
            let expected = document(&hetdwarf([command, &file, "--format", "json"]));
            for files in GIVEN {
                let more = ["--code-object", &number, "--format", "json"];
                let ran = of_core(&folder, command, files, &more);
                assert_eq!(
                    (ran.status, ran.err.as_str()),
                    (0, ""),
                    "{command} {number}"
                );
                assert_eq!(document(&ran), expected, "{command} {number}");
                found += 1;
            }
        }
    }
    assert!(found >= 6, "{found}");
    let ran = of_core(&folder, "info", GIVEN[0], &["--code-object", "99"]);
    assert!(
        ran.status == 2 && ran.err.contains("--code-object 99: it has"),
        "{}",
        ran.err
    );
    assert_eq!(hetdwarf(["info", "--code-object", "0", "none"]).status, 2);
}

/// The files of `--export` give the same answers as the core, including work-items.
#[test]
fn exported_files_answer_as_the_core() {
    for (case, memory) in [
        ("gfx1100", "reached"),
        ("gfx1100", "all"),
        ("gfx1100-lds", "reached"),
        ("gfx90a", "reached"),
    ] {
        let folder = Folder::of(case);
        let exported = folder.path("exported").display().to_string();
        let merged = folder.path("merged.core").display().to_string();
        let ran = hetdwarf([
            "core", &merged, "--export", &exported, "--memory", memory, "--format", "json",
        ]);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{case}");
        let found = document(&ran);
        let waves = list(&found["waves"]);
        let written = std::fs::read_dir(folder.path("exported")).unwrap().count();
        assert_eq!(written, waves.len() + list(&found["code_objects"]).len());
        let mut values = 0;
        for wave in waves {
            let number = wave["index"].to_string();
            let object = format!("{exported}/object-{}.hsaco", wave["code_object"]);
            let snapshot = format!("{exported}/wave-{number}.json");
            for command in [
                &["vars", "--frame", "all"][..],
                &["vars", "--children", "2"],
                &["unwind"],
                &["lane-pc"],
            ] {
                let json = ["--format", "json"];
                let of_files = ["--wave", &snapshot, &object];
                let expected = [&command[1..], &["--wave", &number], &json].concat();
                let expected = of_core(&folder, command[0], GIVEN[0], &expected);
                let ran = hetdwarf([command, &of_files, &json].concat());
                assert_eq!(ran.err, "", "{case} {number} {command:?}");
                let what = format!("{case} {number} {command:?}");
                assert_eq!(document(&ran), document(&expected), "{what}");
                assert_eq!(ran.status, expected.status, "{what}");
                values += ran.out.matches("\"value\"").count();
            }
        }
        assert!(values > 1000, "{case}: {values}");
        let global = |snapshot: &Value| {
            let regions = list(&snapshot["memory"]).iter();
            let global = regions.filter(|region| region["space"] == "none");
            global
                .map(|region| region["bytes"].as_str().unwrap().len() / 2)
                .sum::<usize>()
        };
        let first = std::fs::read(folder.path("exported/wave-1.json")).unwrap();
        let bytes = global(&serde_json::from_slice(&first).unwrap());
        assert_eq!(
            bytes > 100_000,
            memory == "all",
            "{case} {memory}: {bytes} bytes"
        );
    }
    let folder = Folder::of("gfx1100");
    let merged = folder.path("merged.core").display().to_string();
    let ran = hetdwarf(["core", &merged, "--export", &format!("{merged}/none")]);
    assert_eq!(ran.status, 2, "{}", ran.out);
    assert_eq!(hetdwarf(["core", &merged, "--memory", "all"]).status, 2);
}

/// The document, the export and the page of one command share one budget: all three need more steps than any two.
#[test]
fn what_a_command_makes_of_a_core_has_one_budget() {
    let folder = Folder::of("gfx1100");
    let core = folder.path("merged.core").display().to_string();
    let (page, export) = (folder.path("page.html"), folder.path("export"));
    // Nothing is incomplete: the stacks of the waves, the export, and the details of the waves.
    let is_whole = |more: &[&str], work: u64| {
        let _ = std::fs::remove_file(&page);
        let _ = std::fs::remove_dir_all(&export);
        let limit = format!("work={work},work-per-byte=0");
        let arguments = [
            &["core", &core, "--limit", &limit, "--format", "json"][..],
            more,
        ]
        .concat();
        let ran = hetdwarf(arguments);
        let text = std::fs::read_to_string(&page).unwrap_or_default();
        let said = ran.out.contains("take too long") || ran.out.contains("not exported");
        ran.status == 0 && !said && !text.contains("\"cut\":\"work\"")
    };
    let needed = |more: &[&str]| {
        let (mut low, mut high) = (0, 1 << 22);
        assert!(is_whole(more, high), "{more:?}");
        while high - low > 1 {
            let middle = (low + high) / 2;
            if is_whole(more, middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    };
    let page = page.display().to_string();
    let export = export.display().to_string();
    let of_page = needed(&["--html", &page]);
    let of_export = needed(&["--export", &export]);
    let of_all = needed(&["--html", &page, "--export", &export]);
    println!("{of_page} {of_export} {of_all}");
    assert!(
        of_all > of_page.max(of_export),
        "{of_page} {of_export} {of_all}"
    );
}
