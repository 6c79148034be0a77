//! Sections and bundles as they are stored: compressed if they were.

use std::io::Write as _;

use crate::error::{Error, Result};
use crate::object::{CodeObject, CompressedBundle, CompressionMethod};

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
    let data = compressed(method, &bytes)?;
    let header = method.elf_header(bytes.len() as u64, alignment.max(1));
    Ok([header, data].concat())
}

/// A bundle, compressed as another one was.
///
/// Nothing if its sizes are too large for that version of the header.
pub(super) fn stored_bundle(was: &CompressedBundle, bundle: &[u8]) -> Result<Option<Vec<u8>>> {
    let data = compressed(was.method, bundle)?;
    let [hash @ .., _, _, _, _, _, _, _, _] = md5::compute(bundle).0;
    let header = was.header_of(data.len() as u64, bundle.len() as u64, hash);
    Ok(header.map(|header| [header, data].concat()))
}

fn compressed(method: CompressionMethod, bytes: &[u8]) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| Error::malformed("compression", error.to_string());
    match method {
        CompressionMethod::Zlib => {
            let level = flate2::Compression::default();
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).map_err(failed)?;
            encoder.finish().map_err(failed)
        }
        CompressionMethod::Zstd => {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            Ok(ruzstd::encoding::compress_to_vec(bytes, level))
        }
    }
}
