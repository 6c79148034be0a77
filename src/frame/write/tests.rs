//! Compares with bytes worked out by hand from DWARF 5 §7.7, §7.24 and HET A.7, in the shapes of LLVM 24.

use fallible_iterator::FallibleIterator;

use super::*;
use crate::arch::{Lane, Processor, Register, ScratchAddressing, WaveSize};
use crate::error::{Error, ErrorKind, SpecRule};
use crate::frame::{
    CFA_ROWS, CfaOperand, CfaRule, FrameSection, Instruction, Instructions, RegisterRule, Rows,
};

const BUFFER64: Target = Target {
    wave_size: WaveSize::Wave64,
    scratch: ScratchAddressing::Buffer,
};
const FLAT32: Target = Target {
    wave_size: WaveSize::Wave32,
    scratch: ScratchAddressing::Flat,
};

fn s(n: u16) -> Register {
    Register::sgpr(n).unwrap()
}

fn v64(n: u16) -> Register {
    Register::vgpr(n, WaveSize::Wave64).unwrap()
}

fn v32(n: u16) -> Register {
    Register::vgpr(n, WaveSize::Wave32).unwrap()
}

fn frame(target: Target) -> FunctionFrame {
    FunctionFrame::new(target, &Common::new(), Start::symbol("f"), 0x1000).unwrap()
}

/// Returns the instructions of the events, without padding.
fn written(
    target: Target,
    events: impl FnOnce(&mut FunctionFrame) -> crate::Result<()>,
) -> Vec<u8> {
    let mut frame = frame(target);
    events(&mut frame).unwrap();
    frame.instructions().to_vec()
}

macro_rules! bytes_of {
    ($target:expr, $($event:tt)*) => {
        written($target, |frame| { frame.$($event)*?; Ok(()) })
    };
}

/// Returns the error of an event, and checks that the frame is unchanged.
macro_rules! refused {
    ($frame:expr, $($event:tt)*) => {{
        let before = $frame.instructions().to_vec();
        let error: Error = $frame.$($event)*.map(|_| ()).unwrap_err();
        assert_eq!($frame.instructions(), before, "{error}");
        error
    }};
}

fn rule(error: &Error) -> SpecRule {
    let ErrorKind::IllFormed(rule) = error.kind() else {
        panic!("{error}");
    };
    *rule
}

fn malformed(error: &Error) -> &'static str {
    let ErrorKind::Malformed { what, .. } = error.kind() else {
        panic!("{error}");
    };
    what
}

#[test]
fn every_instruction_encodes_to_what_it_was_read_from() {
    for row in CFA_ROWS {
        let mut bytes = vec![row.code];
        for operand in row.operands {
            match operand {
                CfaOperand::SmallDelta | CfaOperand::SmallRegister => bytes[0] |= 0x2a,
                CfaOperand::Delta1 => bytes.push(0xfe),
                CfaOperand::Delta2 => bytes.extend([0x34, 0xfe]),
                CfaOperand::Delta4 => bytes.extend([1, 2, 3, 0xfe]),
                CfaOperand::Delta8 | CfaOperand::Address => {
                    bytes.extend([1, 2, 3, 4, 5, 6, 7, 0xfe])
                }
                CfaOperand::Register | CfaOperand::Offset | CfaOperand::Factored => {
                    bytes.extend([0xa8, 0x14])
                }
                CfaOperand::SignedFactored => bytes.extend([0x80, 0x7f]),
                CfaOperand::Space => bytes.push(6),
                CfaOperand::Expression => bytes.extend([2, 0x30, 0x96]),
            }
        }
        let item = Instructions::new(&bytes, 0, 8, "test")
            .next()
            .unwrap()
            .unwrap();
        assert_eq!(item.instruction.opcode(), row.opcode);
        let mut again = vec![0xcc];
        item.instruction.encode(8, &mut again).unwrap();
        assert_eq!(again[1..], bytes, "{}", row.name);
    }
}

#[test]
fn an_operand_that_does_not_fit_changes_nothing() {
    let too_large = [
        Instruction::AdvanceLoc { delta: 0x40 },
        Instruction::Offset {
            register: 64,
            offset: 0,
        },
        Instruction::Restore { register: 64 },
        Instruction::AdvanceLoc1 { delta: 0x100 },
        Instruction::AdvanceLoc2 { delta: 0x1_0000 },
        Instruction::AdvanceLoc4 { delta: 1 << 32 },
    ];
    for instruction in too_large {
        let mut out = vec![1, 2];
        let error = instruction.encode(8, &mut out).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Syntax { .. }), "{error}");
        assert_eq!(out, [1, 2]);
    }
}

/// SGPR30 is 62 (0x3e), SGPR32 is 64 (0x40); VGPR40 of wave64 is 2600 (LEB128 a8 14), of wave32 1576 (a8 0c).
#[test]
fn events_have_the_shapes_of_llvm() {
    // DW_CFA_LLVM_def_aspace_cfa SGPR32 +0 in private_wave
    let cfa = bytes_of!(BUFFER64, cfa_from_stack_pointer(s(32)));
    assert_eq!(cfa, [0x30, 0x40, 0, 6]);
    // DW_CFA_def_cfa_expression: regx SGPR32, deref_size 4, lit5, shl, lit6, form_aspace_address
    let cfa = bytes_of!(FLAT32, cfa_from_stack_pointer(s(32)));
    assert_eq!(
        cfa,
        [0x0f, 9, 0x90, 0x40, 0x94, 4, 0x35, 0x24, 0x36, 0xe9, 2]
    );
    // DW_CFA_def_cfa_expression: lit0, lit6, form_aspace_address; DW_CFA_undefined PC_64
    let kernel = bytes_of!(BUFFER64, kernel_entry());
    assert_eq!(kernel, [0x0f, 4, 0x30, 0x36, 0xe9, 2, 7, 16]);
    // DW_CFA_expression PC_64: regx SGPR30, piece 4, regx SGPR31, piece 4
    let pair = bytes_of!(BUFFER64, return_address_in(ReturnAddress::Pair(s(30))));
    assert_eq!(
        pair,
        [0x10, 16, 8, 0x90, 0x3e, 0x93, 4, 0x90, 0x3f, 0x93, 4]
    );
    // DW_CFA_expression PC_64: regx VGPR40, bit_piece 32 0, regx VGPR40, bit_piece 32 32
    let lanes = ReturnAddress::Lanes {
        register: v64(40),
        low: Lane(0),
        high: Lane(1),
    };
    let lanes = bytes_of!(BUFFER64, return_address_in(lanes));
    let half = [0x90, 0xa8, 0x14, 0x9d, 32];
    let expected = [&[0x10, 16, 12][..], &half, &[0], &half, &[32]].concat();
    assert_eq!(lanes, expected);
    // DW_CFA_expression SGPR34: regx VGPR40, offset_uconst 8
    let lane = bytes_of!(BUFFER64, saved_in_lane(s(34), v64(40), Lane(2)));
    assert_eq!(lane, [0x10, 0x42, 6, 0x90, 0xa8, 0x14, 0xe9, 5, 8]);
    // DW_CFA_expression VGPR40: regx VGPR40, swap, offset_uconst 0x100, call_frame_entry_reg EXEC,
    // deref_size 8, select_bit_piece 32 64; the store has offset 4, so that the row is 4 * 64 bytes away.
    let masked = bytes_of!(BUFFER64, saved_to_scratch(v64(40), 4, Mask::ExecOnEntry));
    let expected = [
        &[
            0x10, 0xa8, 0x14, 17, 0x90, 0xa8, 0x14, 0x16, 0xe9, 5, 0x80, 2,
        ][..],
        &[0xe9, 7, 17, 0x94, 8, 0xe9, 12, 32, 64],
    ];
    assert_eq!(masked, expected.concat());
    // The corresponding expression for 32 lanes: 4 * 32 bytes, EXEC_32 is 1.
    let masked = bytes_of!(FLAT32, saved_to_scratch(v32(40), 4, Mask::ExecOnEntry));
    let expected = [
        &[
            0x10, 0xa8, 0x0c, 17, 0x90, 0xa8, 0x0c, 0x16, 0xe9, 5, 0x80, 1,
        ][..],
        &[0xe9, 7, 1, 0x94, 4, 0xe9, 12, 32, 32],
    ];
    assert_eq!(masked, expected.concat());
    // DW_CFA_offset_extended VGPR40 0x100, in units of 4.
    let whole = bytes_of!(BUFFER64, saved_to_scratch_whole(v64(40), 4));
    assert_eq!(whole, [5, 0xa8, 0x14, 64]);
    // DW_CFA_expression VGPR40: regx VGPR40, regx AGPR2 (3074), call_frame_entry_reg EXEC, …
    let a2 = Register::agpr(2, WaveSize::Wave64).unwrap();
    let agpr = bytes_of!(BUFFER64, saved_in_vector(v64(40), a2, Mask::ExecOnEntry));
    let expected = [
        &[0x10, 0xa8, 0x14, 15, 0x90, 0xa8, 0x14, 0x90, 0x82, 0x18][..],
        &[0xe9, 7, 17, 0x94, 8, 0xe9, 12, 32, 64],
    ];
    assert_eq!(agpr, expected.concat());
}

/// Events for facts that LLVM should write, but omits.
#[test]
fn events_say_what_compilers_leave_out() {
    // EXEC_64 in s[4:5], SGPR4 is 36 (0x24).
    let exec = bytes_of!(BUFFER64, saved_in_register(Register::EXEC_64, s(4)));
    assert_eq!(
        exec,
        [0x10, 17, 8, 0x90, 0x24, 0x93, 4, 0x90, 0x25, 0x93, 4]
    );
    // EXEC_32 in s4.
    let exec = bytes_of!(FLAT32, saved_in_register(Register::EXEC_32, s(4)));
    assert_eq!(exec, [9, 1, 0x24]);
    // VGPR40, stored by `s_xor_saveexec_b32 s4, -1` at lane offset 8: undefined, swap, offset_uconst 0x100,
    // regx s4, deref_size 4, not, select_bit_piece 32 32.
    let inactive = bytes_of!(
        FLAT32,
        inactive_saved_to_scratch(v32(40), 8, Mask::Register(s(4)))
    );
    let expected = [
        &[0x10, 0xa8, 0x0c, 16, 0xe9, 8, 0x16, 0xe9, 5, 0x80, 2][..],
        &[0x90, 0x24, 0x94, 4, 0x20, 0xe9, 12, 32, 32],
    ];
    assert_eq!(inactive, expected.concat());
    // A mask in s[4:5]: regx s5, deref_size 4, const1u 32, shl, regx s4, deref_size 4, or.
    let mask = bytes_of!(
        BUFFER64,
        saved_in_vector(v64(40), v64(41), Mask::Register(s(4)))
    );
    let expected = [
        &[0x10, 0xa8, 0x14, 22, 0x90, 0xa8, 0x14, 0x90, 0xa9, 0x14][..],
        &[
            0x90, 0x25, 0x94, 4, 0x08, 32, 0x24, 0x90, 0x24, 0x94, 4, 0x21,
        ],
        &[0xe9, 12, 32, 64],
    ];
    assert_eq!(mask, expected.concat());
    // A mask in lanes 6 and 7 of v42: regx v42, offset_uconst 24, deref_size 8.
    let mask = Mask::Lane {
        register: v64(42),
        lane: Lane(6),
    };
    let mask = bytes_of!(BUFFER64, saved_in_vector(v64(40), v64(41), mask));
    let expected = [
        &[0x10, 0xa8, 0x14, 18, 0x90, 0xa8, 0x14, 0x90, 0xa9, 0x14][..],
        &[0x90, 0xaa, 0x14, 0xe9, 5, 24, 0x94, 8, 0xe9, 12, 32, 64],
    ];
    assert_eq!(mask, expected.concat());
}

#[test]
fn the_stack_pointer_follows_the_cfa() {
    // Bytes of the wave: DW_CFA_val_offset SGPR32 0 once, and the CFA may move.
    let buffer = written(BUFFER64, |frame| {
        frame
            .cfa_from_stack_pointer(s(32))?
            .stack_pointer_from_cfa(s(32))?;
        frame.at(4)?.cfa_from_frame_pointer(s(33))?;
        frame.at(8)?.cfa_from_register(s(33), -0x400)?;
        frame.at(12)?.cfa_from_register(s(33), 0x400)?;
        Ok(())
    });
    let expected = [
        &[0x30, 0x40, 0, 6, 0x14, 0x40, 0][..],
        &[0x41, 0x0d, 0x41],
        // -0x400 in units of 4 is -256: LEB128 80 7e.
        &[0x41, 0x13, 0x80, 0x7e],
        &[0x41, 0x0e, 0x80, 8],
    ];
    assert_eq!(buffer, expected.concat());
    // Bytes of a lane: same_value; register SGPR33; the incoming pointer is 16 below SGPR33; lane 3 of v40.
    let flat = written(FLAT32, |frame| {
        frame
            .cfa_from_stack_pointer(s(32))?
            .stack_pointer_from_cfa(s(32))?;
        frame.at(4)?.cfa_from_frame_pointer(s(33))?;
        frame.at(8)?.cfa_from_register(s(33), -16)?;
        frame.at(12)?.remember()?.cfa_from_lane(v32(40), Lane(3))?;
        frame.at(16)?.restore()?;
        frame.at(20)?.cfa_from_stack_pointer(s(32))?;
        Ok(())
    });
    let scaled = [0x35, 0x24, 0x36, 0xe9, 2];
    let expected = [
        &[0x0f, 9, 0x90, 0x40, 0x94, 4][..],
        &scaled,
        &[8, 0x40],
        &[0x41, 0x0f, 9, 0x90, 0x41, 0x94, 4],
        &scaled,
        &[9, 0x40, 0x41],
        &[0x41, 0x0f, 11, 0x90, 0x41, 0x94, 4, 0x40, 0x1c],
        &scaled,
        &[0x10, 0x40, 7, 0x90, 0x41, 0x94, 4, 0x40, 0x1c, 0x9f],
        &[0x41, 0x0a, 0x0f, 13, 0x90, 0xa8, 0x0c, 0xe9, 5, 12, 0x94, 4],
        &scaled,
        &[0x10, 0x40, 6, 0x90, 0xa8, 0x0c, 0xe9, 5, 12],
        &[0x41, 0x0b],
        &[0x41, 0x0f, 9, 0x90, 0x40, 0x94, 4],
        &scaled,
        &[8, 0x40],
    ];
    assert_eq!(flat, expected.concat());
    // A kernel's CFA has no base.
    let mut kernel = frame(FLAT32);
    kernel.kernel_entry().unwrap();
    assert_eq!(
        rule(&refused!(kernel, stack_pointer_from_cfa(s(32)))),
        SpecRule::CfaRule
    );
    // Nor has a CFA that an instruction set after an event.
    let mut moved = frame(FLAT32);
    moved.cfa_from_stack_pointer(s(32)).unwrap();
    // const2u 0x5000
    let elsewhere = Instruction::DefCfaExpression {
        expression: &[0x0a, 0, 0x50],
    };
    moved.raw(elsewhere).unwrap();
    assert_eq!(
        rule(&refused!(moved, stack_pointer_from_cfa(s(32)))),
        SpecRule::CfaRule
    );
}

#[test]
fn what_is_restored_has_the_rule_of_the_entry() {
    let pair = ReturnAddress::Pair(s(30));
    let common = Common::new()
        .with_initial(BUFFER64, |initial| {
            initial.clobbered(s(4))?.clobbered(Register::EXEC_64)?;
            Ok(())
        })
        .unwrap();
    let mut frame = FunctionFrame::new(BUFFER64, &common, Start::Address(0), 0x100).unwrap();
    frame.return_address_in(pair).unwrap();
    let on_entry = frame.instructions().to_vec();
    frame
        .at(4)
        .unwrap()
        .saved_in_lane(Register::PC_64, v64(40), Lane(0))
        .unwrap();
    let before = frame.instructions().len();
    frame.restored(Register::PC_64).unwrap();
    assert_eq!(frame.instructions()[before..], on_entry, "the pair again");
    let before = frame.instructions().len();
    // SGPR4 is 36: in the low bits. EXEC_64 is 17. There was no rule for SGPR40 (72) and VGPR40.
    frame
        .restored(s(4))
        .unwrap()
        .restored(Register::EXEC_64)
        .unwrap();
    frame.restored(s(40)).unwrap().restored(v64(40)).unwrap();
    assert_eq!(
        frame.instructions()[before..],
        [0xe4, 0xd1, 8, 72, 8, 0xa8, 0x14]
    );
}

/// On entry, SGPR40 (72) gets a rule and loses it again. So it has none on entry, and is restored by `DW_CFA_same_value`.
#[test]
fn a_rule_that_is_taken_back_on_entry_is_not_restored() {
    let mut frame = frame(BUFFER64);
    frame.saved_in_lane(s(40), v64(41), Lane(0)).unwrap();
    let restore = Instruction::RestoreExtended { register: 72 };
    frame.raw(restore).unwrap().at(4).unwrap();
    frame.saved_in_lane(s(40), v64(41), Lane(1)).unwrap();
    let before = frame.instructions().len();
    frame.restored(s(40)).unwrap();
    assert_eq!(frame.instructions()[before..], [8, 72]);
}

/// A mask of 64 lanes takes two dwords, so it cannot begin in the last lane.
#[test]
fn a_mask_is_within_its_register() {
    let mut f = frame(BUFFER64);
    let (register, lane) = (v64(1), Lane(63));
    let mask = Mask::Lane { register, lane };
    let error = refused!(f, saved_to_scratch(v64(0), 0, mask));
    assert!(matches!(error.kind(), ErrorKind::OutOfBounds { .. }));
}

/// Offsets are multiples of the data alignment factor, which is 4. Register 72 is too large for `DW_CFA_offset`.
#[test]
fn rules_with_offsets_are_the_shortest_instructions() {
    let bytes = |register, rule| bytes_of!(BUFFER64, register_rule(register, rule));
    assert_eq!(bytes(36, RegisterRule::Offset(8)), [0x80 | 36, 2]);
    assert_eq!(bytes(72, RegisterRule::Offset(8)), [0x05, 72, 2]);
    // `DW_CFA_offset` has six bits for the register.
    assert_eq!(bytes(63, RegisterRule::Offset(8)), [0x80 | 63, 2]);
    assert_eq!(bytes(64, RegisterRule::Offset(8)), [0x05, 64, 2]);
    assert_eq!(bytes(36, RegisterRule::Offset(-8)), [0x11, 36, 0x7e]);
    assert_eq!(bytes(72, RegisterRule::ValOffset(8)), [0x14, 72, 2]);
    assert_eq!(bytes(72, RegisterRule::ValOffset(-8)), [0x15, 72, 0x7e]);
    let cfa = |space| {
        let (register, offset) = (64, 8);
        let rule = CfaRule::Register {
            register,
            offset,
            space,
        };
        bytes_of!(BUFFER64, cfa_rule(rule))
    };
    assert_eq!(cfa(0), [0x0c, 64, 8]);
    assert_eq!(cfa(6), [0x30, 64, 8, 6]);
}

/// A CFA in the default space needs a whole definition in the wave's scratch, even if only the register differs. A restored row has its base again.
#[test]
fn the_cfa_is_defined_from_what_the_row_has() {
    let other_space = Instruction::DefCfa {
        register: 64,
        offset: 0,
    };
    let moved = written(BUFFER64, |frame| {
        frame.raw(other_space)?.cfa_from_register(s(33), 0)?;
        Ok(())
    });
    assert_eq!(moved, [0x0c, 0x40, 0, 0x30, 0x41, 0, 6]);
    let elsewhere = Instruction::DefCfaExpression {
        expression: &[0x0a, 0, 0x50],
    };
    let mut restored = frame(FLAT32);
    restored.cfa_from_stack_pointer(s(32)).unwrap();
    restored.remember().unwrap().raw(elsewhere).unwrap();
    assert!(restored.stack_pointer_from_cfa(s(32)).is_err());
    restored.restore().unwrap();
    assert!(restored.stack_pointer_from_cfa(s(32)).is_ok());
}

#[test]
fn advances_are_as_short_as_they_can_be() {
    // Units of 4 bytes; the longest distance of each form and the shortest of the next.
    let cases: [(u64, &[u8]); 7] = [
        (4, &[0x41]),
        (0x3f * 4, &[0x7f]),
        (0x40 * 4, &[2, 0x40]),
        (0xff * 4, &[2, 0xff]),
        (0x100 * 4, &[3, 0, 1]),
        (0xffff * 4, &[3, 0xff, 0xff]),
        (0x1_0000 * 4, &[4, 0, 0, 1, 0]),
    ];
    for (distance, expected) in cases {
        let start = Start::Address(0);
        let mut frame = FunctionFrame::new(BUFFER64, &Common::new(), start, 1 << 40).unwrap();
        // Offsets without events produce no instructions.
        frame
            .at(0)
            .unwrap()
            .at(distance)
            .unwrap()
            .clobbered(s(0))
            .unwrap();
        frame.at(distance + 8).unwrap();
        assert_eq!(frame.instructions(), [expected, &[7, 0x20]].concat());
        assert_eq!(
            malformed(&refused!(frame, at((1 << 34) + distance))),
            "code offset"
        );
    }
}

#[test]
fn misuse_is_refused() {
    let mut frame = frame(BUFFER64);
    let f = &mut frame;
    // Registers.
    assert_eq!(
        rule(&refused!(f, clobbered(Register(130)))),
        SpecRule::RegisterNumber
    );
    assert_eq!(
        rule(&refused!(f, saved_in_register(s(4), Register(100)))),
        SpecRule::RegisterNumber
    );
    assert_eq!(
        rule(&refused!(f, return_address_in(ReturnAddress::Pair(s(105))))),
        SpecRule::RegisterNumber
    );
    for error in [
        refused!(f, clobbered(v32(0))),
        refused!(f, saved_to_scratch(v32(0), 0, Mask::ExecOnEntry)),
        refused!(
            f,
            saved_to_scratch(v64(0), 0, Mask::Register(Register::EXEC_32))
        ),
        refused!(
            f,
            saved_to_scratch(v64(0), 0, Mask::Register(Register::STATUS))
        ),
        refused!(f, saved_to_scratch(s(0), 0, Mask::ExecOnEntry)),
        refused!(f, saved_to_scratch_whole(s(0), 0)),
        refused!(f, saved_in_lane(s(0), s(1), Lane(0))),
        refused!(f, cfa_from_stack_pointer(v64(0))),
        refused!(f, return_address_in(ReturnAddress::Pair(v64(0)))),
    ] {
        assert!(
            matches!(error.kind(), ErrorKind::TypeMismatch { .. }),
            "{error}"
        );
    }
    // Lanes, offsets and sizes.
    for error in [
        refused!(f, saved_in_lane(s(0), v64(1), Lane(64))),
        refused!(f, saved_in_lane(Register::EXEC_64, v64(1), Lane(63))),
    ] {
        assert!(
            matches!(error.kind(), ErrorKind::OutOfBounds { .. }),
            "{error}"
        );
    }
    assert_eq!(
        malformed(&refused!(f, saved_to_scratch(v64(0), 2, Mask::ExecOnEntry))),
        "scratch offset"
    );
    assert_eq!(
        malformed(&refused!(f, cfa_from_register(s(32), -2))),
        "offset"
    );
    assert_eq!(
        rule(&refused!(f, saved_in_register(s(33), Register::VCC_64))),
        SpecRule::RuleSize
    );
    assert_eq!(
        rule(&refused!(f, saved_in_lane(v64(0), v64(1), Lane(0)))),
        SpecRule::RuleSize
    );
    // States.
    assert_eq!(malformed(&refused!(f, restore())), "DW_CFA_restore_state");
    assert_eq!(
        rule(&refused!(
            f,
            raw(Instruction::DefCfaRegister { register: 65 })
        )),
        SpecRule::CfaRule
    );
    assert_eq!(
        rule(&refused!(f, stack_pointer_from_cfa(s(32)))),
        SpecRule::CfaRule
    );
    // The code.
    assert_eq!(malformed(&refused!(f, at(2))), "code offset");
    assert_eq!(malformed(&refused!(f, at(0x1000))), "code offset");
    f.at(8).unwrap();
    assert_eq!(malformed(&refused!(f, at(4))), "code offset");
    let end = Start::Address(u64::MAX);
    let too_far = FunctionFrame::new(BUFFER64, &Common::new(), end, 1).unwrap_err();
    assert_eq!(malformed(&too_far), "function");
}

#[test]
fn raw_instructions_are_checked_too() {
    let mut frame = frame(BUFFER64);
    let f = &mut frame;
    let expression = |bytes: &'static [u8]| Instruction::Expression {
        register: 64,
        expression: bytes,
    };
    // push_lane, call_frame_cfa, fbreg 0: HET A.6.4.2. The first operation is allowed.
    for forbidden in [&[0x96, 0xe9, 3][..], &[0x96, 0x9c], &[0x96, 0x91, 0]] {
        let error = refused!(f, raw(expression(forbidden)));
        assert_eq!(rule(&error), SpecRule::CfiOperation);
        assert_eq!(error.offset(), Some(1), "{error}");
    }
    // call_frame_entry_reg SGPR32, in the rule of SGPR32 (64).
    let error = refused!(f, raw(expression(&[0xe9, 7, 64])));
    assert_eq!(rule(&error), SpecRule::RegisterCycle);
    let error = refused!(f, raw(expression(&[0x90])));
    assert!(
        matches!(error.kind(), ErrorKind::Truncated { .. }),
        "{error}"
    );
    // A vector register of wave32 (1536) in code of wave64.
    let error = refused!(f, raw(expression(&[0x90, 0x80, 0x0c])));
    assert!(
        matches!(error.kind(), ErrorKind::TypeMismatch { .. }),
        "{error}"
    );
    let space = Instruction::LlvmDefAspaceCfa {
        register: 64,
        offset: 0,
        space: 4,
    };
    assert_eq!(rule(&refused!(f, raw(space))), SpecRule::AddressSpace);
    let set_loc = refused!(f, raw(Instruction::SetLoc { address: 0 }));
    assert!(matches!(set_loc.kind(), ErrorKind::Unsupported(_)));
    assert_eq!(
        malformed(&refused!(f, raw(Instruction::AdvanceLoc4 { delta: 0x400 }))),
        "code offset"
    );
    // A value of 64 bits in a register of 32; an address of 64 bits likewise.
    let value = Instruction::ValExpression {
        register: 64,
        expression: &[0x30],
    };
    assert_eq!(rule(&refused!(f, raw(value))), SpecRule::RuleSize);
    f.raw(Instruction::DefCfa {
        register: 64,
        offset: 0,
    })
    .unwrap();
    let value = Instruction::ValOffset {
        register: 64,
        offset: 0,
    };
    assert_eq!(rule(&refused!(f, raw(value))), SpecRule::RuleSize);
}

#[test]
fn escaped_bytes_stay_as_they_are() {
    let mut frame = frame(BUFFER64);
    frame.at(4).unwrap();
    // undefined SGPR0 with a padded number; a padded advance by 2 units; remember_state; nop.
    let bytes = [7, 0xa0, 0x80, 0, 2, 2, 0x0a, 0];
    frame.escape(&bytes).unwrap();
    assert_eq!(frame.instructions(), [&[0x41][..], &bytes].concat());
    frame.at(16).unwrap().restore().unwrap();
    assert_eq!(frame.instructions()[9..], [0x41, 0x0b], "from offset 12 on");
    assert!(frame.escape(&[0x3f]).is_err(), "no such instruction");
    // The instructions before the mistake are kept.
    assert!(frame.escape(&[0, 0x10, 0x40]).is_err());
    assert_eq!(frame.instructions()[11..], [0]);
    // The assembler would write the number in its shortest form, so the directive is an escape.
    let mut table = FrameTable::new();
    table.add(frame);
    let directives = table.directives().unwrap();
    let texts: Vec<_> = directives[0]
        .blocks
        .iter()
        .map(|block| {
            (
                block.offset,
                block
                    .directives
                    .iter()
                    .map(|d| d.text.as_str())
                    .collect::<Vec<_>>(),
            )
        })
        .collect();
    assert_eq!(
        texts,
        [
            (0, vec![]),
            (4, vec![".cfi_escape 0x07, 0xa0, 0x80, 0x00"]),
            (12, vec![".cfi_remember_state", ".cfi_escape 0x00"]),
            (16, vec![".cfi_restore_state", ".cfi_escape 0x00"]),
        ]
    );
}

/// Functions at a symbol, at an address with another CIE, and in a section, each of one instruction.
fn three_functions() -> FrameTable {
    let wide = Common::new().with_format(Format::Dwarf64);
    let wide = wide.with_augmentation("[amd:v0.0]").unwrap();
    let in_text = Start::Symbol {
        name: ".text".into(),
        addend: 0x100,
    };
    let mut table = FrameTable::new();
    for (common, start, size) in [
        (&Common::new(), Start::symbol("a"), 0x40),
        (&wide, Start::Address(0x1234), 0x80),
        (&Common::new(), in_text, 0x20),
    ] {
        let mut frame = FunctionFrame::new(BUFFER64, common, start, size).unwrap();
        frame.clobbered(s(0)).unwrap();
        table.add(frame);
    }
    table
}

/// HET A.6.4.1: fields, marker and padding in both formats; one CIE for functions with equal contents.
#[test]
fn the_section_is_laid_out_by_the_letter() {
    let section = three_functions().write().unwrap();
    // `DW_CFA_undefined` of SGPR0 (32).
    const UNDEFINED: [u8; 2] = [7, 0x20];
    let number = u64::to_le_bytes;
    let fde = |start: u64, size: u64| {
        let header = [
            &[28, 0, 0, 0, 0, 0, 0, 0][..],
            &number(start),
            &number(size),
        ];
        [&header.concat()[..], &UNDEFINED, &[0; 6]].concat()
    };
    let expected = [
        // 4 + 4 + 1 + 1 + 2 + 3 = 15, padded to 16.
        vec![12, 0, 0, 0, 255, 255, 255, 255, 4, 0, 8, 0, 4, 4, 16, 0],
        // 4 + 4 + 16 + 2 = 26, padded to 32.
        fde(0, 0x40),
        // At 48: 12 + 8 + 1 + 11 + 2 + 3 = 37, padded to 40.
        [&[255; 4][..], &number(28), &[255; 8], &[4]].concat(),
        [&b"[amd:v0.0]\0"[..], &[8, 0, 4, 4, 16], &[0; 3]].concat(),
        // At 88: 12 + 8 + 16 + 2 = 38, padded to 40.
        [&[255; 4][..], &number(28), &number(48), &number(0x1234)].concat(),
        [&number(0x80)[..], &UNDEFINED, &[0; 2]].concat(),
        fde(0x100, 0x20),
    ];
    assert_eq!(section.bytes, expected.concat());
    assert_eq!(section.fdes, [16, 88, 128]);
}

#[test]
fn addresses_are_filled_in() {
    let section = three_functions().write().unwrap();
    let symbol = |name: &str| RelocationTarget::Symbol(name.into());
    let found = section.relocations.iter();
    let found: Vec<_> = found
        .map(|p| (p.offset, p.target.clone(), p.addend, p.size))
        .collect();
    let expected = [
        (20, RelocationTarget::ThisSection, 0, 4),
        (24, symbol("a"), 0, 8),
        (132, RelocationTarget::ThisSection, 0, 4),
        (136, symbol(".text"), 0x100, 8),
    ];
    assert_eq!(found, expected);
    let addresses = |name: &str| match name {
        "a" => Some(0x5000),
        ".text" => Some(0x6000),
        _ => None,
    };
    let resolved = section.resolved(addresses).unwrap();
    let reader = FrameSection::debug_frame(&resolved);
    let mut ranges = Vec::new();
    for offset in &section.fdes {
        let fde = reader.fde_at(*offset).unwrap();
        let mut rows = Rows::new(&fde, ".debug_frame").unwrap();
        assert_eq!(rows.next().unwrap().unwrap().rules().len(), 1);
        ranges.push((fde.initial_location, fde.address_range));
    }
    assert_eq!(ranges, [(0x5000, 0x40), (0x1234, 0x80), (0x6100, 0x20)]);
    let unknown = section.resolved(|_| None).unwrap_err();
    assert_eq!(malformed(&unknown), "symbol");
}

/// DWARF 5 §7.4: the entry's length, the CIE pointer and the address have 12, 8 and 8 bytes. The CIE before it takes 32: 12 + 8 + 1 + 1 + 2 + 3
/// = 27, padded.
#[test]
fn addresses_are_filled_in_in_64_bit_format() {
    let wide = Common::new().with_format(Format::Dwarf64);
    let mut table = FrameTable::new();
    table.add(FunctionFrame::new(BUFFER64, &wide, Start::symbol("a"), 0x40).unwrap());
    let section = table.write().unwrap();
    let found: Vec<_> = (section.relocations.iter())
        .map(|point| (point.offset, point.size))
        .collect();
    assert_eq!(found, [(32 + 12, 8), (32 + 12 + 8, 8)]);
    let resolved = section.resolved(|_| Some(0x5000)).unwrap();
    let fde = FrameSection::debug_frame(&resolved).fde_at(32).unwrap();
    assert_eq!((fde.initial_location, fde.address_range), (0x5000, 0x40));
}

#[test]
fn a_cie_that_readers_do_not_know_is_refused() {
    for text in ["zR", "[abc:v0.0]", "[amd:v1.0]", "x", "[amd:v0.0:\0]"] {
        let error = Common::new().with_augmentation(text).unwrap_err();
        assert_eq!(malformed(&error), "augmentation string", "{text}");
    }
    assert!(Common::new().with_alignment_factors(0, 4).is_err());
    assert!(Common::new().with_alignment_factors(4, 0).is_err());
    // The initial instructions are in units of the factors.
    let initial =
        Common::new().with_initial(BUFFER64, |initial| initial.clobbered(s(0)).map(|_| ()));
    let error = initial.unwrap().with_alignment_factors(4, 8).unwrap_err();
    assert_eq!(malformed(&error), "alignment factor");
    let late = Common::new().with_initial(BUFFER64, |initial| initial.at(4).map(|_| ()));
    assert_eq!(malformed(&late.unwrap_err()), "code offset");
    // Directives cannot express contents that the assembler does not write itself.
    let common = Common::new().with_augmentation("[amd:v0.0]").unwrap();
    let factors = Common::new().with_alignment_factors(1, 4).unwrap();
    for (common, start) in [
        (common, Start::symbol("f")),
        (factors, Start::symbol("f")),
        (Common::new(), Start::Address(0)),
        (
            Common::new(),
            Start::Symbol {
                name: "f".into(),
                addend: 4,
            },
        ),
        (Common::new(), Start::symbol("two\nlines")),
    ] {
        let mut table = FrameTable::new();
        table.add(FunctionFrame::new(BUFFER64, &common, start, 4).unwrap());
        let error = table.directives().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
    }
}

#[test]
fn the_facts_of_processors() {
    let target = |name, wave_size| Target::of(Processor::by_name(name).unwrap(), wave_size);
    assert_eq!(target("gfx90a", WaveSize::Wave64).unwrap(), BUFFER64);
    assert_eq!(target("gfx1100", WaveSize::Wave32).unwrap(), FLAT32);
    assert!(target("gfx90a", WaveSize::Wave32).is_err());
}

/// The directives of LLVM 24 for these expressions, as LLVM's own test of its AMDGPU back end pairs them:
/// `PC_REG: regx 62, piece 4, regx 63, piece 4` and so on.
#[test]
fn newer_assemblers_have_directives_for_expressions() {
    let pair: &[u8] = &[0x90, 62, 0x93, 4, 0x90, 63, 0x93, 4];
    let lanes: &[u8] = &[
        0x90, 0xff, 0x14, 0x9d, 0x20, 0, 0x90, 0xff, 0x14, 0x9d, 0x20, 0x20,
    ];
    let lane: &[u8] = &[0x90, 0xa9, 0x14, 0xe9, 0x05, 0x2c];
    let offset: &[u8] = &[
        0x90, 0xa8, 0x14, 0x16, 0xe9, 0x05, 0x80, 0x02, 0xe9, 0x07, 17, 0x94, 8, 0xe9, 0x0c, 0x20,
        0x40,
    ];
    // VGPR40, whose active lanes are in AGPR2.
    let mask: &[u8] = &[
        0x90, 0xa8, 0x14, 0x90, 0x82, 0x18, 0xe9, 0x07, 17, 0x94, 8, 0xe9, 0x0c, 0x20, 0x40,
    ];
    let cases: [(u64, &[u8], &str); 5] = [
        (16, pair, ".cfi_llvm_register_pair 16, 62, 32, 63, 32"),
        (
            16,
            lanes,
            ".cfi_llvm_vector_registers 16, 2687, 0, 32, 2687, 1, 32",
        ),
        (77, lane, ".cfi_llvm_vector_registers 77, 2601, 11, 32"),
        (
            2600,
            offset,
            ".cfi_llvm_vector_offset 2600, 32, 17, 64, 256",
        ),
        (
            2600,
            mask,
            ".cfi_llvm_vector_register_mask 2600, 3074, 32, 17, 64",
        ),
    ];
    let text = |register, expression: &[u8], assembler| {
        let mut frame =
            FunctionFrame::new(BUFFER64, &Common::new(), Start::symbol("f"), 4).unwrap();
        frame
            .raw(Instruction::Expression {
                register,
                expression,
            })
            .unwrap();
        let mut table = FrameTable::new();
        table.add(frame);
        let functions = table.directives_for(assembler).unwrap();
        functions[0].blocks[0].directives[0].text.clone()
    };
    for (register, expression, expected) in cases {
        assert_eq!(text(register, expression, Assembler::Llvm24), expected);
        let old = text(register, expression, Assembler::Llvm22);
        assert!(old.starts_with(".cfi_escape 0x10, "), "{old}");
    }
    // Numbers that the assembler would write differently: a number longer than needed, a register below 32 in its long form, and a lane of which only
    // a part is used.
    let others: [(u64, &[u8]); 3] = [
        (16, &[0x90, 62, 0x93, 0x84, 0, 0x90, 63, 0x93, 4]),
        (16, &[0x90, 17, 0x93, 4, 0x90, 63, 0x93, 4]),
        (77, &[0x90, 0xa9, 0x14, 0xe9, 0x05, 0x2d]),
    ];
    for (register, expression) in others {
        let text = text(register, expression, Assembler::Llvm24);
        assert!(text.starts_with(".cfi_escape "), "{text}");
    }
}
