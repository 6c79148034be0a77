//! Tests of searches that pause for a bit of the stop, and go on.

use proptest::strategy::ValueTree as _;

use super::*;
use crate::lane_flow::fuel::Left;
use crate::lane_flow::state::HalfAt;
use crate::lane_flow::value::{Decisions, Undecided};
use crate::lane_flow::walk::{Goal, WalkResult};

/// `count` regions end one after another: `s_or_b32 exec_lo, exec_lo, sN`, each with a mask of its own, and then the end.
fn ends(count: u32) -> Vec<u8> {
    let mut code: Vec<u32> = (0..count).map(|n| 0x8c7e_007e | n << 8).collect();
    code.push(0xbfb0_0000);
    bytes(&code)
}

/// Stops before the first region with lane 0 on, and returns the lanes and the steps.
fn before_ends(count: u16, masks: &[(u16, u64)]) -> (StopLanes, u64) {
    let code = ends(count.into());
    let flow = flow("gfx1100", WaveSize::Wave32, &[kernel(&code)]);
    let mut scalars: Vec<(u16, u64)> = (0..count).map(|n| (n, 0)).collect();
    scalars.extend(masks);
    let meter = meter();
    let wave = wave(0x1000, 1, &scalars);
    let found = flow.stop(&wave, 0x1000, LoadAddress(0), Some(u64::MAX), &meter);
    (found.unwrap(), meter.steps())
}

/// Lane `n` is in the mask of region `n`. It resumes after the instruction that ends the region.
#[test]
fn each_lane_resumes_after_the_region_that_has_its_bit() {
    let masks: Vec<(u16, u64)> = (1..32).map(|n| (n, 1 << n)).collect();
    let (found, _) = before_ends(60, &masks);
    for lane in 1_u8..32 {
        let (_, LaneState::Waiting { resumes, .. }) = found.lane(lane) else {
            panic!("lane {lane}");
        };
        assert_eq!(resumes, Some(0x1004 + 4 * u64::from(lane)));
    }
    // A lane without a mask is off until the end.
    let (found, _) = before_ends(60, &[]);
    let (_, LaneState::Waiting { pc, resumes, .. }) = found.lane(9) else {
        panic!("lane 9");
    };
    assert_eq!((pc, resumes), (0x1000 + 4 * 60, None));
}

/// Each region asks for one bit. The search goes on from there: four times as many regions cost four times as much. A search that starts
/// again for each bit would follow 1, 2, 3, … regions: 1,830 in place of 60.
#[test]
fn the_cost_of_questions_is_proportional_to_their_number() {
    let [none, few, many] = [0, 15, 60].map(|count| before_ends(count, &[]).1);
    let [few, many] = [few - none, many - none];
    assert!(many <= 5 * few, "{few} {many}");
}

/// Returns the encoding of an instruction that combines masks in few registers, or branches nearby.
fn mask_dword() -> impl Strategy<Value = u32> {
    let register = || prop_oneof![8 => 0_u32..8, 2 => Just(126_u32)];
    let operand =
        || prop_oneof![12 => 0_u32..8, 4 => Just(126_u32), 1 => Just(128), 1 => Just(193)];
    let combine = (
        prop::sample::select(vec![0x16_u32, 0x18, 0x1a, 0x22]),
        register(),
        operand(),
        operand(),
    );
    let save = (0x20_u32..0x24, 0_u32..8, 0_u32..8);
    let branch = (0x21_u32..0x27, -6_i32..6);
    prop_oneof![
        4 => combine.prop_map(|(op, dst, a, b)| 0x8000_0000 | op << 23 | dst << 16 | b << 8 | a),
        2 => save.prop_map(|(op, dst, src)| 0xbe80_0000 | dst << 16 | op << 8 | src),
        1 => branch.prop_map(|(op, to)| 0xbf80_0000 | op << 16 | to.cast_unsigned() & 0xffff),
        1 => Just(0x7e02_0280),
    ]
}

/// In arbitrary code, a search that paused gives the same answer as one that has all bits from its start. Where many states meet, a
/// state may know less.
#[test]
fn a_search_that_paused_does_not_contradict_one_that_did_not() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let inputs = (
        prop::collection::vec(mask_dword(), 12..40),
        0_u64..12,
        any::<u32>(),
    );
    let (mut paused, mut equal) = (0, 0);
    for _ in 0..3000 {
        let tree = inputs.new_tree(&mut runner).unwrap();
        let (mut dwords, start, bits) = tree.current();
        dwords.push(0xbfb0_0000);
        let code = bytes(&dwords);
        let function = Function {
            address: 0x1000,
            code: &code,
            is_kernel: true,
        };
        let flow = flow("gfx1100", WaveSize::Wave32, &[function]);
        let Ok(at) = flow.find(0x1000 + 4 * start, false, &meter()) else {
            continue;
        };
        let place = HalfAt {
            index: at.index,
            half: 0,
        };
        let (mut left, mut decisions) = (Left::of(1 << 20, 1 << 20), Decisions::default());
        let mut search = at.flow.search_from(at.index, Goal::On);
        let answer =
            (0..32).find_map(
                |n| match at.flow.go_on(&mut search, place, &decisions, &mut left) {
                    Ok(answer) => Some(answer),
                    Err(Undecided(asked)) => {
                        decisions = decisions.with(asked, Some(bits >> n & 1 != 0));
                        None
                    }
                },
            );
        if decisions.iter().next().is_none() {
            continue;
        }
        paused += 1;
        let mut search = at.flow.search_from(at.index, Goal::On);
        let again = at.flow.go_on(&mut search, place, &decisions, &mut left);
        match (answer, again) {
            (Some(one), Ok(other)) if one == other => equal += 1,
            (None | Some(WalkResult::Unknown(_)), _) | (_, Ok(WalkResult::Unknown(_))) => {}
            (Some(one), other) => panic!("{one:?} {other:?}"),
        }
    }
    assert!(paused >= 300 && equal >= paused - 3, "{paused} {equal}");
}

/// Earlier questions have found parts of the tree. A later one finds the rest, with the same answers at the same cost.
#[test]
fn answers_do_not_depend_on_earlier_questions() {
    let code = ends(40);
    let fresh = || flow("gfx1100", WaveSize::Wave32, &[kernel(&code)]);
    let ask = |flow: &LaneFlow<'_>, masks: &[(u16, u64)]| {
        let mut scalars: Vec<(u16, u64)> = (0..40).map(|n| (n, 0)).collect();
        scalars.extend(masks);
        let meter = meter();
        let wave = wave(0x1000, 1, &scalars);
        let found = flow.stop(&wave, 0x1000, LoadAddress(0), Some(u64::MAX), &meter);
        (found.unwrap(), meter.steps())
    };
    let kept = fresh();
    // All lanes are in the mask of one region, and then each in another one.
    let mut questions: Vec<Vec<(u16, u64)>> =
        [30, 12, 38, 3].map(|n| vec![(n, 0xffff_fffe)]).into();
    questions.push((0..40).map(|n| (n, 0x1044_2288_u64 >> (n % 8))).collect());
    questions.push((1..32).map(|n| (n, 1 << n)).collect());
    for masks in questions {
        assert_eq!(ask(&kept, &masks), ask(&fresh(), &masks), "{masks:?}");
    }
}
