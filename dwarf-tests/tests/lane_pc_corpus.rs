//! Reads the handwritten `rocm-style/lane_pc*.hsaco` of the corpus, and compares the lanes with the sources.
//!
//! Offsets are taken from the labels in `fixtures/corpus/src/lane_pc*.s`, counted by hand. Instructions have 4 bytes, except
//! `v_mul_lo_u32`, `v_writelane_b32` and `v_readlane_b32` with 8.

use dwarf_tests::fixture;
use hetdwarf::arch::{LoadAddress, ProcessAddress, Register, WaveSize};
use hetdwarf::inspect::{LanePcs, Program, Stop, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::Snapshot;

/// The load address of the code.
const LOADED_AT: u64 = 0x7f12_0000_0000;

/// Lanes that are at the same place: their mask, and the offset of the place in the function.
type Group = (u64, u64);

/// Reads the lanes of a wave at an offset in a function.
fn read(file: &str, function: &str, wave: impl Fn(u64) -> Snapshot) -> (u64, LanePcs) {
    let bytes = std::fs::read(fixture("corpus/rocm-style").join(file)).unwrap();
    let object = CodeObject::parse(&bytes).unwrap();
    let program = Program::load(&object).unwrap();
    let symbols = object.symbols().unwrap();
    let symbol = symbols.iter().find(|symbol| symbol.name == function);
    let start = LOADED_AT + symbol.unwrap().address;
    let wave = wave(start);
    let arena = Arena::new();
    let options = StopOptions::loaded_at(LoadAddress(LOADED_AT));
    let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
    (start, stop.call_frame(0).unwrap().lane_pcs().unwrap())
}

/// Checks that lanes are at these places, and at no others.
fn assert_lanes(found: &LanePcs, start: u64, active: u64, groups: &[Group], context: &str) {
    assert!(found.is_known(), "{context}");
    assert_eq!(found.active(), active, "{context}");
    for (lane, pc) in found.pcs().enumerate() {
        let group = groups.iter().find(|(mask, _)| mask >> lane & 1 == 1);
        let expected = group.map(|(_, offset)| ProcessAddress(start + offset));
        assert_eq!(pc, expected, "{context}, lane {lane}");
    }
}

/// Returns the positions of the lanes of `nested` at an offset, the active ones first.
///
/// * `c1`, `c2`: the lanes for which the conditions are true.
fn nested(offset: u64, entry: u64, c1: u64, c2: u64) -> Vec<Group> {
    let (outer, others) = (entry & c1, entry & !c1);
    // The labels are lex_1_start, lex_1_1_start, lex_1_1_end and lex_1_end.
    let (start_1, start_1_1, end_1_1, end_1) = (0x10, 0x20, 0x34, 0x48);
    match offset {
        0x00..0x14 | 0x48..0x50 => vec![(entry, offset)],
        // The block is b, or the code after the inner ENDIF.
        0x14..0x24 | 0x34..0x3c => vec![(outer, offset), (others, start_1)],
        // The block is c. The lanes of d and f wait at their decision.
        0x24..0x2c => vec![
            (outer & c2, offset),
            (outer & !c2, start_1_1),
            (others, start_1),
        ],
        // The block is d. The lanes of c wait after it.
        0x2c..0x34 => vec![
            (outer & !c2, offset),
            (outer & c2, end_1_1),
            (others, start_1),
        ],
        // The block is f. All other lanes wait after the end.
        0x3c..0x48 => vec![(others, offset), (outer, end_1)],
        _ => panic!("{offset:#x} is no place of `nested`"),
    }
}

#[test]
fn nested_decisions() {
    let offsets = (0..0x50).step_by(4).filter(|offset| *offset != 0x40);
    for offset in offsets {
        for (file, target, wave_size) in [
            ("lane_pc.hsaco", "gfx90a", WaveSize::Wave64),
            ("lane_pc_wave32.hsaco", "gfx1100", WaveSize::Wave32),
        ] {
            let all = u64::MAX >> (64 - wave_size.lanes());
            let masks = [
                (u64::MAX, 0x5555_5555_5555_5555, 0x3333_3333_3333_3333),
                (
                    0x00ff_f0ff_0ff0_f0f7,
                    0xfedc_ba98_7654_3210,
                    0x0123_4567_89ab_cdef,
                ),
                // No lane takes `then`, or no lane takes `else`.
                (0xffff_0000_ffff, 0, u64::MAX),
                (0x1, u64::MAX, 0),
            ];
            for (entry, c1, c2) in masks {
                let (entry, c1, c2) = (entry & all, c1 & all, c2 & all);
                let groups = nested(offset, entry, c1, c2);
                let exec = groups[0].0;
                let (start, found) = read(file, "nested", |start| {
                    let mut wave = Snapshot::new(target, wave_size, start + offset);
                    wave.set_register(Register::exec(wave_size), exec).unwrap();
                    let mut save = |first: u16, mask: u64| {
                        let words = [(first, mask & 0xffff_ffff), (first + 1, mask >> 32)];
                        let count = if wave_size == WaveSize::Wave64 { 2 } else { 1 };
                        for (register, word) in words.into_iter().take(count) {
                            let register = Register::sgpr(register).unwrap();
                            wave.set_register(register, word).unwrap();
                        }
                    };
                    // The registers are valid after the instructions that save EXEC.
                    if offset >= 0x0c {
                        save(4, entry);
                    }
                    if offset >= 0x1c {
                        save(6, entry & c1);
                    }
                    wave
                });
                let context = format!("{file}+{offset:#x}, {entry:#x} {c1:#x} {c2:#x}");
                assert_lanes(&found, start, exec, &groups, &context);
            }
        }
    }
}

#[test]
fn a_loop_that_lanes_leave_one_by_one() {
    let entry = 0xffff_0fff_f7ff_fffe;
    // The labels are .Lloop and .Lloop_end.
    let (first, end) = (0x1c, 0x44);
    for (offset, exec) in [
        (0x00, entry),
        (0x14, entry),
        // The loop is in its first or in a later iteration.
        (first, entry),
        (0x20, 0x0f0f_0f0f_0101_0f0e),
        (0x28, 0x8000),
        // No lane continues, and EXEC is not restored yet.
        (0x30, 0),
        (0x40, 0),
        (end, entry),
        (0x48, entry),
    ] {
        let (start, found) = read("lane_pc_loclist.hsaco", "countdown", |start| {
            let wave_size = WaveSize::Wave64;
            let mut wave = Snapshot::new("gfx90a", wave_size, start + offset);
            wave.set_register(Register::EXEC_64, exec).unwrap();
            if offset >= first {
                // EXEC was saved to lanes 0 and 1 of v2.
                let mut lanes = vec![None; 64];
                lanes[0] = Some(u32::try_from(entry & 0xffff_ffff).unwrap());
                lanes[1] = Some(u32::try_from(entry >> 32).unwrap());
                let v2 = Register::vgpr(2, wave_size).unwrap();
                wave.set_lanes(v2, &lanes).unwrap();
            }
            wave
        });
        let groups = [(exec, offset), (entry & !exec, end)];
        assert_lanes(&found, start, exec, &groups, &format!("{offset:#x}"));
    }
}

#[test]
fn a_function_in_which_lanes_stay_together() {
    for offset in [0, 4, 0xc] {
        let entry = 0x00ff_ff00_0ff0_1234;
        let (start, found) = read("lane_pc_loclist.hsaco", "straight", |start| {
            let mut wave = Snapshot::new("gfx90a", WaveSize::Wave64, start + offset);
            wave.set_register(Register::EXEC_64, entry).unwrap();
            wave
        });
        assert_lanes(
            &found,
            start,
            entry,
            &[(entry, offset)],
            &format!("{offset:#x}"),
        );
    }
}
