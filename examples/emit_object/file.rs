//! Writes code and sections of debugging information as a relocatable ELF file for a gfx1030.

use gimli::constants::{DW_AT_language, DW_AT_name, DW_LANG_C11};
use gimli::write::{Address, AttributeValue, Dwarf, EndianVec, LineProgram, RelocateWriter};
use gimli::write::{Relocation, RelocationTarget, Sections, Unit, UnitId};
use gimli::{Encoding, Format, LittleEndian, SectionId};
use hetdwarf::frame::write::{FrameBytes, RelocationTarget as FrameTarget};
use hetdwarf::lane_pc::Label;
use object::write::{Object, StandardSection, Symbol, SymbolId, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, elf};
use object::{SymbolFlags, SymbolKind, SymbolScope};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// `ELFOSABI_AMDGPU_HSA` and `EF_AMDGPU_MACH_AMDGCN_GFX1030` (USAGE "Header").
const AMDGPU_HSA: u8 = 64;
const GFX1030: u32 = 0x36;

/// The contents of a section, and its relocations.
#[derive(Clone)]
struct Section(EndianVec<LittleEndian>, Vec<Relocation>);

impl RelocateWriter for Section {
    type Writer = EndianVec<LittleEndian>;

    fn writer(&self) -> &Self::Writer {
        &self.0
    }

    fn writer_mut(&mut self) -> &mut Self::Writer {
        &mut self.0
    }

    fn relocate(&mut self, relocation: Relocation) {
        self.1.push(relocation);
    }
}

/// Returns a compilation unit without functions.
pub(crate) fn dwarf() -> (Dwarf, UnitId) {
    let encoding = Encoding {
        format: Format::Dwarf32,
        version: 5,
        address_size: 8,
    };
    let mut dwarf = Dwarf::new();
    let id = dwarf.units.add(Unit::new(encoding, LineProgram::none()));
    let unit = dwarf.units.get_mut(id);
    let root = unit.get_mut(unit.root());
    root.set(DW_AT_name, AttributeValue::String("choose.toy".into()));
    root.set(DW_AT_language, AttributeValue::Language(DW_LANG_C11));
    (dwarf, id)
}

/// Returns the address of an instruction in the function, as a relocation.
pub(crate) fn address(offset: i64) -> Address {
    Address::Symbol {
        symbol: 0,
        addend: offset,
    }
}

/// Returns the address of a label in the function.
pub(crate) fn label(label: &Label) -> Address {
    match label {
        Label::Offset(offset) => address(offset.cast_signed()),
        Label::Symbol(name) => unreachable!("{name}: this back end has no symbols"),
    }
}

/// Writes an object file with one function, which is symbol 0 of `dwarf`.
pub(crate) fn write(
    name: &str,
    code: &[u8],
    mut dwarf: Dwarf,
    frames: &FrameBytes,
) -> Result<Vec<u8>> {
    let mut file = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let text = file.section_id(StandardSection::Text);
    let value = file.append_section_data(text, code, 256);
    let function = file.add_symbol(Symbol {
        name: name.into(),
        value,
        size: code.len() as u64,
        kind: SymbolKind::Text,
        scope: SymbolScope::Dynamic,
        weak: false,
        section: SymbolSection::Section(text),
        flags: SymbolFlags::None,
    });

    let mut sections = Sections::new(Section(EndianVec::new(LittleEndian), Vec::new()));
    dwarf.write(&mut sections)?;
    let mut written = Vec::new();
    sections.for_each(|id, Section(bytes, relocations)| {
        if !bytes.slice().is_empty() {
            let section = file.add_section(Vec::new(), id.name().into(), SectionKind::Debug);
            file.set_section_data(section, bytes.slice(), 1);
            written.push((id, section, relocations.clone()));
        }
        gimli::write::Result::Ok(())
    })?;
    let symbols: Vec<(SectionId, SymbolId)> = written
        .iter()
        .map(|(id, section, _)| (*id, file.section_symbol(*section)))
        .collect();
    for (_, section, relocations) in written {
        for Relocation {
            offset,
            size,
            target,
            addend,
            ..
        } in relocations
        {
            let symbol = match target {
                RelocationTarget::Symbol(_) => function,
                RelocationTarget::Section(wanted) => {
                    symbols
                        .iter()
                        .find(|(id, _)| *id == wanted)
                        .ok_or("a section is empty")?
                        .1
                }
            };
            file.add_relocation(section, relocation(offset as u64, size, symbol, addend))?;
        }
    }

    let section = file.add_section(Vec::new(), b".debug_frame".into(), SectionKind::Debug);
    file.set_section_data(section, &frames.bytes, 1);
    let start = file.section_symbol(section);
    for point in &frames.relocations {
        let symbol = match point.target {
            FrameTarget::Symbol(_) => function,
            FrameTarget::ThisSection => start,
        };
        let addend = point.addend.cast_signed();
        file.add_relocation(
            section,
            relocation(point.offset, point.size, symbol, addend),
        )?;
    }

    // `object` has no architecture for AMDGPU, but it can edit the header of a file.
    let bytes = file.write()?;
    let mut file = object::build::elf::Builder::read(&*bytes)?;
    file.header.e_machine = elf::EM_AMDGPU;
    file.header.os_abi = elf::OsAbi(AMDGPU_HSA);
    // Code object version 6.
    file.header.abi_version = 4;
    file.header.e_flags = elf::FileFlags(GFX1030);
    let mut bytes = Vec::new();
    file.write(&mut bytes)?;
    Ok(bytes)
}

/// Returns an `R_AMDGPU_ABS64` or `R_AMDGPU_ABS32` relocation (USAGE "Relocation Records").
fn relocation(offset: u64, size: u8, symbol: SymbolId, addend: i64) -> object::write::Relocation {
    let r_type = elf::RelocationType(if size == 8 { 3 } else { 6 });
    let flags = RelocationFlags::Elf { r_type };
    object::write::Relocation {
        offset,
        symbol,
        addend,
        flags,
    }
}
