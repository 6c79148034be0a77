//! Builds the program whose call frame information most tests write: a kernel, and a function that it calls.

use hetdwarf::arch::{Lane, Register, ScratchAddressing, WaveSize};
use hetdwarf::frame::write::{
    Common, FrameTable, FunctionFrame, Mask, ReturnAddress, Start, Target,
};

pub const BUFFER64: Target = Target {
    wave_size: WaveSize::Wave64,
    scratch: ScratchAddressing::Buffer,
};
pub const FLAT32: Target = Target {
    wave_size: WaveSize::Wave32,
    scratch: ScratchAddressing::Flat,
};

pub fn s(n: u16) -> Register {
    Register::sgpr(n).unwrap()
}

pub fn v(n: u16, target: Target) -> Register {
    Register::vgpr(n, target.wave_size).unwrap()
}

/// Writes a function with every feature. The frame pointer is in a scalar register, and EXEC is saved before a branch. The return address
/// and a scalar register are in lanes of v40. v41 is in scratch for the lanes active on entry, v40 for the others, v42 for all. It has an
/// epilogue in the middle, and a block after it.
fn helper(target: Target, start: Start) -> hetdwarf::Result<FunctionFrame> {
    let exec = Register::exec(target.wave_size);
    let (v40, v41, v42) = (v(40, target), v(41, target), v(42, target));
    let mut frame = FunctionFrame::new(target, &Common::new(), start, 0x200)?;
    frame
        .cfa_from_stack_pointer(s(32))?
        .stack_pointer_from_cfa(s(32))?
        .return_address_in(ReturnAddress::Pair(s(30)))?
        .clobbered(s(6))?
        .clobbered(v(0, target))?;
    frame.at(0x4)?.saved_in_register(s(33), s(6))?;
    frame.at(0x8)?.cfa_from_frame_pointer(s(33))?;
    frame.at(0xc)?.saved_in_register(exec, s(4))?;
    frame
        .at(0x14)?
        .inactive_saved_to_scratch(v40, 0, Mask::ExecOnEntry)?;
    frame
        .at(0x20)?
        .saved_to_scratch(v41, 4, Mask::ExecOnEntry)?;
    frame.at(0x28)?.saved_to_scratch_whole(v42, 8)?;
    frame.at(0x38)?.return_address_in(ReturnAddress::Lanes {
        register: v40,
        low: Lane(0),
        high: Lane(1),
    })?;
    frame.at(0x40)?.saved_in_lane(s(34), v40, Lane(2))?;
    frame.at(0x100)?.remember()?.restored(s(34))?;
    frame.at(0x108)?.restored(Register::PC_64)?;
    frame
        .at(0x118)?
        .restored(v40)?
        .restored(v41)?
        .restored(v42)?;
    frame.at(0x120)?.restored(exec)?;
    frame
        .at(0x124)?
        .restored(s(33))?
        .cfa_from_stack_pointer(s(32))?;
    frame.at(0x130)?.restore()?;
    Ok(frame)
}

fn kernel(target: Target, start: Start) -> hetdwarf::Result<FunctionFrame> {
    let mut frame = FunctionFrame::new(target, &Common::new(), start, 0x100)?;
    frame.kernel_entry()?;
    Ok(frame)
}

pub fn program(target: Target) -> hetdwarf::Result<FrameTable> {
    let mut table = FrameTable::new();
    table
        .add(kernel(target, Start::symbol("kernel"))?)
        .add(helper(target, Start::symbol("helper"))?);
    Ok(table)
}

pub fn address_of(symbol: &str) -> Option<u64> {
    match symbol {
        "kernel" => Some(0x1000),
        "helper" => Some(0x1a00),
        _ => None,
    }
}
