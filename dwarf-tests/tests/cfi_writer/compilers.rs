//! Compares with compilers' output: from the events of the code, and instruction by instruction.

use fallible_iterator::FallibleIterator;
use hetdwarf::arch::{Processor, WaveSize};
use hetdwarf::frame::write::{
    Common, Format, FrameBytes, FrameTable, FunctionFrame, ReturnAddress, Start, Target,
};
use hetdwarf::frame::{Entry, Fde, FrameSection, Instruction, Instructions};
use hetdwarf::object::CodeObject;

use crate::program::{BUFFER64, FLAT32, s, v};

/// The bytes equal LLVM 24's bytes for the first function of the object. They are made from the events of its code:
/// `s_mov_b32 s11, s33`; `s_mov_b32 s33, s32`; …; `s_mov_b32 s33, s11`.
#[test]
fn events_give_what_the_compiler_wrote() {
    let file = std::fs::read(dwarf_tests::fixture("corpus/llvm24/calls-gfx90a-O0.hsaco")).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let theirs = object.section(".debug_frame").unwrap().unwrap();
    let target = Target::of(Processor::by_name("gfx90a").unwrap(), WaveSize::Wave64).unwrap();
    let start = Start::Address(0x1a00);
    let mut frame = FunctionFrame::new(target, &Common::new(), start, 0xb8).unwrap();
    frame
        .cfa_from_stack_pointer(s(32))
        .unwrap()
        .return_address_in(ReturnAddress::Pair(s(30)))
        .unwrap();
    for vector in 0..=3 {
        frame.clobbered(v(vector, target)).unwrap();
    }
    for scalar in 4..=10 {
        frame.clobbered(s(scalar)).unwrap();
    }
    let saved = frame.at(8).unwrap().saved_in_register(s(33), s(11));
    saved.unwrap();
    let framed = frame.at(0xc).unwrap().cfa_from_frame_pointer(s(33));
    framed.unwrap();
    let unframed = frame.at(0xb0).unwrap().cfa_from_stack_pointer(s(32));
    unframed.unwrap();
    let mut table = FrameTable::new();
    table.add(frame);
    // The CIE has 16 bytes, the FDE 80.
    assert_eq!(table.write().unwrap().bytes, theirs[..96]);
}

fn written_again(fde: &Fde<'_>, target: Target) -> hetdwarf::Result<FrameBytes> {
    let cie = &fde.cie;
    let format = if cie.offset_size == 8 {
        Format::Dwarf64
    } else {
        Format::Dwarf32
    };
    let common = Common::new()
        .with_alignment_factors(cie.code_alignment_factor, cie.data_alignment_factor)?
        .with_format(format);
    let start = Start::Address(fde.initial_location);
    let mut frame = FunctionFrame::new(target, &common, start, fde.address_range)?;
    let items = Instructions::new(fde.instructions, 0, cie.address_size, ".debug_frame");
    let items: Vec<_> = items.map(|item| Ok(item.instruction)).collect()?;
    // Padding is not copied.
    let padding = items.iter().rev();
    let padding = padding.take_while(|i| **i == Instruction::Nop).count();
    for instruction in &items[..items.len() - padding] {
        frame.raw(*instruction)?;
    }
    let mut table = FrameTable::new();
    table.add(frame);
    table.write()
}

#[test]
fn every_fde_of_the_corpus_is_written_again() {
    let mut count = 0;
    for path in dwarf_tests::corpus() {
        let file = std::fs::read(&path).unwrap();
        let object = CodeObject::parse(&file).unwrap();
        let Some(theirs) = object.section(".debug_frame").unwrap() else {
            continue;
        };
        let section = FrameSection::debug_frame(theirs);
        let mut entries = section.entries();
        while let Some(entry) = entries.next().unwrap() {
            let Entry::Fde(fde) = entry else { continue };
            // The kind of target only matters for checking registers.
            let wave64 = written_again(&fde, BUFFER64);
            let ours = wave64.or_else(|_| written_again(&fde, FLAT32)).unwrap();
            let size = if fde.cie.offset_size == 8 { 12 } else { 4 };
            let at = usize::try_from(fde.offset).unwrap();
            let length = size + usize::try_from(fde.length).unwrap();
            let theirs = &theirs[at..at + length];
            let ours = &ours.bytes[usize::try_from(ours.fdes[0]).unwrap()..];
            // Everything except the distance to the CIE, which is at another offset.
            let pointer = size..size + usize::from(fde.cie.offset_size);
            let place = format!("{}: {:#x}", path.display(), fde.offset);
            assert_eq!(ours[..pointer.start], theirs[..pointer.start], "{place}");
            assert_eq!(ours[pointer.end..], theirs[pointer.end..], "{place}");
            count += 1;
        }
    }
    assert!(count > 500, "only {count} FDEs");
}
