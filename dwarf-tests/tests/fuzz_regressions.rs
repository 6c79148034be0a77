//! Runs the fuzzer's checks on its seed inputs, and on every input that once failed: `fixtures/fuzz/TARGET/`, where the name of a file
//! describes the failure.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use dwarf_tests::fixture;
use dwarf_tests::fuzz::{TARGETS, target};

/// The time limit of an input: builds are unoptimized here, and other tests run at the same time.
const LONGEST: Duration = Duration::from_secs(20);

/// Returns the kept inputs of a target, with their names.
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

/// A folder that is not named after a target would be ignored.
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
        /// Runs each target on its seeds, or on a few of them if they take long.
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
bundles archives configuration baseline adapter entries lines frames lists flow }

/// Changes seeds, and runs targets on them for `HETDWARF_FUZZ_SECONDS`, for machines without a fuzzer. A failing input is written to the
/// temporary folder. `HETDWARF_FUZZ` names the targets.
#[test]
#[ignore = "takes as long as it is told"]
fn changed_seeds_break_nothing() {
    let number =
        |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let seconds = Duration::from_secs(number("HETDWARF_FUZZ_SECONDS", 5));
    let wanted = std::env::var("HETDWARF_FUZZ").unwrap_or_default();
    let mut state = dwarf_tests::seeds::asked_for().unwrap_or(1);
    println!("seed {state:#x}");
    let mut next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) >> 1).unwrap()
    };
    let mut failures = Vec::new();
    for target in TARGETS {
        if !wanted.is_empty() && !wanted.split(',').any(|name| name == target.name) {
            continue;
        }
        let mut pool = (target.seeds)();
        let (start, mut count) = (Instant::now(), 0);
        while start.elapsed() < seconds && failures.len() < 4 {
            let mut input = pool[next() % pool.len()].clone();
            for _ in 0..1 + next() % 6 {
                let at = next() % (input.len() + 1);
                match next() % 5 {
                    0 if at < input.len() => input[at] = next().to_le_bytes()[1],
                    1 if at < input.len() => input[at] ^= 1 << (next() % 8),
                    2 => input.insert(at, next().to_le_bytes()[1]),
                    3 => input.truncate(at),
                    _ => {
                        let other = &pool[next() % pool.len()];
                        let from = next() % (other.len() + 1);
                        let length = (next() % 24).min(other.len() - from);
                        input.splice(at..at, other[from..from + length].iter().copied());
                    }
                }
            }
            let begun = Instant::now();
            let result = catch_unwind(AssertUnwindSafe(|| (target.check)(&input)));
            count += 1;
            if result.is_err() || begun.elapsed() > LONGEST {
                let name = format!("hetdwarf-{}-{}-{count}", target.name, std::process::id());
                let path = std::env::temp_dir().join(name);
                std::fs::write(&path, &input).unwrap();
                failures.push(format!("{}, {:?}", path.display(), begun.elapsed()));
            } else if pool.len() < 4096 && next() % 8 == 0 && input.len() < 4096 {
                pool.push(input);
            }
        }
        println!("{}: {count} inputs", target.name);
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

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
