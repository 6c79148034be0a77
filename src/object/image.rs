//! Reads the loaded image of a code object: the bytes at an address, before dynamic relocation.
//!
//! Source: ELF gABI "Program Header"; USAGE "Sections".

use core::ops::Range;

use object::LittleEndian as LE;
use object::elf;

use super::bytes::slice_at;
use super::elf::Elf;
use super::section::Section;

/// Returns the `len` bytes at `address`. Returns `None` unless one segment (in an unlinked object, one section) has all of them in the file.
pub(super) fn read<'a>(
    elf: &'a Elf<'_>,
    sections: &[Section<'_>],
    section_bytes: impl Fn(usize) -> Option<&'a [u8]>,
    address: u64,
    len: u64,
) -> Option<&'a [u8]> {
    let loadable = elf
        .segments
        .iter()
        .filter(|s| s.p_type.get(LE) == elf::PT_LOAD);
    if !elf.relocatable && loadable.clone().next().is_some() {
        let segment = loadable
            .into_iter()
            .find(|s| contains(s.p_vaddr.get(LE), s.p_filesz.get(LE), address))?;
        let in_segment = address.checked_sub(segment.p_vaddr.get(LE))?;
        if in_segment.checked_add(len)? > segment.p_filesz.get(LE) {
            return None;
        }
        return slice_at(
            elf.data,
            segment.p_offset.get(LE).checked_add(in_segment)?,
            len,
        );
    }
    let (index, section) = sections
        .iter()
        .enumerate()
        .find(|(_, s)| s.allocated && contains(s.address, s.size, address))?;
    slice_at(
        section_bytes(index)?,
        address.checked_sub(section.address)?,
        len,
    )
}

/// Returns the addresses of all loaded segments, in the order of the file.
pub(super) fn load_segments<'e>(elf: &'e Elf<'_>) -> impl Iterator<Item = Range<u64>> + 'e {
    elf.segments
        .iter()
        .filter(|segment| segment.p_type.get(LE) == elf::PT_LOAD)
        .filter_map(|segment| {
            let start = segment.p_vaddr.get(LE);
            Some(start..start.checked_add(segment.p_memsz.get(LE))?)
        })
}

fn contains(start: u64, size: u64, address: u64) -> bool {
    address.checked_sub(start).is_some_and(|at| at < size)
}
