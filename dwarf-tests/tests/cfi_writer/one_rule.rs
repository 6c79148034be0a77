//! Adds one rule to a small function and checks its meaning for a wave that is stopped in it.

use hetdwarf::arch::{AddressSpace, Lane, LoadAddress, Register};
use hetdwarf::eval::Frame;
use hetdwarf::frame::write::{
    Common, FrameTable, FunctionFrame, Mask, ReturnAddress, Start, Target,
};
use hetdwarf::frame::{CallFrame, FrameIndex, FrameSection, Unwind, unwind};
use hetdwarf::location::Arena;
use hetdwarf::wave::Snapshot;

use crate::program::{BUFFER64, FLAT32, s, v};
use crate::wave::{caller_value, dwords, stopped_in_helper};

/// Calls `look` with a frame of a wave that stopped in a function at 0 with one additional rule.
fn with_frame(
    target: Target,
    describe: impl FnOnce(&mut FunctionFrame) -> hetdwarf::Result<()>,
    look: impl FnOnce(&CallFrame<'_, '_, '_>, &Snapshot),
) {
    let mut frame = FunctionFrame::new(target, &Common::new(), Start::Address(0), 8).unwrap();
    let entered = frame.cfa_from_stack_pointer(s(32));
    let entered = entered.and_then(|f| f.stack_pointer_from_cfa(s(32)));
    entered
        .and_then(|f| f.return_address_in(ReturnAddress::Undefined))
        .unwrap();
    describe(frame.at(4).unwrap()).unwrap();
    let mut table = FrameTable::new();
    table.add(frame);
    let section = table.write().unwrap().bytes;
    let index = FrameIndex::new(FrameSection::debug_frame(&section));
    let mut wave = stopped_in_helper(target, "any", 4);
    // Lanes of a vector register hold a mask and a stack pointer.
    let mut v43 = vec![Some(0); usize::try_from(target.wave_size.lanes()).unwrap()];
    v43[6..9].copy_from_slice(&[Some(0xff00_ff00), Some(1), Some(0x60)]);
    wave.set_lanes(v(43, target), &v43).unwrap();
    wave.set_register(Register::vcc(target.wave_size), 0xff00_ff00)
        .unwrap();
    let arena = Arena::new();
    let stack = unwind(Unwind::new(&wave, &index, LoadAddress(0), &arena), 4);
    assert_eq!(stack.error(), None);
    look(&stack.frame(0).unwrap(), &wave);
}

/// The mask is 0xff00ff00, and 1 in a second register or lane.
#[test]
fn masks_mean_the_same_wherever_they_are() {
    for target in [BUFFER64, FLAT32] {
        let (v41, v42) = (v(41, target), v(42, target));
        let lane = Mask::Lane {
            register: v(43, target),
            lane: Lane(6),
        };
        let vcc = Mask::Register(Register::vcc(target.wave_size));
        for (mask, above) in [(Mask::Register(s(4)), 1u64), (lane, 1), (vcc, 0)] {
            let bits = 0xff00_ff00 | above << 32u32;
            let describe =
                |frame: &mut FunctionFrame| frame.saved_in_vector(v41, v42, mask).map(|_| ());
            with_frame(target, describe, |frame, wave| {
                let found = dwords(&caller_value(frame, v41, wave));
                for (lane, value) in (0..).zip(found) {
                    let saved = bits >> lane & 1 == 1;
                    let expected = lane + if saved { 0xbad0 } else { 100 };
                    assert_eq!(value, expected, "{mask:?} {lane}");
                }
            });
        }
    }
}

/// The CFA relative to SGPR33 (0x400 bytes of the wave, or 0x20 of a lane) and to a lane that holds 0x60. For 32 lanes, bytes of the wave
/// are 32 times the bytes of one lane.
#[test]
fn the_cfa_and_the_stack_pointer_agree() {
    let from = |offset| {
        move |frame: &mut FunctionFrame| frame.cfa_from_register(s(33), offset).map(|_| ())
    };
    let check = |stack_pointer: u32, cfa: u64| {
        move |frame: &CallFrame<'_, '_, '_>, wave: &Snapshot| {
            let found = frame.cfa().unwrap().byte_address();
            assert_eq!(found, Some((AddressSpace::PrivateWave, cfa)));
            let found = dwords(&caller_value(frame, s(32), wave));
            assert_eq!(found, [stack_pointer]);
        }
    };
    with_frame(BUFFER64, from(-0x100), check(0x300, 0x300));
    with_frame(BUFFER64, from(0x100), check(0x500, 0x500));
    with_frame(FLAT32, from(-8), check(0x18, 0x18 * 32));
    with_frame(FLAT32, from(8), check(0x28, 0x28 * 32));
    for (target, cfa) in [(BUFFER64, 0x60), (FLAT32, 0x60 * 32)] {
        let from_lane =
            |frame: &mut FunctionFrame| frame.cfa_from_lane(v(43, target), Lane(8)).map(|_| ());
        with_frame(target, from_lane, check(0x60, cfa));
    }
}
