//! The core of `hetdwarf demo` is made of waves with known contents, and the output agrees with them.

use dwarf_tests::cores::{Folder, demo};
use dwarf_tests::{fixture, hetdwarf, package};
use insta::assert_snapshot;
use serde_json::Value;

/// The writer of the tests makes the cores from emulated waves. `HETDWARF_WRITE_DEMO=1` writes the files.
#[test]
fn the_cores_are_made_of_emulated_waves() {
    let examples = package().join("../examples");
    for (path, made) in [
        ("demo/demo.core", demo::calls()),
        ("particles/particles.core", demo::particles()),
    ] {
        let (path, made) = (examples.join(path), made.merged());
        if std::env::var_os("HETDWARF_WRITE_DEMO").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        assert!(
            std::fs::read(&path).unwrap() == made,
            "HETDWARF_WRITE_DEMO=1 writes it anew"
        );
    }
    let case = fixture("waves/calls-O2");
    for (copied, file) in [
        ("demo/calls-O2.cl", case.join("calls-O2.cl")),
        ("demo/calls-O2.rocm.hsaco", case.join("calls-O2.rocm.hsaco")),
        ("demo/stop.json", case.join("w06.json")),
        (
            "../cli/src/demo/particles.core",
            examples.join("particles/particles.core"),
        ),
    ] {
        assert_eq!(
            std::fs::read(examples.join(copied)).unwrap(),
            std::fs::read(file).unwrap(),
            "{copied}"
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

/// The lanes, values and addresses equal the values that the source implies, computed without the machine code.
#[test]
fn what_it_prints_is_true() {
    let truth = demo::particles_truth();
    let numbers = |value: &Value| -> Vec<i64> {
        let values = value.as_array().unwrap().iter();
        values.map(|value| value.as_i64().unwrap()).collect()
    };
    let text = hetdwarf(["demo"]).out;
    // If a table is broken into several, each part has a row with this label.
    let row = |start: &str| -> Vec<i64> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(start));
        let values = lines.flat_map(str::split_whitespace);
        values.map(|value| value.parse().unwrap()).collect()
    };
    let lanes = numbers(&truth["in_put"]);
    assert_eq!(row("lane "), lanes);
    assert_eq!(lanes.len(), 24);
    let slots = numbers(&truth["slot"]);
    let of_lanes: Vec<i64> = lanes.iter().map(|&lane| slots[lane as usize]).collect();
    assert_eq!(row("int slot "), of_lanes);
    // The wave is in the third workgroup, of 32 work-items each.
    let particles: Vec<i64> = lanes.iter().map(|lane| 64 + lane).collect();
    assert_eq!(row("unsigned int particle "), particles);
    let faults = truth["fault"].as_array().unwrap();
    assert_eq!(faults.len(), 2);
    for fault in faults {
        let (lane, address) = (&fault["lane"], fault["address"].as_u64().unwrap());
        let line = format!(
            "  lane {lane}, work-item ({},0,0): {address:#x}\n",
            64 + lane.as_i64().unwrap()
        );
        assert!(text.contains(&line), "{line}{text}");
    }
    // The slot 2086 is 38 elements of 4 bytes past the end of 64 * 32 elements.
    assert!(
        text.contains(" 152 bytes\n  past the end of the memory that argument cells points into")
    );
    assert!(text.contains("as element 2086 of at most 2048 (slot\n  = 2086)"));
    assert!(text.contains("  >  13      cells[slot] = particle;\n"));
}

/// The saved file is the core, and each printed command works with it.
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
