//! What is measured. The wall times and the instruction counts are those of the same cases.
//!
//! A case is made once, from files or text; what is measured is [`Case::run`], which does all of what its name says and
//! keeps nothing. What the cases give is checked when they are made.

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

/// Something to measure.
pub(crate) struct Case {
    run: Box<dyn Fn()>,
    /// How many times a run does what the name says.
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

    /// Something that is done so many times in a run.
    fn repeated<T: 'static>(times: u32, run: impl Fn() -> T + 'static) -> Case {
        Case {
            times,
            ..Case::new(run)
        }
    }

    /// What is measured.
    pub(crate) fn run(&self) {
        (self.run)();
    }
}

/// A name, and how the case is made. The name is `group/subject`, or `group/subject/who` where several do the same.
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

/// The names of all cases, in the order of the tables.
pub(crate) fn names() -> Vec<String> {
    makers().into_iter().map(|(name, _)| name).collect()
}

/// The case of a name.
pub(crate) fn case(name: &str) -> Case {
    let maker = makers().into_iter().find(|(found, _)| found == name);
    maker.unwrap_or_else(|| panic!("there is no case {name}")).1()
}

fn maker(name: impl Into<String>, make: impl Fn() -> Case + 'static) -> Maker {
    (name.into(), Box::new(make))
}

/// Addresses in ranges of code, in no order.
fn scattered(ranges: &[core::ops::Range<u64>], count: u32) -> Vec<u64> {
    // Knuth's constants.
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

/// Something that cases use for as long as the program runs.
fn keep<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// A file of the fixtures.
fn fixture(path: &str) -> &'static [u8] {
    keep(std::fs::read(path_of(path)).unwrap())
}

/// Where it is.
fn path_of(path: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("dwarf-tests/fixtures");
    folder.join(path)
}
