//! Combines the memory of the process from the segments of one or two core files.
//!
//! If several segments have a byte, this order decides: the host's (or merged) file before the GPU's half, the first file before the second, earlier
//! segments before later ones. The order of the two halves therefore does not matter. A segment without bytes never hides one with bytes.

use core::ops::Range;
use std::borrow::Cow;
use std::collections::BTreeSet;

use super::container::CoreFile;
use super::problem::FileOffset;

/// The bytes of the process in the files.
#[derive(Debug)]
pub(super) struct ProcessMemory<'data> {
    files: Vec<&'data [u8]>,
    /// Ascending, and without overlap.
    pieces: Vec<Piece>,
}

/// Consecutive bytes of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    address: u64,
    size: u64,
    file: usize,
    offset: u64,
}

impl Piece {
    fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }

    /// Returns the rest of the piece from `address` on, which must be within it.
    fn from(&self, address: u64) -> Option<Piece> {
        let skipped = address.checked_sub(self.address)?;
        Some(Piece {
            address,
            size: self.size.checked_sub(skipped)?,
            file: self.file,
            offset: self.offset.checked_add(skipped)?,
        })
    }
}

impl<'data> ProcessMemory<'data> {
    pub(super) fn new(files: &[CoreFile<'data>]) -> ProcessMemory<'data> {
        let mut order: Vec<_> = files.iter().enumerate().collect();
        order.sort_by_key(|(_, file)| file.is_gpu_half);
        let ranked: Vec<Piece> = order
            .iter()
            .flat_map(|(index, file)| {
                file.segments.iter().map(|segment| Piece {
                    address: segment.address,
                    size: segment.extent.size,
                    file: *index,
                    offset: segment.extent.offset,
                })
            })
            .collect();
        ProcessMemory {
            files: files.iter().map(|file| file.data).collect(),
            pieces: without_overlap(&ranked),
        }
    }

    pub(super) fn file_count(&self) -> usize {
        self.files.len()
    }

    /// Returns the total size of the files, in bytes.
    pub(super) fn size(&self) -> u64 {
        self.files
            .iter()
            .fold(0, |size: u64, file| size.saturating_add(file.len() as u64))
    }

    /// Returns the available addresses, ascending.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.pieces.iter().map(|piece| piece.address..piece.end())
    }

    /// Returns the piece with the byte at `address`, starting there.
    fn piece(&self, address: u64) -> Option<Piece> {
        let after = self
            .pieces
            .partition_point(|piece| piece.address <= address);
        let piece = self.pieces.get(after.checked_sub(1)?)?;
        if address < piece.end() {
            piece.from(address)
        } else {
            None
        }
    }

    fn bytes_of(&self, piece: &Piece, len: usize) -> Option<&'data [u8]> {
        let start = usize::try_from(piece.offset).ok()?;
        let len = len.min(usize::try_from(piece.size).ok()?);
        self.files
            .get(piece.file)?
            .get(start..start.checked_add(len)?)
    }

    /// Copies the bytes at `address` into `out`. Returns false if any of them is missing.
    pub(super) fn read(&self, address: u64, out: &mut [u8]) -> bool {
        self.copy(address, out).is_some()
    }

    fn copy(&self, mut address: u64, mut out: &mut [u8]) -> Option<()> {
        while !out.is_empty() {
            let piece = self.piece(address)?;
            let bytes = self.bytes_of(&piece, out.len())?;
            let (head, rest) = out.split_at_mut_checked(bytes.len())?;
            head.copy_from_slice(bytes);
            out = rest;
            address = address.checked_add(bytes.len() as u64)?;
        }
        Some(())
    }

    /// Returns the `N` bytes at `address`.
    pub(super) fn array<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.read(address, &mut bytes).then_some(bytes)
    }

    pub(super) fn u16(&self, address: u64) -> Option<u16> {
        self.array(address).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&self, address: u64) -> Option<u32> {
        self.array(address).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&self, address: u64) -> Option<u64> {
        self.array(address).map(u64::from_le_bytes)
    }

    /// Returns true if the byte at `address` is available.
    pub(super) fn has(&self, address: u64) -> bool {
        self.piece(address).is_some()
    }

    /// Returns the number of the `len` bytes from `address` on that come before the first missing one.
    pub(super) fn available(&self, address: u64, len: u64) -> u64 {
        let mut found: u64 = 0;
        while found < len
            && let Some(piece) = address.checked_add(found).and_then(|at| self.piece(at))
        {
            found = found.saturating_add(piece.size);
        }
        found.min(len)
    }

    /// Returns the `len` bytes at `address` if all are available. They are borrowed if one segment has them all, otherwise copied, up to `limit`
    /// bytes.
    pub(super) fn bytes(&self, address: u64, len: u64, limit: u64) -> Option<Cow<'data, [u8]>> {
        let size = usize::try_from(len).ok()?;
        if size == 0 {
            return Some(Cow::Borrowed(&[]));
        }
        let first = self.piece(address)?;
        if first.size >= len {
            return self.bytes_of(&first, size).map(Cow::Borrowed);
        }
        if len > limit || self.available(address, len) < len {
            return None;
        }
        let mut copy = vec![0; size];
        self.read(address, &mut copy).then_some(Cow::Owned(copy))
    }

    /// Returns the bytes of a string up to its terminating zero byte, or `None` if it is longer than `limit` or incomplete.
    pub(super) fn text(&self, address: u64, limit: usize) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        let mut at = address;
        while text.len() <= limit {
            let bytes = self.bytes_of(&self.piece(at)?, limit)?;
            let until = bytes.iter().position(|&byte| byte == 0);
            text.extend_from_slice(bytes.get(..until.unwrap_or(bytes.len()))?);
            if until.is_some() {
                return (text.len() <= limit).then_some(text);
            }
            at = at.checked_add(bytes.len() as u64)?;
        }
        None
    }

    /// Returns the position in the files of the byte at `address`.
    pub(super) fn file_offset(&self, address: u64) -> Option<FileOffset> {
        let piece = self.piece(address)?;
        Some(FileOffset {
            file: piece.file,
            offset: piece.offset,
        })
    }
}

/// Cuts the pieces so that none overlaps another. Each byte goes to the first piece that has it.
fn without_overlap(ranked: &[Piece]) -> Vec<Piece> {
    let mut ends: Vec<(u64, bool, usize)> = Vec::with_capacity(ranked.len().saturating_mul(2));
    for (rank, piece) in ranked.iter().enumerate() {
        ends.push((piece.address, true, rank));
        ends.push((piece.end(), false, rank));
    }
    ends.sort_unstable();
    let mut found: Vec<Piece> = Vec::with_capacity(ranked.len());
    let mut open = BTreeSet::new();
    let mut last = None;
    let mut from = 0;
    for (address, starts, rank) in ends {
        if let Some(&first) = open.first()
            && from < address
            && let Some(piece) = ranked
                .get::<usize>(first)
                .and_then(|piece| piece.from(from))
        {
            let size = address.saturating_sub(from);
            match found.last_mut() {
                // The same segment continues after one that it hides.
                Some(before) if last == Some(first) && before.end() == from => {
                    before.size = before.size.saturating_add(size);
                }
                _ => found.push(Piece { size, ..piece }),
            }
            last = Some(first);
        }
        if starts {
            open.insert(rank);
        } else {
            open.remove(&rank);
        }
        from = address;
    }
    found
}
