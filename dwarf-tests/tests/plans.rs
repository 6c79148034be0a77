//! Checks that cached facts about addresses where waves stopped change no answer, and no cost of an answer.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use dwarf_tests::fixture;
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::display::Options;
use hetdwarf::eval::Reading;
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::{Snapshot, Wave};

/// Returns every variable of every frame with its type, reading, states and texts. Also returns the steps for each frame.
fn answers(program: &Program<'_>, wave: &Snapshot, reading: Reading) -> (Vec<String>, Vec<u64>) {
    let arena = Arena::new();
    let options = StopOptions::loaded_at(wave.load_address).reading(reading);
    let stop = Stop::new(program, wave, wave.pc(), options, &arena);
    let mut types = TypeTable::default();
    let (mut told, mut steps) = (Vec::new(), Vec::new());
    for frame in stop.call_frames() {
        for value in frame.variables(&mut types).unwrap() {
            let lanes = wave.wave_size().all_lanes().map(|lane| {
                let text = value.text(lane, &types, &Options::default());
                (value.state(lane), text)
            });
            let lanes: Vec<_> = lanes.collect();
            let name = &value.variable.name;
            told.push(format!(
                "{name:?} {} {:?} {:?} {lanes:?}",
                value.type_name,
                value.reading,
                value.doubts()
            ));
        }
        steps.push(stop.meter().steps());
    }
    (told, steps)
}

/// Queries each wave of the fixtures in a shared program, and in a program of its own. In the second case the second query counts, because
/// the first fills the caches.
#[test]
fn waves_that_share_a_program_are_told_what_each_would_be_told() {
    let (mut stops, mut variables) = (0, 0);
    for folder in [
        "calls-O2",
        "calls",
        "loops-gfx90a",
        "structs",
        "pointers",
        "lds",
    ] {
        let folder = fixture("waves").join(folder);
        let mut files: Vec<_> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|file| file.unwrap().path())
            .collect();
        files.sort();
        let ends = |end: &str| {
            let end = end.to_owned();
            files.iter().filter(move |path| {
                let name = path.file_name().unwrap().to_str().unwrap();
                name.ends_with(&end) && (end != ".json" || name.starts_with('w'))
            })
        };
        for file in ends(".hsaco") {
            let bytes = std::fs::read(file).unwrap();
            let object = CodeObject::parse(&bytes).unwrap();
            let shared = Program::load(&object).unwrap();
            for path in ends(".json") {
                let wave = Snapshot::from_json(&std::fs::read(path).unwrap()).unwrap();
                for reading in [Reading::Tolerant, Reading::Strict] {
                    let alone = Program::load(&object).unwrap();
                    let first = answers(&alone, &wave, reading);
                    let again = answers(&alone, &wave, reading);
                    let in_shared = answers(&shared, &wave, reading);
                    assert_eq!(first.0, again.0, "{} {reading:?}", path.display());
                    assert_eq!(first.0, in_shared.0, "{} {reading:?}", path.display());
                    let in_shared = answers(&shared, &wave, reading);
                    assert_eq!(again, in_shared, "{} {reading:?}", path.display());
                    stops += 1;
                    variables += first.0.len();
                }
            }
        }
    }
    assert!(stops > 100 && variables > 1000, "{stops} {variables}");
}
