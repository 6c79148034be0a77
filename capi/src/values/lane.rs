//! A lane of a value: its state, bits and message.

use core::ffi::c_char;

use hetdwarf::arch::Lane;
use hetdwarf::display::TypedBytes;
use hetdwarf::inspect::{Recovered, StopFrame, ValueStateKind, VariableValue};
use hetdwarf::query::LaneAnswer;
use hetdwarf::report::lane_message;
use hetdwarf::tree::Part;

/// The whole value is known.
pub const HETDWARF_LANE_OK: u8 = 0;
/// The value was optimised away here.
pub const HETDWARF_LANE_OPTIMIZED_OUT: u8 = 1;
/// Only some bits of the value are known.
pub const HETDWARF_LANE_PARTIAL: u8 = 2;
/// The debugger does not have the bytes of the value, or a register or memory that its location depends on.
pub const HETDWARF_LANE_UNAVAILABLE: u8 = 3;
/// The location of the value can be read in several ways, and nothing decides between them.
pub const HETDWARF_LANE_AMBIGUOUS: u8 = 4;
/// The value depends on something that the library does not support.
pub const HETDWARF_LANE_UNSUPPORTED: u8 = 5;
/// The value cannot be evaluated.
pub const HETDWARF_LANE_ERROR: u8 = 6;
/// The lane is inactive here.
pub const HETDWARF_LANE_INACTIVE: u8 = 7;
/// The lane did not enter the function of the frame, and has no value there.
pub const HETDWARF_LANE_NOT_IN_FRAME: u8 = 8;

/// The debugging information does not give the value. This is the value of the parameter on entry to its function, which may have changed
/// since.
pub const HETDWARF_LANE_ENTRY: u8 = 9;
/// The debugging information does not give the value here. This is the value at the last address for which it does.
pub const HETDWARF_LANE_LAST_KNOWN: u8 = 10;

fn state_number(state: ValueStateKind) -> u8 {
    match state {
        ValueStateKind::Ok => HETDWARF_LANE_OK,
        ValueStateKind::OptimizedOut => HETDWARF_LANE_OPTIMIZED_OUT,
        ValueStateKind::Partial => HETDWARF_LANE_PARTIAL,
        ValueStateKind::Unavailable => HETDWARF_LANE_UNAVAILABLE,
        ValueStateKind::Ambiguous => HETDWARF_LANE_AMBIGUOUS,
        ValueStateKind::Unsupported => HETDWARF_LANE_UNSUPPORTED,
        ValueStateKind::Inactive => HETDWARF_LANE_INACTIVE,
        ValueStateKind::NotInFrame => HETDWARF_LANE_NOT_IN_FRAME,
        ValueStateKind::Entry => HETDWARF_LANE_ENTRY,
        ValueStateKind::LastKnown => HETDWARF_LANE_LAST_KNOWN,
        ValueStateKind::Error => HETDWARF_LANE_ERROR,
        // The interface has no number for this state. It has no value, which the error state expresses.
        _ => HETDWARF_LANE_ERROR,
    }
}

/// Returns the name of a state as in documents, for example `optimized-out`, or `?` for an unknown number. The string is always valid.
///
/// * `state`: `HETDWARF_LANE_…`.
#[unsafe(no_mangle)]
pub extern "C" fn hetdwarf_lane_state_name(state: u8) -> *const c_char {
    let name = match state {
        HETDWARF_LANE_OK => c"ok",
        HETDWARF_LANE_OPTIMIZED_OUT => c"optimized-out",
        HETDWARF_LANE_PARTIAL => c"partial",
        HETDWARF_LANE_UNAVAILABLE => c"unavailable",
        HETDWARF_LANE_AMBIGUOUS => c"ambiguous",
        HETDWARF_LANE_UNSUPPORTED => c"unsupported",
        HETDWARF_LANE_ERROR => c"error",
        HETDWARF_LANE_INACTIVE => c"inactive",
        HETDWARF_LANE_NOT_IN_FRAME => c"not-in-frame",
        HETDWARF_LANE_ENTRY => c"entry",
        HETDWARF_LANE_LAST_KNOWN => c"last-known",
        _ => c"?",
    };
    name.as_ptr()
}

/// A lane of a value.
pub(super) struct LaneValue<'v> {
    pub(super) state: u8,
    /// The bits, if there are any.
    pub(super) bits: Option<TypedBytes<'v>>,
    pub(super) message: Option<String>,
    /// The origin of the value, if the debugging information does not locate it.
    pub(super) recovered: Option<Recovered>,
}

impl LaneValue<'_> {
    /// Returns true if the lane did not enter the frame.
    pub(super) fn is_absent(&self) -> bool {
        self.state == HETDWARF_LANE_NOT_IN_FRAME
    }
}

/// * `frame`: the frame of the variable, if a message is wanted.
pub(super) fn of_variable<'v>(
    value: &'v VariableValue<'_>,
    lane: Lane,
    frame: Option<&StopFrame<'_, '_, '_>>,
) -> LaneValue<'v> {
    let state = value.state(lane);
    let (is_readable, is_recovered) = (state.kind().is_readable(), state.kind().is_recovered());
    LaneValue {
        recovered: value.recovered().copied().filter(|_| is_recovered),
        state: state_number(state.kind()),
        bits: is_readable.then(|| value.typed_bytes(lane)).flatten(),
        message: frame.and_then(|frame| lane_message(frame, value, &state)),
    }
}

pub(super) fn of_answer(answer: &LaneAnswer) -> LaneValue<'_> {
    let state = answer.state();
    let is_readable = state.is_readable();
    let bits = answer.value.as_ref().ok();
    LaneValue {
        recovered: answer.recovered().copied(),
        state: state_number(state),
        bits: bits.filter(|_| is_readable).map(TypedBytes::of),
        message: answer.message(),
    }
}

pub(super) fn of_part<'v>(part: &'v Part<'_>) -> LaneValue<'v> {
    LaneValue {
        recovered: None,
        state: state_number(part.state),
        bits: part.bits.as_ref().map(TypedBytes::of),
        message: part.message.clone(),
    }
}
