//! DWARF 6 is read as far as it is DWARF 5. clang 22 wrote the same program in both (`fixtures/shapes`), and what llvm-dwarfdump prints of
//! version 5 is what is to be printed of version 6, which it cannot read.

use dwarf_tests::{fixture, hetdwarf};
use serde_json::Value;

fn asked(version: u8, arguments: &[&str]) -> String {
    let file = fixture(&format!("shapes/dwarf6-as-{version}.hsaco"));
    let words = arguments.iter().map(|word| (*word).to_owned());
    let words = words.map(|word| {
        if word == "FILE" {
            file.display().to_string()
        } else {
            word
        }
    });
    let ran = hetdwarf(words);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{arguments:?}");
    ran.out
}

/// What is printed, without offsets of entries and lengths, which differ: the language has another attribute in version 6.
fn lines(text: &str) -> Vec<String> {
    let is_offset = |word: &str| {
        let word = word.trim_matches(['(', ')', ':', ',', '[']);
        word.len() == 10 && word.starts_with("0x")
    };
    let line = |line: &str| {
        let words = line.split_whitespace().filter(|word| !is_offset(word));
        words.collect::<Vec<_>>().join(" ")
    };
    let wanted = |line: &&str| !line.contains("DW_AT_language") && !line.contains("file format");
    text.lines().filter(wanted).map(line).collect()
}

#[test]
fn entries_rows_and_lists_of_version_6_are_read() {
    for part in ["--debug-info", "--debug-line", "--debug-loclists"] {
        let of = |version| asked(version, &["dump", "FILE", part, "--style", "llvm"]);
        let (of_5, of_6) = (lines(&of(5)), lines(&of(6)));
        assert!(of_5.len() > 10, "{part}: {}", of_5.len());
        assert_eq!(of_5.len(), of_6.len(), "{part}");
        for (five, six) in of_5.iter().zip(&of_6) {
            let five = five.replace("version = 0x0005", "version = 0x0006");
            let five = five.replace("version: 5", "version: 6");
            assert_eq!(five, *six, "{part}");
        }
    }
}

#[test]
fn the_version_is_said() {
    for version in [5, 6] {
        let document: Value =
            serde_json::from_str(&asked(version, &["info", "FILE", "--format", "json"])).unwrap();
        let text = document.to_string();
        assert!(text.contains(&format!("\"version\":{version}")), "{text}");
        let text = asked(version, &["info", "FILE"]);
        assert!(text.contains(&format!("DWARF {version},")), "{text}");
    }
}

/// Nothing is a fault of version 6 alone.
#[test]
fn verify_finds_the_same() {
    let of = |version| {
        let text = asked(version, &["verify", "FILE", "--format", "json"]);
        let document: Value = serde_json::from_str(&text).unwrap();
        let findings = document["files"][0]["findings"].as_array().unwrap().clone();
        let rules = findings.iter().map(|finding| finding["rule"].to_string());
        rules.collect::<Vec<_>>()
    };
    assert_eq!(of(5), of(6));
}
