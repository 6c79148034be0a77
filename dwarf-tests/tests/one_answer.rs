//! Compares the same value from `vars`, as a child of another value, from an expression, and from the library.
//!
//! The library's answer is not the reference: other tests compare variables with `truth.json` (`tests/variables.rs`).
//! `capi/tests/print_variables.rs` compares C with the command, `python/tests` Python.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure here is a failure of the test"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dwarf_tests::{hetdwarf, json, wave_cases};
use hetdwarf::arch::Lane;
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::display::Options;
use hetdwarf::inspect::{Program, Stop, StopOptions, VariableValue};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::query::{LaneAnswer, Query};
use hetdwarf::report::hex_bytes;
use hetdwarf::wave::Snapshot;
use rayon::prelude::*;
use serde_json::Value as Json;

/// The state, the bytes and the text of a value in a lane.
type Said = (String, Option<String>, Option<String>);

fn said_by(lane: &Json) -> Said {
    let text = |name: &str| lane[name].as_str().map(str::to_owned);
    (text("state").unwrap(), text("bytes"), text("value"))
}

fn said_of(value: &VariableValue<'_>, lane: Lane, types: &TypeTable) -> Said {
    let state = value.state(lane);
    let bits = value.bits(lane).ok().flatten();
    let bits = bits.filter(|_| state.kind().is_readable());
    let text = bits
        .as_ref()
        .and_then(|_| value.text(lane, types, &Options::default()));
    let bytes = bits.map(|bits| hex_bytes(&bits.bytes));
    (state.name().to_owned(), bytes, text)
}

fn said_as(answer: &LaneAnswer, query: &Query<'_, '_, '_>) -> Said {
    let state = answer.state();
    let bits = answer.value.as_ref().ok().filter(|_| state.is_readable());
    let text = bits.and_then(|_| query.text(answer, &Options::default()));
    (
        state.name().to_owned(),
        bits.map(|bits| hex_bytes(&bits.bytes)),
        text,
    )
}

/// The number of comparisons.
#[derive(Debug, Default)]
struct Tally {
    variables: usize,
    printed: usize,
    children: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn and(mut self, other: Tally) -> Tally {
        self.variables += other.variables;
        self.printed += other.printed;
        self.children += other.children;
        self.wrong.extend(other.wrong);
        self
    }

    fn compare(&mut self, place: &dyn Fn() -> String, one: &Said, other: &Said) {
        if one != other {
            self.wrong.push(format!("{}: {one:?}, {other:?}", place()));
        }
    }
}

/// Queries all variables of all frames of a stop in every way, including their parts.
fn check(object: &Path, wave: &Path, tally: &mut Tally) {
    let mut arguments = vec!["vars".into(), object.as_os_str().to_owned()];
    arguments.extend(["--wave".into(), wave.as_os_str().to_owned()]);
    for option in ["--frame", "all", "--children", "2", "--format", "json"] {
        arguments.push(option.into());
    }
    let ran = hetdwarf(arguments);
    let document: Json = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    let data = std::fs::read(object).unwrap();
    let code = CodeObject::parse(&data).unwrap();
    let program = Program::load(&code).unwrap();
    let snapshot = Snapshot::from_json(&std::fs::read(wave).unwrap()).unwrap();
    let arena = Arena::new();
    let options = StopOptions::loaded_at(snapshot.load_address);
    let stop = Stop::new(&program, &snapshot, snapshot.pc(), options, &arena);
    let mut types = TypeTable::default();
    for described in document["frames"].as_array().unwrap() {
        let index = usize::try_from(described["frame"]["index"].as_u64().unwrap()).unwrap();
        let frame = stop.frame(index).unwrap();
        let values = frame.variables(&mut types).unwrap();
        let described = described["variables"].as_array().unwrap();
        let place = format!("{} {} #{index}", object.display(), wave.display());
        assert_eq!(described.len(), values.len(), "{place}");
        let mut query = Query::new(frame).unwrap();
        let mut seen = BTreeSet::new();
        for (variable, value) in described.iter().zip(&values) {
            tally.variables += 1;
            let name = variable["name"].as_str().unwrap();
            let lanes = variable["lanes"].as_array().unwrap();
            for lane in lanes {
                let number = Lane(u8::try_from(lane["lane"].as_u64().unwrap()).unwrap());
                let at = || format!("{place} {name} lane {} by the library", number.0);
                tally.compare(&at, &said_by(lane), &said_of(value, number, &types));
            }
            // Another variable of the name hides it, or it has a name that no expression can have.
            let is_name = name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
            if !seen.insert(name) || name.is_empty() || !is_name {
                continue;
            }
            tally.printed += 1;
            print_all(&mut query, (name, lanes), &place, tally);
        }
    }
}

/// Evaluates expressions for a value and its parts.
///
/// * `lanes`: the answers for the value and its parts.
fn print_all(
    query: &mut Query<'_, '_, '_>,
    (text, lanes): (&str, &[Json]),
    place: &str,
    tally: &mut Tally,
) {
    let all: Vec<Lane> = (lanes.iter())
        .map(|lane| Lane(u8::try_from(lane["lane"].as_u64().unwrap()).unwrap()))
        .collect();
    let answer = match query.evaluate(text, &all) {
        Ok(answer) => answer,
        Err(error) => return tally.wrong.push(format!("{place} {text}: {error}")),
    };
    for (lane, answer) in lanes.iter().zip(&answer.lanes) {
        let at = || format!("{place} {text} lane {} by an expression", answer.lane.0);
        tally.compare(&at, &said_by(lane), &said_as(answer, query));
    }
    for (lane, number) in lanes.iter().zip(&all) {
        for child in lane["children"].as_array().into_iter().flatten() {
            print_child(query, (text, child), *number, place, tally);
        }
    }
}

fn print_child(
    query: &mut Query<'_, '_, '_>,
    (parent, child): (&str, &Json),
    lane: Lane,
    place: &str,
    tally: &mut Tally,
) {
    let name = child["name"].as_str().unwrap();
    let text = match name {
        "*" => format!("*({parent})"),
        // Base classes and anonymous members have no name of their own in an expression.
        "" => return,
        _ if name.starts_with('<') => return,
        _ if name.starts_with('[') => format!("({parent}){name}"),
        _ => format!("({parent}).{name}"),
    };
    tally.children += 1;
    let answer = match query.evaluate(&text, &[lane]) {
        Ok(answer) => answer,
        Err(error) => return tally.wrong.push(format!("{place} {text}: {error}")),
    };
    let at = || format!("{place} {text} lane {}", lane.0);
    tally.compare(&at, &said_by(child), &said_as(&answer.lanes[0], query));
    for inner in child["children"].as_array().into_iter().flatten() {
        print_child(query, (&text, inner), lane, place, tally);
    }
}

/// The objects and the waves of a case.
fn stops(case: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let truth = json(&case.join("truth.json"));
    let objects = ["object", "object_rocm"];
    let objects: BTreeSet<PathBuf> = (objects.iter())
        .filter_map(|key| Some(case.join(truth[*key].as_str()?)))
        .collect();
    let waves = truth["snapshots"].as_array().unwrap().iter();
    let waves = waves.map(|wave| case.join(wave["wave"].as_str().unwrap()));
    (objects.into_iter().collect(), waves.collect())
}

#[test]
fn every_variable_is_the_same_by_all_ways() {
    let tallies = wave_cases().into_par_iter().map(|case| {
        let mut tally = Tally::default();
        let (objects, waves) = stops(&case);
        for object in objects {
            for wave in &waves {
                check(&object, wave, &mut tally);
            }
        }
        tally
    });
    let Tally {
        variables,
        printed,
        children,
        wrong,
    } = &tallies.reduce(Tally::default, Tally::and);
    let first = wrong
        .iter()
        .take(20)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(wrong.is_empty(), "{} differ:\n{first}", wrong.len());
    assert!(
        *variables > 1000 && *printed > 1000 && *children > 1000,
        "{variables} {printed} {children}"
    );
}

/// In `w03.json` of `structs`, the parameter `r` is in scratch at an offset in s33. Without s33 the wave does not supply what the location needs,
/// which is no error of the debugging information. Before, each way of asking reported `error`.
#[test]
fn a_location_that_needs_a_missing_register_is_unavailable() {
    let case = dwarf_tests::fixture("waves/structs");
    let object = case.join("structs.rocm.hsaco");
    let mut wave = json(&case.join("w03.json"));
    let given = wave["registers"].as_object_mut().unwrap().remove("s33");
    assert!(given.is_some());
    let path =
        std::env::temp_dir().join(format!("hetdwarf-without-s33-{}.json", std::process::id()));
    std::fs::write(&path, wave.to_string()).unwrap();
    let ask = |command: &str, more: &[&str]| -> Json {
        let mut arguments = vec![command.into(), object.clone().into_os_string()];
        arguments.extend(["--wave".into(), path.clone().into_os_string()]);
        arguments.extend(more.iter().map(Into::into));
        let ran = hetdwarf(arguments);
        serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err))
    };
    let json = ["--lane", "4", "--format", "json"];
    let document = ask("vars", &[&json[..], &["--name", "r"]].concat());
    let variable = &document["frames"][0]["variables"][0]["lanes"][0];
    let printed = &ask("print", &[&json[..], &["r"]].concat())["expressions"][0]["lanes"][0];
    let used = &ask("print", &[&json[..], &["r->x + 1"]].concat())["expressions"][0]["lanes"][0];
    for lane in [variable, printed, used] {
        assert_eq!(lane["state"], "unavailable", "{lane}");
        let message = lane["message"].as_str().unwrap();
        let reason = "the contents of register s33 are not available";
        assert!(message.ends_with(reason), "{message}");
    }
    check(&object, &path, &mut Tally::default());
    std::fs::remove_file(&path).unwrap();
}
