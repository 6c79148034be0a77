//! Decompresses whole sections and whole bundles (zlib and Zstandard) within limits.
//!
//! The size in the header is charged before anything is allocated, and the output must have exactly this size. Sources: ELF gABI "Compression
//! Header"; RFC 1950; RFC 8878.

use std::io::Read;

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};
use ruzstd::decoding::StreamingDecoder;

use super::bytes::{self, tail_at, u16_at, u32_at, u64_at};
use crate::error::{Error, ErrorKind, Limit, Result};
use crate::limits::reached;
use crate::meter::{BYTES_PER_STEP, Held, Meter};

/// The steps charged for the start of a Zstandard frame. Its tables are set up even if it contains little.
const PER_FRAME: u64 = 1 << 10;
/// The Zstandard window that every decoder should support (RFC 8878, 3.1.1.1.2).
const ZSTD_WINDOW: u64 = 8 << 20;
/// The memory of a Zstandard decoder in addition to twice its window: blocks of 128 KiB, and tables.
const ZSTD_BUFFER: u64 = 1 << 19;

/// A compression method.
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

/// The bytes of output allocated initially, when only the header's claim is known.
const INFLATED_AT_FIRST: usize = 1 << 16;

/// The bytes of `Elf64_Chdr`: the type and reserved bytes, 4 each, the size and the alignment of the contents, 8 each.
const ELF_HEADER: u64 = 24;

impl Method {
    /// Returns the method's name: `zlib` or `zstd`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::Zlib => "zlib",
            Method::Zstd => "zstd",
        }
    }

    /// Returns its number in the header of a compressed section (`ch_type` of `Elf64_Chdr`).
    const fn elf_number(self) -> u32 {
        match self {
            Method::Zlib => 1,
            Method::Zstd => 2,
        }
    }

    /// Returns the header of a section with `SHF_COMPRESSED`.
    ///
    /// * `size`: the size of the contents before compression, in bytes; `alignment`: their alignment, in bytes.
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

/// Compressed data, with the facts from their header.
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
                let reason = format!("compression type {kind} is not zlib (1) or zstd (2)");
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

    /// Decompresses the data. Returns the output and the number of bytes of `data` consumed. The output is charged to `held`.
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
                    "the header claims {} bytes, but {} produced {found}",
                    self.size,
                    self.method.name()
                ),
            ));
        }
        Ok((output, used))
    }
}

/// Allocates the output. The claimed size has been checked and charged.
fn reserve(size: u64) -> Result<Vec<u8>> {
    let mut output = Vec::new();
    match usize::try_from(size).map(|size| output.try_reserve_exact(size)) {
        Ok(Ok(())) => Ok(output),
        Ok(Err(_)) | Err(_) => Err(reached(Limit::Memory, size)),
    }
}

/// At most one byte more than `size`, to detect a longer stream.
fn inflate(data: &[u8], size: u64) -> Result<(Vec<u8>, usize)> {
    const FLAGS: u32 = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER
        | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let room = size.saturating_add(1);
    let mut output = reserve(room)?;
    let most = usize::try_from(room).unwrap_or(usize::MAX);
    let mut decoder = Box::new(DecompressorOxide::new());
    let (mut rest, mut length) = (data, 0_usize);
    loop {
        // Only written memory is touched, regardless of the header's claim.
        output.resize(length.saturating_mul(2).max(INFLATED_AT_FIRST).min(most), 0);
        let (status, read, written) = decompress(&mut decoder, rest, &mut output, length, FLAGS);
        rest = rest.get(read..).unwrap_or_default();
        length = length.saturating_add(written);
        let is_done = match status {
            TINFLStatus::Done => true,
            TINFLStatus::HasMoreOutput => length >= most,
            TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput => {
                return Err(Error::malformed("zlib stream", "it is cut off"));
            }
            TINFLStatus::Adler32Mismatch => {
                let reason = "its checksum does not match its contents";
                return Err(Error::malformed("zlib stream", reason));
            }
            TINFLStatus::Failed | TINFLStatus::BadParam | _ => {
                return Err(Error::malformed("zlib stream", "it is corrupt"));
            }
        };
        if is_done {
            output.truncate(length);
            return Ok((output, data.len().saturating_sub(rest.len())));
        }
    }
}

/// Decompresses frames until there is enough output or no input.
fn unpack_zstd(data: &[u8], size: u64, meter: &Meter) -> Result<(Vec<u8>, usize)> {
    let most_window = size
        .checked_next_power_of_two()
        .unwrap_or(size)
        .max(ZSTD_WINDOW);
    let mut output = reserve(size)?;
    let mut rest = data;
    loop {
        let at = data.len().saturating_sub(rest.len());
        let bad = |reason: &str| {
            Error::malformed("zstd stream", format!("the frame at byte {at} {reason}"))
        };
        if let Some(length) = skippable_frame(rest) {
            meter.work(1)?;
            rest = tail_at(rest, length).ok_or_else(|| bad("is cut off"))?;
        } else {
            meter.work(PER_FRAME)?;
            let window = window_size(rest).unwrap_or(0).min(most_window);
            let buffer = window.saturating_mul(2).saturating_add(ZSTD_BUFFER);
            meter.hold(buffer)?;
            let room = size.saturating_sub(bytes::len(&output));
            let unpacked = unpack_frame(&mut rest, room, most_window, &mut output);
            meter.release(buffer);
            unpacked.map_err(bad)?;
        }
        if rest.is_empty() || bytes::len(&output) >= size {
            return Ok((output, data.len().saturating_sub(rest.len())));
        }
    }
}

/// Decompresses one frame, to at most one byte more than `room`. The error is the fault of the frame.
fn unpack_frame(
    rest: &mut &[u8],
    room: u64,
    most_window: u64,
    output: &mut Vec<u8>,
) -> core::result::Result<(), &'static str> {
    let mut decoder = StreamingDecoder::new_with_max_window_size(&mut *rest, most_window)
        .map_err(|_| "has a header that is malformed or not supported")?;
    let before = output.len();
    (&mut decoder)
        .take(room.saturating_add(1))
        .read_to_end(output)
        .map_err(|_| "is malformed or cut off")?;
    let frame = &decoder.decoder;
    let sums = (
        frame.get_checksum_from_data(),
        frame.get_calculated_checksum(),
    );
    let length = output.len().saturating_sub(before) as u64;
    if let (true, (Some(stored), Some(computed))) = (frame.is_finished(), sums)
        && stored != computed
        && length <= room
    {
        return Err("has a checksum that does not match its contents");
    }
    Ok(())
}

/// Returns the number of bytes of the skippable frame at the start of the data, or `None` if there is none. Source: RFC 8878, 3.1.2.
fn skippable_frame(data: &[u8]) -> Option<u64> {
    let magic = u32_at(data, 0)?;
    let length = u32_at(data, 4)?;
    (magic & !0xf == 0x184d_2a50).then(|| u64::from(length).saturating_add(8))
}

/// Returns the size of a frame's window, which its decoder allocates before it reads anything else. Source: RFC 8878, 3.1.1.1.
fn window_size(frame: &[u8]) -> Option<u64> {
    let descriptor = *frame.get(4)?;
    let is_single_segment = descriptor & 0x20 != 0;
    if !is_single_segment {
        let window = *frame.get(5)?;
        let base = 1_u64 << (10 + u32::from(window >> 3));
        return Some(base.saturating_add((base / 8).saturating_mul(u64::from(window & 7))));
    }
    // The window is as large as the contents, whose size comes after the ID of a dictionary.
    let at = match descriptor & 3 {
        0 => 5,
        1 => 6,
        2 => 7,
        _ => 9,
    };
    match descriptor >> 6 {
        0 => tail_at(frame, at)?.first().map(|size| (*size).into()),
        1 => u16_at(frame, at).map(|size| u64::from(size).saturating_add(256)),
        2 => u32_at(frame, at).map(u64::from),
        _ => u64_at(frame, at),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::limits::Limits;

    /// Three frames by hand (RFC 8878): a raw block `ab`, a skippable frame, and a raw block `c`.
    const FRAMES: [&[u8]; 3] = [
        &[0x28, 0xb5, 0x2f, 0xfd, 0x20, 2, 0x11, 0, 0, b'a', b'b'],
        &[0x5f, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 7, 7, 7],
        &[0x28, 0xb5, 0x2f, 0xfd, 0x20, 1, 0x09, 0, 0, b'c'],
    ];

    fn meter(memory: u64) -> Meter {
        let limits = Limits {
            memory,
            memory_per_byte: 0,
            ..Limits::DEFAULT
        };
        Meter::new(&limits, 0)
    }

    #[test]
    fn skippable_frames_are_passed_over() {
        let [first, skipped, last] = FRAMES;
        for stream in [
            [first, skipped, last].concat(),
            [skipped, first, last].concat(),
            [skipped, skipped, first, skipped, last].concat(),
        ] {
            let (output, used) = unpack_zstd(&stream, 3, &meter(1 << 20)).unwrap();
            assert_eq!((output.as_slice(), used), (&b"abc"[..], stream.len()));
        }
    }

    #[test]
    fn a_frame_that_is_no_frame_is_named_by_its_place() {
        let [first, skipped, _] = FRAMES;
        let cut = &skipped[..10];
        for (last, reason) in [
            (cut, "the frame at byte 11 is cut off"),
            (&[1, 2, 3, 4, 5], "the frame at byte 11 has a header"),
            (&FRAMES[2][..9], "the frame at byte 11 is malformed"),
        ] {
            let stream = [first, last].concat();
            let error = unpack_zstd(&stream, 3, &meter(1 << 20)).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
    }

    /// A frame of a few bytes with a window of 128 MiB, which the size of the output allows.
    #[test]
    fn the_window_is_paid_for() {
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3, 0x01, 0, 0];
        assert_eq!(window_size(&frame), Some(128 << 20));
        let size = 100 << 20;
        let error = unpack_zstd(&frame, size, &meter(256 << 20)).unwrap_err();
        assert!(error.is_limit(), "{error}");
        let meter = Arc::new(meter(257 << 20));
        let (output, _) = unpack_zstd(&frame, size, &meter).unwrap();
        assert_eq!((output.len(), meter.bytes()), (0, 0));
        // The window size equals the content size: 1, 2, 4 and 8 bytes, and after a dictionary ID.
        let single = |descriptor: u8| {
            let frame = [&[0, 0, 0, 0, descriptor][..], &[1, 2, 3, 4, 0, 0, 0, 0]].concat();
            window_size(&frame)
        };
        assert_eq!(single(0x20), Some(1));
        assert_eq!(single(0x60), Some(0x0201 + 256));
        assert_eq!(single(0xa0), Some(0x0403_0201));
        assert_eq!(single(0xe0), Some(0x0403_0201));
        assert_eq!(single(0x22), Some(3));
    }
}
