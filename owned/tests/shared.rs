//! Threads that share a program get the same answers as a single thread. `.ci/full` runs this under the thread sanitizer, which detects data
//! races.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::path::Path;
use std::sync::Barrier;

use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::report::{LanePcDocument, UnwindDocument, VarsDocument, VarsRequest};
use hetdwarf::verify::verify;
use hetdwarf::wave::Snapshot;

/// Queries everything that a program caches: stacks, lanes, variables, lines, and results of the checks.
fn answers(program: &Program<'_>, wave: &Snapshot) -> Vec<String> {
    let arena = Arena::new();
    let options = StopOptions::loaded_at(wave.load_address);
    let stop = Stop::new(program, wave, wave.pc(), options, &arena);
    let json = |document: serde_json::Result<String>| document.unwrap();
    let mut told = vec![json(serde_json::to_string(
        &UnwindDocument::new(&stop).unwrap(),
    ))];
    let request = VarsRequest::default();
    let variables = VarsDocument::of_all_frames(&stop, &request).unwrap();
    told.push(json(serde_json::to_string(&variables)));
    for frame in stop.call_frames() {
        let lanes = LanePcDocument::new(&frame).unwrap();
        told.push(json(serde_json::to_string(&lanes)));
    }
    told
}

#[test]
fn threads_that_share_a_program_are_told_what_one_is_told() {
    const THREADS: usize = 4;
    const TIMES: usize = 3;
    let waves = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dwarf-tests/fixtures/waves");
    for (folder, object) in [
        ("calls-O2", "calls-O2.rocm.hsaco"),
        ("structs", "structs.hsaco"),
    ] {
        let folder = waves.join(folder);
        let file = std::fs::read(folder.join(object)).unwrap();
        let wave = |number: usize| {
            let path = folder.join(format!("w{number:02}.json"));
            Snapshot::from_json(&std::fs::read(path).unwrap()).unwrap()
        };
        let waves: Vec<Snapshot> = (0..3).map(wave).collect();
        let object = CodeObject::parse(&file).unwrap();
        let alone = Program::load(&object).unwrap();
        let expected: Vec<_> = waves.iter().map(|wave| answers(&alone, wave)).collect();
        let findings = verify(&alone).findings;
        for _ in 0..TIMES {
            // The caches are empty, so the threads compute the same answers at the same time.
            let shared = Program::load(&object).unwrap();
            let start = Barrier::new(THREADS);
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    let (shared, start, waves, expected, findings) =
                        (&shared, &start, &waves, &expected, &findings);
                    scope.spawn(move || {
                        start.wait();
                        // Each thread begins with a different wave.
                        for number in (0..waves.len()).map(|number| (number + thread) % waves.len())
                        {
                            assert!(answers(shared, &waves[number]) == expected[number]);
                        }
                        assert!(verify(shared).findings == *findings);
                    });
                }
            });
        }
    }
}
