//! Reads one core file: its segments, and the places of its notes.
//!
//! Only the headers and the notes are read; the segments stay in the (mapped) file. A core is often truncated, by a size limit or a full disk:
//! everything beyond the end of the file is missing then. Source: ELF gABI "Program Header"; core(5); the Linux kernel's `fs/binfmt_elf.c` and the
//! ROCm runtime's `amd_core_dump.cpp` as writers.

use core::ops::Range;

use object::LittleEndian as LE;
use object::elf::{self, PN_XNUM};
use object::pod;

use super::problem::{FileOffset, ProblemKind, ProblemPlace, Problems};
use crate::error::{Error, Result};
use crate::object::bytes::{len, pod_at, slice_at, u32_at};
use crate::object::elf::{Header, RawSection, RawSegment};

/// A core file, opened.
#[derive(Debug)]
pub(super) struct CoreFile<'data> {
    pub(super) data: &'data [u8],
    /// True if the runtime wrote it (`EM_AMDGPU`), as opposed to the host's core or a merged one.
    pub(super) is_gpu_half: bool,
    /// The parts of the process's memory that have bytes in the file.
    pub(super) segments: Vec<Segment>,
    /// The mapped addresses of the process, whether or not their bytes are in the file.
    pub(super) mapped: Vec<Range<u64>>,
    /// True if all its program headers could be read, so that the list of mapped memory is complete.
    pub(super) is_whole: bool,
    /// The places of the contents of the note segments.
    pub(super) notes: Vec<Extent>,
}

/// Memory of the process that has bytes in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) address: u64,
    pub(super) extent: Extent,
}

/// A part of a file, limited to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// The missing parts of a truncated file.
#[derive(Default)]
struct Missing {
    segments: u64,
    bytes: u64,
    headers: u64,
}

impl<'data> CoreFile<'data> {
    /// Reads the headers of file number `file`.
    ///
    /// # Errors
    /// If it is no core file of a 64-bit little-endian process.
    pub(super) fn parse(
        data: &'data [u8],
        file: usize,
        problems: &mut Problems,
    ) -> Result<CoreFile<'data>> {
        let bad = |reason: &str| Err(Error::malformed("core file", reason));
        if !data.starts_with(b"\x7fELF") {
            return bad("it is not an ELF file");
        }
        if data.get(4..6) != Some(&[2, 1]) {
            return bad("it is not from a 64-bit little-endian process");
        }
        let Some(header) = pod_at::<Header>(data, 0) else {
            return bad("the ELF header ends too early");
        };
        let is_gpu_half = header.e_machine.get(LE) == elf::EM_AMDGPU;
        if header.e_type.get(LE) != elf::ET_CORE {
            return bad(match is_gpu_half {
                true => "it is a code object, not a core (e_type is not ET_CORE)",
                false => "it is not a core (e_type is not ET_CORE)",
            });
        }
        let (size, count) = (header.e_phentsize.get(LE), header.e_phnum.get(LE));
        if count != 0 && usize::from(size) < size_of::<RawSegment>() {
            return bad("its program headers are shorter than 56 bytes");
        }
        let mut found = CoreFile {
            data,
            is_gpu_half,
            segments: Vec::new(),
            mapped: Vec::new(),
            is_whole: true,
            notes: Vec::new(),
        };
        let count = found.count(header, file, problems);
        let table = header.e_phoff.get(LE);
        found.read_headers(table, size.into(), count, file, problems);
        Ok(found)
    }

    /// Returns the number of program headers, or the maximum if a truncated file does not give it.
    fn count(&self, header: &Header, file: usize, problems: &mut Problems) -> u64 {
        let stated = header.e_phnum.get(LE);
        if stated != PN_XNUM {
            return stated.into();
        }
        let sections = Some(header.e_shoff.get(LE)).filter(|&at| at != 0);
        if let Some(first) = sections.and_then(|at| pod_at::<RawSection>(self.data, at)) {
            return first.sh_info.get(LE).into();
        }
        let place = FileOffset { file, offset: 40 };
        problems.add(
            ProblemPlace::File(file),
            Some(place),
            ProblemKind::HeaderCount,
        );
        u64::MAX
    }

    fn read_headers(
        &mut self,
        table: u64,
        size: u64,
        count: u64,
        file: usize,
        problems: &mut Problems,
    ) {
        let mut missing = Missing::default();
        // The contents never start within the table, so their start limits the table if the number is lost.
        let mut contents = u64::MAX;
        for index in 0..count {
            let at = index
                .checked_mul(size)
                .and_then(|offset| table.checked_add(offset));
            let header = at.and_then(|at| pod_at::<RawSegment>(self.data, at));
            let (Some(at), Some(header)) = (at, header) else {
                let place = at.map(|offset| FileOffset { file, offset });
                let of = if count == u64::MAX {
                    "an unknown number of".to_owned()
                } else {
                    count.to_string()
                };
                let kind = ProblemKind::HeadersCut { read: index, of };
                problems.add(ProblemPlace::File(file), place, kind);
                self.is_whole = false;
                break;
            };
            if count == u64::MAX && at >= contents {
                break;
            }
            if let Some(offset) = self.read_header(header, &mut missing) {
                contents = contents.min(offset);
            }
        }
        self.is_whole &= missing.headers == 0 && count != u64::MAX;
        self.report(&missing, file, problems);
    }

    /// Reads a program header. Returns the offset of its contents, if it has any.
    fn read_header(&mut self, header: &RawSegment, missing: &mut Missing) -> Option<u64> {
        let kind = header.p_type.get(LE);
        let (offset, address) = (header.p_offset.get(LE), header.p_vaddr.get(LE));
        let (stored, in_memory) = (header.p_filesz.get(LE), header.p_memsz.get(LE));
        if pod::bytes_of(header).iter().all(|&byte| byte == 0) {
            missing.headers = missing.headers.saturating_add(1);
            return None;
        }
        if kind != elf::PT_LOAD && kind != elf::PT_NOTE {
            return None;
        }
        if kind == elf::PT_LOAD && in_memory != 0 {
            self.mapped.push(address..address.saturating_add(in_memory));
        }
        // The rest of a segment's memory is unknown, not zero.
        let stated = if kind == elf::PT_LOAD {
            stored.min(in_memory)
        } else {
            stored
        };
        let size = stated.min(len(self.data).saturating_sub(offset));
        if size < stated {
            missing.segments = missing.segments.saturating_add(1);
            missing.bytes = missing.bytes.saturating_add(stated.saturating_sub(size));
        }
        let extent = Extent { offset, size };
        if size == 0 {
            return (stated != 0).then_some(offset);
        }
        if kind == elf::PT_NOTE {
            self.notes.push(extent);
        } else if address.checked_add(size).is_some() {
            self.segments.push(Segment { address, extent });
        }
        Some(offset)
    }

    fn report(&self, missing: &Missing, file: usize, problems: &mut Problems) {
        let end = FileOffset {
            file,
            offset: len(self.data),
        };
        if missing.headers != 0 {
            let kind = ProblemKind::EmptyHeaders {
                count: missing.headers,
            };
            problems.add(ProblemPlace::File(file), None, kind);
        }
        if missing.segments != 0 {
            let kind = ProblemKind::FileCut {
                segments: missing.segments,
                bytes: missing.bytes,
            };
            problems.add(ProblemPlace::File(file), Some(end), kind);
        }
    }
}

/// One ELF note of a core file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note<'data> {
    pub(super) name: &'data [u8],
    pub(super) kind: u32,
    /// The available contents. In a truncated file, this is less than the note's size.
    pub(super) contents: &'data [u8],
    /// The offset of the contents in the file.
    pub(super) offset: u64,
    /// The number of bytes by which the note exceeds its segment, although the file continues.
    pub(super) beyond: u64,
}

/// Returns the notes of one note segment, in the order of the file. Names and contents are padded to 4 bytes.
pub(super) fn notes(data: &[u8], extent: Extent) -> impl Iterator<Item = Note<'_>> {
    let mut at = extent.offset;
    let end = extent.offset.saturating_add(extent.size);
    core::iter::from_fn(move || {
        let (name_size, size, kind) = (
            u32_at(data, at)?,
            u32_at(data, at.checked_add(4)?)?,
            u32_at(data, at.checked_add(8)?)?,
        );
        let name_at = at.checked_add(12)?;
        let offset = name_at.checked_add(u64::from(name_size).checked_next_multiple_of(4)?)?;
        if offset > end {
            return None;
        }
        let name = slice_at(data, name_at, name_size.into())?;
        let there = u64::from(size).min(end.checked_sub(offset)?);
        let contents = slice_at(data, offset, there)?;
        at = offset.checked_add(u64::from(size).checked_next_multiple_of(4)?)?;
        Some(Note {
            name: name.strip_suffix(&[0]).unwrap_or(name),
            kind,
            contents,
            offset,
            beyond: match end < len(data) {
                true => u64::from(size).saturating_sub(there),
                false => 0,
            },
        })
    })
}
