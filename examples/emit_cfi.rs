//! Describes how a function saves its caller's registers, as a compiler back end would. Prints assembler directives and
//! the rows that a debugger reads. Run it with `cargo run --example emit_cfi`.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use fallible_iterator::FallibleIterator;
use hetdwarf::arch::{Lane, Register, ScratchAddressing, WaveSize};
use hetdwarf::expr::{Dialect, RegisterStyle};
use hetdwarf::frame::write::{
    Common, FrameTable, FunctionFrame, Mask, ReturnAddress, Start, Target,
};
use hetdwarf::frame::{FramePrinter, FrameSection};

/// The instructions of the toy back end with their sizes. They form a function with a frame, a divergent loop, an epilogue in the middle,
/// and a block after it.
const CODE: &[(&str, u64)] = &[
    ("s_mov_b32 s6, s33", 4),
    ("s_mov_b32 s33, s32", 4),
    ("s_xor_saveexec_b64 s[4:5], -1", 4), // v40 will hold scalars: save it in the inactive lanes
    ("buffer_store_dword v40, off, s[0:3], s33", 8),
    ("s_mov_b64 exec, s[4:5]", 4),
    ("buffer_store_dword v41, off, s[0:3], s33 offset:4", 8),
    ("v_writelane_b32 v40, s30, 0; …v40, s31, 1", 16),
    ("…the body, with EXEC changed…", 0x100),
    ("v_readlane_b32 s30, v40, 0; …s31, v40, 1", 16),
    ("…v41 and v40 reloaded, s33 and s32 put back…", 0x20),
    ("s_setpc_b64 s[30:31]", 4),
    ("…a cold block of the body…", 0x40),
];

/// Returns the offset at which the instruction ends. Its effects hold from there on.
fn after(index: usize) -> u64 {
    CODE.iter().take(index + 1).map(|(_, size)| size).sum()
}

fn describe(target: Target) -> hetdwarf::Result<FunctionFrame> {
    let unknown = || hetdwarf::Error::malformed("example", "no such register");
    let s = |n| Register::sgpr(n).ok_or_else(unknown);
    let v = |n| Register::vgpr(n, target.wave_size).ok_or_else(unknown);
    let exec = Register::exec(target.wave_size);
    let (sp, fp, v40, v41) = (s(32)?, s(33)?, v(40)?, v(41)?);
    let (common, start) = (Common::new(), Start::symbol("helper"));
    let mut frame = FunctionFrame::new(target, &common, start, after(11))?;
    // On entry. The CFA is the caller's stack pointer.
    frame
        .cfa_from_stack_pointer(sp)?
        .stack_pointer_from_cfa(sp)?
        .return_address_in(ReturnAddress::Pair(s(30)?))?;
    for scratch in 4..=6 {
        frame.clobbered(s(scratch)?)?;
    }
    // The prologue.
    frame.at(after(0))?.saved_in_register(fp, s(6)?)?;
    frame.at(after(1))?.cfa_from_frame_pointer(fp)?;
    frame.at(after(2))?.saved_in_register(exec, s(4)?)?;
    let entry = Mask::ExecOnEntry;
    frame
        .at(after(3))?
        .inactive_saved_to_scratch(v40, 0, entry)?;
    frame.at(after(5))?.saved_to_scratch(v41, 4, entry)?;
    frame
        .at(after(6))?
        .saved_in_lane(Register::PC_64, v40, Lane(0))?;
    // The epilogue. A register is marked as restored at once, because its saved copy may be overwritten afterwards.
    frame.at(after(7))?.remember()?;
    frame.at(after(8))?.restored(Register::PC_64)?;
    frame
        .at(after(9))?
        .restored(v41)?
        .restored(v40)?
        .restored(exec)?
        .restored(fp)?
        .cfa_from_stack_pointer(sp)?;
    // The block after the return belongs to the body.
    frame.at(after(10))?.restore()?;
    Ok(frame)
}

fn main() -> hetdwarf::Result<()> {
    let mut table = FrameTable::new();
    table.add(describe(Target {
        wave_size: WaveSize::Wave64,
        scratch: ScratchAddressing::Buffer,
    })?);
    for function in table.directives()? {
        println!("{function}");
    }
    // The entries as a debugger reads them, with the function at 0x1a00.
    let bytes = table.write()?.resolved(|_| Some(0x1a00))?;
    let section = FrameSection::debug_frame(&bytes);
    let printer = FramePrinter::new(section, RegisterStyle::Names, Dialect::User);
    let mut text = String::new();
    for entry in section.entries().iterator() {
        printer.entry(&entry?, &mut text)?;
    }
    println!("{text}");
    Ok(())
}
