//! Validates the JSON documents of all commands against their schemas, `docs/schemas`.
//!
//! `.ci/schemas` generates the schemas from the source. An independent crate applies them.

use std::collections::BTreeMap;
use std::path::Path;

use dwarf_tests::cores::{Folder, cases};
use dwarf_tests::{corpus, fixture, hetdwarf, of_producers, package, wave_cases};
use jsonschema::Validator;
use serde_json::Value;

/// The schemas by title, each with its number of valid documents.
struct Schemas {
    validators: BTreeMap<String, Validator>,
    valid: BTreeMap<String, u32>,
    wrong: Vec<String>,
}

impl Schemas {
    fn new() -> Schemas {
        let folder = package().join("../docs/schemas");
        let mut validators = BTreeMap::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let schema = dwarf_tests::json(&entry.unwrap().path());
            assert!(jsonschema::meta::is_valid(&schema), "{}", schema["title"]);
            let validator = jsonschema::validator_for(&schema).unwrap();
            validators.insert(schema["title"].as_str().unwrap().to_owned(), validator);
        }
        let (valid, wrong) = (BTreeMap::new(), Vec::new());
        Schemas {
            validators,
            valid,
            wrong,
        }
    }

    /// Validates a document. The schema is named by its `format`, or else by `otherwise`.
    fn check(&mut self, document: &Value, otherwise: &str, command: &str) {
        let name = document["format"].as_str().unwrap_or(otherwise).to_owned();
        let Some(validator) = self.validators.get(&name) else {
            self.wrong.push(format!("{command}: {name} has no schema"));
            return;
        };
        match validator.iter_errors(document).next() {
            Some(error) => {
                let place = error.instance_path();
                self.wrong
                    .push(format!("{command}: {name}{place}: {error}"));
            }
            None => *self.valid.entry(name).or_default() += 1,
        }
    }

    /// Runs a command and validates its output: one document, or one in each line.
    fn run(&mut self, command: &str, files: &[&Path]) {
        let mut files = files.iter();
        let words = command.split(' ').map(|word| match word {
            "FILE" => files.next().unwrap().as_os_str().to_owned(),
            word => word.into(),
        });
        let ran = hetdwarf(words.collect::<Vec<_>>());
        let documents: Vec<Value> = match serde_json::from_str(&ran.out) {
            Ok(document) => vec![document],
            Err(_) => ran
                .out
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect(),
        };
        if documents.is_empty() {
            self.wrong.push(format!("{command}: nothing: {}", ran.err));
        }
        for document in &documents {
            self.check(document, "hetdwarf-symbolize", command);
        }
    }

    /// Asserts that all documents were valid, and that there were documents of the given names.
    fn finish(self, names: &[&str]) {
        let wrong = &self.wrong[..self.wrong.len().min(20)];
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        for name in names {
            assert!(self.valid.contains_key(*name), "no document {name}");
        }
    }
}

#[test]
fn documents_about_objects_are_valid() {
    let mut schemas = Schemas::new();
    let folder = Folder::new();
    let (out, baseline) = (folder.path("out.hsaco"), folder.path("baseline.json"));
    let objects: Vec<_> = corpus()
        .into_iter()
        .step_by(9)
        .chain(of_producers())
        .collect();
    for object in &objects {
        let object = object.as_path();
        for command in [
            "info FILE --format json",
            "coverage FILE --format json",
            "dump FILE --all --verbose --format json",
            "dump FILE --show-section-sizes --format json",
            "verify FILE --format json",
            "verify FILE --format jsonl",
            "verify FILE --summary --format json",
            "symbolize FILE 0x1a1c 0x1000 0x0 --format json",
        ] {
            schemas.run(command, &[object]);
        }
        schemas.run("compare FILE FILE --format json", &[&objects[0], object]);
        schemas.run(
            "annotate FILE -o FILE --locations --force --format json",
            &[object, &out],
        );
        schemas.run(
            "verify FILE --write-baseline FILE --force --format json",
            &[object, &baseline],
        );
        schemas.check(&dwarf_tests::json(&baseline), "", "the baseline");
    }
    schemas.run(
        "info FILE --format json",
        &[&fixture("corpus/bundle/ccob3.hipfb")],
    );
    schemas.run("regs --format json", &[]);
    schemas.run("verify FILE --format jsonl", &[&fixture("corpus/llvm22")]);
    schemas.run("verify --list --format json", &[]);
    schemas.finish(&[
        "hetdwarf-annotate/1",
        "hetdwarf-baseline/2",
        "hetdwarf-compare/1",
        "hetdwarf-coverage/1",
        "hetdwarf-dump/1",
        "hetdwarf-info/1",
        "hetdwarf-regs/1",
        "hetdwarf-rules/1",
        "hetdwarf-section-sizes/1",
        "hetdwarf-symbolize",
        "hetdwarf-file/1",
        "hetdwarf-finding/1",
        "hetdwarf-folder/1",
        "hetdwarf-verify/1",
        "hetdwarf-verify-summary/1",
    ]);
}

#[test]
fn documents_about_waves_are_valid() {
    let mut schemas = Schemas::new();
    for case in wave_cases() {
        let with = |extension: &str, start: &str| {
            let files = std::fs::read_dir(&case).unwrap();
            let mut files: Vec<_> = files
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.extension().is_some_and(|one| one == extension))
                .filter(|path| {
                    path.file_name()
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .starts_with(start)
                })
                .collect();
            files.sort();
            files
        };
        for object in with("hsaco", "") {
            for wave in with("json", "w").iter().step_by(5) {
                for command in [
                    "vars FILE --wave FILE --frame all --hidden --children 2 --format json",
                    "vars FILE --wave FILE --only-dwarf --strict --format json",
                    "unwind FILE --wave FILE --format json",
                    "lane-pc FILE --wave FILE --format json",
                    "print FILE --wave FILE 1+1 none x *g --format json",
                ] {
                    schemas.run(command, &[&object, wave]);
                }
            }
        }
        for wave in with("json", "w").iter().step_by(5) {
            schemas.run("eval --expr lit1 --wave FILE --format json", &[wave]);
            schemas.run("eval --expr plus --wave FILE --format json", &[wave]);
            schemas.run("eval --expr reg0 --wave FILE --format json", &[wave]);
        }
    }
    let folder = Folder::new();
    let batch = folder.path("batch.jsonl");
    std::fs::write(&batch, "{\"expr\": \"lit1\"}\n{\"expr\": \"plus\"}\n").unwrap();
    schemas.run("eval --batch FILE --format json", &[&batch]);
    let lanes: String = (0..32)
        .map(|lane| format!(" [{lane}] {lane:08x}"))
        .collect();
    let (log, out) = (folder.path("log.txt"), folder.path("waves"));
    std::fs::write(
        &log,
        format!(
            "wave_1: pc=0x7f4000001c90 k(stopped, reason: MEMORY_VIOLATION)\n\nscalar registers:\n\
             {:>16}: 00000000{:>16}: 00000001\n\nvector registers:\n{:>16}:{lanes}\n\n",
            "s0", "s1", "v0"
        ),
    )
    .unwrap();
    schemas.run(
        "import FILE --target gfx1100 -o FILE --format json",
        &[&log, &out],
    );
    schemas.finish(&[
        "hetdwarf-import/1",
        "hetdwarf-eval/1",
        "hetdwarf-lane-pc/1",
        "hetdwarf-print/1",
        "hetdwarf-unwind/2",
        "hetdwarf-vars/2",
    ]);
}

#[test]
fn documents_about_cores_and_profiles_are_valid() {
    let mut schemas = Schemas::new();
    let mut check = |core: &Path| {
        for command in [
            "core FILE --all --where 0x1000 --format json",
            "core FILE --group-by line --format json",
            "core FILE --format jsonl",
            "unwind --core FILE --all-waves --format json",
            "print --core FILE --all-waves x --format json",
            "vars --core FILE --format json",
        ] {
            schemas.run(command, &[core]);
        }
    };
    let particles = package().join("../examples/particles/particles.core");
    let calls = package().join("../examples/demo/demo.core");
    check(&particles);
    for case in cases().iter().filter(|case| case.starts_with("gfx")) {
        check(&Folder::of(case).path("merged.core"));
    }
    for case in [
        "fault/call-942",
        "fault/inline-1100",
        "hang/spin-1100",
        "hang/lock-90a",
    ] {
        let packed = std::fs::read(fixture("triage").join(case).join("merged.core.gz")).unwrap();
        let folder = Folder::new();
        let core = folder.path("merged.core");
        let mut bytes = flate2::read::GzDecoder::new(&*packed);
        std::io::copy(&mut bytes, &mut std::fs::File::create(&core).unwrap()).unwrap();
        check(&core);
    }
    let text = package().join("../README.md");
    for command in [
        "core FILE FILE FILE --tree --format json",
        "core FILE FILE FILE --format jsonl",
    ] {
        schemas.run(command, &[&particles, &calls, &text]);
    }
    for folder in ["stochastic", "host-trap"] {
        let folder = fixture("profiles").join(folder);
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            for by in ["line", "function", "kernel", "instruction", "stack"] {
                schemas.run(&format!("profile FILE --by {by} --format json"), &[&path]);
            }
        }
    }
    schemas.finish(&[
        "hetdwarf-core/1",
        "hetdwarf-core-wave/1",
        "hetdwarf-crashes/1",
        "hetdwarf-error/1",
        "hetdwarf-profile/1",
    ]);
}
