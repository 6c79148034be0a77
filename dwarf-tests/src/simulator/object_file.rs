//! Writes functions and the descriptions of their lanes as a relocatable code object, or as assembler text.

use gimli::constants::{
    DW_AT_high_pc, DW_AT_language, DW_AT_low_pc, DW_AT_name, DW_LANG_C11, DW_TAG_subprogram,
};
use gimli::write::{
    Address, AttributeValue, Dwarf, EndianVec, LineProgram, RelocateWriter, Relocation,
    RelocationTarget, Sections, Unit,
};
use gimli::{Encoding, Format, LittleEndian, SectionId};
use hetdwarf::lane_pc::{Label, Program, UnitWriter, Written};
use object::write::{Object, StandardSection, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, FileFlags, RelocationFlags, SectionKind, SymbolFlags,
    SymbolKind, SymbolScope, elf,
};

/// A function to be written.
#[derive(Clone, Copy, Debug)]
pub struct Function<'f> {
    /// The name of the function.
    pub name: &'f str,
    /// The size of the code in bytes.
    pub size: u64,
    /// The description of its lanes.
    pub program: &'f Program,
}

/// The representation of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// As symbols, with relocations.
    Symbols,
    /// As numbers: offsets in the section.
    Numbers,
}

/// The alignment of functions. The first does not start at 0.
pub const ALIGNMENT: u64 = 256;

/// `ELFOSABI_AMDGPU_HSA` (USAGE "Header").
const AMDGPU_HSA: u8 = 64;
/// `EF_AMDGPU_MACH_AMDGCN_GFX1030`, which has waves of 32 and of 64 lanes.
const GFX1030: u32 = 0x36;
/// `R_AMDGPU_ABS64` (USAGE "Relocation Records").
const ABS64: u32 = 3;
/// `R_AMDGPU_ABS32`.
const ABS32: u32 = 6;

/// The bytes of a section, with the relocations that are applied to them.
#[derive(Clone)]
struct SectionBytes {
    bytes: EndianVec<LittleEndian>,
    relocations: Vec<Relocation>,
}

impl RelocateWriter for SectionBytes {
    type Writer = EndianVec<LittleEndian>;

    fn writer(&self) -> &Self::Writer {
        &self.bytes
    }

    fn writer_mut(&mut self) -> &mut Self::Writer {
        &mut self.bytes
    }

    fn relocate(&mut self, relocation: Relocation) {
        self.relocations.push(relocation);
    }
}

/// Returns the offsets of functions in their section, and the size of the section.
#[must_use]
pub fn starts(functions: &[Function<'_>]) -> (Vec<u64>, u64) {
    let mut next = ALIGNMENT;
    let starts = functions
        .iter()
        .map(|function| {
            let start = next;
            next = (next + function.size).next_multiple_of(ALIGNMENT);
            start
        })
        .collect();
    (starts, next)
}

/// Writes a relocatable object for `gfx1030` with some functions, each with a symbol.
///
/// # Panics
/// If the object cannot be written.
#[must_use]
pub fn write(functions: &[Function<'_>], version: u16, addresses: Addresses) -> Vec<u8> {
    write_with_frames(functions, version, addresses, &[])
}

/// Writes a relocatable object like [`write()`] with call frame information.
///
/// * `debug_frame`: the section. For the addresses of functions in it, see [`starts`].
///
/// # Panics
/// If the object cannot be written.
#[must_use]
pub fn write_with_frames(
    functions: &[Function<'_>],
    version: u16,
    addresses: Addresses,
    debug_frame: &[u8],
) -> Vec<u8> {
    let (starts, size) = starts(functions);
    let address = |number: usize, offset: u64| match addresses {
        Addresses::Symbols => Address::Symbol {
            symbol: number,
            addend: i64::try_from(offset).unwrap(),
        },
        Addresses::Numbers => Address::Constant(starts[number] + offset),
    };
    let mut dwarf = dwarf(functions, version, &address);
    let mut sections = Sections::new(SectionBytes {
        bytes: EndianVec::new(LittleEndian),
        relocations: Vec::new(),
    });
    dwarf.write(&mut sections).unwrap();
    let mut file = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    file.flags = FileFlags::Elf {
        os_abi: elf::OsAbi(AMDGPU_HSA),
        // Code object version 6.
        abi_version: 4,
        e_flags: elf::FileFlags(GFX1030),
    };
    let text = file.section_id(StandardSection::Text);
    let nops: Vec<u8> = (0..size / 4)
        .flat_map(|_| 0xbf80_0000_u32.to_le_bytes())
        .collect();
    file.set_section_data(text, nops, ALIGNMENT);
    let symbols: Vec<_> = functions
        .iter()
        .zip(&starts)
        .map(|(function, start)| {
            file.add_symbol(Symbol {
                name: function.name.as_bytes().to_vec(),
                value: *start,
                size: function.size,
                kind: SymbolKind::Text,
                scope: SymbolScope::Dynamic,
                weak: false,
                section: SymbolSection::Section(text),
                flags: SymbolFlags::None,
            })
        })
        .collect();
    let mut written = Vec::new();
    sections
        .for_each(|id, section| {
            if !section.bytes.slice().is_empty() {
                let name = id.name().as_bytes().to_vec();
                let number = file.add_section(Vec::new(), name, SectionKind::Debug);
                file.set_section_data(number, section.bytes.slice().to_vec(), 1);
                written.push((id, number, section.relocations.clone()));
            }
            gimli::write::Result::Ok(())
        })
        .unwrap();
    if !debug_frame.is_empty() {
        let number = file.add_section(Vec::new(), b".debug_frame".to_vec(), SectionKind::Debug);
        file.set_section_data(number, debug_frame.to_vec(), 1);
    }
    let found = |wanted: SectionId| written.iter().find(|(id, _, _)| *id == wanted).unwrap().1;
    for (_, section, relocations) in &written {
        for relocation in relocations {
            let symbol = match relocation.target {
                RelocationTarget::Symbol(number) => symbols[number],
                RelocationTarget::Section(id) => file.section_symbol(found(id)),
            };
            let r_type = match relocation.size {
                8 => elf::RelocationType(ABS64),
                _ => elf::RelocationType(ABS32),
            };
            let relocation = object::write::Relocation {
                offset: u64::try_from(relocation.offset).unwrap(),
                symbol,
                addend: relocation.addend,
                flags: RelocationFlags::Elf { r_type },
            };
            file.add_relocation(*section, relocation).unwrap();
        }
    }
    let mut bytes = file.write().unwrap();
    // The builder has no name for the machine.
    bytes[18..20].copy_from_slice(&elf::EM_AMDGPU.0.to_le_bytes());
    bytes
}

/// Makes a unit with the functions.
fn dwarf(
    functions: &[Function<'_>],
    version: u16,
    address: &dyn Fn(usize, u64) -> Address,
) -> Dwarf {
    let encoding = Encoding {
        format: Format::Dwarf32,
        version,
        address_size: 8,
    };
    let mut dwarf = Dwarf::new();
    let id = dwarf.units.add(Unit::new(encoding, LineProgram::none()));
    let unit = dwarf.units.get_mut(id);
    let root = unit.root();
    let die = unit.get_mut(root);
    die.set(DW_AT_name, AttributeValue::String(b"toy".to_vec()));
    die.set(DW_AT_language, AttributeValue::Language(DW_LANG_C11));
    let mut writer = UnitWriter::new();
    for (number, function) in functions.iter().enumerate() {
        let subprogram = unit.add(root, DW_TAG_subprogram);
        let die = unit.get_mut(subprogram);
        die.set(
            DW_AT_name,
            AttributeValue::String(function.name.as_bytes().to_vec()),
        );
        die.set(DW_AT_low_pc, AttributeValue::Address(address(number, 0)));
        die.set(DW_AT_high_pc, AttributeValue::Udata(function.size));
        let Written { .. } =
            writer.write(function.program, unit, subprogram, &|label| match label {
                Label::Offset(offset) => address(number, *offset),
                Label::Symbol(name) => panic!("{name}: the toy back end has no symbols"),
            });
    }
    dwarf
}

/// Writes the functions as text for an assembler. Functions start at symbols with their names.
#[must_use]
pub fn assembly(functions: &[Function<'_>]) -> String {
    use core::fmt::Write;
    let mut text = "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx1030\"\n\t.text\n".to_owned();
    let ends: Vec<String> = functions
        .iter()
        .map(|function| format!(".Lend_{}", function.name))
        .collect();
    for (function, end) in functions.iter().zip(&ends) {
        let name = function.name;
        let count = function.size / 4;
        write!(
            text,
            "\t.p2align 8\n\t.type {name},@function\n{name}:\n\t.rept {count}\n\ts_nop 0\n\t.endr\n{end}:\n\t.size {name}, {end}-{name}\n"
        )
        .unwrap();
    }
    let functions: Vec<_> = functions
        .iter()
        .zip(&ends)
        .map(|(function, end)| hetdwarf::lane_pc::AssemblyFunction {
            name: function.name,
            start: function.name,
            end,
            program: function.program,
        })
        .collect();
    text + &hetdwarf::lane_pc::assembly("toy", &functions)
}
