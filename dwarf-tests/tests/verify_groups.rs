//! Checks that grouping findings by cause loses no finding, over all objects of the corpus, and leaves a readable number.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::collections::BTreeMap;

use dwarf_tests::{fixture, hetdwarf};
use serde_json::Value;

/// The identity of a finding: path, rule, level, section, offset, pc, function and register.
type Key = String;

fn verify(arguments: &[&str]) -> Value {
    let path = fixture("corpus");
    let all = ["verify", path.to_str().unwrap(), "--format=json"];
    let ran = hetdwarf(all.iter().chain(arguments).copied());
    serde_json::from_str(&ran.out).unwrap()
}

/// Adds a key for each register of a place, or one key for a place without registers.
fn add(keys: &mut BTreeMap<Key, u64>, rule: [&Value; 2], path: &Value, place: &Value) {
    let registers = match place.get("registers").and_then(Value::as_array) {
        Some(names) if !names.is_empty() => names.iter().map(Value::to_string).collect(),
        Some(_) | None => vec![String::new()],
    };
    for register in registers {
        let place = ["section", "offset", "pc", "function"].map(|name| place[name].to_string());
        let key = format!("{path} {rule:?} {place:?} {register}");
        *keys.entry(key).or_default() += 1;
    }
}

/// Returns all findings of a document, including those listed only as having the same cause.
fn findings(document: &Value) -> BTreeMap<Key, u64> {
    let mut keys = BTreeMap::new();
    for file in document["files"].as_array().unwrap() {
        for finding in file["findings"].as_array().unwrap() {
            let rule = [&finding["rule"], &finding["severity"]];
            add(&mut keys, rule, &file["path"], finding);
            let mut count = 1;
            for place in finding
                .get("also")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                let path = place.get("path").unwrap_or(&file["path"]);
                let before: u64 = keys.values().sum();
                add(&mut keys, rule, path, place);
                count += keys.values().sum::<u64>() - before;
            }
            if let Some(said) = finding.get("count") {
                assert_eq!(said, count, "{finding:#}");
            }
        }
    }
    keys
}

#[test]
fn every_finding_belongs_to_a_cause() {
    let (each, grouped) = (verify(&["--each"]), verify(&[]));
    assert!(each["summary"].get("findings").is_none());
    let (singles, expanded) = (findings(&each), findings(&grouped));
    for (key, count) in &singles {
        assert_eq!(expanded.get(key), Some(count), "{key}");
    }
    assert_eq!(singles.len(), expanded.len());
    let total: u64 = singles.values().sum();
    assert_eq!(grouped["summary"]["findings"], total);
    let numbers = |name: &str| grouped["summary"][name].as_u64().unwrap();
    let causes = numbers("errors") + numbers("warnings") + numbers("notes");
    // There were 3,461 findings in 97 files when this was written.
    assert!(total > 3000 && causes < 100, "{causes} of {total}");
    // The table by rule has the same totals.
    let rows = grouped["rules"].as_array().unwrap();
    let sum = |name: &str| {
        rows.iter()
            .map(|row| row[name].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!((sum("causes"), sum("findings")), (causes, total));
    assert!(rows.len() < 40, "it fits on a screen");
}

/// An epilogue of LLVM 24 restores no rules: there is one reload for s34 to s36, s38, the return address and the caller's s33.
#[test]
fn an_epilogue_is_one_finding() {
    let path = fixture("waves/recursion/recursion.hsaco");
    let ran = hetdwarf([
        "verify",
        path.to_str().unwrap(),
        "--rules=cfi-stale-lane",
        "--format=json",
    ]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let found = document["files"][0]["findings"].as_array().unwrap();
    let functions: Vec<_> = found
        .iter()
        .map(|one| one["function"].to_string())
        .collect();
    assert!(!found.is_empty());
    for one in found {
        assert_eq!(one["functions"], 1);
        let others = one["also"].as_array().unwrap();
        let registers = others
            .iter()
            .flat_map(|place| place["registers"].as_array().unwrap());
        assert_eq!(one["count"], 1 + registers.count(), "{functions:?}");
    }
}

#[test]
fn the_summary_is_a_table_alone() {
    let path = fixture("corpus");
    let path = path.to_str().unwrap();
    let text = hetdwarf(["verify", path, "--summary"]).out;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("level ") && lines.len() < 40, "{text}");
    assert!(lines[1].starts_with("error "), "{text}");
    // If the findings do not fit on a screen, the output starts with the table.
    let whole = hetdwarf(["verify", path]).out;
    assert!(whole.starts_with(&lines[..lines.len() - 1].join("\n")));
    let json: Value =
        serde_json::from_str(&hetdwarf(["verify", path, "--summary", "--format=json"]).out)
            .unwrap();
    assert_eq!(json["format"], "hetdwarf-verify-summary/1");
    assert_eq!(json["rules"].as_array().unwrap().len() + 2, lines.len());
    let sarif = hetdwarf(["verify", path, "--summary", "--format=sarif"]);
    assert_eq!((sarif.status, sarif.out.as_str()), (2, ""));
}
