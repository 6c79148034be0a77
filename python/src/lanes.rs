//! Where the lanes of a frame are.

use pyo3::prelude::*;

use hetdwarf::Untrusted;
use hetdwarf::report::{Hex, LanePcCaller, LanePcLane};

fn address(hex: Hex) -> u64 {
    u64::try_from(hex.0).unwrap_or(u64::MAX)
}

fn text(text: &Option<Untrusted<'static>>) -> Option<String> {
    text.as_ref().map(|text| text.raw().to_owned())
}

/// Where a lane is.
#[pyclass(frozen, get_all, module = "hetdwarf")]
#[derive(Clone)]
pub struct LanePc {
    lane: usize,
    /// An address of the process; None if the lane was not active on entry, or is not known.
    pc: Option<u64>,
    active: bool,
    /// `active`, `waiting`, `elsewhere` or `unknown`.
    state: &'static str,
    /// `dwarf` or `recovered`, of a waiting lane.
    origin: Option<&'static str>,
    left: Option<u64>,
    resumes: Option<u64>,
    reason: Option<&'static str>,
    caller: Option<LaneCaller>,
    file: Option<String>,
    line: Option<u64>,
    work_item: Option<(u32, u32, u32)>,
}

/// Where a lane is that was not active on entry: in a frame further out.
#[pyclass(frozen, get_all, module = "hetdwarf")]
#[derive(Clone)]
pub struct LaneCaller {
    frame: usize,
    pc: u64,
    function: Option<String>,
    file: Option<String>,
    line: Option<u64>,
}

impl LanePc {
    pub fn new(lane: &LanePcLane) -> LanePc {
        LanePc {
            lane: lane.lane,
            pc: lane.pc.map(address),
            active: lane.active,
            state: lane.state,
            origin: lane.origin,
            left: lane.left.flatten().map(address),
            resumes: lane.resumes.flatten().map(address),
            reason: lane.reason,
            caller: lane.caller.as_ref().map(LaneCaller::new),
            file: text(&lane.file),
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
            function: text(&caller.function),
            file: text(&caller.file),
            line: caller.line,
        }
    }
}

#[pymethods]
impl LanePc {
    fn __repr__(&self) -> String {
        let place = match (&self.file, self.line, self.pc) {
            (Some(file), Some(line), _) => format!(" at {file}:{line}"),
            (_, _, Some(pc)) => format!(" at {pc:#x}"),
            _ => String::new(),
        };
        format!("<LanePc lane {} {}{place}>", self.lane, self.state)
    }
}

#[pymethods]
impl LaneCaller {
    fn __repr__(&self) -> String {
        let function = self.function.as_deref().unwrap_or("?");
        format!(
            "<LaneCaller frame {} {function} at {:#x}>",
            self.frame, self.pc
        )
    }
}
