//! Tests tables that are wrong only at one end of a range or under one condition: the range of a contradiction, its cause, and the choice
//! between two rules. llvm-mc 22 made the encodings.

use hetdwarf::arch::Register;
use hetdwarf::cfi_check::{Condition, SkipReason, Subject};

use crate::code::{CFA_S32, CFA_S33, PC_S30, Rows, Short, register, short};
use crate::tables::{Change, EXEC, PC, START, check, s, v};
use Change::{At, Cfa, Register as In, Restore, Same, Undefined, Value};

const S32_PER_LANE: &str =
    "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_lit5, DW_OP_LLVM_form_aspace_address";

/// Returns the contradictions in code of gfx1100. The first row has the CFA in s32, the return address in s[30:31], and `first`.
fn found(code: &str, first: Vec<Change>, rows: Rows) -> Vec<Short> {
    short(&check("gfx1100", code, &all(first, rows)))
}

fn all(first: Vec<Change>, rows: Rows) -> Rows {
    let start = vec![Cfa(CFA_S32), At(PC, PC_S30)];
    let mut all = vec![(0, [start, first].concat())];
    all.extend(rows);
    all
}

fn always(rule: &'static str, subject: Subject, range: (u64, u64)) -> Short {
    (rule, subject, Condition::Always, vec![range])
}

#[test]
fn the_first_cause_is_reported() {
    let code = "
s_mov_b32 s34, 0                   // BEA20080           00
s_mov_b32 s34, 1                   // BEA20081           04
s_setpc_b64 s[30:31]               // BE80481E           08
";
    let report = check("gfx1100", code, &all(Vec::new(), Vec::new()));
    let wrong = always("cfi-scalar-without-rule", register(s(34)), (4, 12));
    assert_eq!(short(&report), [wrong]);
    assert_eq!(report.contradictions[0].cause_pc, START);
}

/// Each change of the stack pointer is a new cause of a wrong CFA.
#[test]
fn two_causes_of_a_wrong_cfa_are_told_apart() {
    let code = "
s_add_i32 s32, s32, 16             // 81209020           00
s_add_i32 s32, s32, 16             // 81209020           04
s_nop 0                            // BF800000           08
s_setpc_b64 s[30:31]               // BE80481E           0c
";
    let rows = vec![(0x04, vec![Undefined(s(32))])];
    let cfa = |range| always("cfi-cfa-wrong", Subject::Cfa, range);
    assert_eq!(found(code, Vec::new(), rows), [cfa((4, 8)), cfa((8, 16))]);
    // Writing another register is not such a cause.
    let code = "
s_mov_b32 s33, 0                   // BEA10080           00
s_setpc_b64 s[30:31]               // BE80481E           04
";
    let first = vec![Cfa(CFA_S33), Undefined(s(33))];
    assert_eq!(found(code, first, Vec::new()), [cfa((0, 8))]);
}

/// A return makes the rows after it wrong only if it is between the CFA rule and the address.
#[test]
fn a_cfa_after_an_epilogue_is_another_rule() {
    let code = "
s_cbranch_scc1 1                   // BFA20001           00
s_setpc_b64 s[30:31]               // BE80481E           04
s_add_i32 s32, s32, 16             // 81209020           08
s_setpc_b64 s[30:31]               // BE80481E           0c
";
    let with = |cfa: Option<Change>| {
        let rows = cfa.map(|cfa| (0x08, vec![cfa]));
        found(code, vec![Undefined(s(32))], rows.into_iter().collect())
    };
    let rule = |id| always(id, Subject::Cfa, (12, 16));
    assert_eq!(with(None), [rule("cfi-cfa-after-epilogue")]);
    assert_eq!(with(Some(Cfa(S32_PER_LANE))), [rule("cfi-cfa-wrong")]);
    // The same holds for the instruction that changes the stack pointer itself.
    let code = "
s_add_i32 s32, s32, 16             // 81209020           00
s_setpc_b64 s[30:31]               // BE80481E           04
";
    let wrong = always("cfi-cfa-wrong", Subject::Cfa, (4, 8));
    assert_eq!(found(code, vec![Undefined(s(32))], Vec::new()), [wrong]);
}

/// An offset added to a lane's address counts bytes of that lane.
#[test]
fn an_address_of_a_lane_counts_its_bytes() {
    let code = "
s_add_i32 s32, s32, 16             // 81209020           00
s_setpc_b64 s[30:31]               // BE80481E           04
";
    let with = |cfa| found(code, vec![Undefined(s(32))], vec![(4, vec![Cfa(cfa)])]);
    let less = "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_lit16, DW_OP_minus, DW_OP_lit5, DW_OP_LLVM_form_aspace_address";
    assert_eq!(with(less), []);
    let off = "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_lit12, DW_OP_minus, DW_OP_lit5, DW_OP_LLVM_form_aspace_address";
    assert_eq!(with(off), [always("cfi-cfa-wrong", Subject::Cfa, (4, 8))]);
}

/// A removed rule is ignored: one register's rule among others, and the last one.
#[test]
fn a_rule_that_is_restored_is_gone() {
    let code = "
s_mov_b32 s4, s34                  // BE840022           00
s_mov_b32 s34, 0                   // BEA20080           04
s_nop 0                            // BF800000           08
s_nop 0                            // BF800000           0c
s_setpc_b64 s[30:31]               // BE80481E           10
";
    let rows = |back: Vec<Change>| vec![(0x08, vec![In(s(34), s(4))]), (0x0c, back)];
    let with = |first: Vec<Change>| {
        found(
            code,
            [first, vec![Undefined(s(4))]].concat(),
            rows(vec![Restore(s(34))]),
        )
    };
    // Between 4 and 8, the register still has its value.
    let wrong = always("cfi-scalar-without-rule", register(s(34)), (12, 20));
    assert_eq!(with(vec![]), core::slice::from_ref(&wrong));
    assert_eq!(with(vec![Undefined(v(0))]), [wrong]);
}

#[test]
fn a_lane_that_was_never_written_was_not_reloaded() {
    let lanes = "DW_OP_regx 1577, DW_OP_bit_piece 32 0, DW_OP_regx 1577, DW_OP_bit_piece 32 32";
    let code = "
s_nop 0                            // BF800000           00
s_setpc_b64 s[30:31]               // BE80481E           04
";
    let wrong = always("cfi-wrong-place", Subject::ReturnAddress, (0, 8));
    assert_eq!(found(code, vec![At(PC, lanes)], Vec::new()), [wrong]);
}

/// A rule can say that the caller's stack pointer is the CFA in units of a lane. For other registers, code cannot contradict such a rule.
#[test]
fn the_stack_pointer_is_the_cfa_and_nothing_more() {
    let code = "
s_nop 0                            // BF800000           00
s_setpc_b64 s[30:31]               // BE80481E           04
";
    let with = |of: u16, text| found(code, vec![Value(s(of), text)], Vec::new());
    let wrong = |of: u16| [always("cfi-wrong-place", register(s(of)), (0, 8))];
    assert_eq!(with(32, "DW_OP_lit5, DW_OP_shr"), []);
    assert_eq!(with(32, "DW_OP_lit4, DW_OP_shr"), wrong(32));
    assert_eq!(
        with(32, "DW_OP_lit5, DW_OP_shr, DW_OP_plus_uconst 4"),
        wrong(32)
    );
    assert_eq!(with(34, "DW_OP_lit4, DW_OP_shr"), []);
    // The value of another register contradicts the rule.
    assert_eq!(with(34, "DW_OP_regx SGPR34, DW_OP_deref_size 0x4"), []);
    assert_eq!(
        with(34, "DW_OP_regx SGPR35, DW_OP_deref_size 0x4"),
        wrong(34)
    );
}

/// v5 has the callee's value in the lanes that were active on entry, and the caller's in the others.
#[test]
fn other_lanes_of_every_vector_register_are_the_callers() {
    let code = "
s_xor_saveexec_b32 s0, -1          // BE8024C1           00
v_mov_b32_e32 v5, 0                // 7E0A0280           04
s_mov_b32 exec_lo, s0              // BEFE0000           08
s_setpc_b64 s[30:31]               // BE80481E           0c
";
    let rows = vec![(0x04, vec![In(EXEC, s(0))]), (0x0c, vec![Same(EXEC)])];
    let wrong = (
        "cfi-vector-without-rule",
        register(v(5)),
        Condition::LanesInactive,
        vec![(8, 16)],
    );
    assert_eq!(found(code, vec![Undefined(s(0))], rows), [wrong]);
}

/// After the call, s5 may have changed. The contradiction before it is reported up to the call.
#[test]
fn a_contradiction_ends_where_nothing_is_known() {
    let code = "
s_mov_b32 s5, 0                    // BE850080           00
s_swappc_b64 s[6:7], s[8:9]        // BE864908           04
s_nop 0                            // BF800000           08
s_setpc_b64 s[30:31]               // BE80481E           0c
";
    let first = vec![Undefined(s(6)), Undefined(s(7))];
    let wrong = always("cfi-clobbered-not-undefined", register(s(5)), (4, 8));
    assert_eq!(found(code, first, Vec::new()), [wrong]);
}

/// EXEC is saved in VCC, and an instruction within the row overwrites VCC.
#[test]
fn a_mask_in_vcc_is_lost_when_vcc_is_written() {
    const VCC: u16 = 768;
    let code = "
s_mov_b32 vcc_lo, exec_lo          // BEEA007E           00
s_mov_b32 exec_lo, -1              // BEFE00C1           04
s_nop 0                            // BF800000           08
s_mov_b32 vcc_lo, 0                // BEEA0080           0c
s_setpc_b64 s[30:31]               // BE80481E           10
";
    let rows = vec![(0x08, vec![In(EXEC, VCC)])];
    let wrong = always("cfi-wrong-place", register(EXEC), (16, 20));
    assert_eq!(found(code, Vec::new(), rows), [wrong]);
}

#[test]
fn a_jump_into_an_instruction_is_not_followed() {
    let code = "
s_setpc_b64 s[30:31]               // BE80481E           00
s_branch 1                         // BFA00001           04 to 0c
scratch_load_b32 v42, off, s32     // DC510004 2A200000  08
s_endpgm                           // BFB00000           10
";
    let report = check("gfx1100", code, &all(Vec::new(), Vec::new()));
    assert_eq!(report.skip_reason, Some(SkipReason::UnknownJump));
}

/// On gfx90a with 64 lanes, s[4:5] holds EXEC, and s6 does not.
#[test]
fn a_mask_is_known_if_both_halves_are() {
    const EXEC_64: u16 = 17;
    let code = "
s_mov_b64 s[4:5], exec             // BE84017E           00
s_mov_b32 s6, 0                    // BE860080           04
s_nop 0                            // BF800000           08
s_setpc_b64 s[30:31]               // BE801D1E           0c
";
    let cfa = "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_lit6, DW_OP_LLVM_form_aspace_address";
    let with = |place| {
        let first = [4, 5, 6].map(|n| Undefined(s(n)));
        let start = [vec![Cfa(cfa), At(PC, PC_S30)], first.to_vec()].concat();
        let rows = vec![(0, start), (8, vec![At(EXEC_64, place)])];
        short(&check("gfx90a", code, &rows))
    };
    assert_eq!(
        with("DW_OP_regx SGPR4, DW_OP_piece 4, DW_OP_regx SGPR5, DW_OP_piece 4"),
        []
    );
    assert_eq!(
        with("DW_OP_regx SGPR6, DW_OP_piece 4, DW_OP_regx SGPR5, DW_OP_piece 4"),
        []
    );
    let wrong = always("cfi-wrong-place", register(EXEC_64), (8, 16));
    assert_eq!(
        with("DW_OP_regx SGPR6, DW_OP_piece 4, DW_OP_regx SGPR6, DW_OP_piece 4"),
        [wrong]
    );
}

/// a0 and v0 are different registers.
#[test]
fn accumulation_registers_have_rules_of_their_own() {
    let code = "
v_mov_b32_e32 v0, 0                // 7E000280           00
s_setpc_b64 s[30:31]               // BE801D1E           04
";
    let cfa = "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_lit6, DW_OP_LLVM_form_aspace_address";
    let v0 = Register::vgpr(0, hetdwarf::arch::WaveSize::Wave64)
        .unwrap()
        .number();
    let with = |of: u16| {
        let rows = vec![(0, vec![Cfa(cfa), At(PC, PC_S30), Undefined(of)])];
        short(&check("gfx90a", code, &rows))
    };
    let wrong = always("cfi-clobbered-not-undefined", register(v0), (4, 8));
    assert_eq!(with(v0), []);
    assert_eq!(with(3072), [wrong]);
}

/// GCC's CFA is s[16:17], as on entry. It is unknown after s17 is lost.
#[test]
fn the_cfa_of_gcc_has_two_halves() {
    let code = "
s_add_u32 s16, s16, 4              // 80108410           00
s_mov_b32 s17, 0                   // BE910080           04
s_nop 0                            // BF800000           08
s_setpc_b64 s[18:19]               // BE801D12           0c
";
    let cfa = "DW_OP_bregx SGPR17 0, DW_OP_const1u 32, DW_OP_shl, DW_OP_bregx SGPR16 0, DW_OP_plus";
    let rows = vec![(
        0,
        vec![
            Cfa(cfa),
            At(
                PC,
                "DW_OP_regx SGPR18, DW_OP_piece 4, DW_OP_regx SGPR19, DW_OP_piece 4",
            ),
        ],
    )];
    let wrong = always("cfi-cfa-wrong", Subject::Cfa, (4, 8));
    assert_eq!(short(&check("gfx90a", code, &rows)), [wrong]);
}
