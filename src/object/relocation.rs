//! Computes and applies the relocations of a section.
//!
//! Only relocatable code objects need them, and only once, when a section is loaded. All later readers see plain bytes. Source: USAGE "Relocation
//! Records".

use std::collections::BTreeMap;

use object::LittleEndian as LE;
use object::elf::{self, Rel64, Rela64};
use object::read::elf::CrelIterator;

mod others;

use super::elf::{Elf, RawSection, bad, whole_entries};
use super::section::Section;
use super::symbol::{self, RawSymbols, SymbolSection};
use crate::arch::Machine;
use crate::error::{Error, Result};
use others::OTHERS;

/// The maximum number of unresolved relocations listed for one section.
const MAX_UNRESOLVED: usize = 1 << 16;

/// The part of the file that a relocation changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    Nothing,
    /// The low six bits of a byte.
    Bits6,
    /// The LEB128 number at this place, with the same number of bytes.
    Uleb,
    Byte,
    Word16,
    Word32,
    Word64,
}

impl Width {
    fn bytes(self) -> usize {
        match self {
            Width::Nothing => 0,
            // The shortest length. The actual length depends on the bytes.
            Width::Uleb => 1,
            Width::Bits6 | Width::Byte => 1,
            Width::Word16 => 2,
            Width::Word32 => 4,
            Width::Word64 => 8,
        }
    }
}

/// The formula of a relocation, in the letters of the table: S symbol, A addend, P place, B base (0 here), G and GOT the global offset table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Formula {
    Nothing,
    /// S + A.
    Absolute,
    /// (S + A) >> 32.
    AbsoluteHigh,
    /// S + A - P.
    Relative,
    /// (S + A - P) >> 32.
    RelativeHigh,
    /// ((S + A - P) - 4) / 4.
    Branch,
    /// B + A.
    Base,
    /// S + A, where S is relative to the start of its section: an offset in thread-local storage.
    InSection,
    /// S + A - 0x8000, where S is relative to the start of its section.
    InSectionBiased,
    /// The value of the field, plus S + A.
    Add,
    /// The value of the field, minus S + A.
    Subtract,
    /// G + GOT + A - P. There is no global offset table before linking.
    Got,
}

macro_rules! relocation_types {
    ($($number:literal $variant:ident $name:literal $width:ident $formula:ident;)*) => {
        /// A type of relocation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum RelocationType {
            $(#[doc = concat!("`", $name, "`, ", stringify!($number), ".")] $variant,)*
            /// A number outside the table.
            Unknown(u32),
        }

        impl RelocationType {
            /// Returns the type with this number.
            #[must_use]
            pub fn from_number(number: u32) -> RelocationType {
                match number {
                    $($number => RelocationType::$variant,)*
                    other => RelocationType::Unknown(other),
                }
            }

            /// Returns the name in the table, or `None` for a number outside it.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(RelocationType::$variant => Some($name),)*
                    RelocationType::Unknown(_) => None,
                }
            }

            fn rule(self) -> Option<(Width, Formula)> {
                match self {
                    $(RelocationType::$variant => Some((Width::$width, Formula::$formula)),)*
                    RelocationType::Unknown(_) => None,
                }
            }
        }
    };
}

relocation_types! {
    0  None          "R_AMDGPU_NONE"          Nothing Nothing;
    1  Abs32Lo       "R_AMDGPU_ABS32_LO"      Word32  Absolute;
    2  Abs32Hi       "R_AMDGPU_ABS32_HI"      Word32  AbsoluteHigh;
    3  Abs64         "R_AMDGPU_ABS64"         Word64  Absolute;
    4  Rel32         "R_AMDGPU_REL32"         Word32  Relative;
    5  Rel64         "R_AMDGPU_REL64"         Word64  Relative;
    6  Abs32         "R_AMDGPU_ABS32"         Word32  Absolute;
    7  GotPcRel      "R_AMDGPU_GOTPCREL"      Word32  Got;
    8  GotPcRel32Lo  "R_AMDGPU_GOTPCREL32_LO" Word32  Got;
    9  GotPcRel32Hi  "R_AMDGPU_GOTPCREL32_HI" Word32  Got;
    10 Rel32Lo       "R_AMDGPU_REL32_LO"      Word32  Relative;
    11 Rel32Hi       "R_AMDGPU_REL32_HI"      Word32  RelativeHigh;
    13 Relative64    "R_AMDGPU_RELATIVE64"    Word64  Base;
    14 Rel16         "R_AMDGPU_REL16"         Word16  Branch;
}

/// Returns the field and the formula of a machine's relocation, or `None` if it is in none of the tables.
fn rule_of(machine: Machine, number: u32) -> Option<(Width, Formula)> {
    if machine.is_amdgpu() {
        return RelocationType::from_number(number).rule();
    }
    let mut rows = OTHERS.iter();
    rows.find(|(of, row, ..)| (*of, *row) == (machine, number))
        .map(|(.., width, formula)| (*width, *formula))
}

/// Returns the type of an AMDGPU relocation, or `Unknown` for another machine's number.
fn type_of(machine: Machine, number: u32) -> RelocationType {
    match machine.is_amdgpu() {
        true => RelocationType::from_number(number),
        false => RelocationType::Unknown(number),
    }
}

/// A relocation that could not be applied according to the table.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// The offset of the field in its section, in bytes.
    pub offset: u64,
    /// The relocation's type, or its number for a machine other than AMDGPU.
    pub kind: RelocationType,
    /// The reason, and the replacement value.
    pub reason: UnresolvedReason,
}

/// The reason why a relocation could not be applied according to the table.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnresolvedReason {
    /// The type is not in the table. The field is unchanged.
    UnknownType,
    /// The relocation needs a global offset table, which only a linker creates. The field is unchanged.
    NeedsGot,
    /// The symbol has no address in this object (undefined, common, in local memory). The value is 0, or `0xffffffff` for the offset of an entry.
    NoAddress(SymbolSection),
    /// The value does not fit into the field. Its low bits were stored.
    Overflow,
}

/// The entry that a relocated reference from another unit names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryTarget {
    /// The entry at this offset in the section.
    Here(u64),
    /// An entry of another object, which only a linker knows. GCC writes such references with `-flto`.
    Elsewhere,
}

impl EntryTarget {
    /// The field of a reference to another object. No section is this large.
    const ELSEWHERE: u32 = u32::MAX;

    /// Returns the target of a field of `.debug_info` or `.debug_types`.
    pub(crate) fn of_field(offset: u64) -> EntryTarget {
        match offset == u64::from(EntryTarget::ELSEWHERE) {
            true => EntryTarget::Elsewhere,
            false => EntryTarget::Here(offset),
        }
    }
}

fn mark_elsewhere(entry: &Entry, bytes: &mut [u8]) {
    let start = usize::try_from(entry.offset).unwrap_or(usize::MAX);
    if let Some(field) = bytes.get_mut(start..).and_then(<[u8]>::first_chunk_mut) {
        *field = EntryTarget::ELSEWHERE.to_le_bytes();
    }
}

/// One relocation, from any of the three kinds of table (`SHT_REL`, `SHT_RELA`, `SHT_CREL`).
struct Entry {
    offset: u64,
    kind: u32,
    symbol: u32,
    /// `None` if the field holds the addend.
    addend: Option<i64>,
}

/// Applies the relocations of the section `target` to `bytes`, its contents.
///
/// Returns the relocations that could not be applied.
pub(super) fn apply(
    elf: &Elf<'_>,
    sections: &[Section<'_>],
    table: &RawSection,
    target: &Section<'_>,
    bytes: &mut [u8],
) -> Result<Vec<Unresolved>> {
    let link = usize::try_from(table.sh_link.get(LE)).unwrap_or(usize::MAX);
    let symbols = RawSymbols::in_section(elf, link)?;
    let has_references = matches!(&*target.standard_name(), ".debug_info" | ".debug_types");
    let mut unresolved = Vec::new();
    for_each_entry(elf, table, |entry| {
        let value = symbol_value(elf, sections, &symbols, entry.symbol)?;
        let rule = rule_of(elf.machine, entry.kind);
        let kind = type_of(elf.machine, entry.kind);
        let result = apply_one(&entry, kind, rule, value, target.address, bytes)?;
        let is_elsewhere = result == Some(UnresolvedReason::NoAddress(SymbolSection::Undefined));
        if has_references && is_elsewhere && rule == Some((Width::Word32, Formula::Absolute)) {
            mark_elsewhere(&entry, bytes);
        }
        if let Some(reason) = result
            && unresolved.len() < MAX_UNRESOLVED
        {
            unresolved.push(Unresolved {
                offset: entry.offset,
                kind,
                reason,
            });
        }
        Ok(())
    })?;
    Ok(unresolved)
}

/// Returns the number of the symbol and the addend of each relocation of the section with this index, by offset in the section.
///
/// Symbols are numbered as in `.symtab`.
pub(super) fn references_of(elf: &Elf<'_>, index: usize) -> Result<BTreeMap<u64, (u32, i64)>> {
    let mut references = BTreeMap::new();
    let of_section = |table: &&RawSection| {
        is_table(table) && usize::try_from(table.sh_info.get(LE)) == Ok(index)
    };
    let is_symtab = |section: &RawSection| section.sh_type.get(LE) == elf::SHT_SYMTAB;
    for table in elf.sections.iter().filter(of_section) {
        let link = usize::try_from(table.sh_link.get(LE)).ok();
        if link != elf.sections.iter().position(is_symtab) {
            let reason = "its symbols are not in .symtab";
            return Err(Error::malformed("relocation section", reason));
        }
        elf.held.meter().work(count(table))?;
        for_each_entry(elf, table, |entry| {
            elf.held.hold_all::<(u64, u32, i64)>(2)?;
            // Otherwise the addend is in the field, which is not read here.
            let addend = entry.addend.ok_or_else(|| {
                Error::malformed("relocation section", "its relocations have no addends")
            })?;
            references.insert(entry.offset, (entry.symbol, addend));
            Ok(())
        })?;
    }
    Ok(references)
}

/// Adds the index of the section to which each relocation of the section with this index refers, by its offset plus `base`.
#[cfg(feature = "serde")]
pub(super) fn targets_of(
    elf: &Elf<'_>,
    index: usize,
    base: u64,
    targets: &mut BTreeMap<u64, usize>,
) -> Result<()> {
    let of_section = |table: &&RawSection| {
        is_table(table) && usize::try_from(table.sh_info.get(LE)) == Ok(index)
    };
    for table in elf.sections.iter().filter(of_section) {
        let link = usize::try_from(table.sh_link.get(LE)).unwrap_or(usize::MAX);
        let symbols = RawSymbols::in_section(elf, link)?;
        elf.held.meter().work(count(table))?;
        for_each_entry(elf, table, |entry| {
            let symbol = usize::try_from(entry.symbol).ok();
            let symbol = symbol.and_then(|number| symbols.get(number));
            if let Some((_, SymbolSection::Index(section))) = symbol {
                elf.held.hold_all::<(u64, usize)>(4)?;
                targets.insert(base.saturating_add(entry.offset), section);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Returns true if the section holds relocations.
pub(super) fn is_table(section: &RawSection) -> bool {
    matches!(
        section.sh_type.get(LE),
        elf::SHT_REL | elf::SHT_RELA | elf::SHT_CREL
    )
}

/// Returns a lower bound for the number of relocations in the table.
pub(super) fn count(table: &RawSection) -> u64 {
    let size = table.sh_size.get(LE);
    match table.sh_type.get(LE) {
        elf::SHT_REL => size / 16,
        elf::SHT_RELA => size / 24,
        _ => size,
    }
}

fn for_each_entry(
    elf: &Elf<'_>,
    table: &RawSection,
    mut with: impl FnMut(Entry) -> Result<()>,
) -> Result<()> {
    const TABLE: &str = "relocation section";
    let bytes = elf.stored(table)?.unwrap_or(&[]);
    // The fields of `r_info` have a different order in little-endian files for MIPS.
    let is_mips = elf.machine == Machine::MIPS;
    let kind = table.sh_type.get(LE);
    if kind == elf::SHT_REL {
        for raw in whole_entries::<Rel64<LE>>(TABLE, bytes)? {
            with(Entry {
                offset: raw.r_offset.get(LE),
                kind: raw.r_type(LE).0,
                symbol: raw.r_sym(LE),
                addend: None,
            })?;
        }
    } else if kind == elf::SHT_CREL {
        let entries = CrelIterator::new(bytes).map_err(|e| bad(TABLE, e))?;
        let explicit = entries.is_rela();
        for raw in entries {
            let raw = raw.map_err(|e| bad(TABLE, e))?;
            with(Entry {
                offset: raw.r_offset,
                kind: raw.r_type.0,
                symbol: raw.r_sym,
                addend: explicit.then_some(raw.r_addend),
            })?;
        }
    } else {
        for raw in whole_entries::<Rela64<LE>>(TABLE, bytes)? {
            with(Entry {
                offset: raw.r_offset.get(LE),
                kind: raw.r_type(LE, is_mips).0,
                symbol: raw.r_sym(LE, is_mips),
                addend: Some(raw.r_addend.get(LE)),
            })?;
        }
    }
    Ok(())
}

/// The value of a symbol.
#[derive(Clone, Copy, Debug, Default)]
struct SymbolValue {
    /// The address.
    address: u64,
    /// The offset in its section.
    in_section: u64,
}

/// Returns S, or the reason why the symbol has none. Number 0 is the symbol that is always 0.
fn symbol_value(
    elf: &Elf<'_>,
    sections: &[Section<'_>],
    symbols: &RawSymbols<'_>,
    number: u32,
) -> Result<Result<SymbolValue, SymbolSection>> {
    if number == 0 {
        return Ok(Ok(SymbolValue::default()));
    }
    let bad = || Error::malformed("relocation", format!("there is no symbol {number}"));
    let index = usize::try_from(number).map_err(|_| bad())?;
    let (raw, section) = symbols.get(index).ok_or_else(bad)?;
    match section {
        SymbolSection::Absolute | SymbolSection::Index(_) => {
            let in_section = raw.st_value.get(LE);
            let address = symbol::address(in_section, section, elf.relocatable, sections);
            Ok(Ok(SymbolValue {
                address: address.ok_or_else(bad)?,
                in_section,
            }))
        }
        SymbolSection::Undefined
        | SymbolSection::Common
        | SymbolSection::Lds
        | SymbolSection::Reserved(_) => Ok(Err(section)),
    }
}

fn apply_one(
    entry: &Entry,
    kind: RelocationType,
    rule: Option<(Width, Formula)>,
    symbol: Result<SymbolValue, SymbolSection>,
    section_address: u64,
    bytes: &mut [u8],
) -> Result<Option<UnresolvedReason>> {
    let Some((width, formula)) = rule else {
        return Ok(Some(UnresolvedReason::UnknownType));
    };
    let field = usize::try_from(entry.offset)
        .ok()
        .and_then(|start| {
            let size = if width == Width::Uleb {
                uleb_size(bytes.get(start..)?)?
            } else {
                width.bytes()
            };
            bytes.get_mut(start..start.checked_add(size)?)
        })
        .ok_or_else(|| {
            Error::malformed(
                "relocation",
                format!("offset {:#x} is not in its section", entry.offset),
            )
        })?;
    let there = if width == Width::Uleb {
        read_uleb(field)
    } else {
        read_field(field)
    };
    // The addend of a `SHT_REL` relocation is zero-extended (USAGE, "A").
    let addend = match entry.addend {
        Some(addend) => addend.cast_unsigned(),
        None => there,
    };
    let place = section_address.wrapping_add(entry.offset);
    let value = symbol.unwrap_or_default();
    let absolute = value.address.wrapping_add(addend);
    let relative = absolute.wrapping_sub(place);
    let value = match formula {
        Formula::Nothing => return Ok(None),
        Formula::Got => return Ok(Some(UnresolvedReason::NeedsGot)),
        Formula::Absolute => absolute,
        Formula::InSection => value.in_section.wrapping_add(addend),
        Formula::InSectionBiased => value.in_section.wrapping_add(addend).wrapping_sub(0x8000),
        Formula::Add => there.wrapping_add(absolute),
        Formula::Subtract => there.wrapping_sub(absolute),
        Formula::AbsoluteHigh => absolute >> 32,
        Formula::Relative => relative,
        Formula::RelativeHigh => relative >> 32,
        Formula::Branch => (relative.wrapping_sub(4).cast_signed() >> 2).cast_unsigned(),
        Formula::Base => addend,
    };
    match width {
        Width::Uleb => write_uleb(field, value),
        Width::Bits6 => write_field(field, (there & !0x3f) | (value & 0x3f)),
        Width::Nothing | Width::Byte | Width::Word16 | Width::Word32 | Width::Word64 => {
            write_field(field, value);
        }
    }
    Ok(match symbol {
        Err(section) if formula != Formula::Base => Some(UnresolvedReason::NoAddress(section)),
        _ if !fits(kind, width, formula, value) => Some(UnresolvedReason::Overflow),
        _ => None,
    })
}

/// Returns true if the value fits, for the types whose formula has no mask. Other machines have no such types.
fn fits(kind: RelocationType, width: Width, formula: Formula, value: u64) -> bool {
    let signed = value.cast_signed();
    let is_other = matches!(kind, RelocationType::Unknown(_)) && width == Width::Word32;
    if kind == RelocationType::Abs32 || (is_other && formula == Formula::Absolute) {
        u32::try_from(value).is_ok() || i32::try_from(signed).is_ok()
    } else if kind == RelocationType::Rel32 || (is_other && formula == Formula::Relative) {
        i32::try_from(signed).is_ok()
    } else if kind == RelocationType::Rel16 {
        i16::try_from(signed).is_ok()
    } else {
        true
    }
}

/// Returns the length in bytes of the LEB128 number at the start of the bytes. A number of 64 bits has at most ten.
fn uleb_size(bytes: &[u8]) -> Option<usize> {
    let last = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)?;
    last.checked_add(1)
}

fn read_uleb(field: &[u8]) -> u64 {
    let digits = field.iter().rev().map(|byte| u64::from(byte & 0x7f));
    digits.fold(0, |number, digit| (number << 7) | digit)
}

fn low_bits(value: u64) -> u8 {
    let [low, ..] = value.to_le_bytes();
    low & 0x7f
}

/// Writes a number with the same number of bytes as the field.
fn write_uleb(field: &mut [u8], mut value: u64) {
    for byte in field {
        *byte = (*byte & 0x80) | low_bits(value);
        value >>= 7;
    }
}

fn read_field(field: &[u8]) -> u64 {
    field
        .iter()
        .rev()
        .fold(0, |value, &byte| (value << 8) | u64::from(byte))
}

fn write_field(field: &mut [u8], value: u64) {
    for (byte, new) in field.iter_mut().zip(value.to_le_bytes()) {
        *byte = new;
    }
}
