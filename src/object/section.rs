//! Reads the sections of a code object, and assigns addresses to sections of a relocatable one.
//!
//! In a linked code object the linker assigned a section's address. In a relocatable one every section header has 0, which would merge several code
//! sections. [`assign_addresses`] therefore lays them out. Relocations and symbols use the result.
//!
//! Sources: ELF gABI "Sections"; USAGE "Sections".

use std::borrow::Cow;
use std::collections::BTreeMap;

use object::LittleEndian as LE;
use object::elf;

use super::compression::{Compressed, Method};
use super::elf::{Elf, Names, RawSection};
use crate::error::{Error, Result};

/// One section of a code object.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section<'data> {
    /// The name in the file; `.zdebug_info` is not changed.
    pub name: Cow<'data, str>,
    /// The kind of contents.
    pub kind: SectionKind,
    /// The address of the first byte, in bytes. Linked: from the file, 0 if not allocated. Relocatable: assigned, see
    /// [`CodeObject::is_relocatable`](super::CodeObject::is_relocatable).
    pub address: u64,
    /// The decompressed size of the contents, in bytes, according to the headers, unchecked.
    pub size: u64,
    /// The offset of the contents in the file, in bytes.
    pub offset: u64,
    /// The bytes occupied in the file: less than `size` if compressed, 0 without contents.
    pub stored_size: u64,
    /// The compression of the contents.
    pub compression: Option<Method>,
    /// The alignment of `address`, in bytes; a power of two.
    pub alignment: u64,
    /// True if it is part of the loaded image (`SHF_ALLOC`).
    pub allocated: bool,
    /// True if it holds instructions (`SHF_EXECINSTR`).
    pub executable: bool,
    /// True if it can be written to (`SHF_WRITE`).
    pub writable: bool,
}

/// The addresses assigned to loaded sections of an unlinked object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Distinct addresses, see [`CodeObject::is_relocatable`](super::CodeObject::is_relocatable).
    Distinct,
    /// The addresses in the file, where each section is at 0. An address does not identify a section then, but other tools show the same address.
    AsInFile,
}

/// The kind of a section's contents.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SectionKind {
    /// Instructions.
    Code,
    /// Data that can be written to.
    Data,
    /// Read-only data.
    ReadOnlyData,
    /// Zeros that take no space in the file (`SHT_NOBITS`), or contents that were stripped.
    Zeros,
    /// Debugging information: the name starts with `.debug_` or `.zdebug_`.
    Debug,
    /// Notes.
    Note,
    /// A symbol table.
    Symbols,
    /// Strings of a symbol or section table.
    Strings,
    /// Relocations.
    Relocations,
    /// Anything else.
    Other,
}

impl Section<'_> {
    /// Returns true if it has debugging information.
    #[must_use]
    pub fn is_debug(&self) -> bool {
        is_debug_name(&self.name)
    }

    /// Returns the name without the `z` of the old kind of compression.
    #[must_use]
    pub fn standard_name(&self) -> Cow<'_, str> {
        match self.name.strip_prefix(".zdebug_") {
            Some(rest) => Cow::Owned(format!(".debug_{rest}")),
            None => Cow::Borrowed(&self.name),
        }
    }

    /// Returns the first address after the section, or `None` if that is beyond 2^64.
    #[must_use]
    pub fn end(&self) -> Option<u64> {
        self.address.checked_add(self.size)
    }
}

fn is_debug_name(name: &str) -> bool {
    name.starts_with(".debug_") || name.starts_with(".zdebug_")
}

/// The bytes charged for each section: the section itself, and the group of its contents.
const PER_SECTION: u64 = 256;

/// Reads all section headers, including the first (null) one, so that indices equal those in the file.
pub(super) fn read_all<'data>(elf: &Elf<'data>, layout: Layout) -> Result<Vec<Section<'data>>> {
    let meter = elf.held.meter();
    meter.work(elf.sections.len() as u64)?;
    elf.held
        .hold((elf.sections.len() as u64).saturating_mul(PER_SECTION))?;
    let names = Names::new(elf.section_names, meter);
    let mut sections = Vec::with_capacity(elf.sections.len());
    for raw in elf.sections {
        sections.push(read(elf, raw, &names)?);
    }
    if elf.relocatable {
        if layout == Layout::Distinct && !has_addresses(&sections) {
            assign_addresses(&mut sections)?;
        }
        join_debug_sections(&mut sections)?;
    }
    Ok(sections)
}

fn read<'data>(
    elf: &Elf<'data>,
    raw: &RawSection,
    names: &Names<'data, '_>,
) -> Result<Section<'data>> {
    let name = names.text(raw.sh_name.get(LE))?;
    let flags = raw.sh_flags.get(LE);
    let stored_size = match raw.sh_type.get(LE) {
        elf::SHT_NOBITS => 0,
        _ => raw.sh_size.get(LE),
    };
    // An unreadable header is reported when the contents are requested.
    let compressed = compressed(elf, raw, &name).ok().flatten();
    Ok(Section {
        kind: kind(raw, &name),
        address: raw.sh_addr.get(LE),
        size: compressed.map_or(raw.sh_size.get(LE), |c| c.size),
        offset: raw.sh_offset.get(LE),
        stored_size,
        compression: compressed.map(|c| c.method),
        alignment: raw.sh_addralign.get(LE).max(1),
        allocated: flags.contains(elf::SHF_ALLOC),
        executable: flags.contains(elf::SHF_EXECINSTR),
        writable: flags.contains(elf::SHF_WRITE),
        name,
    })
}

/// Returns the compressed contents of a section, or `None` if it is not compressed.
pub(super) fn compressed<'data>(
    elf: &Elf<'data>,
    raw: &RawSection,
    name: &str,
) -> Result<Option<Compressed<'data>>> {
    let Some(stored) = elf.stored(raw)? else {
        return Ok(None);
    };
    if raw.sh_flags.get(LE).contains(elf::SHF_COMPRESSED) {
        Compressed::from_elf(stored).map(Some)
    } else if name.starts_with(".zdebug_") {
        Compressed::from_zdebug(stored).map(Some)
    } else {
        Ok(None)
    }
}

fn kind(raw: &RawSection, name: &str) -> SectionKind {
    let flags = raw.sh_flags.get(LE);
    match raw.sh_type.get(LE) {
        elf::SHT_NOBITS => SectionKind::Zeros,
        elf::SHT_NOTE => SectionKind::Note,
        elf::SHT_SYMTAB | elf::SHT_DYNSYM => SectionKind::Symbols,
        elf::SHT_STRTAB => SectionKind::Strings,
        elf::SHT_REL | elf::SHT_RELA | elf::SHT_CREL => SectionKind::Relocations,
        elf::SHT_PROGBITS if is_debug_name(name) => SectionKind::Debug,
        elf::SHT_PROGBITS if flags.contains(elf::SHF_EXECINSTR) => SectionKind::Code,
        elf::SHT_PROGBITS if flags.contains(elf::SHF_ALLOC | elf::SHF_WRITE) => SectionKind::Data,
        elf::SHT_PROGBITS if flags.contains(elf::SHF_ALLOC) => SectionKind::ReadOnlyData,
        _ => SectionKind::Other,
    }
}

/// Returns true if the loaded sections have distinct addresses already: llvm-dwarfutil keeps the addresses in a relocatable file, and its debugging
/// information refers to them.
fn has_addresses(sections: &[Section<'_>]) -> bool {
    let loaded = sections.iter().filter(|s| s.allocated && s.size > 0);
    let mut ranges: Vec<_> = loaded
        .map(|s| (s.address, s.end().unwrap_or(u64::MAX)))
        .collect();
    ranges.sort_unstable();
    let mut neighbours = ranges.iter().zip(ranges.iter().skip(1));
    ranges.iter().any(|(start, _)| *start > 0)
        && neighbours.all(|((_, end), (start, _))| end <= start)
}

/// Assigns addresses to the loaded sections of a relocatable code object.
///
/// Code sections come first, from 0, then the other allocated ones, each group in the order of the file, each section aligned. An object with one
/// code section therefore has it at 0, as in other readers.
fn assign_addresses(sections: &mut [Section<'_>]) -> Result<()> {
    let mut image = 0;
    for code in [true, false] {
        for section in sections
            .iter_mut()
            .filter(|s| s.allocated && s.executable == code)
        {
            image = place(section, image)?;
        }
    }
    Ok(())
}

/// Assigns offsets to the debug sections of a relocatable code object. Sections of the same name (type units are in groups of sections) follow each
/// other from 0, as a linker would join them. All other sections that are not loaded are at 0.
fn join_debug_sections(sections: &mut [Section<'_>]) -> Result<()> {
    let mut ends = BTreeMap::new();
    for section in sections.iter_mut().filter(|s| !s.allocated) {
        if section.is_debug() {
            let end = ends
                .entry(section.standard_name().into_owned())
                .or_insert(0);
            *end = place(section, *end)?;
        }
    }
    Ok(())
}

/// Places a section at the first aligned address from `start` on, and returns the address after it.
fn place(section: &mut Section<'_>, start: u64) -> Result<u64> {
    let bad = |reason: &str| Error::malformed("section header", reason);
    if !section.alignment.is_power_of_two() {
        return Err(bad(&format!(
            "alignment {:#x} is not a power of two",
            section.alignment
        )));
    }
    section.address = start
        .checked_next_multiple_of(section.alignment)
        .ok_or_else(|| bad("alignment is too large"))?;
    section
        .end()
        .ok_or_else(|| bad("the sections are larger than the address space"))
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    reason = "a test that truncates has failed"
)]
mod tests {
    use super::*;

    fn section(name: &'static str, size: u64, alignment: u64, code: bool) -> Section<'static> {
        let debug = is_debug_name(name);
        Section {
            name: name.into(),
            kind: SectionKind::Other,
            address: 0,
            size,
            offset: 0,
            stored_size: size,
            compression: None,
            alignment,
            allocated: !debug,
            executable: code,
            writable: false,
        }
    }

    fn addresses(sections: &mut [Section<'_>]) -> Vec<u64> {
        assign_addresses(sections).unwrap();
        join_debug_sections(sections).unwrap();
        sections.iter().map(|s| s.address).collect()
    }

    #[test]
    fn code_comes_first_and_every_section_is_aligned() {
        let mut sections = [
            section(".rodata", 0x41, 64, false),
            section(".text.a", 0x1c, 4, true),
            section(".text.b", 8, 256, true),
            section(".data", 8, 8, false),
        ];
        // .text.a at 0; .text.b at the next multiple of 256; .rodata after 0x108, at a multiple of 64;
        // .data after 0x181.
        assert_eq!(addresses(&mut sections), [0x140, 0, 0x100, 0x188]);
    }

    #[test]
    fn debug_sections_of_one_name_follow_each_other() {
        let mut sections = [
            section(".debug_info", 10, 1, false),
            section(".debug_line", 7, 1, false),
            section(".debug_info", 20, 4, false),
            section(".zdebug_info", 5, 1, false),
        ];
        assert_eq!(addresses(&mut sections), [0, 0, 12, 32]);
    }

    #[test]
    fn an_image_beyond_the_address_space_is_refused() {
        let mut sections = [section(".a", u64::MAX, 1, true), section(".b", 2, 1, true)];
        assert!(assign_addresses(&mut sections).is_err());
        let mut sections = [section(".a", 1, 3, true)];
        assert!(assign_addresses(&mut sections).is_err());
    }
}
