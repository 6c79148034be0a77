//! Describes the hidden arguments of a kernel.

use serde::Serialize;

use crate::inspect::{HiddenArgument, RecoveredFrom, ValueStateKind};
use crate::report::number::{Hex, hex_bytes};
use crate::untrusted::Untrusted;

/// An argument that the compiler adds to the arguments in the source.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HiddenDocument {
    /// The kind in the metadata, such as `hidden_block_count_x`.
    pub name: Untrusted<'static>,
    /// `entry`, or `unavailable` if it cannot be read.
    pub state: ValueStateKind,
    /// The address in global memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Hex>,
    /// The value: a number in decimal, or an address in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The bytes in memory order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// The storage that still holds the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<RecoveredFrom>,
}

impl HiddenDocument {
    pub(super) fn new(argument: &HiddenArgument<'_>) -> HiddenDocument {
        let bytes = argument.bytes.as_deref();
        HiddenDocument {
            name: Untrusted::from(argument.name.to_owned()),
            state: match bytes {
                Some(_) => ValueStateKind::Entry,
                None => ValueStateKind::Unavailable,
            },
            address: argument.address.map(Hex::from),
            value: bytes.and_then(|bytes| value(argument.name, bytes)),
            bytes: bytes.map(hex_bytes),
            from: bytes.map(|_| RecoveredFrom::Kernarg),
        }
    }
}

/// Writes a text like `int n = 4 (at entry)`, but without the type, which the metadata does not contain.
impl core::fmt::Display for HiddenDocument {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let name = self.name.clone();
        match &self.value {
            Some(value) => write!(f, "{name} = {value} (at entry)"),
            None => write!(
                f,
                "{name} = <unavailable> (the memory of the arguments is not available)"
            ),
        }
    }
}

fn value(name: &str, bytes: &[u8]) -> Option<String> {
    let mut all = [0; 8];
    all.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let number = u64::from_le_bytes(all);
    // An argument of eight bytes is an address, unless it is an offset into the grid.
    let is_address = bytes.len() == 8 && !name.starts_with("hidden_global_offset_");
    Some(match is_address {
        true => format!("{number:#x}"),
        false => number.to_string(),
    })
}
