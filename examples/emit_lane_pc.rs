//! Writes an object file with the positions of inactive lanes, as a compiler would. Run it with
//! `cargo run --example emit_lane_pc`. The code has fixed addresses. For code that is linked later, see `emit_object`,
//! which uses symbols.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use gimli::constants::{DW_AT_high_pc, DW_AT_low_pc, DW_AT_name, DW_TAG_subprogram};
use gimli::write::{Address, AttributeValue, Dwarf, EndianVec, LineProgram, Sections, Unit};
use hetdwarf::arch::{Register, WaveSize};
use hetdwarf::inspect::{self, Stop, StopOptions};
use hetdwarf::lane_pc::{Function, Label, MaskPlace, Program, Region, UnitWriter};
use hetdwarf::{location::Arena, object::CodeObject, wave::Snapshot};
use object::{Architecture, BinaryFormat, Endianness, FileFlags, SectionKind, elf, write};

/// `r = a > b ? a + b : a - b` for 32 lanes of a gfx1030.
const CODE: [u32; 9] = [
    0xbe84_037e, // 0x00  s_mov_b32 s4, exec_lo
    0x7d08_0300, // 0x04  v_cmp_gt_i32 vcc_lo, v0, v1
    0x877e_6a04, // 0x08  s_and_b32 exec_lo, s4, vcc_lo       where lanes of `else` wait
    0x4a04_0300, // 0x0c  v_add_nc_u32 v2, v0, v1
    0x8a7e_7e04, // 0x10  s_andn2_b32 exec_lo, s4, exec_lo
    0x4c04_0300, // 0x14  v_sub_nc_u32 v2, v0, v1
    0xbefe_0304, // 0x18  s_mov_b32 exec_lo, s4
    0x7e00_0302, // 0x1c  v_mov_b32 v0, v2                    where lanes of `then` wait
    0xbe80_201e, // 0x20  s_setpc_b64 s[30:31]
];
const SIZE: u64 = 0x24;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The facts that a back end has: its regions, and the register in which it saved EXEC.
    let range = |from: u64, to: u64| Label::from(from)..Label::from(to);
    let then = (range(0x0c, 0x14), vec![]);
    let otherwise = (range(0x14, 0x1c), vec![]);
    let saved = MaskPlace::Scalar(4);
    let choice = Region::if_then_else(0x08.into(), then, otherwise, 0x1c.into(), saved);
    let program = Program::new(&Function {
        code: range(0, SIZE),
        wave_size: WaveSize::Wave32,
        regions: vec![choice],
        whole_wave: vec![],
    })?;
    let bytes = object_file(&program)?;
    let path = std::env::temp_dir().join("emit_lane_pc.o");
    std::fs::write(&path, &bytes)?;
    println!("llvm-objdump -d {0} && llvm-dwarfdump {0}", path.display());

    // Reads the lanes at `v_sub`, as a debugger would. Of the eight lanes that entered the function, four are active.
    let object = CodeObject::parse(&bytes)?;
    let read = inspect::Program::load(&object)?;
    let mut wave = Snapshot::new("gfx1030", WaveSize::Wave32, 0x14);
    wave.set_register(Register::EXEC_32, 0xf0)?;
    wave.set_register(Register::sgpr(4).ok_or("no such register")?, 0xff)?;
    let arena = Arena::new();
    let stop = Stop::new(&read, &wave, 0x14, StopOptions::default(), &arena);
    let lanes = stop.call_frame(0).ok_or("no frame")?.lane_pcs()?;
    println!(
        "lanes 0 to 8: {:x?}",
        lanes.pcs().take(9).collect::<Vec<_>>()
    );
    Ok(())
}

/// Returns an object file with the code and its debugging information.
fn object_file(program: &Program) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let (format, version, address_size) = (gimli::Format::Dwarf32, 5, 8);
    let encoding = gimli::Encoding {
        format,
        version,
        address_size,
    };
    let mut dwarf = Dwarf::new();
    let unit = dwarf.units.add(Unit::new(encoding, LineProgram::none()));
    let unit = dwarf.units.get_mut(unit);
    let subprogram = unit.add(unit.root(), DW_TAG_subprogram);
    let die = unit.get_mut(subprogram);
    die.set(DW_AT_name, AttributeValue::String(b"choose".to_vec()));
    die.set(DW_AT_low_pc, AttributeValue::Address(Address::Constant(0)));
    die.set(DW_AT_high_pc, AttributeValue::Udata(SIZE));
    UnitWriter::new().write(program, unit, subprogram, &|label| match label {
        Label::Offset(offset) => Address::Constant(*offset),
        Label::Symbol(_) => unreachable!("this back end has no symbols"),
    });
    let mut sections = Sections::new(EndianVec::new(gimli::LittleEndian));
    dwarf.write(&mut sections)?;

    let mut file = write::Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    file.flags = FileFlags::Elf {
        os_abi: elf::OsAbi(64),
        abi_version: 4,
        e_flags: elf::FileFlags(0x36),
    };
    let text = file.section_id(write::StandardSection::Text);
    file.append_section_data(text, &CODE.map(u32::to_le_bytes).concat(), 256);
    sections.for_each(|id, data| {
        let section = file.add_section(vec![], id.name().into(), SectionKind::Debug);
        file.append_section_data(section, data.slice(), 1);
        gimli::write::Result::Ok(())
    })?;
    // `object` has no architecture for AMDGPU, but it can edit the header of a file.
    let bytes = file.write()?;
    let mut file = object::build::elf::Builder::read(&*bytes)?;
    file.header.e_machine = elf::EM_AMDGPU;
    let mut bytes = Vec::new();
    file.write(&mut bytes)?;
    Ok(bytes)
}
