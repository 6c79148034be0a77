//! Unwinds with the written information: from `helper` to the kernel, with the kernel's registers.

use hetdwarf::arch::{LoadAddress, Register};
use hetdwarf::frame::write::Target;
use hetdwarf::frame::{CallFrame, FrameIndex, FrameSection, Stopped, Unwind, unwind};
use hetdwarf::location::{Access, Arena, read};
use hetdwarf::wave::Snapshot;

use crate::program::{BUFFER64, FLAT32, address_of, program, s, v};
use crate::wave::{caller_value, dwords, stopped_in_helper};

/// Calls `look` with the frame of `helper`, stopped in its body and in the block after its epilogue, on each target.
fn with_each_stop(look: impl Fn(Target, &CallFrame<'_, '_, '_>, &Snapshot)) {
    for (target, processor) in [(BUFFER64, "gfx90a"), (FLAT32, "gfx1100")] {
        let section = program(target).unwrap().write().unwrap();
        let section = section.resolved(address_of).unwrap();
        let index = FrameIndex::new(FrameSection::debug_frame(&section));
        for pc in [0x1a80, 0x1b40] {
            let wave = stopped_in_helper(target, processor, pc);
            let arena = Arena::new();
            // Reading is strict and without a processor, because the tables contain everything.
            let stack = unwind(Unwind::new(&wave, &index, LoadAddress(0), &arena), pc);
            assert_eq!(stack.error(), None);
            assert_eq!(stack.stopped(), Stopped::ReturnAddressUndefined);
            let pcs: Vec<_> = stack.frames().map(|frame| frame.pc().0).collect();
            assert_eq!(pcs, [pc, 0x1050]);
            look(target, &stack.frame(0).unwrap(), &wave);
        }
    }
}

/// Returns EXEC on entry, which s4 and s5 of the wave hold.
fn exec_on_entry(target: Target) -> u64 {
    if target == BUFFER64 {
        0x1_ff00_ff00
    } else {
        0xff00_ff00
    }
}

fn was_active(lane: u32, target: Target) -> bool {
    exec_on_entry(target) >> lane & 1 == 1
}

#[test]
fn scalar_registers_of_the_caller_are_recovered() {
    with_each_stop(|target, frame, wave| {
        let scalar = |n| dwords(&caller_value(frame, s(n), wave))[0];
        let start_of_frame = if target == BUFFER64 { 0x400 } else { 0x20 };
        assert_eq!(scalar(32), start_of_frame, "the stack pointer");
        assert_eq!(scalar(33), 0x123, "the frame pointer");
        assert_eq!(scalar(34), 0x77);
        let exec = caller_value(frame, Register::exec(target.wave_size), wave);
        let expected = exec_on_entry(target).to_le_bytes();
        assert_eq!(exec, expected[..exec.len()]);
        assert_eq!(exec.len() * 8, target.wave_size.lanes() as usize);
    });
}

#[test]
fn vector_registers_that_were_saved_are_recovered_in_all_lanes() {
    with_each_stop(|target, frame, wave| {
        let lanes = target.wave_size.lanes();
        let v41 = dwords(&caller_value(frame, v(41, target), wave));
        let saved = |lane| was_active(lane, target);
        let expected = (0..lanes).map(|lane| lane + if saved(lane) { 200 } else { 100 });
        assert_eq!(v41, expected.collect::<Vec<_>>());
        let v42 = dwords(&caller_value(frame, v(42, target), wave));
        assert_eq!(v42, (400..400 + lanes).collect::<Vec<_>>());
    });
}

/// v40 was saved for the lanes that were inactive, and then overwritten.
#[test]
fn a_vector_register_saved_for_inactive_lanes_is_lost_in_the_others() {
    with_each_stop(|target, frame, wave| {
        let (location, _) = frame.recovered(v(40, target)).unwrap();
        let access = Access {
            wave,
            lane: None,
            max_bits: 1 << 20,
            meter: None,
        };
        let bits = u64::from(target.wave_size.lanes()) * 32;
        let found = read(&location, bits, &access).unwrap();
        for (lane, value) in (0..).zip(dwords(&found.bytes)) {
            let start = u64::from(lane) * 32;
            let lost = found.undefined.covers(start..start + 32);
            assert_eq!(lost, was_active(lane, target), "lane {lane}");
            assert_eq!(value, if lost { 0 } else { 300 + lane }, "lane {lane}");
        }
    });
}
