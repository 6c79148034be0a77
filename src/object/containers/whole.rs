//! Finds contiguous code objects in files of other formats: host programs of GCC, IREE's modules.
//!
//! It searches for ELF headers whose tables are valid and within the file. Only these tables give the end of such a code object. Files whose format
//! locates their code objects are not searched this way.

use core::ops::Range;

use object::LittleEndian as LE;
use object::elf;
use object::read::elf::FileHeader as _;

use super::{ContainerPlace, Finder, PER_ENTRY, Source};
use crate::error::Result;
use crate::object::bytes::{slice_at, tail_at};
use crate::object::elf::Header;
use crate::object::is_amdgpu;

/// The size of a section header and of a program header.
const SECTION_HEADER: u16 = 64;
const PROGRAM_HEADER: u16 = 56;

impl<'data> Finder<'data> {
    /// Searches for code objects, one after the other.
    pub(super) fn whole_objects(
        &mut self,
        source: Source<'data, '_>,
        place: &ContainerPlace,
    ) -> Result<()> {
        let data = source.bytes();
        self.meter.charge_bytes(data.len())?;
        let mut at = 0_usize;
        while let Some(found) = next(data, at) {
            self.meter.work(PER_ENTRY)?;
            let start = found as u64;
            let rest = tail_at(data, start).unwrap_or_default();
            self.meter
                .work(tables(rest).map_or(0, |(count, _)| count))?;
            let size = tables(rest).and_then(|(_, ranges)| end(rest, ranges));
            let part = size.and_then(|size| source.part(start, size));
            at = found.saturating_add(1);
            if let (Some(size), Some(part)) = (size, part) {
                self.add(String::new(), part, source.place(place, start))?;
                at = found.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
            }
        }
        Ok(())
    }
}

/// Returns the offset of the next possible header of a code object.
fn next(data: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = data.get(at..)?;
        let found = at.checked_add(rest.iter().position(|&byte| byte == 0x7f)?)?;
        if data.get(found..).is_some_and(is_amdgpu) {
            return Some(found);
        }
        at = found.checked_add(1)?;
    }
}

/// Returns the entries and the ranges of the tables of a header, or `None` if it is invalid.
fn tables(data: &[u8]) -> Option<(u64, [Range<u64>; 2])> {
    let header = Header::parse(data).ok()?;
    let is_type = matches!(header.e_type(LE), elf::ET_REL | elf::ET_EXEC | elf::ET_DYN);
    let (sections, segments) = (header.e_shnum.get(LE), header.e_phnum.get(LE));
    let is_sound = is_type
        && header.e_ident().version.0 == 1
        && usize::from(header.e_ehsize.get(LE)) == size_of::<Header>()
        && header.e_shentsize.get(LE) == SECTION_HEADER
        && (segments == 0 || header.e_phentsize.get(LE) == PROGRAM_HEADER)
        && sections > 0
        && header.e_shstrndx.get(LE).0 < sections;
    let table = |offset: u64, count: u16, size: u16| {
        let length = u64::from(count).checked_mul(size.into())?;
        Some(offset..offset.checked_add(length)?)
    };
    let ranges = [
        table(header.e_shoff.get(LE), sections, SECTION_HEADER)?,
        match segments {
            0 => 0..0,
            _ => table(header.e_phoff.get(LE), segments, PROGRAM_HEADER)?,
        },
    ];
    let count = u64::from(sections).saturating_add(segments.into());
    is_sound.then_some((count, ranges))
}

/// Returns the end of a code object: after its tables, sections and segments, all of which must be in `data`.
fn end(data: &[u8], tables: [Range<u64>; 2]) -> Option<u64> {
    let header = Header::parse(data).ok()?;
    let sections = header.section_headers(LE, data).ok()?;
    let segments = header.program_headers(LE, data).ok()?;
    let is_stored = |kind| !matches!(kind, elf::SHT_NOBITS | elf::SHT_NULL);
    let sections = sections
        .iter()
        .filter(|section| is_stored(section.sh_type.get(LE)))
        .map(|section| (section.sh_offset.get(LE), section.sh_size.get(LE)));
    let segments = segments
        .iter()
        .map(|segment| (segment.p_offset.get(LE), segment.p_filesz.get(LE)));
    let tables = tables.map(|table| (table.start, table.end.saturating_sub(table.start)));
    let mut end = size_of::<Header>() as u64;
    for (offset, size) in sections.chain(segments).chain(tables) {
        slice_at(data, offset, size)?;
        end = end.max(offset.checked_add(size)?);
    }
    Some(end)
}

#[cfg(test)]
mod tests;
