//! Reads the list of code objects that the runtime had loaded: the entries at `r_debug`, and the URIs that locate their files.
//!
//! The contents of an object are left to [`process`](super::process). Sources: the ROCm runtime's `loader/executable.cpp` (the list, which has the
//! layout of glibc's `link.h`) and `hsa_ven_amd_loader.h` (the URIs).

use std::collections::BTreeSet;

use super::memory::ProcessMemory;
use super::problem::{FileOffset, ProblemKind, ProblemPlace, Problems};
use crate::arch::LoadAddress;
use crate::meter::Meter;

/// A code object of the list.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedObject {
    /// The load address: the difference between addresses of the process and of the object.
    pub load_address: LoadAddress,
    /// The URI of its file from the runtime, or empty if there is none.
    pub uri: String,
    /// The parsed URI.
    pub source: Option<ObjectSource>,
}

/// The source of a code object's file.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectSource {
    /// A copy in the memory of the process.
    Memory {
        /// The address.
        address: u64,
        /// The size, in bytes.
        size: u64,
    },
    /// A part of a file.
    File {
        /// The path, in the bytes of the system.
        path: Vec<u8>,
        /// The offset in the file, in bytes.
        offset: u64,
        /// The size in bytes, or `None` for the rest of the file.
        size: Option<u64>,
    },
}

impl ObjectSource {
    /// Parses the URI of the runtime: `memory://PID#offset=0x7f…&size=16472`, `file:///path#offset=8192&size=16472`.
    ///
    /// Returns `None` if it has another scheme, a missing or invalid number, or an unknown field.
    #[must_use]
    pub fn parse(uri: &str) -> Option<ObjectSource> {
        let (scheme, rest) = uri.split_once("://")?;
        let (head, fields) = match rest.find(['#', '?']) {
            Some(at) => (rest.get(..at)?, rest.get(at.checked_add(1)?..)?),
            None => (rest, ""),
        };
        let (mut offset, mut size) = (None, None);
        for field in fields.split('&').filter(|field| !field.is_empty()) {
            let (name, value) = field.split_once('=')?;
            match name {
                "offset" => offset = Some(number(value)?),
                "size" => size = Some(number(value)?),
                _ => return None,
            }
        }
        match scheme {
            "memory" => Some(ObjectSource::Memory {
                address: offset?,
                size: size?,
            }),
            "file" if !head.is_empty() => Some(ObjectSource::File {
                path: percent_decoded(head)?,
                offset: offset.unwrap_or(0),
                size,
            }),
            _ => None,
        }
    }
}

/// Parses a number as in C: hexadecimal after `0x`, octal after `0`, else decimal.
fn number(text: &str) -> Option<u64> {
    let lower = text.strip_prefix("0x").or(text.strip_prefix("0X"));
    if let Some(digits) = lower {
        return digits_of(digits, 16);
    }
    match text.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => digits_of(digits, 8),
        Some(_) | None => digits_of(text, 10),
    }
}

/// Rejects a sign, which Rust would accept.
fn digits_of(digits: &str, radix: u32) -> Option<u64> {
    digits
        .chars()
        .all(|digit| digit.is_digit(radix))
        .then(|| u64::from_str_radix(digits, radix).ok())?
}

/// Decodes `%2F` and similar escapes in a path.
fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
            decoded.push(u8::try_from(high << 4 | low).ok()?);
        } else {
            decoded.push(byte);
        }
    }
    (!decoded.contains(&0)).then_some(decoded)
}

/// The readable part of the list.
#[derive(Debug, Default)]
pub(super) struct ObjectList {
    /// The version of the runtime's interface, or `None` if it is not in the files.
    pub(super) version: Option<u32>,
    pub(super) objects: Vec<LoadedObject>,
}

/// The supported versions of the runtime's interface.
pub(super) const FIRST_VERSION: u32 = 8;
pub(super) const LAST_VERSION: u32 = 12;

/// The value of `r_state` for a consistent list.
const CONSISTENT: u32 = 0;
/// The maximum length of a URI, in bytes: a path of 4096 bytes, each written as three, and the numbers.
const LONGEST_URI: usize = 3 * 4096 + 128;

/// Reads the list at `r_debug`.
pub(super) fn read(
    memory: &ProcessMemory<'_>,
    r_debug: u64,
    hint: &'static str,
    meter: &Meter,
    problems: &mut Problems,
) -> ObjectList {
    let mut list = ObjectList::default();
    let mut add = |at: Option<FileOffset>, kind| problems.add(ProblemPlace::CodeObjects, at, kind);
    if r_debug == 0 {
        add(None, ProblemKind::NoDebugStructure);
        return list;
    }
    let word = |offset| memory.u32(r_debug.checked_add(offset)?);
    list.version = word(0);
    let first = r_debug.checked_add(8).and_then(|at| memory.u64(at));
    let (Some(version), Some(first), Some(state)) = (list.version, first, word(24)) else {
        let kind = ProblemKind::NotInFile {
            what: "the list of code objects",
            address: r_debug,
            hint,
        };
        add(None, kind);
        return list;
    };
    let at = memory.file_offset(r_debug);
    if !(FIRST_VERSION..=LAST_VERSION).contains(&version) {
        let kind = ProblemKind::InterfaceVersion {
            version,
            first: FIRST_VERSION,
            last: LAST_VERSION,
        };
        add(at, kind);
    }
    if state != CONSISTENT {
        add(at, ProblemKind::ListChanging { state });
        return list;
    }
    list.objects = entries(memory, first, hint, meter, problems);
    list
}

fn entries(
    memory: &ProcessMemory<'_>,
    first: u64,
    hint: &'static str,
    meter: &Meter,
    problems: &mut Problems,
) -> Vec<LoadedObject> {
    let mut objects = Vec::new();
    let mut seen = BTreeSet::new();
    let mut entry = first;
    while entry != 0 {
        let at = memory.file_offset(entry);
        if !seen.insert(entry) {
            let kind = ProblemKind::ListCircle { address: entry };
            problems.add(ProblemPlace::CodeObjects, at, kind);
            break;
        }
        let field = |offset| memory.u64(entry.checked_add(offset)?);
        let (Some(load_address), Some(name), Some(next)) = (field(0), field(8), field(24)) else {
            let kind = ProblemKind::NotInFile {
                what: "an entry of the list",
                address: entry,
                hint,
            };
            problems.add(ProblemPlace::CodeObjects, at, kind);
            break;
        };
        let uri = memory.text(name, LONGEST_URI).unwrap_or_default();
        let uri = String::from_utf8_lossy(&uri).into_owned();
        // Many entries can share one URI.
        let size = (size_of::<LoadedObject>() as u64).saturating_add(uri.len() as u64);
        if let Err(error) = meter
            .work(1)
            .and(meter.charge_bytes(uri.len()))
            .and(meter.hold(size))
        {
            let kind = ProblemKind::of_limit(&error);
            problems.add(ProblemPlace::CodeObjects, at, kind);
            break;
        }
        let source = ObjectSource::parse(&uri);
        let place = ProblemPlace::CodeObject(objects.len());
        if uri.is_empty() {
            problems.add(place, at, ProblemKind::NoName);
        } else if source.is_none() {
            let uri = uri.clone();
            problems.add(place, memory.file_offset(name), ProblemKind::BadUri { uri });
        }
        objects.push(LoadedObject {
            load_address: LoadAddress(load_address),
            uri,
            source,
        });
        entry = next;
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The URI forms in `hsa_ven_amd_loader.h`.
    #[test]
    fn texts_of_the_runtime_are_read() {
        let memory = |address, size| Some(ObjectSource::Memory { address, size });
        let file = |path: &str, offset, size| {
            Some(ObjectSource::File {
                path: path.into(),
                offset,
                size,
            })
        };
        let cases = [
            (
                "memory://4242#offset=0x7fb300000340&size=9560",
                memory(0x7fb3_0000_0340, 9560),
            ),
            ("memory://1?size=0x10&offset=010", memory(8, 16)),
            ("memory://1#offset=0&size=0", memory(0, 0)),
            ("file:///a/b.hsaco", file("/a/b.hsaco", 0, None)),
            (
                "file:///a%2Fb%20c#offset=8192&size=16472",
                file("/a/b c", 8192, Some(16472)),
            ),
            ("memory://1#offset=0x10", None),
            ("memory://1#offset=-1&size=1", None),
            ("memory://1#offset=0x&size=1", None),
            ("memory://1#offset=09&size=1", None),
            ("memory://1#offset=0x10000000000000000&size=1", None),
            ("file://", None),
            ("file:///a%2", None),
            ("file:///a%00b", None),
            ("file:///a#length=1", None),
            ("http://a/b", None),
            ("/a/b", None),
            ("", None),
        ];
        for (uri, expected) in cases {
            assert_eq!(ObjectSource::parse(uri), expected, "{uri}");
        }
    }
}
