//! The opcodes of gfx10: RDNA 1 and RDNA 2.
//!
//! What the columns mean is said where the macro `rows` is. Source: AMD's instruction set architecture
//! documents, by way of LLVM 22's disassembler, see the parent module.

use super::{EXEC, Encoding, INDIRECT, LITERAL, Op, Row, SCC, Shape, Table, rows};
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
    (Encoding::Vop3p, VOP3P),
    (Encoding::Vintrp, VINTRP),
    (Encoding::Ds, DS),
    (Encoding::Flat, FLAT),
    (Encoding::Mubuf, MUBUF),
    (Encoding::Mtbuf, MTBUF),
    (Encoding::Mimg, MIMG),
];

#[rustfmt::skip]
const SOP1: &[Row] = rows! {
    0x03: Scalar(1) => Alu(ScalarOp::Mov), "s_mov_b32";
    0x04: Scalar(2) => Alu(ScalarOp::Mov), "s_mov_b64";
    0x05: Scalar(1) => Alu(ScalarOp::MovIfScc), "s_cmov_b32";
    0x06: Scalar(2) => Alu(ScalarOp::MovIfScc), "s_cmov_b64";
    0x07: Scalar(1), SCC => Alu(ScalarOp::Not), "s_not_b32";
    0x08: Scalar(2), SCC => Alu(ScalarOp::Not), "s_not_b64";
    0x09: Scalar(1), SCC;
    0x0a: Scalar(2), SCC;
    0x0b: Scalar(1);
    0x0c: Scalar(2);
    0x0d..=0x10: Scalar(1), SCC;
    0x11..=0x1b: Scalar(1);
    0x1c: Scalar(2);
    0x1d: Scalar(1);
    0x1e: Scalar(2);
    0x1f: Scalar(2) => GetPc, "s_getpc_b64";
    0x20: None => SetPc, "s_setpc_b64";
    0x21: Scalar(2) => SwapPc, "s_swappc_b64";
    0x22: None => OtherJump, "s_rfe_b64";
    0x24: Scalar(2), SCC | EXEC => SaveExec(ExecOp::And), "s_and_saveexec_b64";
    0x25: Scalar(2), SCC | EXEC => SaveExec(ExecOp::Or), "s_or_saveexec_b64";
    0x26: Scalar(2), SCC | EXEC => SaveExec(ExecOp::Xor), "s_xor_saveexec_b64";
    0x27: Scalar(2), SCC | EXEC => SaveExec(ExecOp::SourceAndNotExec), "s_andn2_saveexec_b64";
    0x28: Scalar(2), SCC | EXEC => SaveExec(ExecOp::SourceOrNotExec), "s_orn2_saveexec_b64";
    0x29: Scalar(2), SCC | EXEC => SaveExec(ExecOp::Nand), "s_nand_saveexec_b64";
    0x2a: Scalar(2), SCC | EXEC => SaveExec(ExecOp::Nor), "s_nor_saveexec_b64";
    0x2b: Scalar(2), SCC | EXEC => SaveExec(ExecOp::Xnor), "s_xnor_saveexec_b64";
    0x2c: Scalar(1), SCC;
    0x2d: Scalar(2), SCC;
    0x2e: Scalar(1);
    0x2f: Scalar(2);
    0x30: Scalar(1), INDIRECT;
    0x31: Scalar(2), INDIRECT;
    0x34: Scalar(1), SCC;
    0x37: Scalar(2), SCC | EXEC => SaveExec(ExecOp::ExecAndNotSource), "s_andn1_saveexec_b64";
    0x38: Scalar(2), SCC | EXEC => SaveExec(ExecOp::ExecOrNotSource), "s_orn1_saveexec_b64";
    0x39: Scalar(2), SCC | EXEC => WriteExec(ExecOp::ExecAndNotSource), "s_andn1_wrexec_b64";
    0x3a: Scalar(2), SCC | EXEC => WriteExec(ExecOp::SourceAndNotExec), "s_andn2_wrexec_b64";
    0x3b: Scalar(2);
    0x3c: Scalar(1), SCC | EXEC => SaveExec(ExecOp::And), "s_and_saveexec_b32";
    0x3d: Scalar(1), SCC | EXEC => SaveExec(ExecOp::Or), "s_or_saveexec_b32";
    0x3e: Scalar(1), SCC | EXEC => SaveExec(ExecOp::Xor), "s_xor_saveexec_b32";
    0x3f: Scalar(1), SCC | EXEC => SaveExec(ExecOp::SourceAndNotExec), "s_andn2_saveexec_b32";
    0x40: Scalar(1), SCC | EXEC => SaveExec(ExecOp::SourceOrNotExec), "s_orn2_saveexec_b32";
    0x41: Scalar(1), SCC | EXEC => SaveExec(ExecOp::Nand), "s_nand_saveexec_b32";
    0x42: Scalar(1), SCC | EXEC => SaveExec(ExecOp::Nor), "s_nor_saveexec_b32";
    0x43: Scalar(1), SCC | EXEC => SaveExec(ExecOp::Xnor), "s_xnor_saveexec_b32";
    0x44: Scalar(1), SCC | EXEC => SaveExec(ExecOp::ExecAndNotSource), "s_andn1_saveexec_b32";
    0x45: Scalar(1), SCC | EXEC => SaveExec(ExecOp::ExecOrNotSource), "s_orn1_saveexec_b32";
    0x46: Scalar(1), SCC | EXEC => WriteExec(ExecOp::ExecAndNotSource), "s_andn1_wrexec_b32";
    0x47: Scalar(1), SCC | EXEC => WriteExec(ExecOp::SourceAndNotExec), "s_andn2_wrexec_b32";
    0x49: Scalar(1), INDIRECT;
};

#[rustfmt::skip]
const SOPC: &[Row] = rows! {
    0x00..=0x0f: None, SCC;
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
    0x1e: None => EndProgram, "s_endpgm_ordered_ps_done";
    0x1f: None => CodeEnd, "s_code_end";
    0x20: None;
    0x21: None => Clause, "s_clause";
    0x22: None => Wait, "s_wait_idle";
    0x23: None => Wait, "s_waitcnt_depctr";
    0x24..=0x25: None;
    0x28: None;
};

#[rustfmt::skip]
const SOPK: &[Row] = rows! {
    0x00: Scalar(1) => Alu(ScalarOp::Mov), "s_movk_i32";
    0x01: None;
    0x02: Scalar(1) => Alu(ScalarOp::MovIfScc), "s_cmovk_i32";
    0x03..=0x0e: None, SCC;
    0x0f: Scalar(1), SCC => Alu(ScalarOp::Add), "s_addk_i32";
    0x10: Scalar(1) => Alu(ScalarOp::Mul), "s_mulk_i32";
    0x12: Scalar(1);
    0x13: None;
    0x15: None, LITERAL;
    0x16: Scalar(2) => Call, "s_call_b64";
    0x17: None => Wait, "s_waitcnt_vscnt";
    0x18: None => Wait, "s_waitcnt_vmcnt";
    0x19: None => Wait, "s_waitcnt_expcnt";
    0x1a: None => Wait, "s_waitcnt_lgkmcnt";
    0x1b: Scalar(1) => Branch(Some(Condition::Loop)), "s_subvector_loop_begin";
    0x1c: Scalar(1) => Branch(Some(Condition::Loop)), "s_subvector_loop_end";
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
    0x0e: Scalar(1), SCC => Alu(ScalarOp::And), "s_and_b32";
    0x0f: Scalar(2), SCC => Alu(ScalarOp::And), "s_and_b64";
    0x10: Scalar(1), SCC => Alu(ScalarOp::Or), "s_or_b32";
    0x11: Scalar(2), SCC => Alu(ScalarOp::Or), "s_or_b64";
    0x12: Scalar(1), SCC => Alu(ScalarOp::Xor), "s_xor_b32";
    0x13: Scalar(2), SCC => Alu(ScalarOp::Xor), "s_xor_b64";
    0x14: Scalar(1), SCC => Alu(ScalarOp::AndNot), "s_andn2_b32";
    0x15: Scalar(2), SCC => Alu(ScalarOp::AndNot), "s_andn2_b64";
    0x16: Scalar(1), SCC => Alu(ScalarOp::OrNot), "s_orn2_b32";
    0x17: Scalar(2), SCC => Alu(ScalarOp::OrNot), "s_orn2_b64";
    0x18: Scalar(1), SCC => Alu(ScalarOp::Nand), "s_nand_b32";
    0x19: Scalar(2), SCC => Alu(ScalarOp::Nand), "s_nand_b64";
    0x1a: Scalar(1), SCC => Alu(ScalarOp::Nor), "s_nor_b32";
    0x1b: Scalar(2), SCC => Alu(ScalarOp::Nor), "s_nor_b64";
    0x1c: Scalar(1), SCC => Alu(ScalarOp::Xnor), "s_xnor_b32";
    0x1d: Scalar(2), SCC => Alu(ScalarOp::Xnor), "s_xnor_b64";
    0x1e: Scalar(1), SCC => Alu(ScalarOp::ShiftLeft), "s_lshl_b32";
    0x1f: Scalar(2), SCC => Alu(ScalarOp::ShiftLeft), "s_lshl_b64";
    0x20: Scalar(1), SCC => Alu(ScalarOp::ShiftRight), "s_lshr_b32";
    0x21: Scalar(2), SCC => Alu(ScalarOp::ShiftRight), "s_lshr_b64";
    0x22: Scalar(1), SCC => Alu(ScalarOp::ShiftRightSigned), "s_ashr_i32";
    0x23: Scalar(2), SCC => Alu(ScalarOp::ShiftRightSigned), "s_ashr_i64";
    0x24: Scalar(1) => Alu(ScalarOp::BitFieldMask), "s_bfm_b32";
    0x25: Scalar(2) => Alu(ScalarOp::BitFieldMask), "s_bfm_b64";
    0x26: Scalar(1) => Alu(ScalarOp::Mul), "s_mul_i32";
    0x27: Scalar(1), SCC => Alu(ScalarOp::BitFieldExtract), "s_bfe_u32";
    0x28: Scalar(1), SCC => Alu(ScalarOp::BitFieldExtractSigned), "s_bfe_i32";
    0x29: Scalar(2), SCC => Alu(ScalarOp::BitFieldExtract), "s_bfe_u64";
    0x2a: Scalar(2), SCC => Alu(ScalarOp::BitFieldExtractSigned), "s_bfe_i64";
    0x2c: Scalar(1), SCC;
    0x2e: Scalar(1), SCC => Alu(ScalarOp::ShiftLeftAdd(1)), "s_lshl1_add_u32";
    0x2f: Scalar(1), SCC => Alu(ScalarOp::ShiftLeftAdd(2)), "s_lshl2_add_u32";
    0x30: Scalar(1), SCC => Alu(ScalarOp::ShiftLeftAdd(3)), "s_lshl3_add_u32";
    0x31: Scalar(1), SCC => Alu(ScalarOp::ShiftLeftAdd(4)), "s_lshl4_add_u32";
    0x32..=0x34: Scalar(1);
    0x35: Scalar(1) => Alu(ScalarOp::MulHighUnsigned), "s_mul_hi_u32";
    0x36: Scalar(1) => Alu(ScalarOp::MulHighSigned), "s_mul_hi_i32";
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
    0x1b: None;
    0x20..=0x25: Vector(1);
    0x27: Vector(1);
    0x2a..=0x2b: Vector(1);
    0x2e: Vector(1);
    0x2f: Vector(2);
    0x31: Vector(2);
    0x33: Vector(1);
    0x34: Vector(2);
    0x35..=0x3c: Vector(1);
    0x3d..=0x3e: Vector(2);
    0x3f..=0x40: Vector(1);
    0x41: None;
    0x42: Vector(1), INDIRECT;
    0x43: Vector(1);
    0x44: Vector(1), INDIRECT;
    0x48: Vector(1), INDIRECT;
    0x50..=0x64: Vector(1);
    0x65: Swap(1);
    0x68: Swap(1), INDIRECT;
};

#[rustfmt::skip]
const VOPC: &[Row] = rows! {
    0x00..=0x0f: Mask;
    0x10..=0x1f: None, EXEC;
    0x20..=0x2f: Mask;
    0x30..=0x3f: None, EXEC;
    0x80..=0x8f: Mask;
    0x90..=0x9f: None, EXEC;
    0xa0..=0xae: Mask;
    0xb0..=0xbe: None, EXEC;
    0xc0..=0xcf: Mask;
    0xd0..=0xdf: None, EXEC;
    0xe0..=0xef: Mask;
    0xf0..=0xff: None, EXEC;
};

#[rustfmt::skip]
const VOP2: &[Row] = rows! {
    0x01..=0x0d: Vector(1);
    0x0f..=0x14: Vector(1);
    0x16: Vector(1);
    0x18: Vector(1);
    0x1a..=0x1f: Vector(1);
    0x20..=0x21: Vector(1), LITERAL;
    0x25..=0x27: Vector(1);
    0x28..=0x2a: VectorAndMask(1);
    0x2b: Vector(1);
    0x2c..=0x2d: Vector(1), LITERAL;
    0x2f: Vector(1);
    0x32..=0x36: Vector(1);
    0x37..=0x38: Vector(1), LITERAL;
    0x39..=0x3c: Vector(1);
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
    0x1f..=0x21: None;
    0x24..=0x25: Scalar(2);
    0x26..=0x29: None;
    0x2a: Scalar(1);
    0x40..=0x4c: ScalarAtomic(1);
    0x60..=0x6c: ScalarAtomic(2);
    0x80..=0x8c: ScalarAtomic(1);
    0xa0..=0xac: ScalarAtomic(2);
};

#[rustfmt::skip]
const VOP3: &[Row] = rows! {
    0x00..=0x0f: Mask;
    0x10..=0x1f: None, EXEC;
    0x20..=0x2f: Mask;
    0x30..=0x3f: None, EXEC;
    0x80..=0x8f: Mask;
    0x90..=0x9f: None, EXEC;
    0xa0..=0xae: Mask;
    0xb0..=0xbe: None, EXEC;
    0xc0..=0xcf: Mask;
    0xd0..=0xdf: None, EXEC;
    0xe0..=0xef: Mask;
    0xf0..=0xff: None, EXEC;
    0x101: Vector(1);
    0x103..=0x10c: Vector(1);
    0x10f..=0x114: Vector(1);
    0x116: Vector(1);
    0x118: Vector(1);
    0x11a..=0x11f: Vector(1);
    0x125..=0x127: Vector(1);
    0x128..=0x12a: VectorAndMask(1);
    0x12b: Vector(1);
    0x12f: Vector(1);
    0x132..=0x136: Vector(1);
    0x139..=0x13b: Vector(1);
    0x140..=0x14b: Vector(1);
    0x14c: Vector(2);
    0x14d..=0x15f: Vector(1);
    0x160: Vector(2);
    0x164..=0x168: Vector(2);
    0x169..=0x16c: Vector(1);
    0x16d: VectorAndMask(1);
    0x16e: VectorAndMask(2);
    0x16f: Vector(1);
    0x170: Vector(2);
    0x171: Vector(1);
    0x172..=0x174: Vector(2);
    0x175: Vector(4);
    0x176..=0x177: VectorAndMask(2);
    0x178: Vector(1);
    0x180: None;
    0x181: Vector(1) => VectorMove, "v_mov_b32";
    0x183: Vector(1);
    0x184: Vector(2);
    0x185..=0x188: Vector(1);
    0x18a..=0x18f: Vector(1);
    0x190: Vector(2);
    0x191..=0x195: Vector(1);
    0x196..=0x19a: Vector(2);
    0x19b: None;
    0x1a0..=0x1a5: Vector(1);
    0x1a7: Vector(1);
    0x1aa..=0x1ab: Vector(1);
    0x1ae: Vector(1);
    0x1af: Vector(2);
    0x1b1: Vector(2);
    0x1b3: Vector(1);
    0x1b4: Vector(2);
    0x1b5..=0x1bc: Vector(1);
    0x1bd..=0x1be: Vector(2);
    0x1bf..=0x1c0: Vector(1);
    0x1c1: None;
    0x1c2: Vector(1), INDIRECT;
    0x1c3: Vector(1);
    0x1c4: Vector(1), INDIRECT;
    0x1c8: Vector(1), INDIRECT;
    0x1d0..=0x1e4: Vector(1);
    0x200..=0x202: Vector(1);
    0x2ff..=0x301: Vector(2);
    0x303..=0x305: Vector(1);
    0x307..=0x30e: Vector(1);
    0x30f..=0x310: VectorAndMask(1);
    0x311..=0x314: Vector(1);
    0x319: VectorAndMask(1);
    0x340: Vector(1);
    0x342..=0x347: Vector(1);
    0x34b: Vector(1);
    0x351..=0x35a: Vector(1);
    0x35e..=0x35f: Vector(1);
    0x360: Scalar(1) => ReadLane, "v_readlane_b32";
    0x361: Vector(1) => WriteLane, "v_writelane_b32";
    0x362..=0x366: Vector(1);
    0x368..=0x36b: Vector(1);
    0x36d: Vector(1);
    0x36f: Vector(1);
    0x371..=0x373: Vector(1);
    0x375..=0x378: Vector(1);
    0x37f: Vector(1);
};

#[rustfmt::skip]
const VOP3P: &[Row] = rows! {
    0x00..=0x19: Vector(1);
    0x20..=0x22: Vector(1);
};

#[rustfmt::skip]
const VINTRP: &[Row] = rows! {
    0x00..=0x02: Vector(1);
};

#[rustfmt::skip]
const DS: &[Row] = rows! {
    0x00..=0x15: None;
    0x18..=0x1f: None;
    0x20..=0x2d: Vector(1);
    0x2e..=0x2f: Vector(2);
    0x30..=0x36: Vector(1);
    0x37..=0x38: Vector(2);
    0x39..=0x3f: Vector(1);
    0x40..=0x53: None;
    0x55: Vector(1);
    0x60..=0x6d: Vector(2);
    0x6e..=0x6f: Vector(4);
    0x70..=0x73: Vector(2);
    0x76: Vector(2);
    0x77..=0x78: Vector(4);
    0x7e: Vector(2);
    0x80..=0x8b: None;
    0x8d: None;
    0x92..=0x93: None;
    0x95: None;
    0xa0..=0xa1: None;
    0xa2..=0xa7: Vector(1);
    0xb0: None;
    0xb1..=0xb3: Vector(1);
    0xc0..=0xcb: None;
    0xcd: None;
    0xd2..=0xd3: None;
    0xde..=0xdf: None;
    0xfe: Vector(3);
    0xff: Vector(4);
};

#[rustfmt::skip]
const FLAT: &[Row] = rows! {
    0x08: Load(1) => Access(1), "load_ubyte";
    0x09: Load(1) => Access(1), "load_sbyte";
    0x0a: Load(1) => Access(2), "load_ushort";
    0x0b: Load(1) => Access(2), "load_sshort";
    0x0c: Load(1) => Access(4), "load_dword";
    0x0d: Load(2) => Access(8), "load_dwordx2";
    0x0e: Load(4) => Access(16), "load_dwordx4";
    0x0f: Load(3) => Access(12), "load_dwordx3";
    0x16: Load(1);
    0x17: Store(1);
    0x18: Store(1) => Access(1), "store_byte";
    0x19: Store(1) => Access(1), "store_byte_d16_hi";
    0x1a: Store(1) => Access(2), "store_short";
    0x1b: Store(1) => Access(2), "store_short_d16_hi";
    0x1c: Store(1) => Access(4), "store_dword";
    0x1d: Store(2) => Access(8), "store_dwordx2";
    0x1e: Store(4) => Access(16), "store_dwordx4";
    0x1f: Store(3) => Access(12), "store_dwordx3";
    0x20: Load(1) => Access(1), "load_ubyte_d16";
    0x21: Load(1) => Access(1), "load_ubyte_d16_hi";
    0x22: Load(1) => Access(1), "load_sbyte_d16";
    0x23: Load(1) => Access(1), "load_sbyte_d16_hi";
    0x24: Load(1) => Access(2), "load_short_d16";
    0x25: Load(1) => Access(2), "load_short_d16_hi";
    0x30..=0x40: Atomic(1);
    0x50..=0x53: Atomic(2);
    0x55..=0x60: Atomic(2);
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
    0x08: Load(1) => Access(1), "load_ubyte";
    0x09: Load(1) => Access(1), "load_sbyte";
    0x0a: Load(1) => Access(2), "load_ushort";
    0x0b: Load(1) => Access(2), "load_sshort";
    0x0c: Load(1) => Access(4), "load_dword";
    0x0d: Load(2) => Access(8), "load_dwordx2";
    0x0e: Load(4) => Access(16), "load_dwordx4";
    0x0f: Load(3) => Access(12), "load_dwordx3";
    0x18: Store(1) => Access(1), "store_byte";
    0x19: Store(1) => Access(1), "store_byte_d16_hi";
    0x1a: Store(1) => Access(2), "store_short";
    0x1b: Store(1) => Access(2), "store_short_d16_hi";
    0x1c: Store(1) => Access(4), "store_dword";
    0x1d: Store(2) => Access(8), "store_dwordx2";
    0x1e: Store(4) => Access(16), "store_dwordx4";
    0x1f: Store(3) => Access(12), "store_dwordx3";
    0x20: Load(1) => Access(1), "load_ubyte_d16";
    0x21: Load(1) => Access(1), "load_ubyte_d16_hi";
    0x22: Load(1) => Access(1), "load_sbyte_d16";
    0x23: Load(1) => Access(1), "load_sbyte_d16_hi";
    0x24: Load(1) => Access(2), "load_short_d16";
    0x25: Load(1) => Access(2), "load_short_d16_hi";
    0x26: Load(1);
    0x27: Store(1);
    0x30..=0x40: Atomic(1);
    0x50..=0x53: Atomic(2);
    0x55..=0x60: Atomic(2);
    0x71..=0x72: None;
    0x80..=0x81: Load(1);
    0x82..=0x83: Load(2);
    0x84..=0x85: Store(1);
    0x86..=0x87: Store(2);
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
    0x0f: ImageAtomic(1);
    0x10: ImageAtomic(2);
    0x11..=0x12: ImageAtomic(1);
    0x14..=0x1c: ImageAtomic(1);
    0x1d: ImageAtomic(2);
    0x1e..=0x1f: ImageAtomic(1);
    0x20..=0x3f: ImageLoad;
    0x40..=0x41: Gather;
    0x44..=0x49: Gather;
    0x4c..=0x51: Gather;
    0x54..=0x59: Gather;
    0x5c..=0x5f: Gather;
    0x60: ImageLoad;
    0x61: Gather;
    0x68..=0x6f: ImageLoad;
    0x80: Gather;
    0xa2..=0xa3: ImageLoad;
    0xaa..=0xab: ImageLoad;
    0xb2..=0xb3: ImageLoad;
    0xba..=0xbb: ImageLoad;
    0xe8..=0xef: ImageLoad;
};
