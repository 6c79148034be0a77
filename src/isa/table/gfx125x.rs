//! The opcodes of gfx1250 and gfx1251.
//!
//! What the columns mean is said where the macro `rows` is. Source: AMD's instruction set architecture
//! documents, by way of LLVM 22's disassembler, see the parent module.

use super::{EXEC, Encoding, INDIRECT, LITERAL, LITERAL64, Op, Row, SCC, Shape, Table, rows};
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
    (Encoding::Ds, DS),
    (Encoding::Flat, FLAT),
    (Encoding::Vbuffer, VBUFFER),
    (Encoding::Vimage, VIMAGE),
];

#[rustfmt::skip]
const SOP1: &[Row] = rows! {
    0x00: Scalar(1) => Alu(ScalarOp::Mov), "s_mov_b32";
    0x01: Scalar(2) => Alu(ScalarOp::Mov), "s_mov_b64";
    0x02: Scalar(1) => Alu(ScalarOp::MovIfScc), "s_cmov_b32";
    0x03: Scalar(2) => Alu(ScalarOp::MovIfScc), "s_cmov_b64";
    0x04: Scalar(1);
    0x05..=0x06: Scalar(2);
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
    0x47: Scalar(2) => GetPc, "s_get_pc_i64";
    0x48: None => SetPc, "s_set_pc_i64";
    0x49: Scalar(2) => SwapPc, "s_swap_pc_i64";
    0x4a: None => OtherJump, "s_rfe_i64";
    0x4b: None => OtherJump, "s_add_pc_i64";
    0x4c: Scalar(1);
    0x4d: Scalar(2);
    0x4e: None;
    0x4f: None, SCC;
    0x50: Scalar(1);
    0x51..=0x52: None;
    0x53: None, SCC;
    0x57..=0x58: None;
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
    0x02: None;
    0x03: None => Wait, "s_sleep";
    0x04: None;
    0x05: None => Clause, "s_clause";
    0x06: None => VgprMsb, "s_set_vgpr_msb";
    0x07: None => Wait, "s_delay_alu";
    0x08: None => Wait, "s_wait_alu";
    0x0a: None => Wait, "s_wait_idle";
    0x10: None => Trap, "s_trap";
    0x11..=0x12: None;
    0x14: None;
    0x15: None, SCC;
    0x1f: None => CodeEnd, "s_code_end";
    0x20: None => Branch(None), "s_branch";
    0x21: None => Branch(Some(Condition::Scc0)), "s_cbranch_scc0";
    0x22: None => Branch(Some(Condition::Scc1)), "s_cbranch_scc1";
    0x23: None => Branch(Some(Condition::VccZero)), "s_cbranch_vccz";
    0x24: None => Branch(Some(Condition::VccNotZero)), "s_cbranch_vccnz";
    0x25: None => Branch(Some(Condition::ExecZero)), "s_cbranch_execz";
    0x26: None => Branch(Some(Condition::ExecNotZero)), "s_cbranch_execnz";
    0x30: None => EndProgram, "s_endpgm";
    0x31: None => EndProgram, "s_endpgm_saved";
    0x34..=0x3c: None;
    0x3e: None;
    0x40: None => Wait, "s_wait_loadcnt";
    0x41: None => Wait, "s_wait_storecnt";
    0x45: None => Wait, "s_wait_xcnt";
    0x46: None => Wait, "s_wait_dscnt";
    0x47: None => Wait, "s_wait_kmcnt";
    0x48: None => Wait, "s_wait_loadcnt_dscnt";
    0x49: None => Wait, "s_wait_storecnt_dscnt";
    0x4a: None => Wait, "s_wait_asynccnt";
    0x4b: None => Wait, "s_wait_tensorcnt";
};

#[rustfmt::skip]
const SOPK: &[Row] = rows! {
    0x00: Scalar(1) => Alu(ScalarOp::Mov), "s_movk_i32";
    0x01: None;
    0x02: Scalar(1) => Alu(ScalarOp::MovIfScc), "s_cmovk_i32";
    0x0f: Scalar(1), SCC => Alu(ScalarOp::Add), "s_addk_co_i32";
    0x10: Scalar(1) => Alu(ScalarOp::Mul), "s_mulk_i32";
    0x11: Scalar(1);
    0x12: None;
    0x13: None, LITERAL;
    0x14: Scalar(2) => Call, "s_call_i64";
};

#[rustfmt::skip]
const SOP2: &[Row] = rows! {
    0x00: Scalar(1), SCC => Alu(ScalarOp::Add), "s_add_co_u32";
    0x01: Scalar(1), SCC => Alu(ScalarOp::Sub), "s_sub_co_u32";
    0x02: Scalar(1), SCC => Alu(ScalarOp::Add), "s_add_co_i32";
    0x03: Scalar(1), SCC => Alu(ScalarOp::Sub), "s_sub_co_i32";
    0x04: Scalar(1), SCC => Alu(ScalarOp::AddCarry), "s_add_co_ci_u32";
    0x05: Scalar(1), SCC => Alu(ScalarOp::SubBorrow), "s_sub_co_ci_u32";
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
    0x47..=0x52: Scalar(1);
    0x53: Scalar(2) => Alu(ScalarOp::Add), "s_add_nc_u64";
    0x54: Scalar(2) => Alu(ScalarOp::Sub), "s_sub_nc_u64";
    0x55: Scalar(2) => Alu(ScalarOp::Mul), "s_mul_u64";
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
    0x1d: Vector(2) => VectorMove, "v_mov_b64";
    0x1e: Vector(1);
    0x1f: Half;
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
    0x49: Swap(1);
    0x4a: Half;
    0x4b: Vector(1);
    0x50..=0x64: Half;
    0x65: Swap(1);
    0x66: SwapHalves;
    0x67: Vector(1);
    0x68: Swap(1), INDIRECT;
    0x69: Half;
    0x6a..=0x6d: Vector(1);
    0x6e..=0x6f: Vector(2);
    0x72: Vector(1);
    0x73..=0x74: Half;
    0x75..=0x76: Vector(1);
    0x77..=0x7f: Half;
};

#[rustfmt::skip]
const VOPC: &[Row] = rows! {
    0x01..=0x0e: Mask;
    0x11..=0x1e: Mask;
    0x21..=0x2e: Mask;
    0x31..=0x36: Mask;
    0x39..=0x3e: Mask;
    0x41..=0x46: Mask;
    0x49..=0x4e: Mask;
    0x51..=0x56: Mask;
    0x59..=0x5e: Mask;
    0x7d..=0x7f: Mask;
    0x81..=0x8e: None, EXEC;
    0x91..=0x9e: None, EXEC;
    0xa1..=0xae: None, EXEC;
    0xb1..=0xb6: None, EXEC;
    0xb9..=0xbe: None, EXEC;
    0xc1..=0xc6: None, EXEC;
    0xc9..=0xce: None, EXEC;
    0xd1..=0xd6: None, EXEC;
    0xd9..=0xde: None, EXEC;
    0xfd..=0xff: None, EXEC;
};

#[rustfmt::skip]
const VOP2: &[Row] = rows! {
    0x01: Vector(1);
    0x02: Vector(2);
    0x03..=0x05: Vector(1);
    0x06: Vector(2);
    0x07..=0x0c: Vector(1);
    0x0d..=0x0e: Vector(2);
    0x11..=0x16: Vector(1);
    0x17: Vector(2);
    0x18..=0x1e: Vector(1);
    0x1f: Vector(2);
    0x20..=0x22: VectorAndMask(1);
    0x23..=0x24: Vector(2), LITERAL64;
    0x25..=0x27: Vector(1);
    0x28..=0x2a: Vector(2);
    0x2b: Vector(1);
    0x2c..=0x2d: Vector(1), LITERAL;
    0x2f: Vector(1);
    0x30..=0x36: Half;
    0x37..=0x38: Half, LITERAL;
    0x3b: Half;
    0x3c: Vector(1);
};

#[rustfmt::skip]
const SMEM: &[Row] = rows! {
    0x00: Scalar(1) => ScalarLoad, "s_load_b32";
    0x01: Scalar(2) => ScalarLoad, "s_load_b64";
    0x02: Scalar(4) => ScalarLoad, "s_load_b128";
    0x03: Scalar(8) => ScalarLoad, "s_load_b256";
    0x04: Scalar(16) => ScalarLoad, "s_load_b512";
    0x05: Scalar(3) => ScalarLoad, "s_load_b96";
    0x08: Scalar(1) => ScalarLoad, "s_load_i8";
    0x09: Scalar(1) => ScalarLoad, "s_load_u8";
    0x0a: Scalar(1) => ScalarLoad, "s_load_i16";
    0x0b: Scalar(1) => ScalarLoad, "s_load_u16";
    0x10: Scalar(1);
    0x11: Scalar(2);
    0x12: Scalar(4);
    0x13: Scalar(8);
    0x14: Scalar(16);
    0x15: Scalar(3);
    0x18..=0x1b: Scalar(1);
    0x21..=0x28: None;
};

#[rustfmt::skip]
const VOP3: &[Row] = rows! {
    0x01..=0x0e: Mask;
    0x11..=0x1e: Mask;
    0x21..=0x2e: Mask;
    0x31..=0x36: Mask;
    0x39..=0x3e: Mask;
    0x41..=0x46: Mask;
    0x49..=0x4e: Mask;
    0x51..=0x56: Mask;
    0x59..=0x5e: Mask;
    0x7d..=0x7f: Mask;
    0x81..=0x8e: None, EXEC;
    0x91..=0x9e: None, EXEC;
    0xa1..=0xae: None, EXEC;
    0xb1..=0xb6: None, EXEC;
    0xb9..=0xbe: None, EXEC;
    0xc1..=0xc6: None, EXEC;
    0xc9..=0xce: None, EXEC;
    0xd1..=0xd6: None, EXEC;
    0xd9..=0xde: None, EXEC;
    0xfd..=0xff: None, EXEC;
    0x101: Vector(1);
    0x102: Vector(2);
    0x103..=0x105: Vector(1);
    0x106: Vector(2);
    0x107..=0x10c: Vector(1);
    0x10d..=0x10e: Vector(2);
    0x111..=0x116: Vector(1);
    0x117: Vector(2);
    0x118..=0x11e: Vector(1);
    0x11f: Vector(2);
    0x120..=0x122: VectorAndMask(1);
    0x125..=0x127: Vector(1);
    0x128..=0x12a: Vector(2);
    0x12b: Vector(1);
    0x12f..=0x136: Vector(1);
    0x13b: Vector(1);
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
    0x19d: Vector(2) => VectorMove, "v_mov_b64";
    0x19e..=0x1a5: Vector(1);
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
    0x1c9: Swap(1);
    0x1ca..=0x1cb: Vector(1);
    0x1d0..=0x1e4: Vector(1);
    0x1e9..=0x1ed: Vector(1);
    0x1ee..=0x1ef: Vector(2);
    0x1f2..=0x1ff: Vector(1);
    0x209..=0x213: Vector(1);
    0x214: Vector(2);
    0x215..=0x218: Vector(1);
    0x21a..=0x21b: Vector(1);
    0x21d..=0x21e: Vector(1);
    0x220..=0x227: Vector(1);
    0x228: Vector(2);
    0x229..=0x235: Vector(1);
    0x237: Vector(1);
    0x238: Vector(2);
    0x239: Vector(1);
    0x23a..=0x23b: Vector(2);
    0x23d: Vector(4);
    0x23f: Vector(2);
    0x240..=0x241: Vector(1);
    0x242: Vector(3);
    0x243: Vector(4);
    0x244..=0x248: Vector(1);
    0x24a..=0x24b: Vector(1);
    0x24d..=0x24e: Vector(1);
    0x250..=0x251: Vector(1);
    0x252: Vector(2);
    0x253..=0x265: Vector(1);
    0x268..=0x273: Vector(1);
    0x280..=0x289: Scalar(1);
    0x290..=0x291: Vector(1);
    0x297: Vector(1);
    0x298..=0x299: Vector(2);
    0x29f..=0x2a0: Vector(4);
    0x2a1: Vector(8);
    0x2a8..=0x2a9: Vector(4);
    0x2aa: Vector(8);
    0x2ab..=0x2ac: Vector(4);
    0x2ad: Vector(8);
    0x2b0: Vector(1);
    0x2b3: Vector(1);
    0x2b4..=0x2b5: Vector(2);
    0x2b8..=0x2b9: Vector(1);
    0x2bc: Vector(1);
    0x2bf..=0x2c6: Vector(2);
    0x2c7..=0x2c8: Vector(8);
    0x2c9: Vector(16);
    0x2ca..=0x2cb: Vector(8);
    0x2cc: Vector(16);
    0x2cd..=0x2d8: Vector(3);
    0x2fa..=0x2fb: Vector(2);
    0x2fc: VectorAndMask(1);
    0x2fd..=0x2ff: VectorAndMask(2);
    0x300..=0x302: VectorAndMask(1);
    0x303..=0x307: Vector(1);
    0x309..=0x314: Vector(1);
    0x318..=0x31b: Vector(2);
    0x31c..=0x326: Vector(1);
    0x32b: Vector(2);
    0x32c..=0x32e: Vector(1);
    0x32f: Vector(2);
    0x338..=0x33a: Vector(1);
    0x33d..=0x33e: Vector(2);
    0x341..=0x342: Vector(2);
    0x360: Scalar(1) => ReadLane, "v_readlane_b32";
    0x361: Vector(1) => WriteLane, "v_writelane_b32";
    0x362..=0x370: Vector(1);
    0x372..=0x375: Vector(1);
};

#[rustfmt::skip]
const VOP3P: &[Row] = rows! {
    0x00..=0x11: Vector(1);
    0x14..=0x19: Vector(1);
    0x1b..=0x1e: Vector(1);
    0x1f: Vector(2);
    0x20..=0x23: Vector(1);
    0x28..=0x29: Vector(2);
    0x2a..=0x32: Vector(1);
    0x33: Vector(8);
    0x35: None;
    0x36..=0x39: Vector(1);
    0x3a: Vector(2);
    0x3d..=0x3f: Vector(1);
    0x40..=0x41: Vector(8);
    0x42..=0x43: Vector(4);
    0x44..=0x4a: Vector(8);
    0x50..=0x51: Vector(8);
    0x52..=0x53: Vector(4);
    0x54..=0x5a: Vector(8);
    0x5d: Vector(8);
    0x60: Vector(8);
    0x61: Vector(4);
    0x62: Vector(8);
    0x63..=0x64: Vector(4);
    0x65..=0x66: Vector(8);
    0x67..=0x68: Vector(4);
    0x69..=0x6d: Vector(8);
    0x6e..=0x71: Vector(4);
    0x72..=0x76: Vector(8);
    0x77..=0x7a: Vector(4);
    0x7b: Vector(8);
    0x80..=0x83: Vector(8);
    0x84..=0x87: Vector(4);
    0x88: Vector(16);
};

#[rustfmt::skip]
const DS: &[Row] = rows! {
    0x00..=0x10: None;
    0x12..=0x15: None;
    0x1e..=0x1f: None;
    0x20..=0x2d: Vector(1);
    0x2e..=0x2f: Vector(2);
    0x30: Vector(1);
    0x32..=0x33: Vector(1);
    0x35..=0x36: Vector(1);
    0x37..=0x38: Vector(2);
    0x39..=0x3e: Vector(1);
    0x40..=0x50: None;
    0x52..=0x54: None;
    0x56: None;
    0x60..=0x6d: Vector(2);
    0x6e..=0x6f: Vector(4);
    0x70: Vector(2);
    0x72..=0x76: Vector(2);
    0x77..=0x78: Vector(4);
    0x79: Vector(1);
    0x7e: Vector(2);
    0x98..=0x9b: None;
    0xa0..=0xa1: None;
    0xa2..=0xab: Vector(1);
    0xb0: None;
    0xb1..=0xb3: Vector(1);
    0xcd: Vector(1);
    0xde..=0xdf: None;
    0xfa: Vector(2);
    0xfb: Vector(3);
    0xfc: Vector(4);
    0xfd: Vector(2);
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
    0x2b..=0x2c: None;
    0x33..=0x40: Atomic(1);
    0x41..=0x4d: Atomic(2);
    0x4f: None;
    0x50..=0x52: Atomic(1);
    0x53: Load(32);
    0x54: Store(32);
    0x55: Atomic(2);
    0x56: Atomic(1);
    0x57: Load(4);
    0x58: Load(2);
    0x59..=0x5a: Atomic(1);
    0x5b..=0x5c: Atomic(2);
    0x5d: None;
    0x5f..=0x66: None;
    0x67: Load(1);
    0x68: Load(2);
    0x69: Load(4);
    0x6a..=0x6f: None;
    0x70: Load(1);
    0x71: Load(2);
    0x72: Load(4);
    0x73: Load(2);
    0x74: Load(3);
};

#[rustfmt::skip]
const VBUFFER: &[Row] = rows! {
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
    0x33..=0x40: Atomic(1);
    0x41..=0x4d: Atomic(2);
    0x50..=0x52: Atomic(1);
    0x55: Atomic(2);
    0x56: Atomic(1);
    0x59..=0x5a: Atomic(1);
    0x5b..=0x5c: Atomic(2);
};

#[rustfmt::skip]
const VIMAGE: &[Row] = rows! {
    0xc4..=0xc5: None;
};
