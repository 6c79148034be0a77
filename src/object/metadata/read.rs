//! From MsgPack to the tables, with a bound on depth; values are paid for.

use std::io::{self, Read};

use rmpv::ValueRef;
use rmpv::decode::read_value_ref_with_max_depth;
use rmpv::decode::value_ref::BorrowRead;

use super::{KernelMetadata, Metadata, malformed};
use crate::error::{Error, Result};
use crate::meter::Meter;

/// Levels of nesting, twice over: the reader counts a container and its contents. The tables need 5.
const MAX_DEPTH: usize = 64;
/// One note's contents.
pub(super) fn document(note: &[u8], meter: &Meter) -> Result<Metadata> {
    let mut input = Counted {
        rest: note,
        meter,
        held: 0,
        refused: None,
    };
    let value = read_value_ref_with_max_depth(&mut input, MAX_DEPTH);
    let found = match value {
        Ok(value) => {
            // A map of one byte can become a table of several hundred.
            let size = size_of::<KernelMetadata>() as u64;
            (meter.hold(maps(&value).saturating_mul(size))).and_then(|()| {
                Metadata::from_value(&value).ok_or_else(|| malformed("it is not a map"))
            })
        }
        Err(error) => match (input.refused.take(), error) {
            (Some(refused), _) => Err(refused),
            (None, rmpv::decode::Error::DepthLimitExceeded) => {
                Err(malformed("it is nested too deeply"))
            }
            (None, _) => Err(malformed("it ends too early")),
        },
    };
    meter.release(input.held);
    found
}

/// How many maps there are in a value; its depth is limited already.
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

/// Bytes whose reads are paid for; every value takes at least one read.
struct Counted<'a, 'm> {
    rest: &'a [u8],
    meter: &'m Meter,
    /// The bytes that values take until they are dropped.
    held: u64,
    refused: Option<Error>,
}

impl Read for Counted<'_, '_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let size = size_of::<ValueRef<'_>>() as u64;
        // A list that grows is there twice for a moment, and has room for as many again.
        let paid = (self.meter.work(1))
            .and_then(|()| self.meter.check_room(self.held.saturating_mul(2)))
            .and_then(|()| self.meter.hold(size));
        match paid {
            Ok(()) => {
                self.held = self.held.saturating_add(size);
                self.rest.read(out)
            }
            Err(error) => {
                self.refused = Some(error);
                Err(io::Error::other("the meter refuses"))
            }
        }
    }
}

impl<'a> BorrowRead<'a> for Counted<'a, '_> {
    fn fill_buf(&self) -> &'a [u8] {
        self.rest
    }

    fn consume(&mut self, len: usize) {
        self.rest = self.rest.get(len..).unwrap_or(&[]);
    }
}

/// The text of a value, if it is one.
pub(super) fn text<'a>(value: &'a ValueRef<'_>) -> Option<&'a str> {
    let ValueRef::String(text) = value else {
        return None;
    };
    text.as_str()
}

/// A type that a value can be read as.
pub(super) trait FromValue: Sized {
    /// Nothing if the value is of another type.
    fn from_value(value: &ValueRef<'_>) -> Option<Self>;
}

impl FromValue for String {
    fn from_value(value: &ValueRef<'_>) -> Option<String> {
        text(value).map(str::to_owned)
    }
}

impl FromValue for u64 {
    fn from_value(value: &ValueRef<'_>) -> Option<u64> {
        let ValueRef::Integer(n) = value else {
            return None;
        };
        n.as_u64()
    }
}

/// Also an integer: USAGE has `.workgroup_processor_mode` as a boolean, LLVM 22 and 24 write 0 or 1.
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

impl<const N: usize> FromValue for [u64; N] {
    fn from_value(value: &ValueRef<'_>) -> Option<[u64; N]> {
        Vec::from_value(value)?.try_into().ok()
    }
}
