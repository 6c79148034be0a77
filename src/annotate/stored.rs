//! Sections as they are stored.

use std::io::Write as _;

use crate::error::{Error, Result};
use crate::object::{CodeObject, CompressionMethod};

/// A section as it is stored: compressed if it was.
pub(super) fn stored(
    object: &CodeObject<'_>,
    name: &'static str,
    bytes: Vec<u8>,
) -> Result<Vec<u8>> {
    let section = object
        .sections()
        .iter()
        .find(|section| section.name == name);
    let Some((method, alignment)) =
        section.and_then(|section| Some((section.compression?, section.alignment)))
    else {
        return Ok(bytes);
    };
    let failed = |error: std::io::Error| Error::malformed("section", error.to_string());
    let (number, data) = match method {
        CompressionMethod::Zlib => {
            let mut encoder =
                flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(&bytes).map_err(failed)?;
            (1_u32, encoder.finish().map_err(failed)?)
        }
        CompressionMethod::Zstd => {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            (
                2,
                ruzstd::encoding::compress_to_vec(bytes.as_slice(), level),
            )
        }
    };
    // `Elf64_Chdr`: the type, reserved bytes, the size and the alignment of the contents.
    let mut stored = Vec::with_capacity(data.len().saturating_add(24));
    stored.extend(number.to_le_bytes());
    stored.extend([0; 4]);
    stored.extend((bytes.len() as u64).to_le_bytes());
    stored.extend(alignment.max(1).to_le_bytes());
    stored.extend(data);
    Ok(stored)
}
