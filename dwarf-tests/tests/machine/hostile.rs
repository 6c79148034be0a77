//! Checks code and tables with wrong bytes: nothing panics or takes long.
use dwarf_tests::wave_cases_with_cfi;
use fallible_iterator::FallibleIterator;
use hetdwarf::arch::Processor;
use hetdwarf::cfi_check::{FunctionCode, Machine, SkipReason};
use hetdwarf::expr::Encoding;
use hetdwarf::frame::{Entry, FrameSection};
use hetdwarf::object::CodeObject;

use crate::tables::{self, Change, PC, START};

/// Changes bytes at positions of a fixed pseudo-random sequence.
fn spoil(bytes: &[u8], state: &mut u64, count: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..count {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        let at = usize::try_from(*state % bytes.len() as u64).unwrap();
        bytes[at] = (*state >> 32) as u8;
    }
    bytes
}

#[test]
fn spoilt_code_and_tables_are_checked_without_a_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let (mut checked, mut found, mut silent) = (0, 0, 0);
    for case in wave_cases_with_cfi() {
        let name = case.file_name().unwrap().to_str().unwrap();
        let data = std::fs::read(case.join(format!("{name}.hsaco"))).unwrap();
        let object = CodeObject::parse(&data).unwrap();
        let original = object.section(".debug_frame").unwrap().unwrap();
        for round in 0..24 {
            let bytes = spoil(original, &mut state, round % 4);
            let mut entries = FrameSection::debug_frame(&bytes).entries();
            // The lengths may be wrong, so only readable entries count.
            while let Ok(Some(entry)) = entries.next() {
                let Entry::Fde(fde) = entry else { continue };
                let length = usize::try_from(fde.address_range).unwrap_or(usize::MAX);
                let Some(code) = object.read_image(fde.initial_location, length) else {
                    continue;
                };
                let code = spoil(code, &mut state, 3 - round % 3);
                let machine = Machine::new(
                    object.target().processor(),
                    None,
                    [(fde.initial_location, code.as_slice())],
                );
                let report = machine.check(&FunctionCode {
                    code: &code,
                    fde: &fde,
                    section: ".debug_frame",
                    encoding: Encoding::AMDGPU,
                });
                checked += 1;
                found += report.contradictions.len();
                silent += usize::from(report.skip_reason.is_some());
                report
                    .contradictions
                    .iter()
                    .for_each(|one| drop(one.to_string()));
            }
        }
    }
    println!("{checked} functions, {found} contradictions, {silent} not followed");
    assert!(checked > 300 && found > 1000 && silent > 50);
}

/// A function with many blocks, each of which changes the facts of the others, is given up in bounded time.
#[test]
fn a_function_of_too_many_blocks_is_given_up() {
    let cfa = "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_lit5, DW_OP_shl, DW_OP_lit6, DW_OP_LLVM_form_aspace_address";
    let pc = "DW_OP_regx SGPR30, DW_OP_piece 4, DW_OP_regx SGPR31, DW_OP_piece 4";
    let rows = vec![(0, vec![Change::Cfa(cfa), Change::At(PC, pc)])];
    // s_add_i32 s33, s33, 16; v_writelane_b32 v41, s33, 0; s_cbranch_scc1 to the first instruction.
    for (repeats, given_up) in [(100, false), (20_000, true)] {
        let mut code = Vec::new();
        for n in 0..repeats {
            let back = -(4 * n + 4);
            let branch = 0xbfa2_0000 | (back as u32 & 0xffff);
            for dword in [0x8121_9021, 0xd761_0029, 0x0001_0021, branch] {
                code.extend(u32::to_le_bytes(dword));
            }
        }
        let bytes = tables::frame(code.len(), &rows);
        let section = FrameSection::debug_frame(&bytes);
        let fde = section.fde_at(16).unwrap();
        let machine = Machine::new(
            Processor::by_name("gfx1100").unwrap(),
            None,
            [(START, &*code)],
        );
        let report = machine.check(&FunctionCode {
            code: &code,
            fde: &fde,
            section: ".debug_frame",
            encoding: Encoding::AMDGPU,
        });
        // Branch distances wrap in 16 bits, so the long function can be given up for either of two reasons.
        let reason = report.skip_reason;
        assert_eq!(reason.is_some(), given_up, "{reason:?}");
        assert_ne!(reason, Some(SkipReason::Undecodable));
    }
}
