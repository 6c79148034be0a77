//! From MsgPack to the tables, with a bound on depth and on the number of values.

use std::io::{self, Read};

use rmpv::ValueRef;
use rmpv::decode::read_value_ref_with_max_depth;
use rmpv::decode::value_ref::BorrowRead;

use super::{Metadata, malformed};
use crate::error::{Limit, Result};
use crate::limits::reached;

/// Levels of nesting, twice over: the reader counts a container and its contents. The tables need 5.
const MAX_DEPTH: usize = 64;
/// Values in one note; a kernel has about 300, and a value of one byte becomes 40.
const MAX_VALUES: u64 = 1 << 22;
/// Maps in one note; a map of one byte can become several hundred.
const MAX_MAPS: u64 = 1 << 20;
/// Every map of the tables is longer than this, by its required keys alone.
const SHORTEST_MAP: u64 = 24;

/// One note's contents.
pub(super) fn document(note: &[u8]) -> Result<Metadata> {
    let mut input = Counted {
        rest: note,
        reads_left: MAX_VALUES,
    };
    let value = match read_value_ref_with_max_depth(&mut input, MAX_DEPTH) {
        Ok(value) => value,
        Err(_) if input.reads_left == 0 => return Err(reached(Limit::Entries, MAX_VALUES)),
        Err(rmpv::decode::Error::DepthLimitExceeded) => {
            return Err(malformed("it is nested too deeply"));
        }
        Err(_) => return Err(malformed("it ends too early")),
    };
    // A few more than fit, for notes with next to nothing in them.
    let most = (note.len() as u64 / SHORTEST_MAP).saturating_add(16);
    let most = most.min(MAX_MAPS);
    if maps(&value) > most {
        return Err(reached(Limit::Entries, most));
    }
    Metadata::from_value(&value).ok_or_else(|| malformed("it is not a map"))
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

/// Bytes that can be read only so many times; every value takes at least one read.
struct Counted<'a> {
    rest: &'a [u8],
    reads_left: u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.reads_left = self
            .reads_left
            .checked_sub(1)
            .ok_or_else(|| io::Error::other("too many values"))?;
        self.rest.read(out)
    }
}

impl<'a> BorrowRead<'a> for Counted<'a> {
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
