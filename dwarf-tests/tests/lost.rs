//! Compares recovered values with every value that the variables had, in emulated stops of optimised code (`fixtures/lost`).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure here is a failure of the test"
)]

use std::collections::BTreeMap;
use std::path::Path;

use dwarf_tests::{fixture, json};
use hetdwarf::arch::Lane;
use hetdwarf::debug_info::VariableKind;
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::inspect::{Program, Stop, StopOptions, ValueStateKind, VariableValue};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::report::hex_bytes;
use hetdwarf::wave::Snapshot;
use serde_json::Value as Json;

/// The statistics of lane values without a location.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    lost: usize,
    /// The recovered values that equal the value at the stop, by their source.
    right: BTreeMap<String, usize>,
    /// The recovered values that the variable had earlier.
    older: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn right(&self) -> usize {
        self.right.values().sum()
    }
}

/// Returns the values of a variable in a lane, oldest first, for each function with a variable of this name.
fn histories<'j>(everhad: &'j [Json], name: &str, lane: &str) -> Vec<Vec<&'j str>> {
    let of_name = everhad.iter().filter(|one| one["name"] == name);
    let history = |one: &'j Json| {
        let lanes = &one["lanes"];
        let values = lanes.get(lane).or_else(|| lanes.get("all"))?.as_array()?;
        Some(values.iter().skip(1).filter_map(Json::as_str).collect())
    };
    of_name.filter_map(history).collect()
}

/// Returns the innermost variable with this name that has a value in a lane.
fn shown<'v>(
    values: &'v [VariableValue<'v>],
    name: &str,
    lane: Lane,
) -> Option<&'v VariableValue<'v>> {
    let is_it = |value: &&VariableValue<'_>| {
        value.variable.name.as_deref() == Some(name) && value.variable.kind != VariableKind::Global
    };
    let mut named = values.iter().filter(is_it);
    named.find(|value| value.state(lane).kind().is_readable())
}

/// Returns true if the debugging information has no value of a variable at the stop.
fn is_lost(variable: &Json) -> bool {
    let kinds = ["no-die", "no-location", "not-available"];
    kinds.iter().any(|one| variable["dwarf"] == *one)
}

fn check_stop(
    program: &Program<'_>,
    folder: &Path,
    snapshot: &Json,
    everhad: &[Json],
    tally: &mut Tally,
) {
    let file = snapshot["wave"].as_str().unwrap();
    let wave = Snapshot::from_json(&std::fs::read(folder.join(file)).unwrap()).unwrap();
    let arena = Arena::new();
    let options = StopOptions::loaded_at(wave.load_address);
    let stop = Stop::new(program, &wave, wave.pc(), options, &arena);
    let frame = stop.call_frame(0).unwrap();
    let values = frame.variables(&mut TypeTable::default()).unwrap();
    for variable in snapshot["variables"].as_array().unwrap() {
        let name = variable["name"].as_str().unwrap();
        let is_lost = is_lost(variable);
        for truth in variable["lanes"].as_array().unwrap() {
            let lane = Lane(u8::try_from(truth["lane"].as_u64().unwrap()).unwrap());
            let found = shown(&values, name, lane);
            let state = found.map(|value| value.state(lane).kind());
            if !is_lost {
                // Values with a location are unchanged.
                let is_recovered = state.is_some_and(ValueStateKind::is_recovered);
                assert!(!is_recovered, "{file}: {name} in lane {}", lane.0);
                continue;
            }
            tally.lost += 1;
            let Some(value) = found.filter(|_| state.is_some_and(ValueStateKind::is_recovered))
            else {
                continue;
            };
            let bytes = hex_bytes(&value.bits(lane).unwrap().unwrap().bytes);
            let histories = histories(everhad, name, &lane.0.to_string());
            let had = |history: &Vec<&str>| match state {
                Some(ValueStateKind::Entry) => history.first() == Some(&bytes.as_str()),
                _ => history.contains(&bytes.as_str()),
            };
            if !histories.iter().any(had) {
                let state = state.map(ValueStateKind::name);
                tally.wrong.push(format!(
                    "{file}: {name} in lane {}: {state:?} {bytes}, had {histories:?}",
                    lane.0
                ));
            } else if truth["bytes"] == bytes {
                let from = value.recovered().unwrap().from.name();
                *tally.right.entry(from.to_owned()).or_default() += 1;
            } else {
                tally.older += 1;
            }
        }
    }
}

fn check_case(case: &str) -> Tally {
    let folder = fixture("lost").join(case);
    let truth = json(&folder.join("truth.json"));
    let everhad = json(&folder.join("everhad.json"));
    let mut tally = Tally::default();
    for style in ["hsaco", "rocm.hsaco"] {
        let file = std::fs::read(folder.join(format!("{case}.{style}"))).unwrap();
        let object = CodeObject::parse(&file).unwrap();
        let program = Program::load(&object).unwrap();
        for snapshot in truth["snapshots"].as_array().unwrap() {
            let everhad = everhad["snapshots"][snapshot["wave"].as_str().unwrap()]
                .as_array()
                .unwrap();
            check_stop(&program, &folder, snapshot, everhad, &mut tally);
        }
    }
    tally
}

/// No value is wrong, and the number of shown values is at least the recorded one. Raise the record when it grows.
#[test]
fn no_value_is_shown_that_a_variable_never_had() {
    for (case, lost, right, older) in [
        ("across-gfx1100-O2", 1856, 1344, 128),
        ("helpers-gfx1200-O2-clang22", 3668, 512, 0),
        ("prev-gfx90a-O2", 3208, 1528, 1040),
    ] {
        let tally = check_case(case);
        assert!(tally.wrong.is_empty(), "{case}: {:#?}", tally.wrong);
        assert_eq!(
            (tally.lost, tally.right(), tally.older),
            (lost, right, older),
            "{case}: {tally:?}"
        );
    }
}

/// The optimised stops of `fixtures/waves`, if the snapshots say where the arguments are (as a core file does). The programs wrote every
/// argument to this address before the start. At least 28 % of the lost values are shown with the value of the stop.
#[test]
fn earlier_programs_with_the_address_of_their_arguments() {
    const ARGUMENTS: u64 = 0x7f10_0000_0000;
    /// The kinds of variables whose bytes in the truth are the variable itself.
    const KINDS: [&str; 4] = [
        "value",
        "global-pointer",
        "local-pointer",
        "generic-pointer",
    ];
    let (mut lost, mut right) = (0_usize, 0_usize);
    for case in [
        "calls-O2",
        "half-h16_gfx1100_32_O2",
        "new-vec3_gfx1100_32_O1",
        "plain-salvc_gfx1100_32_O2",
    ] {
        let folder = fixture("waves").join(case);
        let truth = json(&folder.join("truth.json"));
        let files = std::fs::read_dir(&folder)
            .unwrap()
            .map(|file| file.unwrap().path());
        for path in files.filter(|path| path.extension().is_some_and(|one| one == "hsaco")) {
            let file = std::fs::read(path).unwrap();
            let object = CodeObject::parse(&file).unwrap();
            let program = Program::load(&object).unwrap();
            for snapshot in truth["snapshots"].as_array().unwrap() {
                let Some(variables) = snapshot["variables"].as_array() else {
                    continue;
                };
                let path = folder.join(snapshot["wave"].as_str().unwrap());
                let mut wave = Snapshot::from_json(&std::fs::read(path).unwrap()).unwrap();
                wave.dispatch.as_mut().unwrap().kernarg_address = Some(ARGUMENTS);
                let arena = Arena::new();
                let options = StopOptions::loaded_at(wave.load_address);
                let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
                let frame = stop.call_frame(0).unwrap();
                let values = frame.variables(&mut TypeTable::default()).unwrap();
                let of_kind = |one: &&Json| KINDS.iter().any(|kind| one["kind"] == *kind);
                for variable in variables.iter().filter(of_kind).filter(|one| is_lost(one)) {
                    let name = variable["name"].as_str().unwrap();
                    for truth in variable["lanes"].as_array().unwrap() {
                        let lane = Lane(u8::try_from(truth["lane"].as_u64().unwrap()).unwrap());
                        lost += 1;
                        let bytes = shown(&values, name, lane)
                            .filter(|value| value.state(lane).kind().is_recovered())
                            .map(|value| hex_bytes(&value.bits(lane).unwrap().unwrap().bytes));
                        right += usize::from(bytes.is_some_and(|bytes| truth["bytes"] == bytes));
                    }
                }
            }
        }
    }
    assert_eq!((lost, right), (3092, 940));
}

/// No recovered value is shown in strict reading, or if only the debugging information is used.
#[test]
fn only_dwarf_shows_none() {
    let folder = fixture("lost/prev-gfx90a-O2");
    let file = std::fs::read(folder.join("prev-gfx90a-O2.hsaco")).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let wave = Snapshot::from_json(&std::fs::read(folder.join("w05.json")).unwrap()).unwrap();
    let tolerant = StopOptions::loaded_at(wave.load_address);
    let recovered = |options: StopOptions| {
        let arena = Arena::new();
        let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
        let values = stop
            .call_frame(0)
            .unwrap()
            .variables(&mut TypeTable::default())
            .unwrap();
        values
            .iter()
            .filter(|value| value.recovered().is_some())
            .count()
    };
    assert!(recovered(tolerant) > 0);
    assert_eq!(recovered(tolerant.only_dwarf(true)), 0);
    assert_eq!(
        recovered(tolerant.reading(hetdwarf::eval::Reading::Strict)),
        0
    );
}
