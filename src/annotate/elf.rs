//! Rewrites a code object with new contents of some sections that are not loaded.
//!
//! The loaded part stays in place, byte for byte: everything up to the end of the last segment and of the last loaded section. Later sections follow
//! one another, and the section header table follows them. The output is read back and compared with the expected contents. Source: ELF gABI,
//! "Section Header Table".

use std::collections::BTreeMap;

use object::elf::{self, Sym64};
use object::read::elf::FileHeader as _;
use object::{LittleEndian as LE, U32, U64, pod};

use crate::error::{Error, Result};
use crate::meter::Meter;
use crate::object::bytes::{pod_at, slice_at, tail_at};
use crate::object::elf::{Header, RawSection};

/// The new contents of a section.
#[derive(Clone, Debug)]
pub(super) struct NewSection {
    pub(super) name: &'static str,
    /// The contents in their stored form, which may be compressed.
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

/// Returns the file with new contents of sections. Missing sections are added.
///
/// * `meter`: the meter to which the output is charged.
///
/// # Errors
/// If headers are malformed, a changed section is loaded, or the output does not read back.
pub(super) fn with_sections(file: &[u8], new: Vec<NewSection>, meter: &Meter) -> Result<Vec<u8>> {
    let (header, sections) = read_headers(file)?;
    meter.hold_all::<RawSection>(sections.len())?;
    let mut sections = sections.to_vec();
    let names = names(file, header, &sections)?;
    meter.hold(names.len() as u64)?;
    let mut names = names.to_vec();
    let mut changed: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    for section in new {
        meter.work(sections.len() as u64)?;
        let index = sections.iter().position(|header| {
            is_in_file(header) && is_named(&names, header, section.name.as_bytes())
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
    write(file, *header, sections, &changed, meter)
}

/// A section: its index, its name, and its contents.
pub(super) type NamedSection<'f> = (usize, &'f [u8], &'f [u8]);

/// Returns the sections that have contents in the file.
///
/// # Errors
/// If headers are malformed, or the names exceed the budget of `meter`.
pub(super) fn named_sections<'f>(file: &'f [u8], meter: &Meter) -> Result<Vec<NamedSection<'f>>> {
    let (header, sections) = read_headers(file)?;
    let names = names(file, header, sections)?;
    let mut found = Vec::new();
    for (index, header) in sections.iter().enumerate() {
        meter.work(1)?;
        if is_in_file(header) {
            let name = name_of(names, header).ok_or_else(cut)?;
            meter.charge_bytes(name.len())?;
            found.push((index, name, contents(file, header).ok_or_else(cut)?));
        }
    }
    Ok(found)
}

/// Returns true if the file is a relocatable object, which is not loaded before it is linked.
pub(super) fn is_relocatable(file: &[u8]) -> bool {
    pod_at::<Header>(file, 0).is_some_and(|header| header.e_type.get(LE) == elf::ET_REL)
}

/// Returns a relocatable object with new contents of sections, by index. Symbols that cover a whole changed section get its new size.
///
/// # Errors
/// If headers are malformed, a symbol covers a part of a changed section, or the output does not read back.
pub(super) fn with_contents(
    file: &[u8],
    mut changed: BTreeMap<usize, Vec<u8>>,
    meter: &Meter,
) -> Result<Vec<u8>> {
    let (header, sections) = read_headers(file)?;
    for (index, table) in sections.iter().enumerate() {
        if table.sh_type.get(LE) != elf::SHT_SYMTAB {
            continue;
        }
        let symbols = contents(file, table).ok_or_else(cut)?;
        meter.hold(symbols.len() as u64)?;
        meter.charge_bytes(symbols.len())?;
        let mut symbols = symbols.to_vec();
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
    meter.hold_all::<RawSection>(sections.len())?;
    write(file, *header, sections.to_vec(), &changed, meter)
}

/// Returns the header of an added section, whose name starts at an offset of the section names.
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
        return Err(malformed("its section headers are unusual"));
    }
    let table = tail_at(file, header.e_shoff.get(LE)).ok_or_else(cut)?;
    let (sections, _) = pod::slice_from_bytes(table, count.into()).map_err(|()| cut())?;
    Ok((header, sections))
}

/// Returns the contents of the section with the section names.
fn names<'f>(file: &'f [u8], header: &Header, sections: &[RawSection]) -> Result<&'f [u8]> {
    let index = usize::from(header.e_shstrndx.get(LE).0);
    let names = sections.get(index).ok_or_else(cut)?;
    if !is_in_file(names) {
        return Err(malformed("it does not contain the names of its sections"));
    }
    contents(file, names).ok_or_else(cut)
}

fn contents<'f>(file: &'f [u8], section: &RawSection) -> Option<&'f [u8]> {
    slice_at(file, section.sh_offset.get(LE), section.sh_size.get(LE))
}

fn name_of<'n>(names: &'n [u8], section: &RawSection) -> Option<&'n [u8]> {
    let name = tail_at(names, section.sh_name.get(LE).into())?;
    name.split(|byte| *byte == 0).next()
}

fn is_named(names: &[u8], section: &RawSection, name: &[u8]) -> bool {
    let found = tail_at(names, section.sh_name.get(LE).into());
    found
        .and_then(|found| found.strip_prefix(name))
        .is_some_and(|rest| rest.first() == Some(&0))
}

/// Returns the end of the loaded part, including the program headers.
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

/// Writes a file and reads it back.
fn write(
    file: &[u8],
    header: Header,
    sections: Vec<RawSection>,
    changed: &BTreeMap<usize, Vec<u8>>,
    meter: &Meter,
) -> Result<Vec<u8>> {
    let out = lay_out(file, header, sections, changed, meter)?;
    meter.charge_bytes(out.len())?;
    read_back(file, &out, changed)?;
    Ok(out)
}

/// Compares the output with the expected contents.
///
/// # Errors
/// If a section, its header or the loaded part differs from the expected contents.
fn read_back(file: &[u8], out: &[u8], changed: &BTreeMap<usize, Vec<u8>>) -> Result<()> {
    let differs = |what: &str| malformed(&format!("rewriting would change its {what}"));
    let (before, old) = read_headers(file)?;
    let (after, new) = read_headers(out)?;
    let (old_names, new_names) = (names(file, before, old)?, names(out, after, new)?);
    if new.len() < old.len() || changed.keys().any(|index| *index >= new.len()) {
        return Err(differs("sections"));
    }
    for (index, section) in new.iter().enumerate() {
        let old = old.get(index);
        if let Some(old) = old {
            let (mut is, was) = (*section, *old);
            is.sh_offset = was.sh_offset;
            is.sh_size = was.sh_size;
            let name = name_of(old_names, old);
            let is_same_name = name.is_none_or(|name| is_named(new_names, section, name));
            if pod::bytes_of(&is) != pod::bytes_of(&was) || !is_same_name {
                return Err(differs("section headers"));
            }
        }
        let is_there = is_in_file(section);
        let expected = match (changed.get(&index), old) {
            (Some(new), _) => Some(new.as_slice()),
            (None, Some(old)) if is_there => contents(file, old),
            (None, _) => None,
        };
        if changed.contains_key(&index) && !is_there
            || is_there && contents(out, section) != expected
        {
            return Err(differs("sections"));
        }
    }
    // The loaded part must be unchanged, except for the fields about sections in the header.
    let end = loaded_end(file, before, old).ok_or_else(cut)?;
    let rest = |file| {
        let header = size_of::<Header>() as u64;
        slice_at(file, header, end.saturating_sub(header))
    };
    let mut header = *after;
    header.e_shoff = before.e_shoff;
    header.e_shnum = before.e_shnum;
    if pod::bytes_of(&header) != pod::bytes_of(before) || rest(file) != rest(out) {
        return Err(differs("segments"));
    }
    Ok(())
}

fn lay_out(
    file: &[u8],
    mut header: Header,
    mut sections: Vec<RawSection>,
    changed: &BTreeMap<usize, Vec<u8>>,
    meter: &Meter,
) -> Result<Vec<u8>> {
    let end = loaded_end(file, &header, &sections).ok_or_else(cut)?;
    let loaded = slice_at(file, 0, end).ok_or_else(cut)?;
    // Sections can overlap, so their total size may exceed the size of the file.
    let sizes = sections.iter().map(|section| section.sh_size.get(LE));
    let sizes = sizes.chain(changed.values().map(|new| new.len() as u64));
    let fillings = sections.iter().map(|section| {
        let header = size_of::<RawSection>() as u64;
        header.saturating_add(section.sh_addralign.get(LE).min(MOST_ALIGNMENT))
    });
    meter.hold(sizes.chain(fillings).fold(end, u64::saturating_add))?;
    let mut out = loaded.to_vec();
    let mut order: Vec<usize> = (0..sections.len()).collect();
    order.sort_by_key(|index| sections.get(*index).map(|one| one.sh_offset.get(LE)));
    for index in order {
        let Some(section) = sections.get_mut(index) else {
            continue;
        };
        let new = changed.get(&index);
        if is_loaded(section) && new.is_some() && !is_relocatable(file) {
            return Err(malformed("a section that would change is loaded"));
        }
        // Data within the loaded part stays there. A section that ends after it was cut off and is written again.
        let section_end = section
            .sh_offset
            .get(LE)
            .saturating_add(section.sh_size.get(LE));
        if !is_in_file(section) || new.is_none() && section_end <= end {
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

/// The maximum alignment. It exceeds the alignment of real sections that are not loaded.
const MOST_ALIGNMENT: u64 = 1 << 12;

/// Pads to a multiple of the alignment.
pub(super) fn align(out: &mut Vec<u8>, alignment: u64) -> Result<()> {
    if alignment > MOST_ALIGNMENT {
        return Err(malformed("the alignment of a section is too large"));
    }
    let alignment = usize::try_from(alignment.max(1)).unwrap_or(1);
    let end = out.len().next_multiple_of(alignment);
    out.resize(end, 0);
    Ok(())
}
