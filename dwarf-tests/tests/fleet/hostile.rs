//! Tests invalid or contradictory lines among records: each is reported, and the other records are processed.

use std::fs;

use dwarf_tests::cores::Folder;
use dwarf_tests::{fixture, hetdwarf, package};

use super::{merge, text};

/// Returns the records of a code object with findings.
fn records(folder: &Folder) -> Vec<String> {
    let path = text(&folder.path("k.hsaco"));
    fs::copy(fixture("waves/calls-O2/calls-O2.rocm.hsaco"), &path).unwrap();
    let ran = hetdwarf(["verify", &path, "--format", "jsonl"]);
    let lines: Vec<String> = ran.out.lines().map(str::to_owned).collect();
    assert!(lines.len() > 3);
    lines
}

#[test]
fn wrong_lines_are_named() {
    let folder = Folder::new();
    let lines = records(&folder);
    let (first, second, file) = (&lines[0], &lines[1], lines.last().unwrap());
    let changed = |line: &str, from: &str, to: &str| {
        let changed = line.replacen(from, to, 1);
        assert_ne!(changed, line);
        changed
    };
    let rule: serde_json::Value = serde_json::from_str(first).unwrap();
    let rule = format!("\"rule\":\"{}\"", rule["rule"].as_str().unwrap());
    let sha = "\"sha256\":\"";
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"no JSON".to_vec(), "expected ident"),
        (first[..first.len() / 2].into(), "EOF while parsing"),
        (b"{}".to_vec(), "missing field `format`"),
        (b"[1]".to_vec(), "malformed record"),
        (
            br#"{"format": "other/1"}"#.to_vec(),
            "unknown format `other/1`",
        ),
        (
            br#"{"format": "hetdwarf-file/1", "file": "a"}"#.to_vec(),
            "missing field",
        ),
        (b"\xff\xfe{}".to_vec(), "it is not UTF-8"),
        (
            changed(first, &rule, "\"rule\":\"new-rule\"").into(),
            "unknown rule `new-rule`",
        ),
        (
            changed(first, "\"severity\":\"", "\"severity\":\"very ").into(),
            "unknown severity `very ",
        ),
        (
            changed(first, "\"section\":\".", "\"section\":\".other.").into(),
            "unknown section `.other.",
        ),
        (
            changed(first, "\"number\":0", "\"number\":-1").into(),
            "invalid value: integer `-1`",
        ),
        (
            changed(first, "\"offset\":\"0x", "\"offset\":\"0x-").into(),
            "expected a number",
        ),
        (
            changed(first, "\"fingerprint\":\"", "\"fingerprint\":\"\\u001b[2J").into(),
            "no record has the text `\\u{1b}[2J",
        ),
        (
            changed(first, sha, "\"sha256\":\"A").into(),
            "is not 64 digits",
        ),
        (
            ["[".repeat(100_000), "]".repeat(100_000)].concat().into(),
            "invalid type: sequence",
        ),
        (
            format!(
                "{{\"format\":\"hetdwarf-file/1\",\"x\":{}1{}}}",
                "[".repeat(1000),
                "]".repeat(1000)
            )
            .into(),
            "missing field `file`",
        ),
    ];
    let expected = {
        let path = folder.path("good.jsonl");
        fs::write(&path, lines.join("\n")).unwrap();
        merge(&[text(&path)], &["--format=json"])
    };
    let path = folder.path("bad.jsonl");
    for (line, message) in cases {
        // A blank line is no record.
        let bytes = [lines.join("\n").as_bytes(), b"\n\n", &line, b"\n"].concat();
        fs::write(&path, bytes).unwrap();
        let ran = merge(&[text(&path)], &["--format=json"]);
        let place = format!("{}:{}: ", text(&path), lines.len() + 2);
        assert_eq!(ran.status, 2, "{message}");
        assert_eq!(ran.out, expected.out, "{message}");
        let named: Vec<&str> = ran.err.lines().collect();
        assert_eq!(named.len(), 1, "{}", ran.err);
        assert!(
            named[0].contains(&place) && named[0].contains(message),
            "{message}: {}",
            ran.err
        );
    }
    // Missing or superfluous lines of a file.
    let missing = lines[1..].join("\n");
    let without_file = lines[..lines.len() - 1].join("\n");
    let other_object = changed(second, "\"object\":\"", "\"object\":\"other");
    let replaced = lines.join("\n").replace(second.as_str(), &other_object);
    let more = changed(second, "\"number\":1", "\"number\":1000000");
    let more = [lines.join("\n"), more].join("\n");
    let conflict = changed(second, "\"message\":\"", "\"message\":\"other ");
    let conflict = [lines.join("\n"), conflict].join("\n");
    let huge = changed(file, "\"findings\":", "\"findings\":90071992547409");
    for (text_of, message) in [
        (missing, "finding 0 of"),
        (without_file, "no record of the file itself"),
        (replaced, "finding 1 is of other"),
        (more, "findings, the file has"),
        (conflict, "contradicts it about the same file"),
        (huge, "finding 0 of 90071992547409"),
    ] {
        let good = r#"{"format":"hetdwarf-file/1","file":"a.hsaco","sha256":null,"hetdwarf":"0","objects":0,"findings":0,"complete":true,"code_objects":[]}"#;
        fs::write(&path, format!("{text_of}\n{good}\n")).unwrap();
        let ran = merge(&[text(&path)], &["--format=json"]);
        assert_eq!(ran.status, 2, "{message}");
        assert!(ran.err.contains(message), "{message}: {}", ran.err);
        assert!(ran.out.contains("\"hetdwarf-verify/1\""), "{}", ran.out);
    }
}

/// No text in a record is interpreted by a terminal or a CI, in any format.
#[test]
fn nothing_in_a_record_is_obeyed() {
    let folder = Folder::new();
    let lines = records(&folder).join("\n");
    let evil = lines.replace(
        "\"message\":\"",
        "\"message\":\"\u{9b}2J\\u001b[2J\\r\\n::error::\u{202e}##[x]",
    );
    let path = folder.path("evil.jsonl");
    fs::write(&path, evil).unwrap();
    for format in ["text", "json", "sarif", "github", "lines", "junit", "jsonl"] {
        let ran = merge(&[text(&path)], &["--format", format]);
        let is_obeyed = |letter: char| letter != '\n' && hetdwarf::untrusted::is_obeyed(letter);
        assert!(!ran.out.contains(is_obeyed), "{format}: {}", ran.out);
        let commands = ran
            .out
            .lines()
            .filter(|line| line.trim_start().starts_with("::"));
        assert!(format == "github" || commands.count() == 0, "{format}");
        assert!(!ran.out.contains("##["), "{format}");
    }
}

#[test]
fn there_has_to_be_a_record_and_of_one_kind() {
    let folder = Folder::new();
    let path = folder.path("a.jsonl");
    fs::write(&path, "\n").unwrap();
    let ran = merge(&[text(&path)], &[]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("there are no records"), "{}", ran.err);
    let ran = merge(&[text(&folder.path("none.jsonl"))], &[]);
    assert_eq!(ran.status, 2);
    let core = text(&fixture("../../examples/demo/demo.core"));
    let waves = hetdwarf(["core", &core, "--format", "jsonl"]).out;
    fs::write(&path, [waves.clone(), records(&folder).join("\n")].concat()).unwrap();
    let ran = merge(&[text(&path)], &[]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.err.contains("records of verify and of core"),
        "{}",
        ran.err
    );
    fs::write(&path, waves).unwrap();
    for options in [["--format=sarif"], ["--each"], ["--summary"]] {
        let ran = merge(&[text(&path)], &options);
        assert_eq!((ran.status, &*ran.out), (2, ""), "{options:?}");
    }
    fs::write(&path, records(&folder).join("\n")).unwrap();
    let ran = merge(&[text(&path)], &["--tree"]);
    assert_eq!((ran.status, &*ran.out), (2, ""));
}

/// Options about one core are refused, so that none is ignored.
#[test]
fn options_of_one_core_are_refused_for_several() {
    let examples = package().join("../examples");
    let cores = ["particles/particles.core", "demo/demo.core"];
    let cores = cores.map(|core| examples.join(core).display().to_string());
    let [first, second] = &cores;
    for option in [
        ["--group-by", "line"],
        ["--source-dir", "."],
        ["--where", "0x1000"],
    ] {
        let ran = hetdwarf(["core", first, second].into_iter().chain(option));
        assert_eq!(ran.status, 2, "{option:?}");
        let expected = format!("{} works with one core, not with 2", option[0]);
        assert!(ran.err.contains(&expected), "{}", ran.err);
    }
}
