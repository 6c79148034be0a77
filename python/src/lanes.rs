//! Where the lanes of a frame are.

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

/// Where a lane is.
#[pyclass(frozen, get_all, module = "hetdwarf")]
#[derive(Clone)]
pub struct LanePc {
    /// Its number in the wave.
    lane: usize,
    /// An address of the process; None if the lane was not active on entry, or is not known.
    pc: Option<u64>,
    /// Whether it executes at this stop.
    active: bool,
    /// `active`, `waiting`, `elsewhere` or `unknown`.
    state: &'static str,
    /// `dwarf` or `recovered`, of a waiting lane.
    origin: Option<&'static str>,
    /// The address, in the process, of the instruction that switched it off; None if that is not known.
    left: Option<u64>,
    /// The address, in the process, at which it executes again; None if that is not known.
    resumes: Option<u64>,
    /// Why its place is not known.
    reason: Option<&'static str>,
    /// Where it is if it was not active on entry.
    caller: Option<LaneCaller>,
    /// The source file of its place.
    file: Option<String>,
    /// The line of its place.
    line: Option<u64>,
    /// Its work-item in the grid: x, y and z.
    work_item: Option<(u32, u32, u32)>,
}

/// Where a lane is that was not active on entry: in a frame further out.
#[pyclass(frozen, get_all, module = "hetdwarf")]
#[derive(Clone)]
pub struct LaneCaller {
    /// The frame's number in the stack.
    frame: usize,
    /// An address of the process.
    pc: u64,
    /// The frame's function.
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
