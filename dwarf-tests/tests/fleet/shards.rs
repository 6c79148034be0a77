//! Checks that parts add up: for any order and grouping, the report equals the report of one run, byte by byte.

use std::fs;

use dwarf_tests::cores::Folder;
use dwarf_tests::{Ran, hetdwarf};

use super::set::Set;
use super::{Random, lines, merge, of, text};

const FORMATS: [&[&str]; 10] = [
    &["--format=text"],
    &["--format=text", "--each"],
    &["--format=text", "--summary"],
    &["--format=json"],
    &["--format=json", "--each"],
    &["--format=json", "--summary"],
    &["--format=sarif"],
    &["--format=github"],
    &["--format=lines"],
    &["--format=junit"],
];

fn verify(set: &Set, options: &[&str]) -> Ran {
    let options = options.iter().map(|option| (*option).to_owned());
    let arguments = ["verify".to_owned()].into_iter();
    hetdwarf(arguments.chain(set.paths()).chain(options))
}

/// Compares the lines one by one, so that a difference is shown as text.
fn assert_same(one: &Ran, other: &Ran, what: &str) {
    assert_eq!(one.status, other.status, "{what}");
    for (one, other) in [(&one.out, &other.out), (&one.err, &other.err)] {
        for (number, (one, other)) in one.lines().zip(other.lines()).enumerate() {
            assert_eq!(one, other, "{what}, line {number}");
        }
        assert_eq!(one, other, "{what}");
    }
}

fn parts_add_up(set: &Set, seed: u64) {
    let mut random = Random(seed);
    let folder = set.folder.folder();
    let one = verify(set, &["--format=jsonl"]);
    assert_eq!(one.status, 2, "a file is not there");
    let mut parts = Vec::new();
    for part in 1..=7 {
        let shard = format!("--shard={part}/7");
        let ran = verify(set, &["--format=jsonl", &shard]);
        let path = folder.join(format!("part-{part}.jsonl"));
        fs::write(&path, ran.out).unwrap();
        parts.push(text(&path));
    }
    let whole = folder.join("whole.jsonl");
    fs::write(&whole, &one.out).unwrap();
    // The lines are merged in any order.
    let mut all: Vec<&str> = one.out.lines().collect();
    random.shuffle(&mut all);
    let mut pieces = Vec::new();
    for (number, piece) in all.chunks(all.len() / 5 + 1).enumerate() {
        let path = folder.join(format!("piece-{number}.jsonl"));
        fs::write(&path, piece.join("\n")).unwrap();
        pieces.push(text(&path));
    }
    for options in FORMATS {
        let expected = verify(set, options);
        random.shuffle(&mut parts);
        assert_same(
            &merge(&parts, options),
            &expected,
            &format!("{options:?}: {parts:?}"),
        );
        assert_same(
            &merge(&pieces, options),
            &expected,
            &format!("{options:?}: pieces"),
        );
    }
    // Merged records can be merged again, and duplicates count once.
    random.shuffle(&mut parts);
    let mut merged = Vec::new();
    for (number, group) in parts.chunks(3).enumerate() {
        let path = folder.join(format!("merged-{number}.jsonl"));
        fs::write(&path, merge(group, &["--format=jsonl"]).out).unwrap();
        merged.push(text(&path));
    }
    merged.push(parts[2].clone());
    merged.push(text(&whole));
    let again = merge(&merged, &["--format=jsonl"]);
    assert_eq!(again.out, one.out);
    assert_eq!(again.status, one.status);
    let expected = verify(set, &["--format=json"]);
    assert_same(
        &merge(&merged, &["--format=json"]),
        &expected,
        "merged again",
    );
    // Each file is in exactly one part.
    let files = lines(&one);
    let files = of(&files, "hetdwarf-file/1");
    assert!(files.len() > set.damaged);
    let damaged = files.iter().filter(|file| file["complete"] == false);
    assert!(damaged.count() > set.damaged / 6, "what is damaged is told");
}

#[test]
fn parts_add_up_to_one_run() {
    parts_add_up(&Set::new(60, 20, 1), 7);
}

/// The documentation promises this number of files for one table.
#[test]
#[ignore = "two thousand files in each format; .ci/full runs it"]
fn two_thousand_files_add_up_to_one_run() {
    parts_add_up(&Set::new(2000, 100, 2), 8);
}

/// A baseline removes the same findings from each part, and its known findings are counted.
#[test]
fn parts_with_a_baseline_add_up() {
    let set = Set::new(12, 0, 3);
    let folder = set.folder.folder();
    let known = text(&folder.join("known.json"));
    let some = text(&folder.join("a"));
    let ran = hetdwarf(["verify", &some, "--write-baseline", &known]);
    assert!(ran.status != 2, "{}", ran.err);
    let baseline = format!("--baseline={known}");
    let mut parts = Vec::new();
    for part in 1..=3 {
        let shard = format!("--shard={part}/3");
        let ran = verify(&set, &["--format=jsonl", &shard, &baseline]);
        let path = folder.join(format!("part-{part}.jsonl"));
        fs::write(&path, ran.out).unwrap();
        parts.push(text(&path));
    }
    let expected = verify(&set, &["--format=lines", &baseline]);
    let merged = merge(&parts, &["--format=lines"]);
    assert_eq!(merged.out, expected.out);
    let number = |ran: &Ran| {
        let document: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        document["summary"]["known"].as_u64().unwrap()
    };
    let one = verify(&set, &["--format=json", &baseline]);
    assert!(number(&one) > 0);
    assert_eq!(merge(&parts, &["--format=json"]).out, one.out);
}

/// Only a run over all files can tell which entries of a baseline are no longer found, so a merged report does not list them. The rest of the
/// report is the same.
#[test]
fn entries_of_a_baseline_that_are_gone_are_not_merged() {
    let folder = Folder::new();
    let (path, known) = (text(folder.folder()), text(&folder.path("known.json")));
    let fixtures = [
        "waves/structs/structs.rocm.hsaco",
        "waves/calls-O2/calls-O2.rocm.hsaco",
    ];
    for (name, fixture) in ["gone.hsaco", "kept.hsaco"].iter().zip(fixtures) {
        fs::copy(dwarf_tests::fixture(fixture), folder.path(name)).unwrap();
    }
    let written = hetdwarf(["verify", &path, "--write-baseline", &known]);
    assert!(written.err.contains("findings recorded"));
    fs::remove_file(folder.path("gone.hsaco")).unwrap();
    let ran = |options: &[&str]| {
        let arguments = ["verify", &path, "--baseline", &known];
        hetdwarf(arguments.iter().chain(options).copied())
    };
    let part = folder.path("part.jsonl");
    fs::write(&part, ran(&["--format=jsonl"]).out).unwrap();
    let merged = merge(&[text(&part)], &["--format=json"]);
    let merged: serde_json::Value = serde_json::from_str(&merged.out).unwrap();
    let mut one: serde_json::Value = serde_json::from_str(&ran(&["--format=json"]).out).unwrap();
    let stale = one.as_object_mut().unwrap().remove("stale").unwrap();
    assert!(!stale.as_array().unwrap().is_empty());
    assert_eq!(merged["stale"], serde_json::Value::Null);
    assert_eq!(merged, one);
}

/// Errors are the exit status of a document and of records, before and after merging.
#[test]
fn errors_are_the_exit_status_in_every_format() {
    let folder = Folder::new();
    let path = text(&folder.path("k.hsaco"));
    let source = dwarf_tests::fixture("waves/structs/structs.rocm.hsaco");
    fs::copy(source, &path).unwrap();
    let part = folder.path("part.jsonl");
    for format in ["--format=jsonl", "--format=json"] {
        let ran = hetdwarf(["verify", &path, format]);
        assert_eq!(ran.status, 1, "{format}");
        if format == "--format=jsonl" {
            fs::write(&part, &ran.out).unwrap();
        }
        assert_eq!(merge(&[text(&part)], &[format]).status, 1, "{format}");
    }
    // Notes are not errors. An unreadable file takes precedence over findings.
    let other = text(&folder.path("notes.txt"));
    fs::write(&other, "text").unwrap();
    for (options, status) in [
        (&["verify", &path, "--profile=application"][..], 0),
        (&["verify", &path, &other], 2),
    ] {
        let options = options.iter().chain(&["--format=jsonl"]);
        let ran = hetdwarf(options.copied());
        assert_eq!(ran.status, status);
        fs::write(&part, &ran.out).unwrap();
        assert_eq!(merge(&[text(&part)], &["--format=jsonl"]).status, status);
    }
}

/// A folder in which nothing was checked is also an error in merged records, in either output format.
#[test]
fn nothing_to_check_is_an_error_after_merging() {
    let folder = Folder::new();
    let path = text(folder.folder());
    let one = hetdwarf(["verify", &path, "--format=jsonl"]);
    let part = folder.path("part.jsonl");
    fs::write(&part, &one.out).unwrap();
    assert_eq!(one.status, 2);
    for format in ["--format=jsonl", "--format=json"] {
        assert_eq!(merge(&[text(&part)], &[format]).status, 2, "{format}");
    }
}

/// A part without any code object of a folder is not an error, because other parts may have some.
#[test]
fn a_part_without_a_code_object_is_no_error() {
    let folder = Folder::new();
    let source = dwarf_tests::fixture("waves/calls-O2/calls-O2.rocm.hsaco");
    fs::copy(source, folder.path("one.hsaco")).unwrap();
    let path = text(folder.folder());
    for (format, status) in [("text", 0), ("jsonl", 0)] {
        let arguments = [
            "verify",
            &path,
            "--shard=2/2",
            "--rules=cfi-entry",
            "--format",
            format,
        ];
        let ran = hetdwarf(arguments);
        assert_eq!(
            (ran.status, &*ran.err),
            (status, ""),
            "{format}: {}",
            ran.out
        );
    }
    for (shard, expected) in [
        ("0/7", "parts count from 1"),
        ("8/7", "there are only 7 parts"),
        ("x", "I/N"),
    ] {
        let ran = hetdwarf(["verify", &path, "--shard", shard]);
        assert_eq!(ran.status, 2);
        assert!(ran.err.contains(expected), "{}", ran.err);
    } // Each part would replace the baseline of the others.
    let baseline = format!("{path}-baseline.json");
    let ran = hetdwarf([
        "verify",
        &path,
        "--shard",
        "1/3",
        "--write-baseline",
        &baseline,
    ]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("without --shard"), "{}", ran.err);
    assert!(!std::path::Path::new(&baseline).exists());
}
