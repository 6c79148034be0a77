//! Tests with encodings of LLVM 22's assembler (`llvm-mc -show-encoding`), with the text beside them.

use super::*;
use crate::arch::{Family, Register, WaveSize};

fn decoder(processor: &str) -> Decoder {
    Decoder::new(Processor::by_name(processor).unwrap(), None).unwrap()
}

fn decode(processor: &str, bytes: &[u8]) -> Instruction {
    decoder(processor).decode(bytes, 0x1000).unwrap()
}

fn sgpr(first: u8, count: u8) -> Operand {
    Operand::Registers(Span::new(MachineRegister::Sgpr(first), count))
}

fn vgpr(first: u16, count: u8) -> Span {
    Span::new(MachineRegister::Vgpr(first), count)
}

fn written(instruction: &Instruction) -> Vec<String> {
    let spans = instruction.writes.spans();
    spans.iter().map(Span::to_string).collect()
}

#[test]
fn the_stack_pointer_is_moved() {
    // s_add_i32 s32, s32, 0x400
    let found = decode("gfx90a", &[0x20, 0xff, 0x20, 0x81, 0x00, 0x04, 0x00, 0x00]);
    assert_eq!(found.length, 8);
    assert_eq!(written(&found), ["s32", "scc"]);
    let expected = Effect::Scalar {
        op: ScalarOp::Add,
        dst: sgpr(32, 1),
        a: sgpr(32, 1),
        b: Operand::Literal(0x400),
    };
    assert_eq!(found.effect, expected);
}

#[test]
fn the_execution_mask_is_saved() {
    // s_or_saveexec_b64 s[18:19], -1
    let found = decode("gfx90a", &[0xc1, 0x21, 0x92, 0xbe]);
    assert_eq!(written(&found), ["s[18:19]", "scc", "exec"]);
    let expected = Effect::SaveExec {
        op: ExecOp::Or,
        dst: sgpr(18, 2),
        src: Operand::Integer(-1),
    };
    assert_eq!(found.effect, expected);
    // s_and_saveexec_b32 s4, vcc_lo
    let found = decode("gfx1030", &[0x6a, 0x3c, 0x84, 0xbe]);
    assert_eq!(written(&found), ["s4", "scc", "exec_lo"]);
}

/// `VCC_32` and `EXEC_32` have 32 bits (USAGE "Register Identifier"), but instructions name `vcc_hi` in both wave sizes.
#[test]
fn the_upper_half_of_a_mask_is_in_no_register_of_a_wave_of_32_lanes() {
    use MachineRegister::{ExecHi, ExecLo, VccHi, VccLo};
    for (half, wave_size, expected) in [
        (VccHi, WaveSize::Wave64, Some((Register::VCC_64, true))),
        (
            ExecHi,
            WaveSize::Wave64,
            Some((Register::exec(WaveSize::Wave64), true)),
        ),
        (VccHi, WaveSize::Wave32, None),
        (ExecHi, WaveSize::Wave32, None),
        (VccLo, WaveSize::Wave32, Some((Register::VCC_32, false))),
        (
            ExecLo,
            WaveSize::Wave32,
            Some((Register::exec(WaveSize::Wave32), false)),
        ),
    ] {
        assert_eq!(half.dwarf(wave_size), expected, "{half} {wave_size:?}");
    }
}

#[test]
fn scalar_registers_go_to_lanes_and_back() {
    // v_writelane_b32 v40, s30, 0
    let found = decode("gfx90a", &[0x28, 0x00, 0x8a, 0xd2, 0x1e, 0x00, 0x01, 0x00]);
    assert_eq!(found.mnemonic.unwrap(), "v_writelane_b32");
    let expected = Effect::WriteLane {
        dst: MachineRegister::Vgpr(40),
        src: sgpr(30, 1),
        lane: Operand::Integer(0),
    };
    assert_eq!(
        (found.effect, written(&found)),
        (expected, vec!["v40".into()])
    );
    // v_readlane_b32 s31, v40, 1
    let found = decode("gfx90a", &[0x1f, 0x00, 0x89, 0xd2, 0x28, 0x03, 0x01, 0x00]);
    let expected = Effect::ReadLane {
        dst: sgpr(31, 1),
        src: Operand::Registers(vgpr(40, 1)),
        lane: Operand::Integer(1),
    };
    assert_eq!(
        (found.effect, written(&found)),
        (expected, vec!["s31".into()])
    );
    // v_readlane_b32 s4, s6, 3: llvm-mc 22 prints it with "Invalid register".
    let found = decode("gfx90a", &[0x04, 0x00, 0x89, 0xd2, 0x06, 0x06, 0x01, 0x00]);
    let expected = Effect::ReadLane {
        dst: sgpr(4, 1),
        src: Operand::Other(6),
        lane: Operand::Integer(3),
    };
    assert_eq!(
        (found.effect, written(&found)),
        (expected, vec!["s4".into()])
    );
}

#[test]
fn vector_registers_are_stored() {
    // buffer_store_dword v40, off, s[0:3], s32 offset:4
    let found = decode("gfx90a", &[0x04, 0x00, 0x70, 0xe0, 0x00, 0x28, 0x00, 0x20]);
    let expected = Access {
        kind: AccessKind::Buffer,
        bytes: 4,
        data: Some(vgpr(40, 1)),
        address: None,
        base: sgpr(32, 1),
        descriptor: Some(sgpr(0, 4)),
        offset: 4,
    };
    assert_eq!(found.effect, Effect::Store(expected));
    assert!(written(&found).is_empty());
    // scratch_store_b64 off, v[40:41], s32 offset:-8
    let found = decode("gfx1100", &[0xf8, 0x1f, 0x6d, 0xdc, 0x00, 0x28, 0x20, 0x00]);
    let expected = Access {
        kind: AccessKind::Scratch,
        bytes: 8,
        data: Some(vgpr(40, 2)),
        address: None,
        base: sgpr(32, 1),
        descriptor: None,
        offset: -8,
    };
    assert_eq!(found.effect, Effect::Store(expected));
    // scratch_load_b32 v40, off, s33 offset:4
    let bytes = [0x21, 0x00, 0x05, 0xed, 0x28, 0, 0, 0, 0x00, 0x04, 0, 0];
    let found = decode("gfx1200", &bytes);
    assert_eq!(found.mnemonic.unwrap(), "scratch_load_b32");
    assert_eq!((found.length, written(&found)), (12, vec!["v40".into()]));
}

#[test]
fn calls_returns_and_branches_have_targets() {
    // s_swappc_b64 s[30:31], s[16:17]
    let found = decode("gfx90a", &[0x10, 0x1e, 0x9e, 0xbe]);
    let target = CallTarget::Registers(sgpr(16, 2));
    assert_eq!(
        found.effect,
        Effect::Call {
            dst: sgpr(30, 2),
            target
        }
    );
    // s_setpc_b64 s[30:31]
    let found = decode("gfx90a", &[0x1e, 0x1d, 0x80, 0xbe]);
    assert_eq!(found.effect, Effect::SetPc { src: sgpr(30, 2) });
    // s_cbranch_execz 2
    let found = decode("gfx90a", &[0x02, 0x00, 0x88, 0xbf]);
    let condition = Some(Condition::ExecZero);
    assert_eq!(
        found.effect,
        Effect::Branch {
            target: 0x100c,
            condition
        }
    );
    // s_branch -1
    let found = decode("gfx90a", &[0xff, 0xff, 0x82, 0xbf]);
    assert_eq!(
        found.effect,
        Effect::Branch {
            target: 0x1000,
            condition: None
        }
    );
}

/// A scalar destination can have the code of a literal, 255, which has no meaning there. The following dword is not part of the
/// instruction.
#[test]
fn a_destination_is_no_literal() {
    // v_readlane_b32 of gfx10 with 255 where the destination is, by hand: VOP3 (0x35), opcode 0x360.
    let bytes = [0xff, 0, 0x60, 0xd7, 0xff, 0x5b, 0, 0];
    let decoder = decoder("gfx1010");
    let alone = decoder.decode(&bytes, 0x1000).unwrap();
    let Effect::ReadLane { dst, .. } = alone.effect else {
        panic!("{alone:?}");
    };
    assert_eq!((alone.length, dst), (8, Operand::Other(255)));
    let followed = [&bytes[..], &[0x34, 0x12, 0, 0]].concat();
    assert_eq!(decoder.decode(&followed, 0x1000).unwrap(), alone);
}

#[test]
fn lengths_depend_on_what_follows() {
    // s_mov_b64 s[4:5], 0x123456789abcdef0
    let bytes = [
        0xfe, 0x01, 0x84, 0xbe, 0xf0, 0xde, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12,
    ];
    let found = decode("gfx1250", &bytes);
    assert_eq!(found.length, 12);
    let Effect::Scalar { a, .. } = found.effect else {
        panic!("{found:?}");
    };
    assert_eq!(a, Operand::Literal64(0x1234_5678_9abc_def0));
    // v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v4, v5
    let found = decode("gfx1100", &[0x02, 0x01, 0x10, 0xca, 0x05, 0x01, 0x04, 0x01]);
    assert_eq!(
        (found.length, written(&found)),
        (8, vec!["v1".into(), "v4".into()])
    );
    // v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[4:7], v20, v21 op_sel_hi:[0,0,0]
    let bytes = [
        0, 0, 0xac, 0xd3, 0x14, 0x2b, 0x02, 0, 0, 8, 0xad, 0xd3, 0x04, 0x19, 0x12, 0x04,
    ];
    let found = decode("gfx950", &bytes);
    assert_eq!((found.length, written(&found)), (16, vec!["v[0:3]".into()]));
    // Its first part, v_mfma_ld_scale_b32 v20, v21, is an instruction, too; on gfx1250, it is not. It writes no register that has a name.
    let first = decode("gfx950", &bytes[..8]);
    assert_eq!((first.length, written(&first)), (8, vec![]));
    let first = [0, 0, 0x3a, 0xcc, 0x01, 0x05, 0x02, 0];
    let mut code = first.to_vec();
    for rest in [&[][..], &[0; 8]] {
        code.extend(rest);
        let error = decoder("gfx1250").decode(&code, 0).unwrap_err();
        let expected = if rest.is_empty() {
            "truncated"
        } else {
            "malformed"
        };
        assert_eq!(error.kind().name(), expected);
    }
}

#[test]
fn accumulation_registers_are_moved() {
    // v_accvgpr_write_b32 a3, v1
    let found = decode("gfx90a", &[0x03, 0x40, 0xd9, 0xd3, 0x01, 0x01, 0x00, 0x18]);
    let expected = Effect::VectorMove {
        dst: Span::new(MachineRegister::Agpr(3), 1),
        src: Operand::Registers(vgpr(1, 1)),
    };
    assert_eq!(found.effect, expected);
}

#[test]
fn what_is_cut_off_or_unknown_is_an_error() {
    let code = [0x20, 0xff, 0x20, 0x81, 0x00, 0x04, 0x00, 0x00];
    let decoder = decoder("gfx90a");
    for cut in 0..code.len() {
        let error = decoder.decode(&code[..cut], 0).unwrap_err();
        assert_eq!(error.kind().name(), "truncated", "{cut}");
    }
    let error = decoder.decode(&[0xff; 20], 0x1234).unwrap_err();
    assert!(error.to_string().contains("0x1234"), "{error}");
    let code = [0x00, 0x00, 0x80, 0xbf, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    let mut instructions = decoder.instructions(&code, 0x1000);
    assert_eq!(
        instructions.next().unwrap().unwrap().effect,
        Effect::Nop { cycles: 0 }
    );
    assert_eq!(instructions.next().unwrap_err().offset(), Some(4));
    assert_eq!(instructions.next().unwrap(), None);
}

#[test]
fn processors_before_gfx9_and_newer_than_the_tables_have_no_decoder() {
    for processor in Processor::ALL {
        let found = Decoder::new(processor, None).is_some();
        let newer = matches!(processor.family(), Some(Family::Gfx11_7 | Family::Gfx13));
        let expected = processor.generation() >= Some(9) && !newer;
        assert_eq!(found, expected, "{processor:?}");
    }
    assert!(Decoder::new(Processor::UNKNOWN, Some(WaveSize::Wave64)).is_none());
}
