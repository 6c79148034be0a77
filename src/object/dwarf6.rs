//! Supports DWARF 6 to the extent that it equals DWARF 5: parts with their own length and version 6 are read as version 5.
//!
//! No released reader knows version 6, and its tables still equal those in version 5. Source: clang 22 `-gdwarf-6`.

use super::bytes::{self, u16_at, u32_at, u64_at};
use crate::error::Result;
use crate::meter::Held;

/// The sections that consist of such parts.
const SECTIONS: [&str; 6] = [
    ".debug_info",
    ".debug_line",
    ".debug_str_offsets",
    ".debug_addr",
    ".debug_loclists",
    ".debug_rnglists",
];
/// The version that is read as [`AS`].
const VERSION: u16 = 6;
const AS: u16 = 5;

/// A section whose parts of version 6 have been relabelled as version 5.
#[derive(Debug)]
pub(super) struct AsDwarf5 {
    pub(super) bytes: Vec<u8>,
    /// The offsets of the parts of version 6, in order.
    pub(super) starts: Vec<u64>,
}

/// Returns a section for a reader of version 5, or `None` if no part has version 6.
///
/// * `name`: the name of the section, with or without `.dwo`.
pub(super) fn as_dwarf5(name: &str, section: &[u8], held: &Held) -> Result<Option<AsDwarf5>> {
    if !SECTIONS.contains(&name.strip_suffix(".dwo").unwrap_or(name)) {
        return Ok(None);
    }
    let (mut bytes, mut starts) = (Vec::new(), Vec::new());
    let mut start = 0;
    while let Some((version_at, end)) = part(section, start) {
        held.meter().work(1)?;
        if u16_at(section, version_at) == Some(VERSION) {
            if bytes.is_empty() {
                held.hold(bytes::len(section))?;
                held.meter().charge_bytes(section.len())?;
                bytes = section.to_vec();
            }
            held.hold(size_of::<u64>() as u64)?;
            starts.push(start);
            let version = usize::try_from(version_at).ok();
            let version = version.and_then(|at| bytes.get_mut(at..)?.first_chunk_mut());
            if let Some(version) = version {
                *version = AS.to_le_bytes();
            }
        }
        start = end;
    }
    Ok((!starts.is_empty()).then_some(AsDwarf5 { bytes, starts }))
}

/// Returns the offset of the version field and the end of the part that starts at an offset, or `None` if there is no complete part.
fn part(section: &[u8], start: u64) -> Option<(u64, u64)> {
    /// `DW64`: the length is in the 8 bytes that follow (DWARF 5 §7.4).
    const OF_64_BITS: u32 = 0xffff_ffff;
    let (length, after) = match u32_at(section, start)? {
        OF_64_BITS => (
            u64_at(section, start.checked_add(4)?)?,
            start.checked_add(12)?,
        ),
        length => (length.into(), start.checked_add(4)?),
    };
    let end = after.checked_add(length)?;
    (length >= 2 && end <= bytes::len(section)).then_some((after, end))
}

#[cfg(test)]
mod tests;
