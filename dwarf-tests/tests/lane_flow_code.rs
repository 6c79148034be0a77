//! Tests small functions of gfx1100, encoded by LLVM 22's assembler: facts at control-flow joins, and scratch that other code may have
//! written. A wrong answer would name a position that the wave of the test has.

use std::sync::Arc;

use hetdwarf::arch::{LoadAddress, Processor, Register, WaveSize};
use hetdwarf::lane_flow::{Function, LaneFlow, LaneState, Reason, StopLanes};
use hetdwarf::limits::Limits;
use hetdwarf::meter::Meter;
use hetdwarf::wave::{Memory, Snapshot, Wave as _};

fn bytes(dwords: &[u32]) -> Vec<u8> {
    let dwords = dwords.iter();
    dwords.flat_map(|dword| dword.to_le_bytes()).collect()
}

fn function(address: u64, code: &[u8], is_kernel: bool) -> Function<'_> {
    Function {
        address,
        code,
        is_kernel,
    }
}

/// Returns a wave of gfx1100 with 32 lanes.
fn wave(pc: u64, exec: u64, scalars: &[(u16, u64)]) -> Snapshot {
    let mut wave = Snapshot::new("gfx1100", WaveSize::Wave32, pc);
    wave.set_register(Register::EXEC_32, exec).unwrap();
    for (number, value) in scalars {
        let register = Register::sgpr(*number).unwrap();
        wave.set_register(register, *value).unwrap();
    }
    wave
}

/// Returns the lanes of a wave whose dispatch started lanes 0 to 7.
fn ask(functions: &[Function<'_>], wave: &Snapshot) -> StopLanes {
    let meter = || Meter::new(&Limits::DEFAULT, 0);
    let processor = Processor::by_name(&wave.target).unwrap();
    let functions = functions.iter().copied();
    let flow = LaneFlow::new(processor, wave.wave_size(), functions, &Arc::new(meter()));
    let pc = LoadAddress(0).to_code(wave.pc()).0;
    flow.stop(wave, pc, LoadAddress(0), Some(0xff), &meter())
        .unwrap()
}

/// Returns the states of lanes 0 to 7 of a wave in a kernel with this code.
fn ask_kernel(code: &[u32], wave: &Snapshot) -> Vec<LaneState> {
    let found = ask(&[function(0x1000, &bytes(code), true)], wave);
    (0..8).map(|lane| found.lane(lane).1).collect()
}

/// Two paths lead into a section of all lanes. They have saved EXEC in different registers.
#[test]
fn where_exec_was_saved_is_known_if_all_ways_agree() {
    let code = |[one, other]: [u32; 2]| {
        [
            0xbfa1_0002,               // 1000 s_cbranch_scc0 2 (to 100c)
            0xbe80_22c1 | one << 16,   // 1004 s_or_saveexec_b32 sN, -1
            0xbfa0_0001,               // 1008 s_branch 1 (to 1010)
            0xbe80_22c1 | other << 16, // 100c s_or_saveexec_b32 sM, -1
            0x7e02_0280,               // 1010 v_mov_b32_e32 v1, 0
            0xbefe_000a,               // 1014 s_mov_b32 exec_lo, s10
            0xbfb0_0000,               // 1018 s_endpgm
        ]
    };
    let stopped = wave(0x1010, 0xffff_ffff, &[(10, 0x0f), (11, 0xf0)]);
    let same = ask_kernel(&code([10, 10]), &stopped);
    assert_eq!(same[..4], [LaneState::Active; 4]);
    assert!(same[4].waiting().is_some());
    for registers in [[10, 11], [11, 10]] {
        let unknown = LaneState::Unknown(Reason::WholeWave);
        assert_eq!(ask_kernel(&code(registers), &stopped), [unknown; 8]);
    }
}

/// Returns code that loads a mask from scratch, at an offset from a register, into lane 1 of v41 and switches lanes on with it: the dwords
/// of the load, its offset among them, and the following instructions.
fn mask_from_scratch(register: u32, offset: u32) -> [u32; 9] {
    [
        0xbe8a_22c1, // s_or_saveexec_b32 s10, -1
        0xdc51_0000 | offset,
        0x2900_0000 | register << 16, // scratch_load_b32 v41, off, sN offset:…
        0xbefe_000a,                  // s_mov_b32 exec_lo, s10
        0xd760_0004,
        0x0001_0329, // v_readlane_b32 s4, v41, 1
        0x8c7e_047e, // s_or_b32 exec_lo, exec_lo, s4
        0x7e04_0280, // v_mov_b32_e32 v2, 0
        0xbfb0_0000, // s_endpgm
    ]
}

/// Returns a wave before the first instruction. Its scratch has a mask of all lanes at an offset from a register.
fn wave_with_mask(register: u16, offset: u64) -> Snapshot {
    let mut wave = wave(0x1000, 0x0f, &[(register, 0x40)]);
    // The address of lane 1 in the row.
    let address = (0x40 + offset) * 32 + 4;
    wave.add_memory(Memory::PrivateWave, address, &0xff_u32.to_le_bytes())
        .unwrap();
    wave
}

/// Callees may write above the stack pointer of each call, so the lowest stack pointer counts.
#[test]
fn callees_have_the_stack_from_the_lowest_call_on() {
    // s_add_i32 s32, s33, 16 or 32; s_swappc_b64 s[30:31], s[16:17]
    let call = |above: u32| [0x8120_0021 | (0x80 + above) << 8, 0xbe9e_4910];
    let ask_for = |calls: &[u32], offset: u32| {
        let mut code = vec![0x7e02_0280]; // 1000 v_mov_b32_e32 v1, 0
        code.extend(calls.iter().flat_map(|above| call(*above)));
        code.extend(mask_from_scratch(33, offset));
        let after = 0x1000 + 4 * (code.len() as u64 - 2);
        let found = ask_kernel(&code, &wave_with_mask(33, offset.into()));
        (found[4], after)
    };
    let unknown = LaneState::Unknown(Reason::Mask);
    for calls in [
        &[16, 32][..],
        &[32, 16],
        &[16, 32, 32],
        &[32, 32, 16],
        &[16],
    ] {
        // The offsets are below both stack pointers, between them, and above both.
        let (below, after) = ask_for(calls, 8);
        assert_eq!(
            below.waiting().and_then(|one| one.resumes),
            Some(after),
            "{below:?}"
        );
        assert_eq!(ask_for(calls, 24).0, unknown, "{calls:?}");
        assert_eq!(ask_for(calls, 40).0, unknown, "{calls:?}");
    }
    let (between, after) = ask_for(&[32, 32], 24);
    assert_eq!(between.waiting().and_then(|one| one.resumes), Some(after));
}

/// The distance of s34 from s32 is unknown, so a store relative to one may overlap a load relative to the other.
#[test]
fn a_row_may_be_one_that_counts_from_another_register() {
    let ask_with = |register: u32| {
        let mut code = vec![
            0x7e02_0280, // 1000 v_mov_b32_e32 v1, 0
            0xdc69_0004,
            0x0000_2800 | register << 16, // 1004 scratch_store_b32 off, v40, sN offset:4
            0xdc51_0004,
            0x2800_0000 | register << 16, // 100c scratch_load_b32 v40, off, sN offset:4
            0xd760_0005,
            0x0001_0128, // 1014 v_readlane_b32 s5, v40, 0
        ];
        code.extend(mask_from_scratch(34, 8));
        ask_kernel(&code, &wave_with_mask(34, 8))[4]
    };
    // At another offset from the same register, the row is certainly another one.
    assert_eq!(
        ask_with(34).waiting().and_then(|one| one.resumes),
        Some(0x1038)
    );
    assert_eq!(ask_with(32), LaneState::Unknown(Reason::Mask));
    assert_eq!(ask_with(33), LaneState::Unknown(Reason::Mask));
}

/// The register in which EXEC was saved is overwritten before the section ends.
#[test]
fn where_exec_was_saved_is_lost_with_the_register() {
    let code = |write: u32| {
        [
            0xbe8a_22c1, // 1000 s_or_saveexec_b32 s10, -1
            write,       // 1004
            0x7e02_0280, // 1008 v_mov_b32_e32 v1, 0
            0xbefe_000a, // 100c s_mov_b32 exec_lo, s10
            0xbfb0_0000, // 1010 s_endpgm
        ]
    };
    let stopped = wave(0x1008, 0xffff_ffff, &[(10, 0x0f)]);
    // s_mov_b32 s12, 0
    let kept = ask_kernel(&code(0xbe8c_0080), &stopped);
    assert_eq!(kept[..4], [LaneState::Active; 4]);
    // s_mov_b32 s10, 0
    let unknown = LaneState::Unknown(Reason::WholeWave);
    assert_eq!(ask_kernel(&code(0xbe8a_0080), &stopped), [unknown; 8]);
}
