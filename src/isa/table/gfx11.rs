//! The opcodes of gfx11: RDNA 3 and RDNA 3.5.
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
    (Encoding::Vinterp, VINTERP),
    (Encoding::Ldsdir, LDSDIR),
    (Encoding::Ds, DS),
    (Encoding::Flat, FLAT),
    (Encoding::Mubuf, MUBUF),
    (Encoding::Mtbuf, MTBUF),
    (Encoding::Mimg, MIMG),
];

#[rustfmt::skip]
const SOP1: &[Row] = rows! {
    0x00: Scalar(1) => Alu(ScalarOp::Mov), "s_mov_b32";
    0x01: Scalar(2) => Alu(ScalarOp::Mov), "s_mov_b64";
    0x02: Scalar(1) => Alu(ScalarOp::MovIfScc), "s_cmov_b32";
    0x03: Scalar(2) => Alu(ScalarOp::MovIfScc), "s_cmov_b64";
    0x04: Scalar(1);
    0x05: Scalar(2);
    0x08..=0x10: Scalar(1);
    0x11: Scalar(2);
    0x12: Scalar(1);
    0x13..=0x14: Scalar(2);
    0x15..=0x1a: Scalar(1), SCC;
    0x1b: Scalar(2), SCC;
    0x1c: Scalar(1), SCC;
    0x1d: Scalar(2), SCC;
    0x1e: Scalar(1), SCC => Alu(ScalarOp::Not), "s_not_b32";
    0x1f: Scalar(2), SCC => Alu(ScalarOp::Not), "s_not_b64";
    0x20: Scalar(1), SCC | EXEC => SaveExec(ExecOp::And), "s_and_saveexec_b32";
    0x21: Scalar(2), SCC | EXEC => SaveExec(ExecOp::And), "s_and_saveexec_b64";
    0x22: Scalar(1), SCC | EXEC => SaveExec(ExecOp::Or), "s_or_saveexec_b32";
    0x23: Scalar(2), SCC | EXEC => SaveExec(ExecOp::Or), "s_or_saveexec_b64";
    0x24: Scalar(1), SCC | EXEC => SaveExec(ExecOp::Xor), "s_xor_saveexec_b32";
    0x25: Scalar(2), SCC | EXEC => SaveExec(ExecOp::Xor), "s_xor_saveexec_b64";
    0x26: Scalar(1), SCC | EXEC => SaveExec(ExecOp::Nand), "s_nand_saveexec_b32";
    0x27: Scalar(2), SCC | EXEC => SaveExec(ExecOp::Nand), "s_nand_saveexec_b64";
    0x28: Scalar(1), SCC | EXEC => SaveExec(ExecOp::Nor), "s_nor_saveexec_b32";
    0x29: Scalar(2), SCC | EXEC => SaveExec(ExecOp::Nor), "s_nor_saveexec_b64";
    0x2a: Scalar(1), SCC | EXEC => SaveExec(ExecOp::Xnor), "s_xnor_saveexec_b32";
    0x2b: Scalar(2), SCC | EXEC => SaveExec(ExecOp::Xnor), "s_xnor_saveexec_b64";
    0x2c: Scalar(1), SCC | EXEC => SaveExec(ExecOp::ExecAndNotSource), "s_and_not0_saveexec_b32";
    0x2d: Scalar(2), SCC | EXEC => SaveExec(ExecOp::ExecAndNotSource), "s_and_not0_saveexec_b64";
    0x2e: Scalar(1), SCC | EXEC => SaveExec(ExecOp::ExecOrNotSource), "s_or_not0_saveexec_b32";
    0x2f: Scalar(2), SCC | EXEC => SaveExec(ExecOp::ExecOrNotSource), "s_or_not0_saveexec_b64";
    0x30: Scalar(1), SCC | EXEC => SaveExec(ExecOp::SourceAndNotExec), "s_and_not1_saveexec_b32";
    0x31: Scalar(2), SCC | EXEC => SaveExec(ExecOp::SourceAndNotExec), "s_and_not1_saveexec_b64";
    0x32: Scalar(1), SCC | EXEC => SaveExec(ExecOp::SourceOrNotExec), "s_or_not1_saveexec_b32";
    0x33: Scalar(2), SCC | EXEC => SaveExec(ExecOp::SourceOrNotExec), "s_or_not1_saveexec_b64";
    0x34: Scalar(1), SCC | EXEC => WriteExec(ExecOp::ExecAndNotSource), "s_and_not0_wrexec_b32";
    0x35: Scalar(2), SCC | EXEC => WriteExec(ExecOp::ExecAndNotSource), "s_and_not0_wrexec_b64";
    0x36: Scalar(1), SCC | EXEC => WriteExec(ExecOp::SourceAndNotExec), "s_and_not1_wrexec_b32";
    0x37: Scalar(2), SCC | EXEC => WriteExec(ExecOp::SourceAndNotExec), "s_and_not1_wrexec_b64";
    0x40: Scalar(1);
    0x41: Scalar(2);
    0x42: Scalar(1), INDIRECT;
    0x43: Scalar(2), INDIRECT;
    0x44: Scalar(1), INDIRECT;
    0x47: Scalar(2) => GetPc, "s_getpc_b64";
    0x48: None => SetPc, "s_setpc_b64";
    0x49: Scalar(2) => SwapPc, "s_swappc_b64";
    0x4a: None => OtherJump, "s_rfe_b64";
    0x4c: Scalar(1);
    0x4d: Scalar(2);
    0x60..=0x6e: Scalar(1);
};

#[rustfmt::skip]
const SOPC: &[Row] = rows! {
    0x00..=0x11: None, SCC;
    0x41..=0x4e: None, SCC;
    0x51..=0x5e: None, SCC;
};

#[rustfmt::skip]
const SOPP: &[Row] = rows! {
    0x00: None => Nop, "s_nop";
    0x01..=0x02: None;
    0x03: None => Wait, "s_sleep";
    0x04: None;
    0x05: None => Clause, "s_clause";
    0x07: None => Wait, "s_delay_alu";
    0x08: None => Wait, "s_waitcnt_depctr";
    0x09: None => Wait, "s_waitcnt";
    0x0a: None => Wait, "s_wait_idle";
    0x0b: None => Wait, "s_wait_event";
    0x10: None => Trap, "s_trap";
    0x11..=0x12: None;
    0x1f: None => CodeEnd, "s_code_end";
    0x20: None => Branch(None), "s_branch";
    0x21: None => Branch(Some(Condition::Scc0)), "s_cbranch_scc0";
    0x22: None => Branch(Some(Condition::Scc1)), "s_cbranch_scc1";
    0x23: None => Branch(Some(Condition::VccZero)), "s_cbranch_vccz";
    0x24: None => Branch(Some(Condition::VccNotZero)), "s_cbranch_vccnz";
    0x25: None => Branch(Some(Condition::ExecZero)), "s_cbranch_execz";
    0x26: None => Branch(Some(Condition::ExecNotZero)), "s_cbranch_execnz";
    0x27: None => Branch(Some(Condition::Debugger)), "s_cbranch_cdbgsys";
    0x28: None => Branch(Some(Condition::Debugger)), "s_cbranch_cdbguser";
    0x29: None => Branch(Some(Condition::Debugger)), "s_cbranch_cdbgsys_or_user";
    0x2a: None => Branch(Some(Condition::Debugger)), "s_cbranch_cdbgsys_and_user";
    0x30: None => EndProgram, "s_endpgm";
    0x31: None => EndProgram, "s_endpgm_saved";
    0x32: None => EndProgram, "s_endpgm_ordered_ps_done";
    0x34..=0x3d: None;
};

#[rustfmt::skip]
const SOPK: &[Row] = rows! {
    0x00: Scalar(1) => Alu(ScalarOp::Mov), "s_movk_i32";
    0x01: None;
    0x02: Scalar(1) => Alu(ScalarOp::MovIfScc), "s_cmovk_i32";
    0x03..=0x0e: None, SCC;
    0x0f: Scalar(1), SCC => Alu(ScalarOp::Add), "s_addk_i32";
    0x10: Scalar(1) => Alu(ScalarOp::Mul), "s_mulk_i32";
    0x11: Scalar(1);
    0x12: None;
    0x13: None, LITERAL;
    0x14: Scalar(2) => Call, "s_call_b64";
    0x16: Scalar(1) => Branch(Some(Condition::Loop)), "s_subvector_loop_begin";
    0x17: Scalar(1) => Branch(Some(Condition::Loop)), "s_subvector_loop_end";
    0x18: None => Wait, "s_waitcnt_vscnt";
    0x19: None => Wait, "s_waitcnt_vmcnt";
    0x1a: None => Wait, "s_waitcnt_expcnt";
    0x1b: None => Wait, "s_waitcnt_lgkmcnt";
};

#[rustfmt::skip]
const SOP2: &[Row] = rows! {
    0x00: Scalar(1), SCC => Alu(ScalarOp::Add), "s_add_u32";
    0x01: Scalar(1), SCC => Alu(ScalarOp::Sub), "s_sub_u32";
    0x02: Scalar(1), SCC => Alu(ScalarOp::Add), "s_add_i32";
    0x03: Scalar(1), SCC => Alu(ScalarOp::Sub), "s_sub_i32";
    0x04: Scalar(1), SCC => Alu(ScalarOp::AddCarry), "s_addc_u32";
    0x05: Scalar(1), SCC => Alu(ScalarOp::SubBorrow), "s_subb_u32";
    0x06: Scalar(1), SCC;
    0x08: Scalar(1), SCC => Alu(ScalarOp::ShiftLeft), "s_lshl_b32";
    0x09: Scalar(2), SCC => Alu(ScalarOp::ShiftLeft), "s_lshl_b64";
    0x0a: Scalar(1), SCC => Alu(ScalarOp::ShiftRight), "s_lshr_b32";
    0x0b: Scalar(2), SCC => Alu(ScalarOp::ShiftRight), "s_lshr_b64";
    0x0c: Scalar(1), SCC => Alu(ScalarOp::ShiftRightSigned), "s_ashr_i32";
    0x0d: Scalar(2), SCC => Alu(ScalarOp::ShiftRightSigned), "s_ashr_i64";
    0x0e: Scalar(1), SCC => Alu(ScalarOp::ShiftLeftAdd(1)), "s_lshl1_add_u32";
    0x0f: Scalar(1), SCC => Alu(ScalarOp::ShiftLeftAdd(2)), "s_lshl2_add_u32";
    0x10: Scalar(1), SCC => Alu(ScalarOp::ShiftLeftAdd(3)), "s_lshl3_add_u32";
    0x11: Scalar(1), SCC => Alu(ScalarOp::ShiftLeftAdd(4)), "s_lshl4_add_u32";
    0x12..=0x15: Scalar(1), SCC;
    0x16: Scalar(1), SCC => Alu(ScalarOp::And), "s_and_b32";
    0x17: Scalar(2), SCC => Alu(ScalarOp::And), "s_and_b64";
    0x18: Scalar(1), SCC => Alu(ScalarOp::Or), "s_or_b32";
    0x19: Scalar(2), SCC => Alu(ScalarOp::Or), "s_or_b64";
    0x1a: Scalar(1), SCC => Alu(ScalarOp::Xor), "s_xor_b32";
    0x1b: Scalar(2), SCC => Alu(ScalarOp::Xor), "s_xor_b64";
    0x1c: Scalar(1), SCC => Alu(ScalarOp::Nand), "s_nand_b32";
    0x1d: Scalar(2), SCC => Alu(ScalarOp::Nand), "s_nand_b64";
    0x1e: Scalar(1), SCC => Alu(ScalarOp::Nor), "s_nor_b32";
    0x1f: Scalar(2), SCC => Alu(ScalarOp::Nor), "s_nor_b64";
    0x20: Scalar(1), SCC => Alu(ScalarOp::Xnor), "s_xnor_b32";
    0x21: Scalar(2), SCC => Alu(ScalarOp::Xnor), "s_xnor_b64";
    0x22: Scalar(1), SCC => Alu(ScalarOp::AndNot), "s_and_not1_b32";
    0x23: Scalar(2), SCC => Alu(ScalarOp::AndNot), "s_and_not1_b64";
    0x24: Scalar(1), SCC => Alu(ScalarOp::OrNot), "s_or_not1_b32";
    0x25: Scalar(2), SCC => Alu(ScalarOp::OrNot), "s_or_not1_b64";
    0x26: Scalar(1), SCC => Alu(ScalarOp::BitFieldExtract), "s_bfe_u32";
    0x27: Scalar(1), SCC => Alu(ScalarOp::BitFieldExtractSigned), "s_bfe_i32";
    0x28: Scalar(2), SCC => Alu(ScalarOp::BitFieldExtract), "s_bfe_u64";
    0x29: Scalar(2), SCC => Alu(ScalarOp::BitFieldExtractSigned), "s_bfe_i64";
    0x2a: Scalar(1) => Alu(ScalarOp::BitFieldMask), "s_bfm_b32";
    0x2b: Scalar(2) => Alu(ScalarOp::BitFieldMask), "s_bfm_b64";
    0x2c: Scalar(1) => Alu(ScalarOp::Mul), "s_mul_i32";
    0x2d: Scalar(1) => Alu(ScalarOp::MulHighUnsigned), "s_mul_hi_u32";
    0x2e: Scalar(1) => Alu(ScalarOp::MulHighSigned), "s_mul_hi_i32";
    0x30: Scalar(1) => Alu(ScalarOp::Select), "s_cselect_b32";
    0x31: Scalar(2) => Alu(ScalarOp::Select), "s_cselect_b64";
    0x32..=0x35: Scalar(1);
    0x40..=0x44: Scalar(1);
    0x45..=0x46: Scalar(1), LITERAL;
    0x47..=0x4e: Scalar(1);
};

#[rustfmt::skip]
const VOP1: &[Row] = rows! {
    0x00: None;
    0x01: Vector(1) => VectorMove, "v_mov_b32";
    0x02: Scalar(1) => ReadFirstLane, "v_readfirstlane_b32";
    0x03: Vector(1);
    0x04: Vector(2);
    0x05..=0x08: Vector(1);
    0x0a: Half;
    0x0b..=0x0f: Vector(1);
    0x10: Vector(2);
    0x11..=0x15: Vector(1);
    0x16..=0x1a: Vector(2);
    0x1b: None;
    0x1c: Half;
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
    0x42: Vector(1), INDIRECT;
    0x43: Vector(1);
    0x44: Vector(1), INDIRECT;
    0x48: Vector(1), INDIRECT;
    0x50..=0x64: Half;
    0x65: Swap(1);
    0x66: SwapHalves;
    0x67: Vector(1);
    0x68: Swap(1), INDIRECT;
    0x69: Half;
    0x6a..=0x6b: Vector(1);
};

#[rustfmt::skip]
const VOPC: &[Row] = rows! {
    0x00..=0x2f: Mask;
    0x31..=0x36: Mask;
    0x39..=0x3e: Mask;
    0x40..=0x5f: Mask;
    0x7d..=0x7f: Mask;
    0x80..=0xaf: None, EXEC;
    0xb1..=0xb6: None, EXEC;
    0xb9..=0xbe: None, EXEC;
    0xc0..=0xdf: None, EXEC;
    0xfd..=0xff: None, EXEC;
};

#[rustfmt::skip]
const VOP2: &[Row] = rows! {
    0x01..=0x0c: Vector(1);
    0x0f..=0x14: Vector(1);
    0x18..=0x1e: Vector(1);
    0x20..=0x22: VectorAndMask(1);
    0x25..=0x27: Vector(1);
    0x2b: Vector(1);
    0x2c..=0x2d: Vector(1), LITERAL;
    0x2f: Vector(1);
    0x32..=0x36: Half;
    0x37..=0x38: Half, LITERAL;
    0x39..=0x3b: Half;
    0x3c: Vector(1);
};

#[rustfmt::skip]
const SMEM: &[Row] = rows! {
    0x00: Scalar(1) => ScalarLoad, "s_load_b32";
    0x01: Scalar(2) => ScalarLoad, "s_load_b64";
    0x02: Scalar(4) => ScalarLoad, "s_load_b128";
    0x03: Scalar(8) => ScalarLoad, "s_load_b256";
    0x04: Scalar(16) => ScalarLoad, "s_load_b512";
    0x08: Scalar(1);
    0x09: Scalar(2);
    0x0a: Scalar(4);
    0x0b: Scalar(8);
    0x0c: Scalar(16);
    0x20..=0x23: None;
};

#[rustfmt::skip]
const VOP3: &[Row] = rows! {
    0x00..=0x2f: Mask;
    0x31..=0x36: Mask;
    0x39..=0x3e: Mask;
    0x40..=0x5f: Mask;
    0x7d..=0x7f: Mask;
    0x80..=0xaf: None, EXEC;
    0xb1..=0xb6: None, EXEC;
    0xb9..=0xbe: None, EXEC;
    0xc0..=0xdf: None, EXEC;
    0xfd..=0xff: None, EXEC;
    0x101: Vector(1);
    0x103..=0x10c: Vector(1);
    0x10f..=0x114: Vector(1);
    0x118..=0x11e: Vector(1);
    0x120..=0x122: VectorAndMask(1);
    0x125..=0x127: Vector(1);
    0x12b: Vector(1);
    0x12f: Vector(1);
    0x132..=0x136: Vector(1);
    0x139..=0x13b: Vector(1);
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
    0x19c: Vector(1);
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
    0x1c2: Vector(1), INDIRECT;
    0x1c3: Vector(1);
    0x1c4: Vector(1), INDIRECT;
    0x1c8: Vector(1), INDIRECT;
    0x1d0..=0x1e4: Vector(1);
    0x1e9..=0x1eb: Vector(1);
    0x209..=0x213: Vector(1);
    0x214: Vector(2);
    0x215..=0x227: Vector(1);
    0x228: Vector(2);
    0x237: Vector(1);
    0x238: Vector(2);
    0x239: Vector(1);
    0x23a..=0x23b: Vector(2);
    0x23d: Vector(4);
    0x240..=0x241: Vector(1);
    0x244..=0x251: Vector(1);
    0x253..=0x267: Vector(1);
    0x2fc: VectorAndMask(1);
    0x2fd..=0x2ff: VectorAndMask(2);
    0x300..=0x302: VectorAndMask(1);
    0x303..=0x307: Vector(1);
    0x309..=0x30e: Vector(1);
    0x311..=0x313: Vector(1);
    0x31c..=0x326: Vector(1);
    0x327..=0x32b: Vector(2);
    0x32c..=0x32e: Vector(1);
    0x32f: Vector(2);
    0x338..=0x33a: Vector(1);
    0x33c..=0x33e: Vector(2);
    0x360: Scalar(1) => ReadLane, "v_readlane_b32";
    0x361: Vector(1) => WriteLane, "v_writelane_b32";
    0x362..=0x364: Vector(1);
};

#[rustfmt::skip]
const VOP3P: &[Row] = rows! {
    0x00..=0x13: Vector(1);
    0x16..=0x1a: Vector(1);
    0x20..=0x22: Vector(1);
    0x40..=0x45: VectorByWave(8);
};

#[rustfmt::skip]
const VINTERP: &[Row] = rows! {
    0x00..=0x05: Vector(1);
    0x80..=0x85: Vector(1);
};

#[rustfmt::skip]
const LDSDIR: &[Row] = rows! {
    0x00..=0x01: Vector(1);
};

#[rustfmt::skip]
const DS: &[Row] = rows! {
    0x00..=0x13: None;
    0x15: None;
    0x18..=0x1f: None;
    0x20..=0x2d: Vector(1);
    0x2e..=0x2f: Vector(2);
    0x30..=0x36: Vector(1);
    0x37..=0x38: Vector(2);
    0x39..=0x3f: Vector(1);
    0x40..=0x53: None;
    0x60..=0x6d: Vector(2);
    0x6e..=0x6f: Vector(4);
    0x70..=0x73: Vector(2);
    0x76: Vector(2);
    0x77..=0x78: Vector(4);
    0x79: Vector(1);
    0x7a..=0x7b: Vector(2);
    0x7e: Vector(2);
    0xa0..=0xa1: None;
    0xa2..=0xa7: Vector(1);
    0xad: BvhStack(1);
    0xb0: None;
    0xb1..=0xb3: Vector(1);
    0xde..=0xdf: None;
    0xfe: Vector(3);
    0xff: Vector(4);
};

#[rustfmt::skip]
const FLAT: &[Row] = rows! {
    0x10: Load(1) => Access(1), "load_u8";
    0x11: Load(1) => Access(1), "load_i8";
    0x12: Load(1) => Access(2), "load_u16";
    0x13: Load(1) => Access(2), "load_i16";
    0x14: Load(1) => Access(4), "load_b32";
    0x15: Load(2) => Access(8), "load_b64";
    0x16: Load(3) => Access(12), "load_b96";
    0x17: Load(4) => Access(16), "load_b128";
    0x18: Store(1) => Access(1), "store_b8";
    0x19: Store(1) => Access(2), "store_b16";
    0x1a: Store(1) => Access(4), "store_b32";
    0x1b: Store(2) => Access(8), "store_b64";
    0x1c: Store(3) => Access(12), "store_b96";
    0x1d: Store(4) => Access(16), "store_b128";
    0x1e: Load(1) => Access(1), "load_d16_u8";
    0x1f: Load(1) => Access(1), "load_d16_i8";
    0x20: Load(1) => Access(2), "load_d16_b16";
    0x21: Load(1) => Access(1), "load_d16_hi_u8";
    0x22: Load(1) => Access(1), "load_d16_hi_i8";
    0x23: Load(1) => Access(2), "load_d16_hi_b16";
    0x24: Store(1) => Access(1), "store_d16_hi_b8";
    0x25: Store(1) => Access(2), "store_d16_hi_b16";
    0x28: Load(1);
    0x29: Store(1);
    0x33..=0x40: Atomic(1);
    0x41..=0x4d: Atomic(2);
    0x50..=0x52: Atomic(1);
    0x56: Atomic(1);
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
    0x10: Load(1) => Access(1), "load_u8";
    0x11: Load(1) => Access(1), "load_i8";
    0x12: Load(1) => Access(2), "load_u16";
    0x13: Load(1) => Access(2), "load_i16";
    0x14: Load(1) => Access(4), "load_b32";
    0x15: Load(2) => Access(8), "load_b64";
    0x16: Load(3) => Access(12), "load_b96";
    0x17: Load(4) => Access(16), "load_b128";
    0x18: Store(1) => Access(1), "store_b8";
    0x19: Store(1) => Access(2), "store_b16";
    0x1a: Store(1) => Access(4), "store_b32";
    0x1b: Store(2) => Access(8), "store_b64";
    0x1c: Store(3) => Access(12), "store_b96";
    0x1d: Store(4) => Access(16), "store_b128";
    0x1e: Load(1) => Access(1), "load_d16_u8";
    0x1f: Load(1) => Access(1), "load_d16_i8";
    0x20: Load(1) => Access(2), "load_d16_b16";
    0x21: Load(1) => Access(1), "load_d16_hi_u8";
    0x22: Load(1) => Access(1), "load_d16_hi_i8";
    0x23: Load(1) => Access(2), "load_d16_hi_b16";
    0x24: Store(1) => Access(1), "store_d16_hi_b8";
    0x25: Store(1) => Access(2), "store_d16_hi_b16";
    0x26: Load(1);
    0x27: Store(1);
    0x2b..=0x2c: None;
    0x33..=0x40: Atomic(1);
    0x41..=0x4d: Atomic(2);
    0x50..=0x52: Atomic(1);
    0x56: Atomic(1);
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
    0x06..=0x09: None;
    0x0a: ImageAtomic(1);
    0x0b: ImageAtomic(2);
    0x0c..=0x16: ImageAtomic(1);
    0x17: ImageLoad;
    0x18: Gather;
    0x1b..=0x2e: ImageLoad;
    0x2f..=0x37: Gather;
    0x38..=0x3c: ImageLoad;
    0x40..=0x4b: ImageLoad;
    0x54..=0x56: ImageLoad;
    0x5f: ImageLoad;
    0x60..=0x65: Gather;
    0x90: Gather;
};
