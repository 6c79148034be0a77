//! Compares the loops that are found around stopped waves with the loops of the source.

#![allow(
    clippy::unwrap_used,
    reason = "a failure here is a failure of the test"
)]

use std::ops::RangeInclusive;

use dwarf_tests::{fixture, json};
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::Snapshot;

/// The unoptimised programs, with the lines of their loops. Code of other lines is in no loop.
const PROGRAMS: [(&str, &[RangeInclusive<u64>]); 7] = [
    ("calls", &[27..=30]),
    ("loops", &[11..=18, 25..=25, 28..=32, 38..=42]),
    ("manyargs", &[22..=22]),
    ("pointers", &[11..=14]),
    ("recursion", &[]),
    ("structs", &[13..=13]),
    ("wide", &[]),
];

/// A wave is in a loop if its line is, or the line of a call on its stack. In `calls` and `recursion`, jumps back lead to code after an `if`,
/// which is no loop.
#[test]
fn a_wave_is_in_a_loop_where_the_source_has_one() {
    let (mut within, mut outside) = (0, 0);
    for (name, loops) in PROGRAMS {
        let folder = fixture("waves").join(name);
        let file = std::fs::read(folder.join(format!("{name}.rocm.hsaco"))).unwrap();
        let object = CodeObject::parse(&file).unwrap();
        let program = Program::load(&object).unwrap();
        let truth = json(&folder.join("truth.json"));
        for snapshot in truth["snapshots"].as_array().unwrap() {
            let frames = snapshot["frames"].as_array().unwrap();
            let lines: Vec<u64> = frames
                .iter()
                .filter_map(|one| one["line"].as_u64())
                .collect();
            let is_within = lines
                .iter()
                .any(|line| loops.iter().any(|lines| lines.contains(line)));
            // Code of a loop's first line runs before the loop, too, and code of line 0 may be anywhere.
            let is_sure =
                |line: &u64| *line != 0 && loops.iter().all(|lines| lines.start() != line);
            if !lines.iter().all(is_sure) {
                continue;
            }
            let wave = snapshot["wave"].as_str().unwrap();
            let read = std::fs::read(folder.join(wave)).unwrap();
            let read = Snapshot::from_json(&read).unwrap();
            let arena = Arena::new();
            let options = StopOptions::loaded_at(read.load_address);
            let stop = Stop::new(&program, &read, read.pc(), options, &arena);
            let found = stop.innermost_loop();
            assert_eq!(
                found.is_some(),
                is_within,
                "{name} {wave}: {found:x?}, {lines:?}"
            );
            match is_within {
                true => within += 1,
                false => outside += 1,
            }
        }
    }
    assert!(
        within > 10 && outside > 40,
        "{within} within, {outside} outside"
    );
}
