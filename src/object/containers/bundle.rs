//! Reads clang offload bundles, plain and compressed, one or several in a row.
//!
//! Source: "Clang Offload Bundler", "Bundled Binary File Layout".

use super::compressed_header::{CompressedHeader, Version};
use super::{ContainerPlace, Finder, PER_ENTRY, Source};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::meter::Held;
use crate::object::bytes::{self, slice_at, tail_at, u64_at};
use crate::object::compression::{Compressed, Method};
use crate::object::identify::{BUNDLE_MAGIC, CCOB_MAGIC, FileKind};

/// The maximum length of a bundle entry ID. Real ones have less than a hundred bytes.
const MAX_ID: u64 = 512;

impl<'data> Finder<'data> {
    /// Searches bundles one after the other. Any bytes may be between them (linkers align each to a page).
    pub(super) fn bundles(
        &mut self,
        source: Source<'data, '_>,
        place: &ContainerPlace,
    ) -> Result<()> {
        let mut offset = 0;
        while let Some((at, bundle)) = next_bundle(source, offset) {
            self.meter.work(PER_ENTRY)?;
            let place = source.place(place, at);
            let size = if bundle.bytes().starts_with(CCOB_MAGIC) {
                self.compressed_bundle(bundle.bytes(), place)?
            } else {
                self.bundle(bundle, &place)?
            };
            offset = at.saturating_add(size.max(1));
        }
        Ok(())
    }

    /// Reads the bundle at the start of `data`, and returns its size in bytes.
    fn bundle(&mut self, bundle: Source<'data, '_>, place: &ContainerPlace) -> Result<u64> {
        let data = bundle.bytes();
        let header = Header { data };
        let count = header.number(bytes::len(BUNDLE_MAGIC))?;
        let mut at = bytes::len(BUNDLE_MAGIC).saturating_add(8);
        let mut end = at;
        for _ in 0..count {
            self.meter.work(PER_ENTRY)?;
            let (offset, size, id_size) = (
                header.number(at)?,
                header.number(at.saturating_add(8))?,
                header.number(at.saturating_add(16))?,
            );
            let id_at = at.saturating_add(24);
            let id = slice_at(data, id_at, id_size).filter(|_| id_size <= MAX_ID);
            let id = id.ok_or_else(|| {
                Error::malformed(
                    "bundle",
                    format!("the ID of the entry at {at:#x} cannot have {id_size} bytes"),
                )
            })?;
            let id = String::from_utf8_lossy(id).into_owned();
            self.entry(FileKind::Bundle, &id, bundle, offset, size, place)?;
            at = id_at.saturating_add(id_size);
            end = end.max(at).max(offset.saturating_add(size));
        }
        Ok(end)
    }

    /// Reads the compressed bundle at the start of `data`, and returns its size in bytes.
    fn compressed_bundle(&mut self, data: &[u8], mut place: ContainerPlace) -> Result<u64> {
        let held = Held::new(Arc::clone(&self.meter));
        let compressed = CompressedBundle::read(data, &held)?;
        place.compression = Some(compressed.method);
        self.bundle(Source::Made(&compressed.bundle), &place)?;
        Ok(compressed.size)
    }
}

/// A compressed bundle, decompressed.
pub(crate) struct CompressedBundle {
    version: Version,
    pub(crate) method: Method,
    /// The size in the file, with its header, in bytes.
    pub(crate) size: u64,
    /// The decompressed bundle.
    pub(crate) bundle: Vec<u8>,
}

impl CompressedBundle {
    /// Decompresses the bundle at the start of `data`, which may be followed by anything.
    ///
    /// * `held`: charged for the decompressed bundle.
    pub(crate) fn read(data: &[u8], held: &Held) -> Result<CompressedBundle> {
        let header = CompressedHeader::read(data)?;
        let body = match header.total_size {
            Some(total) => slice_at(data, 0, total).and_then(|d| tail_at(d, header.size)),
            None => tail_at(data, header.size),
        };
        let compressed = Compressed {
            method: header.method,
            size: header.uncompressed_size,
            data: body.ok_or(ErrorKind::Truncated {
                what: "compressed bundle",
            })?,
        };
        let (bundle, used) = compressed.decompress(held)?;
        if FileKind::of(&bundle) != FileKind::Bundle {
            return Err(Error::malformed(
                "compressed bundle",
                format!("inside is {}", FileKind::of(&bundle).description(&bundle)),
            ));
        }
        let used = u64::try_from(used).unwrap_or(u64::MAX);
        let own_size = header.size.saturating_add(used);
        Ok(CompressedBundle {
            version: header.version,
            method: header.method,
            size: header.total_size.unwrap_or(own_size),
            bundle,
        })
    }

    /// Returns a header for another bundle, with the same version and method as this one.
    ///
    /// Returns `None` if a size is too large for that version of the header.
    ///
    /// * `data_size`: the compressed size of the other bundle, in bytes.
    /// * `bundle_size`: its uncompressed size, in bytes.
    /// * `hash`: the first bytes of the MD5 of the uncompressed bundle.
    pub(crate) fn header_of(
        &self,
        data_size: u64,
        bundle_size: u64,
        hash: [u8; 8],
    ) -> Option<Vec<u8>> {
        self.version
            .write(self.method, data_size, bundle_size, hash)
    }
}

/// Returns the next bundle at or after `from`: its offset, and all bytes from there on.
fn next_bundle<'data, 'made>(
    source: Source<'data, 'made>,
    from: u64,
) -> Option<(u64, Source<'data, 'made>)> {
    let rest = source.tail(from)?;
    // One pass finds both kinds, so that a file of many bundles is searched once.
    let bytes = rest.bytes();
    let starts = |at: &usize| {
        let here = bytes.get(*at..).unwrap_or(&[]);
        here.starts_with(BUNDLE_MAGIC) || here.starts_with(CCOB_MAGIC)
    };
    let at = (0..bytes.len()).find(starts)?;
    let at = u64::try_from(at).ok()?;
    Some((from.checked_add(at)?, rest.tail(at)?))
}

/// Numbers of a bundle's header.
struct Header<'a> {
    data: &'a [u8],
}

impl Header<'_> {
    fn number(&self, offset: u64) -> Result<u64> {
        u64_at(self.data, offset).ok_or_else(|| {
            ErrorKind::Truncated {
                what: "bundle header",
            }
            .into()
        })
    }
}
