//! Provides the places of lanes in a frame.

use pyo3::prelude::*;

use hetdwarf::Untrusted;
use hetdwarf::inspect::{LaneOrigin, LanePlace};
use hetdwarf::report::{Hex, LanePcCaller, LanePcLane};

use crate::text::shown;

fn address(hex: Hex) -> u64 {
    u64::try_from(hex.0).unwrap_or(u64::MAX)
}

fn text(text: Option<&Untrusted<'static>>) -> Option<String> {
    text.map(|text| text.raw().to_owned())
}

/// The place of a lane.
#[pyclass(frozen, get_all, module = "hetdwarf")]
#[derive(Clone)]
pub struct LanePc {
    /// The number of the lane in the wave.
    lane: usize,
    /// The program location, as an address of the process; None if the lane was inactive on entry, or if the location is unknown.
    pc: Option<u64>,
    /// True if the lane is active at this stop.
    active: bool,
    /// `active`, `waiting`, `elsewhere` or `unknown`.
    state: &'static str,
    /// `dwarf` or `recovered` for a waiting lane.
    origin: Option<&'static str>,
    /// The instruction that switched the lane off, as an address of the process; None if unknown.
    left: Option<u64>,
    /// The first instruction that executes after the lane is switched on again, as an address of the process; None if unknown.
    resumes: Option<u64>,
    /// The reason why the place is unknown.
    reason: Option<&'static str>,
    /// The place in a caller's frame, if the lane was inactive on entry.
    caller: Option<LaneCaller>,
    /// The source file at the place.
    file: Option<String>,
    /// The line at the place.
    line: Option<u64>,
    /// The lane's work-item in the grid: x, y and z.
    work_item: Option<(u32, u32, u32)>,
}

/// The place, in a caller's frame, of a lane that was inactive on entry.
#[pyclass(frozen, get_all, module = "hetdwarf")]
#[derive(Clone)]
pub struct LaneCaller {
    /// The number of the frame in the stack.
    frame: usize,
    /// The lane's program location in that frame, as an address of the process.
    pc: u64,
    /// The function of the frame.
    function: Option<String>,
    /// The source file of that address.
    file: Option<String>,
    /// The line of that address.
    line: Option<u64>,
}

impl LanePc {
    pub fn new(lane: &LanePcLane) -> LanePc {
        let origin = lane.place.origin();
        LanePc {
            lane: lane.lane,
            pc: lane.pc.map(address),
            active: lane.place == LanePlace::Active,
            state: lane.place.name(),
            origin: origin.map(LaneOrigin::name),
            left: origin.and_then(LaneOrigin::left).map(u64::from),
            resumes: origin.and_then(LaneOrigin::resumes).map(u64::from),
            reason: lane.place.reason(),
            caller: lane.caller.as_ref().map(LaneCaller::new),
            file: text(lane.file.as_ref()),
            line: lane.line,
            work_item: lane.work_item.map(Into::into),
        }
    }
}

impl LaneCaller {
    fn new(caller: &LanePcCaller) -> LaneCaller {
        LaneCaller {
            frame: caller.frame,
            pc: address(caller.pc),
            function: text(caller.function.as_ref()),
            file: text(caller.file.as_ref()),
            line: caller.line,
        }
    }
}

#[pymethods]
impl LanePc {
    fn __repr__(&self) -> String {
        let place = match (&self.file, self.line, self.pc) {
            (Some(file), Some(line), _) => {
                let name = file.rsplit('/').next().unwrap_or(file);
                format!(" at {name}:{line}")
            }
            (_, _, Some(pc)) => format!(" at {pc:#x}"),
            _ => String::new(),
        };
        shown(&format!(
            "<LanePc lane {} {}{place}>",
            self.lane, self.state
        ))
    }
}

#[pymethods]
impl LaneCaller {
    fn __repr__(&self) -> String {
        let function = self.function.as_deref().unwrap_or("?");
        shown(&format!(
            "<LaneCaller frame {} {function} at {:#x}>",
            self.frame, self.pc
        ))
    }
}
