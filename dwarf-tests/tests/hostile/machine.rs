//! The cost of annotating hostile machine code is proportional to its length.

use std::sync::Arc;

use dwarf_tests::disassembly::disassemble;
use dwarf_tests::flow::{Item, KINDS, object};
use dwarf_tests::llvm_tool;
use hetdwarf::annotate::{Request, annotate_file_within};
use hetdwarf::arch::WaveSize;
use hetdwarf::limits::Limits;
use hetdwarf::meter::Meter;

/// Annotates a file. Returns the steps, the most bytes held, and the amount of code with lane positions.
fn cost(file: &[u8], meter: &Arc<Meter>) -> (u64, u64, u64) {
    let found = annotate_file_within(file, meter, &Request::new(&|_| true)).unwrap();
    let functions = found.functions.iter();
    let covered = functions.map(|function| function.covered).sum();
    (meter.steps(), meter.peak_bytes(), covered)
}

/// For any code, the steps stay within the limit of the file, and allocations grow no faster than the file. In a release build a step takes
/// up to 0.6 µs here, so a byte of a large file costs at most 20 µs. Real code with many registers needs 87 steps a byte, and a small file
/// has 4,194,304 steps free.
#[test]
fn annotating_any_code_costs_no_more_than_its_file_may() {
    let mut told = 0;
    for (name, make, functions) in KINDS {
        for count in [100, 400, 1600] {
            let file = object(&make(count), functions(count));
            let mut limits = Limits::DEFAULT;
            // The fixed part of the limit is low enough to hide nothing: 1,600 instructions have about 8,000 bytes.
            limits.work = 1 << 14;
            let meter = Arc::new(Meter::new(&limits, file.len() as u64));
            let mut found = (0, 0, 0);
            let allocated = allocation_counter::measure(|| found = cost(&file, &meter));
            let (steps, bytes, covered) = found;
            println!("{name}, {count}: {steps} steps, {bytes} bytes, {covered} bytes of code");
            let most = (1 << 14) + 32 * file.len() as u64;
            assert!(steps <= most, "{name}, {count}: {steps} of {most}");
            let held = allocated.bytes_max;
            // The states of one analysis may take 64 MiB, which are released when it ends (`lane_flow/fuel.rs`).
            let most = (80 << 20) + 64 * file.len() as u64;
            assert!(held <= most, "{name}, {count}: {held} of {most}");
            told += u64::from(covered > 0);
        }
    }
    // The analysis did not just reject the code.
    assert!(told > 15, "{told}");
}

/// The generated code has the instructions that the generator names, according to LLVM.
#[test]
fn the_code_is_what_llvm_reads() {
    let Some(objdump) = llvm_tool("llvm-objdump") else {
        return;
    };
    let items = [
        (Item::Nop, "s_nop 0"),
        (Item::Compare(3), "v_cmp_eq_u32_e32 vcc, 3, v0"),
        (Item::Add, "v_add_u32_e32 v1, v1, v2"),
        (Item::Move(4, 0x7e), "s_mov_b64 s[4:5], exec"),
        (Item::Bits(0, 0x7e, 4, 0x6a), "s_and_b64 exec, s[4:5], vcc"),
        (Item::Bits(1, 4, 6, 8), "s_or_b64 s[4:5], s[6:7], s[8:9]"),
        (Item::Bits(2, 4, 6, 8), "s_xor_b64 s[4:5], s[6:7], s[8:9]"),
        (Item::Bits(3, 4, 6, 8), "s_andn2_b64 s[4:5], s[6:7], s[8:9]"),
        (Item::Save(0, 4, 0x6a), "s_and_saveexec_b64 s[4:5], vcc"),
        (Item::Save(1, 4, 0xc1), "s_or_saveexec_b64 s[4:5], -1"),
        (Item::Save(2, 4, 6), "s_xor_saveexec_b64 s[4:5], s[6:7]"),
        (Item::Save(3, 4, 6), "s_andn2_saveexec_b64 s[4:5], s[6:7]"),
        (Item::WriteLane(40, 7, 9), "v_writelane_b32 v40, s7, 9"),
        (Item::ReadLane(7, 40, 9), "v_readlane_b32 s7, v40, 9"),
        (Item::CompareScalar(5), "s_cmp_eq_u32 s5, 0"),
        (Item::Branch(0, 0), "s_branch"),
        (Item::Branch(1, 0), "s_cbranch_scc0"),
        (Item::Branch(2, 0), "s_cbranch_scc1"),
        (Item::Branch(3, 0), "s_cbranch_vccz"),
        (Item::Branch(4, 0), "s_cbranch_vccnz"),
        (Item::Branch(5, 0), "s_cbranch_execz"),
        (Item::Branch(6, 0), "s_cbranch_execnz"),
        (Item::Call(5), "s_swappc_b64 s[30:31], s[4:5]"),
        (Item::Return, "s_setpc_b64 s[30:31]"),
        (Item::End, "s_endpgm"),
    ];
    let (mut instructions, names): (Vec<Item>, Vec<&str>) = items.into_iter().unzip();
    // The last instruction jumps back over the whole code.
    instructions.push(Item::Branch(0, 0));
    let folder = format!("hetdwarf-flow-{}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("file");
    std::fs::write(&path, object(&instructions, 1)).unwrap();
    let lines = disassemble(&objdump, &path, WaveSize::Wave64);
    std::fs::remove_dir_all(folder).unwrap();
    assert_eq!(lines.len(), instructions.len(), "{lines:#?}");
    for (line, name) in lines.iter().zip(&names) {
        assert!(line.text.starts_with(name), "{} and not {name}", line.text);
    }
    // The distance is the number of dwords from the next instruction, in 16 bits. Two of the instructions have two dwords.
    let back = 0x1_0000 - (names.len() + 2 + 1);
    assert_eq!(lines[names.len()].text, format!("s_branch {back}"));
}
