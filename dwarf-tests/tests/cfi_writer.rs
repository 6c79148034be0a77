//! Call frame information that is written, against what compilers wrote, what the assembler makes of the
//! directives, what llvm-dwarfdump reads, and what a stopped wave's caller must be.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use fallible_iterator::FallibleIterator;
use hetdwarf::arch::{Lane, LoadAddress, Processor, Register, ScratchAddressing, WaveSize};
use hetdwarf::expr::{Dialect, RegisterStyle};
use hetdwarf::frame::write::{
    Common, Format, FrameBytes, FrameTable, FunctionFrame, Mask, RelocationTarget, ReturnAddress,
    Start, Target,
};
use hetdwarf::frame::{
    CallFrame, CfaRule, Entry, Fde, FrameIndex, FramePrinter, FrameSection, Instruction,
    Instructions, RegisterRule, Rows, Stopped, Unwind, unwind,
};
use hetdwarf::location::{Access, Arena, read};
use hetdwarf::object::CodeObject;
use hetdwarf::wave::{Memory, Snapshot};

const BUFFER64: Target = Target {
    wave_size: WaveSize::Wave64,
    scratch: ScratchAddressing::Buffer,
};
const FLAT32: Target = Target {
    wave_size: WaveSize::Wave32,
    scratch: ScratchAddressing::Flat,
};

fn s(n: u16) -> Register {
    Register::sgpr(n).unwrap()
}

fn v(n: u16, target: Target) -> Register {
    Register::vgpr(n, target.wave_size).unwrap()
}

/// A function with everything: the frame pointer in a scalar register, EXEC saved before a branch, the
/// return address and a scalar register in lanes of v40, v41 in scratch for the lanes active on entry, v40
/// for those that were not, v42 for all; an epilogue in the middle, and a block after it.
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

fn program(target: Target) -> hetdwarf::Result<FrameTable> {
    let mut table = FrameTable::new();
    table
        .add(kernel(target, Start::symbol("kernel"))?)
        .add(helper(target, Start::symbol("helper"))?);
    Ok(table)
}

fn address_of(symbol: &str) -> Option<u64> {
    match symbol {
        "kernel" => Some(0x1000),
        "helper" => Some(0x1a00),
        _ => None,
    }
}

/// The very bytes that LLVM 24 wrote for the first function of the object, from the events of its code:
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
    // The CIE of 16 bytes and the FDE of 80.
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
    // Padding is made anew.
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
            // Which of the two the code is for matters to the check of registers only.
            let wave64 = written_again(&fde, BUFFER64);
            let ours = wave64.or_else(|_| written_again(&fde, FLAT32)).unwrap();
            let size = if fde.cie.offset_size == 8 { 12 } else { 4 };
            let at = usize::try_from(fde.offset).unwrap();
            let length = size + usize::try_from(fde.length).unwrap();
            let theirs = &theirs[at..at + length];
            let ours = &ours.bytes[usize::try_from(ours.fdes[0]).unwrap()..];
            // All but the distance to the CIE, which stands elsewhere.
            let pointer = size..size + usize::from(fde.cie.offset_size);
            let place = format!("{}: {:#x}", path.display(), fde.offset);
            assert_eq!(ours[..pointer.start], theirs[..pointer.start], "{place}");
            assert_eq!(ours[pointer.end..], theirs[pointer.end..], "{place}");
            count += 1;
        }
    }
    assert!(count > 500, "only {count} FDEs");
}

/// The rows of `helper` on gfx90a, worked out from the events: v40 to v42 are registers 2600 to 2602, s30
/// to s34 are 62 to 66, s4 and s6 are 36 and 38, EXEC is 17 and PC 16.
#[test]
fn what_is_written_reads_back_as_rows() {
    let section = program(BUFFER64)
        .unwrap()
        .write()
        .unwrap()
        .resolved(address_of)
        .unwrap();
    let index = FrameIndex::new(FrameSection::debug_frame(&section));
    let fde = index.find(0x1a00).unwrap().unwrap();
    let mut rows = Rows::new(&fde, ".debug_frame").unwrap();
    let mut found = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        found.push(row.clone());
    }
    let starts: Vec<_> = found.iter().map(|row| row.start - 0x1a00).collect();
    let expected = [
        0, 4, 8, 0xc, 0x14, 0x20, 0x28, 0x38, 0x40, 0x100, 0x108, 0x118, 0x120, 0x124, 0x130,
    ];
    assert_eq!(starts, expected);
    assert_eq!(found.last().unwrap().end, 0x1c00);

    let at_scratch = |register: u64| CfaRule::Register {
        register,
        offset: 0,
        space: 6,
    };
    // regx SGPR30, piece 4, regx SGPR31, piece 4
    let pair = RegisterRule::Expression(&[0x90, 0x3e, 0x93, 4, 0x90, 0x3f, 0x93, 4]);
    let entry = &found[0];
    assert_eq!(entry.cfa, at_scratch(64));
    let undefined = RegisterRule::Undefined;
    let stack_pointer = (64, RegisterRule::ValOffset(0));
    let on_entry = [
        (16, pair),
        (38, undefined),
        stack_pointer,
        (2560, undefined),
    ];
    assert_eq!(entry.rules(), on_entry);
    assert_eq!(found[1].rule(65), Some(RegisterRule::Register(38)));
    assert_eq!(found[1].cfa, at_scratch(64));
    assert_eq!(found[2].cfa, at_scratch(65));

    let body = &found[8];
    let rule = |register| match body.rule(register) {
        Some(RegisterRule::Expression(bytes)) => bytes,
        other => panic!("{register}: {other:?}"),
    };
    // regx SGPR4, piece 4, regx SGPR5, piece 4
    assert_eq!(rule(17), [0x90, 0x24, 0x93, 4, 0x90, 0x25, 0x93, 4]);
    // undefined, swap, offset_uconst 0, call_frame_entry_reg EXEC, deref_size 8, not, select_bit_piece 32 64
    let by_exec = [0xe9, 7, 17, 0x94, 8];
    let select = [0xe9, 12, 32, 64];
    let inactive = [&[0xe9, 8, 0x16, 0xe9, 5, 0][..], &by_exec, &[0x20], &select];
    assert_eq!(rule(2600), inactive.concat());
    // regx VGPR41, swap, offset_uconst 0x100, call_frame_entry_reg EXEC, deref_size 8, select_bit_piece 32 64
    let masked = [
        &[0x90, 0xa9, 0x14, 0x16, 0xe9, 5, 0x80, 2][..],
        &by_exec,
        &select,
    ];
    assert_eq!(rule(2601), masked.concat());
    assert_eq!(body.rule(2602), Some(RegisterRule::Offset(0x200)));
    // regx VGPR40, bit_piece 32 0, regx VGPR40, bit_piece 32 32
    let half = [0x90, 0xa8, 0x14, 0x9d, 32];
    assert_eq!(rule(16), [&half[..], &[0], &half, &[32]].concat());
    // regx VGPR40, offset_uconst 8
    assert_eq!(rule(66), [0x90, 0xa8, 0x14, 0xe9, 5, 8]);

    // Behind the epilogue everything is where it was on entry; then the block that follows it in the code.
    let last = &found[13];
    assert_eq!(last.cfa, at_scratch(64));
    let same = RegisterRule::SameValue;
    let restored: Vec<_> = last
        .rules()
        .iter()
        .filter(|(_, rule)| *rule != same)
        .copied()
        .collect();
    assert_eq!(restored, on_entry);
    assert_eq!((found[14].cfa, found[14].rules()), (body.cfa, body.rules()));
}

/// Runs a tool with standard input and gives its output.
fn pipe(tool: &Path, arguments: &[&str], input: Vec<u8>) -> Vec<u8> {
    let mut child = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{}", tool.display());
    output.stdout
}

fn assembly(table: &FrameTable) -> String {
    let functions = table.directives().unwrap();
    functions.iter().map(ToString::to_string).collect()
}

/// Instructions in every form that has a directive, and in some that have none.
fn all_forms() -> FrameTable {
    let start = Start::symbol("a symbol \"with\" \\ characters");
    let mut frame = FunctionFrame::new(BUFFER64, &Common::new(), start, 0x50_0000).unwrap();
    let far = -0x10_0000_0000;
    let instructions = [
        Instruction::LlvmDefAspaceCfaSf {
            register: 65,
            offset: -4,
            space: 6,
        },
        Instruction::LlvmDefAspaceCfa {
            register: 64,
            offset: 1000,
            space: 6,
        },
        Instruction::AdvanceLoc { delta: 1 },
        Instruction::DefCfaRegister { register: 65 },
        Instruction::DefCfaOffset { offset: 20 },
        Instruction::DefCfaOffsetSf { offset: -5 },
        Instruction::AdvanceLoc1 { delta: 0x80 },
        Instruction::DefCfa {
            register: 65,
            offset: u64::MAX,
        },
        Instruction::DefCfaSf {
            register: 65,
            offset: 3,
        },
        Instruction::DefCfa {
            register: 65,
            offset: 3,
        },
        Instruction::AdvanceLoc2 { delta: 0x1000 },
        Instruction::Offset {
            register: 38,
            offset: 7,
        },
        Instruction::OffsetExtended {
            register: 38,
            offset: 7,
        },
        Instruction::OffsetExtended {
            register: 2600,
            offset: 64,
        },
        Instruction::OffsetExtendedSf {
            register: 2600,
            offset: -64,
        },
        Instruction::OffsetExtendedSf {
            register: 2600,
            offset: 64,
        },
        Instruction::OffsetExtendedSf {
            register: 2600,
            offset: far,
        },
        Instruction::GnuNegativeOffsetExtended {
            register: 2600,
            offset: 1,
        },
        Instruction::AdvanceLoc4 { delta: 0x10_0000 },
        Instruction::ValOffset {
            register: 16,
            offset: 2,
        },
        Instruction::ValOffsetSf {
            register: 16,
            offset: -2,
        },
        Instruction::ValOffsetSf {
            register: 16,
            offset: 2,
        },
        Instruction::ValExpression {
            register: 16,
            expression: &[0x30],
        },
        Instruction::RememberState,
        Instruction::Undefined { register: 2600 },
        Instruction::SameValue { register: 40 },
        Instruction::Register {
            register: 65,
            saved_in: 40,
        },
        Instruction::Restore { register: 40 },
        Instruction::RestoreExtended { register: 40 },
        Instruction::RestoreExtended { register: 2600 },
        Instruction::RestoreState,
        Instruction::GnuArgsSize { size: 300 },
        Instruction::Nop,
        Instruction::SameValue { register: 16 },
    ];
    for instruction in instructions {
        frame.raw(instruction).unwrap();
    }
    let mut table = FrameTable::new();
    table.add(frame);
    table
}

#[test]
fn the_assembler_makes_the_same_bytes_of_the_directives() {
    let Some(tool) = dwarf_tests::llvm_tool("llvm-mc") else {
        return;
    };
    let wide = Common::new().with_format(Format::Dwarf64);
    let mut wide_table = FrameTable::new();
    let start = Start::symbol("wide");
    let mut frame = FunctionFrame::new(BUFFER64, &wide, start, 8).unwrap();
    frame.cfa_from_stack_pointer(s(32)).unwrap();
    wide_table.add(frame);
    let cases = [
        ("gfx90a", program(BUFFER64).unwrap()),
        ("gfx1100", program(FLAT32).unwrap()),
        ("gfx90a", all_forms()),
        ("gfx90a", wide_table),
    ];
    for (processor, table) in cases {
        let format = table.functions()[0].common().format();
        let text = assembly(&table);
        let cpu = format!("-mcpu={processor}");
        let mut arguments = vec![
            "-triple=amdgcn-amd-amdhsa",
            &cpu,
            "-filetype=obj",
            "-o",
            "-",
        ];
        if format == Format::Dwarf64 {
            arguments.push("--dwarf64");
        }
        let file = pipe(&tool, &arguments, text.clone().into_bytes());
        let object = CodeObject::parse(&file).unwrap();
        let theirs = object.section(".debug_frame").unwrap().unwrap();
        let symbols = object.symbols().unwrap();
        let address_of = |name: &str| {
            let symbol = symbols.iter().find(|symbol| symbol.name == name);
            symbol.map(|symbol| symbol.address)
        };
        let ours = table.write().unwrap().resolved(address_of).unwrap();
        assert_eq!(ours, theirs, "{processor}\n{text}");
        // The labels are the places.
        for function in table.directives().unwrap() {
            assert!(address_of(&function.symbol).is_some(), "{text}");
            assert!(text.contains(&function.blocks.last().unwrap().label));
        }
    }
}

/// A relocatable code object of gfx90a, made by the crate `object`: a function each, and the section with
/// its relocations.
fn with_object(section: &FrameBytes, functions: &[(&str, u64)]) -> Vec<u8> {
    use object::write::{Object, Relocation, Symbol, SymbolSection};
    use object::{elf, write};
    // `object` has no architecture for AMDGPU: its writer works by that of any machine with the same class
    // and addends in the relocations, since their types are given by number.
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

/// The caller's value of a register, in bytes.
fn caller_value(frame: &CallFrame<'_, '_, '_>, register: Register, wave: &Snapshot) -> Vec<u8> {
    let (location, assumes_exec) = frame.recovered(register).unwrap();
    assert!(!assumes_exec, "EXEC has a rule");
    let access = Access {
        wave,
        lane: None,
        max_bits: 1 << 20,
    };
    let bits = register.size_in_bits().unwrap().into();
    let found = read(&location, bits, &access).unwrap();
    assert!(found.is_complete(), "{register}");
    found.bytes
}

fn dwords(bytes: &[u8]) -> Vec<u32> {
    let dwords = bytes.chunks(4);
    dwords
        .map(|d| u32::from_le_bytes(d.try_into().unwrap()))
        .collect()
}

/// A wave that is stopped in `helper`, called from `kernel` at 0x1050, whose frame starts at the frame
/// pointer: in wave bytes at 0x400.
fn stopped_in_helper(target: Target, processor: &str, pc: u64) -> Snapshot {
    let lanes = u16::try_from(target.wave_size.lanes()).unwrap();
    let each = |base: u32| -> Vec<Option<u32>> {
        (0..u32::from(lanes))
            .map(|lane| Some(base + lane))
            .collect()
    };
    let mut wave = Snapshot::new(processor, target.wave_size, pc);
    // The frame starts 0x400 bytes into the wave's scratch; a pointer in bytes of a lane is a 32nd of that.
    let (stack, frame) = match target.scratch {
        ScratchAddressing::Buffer => (0x1000, 0x400),
        ScratchAddressing::Flat => (0x1000 / 32, 0x400 / 32),
        other => panic!("{other:?}"),
    };
    wave.set_register(s(32), stack).unwrap();
    wave.set_register(s(33), frame).unwrap();
    // EXEC on entry, kept in s[4:5], and now.
    wave.set_register(s(4), 0xff00_ff00).unwrap();
    wave.set_register(s(5), 0x1).unwrap();
    wave.set_register(s(6), 0x123).unwrap();
    wave.set_register(s(34), 0xbad).unwrap();
    wave.set_register(Register::exec(target.wave_size), 0xf)
        .unwrap();
    let mut v40 = each(0xbad0);
    v40[..3].copy_from_slice(&[Some(0x1050), Some(0), Some(0x77)]);
    wave.set_lanes(v(40, target), &v40).unwrap();
    wave.set_lanes(v(41, target), &each(100)).unwrap();
    wave.set_lanes(v(42, target), &each(0xbad0)).unwrap();
    let row = u64::from(lanes) * 4;
    for (index, base) in [(0, 300), (1, 200), (2, 400)] {
        let values = each(base).into_iter().flatten().flat_map(u32::to_le_bytes);
        let values: Vec<u8> = values.collect();
        let address = 0x400 + index * row;
        wave.add_memory(Memory::PrivateWave, address, &values)
            .unwrap();
    }
    wave
}

#[test]
fn unwinding_by_what_was_written_recovers_the_caller() {
    for (target, processor) in [(BUFFER64, "gfx90a"), (FLAT32, "gfx1100")] {
        let section = program(target).unwrap().write().unwrap();
        let section = section.resolved(address_of).unwrap();
        let index = FrameIndex::new(FrameSection::debug_frame(&section));
        // In the body, and in the block after the epilogue.
        for pc in [0x1a80, 0x1b40] {
            let wave = stopped_in_helper(target, processor, pc);
            let arena = Arena::new();
            // By the letter, and without a processor: the tables say it all.
            let stack = unwind(Unwind::new(&wave, &index, LoadAddress(0), &arena), pc);
            assert_eq!(stack.error(), None);
            assert_eq!(stack.stopped(), Stopped::ReturnAddressUndefined);
            let pcs: Vec<_> = stack.frames().map(|frame| frame.pc().0).collect();
            assert_eq!(pcs, [pc, 0x1050]);

            let frame = stack.frame(0).unwrap();
            let scalar = |n| dwords(&caller_value(&frame, s(n), &wave))[0];
            let start_of_frame = if target == BUFFER64 { 0x400 } else { 0x20 };
            assert_eq!(scalar(32), start_of_frame, "the stack pointer");
            assert_eq!(scalar(33), 0x123, "the frame pointer");
            assert_eq!(scalar(34), 0x77);
            let exec = Register::exec(target.wave_size);
            let exec = caller_value(&frame, exec, &wave);
            let exec = exec
                .iter()
                .rev()
                .fold(0u64, |all, byte| all << 8 | u64::from(*byte));
            let lanes = target.wave_size.lanes();
            let expected = if lanes == 64 {
                0x1_ff00_ff00
            } else {
                0xff00_ff00
            };
            assert_eq!(exec, expected);
            let was_active = |lane: u32| exec >> lane & 1 == 1;
            let v41 = dwords(&caller_value(&frame, v(41, target), &wave));
            let expected = (0..lanes).map(|lane| lane + if was_active(lane) { 200 } else { 100 });
            assert_eq!(v41, expected.collect::<Vec<_>>());
            let v42 = dwords(&caller_value(&frame, v(42, target), &wave));
            assert_eq!(v42, (400..400 + lanes).collect::<Vec<_>>());

            // v40 is known in the lanes that were inactive, and lost in the others.
            let (location, _) = frame.recovered(v(40, target)).unwrap();
            let access = Access {
                wave: &wave,
                lane: None,
                max_bits: 1 << 20,
            };
            let found = read(&location, u64::from(lanes) * 32, &access).unwrap();
            for (lane, value) in (0..).zip(dwords(&found.bytes)) {
                let bits = u64::from(lane) * 32;
                let lost = found.undefined.covers(bits..bits + 32);
                assert_eq!(lost, was_active(lane), "lane {lane}");
                assert_eq!(value, if lost { 0 } else { 300 + lane }, "lane {lane}");
            }
        }
    }
}

/// A function at 0 in which one more thing is said, seen from a wave stopped in it.
fn with_frame(
    target: Target,
    describe: impl FnOnce(&mut FunctionFrame) -> hetdwarf::Result<()>,
    look: impl FnOnce(&CallFrame<'_, '_, '_>, &Snapshot),
) {
    let mut frame = FunctionFrame::new(target, &Common::new(), Start::Address(0), 8).unwrap();
    let entered = frame.cfa_from_stack_pointer(s(32));
    let entered = entered.and_then(|f| f.stack_pointer_from_cfa(s(32)));
    entered
        .and_then(|f| f.return_address_in(ReturnAddress::Undefined))
        .unwrap();
    describe(frame.at(4).unwrap()).unwrap();
    let mut table = FrameTable::new();
    table.add(frame);
    let section = table.write().unwrap().bytes;
    let index = FrameIndex::new(FrameSection::debug_frame(&section));
    let mut wave = stopped_in_helper(target, "any", 4);
    // A mask, and a stack pointer, in lanes.
    let mut v43 = vec![Some(0); usize::try_from(target.wave_size.lanes()).unwrap()];
    v43[6..9].copy_from_slice(&[Some(0xff00_ff00), Some(1), Some(0x60)]);
    wave.set_lanes(v(43, target), &v43).unwrap();
    wave.set_register(Register::vcc(target.wave_size), 0xff00_ff00)
        .unwrap();
    let arena = Arena::new();
    let stack = unwind(Unwind::new(&wave, &index, LoadAddress(0), &arena), 4);
    assert_eq!(stack.error(), None);
    look(&stack.frame(0).unwrap(), &wave);
}

/// 0xff00ff00 and, in a second register or lane, 1.
#[test]
fn masks_mean_the_same_wherever_they_are() {
    for target in [BUFFER64, FLAT32] {
        let (v41, v42) = (v(41, target), v(42, target));
        let lane = Mask::Lane {
            register: v(43, target),
            lane: Lane(6),
        };
        let vcc = Mask::Register(Register::vcc(target.wave_size));
        for (mask, above) in [(Mask::Register(s(4)), 1u64), (lane, 1), (vcc, 0)] {
            let bits = 0xff00_ff00 | above << 32u32;
            let describe =
                |frame: &mut FunctionFrame| frame.saved_in_vector(v41, v42, mask).map(|_| ());
            with_frame(target, describe, |frame, wave| {
                let found = dwords(&caller_value(frame, v41, wave));
                for (lane, value) in (0..).zip(found) {
                    let saved = bits >> lane & 1 == 1;
                    let expected = lane + if saved { 0xbad0 } else { 100 };
                    assert_eq!(value, expected, "{mask:?} {lane}");
                }
            });
        }
    }
}

/// The CFA counted from SGPR33 (0x400 bytes of the wave, or 0x20 of a lane) and from a lane that holds 0x60:
/// bytes of the wave are 32 times as many as those of one of 32 lanes.
#[test]
fn the_cfa_and_the_stack_pointer_agree() {
    use hetdwarf::arch::AddressSpace;
    use hetdwarf::eval::Frame;
    let from = |offset| {
        move |frame: &mut FunctionFrame| frame.cfa_from_register(s(33), offset).map(|_| ())
    };
    let check = |stack_pointer: u32, cfa: u64| {
        move |frame: &CallFrame<'_, '_, '_>, wave: &Snapshot| {
            let found = frame.cfa().unwrap().byte_address();
            assert_eq!(found, Some((AddressSpace::PrivateWave, cfa)));
            let found = dwords(&caller_value(frame, s(32), wave));
            assert_eq!(found, [stack_pointer]);
        }
    };
    with_frame(BUFFER64, from(-0x100), check(0x300, 0x300));
    with_frame(BUFFER64, from(0x100), check(0x500, 0x500));
    with_frame(FLAT32, from(-8), check(0x18, 0x18 * 32));
    with_frame(FLAT32, from(8), check(0x28, 0x28 * 32));
    for (target, cfa) in [(BUFFER64, 0x60), (FLAT32, 0x60 * 32)] {
        let from_lane =
            |frame: &mut FunctionFrame| frame.cfa_from_lane(v(43, target), Lane(8)).map(|_| ());
        with_frame(target, from_lane, check(0x60, cfa));
    }
}
