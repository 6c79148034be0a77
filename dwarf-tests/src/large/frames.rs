//! Writes call frame information for the code in [`code`](super::code), correct at every instruction.
//!
//! The rules resemble LLVM 24's. In addition they describe EXEC and the stack pointer, and restore the caller's rules in the epilogue.

use hetdwarf::Result;
use hetdwarf::arch::{Lane, Register, ScratchAddressing, WaveSize};
use hetdwarf::frame::write::{Common, FunctionFrame, Mask, ReturnAddress, Start, Target};

use super::bytes::Bytes;
use super::code::{Code, EPILOGUE, Kind};

/// `gfx1100` accesses scratch with dedicated instructions.
const TARGET: Target = Target {
    wave_size: WaveSize::Wave32,
    scratch: ScratchAddressing::Flat,
};

/// Appends a CIE like LLVM's: version 4, no augmentation, factors of 4, return address in PC_64.
pub fn common(section: &mut Bytes) -> u32 {
    let start = section.offset();
    section
        .u32(12)
        .u32(0xffff_ffff)
        .raw(&[4, 0, 8, 0, 4, 4, 16, 0]);
    start
}

/// Appends the FDE of a function that starts at `address`.
pub fn function(section: &mut Bytes, cie: u32, address: u64, code: &Code) {
    let frame = rows(code).unwrap();
    let instructions = frame.instructions();
    // The length, CIE pointer, address and range precede them.
    let padded = (24 + instructions.len()).next_multiple_of(8);
    section
        .u32(u32::try_from(padded - 4).unwrap())
        .u32(cie)
        .u64(address)
        .u64(code.size().into())
        .raw(instructions)
        .zeros(padded - 24 - instructions.len());
}

fn sgpr(number: u16) -> Register {
    Register::sgpr(number).unwrap()
}

fn vgpr(number: u16) -> Register {
    Register::vgpr(number, TARGET.wave_size).unwrap()
}

fn rows(code: &Code) -> Result<FunctionFrame> {
    let size = u64::from(code.size());
    let mut frame = FunctionFrame::new(TARGET, &Common::new(), Start::symbol("f"), size)?;
    if code.kind == Kind::Kernel {
        frame.kernel_entry()?;
        return Ok(frame);
    }
    let (sp, exec) = (sgpr(32), Register::EXEC_32);
    frame
        .cfa_from_stack_pointer(sp)?
        .stack_pointer_from_cfa(sp)?
        .return_address_in(ReturnAddress::Pair(sgpr(30)))?;
    for number in 2..20 {
        frame.clobbered(vgpr(number))?;
    }
    for number in 4..18 {
        frame.clobbered(sgpr(number))?;
    }
    if code.kind == Kind::Framed {
        prologue(&mut frame, code)?;
        epilogue(&mut frame, code)?;
        return Ok(frame);
    }
    for (from, to) in &code.divergent {
        frame
            .at((*from).into())?
            .saved_in_register(exec, sgpr(5))?
            .at((*to).into())?
            .restored(exec)?;
    }
    Ok(frame)
}

fn prologue(frame: &mut FunctionFrame, code: &Code) -> Result<()> {
    // Returns the offset after the instruction with this number.
    let after = |number: usize| u64::from(code.at(number + 1));
    let (fp, exec) = (sgpr(33), Register::EXEC_32);
    let spills = vgpr(40);
    frame.at(after(1))?.saved_in_register(fp, sgpr(6))?;
    frame.at(after(2))?.cfa_from_frame_pointer(fp)?;
    frame.at(after(3))?.saved_in_register(exec, sgpr(4))?;
    frame.at(after(4))?.saved_to_scratch_whole(spills, 0)?;
    frame
        .at(after(7))?
        .return_address_in(ReturnAddress::Lanes {
            register: spills,
            low: Lane(0),
            high: Lane(1),
        })?;
    frame.at(after(8))?.saved_in_lane(fp, spills, Lane(2))?;
    frame.at(after(9))?.saved_in_lane(exec, spills, Lane(3))?;
    frame
        .at(after(11))?
        .saved_to_scratch(vgpr(41), 4, Mask::ExecOnEntry)?;
    frame
        .at(after(12))?
        .saved_to_scratch(vgpr(42), 8, Mask::ExecOnEntry)?;
    Ok(())
}

fn epilogue(frame: &mut FunctionFrame, code: &Code) -> Result<()> {
    debug_assert_eq!(EPILOGUE.len(), 11);
    let first = code.body.end;
    let after = |number: usize| u64::from(code.at(first + number + 1));
    let (sp, fp, exec) = (sgpr(32), sgpr(33), Register::EXEC_32);
    frame.at(after(0))?.restored(vgpr(42))?;
    frame.at(after(1))?.restored(vgpr(41))?;
    frame.at(after(2))?.saved_in_register(fp, sgpr(6))?;
    frame
        .at(after(4))?
        .return_address_in(ReturnAddress::Pair(sgpr(30)))?
        .restored(exec)?;
    frame.at(after(6))?.saved_in_register(exec, sgpr(4))?;
    frame.at(after(7))?.restored(vgpr(40))?;
    frame.at(after(8))?.restored(exec)?;
    frame
        .at(after(9))?
        .cfa_from_stack_pointer(sp)?
        .restored(fp)?;
    Ok(())
}
