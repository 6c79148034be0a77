//! A code object with other contents of some sections that are not loaded.
//!
//! What is loaded stays where it is, byte for byte: everything up to the end of the last segment and of the
//! last section that is loaded. Sections after it follow one another again, and the section header
//! table follows them. Source: ELF gABI, "Section Header Table".

use std::collections::BTreeMap;

use object::elf::{self, Sym64};
use object::read::elf::FileHeader as _;
use object::{LittleEndian as LE, U32, U64, pod};

use crate::error::{Error, Result};
use crate::object::bytes::{pod_at, slice_at, tail_at};
use crate::object::elf::{Header, RawSection};

/// What a section gets.
#[derive(Clone, Debug)]
pub(super) struct NewSection {
    pub(super) name: &'static str,
    /// As it is stored.
    pub(super) stored: Vec<u8>,
}

fn is_in_file(section: &RawSection) -> bool {
    !matches!(section.sh_type.get(LE), elf::SHT_NULL | elf::SHT_NOBITS)
}

fn is_loaded(section: &RawSection) -> bool {
    section.sh_flags.get(LE).contains(elf::SHF_ALLOC)
}

fn malformed(what: &str) -> Error {
    Error::malformed("ELF file", what.to_owned())
}

fn cut() -> Error {
    malformed("its headers are cut off")
}

/// The file with new contents of sections; those that it does not have are added.
///
/// # Errors
/// If headers are malformed, or a section to be changed is loaded.
pub(super) fn with_sections(file: &[u8], new: Vec<NewSection>) -> Result<Vec<u8>> {
    let (header, sections) = read_headers(file)?;
    let mut sections = sections.to_vec();
    let mut names = names(file, header, &sections)?.to_vec();
    let mut changed: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    for section in new {
        let index = sections.iter().position(|header| {
            is_in_file(header) && name_of(&names, header) == Some(section.name.as_bytes())
        });
        let index = index.unwrap_or_else(|| {
            sections.push(added(names.len()));
            names.extend(section.name.as_bytes());
            names.push(0);
            sections.len().saturating_sub(1)
        });
        changed.insert(index, section.stored);
    }
    changed.insert(header.e_shstrndx.get(LE).0.into(), names);
    lay_out(file, *header, sections, &changed)
}

/// A section: its number, its name, and what it has.
pub(super) type NamedSection<'f> = (usize, &'f [u8], &'f [u8]);

/// The sections of a file that are in it.
///
/// # Errors
/// If headers are malformed.
pub(super) fn named_sections(file: &[u8]) -> Result<Vec<NamedSection<'_>>> {
    let (header, sections) = read_headers(file)?;
    let names = names(file, header, sections)?;
    let sections = sections
        .iter()
        .enumerate()
        .filter(|(_, one)| is_in_file(one));
    let sections = sections
        .map(|(index, header)| Some((index, name_of(names, header)?, contents(file, header)?)));
    sections.collect::<Option<Vec<_>>>().ok_or_else(cut)
}

/// Whether nothing of a file is loaded as it is, since it has still to be linked.
pub(super) fn is_relocatable(file: &[u8]) -> bool {
    pod_at::<Header>(file, 0).is_some_and(|header| header.e_type.get(LE) == elf::ET_REL)
}

/// A relocatable object with other contents of sections, by their numbers; the symbols of the whole of one have its new size.
///
/// # Errors
/// If headers are malformed, or a symbol is within such a section.
pub(super) fn with_contents(file: &[u8], changed: &BTreeMap<usize, Vec<u8>>) -> Result<Vec<u8>> {
    let (header, sections) = read_headers(file)?;
    let mut changed = changed.clone();
    for (index, table) in sections.iter().enumerate() {
        if table.sh_type.get(LE) != elf::SHT_SYMTAB {
            continue;
        }
        let mut symbols = contents(file, table).ok_or_else(cut)?.to_vec();
        for symbol in symbols.chunks_exact_mut(size_of::<Sym64<LE>>()) {
            let Ok((symbol, _)) = pod::from_bytes_mut::<Sym64<LE>>(symbol) else {
                continue;
            };
            let section = usize::from(symbol.st_shndx.get(LE).0);
            let (Some(new), Some(header)) = (changed.get(&section), sections.get(section)) else {
                continue;
            };
            if symbol.st_value.get(LE) != 0 {
                return Err(malformed("a symbol is within the device code"));
            }
            if symbol.st_size.get(LE) == header.sh_size.get(LE) {
                symbol.st_size.set(LE, new.len() as u64);
            }
        }
        changed.insert(index, symbols);
    }
    lay_out(file, *header, sections.to_vec(), &changed)
}

/// The header of a section that is added, whose name starts at an offset of the names.
fn added(name: usize) -> RawSection {
    RawSection {
        sh_name: U32::new(LE, u32::try_from(name).unwrap_or(0)),
        sh_type: U32::new(LE, elf::SHT_PROGBITS),
        sh_flags: U64::default(),
        sh_addr: U64::default(),
        sh_offset: U64::new(LE, u64::MAX),
        sh_size: U64::default(),
        sh_link: U32::default(),
        sh_info: U32::default(),
        sh_addralign: U64::new(LE, 1),
        sh_entsize: U64::default(),
    }
}

fn read_headers(file: &[u8]) -> Result<(&Header, &[RawSection])> {
    let header = pod_at::<Header>(file, 0).ok_or_else(cut)?;
    let count = header.e_shnum.get(LE);
    if count == 0 || usize::from(header.e_shentsize.get(LE)) != size_of::<RawSection>() {
        return Err(malformed("it has no section headers of the usual kind"));
    }
    let table = tail_at(file, header.e_shoff.get(LE)).ok_or_else(cut)?;
    let (sections, _) = pod::slice_from_bytes(table, count.into()).map_err(|()| cut())?;
    Ok((header, sections))
}

/// The names of sections.
fn names<'f>(file: &'f [u8], header: &Header, sections: &[RawSection]) -> Result<&'f [u8]> {
    let index = usize::from(header.e_shstrndx.get(LE).0);
    let names = sections.get(index);
    names
        .and_then(|names| contents(file, names))
        .ok_or_else(cut)
}

fn contents<'f>(file: &'f [u8], section: &RawSection) -> Option<&'f [u8]> {
    slice_at(file, section.sh_offset.get(LE), section.sh_size.get(LE))
}

fn name_of<'n>(names: &'n [u8], section: &RawSection) -> Option<&'n [u8]> {
    let name = tail_at(names, section.sh_name.get(LE).into())?;
    name.split(|byte| *byte == 0).next()
}

/// The end of what is loaded, or says what is.
fn loaded_end(file: &[u8], header: &Header, sections: &[RawSection]) -> Option<u64> {
    let mut end = size_of::<Header>() as u64;
    if is_relocatable(file) {
        return Some(end);
    }
    let segments = header.program_headers(LE, file).ok()?;
    if !segments.is_empty() {
        let table = header.e_phoff.get(LE);
        end = end.max(table.checked_add(size_of_val(segments) as u64)?);
    }
    let segments = segments
        .iter()
        .map(|segment| (segment.p_offset.get(LE), segment.p_filesz.get(LE)));
    let sections = sections
        .iter()
        .filter(|section| is_loaded(section) && is_in_file(section))
        .map(|section| (section.sh_offset.get(LE), section.sh_size.get(LE)));
    for (offset, size) in segments.chain(sections) {
        end = end.max(offset.checked_add(size)?);
    }
    Some(end)
}

fn lay_out(
    file: &[u8],
    mut header: Header,
    mut sections: Vec<RawSection>,
    changed: &BTreeMap<usize, Vec<u8>>,
) -> Result<Vec<u8>> {
    let end = loaded_end(file, &header, &sections).ok_or_else(cut)?;
    let mut out = slice_at(file, 0, end).ok_or_else(cut)?.to_vec();
    let mut order: Vec<usize> = (0..sections.len()).collect();
    order.sort_by_key(|index| sections.get(*index).map(|one| one.sh_offset.get(LE)));
    for index in order {
        let Some(section) = sections.get_mut(index) else {
            continue;
        };
        let new = changed.get(&index);
        if is_loaded(section) && new.is_some() && !is_relocatable(file) {
            return Err(malformed("a section with debugging information is loaded"));
        }
        // What lies among what is loaded stays there.
        if !is_in_file(section) || new.is_none() && section.sh_offset.get(LE) < end {
            continue;
        }
        let bytes = match new {
            Some(new) => new.as_slice(),
            None => contents(file, section).ok_or_else(cut)?,
        };
        align(&mut out, section.sh_addralign.get(LE))?;
        section.sh_offset.set(LE, out.len() as u64);
        section.sh_size.set(LE, bytes.len() as u64);
        out.extend(bytes);
    }
    align(&mut out, 8)?;
    let count = u16::try_from(sections.len()).map_err(|_| malformed("it has too many sections"))?;
    header.e_shoff.set(LE, out.len() as u64);
    header.e_shnum.set(LE, count);
    out.extend(pod::bytes_of_slice(&sections));
    set(&mut out, 0, pod::bytes_of(&header));
    Ok(out)
}

pub(super) fn set(out: &mut [u8], at: usize, bytes: &[u8]) {
    let places = out.iter_mut().skip(at);
    places.zip(bytes).for_each(|(place, byte)| *place = *byte);
}

/// Fills up to a multiple.
pub(super) fn align(out: &mut Vec<u8>, alignment: u64) -> Result<()> {
    /// More than sections ask for that are not loaded.
    const MOST: u64 = 1 << 12;
    if alignment > MOST {
        return Err(malformed(
            "a section asks for an alignment that is too large",
        ));
    }
    let alignment = usize::try_from(alignment.max(1)).unwrap_or(1);
    let end = out.len().next_multiple_of(alignment);
    out.resize(end, 0);
    Ok(())
}
