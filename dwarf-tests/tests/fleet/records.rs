//! Reads records like any reader of JSON, and compares them with other output.

use std::fs;

use dwarf_tests::cores::Folder;
use dwarf_tests::{fixture, hetdwarf};
use serde_json::{Value, json};

use super::{lines, of, text};

/// The SHA-256 of "abc" comes from FIPS 180-4, appendix B.1 (first edition).
#[test]
fn a_file_that_cannot_be_read_is_a_record() {
    let folder = Folder::new();
    let path = text(&folder.path("notes.txt"));
    fs::write(&path, "abc").unwrap();
    let none = text(&folder.path("none"));
    let ran = hetdwarf(["verify", &path, &none, "--format", "jsonl"]);
    assert_eq!(ran.status, 2);
    let lines = lines(&ran);
    assert_eq!(lines.len(), 2);
    let expected = json!({
        "format": "hetdwarf-file/1", "file": none, "sha256": null, "hetdwarf": env!("CARGO_PKG_VERSION"),
        "objects": 0, "findings": 0, "complete": false, "code_objects": [],
        "unreadable": [{"path": none, "message": "No such file or directory (os error 2)"}],
    });
    assert_eq!(lines[0], expected);
    let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(lines[1]["sha256"], sha256);
    assert_eq!(lines[1]["file"], path);
    assert_eq!(lines[1]["complete"], false);
    assert_eq!(lines[1]["unreadable"].as_array().unwrap().len(), 1);
}

/// Two code objects in a bundle: each finding has the same fields as in `--each --format json`, which other tests check.
#[test]
fn findings_have_the_fields_of_a_report() {
    let folder = Folder::new();
    let path = text(&folder.path("two.hipfb"));
    fs::copy(fixture("debug_info").join("../bundle.hipfb"), &path).unwrap();
    let ran = hetdwarf(["verify", &path, "--format", "jsonl"]);
    let lines = lines(&ran);
    let findings = of(&lines, "hetdwarf-finding/1");
    let files = of(&lines, "hetdwarf-file/1");
    assert_eq!(files.len(), 1);
    assert_eq!(files[0]["objects"], 2);
    assert_eq!(files[0]["findings"], findings.len());
    assert_eq!(files[0]["complete"], true);
    // A finding precedes its file, and there are no other records.
    assert_eq!(lines.len(), findings.len() + 1);
    assert_eq!(lines.last().unwrap()["format"], "hetdwarf-file/1");
    let report = hetdwarf(["verify", &path, "--each", "--format", "json"]).out;
    let report: Value = serde_json::from_str(&report).unwrap();
    let mut number = 0;
    for (object, checked) in report["files"]
        .as_array()
        .unwrap()
        .iter()
        .zip(files[0]["code_objects"].as_array().unwrap())
    {
        let found = object["findings"].as_array().unwrap();
        assert_eq!(checked["object"], object["path"]);
        assert_eq!(checked["target"], object["target"]);
        assert_eq!(checked["producers"], object["producers"]);
        assert_eq!(checked["findings"], found.len());
        for finding in found {
            let mut expected = finding.clone();
            let fields = expected.as_object_mut().unwrap();
            for (name, value) in [
                ("format", json!("hetdwarf-finding/1")),
                ("file", json!(path)),
                ("sha256", files[0]["sha256"].clone()),
                ("number", json!(number)),
                ("object", object["path"].clone()),
                ("target", object["target"].clone()),
                ("producer", object["producers"][0].clone()),
            ] {
                assert!(fields.insert(name.to_owned(), value).is_none(), "{name}");
            }
            assert_eq!(*findings[number], expected);
            number += 1;
        }
    }
    assert!(number > 0);
    assert_eq!(number, findings.len());
    // No number exceeds 2^53, up to which every JSON reader is exact.
    let mut waiting: Vec<&Value> = lines.iter().collect();
    while let Some(value) = waiting.pop() {
        match value {
            Value::Number(number) => assert!(number.as_u64().unwrap() < 1 << 53),
            Value::Array(values) => waiting.extend(values),
            Value::Object(fields) => waiting.extend(fields.values()),
            _ => {}
        }
    }
}

/// Raw readers rely on the order of the fields, and on a folder's record at the end.
#[test]
fn lines_begin_with_what_they_are() {
    let folder = Folder::new();
    fs::copy(
        fixture("waves/calls-O2/calls-O2.rocm.hsaco"),
        folder.path("k.hsaco"),
    )
    .unwrap();
    let path = text(folder.folder());
    let ran = hetdwarf(["verify", &path, "--format", "jsonl"]);
    let last = ran.out.lines().last().unwrap();
    let expected = format!(r#"{{"format":"hetdwarf-folder/1","folder":"{path}","seen":true}}"#);
    assert_eq!(last, expected);
    let file = format!(r#""file":"{path}/k.hsaco","sha256":""#);
    for line in ran.out.lines().filter(|line| *line != last) {
        let (start, rest) = line.split_once(&file).unwrap();
        let is_known = ["finding", "file"]
            .iter()
            .any(|format| start == format!(r#"{{"format":"hetdwarf-{format}/1","#));
        assert!(is_known && rest.as_bytes()[64] == b'"', "{line}");
    }
}
