//! Unwinds through call frame information that the machine code contradicts, and through code without any. Each value is worked out by hand from a few
//! instructions of gfx90a.
//!
//! `outer`, a kernel at 0x1000, calls `leaf` at 0x1010 from within an `if`. Encodings: AMD's "CDNA2" instruction set architecture, sections SOP1 and SOPP.

use core::ops::Range;

use dwarf_tests::elf::linked;
use hetdwarf::arch::{Register, ScratchAddressing, WaveSize};
use hetdwarf::eval::{Frame, Reading};
use hetdwarf::frame::write::{Common, FrameTable, FunctionFrame, ReturnAddress, Start, Target};
use hetdwarf::frame::{CallFrame, Stopped};
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::location::{Access, Arena, Bits, Location, read};
use hetdwarf::object::CodeObject;
use hetdwarf::wave::Snapshot;

const OUTER: u64 = 0x1000;
const LEAF: u64 = 0x1010;
/// The address after the call.
const RETURN: u64 = OUTER + 8;

/// `s_and_saveexec_b64 s[34:35], vcc`, `s_swappc_b64 s[30:31], s[4:5]`, `s_or_b64 exec, exec, s[34:35]`, `s_endpgm`.
const KERNEL: [u32; 4] = [0xbea2_206a, 0xbe9e_1e04, 0x87fe_227e, 0xbf81_0000];
/// The place of the call in it.
const CALL: usize = 1;
/// `s_nop 0`.
const NOP: u32 = 0xbf80_0000;
/// `s_setpc_b64 s[30:31]`.
const RETURNS: u32 = 0xbe80_1d1e;
/// The eight lanes that take part in the call. The others wait in `outer`.
const CALLED: u64 = 0xff;

fn s(number: u16) -> Register {
    Register::sgpr(number).unwrap()
}

const V1: Register = Register::vgpr(1, WaveSize::Wave64).unwrap();
const V40: Register = Register::vgpr(40, WaveSize::Wave64).unwrap();

/// Returns `s_mov_b32 sN, source`.
fn move32(to: u32, source: u32) -> u32 {
    0xbe80_0000 | to << 16 | source
}

/// The operand for the number 5.
const FIVE: u32 = 0x85;

/// Returns an object in which `leaf` consists of this code and the return, with the rules of the calling convention and no others.
fn object_of(leaf: &[u32]) -> Vec<u8> {
    let size = 4 * leaf.len() + 4;
    let target = Target {
        wave_size: WaveSize::Wave64,
        scratch: ScratchAddressing::Buffer,
    };
    let frame =
        |at, size| FunctionFrame::new(target, &Common::new(), Start::Address(at), size).unwrap();
    let mut kernel = frame(OUTER, 16);
    kernel.kernel_entry().unwrap();
    let mut called = frame(LEAF, size as u64);
    called.cfa_from_stack_pointer(s(32)).unwrap();
    called
        .return_address_in(ReturnAddress::Pair(s(30)))
        .unwrap();
    let mut table = FrameTable::new();
    table.add(kernel).add(called);
    let section = table.write().unwrap().bytes;
    object_with(KERNEL, leaf, &[(".debug_frame", &section)])
}

/// Returns an object with these sections and the code of both functions.
fn object_with(outer: [u32; 4], leaf: &[u32], sections: &[(&str, &[u8])]) -> Vec<u8> {
    let code = outer.iter().chain(leaf).chain([&RETURNS]);
    let code: Vec<u8> = code.flat_map(|word| word.to_le_bytes()).collect();
    let functions = [
        ("outer".to_owned(), 0..16),
        ("leaf".to_owned(), 16..code.len()),
    ];
    linked(&code, &functions, sections)
}

/// Stops before the return of `leaf`, which has three instructions before it, and asks.
fn stop(leaf: [u32; 3], options: StopOptions, ask: impl FnOnce(&Stop<'_, '_>)) {
    stop_in(&object_of(&leaf), LEAF + 12, options, ask);
}

fn stop_in(file: &[u8], pc: u64, options: StopOptions, ask: impl FnOnce(&Stop<'_, '_>)) {
    let object = CodeObject::parse(file).unwrap();
    let program = Program::load(&object).unwrap();
    let mut wave = Snapshot::new("gfx90a", WaveSize::Wave64, pc);
    let registers = [
        (30, RETURN),
        (31, 0),
        (32, 0x100),
        (33, 7),
        (34, u32::MAX.into()),
        (35, u32::MAX.into()),
        (36, 8),
        (40, 9),
        (48, RETURN),
        (49, 0),
    ];
    for (number, value) in registers {
        wave.set_register(s(number), value).unwrap();
    }
    wave.set_register(Register::EXEC_64, CALLED).unwrap();
    let lanes: Vec<Option<u32>> = (0..64).map(Some).collect();
    wave.set_lanes(V1, &lanes).unwrap();
    wave.set_lanes(V40, &lanes).unwrap();
    let arena = Arena::new();
    ask(&Stop::new(&program, &wave, wave.pc(), options, &arena));
}

/// Returns the value of a register in a frame; none if it is undefined.
fn value(stop: &Stop<'_, '_>, frame: &CallFrame<'_, '_, '_>, number: u16) -> Option<u64> {
    let location: Location<'_> = frame.register(s(number)).unwrap();
    let access = Access {
        wave: stop.wave(),
        lane: None,
        max_bits: 64,
        meter: None,
    };
    let bits = read(&location, 32, &access).unwrap();
    let bytes = bits.bytes.first_chunk::<4>().unwrap();
    bits.is_complete()
        .then(|| u32::from_le_bytes(*bytes).into())
}

fn names(frame: &CallFrame<'_, '_, '_>) -> Vec<String> {
    let rules = frame.corrected_rules().iter();
    rules.map(|rule| rule.name.clone()).collect()
}

/// `s33` was copied to `s40`, and is overwritten: the caller's value is the 9 in `s40`, not the 7 in `s33`.
#[test]
fn a_register_is_where_the_code_keeps_it() {
    let leaf = [move32(40, 33), move32(33, FIVE), NOP];
    stop(leaf, StopOptions::default(), |stop| {
        let [leaf, outer] = [0, 1].map(|level| stop.stack().frame(level).unwrap());
        assert_eq!(outer.code_address(), RETURN);
        assert_eq!(value(stop, &outer, 33), Some(9));
        assert_eq!(value(stop, &outer, 36), Some(8));
        assert_eq!(names(&leaf), ["s33"]);
    });
    for options in [
        StopOptions::default().reading(Reading::Strict),
        StopOptions::default().only_dwarf(true),
    ] {
        stop(leaf, options, |stop| {
            let [leaf, outer] = [0, 1].map(|level| stop.stack().frame(level).unwrap());
            assert_eq!(value(stop, &outer, 33), Some(7));
            assert!(names(&leaf).is_empty());
        });
    }
}

/// `s33` is overwritten and was not saved: no value is shown.
#[test]
fn a_lost_register_has_no_value() {
    let leaf = [move32(33, FIVE), NOP, NOP];
    stop(leaf, StopOptions::default(), |stop| {
        let [leaf, outer] = [0, 1].map(|level| stop.stack().frame(level).unwrap());
        assert_eq!(outer.code_address(), RETURN);
        assert_eq!(value(stop, &outer, 33), None);
        assert_eq!(value(stop, &outer, 36), Some(8));
        assert_eq!(names(&leaf), ["s33"]);
    });
}

/// `s[30:31]` are overwritten: there is no caller at 5, but an error that names the instruction.
#[test]
fn a_lost_return_address_ends_the_stack() {
    let leaf = [move32(30, FIVE), move32(31, FIVE), NOP];
    stop(leaf, StopOptions::default(), |stop| {
        let stack = stop.stack();
        assert_eq!((stack.frames().len(), stack.stopped()), (1, Stopped::Error));
        let message = stack.error().unwrap().to_string();
        assert!(message.contains("the instruction at 0x1014"), "{message}");
        assert_eq!(names(&stack.frame(0).unwrap()), ["pc"]);
    });
}

/// The stack pointer, from which the row computes the CFA, is overwritten with 5. Without a CFA, the return address is still found.
#[test]
fn a_lost_cfa_is_not_shown() {
    let leaf = [move32(32, FIVE), NOP, NOP];
    stop(leaf, StopOptions::default(), |stop| {
        let [leaf, outer] = [0, 1].map(|level| stop.stack().frame(level).unwrap());
        assert_eq!(outer.code_address(), RETURN);
        assert!(leaf.cfa().is_err());
        assert_eq!(names(&leaf), ["cfa"]);
    });
}

/// `buffer_load_dword v2, off, s[0:3], s33` shows that scratch addresses count bytes of the wave. The stack pointer was copied to `s40`: the CFA is 9.
#[test]
fn a_cfa_is_where_the_code_keeps_it() {
    let load = [0xe050_0000, 0x2100_0200];
    let kept = object_of(&[move32(40, 32), move32(32, FIVE), load[0], load[1]]);
    stop_in(&kept, LEAF + 16, StopOptions::default(), |stop| {
        let leaf = stop.stack().frame(0).unwrap();
        let cfa = leaf.cfa().unwrap().byte_address();
        assert_eq!(cfa.map(|(_, address)| address), Some(9));
        assert_eq!(names(&leaf), ["cfa"]);
    });
}

/// Returns the range of undefined bits, if there is exactly one.
fn lost(bits: &Bits) -> Option<Range<u64>> {
    match bits.undefined.ranges() {
        [only] => Some(only.clone()),
        _ => None,
    }
}

/// `s_not_b64 exec, exec`.
const NOT: u32 = 0xbefe_057e;
/// `v_mov_b32 v40, 5`.
const OVERWRITE: u32 = 0x7e50_0285;
/// `v_mov_b32 v2, v40`.
const COPY: u32 = 0x7e04_0328;

/// Returns the lanes of a vector register in `outer`.
fn lanes(stop: &Stop<'_, '_>, register: Register) -> Bits {
    let outer = stop.stack().frame(1).unwrap();
    let access = Access {
        wave: stop.wave(),
        lane: None,
        max_bits: 64 * 32,
        meter: None,
    };
    read(&outer.register(register).unwrap(), 64 * 32, &access).unwrap()
}

/// `v1` is not preserved and is overwritten with 5, in the eight lanes that entered `leaf`. The others keep their own numbers.
#[test]
fn a_lost_vector_register_keeps_the_lanes_that_were_not_in_the_call() {
    /// `v_mov_b32 v1, 5`.
    const OVERWRITE: u32 = 0x7e02_0285;
    stop([OVERWRITE, NOP, NOP], StopOptions::default(), |stop| {
        let bits = lanes(stop, V1);
        assert_eq!(lost(&bits), Some(0..8 * 32));
        for (lane, bytes) in bits.bytes.chunks(4).enumerate().skip(8) {
            assert_eq!(usize::from(bytes[0]), lane);
        }
    });
}

/// `v40` is overwritten in the lanes that did not enter `leaf`. It is right in the other lanes.
#[test]
fn a_lost_vector_register_keeps_the_lanes_that_were_in_the_call() {
    stop([NOT, OVERWRITE, NOT], StopOptions::default(), |stop| {
        let bits = lanes(stop, V40);
        for (lane, bytes) in bits.bytes.chunks(4).enumerate().take(8) {
            assert_eq!(usize::from(bytes[0]), lane);
        }
        assert_eq!(lost(&bits), Some(8 * 32..64 * 32));
    });
}

/// `v40` is copied to `v2` in the lanes that entered `leaf`, and then overwritten in all lanes. `v2` has the values of some lanes only, so all are lost.
#[test]
fn a_vector_register_that_is_kept_in_part_is_lost() {
    let leaf = [COPY, OVERWRITE, NOT, OVERWRITE, NOT];
    for file in [object_of(&leaf), object_with(KERNEL, &leaf, &[])] {
        stop_in(&file, LEAF + 20, StopOptions::default(), |stop| {
            assert_eq!(lost(&lanes(stop, V40)), Some(0..64 * 32));
        });
    }
}

/// `s_add_u32 s32, s32, 63` and `s_and_b32 s32, s32, 0xffffffc0`: the CFA in `s32` is wrong only if it was not a multiple of 64. It is kept.
#[test]
fn a_rule_that_is_wrong_under_a_condition_is_kept() {
    let leaf = [0x8020_bf20, 0x8620_ff20, 0xffff_ffc0];
    stop(leaf, StopOptions::default(), |stop| {
        let leaf = stop.stack().frame(0).unwrap();
        let cfa = leaf.cfa().unwrap().byte_address();
        assert_eq!(cfa.map(|(_, address)| address), Some(0x100));
        assert!(names(&leaf).is_empty());
    });
}

/// The caller is the one in `s[30:31]`, and `s33` is in `s40`. A strict reading and `--only-dwarf` find no caller.
#[test]
fn without_rules_the_code_shows_the_caller() {
    let file = object_with(KERNEL, &[move32(40, 33), move32(33, FIVE), NOP], &[]);
    stop_in(&file, LEAF + 12, StopOptions::default(), |stop| {
        let stack = stop.stack();
        assert_eq!((stack.frames().len(), stack.stopped()), (2, Stopped::NoCfi));
        let [leaf, outer] = [0, 1].map(|level| stack.frame(level).unwrap());
        assert_eq!(outer.code_address(), RETURN);
        assert_eq!(value(stop, &outer, 33), Some(9));
        assert_eq!(value(stop, &outer, 36), Some(8));
        assert_eq!((leaf.is_derived(), outer.is_derived()), (true, false));
        assert!(names(&leaf).is_empty());
    });
    for options in [
        StopOptions::default().reading(Reading::Strict),
        StopOptions::default().only_dwarf(true),
    ] {
        stop_in(&file, LEAF + 12, options, |stop| {
            let stack = stop.stack();
            assert_eq!((stack.frames().len(), stack.stopped()), (1, Stopped::NoCfi));
        });
    }
}

/// `s_cbranch_scc1 1`, which skips the write of `s36`: its value is known only by a rule. `s33` is never written.
#[test]
fn without_rules_a_value_that_is_not_certain_is_not_shown() {
    let leaf = [0xbf85_0001, move32(36, FIVE), NOP];
    for (file, expected) in [
        (object_of(&leaf), Some(8)),
        (object_with(KERNEL, &leaf, &[]), None),
    ] {
        stop_in(&file, LEAF + 12, StopOptions::default(), |stop| {
            let outer = stop.stack().frame(1).unwrap();
            assert_eq!(value(stop, &outer, 36), expected);
            assert_eq!(value(stop, &outer, 33), Some(7));
        });
    }
}

/// `leaf` has called unknown code, and kept its own return address in `s[48:49]`. That code may have written `v1` in the lanes that `leaf` has, but it
/// preserves `v40` (USAGE "Calling Convention").
#[test]
fn without_rules_a_register_that_a_callee_may_write_is_not_shown() {
    /// `s_swappc_b64 s[30:31], s[4:5]`.
    const CALLS: u32 = KERNEL[CALL];
    let leaf = [move32(48, 30), move32(49, 31), CALLS, NOP];
    let file = object_with(KERNEL, &leaf, &[]);
    stop_in(&file, LEAF + 12, StopOptions::default(), |stop| {
        let outer = stop.stack().frame(1).unwrap();
        assert_eq!(outer.code_address(), RETURN);
        let bits = lanes(stop, V1);
        assert_eq!(lost(&bits), Some(0..8 * 32));
        assert!(lanes(stop, V40).is_complete());
        assert_eq!(value(stop, &outer, 36), Some(8));
        assert_eq!(value(stop, &outer, 40), None);
    });
}

/// `v2` has the values of `v40` in the lanes that did not enter `leaf`. No rule can name such a place, so these lanes are lost.
#[test]
fn without_rules_a_place_that_no_rule_can_name_is_not_shown() {
    let file = object_with(KERNEL, &[NOT, COPY, OVERWRITE, NOT], &[]);
    stop_in(&file, LEAF + 16, StopOptions::default(), |stop| {
        assert_eq!(lost(&lanes(stop, V40)), Some(8 * 32..64 * 32));
    });
}

/// `s_branch 1` skips the second instruction, so nothing is known about the registers there.
#[test]
fn without_rules_code_that_is_not_reached_has_no_caller() {
    let file = object_with(KERNEL, &[0xbf82_0001, NOP, NOP], &[]);
    for (offset, frames) in [(4, 1), (8, 2)] {
        stop_in(&file, LEAF + offset, StopOptions::default(), |stop| {
            assert_eq!(stop.stack().frames().len(), frames);
        });
    }
}

/// The return address may have been overwritten, or there is no call before it. In both cases there is no caller.
#[test]
fn without_rules_a_caller_is_certain() {
    let mut uncalled = KERNEL;
    uncalled[CALL] = NOP;
    for (outer, leaf) in [
        (KERNEL, [0xbf85_0001, move32(30, FIVE), NOP]),
        (uncalled, [NOP; 3]),
    ] {
        let file = object_with(outer, &leaf, &[]);
        stop_in(&file, LEAF + 12, StopOptions::default(), |stop| {
            let stack = stop.stack();
            assert_eq!((stack.frames().len(), stack.stopped()), (1, Stopped::NoCfi));
            assert!(!stack.frame(0).unwrap().is_derived());
        });
    }
}
