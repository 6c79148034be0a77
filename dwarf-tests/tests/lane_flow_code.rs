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

/// A compiler accesses the scratch of its own values at uniform addresses. Other stores do not change it, whatever address they have.
#[test]
fn stores_to_other_memory_leave_the_rows() {
    let ask_after = |store: [u32; 2], load: [u32; 2], base: u64| {
        let mut code = vec![V_MOV_V1]; // 1000
        code.extend(store); // 1004
        code.extend(mask_from_scratch(33, 8)); // 100c
        code[4..6].copy_from_slice(&load); // 1010
        let mut stopped = wave_with_mask(33, 8);
        stopped
            .set_register(Register::sgpr(33).unwrap(), base)
            .unwrap();
        ask_kernel(&code, &stopped)[4]
    };
    let [_, first, second, ..] = mask_from_scratch(33, 8);
    // The base is a lane's address, or the wave's, which has 32 lanes.
    let as_scratch = |store| ask_after(store, [first, second], 0x40);
    // buffer_load_b32 v41, off, s[0:3], s33 offset:8
    let as_buffer = |store| ask_after(store, [0xe050_0008, 0x2100_2900], 0x40 * 32);
    let of_buffer = [0xe068_0008, 0x2102_0100]; // buffer_store_b32 v1, off, s[8:11], s33 offset:8
    let mut found = vec![as_buffer(of_buffer)];
    found.extend(
        [
            [0xdc69_0008, 0x00fc_0102], // scratch_store_b32 v2, v1, off offset:8
            [0xdc69_0008, 0x00a1_0102], // scratch_store_b32 v2, v1, s33 offset:8
            [0xdc6a_0008, 0x007c_0102], // global_store_b32 v[2:3], v1, off offset:8
            [0xdca6_0008, 0x0002_0100], // global_store_addtid_b32 v1, s[2:3] offset:8
            [0xdc68_0000, 0x007c_0102], // flat_store_b32 v[2:3], v1
        ]
        .map(as_scratch),
    );
    for lane in found {
        let resumes = lane.waiting().and_then(|one| one.resumes);
        assert_eq!(resumes, Some(0x1028), "{lane:?}");
    }
    let unknown = LaneState::Unknown(Reason::Mask);
    // scratch_store_b32 off, v1, s33 offset:8
    assert_eq!(as_scratch([0xdc69_0008, 0x0021_0100]), unknown);
    // buffer_store_b32 v1, off, s[0:3], s33 offset:8
    assert_eq!(as_buffer([0xe068_0008, 0x2100_0100]), unknown);
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

const V_MOV_V1: u32 = 0x7e02_0280; // v_mov_b32_e32 v1, 0
const V_MOV_V2: u32 = 0x7e04_0280; // v_mov_b32_e32 v2, 0
const V_MOV_V3: u32 = 0x7e06_0280; // v_mov_b32_e32 v3, 0
const V_MOV_V4: u32 = 0x7e08_0280; // v_mov_b32_e32 v4, 0
const ALL_ON: u32 = 0x8c7e_0a7e; // s_or_b32 exec_lo, exec_lo, s10
const END: u32 = 0xbfb0_0000; // s_endpgm
const RETURN: u32 = 0xbe80_481e; // s_setpc_b64 s[30:31]
const JUMP: u32 = 0xbe80_4804; // s_setpc_b64 s[4:5]

/// A lane that is off reaches a branch on a scalar condition, whose paths end differently.
#[test]
fn a_lane_has_no_certain_place_if_its_paths_end_differently() {
    let ask_after = |one: [u32; 2], other: [u32; 2], is_kernel: bool| {
        let code = [
            V_MOV_V1,    // 1000
            0xbfa1_0002, // 1004 s_cbranch_scc0 2 (to 1010)
            one[0],      // 1008
            one[1],      // 100c
            other[0],    // 1010
            other[1],    // 1014
        ];
        let stopped = wave(0x1000, 0x0f, &[(10, 0xff)]);
        let found = ask(&[function(0x1000, &bytes(&code), is_kernel)], &stopped);
        found.lane(4).1
    };
    let (on, end) = ([ALL_ON, END], [END, END]);
    let (leaves, jumps) = ([RETURN, END], [JUMP, END]);
    let unknown = LaneState::Unknown(Reason::Ambiguous);
    // The lane is switched on before 100c, or before 1014.
    assert_eq!(ask_after(on, on, true), unknown);
    for is_reversed in [false, true] {
        let ask = |one, other, is_kernel| match is_reversed {
            false => ask_after(one, other, is_kernel),
            true => ask_after(other, one, is_kernel),
        };
        assert_eq!(ask(on, end, true), unknown);
        assert_eq!(ask(on, leaves, false), unknown);
        assert_eq!(ask(end, leaves, false), unknown);
        // The target of the jump is unknown.
        let lost = LaneState::Unknown(Reason::Jump);
        assert_eq!(ask(on, jumps, true), lost);
        assert_eq!(ask(end, jumps, true), lost);
    }
    // Paths of the same kind agree, but the ends are at different addresses.
    let ends = LaneState::Unknown(Reason::SeveralEnds);
    assert_eq!(ask_after(end, end, true), ends);
    // The lane did not enter the function, and its caller is not among the functions.
    let outside = LaneState::Unknown(Reason::Caller);
    assert_eq!(ask_after(leaves, leaves, false), outside);
}

/// The mask comes from s10 on one path and from memory on the other.
#[test]
fn a_mask_is_unknown_if_it_is_unknown_on_one_path() {
    // s_load_b32 s4, s[0:1], 0x0, and s_mov_b32 s4, s10; s_nop 0
    let (load, copy) = ([0xf400_0100, 0xf800_0000], [0xbe84_000a, 0xbf80_0000]);
    let ask_after = |one: [u32; 2], other: [u32; 2]| {
        let code = [
            V_MOV_V1,    // 1000
            0xbfa1_0003, // 1004 s_cbranch_scc0 3 (to 1014)
            one[0],
            one[1],      // 1008
            0xbfa0_0002, // 1010 s_branch 2 (to 101c)
            other[0],
            other[1],    // 1014
            0x8c7e_047e, // 101c s_or_b32 exec_lo, exec_lo, s4
            V_MOV_V2,    // 1020
            END,         // 1024
        ];
        let stopped = wave(0x1000, 0x0f, &[(10, 0xff)]);
        ask_kernel(&code, &stopped)[4]
    };
    let known = ask_after(copy, copy);
    assert_eq!(known.waiting().and_then(|one| one.resumes), Some(0x1020));
    for [one, other] in [[copy, load], [load, copy]] {
        assert_eq!(ask_after(one, other), LaneState::Unknown(Reason::Mask));
    }
}

/// The lane is switched on at 1004, off at 1008 and on again at 1014. With the lane on, EXEC is not zero.
#[test]
fn a_lane_that_is_on_does_not_skip_code_because_exec_is_zero() {
    let code = [
        V_MOV_V1,    // 1000
        ALL_ON,      // 1004
        0x8b7e_0b7e, // 1008 s_and_b32 exec_lo, exec_lo, s11
        0xbfa5_0001, // 100c s_cbranch_execz 1 (to 1014)
        V_MOV_V2,    // 1010
        ALL_ON,      // 1014
        0xbfa5_0001, // 1018 s_cbranch_execz 1 (to 1020)
        V_MOV_V3,    // 101c
        V_MOV_V4,    // 1020
        END,         // 1024
    ];
    let stopped = wave(0x1000, 0x0f, &[(10, 0xff), (11, 0x0f)]);
    let waiting = ask_kernel(&code, &stopped)[4].waiting().unwrap();
    assert_eq!(waiting.resumes, Some(0x1008));
    assert_eq!(waiting.arrival, Some(0x101c));
}

/// Around the instruction that switches a lane off, other instructions that act on no lane are right places too, but not across the target of a
/// branch: a wave may come there from elsewhere. A comparison acts on the lane that it switches off, so the places begin with it.
#[test]
fn places_around_the_end_of_a_lane_stop_at_targets_of_branches_and_comparisons() {
    const SAVE: u32 = 0xbe8a_007e; // s_mov_b32 s10, exec_lo
    const SECTION: u32 = 0xbe8a_200b; // s_and_saveexec_b32 s10, s11
    const COMPARISON: u32 = 0x7d94_060b; // v_cmpx_eq_u32_e32 s11, v3
    let places = |first: u32, off: u32, back: u32, resumes: u32| {
        let code = bytes(&[
            first,       // 1000
            SAVE,        // 1004
            off,         // 1008
            0xbf80_0000, // 100c s_nop 0
            0xbf80_0000, // 1010 s_nop 0
            V_MOV_V2,    // 1014
            back,        // 1018
            ALL_ON,      // 101c
            resumes,     // 1020
            V_MOV_V3,    // 1024
            END,         // 1028
        ]);
        let stopped = wave(0x1014, 0x0f, &[(10, 0xff)]);
        let meter = || Meter::new(&Limits::DEFAULT, 0);
        let processor = Processor::by_name(&stopped.target).unwrap();
        let functions = [function(0x1000, &code, true)];
        let size = stopped.wave_size();
        let flow = LaneFlow::new(processor, size, functions, &Arc::new(meter()));
        let (load, dispatched) = (LoadAddress(0), Some(0xff));
        let found = flow.stop(&stopped, 0x1014, load, dispatched, &meter());
        let waiting = found.unwrap().lane(4).1.waiting().unwrap();
        assert_eq!(
            (waiting.left, waiting.resumes),
            (Some(0x1008), Some(0x1020))
        );
        flow.gap(4, waiting)
    };
    let skips = 0xbfa1_0001; // s_cbranch_scc0 1 (to 1008)
    let skips_none = 0xbfa5_0001; // s_cbranch_execz 1 (to 1028)
    // s_cbranch_scc0 to 1010 and 1014
    let (to_1010, to_1014) = (0xbfa1_fffd, 0xbfa1_fffe);
    // First the place where the lane arrives, then those after it was switched off, those before, and those after it resumes.
    let usual = places(V_MOV_V1, SECTION, to_1014, V_MOV_V4);
    assert_eq!(usual, [0x1020, 0x1008, 0x100c, 0x1010, 0x1004, 0x1020]);
    let back = places(V_MOV_V1, SECTION, to_1010, V_MOV_V4);
    assert_eq!(back, [0x1020, 0x1008, 0x100c, 0x1004, 0x1020]);
    let ahead = places(skips, SECTION, to_1014, V_MOV_V4);
    assert_eq!(ahead, [0x1020, 0x1008, 0x100c, 0x1010, 0x1020]);
    let comparison = places(V_MOV_V1, COMPARISON, to_1014, V_MOV_V4);
    assert_eq!(comparison, [0x1020, 0x1008, 0x100c, 0x1010, 0x1020]);
    // The branch is not taken, because the lane is on.
    let branch = places(V_MOV_V1, SECTION, to_1014, skips_none);
    assert_eq!(
        branch,
        [0x1024, 0x1008, 0x100c, 0x1010, 0x1004, 0x1020, 0x1024]
    );
}

/// Returns the scalar registers up to s49, and the first 50 vector registers, that change between the places of a wave and of a waiting lane.
fn changed(code: &[u32], wave: u64, waiting: u64) -> Vec<String> {
    let code = bytes(code);
    let meter = || Meter::new(&Limits::DEFAULT, 0);
    let processor = Processor::by_name("gfx1100").unwrap();
    let functions = [function(0x1000, &code, true)];
    let flow = LaneFlow::new(processor, WaveSize::Wave32, functions, &Arc::new(meter()));
    let found = flow.changed_between(wave, waiting, &meter()).unwrap();
    let scalars = (0..50).filter_map(Register::sgpr);
    let vectors = (0..50).filter_map(|number| Register::vgpr(number, WaveSize::Wave32));
    let registers = scalars.chain(vectors);
    let registers = registers.filter(|register| found.contains(*register));
    registers.map(|register| register.to_string()).collect()
}

/// The instruction at which the wave stopped has not been executed, unless it is in a loop.
#[test]
fn a_register_changes_where_the_wave_has_been() {
    const WRITE_S4: u32 = 0xbe84_0005; // s_mov_b32 s4, s5
    const WRITE_S6: u32 = 0xbe86_0005; // s_mov_b32 s6, s5
    const WRITE_S7: u32 = 0xbe87_0005; // s_mov_b32 s7, s5
    let straight = [WRITE_S4, WRITE_S6, WRITE_S7, V_MOV_V1, END];
    assert_eq!(changed(&straight, 0x1008, 0x1004), ["s6"]);
    // The lane is ahead of the wave.
    assert_eq!(changed(&straight, 0x1004, 0x1008), ["s6"]);
    assert_eq!(changed(&straight, 0x1008, 0x1008), [""; 0]);
    let again = 0xbfa1_fffd; // s_cbranch_scc0 to 1004
    let repeated = [WRITE_S4, WRITE_S6, WRITE_S7, again, END];
    assert_eq!(changed(&repeated, 0x1008, 0x1004), ["s6", "s7"]);
    assert_eq!(changed(&repeated, 0x1008, 0x1008), ["s6", "s7"]);
    assert_eq!(changed(&repeated, 0x1008, 0x1000), ["s4", "s6", "s7"]);
}

/// A write changes only the lanes that execute, so a waiting lane keeps its value. The exceptions are lanes with scalar values, and sections in which
/// all lanes execute.
#[test]
fn a_vector_register_changes_where_more_lanes_execute() {
    let code = [
        V_MOV_V1, // 1000
        0xd761_0028,
        0x0001_0004, // 1004 v_writelane_b32 v40, s4, 0
        0xbe8a_22c1, // 100c s_or_saveexec_b32 s10, -1
        V_MOV_V2,    // 1010
        0xbefe_000a, // 1014 s_mov_b32 exec_lo, s10
        V_MOV_V3,    // 1018
        END,         // 101c
    ];
    assert_eq!(changed(&code, 0x1004, 0x1000), [""; 0]);
    assert_eq!(changed(&code, 0x100c, 0x1004), ["v40"]);
    assert_eq!(changed(&code, 0x101c, 0x100c), ["s10", "v2"]);
}

/// Callees of LLVM 22 preserve s32 to s39, but not s40 to s47: `CSR_AMDGPU_SGPRs`. An indirect write may be to any register.
#[test]
fn calls_and_indirect_writes_change_what_they_may() {
    // s_swappc_b64 s[30:31], s[16:17]
    let call = [V_MOV_V1, 0xbe9e_4910, V_MOV_V2, END];
    let found = changed(&call, 0x1008, 0x1004);
    for register in ["s0", "s4", "s29", "s30", "s31", "s40"] {
        assert!(found.iter().any(|one| one == register), "{register}");
    }
    for register in ["s32", "s33", "s39"] {
        assert!(!found.iter().any(|one| one == register), "{register}");
    }
    // s_movreld_b32 s0, s1
    let indirect = [V_MOV_V1, 0xbe80_4201, V_MOV_V2, END];
    assert_eq!(changed(&indirect, 0x1008, 0x1004).len(), 100);
    assert_eq!(changed(&indirect, 0x1004, 0x1000), [""; 0]);
    // The jump may lead anywhere.
    let jump = [V_MOV_V1, V_MOV_V2, 0xbfa1_0001, JUMP, END];
    assert_eq!(changed(&jump, 0x1004, 0x1000).len(), 100);
    let no_jump = [V_MOV_V1, V_MOV_V2, 0xbfa1_0001, END, END];
    assert_eq!(changed(&no_jump, 0x1004, 0x1000), [""; 0]);
}

/// Returns the frames of a wave in a function at 0x1000, which a kernel at 0x2000 called. The return address is 0x2004.
fn ask_called(callee: &[u32], kernel: &[u32], wave: &Snapshot) -> StopLanes {
    let (callee, kernel) = (bytes(callee), bytes(kernel));
    let functions = [
        function(0x1000, &callee, false),
        function(0x2000, &kernel, true),
    ];
    ask(&functions, wave)
}

const CALL: u32 = 0xbe9e_4910; // s_swappc_b64 s[30:31], s[16:17]
const ON_BY_S4: u32 = 0x8c7e_047e; // s_or_b32 exec_lo, exec_lo, s4

/// A kernel that calls, and then reads a mask from lane 5 of v40.
const KERNEL_WITH_V40: [u32; 6] = [
    CALL, // 2000
    0xd760_0004,
    0x0001_0b28, // 2004 v_readlane_b32 s4, v40, 5
    ON_BY_S4,    // 200c
    V_MOV_V2,    // 2010
    END,         // 2014
];

/// The caller's stack pointer is 0x40. The callee's is 16 above it where the wave stopped. The mask is relative to the caller's.
#[test]
fn the_stack_pointer_of_a_caller_is_what_its_callee_restores() {
    let callee = [
        0x8120_9020, // 1000 s_add_i32 s32, s32, 16
        V_MOV_V1,    // 1004
        0x8120_d020, // 1008 s_add_i32 s32, s32, -16
        RETURN,      // 100c
    ];
    let mut kernel = vec![CALL]; // 2000
    // The offset is -8. The mask is used before 2020.
    kernel.extend(mask_from_scratch(32, 0x1ff8));
    let mut stopped = wave(0x1004, 0x0f, &[(32, 0x50), (30, 0x2004), (31, 0)]);
    let address = (0x40 - 8) * 32 + 4;
    stopped
        .add_memory(Memory::PrivateWave, address, &0xff_u32.to_le_bytes())
        .unwrap();
    let (frame, lane) = ask_called(&callee, &kernel, &stopped).lane(4);
    assert_eq!((frame, lane.waiting().unwrap().resumes), (1, Some(0x2020)));
}

/// It depends on a branch whether lane 5 is switched on in the callee, so that it entered it. The callee has overwritten v40, either in the lanes that
/// entered it or in the others. The kernel reads a mask from lane 5 of v40.
#[test]
fn registers_of_a_lane_that_may_be_in_the_callee_are_unknown() {
    const V_MOV_V40: u32 = 0x7e50_0280; // v_mov_b32_e32 v40, 0
    let in_the_lanes = vec![V_MOV_V40];
    // s_xor_saveexec_b32 s5, -1 and s_mov_b32 exec_lo, s5
    let in_the_others = vec![0xbe85_24c1, V_MOV_V40, 0xbefe_0005];
    let ask_for = |writes: &[u32], mask: u64| {
        let mut callee = writes.to_vec(); // 1000
        callee.extend([
            0xbfa1_0003, // s_cbranch_scc0 3 (to the second return)
            ALL_ON,
            V_MOV_V3,
            RETURN,
            RETURN,
        ]);
        let mut stopped = wave(0x1000, 0x0f, &[(10, mask), (30, 0x2004), (31, 0)]);
        let v40 = Register::vgpr(40, WaveSize::Wave32).unwrap();
        stopped.set_lanes(v40, &[Some(0xff); 32]).unwrap();
        ask_called(&callee, &KERNEL_WITH_V40, &stopped)
    };
    // No lane is switched on in the callee.
    let (frame, lane) = ask_for(&in_the_lanes, 0).lane(6);
    assert_eq!((frame, lane.waiting().unwrap().resumes), (1, Some(0x2010)));
    for writes in [in_the_lanes, in_the_others] {
        let unknown = ask_for(&writes, 0x20);
        let ambiguous = LaneState::Unknown(Reason::Ambiguous);
        assert_eq!(unknown.lane(5), (0, ambiguous));
        let (frame, lane) = unknown.lane(6);
        let is_unreadable = matches!(lane, LaneState::Unknown(Reason::Unavailable(_)));
        assert!(frame == 1 && is_unreadable, "{lane:?}");
        let in_kernel = &unknown.frames[1].lanes;
        assert_eq!(in_kernel[5], LaneState::Unknown(Reason::Callee));
        assert_eq!(in_kernel[3], LaneState::Active);
    }
}

/// The caller is visited only if a lane of the dispatch is missing in the callee.
#[test]
fn callers_have_only_lanes_that_the_dispatch_started() {
    let (callee, kernel) = ([V_MOV_V1, RETURN], [CALL, V_MOV_V2, END]);
    let frames = |exec: u64| {
        let stopped = wave(0x1000, exec, &[(30, 0x2004), (31, 0)]);
        ask_called(&callee, &kernel, &stopped).frames.len()
    };
    assert_eq!(frames(0xff), 1);
    assert_eq!(frames(0x7f), 2);
}

/// The callee copies v42 to v40 in all lanes, and then v41 to v40 in its active lanes, without lane 5.
#[test]
fn a_copy_leaves_the_lanes_that_are_off() {
    let callee = [
        V_MOV_V1,    // 1000
        0xbe85_22c1, // 1004 s_or_saveexec_b32 s5, -1
        0x7e50_032a, // 1008 v_mov_b32_e32 v40, v42
        0xbefe_0005, // 100c s_mov_b32 exec_lo, s5
        0x7e50_0329, // 1010 v_mov_b32_e32 v40, v41
        RETURN,      // 1014
    ];
    let mut stopped = wave(0x1000, 0x0f, &[(30, 0x2004), (31, 0)]);
    let v42 = Register::vgpr(42, WaveSize::Wave32).unwrap();
    stopped.set_lanes(v42, &[Some(0xff); 32]).unwrap();
    let found = ask_called(&callee, &KERNEL_WITH_V40, &stopped);
    let (frame, lane) = found.lane(6);
    let resumes = lane.waiting().and_then(|one| one.resumes);
    assert_eq!((frame, resumes), (1, Some(0x2010)), "{lane:?}");
}

/// Padding after a function is not in it.
#[test]
fn code_after_a_function_is_in_none() {
    let found = |pc: u64| {
        let code = bytes(&[V_MOV_V1, END]);
        let found = ask(&[function(0x1000, &code, true)], &wave(pc, 0x0f, &[]));
        (found.frames[0].function, found.lane(4).1)
    };
    assert_eq!(found(0x1004).0, Some(0x1000));
    let outside = (None, LaneState::Unknown(Reason::NoFunction));
    assert_eq!(found(0x1008), outside);
}
