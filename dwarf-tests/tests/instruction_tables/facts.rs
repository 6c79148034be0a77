//! Lists facts by the names of instructions that LLVM's text does not contain. This list is written by hand.
//!
//! The tables of operations in AMD's instruction set architecture documents list the instructions that change `scc`, `exec` and `m0`
//! implicitly, and the instructions that choose their destination at run time. The effects are defined in `src/isa/effect.rs`.

use super::table::layout::Encoding;

/// Instructions that write `scc`. A `*` at the end of a name matches any rest.
const SCC: &str = "s_cmp_* s_cmpk_* s_bitcmp* s_bcnt0_* s_bcnt1_* s_lshl1_* s_lshl2_* s_lshl3_* \
     s_lshl4_* s_not_b32 s_not_b64 s_wqm_b32 s_wqm_b64 s_quadmask_b32 s_quadmask_b64 \
     s_abs_i32 s_addk_i32 s_add_u32 s_sub_u32 s_add_i32 s_sub_i32 s_addc_u32 s_subb_u32 \
     s_min_i32 s_min_u32 s_max_i32 s_max_u32 s_and_b32 s_and_b64 s_or_b32 s_or_b64 \
     s_xor_b32 s_xor_b64 s_andn2_b32 s_andn2_b64 s_orn2_b32 s_orn2_b64 s_nand_b32 \
     s_nand_b64 s_nor_b32 s_nor_b64 s_xnor_b32 s_xnor_b64 s_lshl_b32 s_lshl_b64 \
     s_lshr_b32 s_lshr_b64 s_ashr_i32 s_ashr_i64 s_bfe_u32 s_bfe_i32 s_bfe_u64 s_bfe_i64 \
     s_absdiff_i32 s_and_not1_b32 s_and_not1_b64 s_or_not1_b32 s_or_not1_b64 \
     s_barrier_signal_isfirst s_alloc_vgpr s_barrier_leave s_addk_co_i32 s_add_co_u32 \
     s_sub_co_u32 s_add_co_i32 s_sub_co_i32 s_add_co_ci_u32 s_sub_co_ci_u32";

/// Parts of the names of instructions that write `scc` and `exec`.
const SCC_AND_EXEC: [&str; 2] = ["_saveexec_", "_wrexec_"];

/// Instructions that write `m0`.
const M0: &str = "s_set_gpr_idx_idx s_set_gpr_idx_on s_set_gpr_idx_mode";

/// Instructions that write a register chosen by `m0`.
const INDIRECT: &str = "s_movreld_b32 s_movreld_b64 s_movrelsd_2_b32 v_movreld_b32 v_movrelsd_b32 v_movrelsd_2_b32 v_swaprel_b32";

/// The operations, as the tables spell them, and their instructions.
const OPERATIONS: &[(&str, &str)] = &[
    ("Alu(ScalarOp::Mov)", "s_mov_b32 s_mov_b64 s_movk_i32"),
    (
        "Alu(ScalarOp::MovIfScc)",
        "s_cmov_b32 s_cmov_b64 s_cmovk_i32",
    ),
    ("Alu(ScalarOp::Not)", "s_not_b32 s_not_b64"),
    ("GetPc", "s_getpc_b64 s_get_pc_i64"),
    ("SetPc", "s_setpc_b64 s_set_pc_i64"),
    ("SwapPc", "s_swappc_b64 s_swap_pc_i64"),
    (
        "OtherJump",
        "s_rfe_b64 s_cbranch_join s_cbranch_i_fork s_cbranch_g_fork s_rfe_restore_b64 \
        s_rfe_i64 s_add_pc_i64",
    ),
    (
        "SaveExec(ExecOp::And)",
        "s_and_saveexec_b64 s_and_saveexec_b32",
    ),
    (
        "SaveExec(ExecOp::Or)",
        "s_or_saveexec_b64 s_or_saveexec_b32",
    ),
    (
        "SaveExec(ExecOp::Xor)",
        "s_xor_saveexec_b64 s_xor_saveexec_b32",
    ),
    (
        "SaveExec(ExecOp::SourceAndNotExec)",
        "s_andn2_saveexec_b64 s_andn2_saveexec_b32 s_and_not1_saveexec_b32 \
        s_and_not1_saveexec_b64",
    ),
    (
        "SaveExec(ExecOp::SourceOrNotExec)",
        "s_orn2_saveexec_b64 s_orn2_saveexec_b32 s_or_not1_saveexec_b32 \
        s_or_not1_saveexec_b64",
    ),
    (
        "SaveExec(ExecOp::Nand)",
        "s_nand_saveexec_b64 s_nand_saveexec_b32",
    ),
    (
        "SaveExec(ExecOp::Nor)",
        "s_nor_saveexec_b64 s_nor_saveexec_b32",
    ),
    (
        "SaveExec(ExecOp::Xnor)",
        "s_xnor_saveexec_b64 s_xnor_saveexec_b32",
    ),
    (
        "GprIndex",
        "s_set_gpr_idx_idx s_set_gpr_idx_on s_set_gpr_idx_off s_set_gpr_idx_mode",
    ),
    (
        "SaveExec(ExecOp::ExecAndNotSource)",
        "s_andn1_saveexec_b64 s_andn1_saveexec_b32 s_and_not0_saveexec_b32 \
        s_and_not0_saveexec_b64",
    ),
    (
        "SaveExec(ExecOp::ExecOrNotSource)",
        "s_orn1_saveexec_b64 s_orn1_saveexec_b32 s_or_not0_saveexec_b32 \
        s_or_not0_saveexec_b64",
    ),
    (
        "WriteExec(ExecOp::ExecAndNotSource)",
        "s_andn1_wrexec_b64 s_andn1_wrexec_b32 s_and_not0_wrexec_b32 s_and_not0_wrexec_b64",
    ),
    (
        "WriteExec(ExecOp::SourceAndNotExec)",
        "s_andn2_wrexec_b64 s_andn2_wrexec_b32 s_and_not1_wrexec_b32 s_and_not1_wrexec_b64",
    ),
    ("Nop", "s_nop"),
    (
        "EndProgram",
        "s_endpgm s_endpgm_saved s_endpgm_ordered_ps_done",
    ),
    ("Branch(None)", "s_branch"),
    ("Branch(Some(Condition::Scc0))", "s_cbranch_scc0"),
    ("Branch(Some(Condition::Scc1))", "s_cbranch_scc1"),
    ("Branch(Some(Condition::VccZero))", "s_cbranch_vccz"),
    ("Branch(Some(Condition::VccNotZero))", "s_cbranch_vccnz"),
    ("Branch(Some(Condition::ExecZero))", "s_cbranch_execz"),
    ("Branch(Some(Condition::ExecNotZero))", "s_cbranch_execnz"),
    (
        "Wait",
        "s_waitcnt s_sleep s_wait_idle s_waitcnt_depctr s_waitcnt_vscnt s_waitcnt_vmcnt \
        s_waitcnt_expcnt s_waitcnt_lgkmcnt s_delay_alu s_wait_event s_wait_alu \
        s_wait_loadcnt s_wait_storecnt s_wait_samplecnt s_wait_bvhcnt s_wait_expcnt \
        s_wait_dscnt s_wait_kmcnt s_wait_loadcnt_dscnt s_wait_storecnt_dscnt s_wait_xcnt \
        s_wait_asynccnt s_wait_tensorcnt",
    ),
    ("Trap", "s_trap"),
    (
        "Branch(Some(Condition::Debugger))",
        "s_cbranch_cdbgsys s_cbranch_cdbguser s_cbranch_cdbgsys_or_user \
        s_cbranch_cdbgsys_and_user",
    ),
    (
        "Alu(ScalarOp::Add)",
        "s_addk_i32 s_add_u32 s_add_i32 s_addk_co_i32 s_add_co_u32 s_add_co_i32 s_add_nc_u64",
    ),
    ("Alu(ScalarOp::Mul)", "s_mulk_i32 s_mul_i32 s_mul_u64"),
    ("Call", "s_call_b64 s_call_i64"),
    (
        "Alu(ScalarOp::Sub)",
        "s_sub_u32 s_sub_i32 s_sub_co_u32 s_sub_co_i32 s_sub_nc_u64",
    ),
    ("Alu(ScalarOp::AddCarry)", "s_addc_u32 s_add_co_ci_u32"),
    ("Alu(ScalarOp::SubBorrow)", "s_subb_u32 s_sub_co_ci_u32"),
    ("Alu(ScalarOp::Select)", "s_cselect_b32 s_cselect_b64"),
    ("Alu(ScalarOp::And)", "s_and_b32 s_and_b64"),
    ("Alu(ScalarOp::Or)", "s_or_b32 s_or_b64"),
    ("Alu(ScalarOp::Xor)", "s_xor_b32 s_xor_b64"),
    (
        "Alu(ScalarOp::AndNot)",
        "s_andn2_b32 s_andn2_b64 s_and_not1_b32 s_and_not1_b64",
    ),
    (
        "Alu(ScalarOp::OrNot)",
        "s_orn2_b32 s_orn2_b64 s_or_not1_b32 s_or_not1_b64",
    ),
    ("Alu(ScalarOp::Nand)", "s_nand_b32 s_nand_b64"),
    ("Alu(ScalarOp::Nor)", "s_nor_b32 s_nor_b64"),
    ("Alu(ScalarOp::Xnor)", "s_xnor_b32 s_xnor_b64"),
    ("Alu(ScalarOp::ShiftLeft)", "s_lshl_b32 s_lshl_b64"),
    ("Alu(ScalarOp::ShiftRight)", "s_lshr_b32 s_lshr_b64"),
    ("Alu(ScalarOp::ShiftRightSigned)", "s_ashr_i32 s_ashr_i64"),
    ("Alu(ScalarOp::BitFieldMask)", "s_bfm_b32 s_bfm_b64"),
    ("Alu(ScalarOp::BitFieldExtract)", "s_bfe_u32 s_bfe_u64"),
    (
        "Alu(ScalarOp::BitFieldExtractSigned)",
        "s_bfe_i32 s_bfe_i64",
    ),
    ("Alu(ScalarOp::MulHighUnsigned)", "s_mul_hi_u32"),
    ("Alu(ScalarOp::MulHighSigned)", "s_mul_hi_i32"),
    ("Alu(ScalarOp::ShiftLeftAdd(1))", "s_lshl1_add_u32"),
    ("Alu(ScalarOp::ShiftLeftAdd(2))", "s_lshl2_add_u32"),
    ("Alu(ScalarOp::ShiftLeftAdd(3))", "s_lshl3_add_u32"),
    ("Alu(ScalarOp::ShiftLeftAdd(4))", "s_lshl4_add_u32"),
    ("VectorMove", "v_mov_b32 v_mov_b64"),
    ("Vector(VectorOp::Not)", "v_not_b32"),
    (
        "Vector(VectorOp::Add)",
        "v_add_u32 v_add_nc_u32 v_add_co_u32 v_add_i32 v_add_nc_i32",
    ),
    (
        "Vector(VectorOp::Sub)",
        "v_sub_u32 v_sub_nc_u32 v_sub_co_u32 v_sub_i32 v_sub_nc_i32",
    ),
    (
        "Reversed(VectorOp::Sub)",
        "v_subrev_u32 v_subrev_nc_u32 v_subrev_co_u32",
    ),
    ("Vector(VectorOp::Mul)", "v_mul_lo_u32 v_mul_lo_i32"),
    ("Vector(VectorOp::Mul24)", "v_mul_u32_u24"),
    ("Vector(VectorOp::Mul24Signed)", "v_mul_i32_i24"),
    (
        "Vector(VectorOp::MulAdd)",
        "v_mad_u64_u32 v_mad_i64_i32 v_mad_co_u64_u32 v_mad_co_i64_i32 v_mad_nc_u64_u32 v_mad_nc_i64_i32 v_mad_u32",
    ),
    ("Vector(VectorOp::MulAdd24)", "v_mad_u32_u24"),
    ("Vector(VectorOp::MulAdd24Signed)", "v_mad_i32_i24"),
    ("Vector(VectorOp::And)", "v_and_b32"),
    ("Vector(VectorOp::Or)", "v_or_b32"),
    ("Vector(VectorOp::Xor)", "v_xor_b32"),
    ("Reversed(VectorOp::ShiftLeft)", "v_lshlrev_b32"),
    ("Reversed(VectorOp::ShiftRight)", "v_lshrrev_b32"),
    ("Reversed(VectorOp::ShiftRightSigned)", "v_ashrrev_i32"),
    ("Vector(VectorOp::ShiftLeftAdd)", "v_lshl_add_u32"),
    ("Vector(VectorOp::AddShiftLeft)", "v_add_lshl_u32"),
    ("Vector(VectorOp::Add3)", "v_add3_u32"),
    ("Vector(VectorOp::ShiftLeftOr)", "v_lshl_or_b32"),
    ("Vector(VectorOp::AndOr)", "v_and_or_b32"),
    ("Vector(VectorOp::Or3)", "v_or3_b32"),
    ("Vector(VectorOp::Xor3)", "v_xor3_b32"),
    ("Vector(VectorOp::XorAdd)", "v_xad_u32"),
    ("Vector(VectorOp::BitFieldExtract)", "v_bfe_u32"),
    ("Vector(VectorOp::BitFieldExtractSigned)", "v_bfe_i32"),
    ("ReadFirstLane", "v_readfirstlane_b32"),
    (
        "ScalarLoad",
        "s_load_dword s_load_dwordx2 s_load_dwordx4 s_load_dwordx8 s_load_dwordx16 s_load_b32 \
        s_load_b64 s_load_b128 s_load_b256 s_load_b512 s_load_b96",
    ),
    ("ScalarLoadPart(1)", "s_load_i8 s_load_u8"),
    ("ScalarLoadPart(2)", "s_load_i16 s_load_u16"),
    ("ReadLane", "v_readlane_b32"),
    ("WriteLane", "v_writelane_b32"),
    ("AccRead", "v_accvgpr_read_b32"),
    ("AccWrite", "v_accvgpr_write_b32"),
    ("AccMove", "v_accvgpr_mov_b32"),
    ("CodeEnd", "s_code_end"),
    ("Clause", "s_clause"),
    (
        "Branch(Some(Condition::Loop))",
        "s_subvector_loop_begin s_subvector_loop_end",
    ),
    ("VgprMsb", "s_set_vgpr_msb"),
];

/// The other scalar instructions: they write the named registers, have no other effect, and continue with the next instruction. A name in
/// no list has not been reviewed.
const NOTHING_ELSE: &str = "s_atomic_* s_buffer_* s_scratch_* s_store_* s_dcache_* s_prefetch_* s_atc_probe* \
     s_ttracedata* s_add_f16 s_add_f32 s_barrier s_barrier_init s_barrier_join s_barrier_signal \
     s_barrier_wait s_bitreplicate_b64_b32 s_bitset0_b32 s_bitset0_b64 s_bitset1_b32 \
     s_bitset1_b64 s_brev_b32 s_brev_b64 s_ceil_f16 s_ceil_f32 s_cls_i32 s_cls_i32_i64 \
     s_clz_i32_u32 s_clz_i32_u64 s_ctz_i32_b32 s_ctz_i32_b64 s_cvt_f16_f32 s_cvt_f32_f16 \
     s_cvt_f32_i32 s_cvt_f32_u32 s_cvt_hi_f32_f16 s_cvt_i32_f32 s_cvt_pk_rtz_f16_f32 \
     s_cvt_u32_f32 s_decperflevel s_denorm_mode s_ff0_i32_b32 s_ff0_i32_b64 s_ff1_i32_b32 \
     s_ff1_i32_b64 s_flbit_i32 s_flbit_i32_b32 s_flbit_i32_b64 s_flbit_i32_i64 s_floor_f16 \
     s_floor_f32 s_fmaak_f32 s_fmac_f16 s_fmac_f32 s_fmamk_f32 s_get_barrier_state \
     s_get_shader_cycles_u64 s_get_waveid_in_workgroup s_getreg_b32 s_gl1_inv s_icache_inv \
     s_incperflevel s_inst_prefetch s_max_f16 s_max_f32 s_max_num_f16 s_max_num_f32 s_maximum_f16 \
     s_maximum_f32 s_memrealtime s_memtime s_min_f16 s_min_f32 s_min_num_f16 s_min_num_f32 \
     s_minimum_f16 s_minimum_f32 s_monitor_sleep s_movrels_b32 s_movrels_b64 s_mul_f16 s_mul_f32 \
     s_pack_hh_b32_b16 s_pack_hl_b32_b16 s_pack_lh_b32_b16 s_pack_ll_b32_b16 s_rndne_f16 \
     s_rndne_f32 s_round_mode s_sendmsg s_sendmsg_rtn_b32 s_sendmsg_rtn_b64 s_sendmsghalt \
     s_set_inst_prefetch_distance s_sethalt s_setkill s_setprio s_setprio_inc_wg s_setreg_b32 \
     s_setreg_imm32_b32 s_setvskip s_sext_i32_i16 s_sext_i32_i8 s_sleep_var s_sub_f16 s_sub_f32 \
     s_trunc_f16 s_trunc_f32 s_version s_wakeup s_wakeup_barrier";

/// The bytes of memory for each lane, and their loads and stores, without the name's prefix before the first `_`.
const ACCESSES: &[(&str, &str)] = &[
    (
        "Access(1)",
        "load_d16_hi_i8 load_d16_hi_u8 load_d16_i8 load_d16_u8 load_i8 load_sbyte \
        load_sbyte_d16 load_sbyte_d16_hi load_u8 load_ubyte load_ubyte_d16 load_ubyte_d16_hi \
        store_b8 store_byte store_byte_d16_hi store_d16_hi_b8",
    ),
    (
        "Access(2)",
        "load_d16_b16 load_d16_hi_b16 load_i16 load_short_d16 load_short_d16_hi load_sshort \
        load_u16 load_ushort store_b16 store_d16_hi_b16 store_short store_short_d16_hi",
    ),
    ("Access(4)", "load_b32 load_dword store_b32 store_dword"),
    ("Access(8)", "load_b64 load_dwordx2 store_b64 store_dwordx2"),
    (
        "Access(12)",
        "load_b96 load_dwordx3 store_b96 store_dwordx3",
    ),
    (
        "Access(16)",
        "load_b128 load_dwordx4 store_b128 store_dwordx4",
    ),
];

/// Rows that LLVM prints only as part of a larger instruction: the first parts of two-part instructions, and instructions whose unused
/// fields require certain values.
pub const UNASKED: &[(&str, Encoding, u32, &str, &str)] = &[
    (
        "gfx1250",
        Encoding::Vop3p,
        0x35,
        "v_wmma_ld_scale_paired_b32",
        "None",
    ),
    (
        "gfx1250",
        Encoding::Vop3p,
        0x3a,
        "v_wmma_ld_scale16_paired_b64",
        "Vector(2)",
    ),
    (
        "gfx1200",
        Encoding::Vimage,
        0x80,
        "image_bvh_dual_intersect_ray",
        "BvhDual",
    ),
    (
        "gfx1200",
        Encoding::Vimage,
        0x81,
        "image_bvh8_intersect_ray",
        "BvhDual",
    ),
    (
        "gfx1250",
        Encoding::Vimage,
        0xc4,
        "tensor_load_to_lds",
        "None",
    ),
    (
        "gfx1250",
        Encoding::Vimage,
        0xc5,
        "tensor_store_from_lds",
        "None",
    ),
];

fn is_in(list: &str, name: &str) -> bool {
    list.split_whitespace()
        .any(|one| match one.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => one == name,
        })
}

/// Returns the flags of a row, as the tables spell them.
pub fn flags(name: &str, shape: &str) -> Vec<&'static str> {
    let mut flags = Vec::new();
    let both = SCC_AND_EXEC.iter().any(|part| name.contains(part));
    if both || is_in(SCC, name) {
        flags.push("SCC");
    }
    // From gfx10 on, these instructions write only `exec`. Before, the shape names both destinations.
    if both || name.starts_with("v_cmpx_") && shape == "None" {
        flags.push("EXEC");
    }
    if is_in(M0, name) {
        flags.push("M0");
    }
    if is_in(INDIRECT, name) {
        flags.push("INDIRECT");
    }
    flags
}

/// Returns the operation of a row, if it has one.
pub fn operation(encoding: Encoding, name: &str) -> Option<&'static str> {
    let is_memory = matches!(
        encoding,
        Encoding::Flat | Encoding::Mubuf | Encoding::Vbuffer
    );
    let (list, name) = match name.split_once('_') {
        Some((_, rest)) if is_memory => (ACCESSES, rest),
        _ => (OPERATIONS, name),
    };
    let mut found = list.iter().filter(|(_, names)| is_in(names, name));
    found.next().map(|(operation, _)| *operation)
}

/// Returns true if the facts of a scalar instruction beyond LLVM's text have been reviewed.
pub fn is_known(name: &str) -> bool {
    let lists = OPERATIONS.iter().map(|(_, names)| *names);
    SCC_AND_EXEC.iter().any(|part| name.contains(part))
        || lists
            .chain([SCC, M0, INDIRECT, NOTHING_ELSE])
            .any(|list| is_in(list, name))
}
