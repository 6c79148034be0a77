//! Lane program locations: what is written, and what a debugger reads of it.

use dwarf_tests::simulator::object_file::Addresses;
use dwarf_tests::simulator::{Failure, Figures, Way, check, generate, shrink};

/// Checks the program of a seed; one that fails is made small, and shown.
fn check_seed(seed: u64, way: Way<'_>) -> Option<Figures> {
    let source = generate(seed);
    match check(&source, way) {
        Ok(figures) => Some(figures),
        Err(Failure::TooLong) => None,
        Err(failure) => {
            let (small, why) = shrink(&source, &failure, way);
            panic!("seed {seed:#x}: {failure}\nThe smallest program: {why}\n{small}");
        }
    }
}

#[test]
fn trial() {
    let start = std::time::Instant::now();
    let mut figures = Figures::default();
    let mut long = 0;
    for seed in 0..300 {
        match check_seed(seed, Way::new(5, Addresses::Symbols)) {
            Some(more) => figures += more,
            None => long += 1,
        }
    }
    eprintln!("{figures:?} {long} too long, {:?}", start.elapsed());
}
