//! Tests of the transfer function and its lattice. The code is encoded by llvm-mc 22; the manuals of the instruction sets define its
//! effects.

use super::decode_rule::{self, DecodedRule, ScalarPlace, VectorPlace};
use super::mask::{Mask, Part};
use super::memory::leaves_alone;
use super::slot::{Base, Slot};
use super::state::{State, scalar_index};
use super::step::Context;
use super::value::{Scalar, Verdict};
use super::vector::{LaneValue, Vector};
use super::{Dword, RowRule, SavedLanes, find_value};
use crate::abi::{Callees, Convention};
use crate::arch::{AddressSpace, Processor, Register, ScratchAddressing, WaveSize};
use crate::expr::{Encoding, ParseOptions, parse};
use crate::frame::{CfaRule, RegisterRule, RuleExpression};
use crate::isa::{Decoder, Effect, MachineRegister, Operand, Span};
use crate::limits::Limits;
use crate::machine_flow::{Code, Lanes as _, Row as _};
use crate::meter::Meter;

use MachineRegister::{Agpr, Sgpr, Vgpr};

const START: u64 = 0x1000;

/// Runs a function in the context of these dwords.
fn within<T>(
    processor: &str,
    wave_size: WaveSize,
    dwords: &[u32],
    with: impl FnOnce(&Context<'_>) -> T,
) -> T {
    let processor = Processor::by_name(processor).unwrap();
    let decoder = Decoder::new(processor, Some(wave_size)).unwrap();
    let callees = Callees::new(None, []);
    let bytes: Vec<u8> = dwords.iter().flat_map(|one| one.to_le_bytes()).collect();
    let code = Code::new(&decoder, &callees, START, &bytes).unwrap();
    let addressing = match wave_size {
        WaveSize::Wave32 => ScratchAddressing::Flat,
        WaveSize::Wave64 => ScratchAddressing::Buffer,
    };
    with(&Context {
        wave_size,
        convention: Convention::Llvm,
        code: &code,
        addressing: Some(addressing),
        callees: &callees,
        start: START,
        meter: &Meter::new(&Limits::DEFAULT, 0),
    })
}

/// Executes code of gfx1100 with 32 lanes from its start.
fn run(state: &mut State, dwords: &[u32]) {
    within("gfx1100", WaveSize::Wave32, dwords, |context| {
        let code = context.code.instructions.iter();
        code.for_each(|one| context.step(state, one));
    });
}

/// Executes code of gfx90a with 64 lanes.
fn run_64(state: &mut State, dwords: &[u32]) {
    within("gfx90a", WaveSize::Wave64, dwords, |context| {
        let code = context.code.instructions.iter();
        code.for_each(|one| context.step(state, one));
    });
}

const fn plus(plus: i32) -> Scalar {
    Scalar::Entry { register: 32, plus }
}

#[test]
fn sums_and_roundings_of_the_stack_pointer_are_followed() {
    let mut state = State::entry();
    // s_add_i32 s33, 16, s32
    run(&mut state, &[0x8121_2090]);
    assert_eq!(state.scalar(33), plus(16));
    // s_mov_b32 s4, 1; s_add_i32 s5, s4, 2
    run(&mut state, &[0xbe84_0081, 0x8105_8204]);
    assert_eq!(state.scalar(5), Scalar::Constant(3));
    // s_and_b32 s34, s4, -64: only the stack pointer can be rounded.
    let mut state = State::entry();
    run(&mut state, &[0x8b22_ff04, 0xffff_ffc0]);
    assert_eq!(state.scalar(34), Scalar::Other);
    // s_and_b32 s33, s32, -64. The second result may be another number, and s33 still holds the first one.
    run(&mut state, &[0x8b21_ff20, 0xffff_ffc0]);
    assert_eq!(state.scalar(33), Scalar::Aligned { at: 0, plus: 0 });
    run(&mut state, &[0x8b21_ff20, 0xffff_ffc0]);
    assert_eq!(state.scalar(33), Scalar::Unknown);
    // Another register does not move the top of the stack.
    let mut state = State::entry();
    state.set_scalar(
        32,
        Scalar::Entry {
            register: 33,
            plus: 8,
        },
        0,
    );
    assert_eq!(state.stack_top(), plus(0));
    state.set_scalar(32, plus(8), 0);
    assert_eq!(state.stack_top(), plus(8));
}

#[test]
fn a_sum_of_two_registers_is_an_address() {
    // s_getpc_b64 s[4:5]; s_add_nc_u64 s[4:5], s[4:5], 8
    let found = within(
        "gfx1200",
        WaveSize::Wave32,
        &[0xbe84_4700, 0xa984_8804],
        |context| {
            let mut state = State::entry();
            let code = context.code.instructions.iter();
            code.for_each(|one| context.step(&mut state, one));
            [state.scalar(4), state.scalar(5)]
        },
    );
    let address = START + 4 + 8;
    let half = |high| Scalar::CodeAddress { address, high };
    assert_eq!(found, [half(false), half(true)]);
}

/// Returns a mask, as a condition of a distant instruction.
fn condition() -> Mask {
    Mask::condition(0x80).and(Mask::ENTRY)
}

#[test]
fn masks_are_followed_dword_by_dword() {
    let low = |mask| Scalar::of_mask(mask, false);
    let high = |mask| Scalar::of_mask(mask, true);
    // s_mov_b64 exec, s[4:5]
    let exec = |halves: [Scalar; 2]| {
        let mut state = State::entry();
        state.set_scalar(4, halves[0], 0);
        state.set_scalar(5, halves[1], 0);
        run_64(&mut state, &[0xbefe_0104]);
        state.exec
    };
    assert_eq!(exec([low(condition()), high(condition())]), condition());
    assert_eq!(exec([low(condition()), high(Mask::ENTRY)]), Mask::UNKNOWN);
    // s_not_b32 s4, s4 changes half of it.
    let mut state = State::entry();
    state.set_scalar(4, low(condition()), 0);
    state.set_scalar(5, high(condition()), 0);
    run_64(&mut state, &[0xbe84_0404]);
    assert_eq!(state.scalar(4), Scalar::Other);
    let of_exec = |count| {
        let first = MachineRegister::ExecLo;
        let operand = Operand::Registers(Span { first, count });
        State::entry().mask(operand, WaveSize::Wave64)
    };
    assert_eq!([1, 2].map(of_exec), [Mask::UNKNOWN, Mask::ENTRY]);
    // s_nand_saveexec_b32 s6, s7
    let mut state = State::entry();
    state.set_scalar(7, low(Mask::ENTRY), 0);
    run(&mut state, &[0xbe86_2607]);
    assert_eq!(state.exec, Mask::ENTRY.not());
    assert_eq!(state.scalar(6), low(Mask::ENTRY));
    // s_and_b32 s4, s6, exec_lo: the result of an unknown mask is a new condition within EXEC.
    let mut state = State::entry();
    state.set_scalar(6, Scalar::Unknown, 0);
    run(&mut state, &[0x8b04_7e06]);
    assert_eq!(state.scalar(4), low(Mask::condition(0).and(Mask::ENTRY)));
}

/// A condition that an instruction computes again differs from the earlier one, wherever that is.
#[test]
fn a_condition_that_is_found_anew_is_another() {
    let old = Scalar::of_mask(Mask::condition(0).and(Mask::ENTRY), false);
    let again = |dwords: &[u32], input: Scalar| {
        let mut state = State::entry();
        state.set_scalar(6, input, 0);
        state.set_scalar(9, old, 0);
        run(&mut state, dwords);
        state.scalar(9).depends_on(0)
    };
    // v_cmp_eq_u32 s6, 0, v0; s_and_saveexec_b32 s4, s6; s_and_b32 s4, s6, exec_lo
    assert!(!again(&[0xd44a_0006, 0x0002_0080], Scalar::Unknown));
    assert!(!again(&[0xbe84_2006], Scalar::Unknown));
    assert!(!again(&[0x8b04_7e06], Scalar::Unknown));
    // A known mask needs no new condition.
    assert!(again(&[0xbe84_2006], Scalar::of_mask(Mask::ENTRY, false)));

    let slot = Slot {
        base: Base::Entry,
        offset: 8,
    };
    let mut vector = Vector::of_register(Vgpr(5));
    vector.set_lane(2, old, 0);
    let mut state = State::entry();
    state.exec = Mask::condition(0).and(Mask::ENTRY);
    state.set_vector(Vgpr(5), vector.clone());
    state.set_row(slot, vector);
    state.forget(0);
    assert!(!state.exec.depends_on(0));
    assert_eq!(
        (state.exec.active(), state.exec.inactive()),
        (Part::Less, Part::None)
    );
    assert!(!state.vector(Vgpr(5)).lane(2).depends_on(0));
    assert!(!state.row(slot).lane(2).depends_on(0));
    // Offsets are distinguished at any distance from the start.
    assert!(!Mask::condition(0x400).depends_on(0));
    assert_eq!(old.forget(4), old);
}

#[test]
fn what_was_rounded_is_known_wherever_it_is() {
    let has = |change: &dyn Fn(&mut State)| {
        let mut state = State::entry();
        change(&mut state);
        (state.has_aligned(4), state.has_aligned(8))
    };
    let aligned = Scalar::Aligned { at: 4, plus: 16 };
    assert_eq!(has(&|_| {}), (false, false));
    assert_eq!(
        has(&|state| state.set_scalar(33, aligned, 0)),
        (true, false)
    );
    assert_eq!(
        has(&|state| state.change_vector(Vgpr(5), |one| one.set_lane(0, aligned, 0))),
        (true, false)
    );
    let slot = Slot {
        base: Base::Aligned(4),
        offset: 0,
    };
    assert_eq!(
        has(&|state| state.set_row(slot, Vector::UNKNOWN)),
        (true, false)
    );
    // It may be the stack pointer on entry, if this pointer was already rounded. It is no other register's value.
    assert_eq!(aligned.is_entry_of(32), Verdict::Unknown);
    assert_eq!(aligned.is_entry_of(33), Verdict::Different);
}

#[test]
fn a_callee_has_the_slots_from_its_stack_pointer_up() {
    let slot = |base, offset| Slot { base, offset };
    let given = |offset| slot(Base::Entry, offset).is_given_with(slot(Base::Entry, 16));
    assert_eq!([12, 16, 20].map(given), [false, true, true]);
    let (one, other) = (slot(Base::Aligned(4), 0), slot(Base::Aligned(8), 0));
    assert!(one.is_comparable(one) && !one.is_comparable(other));
    assert!(!other.is_given_with(one));
}

#[test]
fn instructions_write_the_lanes_of_exec() {
    let verdicts = |state: &State| {
        let vector = state.vector(Vgpr(5));
        [
            vector.active.is_entry_of(Vgpr(5)),
            vector.inactive.is_entry_of(Vgpr(5)),
        ]
    };
    // v_add_nc_u32 v5, v0, v1
    let mut state = State::entry();
    run(&mut state, &[0x4a0a_0300]);
    assert_eq!(verdicts(&state), [Verdict::Different, Verdict::Same]);
    // s_mov_b32 exec_lo, 0; v_mov_b32 v5, 0
    let mut state = State::entry();
    run(&mut state, &[0xbefe_0080, 0x7e0a_0280]);
    assert!(state.vectors.get(Vgpr(5)).is_none());
    let mut vector = Vector::of_register(Vgpr(5));
    vector.set_lane(2, Scalar::Constant(1), 8);
    vector.set_lane(2, Scalar::Constant(2), 12);
    assert_eq!(vector.lanes(2), [Scalar::Constant(2); 2]);
    assert_eq!(vector.written_at, 12);
    assert_eq!(vector.active.is_entry_of(Vgpr(5)), Verdict::Different);
    let mut vector = Vector::of_register(Vgpr(5));
    vector.set_lane(2, Scalar::Unknown, 8);
    assert_eq!(vector.active.is_entry_of(Vgpr(5)), Verdict::Unknown);
    // A change of the other lanes alone is also a change.
    let mut state = State::entry();
    let mut other = State::entry();
    other.exec = condition();
    assert!(state.join(&other) && !state.join(&other));
}

/// `s_swappc_b64 s[30:31], s[4:5]`, to an unknown place: LLVM's functions preserve s34, and not s5.
#[test]
fn a_call_loses_what_callees_may_write() {
    let mut state = State::entry();
    run(&mut state, &[0xbe9e_4904]);
    let found = [5, 34, 30].map(|n| state.scalar(n));
    assert_eq!(found, [Scalar::Unknown, Scalar::entry(34), Scalar::Other]);
}

/// In GCC's functions, s14 to s17 are followed: the frame and the stack pointer, of 64 bits each.
#[test]
fn of_gcc_the_stack_alone_is_followed() {
    let after = |dword: u32| {
        within("gfx90a", WaveSize::Wave64, &[dword], |context| {
            let context = Context {
                convention: Convention::Gcc,
                ..Context { ..*context }
            };
            let mut state = State::entry();
            context.step(&mut state, &context.code.instructions[0]);
            [4, 16, 17].map(|n| state.scalar(n))
        })
    };
    let entry = Scalar::entry;
    // s_mov_b32 s17, s4; v_readfirstlane_b32 s16, v0; s_mov_b32 s4, s16
    assert_eq!(after(0xbe91_0004), [entry(4), entry(16), entry(4)]);
    assert_eq!(after(0x7e20_0500), [entry(4), Scalar::Unknown, entry(17)]);
    assert_eq!(after(0xbe84_0010), [entry(4), entry(16), entry(17)]);
}

#[test]
fn a_store_that_may_go_to_a_saved_slot_does_not_leave_it_alone() {
    // scratch_store_b32 off, v5, s33
    let alone = |base: Scalar, saved: i64, more: Option<Slot>| {
        let dwords = [0xdc69_0000, 0x0021_0500];
        within("gfx1100", WaveSize::Wave32, &dwords, |context| {
            let mut state = State::entry();
            state.set_scalar(33, base, 0);
            if let Some(slot) = more {
                state.set_row(slot, Vector::COMPUTED);
            }
            let Effect::Store(access) = context.code.instructions[0].effect else {
                panic!("no store");
            };
            leaves_alone(&state, &access, WaveSize::Wave32, &[saved])
        })
    };
    // Slots are distances in bytes of the wave.
    assert!(!alone(plus(4), 4 * 32, None));
    assert!(alone(plus(4), 0, None) && alone(plus(4), 8 * 32, None));
    let aligned = Scalar::Aligned { at: 0, plus: 4 };
    assert!(!alone(aligned, 0, None));
    let other = Slot {
        base: Base::Aligned(8),
        offset: 0,
    };
    assert!(!alone(plus(4), 0, Some(other)));
}

fn bytes(text: &str) -> Vec<u8> {
    let parsed = parse(text, &ParseOptions::default()).unwrap();
    parsed.encode(Encoding::AMDGPU).unwrap()
}

/// Returns the rule of a register of this many dwords in a wave of 32 lanes, given by an expression for its place or its value.
fn rule(text: &str, dwords: u8, is_value: bool) -> DecodedRule {
    let bytes = bytes(text);
    let expression = RuleExpression::from(&*bytes);
    let rule = match is_value {
        true => RegisterRule::ValExpression(expression),
        false => RegisterRule::Expression(expression),
    };
    decode_rule::register(rule, dwords, Encoding::AMDGPU, WaveSize::Wave32)
}

#[test]
fn rules_are_read_as_far_as_they_can_be_checked() {
    let of = |rule, dwords| decode_rule::register(rule, dwords, Encoding::AMDGPU, WaveSize::Wave32);
    let scaled = |shift, plus| DecodedRule::CfaScaled { shift, plus };
    assert_eq!(of(RegisterRule::ValOffset(0), 1), scaled(0, 0));
    assert_eq!(of(RegisterRule::Offset(0), 1), DecodedRule::None);
    let vcc = Register::vcc(WaveSize::Wave64).number();
    let half = |one| ScalarPlace::Scalar(scalar_index(one).unwrap());
    let halves = [half(MachineRegister::VccLo), half(MachineRegister::VccHi)];
    assert_eq!(
        of(RegisterRule::Register(vcc.into()), 2),
        DecodedRule::Pair(halves)
    );

    let lane = |lane| {
        DecodedRule::Scalar(ScalarPlace::Lane {
            vector: Vgpr(9),
            lane,
        })
    };
    assert_eq!(
        rule("DW_OP_regx VGPR9, DW_OP_LLVM_offset_uconst 8", 1, false),
        lane(2)
    );
    assert_eq!(
        rule("DW_OP_regx VGPR9, DW_OP_LLVM_offset_uconst 2", 1, false),
        DecodedRule::None
    );
    let register = DecodedRule::Vector(VectorPlace::Register(Vgpr(9)));
    assert_eq!(
        rule("DW_OP_regx VGPR9, DW_OP_piece 128", u8::MAX, false),
        register
    );
    assert_eq!(
        rule("DW_OP_regx VGPR9, DW_OP_piece 64", u8::MAX, false),
        DecodedRule::None
    );
    let select = |mask: &str| {
        let text =
            format!("DW_OP_regx VGPR9, DW_OP_swap, {mask}, DW_OP_LLVM_select_bit_piece 32 32");
        rule(&text, u8::MAX, false)
    };
    assert!(matches!(
        select("DW_OP_LLVM_call_frame_entry_reg EXEC, DW_OP_deref_size 4"),
        DecodedRule::Vector(VectorPlace::Select(_))
    ));
    assert_eq!(select("DW_OP_lit1"), DecodedRule::None);

    assert_eq!(
        rule("DW_OP_lit4, DW_OP_plus, DW_OP_lit5, DW_OP_shl", 1, true),
        scaled(5, 128)
    );
    assert_eq!(rule("DW_OP_lit5, DW_OP_shr", 1, true), scaled(-5, 0));
    // The shift would lose bits.
    assert_eq!(
        rule("DW_OP_lit4, DW_OP_plus, DW_OP_lit5, DW_OP_shr", 1, true),
        DecodedRule::None
    );
}

#[test]
fn a_cfa_of_two_registers_is_of_neighbours() {
    let of = |high: u16| {
        let bytes = bytes(&format!(
            "DW_OP_bregx SGPR{high} 0, DW_OP_const1u 32, DW_OP_shl, DW_OP_bregx SGPR16 0, DW_OP_plus"
        ));
        let expression = RuleExpression::from(&*bytes);
        let cfa = decode_rule::cfa(CfaRule::Expression(expression), Encoding::AMDGPU);
        cfa.map(|cfa| (cfa.number.register, cfa.number.pair))
    };
    assert_eq!(of(17), Some((16, true)));
    assert_eq!(of(18), None);
}

#[test]
fn places_are_suggested_that_have_the_value() {
    let sgpr = |n| Dword::Scalar(Sgpr(n));
    // A copy of a register is not preferred to the register itself.
    let mut state = State::entry();
    state.set_scalar(4, Scalar::entry(5), 0);
    assert_eq!(find_value::dwords(&state, &[5]), RowRule::SameValue);
    state.set_scalar(5, Scalar::Other, 0);
    assert_eq!(
        find_value::dwords(&state, &[5]),
        RowRule::Dwords(vec![sgpr(4)])
    );
    // A lane is not suggested if it has the value only when it was active on entry.
    let mut vector = Vector::of_register(Vgpr(9));
    vector.set_lane(2, Scalar::entry(34), 0);
    state.set_scalar(34, Scalar::Other, 0);
    state.set_vector(Vgpr(9), vector.clone());
    let lane = Dword::Lane(Vgpr(9), 2);
    assert_eq!(
        find_value::dwords(&state, &[34]),
        RowRule::Dwords(vec![lane])
    );
    vector.write(Mask::ENTRY.not(), &Vector::all(LaneValue::Other, 0), 0);
    state.set_vector(Vgpr(9), vector);
    assert_eq!(find_value::dwords(&state, &[34]), RowRule::Other);
    for (n, high) in [(6, false), (7, true)] {
        state.set_scalar(n, Scalar::of_mask(Mask::ENTRY, high), 0);
    }
    let exec = |wave_size| find_value::exec(&state, wave_size);
    assert_eq!(
        exec(WaveSize::Wave64),
        RowRule::Dwords(vec![sgpr(6), sgpr(7)])
    );
    assert_eq!(exec(WaveSize::Wave32), RowRule::Dwords(vec![sgpr(6)]));

    within("gfx1100", WaveSize::Wave32, &[0xbf80_0000], |context| {
        let mut state = State::entry();
        state.set_scalar(4, plus(16), 0);
        state.set_scalar(32, Scalar::Other, 0);
        let cfa = |register, plus| RowRule::Cfa {
            register: Sgpr(register),
            shift: 5,
            plus,
            space: AddressSpace::PrivateWave,
        };
        assert_eq!(find_value::cfa(context, &state), cfa(4, -16 * 32));
        state.set_scalar(33, plus(0), 0);
        assert_eq!(find_value::cfa(context, &state), cfa(33, 0));

        for of in [Vgpr(40), Agpr(3)] {
            let mut state = State::entry();
            let find = |state: &State| find_value::vector(context, state, of);
            assert_eq!(find(&state), RowRule::SameValue);
            state.set_vector(of, Vector::COMPUTED);
            let aligned = Slot {
                base: Base::Aligned(4),
                offset: 4,
            };
            state.set_row(aligned, Vector::of_register(of));
            assert_eq!(find(&state), RowRule::Other);
            let mut state = State::entry();
            state.set_vector(of, Vector::COMPUTED);
            let slot = Slot {
                base: Base::Entry,
                offset: 4,
            };
            state.set_row(slot, Vector::of_register(of));
            assert_eq!(find(&state), RowRule::Scratch(4 * 32, SavedLanes::All));
        }
    });
}

/// Registers and scratch are unknown after they were lost, here or on another path.
#[test]
fn what_is_lost_is_unknown() {
    let of = Vgpr(40);
    let verdict = |vector: &Vector| vector.active.is_entry_of(of);
    let lost = || {
        let mut state = State::entry();
        state.lose_vectors();
        state
    };
    assert_eq!(verdict(&lost().vector(of)), Verdict::Unknown);
    let mut state = State::entry();
    assert!(state.join(&lost()));
    assert_eq!(verdict(&state.vector(of)), Verdict::Unknown);

    let slot = |base, offset| Slot { base, offset };
    let own = slot(Base::Entry, 0);
    let stored = || {
        let mut state = State::entry();
        state.set_row(own, Vector::of_register(of));
        state
    };
    assert_eq!(verdict(&stored().row(own)), Verdict::Same);
    // Stored on one path only.
    let mut state = stored();
    assert!(state.join(&State::entry()));
    assert_eq!(verdict(&state.row(own)), Verdict::Unknown);
    // A slot with another base may be any of these.
    let other = slot(Base::Aligned(4), 0);
    let mut state = stored();
    state.set_row(other, Vector::COMPUTED);
    assert_eq!(verdict(&state.row(own)), Verdict::Unknown);
    assert_eq!(verdict(&state.row(other)), Verdict::Different);
    state.set_row(slot(Base::Entry, 8), Vector::COMPUTED);
    assert_eq!(verdict(&state.row(own)), Verdict::Unknown);
    let mut state = stored();
    state.give_to_callee(slot(Base::Entry, 16));
    assert_eq!(verdict(&state.row(own)), Verdict::Same);
    state.give_to_callee(other);
    assert_eq!(verdict(&state.row(own)), Verdict::Unknown);
}

/// The hardware uses only the bits that a lane number needs; a partly written dword has new contents.
#[test]
fn lanes_and_dwords_are_those_of_the_hardware() {
    // v_writelane_b32 v5, s4, s6
    let mut state = State::entry();
    state.set_scalar(4, Scalar::entry(34), 0);
    state.set_scalar(6, Scalar::Constant(34), 0);
    run(&mut state, &[0xd761_0005, 0x0000_0c04]);
    assert_eq!(state.vector(Vgpr(5)).lanes(2), [Scalar::entry(34); 2]);
    // scratch_store_b32 off, v5, s32, and scratch_store_b8
    let verdict = |dword: u32| {
        let mut state = State::entry();
        run(&mut state, &[dword, 0x0020_0500]);
        let slot = Slot {
            base: Base::Entry,
            offset: 0,
        };
        state.row(slot).active.is_entry_of(Vgpr(5))
    };
    assert_eq!(verdict(0xdc69_0000), Verdict::Same);
    assert_eq!(verdict(0xdc61_0000), Verdict::Different);
}
