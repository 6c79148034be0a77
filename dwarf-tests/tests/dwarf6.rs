//! Tests DWARF 6, which is read as far as it matches DWARF 5. clang 22 compiled the same program to both versions (`fixtures/shapes`).
//! llvm-dwarfdump cannot read version 6, so its output for version 5 is the expected output.

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

/// Returns the output of `dump` without lengths and offsets of entries. These differ, because version 6 has a different attribute for the
/// language.
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
fn info_has_the_version() {
    for version in [5, 6] {
        let document: Value =
            serde_json::from_str(&asked(version, &["info", "FILE", "--format", "json"])).unwrap();
        let text = document.to_string();
        assert!(text.contains(&format!("\"version\":{version}")), "{text}");
        let text = asked(version, &["info", "FILE"]);
        assert!(text.contains(&format!("DWARF {version},")), "{text}");
    }
}

/// No finding is specific to version 6.
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

/// Returns the parts of a location: the number of bits, and the place.
fn parts(dialect: &str, expression: &str) -> Result<(u128, Vec<(u128, String)>), String> {
    let arguments = [
        "eval",
        "--format",
        "json",
        "--dialect",
        dialect,
        "--expr",
        expression,
    ];
    let ran = hetdwarf(arguments);
    let document: Value = serde_json::from_str(&ran.out).map_err(|_| ran.err)?;
    let lane = &document["lanes"][0];
    if let Some(error) = lane["error"]["kind"].as_str() {
        return Err(error.to_owned());
    }
    let number = dwarf_tests::number;
    let place = &lane["result"]["places"][0];
    let all = place["parts"].as_array().unwrap().iter().map(|part| {
        let place = &part["places"][0];
        let at = match place["storage"].as_str().unwrap() {
            "memory" => format!("memory {}", number(&place["bit_offset"]) / 8),
            "register" => place["register"].as_str().unwrap().to_owned(),
            other => other.to_owned(),
        };
        (number(&part["bit_size"]), at)
    });
    Ok((number(&place["bit_offset"]), all.collect()))
}

/// Places an overlay of four bytes at eight bytes from the base. HET A.2.5.4.4.6: the result starts at the base and has the rest of its
/// storage, and an overlay past the end is ill-formed. DWARF 6 (251120.1): the result is the whole storage of the base, at the offset of
/// the base, and the bytes between its end and the overlay are undefined.
#[test]
fn overlays_have_the_meaning_of_the_dialect() {
    let over_memory =
        |name: &str| format!("DW_OP_addr 0x18, DW_OP_regx SGPR6, DW_OP_lit8, DW_OP_lit4, {name}");
    let (offset, found) = parts("user", &over_memory("DW_OP_LLVM_overlay")).unwrap();
    let memory = |address: u32| format!("memory {address}");
    assert_eq!(
        (offset, &found[..2]),
        (0, &[(64, memory(24)), (32, "s6".to_owned())][..])
    );
    assert_eq!(found[2].1, memory(36));
    let (offset, found) = parts("dwarf6", &over_memory("DW_OP_overlay")).unwrap();
    assert_eq!(
        (offset, &found[..2]),
        (24 * 8, &[(256, memory(0)), (32, "s6".to_owned())][..])
    );
    assert_eq!(found[2].1, memory(36));
    let past_the_end =
        |name: &str| format!("DW_OP_regx SGPR4, DW_OP_regx SGPR6, DW_OP_lit8, DW_OP_lit4, {name}");
    let refused = parts("user", &past_the_end("DW_OP_LLVM_overlay"));
    assert_eq!(refused, Err("ill-formed".to_owned()));
    let extended = parts("dwarf6", &past_the_end("DW_OP_overlay")).unwrap();
    let expected = [(32, "s4"), (32, "undefined"), (32, "s6")];
    assert_eq!(
        extended,
        (0, expected.map(|(bits, at)| (bits, at.to_owned())).to_vec())
    );
}

/// A composite of DWARF 6 begins with `DW_OP_composite`. It is always a location: it can be offset, and can be a part.
#[test]
fn a_composite_of_dwarf_6_is_a_location() {
    let text = "DW_OP_composite, DW_OP_regx SGPR4, DW_OP_piece 4, DW_OP_regx SGPR5, DW_OP_piece 4, DW_OP_lit4, DW_OP_offset";
    let expected = [(32, "s4".to_owned()), (32, "s5".to_owned())].to_vec();
    assert_eq!(parts("dwarf6", text), Ok((32, expected)));
    let empty = "DW_OP_regx SGPR4, DW_OP_composite, DW_OP_regx SGPR5, DW_OP_piece 4";
    assert_eq!(parts("dwarf6", empty), Ok((0, vec![(32, "s5".to_owned())])));
}
