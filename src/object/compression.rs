//! Bounded decompression: zlib and Zstandard, of whole sections and of whole bundles.
//!
//! The size a header claims is charged before anything is allocated, and the output may not be longer
//! or shorter. Sources: ELF gABI "Compression Header"; RFC 1950; RFC 8878.

use std::io::Read;

use flate2::read::ZlibDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::bytes::{self, tail_at, u32_at, u64_at};
use crate::error::{Error, ErrorKind, Limit, Result};
use crate::limits::reached;
use crate::meter::{BYTES_PER_STEP, Held, Meter};

/// As how many steps beginning a Zstandard frame counts: tables are set up, however little is in it.
const PER_FRAME: u64 = 1 << 10;
/// The Zstandard window that every decoder should support (RFC 8878, 3.1.1.1.2).
const ZSTD_WINDOW: u64 = 8 << 20;

/// How data are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "lowercase")
)]
#[non_exhaustive]
pub enum Method {
    /// DEFLATE in a zlib frame (`ELFCOMPRESS_ZLIB`, 1).
    Zlib,
    /// Zstandard (`ELFCOMPRESS_ZSTD`, 2).
    Zstd,
}

/// The bytes of `Elf64_Chdr`: the type and reserved bytes, 4 each, the size and the alignment of the contents, 8 each.
const ELF_HEADER: u64 = 24;

impl Method {
    /// The method's name: `zlib` or `zstd`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::Zlib => "zlib",
            Method::Zstd => "zstd",
        }
    }

    /// Its number in the header of a compressed section (`ch_type` of `Elf64_Chdr`).
    const fn elf_number(self) -> u32 {
        match self {
            Method::Zlib => 1,
            Method::Zstd => 2,
        }
    }

    /// The header of a section with `SHF_COMPRESSED`.
    ///
    /// * `size`: of the contents before compression, in bytes; `alignment`: theirs, in bytes.
    pub(crate) fn elf_header(self, size: u64, alignment: u64) -> Vec<u8> {
        [
            &self.elf_number().to_le_bytes()[..],
            &[0; 4],
            &size.to_le_bytes(),
            &alignment.to_le_bytes(),
        ]
        .concat()
    }
}

/// Compressed data with what their header says of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Compressed<'data> {
    pub(super) method: Method,
    /// The claimed size of the output, in bytes.
    pub(super) size: u64,
    pub(super) data: &'data [u8],
}

impl<'data> Compressed<'data> {
    /// Reads the header of a section with `SHF_COMPRESSED`.
    pub(super) fn from_elf(section: &'data [u8]) -> Result<Compressed<'data>> {
        const WHAT: &str = "compression header";
        let fields = (u32_at(section, 0), u64_at(section, 8));
        let (Some(kind), Some(size)) = fields else {
            return Err(ErrorKind::Truncated { what: WHAT }.into());
        };
        let data = tail_at(section, ELF_HEADER).ok_or(ErrorKind::Truncated { what: WHAT })?;
        let method = [Method::Zlib, Method::Zstd]
            .into_iter()
            .find(|method| method.elf_number() == kind)
            .ok_or_else(|| {
                let reason = format!("compression type {kind} is neither zlib (1) nor zstd (2)");
                Error::malformed(WHAT, reason)
            })?;
        Ok(Compressed { method, size, data })
    }

    /// Reads the header of an old `.zdebug_*` section: `ZLIB` and the size, big-endian.
    pub(super) fn from_zdebug(section: &'data [u8]) -> Result<Compressed<'data>> {
        const WHAT: &str = ".zdebug header";
        let Some(rest) = section.strip_prefix(b"ZLIB") else {
            return Err(Error::malformed(WHAT, "it does not start with ZLIB"));
        };
        let (size, data) = rest
            .split_first_chunk::<8>()
            .ok_or(ErrorKind::Truncated { what: WHAT })?;
        Ok(Compressed {
            method: Method::Zlib,
            size: u64::from_be_bytes(*size),
            data,
        })
    }

    /// The data as they were before compression, and how many bytes of `data` that took. They are held as long as
    /// `held` is.
    pub(super) fn decompress(&self, held: &Held) -> Result<(Vec<u8>, usize)> {
        held.hold(self.size)?;
        let meter = held.meter();
        meter.work(self.size.div_ceil(BYTES_PER_STEP))?;
        let (output, used) = match self.method {
            Method::Zlib => inflate(self.data, self.size)?,
            Method::Zstd => unpack_zstd(self.data, self.size, meter)?,
        };
        if bytes::len(&output) != self.size {
            let found = if bytes::len(&output) > self.size {
                "more".to_owned()
            } else {
                output.len().to_string()
            };
            return Err(Error::malformed(
                "compressed data",
                format!(
                    "the header claims {} bytes, {} gave {found}",
                    self.size,
                    self.method.name()
                ),
            ));
        }
        Ok((output, used))
    }
}

/// Room for what the header claims; it has been found plausible and charged.
fn reserve(size: u64) -> Result<Vec<u8>> {
    let mut output = Vec::new();
    match usize::try_from(size).map(|size| output.try_reserve_exact(size)) {
        Ok(Ok(())) => Ok(output),
        Ok(Err(_)) | Err(_) => Err(reached(Limit::Memory, size)),
    }
}

/// At most one byte more than `size`, so that a longer stream shows.
fn inflate(data: &[u8], size: u64) -> Result<(Vec<u8>, usize)> {
    let mut decoder = ZlibDecoder::new(data);
    let mut output = reserve(size)?;
    (&mut decoder)
        .take(size.saturating_add(1))
        .read_to_end(&mut output)
        .map_err(|e| Error::malformed("zlib stream", e.to_string()))?;
    let used = usize::try_from(decoder.total_in()).unwrap_or(data.len());
    Ok((output, used))
}

/// One frame after the other until there is enough output or no input.
fn unpack_zstd(data: &[u8], size: u64, meter: &Meter) -> Result<(Vec<u8>, usize)> {
    let bad = |reason: String| Error::malformed("zstd stream", reason);
    let window = size
        .checked_next_power_of_two()
        .unwrap_or(size)
        .max(ZSTD_WINDOW);
    let mut output = reserve(size)?;
    let mut rest = data;
    loop {
        meter.work(PER_FRAME)?;
        let mut decoder = StreamingDecoder::new_with_max_window_size(&mut rest, window)
            .map_err(|e| bad(e.to_string()))?;
        let room = size.saturating_sub(bytes::len(&output));
        (&mut decoder)
            .take(room.saturating_add(1))
            .read_to_end(&mut output)
            .map_err(|e| bad(e.to_string()))?;
        let frame = &decoder.decoder;
        let sums = (
            frame.get_checksum_from_data(),
            frame.get_calculated_checksum(),
        );
        if let (true, (Some(stored), Some(computed))) = (frame.is_finished(), sums)
            && stored != computed
            && bytes::len(&output) <= size
        {
            return Err(bad(format!(
                "checksum {computed:#x}, the frame says {stored:#x}"
            )));
        }
        if rest.is_empty() || bytes::len(&output) >= size {
            return Ok((output, data.len().saturating_sub(rest.len())));
        }
    }
}
