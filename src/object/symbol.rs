//! Reads the symbols of a code object.
//!
//! Source: ELF gABI "Symbol Table"; USAGE "Symbols".

use std::borrow::Cow;

use object::LittleEndian as LE;
use object::elf::{self, Sym64};

use super::elf::{Elf, Names, RawSection, whole_entries};
use super::section::Section;
use crate::error::{Error, Result};

/// `SHN_AMDGPU_LDS`: the symbol stands for local memory.
const SHN_AMDGPU_LDS: u16 = 0xff00;

/// One symbol.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol<'data> {
    /// The linkage name (mangled).
    pub name: Cow<'data, str>,
    /// The kind of the symbol.
    pub kind: SymbolKind,
    /// The section in which it is defined.
    pub section: SymbolSection,
    /// The address in the code object, in bytes. For [`SymbolSection::Absolute`] it is the value, and for [`SymbolSection::Lds`] and
    /// [`SymbolSection::Common`] the alignment.
    pub address: u64,
    /// The size in bytes, or 0 if unknown.
    pub size: u64,
    /// True if it is visible to other objects (`STB_GLOBAL` or `STB_WEAK`).
    pub global: bool,
}

/// The kind of a symbol.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// Unspecified (`STT_NOTYPE`).
    None,
    /// A variable or a kernel descriptor (`STT_OBJECT`).
    Object,
    /// A function or a kernel's code (`STT_FUNC`).
    Function,
    /// A section (`STT_SECTION`).
    Section,
    /// A source file (`STT_FILE`).
    File,
    /// Any other type, by its number.
    Other(u8),
}

/// The section of a symbol.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolSection {
    /// Undefined: in another object.
    Undefined,
    /// None: the symbol is a number.
    Absolute,
    /// Zeros that the linker allocates (`SHN_COMMON`).
    Common,
    /// Local memory (`SHN_AMDGPU_LDS`).
    Lds,
    /// The section with this index.
    Index(usize),
    /// A reserved index.
    Reserved(u16),
}

/// A symbol table in the file's encoding.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawSymbols<'data> {
    symbols: &'data [Sym64<LE>],
    extended: &'data [object::U32<LE>],
    strings: &'data [u8],
}

impl<'data> RawSymbols<'data> {
    /// Returns the table in the section with this index.
    pub(super) fn in_section(elf: &Elf<'data>, index: usize) -> Result<RawSymbols<'data>> {
        const WHAT: &str = "symbol table";
        let section = elf.sections.get(index).filter(|s| is_table(s));
        let section =
            section.ok_or_else(|| Error::malformed(WHAT, "the section is not a symbol table"))?;
        let bytes = elf.stored(section)?.unwrap_or(&[]);
        let symbols = whole_entries(WHAT, bytes)?;
        let link = usize::try_from(section.sh_link.get(LE)).ok();
        let strings = match link.and_then(|link| elf.sections.get(link)) {
            Some(strings) => elf.stored(strings)?.unwrap_or(&[]),
            None => return Err(Error::malformed(WHAT, "it has no string table")),
        };
        let extended = elf.sections.iter().find(|s| {
            s.sh_type.get(LE) == elf::SHT_SYMTAB_SHNDX
                && usize::try_from(s.sh_link.get(LE)) == Ok(index)
        });
        let extended = match extended {
            Some(table) => whole_entries(WHAT, elf.stored(table)?.unwrap_or(&[]))?,
            None => &[],
        };
        Ok(RawSymbols {
            symbols,
            extended,
            strings,
        })
    }

    /// Returns the symbol with this number, its section resolved.
    pub(super) fn get(&self, number: usize) -> Option<(&'data Sym64<LE>, SymbolSection)> {
        let symbol = self.symbols.get(number)?;
        let place = match symbol.st_shndx.get(LE) {
            elf::SHN_UNDEF => SymbolSection::Undefined,
            elf::SHN_ABS => SymbolSection::Absolute,
            elf::SHN_COMMON => SymbolSection::Common,
            elf::SymbolSection(SHN_AMDGPU_LDS) => SymbolSection::Lds,
            elf::SHN_XINDEX => {
                let index = self.extended.get(number)?.get(LE);
                SymbolSection::Index(usize::try_from(index).ok()?)
            }
            other => match other.index() {
                Some(index) => SymbolSection::Index(usize::from(index)),
                None => SymbolSection::Reserved(other.0),
            },
        };
        Some((symbol, place))
    }
}

fn is_table(section: &RawSection) -> bool {
    matches!(section.sh_type.get(LE), elf::SHT_SYMTAB | elf::SHT_DYNSYM)
}

/// Reads `.symtab` or, in a stripped object, `.dynsym`.
pub(super) fn read_all<'data>(
    elf: &Elf<'data>,
    sections: &[Section<'_>],
) -> Result<Vec<Symbol<'data>>> {
    let find = |kind| elf.sections.iter().position(|s| s.sh_type.get(LE) == kind);
    let Some(index) = find(elf::SHT_SYMTAB).or_else(|| find(elf::SHT_DYNSYM)) else {
        return Ok(Vec::new());
    };
    let table = RawSymbols::in_section(elf, index)?;
    let meter = elf.held.meter();
    meter.work(table.symbols.len() as u64)?;
    let size = size_of::<Symbol<'_>>() as u64;
    (elf.held).hold((table.symbols.len() as u64).saturating_mul(size))?;
    let names = Names::new(table.strings, meter);
    let mut symbols = Vec::with_capacity(table.symbols.len().saturating_sub(1));
    // Number 0 is not a symbol.
    for number in 1..table.symbols.len() {
        let Some((raw, section)) = table.get(number) else {
            return Err(Error::malformed(
                "symbol table",
                format!("symbol {number} has no section index"),
            ));
        };
        symbols.push(Symbol {
            name: names.text(raw.st_name.get(LE))?,
            kind: kind(raw.st_info.st_type()),
            section,
            address: address(raw.st_value.get(LE), section, elf.relocatable, sections).ok_or_else(
                || {
                    Error::malformed(
                        "symbol table",
                        format!("symbol {number} lies in no section or beyond its address space"),
                    )
                },
            )?,
            size: raw.st_size.get(LE),
            global: raw.st_info.st_bind() != elf::STB_LOCAL,
        });
    }
    Ok(symbols)
}

/// Returns the address of a symbol with this value. In a relocatable object the value is relative to the section.
pub(super) fn address(
    value: u64,
    section: SymbolSection,
    relocatable: bool,
    sections: &[Section<'_>],
) -> Option<u64> {
    let SymbolSection::Index(index) = section else {
        return Some(value);
    };
    if relocatable {
        sections.get(index)?.address.checked_add(value)
    } else {
        Some(value)
    }
}

fn kind(kind: elf::SymbolType) -> SymbolKind {
    match kind {
        elf::STT_NOTYPE => SymbolKind::None,
        elf::STT_OBJECT => SymbolKind::Object,
        elf::STT_FUNC => SymbolKind::Function,
        elf::STT_SECTION => SymbolKind::Section,
        elf::STT_FILE => SymbolKind::File,
        other => SymbolKind::Other(other.0),
    }
}
