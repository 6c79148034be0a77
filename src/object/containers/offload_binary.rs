//! Reads LLVM's offload binaries, the contents of `.llvm.offloading`: one or several in a row.
//!
//! Source: "Clang Offload Packager", "Binary Format". Version 2 of the format, with several entries, is from LLVM 23. Offload kinds are numbered as
//! in LLVM 22 (bits) or as in the document (1, 2, 3).

use super::{ContainerPlace, Finder, PER_ENTRY, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::object::bytes::{self, tail_at, u16_at, u32_at, u64_at};
use crate::object::identify::{FileKind, OFFLOAD_MAGIC};

const WHAT: &str = "offload binary";
/// The maximum length of a key or value that is read.
const MAX_TEXT: usize = 512;
/// The maximum number of keys read from one entry. Real ones have a handful.
const MAX_KEYS: u64 = 64;

impl<'data> Finder<'data> {
    /// Searches offload binaries one after the other, with zeros between them.
    pub(super) fn offload_binaries(
        &mut self,
        source: Source<'data, '_>,
        place: &ContainerPlace,
    ) -> Result<()> {
        let data = source.bytes();
        let mut at = 0;
        let mut place = place.clone();
        loop {
            let rest = tail_at(data, at).unwrap_or_default();
            if rest.is_empty() {
                return Ok(());
            }
            if !rest.starts_with(OFFLOAD_MAGIC) {
                break;
            }
            let size = u64_at(rest, 8).ok_or_else(truncated)?;
            let binary = source.part(at, size).ok_or_else(truncated)?;
            self.offload_binary(binary, &place)?;
            let after = tail_at(rest, size.max(1)).unwrap_or(&[]);
            let zeros = after.iter().take_while(|&&b| b == 0).count();
            let next = after.len().saturating_sub(zeros);
            let step = bytes::len(rest).saturating_sub(next as u64);
            place = source.place(&place, step);
            at = at.saturating_add(step);
        }
        Err(Error::malformed(
            WHAT,
            format!("at {:#x} there is no other one", place.offset),
        ))
    }

    fn offload_binary(&mut self, binary: Source<'data, '_>, place: &ContainerPlace) -> Result<()> {
        let data = binary.bytes();
        let version = u32_at(data, 4).ok_or_else(truncated)?;
        let entries = u64_at(data, 16).ok_or_else(truncated)?;
        let (count, stride) = match version {
            // The size of the one entry.
            1 => (1, 0),
            2 => (u64_at(data, 24).ok_or_else(truncated)?, 40),
            other => {
                return Err(Error::malformed(
                    WHAT,
                    format!("version {other} is not 1 or 2"),
                ));
            }
        };
        let mut at = entries;
        for _ in 0..count {
            self.meter.work(PER_ENTRY)?;
            let entry = tail_at(data, at).ok_or_else(truncated)?;
            let number = |offset| u64_at(entry, offset).ok_or_else(truncated);
            let (image, size) = (number(24)?, number(32)?);
            let strings = Strings {
                data,
                table: number(8)?,
                count: number(16)?,
                stride: if version == 1 { 16 } else { 24 },
            };
            let kind = u16_at(entry, 2).ok_or_else(truncated)?;
            let id = entry_id(kind, &strings);
            self.entry(FileKind::OffloadBinary, &id, binary, image, size, place)?;
            at = at.saturating_add(stride);
        }
        Ok(())
    }
}

fn truncated() -> Error {
    ErrorKind::Truncated { what: WHAT }.into()
}

/// Returns the entry's ID in the form of clang's bundler.
fn entry_id(kind: u16, strings: &Strings<'_>) -> String {
    let kind = match kind {
        1 => "openmp",
        2 => "cuda",
        3 | 4 => "hip",
        8 => "sycl",
        _ => "",
    };
    let triple = strings.get("triple").unwrap_or_default();
    let triple = triple.trim_end_matches('-');
    match strings.get("arch") {
        Some(arch) => format!("{kind}-{triple}--{arch}"),
        None => format!("{kind}-{triple}-"),
    }
}

/// The keys and values of an entry.
struct Strings<'a> {
    data: &'a [u8],
    table: u64,
    count: u64,
    stride: u64,
}

impl Strings<'_> {
    fn get(&self, key: &str) -> Option<String> {
        let mut at = self.table;
        for _ in 0..self.count.min(MAX_KEYS) {
            if self.text(u64_at(self.data, at)?)? == key {
                return self.text(u64_at(self.data, at.checked_add(8)?)?);
            }
            at = at.checked_add(self.stride)?;
        }
        None
    }

    fn text(&self, offset: u64) -> Option<String> {
        let tail = tail_at(self.data, offset)?;
        let text = tail.iter().take(MAX_TEXT).position(|&b| b == 0)?;
        Some(String::from_utf8_lossy(tail.get(..text)?).into_owned())
    }
}
