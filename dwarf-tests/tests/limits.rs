//! Checks that every `--limit` can be reached and names its number, and that no limit interferes by default.

use std::collections::BTreeSet;
use std::path::PathBuf;

use dwarf_tests::{fixture, hetdwarf, without_section};
use hetdwarf::Result;
use hetdwarf::arch::{Lane, Register};
use hetdwarf::error::ErrorKind;
use hetdwarf::frame::Stopped;
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::limits::{Limit, Limits};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::{Snapshot, Wave as _};
use serde_json::Value;

/// The sign that a limit was reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// An error names the limit and its number.
    Error,
    /// The limit is added to another one for each byte of the file. The error names the other one, which is the part of the name before the
    /// dash.
    ErrorOfFloor,
    /// There are fewer frames, and the document says that a limit was reached.
    FewerFrames,
    /// Values have only four bytes, and the document states the number of bytes read.
    PartialValues,
}
use Sign::{Error, ErrorOfFloor, FewerFrames, PartialValues};

const OBJECT: &str = "waves/calls-O2/calls-O2.rocm.hsaco";
const WAVE: &str = "waves/calls-O2/w06.json";
const BUNDLE: &str = "corpus/bundle/ccob3.hipfb";
// The piece is a composite, whose first part is also a composite.
const NESTED: &str = "regx v1, piece 4, regx v2, piece 4, piece_end, piece 8, piece_end";

/// A limit, its value and sign, and a command that reaches it.
#[rustfmt::skip]
const CASES: &[(Limit, &str, Sign, &[&str])] = &[
    (Limit::Steps,         "2",     Error,        &["eval", "--expr", "lit1, lit2, plus"]),
    (Limit::Stack,         "1",     Error,        &["eval", "--expr", "lit1, lit2, plus"]),
    (Limit::Parts,         "1",     Error,        &["eval", "--expr", "regx v1, piece 4, regx v2, piece 4"]),
    (Limit::Depth,         "1",     Error,        &["eval", "--expr", NESTED]),
    (Limit::Bits,          "31",    Error,        &["eval", "--expr", "regx v1", "--wave", WAVE, "--lane", "all", "--read", "32"]),
    // 32 lanes have 1,024 bits: 128 bytes, which are also printed.
    (Limit::Memory,        "511",   Error,        &["eval", "--expr", "regx v1", "--wave", WAVE, "--lane", "all", "--read", "32"]),
    (Limit::Work,          "200",   Error,        &["vars", OBJECT, "--wave", WAVE]),
    (Limit::Memory,        "20000", Error,        &["vars", OBJECT, "--wave", WAVE]),
    (Limit::Frames,        "2",     FewerFrames,  &["unwind", OBJECT, "--wave", WAVE]),
    (Limit::Value,         "2",     PartialValues, &["vars", OBJECT, "--wave", WAVE]),
    (Limit::Containers,    "0",     Error,        &["info", BUNDLE]),
    (Limit::Memory,        "1000",  Error,        &["info", BUNDLE]),
    (Limit::Work,          "1",     Error,        &["info", BUNDLE]),
    (Limit::Work,          "1",     Error,        &["verify", BUNDLE]),
    (Limit::Memory,        "1000",  Error,        &["dump", BUNDLE, "--index", "0"]),
    (Limit::WorkPerByte,   "0",     ErrorOfFloor, &["vars", OBJECT, "--wave", WAVE, "--limit", "work=200"]),
    (Limit::MemoryPerByte, "0",     ErrorOfFloor, &["vars", OBJECT, "--wave", WAVE, "--limit", "memory=20000"]),
];

/// Runs a command with a limit and without it.
fn with_and_without(arguments: &[String], limit: &str) -> [String; 2] {
    [&["--limit", limit][..], &[]].map(|more| {
        let arguments = arguments
            .iter()
            .map(String::as_str)
            .chain(more.iter().copied());
        let ran = hetdwarf(arguments.chain(["--format", "json"]));
        ran.out + &ran.err
    })
}

/// Each limit is reached with the given value, and not by default.
#[test]
fn each_limit_is_reached() {
    for &(limit, value, sign, command) in CASES {
        let arguments: Vec<String> = command
            .iter()
            .map(|argument| match *argument {
                OBJECT | WAVE | BUNDLE => fixture(argument).to_str().unwrap().to_owned(),
                _ => (*argument).to_owned(),
            })
            .collect();
        let name = limit.name();
        let set = match (sign, limit) {
            // A file's limits have an additional part for each byte, which is set to 0.
            (Error, Limit::Work | Limit::Memory) => format!("{name}={value},{name}-per-byte=0"),
            _ => format!("{name}={value}"),
        };
        let [with, without] = with_and_without(&arguments, &set);
        match sign {
            Error => {
                let message = format!("the limit `{name}` of {value} was reached");
                assert!(with.contains(&message), "{arguments:?} {set}: {with}");
            }
            ErrorOfFloor => {
                let (floor, of_floor) = command.last().unwrap().split_once('=').unwrap();
                assert_eq!(name, format!("{floor}-per-byte"));
                let message = format!("the limit `{floor}` of {of_floor} was reached");
                assert!(with.contains(&message), "{arguments:?} {set}: {with}");
            }
            PartialValues => {
                let message =
                    format!("only {value} of its 4 bytes are read: `{name}` is the limit");
                assert!(with.contains(&message), "{arguments:?} {set}: {with}");
            }
            FewerFrames => {
                let [with, without]: [Value; 2] =
                    [&with, &without].map(|text| serde_json::from_str(text).unwrap());
                assert_eq!(with["frames"].as_array().unwrap().len(), 2);
                assert_eq!(with["stopped"], "limit");
                assert!(without["frames"].as_array().unwrap().len() > 2);
                assert_eq!(without["stopped"], "return-address-undefined");
            }
        }
        assert!(!without.contains("the limit"), "{arguments:?}: {without}");
    }
}

/// Returns the number of call frames of a stack as `unwind` prints it, and the reason for its end.
fn frames_within(object: &str, wave: &str, limit: &str) -> (usize, Value) {
    let [object, wave] = [object, wave].map(fixture);
    let mut arguments = vec!["unwind".into(), object.into_os_string(), "--wave".into()];
    arguments.push(wave.into_os_string());
    arguments.extend(["--limit", limit, "--format", "json"].map(Into::into));
    let document: Value = serde_json::from_str(&hetdwarf(arguments).out).unwrap();
    let frames = document["frames"].as_array().unwrap().iter();
    let calls: BTreeSet<_> = frames.map(|one| one["call_frame"].as_u64()).collect();
    (calls.len(), document["stopped"].clone())
}

/// If nothing is left after the stack was found, its frames are listed without names and lines.
#[test]
fn every_frame_that_was_found_is_listed() {
    let all = frames_within(OBJECT, WAVE, "work=1000000");
    assert_eq!(all, (3, "return-address-undefined".into()));
    let mut whole = 0;
    for work in (0..40).map(|step| 500 + 500 * step) {
        let found = frames_within(OBJECT, WAVE, &format!("work={work},work-per-byte=0"));
        if found.1 != "limit" {
            assert_eq!(found, all, "{work}");
            whole += 1;
        }
        assert!(found.0 > 0, "{work}");
    }
    assert!(0 < whole && whole < 40, "{whole}");
}

/// A variable in lane 3.
#[derive(Debug, PartialEq)]
struct Shown {
    name: Option<String>,
    text: Result<Option<String>>,
    is_recovered: bool,
}

impl Shown {
    /// Returns true if a limit was reached.
    fn is_refused(&self) -> bool {
        let error = self.text.as_ref().err();
        error.is_some_and(|error| matches!(error.kind(), ErrorKind::Limit { .. }))
    }

    fn is_lost(&self) -> bool {
        let text = self.text.as_ref().map(Option::as_deref);
        matches!(text, Ok(None | Some("<optimized out>")))
    }
}

/// The variables of a frame.
#[derive(Debug, PartialEq)]
struct Listed {
    values: Vec<Shown>,
    /// True if a limit was reached. There may be more variables.
    is_cut: bool,
}

/// Returns the variables of a frame, or `None` if they could not be listed.
fn values(stop: &Stop<'_, '_>, level: usize) -> Option<Listed> {
    let lane = Lane(3);
    let frame = stop.call_frame(level)?;
    let mut types = Default::default();
    let values = frame.variables(&mut types).ok()?;
    let shown = values.iter().map(|value| Shown {
        name: value.variable.name.as_ref().map(ToString::to_string),
        text: (value.bits(lane)).map(|_| value.text(lane, &types, &Default::default())),
        is_recovered: value.recovered().is_some(),
    });
    Some(Listed {
        values: shown.collect(),
        is_cut: stop.meter().refused().is_some(),
    })
}

/// Waves with several frames, in `fixtures`: the name of the object without `.rocm.hsaco`, and of the wave without `.json`.
const STOPS: [(&str, &str); 4] = [
    ("waves/calls/calls", "w09"),
    ("waves/calls-O2/calls-O2", "w06"),
    ("waves/recursion/recursion", "w03"),
    ("lost/across-gfx1100-O2/across-gfx1100-O2", "w05"),
];

/// Returns the path of the object of a stop.
fn path(folder: &str) -> PathBuf {
    fixture(&format!("{folder}.rocm.hsaco"))
}

/// Reads the object and the wave of a stop.
fn read(folder: &str, name: &str) -> (Vec<u8>, Snapshot) {
    let object = path(folder);
    let wave = std::fs::read(object.with_file_name(format!("{name}.json"))).unwrap();
    let wave = Snapshot::from_json(&wave).unwrap();
    (std::fs::read(&object).unwrap(), wave)
}

/// Returns limits with this much work, whatever the size of the file.
fn work(work: u64) -> Limits {
    let mut limits = Limits::default();
    (limits.work, limits.work_per_byte) = (work, 0);
    limits
}

/// The frames of a stop.
struct Found {
    stopped: Stopped,
    /// The variables of each frame, or `None` if they could not be listed.
    frames: Vec<Option<Listed>>,
}

/// Returns the frames of a wave. The variables of each are read in a stop of their own.
fn found(file: &[u8], wave: &Snapshot, limits: &Limits) -> Result<Found> {
    let object = CodeObject::parse_with(file, limits)?;
    let program = Program::load(&object)?;
    let arena = Arena::new();
    let options = StopOptions::loaded_at(wave.load_address);
    let stop = || Stop::new(&program, wave, wave.pc(), options, &arena);
    let listed = stop();
    let levels = 0..listed.call_frames().len();
    Ok(Found {
        stopped: listed.stack().stopped(),
        frames: levels.map(|level| values(&stop(), level)).collect(),
    })
}

/// With any limit, a stack and its variables are as by default, or they say that the limit was reached. Without call frame information, the
/// machine code shows the stack.
///
/// Values without a location are an exception: the search for their keepers has a budget of its own for each function. If it ends, they are
/// optimized out, as in a debugger without this search.
#[test]
fn a_limit_changes_no_answer() {
    let stops = STOPS.iter().flat_map(|stop| [(stop, true), (stop, false)]);
    for ((folder, name), has_cfi) in stops {
        let (mut file, wave) = read(folder, name);
        if !has_cfi {
            file = without_section(path(folder), ".debug_frame");
        }
        let by_default = found(&file, &wave, &Limits::default()).unwrap();
        let (mut equal, mut refused, mut ended) = (0, 0, 0);
        // From 400 to 30,000 steps.
        for step in 0..110 {
            let limits = work((400.0 * 1.04_f64.powi(step)) as u64);
            let at = format!("{folder} {has_cfi} {}", limits.work);
            let Ok(found) = found(&file, &wave, &limits) else {
                continue;
            };
            if found.stopped == Stopped::Limit {
                ended += 1;
            } else {
                assert_eq!(found.stopped, by_default.stopped, "{at}");
                assert_eq!(found.frames.len(), by_default.frames.len(), "{at}");
            }
            for (found, expected) in found.frames.iter().zip(&by_default.frames) {
                let (Some(found), Some(expected)) = (found, expected) else {
                    continue;
                };
                let is_whole = found.values.len() == expected.values.len();
                assert!(is_whole || found.is_cut, "{at}");
                for (value, wanted) in found.values.iter().zip(&expected.values) {
                    if value.is_refused() {
                        refused += 1;
                    } else if !(wanted.is_recovered && value.is_lost()) {
                        assert_eq!(value, wanted, "{at}");
                        equal += 1;
                    }
                }
            }
        }
        let is_tested = equal > 500 && refused > 10 && ended > 20;
        assert!(is_tested, "{folder} {has_cfi}");
    }
}

/// A register that could not be found within the limit is found by a later query of the same stop, which has a budget of its own.
#[test]
fn a_limit_ends_one_query_only() {
    let mut refused = 0;
    for (folder, name) in STOPS {
        let (file, wave) = read(folder, name);
        let object = CodeObject::parse_with(&file, &work(200_000)).unwrap();
        let program = Program::load(&object).unwrap();
        let arena = Arena::new();
        let options = StopOptions::loaded_at(wave.load_address);
        let stop = || Stop::new(&program, &wave, wave.pc(), options, &arena);
        for level in 1..stop().call_frames().len() {
            let used = stop();
            let frame = used.call_frame(level).unwrap();
            let exec = Register::exec(wave.wave_size());
            let is_left = |_: &usize| {
                used.call_frame(0)
                    .unwrap()
                    .read_register(exec, None)
                    .is_ok()
            };
            assert!((0..1_000_000).take_while(is_left).count() < 1_000_000);
            for register in (0..4096).filter_map(Register::from_number) {
                refused += usize::from(frame.read_register(register, None).is_err());
            }
            let found = values(&used, level);
            assert!(found.is_some(), "{folder} {level}");
            assert_eq!(found, values(&stop(), level), "{folder} {level}");
        }
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn there_is_a_case_for_each_limit() {
    let reached: BTreeSet<&str> = CASES.iter().map(|(limit, ..)| limit.name()).collect();
    for limit in Limit::ALL {
        assert!(
            reached.contains(limit.name()),
            "no case reaches the limit `{}`",
            limit.name()
        );
    }
}

#[test]
fn a_limit_that_is_none_is_refused() {
    for (limit, message) in [
        (
            "step=1",
            "there is no limit \"step\"; there are steps, stack",
        ),
        ("steps", "expected NAME=N"),
        ("depth=1000", "depth can be 40 at most"),
    ] {
        let ran = hetdwarf(["eval", "--expr", "lit1", "--limit", limit]);
        assert_eq!(ran.status, 2, "{}", ran.err);
        assert!(ran.err.contains(message), "{}", ran.err);
    }
}

#[test]
fn help_lists_them_with_their_defaults() {
    let help = hetdwarf(["vars", "--help"]).out;
    for (name, default) in [("steps", "131072"), ("depth", "32"), ("work", "4194304")] {
        let line = help
            .lines()
            .find(|line| line.trim_start().starts_with(&format!("{name} ")));
        assert!(
            line.is_some_and(|line| line.ends_with(&format!("({default})"))),
            "{help}"
        );
    }
}
