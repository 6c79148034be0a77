//! Tests of the facts about a lane and of the transfer functions. The code is for gfx90a with 64 lanes, encoded by llvm-mc 22. A lane's bit
//! is bit `lane % 32` of a dword.

use super::*;
use crate::abi::Callees;
use crate::arch::ScratchAddressing;
use crate::isa::{Decoder, Operand, ScalarOp, Span};
use crate::lane_flow::exec::NewExec;
use crate::lane_flow::gap::{acts, is_control, is_taken_by_active};
use crate::lane_flow::lane_plan::both;
use crate::lane_flow::place::{DwordPlace, Slot};
use crate::lane_flow::state::{Exec, Section, SectionLanes, State};
use crate::lane_flow::step::{Context, Follow, Outcome};
use crate::lane_flow::value::{Bitwise, Decisions, Value};
use crate::lane_flow::vector::{Vector, Written};
use crate::machine_flow::{Code, Lanes as _, Row as _, ScalarOperation, bit};

use MachineRegister::{Sgpr, Vgpr};

const ON: Follow = Follow::ActiveLane(0);

fn with<T>(follow: Follow, dwords: &[u32], each: impl FnOnce(&Context<'_>) -> T) -> T {
    let processor = Processor::by_name("gfx90a").unwrap();
    let decoder = Decoder::new(processor, Some(WaveSize::Wave64)).unwrap();
    let callees = Callees::new(None, []);
    let code = Code::new(&decoder, &callees, 0x1000, &bytes(dwords)).unwrap();
    each(&Context {
        code: &code,
        callees: &callees,
        wave_size: WaveSize::Wave64,
        addressing: None,
        facts: None,
        rows: &[],
        follow,
    })
}

/// Applies an instruction.
fn step(follow: Follow, state: &mut State, dwords: &[u32]) -> Outcome {
    with(follow, dwords, |context| {
        context.step(state, 0, &Decisions::closed()).unwrap()
    })
}

fn scalar(n: u8) -> DwordPlace {
    DwordPlace::Scalar(Sgpr(n))
}

/// The lane's bit of a place at the stop.
fn bit_of(place: DwordPlace) -> Value {
    let inverted = false;
    Value::BitOf { place, inverted }
}

#[test]
fn decisions_agree_with_bits_that_are_not_another() {
    let [p, q, r] = [4, 5, 6].map(scalar);
    let mut decisions = Decisions::default()
        .with(p, Some(true))
        .with(q, Some(false));
    decisions.go_on(1, r, Some(true));
    assert_eq!(
        [p, q, r].map(|place| decisions.get(place)),
        [Some(true), None, Some(true)]
    );
    assert!(decisions.agree_with(&[(p, true)]) && decisions.agree_with(&[(q, true)]));
    assert!(!decisions.agree_with(&[(p, false)]));
    // A place that cannot be read may have either bit.
    assert!(Decisions::default().with(p, None).agree_with(&[(p, false)]));
}

#[test]
fn words_are_masks_of_all_lanes_or_none() {
    let (word, p) = (Value::Word, Value::initial(scalar(4)));
    assert_eq!(
        [0, 5, u32::MAX].map(|n| word(n).as_mask()),
        [Value::Bit(false), Value::Unknown, word(u32::MAX)]
    );
    // A mask at the stop keeps the lane's bit, and an address on the stack keeps everything.
    let s33 = Value::initial(scalar(33));
    assert_eq!([p, s33].map(Value::as_mask), [bit_of(scalar(4)), s33]);
    assert_eq!(word(5).not(), word(!5));
    // A sum and its operand have different bits.
    let none = Decisions::default();
    let and = |value| Bitwise::AND.apply(value, Value::Bit(true), &none);
    assert_eq!(and(p), Ok(bit_of(scalar(4))));
    assert_eq!(and(p.plus(4)), Ok(Value::Unknown));
    // One operand, from the other and the result.
    let operands = |op: Bitwise| {
        [(false, false), (false, true), (true, false), (true, true)]
            .map(|(a, result)| op.operand(a, result))
    };
    assert_eq!(
        operands(Bitwise::AND),
        [None, None, Some(false), Some(true)]
    );
    assert_eq!(
        operands(Bitwise::OR_NOT),
        [Some(true), Some(false), None, None]
    );
    assert_eq!(Bitwise::AND_NOT.exchanged(), Bitwise::NOT_AND);
    assert_eq!(Bitwise::OR_NOT.exchanged(), Bitwise::NOT_OR);
    assert_eq!(Bitwise::AND.exchanged(), Bitwise::AND);
}

#[test]
fn lanes_that_entered_and_others_are_told_apart() {
    let known = |lane| {
        Value::initial(DwordPlace::Lane {
            register: Vgpr(9),
            lane,
        })
    };
    let of = |vector: &Vector| {
        [
            vector.lane_that(true, 3),
            vector.lane_that(false, 3),
            vector.lane(3),
        ]
    };
    let own = Vector::of_register(Vgpr(9));
    let written = |written| own.overwritten(&Vector::UNKNOWN, written);
    let (lost, kept) = (Value::Unknown, known(3));
    assert_eq!(of(&own), [kept; 3]);
    assert_eq!(of(&written(Written::Entered)), [lost, kept, lost]);
    assert_eq!(of(&written(Written::Others)), [kept, lost, lost]);
    assert_eq!(of(&written(Written::Some)), [lost; 3]);
    assert_eq!(of(&written(Written::All)), [lost; 3]);
    assert_eq!(of(&written(Written::Mask(0b1000))), [lost; 3]);
    assert_eq!(of(&written(Written::Mask(0b0100))), [kept; 3]);

    let listed = |value| {
        let mut vector = Vector::UNKNOWN;
        vector.set_lane(3, value);
        vector
    };
    let (clear, set) = (listed(Value::Bit(false)), listed(Value::Bit(true)));
    let joined = clear.overwritten(&set, Written::Some);
    assert_eq!(joined.lane(3), lost);
    assert!(Vector::UNKNOWN.covers(&set) && !set.covers(&Vector::UNKNOWN));
    assert!(!set.covers(&clear) && set.covers(&set.clone()));
    assert!(!own.covers(&Vector::UNKNOWN));
    // Kept lanes lose values that are not masks.
    let (register, lane) = (Vgpr(9), 3);
    let own_bit = bit_of(DwordPlace::Lane { register, lane });
    assert_eq!(of(&own.only(0b1000))[2], own_bit);
    assert_eq!(of(&own.only(0b0100)), [lost; 3]);
    assert_eq!(listed(Value::Word(5)).only(0b1000).lane(3), lost);
    assert_eq!(set.only(0b0100).lane(3), lost);
    let mut word = Vector::of_register(Vgpr(9));
    word.set_lane(3, Value::Word(5));
    assert_eq!(word.only(0b1000).lane(3), lost);
}

fn section(lanes: SectionLanes, saved: Option<u8>) -> Exec {
    let saved = saved.map(Sgpr);
    Exec::Section(Section { lanes, saved })
}

#[test]
fn the_mask_of_a_section_is_lost_with_its_register() {
    let saved = |change: &dyn Fn(&mut State)| {
        let mut state = State::at_stop(section(SectionLanes::All, Some(4)));
        change(&mut state);
        state.exec
    };
    let (kept, lost) = (
        section(SectionLanes::All, Some(4)),
        section(SectionLanes::All, None),
    );
    let set = |n| saved(&|state| state.set_scalar(Sgpr(n), Value::Unknown));
    assert_eq!([3, 4, 5, 6].map(set), [kept, lost, lost, kept]);
    let forget = |n| saved(&|state| state.forget_scalars(bit(Sgpr(n))));
    assert_eq!([3, 4, 5, 6].map(forget), [kept, lost, lost, kept]);

    let join = |one: Exec, other: Exec| {
        let mut state = State::at_stop(one);
        state.join(&State::at_stop(other));
        state.exec
    };
    assert_eq!(join(kept, kept), kept);
    assert_eq!(join(kept, section(SectionLanes::All, Some(6))), lost);
    assert_eq!(
        join(kept, section(SectionLanes::Inactive, Some(4))),
        Exec::Unknown
    );
    assert_eq!(join(Exec::Active, kept), Exec::Unknown);
}

#[test]
fn a_state_covers_what_is_known_there_too() {
    let state = || State::at_stop(Exec::Active);
    let with = |change: &dyn Fn(&mut State)| {
        let mut state = state();
        change(&mut state);
        state
    };
    let covers = |one: &State, other: &State| one.covers(other, &Decisions::default());
    let whole = with(&|state| state.is_whole = true);
    assert!(covers(&state(), &whole) && !covers(&whole, &state()));
    let mut joined = whole.clone();
    assert!(joined.join(&state()) && !joined.is_whole);
    let fewer = with(&|state| state.set_scalar(Sgpr(4), Value::Unknown));
    assert!(covers(&fewer, &state()) && !covers(&state(), &fewer));
    let fewer = with(&|state| state.set_vector(Vgpr(9), Vector::UNKNOWN));
    assert!(covers(&fewer, &state()) && !covers(&state(), &fewer));
    let lost = with(&|state| state.lose_vectors());
    assert!(covers(&lost, &state()) && !covers(&state(), &lost));
    assert_eq!(lost.vector_lane(Vgpr(9), 3), Value::Unknown);
    assert!(!covers(&State::at_stop(Exec::Unknown), &state()));
    // On entry, masks are unknown, and stack registers have their initial values.
    let entry = State::at_entry();
    assert_eq!(entry.scalar(Sgpr(4)), Value::Unknown);
    assert_eq!(entry.scalar(Sgpr(32)), Value::initial(scalar(32)));
}

#[test]
fn copies_of_a_result_are_replaced_wherever_they_are() {
    let slot = Slot {
        base: None,
        addressing: ScratchAddressing::Flat,
        offset: 8,
    };
    let mut made = Vector::UNKNOWN;
    made.set_lane(3, Value::Made(7));
    let mut state = State::at_entry();
    state.set_scalar(Sgpr(4), Value::Made(7));
    state.set_vector(Vgpr(9), made.clone());
    state.set_row(slot, made);
    state.replace(Value::Made(7), Value::Bit(true));
    let found = [
        state.scalar(Sgpr(4)),
        state.vector_lane(Vgpr(9), 3),
        state.row(slot).lane(3),
    ];
    assert_eq!(found, [Value::Bit(true); 3]);
}

#[test]
fn exec_has_the_lanes_of_its_section() {
    let (all, unknown) = (Value::Word(u32::MAX), Value::Unknown);
    with(ON, &[0xbf80_0000], |context| {
        let exec = |exec| context.exec(&State::at_stop(exec));
        assert_eq!(exec(Exec::Active), [Value::Bit(true), unknown]);
        assert_eq!(
            exec(section(SectionLanes::Inactive, None)),
            [Value::Bit(false), unknown]
        );
        assert_eq!(
            exec(section(SectionLanes::Mask(0x5_0000_0003), None)),
            [Value::Word(3), Value::Word(5)]
        );
        assert!(context.is_all_ones([all; 2]) && !context.is_all_ones([all, Value::Word(0)]));
        let state = State::at_stop(Exec::Active);
        let own = context.exec(&state);
        let pair = |first| Operand::Registers(Span { first, count: 2 });
        let (exec, mask, ones) = (
            pair(MachineRegister::ExecLo),
            pair(Sgpr(4)),
            Operand::Integer(-1),
        );
        let inverts = |[a, b]: [Operand; 2], values| {
            let (op, dst) = (ScalarOp::Xor, exec);
            context.inverts(ScalarOperation { op, dst, a, b }, values)
        };
        assert!(inverts([exec, ones], [own, [all; 2]]) && inverts([ones, exec], [[all; 2], own]));
        assert!(!inverts([exec, mask], [own, [unknown; 2]]));
        // Another mask with the same bit.
        assert!(!inverts([mask, ones], [own, [all; 2]]));
        let first = |first| Span { first, count: 1 };
        let new = [Value::Word(7), unknown];
        let [lo, hi] = [MachineRegister::ExecLo, MachineRegister::ExecHi].map(first);
        assert_eq!(
            context.whole_exec(&state, lo, new),
            [Value::Word(7), unknown]
        );
        assert_eq!(
            context.whole_exec(&state, hi, new),
            [Value::Bit(true), Value::Word(7)]
        );
        // If EXEC gets the saved value, the section ends with the lanes that were active before it.
        let ends = |source| {
            let mut state = State::at_stop(section(SectionLanes::All, Some(4)));
            state.is_whole = true;
            let new = NewExec {
                source,
                ..NewExec::of([Value::Bit(true), unknown])
            };
            let outcome = context.set_exec(&mut state, 0, new, &Decisions::closed());
            (outcome, state.exec, state.is_whole)
        };
        assert_eq!(ends(Some(Sgpr(4))), (Ok(Outcome::On), Exec::Active, true));
        assert_eq!(ends(Some(Sgpr(6))), (Ok(Outcome::On), Exec::Active, false));
        assert_eq!(ends(None), (Ok(Outcome::On), Exec::Active, false));
    });
    // s_mov_b64 exec, -1 and 0; s_or_saveexec_b64 s[4:5], -1
    let after = |dword| {
        let mut state = State::at_stop(Exec::Active);
        (step(ON, &mut state, &[dword]), state.exec)
    };
    assert_eq!(
        after(0xbefe_01c1),
        (Outcome::Same, section(SectionLanes::All, None))
    );
    assert_eq!(after(0xbefe_0180), (Outcome::Off, Exec::Active));
    assert_eq!(
        after(0xbe84_21c1),
        (Outcome::Same, section(SectionLanes::All, Some(4)))
    );
}

/// `v_cmp_eq_u32 s[4:5], 0, v0`, and `v_cmpx_eq_u32 vcc, 0, v0`.
#[test]
fn a_comparison_clears_the_bit_of_a_lane_that_is_off() {
    let compare = [0xd0ca_0004, 0x0002_0080];
    let after = |follow, exec| {
        let mut state = State::at_stop(exec);
        step(follow, &mut state, &compare);
        [4, 5].map(|n| state.scalar(Sgpr(n)))
    };
    let (clear, unknown) = (Value::Bit(false), Value::Unknown);
    assert_eq!(after(Follow::Lane(0), Exec::Active), [clear, unknown]);
    assert_eq!(after(Follow::Lane(1), Exec::Active), [unknown, clear]);
    assert_eq!(
        after(Follow::Lane(0), section(SectionLanes::All, None)),
        [unknown; 2]
    );
    assert_eq!(after(ON, Exec::Active), [Value::Made(0), unknown]);
    let to_exec = |follow| {
        let mut state = State::at_stop(Exec::Active);
        state.is_whole = true;
        (step(follow, &mut state, &[0x7db4_0080]), state.is_whole)
    };
    assert_eq!(to_exec(Follow::Lane(0)), (Outcome::Same, false));
    assert_eq!(to_exec(ON), (Outcome::Lost(Reason::Mask), false));
}

/// The contents of s[4:5] for an active lane that the instruction left on, and for one that it switched off.
#[test]
fn exec_tells_what_it_was_made_of() {
    let told = |dword: u32, bit: bool| {
        with(ON, &[dword], |context| {
            let mut state = State::at_entry();
            state.set_scalar(Sgpr(4), Value::Made(9));
            state.set_scalar(Sgpr(20), Value::Made(9));
            context.assume(&mut state, 0, bit);
            assert_eq!(state.scalar(Sgpr(4)), state.scalar(Sgpr(20)));
            state.scalar(Sgpr(4))
        })
    };
    let (own, other) = (Some(false), Some(true));
    for (dword, inverted) in [
        (0xbefe_0104, own),   // s_mov_b64 exec, s[4:5]
        (0x86fe_047e, own),   // s_and_b64 exec, exec, s[4:5]
        (0x86fe_7e04, own),   // s_and_b64 exec, s[4:5], exec
        (0x89fe_047e, other), // s_andn2_b64 exec, exec, s[4:5]
        (0x89fe_7e04, None),  // s_andn2_b64 exec, s[4:5], exec
        (0xbe86_2004, own),   // s_and_saveexec_b64 s[6:7], s[4:5]
        (0xbe84_2004, None),  // s_and_saveexec_b64 s[4:5], s[4:5]
        (0xbe86_2304, None),  // s_andn2_saveexec_b64 s[6:7], s[4:5]
        (0xbe86_3304, other), // s_andn1_saveexec_b64 s[6:7], s[4:5]
        (0xbe86_2504, other), // s_nand_saveexec_b64 s[6:7], s[4:5]
    ] {
        for bit in [false, true] {
            let expected = inverted.map_or(Value::Made(9), |inverted| Value::Bit(bit != inverted));
            assert_eq!(told(dword, bit), expected, "{dword:#x} {bit}");
        }
    }
}

#[test]
fn branches_on_exec_are_taken_by_lanes_that_are_on() {
    // s_cbranch_execz 1, s_cbranch_execnz 1, s_cbranch_execnz 0
    let taken = |exec, dword: u32| {
        with(ON, &[dword, 0xbf80_0000, 0xbf81_0000], |context| {
            let branch = &context.code.instructions[0];
            [1, 2].map(|to| is_taken_by_active(exec, branch, 0, to))
        })
    };
    assert_eq!(taken(Exec::Active, 0xbf88_0001), [true, false]);
    assert_eq!(taken(Exec::Active, 0xbf89_0001), [false, true]);
    assert_eq!(taken(Exec::Active, 0xbf89_0000), [true, true]);
    assert_eq!(taken(Exec::Unknown, 0xbf88_0001), [true, true]);
    // s_nop 0, s_barrier, v_mov_b32 v0, 0
    with(ON, &[0xbf80_0000, 0xbf8a_0000, 0x7e00_0280], |context| {
        let code = context.code.instructions.iter();
        assert_eq!(
            code.clone().map(is_control).collect::<Vec<_>>(),
            [true, false, false]
        );
        let act = |exec| {
            code.clone()
                .map(move |one| acts(&State::at_stop(exec), one))
                .collect::<Vec<_>>()
        };
        assert_eq!(act(Exec::Active), [false, true, true]);
        assert_eq!(act(section(SectionLanes::All, None)), [false; 3]);
    });
}

/// Rows of scratch are interleaved: one dword of each lane after the other.
#[test]
fn rows_are_where_their_register_says() {
    let slot = |addressing, base| Slot {
        base,
        addressing,
        offset: 8,
    };
    let at = |addressing| slot(addressing, None).address(16, 3, WaveSize::Wave64);
    assert_eq!(at(ScratchAddressing::Flat), Some((16 + 8) * 64 + 3 * 4));
    assert_eq!(at(ScratchAddressing::Buffer), Some(16 + 8 * 64 + 3 * 4));
    let [one, other] = [32, 33].map(|n| slot(ScratchAddressing::Flat, Some(Sgpr(n))));
    assert!(one.is_comparable(one) && !one.is_comparable(other));
}

#[test]
fn a_question_is_asked_if_its_answers_differ() {
    let resumes = |pc| LanePlan::Resumes {
        pc,
        left: None,
        arrival: None,
    };
    let place = scalar(4);
    let then = Box::new([resumes(1), resumes(2)]);
    assert_eq!(
        both(place, Some(resumes(1)), Some(resumes(2))),
        Some(LanePlan::Ask { place, then })
    );
    assert_eq!(
        both(place, Some(resumes(1)), Some(resumes(1))),
        Some(resumes(1))
    );
    assert_eq!(both(place, None, Some(resumes(2))), Some(resumes(2)));
}

#[test]
fn a_lane_is_right_to_be_where_it_waits_or_ended() {
    let places = || [0x10, 0x14].into();
    let allows = |right: Right| [Some(0x10), Some(0x18), None].map(|said| right.allows(said));
    let waits = Right::Waits {
        resumes: 0x14,
        places: places(),
    };
    assert_eq!(allows(waits), [true, false, false]);
    // Lanes that ended cannot be distinguished from lanes that were never started.
    assert_eq!(
        allows(Right::Ended { places: places() }),
        [true, false, true]
    );
    assert_eq!(allows(Right::Elsewhere), [false, false, true]);
    assert_eq!(allows(Right::Open(None)), [true; 3]);
}

/// LLVM's functions preserve v40, but not v0 and a0.
#[test]
fn a_call_loses_lanes_that_callees_may_write() {
    let code = [
        0xd28a_0000,
        0x0001_0204, // v_writelane_b32 v0, s4, 1
        0xd28a_0028,
        0x0001_0204, // v_writelane_b32 v40, s4, 1
        0xbe9e_1e04, // s_swappc_b64 s[30:31], s[4:5]
        0xbf81_0000, // s_endpgm
    ];
    let after = |follow, register| {
        with(follow, &code, |context| {
            let mut state = State::at_stop(Exec::Active);
            state.set_vector_lane(register, 1, Value::Bit(true));
            let outcome = context.step(&mut state, 2, &Decisions::closed());
            assert_eq!(outcome, Ok(Outcome::Same));
            state.vector_lane(register, 1)
        })
    };
    let a0 = MachineRegister::Agpr(0);
    assert_eq!(after(ON, Vgpr(0)), Value::Unknown);
    assert_eq!(after(ON, Vgpr(40)), Value::Bit(true));
    assert_eq!(after(Follow::Dwords, Vgpr(0)), Value::Unknown);
    assert_eq!(after(Follow::Dwords, a0), Value::Unknown);
}

#[test]
fn sums_with_a_constant_are_followed() {
    let after = |dword| {
        let mut state = State::at_entry();
        step(Follow::Scalars, &mut state, &[dword]);
        state.scalar(Sgpr(33))
    };
    let own = Value::initial(scalar(32));
    // s_sub_u32 s33, s32, 16, and s_add_u32 s33, 16, s32
    assert_eq!(after(0x80a1_9020), own.plus(-16));
    assert_eq!(after(0x8021_2090), own.plus(16));
}

#[test]
fn a_constant_is_no_mask_of_the_program() {
    // s_mov_b64 exec, 5
    let mut state = State::at_stop(Exec::Active);
    assert_eq!(step(ON, &mut state, &[0xbefe_0185]), Outcome::Same);
    assert_eq!(state.exec, section(SectionLanes::Mask(5), None));
    // s_mov_b32 exec_lo, s4: half of the section's mask.
    let outcome = step(ON, &mut state, &[0xbefe_0004]);
    assert_eq!(outcome, Outcome::Lost(Reason::WholeWave));
    assert_eq!(state.exec, Exec::Unknown);
}

#[test]
fn rows_that_are_not_kept_are_forgotten() {
    let slot = |offset| Slot {
        base: None,
        addressing: ScratchAddressing::Flat,
        offset,
    };
    let mut state = State::at_stop(Exec::Active);
    state.keep_slots([(slot(8), 1)].into_iter());
    let lane = |offset, lane| state.row(slot(offset)).lane(lane);
    let own = bit_of(DwordPlace::Scratch {
        slot: slot(8),
        lane: 0,
    });
    assert_eq!(
        [lane(8, 0), lane(8, 1), lane(16, 0)],
        [own, Value::Unknown, Value::Unknown]
    );
}

/// States of lanes with some bits are equal if the lane's bits are, wherever these come from. A computed mask in a lane of a vector covers a
/// constant with the same bit. An address is more than its bit.
#[test]
fn states_with_the_same_bits_cover_each_other() {
    let [p, q] = [4, 33].map(scalar);
    let decisions = Decisions::default().with(p, Some(true)).with(q, Some(true));
    let scalar_covers = |number, here, there| {
        let [here, there] = [here, there].map(|value| {
            let mut state = State::at_entry();
            state.set_scalar(Sgpr(number), value);
            state
        });
        here.covers(&there, &decisions)
    };
    let lane_covers = |here, there| {
        let [here, there] = [here, there].map(|value| {
            let mut state = State::at_entry();
            state.set_vector_lane(Vgpr(9), 3, value);
            state
        });
        here.covers(&there, &decisions)
    };
    let covers = |here, there| {
        let found = scalar_covers(6, here, there);
        assert_eq!(lane_covers(here, there), found);
        found
    };
    let [off, on] = [false, true].map(Value::Bit);
    assert!(covers(bit_of(p), on) && covers(on, bit_of(p)));
    assert!(covers(bit_of(p).not(), off) && !covers(bit_of(p).not(), on));
    assert!(!covers(bit_of(scalar(5)), on) && covers(Value::Unknown, on));
    let [none, five, all] = [0, 5, u32::MAX].map(Value::Word);
    assert!(!covers(all, on) && !covers(on, none) && !covers(off, all));
    assert!(!covers(on, five) && !covers(off, five));
    for (mask, constant) in [(on, all), (off, none), (bit_of(p), all)] {
        assert!(lane_covers(mask, constant) && !scalar_covers(6, mask, constant));
    }
    let address = Value::initial(q);
    assert!(!scalar_covers(33, address, on) && !scalar_covers(33, on, address));
    assert!(scalar_covers(33, address, address));
}
