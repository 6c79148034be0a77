//! `hetdwarf-vars/2`: the variables of a frame, or of all frames.

mod children;
mod empty;
mod hidden;
mod places;
mod recovered;
mod writer;

use serde::Serialize;

use super::completeness::Completeness;
use super::frame::FrameDocument;
use super::number::Hex;
use crate::arch::Lane;
use crate::debug_info::VariableKind;
use crate::debug_info::types::TypeTable;
use crate::display::{Mark, Options};
use crate::error::Result;
use crate::eval::LocationAttribute;
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
pub(super) use recovered::RecoveredDocuments;
pub use recovered::{AsOfDocument, RecoveredDocument};
use writer::Writer;

/// As how many letters or entries a line of output counts.
pub(super) const PER_LINE: u64 = 64;

/// As how many steps a lane of a variable counts, whatever it holds.
const PER_LANE: u64 = 8;

/// What is said of a lane that waits.
const NOT_WAITING: &str = "it has no location where the lane waits, or one in registers that the wave has used for other lanes since";

/// What else there is to know of a value, in all lanes.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueNote {
    /// It is in memory that the prologue of the function writes, which is not over.
    Prologue,
}

impl ValueNote {
    /// The name in JSON documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ValueNote::Prologue => "prologue",
        }
    }

    /// Returns what there is to know, for people.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            ValueNote::Prologue => "the prologue is not over: it may not have been written yet",
        }
    }
}

/// What is wrong with the debugging information of the types that were read, for people.
pub(super) fn warnings(types: &TypeTable) -> Vec<Untrusted<'static>> {
    let bound = types.wrong_lower_bound().map(|bound| {
        format!(
            "an array is said to start at the index {bound}, which its language does not have: the indices are those of the language"
        )
    });
    bound.into_iter().map(Untrusted::from).collect()
}

/// What is said where EXEC is not known.
const EXEC_UNKNOWN: &str =
    "EXEC is not in the wave's registers: every lane is shown, whether it executes or not";

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct VarsDocument {
    /// `hetdwarf-vars/2`.
    pub format: &'static str,
    /// The program location of the first frame, in the process; that of the lanes if they wait.
    pub pc: Hex,
    /// Each frame with its variables, the innermost first.
    pub frames: Vec<FrameVariables>,
    /// The reason why a stop has no more frames, if all were asked for: as in `hetdwarf-unwind/2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<&'static str>,
    /// Why no variable of the frames could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<EmptyReason>,
    /// `reason` or `stopped` for people.
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
    /// Set if the lanes wait there: EXEC has switched them off, and their variables are those of where they wait. The frame is numbered
    /// as if the wave were there.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub waiting: bool,
    /// Why no variable could be read, of this frame and those inlined in it that are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<EmptyReason>,
    /// The reason as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Untrusted<'static>>,
    /// What else there is to know of all lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
    /// The registers of a kernel that still hold their initial values ([`StopFrame::initial_registers`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entry: Vec<InitialRegisters>,
    /// The hidden arguments of a kernel, if they were asked for ([`StopFrame::hidden_arguments`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<HiddenDocument>,
    /// The variables, the innermost scope first.
    pub variables: Vec<VariableDocument>,
    /// The frames with their variables for selected lanes that wait elsewhere in the call frame, by program location.
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
    /// True if hidden arguments of kernels are listed.
    pub hidden: bool,
}

/// The lanes that a question is about.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default)]
pub enum LaneChoice<'r> {
    /// All of the wave, where the frame stands.
    #[default]
    All,
    /// These, each where it waits.
    These(&'r [Lane]),
}

/// The variables that a question is about.
#[non_exhaustive]
#[derive(Clone, Copy)]
pub struct NameFilter<'r> {
    /// How the user named them; only messages have it.
    pub text: &'r str,
    /// Returns true if a name is selected.
    pub matches: &'r dyn Fn(&str) -> bool,
}

impl<'r> NameFilter<'r> {
    /// Chooses variables by their names.
    ///
    /// * `text`: how the user named them.
    /// * `matches`: whether a name is meant.
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
    /// Returns the same for other lanes.
    #[must_use]
    pub fn lanes(self, lanes: LaneChoice<'r>) -> VarsRequest<'r> {
        VarsRequest { lanes, ..self }
    }

    /// Selects variables by name.
    #[must_use]
    pub fn names(self, names: Option<NameFilter<'r>>) -> VarsRequest<'r> {
        VarsRequest { names, ..self }
    }

    /// Returns the same with parts of values, so many levels of them.
    #[must_use]
    pub fn children(self, children: u32) -> VarsRequest<'r> {
        VarsRequest { children, ..self }
    }

    /// Returns the same with the hidden arguments of kernels.
    #[must_use]
    pub fn hidden(self, hidden: bool) -> VarsRequest<'r> {
        VarsRequest { hidden, ..self }
    }

    /// Returns the same with values printed in another way.
    #[must_use]
    pub fn display(self, display: Options) -> VarsRequest<'r> {
        VarsRequest { display, ..self }
    }
}

/// A variable.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct VariableDocument {
    /// Its name; empty if it has none.
    pub name: Untrusted<'static>,
    /// Returns a description.
    pub kind: VariableKind,
    /// Its type's name.
    #[serde(rename = "type")]
    pub ty: Untrusted<'static>,
    /// How many of the brackets at the end of the type stand after the name in a declaration.
    #[serde(skip)]
    pub brackets: usize,
    /// The offset of its entry.
    pub die: Hex,
    /// Its declaration.
    pub decl: DeclarationDocument,
    /// The function or namespace it is in.
    pub scope: Option<Untrusted<'static>>,
    /// How its location was read.
    pub reading: LocationReading,
    /// What else there is to know of its value, in all lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<ValueNote>,
    /// Its value in each lane.
    pub lanes: Vec<LaneDocument>,
}

impl VariableDocument {
    /// Describes a variable of which only the name, the kind and the type are known yet.
    #[must_use]
    pub fn new(
        name: Untrusted<'static>,
        kind: VariableKind,
        ty: Untrusted<'static>,
    ) -> VariableDocument {
        VariableDocument {
            name,
            kind,
            ty,
            brackets: 0,
            die: Hex(0),
            decl: DeclarationDocument::default(),
            scope: None,
            reading: LocationReading::Dwarf,
            note: None,
            lanes: Vec::new(),
        }
    }
}

/// Where something is declared.
#[non_exhaustive]
#[derive(Clone, Debug, Default, Serialize)]
pub struct DeclarationDocument {
    /// The path of the file, as the line table gives it.
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
    /// Where the value can be broken into lines.
    #[serde(skip)]
    pub marks: Box<[Mark]>,
    /// What the value is, if the debugging information does not give it here.
    #[serde(flatten)]
    pub recovered: Option<Box<RecoveredDocument>>,
    /// The problem, as text.
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
    /// Describes a lane of which nothing but the state is known yet.
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
            marks: Box::default(),
            recovered: None,
            message: None,
            children: Vec::new(),
            more_children: 0,
        }
    }

    /// Returns true if there is a value, or some of it.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.state.is_readable()
    }
}

impl FrameVariables {
    /// Makes a frame with some variables.
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

    /// Returns true if a variable has a value in a lane.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        let places = core::iter::once(self).chain(&self.waiting_lanes);
        let variables = places.flat_map(|place| &place.variables);
        let mut lanes = variables.flat_map(|variable| &variable.lanes);
        lanes.any(LaneDocument::is_readable)
    }
}

impl VarsDocument {
    /// Reads the variables of a frame: of a call frame with all that is inlined in it those of each frame that it consists of. Where a
    /// limit is reached, those before are given.
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
        document.finish(&types);
        Ok(document)
    }

    /// Reads the variables of all frames of a stop.
    ///
    /// All together may cost as much as those of one frame: where a limit is reached, the frames before are given, and
    /// `stopped` says so.
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
            // What was refused to one frame is refused to all after it.
            if let Some(error) = stop.meter().refused() {
                document.completeness.note(&error);
                is_cut |= frame.call_frame().level().saturating_add(1) < stop.call_frames().len();
            }
            if is_cut {
                break;
            }
        }
        document.finish(&types);
        let stopped = match is_cut {
            true => crate::frame::Stopped::Limit,
            false => stop.stopped(),
        };
        document.stopped = Some(stopped.name());
        document.message = match (&document.completeness.limit, stop.stack().error()) {
            (Some(limit), _) if is_cut => Some(limit.clone()),
            (_, Some(error)) => Some(error.to_string().into()),
            (_, None) => Some(stopped.text().into()),
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

    /// Says what holds of all frames.
    fn finish(&mut self, types: &TypeTable) {
        self.warnings = warnings(types);
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

    /// Returns true if a variable has a value in a lane.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.frames.iter().any(FrameVariables::is_readable)
    }
}

/// What there is to say of a lane of a variable, for people. `None` where the state says it all.
///
/// * `state`: that of the lane.
#[must_use]
pub fn lane_message(value: &VariableValue<'_>, state: &ValueState) -> Option<String> {
    let not_understood = || value.not_understood().map(str::to_owned);
    match state {
        ValueState::Ok => not_understood(),
        ValueState::Partial => {
            (not_understood().or_else(|| doubts(value))).or_else(|| value.cut().map(str::to_owned))
        }
        ValueState::Ambiguous(reason) => Some(reason.to_string()),
        ValueState::Unsupported { what } => Some(what.clone()),
        ValueState::Error(error) => Some(error.to_string()),
        ValueState::OptimizedOut => Some(reason(value).to_owned()),
        ValueState::Unavailable => Some(NOT_SAID.to_owned()),
        ValueState::Inactive
        | ValueState::NotInFrame
        | ValueState::Entry
        | ValueState::LastKnown => None,
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
