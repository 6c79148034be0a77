//! Tests with small functions in assembly, encoded by LLVM 22's assembler, and with arbitrary bytes.

mod lattice;
mod search;

use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::arch::{LoadAddress, Processor, Register, WaveSize};
use crate::error::{ErrorKind, Limit};
use crate::isa::MachineRegister;
use crate::limits::Limits;
use crate::meter::Meter;
use crate::wave::{Memory, Snapshot};

/// Returns the meter of a small file.
fn meter() -> Arc<Meter> {
    Arc::new(Meter::new(&Limits::DEFAULT, 0))
}

fn flow<'a>(processor: &str, wave_size: WaveSize, functions: &[Function<'a>]) -> LaneFlow<'a> {
    let processor = Processor::by_name(processor).unwrap();
    LaneFlow::new(processor, wave_size, functions.iter().copied(), &meter())
}

fn bytes(dwords: &[u32]) -> Vec<u8> {
    dwords
        .iter()
        .flat_map(|dword| dword.to_le_bytes())
        .collect()
}

fn kernel(code: &[u8]) -> Function<'_> {
    Function {
        address: 0x1000,
        code,
        is_kernel: true,
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

fn ask(flow: &LaneFlow<'_>, wave: &Snapshot, started: Option<u64>) -> StopLanes {
    let load_address = LoadAddress(0);
    let pc = load_address.to_code(wave.pc()).0;
    flow.stop(wave, pc, load_address, started, &meter())
        .unwrap()
}

fn waiting(left: u64, pc: u64) -> LaneState {
    LaneState::Waiting {
        pc,
        left: Some(left),
        resumes: Some(pc),
        arrival: Some(pc),
    }
}

/// `if (c) { … } else { … }`, and then the end.
const IF_ELSE: [u32; 8] = [
    0xbe80_206a, // 1000 s_and_saveexec_b32 s0, vcc_lo
    0x8d00_007e, // 1004 s_xor_b32 s0, exec_lo, s0
    0x7e02_0280, // 1008 v_mov_b32_e32 v1, 0
    0xbe80_3000, // 100c s_and_not1_saveexec_b32 s0, s0
    0x7e02_0281, // 1010 v_mov_b32_e32 v1, 1
    0x8c7e_007e, // 1014 s_or_b32 exec_lo, exec_lo, s0
    0x7e04_0280, // 1018 v_mov_b32_e32 v2, 0
    0xbfb0_0000, // 101c s_endpgm
];

#[test]
fn lanes_of_the_other_branch_go_on_at_it_or_at_the_join() {
    let code = bytes(&IF_ELSE);
    let flow = flow("gfx1100", WaveSize::Wave32, &[kernel(&code)]);
    // In `then`: the other lanes are in s0, and resume at `else`.
    let found = ask(&flow, &wave(0x1008, 0x0f, &[(0, 0xf0)]), Some(0xff));
    assert_eq!(found.lane(1), (0, LaneState::Active));
    assert_eq!(found.lane(4), (0, waiting(0x1000, 0x1010)));
    // Never started.
    assert_eq!(found.lane(8), (0, LaneState::Elsewhere));
    // In `else`: the lanes of `then` are in s0, and resume at the join.
    let found = ask(&flow, &wave(0x1010, 0xf0, &[(0, 0x0f)]), Some(0xff));
    assert_eq!(found.lane(1), (0, waiting(0x100c, 0x1018)));
    assert_eq!(found.lane(4), (0, LaneState::Active));
    // Without a saved EXEC, they never resume.
    let found = ask(&flow, &wave(0x1018, 0x0f, &[(0, 0xf0)]), Some(0xff));
    let ended = LaneState::Waiting {
        pc: 0x101c,
        left: None,
        resumes: None,
        arrival: None,
    };
    assert_eq!(found.lane(4), (0, ended));
}

#[test]
fn what_cannot_be_known_is_unknown() {
    let code = bytes(&IF_ELSE);
    let flow = flow("gfx1100", WaveSize::Wave32, &[kernel(&code)]);
    // The mask's register is not available.
    let found = ask(&flow, &wave(0x1008, 0x0f, &[]), Some(0xff));
    let place = DwordPlace::Scalar(MachineRegister::Sgpr(0));
    let expected = LaneState::Unknown(Reason::Unavailable(place));
    assert_eq!(found.lane(4), (0, expected));
    // A lane that never resumes may never have been started.
    let found = ask(&flow, &wave(0x1018, 0x0f, &[(0, 0)]), None);
    assert_eq!(found.lane(4), (0, LaneState::Unknown(Reason::Dispatch)));
    // The address is in no function, or at no instruction.
    for pc in [0x2000, 0x100a] {
        let found = ask(&flow, &wave(pc, 0x0f, &[]), Some(0xff));
        assert_eq!(found.lane(1), (0, LaneState::Active));
        assert_eq!(found.lane(4), (0, LaneState::Unknown(Reason::NoFunction)));
    }
    // Nothing is known without EXEC.
    let wave = Snapshot::new("gfx1100", WaveSize::Wave32, 0x1008);
    assert_eq!(
        flow.stop(&wave, 0x1008, LoadAddress(0), None, &meter())
            .unwrap_err()
            .kind()
            .name(),
        "unavailable"
    );
}

#[test]
fn whole_wave_sections_switch_nobody_on() {
    let code = bytes(&[
        0xbe80_206a, // 1000 s_and_saveexec_b32 s0, vcc_lo
        0xbe8a_22c1, // 1004 s_or_saveexec_b32 s10, -1
        0x7e02_0280, // 1008 v_mov_b32_e32 v1, 0
        0xbefe_000a, // 100c s_mov_b32 exec_lo, s10
        0x7e04_0280, // 1010 v_mov_b32_e32 v2, 0
        0x8c7e_007e, // 1014 s_or_b32 exec_lo, exec_lo, s0
        0xbfb0_0000, // 1018 s_endpgm
    ]);
    let flow = flow("gfx1100", WaveSize::Wave32, &[kernel(&code)]);
    for pc in [0x1004, 0x1010] {
        let found = ask(&flow, &wave(pc, 0x0f, &[(0, 0xff)]), Some(0xff));
        assert_eq!(found.lane(4), (0, waiting(0x1000, 0x1018)), "{pc:#x}");
    }
    for pc in [0x1008, 0x100c] {
        let registers = [(0, 0xff), (10, 0x0f)];
        let found = ask(&flow, &wave(pc, 0xffff_ffff, &registers), Some(0xff));
        assert_eq!(found.lane(1), (0, LaneState::Active), "{pc:#x}");
        assert_eq!(found.lane(4), (0, waiting(0x1000, 0x1018)), "{pc:#x}");
    }
}

/// A lane that did not enter a function is in its caller, wherever the return address is saved.
#[test]
fn lanes_that_did_not_enter_are_in_the_caller() {
    let outer = bytes(&[
        0xbe84_206a, // 1000 s_and_saveexec_b32 s4, vcc_lo
        0xbea2_0004, // 1004 s_mov_b32 s34, s4
        0xbe9e_4910, // 1008 s_swappc_b64 s[30:31], s[16:17]
        0x8c7e_227e, // 100c s_or_b32 exec_lo, exec_lo, s34
        0x7e04_0280, // 1010 v_mov_b32_e32 v2, 0
        0xbfb0_0000, // 1014 s_endpgm
    ]);
    let inner = bytes(&[
        0xd761_0028,
        0x0001_001e, // 2000 v_writelane_b32 v40, s30, 0
        0xd761_0028,
        0x0001_021f, // 2008 v_writelane_b32 v40, s31, 1
        0xd761_0028,
        0x0001_0422, // 2010 v_writelane_b32 v40, s34, 2
        0xbea2_0080, // 2018 s_mov_b32 s34, 0
        0xbe9e_0122, // 201c s_mov_b64 s[30:31], s[34:35]
        0xd760_0022,
        0x0001_0528, // 2020 v_readlane_b32 s34, v40, 2
        0xd760_001f,
        0x0001_0328, // 2028 v_readlane_b32 s31, v40, 1
        0xd760_001e,
        0x0001_0128, // 2030 v_readlane_b32 s30, v40, 0
        0xbe80_481e, // 2038 s_setpc_b64 s[30:31]
    ]);
    let functions = [
        kernel(&outer),
        Function {
            address: 0x2000,
            code: &inner,
            is_kernel: false,
        },
    ];
    let flow = flow("gfx1100", WaveSize::Wave32, &functions);
    let v40 = Register::vgpr(40, WaveSize::Wave32).unwrap();
    let mut lanes = [None; 32];
    lanes[..3].copy_from_slice(&[Some(0x7000_100c), Some(0), Some(0xff)]);
    let mut wave = wave(0x7000_2020, 0x0f, &[(30, 0), (31, 0), (34, 0)]);
    wave.set_lanes(v40, &lanes).unwrap();
    let found = flow
        .stop(
            &wave,
            0x2020,
            LoadAddress(0x7000_0000),
            Some(0xff),
            &meter(),
        )
        .unwrap();
    assert_eq!(found.frames.len(), 2);
    assert_eq!(
        (found.frames[1].pc, found.frames[1].function),
        (0x100c, Some(0x1000))
    );
    assert_eq!(found.frames[1].lanes[1], LaneState::Active);
    assert_eq!(found.lane(1), (0, LaneState::Active));
    assert_eq!(found.lane(4), (1, waiting(0x1000, 0x1010)));
    // An address that is not the return address of a call is in no caller.
    lanes[0] = Some(0x7000_1010);
    wave.set_lanes(v40, &lanes).unwrap();
    let found = flow
        .stop(
            &wave,
            0x2020,
            LoadAddress(0x7000_0000),
            Some(0xff),
            &meter(),
        )
        .unwrap();
    assert_eq!(found.lane(4), (1, LaneState::Unknown(Reason::NoFunction)));
}

/// A scalar condition chooses between two paths, each of which switches the lane on in another place.
#[test]
fn several_places_are_none() {
    let code = bytes(&[
        0xbe80_206a, // 1000 s_and_saveexec_b32 s0, vcc_lo
        0xbfa1_0003, // 1004 s_cbranch_scc0 3 (to 1014)
        0x8c7e_007e, // 1008 s_or_b32 exec_lo, exec_lo, s0
        0x7e02_0280, // 100c v_mov_b32_e32 v1, 0
        0xbfb0_0000, // 1010 s_endpgm
        0x8c7e_007e, // 1014 s_or_b32 exec_lo, exec_lo, s0
        0x7e02_0281, // 1018 v_mov_b32_e32 v1, 1
        0xbfb0_0000, // 101c s_endpgm
    ]);
    let flow = flow("gfx1100", WaveSize::Wave32, &[kernel(&code)]);
    let found = ask(&flow, &wave(0x1004, 0x0f, &[(0, 0xff)]), Some(0xff));
    assert_eq!(found.lane(4), (0, LaneState::Unknown(Reason::Ambiguous)));
    // A lane that resumes on neither path ends at an unknown place.
    let found = ask(&flow, &wave(0x1004, 0x0f, &[(0, 0x0f)]), Some(0xff));
    assert_eq!(found.lane(4), (0, LaneState::Unknown(Reason::SeveralEnds)));
}

/// A mask in a register is known after a call if the callee preserves the register, by the calling convention or by its code.
#[test]
fn masks_stay_over_calls_that_leave_them_alone() {
    let caller = |mask: u32| {
        bytes(&[
            0xbe80_206a | mask << 16, // 1000 s_and_saveexec_b32 sN, vcc_lo
            0xbe90_4780,              // 1004 s_getpc_b64 s[16:17]
            0x8010_ff10,
            0x0000_0ff8,             // 1008 s_add_u32 s16, s16, 0xff8 (to 2000)
            0x8211_8011,             // 1010 s_addc_u32 s17, s17, 0
            0xbe9e_4910,             // 1014 s_swappc_b64 s[30:31], s[16:17]
            0x8c7e_007e | mask << 8, // 1018 s_or_b32 exec_lo, exec_lo, sN
            0x7e04_0280,             // 101c v_mov_b32_e32 v2, 0
            0xbfb0_0000,             // 1020 s_endpgm
        ])
    };
    // s_mov_b32 s9, 0; s_setpc_b64 s[30:31]
    let callee = bytes(&[0xbe89_0080, 0xbe80_481e]);
    let known = Function {
        address: 0x2000,
        code: &callee,
        is_kernel: false,
    };
    let ask_with = |mask: u32, callee: Option<Function<'_>>| {
        let code = caller(mask);
        let functions: Vec<_> = [kernel(&code)].into_iter().chain(callee).collect();
        let flow = flow("gfx1100", WaveSize::Wave32, &functions);
        let wave = wave(0x1004, 0x0f, &[(mask as u16, 0xff)]);
        ask(&flow, &wave, Some(0xff)).lane(4).1
    };
    let known_place = waiting(0x1000, 0x101c);
    // Every callee preserves s34; this one writes s9 and not s8.
    assert_eq!(ask_with(34, None), known_place);
    assert_eq!(ask_with(8, Some(known)), known_place);
    assert_eq!(ask_with(8, None), LaneState::Unknown(Reason::Mask));
    assert_eq!(ask_with(9, Some(known)), LaneState::Unknown(Reason::Mask));
}

/// Two paths of the callee leave the caller's mask in different places.
#[test]
fn what_ways_disagree_on_is_not_known() {
    let outer = bytes(&[
        0xbea2_206a, // 1000 s_and_saveexec_b32 s34, vcc_lo
        0xbe9e_4910, // 1004 s_swappc_b64 s[30:31], s[16:17]
        0x8c7e_227e, // 1008 s_or_b32 exec_lo, exec_lo, s34
        0xbfb0_0000, // 100c s_endpgm
    ]);
    let inner = |other: u32| {
        bytes(&[
            0xbfa1_0002,         // 2000 s_cbranch_scc0 2 (to 200c)
            0xbea2_0004,         // 2004 s_mov_b32 s34, s4
            0xbfa0_0001,         // 2008 s_branch 1 (to 2010)
            0xbea2_0000 | other, // 200c s_mov_b32 s34, sN
            0xbe80_481e,         // 2010 s_setpc_b64 s[30:31]
        ])
    };
    for (other, expected) in [
        (4, waiting(0x1000, 0x100c)),
        (
            5,
            LaneState::Unknown(Reason::Unavailable(DwordPlace::Scalar(
                MachineRegister::Sgpr(34),
            ))),
        ),
    ] {
        let inner = inner(other);
        let called = Function {
            address: 0x2000,
            code: &inner,
            is_kernel: false,
        };
        let flow = flow("gfx1100", WaveSize::Wave32, &[kernel(&outer), called]);
        let registers = [(4, 0xff), (5, 0x0f), (30, 0x1008), (31, 0)];
        let found = ask(&flow, &wave(0x2000, 0x0f, &registers), Some(0xff));
        assert_eq!(found.lane(4), (1, expected), "s{other}");
    }
}

/// A vector register with a caller's mask is restored under EXEC. It is the caller's again in all lanes if EXEC contains all lanes that
/// entered, as at the end of the function. It is not if EXEC contains fewer.
#[test]
fn registers_are_restored_in_the_lanes_that_entered() {
    let outer = bytes(&[
        0xbe84_206a, // 1000 s_and_saveexec_b32 s4, vcc_lo
        0xd761_0028,
        0x0001_0204, // 1004 v_writelane_b32 v40, s4, 1
        0xbe9e_4910, // 100c s_swappc_b64 s[30:31], s[16:17]
        0xd760_0004,
        0x0001_0328, // 1010 v_readlane_b32 s4, v40, 1
        0x8c7e_047e, // 1018 s_or_b32 exec_lo, exec_lo, s4
        0xbfb0_0000, // 101c s_endpgm
    ]);
    // Without the first three instructions, EXEC has its initial value at the load.
    let inner = |skipped: usize| {
        let code = [
            0xbe80_206a, // 2000 s_and_saveexec_b32 s0, vcc_lo
            0xdc51_0000,
            0x2820_0000, // 2004 scratch_load_b32 v40, off, s32
            0x8c7e_007e, // 200c s_or_b32 exec_lo, exec_lo, s0
            0xbe80_481e, // 2010 s_setpc_b64 s[30:31]
        ];
        let kept: Vec<u32> = match skipped {
            0 => code.to_vec(),
            _ => vec![code[1], code[2], code[4]],
        };
        bytes(&kept)
    };
    let place = DwordPlace::Lane {
        register: MachineRegister::Vgpr(40),
        lane: 1,
    };
    let lost = LaneState::Unknown(Reason::Unavailable(place));
    for (skipped, expected) in [(0, lost), (1, waiting(0x1000, 0x101c))] {
        let inner = inner(skipped);
        let called = Function {
            address: 0x2000,
            code: &inner,
            is_kernel: false,
        };
        let flow = flow("gfx1100", WaveSize::Wave32, &[kernel(&outer), called]);
        let mut wave = wave(
            0x2000,
            0x0f,
            &[(0, 0x0f), (30, 0x1010), (31, 0), (32, 0x10)],
        );
        // Lane 1 of v40 was stored, in scratch at (0x10 + 0) * 32 + 1 * 4.
        wave.add_memory(Memory::PrivateWave, 0x204, &0xff_u32.to_le_bytes())
            .unwrap();
        let found = ask(&flow, &wave, Some(0xff));
        assert_eq!(found.lane(4), (1, expected), "{skipped}");
    }
}

/// If only one of two paths is in a section of other lanes, EXEC is unknown.
#[test]
fn half_a_section_is_none() {
    let code = bytes(&[
        0xbe80_206a, // 1000 s_and_saveexec_b32 s0, vcc_lo
        0xbfa1_0001, // 1004 s_cbranch_scc0 1 (to 100c)
        0xbe8a_22c1, // 1008 s_or_saveexec_b32 s10, -1
        0x7e02_0280, // 100c v_mov_b32_e32 v1, 0
        0xbefe_000a, // 1010 s_mov_b32 exec_lo, s10
        0xbfb0_0000, // 1014 s_endpgm
    ]);
    let flow = flow("gfx1100", WaveSize::Wave32, &[kernel(&code)]);
    let registers = [(0, 0xff), (10, 0x0f)];
    let found = ask(&flow, &wave(0x1010, 0x0f, &registers), Some(0xff));
    assert_eq!(found.lane(1), (0, LaneState::Unknown(Reason::WholeWave)));
    assert_eq!(found.lane(4), (0, LaneState::Unknown(Reason::WholeWave)));
}

/// A loop whose second iteration differs: each iteration moves the mask on by one register.
#[test]
fn loops_are_followed_until_nothing_is_new() {
    let code = bytes(&[
        0xbe80_206a, // 1000 s_and_saveexec_b32 s0, vcc_lo
        0x7e02_0280, // 1004 v_mov_b32_e32 v1, 0
        0x8c7e_037e, // 1008 s_or_b32 exec_lo, exec_lo, s3
        0xbe83_0002, // 100c s_mov_b32 s3, s2
        0xbe82_0001, // 1010 s_mov_b32 s2, s1
        0xbe81_0000, // 1014 s_mov_b32 s1, s0
        0xbfa0_fffa, // 1018 s_branch -6 (to 1004)
    ]);
    let flow = flow("gfx1100", WaveSize::Wave32, &[kernel(&code)]);
    let registers = [(0, 0xff), (1, 0x0f), (2, 0x0f), (3, 0x0f)];
    let found = ask(&flow, &wave(0x1004, 0x0f, &registers), Some(0xff));
    let LaneState::Waiting { resumes, .. } = found.lane(4).1 else {
        panic!("{found:?}");
    };
    assert_eq!(resumes, Some(0x100c));
    let registers = [(0, 0x0f), (1, 0x0f), (2, 0x0f), (3, 0x0f)];
    let found = ask(&flow, &wave(0x1004, 0x0f, &registers), Some(0xff));
    assert_eq!(found.lane(4), (0, LaneState::Unknown(Reason::Endless)));
}

/// Generates dwords that are instructions more often than arbitrary ones: mask, branch and lane instructions with arbitrary registers and
/// targets.
fn dword() -> impl Strategy<Value = u32> {
    let scalar = (0_u32..128, 0_u32..0x40).prop_map(|(dst, op)| 0xbe80_0000 | dst << 16 | op << 8);
    let sop2 =
        (0x16_u32..0x26, 0_u32..128).prop_map(|(op, dst)| 0x8000_0000 | op << 23 | dst << 16);
    let branch = (0x20_u32..0x27, -40_i32..40)
        .prop_map(|(op, to)| 0xbf80_0000 | op << 16 | to.cast_unsigned() & 0xffff);
    let operands = (0_u32..256, 0_u32..256).prop_map(|(a, b)| a | b << 8);
    let with = |part: BoxedStrategy<u32>| {
        (part, operands.clone()).prop_map(|(part, operands)| part | operands)
    };
    prop_oneof![
        4 => with(scalar.boxed()),
        4 => with(sop2.boxed()),
        3 => branch,
        1 => Just(0xbe80_481e),
        1 => Just(0xbe9e_4910),
        1 => Just(0x7c82_0300),
        2 => any::<u32>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Arbitrary code and waves do not panic, and are analysed in limited time.
    #[test]
    fn arbitrary_code_is_answered_in_time(
        dwords in prop::collection::vec(dword(), 1..400),
        start in 0_u64..400,
        exec in any::<u32>(),
        masks in prop::collection::vec(any::<u32>(), 106),
        is_kernel in any::<bool>(),
        processor in prop::sample::select(vec!["gfx90a", "gfx1030", "gfx1100", "gfx1200", "gfx1250"]),
    ) {
        let code = bytes(&dwords);
        let function = Function { address: 0x1000, code: &code, is_kernel };
        let wave_size = Processor::by_name(processor).unwrap().default_wave_size().unwrap();
        let flow = flow(processor, wave_size, &[function]);
        let mut wave = Snapshot::new(processor, wave_size, 0x1000 + 4 * start);
        wave.set_register(Register::exec(wave_size), exec.into()).unwrap();
        for (n, mask) in (0..).zip(masks) {
            let register = Register::sgpr(n).unwrap();
            wave.set_register(register, mask.into()).unwrap();
        }
        let begin = Instant::now();
        let found = ask(&flow, &wave, None);
        prop_assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
        prop_assert_eq!(found.frames[0].lanes.len(), wave_size.lanes() as usize);
    }
}

/// Scalar registers that are written between the two places change for the waiting lane; its own lane of a vector register does not.
#[test]
fn scalar_registers_change_for_lanes_that_wait() {
    let code = bytes(&IF_ELSE);
    let flow = flow("gfx1100", WaveSize::Wave32, &[kernel(&code)]);
    let [s0, v1] = [Register::sgpr(0), Register::vgpr(1, WaveSize::Wave32)].map(Option::unwrap);
    let vcc = Register::vcc(WaveSize::Wave32);
    // The wave is in `else`, and the lanes of `then` wait for the join: s0 does not change until then.
    let ahead = flow.changed_between(0x1010, 0x1018, &meter()).unwrap();
    assert!(!ahead.contains(s0) && !ahead.contains(v1) && !ahead.contains(vcc));
    assert!(ahead.contains(Register::EXEC_32));
    // Their place may be stated as 100c, where they were switched off and s0 is written.
    let behind = flow.changed_between(0x1010, 0x100c, &meter()).unwrap();
    assert!(behind.contains(s0) && !behind.contains(v1) && !behind.contains(vcc));
    // Nothing is known about addresses in no function.
    assert!(
        flow.changed_between(0x1010, 0x2000, &meter())
            .unwrap()
            .contains(v1)
    );
}

/// Overlapping functions, each of which begins one instruction after the previous one. The registers that one writes are known, as long as
/// not too many others share its code.
#[test]
fn callees_that_overlap_are_read_a_few_times_over() {
    let place = |called: u32, count: usize| {
        let code = bytes(&[
            0xbe80_206a, // 1000 s_and_saveexec_b32 s0, vcc_lo
            0xbe82_4700, // 1004 s_getpc_b64 s[2:3]
            0x8002_ff02, // 1008 s_add_u32 s2, s2, …
            0x2000 + called * 4 - 0x1008,
            0xbe9e_4902, // 1010 s_swappc_b64 s[30:31], s[2:3]
            0x8c7e_007e, // 1014 s_or_b32 exec_lo, exec_lo, s0
            0xbfb0_0000, // 1018 s_endpgm
        ]);
        // v_mov_b32 v1, 0 and s_setpc_b64 s[30:31]: s0 is preserved.
        let mut body = vec![0x7e02_0280; 128];
        body.push(0xbe80_481e);
        let body = bytes(&body);
        let callee = |n: usize| Function {
            address: 0x2000 + n as u64 * 4,
            code: &body[n * 4..],
            is_kernel: false,
        };
        let all: Vec<Function<'_>> = (0..count).map(callee).chain([kernel(&code)]).collect();
        let flow = flow("gfx1100", WaveSize::Wave32, &all);
        let wave = wave(0x1004, 0xff00, &[(0, 0xffff)]);
        ask(&flow, &wave, Some(0xffff)).frames[0].lanes[0]
    };
    assert_eq!(place(2, 3), waiting(0x1000, 0x1018));
    assert_eq!(place(2, 64), waiting(0x1000, 0x1018));
    // This code would be read for the eleventh time.
    assert_eq!(place(10, 64), LaneState::Unknown(Reason::Mask));
}

fn limits(work: u64, memory: u64) -> Limits {
    Limits {
        work,
        memory,
        work_per_byte: 0,
        memory_per_byte: 0,
        ..Limits::DEFAULT
    }
}

/// A question costs the same whether its facts were found before or not. If the cost exceeds its budget, it has no answer.
#[test]
fn a_question_costs_the_same_before_and_after_others() {
    let code = bytes(&IF_ELSE);
    let wave = wave(0x1008, 0x0f, &[(0, 0xf0)]);
    let stop = |flow: &LaneFlow<'_>, work: u64| {
        let meter = Meter::new(&limits(work, 1 << 20), 0);
        let found = flow.stop(&wave, 0x1008, LoadAddress(0), Some(0xff), &meter);
        (found, meter.steps())
    };
    let fresh = || flow("gfx1100", WaveSize::Wave32, &[kernel(&code)]);
    let kept = fresh();
    let (expected, steps) = stop(&kept, 1000);
    let expected = expected.unwrap();
    assert!(steps > 0);
    assert_eq!(stop(&kept, steps), (Ok(expected.clone()), steps));
    for work in 0..steps {
        // An insufficient budget does not leave a poorer plan for other questions.
        let fresh = fresh();
        for flow in [&kept, &fresh] {
            let error = stop(flow, work).0.unwrap_err();
            let is_work = matches!(
                error.kind(),
                ErrorKind::Limit {
                    limit: Limit::Work,
                    ..
                }
            );
            assert!(is_work, "{error}");
        }
        assert_eq!(stop(&fresh, 1000), (Ok(expected.clone()), steps));
    }
}

/// The file's meter holds the kept facts, which use no more than their share of its budget.
#[test]
fn what_is_kept_has_a_budget_of_the_file() {
    let code = bytes(&IF_ELSE);
    let wave = wave(0x1008, 0x0f, &[(0, 0xf0)]);
    let other = [0; 4 * 92];
    let lane = |work: u64, memory: u64, others: &[u8]| {
        let file = Arc::new(Meter::new(&limits(work, memory), 0));
        let processor = Processor::by_name("gfx1100").unwrap();
        let mut functions = vec![kernel(&code)];
        functions.extend((!others.is_empty()).then_some(Function {
            address: 0x2000,
            code: others,
            is_kernel: false,
        }));
        let flow = LaneFlow::new(processor, WaveSize::Wave32, functions, &file);
        let found = flow.stop(&wave, 0x1008, LoadAddress(0), Some(0xff), &meter());
        assert!(file.refused().is_none());
        found.unwrap().frames[0].lanes[4]
    };
    let refused = LaneState::Unknown(Reason::Budget);
    assert_eq!(lane(1 << 20, 100, &[]), refused);
    // Half of 1,000 steps is for eight facts: 496 instructions each. Decoding eight instructions counts as 64.
    assert_ne!(lane(1000, 1 << 20, &[]), refused);
    // With 92 other instructions, each fact has 496 * 8 / 100.
    assert_eq!(lane(1000, 1 << 20, &other), refused);
}

/// At each of many branch targets, every scalar register is known: a few kilobytes for two instructions.
#[test]
fn states_that_are_kept_have_a_bound() {
    // s_cbranch_scc0 over an s_nop to the next branch.
    let dwords = [0xbfa1_0001, 0xbf80_0000].repeat(1 << 15);
    let code = bytes(&[&dwords[..], &[0xbfb0_0000]].concat());
    let wave = wave(0x1008, 0x0f, &[]);
    let processor = Processor::by_name("gfx1100").unwrap();
    let file = Arc::new(Meter::new(&limits(1 << 40, 1 << 40), 0));
    let flow = LaneFlow::new(processor, WaveSize::Wave32, [kernel(&code)], &file);
    let found = flow.stop(&wave, 0x1008, LoadAddress(0), Some(0xff), &meter());
    // The bound of each fact applies even if the meter has room.
    let lane = found.unwrap().frames[0].lanes[4];
    assert_eq!(lane, LaneState::Unknown(Reason::WholeWave));
}

/// A forgotten function holds no memory, and is analysed again.
#[test]
fn what_is_kept_of_a_function_is_given_back() {
    let code = bytes(&IF_ELSE);
    let held = Arc::new(Meter::new(&Limits::DEFAULT, 0));
    let processor = Processor::by_name("gfx1100").unwrap();
    let flow = LaneFlow::new(processor, WaveSize::Wave32, [kernel(&code)], &held);
    let wave = wave(0x1008, 0x0f, &[(0, 0xf0)]);
    let stop = || ask(&flow, &wave, Some(0xff));
    let found = stop();
    let kept = held.bytes();
    assert!(kept > 0);
    assert_eq!((stop(), held.bytes()), (found.clone(), kept));
    flow.forget(0x1000);
    assert_eq!(held.bytes(), 0);
    assert_eq!((stop(), held.bytes()), (found, kept));
}

/// A plan uses at most half of the budget. If that is not enough, the function has no plan, and others still have a budget.
#[test]
fn a_plan_that_costs_too_much_leaves_the_rest_to_others() {
    let code = bytes(&IF_ELSE);
    let flow = flow("gfx1100", WaveSize::Wave32, &[kernel(&code)]);
    let meter = |work: u64| Meter::new(&limits(work, 1 << 20), 0);
    let enough = meter(1000);
    let plan = flow.plan(0x1000, &enough).unwrap();
    assert!(plan.iter().all(|(_, known)| known.is_ok()), "{plan:?}");
    // Decoding eight instructions costs a step each.
    let small = meter(15);
    let plan = flow.plan(0x1000, &small).unwrap();
    assert_eq!(plan, [(0x1000..0x1020, Err(Reason::Budget))]);
    assert!(small.refused().is_none());
}

/// Finding the changes between two places is charged in addition to finding the places: eight instructions with eight visits each, of which
/// eight cost a step.
#[test]
fn what_changes_between_places_is_paid_for() {
    let code = bytes(&IF_ELSE);
    let flow = flow("gfx1100", WaveSize::Wave32, &[kernel(&code)]);
    let steps = |waiting: u64| {
        let meter = meter();
        flow.changed_between(0x1010, waiting, &meter).unwrap();
        meter.steps()
    };
    // There are no changes to find at an address in no function.
    assert_eq!(steps(0x1018), steps(0x2000) + 8);
}

/// All lanes are on from 1000 to 1018, wherever a wave stops. The constant in VCC is not a mask of the program's lanes, even if VCC got it
/// before the stop.
#[test]
fn a_constant_from_a_register_ends_no_section() {
    let code = bytes(&[
        0xbe8a_21c1, // 1000 s_or_saveexec_b64 s[10:11], -1
        0xbeea_01c1, // 1004 s_mov_b64 vcc, -1
        0xbf80_0000, // 1008 s_nop 0
        0xbefe_016a, // 100c s_mov_b64 exec, vcc
        0x6802_0501, // 1010 v_add_u32_e32 v1, v1, v2
        0xbefe_010a, // 1014 s_mov_b64 exec, s[10:11]
        0xbe80_1d1e, // 1018 s_setpc_b64 s[30:31]
    ]);
    let function = Function {
        address: 0x1000,
        code: &code,
        is_kernel: false,
    };
    let flow = flow("gfx90a", WaveSize::Wave64, &[function]);
    let plans = flow.plan(0x1000, &meter()).unwrap();
    let in_section: Vec<_> = (plans.iter())
        .filter(|(range, _)| (0x1004..0x1014).contains(&range.start))
        .collect();
    let [(_, Ok(first)), rest @ ..] = in_section.as_slice() else {
        panic!("{plans:?}");
    };
    let asked = LanePlan::Ask {
        place: DwordPlace::Scalar(MachineRegister::Sgpr(10)),
        then: Box::new([
            LanePlan::Elsewhere,
            LanePlan::Resumes {
                pc: 0x1018,
                left: None,
                arrival: None,
            },
        ]),
    };
    assert_eq!(first.halves[0], asked);
    assert!(rest.iter().all(|(_, plan)| plan.as_ref() == Ok(first)));
}

/// A conditional move keeps the register or gets the other one. Both are empty masks here, so that lanes resume after the next mask.
#[test]
fn a_conditional_move_needs_both_of_its_registers() {
    let code = bytes(&[
        0xbe84_0080, // 1000 s_mov_b32 s4, 0
        0xbe85_0080, // 1004 s_mov_b32 s5, 0
        0xbfa2_0001, // 1008 s_cbranch_scc1 1010
        0x7e02_0280, // 100c v_mov_b32_e32 v1, 0
        0xbe84_0205, // 1010 s_cmov_b32 s4, s5
        0x8c7e_047e, // 1014 s_or_b32 exec_lo, exec_lo, s4
        0x8c7e_067e, // 1018 s_or_b32 exec_lo, exec_lo, s6
        0x7e02_0281, // 101c v_mov_b32_e32 v1, 1
        0xbfb0_0000, // 1020 s_endpgm
    ]);
    let flow = flow("gfx1100", WaveSize::Wave32, &[kernel(&code)]);
    let found = ask(&flow, &wave(0x1000, 0x0f, &[(6, 0xf0)]), Some(0xff));
    let (_, LaneState::Waiting { resumes, .. }) = found.lane(4) else {
        panic!("{:?}", found.lane(4));
    };
    assert_eq!(resumes, Some(0x101c));
}
