//! Evaluates every variable of every code object in the fixtures, at addresses in its scope, in a wave of zeros. All output of compilers
//! must evaluate.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test"
)]

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use dwarf_tests::probe::Zeros;
use dwarf_tests::{corpus, fixture, wave_cases};
use fallible_iterator::FallibleIterator;
use hetdwarf::arch::{Lane, LoadAddress, WaveSize};
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::debug_info::{DieValue, LocationRange};
use hetdwarf::display::Options;
use hetdwarf::error::{Error, ErrorKind};
use hetdwarf::eval::Reading;
use hetdwarf::inspect::{Program, Stop, StopFrame, StopOptions, ValueState};
use hetdwarf::limits::Limits;
use hetdwarf::location::Arena;
use hetdwarf::object::{CodeObject, code_objects};
use hetdwarf::report::UnwindDocument;

/// The known failures: the name of the object, a part of the error, and the reason.
const EXPLAINED: &[(&str, &str, &str)] = &[
    (
        "gcc12/",
        "DW_OP_GNU_parameter_ref",
        "a parameter that was optimised away: its value is in an entry of the call site, if the caller has one",
    ),
    (
        "gcc12/",
        "outside a storage of 147573952589676412928 bits",
        "the stack of a wave of zeros starts at address 0: frames end beyond 2^64",
    ),
];

#[derive(Debug, Default)]
struct Tally {
    objects: usize,
    stops: usize,
    variables: usize,
    /// The reasons for ambiguous variables, counted by variable and lane.
    doubts: BTreeMap<String, usize>,
    /// The number of variables times lanes, by reading and state.
    states: BTreeMap<String, usize>,
    /// The errors of variables and of unwinding: the text without offsets, the count, and an example.
    errors: BTreeMap<String, (usize, String)>,
    explained: usize,
    /// The most steps of a call stack and of the variables of a frame, each with its place.
    steps: [(u64, String); 2],
    /// The results that must not occur.
    wrong: BTreeMap<String, (usize, String)>,
}

impl Tally {
    /// Records the steps of a query: 0 for a call stack, 1 for variables.
    fn steps(&mut self, question: usize, steps: u64, place: &str) {
        if steps > self.steps[question].0 {
            self.steps[question] = (steps, place.to_owned());
        }
    }

    /// Counts an error. Returns true if it is explained.
    fn error(&mut self, error: &Error, place: &str) -> bool {
        let operation = error.operation().unwrap_or_default();
        let text = format!("{} {operation}: {error}", error.kind().name());
        let is_wrong = matches!(
            error.kind(),
            ErrorKind::UnknownOperation { .. } | ErrorKind::Unsupported(_)
        );
        let explained = EXPLAINED
            .iter()
            .any(|(object, part, _)| place.contains(object) && text.contains(part));
        self.explained += usize::from(explained);
        let list = if is_wrong && !explained {
            &mut self.wrong
        } else {
            &mut self.errors
        };
        let key = format!(
            "{} {operation} {}",
            error.kind().name(),
            place.split('/').next().unwrap()
        );
        let entry = list
            .entry(key)
            .or_insert_with(|| (0, format!("{place}: {text}")));
        entry.0 += 1;
        explained
    }
}

/// Returns the files: the corpus, the objects of the stopped waves and the bundles.
fn files() -> Vec<PathBuf> {
    let mut files = corpus();
    files.extend(dwarf_tests::of_producers());
    for case in wave_cases() {
        let objects = std::fs::read_dir(case)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        files.extend(objects.filter(|path| path.extension().is_some_and(|e| e == "hsaco")));
    }
    for folder in ["corpus/bundle", "object"] {
        let paths = std::fs::read_dir(fixture(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        files
            .extend(paths.filter(|path| path.extension().is_some_and(|e| e != "md" && e != "dwo")));
    }
    files.sort();
    files
}

/// Returns at most `most` of the addresses, evenly spread.
fn sample(addresses: BTreeSet<u64>, most: usize) -> Vec<u64> {
    let count = addresses.len();
    let step = count.div_ceil(most).max(1);
    addresses.into_iter().step_by(step).collect()
}

/// Returns the addresses where something changes: at the ends of location list entries and functions, and at line rows.
fn addresses(program: &Program<'_>, tally: &mut Tally, name: &str) -> BTreeSet<u64> {
    let info = program.info();
    let mut found = BTreeSet::new();
    for unit in info.unit_ids() {
        let mut dies = info.dies(unit).unwrap();
        loop {
            let die = match dies.next() {
                Ok(Some(die)) => die,
                Ok(None) => break,
                Err(error) => {
                    tally.error(&error, name);
                    break;
                }
            };
            for attribute in die.attributes() {
                let Ok(DieValue::LocationList(offset)) = info.value(&die, attribute) else {
                    continue;
                };
                let meter = info.for_query();
                let mut entries = info.location_list(unit, offset, &meter).unwrap();
                while let Some(entry) = entries.next().unwrap() {
                    if let LocationRange::Bounded(Range { start, end }) = entry.range {
                        found.extend([start, end, end.saturating_sub(1)]);
                    }
                }
            }
        }
        for function in info.functions(unit).unwrap_or_default() {
            found.extend(
                function
                    .ranges
                    .iter()
                    .flat_map(|range| [range.start, range.end.saturating_sub(1)]),
            );
        }
        match info.line_table(unit) {
            Ok(Some(table)) => found.extend(table.rows().map(|row| row.address)),
            Ok(None) => {}
            Err(error) => {
                tally.error(&error, name);
            }
        }
    }
    found
}

/// Evaluates every variable in scope in a frame.
fn look_at(frame: &StopFrame<'_, '_, '_>, lanes: &[Lane], place: &str, tally: &mut Tally) {
    let mut types = TypeTable::default();
    let variables = match frame.variables(&mut types) {
        Ok(variables) => variables,
        Err(error) => {
            tally.error(&error, place);
            return;
        }
    };
    tally.steps(1, frame.stop().meter().steps(), place);
    for value in &variables {
        tally.variables += 1;
        let name = value.variable.name.as_deref().unwrap_or("?");
        for lane in lanes {
            let state = value.state(*lane);
            let reading = place.rsplit(' ').next().unwrap();
            let mut state_name = state.name();
            match state {
                ValueState::Error(error) => {
                    if tally.error(&error, &format!("{place} {name}")) {
                        state_name = "explained";
                    }
                }
                ValueState::Unsupported { .. } => match value.bits(*lane) {
                    Err(error) => {
                        if tally.error(&error, &format!("{place} {name}")) {
                            state_name = "explained";
                        }
                    }
                    Ok(_) => panic!("{place} {name}: {state:?}"),
                },
                ValueState::Unavailable(_) | ValueState::Inactive => {
                    panic!("{place} {name}: {state:?} in a wave of zeros")
                }
                ValueState::Ok | ValueState::Partial => {
                    let text = value.text(*lane, &types, &Options::default());
                    assert!(
                        text.is_some_and(|text| !text.is_empty()),
                        "{place} {name} prints as nothing"
                    );
                }
                ValueState::OptimizedOut | ValueState::Entry | ValueState::LastKnown => {}
                ValueState::Ambiguous(reason) => {
                    *tally.doubts.entry(reason.to_string()).or_default() += 1;
                }
                state => panic!("{place} {name}: {state:?}"),
            }
            let state = format!("{reading} {state_name}");
            *tally.states.entry(state).or_default() += 1;
        }
    }
}

fn sweep_object(data: &[u8], name: &str, most: usize, tally: &mut Tally) {
    let object = match CodeObject::parse(data) {
        Ok(object) => object,
        Err(error) => {
            tally.error(&error, name);
            return;
        }
    };
    let dwo = std::fs::read(fixture("corpus/llvm22/small.dwo")).unwrap();
    let dwo = CodeObject::parse(&dwo).unwrap();
    let mut program = Program::load(&object).unwrap();
    if name.contains("split-") {
        program = program.with_split(&dwo).unwrap();
    }
    tally.objects += 1;
    let wave_size = object
        .kernels()
        .unwrap_or_default()
        .iter()
        .find_map(|kernel| kernel.wave_size());
    let wave_size = wave_size
        .or(program.processor().default_wave_size())
        .unwrap_or(WaveSize::Wave64);
    let wave = Zeros(wave_size);
    let lanes = [
        Lane(0),
        Lane(5),
        Lane(u8::try_from(wave_size.lanes() - 1).unwrap()),
    ];
    for pc in sample(addresses(&program, tally, name), most) {
        for reading in [Reading::Tolerant, Reading::Strict] {
            let arena = Arena::new();
            let options = StopOptions::loaded_at(LoadAddress(0x1_0000)).reading(reading);
            let stop = Stop::new(&program, &wave, pc + 0x1_0000, options, &arena);
            let place = format!("{name} {pc:#x} {reading:?}");
            tally.stops += 1;
            if let Some(error) = stop.stack().error() {
                tally.error(error, &place);
            }
            if let Err(error) = UnwindDocument::new(&stop) {
                tally.error(&error, &place);
            }
            tally.steps(0, stop.meter().steps(), &place);
            for frame in stop.call_frames().take(2) {
                look_at(&frame, &lanes, &place, tally);
            }
        }
    }
}

fn sweep(most: usize, keep: impl Fn(&Path) -> bool) -> Tally {
    let mut tally = Tally::default();
    for path in files().into_iter().filter(|path| keep(path)) {
        let data = std::fs::read(&path).unwrap();
        let folder = path
            .parent()
            .unwrap()
            .file_name()
            .unwrap()
            .to_string_lossy();
        let name = format!("{folder}/{}", path.file_name().unwrap().to_string_lossy());
        for member in code_objects(&data).unwrap_or_else(|error| panic!("{name}: {error}")) {
            sweep_object(
                &member.data,
                &format!("{name}[{}]", member.index),
                most,
                &mut tally,
            );
        }
    }
    let Tally {
        objects,
        stops,
        variables,
        doubts,
        states,
        errors,
        explained,
        steps,
        wrong,
    } = &tally;
    println!(
        "{objects} objects, {stops} stops, {variables} variables, by lane: {states:?}, {explained} explained"
    );
    for (reason, count) in doubts {
        println!("  ambiguous {count} × {reason}");
    }
    println!("most steps of a call stack and of variables: {steps:?}");
    for (key, (count, example)) in errors {
        println!("  {count} × {key}, e.g. {example}");
    }
    for (key, (count, example)) in wrong {
        println!("  WRONG {count} × {key}, e.g. {example}");
    }
    tally
}

fn hold(tally: &Tally) {
    assert!(
        tally.wrong.is_empty(),
        "{} kinds of errors that must not be",
        tally.wrong.len()
    );
    // The limit only affects input that no compiler writes.
    let limit = Limits::DEFAULT.work;
    for (steps, place) in &tally.steps {
        assert!(*steps < limit / 16, "{steps} of {limit} steps: {place}");
    }
    let state = |name| tally.states.get(name).copied().unwrap_or(0);
    // In strict reading, LLVM's locations without the extensions are errors. Otherwise almost nothing is an error.
    assert!(
        state("Tolerant ok") > 50 * state("Tolerant error"),
        "too many errors: {:?}",
        tally.states
    );
    assert!(
        state("Tolerant optimized-out") > 0 && state("Strict ok") > 0,
        "{:?}",
        tally.states
    );
}

#[test]
fn every_variable_can_be_evaluated_at_a_few_addresses() {
    let tally = sweep(12, |_| true);
    hold(&tally);
    assert!(
        tally.objects > 120 && tally.variables > 10_000,
        "{} objects",
        tally.objects
    );
}

#[test]
#[ignore = "takes minutes, half a minute in a release build"]
fn every_variable_can_be_evaluated_wherever_it_is_in_scope() {
    let tally = sweep(usize::MAX, |_| true);
    hold(&tally);
    assert!(tally.variables > 1_000_000, "{} variables", tally.variables);
}
