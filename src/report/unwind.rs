//! `hetdwarf-unwind/2`: the call stack, with inlined calls.

use std::collections::BTreeMap;

use serde::Serialize;

use super::completeness::Completeness;
use super::frame::{FrameDocument, line_warnings};
use super::number::Hex;
use crate::arch::{Lane, Register};
use crate::error::Result;
use crate::eval::Frame;
use crate::frame::{CallFrame, CorrectedRule, RegisterRule, Row};
use crate::inspect::{Stop, StopFrame};
use crate::location::{Bits, read, read_lanes};
use crate::untrusted::Untrusted;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct UnwindDocument {
    /// `hetdwarf-unwind/2`.
    pub format: &'static str,
    /// The lanes of the wave, in the order of the lists of values.
    pub lanes: Vec<UnwindLane>,
    /// The frames, the innermost first.
    pub frames: Vec<UnwindFrame>,
    /// The reason why the stack ends.
    pub stopped: &'static str,
    /// The reason as a sentence.
    pub message: Untrusted<'static>,
    /// The reason why the code of the last frame has no description: a name of [`Undescribed`](crate::inspect::Undescribed).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Problems with the line tables that were needed. The frames then lack files and lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Untrusted<'static>>,
    /// The completeness of the document, whose fields are flattened into it.
    #[serde(flatten)]
    pub completeness: Completeness,
}

/// A lane of the wave.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Serialize)]
pub struct UnwindLane {
    /// The lane.
    pub lane: u8,
    /// The position of the work-item in the grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_item: Option<[u32; 3]>,
}

/// A frame.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct UnwindFrame {
    /// The number, the name and the source place of the frame. Its fields are flattened into this frame.
    #[serde(flatten)]
    pub frame: FrameDocument,
    /// The call frame; absent for an inlined call. Its fields are flattened into the frame.
    #[serde(flatten)]
    pub call: Option<CallDocument>,
}

/// The parts of a frame that belong to a call of the machine code.
#[non_exhaustive]
#[derive(Clone, Debug, Default, Serialize)]
pub struct CallDocument {
    /// The canonical frame address; null if it is not known.
    pub cfa: Option<CfaDocument>,
    /// The registers in this frame that have a rule in an inner frame.
    pub registers: BTreeMap<String, RegisterDocument>,
    /// True if there is no call frame information for this code, and the caller was found by the machine code; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived: Option<bool>,
    /// The wrong rules of call frame information at this place, which were replaced according to the machine code. They determine the callers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub corrected: Vec<CorrectedRule>,
}

/// A canonical frame address.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CfaDocument {
    /// The address space.
    pub address_space: &'static str,
    /// The byte address.
    pub address: Hex,
}

/// A register of a caller.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct RegisterDocument {
    /// The kind of the rule.
    pub rule: &'static str,
    /// The value; absent if the register has none or the value is not available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<RegisterValue>,
    /// Set if the value depends on a mask of lanes on entry that has no rule, so that the value may be wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumes_exec: Option<bool>,
    /// The reason why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Untrusted<'static>>,
}

/// The value of a register.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum RegisterValue {
    /// The value of a scalar register.
    Scalar(Hex),
    /// The values of a vector register in all lanes; null for a lane without a known value.
    Lanes(Vec<Option<Hex>>),
}

impl UnwindDocument {
    /// Describes the call stack of a stop.
    ///
    /// # Errors
    /// If the debugging information of a frame is malformed.
    pub fn new(stop: &Stop<'_, '_>) -> Result<UnwindDocument> {
        UnwindDocument::for_lane(stop, Lane(0))
    }

    /// Describes the call stack of a stop. For scalar registers that were saved in per-lane memory, takes the values of `lane`.
    ///
    /// # Errors
    /// Returns the same errors as [`new`](UnwindDocument::new).
    pub fn for_lane(stop: &Stop<'_, '_>, lane: Lane) -> Result<UnwindDocument> {
        let mut frames = Vec::new();
        let mut rules = Rules::new();
        let mut completeness = Completeness::of_stack(stop);
        if let Some(limit) = stop.frames_limit() {
            completeness.note(limit);
        }
        for frame in stop.call_frames() {
            if let Some(callee) = frame.call_frame().callee() {
                add_rules(&callee, &mut rules);
            }
            let parts = match FrameDocument::parts(&frame, stop.meter()) {
                Ok(parts) => parts,
                Err(reason) if reason.is_limit() => {
                    completeness.note(&reason);
                    vec![FrameDocument::of_address(&frame)]
                }
                Err(reason) => return Err(reason),
            };
            frames.extend(
                parts
                    .into_iter()
                    .map(|frame| UnwindFrame { frame, call: None }),
            );
            if let Some(last) = frames.last_mut() {
                last.call = Some(CallDocument::new(&frame, lane, &rules, &mut completeness));
            }
        }
        let undescribed = completeness.accept(stop.undescribed_end())?.flatten();
        if let Some(refused) = stop.meter().refused() {
            completeness.note(&refused);
        }
        let lanes = stop.wave().wave_size().all_lanes();
        Ok(UnwindDocument {
            format: "hetdwarf-unwind/2",
            lanes: lanes
                .map(|lane| UnwindLane {
                    lane: lane.0,
                    work_item: stop.wave().work_item(lane),
                })
                .collect(),
            frames,
            stopped: stop.stopped().name(),
            message: match (stop.stack().error(), &undescribed) {
                (Some(error), _) => error.to_string().into(),
                (None, _) => stop.end_text().into(),
            },
            reason: undescribed.map(|undescribed| undescribed.name()),
            warnings: line_warnings(stop.program().info()),
            completeness,
        })
    }
}

/// The rules of the inner frames, by register name. If several frames have a rule for a register, the outermost of them counts.
type Rules<'p> = BTreeMap<String, (Register, RegisterRule<'p>)>;

/// Adds the rules of a frame to the rules of the frames inside it.
fn add_rules<'p>(callee: &CallFrame<'_, '_, 'p>, rules: &mut Rules<'p>) {
    for (number, rule) in callee.row().map(Row::rules).unwrap_or_default() {
        if let Some(register) = Register::from_number(*number)
            && register != Register::pc()
        {
            rules.insert(register.to_string(), (register, *rule));
        }
    }
}

impl CallDocument {
    fn new(
        frame: &StopFrame<'_, '_, '_>,
        lane: Lane,
        rules: &Rules<'_>,
        completeness: &mut Completeness,
    ) -> CallDocument {
        let cfa = frame.call_frame().cfa().ok();
        let cfa = cfa.and_then(|cfa| cfa.byte_address());
        CallDocument {
            cfa: cfa.map(|(space, address)| CfaDocument {
                address_space: space.name(),
                address: Hex::from(address),
            }),
            registers: registers(frame, lane, rules, completeness),
            derived: frame.call_frame().is_derived().then_some(true),
            corrected: frame.call_frame().corrected_rules().to_vec(),
        }
    }
}

/// Returns the registers in this frame that have a rule in an inner frame.
fn registers(
    frame: &StopFrame<'_, '_, '_>,
    lane: Lane,
    rules: &Rules<'_>,
    completeness: &mut Completeness,
) -> BTreeMap<String, RegisterDocument> {
    let mut registers = BTreeMap::new();
    for (name, (register, rule)) in rules {
        if let Some(document) = RegisterDocument::new(frame, lane, *register, *rule, completeness) {
            registers.insert(name.clone(), document);
        }
    }
    if let Some(stack_pointer) = Register::sgpr(32)
        && frame.stop().options().reading == crate::eval::Reading::Tolerant
        && frame.call_frame().callee().is_some()
        && let Some(document) = RegisterDocument::new(
            frame,
            lane,
            stack_pointer,
            RegisterRule::SameValue,
            completeness,
        )
    {
        registers
            .entry(stack_pointer.to_string())
            .or_insert(document);
    }
    registers
}

impl RegisterDocument {
    /// Creates the register in `frame`. Returns `None` if its rule says that the value is lost.
    fn new(
        frame: &StopFrame<'_, '_, '_>,
        lane: Lane,
        register: Register,
        rule: RegisterRule<'_>,
        completeness: &mut Completeness,
    ) -> Option<RegisterDocument> {
        let callee: CallFrame<'_, '_, '_> = frame.call_frame().callee()?;
        let mut document = RegisterDocument {
            rule: rule_name(rule),
            value: None,
            assumes_exec: None,
            message: None,
        };
        let stop = frame.stop();
        let wave = stop.wave();
        let (location, assumed) = match callee.recovered(register) {
            Ok(found) => found,
            Err(error) => {
                completeness.note(&error);
                document.message = Some(error.to_string().into());
                return Some(document);
            }
        };
        document.assumes_exec = assumed.then_some(true);
        let bit_size = u64::from(register.size_in_bits()?);
        // A CFA in per-lane memory describes all lanes. The value of a scalar register is then the value in one lane.
        let access = stop.access(None);
        let read = match location.stands_for_all_lanes() {
            true => read_lanes(&location, bit_size, &access).map(|bits| bits.bits(lane)),
            false => read(&location, bit_size, &access),
        };
        match read {
            // An undefined register was not recovered, so it is not listed.
            Ok(bits) if bits.undefined.covers(0..bit_size) => return None,
            Ok(bits) if register.is_vector() => {
                let lanes = wave.wave_size().all_lanes();
                let values = lanes.map(|lane| dword(&bits, lane)).collect();
                document.value = Some(RegisterValue::Lanes(values));
            }
            Ok(bits) if bits.is_complete() => {
                document.value = Some(RegisterValue::Scalar(Hex::from(number(&bits.bytes))));
            }
            Ok(_) => document.message = Some("not available".into()),
            Err(error) => {
                completeness.note(&error);
                document.message = Some(error.to_string().into());
            }
        }
        Some(document)
    }
}

fn dword(bits: &Bits, lane: Lane) -> Option<Hex> {
    let start = u64::from(lane.0) * 32;
    let range = start..start + 32;
    if bits.undefined.overlaps(range.clone()) || bits.unavailable.overlaps(range) {
        return None;
    }
    let at = usize::from(lane.0) * 4;
    bits.bytes
        .get(at..at + 4)
        .map(|bytes| Hex::from(number(bytes)))
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .take(8)
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn rule_name(rule: RegisterRule<'_>) -> &'static str {
    match rule {
        RegisterRule::Undefined => "undefined",
        RegisterRule::SameValue => "same-value",
        RegisterRule::Offset(_) => "offset",
        RegisterRule::ValOffset(_) => "val-offset",
        RegisterRule::Register(_) => "register",
        RegisterRule::Expression(_) => "expression",
        RegisterRule::ValExpression(_) => "val-expression",
        RegisterRule::Architectural => "architectural",
    }
}
