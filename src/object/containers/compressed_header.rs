//! Reads and writes the header of a compressed bundle. Sources: "Clang Offload Bundler"; the output of clang 16 to 22.
//!
//! The header has `CCOB`, the version (2 bytes) and the method (2 bytes). Sizes of 4 or 8 bytes follow: the total with the header, in versions that
//! have it, and the uncompressed size. At the end are the first 8 bytes of the MD5 of the bundle inside. This hash is not checked: it identifies
//! bundles, and both methods have their own checksums.

use crate::error::{Error, ErrorKind, Result};
use crate::object::bytes::{self, u16_at, u32_at, u64_at};
use crate::object::compression::Method;
use crate::object::identify::CCOB_MAGIC;

/// A version of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    number: u16,
    /// True if the header has the total size.
    has_total_size: bool,
    /// The bytes of a size field: 4 or 8.
    size_bytes: u8,
}

/// All versions.
#[rustfmt::skip]
const VERSIONS: [Version; 3] = [
    Version { number: 1, has_total_size: false, size_bytes: 4 },
    Version { number: 2, has_total_size: true,  size_bytes: 4 },
    Version { number: 3, has_total_size: true,  size_bytes: 8 },
];

/// All methods, with their numbers.
const METHODS: [(u16, Method); 2] = [(0, Method::Zlib), (1, Method::Zstd)];

/// The bytes of the magic number, the version and the method.
const SIZES_AT: u64 = 8;
/// The bytes of the hash.
const HASH: u64 = 8;

impl Version {
    /// Returns the size of the header in bytes.
    fn header_size(self) -> u64 {
        let sizes = 1_u64.saturating_add(self.has_total_size.into());
        let sizes = sizes.saturating_mul(self.size_bytes.into());
        SIZES_AT.saturating_add(sizes).saturating_add(HASH)
    }

    /// Returns a header of this version.
    ///
    /// Returns `None` if a size is too large for this version.
    ///
    /// * `data_size`: the size of the compressed data, in bytes.
    /// * `uncompressed_size`: the size of the bundle inside, in bytes.
    /// * `hash`: the first bytes of the MD5 of the bundle inside.
    pub(super) fn write(
        self,
        method: Method,
        data_size: u64,
        uncompressed_size: u64,
        hash: [u8; 8],
    ) -> Option<Vec<u8>> {
        let (number, _) = METHODS.iter().find(|(_, known)| *known == method)?;
        let mut header = CCOB_MAGIC.to_vec();
        header.extend(self.number.to_le_bytes());
        header.extend(number.to_le_bytes());
        let total_size = data_size.saturating_add(self.header_size());
        let total_size = self.has_total_size.then_some(total_size);
        for size in total_size.into_iter().chain([uncompressed_size]) {
            if self.size_bytes == 4 {
                header.extend(u32::try_from(size).ok()?.to_le_bytes());
            } else {
                header.extend(size.to_le_bytes());
            }
        }
        header.extend(hash);
        Some(header)
    }
}

/// A decoded header.
#[derive(Debug)]
pub(super) struct CompressedHeader {
    pub(super) version: Version,
    /// The size of the header in bytes.
    pub(super) size: u64,
    pub(super) method: Method,
    /// The total size with the header. `None` in version 1.
    pub(super) total_size: Option<u64>,
    pub(super) uncompressed_size: u64,
}

impl CompressedHeader {
    /// Reads the header at the start of `data`.
    pub(super) fn read(data: &[u8]) -> Result<CompressedHeader> {
        const WHAT: &str = "compressed bundle header";
        let truncated = || Error::from(ErrorKind::Truncated { what: WHAT });
        let version_at = bytes::len(CCOB_MAGIC);
        let number = u16_at(data, version_at).ok_or_else(truncated)?;
        let method = u16_at(data, version_at.saturating_add(2)).ok_or_else(truncated)?;
        let known = METHODS.iter().find(|(number, _)| *number == method);
        let (_, method) = known.copied().ok_or_else(|| {
            Error::malformed(WHAT, format!("method {method} is not zlib (0) or zstd (1)"))
        })?;
        let version = VERSIONS.iter().find(|version| version.number == number);
        let version = version
            .copied()
            .ok_or_else(|| Error::malformed(WHAT, format!("version {number} is not 1, 2 or 3")))?;
        let mut at = SIZES_AT;
        let mut read_size = || {
            let size = match version.size_bytes {
                4 => u32_at(data, at).map(u64::from),
                _ => u64_at(data, at),
            };
            at = at.saturating_add(version.size_bytes.into());
            size.ok_or_else(truncated)
        };
        let total_size = version.has_total_size.then(&mut read_size).transpose()?;
        Ok(CompressedHeader {
            version,
            size: version.header_size(),
            method,
            total_size,
            uncompressed_size: read_size()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_are_written() {
        for (version, header_size) in VERSIONS.into_iter().zip([20, 24, 32]) {
            for (_, method) in METHODS {
                let written = version.write(method, 0x1234, 0x5678, *b"01234567").unwrap();
                assert_eq!(written.len(), header_size, "{version:?}");
                let read = CompressedHeader::read(&written).unwrap();
                assert_eq!((read.version, read.method), (version, method));
                assert_eq!(read.size, header_size as u64);
                let total = 0x1234 + header_size as u64;
                assert_eq!(read.total_size, version.has_total_size.then_some(total));
                assert_eq!(read.uncompressed_size, 0x5678);
            }
            let large = version.write(Method::Zstd, 0, 1 << 32, [0; 8]);
            assert_eq!(large.is_some(), version.size_bytes == 8, "{version:?}");
        }
    }
}
