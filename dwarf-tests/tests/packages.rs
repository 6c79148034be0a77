//! Runs the command on libraries whose code is in packages, and on files that contain whole code objects.
//!
//! The packages were made from files of the corpus, whose bytes must be returned. Sizes and offsets are from `fixtures/kpack/README.md` and
//! `fixtures/whole/README.md`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::fs;
use std::path::Path;

use dwarf_tests::cores::Folder;
use dwarf_tests::{Ran, corpus, fixture, hetdwarf};
use hetdwarf::object::code_objects;
use serde_json::Value;

const SAMPLES: [(&str, &[&str]); 3] = [
    ("sample-none", &["gfx1100", "gfx1100", "gfx90a"]),
    ("sample-zstd-per-kernel", &["gfx1100", "gfx1100", "gfx90a"]),
    ("sample-plain-direct", &["gfx90a"]),
];

fn run(arguments: &[&str], path: &Path) -> Ran {
    let arguments = arguments.iter().map(|argument| match *argument {
        "PATH" => path.to_str().unwrap().to_owned(),
        other => other.to_owned(),
    });
    hetdwarf(arguments)
}

fn json(arguments: &[&str], path: &Path) -> (u8, Value) {
    let ran = run(&[arguments, &["--format=json"]].concat(), path);
    let document = serde_json::from_str(&ran.out);
    (
        ran.status,
        document.unwrap_or_else(|error| panic!("{error}: {}", ran.err)),
    )
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// Returns a copy of a sample.
fn sample(name: &str) -> Folder {
    let folder = Folder::new();
    copy(&fixture("kpack").join(name), folder.folder());
    folder
}

#[test]
fn packages_hold_the_files_that_they_were_written_from() {
    let known: Vec<Vec<u8>> = corpus()
        .iter()
        .map(|path| fs::read(path).unwrap())
        .collect();
    for (name, targets) in SAMPLES {
        let mut count = 0;
        for entry in fs::read_dir(fixture("kpack").join(name).join(".kpack")).unwrap() {
            let file = fs::read(entry.unwrap().path()).unwrap();
            for object in code_objects(&file).unwrap() {
                assert!(
                    known.iter().any(|known| **known == *object.data),
                    "{name} {object:?}"
                );
                count += 1;
            }
        }
        assert_eq!(count, targets.len(), "{name}");
    }
}

#[test]
fn a_library_is_read_with_its_packages() {
    for (name, targets) in SAMPLES {
        let folder = sample(name);
        let library = folder.path("lib/libapp.so");
        let (status, document) = json(&["info", "PATH"], &library);
        assert_eq!(status, 0);
        let objects = document["objects"].as_array().unwrap();
        let found: Vec<&str> = objects
            .iter()
            .map(|o| o["target"].as_str().unwrap())
            .collect();
        assert_eq!(found, targets, "{name}");
        let packages = &document["packages"];
        assert_eq!(packages["name"], "lib/libapp.so");
        let paths = packages["found"].as_array().unwrap();
        assert_eq!(paths.len(), if targets.len() == 1 { 1 } else { 2 });
        for (index, object) in objects.iter().enumerate() {
            let place = object["place"].as_str().unwrap();
            assert!(place.contains("lib/libapp.so"), "{place}");
            let index = index.to_string();
            let dump = run(&["dump", "PATH", "--index", &index], &library);
            assert_eq!(dump.status, 0, "{}", dump.err);
            assert!(dump.out.contains("DW_TAG_compile_unit"), "{}", dump.out);
        }
        assert!(
            run(&["info", "PATH"], &library)
                .out
                .contains("its code is in ")
        );
        // Each code object is checked once, regardless of the path that is named.
        for path in ["", "lib", "lib/libapp.so", ".kpack"] {
            let (status, document) = json(&["verify", "PATH", "--each"], &folder.path(path));
            assert_eq!(
                (status, &document["summary"]["files"]),
                (0, &targets.len().into()),
                "{name} {path}"
            );
            assert_eq!(document["summary"].get("unchecked"), None);
        }
    }
}

#[test]
fn a_wave_is_asked_of_a_library() {
    let folder = sample("sample-plain-direct");
    let library = folder.path("lib/libapp.so");
    let alone = fs::read(fixture("kpack/sample-plain-direct/.kpack/app_gfx90a.kpack")).unwrap();
    let code = code_objects(&alone).unwrap().remove(0).data.into_owned();
    let object = folder.path("code.hsaco");
    fs::write(&object, code).unwrap();
    let question = [
        "eval",
        "--expr",
        "DW_OP_lit1, DW_OP_stack_value",
        "--format=json",
        "--object",
        "PATH",
    ];
    let (of_library, of_object) = (run(&question, &library), run(&question, &object));
    assert_eq!(
        (of_library.status, of_library.out),
        (of_object.status, of_object.out)
    );
    let place = format!("{}@0x0", library.to_str().unwrap());
    let missing = run(
        &[
            "import",
            "PATH",
            "--object",
            &place,
            "-o",
            folder.path("out").to_str().unwrap(),
        ],
        &object,
    );
    assert_eq!(missing.status, 2);
}

#[test]
fn a_library_without_its_packages_is_named_and_counted() {
    let folder = sample("sample-none");
    let library = folder.path("lib/libapp.so");
    fs::rename(folder.path(".kpack"), folder.path("elsewhere")).unwrap();
    let hint = "its code is in ../.kpack/app_@GFXARCH@.kpack (as lib/libapp.so)";
    for command in [
        &["info", "PATH"][..],
        &["dump", "PATH"],
        &["verify", "PATH"],
    ] {
        let ran = run(command, &library);
        assert_eq!(ran.status, 2, "{command:?}");
        assert!(ran.err.contains(hint), "{command:?} {}", ran.err);
    }
    // The packages still exist, but the library no longer refers to them.
    let (status, document) = json(&["verify", "PATH"], folder.folder());
    let summary = &document["summary"];
    assert_eq!(
        (status, &summary["files"], &summary["unchecked"]),
        (2, &3.into(), &1.into())
    );
    let unreadable = &document["unreadable"][0];
    assert_eq!(unreadable["code_is_elsewhere"], true);
    assert!(unreadable["message"].as_str().unwrap().contains(hint));
    let text = run(&["verify", "PATH"], folder.folder()).out;
    assert!(
        text.ends_with("; 1 file not checked: their code is in other files\n"),
        "{text}"
    );

    let out = folder.path("out");
    let annotated = run(&["annotate", "PATH", "-o", out.to_str().unwrap()], &library);
    assert_eq!(annotated.status, 0);
    assert!(annotated.out.contains(hint), "{}", annotated.out);
    assert_eq!(fs::read(&out).unwrap(), fs::read(&library).unwrap());
}

#[test]
fn a_package_of_other_libraries_is_not_the_one() {
    let folder = sample("sample-plain-direct");
    // Changes a key in the table of contents, so that the library is no longer found.
    let path = folder.path(".kpack/app_gfx90a.kpack");
    let mut package = fs::read(&path).unwrap();
    let key = b"lib/libapp.so";
    let at = package
        .windows(key.len())
        .rposition(|bytes| bytes == key)
        .unwrap();
    package[at..at + key.len()].copy_from_slice(b"lib/libbpp.so");
    fs::write(&path, &package).unwrap();
    let (status, document) = json(&["verify", "PATH"], folder.folder());
    assert_eq!((status, &document["summary"]["unchecked"]), (2, &1.into()));
    // A damaged package is reported with its name.
    package[4] = 9;
    fs::write(&path, &package).unwrap();
    let ran = run(&["info", "PATH"], &folder.path("lib/libapp.so"));
    assert_eq!(ran.status, 2);
    assert!(
        ran.err
            .contains("app_gfx90a.kpack: malformed kpack: version 9 is not 1"),
        "{}",
        ran.err
    );
    // Another file at the path is not read.
    fs::write(&path, b"secret").unwrap();
    let ran = run(&["info", "PATH"], &folder.path("lib/libapp.so"));
    assert!(ran.err.contains("which was not found"), "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn a_link_to_a_library_leads_to_its_packages() {
    let folder = sample("sample-none");
    let link = folder.path("link.so");
    std::os::unix::fs::symlink("lib/libapp.so", &link).unwrap();
    let (status, document) = json(&["info", "PATH"], &link);
    assert_eq!(
        (status, document["objects"].as_array().unwrap().len()),
        (0, 3)
    );
}

#[test]
fn a_module_of_iree_has_a_code_object() {
    let path = fixture("whole/add-gfx1100.vmfb");
    let (status, document) = json(&["info", "PATH"], &path);
    assert_eq!(status, 0);
    let object = &document["objects"][0];
    assert_eq!(
        (&object["place"], &object["size"]),
        (&"offset 0x16bc".into(), &3824.into())
    );
    let file = fs::read(&path).unwrap();
    // The length of the vector precedes it.
    assert_eq!(
        u32::from_le_bytes(file[5816..5820].try_into().unwrap()),
        3824
    );
    // In a folder, the file is found without being named.
    let (_, document) = json(&["verify", "PATH"], &fixture("whole"));
    assert_eq!(document["summary"]["files"], 1);
}

#[test]
fn annotate_says_what_it_does_not_write() {
    let folder = Folder::new();
    let object = fs::read(fixture("object/small-gfx90a-xnack+-O2.hsaco")).unwrap();
    let module = fs::read(fixture("whole/add-gfx1100.vmfb")).unwrap();
    let package = fs::read(fixture("kpack/sample-none/.kpack/app_gfx90a.kpack")).unwrap();
    for (name, contents, said) in [
        (
            "unknown",
            [b"--", &*object].concat(),
            "files of this kind cannot be rewritten",
        ),
        ("add.vmfb", module, "files of this kind cannot be rewritten"),
        (
            "app.kpack",
            package,
            "files of this kind cannot be rewritten",
        ),
    ] {
        let (input, output) = (folder.path(name), folder.path("out"));
        fs::write(&input, &contents).unwrap();
        let ran = run(
            &[
                "annotate",
                "PATH",
                "--force",
                "-o",
                output.to_str().unwrap(),
            ],
            &input,
        );
        assert_eq!(ran.status, 0, "{name}: {}", ran.err);
        assert!(ran.out.contains(said), "{name}: {}", ran.out);
        assert_eq!(fs::read(&output).unwrap(), contents, "{name}");
    }
}
