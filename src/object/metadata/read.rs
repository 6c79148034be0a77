//! Converts `MessagePack` to the tables.

use rmpv::ValueRef;

use super::{KernelMetadata, Metadata, malformed};
use crate::error::Result;
use crate::meter::Meter;
use crate::object::msgpack;

pub(super) use crate::object::msgpack::text;

/// Returns one note's contents.
pub(super) fn document(note: &[u8], meter: &Meter) -> Result<Metadata> {
    msgpack::read(note, meter, malformed, |value| from_value(value, meter))
}

pub(super) fn from_value(value: &ValueRef<'_>, meter: &Meter) -> Result<Metadata> {
    // A map of one byte can become a table of several hundred.
    let size = size_of::<KernelMetadata>() as u64;
    meter.hold(maps(value).saturating_mul(size))?;
    Metadata::from_value(value).ok_or_else(|| malformed("it is not a map"))
}

/// Returns the number of maps in a value, whose depth is limited already.
fn maps(value: &ValueRef<'_>) -> u64 {
    if let ValueRef::Array(list) = value {
        list.iter().map(maps).sum()
    } else if let ValueRef::Map(map) = value {
        map.iter()
            .map(|(key, value)| maps(key).saturating_add(maps(value)))
            .sum::<u64>()
            .saturating_add(1)
    } else {
        0
    }
}

/// A type that can be read from a value.
pub(super) trait FromValue: Sized {
    /// Returns `None` if the value has another type.
    fn from_value(value: &ValueRef<'_>) -> Option<Self>;
}

impl FromValue for String {
    fn from_value(value: &ValueRef<'_>) -> Option<String> {
        text(value).map(str::to_owned)
    }
}

impl FromValue for u64 {
    fn from_value(value: &ValueRef<'_>) -> Option<u64> {
        msgpack::number(value)
    }
}

/// Accepts an integer too: USAGE has `.workgroup_processor_mode` as a boolean, but LLVM 22 and 24 write 0 or 1.
impl FromValue for bool {
    fn from_value(value: &ValueRef<'_>) -> Option<bool> {
        if let ValueRef::Boolean(b) = value {
            return Some(*b);
        }
        match u64::from_value(value)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: &ValueRef<'_>) -> Option<Vec<T>> {
        let ValueRef::Array(list) = value else {
            return None;
        };
        list.iter().map(T::from_value).collect()
    }
}

/// A map whose keys are names.
impl<T: FromValue> FromValue for Vec<(String, T)> {
    fn from_value(value: &ValueRef<'_>) -> Option<Vec<(String, T)>> {
        let entries = msgpack::map(value)?.iter();
        let entry = |(name, value): &(ValueRef<'_>, ValueRef<'_>)| {
            Some((String::from_value(name)?, T::from_value(value)?))
        };
        entries.map(entry).collect()
    }
}

impl<const N: usize> FromValue for [u64; N] {
    fn from_value(value: &ValueRef<'_>) -> Option<[u64; N]> {
        Vec::from_value(value)?.try_into().ok()
    }
}
