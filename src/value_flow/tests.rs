//! Tests of values in code of a few instructions. The expected results follow from the instructions alone.

use super::expression::Operation;
use super::{Cell, Covered, Dword, KeptValue, KernelEntry, OnEntry, Recipe, Step, Watched, find};
use crate::arch::{Processor, ScratchAddressing, WaveSize};
use crate::isa::MachineRegister;
use crate::lane_flow::{Function, LaneFlow, Slot};
use crate::limits::Limits;
use crate::meter::Meter;
use std::sync::Arc;

/// Instructions of gfx1100, as llvm-mc encodes them.
mod code {
    /// `v_mov_b32 v5, v1`
    pub(super) const V5_IS_V1: u32 = 0x7e0a_0301;
    /// `v_mov_b32 v40, v1`
    pub(super) const V40_IS_V1: u32 = 0x7e50_0301;
    /// `v_mov_b32 v1, 0`
    pub(super) const V1_IS_0: u32 = 0x7e02_0280;
    /// `v_mov_b32 v5, 0`
    pub(super) const V5_IS_0: u32 = 0x7e0a_0280;
    /// `v_add_nc_u32 v1, 1, v1`
    pub(super) const V1_PLUS_1: u32 = 0x4a02_0281;
    /// `s_nop 0`
    pub(super) const NOP: u32 = 0xbf80_0000;
    /// `s_and_saveexec_b32 s0, vcc_lo`
    pub(super) const THEN: u32 = 0xbe80_206a;
    /// `s_xor_b32 s0, exec_lo, s0`
    pub(super) const OTHERS: u32 = 0x8d00_007e;
    /// `s_and_not1_saveexec_b32 s0, s0`
    pub(super) const ELSE: u32 = 0xbe80_3000;
    /// `s_or_b32 exec_lo, exec_lo, s0`
    pub(super) const END: u32 = 0x8c7e_007e;
    /// `s_swappc_b64 s[30:31], s[2:3]`
    pub(super) const CALL: u32 = 0xbe9e_4902;
    /// `s_cbranch_scc0` over one instruction
    pub(super) const SKIP_ONE: u32 = 0xbfa1_0001;
    /// `s_cbranch_scc1` three instructions back, from the one after it
    pub(super) const BACK_THREE: u32 = 0xbfa2_fffd;
    /// `s_setpc_b64 s[30:31]`
    pub(super) const RETURN: u32 = 0xbe80_481e;
    /// `scratch_store_b32 off, v1, s32 offset:4`
    pub(super) const STORE_V1: [u32; 2] = [0xdc69_0004, 0x0020_0100];
    /// `flat_store_b32 v[2:3], v4`
    pub(super) const STORE_ANYWHERE: [u32; 2] = [0xdc68_0000, 0x007c_0402];
    /// `v_dual_mov_b32 v4, v3 :: v_dual_mov_b32 v7, v0`
    pub(super) const DUAL: [u32; 2] = [0xca10_0103, 0x0406_0100];
    /// `v_lshl_add_u32 v1, v1, 1, v1`
    pub(super) const V1_TIMES_3: [u32; 2] = [0xd646_0001, 0x0405_0301];
    /// `v_lshlrev_b32 v1, 1, v1`
    pub(super) const V1_TIMES_2: u32 = 0x3002_0281;
    /// `v_lshlrev_b32 v0, 2, v0`
    pub(super) const V0_TIMES_4: u32 = 0x3000_0082;
    /// `v_add_nc_u32 v5, v1, v2`
    pub(super) const V5_IS_V1_PLUS_V2: u32 = 0x4a0a_0501;
    /// `v_xor_b32 v5, v1, v2`
    pub(super) const V5_IS_V1_XOR_V2: u32 = 0x3a0a_0501;
    /// `v_mov_b32 v2, 0`
    pub(super) const V2_IS_0: u32 = 0x7e04_0280;
    /// `v_readfirstlane_b32 s4, v1`
    pub(super) const S4_IS_FIRST_V1: u32 = 0x7e08_0501;
    /// `v_mov_b32 v6, s4`
    pub(super) const V6_IS_S4: u32 = 0x7e0c_0204;
    /// `s_load_b64 s[4:5], s[0:1], 0x10`
    pub(super) const LOAD_S4_FROM_16: [u32; 2] = [0xf404_0100, 0xf800_0010];
    /// `s_load_b64 s[4:5], s[6:7], 0x10`
    pub(super) const LOAD_S4_FROM_ELSEWHERE: [u32; 2] = [0xf404_0103, 0xf800_0010];
    /// `v_writelane_b32 v1, s4, 0`
    pub(super) const WRITE_LANE_0_OF_V1: [u32; 2] = [0xd761_0001, 0x0001_0004];
    /// `s_endpgm`
    pub(super) const END_PROGRAM: u32 = 0xbfb0_0000;
}
use code::*;

const START: u64 = 0x1000;

fn v(number: u16) -> Cell {
    Cell::Own(MachineRegister::Vgpr(number))
}

/// Returns a variable of one dword that is in v1 at these instructions, each of one dword.
fn in_v1(instructions: core::ops::Range<u64>) -> Watched {
    let addresses = START + instructions.start * 4..START + instructions.end * 4;
    let dwords = vec![Dword::In(v(1))];
    Watched {
        covered: vec![Covered { addresses, dwords }],
        ..Watched::default()
    }
}

/// Returns the kept value of a variable before the instruction at an offset, in dwords.
fn kept(dwords: &[u32], offset: u64, watched: Watched) -> Option<KeptValue> {
    let kept = kept_in(None, dwords, offset, watched);
    // v1 is an argument, which a caller could supply; here there is none.
    kept.filter(|kept| !kept.dwords.iter().any(Recipe::has_argument))
}

/// Returns the result of [`kept`], for a function or a kernel.
fn kept_in(
    kernel: Option<&KernelEntry>,
    dwords: &[u32],
    offset: u64,
    watched: Watched,
) -> Option<KeptValue> {
    let bytes: Vec<u8> = dwords.iter().flat_map(|one| one.to_le_bytes()).collect();
    let meter = Arc::new(Meter::new(&Limits::DEFAULT, 1 << 20));
    let processor = Processor::by_name("gfx1100").unwrap();
    let function = Function {
        address: START,
        code: &bytes,
        is_kernel: kernel.is_some(),
    };
    let flow = LaneFlow::new(processor, WaveSize::Wave32, [function], &meter);
    let (flow, index) = flow.function_at(START + offset * 4, &meter).unwrap();
    let kept = find(&flow, index, &[watched], kernel, &meter);
    kept.halves.first().unwrap().first().cloned().flatten()
}

/// Returns the steps that read its only dword.
fn steps(found: Option<KeptValue>) -> Option<Vec<Step>> {
    match found?.dwords.as_slice() {
        [Recipe(steps)] => Some(steps.to_vec()),
        other => panic!("{other:?}"),
    }
}

fn register(number: u16) -> Step {
    Step::Register(v(number))
}

/// Returns a register plus a constant.
fn plus(number: u16, more: i32) -> Option<Vec<Step>> {
    let more = Step::Word(more.cast_unsigned());
    Some(vec![register(number), more, Step::Apply(Operation::Add)])
}

fn in_register(number: u16) -> Option<Vec<Step>> {
    Some(vec![register(number)])
}

/// Returns a variable with these places on entry, according to the debugging information.
fn on_entry(dwords: &[Dword]) -> Watched {
    Watched {
        on_entry: Some(OnEntry {
            address: START,
            dwords: dwords.to_vec(),
            is_assumed: false,
        }),
        ..Watched::default()
    }
}

#[test]
fn a_copy_keeps_what_is_overwritten() {
    let code = [V5_IS_V1, V1_IS_0, NOP, RETURN];
    let found = kept(&code, 2, in_v1(0..1));
    assert_eq!(found.as_ref().unwrap().as_of, Some(START));
    assert_eq!(steps(found), in_register(5));
    // Before that, the place itself is unchanged.
    assert_eq!(steps(kept(&code, 1, in_v1(0..1))), in_register(1));
}

/// Reading the old place without a proof that it is unchanged is the most frequent mistake.
#[test]
fn without_a_copy_it_is_gone() {
    assert_eq!(kept(&[NOP, V1_IS_0, NOP, RETURN], 2, in_v1(0..1)), None);
}

#[test]
fn a_sum_with_a_constant_is_undone() {
    let code = [NOP, V1_PLUS_1, V1_PLUS_1, NOP, RETURN];
    let found = steps(kept(&code, 3, in_v1(0..1)));
    assert_eq!(found, plus(1, -2));
}

/// Lanes that skip a block keep their values; the values of lanes that may have executed it become unknown.
#[test]
fn what_some_lanes_overwrite_is_kept_for_the_others_only() {
    let code = [
        V5_IS_V1, V1_IS_0, THEN, V5_IS_0, OTHERS, ELSE, NOP, END, NOP, RETURN,
    ];
    let at = |offset| steps(kept(&code, offset, in_v1(0..1)));
    assert_eq!(at(3), in_register(5));
    assert_eq!(at(4), None);
    assert_eq!(at(8), None);
}

#[test]
fn a_block_of_other_lanes_leaves_a_lane_alone() {
    // `s0 = exec & !vcc` contains, after OTHERS, the lanes of the other block, which ELSE switches on.
    let code = [
        V5_IS_V1, V1_IS_0, THEN, OTHERS, V5_IS_0, ELSE, NOP, END, NOP, RETURN,
    ];
    let at = |offset| steps(kept(&code, offset, in_v1(0..1)));
    assert_eq!(at(6), in_register(5));
    assert_eq!(at(8), None);
}

#[test]
fn a_call_leaves_what_the_convention_preserves() {
    let both = [V5_IS_V1, V40_IS_V1, V1_IS_0, CALL, NOP, RETURN];
    assert_eq!(steps(kept(&both, 4, in_v1(0..1))), in_register(40));
    let one = [V5_IS_V1, V1_IS_0, CALL, NOP, RETURN];
    assert_eq!(kept(&one, 3, in_v1(0..1)), None);
}

/// If two paths meet, a value from only one of them is unknown.
#[test]
fn what_one_path_overwrites_is_gone() {
    let code = [V5_IS_V1, V1_IS_0, SKIP_ONE, V5_IS_0, NOP, RETURN];
    assert_eq!(kept(&code, 4, in_v1(0..1)), None);
    let code = [V5_IS_V1, V1_IS_0, SKIP_ONE, NOP, NOP, RETURN];
    assert_eq!(steps(kept(&code, 4, in_v1(0..1))), in_register(5));
}

/// A dual instruction that defines a variable is covered by its range: the place has another value before it.
#[test]
fn what_the_first_covered_instruction_writes_is_not_taken() {
    let code = [V5_IS_V1, V1_IS_0, NOP, RETURN];
    assert_eq!(kept(&code, 2, in_v1(1..2)), None);
    // If the range covers another instruction, the value is known.
    let found = steps(kept(
        &[V1_IS_0, V5_IS_V1, V1_PLUS_1, NOP, RETURN],
        3,
        in_v1(0..2),
    ));
    assert_eq!(found, Some(vec![Step::Word(0)]));
}

/// In the next iteration of a loop, a copy from the previous one is not a copy of the current value.
#[test]
fn a_copy_of_an_earlier_round_is_another_value() {
    // v5 = v1; v1 += 1; while scc; v1 = 0
    let code = [NOP, V1_PLUS_1, V5_IS_V1, BACK_THREE, V1_IS_0, NOP, RETURN];
    assert_eq!(steps(kept(&code, 5, in_v1(2..4))), in_register(5));
    // Described before the sum: v5 is greater by one.
    let found = steps(kept(&code, 5, in_v1(0..2)));
    assert_eq!(found, plus(5, -1));
}

#[test]
fn rows_of_scratch_keep_values_until_an_unknown_store() {
    let slot = Slot {
        base: Some(MachineRegister::Sgpr(32)),
        addressing: ScratchAddressing::Flat,
        offset: 4,
    };
    let [a, b] = STORE_V1;
    let found = steps(kept(&[a, b, V1_IS_0, NOP, RETURN], 3, in_v1(0..2)));
    assert_eq!(found, Some(vec![Step::Row(slot)]));
    let [c, d] = STORE_ANYWHERE;
    assert_eq!(
        kept(&[a, b, V1_IS_0, c, d, NOP, RETURN], 5, in_v1(0..2)),
        None
    );
    // A called function may have the address of the row.
    let called = kept(&[a, b, V1_IS_0, CALL, NOP, RETURN], 4, in_v1(0..2));
    assert_eq!(called, None);
}

#[test]
fn both_parts_of_a_dual_instruction_copy() {
    let [a, b] = DUAL;
    let on_entry = |register: u16, is_assumed| {
        let mut watched = on_entry(&[Dword::In(v(register))]);
        watched.on_entry.as_mut().unwrap().is_assumed = is_assumed;
        watched
    };
    let code = [a, b, NOP, RETURN];
    // A copy shows that the caller passed it; the register itself does not.
    assert_eq!(steps(kept(&code, 2, on_entry(3, true))), in_register(4));
    assert_eq!(steps(kept(&code, 2, on_entry(0, true))), in_register(7));
    assert_eq!(kept(&code, 2, on_entry(1, true)), None);
    assert_eq!(steps(kept(&code, 2, on_entry(1, false))), in_register(1));
    assert_eq!(kept(&code, 2, on_entry(1, false)).unwrap().as_of, None);
}

/// A scalar value that is put into one lane may be put into this lane.
#[test]
fn a_lane_that_a_scalar_may_overwrite_is_unknown() {
    let [write, lane] = WRITE_LANE_0_OF_V1;
    assert_eq!(kept(&[NOP, write, lane, NOP, RETURN], 3, in_v1(0..1)), None);
}

/// Entering an inlined call again begins another activation, whose variables do not have the values of the previous one.
#[test]
fn another_activation_knows_nothing_of_the_one_before() {
    // The call is the whole loop.
    let code = [NOP, V5_IS_V1, V1_PLUS_1, BACK_THREE, NOP, RETURN];
    let watched = |activation| Watched {
        activation,
        ..in_v1(1..2)
    };
    let whole = START..START + 24;
    assert!(kept(&code, 4, in_v1(1..2)).is_some());
    assert!(kept(&code, 1, watched(vec![whole])).is_none());
    let body = START + 4..START + 16;
    assert!(kept(&code, 1, watched(vec![body])).is_none());
    // The code of the call is in two parts, and other code is executed between them.
    let code = [V5_IS_V1, NOP, NOP, NOP, RETURN];
    let parts = vec![START..START + 4, START + 8..START + 20];
    let in_first_part = |activation| Watched {
        activation,
        ..in_v1(0..1)
    };
    assert!(kept(&code, 3, in_first_part(vec![])).is_some());
    assert!(kept(&code, 3, in_first_part(parts)).is_none());
}

/// A value times three, modulo 2^32, determines the value: three times `0xaaaa_aaab` is 2 * 2^32 + 1.
#[test]
fn a_product_with_an_odd_number_is_undone() {
    let [a, b] = V1_TIMES_3;
    let found = steps(kept(&[NOP, a, b, NOP, RETURN], 3, in_v1(0..1)));
    let inverse = Step::Word(0xaaaa_aaab);
    let expected = vec![register(1), inverse, Step::Apply(Operation::Mul)];
    assert_eq!(found, Some(expected));
    // One bit is lost.
    assert_eq!(kept(&[NOP, V1_TIMES_2, NOP, RETURN], 2, in_v1(0..1)), None);
}

#[test]
fn a_sum_is_solved_for_one_of_its_parts() {
    // v5 = v1 + v2; v1 = 0
    let code = [NOP, V5_IS_V1_PLUS_V2, V1_IS_0, NOP, RETURN];
    let found = steps(kept(&code, 3, in_v1(0..1)));
    let minus_v2 = [
        register(2),
        Step::Word(u32::MAX),
        Step::Apply(Operation::Mul),
    ];
    let mut expected = vec![register(5)];
    expected.extend(minus_v2);
    expected.push(Step::Apply(Operation::Add));
    assert_eq!(found, Some(expected));
    // Without the other operand, the value is lost.
    let code = [NOP, V5_IS_V1_PLUS_V2, V1_IS_0, V2_IS_0, NOP, RETURN];
    assert_eq!(kept(&code, 4, in_v1(0..1)), None);
}

#[test]
fn an_exclusive_or_is_solved() {
    let code = [NOP, V5_IS_V1_XOR_V2, V1_IS_0, NOP, RETURN];
    let found = steps(kept(&code, 3, in_v1(0..1)));
    let expected = vec![register(5), register(2), Step::Apply(Operation::Xor)];
    assert_eq!(found, Some(expected));
}

/// Results of the same operation on equal dwords are equal, and an overwritten result is computed again.
#[test]
fn a_value_is_computed_again_from_what_it_was_made_of() {
    let in_v5 = Watched {
        covered: vec![Covered {
            addresses: START + 4..START + 8,
            dwords: vec![Dword::In(v(5))],
        }],
        ..Watched::default()
    };
    let code = [V5_IS_V1_XOR_V2, NOP, V5_IS_0, NOP, RETURN];
    let found = kept(&code, 3, in_v5);
    let expected = vec![register(1), register(2), Step::Apply(Operation::Xor)];
    assert_eq!(steps(found), Some(expected));
}

/// The first active lane may be another lane, whose dword does not determine the followed lane's.
#[test]
fn the_first_active_lane_is_another_one() {
    let code = [S4_IS_FIRST_V1, V6_IS_S4, V1_IS_0, NOP, RETURN];
    assert_eq!(kept(&code, 3, in_v1(0..1)), None);
}

fn kernel() -> KernelEntry {
    KernelEntry {
        kernarg_pointer: Some([MachineRegister::Sgpr(0), MachineRegister::Sgpr(1)]),
        known: vec![v(0)],
    }
}

#[test]
fn an_argument_that_the_kernel_has_loaded_is_in_its_registers() {
    let [a, b] = LOAD_S4_FROM_16;
    let argument = |offset| on_entry(&[Dword::Kernarg(offset)]);
    let code = [a, b, NOP, END_PROGRAM];
    let at = |watched| steps(kept_in(Some(&kernel()), &code, 2, watched));
    let s = |number| {
        Some(vec![Step::Register(Cell::Scalar(MachineRegister::Sgpr(
            number,
        )))])
    };
    assert_eq!(at(argument(16)), s(4));
    assert_eq!(at(argument(20)), s(5));
    assert_eq!(at(argument(24)), None);
    // In a function, s[0:1] do not hold this address, and in a kernel, s[6:7] do not.
    assert_eq!(kept(&code, 2, argument(16)), None);
    let [a, b] = LOAD_S4_FROM_ELSEWHERE;
    let code = [a, b, NOP, END_PROGRAM];
    let elsewhere = kept_in(Some(&kernel()), &code, 2, argument(16));
    assert_eq!(elsewhere, None);
}

/// `v_lshlrev_b32 v0, 2, v0` loses two bits, but the dispatch determines the initial v0.
#[test]
fn what_follows_from_the_dispatch_needs_no_register() {
    let code = [V0_TIMES_4, NOP, END_PROGRAM];
    let in_v0 = || on_entry(&[Dword::In(v(0))]);
    let found = steps(kept_in(Some(&kernel()), &code, 1, in_v0()));
    assert_eq!(found, Some(vec![Step::Initial(v(0))]));
    assert_eq!(kept(&code, 1, in_v0()), None);
}

/// A kernel is not passed v40, so v40 holds no variable before its first write. A range that begins with the write therefore refers to the
/// result.
#[test]
fn a_range_that_begins_with_the_first_write_of_a_register_means_what_is_written() {
    let in_v40 = || Watched {
        covered: vec![Covered {
            addresses: START..START + 4,
            dwords: vec![Dword::In(v(40))],
        }],
        ..Watched::default()
    };
    let code = [V40_IS_V1, NOP, NOP, END_PROGRAM];
    let found = kept_in(Some(&kernel()), &code, 2, in_v40());
    assert_eq!(found.as_ref().unwrap().as_of, Some(START));
    // v1 and v40 are equal; either may be read.
    assert_eq!(steps(found), in_register(1));
    // At the second write, it may hold the earlier variable.
    let second = Watched {
        covered: vec![Covered {
            addresses: START + 4..START + 8,
            dwords: vec![Dword::In(v(40))],
        }],
        ..Watched::default()
    };
    let code = [V40_IS_V1, V40_IS_V1, NOP, END_PROGRAM];
    assert_eq!(kept_in(Some(&kernel()), &code, 2, second), None);
}
