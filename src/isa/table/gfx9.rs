//! The opcodes of gfx9: Vega, MI100, MI200, MI300, MI350. Opcodes of all of them; where a later processor gives one another
//! meaning, that stands in a table of its own, which goes first.
//!
//! What the columns mean is said where the macro `rows` is. Source: AMD's instruction set architecture
//! documents, by way of LLVM 22's disassembler, see the parent module.

use super::{EXEC, Encoding, INDIRECT, LITERAL, M0, Op, Row, SCC, Shape, Table, rows};
use crate::isa::effect::{Condition, ExecOp, ScalarOp};

/// The opcodes.
pub(super) const OPCODES: &[Table] = &[
    (Encoding::Sop1, SOP1),
    (Encoding::Sopc, SOPC),
    (Encoding::Sopp, SOPP),
    (Encoding::Sopk, SOPK),
    (Encoding::Sop2, SOP2),
    (Encoding::Vop1, VOP1),
    (Encoding::Vopc, VOPC),
    (Encoding::Vop2, VOP2),
    (Encoding::Smem, SMEM),
    (Encoding::Vop3, VOP3),
    (Encoding::Vintrp, VINTRP),
    (Encoding::Ds, DS),
    (Encoding::Flat, FLAT),
    (Encoding::Mubuf, MUBUF),
    (Encoding::Mtbuf, MTBUF),
    (Encoding::Mimg, MIMG),
];

/// Where gfx90a differs.
pub(super) const GFX90A: &[Table] = &[(Encoding::Vop2, GFX90A_VOP2), (Encoding::Vop3, GFX90A_VOP3)];

#[rustfmt::skip]
const GFX90A_VOP2: &[Row] = rows! {
    0x04: Vector(2);
};

#[rustfmt::skip]
const GFX90A_VOP3: &[Row] = rows! {
    0x104: Vector(2);
};

/// Where gfx942 differs.
pub(super) const GFX942: &[Table] = &[(Encoding::Vop2, GFX942_VOP2), (Encoding::Vop3, GFX942_VOP3)];

#[rustfmt::skip]
const GFX942_VOP2: &[Row] = rows! {
    0x04: Vector(2);
};

#[rustfmt::skip]
const GFX942_VOP3: &[Row] = rows! {
    0x104: Vector(2);
    0x3e6: Matrix(4);
    0x3e8: Matrix(16);
};

/// Where gfx950 differs.
pub(super) const GFX950: &[Table] = &[(Encoding::Vop2, GFX950_VOP2), (Encoding::Vop3, GFX950_VOP3)];

#[rustfmt::skip]
const GFX950_VOP2: &[Row] = rows! {
    0x04: Vector(2);
};

#[rustfmt::skip]
const GFX950_VOP3: &[Row] = rows! {
    0x104: Vector(2);
    0x3ac: None;
    0x3d4: Matrix(4);
    0x3d5: Matrix(16);
    0x3e6: Matrix(4);
    0x3e8: Matrix(16);
};

#[rustfmt::skip]
const SOP1: &[Row] = rows! {
    0x00: Scalar(1) => Alu(ScalarOp::Mov), "s_mov_b32";
    0x01: Scalar(2) => Alu(ScalarOp::Mov), "s_mov_b64";
    0x02: Scalar(1) => Alu(ScalarOp::MovIfScc), "s_cmov_b32";
    0x03: Scalar(2) => Alu(ScalarOp::MovIfScc), "s_cmov_b64";
    0x04: Scalar(1), SCC => Alu(ScalarOp::Not), "s_not_b32";
    0x05: Scalar(2), SCC => Alu(ScalarOp::Not), "s_not_b64";
    0x06: Scalar(1), SCC;
    0x07: Scalar(2), SCC;
    0x08: Scalar(1);
    0x09: Scalar(2);
    0x0a..=0x0d: Scalar(1), SCC;
    0x0e..=0x18: Scalar(1);
    0x19: Scalar(2);
    0x1a: Scalar(1);
    0x1b: Scalar(2);
    0x1c: Scalar(2) => GetPc, "s_getpc_b64";
    0x1d: None => SetPc, "s_setpc_b64";
    0x1e: Scalar(2) => SwapPc, "s_swappc_b64";
    0x1f: None => OtherJump, "s_rfe_b64";
    0x20: Scalar(2), SCC | EXEC => SaveExec(ExecOp::And), "s_and_saveexec_b64";
    0x21: Scalar(2), SCC | EXEC => SaveExec(ExecOp::Or), "s_or_saveexec_b64";
    0x22: Scalar(2), SCC | EXEC => SaveExec(ExecOp::Xor), "s_xor_saveexec_b64";
    0x23: Scalar(2), SCC | EXEC => SaveExec(ExecOp::SourceAndNotExec), "s_andn2_saveexec_b64";
    0x24: Scalar(2), SCC | EXEC => SaveExec(ExecOp::SourceOrNotExec), "s_orn2_saveexec_b64";
    0x25: Scalar(2), SCC | EXEC => SaveExec(ExecOp::Nand), "s_nand_saveexec_b64";
    0x26: Scalar(2), SCC | EXEC => SaveExec(ExecOp::Nor), "s_nor_saveexec_b64";
    0x27: Scalar(2), SCC | EXEC => SaveExec(ExecOp::Xnor), "s_xnor_saveexec_b64";
    0x28: Scalar(1), SCC;
    0x29: Scalar(2), SCC;
    0x2a: Scalar(1);
    0x2b: Scalar(2);
    0x2c: Scalar(1), INDIRECT;
    0x2d: Scalar(2), INDIRECT;
    0x2e: None => OtherJump, "s_cbranch_join";
    0x30: Scalar(1), SCC;
    0x32: None, M0 => GprIndex, "s_set_gpr_idx_idx";
    0x33: Scalar(2), SCC | EXEC => SaveExec(ExecOp::ExecAndNotSource), "s_andn1_saveexec_b64";
    0x34: Scalar(2), SCC | EXEC => SaveExec(ExecOp::ExecOrNotSource), "s_orn1_saveexec_b64";
    0x35: Scalar(2), SCC | EXEC => WriteExec(ExecOp::ExecAndNotSource), "s_andn1_wrexec_b64";
    0x36: Scalar(2), SCC | EXEC => WriteExec(ExecOp::SourceAndNotExec), "s_andn2_wrexec_b64";
    0x37: Scalar(2);
};

#[rustfmt::skip]
const SOPC: &[Row] = rows! {
    0x00..=0x0f: None, SCC;
    0x10: None;
    0x11: None, M0 => GprIndex, "s_set_gpr_idx_on";
    0x12..=0x13: None, SCC;
};

#[rustfmt::skip]
const SOPP: &[Row] = rows! {
    0x00: None => Nop, "s_nop";
    0x01: None => EndProgram, "s_endpgm";
    0x02: None => Branch(None), "s_branch";
    0x03: None;
    0x04: None => Branch(Some(Condition::Scc0)), "s_cbranch_scc0";
    0x05: None => Branch(Some(Condition::Scc1)), "s_cbranch_scc1";
    0x06: None => Branch(Some(Condition::VccZero)), "s_cbranch_vccz";
    0x07: None => Branch(Some(Condition::VccNotZero)), "s_cbranch_vccnz";
    0x08: None => Branch(Some(Condition::ExecZero)), "s_cbranch_execz";
    0x09: None => Branch(Some(Condition::ExecNotZero)), "s_cbranch_execnz";
    0x0a..=0x0b: None;
    0x0c: None => Wait, "s_waitcnt";
    0x0d: None;
    0x0e: None => Wait, "s_sleep";
    0x0f..=0x11: None;
    0x12: None => Trap, "s_trap";
    0x13..=0x16: None;
    0x17: None => Branch(Some(Condition::Debugger)), "s_cbranch_cdbgsys";
    0x18: None => Branch(Some(Condition::Debugger)), "s_cbranch_cdbguser";
    0x19: None => Branch(Some(Condition::Debugger)), "s_cbranch_cdbgsys_or_user";
    0x1a: None => Branch(Some(Condition::Debugger)), "s_cbranch_cdbgsys_and_user";
    0x1b: None => EndProgram, "s_endpgm_saved";
    0x1c: None => GprIndex, "s_set_gpr_idx_off";
    0x1d: None, M0 => GprIndex, "s_set_gpr_idx_mode";
    0x1e: None => EndProgram, "s_endpgm_ordered_ps_done";
};

#[rustfmt::skip]
const SOPK: &[Row] = rows! {
    0x00: Scalar(1) => Alu(ScalarOp::Mov), "s_movk_i32";
    0x01: Scalar(1) => Alu(ScalarOp::MovIfScc), "s_cmovk_i32";
    0x02..=0x0d: None, SCC;
    0x0e: Scalar(1), SCC => Alu(ScalarOp::Add), "s_addk_i32";
    0x0f: Scalar(1) => Alu(ScalarOp::Mul), "s_mulk_i32";
    0x10: None => OtherJump, "s_cbranch_i_fork";
    0x11: Scalar(1);
    0x12: None;
    0x14: None, LITERAL;
    0x15: Scalar(2) => Call, "s_call_b64";
};

#[rustfmt::skip]
const SOP2: &[Row] = rows! {
    0x00: Scalar(1), SCC => Alu(ScalarOp::Add), "s_add_u32";
    0x01: Scalar(1), SCC => Alu(ScalarOp::Sub), "s_sub_u32";
    0x02: Scalar(1), SCC => Alu(ScalarOp::Add), "s_add_i32";
    0x03: Scalar(1), SCC => Alu(ScalarOp::Sub), "s_sub_i32";
    0x04: Scalar(1), SCC => Alu(ScalarOp::AddCarry), "s_addc_u32";
    0x05: Scalar(1), SCC => Alu(ScalarOp::SubBorrow), "s_subb_u32";
    0x06..=0x09: Scalar(1), SCC;
    0x0a: Scalar(1) => Alu(ScalarOp::Select), "s_cselect_b32";
    0x0b: Scalar(2) => Alu(ScalarOp::Select), "s_cselect_b64";
    0x0c: Scalar(1), SCC => Alu(ScalarOp::And), "s_and_b32";
    0x0d: Scalar(2), SCC => Alu(ScalarOp::And), "s_and_b64";
    0x0e: Scalar(1), SCC => Alu(ScalarOp::Or), "s_or_b32";
    0x0f: Scalar(2), SCC => Alu(ScalarOp::Or), "s_or_b64";
    0x10: Scalar(1), SCC => Alu(ScalarOp::Xor), "s_xor_b32";
    0x11: Scalar(2), SCC => Alu(ScalarOp::Xor), "s_xor_b64";
    0x12: Scalar(1), SCC => Alu(ScalarOp::AndNot), "s_andn2_b32";
    0x13: Scalar(2), SCC => Alu(ScalarOp::AndNot), "s_andn2_b64";
    0x14: Scalar(1), SCC => Alu(ScalarOp::OrNot), "s_orn2_b32";
    0x15: Scalar(2), SCC => Alu(ScalarOp::OrNot), "s_orn2_b64";
    0x16: Scalar(1), SCC => Alu(ScalarOp::Nand), "s_nand_b32";
    0x17: Scalar(2), SCC => Alu(ScalarOp::Nand), "s_nand_b64";
    0x18: Scalar(1), SCC => Alu(ScalarOp::Nor), "s_nor_b32";
    0x19: Scalar(2), SCC => Alu(ScalarOp::Nor), "s_nor_b64";
    0x1a: Scalar(1), SCC => Alu(ScalarOp::Xnor), "s_xnor_b32";
    0x1b: Scalar(2), SCC => Alu(ScalarOp::Xnor), "s_xnor_b64";
    0x1c: Scalar(1), SCC => Alu(ScalarOp::ShiftLeft), "s_lshl_b32";
    0x1d: Scalar(2), SCC => Alu(ScalarOp::ShiftLeft), "s_lshl_b64";
    0x1e: Scalar(1), SCC => Alu(ScalarOp::ShiftRight), "s_lshr_b32";
    0x1f: Scalar(2), SCC => Alu(ScalarOp::ShiftRight), "s_lshr_b64";
    0x20: Scalar(1), SCC => Alu(ScalarOp::ShiftRightSigned), "s_ashr_i32";
    0x21: Scalar(2), SCC => Alu(ScalarOp::ShiftRightSigned), "s_ashr_i64";
    0x22: Scalar(1) => Alu(ScalarOp::BitFieldMask), "s_bfm_b32";
    0x23: Scalar(2) => Alu(ScalarOp::BitFieldMask), "s_bfm_b64";
    0x24: Scalar(1) => Alu(ScalarOp::Mul), "s_mul_i32";
    0x25: Scalar(1), SCC => Alu(ScalarOp::BitFieldExtract), "s_bfe_u32";
    0x26: Scalar(1), SCC => Alu(ScalarOp::BitFieldExtractSigned), "s_bfe_i32";
    0x27: Scalar(2), SCC => Alu(ScalarOp::BitFieldExtract), "s_bfe_u64";
    0x28: Scalar(2), SCC => Alu(ScalarOp::BitFieldExtractSigned), "s_bfe_i64";
    0x29: None => OtherJump, "s_cbranch_g_fork";
    0x2a: Scalar(1), SCC;
    0x2b: None => OtherJump, "s_rfe_restore_b64";
    0x2c: Scalar(1) => Alu(ScalarOp::MulHighUnsigned), "s_mul_hi_u32";
    0x2d: Scalar(1) => Alu(ScalarOp::MulHighSigned), "s_mul_hi_i32";
    0x2e: Scalar(1), SCC => Alu(ScalarOp::ShiftLeftAdd(1)), "s_lshl1_add_u32";
    0x2f: Scalar(1), SCC => Alu(ScalarOp::ShiftLeftAdd(2)), "s_lshl2_add_u32";
    0x30: Scalar(1), SCC => Alu(ScalarOp::ShiftLeftAdd(3)), "s_lshl3_add_u32";
    0x31: Scalar(1), SCC => Alu(ScalarOp::ShiftLeftAdd(4)), "s_lshl4_add_u32";
    0x32..=0x34: Scalar(1);
};

#[rustfmt::skip]
const VOP1: &[Row] = rows! {
    0x00: None;
    0x01: Vector(1) => VectorMove, "v_mov_b32";
    0x02: Scalar(1) => ReadFirstLane, "v_readfirstlane_b32";
    0x03: Vector(1);
    0x04: Vector(2);
    0x05..=0x08: Vector(1);
    0x0a..=0x0f: Vector(1);
    0x10: Vector(2);
    0x11..=0x15: Vector(1);
    0x16..=0x1a: Vector(2);
    0x1b..=0x24: Vector(1);
    0x25..=0x26: Vector(2);
    0x27: Vector(1);
    0x28: Vector(2);
    0x29..=0x30: Vector(1);
    0x31..=0x32: Vector(2);
    0x33..=0x34: Vector(1);
    0x35: None;
    0x37: Vector(1);
    0x38: Vector(2) => VectorMove, "v_mov_b64";
    0x39..=0x4f: Vector(1);
    0x51: Swap(1);
    0x52: Acc(1) => AccMove, "v_accvgpr_mov_b32";
    0x54..=0x55: Vector(1);
    0x56..=0x57: Vector(2);
    0x58: Vector(1);
    0x59..=0x5a: Swap(1);
    0x5b: Vector(1);
};

#[rustfmt::skip]
const VOPC: &[Row] = rows! {
    0x10: Mask;
    0x11: MaskAndExec;
    0x12: Mask;
    0x13: MaskAndExec;
    0x14: Mask;
    0x15: MaskAndExec;
    0x20..=0x2f: Mask;
    0x30..=0x3f: MaskAndExec;
    0x40..=0x4f: Mask;
    0x50..=0x5f: MaskAndExec;
    0x60..=0x6f: Mask;
    0x70..=0x7f: MaskAndExec;
    0xa0..=0xaf: Mask;
    0xb0..=0xbf: MaskAndExec;
    0xc0..=0xcf: Mask;
    0xd0..=0xdf: MaskAndExec;
    0xe0..=0xef: Mask;
    0xf0..=0xff: MaskAndExec;
};

#[rustfmt::skip]
const VOP2: &[Row] = rows! {
    0x00..=0x16: Vector(1);
    0x17..=0x18: Vector(1), LITERAL;
    0x19..=0x1e: VectorAndMask(1);
    0x1f..=0x23: Vector(1);
    0x24..=0x25: Vector(1), LITERAL;
    0x26..=0x3d: Vector(1);
};

#[rustfmt::skip]
const SMEM: &[Row] = rows! {
    0x00: Scalar(1) => ScalarLoad, "s_load_dword";
    0x01: Scalar(2) => ScalarLoad, "s_load_dwordx2";
    0x02: Scalar(4) => ScalarLoad, "s_load_dwordx4";
    0x03: Scalar(8) => ScalarLoad, "s_load_dwordx8";
    0x04: Scalar(16) => ScalarLoad, "s_load_dwordx16";
    0x05: Scalar(1);
    0x06: Scalar(2);
    0x07: Scalar(4);
    0x08: Scalar(1);
    0x09: Scalar(2);
    0x0a: Scalar(4);
    0x0b: Scalar(8);
    0x0c: Scalar(16);
    0x10..=0x12: None;
    0x15..=0x1a: None;
    0x20..=0x23: None;
    0x24..=0x25: Scalar(2);
    0x26..=0x29: None;
    0x40..=0x4c: ScalarAtomic(1);
    0x60..=0x6c: ScalarAtomic(2);
    0x80..=0x8c: ScalarAtomic(1);
    0xa0..=0xac: ScalarAtomic(2);
};

#[rustfmt::skip]
const VOP3: &[Row] = rows! {
    0x10: Mask;
    0x11: MaskAndExec;
    0x12: Mask;
    0x13: MaskAndExec;
    0x14: Mask;
    0x15: MaskAndExec;
    0x20..=0x2f: Mask;
    0x30..=0x3f: MaskAndExec;
    0x40..=0x4f: Mask;
    0x50..=0x5f: MaskAndExec;
    0x60..=0x6f: Mask;
    0x70..=0x7f: MaskAndExec;
    0xa0..=0xaf: Mask;
    0xb0..=0xbf: MaskAndExec;
    0xc0..=0xcf: Mask;
    0xd0..=0xdf: MaskAndExec;
    0xe0..=0xef: Mask;
    0xf0..=0xff: MaskAndExec;
    0x100..=0x116: Vector(1);
    0x119..=0x11e: VectorAndMask(1);
    0x11f..=0x123: Vector(1);
    0x126..=0x13d: Vector(1);
    0x140: None;
    0x141: Vector(1) => VectorMove, "v_mov_b32";
    0x143: Vector(1);
    0x144: Vector(2);
    0x145..=0x148: Vector(1);
    0x14a..=0x14f: Vector(1);
    0x150: Vector(2);
    0x151..=0x155: Vector(1);
    0x156..=0x15a: Vector(2);
    0x15b..=0x164: Vector(1);
    0x165..=0x166: Vector(2);
    0x167: Vector(1);
    0x168: Vector(2);
    0x169..=0x170: Vector(1);
    0x171..=0x172: Vector(2);
    0x173..=0x174: Vector(1);
    0x175: None;
    0x177: Vector(1);
    0x178: Vector(2) => VectorMove, "v_mov_b64";
    0x179..=0x18f: Vector(1);
    0x194..=0x195: Vector(1);
    0x196..=0x197: Vector(2);
    0x198: Vector(1);
    0x199..=0x19a: Swap(1);
    0x19b: Vector(1);
    0x1c0..=0x1cb: Vector(1);
    0x1cc: Vector(2);
    0x1cd..=0x1de: Vector(1);
    0x1df: Vector(2);
    0x1e0: VectorAndMask(1);
    0x1e1: VectorAndMask(2);
    0x1e2: Vector(1);
    0x1e3: Vector(2);
    0x1e4: Vector(1);
    0x1e5..=0x1e6: Vector(2);
    0x1e7: Vector(4);
    0x1e8..=0x1e9: VectorAndMask(2);
    0x1ea..=0x207: Vector(1);
    0x208: Vector(2);
    0x233..=0x238: Vector(1);
    0x239..=0x23a: Vector(2);
    0x23b..=0x23e: Vector(1);
    0x23f: Vector(2);
    0x240..=0x251: Vector(1);
    0x252..=0x255: Vector(6);
    0x256..=0x257: Vector(32);
    0x258..=0x25f: Vector(6);
    0x260..=0x263: Vector(16);
    0x265..=0x26a: Vector(1);
    0x270..=0x272: Vector(1);
    0x274..=0x277: Vector(1);
    0x280..=0x284: Vector(2);
    0x285..=0x288: Vector(1);
    0x289: Scalar(1) => ReadLane, "v_readlane_b32";
    0x28a: Vector(1) => WriteLane, "v_writelane_b32";
    0x28b..=0x28d: Vector(1);
    0x28f..=0x292: Vector(2);
    0x293..=0x29a: Vector(1);
    0x29c..=0x2a9: Vector(1);
    0x380..=0x392: Vector(1);
    0x39a..=0x39c: Vector(1);
    0x3a0..=0x3a3: Vector(1);
    0x3a6..=0x3ac: Vector(1);
    0x3ad: Matrix(4);
    0x3ae: Matrix(16);
    0x3b0..=0x3b3: Vector(2);
    0x3b5..=0x3b6: Matrix(4);
    0x3b7..=0x3b8: Matrix(16);
    0x3b9..=0x3be: Matrix(4);
    0x3bf: Matrix(16);
    0x3c0: Matrix(32);
    0x3c1: Matrix(16);
    0x3c2..=0x3c3: Matrix(4);
    0x3c4: Matrix(16);
    0x3c5: Matrix(4);
    0x3c6..=0x3c7: Matrix(16);
    0x3c8: Matrix(32);
    0x3c9: Matrix(16);
    0x3ca: Matrix(4);
    0x3cb..=0x3cc: Matrix(16);
    0x3cd: Matrix(4);
    0x3ce..=0x3cf: Matrix(16);
    0x3d0: Matrix(32);
    0x3d1: Matrix(16);
    0x3d2: Matrix(4);
    0x3d3..=0x3d4: Matrix(16);
    0x3d5: Matrix(4);
    0x3d6: Matrix(16);
    0x3d7: Matrix(4);
    0x3d8: Vector(1) => AccRead, "v_accvgpr_read_b32";
    0x3d9: Acc(1) => AccWrite, "v_accvgpr_write_b32";
    0x3da: Matrix(4);
    0x3db: Matrix(16);
    0x3dd: Matrix(32);
    0x3de: Matrix(16);
    0x3df: Matrix(4);
    0x3e0: Matrix(16);
    0x3e1..=0x3e2: Matrix(4);
    0x3e3: Matrix(32);
    0x3e4: Matrix(16);
    0x3e5: Matrix(4);
    0x3e6: Matrix(16);
    0x3e7: Matrix(4);
    0x3e8: Matrix(32);
    0x3e9: Matrix(16);
    0x3ea..=0x3eb: Matrix(4);
    0x3ec: Matrix(16);
    0x3ed: Matrix(4);
    0x3ee: Matrix(8);
    0x3ef: Matrix(2);
    0x3f0..=0x3f3: Matrix(4);
    0x3f4..=0x3f7: Matrix(16);
    0x3f8..=0x3fb: Matrix(4);
    0x3fc..=0x3ff: Matrix(16);
};

#[rustfmt::skip]
const VINTRP: &[Row] = rows! {
    0x00..=0x02: Vector(1);
};

#[rustfmt::skip]
const DS: &[Row] = rows! {
    0x00..=0x15: None;
    0x17..=0x18: None;
    0x1d..=0x1f: None;
    0x20..=0x2d: Vector(1);
    0x2e..=0x2f: Vector(2);
    0x30..=0x36: Vector(1);
    0x37..=0x38: Vector(2);
    0x39..=0x3f: Vector(1);
    0x40..=0x55: None;
    0x56..=0x5b: Vector(1);
    0x5c: None;
    0x60..=0x6d: Vector(2);
    0x6e..=0x6f: Vector(4);
    0x70..=0x73: Vector(2);
    0x76: Vector(2);
    0x77..=0x78: Vector(4);
    0x7c: Vector(2);
    0x7e: Vector(2);
    0x80..=0x8b: None;
    0x8d: None;
    0x92..=0x93: None;
    0x95: None;
    0x98..=0x9d: None;
    0xb6..=0xb8: Vector(1);
    0xbd..=0xbf: Vector(1);
    0xc0..=0xcb: None;
    0xcd: None;
    0xd2..=0xd3: None;
    0xde..=0xdf: None;
    0xe0: Vector(2);
    0xe1: Vector(3);
    0xe2..=0xe3: Vector(2);
    0xfe: Vector(3);
    0xff: Vector(4);
};

#[rustfmt::skip]
const FLAT: &[Row] = rows! {
    0x10: Load(1) => Access(1), "load_ubyte";
    0x11: Load(1) => Access(1), "load_sbyte";
    0x12: Load(1) => Access(2), "load_ushort";
    0x13: Load(1) => Access(2), "load_sshort";
    0x14: Load(1) => Access(4), "load_dword";
    0x15: Load(2) => Access(8), "load_dwordx2";
    0x16: Load(3) => Access(12), "load_dwordx3";
    0x17: Load(4) => Access(16), "load_dwordx4";
    0x18: Store(1) => Access(1), "store_byte";
    0x19: Store(1) => Access(1), "store_byte_d16_hi";
    0x1a: Store(1) => Access(2), "store_short";
    0x1b: Store(1) => Access(2), "store_short_d16_hi";
    0x1c: Store(1) => Access(4), "store_dword";
    0x1d: Store(2) => Access(8), "store_dwordx2";
    0x1e: Store(3) => Access(12), "store_dwordx3";
    0x1f: Store(4) => Access(16), "store_dwordx4";
    0x20: Load(1) => Access(1), "load_ubyte_d16";
    0x21: Load(1) => Access(1), "load_ubyte_d16_hi";
    0x22: Load(1) => Access(1), "load_sbyte_d16";
    0x23: Load(1) => Access(1), "load_sbyte_d16_hi";
    0x24: Load(1) => Access(2), "load_short_d16";
    0x25: Load(1) => Access(2), "load_short_d16_hi";
    0x26..=0x2a: None;
    0x40..=0x4e: Atomic(1);
    0x4f..=0x51: Atomic(2);
    0x52: Atomic(1);
    0x60..=0x6c: Atomic(2);
    0x7d..=0x7e: None;
};

#[rustfmt::skip]
const MUBUF: &[Row] = rows! {
    0x00: Load(1);
    0x01: Load(2);
    0x02: Load(3);
    0x03: Load(4);
    0x04: Store(1);
    0x05: Store(2);
    0x06: Store(3);
    0x07: Store(4);
    0x08..=0x09: Load(1);
    0x0a..=0x0b: Load(2);
    0x0c..=0x0d: Store(1);
    0x0e..=0x0f: Store(2);
    0x10: Load(1) => Access(1), "load_ubyte";
    0x11: Load(1) => Access(1), "load_sbyte";
    0x12: Load(1) => Access(2), "load_ushort";
    0x13: Load(1) => Access(2), "load_sshort";
    0x14: Load(1) => Access(4), "load_dword";
    0x15: Load(2) => Access(8), "load_dwordx2";
    0x16: Load(3) => Access(12), "load_dwordx3";
    0x17: Load(4) => Access(16), "load_dwordx4";
    0x18: Store(1) => Access(1), "store_byte";
    0x19: Store(1) => Access(1), "store_byte_d16_hi";
    0x1a: Store(1) => Access(2), "store_short";
    0x1b: Store(1) => Access(2), "store_short_d16_hi";
    0x1c: Store(1) => Access(4), "store_dword";
    0x1d: Store(2) => Access(8), "store_dwordx2";
    0x1e: Store(3) => Access(12), "store_dwordx3";
    0x1f: Store(4) => Access(16), "store_dwordx4";
    0x20: Load(1) => Access(1), "load_ubyte_d16";
    0x21: Load(1) => Access(1), "load_ubyte_d16_hi";
    0x22: Load(1) => Access(1), "load_sbyte_d16";
    0x23: Load(1) => Access(1), "load_sbyte_d16_hi";
    0x24: Load(1) => Access(2), "load_short_d16";
    0x25: Load(1) => Access(2), "load_short_d16_hi";
    0x26: Load(1);
    0x27: Store(1);
    0x28..=0x29: None;
    0x3d..=0x3f: None;
    0x40..=0x4e: Atomic(1);
    0x4f..=0x51: Atomic(2);
    0x52: Atomic(1);
    0x60..=0x6c: Atomic(2);
    0x80: Load(1);
    0x81: Load(2);
    0x82: Load(3);
    0x83: Load(4);
    0x84: Store(1);
    0x85: Store(2);
    0x86: Store(3);
    0x87: Store(4);
    0x88..=0x89: Load(1);
    0x8a..=0x8b: Load(2);
    0x8c..=0x8d: Store(1);
    0x8e..=0x8f: Store(2);
    0x90: Load(1) => Access(1), "load_ubyte";
    0x91: Load(1) => Access(1), "load_sbyte";
    0x92: Load(1) => Access(2), "load_ushort";
    0x93: Load(1) => Access(2), "load_sshort";
    0x94: Load(1) => Access(4), "load_dword";
    0x95: Load(2) => Access(8), "load_dwordx2";
    0x96: Load(3) => Access(12), "load_dwordx3";
    0x97: Load(4) => Access(16), "load_dwordx4";
    0x98: Store(1) => Access(1), "store_byte";
    0x99: Store(1) => Access(1), "store_byte_d16_hi";
    0x9a: Store(1) => Access(2), "store_short";
    0x9b: Store(1) => Access(2), "store_short_d16_hi";
    0x9c: Store(1) => Access(4), "store_dword";
    0x9d: Store(2) => Access(8), "store_dwordx2";
    0x9e: Store(3) => Access(12), "store_dwordx3";
    0x9f: Store(4) => Access(16), "store_dwordx4";
    0xa0: Load(1) => Access(1), "load_ubyte_d16";
    0xa1: Load(1) => Access(1), "load_ubyte_d16_hi";
    0xa2: Load(1) => Access(1), "load_sbyte_d16";
    0xa3: Load(1) => Access(1), "load_sbyte_d16_hi";
    0xa4: Load(1) => Access(2), "load_short_d16";
    0xa5: Load(1) => Access(2), "load_short_d16_hi";
    0xa6: Load(1);
    0xa7: Store(1);
    0xa8..=0xa9: None;
    0xbd..=0xbf: None;
    0xc0..=0xce: Atomic(1);
    0xcf..=0xd1: Atomic(2);
    0xd2: Atomic(1);
    0xe0..=0xec: Atomic(2);
};

#[rustfmt::skip]
const MTBUF: &[Row] = rows! {
    0x00: Load(1);
    0x01: Load(2);
    0x02: Load(3);
    0x03: Load(4);
    0x04: Store(1);
    0x05: Store(2);
    0x06: Store(3);
    0x07: Store(4);
    0x08..=0x09: Load(1);
    0x0a..=0x0b: Load(2);
    0x0c..=0x0d: Store(1);
    0x0e..=0x0f: Store(2);
};

#[rustfmt::skip]
const MIMG: &[Row] = rows! {
    0x00..=0x05: ImageLoad;
    0x08..=0x0b: None;
    0x0e: ImageLoad;
    0x10: ImageAtomic(1);
    0x11: ImageAtomic(2);
    0x12..=0x1c: ImageAtomic(1);
    0x20..=0x3f: ImageLoad;
    0x40..=0x42: Gather;
    0x44..=0x49: Gather;
    0x4c..=0x51: Gather;
    0x54..=0x59: Gather;
    0x5c..=0x5f: Gather;
    0x60: ImageLoad;
    0x68..=0x6f: ImageLoad;
};
