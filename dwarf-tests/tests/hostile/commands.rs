//! Runs the commands on files that exceed a limit. The results so far are printed and marked as incomplete, and the status is 2.

use std::ffi::OsStr;
use std::path::PathBuf;

use dwarf_tests::{Ran, variables};
use serde_json::Value;

use super::crafted::debug_frame;
use super::elf::{code_object, uleb};
use super::growth;

/// A folder for one test, with a file and a wave that stopped in it.
pub struct Case {
    folder: PathBuf,
}

impl Case {
    pub fn new(name: &str, file: &[u8]) -> Case {
        let name = name.replace([' ', ',', '^'], "-");
        let folder = format!("hetdwarf-commands-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("object.hsaco"), file).unwrap();
        let memory = "00".repeat(4096);
        let snapshot = format!(
            r#"{{"format": "hetdwarf-wave/1", "target": "gfx90a", "wave_size": 64, "pc": "0x1010", "registers": {{"exec": "0xff"}},
                "memory": [{{"space": "none", "address": "0x0", "bytes": "{memory}"}}]}}"#
        );
        std::fs::write(folder.join("wave.json"), snapshot).unwrap();
        Case { folder }
    }

    /// Runs a command, whose first word is its name, with limits.
    pub fn run(&self, command: &str, limits: &[(&str, u64)]) -> Ran {
        let mut words = command.split(' ');
        let name = words.next().unwrap();
        let mut arguments = vec![
            name.into(),
            self.folder.join("object.hsaco").into_os_string(),
        ];
        if ["vars", "print", "unwind", "lane-pc"].contains(&name) {
            arguments.push("--wave".into());
            arguments.push(self.folder.join("wave.json").into_os_string());
        }
        arguments.extend(words.map(|word| OsStr::new(word).to_owned()));
        for (name, value) in limits {
            arguments.push("--limit".into());
            arguments.push(format!("{name}={value}").into());
        }
        dwarf_tests::hetdwarf(arguments)
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).unwrap();
    }
}

const NO_RATE: [(&str, u64); 2] = [("work-per-byte", 0), ("memory-per-byte", 0)];

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out)
        .unwrap_or_else(|error| panic!("{error}: {} {}", ran.out, ran.err))
}

/// Returns the document without limits, and the document with too few steps to be complete.
fn whole_and_part(case: &Case, command: &str, work: u64) -> (Value, Value) {
    let json = format!("{command} --format json");
    let whole = case.run(&json, &[]);
    assert!(
        whole.status < 2,
        "{command}: {} {}",
        whole.status,
        whole.err
    );
    let whole = document(&whole);
    assert!(whole.get("complete").is_none(), "{command}");
    let limits = [&[("work", work)][..], &NO_RATE].concat();
    let part = case.run(&json, &limits);
    assert_eq!(part.status, 2, "{command}: {}", part.err);
    let text = case.run(command, &limits);
    assert_eq!(text.status, 2, "{command}");
    let limit = format!("the limit `work` of {work} was reached");
    let said = format!("not complete: {limit}");
    assert!(
        text.out.contains(&said),
        "{command}: {} {}",
        text.out,
        text.err
    );
    let part = document(&part);
    assert_eq!(part["complete"], false, "{command}");
    assert_eq!(part["limit"], limit.as_str(), "{command}");
    (whole, part)
}

#[test]
fn variables_before_a_limit_are_printed() {
    let case = Case::new("variables", &growth::many_variables(400));
    for command in ["vars", "vars --frame all"] {
        let (whole, part) = whole_and_part(&case, command, 30_000);
        let (whole, part) = (variables(&whole), variables(&part));
        assert_eq!(whole.len(), 400, "{command}");
        assert!((1..400).contains(&part.len()), "{command}: {}", part.len());
        // The first results are the same as without a limit.
        assert_eq!(whole[0], part[0], "{command}");
    }
}

#[test]
fn expressions_before_a_limit_are_printed() {
    let case = Case::new("expressions", &growth::many_variables(400));
    let errors = |document: &Value| {
        let expressions = document["expressions"].as_array().unwrap();
        let has_error = |e: &Value| e.get("error").is_some();
        expressions.iter().map(has_error).collect::<Vec<_>>()
    };
    // The limit is just high enough to read the variables for `v`. Reading all entries for a type takes more.
    let is_enough = |work: &u64| {
        let limits = [&[("work", *work)][..], &NO_RATE].concat();
        case.run("print v", &limits).status == 0
    };
    let work = (1000..).step_by(100).find(is_enough).unwrap();
    let (whole, part) = whole_and_part(&case, "print v sizeof(int) sizeof(w)", work);
    assert_eq!(errors(&whole), [false, false, true]);
    assert_eq!(errors(&part), [false, true, true]);
}

/// All frames before the limit are printed.
#[test]
fn frames_before_a_limit_are_printed() {
    let rules = [0x16, 33, 3, 0x23, 16, 0x96, 0x08, 16];
    let frames = debug_frame(&[0x0c, 33, 0], &rules);
    let case = Case::new(
        "frames",
        &code_object(&[(".text", &[0; 64]), (".debug_frame", &frames)]),
    );
    let ran = case.run("unwind --format json", &[("frames", 7)]);
    assert_eq!(ran.status, 2);
    let document = document(&ran);
    assert_eq!(document["frames"].as_array().unwrap().len(), 7);
    assert_eq!(document["limit"], "the limit `frames` of 7 was reached");
}

/// A fixed bound names no option: 64 of 65 remembered rows are kept, and 8,192 of 8,193 rules.
#[test]
fn a_bound_that_is_fixed_is_said_to_be() {
    let rules: Vec<u8> = (0..=8192u64)
        .flat_map(|register| [&[0x05][..], &uleb(register), &[1]].concat())
        .collect();
    for (name, instructions, expected) in [
        (
            "remembered",
            [0x0a].repeat(65),
            "more than 64 rows that are remembered are not supported",
        ),
        (
            "rules",
            rules,
            "more than 8192 rules in a row are not supported",
        ),
    ] {
        let frames = debug_frame(&[0x0c, 33, 0], &instructions);
        let object = code_object(&[(".text", &[0; 64]), (".debug_frame", &frames)]);
        let ran = Case::new(name, &object).run("unwind --format json", &[]);
        assert_eq!(ran.status, 2, "{name}: {}", ran.out);
        let document = document(&ran);
        assert_eq!(document["stopped"], "limit");
        assert!(
            document["limit"].as_str().unwrap().contains(expected),
            "{document}"
        );
    }
}

/// Runs each command with increasing limits of steps. Up to a limit, the status is 2 and the document is marked as incomplete. Above it,
/// neither happens.
#[test]
fn the_status_is_2_just_where_an_answer_is_not_complete() {
    let files = [
        ("variables", growth::many_variables(60)),
        ("types", growth::types(60)),
        ("lines", growth::line_program(400)),
        ("lists", growth::list_entries(100)),
    ];
    for (name, file) in &files {
        let case = Case::new(&format!("status-{name}"), file);
        for command in [
            "vars",
            "vars --frame all",
            "print v",
            "unwind",
            "lane-pc",
            "dump",
        ] {
            let what = format!("{command} of {name}");
            let json = format!("{command} --format json");
            let (mut work, mut partial, mut enough) = (4, 0, 0);
            while enough < 3 {
                work += work / 2;
                let ran = case.run(&json, &[&[("work", work)][..], &NO_RATE].concat());
                let limit = format!("the limit `work` of {work} was reached");
                if ran.out.is_empty() {
                    assert_eq!(ran.status, 2, "{what}, {work}");
                    assert!(
                        ran.err.contains(&limit) && enough == 0,
                        "{what}, {work}: {}",
                        ran.err
                    );
                    continue;
                }
                let document = document(&ran);
                if ran.status == 2 {
                    assert_eq!(document["complete"], false, "{what}, {work}: {}", ran.err);
                    assert_eq!(document["limit"], limit.as_str(), "{what}");
                    assert_eq!(enough, 0, "{what}, {work}");
                    partial += 1;
                } else {
                    assert!(
                        !ran.out.contains("the limit `work`"),
                        "{what}, {work}: {}",
                        ran.out
                    );
                    assert_eq!(document.get("complete"), None, "{what}, {work}");
                    enough += 1;
                }
                assert!(work < 1 << 24, "{what}: it never has enough");
            }
            println!("{what}: {partial} answers in part, enough with {work}");
        }
    }
}
