//! The bytes of a file.
//!
//! A question about one function of a large object needs little of the file, so that a large one is mapped and not read. If
//! another process makes it shorter meanwhile, the system ends this one, as it does every debugger that maps files.

use core::ops::Deref;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use memmap2::Mmap;

/// Files from this size on are mapped, in bytes. Reading a smaller one takes a few milliseconds.
const MAPPED: u64 = 1 << 24;

/// The bytes of a file, for as long as they are needed.
pub(crate) enum Contents {
    Read(Vec<u8>),
    Mapped(Mmap),
}

impl Contents {
    /// Opens a file; a large one is mapped.
    ///
    /// # Errors
    /// If it cannot be opened or read.
    pub(crate) fn open(path: &Path) -> io::Result<Contents> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_file()
            && metadata.len() >= MAPPED
            && let Some(map) = map(&file)
        {
            return Ok(Contents::Mapped(map));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Contents::Read(bytes))
    }
}

impl Deref for Contents {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Contents::Read(bytes) => bytes,
            Contents::Mapped(map) => map,
        }
    }
}

/// Maps a file; nothing if the system does not.
#[expect(unsafe_code, reason = "mapping a file; see the comment within")]
fn map(file: &File) -> Option<Mmap> {
    // SAFETY: the bytes must not change while they are mapped, which no program can ensure of a file. They are only
    // read, and a map never ends before what borrows from it. Whoever writes to the file at this very moment
    // can make the answer wrong or end the process, as with every program that maps files.
    unsafe { Mmap::map(file) }.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_are_mapped_and_others_read() {
        let folder = std::env::temp_dir().join(format!("hetdwarf-contents-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        for (size, is_mapped) in [(0, false), (MAPPED - 1, false), (MAPPED, true)] {
            let bytes: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            let contents = Contents::open(&path).unwrap();
            assert_eq!(matches!(contents, Contents::Mapped(_)), is_mapped, "{size}");
            assert!(*contents == *bytes, "{size}");
        }
        assert!(Contents::open(&folder).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
