//! Writes a relocatable object with call frame information, a location list, lane PCs and relocations, as a compiler would. Run it with
//! `cargo run --example emit_object`. `file.rs` contains the object writer, which works for any function.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

mod file;

use file::Result;
use gimli::constants::*;
use gimli::write::{AttributeValue as Value, Expression, Location, LocationList, Unit};
use hetdwarf::arch::{Processor, Register, WaveSize};
use hetdwarf::expr::{Builder, Encoding};
use hetdwarf::frame::write::{
    Common, FrameBytes, FrameTable, FunctionFrame, ReturnAddress, Start, Target,
};
use hetdwarf::lane_pc::{Function, Label, MaskPlace, Program, Region, UnitWriter};

/// `r = a > b ? a + b : a - b` for 32 lanes of a gfx1030, with `a` in v0, `b` in v1 and `r` in v2.
const CODE: [u32; 9] = [
    0xbe84_037e, // 0x00  s_mov_b32 s4, exec_lo
    0x7d08_0300, // 0x04  v_cmp_gt_i32 vcc_lo, v0, v1
    0x877e_6a04, // 0x08  s_and_b32 exec_lo, s4, vcc_lo       lanes of `else` wait here
    0x4a04_0300, // 0x0c  v_add_nc_u32 v2, v0, v1
    0x8a7e_7e04, // 0x10  s_andn2_b32 exec_lo, s4, exec_lo
    0x4c04_0300, // 0x14  v_sub_nc_u32 v2, v0, v1
    0xbefe_0304, // 0x18  s_mov_b32 exec_lo, s4
    0x7e00_0302, // 0x1c  v_mov_b32 v0, v2                    lanes of `then` wait here
    0xbe80_201e, // 0x20  s_setpc_b64 s[30:31]
];
const SIZE: u64 = 0x24;
const WAVE: WaveSize = WaveSize::Wave32;

fn main() -> Result<()> {
    let (mut dwarf, unit) = file::dwarf();
    describe(dwarf.units.get_mut(unit))?;
    let code = CODE.map(u32::to_le_bytes).concat();
    let bytes = file::write("choose", &code, dwarf, &call_frames()?)?;
    let path = std::env::temp_dir().join("emit_object.o");
    std::fs::write(&path, &bytes)?;
    println!("llvm-dwarfdump {0} && hetdwarf verify {0}", path.display());
    let object = hetdwarf::object::CodeObject::parse(&bytes)?;
    let verdict = hetdwarf::verify::verify(&hetdwarf::inspect::Program::load(&object)?);
    assert!(verdict.findings.is_empty(), "{:#?}", verdict.findings);
    Ok(())
}

/// Writes the call frame information: the location of the caller's registers at each address.
fn call_frames() -> Result<FrameBytes> {
    let gfx1030 = Processor::by_name("gfx1030").ok_or("no such processor")?;
    let target = Target::of(gfx1030, WAVE)?;
    let s = |number| Register::sgpr(number).ok_or("no such register");
    let (exec, s4, sp, ra) = (Register::EXEC_32, s(4)?, s(32)?, s(30)?);
    let mut frame = FunctionFrame::new(target, &Common::new(), Start::symbol("choose"), SIZE)?;
    frame.cfa_from_stack_pointer(sp)?;
    frame.stack_pointer_from_cfa(sp)?;
    frame.return_address_in(ReturnAddress::Pair(ra))?;
    frame.clobbered(s4)?;
    frame.at(0x04)?.saved_in_register(exec, s4)?;
    frame.at(0x1c)?.restored(exec)?;
    Ok(FrameTable::new().add(frame).write()?)
}

/// Adds the function, its variable `r`, which is in v2 from its computation on, and the positions of inactive lanes.
fn describe(unit: &mut Unit) -> Result<()> {
    let function = unit.add(unit.root(), DW_TAG_subprogram);
    let int = unit.add(unit.root(), DW_TAG_base_type);
    let r = unit.add(function, DW_TAG_variable);
    let mut v2 = Builder::new(Encoding::AMDGPU);
    v2.lane_of_vector(Register::vgpr(2, WAVE).ok_or("no such register")?)?;
    let range = Location::StartLength {
        begin: file::address(0x10),
        length: SIZE - 0x10,
        data: Expression::raw(v2.finish()?),
    };
    let list = unit.locations.add(LocationList(vec![range]));
    for (entry, name, value) in [
        (function, DW_AT_name, Value::String("choose".into())),
        (function, DW_AT_low_pc, Value::Address(file::address(0))),
        (function, DW_AT_high_pc, Value::Udata(SIZE)),
        (int, DW_AT_name, Value::String("int".into())),
        (int, DW_AT_encoding, Value::Encoding(DW_ATE_signed)),
        (int, DW_AT_byte_size, Value::Udata(4)),
        (r, DW_AT_name, Value::String("r".into())),
        (r, DW_AT_type, Value::UnitRef(int)),
        (r, DW_AT_location, Value::LocationListRef(list)),
    ] {
        unit.get_mut(entry).set(name, value);
    }
    let range = |from: u64, to: u64| Label::from(from)..Label::from(to);
    let (then, other) = ((range(0x0c, 0x14), vec![]), (range(0x14, 0x1c), vec![]));
    let choice = Region::if_then_else(0x08.into(), then, other, 0x1c.into(), MaskPlace::Scalar(4));
    let lanes = Program::new(&Function {
        code: range(0, SIZE),
        wave_size: WAVE,
        regions: vec![choice],
        whole_wave: vec![],
    })?;
    UnitWriter::new().write(&lanes, unit, function, &file::label);
    Ok(())
}
