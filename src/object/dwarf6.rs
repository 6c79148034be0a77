//! DWARF 6 as far as it is DWARF 5: what has a length and a version of its own and says that it is of version 6 is read as version 5.
//!
//! No reader that is out knows version 6, and its tables are those of version 5 so far. Source: clang 22 `-gdwarf-6`.

use super::bytes::{self, u16_at, u32_at, u64_at};
use crate::error::Result;
use crate::meter::Held;

/// The sections that are made of such parts.
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

/// A section with its parts of version 6 said to be of version 5.
#[derive(Debug)]
pub(super) struct AsDwarf5 {
    pub(super) bytes: Vec<u8>,
    /// Where the parts of version 6 start, in order.
    pub(super) starts: Vec<u64>,
}

/// Returns a section as a reader of version 5 wants it. `None` if no part is of version 6.
///
/// * `name`: of the section, with or without `.dwo`.
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

/// Where the part that starts at an offset has its version, and where it ends. `None` if there is none, or it is not whole.
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
