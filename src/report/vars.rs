//! `hetdwarf-vars/1`: the variables of a frame, or of all frames.

mod children;
mod empty;
mod places;
mod writer;

use serde::Serialize;

use super::completeness::Completeness;
use super::number::Hex;
use crate::arch::Lane;
use crate::debug_info::{SourceFile, VariableKind};
use crate::display::Options;
use crate::error::Result;
use crate::eval::LocationAttribute;
use crate::inspect::{LocationReading, Stop, StopFrame, ValueState, ValueStateKind, VariableValue};
use crate::meter::Meter;
use crate::untrusted::Untrusted;
pub use children::ChildDocument;
use children::is_none;
pub use empty::EmptyReason;
pub(super) use places::Places;
use writer::Writer;

/// As how many letters or entries a line of output counts.
pub(super) const PER_LINE: u64 = 64;

/// As how many steps a lane of a variable counts, whatever it holds.
const PER_LANE: u64 = 8;

/// What is said where the debugger does not have the bytes.
const NOT_SAID: &str = "the wave does not say what is there";

/// What is said of a lane that waits.
const NOT_WAITING: &str = "it has no location where the lane waits, or one in registers that the wave has used for other lanes since";

/// What is said beside values in memory before the prologue is over.
pub const IN_PROLOGUE: &str = "the prologue is not over: it may not have been written yet";

/// The document of one frame.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct VarsDocument {
    /// `hetdwarf-vars/1`.
    pub format: &'static str,
    /// The frame and its variables; its fields are the document's.
    #[serde(flatten)]
    pub content: FrameVariables,
}

/// The document of all frames.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct AllVarsDocument {
    /// `hetdwarf-vars/1`.
    pub format: &'static str,
    /// The innermost frame's program location, in the process.
    pub pc: Hex,
    /// Each frame with its variables, the innermost first.
    pub frames: Vec<FrameVariables>,
    /// Why there are no more frames: as in `hetdwarf-unwind/1`.
    pub stopped: &'static str,
    /// The same for people.
    pub message: Untrusted<'static>,
    /// Whether a limit was reached; its fields are the document's.
    #[serde(flatten)]
    pub completeness: Completeness,
}

/// A frame and its variables.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct FrameVariables {
    /// The frame's program location, in the process; that of the lanes if they wait.
    pub pc: Hex,
    /// Where that is in the source.
    pub frame: VarsFrame,
    /// Set if the lanes wait there: EXEC has switched them off, and their variables are those of where they wait.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub waiting: bool,
    /// Why no variable could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<EmptyReason>,
    /// The same for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Untrusted<'static>>,
    /// Whether a limit was reached; its fields are those of this.
    #[serde(flatten)]
    pub completeness: Completeness,
    /// The variables, the innermost scope first.
    pub variables: Vec<VariableDocument>,
    /// Of lanes that were chosen and wait elsewhere in the frame: their variables there, by program location.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_lanes: Vec<FrameVariables>,
}

/// What is asked of the variables of a frame.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default)]
pub struct VarsRequest<'r> {
    /// The lanes.
    pub lanes: LaneChoice<'r>,
    /// Which variables.
    pub names: Option<NameFilter<'r>>,
    /// How values are printed.
    pub display: Options,
    /// How many levels of parts are listed of each value: members, elements, what pointers point to.
    pub children: u32,
}

/// The lanes that a question is about.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default)]
pub enum LaneChoice<'r> {
    /// All of the wave, where the frame stands.
    #[default]
    All,
    /// Those that are not known to be of no interest, [`StopFrame::readable_lanes`], where the frame stands; those
    /// that wait elsewhere in it are not asked there.
    Readable,
    /// These, each where it waits.
    These(&'r [Lane]),
}

/// The variables that a question is about.
#[non_exhaustive]
#[derive(Clone, Copy)]
pub struct NameFilter<'r> {
    /// How the user named them; only messages have it.
    pub text: &'r str,
    /// Whether a name is meant.
    pub matches: &'r dyn Fn(&str) -> bool,
}

impl core::fmt::Debug for NameFilter<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("NameFilter").field(&self.text).finish()
    }
}

impl<'r> VarsRequest<'r> {
    /// The same for other lanes.
    #[must_use]
    pub fn lanes(self, lanes: LaneChoice<'r>) -> VarsRequest<'r> {
        VarsRequest { lanes, ..self }
    }

    /// The same for variables with some names.
    #[must_use]
    pub fn names(self, names: Option<NameFilter<'r>>) -> VarsRequest<'r> {
        VarsRequest { names, ..self }
    }

    /// The same with parts of values, so many levels of them.
    #[must_use]
    pub fn children(self, children: u32) -> VarsRequest<'r> {
        VarsRequest { children, ..self }
    }

    /// The same with values printed in another way.
    #[must_use]
    pub fn display(self, display: Options) -> VarsRequest<'r> {
        VarsRequest { display, ..self }
    }
}

/// A frame, and where it is in the source.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct VarsFrame {
    /// Its level; 0 is the innermost.
    pub index: usize,
    /// The function.
    pub function: Option<Untrusted<'static>>,
    /// The functions inlined into it here, the innermost first.
    pub inlined: Vec<Untrusted<'static>>,
    /// The source file's name.
    pub file: Option<Untrusted<'static>>,
    /// The line.
    pub line: Option<u64>,
}

/// A variable.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct VariableDocument {
    /// Its name; empty if it has none.
    pub name: Untrusted<'static>,
    /// What it is.
    pub kind: VariableKind,
    /// Its type's name.
    #[serde(rename = "type")]
    pub ty: Untrusted<'static>,
    /// How many of the brackets at the end of the type stand after the name in a declaration.
    #[serde(skip)]
    pub brackets: usize,
    /// The offset of its entry.
    pub die: Hex,
    /// Where it is declared.
    pub decl: DeclarationDocument,
    /// The function or namespace it is in.
    pub scope: Option<Untrusted<'static>>,
    /// How its location was read.
    pub reading: LocationReading,
    /// What else there is to know of its value, in all lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
    /// Its value in each lane.
    pub lanes: Vec<LaneDocument>,
}

/// Where something is declared.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct DeclarationDocument {
    /// The file's name.
    pub file: Option<Untrusted<'static>>,
    /// The line.
    pub line: Option<u64>,
}

/// A variable in a lane.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct LaneDocument {
    /// The lane.
    pub lane: u8,
    /// The work-item that it is, by its place in the grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_item: Option<[u32; 3]>,
    /// What is known of it.
    pub state: ValueStateKind,
    /// As a debugger of C prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// As in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// Half-open ranges of bits that were optimised away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undefined: Vec<[u64; 2]>,
    /// Half-open ranges of bits that are not available.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<[u64; 2]>,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Untrusted<'static>>,
    /// Its parts, if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildDocument>,
    /// How many elements it has that are not listed.
    #[serde(skip_serializing_if = "is_none")]
    pub more_children: u64,
}

impl LaneDocument {
    /// A lane of which nothing but the state is known yet.
    pub(super) fn of_state(
        lane: Lane,
        work_item: Option<[u32; 3]>,
        state: ValueStateKind,
    ) -> LaneDocument {
        LaneDocument {
            lane: lane.0,
            work_item,
            state,
            value: None,
            bytes: None,
            undefined: Vec::new(),
            unavailable: Vec::new(),
            message: None,
            children: Vec::new(),
            more_children: 0,
        }
    }

    /// Whether there is a value, or some of it.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.state.is_readable()
    }
}

impl FrameVariables {
    /// Whether a variable has a value in a lane.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        let places = core::iter::once(self).chain(&self.waiting_lanes);
        let variables = places.flat_map(|place| &place.variables);
        let mut lanes = variables.flat_map(|variable| &variable.lanes);
        lanes.any(LaneDocument::is_readable)
    }
}

/// The name without its directory.
pub(super) fn file_name(file: Option<&SourceFile>) -> Option<Untrusted<'static>> {
    file.map(|file| file.name().to_owned().into())
}

impl VarsFrame {
    /// Describes a frame.
    ///
    /// # Errors
    /// If the debugging information is malformed.
    pub fn new(frame: &StopFrame<'_, '_, '_>) -> Result<VarsFrame> {
        VarsFrame::within(frame, frame.stop().meter())
    }

    /// The same; entries that are read are paid for.
    pub(super) fn within(frame: &StopFrame<'_, '_, '_>, meter: &Meter) -> Result<VarsFrame> {
        let function = frame.function()?;
        let line = frame.line()?;
        let inlined = match &function {
            Some(function) => frame.inlined_within(function, meter)?,
            None => Vec::new(),
        };
        meter.work(
            function
                .as_ref()
                .map_or(0, |function| function.ranges.len() as u64),
        )?;
        for call in &inlined {
            let length = call.name.as_ref().map_or(0, |name| name.len());
            let size = PER_LINE + length as u64;
            meter.work(size).and(meter.hold(size))?;
        }
        let name = |name: &Option<std::borrow::Cow<'_, str>>| {
            let name = name.as_ref();
            name.map(|name| Untrusted::from(name.to_string()))
        };
        Ok(VarsFrame {
            index: frame.call_frame().level(),
            function: function.as_ref().and_then(|function| name(&function.name)),
            inlined: inlined
                .iter()
                .map(|call| name(&call.name).unwrap_or_default())
                .collect(),
            file: line.as_ref().and_then(|line| file_name(line.file.as_ref())),
            line: line.as_ref().map(|line| line.line),
        })
    }
}

impl VarsDocument {
    /// Reads the variables of a frame. Where a limit is reached, those before are given.
    ///
    /// # Errors
    /// If the debugging information of the frame is malformed.
    pub fn new(frame: &StopFrame<'_, '_, '_>, request: &VarsRequest<'_>) -> Result<VarsDocument> {
        frame.stop().reset_meter();
        let mut writer = Writer::new(frame.stop().meter(), request);
        Ok(VarsDocument {
            format: "hetdwarf-vars/1",
            content: writer.frame(frame)?,
        })
    }
}

impl AllVarsDocument {
    /// Reads the variables of all frames of a stop.
    ///
    /// All together may cost as much as those of one frame: where a limit is reached, the frames before are given, and
    /// `stopped` says so.
    ///
    /// # Errors
    /// If the debugging information of a frame is malformed.
    pub fn new(stop: &Stop<'_, '_>, request: &VarsRequest<'_>) -> Result<AllVarsDocument> {
        stop.reset_meter();
        let mut writer = Writer::new(stop.meter(), request);
        let mut document = AllVarsDocument {
            format: "hetdwarf-vars/1",
            pc: Hex(0),
            frames: Vec::new(),
            stopped: stop.stopped().name(),
            message: match stop.stack().error() {
                Some(error) => error.to_string().into(),
                None => stop.stopped().text().into(),
            },
            completeness: Completeness::of_stack(stop),
        };
        for frame in stop.frames() {
            if document.frames.is_empty() {
                document.pc = Hex::from(frame.call_frame().pc());
            }
            let Some(found) = document.completeness.accept(writer.frame(&frame))? else {
                break;
            };
            let reached = found.completeness.clone();
            document.frames.push(found);
            if !reached.complete && document.completeness.complete {
                document.completeness = reached;
            }
            // What was refused to one frame is refused to all after it.
            if let Some(error) = stop.meter().refused() {
                document.completeness.note(&error);
                break;
            }
        }
        if let (Some(limit), true) = (
            &document.completeness.limit,
            document.frames.len() < stop.frames().len(),
        ) {
            document.stopped = crate::frame::Stopped::Limit.name();
            document.message = limit.clone();
        }
        Ok(document)
    }
}

/// What there is to say of a lane of a variable, for people; nothing where the state says it all.
///
/// * `state`: that of the lane.
#[must_use]
pub fn lane_message(value: &VariableValue<'_>, state: &ValueState) -> Option<String> {
    let not_understood = || value.not_understood().map(str::to_owned);
    match state {
        ValueState::Ok => not_understood(),
        ValueState::Partial => not_understood().or_else(|| doubts(value)),
        ValueState::Ambiguous(reason) => Some(reason.to_string()),
        ValueState::Unsupported { what } => Some(what.clone()),
        ValueState::Error(error) => Some(error.to_string()),
        ValueState::OptimizedOut => Some(reason(value).to_owned()),
        ValueState::Unavailable => Some(NOT_SAID.to_owned()),
        ValueState::Inactive => None,
    }
}

/// Why bits of a variable are not known although nothing says that they were optimised away.
fn doubts(value: &VariableValue<'_>) -> Option<String> {
    let doubt = value.doubts().first()?;
    let (start, end) = (doubt.bits.start, doubt.bits.end);
    Some(format!("bits {start} to {end}: {}", doubt.reason))
}

/// Why there is no value where nothing went wrong.
fn reason(value: &VariableValue<'_>) -> &'static str {
    let variable = &value.variable;
    match variable.location {
        _ if variable.is_omitted => "this instance of the function is without it",
        None => "it has no location",
        Some(LocationAttribute::List { .. }) => "it has no location at this address",
        Some(LocationAttribute::Expression(_)) => "its location is undefined",
    }
}
