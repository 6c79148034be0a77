//! `hetdwarf demo`: its core is made of waves whose truth is known, and what it prints is that truth.

use dwarf_tests::cores::{Folder, demo};
use dwarf_tests::{fixture, hetdwarf, json, package};
use insta::assert_snapshot;
use serde_json::Value;

/// The core is what the tests' writer makes of the snapshots; `HETDWARF_WRITE_DEMO=1` writes it.
#[test]
fn the_core_is_made_of_emulated_waves() {
    let path = package().join("../examples/demo/demo.core");
    let made = demo::built().merged();
    if std::env::var_os("HETDWARF_WRITE_DEMO").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    assert!(
        std::fs::read(&path).unwrap() == made,
        "HETDWARF_WRITE_DEMO=1 writes it anew"
    );
    let case = fixture("waves/calls-O2");
    for (built_in, file) in [
        ("calls-O2.cl", "calls-O2.cl"),
        ("calls-O2.rocm.hsaco", "calls-O2.rocm.hsaco"),
        ("stop.json", "w06.json"),
    ] {
        assert_eq!(
            std::fs::read(package().join("../examples/demo").join(built_in)).unwrap(),
            std::fs::read(case.join(file)).unwrap(),
            "{built_in}"
        );
    }
}

#[test]
fn it_fits_on_a_screen() {
    let ran = hetdwarf(["demo"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert!(ran.out.lines().count() <= 60, "{}", ran.out);
    let longest = ran.out.lines().map(|line| line.chars().count()).max();
    assert!(longest.unwrap() <= 100, "{}", ran.out);
    assert_snapshot!("demo", ran.out);
}

/// The host ran the same functions: lanes, variables, lines.
#[test]
fn what_it_prints_is_true() {
    let truth = json(&fixture("waves/calls-O2/truth.json"));
    let name = format!("{}.json", demo::FAULT);
    let snapshots = truth["snapshots"].as_array().unwrap();
    let stop = snapshots
        .iter()
        .find(|of| of["wave"] == name.as_str())
        .unwrap();
    let text = hetdwarf(["demo"]).out;
    let row = |start: &str| {
        let line = text.lines().find(|line| line.starts_with(start)).unwrap();
        let texts = line[start.len()..].split_whitespace();
        texts.map(str::to_owned).collect::<Vec<_>>()
    };
    let lanes = stop["active_lanes"].as_array().unwrap().iter();
    let lanes: Vec<String> = lanes.map(Value::to_string).collect();
    assert_eq!(row("lane "), lanes);
    // The odd ones up to 25.
    assert_eq!(lanes.len(), 13);
    assert!(text.contains("active: lanes 1-25 odd, work-items (65,0,0) to (89,0,0)\n"));
    let mut compared = 0;
    for variable in stop["variables"].as_array().unwrap() {
        let name = variable["name"].as_str().unwrap();
        if ["a", "x"].contains(&name) {
            let lanes = variable["lanes"].as_array().unwrap().iter();
            let values: Vec<_> = lanes.map(|lane| lane["value"].as_str().unwrap()).collect();
            assert_eq!(row(&format!("int {name} ")), values, "{name}");
            compared += 1;
        }
    }
    assert_eq!(compared, 2);
    for (level, frame) in stop["frames"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .take(2)
    {
        let (function, line) = (frame["function"].as_str().unwrap(), &frame["line"]);
        let expected = format!("  #{level}  {function} at calls-O2.cl:{line}\n");
        assert!(text.contains(&expected), "{expected}{text}");
    }
}

/// What it saves is the core, and each command that it names has an answer for it.
#[test]
fn its_last_lines_can_be_typed() {
    let folder = Folder::new();
    let path = |name: &str| folder.path(name).display().to_string();
    let text = hetdwarf(["demo"]).out;
    let mut ran_commands = 0;
    for line in text
        .lines()
        .filter_map(|line| line.strip_prefix("  hetdwarf "))
    {
        let words = line.replace('\'', "\u{1}");
        let mut arguments: Vec<String> = Vec::new();
        for (quoted, part) in words.split('\u{1}').enumerate() {
            match quoted % 2 {
                1 => arguments.push(part.to_owned()),
                _ => arguments.extend(part.split_whitespace().map(str::to_owned)),
            }
        }
        for word in &mut arguments {
            if word.starts_with("demo.") {
                *word = path(word);
            }
        }
        let ran = hetdwarf(arguments);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{line}");
        ran_commands += 1;
    }
    assert_eq!(ran_commands, 5);
    assert!(
        std::fs::read_to_string(path("demo.html"))
            .unwrap()
            .ends_with("</html>\n")
    );
}
