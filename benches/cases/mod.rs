//! The cases that are measured. Wall times and instruction counts have the same cases.
//!
//! A case is made once, from files or text. [`Case::run`] is measured: it does everything that the name says, and keeps nothing. The
//! results are checked when a case is made.

mod cores;
mod evaluators;
mod heterogeneous;
mod lanes;
mod lookup;
mod mixes;
mod objects;
mod profile;
mod rows;
mod stops;

pub(crate) use {mixes::sizes as mix_sizes, objects::dump_command, stops::waves};

pub(crate) use objects::debug_bytes;

/// A case to measure.
pub(crate) struct Case {
    run: Box<dyn Fn()>,
    /// The number of times that a run performs the named operation.
    pub(crate) times: u32,
}

impl Case {
    fn new<T: 'static>(run: impl Fn() -> T + 'static) -> Case {
        Case {
            run: Box::new(move || {
                std::hint::black_box(run());
            }),
            times: 1,
        }
    }

    /// Returns a case that repeats its subject `times` times in each run.
    fn repeated<T: 'static>(times: u32, run: impl Fn() -> T + 'static) -> Case {
        Case {
            times,
            ..Case::new(run)
        }
    }

    /// Runs the measured part.
    pub(crate) fn run(&self) {
        (self.run)();
    }
}

/// The name of a case, and the function that makes it. The name is `group/subject`, or `group/subject/who` if several libraries are
/// compared.
type Maker = (String, Box<dyn Fn() -> Case>);

fn makers() -> Vec<Maker> {
    let mut makers = evaluators::makers();
    makers.extend(heterogeneous::makers());
    makers.extend(stops::makers());
    makers.extend(objects::makers());
    makers.extend(cores::makers());
    makers.extend(lanes::makers());
    makers.extend(lookup::makers());
    makers.extend(mixes::makers());
    makers.extend(rows::makers());
    makers.extend(profile::makers());
    makers
}

/// Returns the names of all cases, in the order of the tables.
pub(crate) fn names() -> Vec<String> {
    makers().into_iter().map(|(name, _)| name).collect()
}

/// Makes the case with this name.
pub(crate) fn case(name: &str) -> Case {
    let maker = makers().into_iter().find(|(found, _)| found == name);
    maker.unwrap_or_else(|| panic!("there is no case {name}")).1()
}

fn maker(name: impl Into<String>, make: impl Fn() -> Case + 'static) -> Maker {
    (name.into(), Box::new(make))
}

/// Returns addresses in ranges of code, in pseudo-random order.
fn scattered(ranges: &[core::ops::Range<u64>], count: u32) -> Vec<u64> {
    // Knuth's constants for a linear congruential generator.
    let mut state: u64 = 1;
    let mut next = move |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let address = |_| {
        let number = usize::try_from(next(ranges.len() as u64)).unwrap();
        let range = &ranges[number];
        range.start + next(range.end - range.start)
    };
    (0..count).map(address).collect()
}

/// Leaks a value, so that cases can use it until the program ends.
fn keep<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Reads a fixture.
fn fixture(path: &str) -> &'static [u8] {
    keep(std::fs::read(path_of(path)).unwrap())
}

/// Returns the path of a fixture.
fn path_of(path: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("dwarf-tests/fixtures");
    folder.join(path)
}
