//! Tests the register bits that the CFA uses, cyclic rules, register rules, and their dependence on EXEC. The section is built by hand.

use dwarf_tests::frame_entry;
use hetdwarf::arch::{AddressSpace, Lane, LoadAddress, Processor, Register, WaveSize};
use hetdwarf::error::{ErrorKind, SpecRule};
use hetdwarf::eval::{Frame, LaneFocus, Reading};
use hetdwarf::frame::{FrameIndex, FrameSection, Stopped, Unwind, unwind};
use hetdwarf::limits::Limit;
use hetdwarf::location::{Arena, LaneSelect, Location, Place, Storage};
use hetdwarf::wave::{Memory, Snapshot};

/// Returns functions of 0x100 bytes, the first of which calls the second.
fn section() -> Vec<u8> {
    let function = |start: u64, instructions: &[u8]| {
        let range = [start.to_le_bytes(), 0x100u64.to_le_bytes()].concat();
        frame_entry(&[&[0; 4], &range, instructions])
    };
    [
        // Version 4, no augmentation, addresses of 8 bytes, code alignment 4, data alignment 4, return address in
        // register 16 (PC_64).
        frame_entry(&[&[0xff; 4], &[4, 0, 8, 0, 4, 4, 16]]),
        // CFA 0x5000 (def_cfa_expression const2u); SGPR40 (register 72) saved there (offset_extended 72, 0); the
        // return address is 0x2010 (val_expression const2u, of 64 bits).
        function(
            0x1000,
            &[
                0x0f, 3, 0x0a, 0x00, 0x50, 0x05, 72, 0, 0x16, 16, 3, 0x0a, 0x10, 0x20,
            ],
        ),
        // CFA in SGPR40, which has 32 bits (def_cfa 72, 0); the return address is undefined.
        function(0x2000, &[0x0c, 72, 0, 0x07, 16]),
        // CFA in register 5.
        function(0x3000, &[0x0c, 5, 0, 0x07, 16]),
        // The CFA is DW_OP_call_frame_cfa.
        function(0x4000, &[0x0f, 1, 0x9c, 0x07, 16]),
        // The CFA is at the place that SGPR40 had on entry, call_frame_entry_reg, which is at the CFA.
        function(0x5000, &[0x0f, 3, 0xe9, 0x07, 72, 0x05, 72, 0, 0x07, 16]),
        // Two functions called by the one at 0x8000. Their CFA is 0x5000, where SGPR41 is saved, and the second preserves EXEC (register
        // 17).
        function(0x6000, &callee(&[])),
        function(0x7000, &callee(&[0x08, 17])),
        // SGPR40 is in SGPR41, by an expression that reads EXEC first: regx 17, deref_size 8, drop, regx 73. SGPR42 is there without
        // reading EXEC. SGPR43 is EXEC's low half: regx 17. According to their rules, SGPR44 is in PC_64 and SGPR45 in SGPR41; SGPR46 is the
        // CFA (val_offset), and SGPR47 a value of 64 bits (val_expression const1u).
        function(
            0x8000,
            &[
                &[0x0f, 3, 0x0a, 0x00, 0x50, 0x07, 16][..],
                &[0x10, 72, 7, 0x90, 17, 0x94, 8, 0x13, 0x90, 73],
                &[0x10, 74, 2, 0x90, 73],
                &[0x10, 75, 2, 0x90, 17],
                &[0x09, 76, 16, 0x09, 77, 73],
                &[0x14, 78, 0, 0x16, 79, 2, 0x08, 1],
            ]
            .concat(),
        ),
        // CFA 0x5000. The rule of the return address is an expression that is the address itself, as GCC writes it: const2u 0x8010.
        function(
            0x9000,
            &[0x0f, 3, 0x0a, 0x00, 0x50, 0x10, 16, 3, 0x0a, 0x10, 0x80],
        ),
        // CFA at SGPR40 plus 0x20 in the wave's scratch (def_aspace_cfa 72, 0x20, 6).
        function(0xa000, &[0x30, 72, 0x20, 6, 0x07, 16]),
        // CFA at SGPR40 in the lane's scratch (def_aspace_cfa 72, 0, 5).
        function(0xb000, &[0x30, 72, 0, 5, 0x07, 16]),
        // CFA at SGPR32 plus 0x40 in the wave's scratch; the return address is 0x2010.
        function(0xe000, &[0x30, 64, 0x40, 6, 0x16, 16, 3, 0x0a, 0x10, 0x20]),
        // Two functions that return to each other; their CFAs are 0x5000 and 0x6000.
        function(
            0xf000,
            &[
                0x0f, 3, 0x0a, 0x00, 0x50, 0x16, 16, 5, 0x0c, 0x10, 0x00, 0x01, 0x00,
            ],
        ),
        function(
            0x1_0000,
            &[0x0f, 3, 0x0a, 0x00, 0x60, 0x16, 16, 3, 0x0a, 0x10, 0xf0],
        ),
        // A function that returns to itself. Its CFA is SGPR40 plus 0x10 in the wave's scratch, and that is SGPR40 of the caller.
        function(
            0x1_1000,
            &[
                0x30, 72, 0x10, 6, 0x14, 72, 0, 0x16, 16, 5, 0x0c, 0x10, 0x10, 0x01, 0x00,
            ],
        ),
        // No rules.
        function(0x1_2000, &[]),
        // CFA 0x5000. The return address has its low half in SGPR40, and the high half nowhere: regx 72, piece 4, piece 4.
        function(
            0x1_3000,
            &[
                0x0f, 3, 0x0a, 0x00, 0x50, 0x10, 16, 6, 0x90, 72, 0x93, 4, 0x93, 4,
            ],
        ),
        // CFA 0x5000. Each of SGPR40 to SGPR59 is where the next is on entry, by call_frame_entry_reg.
        function(0xd000, &{
            let chain = |number: u8| [0x10, number, 3, 0xe9, 7, number + 1];
            let rules: Vec<u8> = (72..92).flat_map(chain).collect();
            let return_address = [0x16, 16, 3, 0x0a, 0x10, 0x20];
            [&[0x0f, 3, 0x0a, 0x00, 0x50][..], &return_address, &rules].concat()
        }),
        // CFA 0x5000, and from the next instruction on 0x6000.
        function(
            0xc000,
            &[
                0x0f, 3, 0x0a, 0x00, 0x50, 0x07, 16, 0x41, 0x0f, 3, 0x0a, 0x00, 0x60,
            ],
        ),
    ]
    .concat()
}

/// Returns the instructions of a function called by 0x8000, with additions: the CFA is 0x5000, the return address 0x8010, and SGPR41 (73)
/// at the CFA.
fn callee(more: &[u8]) -> Vec<u8> {
    let start = [
        0x0f, 3, 0x0a, 0x00, 0x50, 0x05, 73, 0, 0x16, 16, 3, 0x0a, 0x10, 0x80,
    ];
    [&start[..], more].concat()
}

/// Returns the CFA of the outermost frame after `pc`, as an address in the default space, or an error.
fn outermost_cfa(pc: u64, reading: Reading) -> Result<u64, ErrorKind> {
    let section = section();
    let index = FrameIndex::new(FrameSection::debug_frame(&section));
    let mut wave = Snapshot::new("gfx90a", WaveSize::Wave64, pc);
    // SGPR40 was 0x7000, and other bytes follow it in memory.
    let saved = [0x00, 0x70, 0, 0, 0xff, 0xff, 0xff, 0xff];
    wave.add_memory(Memory::Global, 0x5000, &saved).unwrap();
    let arena = Arena::new();
    let mut start = Unwind::new(&wave, &index, LoadAddress(0), &arena);
    start.reading = reading;
    let stack = unwind(start, pc);
    let frame = stack.frames().last().unwrap();
    match frame.cfa() {
        Ok(cfa) => {
            let (space, address) = cfa.byte_address().unwrap();
            assert_eq!(space, AddressSpace::None);
            Ok(address)
        }
        Err(error) => Err(error.kind().clone()),
    }
}

/// In strict reading, 32 bits are no 64-bit address. In tolerant reading they are, regardless of the bytes after the saved register.
#[test]
fn a_narrow_register_that_was_saved_is_no_wider_in_memory() {
    assert_eq!(outermost_cfa(0x1000, Reading::Tolerant), Ok(0x7000));
    assert!(matches!(
        outermost_cfa(0x1000, Reading::Strict),
        Err(ErrorKind::OutOfBounds {
            size_in_bits: 32,
            ..
        })
    ));
}

/// A reserved register has no bits. It is neither read nor treated as zero.
#[test]
fn a_reserved_register_has_no_cfa() {
    for reading in [Reading::Tolerant, Reading::Strict] {
        assert!(matches!(
            outermost_cfa(0x3000, reading),
            Err(ErrorKind::OutOfBounds {
                size_in_bits: 0,
                ..
            })
        ));
    }
}

/// Both are invalid (HET A.6.4.2), and both occur in unverified files.
#[test]
fn a_cfa_that_is_computed_from_itself_is_an_error() {
    for reading in [Reading::Tolerant, Reading::Strict] {
        for pc in [0x4000, 0x5000] {
            let circle = Err(ErrorKind::IllFormed(SpecRule::RegisterCycle));
            assert_eq!(outermost_cfa(pc, reading), circle, "{pc:#x}");
        }
    }
}

/// Returns true if the location of the caller's scalar register assumes that EXEC has no rule. Returns the error if there is no location.
fn rests_on_exec(pc: u64, register: u16, reading: Reading) -> Result<bool, ErrorKind> {
    let section = section();
    let index = FrameIndex::new(FrameSection::debug_frame(&section));
    let mut wave = Snapshot::new("gfx90a", WaveSize::Wave64, pc);
    wave.set_register(exec(), 1).unwrap();
    let arena = Arena::new();
    let mut start = Unwind::new(&wave, &index, LoadAddress(0), &arena);
    start.reading = reading;
    let stack = unwind(start, pc);
    assert_eq!(stack.frames().len(), 2);
    let caller = stack.frame(1).unwrap();
    let register = Register::sgpr(register).unwrap();
    let (location, rests) = (caller.recovered(register)).map_err(|error| error.kind().clone())?;
    // The location is EXEC itself, or the place at the callee's CFA where SGPR41 is.
    match location.byte_address() {
        Some(place) => assert_eq!(place, (AddressSpace::None, 0x5000)),
        None => assert_eq!(location, Location::register(exec())),
    }
    Ok(rests)
}

fn exec() -> Register {
    let exec = Register::exec(WaveSize::Wave64);
    assert_eq!(exec.number(), 17);
    exec
}

/// Checks the CFA of the frame at `pc`, with SGPR40 = 0xfffffff0, for a query about lane 3.
fn assert_cfa(index: &FrameIndex<'_>, pc: u64, space: AddressSpace, lane: LaneSelect, byte: u64) {
    let mut wave = Snapshot::new("gfx90a", WaveSize::Wave64, pc);
    let register = Register::sgpr(40).unwrap();
    wave.set_register(register, 0xffff_fff0).unwrap();
    let arena = Arena::new();
    let mut start = Unwind::new(&wave, index, LoadAddress(0), &arena);
    start.lane = LaneFocus::One(Lane(3));
    let stack = unwind(start, pc);
    let place = Place::new(Storage::Memory { space, lane }, u128::from(byte) * 8);
    let cfa = stack.frame(0).unwrap().cfa();
    assert_eq!(cfa.unwrap(), Location::One(place), "{pc:#x}");
}

/// Addresses of scratch have 32 bits (USAGE, *Address Spaces*): 0xfffffff0 + 0x20 is 0x10. Scratch of a lane has a copy for each lane.
#[test]
fn a_cfa_in_scratch_has_32_bits_and_a_lane() {
    let section = section();
    let index = FrameIndex::new(FrameSection::debug_frame(&section));
    let (wave, lane) = (AddressSpace::PrivateWave, AddressSpace::PrivateLane);
    assert_cfa(&index, 0xa000, wave, LaneSelect::None, 0x10);
    let third = LaneSelect::One(Lane(3));
    assert_cfa(&index, 0xb000, lane, third, 0xffff_fff0);
}

/// An index keeps one row for each instruction.
#[test]
fn adjacent_instructions_have_a_row_each() {
    let section = section();
    let index = FrameIndex::new(FrameSection::debug_frame(&section));
    for (pc, cfa) in [(0xc000, 0x5000), (0xc004, 0x6000), (0xc000, 0x5000)] {
        assert_cfa(&index, pc, AddressSpace::None, LaneSelect::None, cfa);
    }
}

/// Returns the addresses of the frames from `pc` on, and why there are no more.
fn frames_from(pc: u64) -> (Vec<u64>, Stopped) {
    let section = section();
    let index = FrameIndex::new(FrameSection::debug_frame(&section));
    let mut wave = Snapshot::new("gfx90a", WaveSize::Wave64, pc);
    let register = Register::sgpr(40).unwrap();
    wave.set_register(register, 0x1000).unwrap();
    let arena = Arena::new();
    let stack = unwind(Unwind::new(&wave, &index, LoadAddress(0), &arena), pc);
    let addresses = stack.frames().map(|frame| frame.pc().0).collect();
    (addresses, stack.stopped())
}

/// Two functions that return to each other without an end repeat. In a recursion, each frame has another CFA, so nothing repeats.
#[test]
fn frames_repeat_if_their_cfa_does() {
    let (addresses, stopped) = frames_from(0xf000);
    assert_eq!(addresses, [0xf000, 0x1_0010, 0xf010, 0x1_0010]);
    assert_eq!(stopped, Stopped::Cycle);
    let (addresses, stopped) = frames_from(0x1_1000);
    assert_eq!(addresses.len(), 1024);
    assert_eq!(stopped, Stopped::Limit);
}

/// A row without rules does not say that the function has no caller. A return address of which a part is undefined cannot be read, so it is
/// undefined.
#[test]
fn a_stack_ends_for_a_reason() {
    let (addresses, stopped) = frames_from(0x1_2000);
    assert_eq!((addresses.len(), stopped), (1, Stopped::NoRules));
    let (addresses, stopped) = frames_from(0x1_3000);
    assert_eq!(addresses.len(), 1);
    assert_eq!(stopped, Stopped::ReturnAddressUndefined);
}

/// USAGE, *Non-Kernel Functions*: the stack pointer SGPR32 of the caller is the CFA, if that is an address of the wave's scratch.
#[test]
fn the_stack_pointer_of_the_caller_is_the_cfa() {
    let section = section();
    let index = FrameIndex::new(FrameSection::debug_frame(&section));
    let pointer = Register::sgpr(32).unwrap();
    let value = Storage::Value {
        bits: 0x1040,
        bit_size: 32,
    };
    for (pc, expected) in [
        (0xe000, Location::One(Place::new(value, 0))),
        (0x6000, Location::register(pointer)),
    ] {
        let mut wave = Snapshot::new("gfx90a", WaveSize::Wave64, pc);
        wave.set_register(pointer, 0x1000).unwrap();
        let arena = Arena::new();
        let mut start = Unwind::new(&wave, &index, LoadAddress(0), &arena);
        start.reading = Reading::Tolerant;
        start.processor = Processor::by_name("gfx90a");
        let stack = unwind(start, pc);
        let caller = stack.frame(1).unwrap();
        assert_eq!(caller.register(pointer).unwrap(), expected, "{pc:#x}");
    }
}

/// Rules that depend on each other are evaluated one inside the other, up to the limit.
#[test]
fn rules_nest_up_to_the_limit() {
    let section = section();
    let index = FrameIndex::new(FrameSection::debug_frame(&section));
    let wave = Snapshot::new("gfx90a", WaveSize::Wave64, 0xd000);
    let arena = Arena::new();
    for (depth, is_limited) in [(30, false), (10, true)] {
        let mut start = Unwind::new(&wave, &index, LoadAddress(0), &arena);
        start.limits.depth = depth;
        let stack = unwind(start, 0xd000);
        let found = stack
            .frame(1)
            .unwrap()
            .register(Register::sgpr(40).unwrap());
        let last = Location::register(Register::sgpr(60).unwrap());
        match found {
            Ok(location) => assert!(!is_limited && location == last, "{location:?}"),
            Err(error) => {
                let kind = error.kind();
                let is_depth = matches!(
                    kind,
                    ErrorKind::Limit {
                        limit: Limit::Depth,
                        ..
                    }
                );
                assert!(is_limited && is_depth, "{error}");
            }
        }
    }
}

/// LLVM gives EXEC no rule. Values that depend on the caller's EXEC then rest on an assumption (`spec-notes/frames.md`), even if an
/// independent register is read afterwards. With a rule, nothing is assumed.
#[test]
fn what_depends_on_the_callers_exec_says_so() {
    for reading in [Reading::Tolerant, Reading::Strict] {
        for (register, depends) in [(40, true), (42, false), (43, true), (45, false)] {
            let found = rests_on_exec(0x6000, register, reading);
            assert_eq!(found, Ok(depends), "s{register}");
            assert_eq!(rests_on_exec(0x7000, register, reading), Ok(false));
        }
    }
}

/// HET A.6.4.1: the location or value in a rule has the size of the register. PC_64, an address and a value of generic type have 64 bits, a scalar
/// register 32.
#[test]
fn a_rule_has_the_size_of_its_register() {
    for reading in [Reading::Tolerant, Reading::Strict] {
        for register in [44, 46, 47] {
            let found = rests_on_exec(0x6000, register, reading);
            let expected = Err(ErrorKind::IllFormed(SpecRule::RuleSize));
            assert_eq!(found, expected, "s{register}");
        }
    }
}

/// An expression that ends in a plain value is no location, which the rule requires. In tolerant reading, the value is the return address.
#[test]
fn a_value_is_the_return_address_in_tolerant_reading() {
    let section = section();
    let index = FrameIndex::new(FrameSection::debug_frame(&section));
    let wave = Snapshot::new("gfx90a", WaveSize::Wave64, 0x9000);
    let arena = Arena::new();
    for (reading, expected) in [
        (Reading::Tolerant, &[0x9000, 0x8010][..]),
        (Reading::Strict, &[0x9000]),
    ] {
        let mut start = Unwind::new(&wave, &index, LoadAddress(0), &arena);
        start.reading = reading;
        let stack = unwind(start, 0x9000);
        let addresses: Vec<u64> = stack.frames().map(|frame| frame.pc().0).collect();
        assert_eq!(addresses, expected);
    }
}
