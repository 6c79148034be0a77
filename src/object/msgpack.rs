//! Reads values of `MessagePack`, with a bound on depth, and charges for them during reading.
//!
//! Interpreting a value is left to `metadata` and the reader of packages. Source: the `MessagePack` specification.

use std::io::{self, Read};

use rmpv::ValueRef;
use rmpv::decode::read_value_ref_with_max_depth;
use rmpv::decode::value_ref::BorrowRead;

use crate::error::{Error, Result};
use crate::meter::Meter;

/// The levels of nesting times two: the reader counts both a container and its contents. Real documents need 5 levels.
const MAX_DEPTH: usize = 64;

/// Reads the value at the start of `bytes`, and ignores the bytes after it.
///
/// The value is charged while `take` processes it.
///
/// * `malformed`: the error for a value that is malformed, with the reason.
pub(super) fn read<T>(
    bytes: &[u8],
    meter: &Meter,
    malformed: impl Fn(&'static str) -> Error,
    take: impl FnOnce(&ValueRef<'_>) -> Result<T>,
) -> Result<T> {
    let mut input = Counted {
        rest: bytes,
        meter,
        held: 0,
        refused: None,
    };
    let value = read_value_ref_with_max_depth(&mut input, MAX_DEPTH);
    let found = match value {
        Ok(value) => take(&value),
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

/// Bytes whose reads are charged. Every value takes at least one read.
struct Counted<'a, 'm> {
    rest: &'a [u8],
    meter: &'m Meter,
    /// The bytes charged for values until they are dropped.
    held: u64,
    refused: Option<Error>,
}

impl Read for Counted<'_, '_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let size = size_of::<ValueRef<'_>>() as u64;
        // A growing list temporarily exists twice, and has room for as many items again.
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

/// Returns the text of a value, if it is one.
pub(super) fn text<'a>(value: &'a ValueRef<'_>) -> Option<&'a str> {
    let ValueRef::String(text) = value else {
        return None;
    };
    text.as_str()
}

/// Returns the integer of a value, if it is a non-negative one.
pub(super) fn number(value: &ValueRef<'_>) -> Option<u64> {
    let ValueRef::Integer(n) = value else {
        return None;
    };
    n.as_u64()
}

/// Returns the list of a value, if it is one.
pub(super) fn list<'a, 'v>(value: &'a ValueRef<'v>) -> Option<&'a [ValueRef<'v>]> {
    let ValueRef::Array(list) = value else {
        return None;
    };
    Some(list)
}

/// Returns the entries of a value, if it is a map.
pub(super) fn map<'a, 'v>(value: &'a ValueRef<'v>) -> Option<&'a [(ValueRef<'v>, ValueRef<'v>)]> {
    let ValueRef::Map(map) = value else {
        return None;
    };
    Some(map)
}

/// Returns the value of the first entry with a key, if `value` is a map that has one.
pub(super) fn get<'a, 'v>(value: &'a ValueRef<'v>, key: &str) -> Option<&'a ValueRef<'v>> {
    let mut entries = map(value)?.iter();
    entries.find_map(|(name, value)| (text(name)? == key).then_some(value))
}
