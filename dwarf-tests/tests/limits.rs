//! `--limit`: each can be reached, says so with its number, and is out of the way by default.

use dwarf_tests::{fixture, hetdwarf};
use serde_json::Value;

const EXPRESSION: &[&str] = &["eval", "--expr"];

/// Runs a command with a limit and without it.
fn with_and_without(arguments: &[&str], limit: &str) -> [String; 2] {
    [&["--limit", limit][..], &[]].map(|more| {
        let arguments = arguments.iter().chain(more);
        let ran = hetdwarf(arguments.chain(&["--format", "json"]));
        ran.out + &ran.err
    })
}

/// The limit is reached, and an error that names it and its number is where the answer was.
fn reaches(arguments: &[&str], limit: &str) {
    let (name, number) = limit.split_once('=').unwrap();
    // What is said of every file is more by something for each byte of it.
    let limit = match name {
        "work" | "memory" => format!("{limit},{name}-per-byte=0"),
        _ => limit.to_owned(),
    };
    let [with, without] = with_and_without(arguments, &limit);
    let message = format!("the limit `{name}` of {number} was reached");
    assert!(with.contains(&message), "{arguments:?} {limit}: {with}");
    assert!(!without.contains("the limit"), "{arguments:?}: {without}");
}

fn path(name: &str) -> String {
    fixture(name).to_str().unwrap().to_owned()
}

#[test]
fn limits_of_an_evaluation() {
    let expression = |text: &'static str| [EXPRESSION, &[text]].concat();
    reaches(&expression("lit1, lit2, plus"), "steps=2");
    reaches(&expression("lit1, lit2, plus"), "stack=1");
    reaches(&expression("regx v1, piece 4, regx v2, piece 4"), "parts=1");
    // The piece is a composite, whose first part is one.
    let nested = "regx v1, piece 4, regx v2, piece 4, piece_end, piece 8, piece_end";
    reaches(&expression(nested), "depth=1");
    let wave = path("waves/calls-O2/w06.json");
    let read = |bits| {
        let wave: &[&str] = &["--wave", &wave, "--lane", "all", "--read", bits];
        [&expression("regx v1"), wave]
            .concat()
            .iter()
            .map(|text| (*text).to_owned())
            .collect::<Vec<_>>()
    };
    let arguments = read("32");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    reaches(&arguments, "bits=31");
    // 32 lanes have 1,024 bits: 128 bytes, which are also printed.
    reaches(&arguments, "memory=511");
}

#[test]
fn limits_of_a_stopped_wave() {
    let (object, wave) = (
        path("waves/calls-O2/calls-O2.rocm.hsaco"),
        path("waves/calls-O2/w06.json"),
    );
    let vars = ["vars", &object, "--wave", &wave];
    reaches(&vars, "work=200");
    reaches(&vars, "memory=20000");
    let [with, without] = with_and_without(&["unwind", &object, "--wave", &wave], "frames=2");
    let [with, without] = [with, without].map(|text| serde_json::from_str::<Value>(&text).unwrap());
    assert_eq!(with["frames"].as_array().unwrap().len(), 2);
    assert_eq!(with["stopped"], "limit");
    assert!(without["frames"].as_array().unwrap().len() > 2);
    assert_eq!(without["stopped"], "return-address-undefined");
}

#[test]
fn limits_of_a_file() {
    let bundle = path("corpus/bundle/ccob3.hipfb");
    reaches(&["info", &bundle], "memory=1000");
    reaches(&["info", &bundle], "work=1");
    reaches(&["verify", &bundle], "work=1");
    reaches(&["dump", &bundle, "--index", "0"], "memory=1000");
}

#[test]
fn a_limit_that_is_none_is_refused() {
    for (limit, message) in [
        (
            "step=1",
            "there is no limit \"step\"; there are steps, stack",
        ),
        ("steps", "expected NAME=N"),
        ("depth=1000", "depth can be 40 at most"),
    ] {
        let ran = hetdwarf(["eval", "--expr", "lit1", "--limit", limit]);
        assert_eq!(ran.status, 2, "{}", ran.err);
        assert!(ran.err.contains(message), "{}", ran.err);
    }
}

#[test]
fn help_lists_them_with_their_defaults() {
    let help = hetdwarf(["vars", "--help"]).out;
    for (name, default) in [("steps", "131072"), ("depth", "32"), ("work", "4194304")] {
        let line = help
            .lines()
            .find(|line| line.trim_start().starts_with(&format!("{name} ")));
        assert!(
            line.is_some_and(|line| line.ends_with(&format!("({default})"))),
            "{help}"
        );
    }
}
