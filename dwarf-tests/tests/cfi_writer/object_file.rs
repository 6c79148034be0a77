//! Makes a code object with the section and its relocations, like an object writer.

use fallible_iterator::FallibleIterator;
use hetdwarf::expr::{Dialect, RegisterStyle};
use hetdwarf::frame::write::{FrameBytes, RelocationTarget};
use hetdwarf::frame::{FrameIndex, FramePrinter, FrameSection};
use hetdwarf::object::CodeObject;

use crate::program::{BUFFER64, program};
use crate::tool::pipe;

/// Returns a relocatable code object of gfx90a, made by the crate `object`: the functions, and the section with its relocations.
fn with_object(section: &FrameBytes, functions: &[(&str, u64)]) -> Vec<u8> {
    use object::write::{Object, Relocation, Symbol, SymbolSection};
    use object::{elf, write};
    // `object` has no architecture for AMDGPU. Its writer works with any architecture of the same class and with addends in relocations,
    // because their types are given by number.
    let any = object::Architecture::X86_64;
    let mut file = Object::new(object::BinaryFormat::Elf, any, object::Endianness::Little);
    const HSA: u8 = 64;
    const GFX90A: u32 = 0x3f;
    file.flags = object::FileFlags::Elf {
        os_abi: elf::OsAbi(HSA),
        abi_version: 3,
        e_flags: elf::FileFlags(GFX90A),
    };
    let text = file.section_id(write::StandardSection::Text);
    for (name, size) in functions {
        let code = vec![0; usize::try_from(*size).unwrap()];
        let value = file.append_section_data(text, &code, 256);
        file.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value,
            size: *size,
            kind: object::SymbolKind::Text,
            scope: object::SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Section(text),
            flags: object::SymbolFlags::None,
        });
    }
    let name = b".debug_frame".to_vec();
    let frames = file.add_section(Vec::new(), name, object::SectionKind::Debug);
    file.append_section_data(frames, &section.bytes, 8);
    for point in &section.relocations {
        let symbol = match &point.target {
            RelocationTarget::Symbol(name) => file.symbol_id(name.as_bytes()).unwrap(),
            RelocationTarget::ThisSection => file.section_symbol(frames),
        };
        const ABS64: u32 = 3;
        const ABS32: u32 = 6;
        let r_type = elf::RelocationType(if point.size == 8 { ABS64 } else { ABS32 });
        let relocation = Relocation {
            offset: point.offset,
            symbol,
            addend: point.addend.try_into().unwrap(),
            flags: object::RelocationFlags::Elf { r_type },
        };
        file.add_relocation(frames, relocation).unwrap();
    }
    let mut bytes = file.write().unwrap();
    const E_MACHINE: usize = 18;
    const EM_AMDGPU: u16 = 224;
    bytes[E_MACHINE..E_MACHINE + 2].copy_from_slice(&EM_AMDGPU.to_le_bytes());
    bytes
}

#[test]
fn the_section_goes_through_an_object_writer() {
    let section = program(BUFFER64).unwrap().write().unwrap();
    let file = with_object(&section, &[("kernel", 0x100), ("helper", 0x200)]);
    let object = CodeObject::parse(&file).unwrap();
    let read = object.section(".debug_frame").unwrap().unwrap();
    let unresolved = object.unresolved_relocations(".debug_frame").unwrap();
    assert!(unresolved.is_empty());
    let placed = |name: &str| Some(if name == "kernel" { 0 } else { 0x100 });
    assert_eq!(read, section.resolved(placed).unwrap());
    let index = FrameIndex::new(FrameSection::debug_frame(read));
    let fde = index.find(0x2ff).unwrap().unwrap();
    assert_eq!((fde.initial_location, fde.address_range), (0x100, 0x200));
}

#[test]
fn llvm_dwarfdump_prints_what_we_print() {
    let Some(tool) = dwarf_tests::llvm_tool("llvm-dwarfdump") else {
        return;
    };
    let section = program(BUFFER64).unwrap().write().unwrap();
    let file = with_object(&section, &[("kernel", 0x100), ("helper", 0x200)]);
    let theirs = pipe(&tool, &["--debug-frame", "-"], file.clone());
    let theirs = String::from_utf8(theirs).unwrap();
    let theirs = theirs.split(".debug_frame contents:").nth(1).unwrap();
    let theirs = theirs.split(".eh_frame contents:").next().unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let section = FrameSection::debug_frame(object.section(".debug_frame").unwrap().unwrap());
    let printer = FramePrinter::new(section, RegisterStyle::LlvmDwarfdump, Dialect::User);
    let mut ours = String::new();
    let mut entries = section.entries();
    while let Some(entry) = entries.next().unwrap() {
        printer.entry(&entry, &mut ours).unwrap();
        ours.push('\n');
    }
    // LLVM 22 names this register in `.debug_frame`; `RegisterStyle::LlvmDwarfdump` has its number.
    let ours = ours.replace("entry_reg 0x11", "entry_reg EXEC");
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| line.trim_end().to_owned());
        lines.filter(|line| !line.is_empty()).collect()
    };
    assert_eq!(lines(&ours), lines(theirs));
    assert!(lines(&ours).len() > 40);
}
