//! Runs the conformance vectors through the library and through `hetdwarf eval --batch`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use dwarf_tests::{hetdwarf, number, package};
use fallible_iterator::FallibleIterator;
use hetdwarf::expr::{Encoding, Opcode, ParseOptions, ROWS, operations, parse};
use hetdwarf::report::parse_hex_bytes;
use serde_json::Value;

fn vectors(file: &str) -> (PathBuf, Vec<Value>) {
    let path = package().join("vectors").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let vectors = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).unwrap());
    (path, vectors.collect())
}

/// Compares an answer with an expectation. Returns the reason if they differ.
fn compare(expected: &Value, answer: &Value) -> Result<(), String> {
    if let Some(error) = expected.get("error") {
        let kinds: Vec<&Value> = match &error["kind"] {
            Value::Array(kinds) => kinds.iter().collect(),
            kind => vec![kind],
        };
        if !kinds.contains(&&answer["error"]["kind"]) {
            return Err(format!("expected an error of kind {kinds:?}, got {answer}"));
        }
    } else if let Some(error) = answer.get("error") {
        return Err(format!("unexpected error {error}"));
    }
    if let Some(result) = expected.get("result") {
        compare_result(result, &answer["result"])?;
    }
    if let Some(read) = expected.get("read") {
        compare_read(read, &answer["read"])?;
    }
    Ok(())
}

fn compare_result(expected: &Value, answer: &Value) -> Result<(), String> {
    let different = || Err(format!("expected {expected}, got {answer}"));
    if expected["kind"] != answer["kind"] {
        return different();
    }
    if expected["kind"] == "value" {
        let same = expected["bytes"] == answer["bytes"] && expected["type"] == answer["type"];
        return if same { Ok(()) } else { different() };
    }
    let (places, found) = (
        expected["places"].as_array().unwrap(),
        answer["places"].as_array().unwrap(),
    );
    if places.len() != found.len() {
        return different();
    }
    for (place, found) in places.iter().zip(found) {
        for (key, value) in place.as_object().unwrap() {
            let same = match key.as_str() {
                // The parts of a composite are checked by reading from it.
                "parts" => true,
                "bit_offset" | "dwarf" | "lane" | "bit_size" | "die" => found
                    .get(key)
                    .is_some_and(|found| number(found) == number(value)),
                _ => found.get(key) == Some(value),
            };
            if !same {
                return different();
            }
        }
    }
    Ok(())
}

fn compare_read(expected: &Value, answer: &Value) -> Result<(), String> {
    let bits = |ranges: &Value| -> HashSet<u64> {
        let ranges = ranges.as_array().unwrap().iter();
        ranges
            .flat_map(|range| range[0].as_u64().unwrap()..range[1].as_u64().unwrap())
            .collect()
    };
    let same = answer.is_object()
        && expected["bit_size"] == answer["bit_size"]
        && expected["bytes"] == answer["bytes"]
        && bits(&expected["undefined"]) == bits(&answer["undefined"])
        && bits(&expected["unavailable"]) == bits(&answer["unavailable"]);
    if same {
        Ok(())
    } else {
        Err(format!("expected to read {expected}, read {answer}"))
    }
}

fn hold(file: &str, at_least: usize) {
    let (path, vectors) = vectors(file);
    assert!(
        vectors.len() >= at_least,
        "{} has only {} vectors",
        path.display(),
        vectors.len()
    );
    let arguments = [
        "eval".into(),
        "--batch".into(),
        path.clone().into_os_string(),
        "--format".into(),
        "json".into(),
    ];
    let ran = hetdwarf(arguments);
    assert_eq!(ran.err, "");
    let answers: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), vectors.len(), "one answer a line");
    let lanes_of = |answer: &Value| answer["lanes"].as_array().unwrap().clone();
    let failed = answers.iter().flat_map(lanes_of);
    let failed = failed.into_iter().any(|lane| lane.get("error").is_some());
    assert_eq!(ran.status, u8::from(failed), "a line failed");
    let mut failures = Vec::new();
    let mut lanes = 0;
    for (vector, answer) in vectors.iter().zip(&answers) {
        assert_eq!(vector["id"], answer["id"]);
        let expected = vector["expect"]["lanes"].as_array().unwrap();
        let found = answer["lanes"].as_array().unwrap();
        let result = if expected.len() == found.len() {
            lanes += expected.len();
            expected
                .iter()
                .zip(found)
                .try_for_each(|(expected, found)| compare(expected, found))
        } else {
            Err(format!("expected {} lanes, got {answer}", expected.len()))
        };
        // If the specification is open, an implementation may differ.
        if let (Err(reason), false) = (result, vector["optional"] == true) {
            failures.push(format!(
                "{}: {}\n  {}\n  {reason}",
                vector["id"], vector["expr"], vector["why"]
            ));
        }
    }
    println!(
        "{}: {} vectors, {lanes} lanes compared",
        path.display(),
        vectors.len()
    );
    assert!(
        failures.is_empty(),
        "{} of {} fail:\n{}",
        failures.len(),
        vectors.len(),
        failures.join("\n")
    );
}

#[test]
fn worked_examples_of_the_documents() {
    hold("spec-examples.jsonl", 135);
}

#[test]
fn every_rule_at_its_edges() {
    hold("from-the-text.jsonl", 700);
}

#[test]
fn every_vector_has_text_that_means_its_bytes() {
    use hetdwarf::arch::WaveSize;

    let mut compared = 0;
    for file in ["spec-examples.jsonl", "from-the-text.jsonl"] {
        for vector in vectors(file).1 {
            let (Some(text), Some(hex)) = (vector["expr"].as_str(), vector["hex"].as_str()) else {
                continue;
            };
            let wave32 = vector["wave"]
                .as_str()
                .is_some_and(|wave| wave.contains("wave32"));
            let address_size = vector["address_size"]
                .as_u64()
                .map_or(8, |size| u8::try_from(size).unwrap());
            let options = ParseOptions {
                wave_size: if wave32 {
                    WaveSize::Wave32
                } else {
                    WaveSize::Wave64
                },
                encoding: Encoding {
                    address_size,
                    ..Encoding::AMDGPU
                },
                unit_offset: 0,
            };
            let bytes = parse(text, &options)
                .unwrap_or_else(|e| panic!("{text}: {e}"))
                .encode(options.encoding)
                .unwrap();
            assert_eq!(
                bytes,
                parse_hex_bytes(hex).unwrap(),
                "{}: {text}",
                vector["id"]
            );
            compared += 1;
        }
    }
    assert!(compared > 650, "only {compared} texts");
}

/// Operations without a vector, with reasons.
const WITHOUT_VECTORS: &[(Opcode, &str)] = &[
    (
        Opcode::GnuUninit,
        "it says something of the variable, and does nothing",
    ),
    (
        Opcode::GnuParameterRef,
        "only GCC writes it, in call sites, and a vector has no other unit",
    ),
    (
        Opcode::GnuVariableValue,
        "only GCC writes it, and a vector has no entry of a variable",
    ),
    (Opcode::NvidiaMux, "what it does is not published"),
    (
        Opcode::Composite,
        "it is of DWARF 6, and vectors are of the extensions: `dwarf6.rs`",
    ),
];

/// A new operation is reported until it has a vector.
#[test]
fn every_operation_has_a_vector() {
    let mut used = HashSet::new();
    for file in ["spec-examples.jsonl", "from-the-text.jsonl"] {
        for vector in vectors(file).1 {
            // Some vectors have no encoding, and others no text.
            if let Some(text) = vector["expr"].as_str() {
                let parsed = parse(text, &ParseOptions::default()).unwrap();
                used.extend(parsed.operations().map(|operation| operation.opcode()));
            }
            let bytes = parse_hex_bytes(vector["hex"].as_str().unwrap_or_default()).unwrap();
            let mut operations = operations(&bytes, Encoding::AMDGPU);
            while let Ok(Some(item)) = operations.next() {
                used.insert(item.operation.opcode());
            }
        }
    }
    let missing = ROWS.iter().map(|row| row.opcode);
    let missing: Vec<Opcode> = missing.filter(|opcode| !used.contains(opcode)).collect();
    let excused: Vec<Opcode> = WITHOUT_VECTORS.iter().map(|(opcode, _)| *opcode).collect();
    assert_eq!(missing, excused);
}

#[test]
fn a_line_that_cannot_be_run_answers_with_an_error_and_the_rest_go_on() {
    let folder = std::env::temp_dir().join(format!("hetdwarf-batch-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path: &Path = &folder.join("batch.jsonl");
    let lines = [
        r#"{"id": "good", "expr": "DW_OP_lit1"}"#,
        "not JSON",
        r#"{"id": "no-wave", "expr": "DW_OP_lit1", "wave": "missing.json"}"#,
        r#"{"id": 7, "hex": "zz"}"#,
        r#"{"id": "steps", "hex": "2ffdff", "max_steps": 100}"#,
        r#"{"id": "last", "hex": "32"}"#,
    ];
    // The last line is not UTF-8.
    let file = [lines.join("\n").as_bytes(), b"\n\xff\xfe\n"].concat();
    std::fs::write(path, file).unwrap();
    let ran = hetdwarf(["eval".as_ref(), "--batch".as_ref(), path.as_os_str()]);
    let answers: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), lines.len() + 1);
    assert_eq!(answers[6]["error"]["kind"], "syntax");
    assert_eq!(
        answers[0]["lanes"][0]["result"]["bytes"],
        "0100000000000000"
    );
    assert_eq!(answers[1]["error"]["kind"], "syntax");
    assert!(
        answers[2]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("missing.json")
    );
    assert_eq!(answers[3]["id"], 7);
    assert_eq!(answers[3]["error"]["kind"], "syntax");
    assert_eq!(answers[4]["lanes"][0]["error"]["kind"], "limit");
    assert_eq!(
        answers[5]["lanes"][0]["result"]["bytes"],
        "0200000000000000"
    );
    assert_eq!(ran.status, 1);
    std::fs::remove_dir_all(folder).unwrap();
}
