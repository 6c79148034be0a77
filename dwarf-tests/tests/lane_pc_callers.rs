//! Checks that lanes that were inactive on entry to a function are located in its callers, where they wait.

use dwarf_tests::simulator::object_file::{Addresses, Function, starts, write_with_frames};
use hetdwarf::arch::{Register, ScratchAddressing, WaveSize};
use hetdwarf::frame::write::{Common, FrameTable, FunctionFrame, ReturnAddress, Start, Target};
use hetdwarf::inspect::{
    LaneInCaller, LanePlace, Program, Recovery, Stop, StopOptions, UnknownLane,
};
use hetdwarf::lane_flow::Reason;
use hetdwarf::lane_pc::{self, Label, MaskPlace, Region};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::report::LanePcDocument;
use hetdwarf::wave::Snapshot;

/// The lanes that enter `outer`, the lanes of its `then`, which call `leaf`, and the lanes of the `then` in `leaf`.
const ENTERED: u64 = 0x00ff_ffff;
const CALL: u64 = 0x0000_ffff;
const LEAF: u64 = 0x0000_00ff;

fn s(number: u16) -> Register {
    Register::sgpr(number).unwrap()
}

/// Returns the lanes of a function with 16 instructions, and an `if` from the third to the twelfth. The mask is in a scalar register.
fn function(mask: u16) -> lane_pc::Program {
    let then = Label::from(12)..Label::from(48);
    lane_pc::Program::new(&lane_pc::Function {
        code: 0.into()..64.into(),
        wave_size: WaveSize::Wave32,
        regions: vec![Region::if_then(
            8.into(),
            then,
            MaskPlace::Scalar(mask),
            vec![],
        )],
        whole_wave: vec![],
    })
    .unwrap()
}

/// Returns an object in which `outer` calls `leaf` from within its `if`.
///
/// * `with_exec`: true if the call frame information of `leaf` locates EXEC on entry.
/// * `return_address`: the first of the two registers with the return address in the call frame information.
fn object(with_exec: bool, return_address: u16) -> Vec<u8> {
    let programs = [function(10), function(20)];
    let [outer, leaf] =
        [("outer", &programs[0]), ("leaf", &programs[1])].map(|(name, program)| Function {
            name,
            size: 64,
            program,
        });
    let (at, _) = starts(&[outer, leaf]);
    let target = Target {
        wave_size: WaveSize::Wave32,
        scratch: ScratchAddressing::Buffer,
    };
    let frame =
        |at: u64| FunctionFrame::new(target, &Common::new(), Start::Address(at), 64).unwrap();
    let mut kernel = frame(at[0]);
    kernel.kernel_entry().unwrap();
    let mut called = frame(at[1]);
    called.cfa_from_stack_pointer(s(32)).unwrap();
    called
        .return_address_in(ReturnAddress::Pair(s(return_address)))
        .unwrap();
    if with_exec {
        called
            .at(8)
            .unwrap()
            .saved_in_register(Register::EXEC_32, s(20))
            .unwrap();
    }
    let mut table = FrameTable::new();
    table.add(kernel).add(called);
    let section = table.write().unwrap().bytes;
    write_with_frames(&[outer, leaf], 5, Addresses::Numbers, &section)
}

/// Returns a wave in the `then` of `leaf`, called by the instruction at 16 in `outer`. `more` has registers with values.
fn wave(leaf: u64, outer: u64, more: &[(u16, u64)]) -> Snapshot {
    let mut wave = Snapshot::new("gfx1030", WaveSize::Wave32, leaf + 16);
    let registers = [(20, CALL), (30, outer + 20), (31, 0), (32, 0x100)];
    for (number, value) in registers.iter().chain(more) {
        wave.set_register(s(*number), *value).unwrap();
    }
    wave.set_register(Register::EXEC_32, LEAF).unwrap();
    wave
}

/// Returns the positions of the lanes that are not in `leaf`, for a wave in its `then`.
fn ask(
    with_exec: bool,
    answer: impl FnOnce(u64, Vec<Option<u64>>, Vec<Option<LaneInCaller>>, LanePcDocument),
) {
    let file = object(with_exec, 30);
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let symbols = object.symbols().unwrap();
    let at = |name: &str| {
        symbols
            .iter()
            .find(|symbol| symbol.name == name)
            .unwrap()
            .address
    };
    let (outer, leaf) = (at("outer"), at("leaf"));
    let wave = wave(leaf, outer, &[(10, ENTERED)]);
    let arena = Arena::new();
    let stop = Stop::new(&program, &wave, wave.pc(), StopOptions::default(), &arena);
    let frame = stop.call_frame(0).unwrap();
    let found = frame.lane_pcs().unwrap();
    let callers = frame.lanes_in_callers(&found);
    // The lanes in `leaf` do not depend on the caller: lanes of `then` run, and the others wait.
    for (lane, pc) in found.pcs().enumerate() {
        let expected = match 1_u64 << lane {
            lane if lane & LEAF != 0 => Some(leaf + 16),
            lane if lane & CALL != 0 => Some(leaf + 8),
            _ => None,
        };
        assert_eq!(pc.map(u64::from), expected, "lane {lane}");
    }
    answer(
        outer,
        found.pcs().map(|pc| pc.map(u64::from)).collect(),
        callers,
        LanePcDocument::new(&frame).unwrap(),
    );
}

#[test]
fn lanes_that_did_not_take_part_in_a_call_wait_in_the_caller() {
    ask(true, |outer, _, callers, document| {
        for (lane, caller) in callers.iter().enumerate() {
            let waits = (ENTERED & !CALL) >> lane & 1 == 1;
            let expected = waits.then_some((1, outer + 8));
            let found = caller.map(|caller| (caller.level, caller.pc.0));
            assert_eq!(found, expected, "lane {lane}");
        }
        let json = serde_json::to_value(&document).unwrap();
        let lane = &json["lanes"][20];
        assert_eq!(
            (&lane["pc"], &lane["caller"]["frame"]),
            (&serde_json::Value::Null, &1.into())
        );
        assert_eq!(lane["caller"]["function"], "outer");
        assert_eq!(
            dwarf_tests::number(&lane["caller"]["pc"]),
            u128::from(outer + 8)
        );
        // Lanes that were inactive when the wave started have no position.
        assert!(
            json["lanes"][30].get("caller").is_none() && json["lanes"][0].get("caller").is_none()
        );
    });
}

#[test]
fn without_exec_of_the_caller_nothing_is_guessed() {
    ask(false, |_, _, callers, _| {
        assert!(callers.iter().all(Option::is_none))
    });
}

/// Code of gfx1030 for `outer`, which calls twice, and for `leaf`, by the offset in the function; the rest is `s_nop`.
const OUTER: [(usize, u32); 5] = [
    (8, 0xbea2_3c6a),  // s_and_saveexec_b32 s34, vcc_lo
    (16, 0xbe9e_2110), // s_swappc_b64 s[30:31], s[16:17]
    (24, 0xbe9e_2110), // s_swappc_b64 s[30:31], s[16:17]
    (48, 0x887e_227e), // s_or_b32 exec_lo, exec_lo, s34
    (60, 0xbf81_0000), // s_endpgm
];
const CALLED: [(usize, u32); 3] = [
    (8, 0xbe94_3c6a),  // s_and_saveexec_b32 s20, vcc_lo
    (48, 0x887e_147e), // s_or_b32 exec_lo, exec_lo, s20
    (60, 0xbe80_201e), // s_setpc_b64 s[30:31]
];

/// Locates the caller's lanes by machine code. According to the callee's call frame information, the return address is in two registers.
/// The code returns to the first call, and the second call is in `s[40:41]`.
fn ask_code(return_address: u16, options: StopOptions) -> (u64, Vec<LanePlace>) {
    let mut file = object(true, return_address);
    let (text, [outer, leaf]) = {
        let object = CodeObject::parse(&file).unwrap();
        let text = object.sections().iter().find(|one| one.name == ".text");
        let at = |name: &str| {
            let symbols = object.symbols().unwrap();
            let symbol = symbols.iter().find(|symbol| symbol.name == name);
            symbol.unwrap().address
        };
        let text = text.unwrap();
        assert_eq!(text.address, 0);
        (text.offset, ["outer", "leaf"].map(at))
    };
    for (start, code) in [(outer, &OUTER[..]), (leaf, &CALLED)] {
        for (offset, dword) in code {
            let at = usize::try_from(text + start).unwrap() + offset;
            assert_eq!(file[at..at + 4], 0xbf80_0000_u32.to_le_bytes());
            file[at..at + 4].copy_from_slice(&dword.to_le_bytes());
        }
    }
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let wave = wave(leaf, outer, &[(34, ENTERED), (40, outer + 28), (41, 0)]);
    let arena = Arena::new();
    let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
    let caller = stop.call_frame(1).unwrap();
    let follows_rule = return_address == 40 && options.only_dwarf;
    let expected = if follows_rule { 28 } else { 20 };
    assert_eq!(caller.call_frame().code_address(), outer + expected);
    let found = caller.lane_pcs_by(Recovery::Always).unwrap();
    (outer, found.places().to_vec())
}

/// A wrong rule of the return address is not followed. If it is followed on request, the lanes of the other call do not apply.
#[test]
fn lanes_of_a_caller_are_unknown_if_the_code_finds_another() {
    let (outer, places) = ask_code(30, StopOptions::default());
    assert_eq!(
        ask_code(40, StopOptions::default()),
        (outer, places.clone())
    );
    for (lane, place) in places.iter().enumerate() {
        match 1_u64 << lane {
            lane if lane & CALL != 0 => assert_eq!(*place, LanePlace::Active),
            lane if lane & ENTERED != 0 => {
                let LanePlace::Waiting { pc, .. } = place else {
                    panic!("{place:?}");
                };
                assert!((outer + 48..outer + 60).contains(&pc.0), "{pc:?}");
            }
            _ => {}
        }
    }
    let unknown = LanePlace::Unknown(UnknownLane::Code(Reason::Caller));
    let only_dwarf = StopOptions::default().only_dwarf(true);
    assert_eq!(ask_code(40, only_dwarf).1, [unknown; 32]);
}
