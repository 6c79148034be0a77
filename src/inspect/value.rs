//! Represents the value of a variable: its bits in every lane, and their state.

use std::sync::Arc;

use super::frame_lanes::{LaneGate, LaneInFrame};
use super::lane_texts::LaneTexts;
use super::layout::{LaneTypes, is_open_array};
use super::recovered::Recovered;
use crate::arch::Lane;
use crate::debug_info::Variable;
use crate::debug_info::types::{TypeId, TypeTable};
use crate::display::{Options, Pointee, TypedBytes};
use crate::error::{Ambiguity, Error, ErrorKind, Result};
use crate::eval::{Doubt, LocationGap};
use crate::location::{Bits, LaneBits, Location};

/// The message for bytes that the debugger does not supply.
pub(crate) const NOT_SAID: &str = "the register or memory is not available";

/// The convention used for a variable's location.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocationReading {
    /// As specified by DWARF.
    Dwarf,
    /// LLVM's convention without the extensions; see `spec-notes/legacy-llvm.md`.
    LegacyLlvm,
}

impl LocationReading {
    /// Returns the name in JSON documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LocationReading::Dwarf => "dwarf",
            LocationReading::LegacyLlvm => "legacy-llvm",
        }
    }
}

/// The state of a variable in a lane.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueState {
    /// The whole value.
    Ok,
    /// No value: it was optimized away here.
    OptimizedOut,
    /// A part of the value. Missing parts are marked.
    Partial,
    /// No value: the debugger does not have the bytes, or it does not have a register or memory that their location depends on. In the second case,
    /// the error of the evaluation names it.
    Unavailable(Option<Error>),
    /// The location of the value is ambiguous.
    Ambiguous(Ambiguity),
    /// An attribute, a tag or an operation that changes the value is unsupported.
    Unsupported {
        /// The feature, as text.
        what: String,
    },
    /// The location of the value cannot be evaluated.
    Error(Error),
    /// The lane does not execute here.
    Inactive,
    /// The lane did not enter the function of the frame, so it has no variable there.
    NotInFrame,
    /// The debugging information does not give the value. This is the parameter's value on entry to its function, which may have changed since. See
    /// [`VariableValue::recovered`].
    Entry,
    /// The debugging information does not give the value here. This is the value at the last place with a location. See [`VariableValue::recovered`].
    LastKnown,
}

impl ValueState {
    /// Returns the state of a lane in which the debugger read these bits.
    pub(crate) fn of_bits(bits: &Bits) -> ValueState {
        let all = 0..bits.bit_size;
        if bits.is_complete() {
            ValueState::Ok
        } else if bits.undefined.covers(all.clone()) {
            ValueState::OptimizedOut
        } else if bits.unavailable.covers(all) {
            ValueState::Unavailable(None)
        } else {
            ValueState::Partial
        }
    }

    /// Returns the state of a lane whose value could not be determined.
    pub(crate) fn of_error(error: Error) -> ValueState {
        if let ErrorKind::Ambiguous(reason) = error.kind() {
            return ValueState::Ambiguous(*reason);
        }
        if matches!(error.kind(), ErrorKind::Unsupported(_)) {
            let what = error.to_string();
            return ValueState::Unsupported { what };
        }
        if matches!(error.kind(), ErrorKind::Unavailable(_)) {
            return ValueState::Unavailable(Some(error));
        }
        ValueState::Error(error)
    }

    /// Returns the state without its reason.
    #[must_use]
    pub fn kind(&self) -> ValueStateKind {
        match self {
            ValueState::Ok => ValueStateKind::Ok,
            ValueState::OptimizedOut => ValueStateKind::OptimizedOut,
            ValueState::Partial => ValueStateKind::Partial,
            ValueState::Unavailable(_) => ValueStateKind::Unavailable,
            ValueState::Ambiguous(_) => ValueStateKind::Ambiguous,
            ValueState::Unsupported { .. } => ValueStateKind::Unsupported,
            ValueState::Error(_) => ValueStateKind::Error,
            ValueState::Inactive => ValueStateKind::Inactive,
            ValueState::NotInFrame => ValueStateKind::NotInFrame,
            ValueState::Entry => ValueStateKind::Entry,
            ValueState::LastKnown => ValueStateKind::LastKnown,
        }
    }

    /// Returns the name in JSON documents.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }
}

/// A [`ValueState`] without its reason, for the documents of `report`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValueStateKind {
    /// The whole value is known.
    Ok,
    /// No value: it was optimized away.
    OptimizedOut,
    /// A part of the value is known.
    Partial,
    /// No value: the debugger does not have the bytes, or a register or memory that their location depends on.
    Unavailable,
    /// No value: the location is ambiguous.
    Ambiguous,
    /// A feature that changes the value is unsupported.
    Unsupported,
    /// The location cannot be evaluated.
    Error,
    /// The lane does not execute.
    Inactive,
    /// The lane did not enter the function of the frame.
    NotInFrame,
    /// The value of a parameter on entry to its function, which may have changed since.
    Entry,
    /// The value of the variable at the last place for which the debugging information has a location.
    LastKnown,
}

impl ValueStateKind {
    /// Returns true if there is at least a part of a value.
    #[must_use]
    pub const fn is_readable(self) -> bool {
        self.is_current() || self.is_recovered()
    }

    /// Returns true if the debugging information gives at least a part of a value.
    #[must_use]
    pub const fn is_current(self) -> bool {
        matches!(self, ValueStateKind::Ok | ValueStateKind::Partial)
    }

    /// Returns true for a value that the debugging information does not give here, which may be outdated.
    #[must_use]
    pub const fn is_recovered(self) -> bool {
        matches!(self, ValueStateKind::Entry | ValueStateKind::LastKnown)
    }

    /// Returns false if the lane does not execute in the frame, or did not enter it.
    #[must_use]
    pub const fn is_active(self) -> bool {
        !matches!(self, ValueStateKind::Inactive | ValueStateKind::NotInFrame)
    }

    /// Returns the name in JSON documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ValueStateKind::Ok => "ok",
            ValueStateKind::OptimizedOut => "optimized-out",
            ValueStateKind::Partial => "partial",
            ValueStateKind::Unavailable => "unavailable",
            ValueStateKind::Ambiguous => "ambiguous",
            ValueStateKind::Unsupported => "unsupported",
            ValueStateKind::Error => "error",
            ValueStateKind::Inactive => "inactive",
            ValueStateKind::NotInFrame => "not-in-frame",
            ValueStateKind::Entry => "entry",
            ValueStateKind::LastKnown => "last-known",
        }
    }
}

/// A variable with its value in every lane.
#[derive(Clone, Debug)]
pub struct VariableValue<'a> {
    /// The variable.
    pub variable: Arc<Variable<'a>>,
    /// The type. If it is laid out at run time, see [`type_in`](VariableValue::type_in).
    pub ty: TypeId,
    /// The name of the type, in source syntax.
    pub type_name: Arc<str>,
    /// The convention used for its location.
    pub reading: LocationReading,
    /// The number of inlined calls at the program location that do not contain it: 0 for a variable of the innermost frame.
    pub(super) depth: usize,
    pub(super) contents: Contents<'a>,
    pub(super) lanes: LaneGate<'a>,
    /// Rarely needed facts.
    pub(super) rare: Option<Box<Rare>>,
}

/// Facts about a value beyond its bits.
#[derive(Clone, Debug, Default)]
pub(super) struct Rare {
    /// The bits whose location is unknown. They are undefined in the contents.
    pub(super) doubts: Vec<Doubt>,
    /// The type in each lane, if it is laid out at run time, and the targets of pointers without bits.
    pub(super) lane_types: LaneTypes,
    /// The unsupported features of the variable or its type.
    pub(super) not_understood: NotUnderstood,
    /// The reason why the value is not read as a whole.
    pub(super) cut: Option<String>,
    /// The origin of the contents, if they are not from the debugging information.
    pub(super) recovered: Option<Recovered>,
    /// The addresses without a location around this one, if that is why there are no contents.
    pub(super) gap: Option<LocationGap>,
}

impl Rare {
    /// Returns `None` if there are no such facts.
    pub(super) fn kept(self) -> Option<Box<Rare>> {
        let NotUnderstood { whole, part } = &self.not_understood;
        let is_nothing = self.doubts.is_empty()
            && self.lane_types.is_empty()
            && whole.is_none()
            && self.cut.is_none()
            && self.recovered.is_none()
            && self.gap.is_none()
            && part.is_none();
        (!is_nothing).then(|| Box::new(self))
    }
}

/// The message for an array without bounds.
const OPEN: &str = "its type has no number of elements";

/// The unsupported features of a type, as text.
#[derive(Clone, Debug, Default)]
pub(crate) struct NotUnderstood {
    /// A feature of the whole value.
    pub(crate) whole: Option<String>,
    /// A feature of a part.
    pub(crate) part: Option<String>,
}

impl NotUnderstood {
    /// Collects the unsupported features of a type.
    pub(crate) fn of(types: &mut TypeTable, ty: TypeId) -> NotUnderstood {
        let part = types.unsupported_part(ty);
        let part = part.map(|name| not_understood("a part of its type", name));
        NotUnderstood {
            whole: (types.unsupported(ty)).map(|name| not_understood("its type", name)),
            part: part.or_else(|| is_open_array(types, ty).then(|| OPEN.to_owned())),
        }
    }

    /// Collects the unsupported features of a variable and its type.
    pub(super) fn of_variable(
        variable: &Variable<'_>,
        ty: TypeId,
        types: &mut TypeTable,
    ) -> NotUnderstood {
        let own = variable.unsupported.map(|name| not_understood("it", name));
        let NotUnderstood { whole, part } = NotUnderstood::of(types, ty);
        NotUnderstood {
            whole: own.or(whole),
            part,
        }
    }
}

fn not_understood(what: &str, name: &str) -> String {
    format!("{what} has {name}, which is not supported")
}

/// The source of the bits.
#[derive(Clone, Debug)]
pub(super) enum Contents<'a> {
    /// None.
    None,
    /// One value for all lanes.
    Constant(Bits),
    /// Read for all lanes at once.
    Lanes {
        bits: LaneBits,
        location: Location<'a>,
    },
    /// Lane by lane.
    Each(Vec<Result<(Bits, Location<'a>)>>),
    /// An error.
    Failed(Error),
}

impl<'a> Contents<'a> {
    /// Returns true if every bit in a lane is known.
    pub(super) fn is_whole(&self, lane: Lane) -> bool {
        let bits = self.bits(lane);
        bits.is_ok_and(|bits| {
            bits.is_some_and(|bits| bits.undefined.is_empty() && bits.unavailable.is_empty())
        })
    }

    pub(super) fn bits(&self, lane: Lane) -> Result<Option<Bits>> {
        match self {
            Contents::None => Ok(None),
            Contents::Constant(bits) => Ok(Some(bits.clone())),
            Contents::Lanes { bits, .. } => Ok(Some(bits.bits(lane))),
            Contents::Each(lanes) => match lanes.get(usize::from(lane.0)) {
                Some(Ok((bits, _))) => Ok(Some(bits.clone())),
                Some(Err(error)) => Err(error.clone()),
                None => Ok(None),
            },
            Contents::Failed(error) => Err(error.clone()),
        }
    }

    /// Returns a reference to the bits in a lane, or `None` if there are none, for any reason.
    pub(super) fn lent(&self, lane: Lane) -> Option<TypedBytes<'_>> {
        match self {
            Contents::None | Contents::Failed(_) => None,
            Contents::Constant(bits) => Some(TypedBytes::of(bits)),
            Contents::Lanes { bits, .. } => Some(TypedBytes {
                bytes: bits.bytes(lane),
                undefined: bits.undefined(lane),
                unavailable: bits.unavailable(lane),
            }),
            Contents::Each(lanes) => {
                let (bits, _) = lanes.get(usize::from(lane.0))?.as_ref().ok()?;
                Some(TypedBytes::of(bits))
            }
        }
    }

    /// Returns the location of a lane's bits.
    pub(super) fn location(&self, lane: Lane) -> Option<Location<'a>> {
        match self {
            Contents::Lanes { location, .. } => Some(*location),
            Contents::Each(lanes) => lanes
                .get(usize::from(lane.0))
                .and_then(|lane| lane.as_ref().ok())
                .map(|(_, l)| *l),
            Contents::None | Contents::Constant(_) | Contents::Failed(_) => None,
        }
    }
}

impl<'a> VariableValue<'a> {
    /// Returns the bits of a lane, whether or not it executes.
    ///
    /// # Errors
    /// The reason why the location cannot be evaluated or read.
    pub fn bits(&self, lane: Lane) -> Result<Option<Bits>> {
        self.contents.bits(lane)
    }

    /// Returns the bits of a lane without copying them, or `None` if there are none, for any reason.
    #[must_use]
    pub fn typed_bytes(&self, lane: Lane) -> Option<TypedBytes<'_>> {
        self.contents.lent(lane)
    }

    /// Returns the bits with an ambiguous location, and the reason. They are undefined in [`bits`](Self::bits).
    #[must_use]
    pub fn doubts(&self) -> &[Doubt] {
        self.rare.as_ref().map_or(&[], |rare| &rare.doubts)
    }

    /// Returns the number of inlined calls at the program location that do not contain the variable, or 0 for one of the innermost frame.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the parts of its type that differ between lanes, if any do.
    pub(super) fn lane_types(&self) -> Option<&LaneTypes> {
        let types = &self.rare.as_ref()?.lane_types;
        (!types.is_empty()).then_some(types)
    }

    /// Returns the targets of the value's implicit pointers in a lane.
    pub(super) fn pointees(&self, lane: Lane) -> &[Pointee] {
        self.lane_types().map_or(&[], |types| types.pointees(lane))
    }

    /// Returns the variable's location in a lane, if it has one. The keeper of an earlier value is not its location.
    #[must_use]
    pub fn location(&self, lane: Lane) -> Option<Location<'a>> {
        match self.recovered() {
            Some(_) => None,
            None => self.contents.location(lane),
        }
    }

    /// Returns the variable's location if all lanes share it.
    pub(super) fn location_of_all(&self) -> Option<Location<'a>> {
        match &self.contents {
            Contents::Lanes { location, .. } => Some(*location),
            Contents::None | Contents::Constant(_) | Contents::Each(_) | Contents::Failed(_) => {
                None
            }
        }
    }

    /// Returns the state of the variable in a lane.
    #[must_use]
    pub fn state(&self, lane: Lane) -> ValueState {
        match self.lanes.of(lane) {
            LaneInFrame::Active => {}
            LaneInFrame::Inactive => return ValueState::Inactive,
            LaneInFrame::Absent => return ValueState::NotInFrame,
        }
        if self.is_whole(lane) {
            return ValueState::Ok;
        }
        let lost = || match self.doubts().first() {
            Some(doubt) => ValueState::Ambiguous(doubt.reason),
            None => ValueState::OptimizedOut,
        };
        let is_nowhere = matches!(self.contents, Contents::None);
        let of = |rare: &Rare| rare.not_understood.whole.clone();
        if let (Some(what), false) = (self.rare.as_deref().and_then(of), is_nowhere) {
            return ValueState::Unsupported { what };
        }
        if let Some(recovered) = self.recovered() {
            return match self.contents.lent(lane) {
                Some(bits) if !bits.is_known() => ValueState::OptimizedOut,
                None => ValueState::OptimizedOut,
                Some(_) if recovered.as_of.is_none() => ValueState::Entry,
                Some(_) => ValueState::LastKnown,
            };
        }
        match self.bits(lane) {
            Ok(None) => lost(),
            Ok(Some(bits)) => {
                let has_pointee = !self.pointees(lane).is_empty();
                let has_doubt = bits.is_complete() && self.not_understood().is_some();
                if has_pointee || has_doubt {
                    return ValueState::Partial;
                }
                let state = ValueState::of_bits(&bits);
                if state == ValueState::OptimizedOut {
                    return lost();
                }
                state
            }
            Err(error) => ValueState::of_error(error),
        }
    }

    /// Returns true if there are only bits, and none is missing, as for nearly every variable. This is checked first, and without a copy.
    fn is_whole(&self, lane: Lane) -> bool {
        let is_known = |bits: TypedBytes<'_>| bits.is_known();
        self.rare.is_none() && self.contents.lent(lane).is_some_and(is_known)
    }

    /// Returns the origin of the value, if the debugging information does not give it here. Bits, text and location are then those of an earlier
    /// value, which the machine code proves to be kept.
    #[must_use]
    pub fn recovered(&self) -> Option<&Recovered> {
        self.rare.as_ref()?.recovered.as_ref()
    }

    /// Returns the unsupported features of the value's parts, as text. The value's text shows them in place of these parts.
    #[must_use]
    pub fn not_understood(&self) -> Option<&str> {
        self.rare.as_ref()?.not_understood.part.as_deref()
    }

    /// Returns the reason why only the start of the value is read, if it exceeds [`Limit::Value`](crate::limits::Limit::Value).
    #[must_use]
    pub fn cut(&self) -> Option<&str> {
        self.rare.as_ref()?.cut.as_deref()
    }

    /// Returns the value in a lane in C debugger syntax, whether or not the lane executes, or `None` if there are no bits.
    #[must_use]
    pub fn text(&self, lane: Lane, types: &TypeTable, options: &Options) -> Option<String> {
        let mut text = String::new();
        let mut texts = LaneTexts::new(self, types, options, &mut text);
        texts.print(lane, None).then_some(text)
    }

    /// Formats the value in many lanes, each overwriting the one before. `text` is a buffer that may be reused for other variables.
    pub fn texts<'t>(
        &'t self,
        types: &'t TypeTable,
        options: &'t Options,
        text: &'t mut String,
    ) -> LaneTexts<'t> {
        LaneTexts::new(self, types, options, text)
    }

    /// Returns the type in a lane, with the bounds and member offsets there.
    #[must_use]
    pub fn type_in(&self, lane: Lane) -> TypeId {
        let own = |types: &LaneTypes| types.lanes.get(usize::from(lane.0)).copied();
        self.lane_types().and_then(own).unwrap_or(self.ty)
    }
}
