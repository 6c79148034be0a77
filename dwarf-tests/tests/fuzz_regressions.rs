//! What the fuzzer holds any bytes against also holds for the inputs it starts from, and for every input that
//! once broke something: `fixtures/fuzz/TARGET/`, where the name of a file says what it broke.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use dwarf_tests::fixture;
use dwarf_tests::fuzz::{TARGETS, target};

/// How long an input may take: nothing is optimised here, and other tests run beside.
const LONGEST: Duration = Duration::from_secs(20);

/// The kept inputs of a target, with their names.
fn kept(target: &str) -> Vec<(String, Vec<u8>)> {
    let Ok(folder) = std::fs::read_dir(fixture("fuzz").join(target)) else {
        return Vec::new();
    };
    let mut found: Vec<_> = folder
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(&path).unwrap())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn no_kept_input_breaks_anything_again() {
    let mut failures = Vec::new();
    let mut count = 0;
    for target in TARGETS {
        for (name, bytes) in kept(target.name) {
            let start = Instant::now();
            let result = catch_unwind(AssertUnwindSafe(|| (target.check)(&bytes)));
            if result.is_err() || start.elapsed() > LONGEST {
                failures.push(format!("{}/{name}, {:?}", target.name, start.elapsed()));
            }
            count += 1;
        }
    }
    assert!(failures.is_empty(), "of {count} kept inputs: {failures:#?}");
}

/// A folder whose name is no target's would be passed over.
#[test]
fn every_kept_input_belongs_to_a_target() {
    for entry in std::fs::read_dir(fixture("fuzz")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(
            !entry.path().is_dir() || target(&name).is_some(),
            "{name} is no target"
        );
    }
}

macro_rules! seeds {
    ($($name:ident)*) => {
        /// The inputs that fuzzing starts from; a few of those that take long.
        mod seeds {
            $(#[test]
            fn $name() {
                super::seeds_of(stringify!($name));
            })*

            #[test]
            fn of_every_target() {
                let names = [$(stringify!($name)),*];
                assert!(super::TARGETS.iter().map(|target| target.name).eq(names));
            }
        }
    };
}

seeds! { expression text evaluation gimli call_frames object damage capi containers snapshot machine_code gpu_core
bundles archives configuration baseline }

fn seeds_of(name: &str) {
    let target = target(name).unwrap();
    let seeds = (target.seeds)();
    assert!(seeds.len() >= 10, "{} seeds", seeds.len());
    let start = Instant::now();
    for (number, seed) in seeds.iter().enumerate() {
        (target.check)(seed);
        if start.elapsed() > LONGEST {
            println!("{name}: {} of {} seeds", number + 1, seeds.len());
            return;
        }
    }
}
