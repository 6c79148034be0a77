//! Checks that the assembler produces the same bytes from the directives.

use hetdwarf::frame::Instruction;
use hetdwarf::frame::write::{Common, Format, FrameTable, FunctionFrame, Start};
use hetdwarf::object::CodeObject;

use crate::program::{BUFFER64, FLAT32, program, s};
use crate::tool::pipe;

/// Every form of a rule for the CFA.
const CFA: &[Instruction<'static>] = &[
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
];

/// Saved registers at offsets from the CFA: registers that fit into the opcode and others, offsets of both signs, and one of more than 32
/// bits.
const SAVED: &[Instruction<'static>] = &[
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
        offset: -0x10_0000_0000,
    },
    Instruction::GnuNegativeOffsetExtended {
        register: 2600,
        offset: 1,
    },
];

/// A register whose value is computed.
const COMPUTED: &[Instruction<'static>] = &[
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
];

/// The other rules, and remembering and restoring the state. `DW_CFA_nop` is not the last instruction, where it would be padding.
const OTHERS: &[Instruction<'static>] = &[
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

/// Instructions in every form that has a directive, and in some that have none.
fn all_forms() -> FrameTable {
    let start = Start::symbol("a symbol \"with\" \\ characters");
    let mut frame = FunctionFrame::new(BUFFER64, &Common::new(), start, 0x50_0000).unwrap();
    for instruction in [CFA, SAVED, COMPUTED, OTHERS].concat() {
        frame.raw(instruction).unwrap();
    }
    let mut table = FrameTable::new();
    table.add(frame);
    table
}

/// A small function in the 64-bit format of DWARF.
fn of_64_bit_format() -> FrameTable {
    let common = Common::new().with_format(Format::Dwarf64);
    let start = Start::symbol("wide");
    let mut frame = FunctionFrame::new(BUFFER64, &common, start, 8).unwrap();
    frame.cfa_from_stack_pointer(s(32)).unwrap();
    let mut table = FrameTable::new();
    table.add(frame);
    table
}

/// Returns the file that the assembler makes from a text, or None if the assembler is not installed.
fn assembled(text: String, processor: &str, format: Format) -> Option<Vec<u8>> {
    let tool = dwarf_tests::llvm_tool("llvm-mc")?;
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
    Some(pipe(&tool, &arguments, text.into_bytes()))
}

#[test]
fn the_assembler_makes_the_same_bytes_of_the_directives() {
    let cases = [
        ("gfx90a", program(BUFFER64).unwrap()),
        ("gfx1100", program(FLAT32).unwrap()),
        ("gfx90a", all_forms()),
        ("gfx90a", of_64_bit_format()),
    ];
    for (processor, table) in cases {
        let functions = table.directives().unwrap();
        let text: String = functions.iter().map(ToString::to_string).collect();
        let format = table.functions()[0].common().format();
        let Some(file) = assembled(text.clone(), processor, format) else {
            return;
        };
        let object = CodeObject::parse(&file).unwrap();
        let theirs = object.section(".debug_frame").unwrap().unwrap();
        let symbols = object.symbols().unwrap();
        let address_of = |name: &str| {
            let symbol = symbols.iter().find(|symbol| symbol.name == name);
            symbol.map(|symbol| symbol.address)
        };
        let ours = table.write().unwrap().resolved(address_of).unwrap();
        assert_eq!(ours, theirs, "{processor}\n{text}");
        // The labels are the addresses.
        for function in &functions {
            assert!(address_of(&function.symbol).is_some(), "{text}");
            assert!(text.contains(&function.blocks.last().unwrap().label));
        }
    }
}
