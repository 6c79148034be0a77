//! Converts sections and bundles to their stored form, which is compressed if the old one was.

use crate::object::{CodeObject, CompressedBundle, CompressionMethod};

/// The default level of zlib, a compromise between size and time.
const ZLIB_LEVEL: u8 = 6;

/// Returns a section in its stored form, compressed if the old section was.
pub(super) fn stored(object: &CodeObject<'_>, name: &'static str, bytes: Vec<u8>) -> Vec<u8> {
    let section = object
        .sections()
        .iter()
        .find(|section| section.name == name);
    let Some((method, alignment)) =
        section.and_then(|section| Some((section.compression?, section.alignment)))
    else {
        return bytes;
    };
    let data = compressed(method, &bytes);
    let header = method.elf_header(bytes.len() as u64, alignment.max(1));
    [header, data].concat()
}

/// Returns a bundle, compressed with the method of the old one.
///
/// Returns None if its sizes are too large for this version of the header.
pub(super) fn stored_bundle(was: &CompressedBundle, bundle: &[u8]) -> Option<Vec<u8>> {
    let data = compressed(was.method, bundle);
    let [hash @ .., _, _, _, _, _, _, _, _] = md5::compute(bundle).0;
    let header = was.header_of(data.len() as u64, bundle.len() as u64, hash);
    header.map(|header| [header, data].concat())
}

fn compressed(method: CompressionMethod, bytes: &[u8]) -> Vec<u8> {
    match method {
        CompressionMethod::Zlib => miniz_oxide::deflate::compress_to_vec_zlib(bytes, ZLIB_LEVEL),
        CompressionMethod::Zstd => {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            ruzstd::encoding::compress_to_vec(bytes, level)
        }
    }
}
