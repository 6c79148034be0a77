//! A code object with other contents of some sections that are not loaded.
//!
//! What is loaded stays where it is, byte for byte: everything up to the end of the last segment and of the
//! last section that is loaded. Sections after it follow one another again, and the section header
//! table follows them. Source: ELF gABI, "Section Header Table".

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// Of the fields of the ELF header that are needed: where they are, in bytes.
const PROGRAM_HEADERS: usize = 0x20;
const SECTION_HEADERS: usize = 0x28;
const PROGRAM_HEADER_SIZE: usize = 0x36;
const PROGRAM_HEADER_COUNT: usize = 0x38;
const SECTION_HEADER_SIZE: usize = 0x3a;
const SECTION_COUNT: usize = 0x3c;
const NAMES_INDEX: usize = 0x3e;
/// Of the ELF header and of a section header, in bytes.
const ELF_HEADER: usize = 64;
const SECTION_HEADER: usize = 64;

const KIND: usize = 0x10;
const ET_REL: u16 = 1;
/// Of a symbol, in bytes.
const SYMBOL: usize = 24;

const SHT_NULL: u32 = 0;
const SHT_SYMTAB: u32 = 2;
const SHT_PROGBITS: u32 = 1;
const SHT_NOBITS: u32 = 8;
const SHF_ALLOC: u64 = 2;

/// What a section gets.
#[derive(Clone, Debug)]
pub(super) struct NewSection {
    pub(super) name: &'static str,
    /// As it is stored.
    pub(super) stored: Vec<u8>,
}

/// A section header: its bytes, with the fields that matter.
struct Header {
    name: u32,
    kind: u32,
    flags: u64,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
    info: u32,
    alignment: u64,
    entry_size: u64,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Header> {
        let word = |at: usize| u32_at(bytes, at);
        let long = |at: usize| u64_at(bytes, at);
        Some(Header {
            name: word(0)?,
            kind: word(4)?,
            flags: long(8)?,
            address: long(16)?,
            offset: long(24)?,
            size: long(32)?,
            link: word(40)?,
            info: word(44)?,
            alignment: long(48)?,
            entry_size: long(56)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.name.to_le_bytes());
        out.extend(self.kind.to_le_bytes());
        for long in [self.flags, self.address, self.offset, self.size] {
            out.extend(long.to_le_bytes());
        }
        out.extend(self.link.to_le_bytes());
        out.extend(self.info.to_le_bytes());
        out.extend(self.alignment.to_le_bytes());
        out.extend(self.entry_size.to_le_bytes());
    }

    fn is_in_file(&self) -> bool {
        self.kind != SHT_NULL && self.kind != SHT_NOBITS
    }

    fn is_loaded(&self) -> bool {
        self.flags & SHF_ALLOC != 0
    }
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    let end = at.checked_add(N)?;
    bytes.get(at..end)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes_at(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes_at(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes_at(bytes, at).map(u64::from_le_bytes)
}

fn malformed(what: &str) -> Error {
    Error::malformed("ELF file", what.to_owned())
}

/// The file with new contents of sections; those that it does not have are added.
///
/// # Errors
/// If headers are malformed, or a section to be changed is loaded.
pub(super) fn with_sections(file: &[u8], new: Vec<NewSection>) -> Result<Vec<u8>> {
    let cut = || malformed("its headers are cut off");
    let mut headers = read_headers(file)?;
    let names_index = usize::from(u16_at(file, NAMES_INDEX).ok_or_else(cut)?);
    let names = headers.get(names_index).ok_or_else(cut)?;
    let mut names = contents(file, names).ok_or_else(cut)?.to_vec();
    let mut changed: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    for section in new {
        let index = headers.iter().position(|header| {
            header.is_in_file() && name_of(&names, header) == Some(section.name.as_bytes())
        });
        let index = index.unwrap_or_else(|| {
            headers.push(added(names.len()));
            names.extend(section.name.as_bytes());
            names.push(0);
            headers.len().saturating_sub(1)
        });
        changed.insert(index, section.stored);
    }
    changed.insert(names_index, names);
    lay_out(file, headers, &changed)
}

/// A section: its number, its name, and what it has.
pub(super) type NamedSection<'f> = (usize, &'f [u8], &'f [u8]);

/// The sections of a file that are in it.
///
/// # Errors
/// If headers are malformed.
pub(super) fn named_sections(file: &[u8]) -> Result<Vec<NamedSection<'_>>> {
    let cut = || malformed("its headers are cut off");
    let headers = read_headers(file)?;
    let names_index = usize::from(u16_at(file, NAMES_INDEX).ok_or_else(cut)?);
    let names = headers.get(names_index).ok_or_else(cut)?;
    let names = contents(file, names).ok_or_else(cut)?;
    let sections = headers
        .iter()
        .enumerate()
        .filter(|(_, one)| one.is_in_file());
    let sections = sections
        .map(|(index, header)| Some((index, name_of(names, header)?, contents(file, header)?)));
    sections.collect::<Option<Vec<_>>>().ok_or_else(cut)
}

/// Whether nothing of a file is loaded as it is, since it has still to be linked.
pub(super) fn is_relocatable(file: &[u8]) -> bool {
    u16_at(file, KIND) == Some(ET_REL)
}

/// A relocatable object with other contents of sections, by their numbers; the symbols of the whole of one have its new size.
///
/// # Errors
/// If headers are malformed, or a symbol is within such a section.
pub(super) fn with_contents(file: &[u8], changed: &BTreeMap<usize, Vec<u8>>) -> Result<Vec<u8>> {
    let cut = || malformed("its headers are cut off");
    let headers = read_headers(file)?;
    let mut changed = changed.clone();
    let tables = headers.iter().enumerate();
    for (index, table) in tables.filter(|(_, header)| header.kind == SHT_SYMTAB) {
        let mut symbols = contents(file, table).ok_or_else(cut)?.to_vec();
        for symbol in symbols.chunks_exact_mut(SYMBOL) {
            let section = usize::from(u16_at(symbol, 6).unwrap_or(0));
            let (Some(new), Some(header)) = (changed.get(&section), headers.get(section)) else {
                continue;
            };
            let [value, size] = [8, 16].map(|at| u64_at(symbol, at).unwrap_or(0));
            if value != 0 {
                return Err(malformed("a symbol is within the device code"));
            }
            if size == header.size {
                set(symbol, 16, &(new.len() as u64).to_le_bytes());
            }
        }
        changed.insert(index, symbols);
    }
    lay_out(file, headers, &changed)
}

/// The header of a section that is added, whose name starts at an offset of the names.
fn added(name: usize) -> Header {
    Header {
        name: u32::try_from(name).unwrap_or(0),
        kind: SHT_PROGBITS,
        flags: 0,
        address: 0,
        offset: u64::MAX,
        size: 0,
        link: 0,
        info: 0,
        alignment: 1,
        entry_size: 0,
    }
}

fn read_headers(file: &[u8]) -> Result<Vec<Header>> {
    let cut = || malformed("its headers are cut off");
    let start = u64_at(file, SECTION_HEADERS).ok_or_else(cut)?;
    let start = usize::try_from(start).map_err(|_| cut())?;
    let count = u16_at(file, SECTION_COUNT).ok_or_else(cut)?;
    if count == 0 || u16_at(file, SECTION_HEADER_SIZE) != Some(64) {
        return Err(malformed("it has no section headers of the usual kind"));
    }
    let headers = (0..usize::from(count)).map(|n| {
        let at = start.checked_add(n.checked_mul(SECTION_HEADER)?)?;
        let end = at.checked_add(SECTION_HEADER)?;
        Header::read(file.get(at..end)?)
    });
    headers.collect::<Option<Vec<Header>>>().ok_or_else(cut)
}

fn contents<'f>(file: &'f [u8], header: &Header) -> Option<&'f [u8]> {
    let start = usize::try_from(header.offset).ok()?;
    let end = start.checked_add(usize::try_from(header.size).ok()?)?;
    file.get(start..end)
}

fn name_of<'n>(names: &'n [u8], header: &Header) -> Option<&'n [u8]> {
    let start = usize::try_from(header.name).ok()?;
    names.get(start..)?.split(|byte| *byte == 0).next()
}

/// The end of what is loaded, or says what is.
fn loaded_end(file: &[u8], headers: &[Header]) -> Option<u64> {
    let mut end = ELF_HEADER as u64;
    if is_relocatable(file) {
        return Some(end);
    }
    let start = u64_at(file, PROGRAM_HEADERS)?;
    let size = u64::from(u16_at(file, PROGRAM_HEADER_SIZE)?);
    let count = u64::from(u16_at(file, PROGRAM_HEADER_COUNT)?);
    for n in 0..count {
        let at = start.checked_add(n.checked_mul(size)?)?;
        end = end.max(at.checked_add(size)?);
        let at = usize::try_from(at).ok()?;
        let [offset, length] = [8, 32].map(|field| u64_at(file, at.checked_add(field)?));
        end = end.max(offset?.checked_add(length?)?);
    }
    for header in headers
        .iter()
        .filter(|header| header.is_loaded() && header.is_in_file())
    {
        end = end.max(header.offset.checked_add(header.size)?);
    }
    Some(end)
}

fn lay_out(
    file: &[u8],
    mut headers: Vec<Header>,
    changed: &BTreeMap<usize, Vec<u8>>,
) -> Result<Vec<u8>> {
    let cut = || malformed("its headers are cut off");
    let end = loaded_end(file, &headers).ok_or_else(cut)?;
    let kept = usize::try_from(end).ok().and_then(|end| file.get(..end));
    let mut out = kept.ok_or_else(cut)?.to_vec();
    let mut order: Vec<usize> = (0..headers.len()).collect();
    order.sort_by_key(|index| headers.get(*index).map(|header| header.offset));
    for index in order {
        let Some(header) = headers.get_mut(index) else {
            continue;
        };
        let new = changed.get(&index);
        if header.is_loaded() && new.is_some() && !is_relocatable(file) {
            return Err(malformed("a section with debugging information is loaded"));
        }
        // What lies among what is loaded stays there.
        if !header.is_in_file() || new.is_none() && header.offset < end {
            continue;
        }
        let bytes = match new {
            Some(new) => new.as_slice(),
            None => contents(file, header).ok_or_else(cut)?,
        };
        align(&mut out, header.alignment)?;
        header.offset = out.len() as u64;
        header.size = bytes.len() as u64;
        out.extend(bytes);
    }
    align(&mut out, 8)?;
    let table = (out.len() as u64).to_le_bytes();
    for header in &headers {
        header.write(&mut out);
    }
    let count = u16::try_from(headers.len()).map_err(|_| malformed("it has too many sections"))?;
    set(&mut out, SECTION_HEADERS, &table);
    set(&mut out, SECTION_COUNT, &count.to_le_bytes());
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
