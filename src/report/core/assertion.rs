//! Finds the assertion that failed.
//!
//! HIP's `assert` calls `__assert_fail(condition, file, line, function)`, and CUDA's calls `__assertfail`. The text of the condition is in constant
//! memory of the code object. Only that memory is read, because any other memory may have changed since.

use serde::Serialize;

use crate::arch::{CodeAddress, Lane, ProcessAddress};
use crate::debug_info::VariableKind;
use crate::debug_info::types::TypeTable;
use crate::inspect::{Stop, ValueState, VariableValue};
use crate::untrusted::Untrusted;

/// The functions that report a failed assertion. Their first parameters are the condition, the file and the line.
const REPORTERS: [&str; 2] = ["__assert_fail", "__assertfail"];
/// The maximum length of a text in bytes. A longer text is truncated.
const MOST: usize = 256;

/// An assertion that failed, from the arguments of the function that reported it.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct AssertionDocument {
    /// The condition, as in the source.
    pub condition: Untrusted<'static>,
    /// The source file; null if it is not known.
    pub file: Option<Untrusted<'static>>,
    /// The line; null if it is not known.
    pub line: Option<u64>,
}

impl AssertionDocument {
    /// Finds the assertion that failed. Returns None if no frame is in a function that reports one, or if the code object does not have the text.
    pub(super) fn find(stop: &Stop<'_, '_>) -> Option<AssertionDocument> {
        let frame = stop.frames().into_iter().find(|frame| {
            let name = frame.description().ok().and_then(|found| found.function);
            name.is_some_and(|name| REPORTERS.contains(&name.as_str()))
        })?;
        let mut types = TypeTable::default();
        let (variables, _) = frame.variables_and_limit(&mut types).ok()?;
        let lanes: Vec<Lane> = frame.wave_size().all_lanes().collect();
        let number = |position: u32| parameter(&variables, position, &lanes);
        let text = |position: u32| {
            let pointer = ProcessAddress(number(position)?);
            let address = stop.options().load_address.checked_to_code(pointer)?;
            text_at(stop, address).map(Untrusted::from)
        };
        Some(AssertionDocument {
            condition: text(0)?,
            file: text(1),
            line: number(2),
        })
    }
}

/// Returns the value of a parameter in the first lane in which it is known.
fn parameter(variables: &[VariableValue<'_>], position: u32, lanes: &[Lane]) -> Option<u64> {
    let value = variables.iter().find(|value| {
        let variable = &value.variable;
        variable.kind == VariableKind::Parameter && variable.position == Some(position)
    })?;
    let is_known = |lane: &&Lane| {
        matches!(
            value.state(**lane),
            ValueState::Ok | ValueState::Entry | ValueState::LastKnown
        )
    };
    let bits = value.bits(*lanes.iter().find(is_known)?).ok()??;
    let mut bytes = [0; 8];
    bytes
        .get_mut(..bits.bytes.len())?
        .copy_from_slice(&bits.bytes);
    Some(u64::from_le_bytes(bytes))
}

/// Reads a text that ends in a zero byte from the code object. Returns None if there is none.
fn text_at(stop: &Stop<'_, '_>, CodeAddress(address): CodeAddress) -> Option<String> {
    let object = stop.program().object();
    let mut text = Vec::new();
    while text.len() < MOST {
        let next = address.checked_add(u64::try_from(text.len()).ok()?)?;
        match object.read_image(next, 1)? {
            [0] => break,
            bytes => text.extend_from_slice(bytes),
        }
    }
    let is_cut = text.len() == MOST;
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if is_cut {
        text.push('…');
    }
    Some(text).filter(|text| !text.is_empty())
}
