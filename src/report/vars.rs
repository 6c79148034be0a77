//! `hetdwarf-vars/2`: the variables of a frame, or of all frames.

mod children;
mod empty;
mod hidden;
mod places;
mod recovered;
mod text;
mod writer;

use serde::Serialize;

use super::completeness::Completeness;
use super::frame::FrameDocument;
use super::number::Hex;
use crate::arch::Lane;
use crate::debug_info::types::TypeTable;
use crate::debug_info::{DebugInfo, VariableKind};
use crate::display::Options;
use crate::error::Result;
use crate::inspect::{
    LocationReading, NOT_SAID, Stop, StopFrame, ValueState, ValueStateKind, VariableValue,
};
use crate::object::descriptor::InitialRegisters;
use crate::untrusted::Untrusted;
pub use children::ChildDocument;
use children::is_none;
pub use empty::EmptyReason;
pub use hidden::HiddenDocument;
pub(super) use places::Places;
pub use recovered::{AsOfDocument, RecoveredDocument, RecoveredDocuments};
pub use text::{TypeText, ValueText};
use writer::Writer;

/// The number of letters or entries that are charged for a line of output.
pub(super) const PER_LINE: u64 = 64;

/// The number of steps that are charged for a lane of a variable, regardless of its value.
const PER_LANE: u64 = 8;

/// The message for a waiting lane in which the variable has no value.
const NOT_WAITING: &str = "it has no location where the lane waits, or a location in registers that were reused for other lanes";

/// A note on a value that holds for all lanes.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueNote {
    /// The value is in memory that the prologue of the function writes, and the prologue has not finished.
    Prologue,
}

impl ValueNote {
    /// Returns the name in JSON documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ValueNote::Prologue => "prologue",
        }
    }

    /// Returns the note as text for people.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            ValueNote::Prologue => "stopped in the prologue; may not be set yet",
        }
    }
}

/// Returns warnings about the debugging information that values depend on, for people.
pub(super) fn warnings(info: &DebugInfo<'_>, types: &TypeTable) -> Vec<Untrusted<'static>> {
    let bound = types.wrong_lower_bound().map(|bound| {
        format!(
            "an array has the lower bound {bound}, which its language does not allow: the indices of the language are shown"
        )
    });
    let lines = info.line_problems().into_iter().map(|problem| {
        format!(
            "lines and files are missing, and in a prologue variables may not be set yet: {problem}"
        )
    });
    bound
        .into_iter()
        .chain(lines)
        .map(Untrusted::from)
        .collect()
}

/// The note if EXEC is not known.
const EXEC_UNKNOWN: &str =
    "EXEC is not among the wave's registers: every lane is shown, active or not";

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct VarsDocument {
    /// `hetdwarf-vars/2`.
    pub format: &'static str,
    /// The program location of the first frame, as an address of the process. For waiting lanes, this is the location at which they wait.
    pub pc: Hex,
    /// The frames with their variables, the innermost first.
    pub frames: Vec<FrameVariables>,
    /// The reason why the stack ends, as in `hetdwarf-unwind/2`. Present if all frames were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<&'static str>,
    /// The reason why no variable of the frames could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<EmptyReason>,
    /// The text of `reason` or `stopped` for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Untrusted<'static>>,
    /// Problems of the debugging information that do not prevent reading values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Untrusted<'static>>,
    /// The completeness of the document, whose fields are flattened into it.
    #[serde(flatten)]
    pub completeness: Completeness,
}

/// A frame and its variables.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct FrameVariables {
    /// The frame.
    pub frame: FrameDocument,
    /// Set if the lanes wait at this program location because EXEC has switched them off. Their variables are read at this location. The frame has
    /// the number that it would have if the wave were there.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub waiting: bool,
    /// The reason why no variable could be read, of this frame and of the frames inlined in it that are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<EmptyReason>,
    /// The reason as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Untrusted<'static>>,
    /// A note that holds for all lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
    /// The registers of a kernel that still hold their initial values ([`StopFrame::initial_registers`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entry: Vec<InitialRegisters>,
    /// The hidden arguments of a kernel, if they were requested ([`StopFrame::hidden_arguments`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<HiddenDocument>,
    /// The variables, the innermost scope first.
    pub variables: Vec<VariableDocument>,
    /// The frames of selected lanes that wait elsewhere in the call frame, with their variables, by program location.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_lanes: Vec<FrameVariables>,
}

/// The options of a request for the variables of a frame.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default)]
pub struct VarsRequest<'r> {
    /// The requested lanes.
    pub lanes: LaneChoice<'r>,
    /// The filter for variable names. All variables are read if it is None.
    pub names: Option<NameFilter<'r>>,
    /// The format of the values.
    pub display: Options,
    /// The number of levels of parts that are listed of each value: members, elements, and the targets of pointers.
    pub children: u32,
    /// True if the hidden arguments of kernels are listed.
    pub hidden: bool,
}

/// The lanes that are requested.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default)]
pub enum LaneChoice<'r> {
    /// All lanes of the wave, at the program location of the frame.
    #[default]
    All,
    /// These lanes, each at the location where it waits.
    These(&'r [Lane]),
}

/// The variables that are requested.
#[non_exhaustive]
#[derive(Clone, Copy)]
pub struct NameFilter<'r> {
    /// The filter as the user wrote it. Only messages use it.
    pub text: &'r str,
    /// A function that returns true if a name is selected.
    pub matches: &'r dyn Fn(&str) -> bool,
}

impl<'r> NameFilter<'r> {
    /// Selects variables by their names.
    ///
    /// * `text`: the filter as the user wrote it.
    /// * `matches`: returns true if a name is selected.
    #[must_use]
    pub fn new(text: &'r str, matches: &'r dyn Fn(&str) -> bool) -> NameFilter<'r> {
        NameFilter { text, matches }
    }
}

impl core::fmt::Debug for NameFilter<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("NameFilter").field(&self.text).finish()
    }
}

impl<'r> VarsRequest<'r> {
    /// Sets the requested lanes.
    #[must_use]
    pub fn lanes(self, lanes: LaneChoice<'r>) -> VarsRequest<'r> {
        VarsRequest { lanes, ..self }
    }

    /// Sets the filter for variable names.
    #[must_use]
    pub fn names(self, names: Option<NameFilter<'r>>) -> VarsRequest<'r> {
        VarsRequest { names, ..self }
    }

    /// Sets the number of levels of parts that are listed of each value.
    #[must_use]
    pub fn children(self, children: u32) -> VarsRequest<'r> {
        VarsRequest { children, ..self }
    }

    /// Lists the hidden arguments of kernels if `hidden` is true.
    #[must_use]
    pub fn hidden(self, hidden: bool) -> VarsRequest<'r> {
        VarsRequest { hidden, ..self }
    }

    /// Sets the format of the values.
    #[must_use]
    pub fn display(self, display: Options) -> VarsRequest<'r> {
        VarsRequest { display, ..self }
    }
}

/// A variable.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct VariableDocument {
    /// The name; empty if the variable has none.
    pub name: Untrusted<'static>,
    /// The kind of the variable.
    pub kind: VariableKind,
    /// The name of the type.
    #[serde(rename = "type")]
    pub ty: TypeText,
    /// The offset of the debugging information entry.
    pub die: Hex,
    /// The declaration.
    pub decl: DeclarationDocument,
    /// The function or namespace that contains the variable.
    pub scope: Option<Untrusted<'static>>,
    /// The way in which the location was determined.
    pub reading: LocationReading,
    /// A note on the value that holds for all lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<ValueNote>,
    /// The value in each lane.
    pub lanes: Vec<LaneDocument>,
}

impl VariableDocument {
    /// Creates a variable with only a name, a kind and a type.
    #[must_use]
    pub fn new(name: Untrusted<'static>, kind: VariableKind, ty: TypeText) -> VariableDocument {
        VariableDocument {
            name,
            kind,
            ty,
            die: Hex(0),
            decl: DeclarationDocument::default(),
            scope: None,
            reading: LocationReading::Dwarf,
            note: None,
            lanes: Vec::new(),
        }
    }
}

/// The place of a declaration.
#[non_exhaustive]
#[derive(Clone, Debug, Default, Serialize)]
pub struct DeclarationDocument {
    /// The path of the file, as the line table gives it.
    pub file: Option<Untrusted<'static>>,
    /// The line.
    pub line: Option<u64>,
}

/// The value of a variable in a lane.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct LaneDocument {
    /// The lane.
    pub lane: u8,
    /// The position of the work-item in the grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_item: Option<[u32; 3]>,
    /// The state of the value. [`ValueStateKind`] has the meaning of each name.
    pub state: ValueStateKind,
    /// The value in the format of a C debugger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<ValueText>,
    /// The bytes in memory order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// Half-open ranges of bits that were optimised away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undefined: Vec<[u64; 2]>,
    /// Half-open ranges of bits that are not available.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<[u64; 2]>,
    /// The source of the value, if the debugging information does not locate it at this address.
    #[serde(flatten)]
    pub recovered: Option<Box<RecoveredDocument>>,
    /// The problem, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Untrusted<'static>>,
    /// The parts of the value, if they were requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildDocument>,
    /// The number of elements that are not listed.
    #[serde(skip_serializing_if = "is_none")]
    pub more_children: u64,
}

impl LaneDocument {
    /// Creates a lane of which only the state is known.
    #[must_use]
    pub fn of_state(
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
            recovered: None,
            message: None,
            children: Vec::new(),
            more_children: 0,
        }
    }

    /// Returns true if at least a part of the value is known.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.state.is_readable()
    }
}

impl FrameVariables {
    /// Creates a frame with variables.
    #[must_use]
    pub fn new(frame: FrameDocument, variables: Vec<VariableDocument>) -> FrameVariables {
        FrameVariables {
            frame,
            waiting: false,
            reason: None,
            message: None,
            note: None,
            entry: Vec::new(),
            hidden: Vec::new(),
            variables,
            waiting_lanes: Vec::new(),
        }
    }

    /// Returns true if at least one variable has a value in a lane.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        let places = core::iter::once(self).chain(&self.waiting_lanes);
        let variables = places.flat_map(|place| &place.variables);
        let mut lanes = variables.flat_map(|variable| &variable.lanes);
        lanes.any(LaneDocument::is_readable)
    }
}

impl VarsDocument {
    /// Reads the variables of a frame. For a whole call frame with inlined calls, reads the variables of each of its parts. If a limit is reached,
    /// returns the variables that were read before.
    ///
    /// # Errors
    /// If the debugging information of the frame is malformed.
    pub fn new(frame: &StopFrame<'_, '_, '_>, request: &VarsRequest<'_>) -> Result<VarsDocument> {
        let stop = frame.stop();
        stop.reset_meter();
        let mut document = VarsDocument::empty();
        let mut writer = Writer::new(stop.meter(), request);
        let mut types = TypeTable::default();
        document.add(writer.frames(frame, &mut types)?, &mut writer);
        document.finish(stop.program().info(), &types);
        Ok(document)
    }

    /// Reads the variables of all frames of a stop.
    ///
    /// All frames together may cost as much as one frame. If a limit is reached, the document has the frames that were read before, and `stopped`
    /// reports the limit.
    ///
    /// # Errors
    /// If the debugging information of a frame is malformed.
    pub fn of_all_frames(stop: &Stop<'_, '_>, request: &VarsRequest<'_>) -> Result<VarsDocument> {
        stop.reset_meter();
        let mut document = VarsDocument::empty();
        document.completeness = Completeness::of_stack(stop);
        let mut writer = Writer::new(stop.meter(), request);
        let mut types = TypeTable::default();
        let mut is_cut = false;
        for frame in stop.call_frames() {
            let found = document
                .completeness
                .accept(writer.frames(&frame, &mut types))?;
            is_cut = found.is_none();
            document.add(found.unwrap_or_default(), &mut writer);
            // A meter that refused one frame refuses all later frames.
            if let Some(error) = stop.meter().refused() {
                document.completeness.note(&error);
                is_cut |= frame.call_frame().level() + 1 < stop.call_frames().len();
            }
            if is_cut {
                break;
            }
        }
        document.finish(stop.program().info(), &types);
        let stopped = match is_cut {
            true => crate::frame::Stopped::Limit,
            false => stop.stopped(),
        };
        document.stopped = Some(stopped.name());
        document.message = match (&document.completeness.limit, stop.stack().error()) {
            (Some(limit), _) if is_cut => Some(limit.clone()),
            (_, Some(error)) => Some(error.to_string().into()),
            (_, None) => Some(stop.end_text().into()),
        };
        Ok(document)
    }

    fn empty() -> VarsDocument {
        VarsDocument {
            format: "hetdwarf-vars/2",
            pc: Hex(0),
            frames: Vec::new(),
            stopped: None,
            reason: None,
            message: None,
            warnings: Vec::new(),
            completeness: Completeness::default(),
        }
    }

    fn add(&mut self, frames: Vec<FrameVariables>, writer: &mut Writer<'_>) {
        self.frames.extend(frames);
        let reached = core::mem::take(&mut writer.completeness);
        if self.completeness.complete {
            self.completeness = reached;
        }
    }

    /// Sets the fields that concern all frames.
    fn finish(&mut self, info: &DebugInfo<'_>, types: &TypeTable) {
        self.warnings = warnings(info, types);
        if let Some(first) = self.frames.first() {
            self.pc = first.frame.pc;
        }
        if !self.is_readable() {
            let mut frames = self.frames.iter().rev();
            let found =
                frames.find_map(|frame| Some((frame.reason.clone()?, frame.message.clone()?)));
            (self.reason, self.message) = found.unzip();
        }
    }

    /// Returns true if at least one variable has a value in a lane.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.frames.iter().any(FrameVariables::is_readable)
    }
}

/// Returns the message for a variable in a lane, for people. Returns `None` if the state needs no message.
///
/// * `frame`: the frame of the variable.
/// * `state`: the state of the variable in the lane.
#[must_use]
pub fn lane_message(
    frame: &StopFrame<'_, '_, '_>,
    value: &VariableValue<'_>,
    state: &ValueState,
) -> Option<String> {
    let not_understood = || value.not_understood().map(str::to_owned);
    match state {
        ValueState::Ok => not_understood(),
        ValueState::Partial => {
            (not_understood().or_else(|| doubts(value))).or_else(|| value.cut().map(str::to_owned))
        }
        ValueState::Ambiguous(reason) => Some(reason.to_string()),
        ValueState::Unsupported { what } => Some(what.clone()),
        ValueState::Error(error) | ValueState::Unavailable(Some(error)) => Some(error.to_string()),
        ValueState::OptimizedOut => Some(frame.no_location(value)),
        ValueState::Unavailable(None) => Some(NOT_SAID.to_owned()),
        ValueState::Inactive
        | ValueState::NotInFrame
        | ValueState::Entry
        | ValueState::LastKnown => None,
    }
}

/// Returns the reason why bits of a variable are not known, although they were not optimised away.
fn doubts(value: &VariableValue<'_>) -> Option<String> {
    let doubt = value.doubts().first()?;
    let (start, end) = (doubt.bits.start, doubt.bits.end);
    Some(format!("bits {start} to {end}: {}", doubt.reason))
}
