//! Tests of edges, of the start of an analysis, and of the registers that functions write. Encodings are llvm-mc 22's.

use super::*;
use crate::abi::Convention;

/// Decodes code at 0x1000 for a processor; other functions are at these addresses.
fn code_of(processor: &str, dwords: &[u32], others: &[u64]) -> Code {
    let processor = Processor::by_name(processor).unwrap();
    let decoder = Decoder::new(processor, Some(WaveSize::Wave32)).unwrap();
    let bytes: Vec<u8> = dwords.iter().flat_map(|one| one.to_le_bytes()).collect();
    let others = others.iter().map(|address| (*address, &[][..]));
    Code::new(&decoder, &Callees::new(None, others), 0x1000, &bytes).unwrap()
}

fn edges(code: &Code, index: usize) -> Vec<Edge> {
    code.edges(index).collect()
}

#[test]
fn control_leaves_for_other_functions_and_is_lost_elsewhere() {
    // s_branch 1 (to 1008), past the end
    let branch =
        |others: &[u64]| edges(&code_of("gfx1100", &[0xbfa0_0001, 0xbfb0_0000], others), 0);
    assert_eq!(branch(&[0x1008]), [Edge::Leaves]);
    assert_eq!(branch(&[0x100c]), [Edge::Lost]);
    // s_nop 0 at the end; s_cbranch_scc0 -1 (to itself) at the end
    assert_eq!(edges(&code(&[0xbf80_0000]), 0), [Edge::Lost]);
    assert_eq!(edges(&code(&[0xbfa1_ffff]), 0), [Edge::To(0), Edge::Lost]);
    // s_setpc_b64 s[18:19], s_swappc_b64 s[18:19], s[4:5]: the return address of GCC's functions.
    let of_gcc = code(&[0xbe80_4812]);
    assert_eq!(edges(&of_gcc, 0), [Edge::Leaves]);
    assert_eq!(of_gcc.convention, Convention::Gcc);
    assert_eq!(
        code(&[0xbe92_4904, 0xbfb0_0000]).convention,
        Convention::Gcc
    );
    assert_eq!(
        code(&[0xbe86_4904, 0xbfb0_0000]).convention,
        Convention::Llvm
    );
    let code = code(&[
        0xbe84_4700, // 1000 s_getpc_b64 s[4:5]: 1004
        0x8004_8c04, // 1004 s_add_u32 s4, s4, 12: 1010
        0x8205_8005, // 1008 s_addc_u32 s5, s5, 0
        0xbe80_4804, // 100c s_setpc_b64 s[4:5]
        0xbfb0_0000, // 1010 s_endpgm
    ]);
    assert_eq!(edges(&code, 3), [Edge::To(4)]);
}

#[test]
fn leaders_are_where_jumps_go() {
    let code = code(&[
        0xbfa1_0001, // 1000 s_cbranch_scc0 1 (to 1008)
        0xbf80_0000, // 1004 s_nop 0
        0xbf80_0000, // 1008 s_nop 0
        0xbfa0_0001, // 100c s_branch 1 (to 1014)
        0xbf80_0000, // 1010 s_nop 0
        0xbfb0_0000, // 1014 s_endpgm
    ]);
    let of = |is: &dyn Fn(usize) -> bool| (0..6).filter(|n| is(*n)).collect::<Vec<_>>();
    assert_eq!(of(&|n| code.is_leader(n)), [2, 4, 5]);
    assert_eq!(of(&|n| code.is_block_start(n)), [0, 1, 2, 4, 5]);
    // s_subvector_loop_begin s0, 2 (to 100c): the executing lanes are unknown.
    let code = code_of(
        "gfx1030",
        &[0xbd80_0002, 0xbf80_0000, 0xbf80_0000, 0xbf81_0000],
        &[],
    );
    assert_eq!(edges(&code, 0), [Edge::Lost]);
    assert!(code.is_leader(3) && !code.is_leader(2));
}

/// `v_writelane_b32 v41, s0, 1; v_mov_b32 v5, v41`: v5 has scalar values, too.
#[test]
fn copies_of_lanes_are_lanes() {
    let code = code(&[0xd761_0029, 0x0001_0200, 0x7e0a_0329, 0xbfb0_0000]);
    let has = |n| code.has_lanes(MachineRegister::Vgpr(n));
    assert_eq!([5, 41, 6].map(has), [true, true, false]);
}

/// The block of the loop begins before the start of the analysis. States that return there are joined with the initial one.
#[test]
fn an_analysis_can_begin_within_a_block() {
    let code = code(&[
        0xbe80_0086, // 1000 s_mov_b32 s0, 6
        0xbe81_0000, // 1004 s_mov_b32 s1, s0
        0xbfa1_fffd, // 1008 s_cbranch_scc0 -3 (to 1000)
        0xbfb0_0000, // 100c s_endpgm
    ]);
    let mut entry = Box::new(Machine::new(|_| Number::Unknown));
    entry.scalars.set(MachineRegister::Sgpr(0), Number::Is(5));
    let Ok(solution) = solve(&code, 1, entry, &mut Constants(&code));
    let step = |state: &mut State, index| Constants(&code).step(state, index);
    let s0 = |index| {
        let state = solution.before(&code, index, step)?;
        state.scalars.get(MachineRegister::Sgpr(0)).word()
    };
    assert_eq!((s0(1), s0(2)), (None, None));
    assert_eq!([0, 1, 2].map(|index| solution.distance(index)), [0, 0, 1]);
}

#[test]
fn what_no_path_leads_to_is_not_replayed() {
    let code = code(&[
        0xbfa0_0001, // 1000 s_branch 1 (to 1008)
        0xbf80_0000, // 1004 s_nop 0
        0xbf80_0000, // 1008 s_nop 0
        0xbfb0_0000, // 100c s_endpgm
    ]);
    let entry = Box::new(Machine::new(|_| Number::Unknown));
    let Ok(solution) = solve(&code, 0, entry, &mut Constants(&code));
    let mut seen = Vec::new();
    solution.replay(&code, |_, index| seen.push(index));
    assert_eq!(seen, [0, 2, 3]);
}

#[test]
fn some_registers_are_forgotten_and_no_others() {
    let number = |register| {
        let MachineRegister::Sgpr(n) = register else {
            return Number::Unknown;
        };
        Number::Is(n.into())
    };
    let mut scalars = Scalars::all(number);
    scalars.forget_those(bit(MachineRegister::Sgpr(4)) | bit(MachineRegister::Sgpr(70)));
    let has = |n| scalars.get(MachineRegister::Sgpr(n)).word();
    assert_eq!(
        [3, 4, 5, 69, 70, 71].map(has),
        [Some(3), None, Some(5), Some(69), None, Some(71)]
    );
}

#[test]
fn constants_have_two_dwords() {
    let state: Machine<Numbers> = Machine::new(|_| Number::Unknown);
    let words = |operand| [0, 1].map(|n| state.operand(operand, n).word());
    assert_eq!(
        words(Operand::Integer(-2)),
        [Some(u32::MAX - 1), Some(u32::MAX)]
    );
    assert_eq!(words(Operand::Literal64(0x3_0000_0002)), [Some(2), Some(3)]);
    // The instruction determines how a 32-bit literal is extended.
    assert_eq!(words(Operand::Literal(7)), [Some(7), None]);
}

/// Returns the registers that functions write, by address.
fn writes(
    processor: &str,
    functions: &[(u64, &[u32])],
) -> impl Fn(u64, MachineRegister) -> Option<bool> + use<> {
    let processor = Processor::by_name(processor).unwrap();
    let decoder = Decoder::new(processor, None).unwrap();
    let bytes = |dwords: &[u32]| -> &'static [u8] {
        let bytes: Vec<u8> = dwords.iter().flat_map(|one| one.to_le_bytes()).collect();
        bytes.leak()
    };
    let functions: Vec<_> = functions
        .iter()
        .map(|(at, code)| (*at, bytes(code)))
        .collect();
    let callees = Callees::new(Some(decoder), functions);
    move |address, register| Some(callees.writes(address)?.contains(register))
}

#[test]
fn functions_write_what_their_callees_write() {
    use MachineRegister::{Sgpr, Vgpr};
    // s_branch 1 (to 1008); s_mov_b32 s40, 0 and v_mov_b32 v130, 0 there
    let found = writes(
        "gfx1100",
        &[
            (0x1000, &[0xbfa0_0001]),
            (0x1008, &[0xbea8_0080, 0x7f04_0280, 0xbe80_481e]),
        ],
    );
    let has = |register| found(0x1000, register);
    assert_eq!(
        [Sgpr(40), Vgpr(130), Sgpr(41), Vgpr(2)].map(has),
        [Some(true), Some(true), Some(false), Some(false)]
    );
    // v_accvgpr_write_b32 a3, 0
    let found = writes(
        "gfx90a",
        &[(0x1000, &[0xd3d9_4003, 0x1800_0080, 0xbe80_1d1e])],
    );
    let has = |register| found(0x1000, register);
    let a3 = MachineRegister::Agpr(3);
    assert_eq!([a3, Vgpr(3)].map(has), [Some(true), Some(false)]);
    // With s_set_vgpr_msb 5, v_mov_b32 v5, 0 writes another register.
    let found = writes(
        "gfx1250",
        &[(0x1000, &[0xbf86_0005, 0x7e0a_0280, 0xbe80_481e])],
    );
    assert_eq!(found(0x1000, Vgpr(5)), None);
}

/// The target of a call is known from the instructions before it, unless control may come from elsewhere.
#[test]
fn an_address_is_not_known_behind_a_branch_target() {
    let found = |branch: u32| {
        let caller = [
            branch,      // 1000
            0xbe84_4700, // 1004 s_getpc_b64 s[4:5]: 1008
            0x8004_9804, // 1008 s_add_u32 s4, s4, 24: 1020
            0x8205_8005, // 100c s_addc_u32 s5, s5, 0
            0xbe86_4904, // 1010 s_swappc_b64 s[6:7], s[4:5]
            0xbe80_481e, // 1014 s_setpc_b64 s[30:31]
        ];
        let callee = [0xbea8_0080, 0xbe80_481e];
        let found = writes("gfx1100", &[(0x1000, &caller), (0x1020, &callee)]);
        found(0x1000, MachineRegister::Sgpr(40))
    };
    // s_nop 0, and s_cbranch_scc1 3 (to 1010)
    assert_eq!(found(0xbf80_0000), Some(true));
    assert_eq!(found(0xbfa2_0003), None);
}
