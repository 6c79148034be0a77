//! Tests small functions, assembled by llvm-mc 22, with correct and wrong tables. Comments show the effect of each instruction on the
//! caller's registers.

use hetdwarf::arch::Register;
use hetdwarf::cfi_check::{Condition, Dword, Report, RowRule, SkipReason, Subject};

use crate::tables::{Change, EXEC, PC, START, check, s, v};
use Change::{At, Cfa, Offset, Register as In, Same, Undefined, Value};

/// The prologue and epilogue of a function of gfx1100, as LLVM compiles it without optimization.
const FRAME: &str = "
s_mov_b32 s0, s33                  // BE800021           00 s33 is in s0 too, s0 is lost
s_mov_b32 s33, s32                 // BEA10020           04 s33 is in s0 alone
s_or_saveexec_b32 s1, -1           // BE8122C1           08 exec is in s1, s1 is lost
scratch_store_b32 off, v41, s33    // DC690000 00212900  0c v41 is at CFA+0 too, in all lanes
s_mov_b32 exec_lo, s1              // BEFE0001           14 exec is back
v_writelane_b32 v41, s0, 2         // D7610029 00010400  18 v41 is at CFA+0 alone, s33 in its lane 2
s_add_i32 s32, s32, 16             // 81209020           20 s32 is in s33 alone
v_writelane_b32 v41, s30, 0        // D7610029 0001001E  24
v_writelane_b32 v41, s31, 1        // D7610029 0001021F  2c the return address is in lanes 0 and 1 too
v_mov_b32_e32 v0, 0                // 7E000280           34 v0 is lost
v_readlane_b32 s30, v41, 0         // D760001E 00010129  38
v_readlane_b32 s31, v41, 1         // D760001F 00010329  40
s_mov_b32 s32, s33                 // BEA00021           48 s32 is back
v_readlane_b32 s0, v41, 2          // D7600000 00010529  4c s33 is in s0 too
s_or_saveexec_b32 s1, -1           // BE8122C1           54 exec is in s1
scratch_load_b32 v41, off, s33     // DC510000 29210000  58 v41 is back, its lanes have lost the rest
s_mov_b32 exec_lo, s1              // BEFE0001           60 exec is back
s_mov_b32 s33, s0                  // BEA10000           64 s33 is back
s_setpc_b64 s[30:31]               // BE80481E           68
";

pub const CFA_S32: &str = "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_lit5, DW_OP_shl, DW_OP_lit6, DW_OP_LLVM_form_aspace_address";
pub const CFA_S33: &str = "DW_OP_regx SGPR33, DW_OP_deref_size 0x4, DW_OP_lit5, DW_OP_shl, DW_OP_lit6, DW_OP_LLVM_form_aspace_address";
pub const PC_S30: &str = "DW_OP_regx SGPR30, DW_OP_piece 4, DW_OP_regx SGPR31, DW_OP_piece 4";
const PC_V41: &str =
    "DW_OP_regx 1577, DW_OP_bit_piece 32 0, DW_OP_regx 1577, DW_OP_bit_piece 32 32";

pub type Short = (&'static str, Subject, Condition, Vec<(u64, u64)>);
pub type Rows = Vec<(u64, Vec<Change>)>;

/// Returns the correct table of `FRAME`.
fn frame_rows() -> Rows {
    vec![
        (
            0x00,
            vec![
                Cfa(CFA_S32),
                At(PC, PC_S30),
                Undefined(s(0)),
                Undefined(s(1)),
            ],
        ),
        (0x08, vec![In(s(33), s(0))]),
        (0x0c, vec![In(EXEC, s(1))]),
        (0x14, vec![Offset(v(41), 0)]),
        (0x18, vec![Same(EXEC)]),
        (
            0x20,
            vec![At(s(33), "DW_OP_regx 1577, DW_OP_LLVM_offset_uconst 8")],
        ),
        (0x24, vec![Cfa(CFA_S33), In(s(32), s(33))]),
        (0x34, vec![At(PC, PC_V41)]),
        (0x38, vec![Undefined(v(0))]),
        (0x48, vec![At(PC, PC_S30)]),
        (0x4c, vec![Same(s(32))]),
        (0x54, vec![In(s(33), s(0))]),
        (0x58, vec![In(EXEC, s(1))]),
        (0x60, vec![Same(v(41))]),
        (0x64, vec![Same(EXEC)]),
        (0x68, vec![Same(s(33)), Cfa(CFA_S32)]),
    ]
}

/// Returns the rows without those changes at an offset for which `drop` returns true.
pub fn without(rows: &Rows, at: u64, drop: impl Fn(&Change) -> bool) -> Rows {
    let mut rows = rows.clone();
    let before: usize = rows.iter().map(|(_, changes)| changes.len()).sum();
    for (start, changes) in &mut rows {
        changes.retain(|change| *start != at || !drop(change));
    }
    let after: usize = rows.iter().map(|(_, changes)| changes.len()).sum();
    assert!(after < before, "nothing was dropped");
    rows
}

/// Returns the rows with an additional change at an offset.
pub fn with(rows: &Rows, at: u64, change: Change) -> Rows {
    let mut rows = rows.clone();
    rows.push((at, vec![change]));
    rows.sort_by_key(|(start, _)| *start);
    rows
}

pub fn register(of: u16) -> Subject {
    Subject::Register(Register(of))
}

/// Returns the contradictions without their claims: rule, subject, condition, and the offsets in the function.
pub fn short(report: &Report) -> Vec<Short> {
    assert_eq!(report.skip_reason, None);
    let each = report.contradictions.iter();
    each.map(|one| {
        let ranges = one
            .ranges
            .iter()
            .map(|range| (range.start - START, range.end - START));
        (one.rule.id, one.subject, one.condition, ranges.collect())
    })
    .collect()
}

fn frame(rows: &Rows) -> Vec<Short> {
    short(&check("gfx1100", FRAME, rows))
}

#[test]
fn a_table_that_is_right_is_left_alone() {
    assert_eq!(frame(&frame_rows()), []);
}

/// v0 is lost at 0x34. The row from there to 0x48 says that there is no caller, so nothing is reported.
#[test]
fn nothing_is_said_of_rows_without_a_caller() {
    let rows = without(&frame_rows(), 0x34, |_| true);
    let mut rows = without(&rows, 0x38, |_| true);
    rows.retain(|(_, changes)| !changes.is_empty());
    let rows = with(&rows, 0x34, Undefined(PC));
    assert_eq!(frame(&with(&rows, 0x48, Undefined(v(0)))), []);
    let is_lost = (
        "cfi-clobbered-not-undefined",
        register(v(0)),
        Condition::Always,
        vec![(0x48, 0x6c)],
    );
    assert_eq!(frame(&rows), [is_lost]);
}

#[test]
fn a_return_address_left_in_reloaded_lanes_is_stale() {
    let rows = without(&frame_rows(), 0x48, |_| true);
    let report = check("gfx1100", FRAME, &rows);
    let wrong = (
        "cfi-stale-lane",
        Subject::ReturnAddress,
        Condition::Always,
        vec![(0x60, 0x6c)],
    );
    assert_eq!(short(&report), [wrong]);
    let one = &report.contradictions[0];
    assert_eq!(one.cause_pc, START + 0x58);
    let text = one.to_string();
    assert_eq!(
        text,
        "at 0x1060 the rule says that the return address is in lane 0 of v41 and lane 1 of v41, but the instruction at 0x1058 \
         has reloaded that register for the caller. The return address is in s30 and s31"
    );
}

#[test]
fn a_frame_pointer_without_rule_at_its_copy_is_lost() {
    let rows = without(&frame_rows(), 0x08, |_| true);
    let report = check("gfx1100", FRAME, &rows);
    let wrong = (
        "cfi-scalar-without-rule",
        register(s(33)),
        Condition::Always,
        vec![(0x08, 0x20)],
    );
    assert_eq!(short(&report), [wrong]);
    let copy = Dword::Scalar(hetdwarf::isa::MachineRegister::Sgpr(0));
    assert_eq!(
        report.contradictions[0].expected,
        RowRule::Dwords(vec![copy])
    );
}

#[test]
fn a_preserved_vector_register_needs_a_rule() {
    let rows = without(&frame_rows(), 0x14, |_| true);
    let wrong = (
        "cfi-vector-without-rule",
        register(v(41)),
        Condition::Always,
        vec![(0x20, 0x60)],
    );
    assert_eq!(frame(&rows), [wrong]);
}

#[test]
fn the_execution_mask_needs_a_rule() {
    let rows = without(&frame_rows(), 0x0c, |_| true);
    // The rule claims all lanes. It is wrong if some were inactive.
    let wrong = (
        "cfi-exec-without-rule",
        register(EXEC),
        Condition::LanesInactive,
        vec![(0x0c, 0x18)],
    );
    assert_eq!(frame(&rows), [wrong]);
}

#[test]
fn a_register_that_is_given_up_is_to_be_undefined() {
    let rows = without(
        &frame_rows(),
        0,
        |change| matches!(change, Undefined(of) if *of == s(0)),
    );
    let wrong = (
        "cfi-clobbered-not-undefined",
        register(s(0)),
        Condition::Always,
        vec![(0x04, 0x6c)],
    );
    assert_eq!(frame(&rows), [wrong]);
}

#[test]
fn the_stack_pointer_needs_a_rule() {
    let rows = without(&frame_rows(), 0x24, |change| matches!(change, In(..)));
    let wrong = (
        "cfi-stack-pointer-without-rule",
        register(s(32)),
        Condition::Always,
        vec![(0x24, 0x4c)],
    );
    assert_eq!(frame(&rows), [wrong]);
    // A rule for the value is equally right with the true value, and otherwise wrong.
    let value = |text| with(&rows, 0x24, Value(s(32), text));
    assert_eq!(
        frame(&value(
            "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_lit16, DW_OP_minus"
        )),
        []
    );
    let off = frame(&value(
        "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_lit12, DW_OP_minus",
    ));
    assert_eq!(
        off,
        [(
            "cfi-wrong-place",
            register(s(32)),
            Condition::Always,
            vec![(0x24, 0x4c)]
        )]
    );
}

#[test]
fn the_cfa_follows_the_stack_pointer() {
    let rows = without(&frame_rows(), 0x24, |change| matches!(change, Cfa(_)));
    let wrong = (
        "cfi-cfa-wrong",
        Subject::Cfa,
        Condition::Always,
        vec![(0x24, 0x4c)],
    );
    assert_eq!(frame(&rows), [wrong]);
}

#[test]
fn the_cfa_is_scaled_as_scratch_is_addressed() {
    let unscaled =
        "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_lit6, DW_OP_LLVM_form_aspace_address";
    let rows = with(&frame_rows(), 0, Cfa(unscaled));
    let wrong = (
        "cfi-cfa-scale",
        Subject::Cfa,
        Condition::Always,
        vec![(0x00, 0x24)],
    );
    assert_eq!(frame(&rows), [wrong]);
    // Counted per lane, the address needs no scale.
    let per_lane =
        "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_lit5, DW_OP_LLVM_form_aspace_address";
    assert_eq!(frame(&with(&frame_rows(), 0, Cfa(per_lane))), []);
}

#[test]
fn a_rule_that_comes_too_early_names_a_wrong_place() {
    let rows = with(&frame_rows(), 0x24, At(PC, PC_V41));
    let wrong = (
        "cfi-wrong-place",
        Subject::ReturnAddress,
        Condition::Always,
        vec![(0x24, 0x34)],
    );
    assert_eq!(frame(&rows), [wrong]);
}

#[test]
fn a_row_starts_where_an_instruction_does() {
    let rows = with(&frame_rows(), 0x10, Same(s(34)));
    let wrong = (
        "cfi-row-inside-instruction",
        Subject::Row,
        Condition::Always,
        vec![(0x10, 0x14)],
    );
    assert_eq!(frame(&rows), [wrong]);
}

/// v40 is saved for the lanes active on entry, and then changed. A branch switches lanes off.
const MASKED: &str = "
scratch_store_b32 off, v40, s32    // DC690000 00202800  00
v_mov_b32_e32 v40, 0               // 7E500280           08
v_cmp_eq_u32_e32 vcc_lo, 0, v0     // 7C940080           0c
s_and_saveexec_b32 s0, vcc_lo      // BE80206A           10
s_cbranch_execz end                // BFA50001           14
v_mov_b32_e32 v1, 0                // 7E020280           18
s_or_b32 exec_lo, exec_lo, s0      // 8C7E007E           1c
scratch_load_b32 v40, off, s32     // DC510000 28200000  20
s_setpc_b64 s[30:31]               // BE80481E           28
";

fn masked_rows() -> Rows {
    let saved = "DW_OP_regx 1576, DW_OP_swap, DW_OP_LLVM_offset_uconst 0, DW_OP_LLVM_call_frame_entry_reg EXEC, \
                 DW_OP_deref_size 4, DW_OP_LLVM_select_bit_piece 32 32";
    vec![
        (
            0x00,
            vec![
                Cfa(CFA_S32),
                At(PC, PC_S30),
                Undefined(s(0)),
                Undefined(v(1)),
            ],
        ),
        (0x0c, vec![At(v(40), saved)]),
        (0x14, vec![In(EXEC, s(0))]),
        (0x20, vec![Same(EXEC)]),
        (0x28, vec![Same(v(40))]),
    ]
}

#[test]
fn masked_rules_need_the_execution_mask_on_entry() {
    assert_eq!(short(&check("gfx1100", MASKED, &masked_rows())), []);
    let rows = without(&masked_rows(), 0x14, |_| true);
    let condition = Condition::LanesSwitchedOff;
    let wrong = [EXEC, v(40)].map(|of| {
        (
            "cfi-exec-without-rule",
            register(of),
            condition,
            vec![(0x14, 0x20)],
        )
    });
    assert_eq!(short(&check("gfx1100", MASKED, &rows)), wrong);
}

/// v9 gets s34 in a lane. v9 is saved only for the lanes inactive on entry.
const INACTIVE: &str = "
s_xor_saveexec_b32 s0, -1          // BE8024C1           00
scratch_store_b32 off, v9, s32 offset:4 // DC690004 00200900  04
s_mov_b32 exec_lo, s0              // BEFE0000           0c
v_writelane_b32 v9, s34, 0         // D7610009 00010022  10
s_mov_b32 s34, 0                   // BEA20080           18
v_readlane_b32 s34, v9, 0          // D7600022 00010109  1c
s_xor_saveexec_b32 s0, -1          // BE8024C1           24
scratch_load_b32 v9, off, s32 offset:4 // DC510004 09200000  28
s_mov_b32 exec_lo, s0              // BEFE0000           30
s_setpc_b64 s[30:31]               // BE80481E           34
";

fn inactive_rows() -> Rows {
    let lane = "DW_OP_regx 1545, DW_OP_LLVM_offset_uconst 0";
    vec![
        (0x00, vec![Cfa(CFA_S32), At(PC, PC_S30), Undefined(s(0))]),
        (0x04, vec![In(EXEC, s(0))]),
        (0x0c, vec![Undefined(v(9))]),
        (0x10, vec![Same(EXEC)]),
        (0x1c, vec![At(s(34), lane)]),
        (0x24, vec![Same(s(34))]),
        (0x28, vec![In(EXEC, s(0))]),
        (0x34, vec![Same(EXEC)]),
    ]
}

#[test]
fn a_register_stored_for_inactive_lanes_is_not_there_for_the_others() {
    assert_eq!(short(&check("gfx1100", INACTIVE, &inactive_rows())), []);
    // The offset is 4 bytes for each of 32 lanes.
    let rows = with(
        &without(&inactive_rows(), 0x0c, |_| true),
        0x0c,
        At(v(9), "DW_OP_LLVM_offset_uconst 128"),
    );
    let wrong = (
        "cfi-inactive-lanes-only",
        register(v(9)),
        Condition::Always,
        vec![(0x0c, 0x38)],
    );
    assert_eq!(short(&check("gfx1100", INACTIVE, &rows)), [wrong]);
    // The rule is stale, except for an active lane, because the load did not change that.
    let rows = without(&inactive_rows(), 0x24, |_| true);
    let wrong = (
        "cfi-stale-lane",
        register(s(34)),
        Condition::LanesInactive,
        vec![(0x30, 0x38)],
    );
    assert_eq!(short(&check("gfx1100", INACTIVE, &rows)), [wrong]);
}

/// A block follows the return.
const AFTER: &str = "
s_mov_b32 s4, s33                  // BE840021           00
s_mov_b32 s33, s32                 // BEA10020           04
s_add_i32 s32, s32, 16             // 81209020           08
s_cbranch_scc1 other               // BFA20003           0c
s_mov_b32 s32, s33                 // BEA00021           10
s_mov_b32 s33, s4                  // BEA10004           14
s_setpc_b64 s[30:31]               // BE80481E           18
v_mov_b32_e32 v0, 0                // 7E000280           1c
s_branch back                      // BFA0FFFB           20
";

#[test]
fn a_block_after_the_epilogue_has_its_own_cfa() {
    let rows = vec![
        (
            0x00,
            vec![
                Cfa(CFA_S32),
                At(PC, PC_S30),
                Undefined(s(4)),
                Undefined(v(0)),
            ],
        ),
        (0x08, vec![In(s(33), s(4))]),
        (0x0c, vec![Cfa(CFA_S33), In(s(32), s(33))]),
        (0x14, vec![Same(s(32))]),
        (0x18, vec![Same(s(33)), Cfa(CFA_S32)]),
        (0x1c, vec![In(s(33), s(4)), Cfa(CFA_S33), In(s(32), s(33))]),
    ];
    assert_eq!(short(&check("gfx1100", AFTER, &rows)), []);
    let rows = without(&rows, 0x1c, |change| matches!(change, Cfa(_)));
    let report = check("gfx1100", AFTER, &rows);
    let wrong = (
        "cfi-cfa-after-epilogue",
        Subject::Cfa,
        Condition::Always,
        vec![(0x1c, 0x24)],
    );
    assert_eq!(short(&report), [wrong]);
    assert_eq!(report.contradictions[0].cause_pc, START + 0x18);
}

/// The frame pointer is aligned upwards, on gfx90a, where it counts bytes of the wave.
const ALIGNED: &str = "
s_mov_b32 s4, s33                  // BE840021           00
s_add_i32 s33, s32, 0xfc0          // 8121FF20 00000FC0  04
s_and_b32 s33, s33, 0xfffff000     // 8621FF21 FFFFF000  0c
s_mov_b32 s5, s32                  // BE850020           14
s_add_i32 s32, s32, 0x2000         // 8120FF20 00002000  18
buffer_store_dword v0, off, s[0:3], s33 // E0700000 21000000  20
s_mov_b32 s32, s5                  // BEA00005           28
s_mov_b32 s33, s4                  // BEA10004           2c
s_setpc_b64 s[30:31]               // BE801D1E           30
";

#[test]
fn a_rounded_frame_pointer_is_not_the_cfa() {
    let cfa = |register| match register {
        5 => "DW_OP_regx SGPR5, DW_OP_deref_size 0x4, DW_OP_lit6, DW_OP_LLVM_form_aspace_address",
        _ => "DW_OP_regx SGPR33, DW_OP_deref_size 0x4, DW_OP_lit6, DW_OP_LLVM_form_aspace_address",
    };
    let s32 = "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_lit6, DW_OP_LLVM_form_aspace_address";
    let rows = |register| {
        vec![
            (
                0x00,
                vec![Cfa(s32), At(PC, PC_S30), Undefined(s(4)), Undefined(s(5))],
            ),
            (0x0c, vec![In(s(33), s(4))]),
            (0x20, vec![Cfa(cfa(register)), In(s(32), s(5))]),
            (0x2c, vec![Cfa(s32), Same(s(32))]),
            (0x30, vec![Same(s(33))]),
        ]
    };
    assert_eq!(short(&check("gfx90a", ALIGNED, &rows(5))), []);
    let wrong = (
        "cfi-cfa-realigned",
        Subject::Cfa,
        Condition::StackMisaligned,
        vec![(0x20, 0x2c)],
    );
    assert_eq!(short(&check("gfx90a", ALIGNED, &rows(33))), [wrong]);
}

/// v40 is saved at the stack pointer, which moves by 0x1000 bytes of the wave: 64 bytes for each of 64 lanes, on gfx90a.
const BUFFER: &str = "
s_add_i32 s32, s32, 0x1000         // 8120FF20 00001000  00
buffer_store_dword v40, off, s[0:3], s32 // E0700000 20002800  08
v_mov_b32_e32 v40, 0               // 7E500280           10
buffer_load_dword v40, off, s[0:3], s32 // E0500000 20002800  14
s_add_i32 s32, s32, 0xfffff000     // 8120FF20 FFFFF000  1c
s_setpc_b64 s[30:31]               // BE801D1E           24
";

#[test]
fn the_scalar_offset_of_buffer_accesses_counts_bytes_of_the_wave() {
    let cfa = "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_lit6, DW_OP_LLVM_form_aspace_address";
    let moved = "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_const2u 0x1000, DW_OP_minus, DW_OP_lit6, \
                 DW_OP_LLVM_form_aspace_address";
    let before = "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_const2u 0x1000, DW_OP_minus";
    // The DWARF number of v40 in a wave of 64 lanes.
    let v40 = 2600;
    let saved = |at| match at {
        0x1000 => {
            "DW_OP_regx 2600, DW_OP_swap, DW_OP_LLVM_offset_uconst 4096, DW_OP_LLVM_call_frame_entry_reg 17, \
             DW_OP_deref_size 8, DW_OP_LLVM_select_bit_piece 32 64"
        }
        _ => {
            "DW_OP_regx 2600, DW_OP_swap, DW_OP_LLVM_offset_uconst 8192, DW_OP_LLVM_call_frame_entry_reg 17, \
             DW_OP_deref_size 8, DW_OP_LLVM_select_bit_piece 32 64"
        }
    };
    let rows = |at| {
        vec![
            (0x00, vec![Cfa(cfa), At(PC, PC_S30)]),
            (0x08, vec![Cfa(moved), Value(s(32), before)]),
            (0x14, vec![At(v40, saved(at))]),
            (0x1c, vec![Same(v40)]),
            (0x24, vec![Cfa(cfa), Same(s(32))]),
        ]
    };
    assert_eq!(short(&check("gfx90a", BUFFER, &rows(0x1000))), []);
    let condition = Condition::LanesActive;
    let wrong = (
        "cfi-wrong-place",
        register(v40),
        condition,
        vec![(0x14, 0x1c)],
    );
    assert_eq!(short(&check("gfx90a", BUFFER, &rows(0x2000))), [wrong]);
}

/// The return address is saved in lanes of a callee-saved register.
const CALL: &str = "
v_writelane_b32 v1, s30, 0         // D7610001 0001001E  00
v_writelane_b32 v1, s31, 1         // D7610001 0001021F  08
s_getpc_b64 s[4:5]                 // BE844700           10
s_add_u32 s4, s4, 0x24             // 8004FF04 00000024  14 to 38
s_addc_u32 s5, s5, 0               // 82058005           1c
s_swappc_b64 s[30:31], s[4:5]      // BE9E4904           20
v_readlane_b32 s30, v1, 0          // D760001E 00010101  24
v_readlane_b32 s31, v1, 1          // D760001F 00010301  2c
s_setpc_b64 s[30:31]               // BE80481E           34
callee:
v_mov_b32_e32 v0, 0                // 7E000280           38
s_setpc_b64 s[30:31]               // BE80481E           3c
";

#[test]
fn what_a_callee_leaves_alone_is_known_after_the_call() {
    let lanes = "DW_OP_regx 1537, DW_OP_bit_piece 32 0, DW_OP_regx 1537, DW_OP_bit_piece 32 32";
    let first = vec![
        Cfa(CFA_S32),
        At(PC, PC_S30),
        Undefined(s(4)),
        Undefined(s(5)),
        Undefined(v(1)),
    ];
    let rows = vec![
        (0x00, first),
        (0x24, vec![At(PC, lanes)]),
        (0x34, vec![At(PC, PC_S30)]),
    ];
    assert_eq!(short(&check("gfx1100", CALL, &rows)), []);
    // The call has overwritten s[30:31]. They are wrong until they are restored.
    let rows = without(&rows, 0x24, |_| true);
    let wrong = (
        "cfi-wrong-place",
        Subject::ReturnAddress,
        Condition::Always,
        vec![(0x24, 0x34)],
    );
    assert_eq!(short(&check("gfx1100", CALL, &rows)), [wrong]);
    // The rule is wrong: the lane has the return address, and not s34. But a callee that writes v1 could have changed it, so nothing is
    // reported.
    let s34 = "DW_OP_regx 1537, DW_OP_LLVM_offset_uconst 0";
    let rows = with(&rows, 0x24, At(s(34), s34));
    let wrong_lane = (
        "cfi-wrong-place",
        register(s(34)),
        Condition::Always,
        vec![(0x24, 0x38)],
    );
    let other = CALL.replace("7E000280", "7E020280");
    assert!(short(&check("gfx1100", CALL, &rows)).contains(&wrong_lane));
    let found = short(&check("gfx1100", &other, &rows));
    // The callee leaves inactive lanes unchanged.
    let inactive = (
        wrong_lane.0,
        wrong_lane.1,
        Condition::LanesInactive,
        wrong_lane.3.clone(),
    );
    assert!(!found.contains(&wrong_lane) && found.contains(&inactive));
}

#[test]
fn code_that_cannot_be_followed_is_left_alone() {
    // s34 is overwritten without a rule, but the function continues at an unknown address.
    let jump = "s_mov_b32 s34, 0     // BEA20080\n s_setpc_b64 s[4:5]    // BE804804";
    let rows = vec![(0, vec![Cfa(CFA_S32), At(PC, PC_S30)])];
    let last = |report: Report| (report.contradictions.len(), report.skip_reason);
    // The stack pointer is unchanged, so the target of the jump returns to the caller.
    assert_eq!(last(check("gfx1100", jump, &rows)), (1, None));
    let moved = jump.replace("BEA20080", "81209020");
    assert_eq!(
        last(check("gfx1100", &moved, &rows)),
        (0, Some(SkipReason::UnknownJump))
    );
    let kernel = vec![(
        0,
        vec![
            Cfa("DW_OP_lit0, DW_OP_lit6, DW_OP_LLVM_form_aspace_address"),
            Undefined(PC),
        ],
    )];
    assert_eq!(
        last(check("gfx1100", FRAME, &kernel)),
        (0, Some(SkipReason::NoCaller))
    );
    let nothing: Rows = vec![(0, vec![])];
    assert_eq!(
        last(check("gfx1100", FRAME, &nothing)),
        (0, Some(SkipReason::NoCaller))
    );
    let garbage = "?  // FFFFFFFF";
    assert_eq!(
        last(check("gfx1100", garbage, &rows)),
        (0, Some(SkipReason::Undecodable))
    );
}
