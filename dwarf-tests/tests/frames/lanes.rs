//! Compares the lanes of each frame, and the frames to which `lane-pc` assigns lanes.

use std::collections::BTreeMap;

use dwarf_tests::number;
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::inspect::{LaneOrigin, LanePlace, Stop, ValueState};
use rayon::prelude::*;
use serde_json::Value;

use super::{Frame, c, list, of_rust, pairs, sum};

/// A lane of a frame in the output of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    pub(super) state: String,
    pub(super) origin: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) pc: Option<u64>,
    pub(super) left: Option<u64>,
    pub(super) resumes: Option<u64>,
    /// The file name without directories.
    pub(super) file: Option<String>,
    pub(super) line: Option<u64>,
    pub(super) caller: Option<Caller>,
}

/// The position of a lane that did not enter the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    pub(super) frame: usize,
    pub(super) function: Option<String>,
    pub(super) pc: u64,
    pub(super) file: Option<String>,
    pub(super) line: Option<u64>,
}

/// Reads the lanes of a `lane-pc` document.
pub(super) fn of_document(document: &Value) -> Vec<Lane> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let name = |value: &Value| text(value).map(|path| path.rsplit('/').next().unwrap().to_owned());
    let address = |value: &Value| (!value.is_null()).then(|| u64::try_from(number(value)).unwrap());
    let lanes = list(&document["lanes"]).iter().map(|lane| Lane {
        state: text(&lane["state"]).unwrap(),
        origin: text(&lane["origin"]),
        reason: text(&lane["reason"]),
        pc: address(&lane["pc"]),
        left: address(&lane["left"]),
        resumes: address(&lane["resumes"]),
        file: name(&lane["file"]),
        line: lane["line"].as_u64(),
        caller: lane["caller"].is_object().then(|| {
            let caller = &lane["caller"];
            Caller {
                frame: usize::try_from(caller["frame"].as_u64().unwrap()).unwrap(),
                function: text(&caller["function"]),
                pc: address(&caller["pc"]).unwrap(),
                file: name(&caller["file"]),
                line: caller["line"].as_u64(),
            }
        }),
    });
    lanes.collect()
}

/// Returns the state, pc and gap of each lane of a frame, through Rust. Returns None if they cannot be read.
fn of_frame(stop: &Stop<'_, '_>, index: usize) -> Option<Vec<Lane>> {
    let frame = stop.frame(index).unwrap();
    let found = frame.lane_pcs().ok()?;
    let callers = frame.lanes_in_callers(&found);
    let lanes = found.pcs().zip(found.places()).zip(callers);
    let lanes = lanes.map(|((pc, place), caller)| {
        let (state, origin, reason, gap) = match place {
            LanePlace::Active => ("active", None, None, (None, None)),
            LanePlace::Waiting {
                origin: LaneOrigin::Recovered { left, resumes },
                ..
            } => ("waiting", Some("recovered"), None, (*left, *resumes)),
            LanePlace::Waiting { .. } => ("waiting", Some("dwarf"), None, (None, None)),
            LanePlace::Elsewhere => ("elsewhere", None, None, (None, None)),
            LanePlace::NotDispatched => ("elsewhere", None, Some("not-dispatched"), (None, None)),
            LanePlace::Unknown(why) => ("unknown", None, Some(why.name()), (None, None)),
            other => panic!("{other:?}"),
        };
        let place_at = |level: usize, pc| {
            let call = stop.call_frame(level).unwrap_or(frame);
            let found = call.description_of_lane(pc).unwrap();
            (found.file.map(|file| file.name().to_owned()), found.line)
        };
        let (file, line) = match pc {
            Some(pc) => place_at(frame.call_frame().level(), pc),
            None => (None, None),
        };
        Lane {
            state: state.to_owned(),
            origin: origin.map(str::to_owned),
            reason: reason.map(str::to_owned),
            pc: pc.map(u64::from),
            left: gap.0.map(u64::from),
            resumes: gap.1.map(u64::from),
            file,
            line,
            caller: caller.map(|caller| {
                let (file, line) = place_at(caller.level, caller.pc);
                let function = frame
                    .for_waiting(caller.pc, 0)
                    .description()
                    .unwrap()
                    .function;
                let pc = caller.pc.into();
                Caller {
                    frame: stop.number_of_call(caller.level),
                    function,
                    pc,
                    file,
                    line,
                }
            }),
        }
    });
    Some(lanes.collect())
}

/// Checks that lanes are assigned to existing frames, with their names and lines.
fn check_callers(name: &str, lanes: &[Lane], (index, frames): (usize, &[Frame])) -> usize {
    let mut checked = 0;
    for caller in lanes.iter().filter_map(|lane| lane.caller.as_ref()) {
        assert!(
            caller.frame > frames[index].call_frame,
            "{name}: {caller:?}"
        );
        let frame = &frames[caller.frame];
        assert_ne!(frame.kind, "inlined", "{name}: {caller:?}");
        assert_eq!(caller.function, frame.function, "{name}: {caller:?}");
        if caller.pc == frame.pc {
            let innermost = frames
                .iter()
                .find(|other| other.call_frame == frame.index)
                .unwrap();
            let file = innermost
                .file
                .as_deref()
                .map(|path| path.rsplit('/').next().unwrap());
            assert_eq!(
                (caller.file.as_deref(), caller.line),
                (file, innermost.line),
                "{name}"
            );
        }
        checked += 1;
    }
    checked
}

/// Returns the name of a variable as in the documents.
pub(super) fn name_of(variable: &hetdwarf::debug_info::Variable<'_>) -> String {
    variable.name.as_deref().unwrap_or_default().to_owned()
}

/// For each variable, its name and the lanes that did not enter its frame.
type Absent = Vec<(String, Vec<usize>)>;

fn absent_by_document(content: &Value) -> Absent {
    let variables = list(&content["variables"]).iter().map(|variable| {
        let lanes = list(&variable["lanes"]).iter();
        let absent = lanes.filter(|lane| lane["state"] == "not-in-frame");
        let numbers = absent.map(|lane| usize::try_from(lane["lane"].as_u64().unwrap()).unwrap());
        (
            variable["name"].as_str().unwrap().to_owned(),
            numbers.collect(),
        )
    });
    variables.collect()
}

fn absent_by_rust(stop: &Stop<'_, '_>, index: usize) -> BTreeMap<String, Vec<usize>> {
    let frame = stop.frame(index).unwrap();
    let mut types = TypeTable::default();
    let values = frame.variables(&mut types).unwrap();
    let values = values.iter().map(|value| {
        let lanes = frame.wave_size().all_lanes();
        let absent = lanes.filter(|lane| value.state(*lane) == ValueState::NotInFrame);
        (
            name_of(&value.variable),
            absent.map(|lane| lane.0.into()).collect(),
        )
    });
    values.collect()
}

#[test]
fn documents_rust_and_c_have_the_same_lanes() {
    let counts = pairs().into_par_iter().map(|pair| {
        let (mut asked, mut callers, mut absent) = (0, 0, 0);
        let name = pair.name();
        let (frames, by_rust) = pair.with_stop(|stop| {
            let frames = of_rust(stop);
            let lanes =
                (0..frames.len()).map(|index| (of_frame(stop, index), absent_by_rust(stop, index)));
            let lanes: Vec<_> = lanes.collect();
            (frames, lanes)
        });
        let vars = pair.document("vars", &["--frame=all", "--lane=all"]);
        for (index, content) in list(&vars["frames"]).iter().enumerate() {
            let at = format!("{name} frame {index}");
            let (expected, by_rust) = &by_rust[index];
            assert_eq!(
                c::lanes(&pair, index).as_ref(),
                expected.as_ref(),
                "{at}: C"
            );
            let Some(expected) = expected else {
                continue;
            };
            let document = pair.document("lane-pc", &[&format!("--frame={index}")]);
            assert_eq!(document["frame"], frames[index].index, "{at}");
            assert_eq!(&of_document(&document), expected, "{at}: lane-pc");
            callers += check_callers(&at, expected, (index, &frames));
            // A lane that did not enter the frame has no value in it.
            let elsewhere: Vec<usize> = (0..expected.len())
                .filter(|lane| expected[*lane].state == "elsewhere")
                .collect();
            for (variable, lanes) in absent_by_document(content) {
                assert_eq!(lanes, elsewhere, "{at}: {variable}");
                assert_eq!(by_rust[&variable], elsewhere, "{at}: {variable}");
                absent += lanes.len();
            }
            asked += 1;
        }
        [asked, callers, absent]
    });
    let [asked, callers, absent] = sum(counts);
    println!("{asked} frames, {callers} lanes in callers, {absent} values that are not there");
    assert!(
        asked > 600 && callers > 1000 && absent > 1000,
        "{asked} {callers} {absent}"
    );
}
