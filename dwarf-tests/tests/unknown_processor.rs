//! Code for an unknown processor is still read. Facts that do not depend on the processor equal those for a known one. Other facts are left
//! out, with a warning.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure here is a failure of the test"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dwarf_tests::{Ran, fixture, hetdwarf, wave_cases};
use serde_json::Value;

/// The number of no processor, `EF_AMDGPU_MACH_NONE`, and a reserved number.
const NUMBERS: [u8; 3] = [0x27, 0x00, 0xfe];

/// A temporary folder for the copies.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("hetdwarf-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Copies a code object, with another processor number.
    fn patched(&self, file: &Path, mach: u8) -> PathBuf {
        let mut data = std::fs::read(file).unwrap();
        // The lowest byte of e_flags.
        data[48] = mach;
        let copy = self.0.join(file.file_name().unwrap());
        std::fs::write(&copy, data).unwrap();
        copy
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(command: &str, file: &Path, more: &[&str]) -> Ran {
    let mut arguments = vec![command.to_owned(), file.display().to_string()];
    arguments.extend(more.iter().map(ToString::to_string));
    hetdwarf(arguments)
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn info_and_dump_say_what_they_say_of_a_known_processor() {
    let folder = Folder::new("unknown-info");
    let file = fixture("waves/calls/calls.rocm.hsaco");
    let body = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    for mach in NUMBERS {
        let copy = folder.patched(&file, mach);
        let info = run("info", &copy, &[]);
        assert_eq!(info.status, 0, "{}", info.err);
        assert!(
            info.out.starts_with(&format!("unknown-{mach:#04x}\n")),
            "{}",
            info.out
        );
        assert!(
            info.out.contains("the processor is unknown"),
            "{}",
            info.out
        );
        let json = parse(&run("info", &copy, &["--format", "json"]).out);
        assert_eq!(json["object"]["is_known_processor"], false);
        let parts = [
            "--debug-info",
            "--debug-loclists",
            "--debug-frame",
            "--debug-line",
        ];
        let [ours, theirs] = [&copy, &file].map(|file| run("dump", file, &parts));
        assert_eq!((ours.status, ours.err.as_str()), (0, ""));
        assert_eq!(body(&ours.out), body(&theirs.out));
        let chosen = run(
            "info",
            &copy,
            &["--target", &format!("unknown-{mach:#04x}")],
        );
        assert_eq!(chosen.status, 0, "{}", chosen.err);
    }
    let known = parse(&run("info", &file, &["--format", "json"]).out);
    assert!(known["object"].get("is_known_processor").is_none());
}

/// Rules about machine code, or about the unit of scratch pointers, find nothing. All other rules find the same.
#[test]
fn verify_finds_what_does_not_depend_on_the_processor() {
    let folder = Folder::new("unknown-verify");
    let depends = |rule: &str| {
        let code = hetdwarf(["verify", "--explain", "machine-code", "--format", "json"]);
        let rules = parse(&code.out)["rules"].as_array().unwrap().clone();
        assert!(rules.len() > 5);
        rules.iter().any(|row| row["rule"] == rule)
            || ["cfi-cfa-unscaled", "register-not-on-processor"].contains(&rule)
    };
    let rules = |file: &Path| -> BTreeSet<(String, String)> {
        let ran = run("verify", file, &["--format", "json"]);
        assert!(ran.status <= 1, "{}", ran.err);
        let document = parse(&ran.out);
        let findings = document["files"][0]["findings"].as_array().unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        findings
            .iter()
            .map(|finding| (text(&finding["rule"]), text(&finding["offset"])))
            .collect()
    };
    let mut compared = 0;
    for name in ["llvm24/calls-gfx90a-O2", "rocm-style/big-gfx1030-w64-O2"] {
        let file = fixture("corpus").join(format!("{name}.hsaco"));
        let known = rules(&file);
        let mut expected: BTreeSet<_> = known
            .iter()
            .filter(|(rule, _)| !depends(rule))
            .cloned()
            .collect();
        compared += expected.len();
        expected.insert(("target-unknown".to_owned(), String::new()));
        assert_eq!(rules(&folder.patched(&file, 0x27)), expected, "{name}");
    }
    assert!(compared > 3, "{compared}");
}

fn is_absent(lane: &Value) -> bool {
    ["inactive", "not-in-frame"].contains(&lane["state"].as_str().unwrap())
}

/// In strict reading, no part of a variable depends on the processor.
#[test]
fn values_are_the_same_and_there_is_a_warning() {
    let folder = Folder::new("unknown-vars");
    let mut compared = 0;
    for case in wave_cases() {
        let name = case.file_name().unwrap().to_str().unwrap().to_owned();
        let file = case.join(format!("{name}.rocm.hsaco"));
        let Some(wave) = first_wave(&case) else {
            panic!("{name} has no wave")
        };
        let wave = wave.display().to_string();
        if !file.exists() {
            continue;
        }
        let copy = folder.patched(&file, 0x27);
        for command in ["vars", "unwind"] {
            // Values cannot be recovered from the machine code of an unknown processor.
            let mut more = vec!["--wave", &wave, "--format", "json"];
            if command == "vars" {
                more.push("--only-dwarf");
            }
            let [ours, theirs] = [&copy, &file].map(|file| run(command, file, &more));
            assert!(
                ours.err.contains("an unknown processor, unknown-0x27"),
                "{}",
                ours.err
            );
            if command == "vars" {
                let [ours, theirs] = [ours, theirs].map(|ran| parse(&ran.out));
                let place = |document: &Value| document["frames"][0]["frame"].clone();
                assert_eq!(place(&ours), place(&theirs), "{name}");
                let pairs = dwarf_tests::variables(&ours).into_iter();
                for (ours, theirs) in pairs.zip(dwarf_tests::variables(&theirs)) {
                    let lanes = |of: &Value| of["lanes"].as_array().unwrap().clone();
                    for (ours, theirs) in lanes(&ours).iter().zip(&lanes(&theirs)) {
                        // The machine code shows if a lane that is off entered the function.
                        if theirs["state"] == "not-in-frame" {
                            assert!(is_absent(ours), "{name}");
                        } else {
                            assert_eq!(ours, theirs, "{name}");
                        }
                    }
                }
                compared += 1;
            } else {
                // The frame itself does not depend on the processor.
                let [ours, theirs] = [ours, theirs].map(|ran| parse(&ran.out)["frames"][0].clone());
                assert_eq!(ours["function"], theirs["function"], "{name}");
                assert_eq!(ours["pc"], theirs["pc"], "{name}");
            }
        }
    }
    assert!(compared > 4, "{compared}");
}

/// Without the extensions, the reading depends on the unit of scratch pointers. Values that need it are ambiguous, and all others are
/// unchanged.
#[test]
fn without_the_extensions_what_is_on_the_stack_cannot_be_told() {
    let folder = Folder::new("unknown-legacy");
    let (mut same, mut ambiguous) = (0, 0);
    for case in wave_cases() {
        let name = case.file_name().unwrap().to_str().unwrap().to_owned();
        let file = case.join(format!("{name}.hsaco"));
        if !file.exists() || name.ends_with("gfx90a") {
            continue;
        }
        let wave = first_wave(&case).unwrap().display().to_string();
        let more = ["--wave", &wave, "--format", "json", "--only-dwarf"];
        let copy = folder.patched(&file, 0x27);
        let ours = run("vars", &copy, &more);
        assert!(ours.err.contains("memory cannot be read"), "{}", ours.err);
        let variables = |ran: &Ran| dwarf_tests::variables(&parse(&ran.out));
        let pairs = variables(&ours)
            .into_iter()
            .zip(variables(&run("vars", &file, &more)));
        for (ours, known) in pairs {
            let lanes = |variable: &Value| variable["lanes"].as_array().unwrap().clone();
            for (ours, known) in lanes(&ours).into_iter().zip(lanes(&known)) {
                if ours["state"] == "ambiguous" {
                    ambiguous += 1;
                } else if known["state"] == "not-in-frame" {
                    assert!(is_absent(&ours), "{name}");
                } else {
                    assert_eq!(ours, known, "{name}");
                    same += 1;
                }
            }
        }
    }
    assert!(same > 100 && ambiguous > 100, "{same}, {ambiguous}");
}

/// A snapshot that names an unknown processor is treated like a snapshot of a newer processor.
#[test]
fn a_wave_on_a_processor_that_is_not_known_is_a_warning() {
    let folder = Folder::new("unknown-wave");
    let case = fixture("waves/calls");
    let file = case.join("calls.rocm.hsaco");
    let wave = first_wave(&case).unwrap();
    let text = std::fs::read_to_string(&wave).unwrap();
    let known = run("vars", &file, &["--wave", &wave.display().to_string()]);
    let mut json = parse(&text);
    for (target, warns) in [
        ("gfx9999", true),
        ("gfx1499:xnack+", true),
        ("x86", false),
        ("gfx1100:no+", false),
    ] {
        json["target"] = target.into();
        let other = folder.0.join("wave.json");
        std::fs::write(&other, json.to_string()).unwrap();
        let ran = run("vars", &file, &["--wave", &other.display().to_string()]);
        if warns {
            assert_eq!(
                (ran.status, ran.out.as_str()),
                (known.status, known.out.as_str()),
                "{target}"
            );
            assert!(ran.err.contains("an unknown processor"), "{}", ran.err);
        } else {
            assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{target}");
            assert!(ran.err.contains("target: "), "{}", ran.err);
        }
    }
}

/// Returns the first wave of a case, by name.
fn first_wave(case: &Path) -> Option<PathBuf> {
    let mut waves: Vec<PathBuf> = std::fs::read_dir(case)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with('w') && name.ends_with(".json")
        })
        .collect();
    waves.sort();
    waves.into_iter().next()
}
